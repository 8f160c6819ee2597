/**
 * sample.h: a shape, and a tensor of it together with its elements: what the tests of ops that move
 * elements compare by position.
 */
#ifndef CEBUS_TESTS_CONFORMANCE_SAMPLE_H
#define CEBUS_TESTS_CONFORMANCE_SAMPLE_H

#include "tests/support/strided.h"

typedef struct shape {
    int ndim;
    int64_t size[CEBUS_MAX_DIMS];
} shape;

/** Elements. */
int64_t shape_count(shape s);

typedef struct sample {
    cebus_tensor *tensor;
    double *values; /**< row-major */
} sample;

/** Noise in [-1, 1), of whole dtypes in [0, 8). NULL both where something failed, which is
 * recorded. */
sample sample_make(cebus_test *t, cebus_test_layout layout, cebus_dtype dtype, uint64_t seed,
                   shape s);
void sample_drop(sample *s);

/** The result must have the shape and, bit for bit, the elements; releases it. */
void sample_expect(cebus_test *t, const char *what, cebus_tensor *got, const double *want, shape s);

#endif
