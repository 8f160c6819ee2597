/**
 * trial.h: a run in which the n-th of something fails. The call that it strikes must say what it
 * was, leave every invariant intact, and succeed when it is made again; the run then ends with the
 * bits of an undisturbed one, and nothing leaks.
 */
#ifndef CEBUS_TESTS_FAULT_TRIAL_H
#define CEBUS_TESTS_FAULT_TRIAL_H

#include <cebus/cebus.h>

#include "tests/support/host.h"
#include "tests/support/test_device.h"

typedef enum cebus_fault {
    CEBUS_FAULT_NONE,
    CEBUS_FAULT_HOST,
    CEBUS_FAULT_LAUNCH,
    CEBUS_FAULT_COPY,
    CEBUS_FAULT_RESERVE
} cebus_fault;

/** "host allocation", "launch", ... */
const char *cebus_fault_name(cebus_fault fault);

typedef struct cebus_trial {
    cebus_test_host host; /**< for the runtime on trial */
    cebus_fault fault;
    uint64_t n;
    int retried;
    bool broken;
    char why[640]; /**< it broke */
} cebus_trial;

/** Makes the n-th of a kind fail from here on, as far as the host and device "test" are asked. */
void cebus_trial_begin(cebus_trial *trial, cebus_fault fault, uint64_t n);

/** The n-th from now on, of the kind that it began with; 0: none any more. */
void cebus_trial_arm(cebus_trial *trial, uint64_t n);

/** Whether the fault was delivered. */
bool cebus_trial_fired(const cebus_trial *trial);

/** Ends it: `what` went wrong, and the last error. The first such call counts. */
void cebus_trial_break(cebus_trial *trial, const char *what);

/** After a call returned `status`: whether to make it again, since what failed was the fault, and
 * for the first time. `rt` is checked then; NULL: there is none yet. */
bool cebus_trial_may_retry(cebus_trial *trial, cebus_runtime *rt, cebus_status status,
                           const char *what);

/** Whether the run, over now, leaked nothing and has the bits that were wanted; prints a TAP
 * comment where it broke. */
bool cebus_trial_passed(cebus_trial *trial, const void *result, const void *wanted, size_t bytes);

/** Calls, and once more where the fault struck. `r` points to a struct with a `trial` and an `rt`.
 */
#define TRY(r, call)                                                                               \
    do {                                                                                           \
        if ((r)->trial.broken)                                                                     \
            break;                                                                                 \
        cebus_status try_status = (call);                                                          \
        if (cebus_trial_may_retry(&(r)->trial, (r)->rt, try_status, #call))                        \
            (void)cebus_trial_may_retry(&(r)->trial, (r)->rt, (call), #call);                      \
    } while (0)

#endif
