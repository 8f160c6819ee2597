#include "result.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "text.h"

static double ratio(uint64_t a, uint64_t b)
{
    return b > 0 ? (double)a / (double)b : 0;
}

double result_overhead(const struct run_result *result)
{
    if (!result->feasible || result->passes == 0)
        return NAN;
    return ratio(result->pass_ns[result->passes - 1], result->options.base_ns);
}

static double compute_overhead(const struct run_result *result)
{
    const cebus_memory_stats *last = &result->last;
    return result->feasible ? ratio(last->compute_ns + last->recompute_ns, last->compute_ns) : NAN;
}

static double fragmentation_mean(const struct run_result *result)
{
    return ratio(result->last.fragmentation_ppm_sum, result->last.num_alloc_retries) / 1e6;
}

static uint64_t search_ns_mean(const struct run_result *result)
{
    const cebus_memory_stats *last = &result->last;
    return last->searches > 0 ? last->search_ns / last->searches : 0;
}

static uint64_t host_ns_per_call(const struct program *program, const struct run_result *result)
{
    return result->feasible ? result->host_ns / program->n_ops : 0;
}

/* --- JSON ----------------------------------------------------------------------------------- */

static void put_real(json_t *object, const char *key, double number)
{
    json_put(object, key, isfinite(number) ? json_real(number) : json_null());
}

static json_t *overheads(const struct run_result *result)
{
    json_t *list = json_checked(json_array());
    for (int i = 0; i < result->passes; i++) {
        json_t *one = json_real(ratio(result->pass_ns[i], result->options.base_ns));
        if (json_array_append_new(list, json_checked(one)) != 0)
            json_checked(NULL);
    }
    return list;
}

static const char *layout_of(const struct run_result *result)
{
    return result->layout != NULL ? result->layout
                                  : result->options.settings->of[SETTING_LAYOUT].text;
}

static void put_settings(json_t *json, const struct program *program,
                         const struct run_result *result)
{
    const struct settings *settings = result->options.settings;
    json_put_text(json, "trace", program->path);
    json_put_text(json, "machine", settings->of[SETTING_MACHINE].text);
    json_put_text(json, "policy", result->options.policy);
    json_put_text(json, "layout", layout_of(result));
    const char *swap = settings->of[SETTING_SWAP].text;
    json_put_text(json, "swap", swap != NULL ? swap : "default");
    json_put_text(json, "budget", result->options.budget);
    json_put_number(json, "budget_bytes", result->budget_bytes);
    json_put_number(json, "iterations", (uint64_t)result->iterations);
    json_put_text(json, "marks", settings->of[SETTING_MARKS].text);
    json_put_text(json, "learn", settings->of[SETTING_LEARN].text);
}

static void put_times(json_t *json, const struct run_result *result)
{
    put_real(json, "overhead", result_overhead(result));
    json_put(json, "overhead_per_iteration", overheads(result));
    put_real(json, "compute_overhead", compute_overhead(result));
    if (result->feasible)
        json_put_number(json, "time_ns", result->last.device_ns);
    else
        json_put(json, "time_ns", json_null());
    json_put_number(json, "base_time_ns", result->options.base_ns);
}

static uint64_t floor_of(const struct program *program, const struct run_result *result)
{
    const char *swap = result->options.settings->of[SETTING_SWAP].text;
    return swap != NULL && swap[1] == 'n' ? program->figures.swap_floor_bytes
                                          : program->figures.floor_bytes;
}

/** Of the last pass that was guided. */
static void put_plan(json_t *json, const cebus_memory_stats *last)
{
    json_put_number(json, "guided_iterations", last->guided_iterations);
    json_put_number(json, "guided_predicted_ns", last->guided_predicted_ns);
    json_put_number(json, "guided_measured_ns", last->guided_measured_ns);
    json_put_number(json, "guided_lost_ns", last->guided_lost_ns);
    json_put_number(json, "guided_actions", last->guided_actions);
    json_put_number(json, "guided_missed", last->guided_missed);
    json_put_number(json, "guided_unforeseen", last->guided_unforeseen);
    json_put_number(json, "replans", last->replans);
}

static void put_memory(json_t *json, const struct program *program, const struct run_result *result)
{
    const cebus_memory_stats *last = &result->last;
    json_put_number(json, "peak_bytes", result->peak_bytes);
    json_put_number(json, "base_peak_bytes", program->figures.peak_bytes);
    json_put_number(json, "floor_bytes", floor_of(program, result));
    json_put_number(json, "calls", program->n_ops);
    json_put_number(json, "evictions", last->evictions);
    json_put_number(json, "recomputes", last->recomputes);
    json_put_number(json, "recompute_ns", last->recompute_ns);
    json_put_number(json, "iterations_known", last->iterations_known);
    json_put_number(json, "iterations_repeated", last->iterations_repeated);
    json_put_number(json, "planned_replays", last->planned_replays);
    json_put_number(json, "planned_placements", last->planned_placements);
    json_put_number(json, "missed_placements", last->missed_placements);
    put_plan(json, last);
    json_put_text(json, "plan", result->summary[0] != '\0' ? result->summary : NULL);
    json_put_number(json, "plans_used", last->plans_used);
    json_put_number(json, "plans_refused", last->plans_refused);
    json_put_number(json, "swapped_bytes", last->swapped_out_bytes + last->swapped_in_bytes);
    json_put_number(json, "stall_ns", last->stall_ns);
    put_real(json, "fragmentation_mean", fragmentation_mean(result));
    put_real(json, "fragmentation_max", (double)last->fragmentation_ppm_max / 1e6);
    json_put_number(json, "stranded_bytes_max", last->stranded_bytes_max);
}

