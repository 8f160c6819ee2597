#include "tests/fault/trial.h"

#include <stdio.h>
#include <string.h>

const char *cebus_fault_name(cebus_fault fault)
{
    static const char *const names[] = {"nothing", "host allocation", "launch", "copy",
                                        "slab reservation"};
    return names[fault];
}

void cebus_trial_begin(cebus_trial *trial, cebus_fault fault, uint64_t n)
{
    *trial = (cebus_trial){.fault = fault};
    cebus_test_host_init(&trial->host);
    cebus_test_faults.fired = false;
    cebus_trial_arm(trial, n);
}

void cebus_trial_arm(cebus_trial *trial, uint64_t n)
{
    trial->n = n > 0 ? n : trial->n;
    trial->host.fail_at = trial->fault == CEBUS_FAULT_HOST ? n : 0;
    cebus_test_faults = (cebus_test_device_faults){
        .launch_at = trial->fault == CEBUS_FAULT_LAUNCH ? n : 0,
        .copy_at = trial->fault == CEBUS_FAULT_COPY ? n : 0,
        .reserve_at = trial->fault == CEBUS_FAULT_RESERVE ? n : 0,
        .fired = cebus_test_faults.fired,
    };
}

bool cebus_trial_fired(const cebus_trial *trial)
{
    return trial->host.fired || cebus_test_faults.fired;
}

void cebus_trial_break(cebus_trial *trial, const char *what)
{
    const cebus_error *error = cebus_last_error();
    if (!trial->broken)
        snprintf(trial->why, sizeof trial->why, "%s: %s: %s", what,
                 cebus_status_name(error->status), error->message);
    trial->broken = true;
}

/** What the fault must be reported as. */
static cebus_status expected(cebus_fault fault)
{
    return fault == CEBUS_FAULT_LAUNCH || fault == CEBUS_FAULT_COPY ? CEBUS_DEVICE_ERROR
                                                                    : CEBUS_OUT_OF_HOST_MEMORY;
}

bool cebus_trial_may_retry(cebus_trial *trial, cebus_runtime *rt, cebus_status status,
                           const char *what)
{
    if (status == CEBUS_OK || trial->broken)
        return false;
    if (!cebus_trial_fired(trial) || status != expected(trial->fault) || trial->retried++ > 0)
        cebus_trial_break(trial, what);
    else if (rt != NULL && cebus_runtime_check(rt) != CEBUS_OK)
        cebus_trial_break(trial, "after the fault");
    return !trial->broken;
}

bool cebus_trial_passed(cebus_trial *trial, const void *result, const void *wanted, size_t bytes)
{
    if (!trial->broken && trial->host.live != 0) {
        snprintf(trial->why, sizeof trial->why, "%lld allocations leaked",
                 (long long)trial->host.live);
        trial->broken = true;
    }
    if (!trial->broken && memcmp(result, wanted, bytes) != 0) {
        snprintf(trial->why, sizeof trial->why, "other bits than the undisturbed run");
        trial->broken = true;
    }
    if (trial->broken)
        printf("# %s number %llu: %s\n", cebus_fault_name(trial->fault),
               (unsigned long long)trial->n, trial->why);
    return !trial->broken;
}
