#include <criterion/criterion.h>

#include "eager/guidance/guidance.h"
#include "eager/guidance/state.h"
#include "eager/tensor.h"
#include "program.h"

#define N 1024
#define BLOCK (N * sizeof(float))

TestSuite(custom);

static int runs;

static cebus_status same_shape(void *user, const void *attrs, const cebus_view *const *in,
                               uint32_t n_in, cebus_view *out)
{
    (void)user;
    (void)attrs;
    if (n_in != 1 || in[0]->dtype != CEBUS_F32)
        return CEBUS_DTYPE_MISMATCH;
    out[0] = *in[0];
    return CEBUS_OK;
}

/** out = in * attrs[0] + user[0] */
static cebus_status affine(const cebus_custom_launch *launch)
{
    const float *x = launch->in[0].data;
    float *y = launch->out[0].data, factor;
    memcpy(&factor, launch->attrs, sizeof factor);
    cr_assert_eq(launch->attr_bytes, sizeof factor);
    runs++;
    for (int64_t i = 0; i < launch->out[0].view->shape[0]; i++)
        y[i] = x[i] * factor + *(const float *)launch->user;
    return CEBUS_OK;
}

static cebus_status affine_gradient(void *user, cebus_runtime *rt, const void *attrs,
                                    cebus_tensor *const *in, uint32_t n_in,
                                    cebus_tensor *const *out, cebus_tensor *const *grad_out,
                                    uint32_t n_out, cebus_tensor **grad_in)
{
    float factor;
    (void)user;
    (void)out;
    cr_assert_eq(n_in, 1);
    cr_assert_eq(n_out, 1);
    cr_assert_not_null(in[0]);
    memcpy(&factor, attrs, sizeof factor);
    return cebus_mul_scalar(rt, grad_out[0], factor, &grad_in[0]);
}

static float bias = 0.5F;

static const cebus_custom_op affine_op = {
    .struct_size = sizeof(cebus_custom_op),
    .name = "affine",
    .n_out = 1,
    .user = &bias,
    .infer = same_shape,
    .run = affine,
    .gradient = affine_gradient,
};

Test(custom, is_evicted_replayed_and_differentiated)
{
    cebus_runtime *rt = open_runtime(1 << 16, "coop", CEBUS_DEBUG_WALK | CEBUS_DEBUG_HASH);
    cebus_tensor *x = leaf(rt, N, 3), *y, *sum, *grad;
    float factor = 4;
    OK(cebus_tensor_set_requires_grad(x, true));
    OK(cebus_call_custom(rt, &affine_op, &factor, sizeof factor, &x, 1, &y));
    OK(cebus_runtime_trim(rt));
    cr_expect_eq(at(y, 9), 12.5F);
    cr_expect_eq(runs, 2, "once for the program, once for the replay");
    OK(cebus_sum(rt, y, 0, NULL, false, &sum));
    OK(cebus_backward(rt, sum, NULL, false));
    OK(cebus_tensor_grad(x, &grad));
    cr_expect_eq(at(grad, 0), 4);
    cebus_tensor_release(grad);
    cebus_tensor_release(sum);
    cebus_tensor_release(y);
    cebus_tensor_release(x);
    cebus_runtime_destroy(rt);
}

Test(custom, passes_refusals_on)
{
    cebus_runtime *rt = open_runtime(1 << 16, NULL, 0);
    cebus_tensor *x, *y;
    float factor = 1;
    OK(cebus_arange(rt, 0, 4, 1, CEBUS_I64, &x));
    FAILS(CEBUS_DTYPE_MISMATCH, "infer",
          cebus_call_custom(rt, &affine_op, &factor, sizeof factor, &x, 1, &y));
    cr_expect_null(y);
    FAILS(CEBUS_INVALID_ARGUMENT, "bytes of attributes",
          cebus_call_custom(rt, &affine_op, &factor, SIZE_MAX, &x, 1, &y));
    cebus_custom_op broken = affine_op;
    broken.flags = 1U << 31;
    FAILS(CEBUS_INVALID_ARGUMENT, "0x80000000", cebus_call_custom(rt, &broken, NULL, 0, &x, 1, &y));
    broken = affine_op;
    broken.run = NULL;
    FAILS(CEBUS_INVALID_ARGUMENT, "run", cebus_call_custom(rt, &broken, NULL, 0, &x, 1, &y));
    broken = affine_op;
    broken.mutates = 2;
    FAILS(CEBUS_INVALID_ARGUMENT, "past the last",
          cebus_call_custom(rt, &broken, NULL, 0, &x, 1, &y));
    broken.mutates = 3;
    FAILS(CEBUS_INVALID_ARGUMENT, "exactly", cebus_call_custom(rt, &broken, NULL, 0, &x, 1, &y));
    cebus_tensor_release(x);
    cebus_runtime_destroy(rt);
}

