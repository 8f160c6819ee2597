/**
 * launch.h: a record on its way to the device: its kernel gets addresses and workspace, runs, and
 * leaves marks on what it used. The program's calls and replays of them are launched alike.
 */
#ifndef CEBUS_EAGER_LAUNCH_H
#define CEBUS_EAGER_LAUNCH_H

#include "eager/storage.h"

/** A launch and its arrays, ready to point at bytes. */
typedef struct cebus_prepared {
    cebus_launch launch;
    cebus_array in[CEBUS_MAX_INPUTS];
    cebus_array out[CEBUS_MAX_OUTPUTS];
} cebus_prepared;

/** Fills everything but addresses and workspace. `call` carries views, attributes, counters. */
void cebus_launch_prepare(cebus_runtime *rt, const cebus_call *call, cebus_prepared *out);

/** Bytes of workspace that a run takes. */
uint64_t cebus_launch_workspace(cebus_runtime *rt, const cebus_call *call,
                                const cebus_kernel *kernel);

/**
 * Takes workspace from the arena (before addresses are resolved: reserving may move blocks),
 * resolves addresses, runs the kernel, counts its cost and releases the workspace.
 * in[i] (NULL: absent) and out[j] (NULL: not wanted) must be pinned and resident.
 */
cebus_status cebus_launch_run(cebus_runtime *rt, cebus_call *call, cebus_op_entry *entry,
                              cebus_candidate *const *in, cebus_candidate *const *out,
                              uint64_t *out_ns);

#endif
