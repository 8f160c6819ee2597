/**
 * work.h: how much work a launch is: floating-point operations and bytes to and from the device's
 * memory, from views and attributes alone.
 *
 * Unless its entry says more, an op reads every element of its inputs once (repeated ones once,
 * too), writes every element of its outputs once, and computes one operation an element of the
 * largest. A table says the rest, for every op that the CPU device has; a test holds it so.
 */
#ifndef CEBUS_EAGER_DEVICE_SIM_WORK_H
#define CEBUS_EAGER_DEVICE_SIM_WORK_H

#include "eager/op.h"

/** Ops that reach about the same share of a machine's rates (roofline.c has the shares). */
typedef enum cebus_work_family {
    CEBUS_WORK_CONV,
    CEBUS_WORK_CONV_DATA,    /**< gradient of the image, and transposed convolution */
    CEBUS_WORK_CONV_WEIGHTS, /**< gradient of the weight */
    CEBUS_WORK_MATMUL,
    CEBUS_WORK_BATCHED_MATMUL,
    CEBUS_WORK_ATTENTION,
    CEBUS_WORK_RECURRENT, /**< gates; their products are matmuls */
    CEBUS_WORK_NORM,
    CEBUS_WORK_POOL, /**< and interpolation */
    CEBUS_WORK_SOFTMAX,
    CEBUS_WORK_ELEMENTWISE,
    CEBUS_WORK_REDUCTION,
    CEBUS_WORK_INDEX, /**< places that data decides */
    CEBUS_WORK_COPY,
    CEBUS_WORK_OPTIMIZER,
    CEBUS_WORK_RANDOM,
    CEBUS_WORK_FAMILIES,
} cebus_work_family;

typedef struct cebus_work {
    cebus_work_family family;
    uint64_t flops, bytes;
    /** A convolution by 3 x 3 without stride: outside tensor cores, Winograd's algorithm does it
     * with 4/9 of the products (Lavin and Gray, "Fast Algorithms for Convolutional Neural
     * Networks", 2016: F(2x2, 3x3)). */
    bool winograd;
} cebus_work;

/** What the table says of an op. */
typedef struct cebus_work_entry {
    const char *op;
    cebus_work_family family;
    void (*refine)(const cebus_launch *launch, cebus_work *work); /**< NULL: nothing to add */
} cebus_work_entry;

/** Ended by an entry whose op is NULL. */
extern const cebus_work_entry cebus_work_table[];

/** The op's entry; for an unknown op one that is bound by its bytes. Never NULL. */
const cebus_work_entry *cebus_work_find(const char *op);
/** Of one launch; data pointers are not looked at. */
cebus_work cebus_work_of(const cebus_work_entry *entry, const cebus_launch *launch);

/** Bytes of a view's elements; those that stride 0 repeats count once. */
uint64_t cebus_work_bytes(const cebus_view *view);

/** @name Refinements, by family (work.c) */
/** @{ */
void cebus_work_conv(const cebus_launch *launch, cebus_work *work);
void cebus_work_conv_transpose(const cebus_launch *launch, cebus_work *work);
void cebus_work_conv_weight(const cebus_launch *launch, cebus_work *work);
void cebus_work_matmul(const cebus_launch *launch, cebus_work *work);
void cebus_work_linear(const cebus_launch *launch, cebus_work *work);
void cebus_work_attention(const cebus_launch *launch, cebus_work *work);
void cebus_work_attention_backward(const cebus_launch *launch, cebus_work *work);
/** Input 0 is read twice: statistics first, then the result. */
void cebus_work_two_passes(const cebus_launch *launch, cebus_work *work);
/** Inputs 0 and 1 (gradient and x) are read twice: sums first, then the result. */
void cebus_work_two_passes_backward(const cebus_launch *launch, cebus_work *work);
/** Input 0 is written, not read. */
void cebus_work_overwrite(const cebus_launch *launch, cebus_work *work);
/** Of the table only what is taken is read: (table, index) -> result. */
void cebus_work_take(const cebus_launch *launch, cebus_work *work);
/** Zeros, to which (gradient, index) is added: read, add, write at each place. */
void cebus_work_put(const cebus_launch *launch, cebus_work *work);
/** The same to a copy: (x, index, source). */
void cebus_work_scatter(const cebus_launch *launch, cebus_work *work);
/** @} */

#endif
