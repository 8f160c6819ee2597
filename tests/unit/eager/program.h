/**
 * program.h: what the tests of eager share: a runtime with estimated costs and all checks on, and
 * short ways to make and read tensors.
 */
#ifndef CEBUS_TESTS_UNIT_EAGER_PROGRAM_H
#define CEBUS_TESTS_UNIT_EAGER_PROGRAM_H

#include <cebus/cebus.h>
#include <criterion/criterion.h>
#include <string.h>

#define OK(expression)                                                                             \
    cr_assert_eq((expression), CEBUS_OK, "%s: %s: %s", #expression, cebus_last_error()->op,        \
                 cebus_last_error()->message)

/** The call fails with `status` and a message that contains `text`. */
#define FAILS(wanted, text, expression)                                                            \
    do {                                                                                           \
        cr_assert_eq((expression), (wanted), "%s gave %s", #expression,                            \
                     cebus_status_name(cebus_last_error()->status));                               \
        cr_assert_not_null(strstr(cebus_last_error()->message, text), "%s",                        \
                           cebus_last_error()->message);                                           \
    } while (0)

static inline cebus_runtime *open_runtime(uint64_t budget, const char *policy, uint32_t debug)
{
    cebus_runtime *rt;
    cebus_runtime_options options = CEBUS_RUNTIME_OPTIONS_INIT;
    options.memory_budget = budget;
    options.policy = policy;
    options.threads = 1;
    options.cost_model = CEBUS_COST_ESTIMATED;
    options.debug = debug;
    OK(cebus_runtime_create(&options, &rt));
    return rt;
}

/** A vector of n elements, each `value`. */
static inline cebus_tensor *vector(cebus_runtime *rt, int64_t n, double value)
{
    cebus_tensor *out;
    OK(cebus_full(rt, value, CEBUS_F32, 1, &n, &out));
    return out;
}

/** The same as a leaf. */
static inline cebus_tensor *leaf(cebus_runtime *rt, int64_t n, float value)
{
    static float host[1 << 16];
    cebus_tensor *out;
    for (int64_t i = 0; i < n; i++)
        host[i] = value;
    OK(cebus_tensor_from_host(rt, host, CEBUS_F32, 1, &n, &out));
    return out;
}

/** A leaf that collects a gradient. */
static inline cebus_tensor *variable(cebus_runtime *rt, int64_t n, float value)
{
    cebus_tensor *out = leaf(rt, n, value);
    OK(cebus_tensor_set_requires_grad(out, true));
    return out;
}

/** The same, persistent. */
static inline cebus_tensor *parameter(cebus_runtime *rt, int64_t n, float value)
{
    cebus_tensor *out = variable(rt, n, value);
    OK(cebus_tensor_set_persistent(out));
    return out;
}

/** Element i of a tensor of at most 65536 elements. */
static inline float at(cebus_tensor *x, int64_t i)
{
    static float host[1 << 16];
    OK(cebus_tensor_to_host(x, host, (size_t)cebus_tensor_numel(x) * sizeof *host));
    return host[i];
}

/** Element i of the gradient that `x` collected. */
static inline float grad_at(cebus_tensor *x, int64_t i)
{
    cebus_tensor *grad;
    OK(cebus_tensor_grad(x, &grad));
    cr_assert_not_null(grad);
    float value = at(grad, i);
    cebus_tensor_release(grad);
    return value;
}

static inline void backward_of_sum(cebus_runtime *rt, cebus_tensor *y)
{
    cebus_tensor *sum;
    OK(cebus_sum(rt, y, 0, NULL, false, &sum));
    OK(cebus_backward(rt, sum, NULL, false));
    cebus_tensor_release(sum);
}

/** A runtime with room for two blocks of n elements holds three, and writes to one between reads of
 * the others: what it read before must not come back. */
static inline void write_between_reads(cebus_runtime *rt, int64_t n)
{
    cebus_tensor *x[3];
    for (int i = 0; i < 3; i++)
        x[i] = leaf(rt, n, (float)i);
    for (int turn = 1; turn <= 4; turn++) {
        OK(cebus_add_scalar_(rt, x[0], 1));
        for (int i = 1; i < 3; i++)
            cr_expect_eq(at(x[i], 3), i);
        cr_expect_eq(at(x[0], 3), turn);
    }
    for (int i = 0; i < 3; i++)
        cebus_tensor_release(x[i]);
}

static inline cebus_memory_stats stats_of(cebus_runtime *rt)
{
    cebus_memory_stats stats = CEBUS_MEMORY_STATS_INIT;
    OK(cebus_runtime_memory_stats(rt, &stats));
    return stats;
}

#endif
