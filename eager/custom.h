/**
 * custom.h: how a user's op looks to the rest of eager: an op and a kernel made from its
 * description, kept by the runtime from the first call on.
 */
#ifndef CEBUS_EAGER_CUSTOM_H
#define CEBUS_EAGER_CUSTOM_H

#include <cebus/custom.h>

#include "eager/runtime.h"

typedef struct cebus_custom_entry {
    cebus_op op; /**< first: an op with CEBUS_OP_CUSTOM is an entry */
    cebus_kernel kernel;
    const cebus_custom_op *user;
    cebus_runtime *rt;
    struct cebus_custom_entry *next;
} cebus_custom_entry;

/** Frees all entries of a runtime. */
void cebus_custom_free(cebus_runtime *rt);

#endif
