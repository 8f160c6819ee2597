/**
 * composite.h: makes a public function that consists of several calls atomic: it happens, or it
 * does not. Between begin and end the runtime is locked. When the function fails, the random
 * numbers that its first calls drew are given back, so that trying again draws the same ones.
 */
#ifndef CEBUS_EAGER_COMPOSITE_H
#define CEBUS_EAGER_COMPOSITE_H

#include "eager/runtime.h"

typedef struct cebus_composite {
    cebus_runtime *rt;
    uint64_t rng_offset;
} cebus_composite;

static inline cebus_status cebus_composite_begin(cebus_composite *composite, cebus_runtime *rt,
                                                 const char *function)
{
    cebus_status status = cebus_runtime_lock(rt, function);
    if (status == CEBUS_OK)
        *composite = (cebus_composite){.rt = rt, .rng_offset = rt->rng_offset};
    return status;
}

/** Answers `status`. */
static inline cebus_status cebus_composite_end(const cebus_composite *composite,
                                               cebus_status status)
{
    if (status != CEBUS_OK)
        composite->rt->rng_offset = composite->rng_offset;
    cebus_runtime_unlock(composite->rt);
    return status;
}

#endif
