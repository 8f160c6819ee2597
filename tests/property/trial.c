#include "tests/property/trial.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cebus/plan.h>

#include "tests/property/meter.h"

typedef struct run {
    const cebus_trial *trial;
    cebus_outcome *out;
    cebus_runtime *rt;
    cebus_meter meter;
    void *self;
    uint64_t unlimited; /**< the budget a runtime has by default */
    uint64_t random;    /**< of what is done to the program from outside */
    bool relieved;      /**< the budget was raised after an out-of-memory error */
} run;

static bool ok(const run *r)
{
    return r->out->failure[0] == '\0';
}

/** The number after `label` in the report; false when it is not there. */
static bool find_number(const char *report, const char *label, uint64_t *out)
{
    const char *at = strstr(report, label);
    return at != NULL && sscanf(at + strlen(label), "%" SCNu64, out) == 1;
}

static const char *wrong_with_report(const run *r, const char *report)
{
    uint64_t wanted, budget, used, free, hole, stranded;
    if (!find_number(report, " wants ", &wanted) || !find_number(report, "budget ", &budget) ||
        !find_number(report, ", used ", &used) || !find_number(report, ", free ", &free) ||
        !find_number(report, "largest hole ", &hole) ||
        !find_number(report, "stranded ", &stranded))
        return "a number is missing";
    if (wanted != cebus_last_error()->bytes_wanted)
        return "it wants other bytes than the error says";
    if (budget != cebus_runtime_budget(r->rt))
        return "it names another budget";
    if (used + free != budget || hole > free || stranded > free)
        return "its sums are wrong";
    if (wanted <= hole)
        return "there was a hole";
    return NULL;
}

static void check_report(run *r)
{
    char report[4096] = "";
    size_t length = cebus_runtime_oom_report(r->rt, report, sizeof report);
    const char *wrong = length == 0 ? "it is empty" : wrong_with_report(r, report);
    if (wrong != NULL)
        cebus_failure_note(r->out->failure, "the out-of-memory report is wrong: %s\n%s", wrong,
                           report);
}

/** Checks the error, then gives the program what it needs. */
static void recover(run *r)
{
    r->out->ooms++;
    r->relieved = true;
    check_report(r);
    if (cebus_runtime_check(r->rt) != CEBUS_OK)
        cebus_failure_note_error(r->out->failure, "after out of memory");
    uint64_t relief = r->trial->relief > 0 ? r->trial->relief : r->unlimited;
    if (cebus_runtime_budget(r->rt) >= relief)
        relief = r->unlimited;
    if (cebus_runtime_set_budget(r->rt, relief) != CEBUS_OK)
        cebus_failure_note_error(r->out->failure, "raising the budget");
}

static uint64_t draw(run *r, uint64_t bound)
{
    r->random = r->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (r->random >> 33) % bound;
}

/** Changes of the budget from outside: one that cannot be met must change nothing. */
static void wiggle(run *r)
{
    uint64_t budget = cebus_runtime_budget(r->rt);
    cebus_status status = CEBUS_OK;
    if (draw(r, 4) == 0)
        status = cebus_runtime_trim(r->rt);
    if (status == CEBUS_OK && draw(r, 2) == 0) {
        status = cebus_runtime_set_budget(r->rt, budget * (60 + draw(r, 40)) / 100);
        if (status == CEBUS_OUT_OF_MEMORY && cebus_runtime_budget(r->rt) == budget)
            status = CEBUS_OK;
    }
    if (status == CEBUS_OK && draw(r, 2) == 0)
        status = cebus_runtime_set_budget(r->rt, budget);
    if (status != CEBUS_OK)
        cebus_failure_note_error(r->out->failure, "changing the budget");
}

/** Short memory again. What does not fit any more is no error of the program. */
static void relapse(run *r)
{
    uint64_t budget = cebus_runtime_budget(r->rt);
    cebus_status status = cebus_runtime_set_budget(r->rt, r->trial->budget);
    r->relieved = status != CEBUS_OK;
    if (status != CEBUS_OK &&
        (status != CEBUS_OUT_OF_MEMORY || cebus_runtime_budget(r->rt) != budget))
        cebus_failure_note_error(r->out->failure, "lowering the budget again");
}

