/**
 * harness.h: what conformance and property programs share: cases by name, checks that go on, TAP
 * output, host-side helpers, numerical gradients.
 *
 * A conformance family is a file tests/conformance/<family>.c that exports an array
 * `const cebus_case cebus_cases_<family>[]`, ended by {NULL, NULL}; the runner executes every case
 * on the device it is told to. Cases reach the device only through the public API.
 */
#ifndef CEBUS_TESTS_SUPPORT_HARNESS_H
#define CEBUS_TESTS_SUPPORT_HARNESS_H

#include <cebus/cebus.h>

typedef struct cebus_test {
    cebus_runtime *rt; /**< fresh for each case, unlimited budget, seed 0 */
    const char *name;
    const char *device; /**< that of rt */
    int failures;
    bool lacking;      /**< its first problem was that the device lacks an op: it is skipped */
    char message[512]; /**< of the first failure */
} cebus_test;

/** On simulated devices the host reads zeros: calls, shapes and errors are checked there, values
 * are not (cebus_test_near), and cases that look at values themselves are skipped. */
typedef enum cebus_case_kind {
    CEBUS_READS_NOTHING = 0, /**< but through the harness */
    CEBUS_READS_VALUES,
} cebus_case_kind;

typedef struct cebus_case {
    const char *name;
    void (*run)(cebus_test *t);
    cebus_case_kind kind;
} cebus_case;

/** Runs all cases of all families on `device`, prints TAP; returns the number that failed. A CUDA
 * device that is not there is skipped, and why it is not is said. */
int cebus_harness_run(const char *device, const cebus_case *const *families, size_t n_families);

void cebus_test_fail(cebus_test *t, const char *file, int line, const char *format, ...)
    CEBUS_PRINTF(4, 5);

/** An expression that must succeed did not: a failure, or an op that the device lacks. */
void cebus_test_not_ok(cebus_test *t, const char *file, int line, const char *expression);

/** Records a failure and goes on. */
#define EXPECT(t, condition)                                                                       \
    do {                                                                                           \
        if (!(condition))                                                                          \
            cebus_test_fail(t, __FILE__, __LINE__, "%s", #condition);                              \
    } while (0)
/** Evaluates a cebus_status expression; records the message of a failure and returns. */
#define OK(t, expression)                                                                          \
    do {                                                                                           \
        if ((expression) != CEBUS_OK) {                                                            \
            cebus_test_not_ok(t, __FILE__, __LINE__, #expression);                                 \
            return;                                                                                \
        }                                                                                          \
    } while (0)
/** The expression must fail with exactly this status and a message that contains `text`. */
#define FAILS(t, status, text, expression)                                                         \
    cebus_test_expect_failure(t, __FILE__, __LINE__, status, text, (expression))
void cebus_test_expect_failure(cebus_test *t, const char *file, int line, cebus_status want,
                               const char *text, cebus_status got);

/** The same for what only the data shows: a device that runs late says it at the next
 * synchronization. `out` is where the expression puts its output; NULL afterwards. */
#define FAILS_BY_DATA(t, text, out, expression)                                                    \
    cebus_test_expect_failure(t, __FILE__, __LINE__, CEBUS_INVALID_ARGUMENT, text,                 \
                              cebus_test_late_status(t, (expression), out))
cebus_status cebus_test_late_status(cebus_test *t, cebus_status status, cebus_tensor **out);

/** Runs a case on a runtime of its own with so many threads; its failures count for `t`. */
void cebus_test_with_threads(cebus_test *t, int threads, void (*run)(cebus_test *t));

/** Deterministic host noise in [-1, 1). */
double cebus_test_noise(uint64_t seed, uint64_t index);

/** A tensor of the given dtype with noise(seed) * scale + shift (integers: rounded). NULL on
 * failure. */
cebus_tensor *cebus_test_tensor(cebus_test *t, cebus_dtype dtype, uint64_t seed, double scale,
                                double shift, int ndim, const int64_t *shape);
/** A tensor from doubles, converted to dtype. */
cebus_tensor *cebus_test_from_doubles(cebus_test *t, cebus_dtype dtype, const double *values,
                                      int ndim, const int64_t *shape);
/** All elements in row-major order as doubles (any dtype, any view); caller frees. NULL on failure.
 */
double *cebus_test_doubles(cebus_test *t, cebus_tensor *x);

/** Numbers of threads up to which the device is tried: 1 where the host's threads run nothing. */
int cebus_test_most_threads(const cebus_test *t);

/** |got - want| <= atol + rtol |want| element by element (NaN equals NaN); records the worst. */
void cebus_test_near(cebus_test *t, const char *what, const double *got, const double *want,
                     int64_t n, double rtol, double atol);

/**
 * Compares cebus_backward with central differences in f64. `function` maps inputs to one output
 * of any shape (it is weighted by fixed noise into a scalar). Inputs must be f64; those with
 * requires_grad set are perturbed element by element (at most 64 elements of each, spread).
 */
typedef cebus_status (*cebus_test_function)(cebus_runtime *rt, cebus_tensor *const *in,
                                            void *context, cebus_tensor **out);
void cebus_test_gradient(cebus_test *t, const char *what, cebus_test_function function,
                         void *context, cebus_tensor *const *in, size_t n_in);

#endif
