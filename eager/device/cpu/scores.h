/**
 * scores.h: rows of attention scores, the arithmetic between the matrix products. A row is
 * contiguous, of one element type; masks are read with a stride. Sums run in lanes, in an order
 * set by the length alone.
 */
#ifndef CEBUS_EAGER_DEVICE_CPU_SCORES_H
#define CEBUS_EAGER_DEVICE_CPU_SCORES_H

#include <cebus/tensor.h>

typedef struct cebus_scores {
    /** row += mask */
    void (*add)(void *row, int64_t n, const void *mask, int64_t stride);
    /** row = -infinity where mask is 0 */
    void (*hide)(void *row, int64_t n, const uint8_t *mask, int64_t stride);
    /** row = 0 where keep is 0 */
    void (*drop)(void *row, int64_t n, const uint8_t *keep, int64_t stride);
    /** row *= factor */
    void (*scale)(void *row, int64_t n, double factor);
    /** row = e^(row - max); answers the sum, and log(sum e^row): infinity when that is 0. */
    double (*softmax)(void *row, int64_t n, double *out_lse);
    /** row = e^(row - lse) */
    void (*weights)(void *row, int64_t n, double lse);
    /** grad = weights (factor grad - delta): the gradient of the scores from that of weights. */
    void (*gradient)(void *grad, const void *weights, int64_t n, const double factor_delta[2]);
    /** sum of x y */
    double (*dot)(const void *x, int64_t x_stride, const void *y, int64_t y_stride, int64_t n);
    double (*load)(const void *element);
    void (*store)(void *element, double value);
} cebus_scores;

/** Of CEBUS_F32 or CEBUS_F64. */
const cebus_scores *cebus_scores_find(cebus_dtype dtype);

#endif
