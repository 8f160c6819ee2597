/**
 * dnnl_cache.h: oneDNN primitives made once and kept, keyed by the bytes that describe the call.
 *
 * A family describes a call by a plain struct, zeroed first for its padding (its key), and by a
 * maker, a pure function from that key to a primitive descriptor and the operands' memory layouts.
 * What the cache keeps of it is a plan: the primitive, a reorder for each operand whose layout is
 * not the one the primitive wants, and the place of every temporary in the call's workspace. The
 * workspace is known before anything runs, so the runtime takes it from its arena; oneDNN's own
 * scratch is part of it (user mode).
 *
 * oneDNN's "ref" implementations are refused (up to 400 times slower than what we have):
 * the family then runs its own kernel. Which one runs depends on the key, the thread count and
 * the library alone, hence so do the bits.
 *
 * Outside the arena: about 20 to 150 KiB of generated code a plan, at most
 * CEBUS_DNNL_CAPACITY plans; the one used longest ago goes first.
 *
 * Without oneDNN the functions exist and find nothing. Thread-safety: the runtime's lock.
 */
#ifndef CEBUS_EAGER_DEVICE_CPU_DNNL_CACHE_H
#define CEBUS_EAGER_DEVICE_CPU_DNNL_CACHE_H

#include "cebus_config.h"

#include "eager/device/cpu/cpu.h"

#ifdef CEBUS_HAVE_ONEDNN
#include <dnnl.h>
#else
typedef int dnnl_status_t;
typedef void *dnnl_engine_t;
#endif

#define CEBUS_DNNL_CAPACITY 512
#define CEBUS_DNNL_MAX_OPERANDS 8

typedef struct cebus_dnnl_plan cebus_dnnl_plan;
typedef struct cebus_dnnl_recipe cebus_dnnl_recipe;

#ifdef CEBUS_HAVE_ONEDNN
/** One operand of the primitive and how the caller's bytes lie. */
typedef struct cebus_dnnl_operand {
    int arg;      /**< DNNL_ARG_SRC, ... */
    bool written; /**< an output: reordered after the primitive, not before */
    dnnl_memory_desc_t given;
} cebus_dnnl_operand;

/** What a maker fills in; on success the cache owns `primitive`. */
struct cebus_dnnl_recipe {
    dnnl_primitive_desc_t primitive;
    int n;
    cebus_dnnl_operand operand[CEBUS_DNNL_MAX_OPERANDS];
};

/**
 * The first implementation whose name does not contain "ref" nor `avoid` (NULL: nothing more to
 * avoid), with its scratch in user mode. `hint` is the forward descriptor that a backward one
 * asks for, or NULL.
 */
dnnl_status_t cebus_dnnl_select(dnnl_engine_t engine, const void *op_desc,
                                const_dnnl_primitive_desc_t hint, const char *avoid,
                                dnnl_primitive_desc_t *out);
#endif

/** Pure. Any status but success means "oneDNN cannot": remembered, unless it ran out of memory. */
typedef dnnl_status_t (*cebus_dnnl_maker)(dnnl_engine_t engine, const void *key,
                                          cebus_dnnl_recipe *out);

/**
 * The plan for (maker, key, launch->threads), made now if it is new; valid until the next find.
 * CEBUS_OK with *out NULL: oneDNN has nothing good for it, use your own loops.
 * CEBUS_DEVICE_ERROR: no host memory.
 */
cebus_status cebus_dnnl_find(const cebus_launch *launch, cebus_dnnl_maker maker, const void *key,
                             size_t key_bytes, const cebus_dnnl_plan **out);

/** Bytes of workspace a run needs, a multiple of 64. */
uint64_t cebus_dnnl_plan_workspace(const cebus_dnnl_plan *plan);
/** oneDNN's name of the implementation, as in "jit:avx512_core". */
const char *cebus_dnnl_plan_name(const cebus_dnnl_plan *plan);

/** Runs it: data[i] are the bytes of the recipe's operand i. Workspace is aligned to 64. */
cebus_status cebus_dnnl_plan_run(const cebus_launch *launch, const cebus_dnnl_plan *plan,
                                 void *const *data, void *workspace);

/** Bytes that engine and plans hold outside the arena: what the process grew by while each was
 * made. NULL is allowed. */
uint64_t cebus_dnnl_outside_bytes(const cebus_dnnl *dnnl);

/** Frees everything. NULL is allowed. For the device's shutdown. */
void cebus_dnnl_destroy(cebus_dnnl *dnnl);

#endif
