/**
 * amp.h: the inside of loss scaling (cebus/amp.h).
 */
#ifndef CEBUS_EAGER_OPS_AMP_H
#define CEBUS_EAGER_OPS_AMP_H

#include <cebus/amp.h>

/** Copies what the caller's struct has (NULL: nothing), fills in defaults and checks ranges. */
CEBUS_MUST_CHECK cebus_status cebus_grad_scaler_options_read(
    const cebus_grad_scaler_options *options, const char *function, cebus_grad_scaler_options *out);

/** cebus_update_scale() with options that are complete. */
CEBUS_MUST_CHECK cebus_status cebus_scale_move(cebus_runtime *rt, cebus_tensor *scale,
                                               cebus_tensor *tracker, cebus_tensor *found_inf,
                                               const cebus_grad_scaler_options *how);

#endif