/** Takes a step until it is done: twice in short memory, then unlimited. */
static void take(run *r, size_t i)
{
    const cebus_subject *subject = r->trial->subject;
    cebus_record *record = &r->out->record;
    size_t before = record->count;
    cebus_status status = CEBUS_OUT_OF_MEMORY;
    for (int attempt = 0; attempt < 3 && status == CEBUS_OUT_OF_MEMORY && ok(r); attempt++) {
        cebus_record_truncate(record, before);
        status = i < r->trial->steps ? subject->step(r->self, i, record)
                                     : subject->finish(r->self, record);
        if (status == CEBUS_OUT_OF_MEMORY)
            recover(r);
    }
    if (status != CEBUS_OK)
        cebus_failure_note_error(r->out->failure,
                                 i < r->trial->steps ? "a step" : "the final reads");
}

static void create_subject(run *r)
{
    const cebus_trial *trial = r->trial;
    for (int attempt = 0; attempt < 2 && r->self == NULL && ok(r); attempt++) {
        r->self = trial->subject->create(r->rt, trial->name, trial->seed);
        if (r->self == NULL && cebus_last_error()->status == CEBUS_OUT_OF_MEMORY)
            recover(r);
    }
    if (r->self == NULL)
        cebus_failure_note_error(r->out->failure, "making the subject");
    r->meter.self = r->self;
}

/** A budget that cannot be met is refused, and the old one stands. */
static void lower_budget(run *r)
{
    if (r->trial->late && r->trial->budget > 0 &&
        cebus_runtime_set_budget(r->rt, r->trial->budget) != CEBUS_OK) {
        r->out->ooms++;
        if (cebus_last_error()->status != CEBUS_OUT_OF_MEMORY ||
            cebus_runtime_budget(r->rt) != r->unlimited)
            cebus_failure_note_error(r->out->failure, "lowering the budget");
    }
    cebus_reset_peak_memory_stats(r->rt);
}

/** What is planned so far goes through a file, in the middle of whatever the program does. Policies
 * that do not plan refuse, and so does one that has planned nothing yet. */
static void reload(run *r)
{
    char path[64];
    snprintf(path, sizeof path, "/tmp/cebus-trial-%ld.plan", (long)getpid());
    cebus_status status = cebus_plan_save(r->rt, path);
    if (status == CEBUS_OK && cebus_plan_load(r->rt, path) != CEBUS_OK)
        cebus_failure_note_error(r->out->failure, "loading what was just saved");
    else if (status != CEBUS_OK && status != CEBUS_INVALID_ARGUMENT)
        cebus_failure_note_error(r->out->failure, "saving plans on the way");
    unlink(path);
}

static void run_steps(run *r)
{
    create_subject(r);
    if (ok(r))
        lower_budget(r);
    for (size_t i = 0; i <= r->trial->steps && ok(r); i++) {
        if (r->trial->wiggle && draw(r, 8) == 0)
            wiggle(r);
        if (ok(r) && r->trial->reload && draw(r, 4) == 0)
            reload(r);
        if (ok(r) && r->relieved && r->trial->relapse)
            relapse(r);
        if (ok(r))
            take(r, i);
    }
    if (ok(r) && cebus_runtime_check(r->rt) != CEBUS_OK)
        cebus_failure_note_error(r->out->failure, "at the end");
}

