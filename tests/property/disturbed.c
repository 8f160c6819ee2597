#include "tests/property/disturbed.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cebus/plan.h>

#include "tests/property/reorder.h"
#include "tests/support/faulty_io.h"
#include "tests/support/host.h"
#include "tests/support/test_device.h"

enum {
    ATTEMPTS = 6, /* at a step: faults, short memory, and what is left without either */
    STRETCH = 8,  /* steps that are captured together, at most */
    LAUNCHES = 3
};

typedef struct run {
    const cebus_disturbed *what;
    cebus_disturbed_outcome *out;
    cebus_runtime *rt;
    void *self;
    cebus_test_host host;
    uint64_t random;    /**< of what disturbs */
    uint64_t schedule;  /**< of what is captured: the same in every run of the subject */
    uint64_t unlimited; /**< the budget a runtime has by default */
    size_t stretch;     /**< steps until the capture under way ends; 0: none is */
    bool calm;          /**< what the runtime plans for stays as it was in the beginning */
    bool on_test;       /**< the device whose launches and copies fail */
    bool spills;
    bool traced, watched;
} run;

static bool ok(const run *r)
{
    return r->out->failure[0] == '\0';
}

static uint64_t next(uint64_t *state, uint64_t bound)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (*state >> 33) % bound;
}

static uint64_t draw(run *r, uint64_t bound)
{
    return next(&r->random, bound);
}

/* --- faults ---------------------------------------------------------------------------------- */

/** Mostly small: what a step asks for first is also what it asks for most often. */
static uint64_t some(run *r)
{
    return 1 + draw(r, draw(r, 3) == 0 ? 200 : 12);
}

static void arm_io(run *r)
{
    static const cebus_io_fault kinds[] = {CEBUS_IO_FAULT_EIO, CEBUS_IO_FAULT_READ,
                                           CEBUS_IO_FAULT_ENOSPC, CEBUS_IO_FAULT_SHORT,
                                           CEBUS_IO_FAULT_FLIP};
    atomic_store(&cebus_io_faults.fault, kinds[draw(r, sizeof kinds / sizeof *kinds)]);
    atomic_store(&cebus_io_faults.at, some(r));
}

/** Something fails once, soon; where the run is disturbed at all. */
static void arm(run *r)
{
    if (r->what->draw == 0 || draw(r, 3) > 0)
        return;
    switch (draw(r, r->on_test ? 4 : 2)) {
    case 0:
        r->host.fail_at = some(r);
        break;
    case 1:
        if (r->spills)
            arm_io(r);
        break;
    case 2:
        cebus_test_faults.launch_at = some(r);
        break;
    default:
        if (draw(r, 3) == 0)
            cebus_test_faults.reserve_at = 1;
        else
            cebus_test_faults.copy_at = some(r);
    }
}

static void disarm(run *r)
{
    r->host.fail_at = 0;
    cebus_test_faults = (cebus_test_device_faults){0};
    atomic_store(&cebus_io_faults.at, 0);
}

static bool is_fault(cebus_status status)
{
    return status == CEBUS_OUT_OF_MEMORY || status == CEBUS_OUT_OF_HOST_MEMORY ||
           status == CEBUS_DEVICE_ERROR || status == CEBUS_IO_ERROR;
}

/** The books hold after what failed. Short memory becomes plenty, or the next attempt fails, too.
 */
static void recover(run *r, cebus_status status, const char *what)
{
    disarm(r);
    if (r->what->draw == 0 || !is_fault(status)) {
        cebus_failure_note_error(r->out->failure, what);
        return;
    }
    r->out->faults++;
    if (cebus_runtime_check(r->rt) != CEBUS_OK)
        cebus_failure_note_error(r->out->failure, what);
    if (status != CEBUS_OUT_OF_MEMORY)
        return;
    r->out->ooms++;
    if (cebus_runtime_set_budget(r->rt, r->unlimited) != CEBUS_OK)
        cebus_failure_note_error(r->out->failure, "raising the budget");
}

/* --- between two steps ----------------------------------------------------------------------- */