json_t *result_json(const struct program *program, const struct run_result *result)
{
    json_t *json = json_checked(json_object());
    put_settings(json, program, result);
    json_put(json, "feasible", json_boolean(result->feasible));
    json_put_text(json, "reason", result->reason);
    json_put_text(json, "oom", result->oom[0] != '\0' ? result->oom : NULL);
    put_times(json, result);
    put_memory(json, program, result);
    json_put_number(json, "search_ns_mean", search_ns_mean(result));
    if (result->feasible)
        json_put_number(json, "host_ns_per_call", host_ns_per_call(program, result));
    else
        json_put(json, "host_ns_per_call", json_null());
    return json;
}

/* --- tables ---------------------------------------------------------------------------------- */

static void print_bytes(const char *what, uint64_t bytes)
{
    char text[TEXT_BYTES];
    printf("%-20s %s\n", what, text_bytes(bytes, text));
}

static void print_count(const char *what, uint64_t count)
{
    printf("%-20s %" PRIu64 "\n", what, count);
}

static void print_outcome(const struct run_result *result)
{
    char text[TEXT_BYTES];
    if (!result->feasible) {
        printf("%-20s no: %s\n", "feasible", result->reason);
        if (result->oom[0] != '\0')
            printf("%-20s %s\n", "", result->oom);
        return;
    }
    printf("%-20s %.4f\n", "overhead", result_overhead(result));
    printf("%-20s", "  each iteration");
    for (int i = 0; i < result->passes; i++)
        printf(" %.4f", ratio(result->pass_ns[i], result->options.base_ns));
    printf("\n%-20s %.4f\n", "compute overhead", compute_overhead(result));
    printf("%-20s %s\n", "time", text_ns(result->last.device_ns, text));
    printf("%-20s %s\n", "  without a budget", text_ns(result->options.base_ns, text));
    printf("%-20s %s\n", "  waiting for copies", text_ns(result->last.stall_ns, text));
}

static void print_host(const struct program *program, const struct run_result *result)
{
    char text[TEXT_BYTES];
    if (!result->feasible)
        return;
    printf("%-20s %s\n", "host time a call", text_ns(host_ns_per_call(program, result), text));
    printf("%-20s %s\n", "host time a search", text_ns(search_ns_mean(result), text));
}

void result_print(const struct program *program, const struct run_result *result)
{
    const cebus_memory_stats *last = &result->last;
    const struct settings *settings = result->options.settings;
    printf("%-20s %s, %zu calls\n", "trace", program->path, program->n_ops);
    printf("%-20s %s, layout %s\n", "machine", settings->of[SETTING_MACHINE].text,
           layout_of(result));
    printf("%-20s %s\n", "policy", result->options.policy);
    print_bytes("budget", result->budget_bytes);
    print_bytes("  peak", result->peak_bytes);
    print_bytes("  without a budget", program->figures.peak_bytes);
    print_bytes("  floor", floor_of(program, result));
    print_outcome(result);
    print_count("evictions", last->evictions);
    print_count("recomputes", last->recomputes);
    print_bytes("swapped", last->swapped_out_bytes + last->swapped_in_bytes);
    printf("%-20s %.4f mean, %.4f most\n", "fragmentation", fragmentation_mean(result),
           (double)last->fragmentation_ppm_max / 1e6);
    print_bytes("stranded at most", last->stranded_bytes_max);
    print_host(program, result);
    if (result->summary[0] != '\0')
        printf("%-20s %s\n", "plan", result->summary);
}

void result_print_head(const struct program *program, const struct run_result *result)
{
    char budget[TEXT_BYTES], peak[TEXT_BYTES], base[TEXT_BYTES];
    const struct settings *settings = result->options.settings;
    printf("%s: %zu calls, %s without a budget in %s\n", program->path, program->n_ops,
           text_ns(result->options.base_ns, base), text_bytes(program->figures.peak_bytes, peak));
    printf("budget %s, machine %s, layout %s\n\n", text_bytes(result->budget_bytes, budget),
           settings->of[SETTING_MACHINE].text, settings->of[SETTING_LAYOUT].text);
    printf("%-14s %9s %9s %12s %10s %10s %12s\n", "policy", "overhead", "compute", "peak",
           "evictions", "recomputes", "swapped");
}

void result_print_line(const struct run_result *result)
{
    char peak[TEXT_BYTES], swapped[TEXT_BYTES];
    const cebus_memory_stats *last = &result->last;
    printf("%-14s ", result->options.policy);
    if (result->feasible)
        printf("%9.4f %9.4f ", result_overhead(result), compute_overhead(result));
    else
        printf("%-19s ", result->reason);
    printf("%12s %10" PRIu64 " %10" PRIu64 " %12s\n", text_bytes(result->peak_bytes, peak),
           last->evictions, last->recomputes,
           text_bytes(last->swapped_out_bytes + last->swapped_in_bytes, swapped));
}