/** What the next gradient is: of another runtime, refused, or one with a graph. */
static struct answer {
    cebus_runtime *elsewhere;
    cebus_status status;
} answer;

static cebus_status odd_gradient(void *user, cebus_runtime *rt, const void *attrs,
                                 cebus_tensor *const *in, uint32_t n_in, cebus_tensor *const *out,
                                 cebus_tensor *const *grad_out, uint32_t n_out,
                                 cebus_tensor **grad_in)
{
    (void)user, (void)attrs, (void)n_in, (void)out, (void)n_out;
    if (answer.status != CEBUS_OK)
        return answer.status;
    if (answer.elsewhere != NULL)
        return cebus_zeros(answer.elsewhere, CEBUS_F32, 1, (int64_t[]){N}, &grad_in[0]);
    bool before = cebus_grad_enable(true);
    cebus_status status = cebus_mul(rt, grad_out[0], in[0], &grad_in[0]);
    cebus_grad_enable(before);
    return status;
}

Test(custom, gradients_are_looked_at_before_they_are_taken)
{
    cebus_runtime *rt = open_runtime(1 << 16, NULL, CEBUS_DEBUG_WALK);
    cebus_runtime *other = open_runtime(1 << 16, NULL, CEBUS_DEBUG_WALK);
    cebus_custom_op op = affine_op;
    cebus_tensor *x = leaf(rt, N, 3), *y, *sum, *grad;
    op.gradient = odd_gradient;
    OK(cebus_tensor_set_requires_grad(x, true));
    OK(cebus_call_custom(rt, &op, &(float){4}, sizeof(float), &x, 1, &y));
    OK(cebus_sum(rt, y, 0, NULL, false, &sum));
    answer = (struct answer){.elsewhere = other};
    FAILS(CEBUS_RUNTIME_MISMATCH, "another runtime", cebus_backward(rt, sum, NULL, false));
    answer = (struct answer){.status = CEBUS_UNSUPPORTED};
    FAILS(CEBUS_UNSUPPORTED, "its gradient failed: CEBUS_UNSUPPORTED",
          cebus_backward(rt, sum, NULL, false));
    answer = (struct answer){0};
    OK(cebus_backward(rt, sum, NULL, false));
    OK(cebus_tensor_grad(x, &grad));
    cr_expect(!cebus_tensor_requires_grad(grad));
    cr_expect_eq(at(grad, 7), 3);
    OK(cebus_runtime_check(rt));
    OK(cebus_runtime_check(other));
    cebus_tensor_release(grad);
    cebus_tensor_release(sum);
    cebus_tensor_release(y);
    cebus_tensor_release(x);
    cebus_runtime_destroy(rt);
    cebus_runtime_destroy(other);
}

static cebus_status calls_back(const cebus_custom_launch *launch)
{
    cebus_tensor *out;
    return cebus_full(launch->user, 0, CEBUS_F32, 0, NULL, &out);
}

Test(custom, may_not_call_back_from_a_kernel)
{
    cebus_runtime *rt = open_runtime(1 << 16, NULL, 0);
    cebus_custom_op op = affine_op;
    op.user = rt;
    op.run = calls_back;
    cebus_tensor *x = leaf(rt, 4, 1), *y;
    FAILS(CEBUS_REENTRANT, "inside a kernel", cebus_call_custom(rt, &op, NULL, 0, &x, 1, &y));
    cebus_tensor_release(x);
    cebus_runtime_destroy(rt);
}

