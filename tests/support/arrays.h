/**
 * arrays.h: test tensors together with their elements, in every memory order a kernel may meet.
 */
#ifndef CEBUS_TESTS_SUPPORT_ARRAYS_H
#define CEBUS_TESTS_SUPPORT_ARRAYS_H

#include "tests/support/harness.h"

/** Memory orders; where the shape does not allow one, the plain one is taken. */
typedef enum cebus_test_walk {
    CEBUS_WALK_PLAIN,         /**< contiguous */
    CEBUS_WALK_REVERSED,      /**< dense, the first dimension innermost */
    CEBUS_WALK_CHANNELS_LAST, /**< dense, dimension 1 innermost */
    CEBUS_WALK_SPREAD,        /**< every second element of the last dimension */
    CEBUS_WALK_EXPANDED,      /**< dimension 0 repeats one element, stride 0 */
    CEBUS_WALKS
} cebus_test_walk;

typedef struct cebus_test_array {
    cebus_tensor *tensor; /**< NULL on failure, which is recorded */
    double *values;       /**< row-major */
    int ndim;
    int64_t shape[CEBUS_MAX_DIMS];
    int64_t numel;
} cebus_test_array;

/** Noise in [-2, 2); integers are rounded and so have many equals, bool is 0 or 1. */
cebus_test_array cebus_test_array_noise(cebus_test *t, cebus_test_walk walk, cebus_dtype dtype,
                                        uint64_t seed, int ndim, const int64_t *shape);
cebus_test_array cebus_test_array_from(cebus_test *t, cebus_dtype dtype, const double *values,
                                       int ndim, const int64_t *shape);
void cebus_test_array_drop(cebus_test_array *array);

/** Type, shape and elements must be as wanted, the latter by cebus_test_near(). Releases `got`. */
void cebus_test_array_expect(cebus_test *t, const char *what, cebus_tensor *got,
                             const cebus_test_array *want, cebus_dtype dtype, double rtol);

/** The bytes of both must be equal. Releases neither; NULL fails. */
void cebus_test_same_bits(cebus_test *t, const char *what, cebus_tensor *a, cebus_tensor *b);

#endif
