/**
 * hook.h: functions of the user that see gradients pass, and what the graph keeps for them.
 *
 * A hook runs without the runtime's lock: the walk it belongs to gives the lock away whole
 * (walk.h). What a hook keeps is let go outside the lock, too: when its last reference falls it
 * only queues (rt->released), and whoever leaves the runtime lets go what queued.
 *
 * Thread-safety: the runtime's lock.
 */
#ifndef CEBUS_EAGER_AUTOGRAD_HOOK_H
#define CEBUS_EAGER_AUTOGRAD_HOOK_H

#include "eager/tensor.h"

typedef struct cebus_hook cebus_hook;
struct cebus_hook {
    cebus_hook *next; /**< in the order of registration; in the queue of what is let go */
    uint64_t id;
    uint32_t refs;
    uint32_t output; /**< of the node it hangs on */
    cebus_grad_hook user;
};

/** Appends to `list`; its id, or 0 without host memory (then nothing of `user` was taken). */
uint64_t cebus_hook_add(cebus_runtime *rt, cebus_hook **list, const cebus_grad_hook *user,
                        uint32_t output);
/** Whether one of them may change a gradient on its way. */
bool cebus_hooks_replace(const cebus_hook *list);
/** Empties the list. */
void cebus_hooks_drop(cebus_runtime *rt, cebus_hook **list);

/**
 * Shows *grad to each hook of `output` in turn; what one answers takes its place. `after` chooses
 * between the hooks that see a gradient before and after it was added to the leaf's. The list may
 * change meanwhile.
 */
cebus_status cebus_hooks_run(cebus_runtime *rt, cebus_hook *const *list, uint32_t output,
                             bool after, cebus_tensor **grad);

#endif