static int refused;

/** A number that is asked for, and a call that must not be: the op may not call back. */
static uint64_t asks_back(const cebus_custom_launch *launch)
{
    cebus_tensor *out;
    refused += cebus_full(launch->user, 0, CEBUS_F32, 0, NULL, &out) == CEBUS_REENTRANT;
    return 64;
}

static cebus_status fill_with_3(const cebus_custom_launch *launch)
{
    for (int64_t i = 0; i < launch->out[0].view->shape[0]; i++)
        ((float *)launch->out[0].data)[i] = 3;
    return CEBUS_OK;
}

Test(custom, may_not_call_back_from_what_tells_a_number)
{
    cebus_runtime *rt = open_runtime(1 << 16, NULL, 0);
    cebus_custom_op op = affine_op;
    op.user = rt;
    op.run = fill_with_3;
    op.flags |= CEBUS_CUSTOM_RNG;
    op.workspace = op.rng_blocks = op.cost = asks_back;
    cebus_tensor *x = leaf(rt, 4, 1), *y;
    refused = 0;
    OK(cebus_call_custom(rt, &op, NULL, 0, &x, 1, &y));
    cr_expect_geq(refused, 3, "each of them was refused, not %d", refused);
    cr_expect_eq(at(y, 3), 3);
    cebus_tensor_release(y);
    cebus_tensor_release(x);
    cebus_runtime_destroy(rt);
}

static cebus_status count_up(const cebus_custom_launch *launch)
{
    static float calls;
    ((float *)launch->out[0].data)[0] = ++calls;
    return CEBUS_OK;
}

Test(custom, what_cannot_be_replayed_is_kept)
{
    cebus_runtime *rt = open_runtime(4 * BLOCK, "coop", CEBUS_DEBUG_WALK);
    cebus_custom_op op = affine_op;
    op.flags = CEBUS_CUSTOM_NONREPLAYABLE;
    op.run = count_up;
    cebus_tensor *x = leaf(rt, N, 1), *kept, *y[5];
    OK(cebus_call_custom(rt, &op, NULL, 0, &x, 1, &kept));
    float first = at(kept, 0);
    for (int i = 0; i < 5; i++)
        OK(cebus_add_scalar(rt, x, i, &y[i]));
    OK(cebus_runtime_trim(rt));
    cr_expect(cebus_tensor_is_resident(kept));
    cr_expect_eq(at(kept, 0), first);
    for (int i = 0; i < 5; i++)
        cebus_tensor_release(y[i]);
    cebus_tensor_release(kept);
    cebus_tensor_release(x);
    cebus_runtime_destroy(rt);
}

/** a += 1, b *= 2 */
static cebus_status write_both(const cebus_custom_launch *launch)
{
    float *a = launch->out[0].data, *b = launch->out[1].data;
    cr_assert_eq(launch->in[0].data, a);
    cr_assert_eq(launch->in[1].data, b);
    for (int64_t i = 0; i < launch->out[0].view->shape[0]; i++) {
        a[i] += 1;
        b[i] *= 2;
    }
    return CEBUS_OK;
}

Test(custom, may_write_several_inputs_in_place)
{
    cebus_runtime *rt = open_runtime(1 << 18, "coop", CEBUS_DEBUG_WALK | CEBUS_DEBUG_HASH);
    cebus_custom_op op = {.struct_size = sizeof op,
                          .name = "write_both",
                          .mutates = 3,
                          .n_out = 2,
                          .run = write_both};
    cebus_tensor *x = leaf(rt, N, 1), *pair[2], *out[2], *seen;
    OK(cebus_add_scalar(rt, x, 0, &pair[0]));
    OK(cebus_add_scalar(rt, x, 4, &pair[1]));
    for (int i = 0; i < 3; i++) {
        OK(cebus_call_custom(rt, &op, NULL, 0, pair, 2, out));
        cr_expect_eq(out[0], pair[0]);
        cebus_tensor_release(out[0]);
        cebus_tensor_release(out[1]);
    }
    OK(cebus_add(rt, pair[0], pair[1], &seen));
    cebus_tensor_release(pair[0]);
    OK(cebus_runtime_trim(rt));
    cr_expect_eq(at(pair[1], 0), 40, "rebuilt although the other output is wanted by nobody");
    cr_expect_eq(at(seen, 0), 44);
    cebus_tensor_release(pair[1]);
    cebus_tensor_release(seen);
    cebus_tensor_release(x);
    cebus_runtime_destroy(rt);
}

