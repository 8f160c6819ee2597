/**
 * options.h: reading what a user asks for, strictly: what is not understood is refused.
 */
#ifndef CEBUS_EAGER_OPTIONS_H
#define CEBUS_EAGER_OPTIONS_H

#include <cebus/runtime.h>

#include "evict/policy.h"
#include "layout/layout.h"

/** Copies to `to`, of `size` bytes, what both versions have of a struct of options (NULL: nothing)
 * whose first member is its size. */
CEBUS_MUST_CHECK cebus_status cebus_options_prefix(const char *function, const void *from, void *to,
                                                   size_t size);

/** Copies the known part of `options` (NULL: defaults) and checks every field. */
cebus_status cebus_options_read(const cebus_runtime_options *options, cebus_runtime_options *out);

/** The policy of this name; a failure lists the names there are. */
cebus_status cebus_options_policy(const char *name, const cebus_policy **out);

/** The policy that checked options name, or else `cebus`. */
const cebus_policy *cebus_options_chosen_policy(const cebus_runtime_options *options);

/** The layout that checked options name, or else what suits their policy. */
const cebus_layout *cebus_options_layout(const cebus_runtime_options *options);

#endif
