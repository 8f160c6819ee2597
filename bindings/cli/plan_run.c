#include "plan_run.h"

#include <inttypes.h>
#include <stdio.h>

#include "message.h"
#include "plan_launch.h"
#include "result.h"
#include "text.h"

/** A plan on its way to the printer. */
struct plan_run {
    const struct program *trace;
    struct plan_file file;
    uint64_t paper_ns;
    bool launched;
    struct plan_measure measure;
};

static uint64_t time_of(const struct plan_run *run)
{
    return run->launched ? run->measure.ns : run->paper_ns;
}

static double throughput(const struct plan_run *run)
{
    return (double)run->trace->figures.compute_ns / (double)time_of(run);
}

static bool print_json(const struct plan_run *run)
{
    const cebus_advice *plan = &run->file.plan;
    const struct plan_measure *measure = &run->measure;
    json_t *json = json_object();
    json_put_text(json, "trace", run->trace->path);
    json_put(json, "machine", json_string(run->file.machine));
    json_put(json, "memory", json_integer((json_int_t)plan->memory));
    json_put(json, "time_ns", json_integer((json_int_t)time_of(run)));
    json_put(json, "paper_ns", json_integer((json_int_t)run->paper_ns));
    json_put(json, "planned_ns", json_integer((json_int_t)plan->time_ns));
    json_put(json, "ideal_ns", json_integer((json_int_t)run->trace->figures.compute_ns));
    json_put(json, "throughput", json_real(throughput(run)));
    if (run->launched) {
        json_put(json, "peak_bytes", json_integer((json_int_t)measure->peak_bytes));
        json_put(json, "missed_placements", json_integer((json_int_t)measure->missed));
        json_put(json, "replays", json_integer((json_int_t)measure->replays));
        json_put(json, "swap_outs", json_integer((json_int_t)measure->swap_outs));
        json_put(json, "swap_ins", json_integer((json_int_t)measure->swap_ins));
    }
    return json_print_line(json);
}

static void print_text(const struct plan_run *run)
{
    char text[TEXT_BYTES];
    const cebus_advice *plan = &run->file.plan;
    printf("%-12s %s\n", "machine", run->file.machine);
    printf("%-12s %s", "memory", text_bytes(plan->memory, text));
    if (run->launched)
        printf(", peak %s", text_bytes(run->measure.peak_bytes, text));
    printf("\n%-12s %s", "time", text_ns(time_of(run), text));
    if (run->launched)
        printf(", on paper %s", text_ns(run->paper_ns, text));
    printf(", planned %s\n", text_ns(plan->time_ns, text));
    printf("%-12s %.3f of ideal\n", "throughput", throughput(run));
    printf("%-12s %zu\n", "steps", plan->n_steps);
    printf("%-12s %zu\n", "copies", plan->n_copies);
    if (run->launched)
        printf("%-12s %" PRIu64 " replays, %" PRIu64 " copies out, %" PRIu64 " in, %" PRIu64
               " places taken\n",
               "run", run->measure.replays, run->measure.swap_outs, run->measure.swap_ins,
               run->measure.missed);
}

static bool rehearse(const char *path, const struct plan_program *program,
                     const cebus_advise_link *link, struct plan_run *run)
{
    char why[256];
    cebus_status status = cebus_advice_check(&program->program, link, &run->file.plan, why,
                                             sizeof why, &run->paper_ns);
    if (status == CEBUS_OUT_OF_HOST_MEMORY)
        complain_file(path, "no host memory to run it");
    else if (status != CEBUS_OK)
        complain_file(path, "this plan does not hold: %s", why);
    return status == CEBUS_OK;
}

static bool run(const char *path, const struct plan_program *program, bool on_paper,
                struct plan_run *out)
{
    cebus_advise_link link;
    uint64_t memory;
    if (!plan_file_read(path, program, &out->file) ||
        !plan_machine(out->file.machine, NULL, &link, &memory) ||
        !rehearse(path, program, &link, out))
        return false;
    out->launched = !on_paper;
    return on_paper || plan_launch(out->trace, program, &out->file, &link, &out->measure);
}

bool plan_run(const char *path, const struct program *trace, bool on_paper, bool json)
{
    struct plan_program program;
    struct plan_run out = {.trace = trace};
    plan_program_make(trace, &program);
    bool good = run(path, &program, on_paper, &out);
    if (good && json)
        good = print_json(&out);
    else if (good)
        print_text(&out);
    plan_file_free(&out.file);
    plan_program_free(&program);
    return good;
}
