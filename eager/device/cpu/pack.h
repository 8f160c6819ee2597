/**
 * pack.h: what a kernel makes of its inputs before it starts: each is taken as it is, or, where
 * its memory order is not the one the kernel wants, as a dense copy in the workspace. Decided by
 * views alone, so that the same plan answers how much workspace that takes.
 */
#ifndef CEBUS_EAGER_DEVICE_CPU_PACK_H
#define CEBUS_EAGER_DEVICE_CPU_PACK_H

#include "eager/op.h"

#define CEBUS_PACK_MAX 4

/** The memory order a kernel wants an input in. */
typedef enum cebus_pack_order {
    CEBUS_PACK_ANY,           /**< never copied */
    CEBUS_PACK_ROWS,          /**< row-major */
    CEBUS_PACK_CHANNELS_LAST, /**< 4-D, dimension 1 innermost */
} cebus_pack_order;

typedef struct cebus_pack {
    int n;
    cebus_pack_order order[CEBUS_PACK_MAX];
    bool copied[CEBUS_PACK_MAX];
    uint64_t offset[CEBUS_PACK_MAX];
    uint64_t bytes; /**< of workspace from its beginning, a multiple of 64 */
} cebus_pack;

/** Plans launch->in[i] in order[i] for i < n; absent inputs (no dimensions) are left out. */
void cebus_pack_init(cebus_pack *pack, const cebus_launch *launch, int n,
                     const cebus_pack_order *order);
/** Makes the copies; data[i] is where input i now lies, NULL when absent. */
void cebus_pack_run(const cebus_pack *pack, const cebus_launch *launch, void **data);

/** The next multiple of 64: pieces of a workspace begin there. */
static inline uint64_t cebus_pack_align(uint64_t bytes)
{
    return (bytes + 63) / 64 * 64;
}

#endif