static cebus_status two_alike(void *user, const void *attrs, const cebus_view *const *in,
                              uint32_t n_in, cebus_view *out)
{
    (void)user;
    (void)attrs;
    (void)n_in;
    out[0] = out[1] = *in[0];
    return CEBUS_OK;
}

static int left_out; /* outputs */

/** x + 1 and 2 x */
static cebus_status both(const cebus_custom_launch *launch)
{
    const float *x = launch->in[0].data;
    float *more = launch->out[0].data, *twice = launch->out[1].data;
    left_out += (more == NULL) + (twice == NULL);
    for (int64_t i = 0; i < N; i++) {
        if (more != NULL)
            more[i] = x[i] + 1;
        if (twice != NULL)
            twice[i] = 2 * x[i];
    }
    return CEBUS_OK;
}

/** How many outputs the kernel is not given in all when each is rebuilt without the other. */
static int count_left_out(uint32_t flags, uint64_t budget)
{
    const cebus_custom_op op = {.struct_size = sizeof op,
                                .name = "both",
                                .flags = flags,
                                .n_out = 2,
                                .infer = two_alike,
                                .run = both};
    cebus_runtime *rt = open_runtime(budget, "coop", CEBUS_DEBUG_WALK | CEBUS_DEBUG_HASH);
    left_out = 0;
    for (int kept = 0; kept < 2; kept++) {
        cebus_tensor *x = leaf(rt, N, 5), *out[2];
        OK(cebus_call_custom(rt, &op, NULL, 0, &x, 1, out));
        cebus_tensor_release(out[1 - kept]);
        OK(cebus_runtime_trim(rt));
        cr_expect_eq(at(out[kept], 7), kept == 0 ? 6 : 10);
        cebus_tensor_release(out[kept]);
        cebus_tensor_release(x);
    }
    cr_expect_eq(cebus_memory_allocated(rt), 0);
    cebus_runtime_destroy(rt);
    return left_out;
}

Test(custom, is_given_every_output_again_unless_it_is_sparing)
{
    cr_expect_eq(count_left_out(0, 3 * BLOCK), 0, "what is released is written nowhere");
    cr_expect_eq(count_left_out(CEBUS_CUSTOM_SPARING, 3 * BLOCK), 2);
}

static cebus_status first_shape(void *user, const void *attrs, const cebus_view *const *in,
                                uint32_t n_in, cebus_view *out)
{
    (void)user;
    (void)attrs;
    (void)n_in;
    out[0] = *in[0];
    return CEBUS_OK;
}

static cebus_status add_all(const cebus_custom_launch *launch)
{
    float *sum = launch->out[0].data;
    memset(sum, 0, BLOCK);
    for (uint32_t i = 0; i < launch->n_in; i++) {
        for (int64_t k = 0; k < N; k++)
            sum[k] += ((const float *)launch->in[i].data)[k];
    }
    return CEBUS_OK;
}

