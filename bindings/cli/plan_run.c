#include "plan_run.h"

#include <inttypes.h>
#include <stdio.h>

#include "message.h"
#include "plan_file.h"
#include "result.h"
#include "text.h"

static bool print_json(const struct program *trace, const struct plan_file *file, uint64_t ns)
{
    const cebus_advice *plan = &file->plan;
    json_t *json = json_object();
    json_put(json, "trace", json_string(trace->path));
    json_put(json, "machine", json_string(file->machine));
    json_put(json, "memory", json_integer((json_int_t)plan->memory));
    json_put(json, "time_ns", json_integer((json_int_t)ns));
    json_put(json, "planned_ns", json_integer((json_int_t)plan->time_ns));
    json_put(json, "ideal_ns", json_integer((json_int_t)trace->figures.compute_ns));
    json_put(json, "throughput", json_real((double)trace->figures.compute_ns / (double)ns));
    return json_print_line(json);
}

static void print_text(const struct program *trace, const struct plan_file *file, uint64_t ns)
{
    char text[TEXT_BYTES];
    printf("%-12s %s\n", "machine", file->machine);
    printf("%-12s %s\n", "memory", text_bytes(file->plan.memory, text));
    printf("%-12s %s", "time", text_ns(ns, text));
    printf(", planned %s\n", text_ns(file->plan.time_ns, text));
    printf("%-12s %.3f of ideal\n", "throughput", (double)trace->figures.compute_ns / (double)ns);
    printf("%-12s %zu\n", "steps", file->plan.n_steps);
    printf("%-12s %zu\n", "copies", file->plan.n_copies);
}

static bool run(const char *path, const struct program *trace, const struct plan_program *program,
                bool json)
{
    struct plan_file file = {0};
    cebus_advise_link link;
    uint64_t memory, ns;
    char why[256];
    bool good =
        plan_file_read(path, program, &file) && plan_machine(file.machine, NULL, &link, &memory);
    if (good) {
        cebus_status status =
            cebus_advice_check(&program->program, &link, &file.plan, why, sizeof why, &ns);
        good = status == CEBUS_OK;
        if (status == CEBUS_OUT_OF_HOST_MEMORY)
            complain_file(path, "no host memory to run it");
        else if (!good)
            complain_file(path, "this plan does not hold: %s", why);
    }
    if (good && json)
        good = print_json(trace, &file, ns);
    else if (good)
        print_text(trace, &file, ns);
    plan_file_free(&file);
    return good;
}

bool plan_run(const char *path, const struct program *trace, bool json)
{
    struct plan_program program;
    plan_program_make(trace, &program);
    const bool good = run(path, trace, &program, json);
    plan_program_free(&program);
    return good;
}
