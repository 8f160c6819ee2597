/**
 * optimizer.h: what a capture asks of an optimizer whose steps it runs again, and loss scaling
 * (scaler.c) of one that it guides.
 */
#ifndef CEBUS_EAGER_OPTIM_OPTIMIZER_H
#define CEBUS_EAGER_OPTIM_OPTIMIZER_H

#include "eager/ops/optim.h"

/** Attributes of any update. */
typedef union cebus_update_attrs {
    cebus_sgd_attrs sgd;
    cebus_adam_attrs adam;
} cebus_update_attrs;

/** Lives until it was destroyed as often as made and retained. Returns it. Lock-free. */
cebus_optimizer *cebus_optimizer_retain(cebus_optimizer *optimizer);

/** Attributes of the next update of a slot. */
void cebus_optimizer_attrs(const cebus_optimizer *optimizer, size_t slot, cebus_update_attrs *out);
/** That update was made. */
void cebus_optimizer_count_update(cebus_optimizer *optimizer, size_t slot);

/** A number that no other optimizer of the process has, or had. */
uint64_t cebus_optimizer_birth(const cebus_optimizer *optimizer);

/** The runtime it was made on. */
cebus_runtime *cebus_optimizer_runtime(const cebus_optimizer *optimizer);

/** The gradients that its parameters have, new references in `out`, which has room for
 * cebus_optimizer_count(). On failure there are none. */
CEBUS_MUST_CHECK cebus_status cebus_optimizer_gradients(const cebus_optimizer *optimizer,
                                                        cebus_tensor **out, size_t *out_n);

/** cebus_optimizer_step() with scaled gradients: `scaling` without `steps`, which the optimizer
 * keeps for each parameter from the first such step on. */
CEBUS_MUST_CHECK cebus_status cebus_optimizer_step_scaled(cebus_optimizer *optimizer,
                                                          const cebus_step_scaling *scaling);

/** How many of `n` >= 1 gradients one call reads at most: what it takes, and no more bytes than fit
 * into small memory. By sizes alone. (clip.c) */
size_t cebus_gradient_group(cebus_tensor *const *grads, size_t n);

#endif
