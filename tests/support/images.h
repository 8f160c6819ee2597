/**
 * images.h: images [N, C, H, W] in the memory orders that programs hand to convolutions, pooling
 * and normalization, and checks of their results.
 */
#ifndef CEBUS_TESTS_SUPPORT_IMAGES_H
#define CEBUS_TESTS_SUPPORT_IMAGES_H

#include "tests/support/harness.h"

typedef enum cebus_test_order {
    CEBUS_TEST_ROWS,          /**< contiguous */
    CEBUS_TEST_CHANNELS_LAST, /**< dense, C innermost */
    CEBUS_TEST_SPREAD_ROWS,   /**< every second pixel of a wider tensor */
    CEBUS_TEST_ORDERS
} cebus_test_order;

/** Noise in [-1, 1) in the given order. NULL on failure, which is recorded. */
cebus_tensor *cebus_test_image(cebus_test *t, cebus_test_order order, cebus_dtype dtype,
                               uint64_t seed, const int64_t *nchw);

/** Shape and elements (row-major) must be as wanted; |got - want| <= tolerance (1 + |want|). */
void cebus_test_expect(cebus_test *t, const char *what, cebus_tensor *got, int ndim,
                       const int64_t *shape, const double *want, double tolerance);

/** The same for the gradient that `leaf` collected. */
void cebus_test_expect_grad(cebus_test *t, const char *what, cebus_tensor *leaf, const double *want,
                            double tolerance);

/** All bytes of both must be equal. */
void cebus_test_expect_same(cebus_test *t, const char *what, cebus_tensor *a, cebus_tensor *b);

/** A function and its gradient by `leaf`, one of its inputs, twice: the same bits. */
void cebus_test_expect_repeats(cebus_test *t, cebus_test_function function, void *context,
                               cebus_tensor *const *in, cebus_tensor *leaf);

/** True when the elements lie densely with C innermost. */
bool cebus_test_is_channels_last(cebus_tensor *x);

/** A pseudo-random number in [low, high], the next of a fixed sequence. */
int64_t cebus_test_draw(uint64_t *state, int64_t low, int64_t high);

#endif