static cebus_status change_budget(run *r)
{
    uint64_t part = 30 + draw(r, 80);
    return cebus_runtime_set_budget(r->rt, draw(r, 4) == 0 ? r->unlimited
                                                           : r->what->peak * part / 100 + 4096);
}

static cebus_status change_policy(run *r)
{
    size_t n = 0;
    while (cebus_policy_name(n) != NULL)
        n++;
    return cebus_runtime_set_policy(r->rt, cebus_policy_name(draw(r, n)));
}

static cebus_status change_trace(run *r)
{
    cebus_status status =
        r->traced ? cebus_trace_stop(r->rt) : cebus_trace_start(r->rt, "/dev/null");
    r->traced = !r->traced && status == CEBUS_OK;
    return status;
}

/** What the watch has is looked at and thrown away. */
static cebus_status change_watch(run *r)
{
    cebus_capture *last = NULL;
    if (!r->watched || draw(r, 3) == 0) {
        cebus_status status = cebus_capture_watch(r->rt, !r->watched);
        r->watched = r->watched != (status == CEBUS_OK);
        return status;
    }
    cebus_status status = cebus_capture_last(r->rt, &last);
    cebus_capture_destroy(last);
    return status;
}

/** One file for all runs of the process: what is loaded was saved long ago, or by another run. */
static void plan_path(char *path, size_t path_bytes)
{
    snprintf(path, path_bytes, "/tmp/cebus-disturbed-%ld.plan", (long)getpid());
}

void cebus_disturbed_forget(void)
{
    char path[64];
    plan_path(path, sizeof path);
    unlink(path);
}

static cebus_status change_plans(run *r)
{
    char path[64];
    plan_path(path, sizeof path);
    return draw(r, 2) == 0 ? cebus_plan_save(r->rt, path) : cebus_plan_load(r->rt, path);
}

static cebus_status change(run *r)
{
    switch (r->calm ? draw(r, 3) : draw(r, 9)) {
    case 0:
        return change_trace(r);
    case 1:
        return change_watch(r);
    case 2:
        return change_plans(r);
    case 3:
        return cebus_runtime_trim(r->rt);
    case 4:
        return change_policy(r);
    case 5:
        return cebus_iteration_mark(r->rt);
    default:
        return change_budget(r);
    }
}

/** What cannot be changed now, or not at all, is no error of the program. */
static void disturb(run *r)
{
    if (r->what->draw == 0 || draw(r, 3) > 0)
        return;
    arm(r);
    cebus_status status = change(r);
    disarm(r);
    if (status == CEBUS_OK || status == CEBUS_INVALID_ARGUMENT || status == CEBUS_CAPTURE_ERROR)
        return;
    r->out->faults += is_fault(status);
    if (!is_fault(status) || cebus_runtime_check(r->rt) != CEBUS_OK)
        cebus_failure_note_error(r->out->failure, "a change from outside");
}

/* --- captures -------------------------------------------------------------------------------- */

/** Another order, or a plan. What there is no room for, or no plan, is no error. */
static void reorder(run *r, cebus_capture *capture)
{
    cebus_advise_result result;
    cebus_status status = CEBUS_OK;
    bool planned = false;
    switch (r->what->draw == 0 ? 0 : draw(r, 5)) {
    case 0:
        break;
    case 1:
        status = cebus_capture_set_order(capture, NULL, 0);
        break;
    case 2:
        status = cebus_reorder_advise(capture, r->what->peak * (30 + draw(r, 80)) / 100, r->random,
                                      &result, &planned);
        r->out->advised += planned && status == CEBUS_OK;
        status = status == CEBUS_INVALID_ARGUMENT && planned ? CEBUS_OK : status;
        break;
    default:
        status = cebus_reorder_shuffle(capture, &r->random);
        r->out->reordered++;
    }
    if (status != CEBUS_OK)
        cebus_failure_note_error(r->out->failure, "another order of a capture");
}