static void collect(run *r)
{
    cebus_memory_stats stats = CEBUS_MEMORY_STATS_INIT;
    if (cebus_runtime_memory_stats(r->rt, &stats) != CEBUS_OK)
        cebus_failure_note_error(r->out->failure, "statistics");
    r->out->peak = stats.allocated_bytes_peak;
    memcpy(r->out->ways, r->rt->ways, sizeof r->out->ways);
    r->out->stood = r->meter.stood;
    r->out->recomputes = stats.recomputes;
    r->out->swap_ins = stats.swap_ins;
    r->out->prefetches = stats.prefetches;
    r->out->plans_used = stats.plans_used;
    r->out->plans_refused = stats.plans_refused;
    r->out->guided = stats.guided_iterations;
    r->out->floor = r->meter.floor;
    r->out->least = r->meter.least;
    r->out->floor_op = r->meter.floor_op;
    if (r->out->ooms == 0 && r->trial->budget > 0 && stats.allocated_bytes_peak > r->trial->budget)
        cebus_failure_note(r->out->failure, "the peak, %" PRIu64 ", is above the budget, %" PRIu64,
                           stats.allocated_bytes_peak, r->trial->budget);
    if (stats.num_ooms < r->out->ooms)
        cebus_failure_note(r->out->failure, "the statistics miss an out-of-memory error");
    if (r->meter.violation[0] != '\0')
        cebus_failure_note(r->out->failure, "%s", r->meter.violation);
    if (r->trial->host_budget > 0 && stats.swapped_bytes_current > r->trial->host_budget)
        cebus_failure_note(r->out->failure, "more bytes on the host than its budget: %" PRIu64,
                           stats.swapped_bytes_current);
}

/** A file that is no plan is refused; then it is as if there were none. */
static void load_plan(run *r)
{
    if (r->trial->load_plan == NULL)
        return;
    cebus_status status = cebus_plan_load(r->rt, r->trial->load_plan);
    if (status != CEBUS_OK && status != CEBUS_INVALID_ARGUMENT)
        cebus_failure_note_error(r->out->failure, "loading a plan");
}

/** Where nothing was planned there is nothing to save. */
static void save_plan(run *r)
{
    if (r->trial->save_plan != NULL && ok(r) &&
        cebus_plan_save(r->rt, r->trial->save_plan) != CEBUS_OK &&
        cebus_last_error()->status != CEBUS_INVALID_ARGUMENT)
        cebus_failure_note_error(r->out->failure, "saving the plan");
}

void cebus_trial_run(const cebus_trial *trial, cebus_outcome *out)
{
    run r = {.trial = trial, .out = out, .random = trial->seed};
    cebus_runtime_options options = CEBUS_RUNTIME_OPTIONS_INIT;
    *out = (cebus_outcome){.floor_op = ""};
    options.policy = strcmp(trial->policy, "default") != 0 ? trial->policy : NULL;
    options.device = trial->device;
    options.swap = trial->swap;
    options.layout = trial->layout;
    options.host_budget = trial->host_budget;
    options.spill_budget = trial->spill_budget;
    options.pinned_budget = trial->pinned_budget;
    options.threads = 1;
    options.seed = trial->seed;
    options.memory_budget = trial->memory;
    options.cost_model = trial->cost_model;
    options.debug = trial->debug;
    if (cebus_runtime_create(&options, &r.rt) != CEBUS_OK) {
        cebus_failure_note_error(r.out->failure, "making the runtime");
        return;
    }
    r.unlimited = cebus_runtime_budget(r.rt);
    cebus_meter_attach(&r.meter, r.rt, trial->subject);
    if (!trial->late && trial->budget > 0 &&
        cebus_runtime_set_budget(r.rt, trial->budget) != CEBUS_OK)
        cebus_failure_note_error(r.out->failure, "setting the budget");
    load_plan(&r);
    if (ok(&r))
        run_steps(&r);
    save_plan(&r);
    if (r.self != NULL) {
        r.meter.self = NULL;
        trial->subject->destroy(r.self);
    }
    collect(&r);
    if (ok(&r) && cebus_memory_allocated(r.rt) != 0)
        cebus_failure_note(r.out->failure,
                           "%" PRIu64 " bytes are left when everything was released",
                           cebus_memory_allocated(r.rt));
    cebus_runtime_destroy(r.rt);
}
