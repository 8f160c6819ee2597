/**
 * optimizer.h: what a capture asks of an optimizer whose steps it runs again.
 */
#ifndef CEBUS_EAGER_OPTIMIZER_H
#define CEBUS_EAGER_OPTIMIZER_H

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

#endif
