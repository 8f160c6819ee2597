/**
 * record.h: the running program as a trace (<cebus/trace.h> has the format).
 *
 * Hooks are called where the runtime commits to something, under its lock, and only while
 * rt->recorder is not NULL: a runtime that records nothing pays a pointer test. They allocate
 * nothing and cannot fail; a file that cannot be written any more is told by cebus_trace_stop().
 *
 * What is written does not depend on the budget: replays and swaps are not recorded, and a value
 * that a call made counts as a new one after a write, whether or not its record had been cut
 * (only leaves and persistent values keep their ids).
 */
#ifndef CEBUS_EAGER_TRACE_RECORD_H
#define CEBUS_EAGER_TRACE_RECORD_H

#include "eager/runtime.h"

/**
 * A call succeeded and is about to be committed: storages still name the versions it read. `in`:
 * as given to the call (NULL: absent); out[j] the version it made or wrote.
 */
void cebus_record_call(cebus_runtime *rt, const cebus_call *call, const cebus_kernel *kernel,
                       cebus_tensor *const *in, cebus_candidate *const *out);

/** The last holder of a version is about to let go: nothing but replays will read it. */
void cebus_record_free(cebus_runtime *rt, cebus_candidate *candidate);

/** An iteration ended. */
void cebus_record_mark(cebus_runtime *rt);

/** Ends the recording, if there is one; errno's value of what could not be written. */
int cebus_record_end(cebus_runtime *rt);

#endif
