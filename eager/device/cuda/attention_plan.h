/**
 * attention_plan.h: what one attention launch works on: its operands, in the order of the batch
 * that makes the largest products, the chunks and blocks it is cut into, and its buffers.
 */
#ifndef CEBUS_EAGER_DEVICE_CUDA_ATTENTION_PLAN_H
#define CEBUS_EAGER_DEVICE_CUDA_ATTENTION_PLAN_H

#include "eager/device/cuda/cut.h"
#include "eager/device/cuda/product.h"
#include "eager/ops/attention.h"

/** What products read and write at most: q, k, v, the gradient; gradients of the first three. */
#define CEBUS_CUDA_ATTENTION_MULTIPLIED 7

typedef struct cebus_cuda_attention {
    const cebus_launch *launch;
    const cebus_attention_attrs *attrs;
    const char *op;
    bool is_backward;
    bool plans;              /* nothing runs yet: what products will take is found out */
    cebus_dtype dtype, wide; /* of operands; of scores */
    int64_t size;            /* of an operand's element */
    int64_t length, columns, features, values; /* L, S, E, D */
    int ndim;                                  /* of the batch */
    int64_t shape[CEBUS_MAX_DIMS], count, ld;
    cebus_cuda_operand in[CEBUS_ATTENTION_INPUTS];
    cebus_cuda_operand out[CEBUS_ATTENTION_MASK + 1];
    cebus_cuda_operand lse; /* matrices of one column */
    cebus_cuda_cut cut;
    bool gathers[CEBUS_CUDA_ATTENTION_MULTIPLIED]; /* of a chunk, into dense matrices */
    char *dense[CEBUS_CUDA_ATTENTION_MULTIPLIED];
    char *weights, *grads;           /* scores */
    char *soft_weights, *soft_grads; /* what products read of them: the same where types are */
    char *workspace;                 /* of the products */
    uint64_t product_bytes;
} cebus_cuda_attention;

/** Sizes and types, by the launch's views. */
void cebus_cuda_attention_init(cebus_cuda_attention *j, const cebus_launch *launch);
/** All but `plans`, `workspace` and `product_bytes`. Nothing may be empty. */
void cebus_cuda_attention_plan(cebus_cuda_attention *j, cebus_cuda_scratch *scratch);

/** Inputs that products read (q, k, v, the gradient): how many, and which is number `index`; the
 * others only have strides. */
int cebus_cuda_attention_factors(const cebus_cuda_attention *j);
int cebus_cuda_attention_factor(int index);
/** What products read, and then what they write, in turn. */
cebus_cuda_operand *cebus_cuda_attention_multiplied(cebus_cuda_attention *j, int index);
int cebus_cuda_attention_multiplied_count(const cebus_cuda_attention *j);

/** A chunk of the batch as a launch of its own, in the same buffers. */
cebus_cuda_attention cebus_cuda_attention_chunk(const cebus_cuda_attention *j,
                                                const cebus_cuda_chunk *chunk);
/** The same with those operands dense that `gathers` names. */
cebus_cuda_attention cebus_cuda_attention_gathered(const cebus_cuda_attention *chunk);

/** Rows of scores begin at multiples of 8, so that products, too, load them at once. */
int64_t cebus_cuda_attention_ld(int64_t columns);
/** The columns that block number `index` works on: those that its last row sees, and some more, so
 * that few lengths differ. */
int64_t cebus_cuda_attention_seen(const cebus_cuda_attention *j, int64_t index);

#endif
