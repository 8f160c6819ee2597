/**
 * What public functions refuse, and with which code, by the words of their headers. A call that is
 * refused names no result: *out is NULL.
 */
#include <criterion/criterion.h>
#include <math.h>

#include "program.h"

TestSuite(refusals);

static cebus_runtime *rt;
static cebus_tensor *out;

/** The call is refused with `status`, and leaves `out` empty whatever stood there. */
#define REFUSES(wanted, call)                                                                      \
    do {                                                                                           \
        out = (cebus_tensor *)&rt;                                                                 \
        cebus_status got = (call);                                                                 \
        cr_expect_eq(got, (wanted), "%s: %s, %s", #call, cebus_status_name(got),                   \
                     cebus_last_error()->message);                                                 \
        cr_expect_eq(cebus_last_error()->status, (wanted), "%s", #call);                           \
        cr_expect_null(out, "%s", #call);                                                          \
        if (got == CEBUS_OK)                                                                       \
            cebus_tensor_release(out);                                                             \
    } while (0)

static cebus_tensor *filled(cebus_dtype dtype, int ndim, const int64_t *shape)
{
    cebus_tensor *x;
    OK(cebus_ones(rt, dtype, ndim, shape, &x));
    return x;
}
#define SHAPE(...)                                                                                 \
    (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (int64_t[])                         \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }

static void begin(void)
{
    rt = open_runtime(1 << 20, NULL, 0);
}

static void end(void)
{
    cr_expect_eq(cebus_memory_allocated(rt), 0, "something was not released");
    cebus_runtime_destroy(rt);
}

Test(refusals, tensors)
{
    begin();
    double value = 7;
    float host[4] = {0};
    size_t count;
    cebus_tensor *x = filled(CEBUS_F32, SHAPE(2, 3)), *empty = filled(CEBUS_F32, SHAPE(0, 3));
    cr_expect_eq(cebus_dtype_size((cebus_dtype)99), 0);
    cr_expect_str_eq(cebus_dtype_name((cebus_dtype)99), "invalid");
    cr_expect_eq(cebus_tensor_size(x, -2), 2);
    cr_expect_eq(cebus_tensor_size(x, 2), -1);
    cr_expect_eq(cebus_tensor_size(x, -3), -1);
    cr_expect_null(cebus_tensor_retain(NULL));
    cebus_tensor_release(NULL);
    cebus_tensor_unmap(NULL);
    REFUSES(CEBUS_INVALID_ARGUMENT, cebus_tensor_from_host(rt, NULL, CEBUS_F32, SHAPE(2), &out));
    REFUSES(CEBUS_INVALID_ARGUMENT,
            cebus_tensor_from_host(rt, host, (cebus_dtype)0, SHAPE(2), &out));
    REFUSES(CEBUS_INVALID_ARGUMENT, cebus_tensor_from_host(rt, host, CEBUS_F32, SHAPE(-2), &out));
    REFUSES(CEBUS_INVALID_ARGUMENT,
            cebus_tensor_from_host(rt, host, CEBUS_F32, 9, (int64_t[9]){0}, &out));
    cr_expect_eq(cebus_tensor_to_host(x, host, sizeof host), CEBUS_INVALID_ARGUMENT);
    cr_expect_eq(cebus_tensor_to_host(x, NULL, 24), CEBUS_INVALID_ARGUMENT);
    cr_expect_eq(cebus_tensor_set_from_host(x, host, sizeof host), CEBUS_INVALID_ARGUMENT);
    cr_expect_eq(cebus_tensor_item(x, &value), CEBUS_SHAPE_MISMATCH);
    cr_expect_eq(value, 0);
    const void *bytes = host;
    OK(cebus_tensor_map(empty, &bytes));
    cr_expect_null(bytes);
    cebus_tensor_unmap(empty);
    cebus_tensor_unmap(empty); /* once too often */
    OK(cebus_tensors_restore(NULL, 0));
    OK(cebus_tensors_restore((cebus_tensor *[]){NULL, x, NULL}, 3));
    REFUSES(CEBUS_INVALID_ARGUMENT, cebus_reshape(rt, x, SHAPE(-1, -1), &out));
    REFUSES(CEBUS_SHAPE_MISMATCH, cebus_reshape(rt, x, SHAPE(4), &out));
    REFUSES(CEBUS_SHAPE_MISMATCH, cebus_reshape(rt, x, SHAPE(4, -1), &out));
    REFUSES(CEBUS_INVALID_ARGUMENT, cebus_permute(rt, x, (int[]){0, 0}, &out));
    REFUSES(CEBUS_INVALID_ARGUMENT, cebus_transpose(rt, x, 0, 2, &out));
    REFUSES(CEBUS_INVALID_ARGUMENT, cebus_slice(rt, x, 0, 0, 1, 0, &out));
    REFUSES(CEBUS_INVALID_ARGUMENT, cebus_slice(rt, x, 2, 0, 1, 1, &out));
    REFUSES(CEBUS_INVALID_ARGUMENT, cebus_select(rt, x, 0, 2, &out));
    REFUSES(CEBUS_INVALID_ARGUMENT, cebus_diagonal(rt, x, 0, 1, 1, &out));
    REFUSES(CEBUS_INVALID_ARGUMENT, cebus_windows(rt, x, 0, 3, 1, &out));
    REFUSES(CEBUS_INVALID_ARGUMENT, cebus_windows(rt, x, 0, -1, 1, &out));
    REFUSES(CEBUS_INVALID_ARGUMENT, cebus_windows(rt, x, 0, 1, 0, &out));
    REFUSES(CEBUS_INVALID_ARGUMENT, cebus_as_strided(rt, x, SHAPE(2), (int64_t[]){-1}, 3, &out));
    REFUSES(CEBUS_INVALID_ARGUMENT, cebus_as_strided(rt, x, SHAPE(2), (int64_t[]){6}, 0, &out));
    REFUSES(CEBUS_INVALID_ARGUMENT, cebus_as_strided(rt, x, SHAPE(2), (int64_t[]){1}, -1, &out));
    REFUSES(CEBUS_SHAPE_MISMATCH, cebus_expand(rt, x, SHAPE(4, 3), &out));
    REFUSES(CEBUS_INVALID_ARGUMENT, cebus_squeeze(rt, x, 2, &out));
    REFUSES(CEBUS_INVALID_ARGUMENT, cebus_unsqueeze(rt, x, 3, &out));
    REFUSES(CEBUS_INVALID_ARGUMENT, cebus_unsqueeze(rt, x, -4, &out));
    OK(cebus_split(rt, x, 2, 1, NULL, &count));
    cr_expect_eq(count, 2);
    cebus_tensor *pieces[2];
    count = 1;
    cr_expect_eq(cebus_split(rt, x, 2, 1, pieces, &count), CEBUS_INVALID_ARGUMENT);
    cebus_tensor_release(x);
    cebus_tensor_release(empty);
    end();
}

Test(refusals, gradients)
{
    begin();
    cebus_tensor *x = filled(CEBUS_F32, SHAPE(3)), *whole = filled(CEBUS_I64, SHAPE(3)), *sum;
    cr_expect_eq(cebus_tensor_set_requires_grad(whole, true), CEBUS_DTYPE_MISMATCH);
    OK(cebus_tensor_set_requires_grad(x, true));
    OK(cebus_tensor_grad(x, &out));
    cr_expect_null(out);
    cebus_tensor *two = filled(CEBUS_F32, SHAPE(2));
    cr_expect_eq(cebus_tensor_set_grad(x, two), CEBUS_SHAPE_MISMATCH);
    cr_expect_eq(cebus_tensor_set_grad(x, whole), CEBUS_DTYPE_MISMATCH);
    cebus_runtime *mine = rt, *other = open_runtime(1 << 16, NULL, 0);
    rt = other;
    cebus_tensor *far = filled(CEBUS_F32, SHAPE(3));
    rt = mine;
    cr_expect_eq(cebus_tensor_set_grad(x, far), CEBUS_RUNTIME_MISMATCH);
    cr_expect_eq(cebus_tensor_set_data(x, far), CEBUS_RUNTIME_MISMATCH);
    REFUSES(CEBUS_RUNTIME_MISMATCH, cebus_add(rt, x, far, &out));
    REFUSES(CEBUS_RUNTIME_MISMATCH, cebus_dropout(rt, far, 0, false, &out));
    REFUSES(CEBUS_RUNTIME_MISMATCH, cebus_cast(rt, far, CEBUS_F32, &out));
    REFUSES(CEBUS_RUNTIME_MISMATCH, cebus_contiguous(rt, far, &out));
    OK(cebus_zeros_like(rt, far, &out));
    cebus_tensor_release(out);
    cebus_tensor_release(far);
    cebus_runtime_destroy(other);
    OK(cebus_mul_scalar(rt, x, 2, &sum));
    cr_expect_eq(cebus_tensor_set_requires_grad(sum, false), CEBUS_AUTOGRAD_ERROR);
    cr_expect_eq(cebus_backward(rt, sum, NULL, false), CEBUS_SHAPE_MISMATCH);
    cr_expect_eq(cebus_backward(rt, sum, two, false), CEBUS_SHAPE_MISMATCH);
    cr_expect_eq(cebus_backward(rt, sum, whole, false), CEBUS_DTYPE_MISMATCH);
    cr_expect_eq(cebus_backward(rt, two, two, false), CEBUS_AUTOGRAD_ERROR);
    cr_expect_eq(cebus_tensor_remove_hook(x, 77), CEBUS_INVALID_ARGUMENT);
    cr_expect_eq(cebus_tensor_register_hook(two, NULL, NULL), CEBUS_INVALID_ARGUMENT);
    cebus_tensor_release(sum);
    cebus_tensor_release(two);
    cebus_tensor_release(whole);
    cebus_tensor_release(x);
    end();
}

static cebus_status passes_on(void *context, const cebus_function_step *step)
{
    (void)context;
    (void)step;
    return CEBUS_OK;
}

static cebus_status run_nothing(const cebus_custom_launch *launch)
{
    (void)launch;
    return CEBUS_OK;
}

/** Of several results all are NULL, too. */
Test(refusals, functions_of_the_user)
{
    begin();
    cebus_tensor *x = filled(CEBUS_F32, SHAPE(2)), *gone = NULL, *several[2];
    cebus_function function = {.struct_size = sizeof function,
                               .name = "f",
                               .in = &x,
                               .n_in = 1,
                               .results = &gone,
                               .n_out = 1,
                               .gradient = passes_on};
    REFUSES(CEBUS_INVALID_ARGUMENT, cebus_function_record(rt, &function, &out));
    function.saved = &gone;
    function.results = &x;
    function.n_saved = 1;
    REFUSES(CEBUS_INVALID_ARGUMENT, cebus_function_record(rt, &function, &out));
    function.n_saved = 961;
    cr_expect_eq(cebus_function_record(rt, &function, &out), CEBUS_INVALID_ARGUMENT);
    function.n_saved = 0;
    function.n_in = 65;
    cr_expect_eq(cebus_function_record(rt, &function, &out), CEBUS_INVALID_ARGUMENT);
    function.n_in = 1;
    function.n_out = 0;
    cr_expect_eq(cebus_function_record(rt, &function, &out), CEBUS_INVALID_ARGUMENT);
    cebus_custom_op op = {
        .struct_size = sizeof op, .name = "g", .n_out = 1, .mutates = 1, .run = run_nothing};
    REFUSES(CEBUS_INVALID_ARGUMENT, cebus_call_custom(rt, &op, NULL, 0, NULL, 1, &out));
    REFUSES(CEBUS_INVALID_ARGUMENT, cebus_call_custom(rt, &op, NULL, 8, &x, 1, &out));
    REFUSES(CEBUS_INVALID_ARGUMENT, cebus_call_custom(rt, &op, NULL, 0, &gone, 1, &out));
    several[0] = several[1] = x;
    cebus_tensor *inputs[] = {x, x};
    cebus_gradients wanted = CEBUS_GRADIENTS_INIT;
    wanted.roots = &x;
    wanted.n_roots = 1;
    wanted.inputs = inputs;
    wanted.n_inputs = 2;
    cr_expect_neq(cebus_gradients_compute(rt, &wanted, several), CEBUS_OK);
    cr_expect(several[0] == NULL && several[1] == NULL);
    several[0] = x;
    size_t count = 1;
    cr_expect_eq(cebus_split(rt, x, 1, 0, several, &count), CEBUS_INVALID_ARGUMENT);
    cr_expect_null(several[0]);
    cebus_tensor_release(x);
    end();
}

Test(refusals, operands)
{
    begin();
    cebus_tensor *x = filled(CEBUS_F32, SHAPE(2, 3)), *whole = filled(CEBUS_I64, SHAPE(3)),
                 *four = filled(CEBUS_F32, SHAPE(4)), *zero, *same;
    OK(cebus_zeros(rt, CEBUS_I64, SHAPE(3), &zero));
    OK(cebus_cast(rt, x, CEBUS_F32, &same));
    cr_expect_eq(same, x);
    cebus_tensor_release(same);
    OK(cebus_contiguous(rt, x, &same));
    cr_expect_eq(same, x);
    cebus_tensor_release(same);
    OK(cebus_dropout(rt, x, 0.5, false, &same));
    cr_expect_eq(same, x);
    cebus_tensor_release(same);
    REFUSES(CEBUS_INVALID_ARGUMENT, cebus_cast(rt, x, (cebus_dtype)42, &out));
    REFUSES(CEBUS_SHAPE_MISMATCH, cebus_add(rt, x, four, &out));
    REFUSES(CEBUS_DTYPE_MISMATCH, cebus_add(rt, x, whole, &out));
    REFUSES(CEBUS_DTYPE_MISMATCH, cebus_div(rt, whole, whole, &out));
    REFUSES(CEBUS_INVALID_ARGUMENT, cebus_add(rt, x, NULL, &out));
    REFUSES(CEBUS_DTYPE_MISMATCH, cebus_where(rt, x, x, x, &out));
    REFUSES(CEBUS_DTYPE_MISMATCH, cebus_add_scalar(rt, whole, 0.5, &out));
    REFUSES(CEBUS_INVALID_ARGUMENT, cebus_pow_scalar(rt, whole, -1, &out));
    REFUSES(CEBUS_INVALID_ARGUMENT, cebus_div_floor(rt, whole, zero, &out));
    REFUSES(CEBUS_INVALID_ARGUMENT, cebus_div_trunc(rt, whole, zero, &out));
    REFUSES(CEBUS_DTYPE_MISMATCH, cebus_shift_left(rt, x, x, &out));
    REFUSES(CEBUS_INVALID_ARGUMENT, cebus_sum(rt, x, 2, (int[]){0, -2}, false, &out));
    REFUSES(CEBUS_INVALID_ARGUMENT, cebus_sum(rt, x, 1, (int[]){2}, false, &out));
    REFUSES(CEBUS_DTYPE_MISMATCH, cebus_mean(rt, whole, 0, NULL, false, &out));
    REFUSES(CEBUS_INVALID_ARGUMENT, cebus_cat(rt, NULL, 0, 0, &out));
    REFUSES(CEBUS_SHAPE_MISMATCH, cebus_cat(rt, (cebus_tensor *[]){x, four}, 2, 0, &out));
    REFUSES(CEBUS_DTYPE_MISMATCH, cebus_cat(rt, (cebus_tensor *[]){four, whole}, 2, 0, &out));
    REFUSES(CEBUS_INVALID_ARGUMENT, cebus_stack(rt, (cebus_tensor *[]){x}, 1, 3, &out));
    REFUSES(CEBUS_INVALID_ARGUMENT, cebus_pad(rt, x, 6, (int64_t[6]){0}, 0, &out));
    REFUSES(CEBUS_INVALID_ARGUMENT, cebus_pad(rt, x, 1, (int64_t[]){1}, 0, &out));
    REFUSES(CEBUS_INVALID_ARGUMENT, cebus_roll(rt, x, 2, (int64_t[]){1, 1}, NULL, &out));
    REFUSES(CEBUS_INVALID_ARGUMENT, cebus_roll(rt, x, 1, (int64_t[]){1}, (int[]){2}, &out));
    REFUSES(CEBUS_SHAPE_MISMATCH, cebus_matmul(rt, x, x, &out));
    REFUSES(CEBUS_DTYPE_MISMATCH, cebus_matmul(rt, whole, whole, &out));
    cebus_tensor_release(x);
    cebus_tensor_release(whole);
    cebus_tensor_release(four);
    cebus_tensor_release(zero);
    end();
}

Test(refusals, numbers)
{
    begin();
    cebus_tensor *x = filled(CEBUS_F32, SHAPE(2, 3)), *four = filled(CEBUS_F32, SHAPE(4)), *zero;
    OK(cebus_zeros(rt, CEBUS_I64, SHAPE(3), &zero));
    REFUSES(CEBUS_INVALID_ARGUMENT, cebus_full(rt, 300, CEBUS_U8, SHAPE(1), &out));
    REFUSES(CEBUS_INVALID_ARGUMENT, cebus_full(rt, NAN, CEBUS_I64, SHAPE(1), &out));
    REFUSES(CEBUS_INVALID_ARGUMENT, cebus_zeros(rt, CEBUS_F32, SHAPE(INT64_MAX, 2), &out));
    REFUSES(CEBUS_INVALID_ARGUMENT, cebus_arange(rt, 0, 1, 0, CEBUS_F32, &out));
    REFUSES(CEBUS_INVALID_ARGUMENT, cebus_arange(rt, 0, INFINITY, 1, CEBUS_F32, &out));
    REFUSES(CEBUS_INVALID_ARGUMENT, cebus_arange(rt, 0, 2, 1, CEBUS_BOOL, &out));
    REFUSES(CEBUS_INVALID_ARGUMENT,
            cebus_uniform(rt, (cebus_uniform_range){1, 0}, CEBUS_F32, SHAPE(1), &out));
    REFUSES(CEBUS_INVALID_ARGUMENT, cebus_randn(rt, CEBUS_I64, SHAPE(1), &out));
    REFUSES(CEBUS_INVALID_ARGUMENT, cebus_bernoulli(rt, 1.5, CEBUS_F32, SHAPE(1), &out));
    REFUSES(CEBUS_INVALID_ARGUMENT, cebus_dropout(rt, x, -0.1, true, &out));
    REFUSES(CEBUS_INVALID_ARGUMENT, cebus_dropout(rt, NULL, 0, false, &out));
    REFUSES(CEBUS_INVALID_ARGUMENT, cebus_embedding(rt, x, zero, 5, &out));
    REFUSES(CEBUS_DTYPE_MISMATCH, cebus_embedding(rt, x, four, CEBUS_NO_PADDING, &out));
    REFUSES(CEBUS_INVALID_ARGUMENT, cebus_index_select(rt, x, 2, zero, &out));
    REFUSES(CEBUS_INVALID_ARGUMENT, cebus_mse_loss(rt, x, x, (cebus_loss_reduction)9, &out));
    REFUSES(CEBUS_SHAPE_MISMATCH, cebus_mse_loss(rt, x, four, CEBUS_LOSS_MEAN, &out));
    cebus_class_loss_options smooth = {.label_smoothing = 0.1};
    cebus_tensor *classes;
    OK(cebus_zeros(rt, CEBUS_I64, SHAPE(2), &classes));
    REFUSES(CEBUS_INVALID_ARGUMENT, cebus_nll_loss(rt, x, classes, &smooth, &out));
    smooth.label_smoothing = 1.5;
    REFUSES(CEBUS_INVALID_ARGUMENT, cebus_cross_entropy(rt, x, classes, &smooth, &out));
    cebus_tensor_release(classes);
    cebus_tensor_release(x);
    cebus_tensor_release(four);
    cebus_tensor_release(zero);
    end();
}

Test(refusals, runtimes)
{
    begin();
    uint64_t rates[4];
    cr_expect_eq(cebus_machine_link("sim:abacus", &rates[0], &rates[1], &rates[2], &rates[3]),
                 CEBUS_INVALID_ARGUMENT);
    cr_expect_not_null(strstr(cebus_last_error()->message, "titanv-12g"));
    cr_expect_eq(cebus_runtime_set_policy(rt, "best"), CEBUS_INVALID_ARGUMENT);
    cr_expect_str_eq(cebus_runtime_policy(rt), "cebus");
    cr_expect_null(cebus_policy_name(1000));
    cr_expect_null(cebus_layout_name(1000));
    cr_expect_null(cebus_machine_name(1000));
    cr_expect_null(cebus_device_name(1000));
    cr_expect_null(cebus_runtime_layout(NULL));
    cr_expect_not(cebus_runtime_swaps(NULL));
    cr_expect_eq(cebus_runtime_oom_report(rt, NULL, 0), 0);
    char few[4];
    size_t length = cebus_runtime_tiers(rt, few, sizeof few);
    cr_expect_eq(strlen(few), length < 4 ? length : 3);
    cr_expect_eq(cebus_hint_pop(), CEBUS_INVALID_ARGUMENT);
    cr_expect_eq(cebus_hint_push(CEBUS_HINT_COUNT), CEBUS_INVALID_ARGUMENT);
    for (int i = 0; i < 64; i++)
        OK(cebus_hint_push(CEBUS_HINT_MUST_SAVE));
    cr_expect_eq(cebus_hint_push(CEBUS_HINT_MUST_SAVE), CEBUS_INVALID_ARGUMENT);
    for (int i = 0; i < 64; i++)
        OK(cebus_hint_pop());
    cr_expect_eq(cebus_hint_current(), CEBUS_HINT_NONE);
    cebus_capture *capture = (cebus_capture *)&rates;
    cr_expect_eq(cebus_capture_end(rt, &capture), CEBUS_INVALID_ARGUMENT);
    cr_expect_null(capture);
    capture = (cebus_capture *)&rates;
    cr_expect_eq(cebus_capture_last(rt, &capture), CEBUS_INVALID_ARGUMENT);
    cr_expect_null(capture);
    REFUSES(CEBUS_INVALID_ARGUMENT, cebus_capture_input(NULL, 0, &out));
    REFUSES(CEBUS_INVALID_ARGUMENT, cebus_grad_scaler_tensor(NULL, &out));
    REFUSES(CEBUS_INVALID_ARGUMENT, cebus_grad_scaler_tracker(NULL, &out));
    cr_expect_eq(cebus_capture_launch(NULL), CEBUS_INVALID_ARGUMENT);
    cr_expect_eq(cebus_capture_count_on(NULL, 1), CEBUS_INVALID_ARGUMENT);
    cebus_capture_destroy(NULL);
    cr_expect_eq(cebus_plan_save(rt, "/nowhere/plan"), CEBUS_INVALID_ARGUMENT);
    cr_expect_eq(cebus_plan_load(rt, "/nowhere/plan"), CEBUS_INVALID_ARGUMENT);
    cr_expect_eq(cebus_trace_start(rt, "/nowhere/trace"), CEBUS_INVALID_ARGUMENT);
    cebus_optimizer *sgd = (cebus_optimizer *)&rates;
    cebus_sgd_options wrong = CEBUS_SGD_OPTIONS_INIT;
    wrong.nesterov = true;
    cr_expect_eq(cebus_optimizer_create_sgd(rt, &wrong, &sgd), CEBUS_INVALID_ARGUMENT);
    cr_expect_null(sgd);
    OK(cebus_optimizer_create_sgd(rt, NULL, &sgd));
    cr_expect_eq(cebus_optimizer_set_lr(sgd, NAN), CEBUS_INVALID_ARGUMENT);
    cr_expect_eq(cebus_optimizer_set_lr(sgd, -1), CEBUS_INVALID_ARGUMENT);
    cr_expect_eq(cebus_optimizer_lr(sgd), 1e-3);
    REFUSES(CEBUS_INVALID_ARGUMENT, cebus_optimizer_state(sgd, 0, CEBUS_SGD_MOMENTUM, &out));
    cebus_tensor *plain = filled(CEBUS_F32, SHAPE(1));
    cr_expect_eq(cebus_optimizer_add(sgd, plain), CEBUS_INVALID_ARGUMENT);
    cr_expect_eq(cebus_optimizer_count(sgd), 0);
    cr_expect_eq(cebus_optimizer_set_step_count(sgd, 0, 1), CEBUS_INVALID_ARGUMENT);
    cebus_optimizer_destroy(sgd);
    cebus_optimizer_destroy(NULL);
    cebus_tensor_release(plain);
    end();
}