Test(custom, takes_a_thousand_inputs)
{
    enum {
        MANY = 1025
    };
    const cebus_custom_op op = {.struct_size = sizeof op,
                                .name = "add_all",
                                .n_out = 1,
                                .infer = first_shape,
                                .run = add_all};
    cebus_runtime *rt = open_runtime(1 << 20, "coop", CEBUS_DEBUG_WALK);
    cebus_tensor *x = leaf(rt, N, 2), *terms[MANY], *sum;
    for (int i = 0; i < MANY; i++)
        terms[i] = x;
    for (int i = 0; i < 100; i++)
        OK(cebus_mul_scalar(rt, x, i, &terms[i]));
    OK(cebus_call_custom(rt, &op, NULL, 0, terms, MANY - 1, &sum));
    OK(cebus_runtime_trim(rt));
    cr_expect_eq(at(sum, 7), 2 * (99 * 50 + MANY - 1 - 100), "run, dropped, run again");
    cebus_tensor_release(sum);
    FAILS(CEBUS_INVALID_ARGUMENT, "1024", cebus_call_custom(rt, &op, NULL, 0, terms, MANY, &sum));
    FAILS(CEBUS_INVALID_ARGUMENT, "at most 64",
          cebus_call_custom(rt, &affine_op, NULL, 0, terms, 65, &sum));
    for (int i = 0; i < 100; i++)
        cebus_tensor_release(terms[i]);
    cebus_tensor_release(x);
    cebus_runtime_destroy(rt);
}

static cebus_status square_it(const cebus_custom_launch *launch)
{
    float *x = launch->out[0].data;
    memset(launch->workspace, 0, launch->workspace_bytes);
    for (int64_t i = 0; i < N; i++)
        x[i] *= x[i];
    return CEBUS_OK;
}

static uint64_t three_blocks(const cebus_custom_launch *launch)
{
    (void)launch;
    return 3 * BLOCK;
}

/** What it writes over is made of a leaf that only records keep. Without that record there would be
 * room for the scratch memory, and nothing that the old version could be made of again. */
Test(custom, scratch_memory_never_costs_what_is_written_over)
{
    const cebus_custom_op op = {.struct_size = sizeof op,
                                .name = "square_it",
                                .mutates = 1,
                                .n_out = 1,
                                .run = square_it,
                                .workspace = three_blocks};
    cebus_runtime *rt = open_runtime(4 * BLOCK, "coop", CEBUS_DEBUG_WALK | CEBUS_DEBUG_HASH);
    cebus_tensor *x = leaf(rt, N, 2), *y, *z, *out;
    OK(cebus_mul(rt, x, x, &y));
    OK(cebus_add_scalar(rt, y, 1, &z));
    cebus_tensor_release(x);
    FAILS(CEBUS_OUT_OF_MEMORY, "", cebus_call_custom(rt, &op, NULL, 0, &y, 1, &out));
    cr_expect_eq(at(y, 0), 4);
    OK(cebus_runtime_set_budget(rt, 6 * BLOCK));
    OK(cebus_call_custom(rt, &op, NULL, 0, &y, 1, &out));
    cebus_tensor_release(out);
    OK(cebus_runtime_trim(rt));
    cr_expect_eq(at(z, 0), 5, "made of y before the write");
    cr_expect_eq(at(y, 0), 16);
    cebus_tensor_release(z);
    cebus_tensor_release(y);
    cebus_runtime_destroy(rt);
}

/** Doubles half of the elements, then fails. */
static cebus_status stumble(const cebus_custom_launch *launch)
{
    float *x = launch->out[0].data;
    for (int64_t i = 0; i < N / 2; i++)
        x[i] *= 2;
    return CEBUS_INVALID_ARGUMENT;
}

static const cebus_custom_op stumble_op = {
    .struct_size = sizeof stumble_op, .name = "stumble", .mutates = 1, .n_out = 1, .run = stumble};