static void launch(run *r, cebus_capture *capture)
{
    for (uint64_t i = next(&r->schedule, LAUNCHES); i > 0 && ok(r); i--) {
        cebus_status status = CEBUS_OUT_OF_MEMORY;
        reorder(r, capture);
        for (int attempt = 0; attempt < ATTEMPTS && is_fault(status) && ok(r); attempt++) {
            if (attempt < ATTEMPTS / 2)
                arm(r);
            status = cebus_capture_launch(capture);
            disarm(r);
            if (is_fault(status))
                recover(r, status, "a launch");
        }
        cebus_record_number(&r->out->record, status);
        r->out->launches += status == CEBUS_OK;
        if (status != CEBUS_OK)
            break;
        disturb(r);
    }
}

/** What cannot be launched is refused for the same reason in every run. */
static void end_capture(run *r)
{
    cebus_capture *capture = NULL;
    r->stretch = 0;
    cebus_status status = cebus_capture_end(r->rt, &capture);
    cebus_record_number(&r->out->record, status);
    if (status != CEBUS_OK && status != CEBUS_CAPTURE_ERROR)
        cebus_failure_note_error(r->out->failure, "the end of a capture");
    if (status != CEBUS_OK)
        return;
    r->out->captures++;
    launch(r, capture);
    cebus_capture_destroy(capture);
}

static void give_up_capture(run *r)
{
    r->stretch = 0;
    if (cebus_capture_end(r->rt, NULL) != CEBUS_OK)
        cebus_failure_note_error(r->out->failure, "giving a capture up");
}

/** In each pass of a program that comes again the same steps are captured. */
static void begin_capture(run *r, size_t i)
{
    if (r->what->subject == &cebus_subject_rounds && i % CEBUS_ROUND_STEPS == 0)
        r->schedule = r->what->seed;
    if (r->stretch > 0 || next(&r->schedule, 8) > 0)
        return;
    if (cebus_capture_begin(r->rt) != CEBUS_OK)
        cebus_failure_note_error(r->out->failure, "the beginning of a capture");
    r->stretch = 1 + next(&r->schedule, STRETCH);
}

/* --- the subject ----------------------------------------------------------------------------- */

static cebus_status attempt_step(run *r, size_t i)
{
    const cebus_subject *subject = r->what->subject;
    cebus_status status = i < r->what->steps ? subject->step(r->self, i, &r->out->record)
                                             : subject->finish(r->self, &r->out->record);
    disarm(r);
    return status;
}

static bool may_fail(const run *r, size_t i)
{
    const cebus_subject *subject = r->what->subject;
    return i == r->what->steps || subject->is_atomic == NULL || subject->is_atomic(r->self, i);
}

/** Takes a step until it is done. One that a capture refuses ends the capture, and is taken after.
 */
static void take(run *r, size_t i)
{
    const size_t before = r->out->record.count;
    cebus_status status = CEBUS_OUT_OF_MEMORY;
    for (int attempt = 0; attempt < ATTEMPTS && status != CEBUS_OK && ok(r); attempt++) {
        if (attempt < ATTEMPTS / 2 && may_fail(r, i))
            arm(r);
        status = attempt_step(r, i);
        if (status == CEBUS_OK)
            break;
        cebus_record_truncate(&r->out->record, before);
        if (status == CEBUS_CAPTURE_ERROR && r->stretch > 0) {
            give_up_capture(r);
        } else {
            recover(r, status, i < r->what->steps ? "a step" : "the final reads");
        }
    }
    if (status != CEBUS_OK)
        cebus_failure_note_error(r->out->failure, "a step without a fault");
}

static void run_steps(run *r)
{
    const size_t steps = r->what->steps;
    for (size_t i = 0; i <= steps && ok(r); i++) {
        disturb(r);
        if (i == steps && r->stretch > 0)
            end_capture(r);
        else if (i < steps)
            begin_capture(r, i);
        if (ok(r))
            take(r, i);
        if (ok(r) && r->stretch > 0 && --r->stretch == 0)
            end_capture(r);
    }
    if (ok(r) && cebus_runtime_check(r->rt) != CEBUS_OK)
        cebus_failure_note_error(r->out->failure, "at the end");
}

/* --- the runtime ----------------------------------------------------------------------------- */

