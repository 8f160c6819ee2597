/**
 * fold.h: folding many elements into few accumulators: the arithmetic of reductions, apart from
 * which elements fall together (reduction.h).
 *
 * A fold works on blocks of n accumulators. Elements come either as a row, all for the one
 * accumulator of a block of one, or as columns, element j of each row for accumulator j; both are
 * contiguous along the row. Sums are kept in lanes over short runs, then added in double (f32 and
 * f64) or i64 (integers), so that the error grows with the run and not with the input.
 */
#ifndef CEBUS_EAGER_DEVICE_CPU_FOLD_H
#define CEBUS_EAGER_DEVICE_CPU_FOLD_H

#include <cebus/tensor.h>

/** Accumulators of a block at most. */
#define CEBUS_FOLD_WIDTH 512
/** Bytes of one accumulator at most. */
#define CEBUS_FOLD_BYTES 16

typedef enum cebus_fold_kind {
    CEBUS_FOLD_SUM,          /**< x */
    CEBUS_FOLD_SQUARES,      /**< (x - center)^2 */
    CEBUS_FOLD_EXPONENTIALS, /**< exp(x - center) */
    CEBUS_FOLD_EQUALS,       /**< how often x == center */
    CEBUS_FOLD_MAX,
    CEBUS_FOLD_MIN,
    CEBUS_FOLD_ARGMAX,
    CEBUS_FOLD_ARGMIN,
    CEBUS_FOLD_KINDS
} cebus_fold_kind;

typedef struct cebus_fold {
    uint32_t in_bytes, out_bytes;
    /** Starts n accumulators; centers (NULL: 0) are `stride` elements apart. */
    void (*begin)(void *block, int64_t n, const void *centers, int64_t stride);
    /** Folds x[0..n) into a block of one. `first` is x[0]'s position in the reduction. */
    void (*row)(void *block, const void *x, int64_t n, int64_t first);
    /** Folds `rows` rows, `stride` elements apart, into a block of n. */
    void (*columns)(void *block, int64_t n, const void *x, int64_t rows, int64_t stride,
                    int64_t first);
    /** Folds in a block of n that went over later elements. */
    void (*merge)(void *block, int64_t n, const void *later);
    /** Writes the n results `stride` elements apart; sums are divided by `divisor` first. */
    void (*finish)(const void *block, int64_t n, void *out, int64_t stride, double divisor);
} cebus_fold;

/** NULL where the kind makes no sense for the type (inference has refused it before). */
const cebus_fold *cebus_fold_find(cebus_fold_kind kind, cebus_dtype dtype);

#endif