/** What is left of a value is the same whether it could be made again or not. */
Test(custom, what_a_failed_kernel_wrote_stays_written)
{
    cebus_runtime *rt = open_runtime(8 * BLOCK, "coop", CEBUS_DEBUG_WALK | CEBUS_DEBUG_HASH);
    cebus_tensor *x = leaf(rt, N, 1), *y, *of_x, *of_y, *out;
    OK(cebus_add_scalar(rt, x, 2, &y));
    OK(cebus_add_scalar(rt, x, 10, &of_x));
    OK(cebus_add_scalar(rt, y, 10, &of_y));
    uint64_t version = cebus_tensor_version(y);
    FAILS(CEBUS_INVALID_ARGUMENT, "its kernel failed",
          cebus_call_custom(rt, &stumble_op, NULL, 0, &y, 1, &out));
    cr_expect_eq(cebus_tensor_version(y), version + 1);
    FAILS(CEBUS_INVALID_ARGUMENT, "its kernel failed",
          cebus_call_custom(rt, &stumble_op, NULL, 0, &x, 1, &out));
    OK(cebus_runtime_trim(rt));
    cr_expect_eq(at(y, 0), 6);
    cr_expect_eq(at(y, N - 1), 3);
    cr_expect_eq(at(x, 0), 2);
    cr_expect_eq(at(of_x, 0), 11, "made of x before");
    cr_expect_eq(at(of_y, 0), 13, "made of y before");
    cebus_tensor_release(x);
    cebus_tensor_release(y);
    cebus_tensor_release(of_x);
    cebus_tensor_release(of_y);
    cebus_runtime_destroy(rt);
}

/** What was told of another call before is not what is told of this one. */
Test(custom, a_failed_kernel_is_told_of_after_any_other_failure)
{
    cebus_runtime *rt = open_runtime(8 * BLOCK, "coop", 0);
    cebus_tensor *x = leaf(rt, N, 1), *out;
    FAILS(CEBUS_INVALID_ARGUMENT, "no dimension", cebus_select(rt, x, 3, 0, &out));
    FAILS(CEBUS_INVALID_ARGUMENT, "its kernel failed: CEBUS_INVALID_ARGUMENT",
          cebus_call_custom(rt, &stumble_op, NULL, 0, &x, 1, &out));
    cr_expect_str_eq(cebus_last_error()->op, "stumble");
    OK(cebus_call_custom(rt, &affine_op, &(float){2}, sizeof(float), &x, 1, &out));
    cr_expect_eq(cebus_last_error()->status, CEBUS_INVALID_ARGUMENT, "of the last failure");
    cebus_tensor_release(out);
    cebus_tensor_release(x);
    cebus_runtime_destroy(rt);
}

/** A step of which one kernel fails half way, each time. */
Test(custom, what_a_failed_kernel_wrote_is_part_of_an_iteration)
{
    cebus_runtime *rt = open_runtime(8 * BLOCK, "capuchin", CEBUS_DEBUG_WALK | CEBUS_DEBUG_HASH);
    cebus_tensor *x = leaf(rt, N, 1), *y, *z, *out;
    for (int i = 0; i < 5; i++) {
        OK(cebus_add_scalar(rt, x, 2, &y));
        FAILS(CEBUS_INVALID_ARGUMENT, "its kernel failed",
              cebus_call_custom(rt, &stumble_op, NULL, 0, &y, 1, &out));
        OK(cebus_exp(rt, y, &z));
        cebus_tensor_release(y);
        cebus_tensor_release(z);
        OK(cebus_iteration_mark(rt));
    }
    cr_expect_eq(stats_of(rt).iterations_repeated, 4);
    cr_expect_eq(cebus_access_next_ordinal(&rt->guidance->log), 0);
    cr_expect_eq(rt->guidance->log.known.at[rt->guidance->log.last].iteration.n_calls, 3);
    cebus_tensor_release(x);
    cebus_runtime_destroy(rt);
}

/** A launch could not fail as it did. */
Test(custom, what_a_failed_kernel_wrote_cannot_be_captured)
{
    cebus_runtime *rt = open_runtime(8 * BLOCK, "coop", 0);
    cebus_tensor *x = leaf(rt, N, 1), *y, *out;
    cebus_capture *capture;
    OK(cebus_capture_begin(rt));
    OK(cebus_add_scalar(rt, x, 2, &y));
    FAILS(CEBUS_INVALID_ARGUMENT, "its kernel failed",
          cebus_call_custom(rt, &stumble_op, NULL, 0, &x, 1, &out));
    OK(cebus_add_(rt, y, x, 1));
    FAILS(CEBUS_CAPTURE_ERROR, "failed", cebus_capture_end(rt, &capture));
    cebus_tensor_release(x);
    cebus_tensor_release(y);
    cebus_runtime_destroy(rt);
}
