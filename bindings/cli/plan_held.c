#include "plan_held.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "message.h"
#include "text.h"

/** The library refuses longer lines. */
#define LINE_BYTES 4096

/** Whether the plan that this line begins is for the iteration the run did last. */
static bool is_meant(const json_t *line, const struct run_result *result)
{
    const char *signature = json_string_value(json_object_get(line, "plan"));
    return signature != NULL && strtoull(signature, NULL, 16) == result->last.iteration_signature;
}

static void count_action(const json_t *line, struct plan_counts *out)
{
    static const char *const kinds[] = {"drop", "copy_out", "swap_out", "swap_in", "replay"};
    uint64_t *const counts[] = {&out->drop, &out->copy_out, &out->swap_out, &out->swap_in,
                                &out->replay};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        *counts[i] += json_object_get(line, kinds[i]) != NULL;
}

bool plan_held_count(const char *path, const struct run_result *result, struct plan_counts *out)
{
    char text[LINE_BYTES];
    bool meant = false;
    *out = (struct plan_counts){0};
    FILE *from = fopen(path, "r");
    if (from == NULL) {
        complain_file(path, "%s", strerror(errno));
        return false;
    }
    while (fgets(text, sizeof text, from) != NULL) {
        json_t *line = json_loads(text, 0, NULL);
        if (json_object_get(line, "plan") != NULL)
            meant = is_meant(line, result);
        else if (meant)
            count_action(line, out);
        json_decref(line);
    }
    fclose(from);
    return true;
}

static void print_row(const char *what, uint64_t planned, uint64_t happened)
{
    printf("%-24s %10" PRIu64 " %10" PRIu64 "\n", what, planned, happened);
}

void plan_held_print(const struct plan_counts *planned, const struct run_result *result)
{
    char predicted[TEXT_BYTES], measured[TEXT_BYTES];
    const cebus_memory_stats *last = &result->last;
    if (last->plans_used == 0) {
        printf("the plan was not followed: %s\n",
               last->plans_refused > 0 ? "it does not fit (see plan_refused in `replay --record')"
                                       : "it is for another iteration or policy");
        return;
    }
    printf("%-24s %10s %10s\n", "the last pass", "planned", "happened");
    print_row("made again: values, runs", planned->replay, last->recomputes);
    print_row("copied to the host", planned->copy_out > 0 ? planned->copy_out : planned->swap_out,
              last->swap_outs);
    print_row("copied back", planned->swap_in, last->swap_ins);
    printf("%-24s %10s %10" PRIu64 "\n", "actions left out", "", last->guided_missed);
    printf("%-24s %10s %10" PRIu64 "\n", "unforeseen", "", last->guided_unforeseen);
    printf("%-24s %10s %10s\n", "time", text_ns(last->guided_predicted_ns, predicted),
           text_ns(last->guided_measured_ns, measured));
}

static json_t *numbers(const char *const *names, const uint64_t *values, size_t n)
{
    json_t *json = json_object();
    for (size_t i = 0; i < n; i++)
        json_put(json, names[i], json_integer((json_int_t)values[i]));
    return json;
}

void plan_held_put(json_t *json, const struct plan_counts *planned, const struct run_result *result)
{
    static const char *const actions[] = {"drop", "copy_out", "swap_out", "swap_in", "replay"};
    static const char *const events[] = {"recomputes", "swap_outs", "swap_ins", "missed",
                                         "unforeseen"};
    const cebus_memory_stats *last = &result->last;
    const uint64_t asked[] = {planned->drop, planned->copy_out, planned->swap_out, planned->swap_in,
                              planned->replay};
    const uint64_t done[] = {last->recomputes, last->swap_outs, last->swap_ins, last->guided_missed,
                             last->guided_unforeseen};
    json_put(json, "planned", numbers(actions, asked, 5));
    json_put(json, "happened", numbers(events, done, 5));
}
