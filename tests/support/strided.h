/**
 * strided.h: tensors with given elements in memory orders that are not the plain one, for checks
 * that a kernel walks strides and offsets as it should.
 */
#ifndef CEBUS_TESTS_SUPPORT_STRIDED_H
#define CEBUS_TESTS_SUPPORT_STRIDED_H

#include "tests/support/harness.h"

typedef enum cebus_test_layout {
    CEBUS_TEST_PLAIN,    /**< contiguous */
    CEBUS_TEST_REVERSED, /**< the first dimension is innermost */
    CEBUS_TEST_SPREAD,   /**< every second element of the last dimension of a longer tensor */
    CEBUS_TEST_LAYOUTS
} cebus_test_layout;

/** `values` (row-major) in the given layout; 0-D tensors are always plain. NULL on failure. */
cebus_tensor *cebus_test_strided(cebus_test *t, cebus_test_layout layout, cebus_dtype dtype,
                                 const double *values, int ndim, const int64_t *shape);

/** cebus_test_tensor() in the given layout. */
cebus_tensor *cebus_test_strided_noise(cebus_test *t, cebus_test_layout layout, cebus_dtype dtype,
                                       uint64_t seed, int ndim, const int64_t *shape);

#endif