static void draw_options(run *r, cebus_runtime_options *options)
{
    static const cebus_swap swaps[] = {CEBUS_SWAP_DEFAULT, CEBUS_SWAP_OFF, CEBUS_SWAP_ON};
    static const uint32_t debug[] = {
        CEBUS_DEBUG_HASH | CEBUS_DEBUG_WALK, CEBUS_DEBUG_HOST | CEBUS_DEBUG_WALK,
        CEBUS_DEBUG_HASH | CEBUS_DEBUG_CHAOS, CEBUS_DEBUG_HINTS | CEBUS_DEBUG_WALK, 0};
    options->swap = swaps[draw(r, 3)];
    options->debug = debug[draw(r, sizeof debug / sizeof *debug)];
    r->on_test = draw(r, 2) == 0;
    if (r->on_test)
        options->device = "test";
    r->spills = options->swap == CEBUS_SWAP_ON && draw(r, 2) == 0;
    options->spill_budget = r->spills ? 64 << 20 : 0;
    if (draw(r, 3) == 0)
        options->host_budget = r->what->peak / 4 + 4096;
    r->calm = draw(r, 3) == 0;
}

static bool open_runtime(run *r)
{
    cebus_runtime_options options = CEBUS_RUNTIME_OPTIONS_INIT;
    cebus_test_host_init(&r->host);
    options.threads = 1;
    options.seed = r->what->seed;
    options.cost_model = CEBUS_COST_ESTIMATED;
    options.host = &r->host.allocator;
    if (r->what->draw != 0)
        draw_options(r, &options);
    if (r->spills)
        cebus_faulty_io_start(NULL);
    if (cebus_runtime_create(&options, &r->rt) != CEBUS_OK)
        cebus_failure_note_error(r->out->failure, "making the runtime");
    return ok(r);
}

/** A budget that is too small is refused, and plenty stays. */
static bool begin_calmly(run *r)
{
    if (!r->calm)
        return true;
    cebus_status status = change_policy(r);
    if (status == CEBUS_OK)
        status = change_budget(r);
    if (status != CEBUS_OK && status != CEBUS_OUT_OF_MEMORY)
        cebus_failure_note_error(r->out->failure, "a change in the beginning");
    return ok(r);
}

static void collect(run *r)
{
    cebus_memory_stats stats = CEBUS_MEMORY_STATS_INIT;
    if (cebus_runtime_memory_stats(r->rt, &stats) != CEBUS_OK)
        cebus_failure_note_error(r->out->failure, "statistics");
    r->out->peak = stats.allocated_bytes_peak;
    r->out->evictions = stats.evictions;
    r->out->guided = stats.guided_iterations;
    r->out->loaded = stats.plans_used;
    if (cebus_memory_allocated(r->rt) != 0)
        cebus_failure_note(r->out->failure,
                           "%" PRIu64 " bytes are left when everything was released",
                           cebus_memory_allocated(r->rt));
}

void cebus_disturbed_run(const cebus_disturbed *what, cebus_disturbed_outcome *out)
{
    run r = {.what = what, .out = out, .schedule = what->seed};
    r.random = what->draw * UINT64_C(0x9E3779B97F4A7C15) + what->seed;
    *out = (cebus_disturbed_outcome){0};
    cebus_test_device_defer(false);
    disarm(&r);
    if (!open_runtime(&r))
        return;
    r.unlimited = cebus_runtime_budget(r.rt);
    r.self = what->subject->create(r.rt, what->name, what->seed);
    if (r.self == NULL)
        cebus_failure_note_error(r.out->failure, "making the subject");
    else if (begin_calmly(&r))
        run_steps(&r);
    if (r.stretch > 0)
        give_up_capture(&r);
    if (r.watched && cebus_capture_watch(r.rt, false) != CEBUS_OK)
        cebus_failure_note_error(r.out->failure, "the end of a watch");
    if (r.self != NULL)
        what->subject->destroy(r.self);
    collect(&r);
    cebus_runtime_destroy(r.rt);
    if (r.spills)
        cebus_faulty_io_stop();
    if (ok(&r) && r.host.live != 0)
        cebus_failure_note(r.out->failure, "%" PRId64 " allocations leaked", r.host.live);
}
