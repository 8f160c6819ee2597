/*
 * Steps that compute new values. Each makes its random draws first and at most one call that
 * draws random numbers of the runtime, last, so that it can be taken again after a failure.
 */
#include <math.h>

#include "tests/property/program.h"

typedef cebus_status (*unary)(cebus_runtime *rt, cebus_tensor *x, cebus_tensor **out);
typedef cebus_status (*binary)(cebus_runtime *rt, cebus_tensor *a, cebus_tensor *b,
                               cebus_tensor **out);

/** Functions whose values stay small. */
static cebus_status run_unary(cebus_program *p)
{
    static const unary functions[] = {
        cebus_neg,  cebus_abs,  cebus_sin,  cebus_cos,       cebus_erf,   cebus_tanh,
        cebus_relu, cebus_gelu, cebus_silu, cebus_gelu_tanh, cebus_clone, cebus_sigmoid,
    };
    cebus_tensor *x = cebus_program_float(p), *out;
    unary function = functions[cebus_program_draw(p, sizeof functions / sizeof *functions)];
    return cebus_program_done(p, function(p->rt, x, &out), &out);
}

static bool broadcasts(const cebus_view *view, const cebus_view *like)
{
    int n = view->ndim < like->ndim ? view->ndim : like->ndim;
    for (int d = 1; d <= n; d++) {
        int64_t a = view->shape[view->ndim - d], b = like->shape[like->ndim - d];
        if (a != b && a != 1 && b != 1)
            return false;
    }
    return true;
}

/** Two operands that go together; once in a while two that may not. */
static cebus_tensor *partner(cebus_program *p, cebus_tensor *x)
{
    cebus_tensor *y = cebus_program_find(p, broadcasts, cebus_tensor_view(x));
    return y == NULL || cebus_program_once_in(p, 24) ? cebus_program_any(p) : y;
}

/** Shapes grow by broadcasting; they must not grow without end. */
static bool is_small(cebus_tensor *a, cebus_tensor *b)
{
    const cebus_view *v = cebus_tensor_view(a), *w = cebus_tensor_view(b);
    int64_t n = 1;
    if (v->ndim > 3 || w->ndim > 3)
        return false;
    for (int d = 1; d <= 3; d++) {
        int64_t m = d <= v->ndim ? v->shape[v->ndim - d] : 1;
        int64_t k = d <= w->ndim ? w->shape[w->ndim - d] : 1;
        n *= m > k ? m : k;
    }
    return n <= 8 * CEBUS_PROGRAM_SIDE * CEBUS_PROGRAM_SIDE;
}

static cebus_status run_binary(cebus_program *p)
{
    static const binary functions[] = {cebus_add, cebus_sub, cebus_mul, cebus_maximum,
                                       cebus_minimum};
    cebus_tensor *x = cebus_program_float(p), *y = partner(p, x), *sum, *out = NULL;
    binary function = functions[cebus_program_draw(p, sizeof functions / sizeof *functions)];
    if (!is_small(x, y))
        return CEBUS_OK;
    cebus_status status = function(p->rt, x, y, &sum);
    if (status != CEBUS_OK)
        return status;
    status = cebus_tanh(p->rt, sum, &out);
    cebus_tensor_release(sum);
    return cebus_program_done(p, status, &out);
}

static cebus_status run_where(cebus_program *p)
{
    cebus_tensor *x = cebus_program_float(p), *y = partner(p, x), *mask, *out = NULL;
    cebus_status status = cebus_gt_scalar(p->rt, x, 0.1, &mask);
    if (status != CEBUS_OK)
        return status;
    if (is_small(x, y))
        status = cebus_where(p->rt, mask, x, y, &out);
    cebus_tensor_release(mask);
    return cebus_program_done(p, status, &out);
}

static cebus_status run_scalar(cebus_program *p)
{
    cebus_tensor *x = cebus_program_float(p), *out;
    double value = (double)cebus_program_draw(p, 100) / 100;
    cebus_status status = cebus_program_once_in(p, 2) ? cebus_mul_scalar(p->rt, x, value, &out)
                                                      : cebus_rsub_scalar(p->rt, x, value, &out);
    return cebus_program_done(p, status, &out);
}

static bool is_matrix(const cebus_view *view, const cebus_view *like)
{
    return view->ndim >= 2 && view->ndim <= 3 && like->ndim >= 1 &&
           view->shape[view->ndim - 2] == like->shape[like->ndim - 1];
}

/** Products are scaled down so that long chains neither vanish nor overflow. */
static cebus_status scaled(cebus_program *p, cebus_status status, cebus_tensor **product)
{
    cebus_tensor *out = NULL;
    if (status != CEBUS_OK)
        return status;
    status = cebus_tanh(p->rt, *product, &out);
    cebus_tensor_release(*product);
    return cebus_program_done(p, status, &out);
}

static cebus_status run_matmul(cebus_program *p)
{
    cebus_tensor *x = cebus_program_float(p), *product = NULL;
    cebus_tensor *y = cebus_program_find(p, is_matrix, cebus_tensor_view(x));
    if (y == NULL || cebus_program_once_in(p, 16))
        y = cebus_program_any(p);
    if (!is_small(x, y))
        return CEBUS_OK;
    return scaled(p, cebus_matmul(p->rt, x, y, &product), &product);
}

static cebus_status run_linear(cebus_program *p)
{
    cebus_tensor *x = cebus_program_float(p), *weight = cebus_program_parameter(p), *product = NULL;
    cebus_tensor *bias = cebus_program_once_in(p, 2) ? p->parameters[2] : NULL;
    return scaled(p, cebus_linear(p->rt, x, weight, bias, &product), &product);
}

static cebus_status run_parameter(cebus_program *p)
{
    cebus_tensor *x = cebus_program_float(p), *product = NULL;
    return scaled(p, cebus_mul(p->rt, x, cebus_program_parameter(p), &product), &product);
}

static cebus_status run_reduce(cebus_program *p)
{
    typedef cebus_status (*reduction)(cebus_runtime *, cebus_tensor *, int, const int *, bool,
                                      cebus_tensor **);
    static const reduction functions[] = {cebus_mean, cebus_max, cebus_min, cebus_sum,
                                          cebus_logsumexp};
    cebus_tensor *x = cebus_program_float(p), *reduced = NULL;
    reduction function = functions[cebus_program_draw(p, sizeof functions / sizeof *functions)];
    int dim = (int)cebus_program_draw(p, 3) - 1;
    return scaled(p, function(p->rt, x, 1, &dim, true, &reduced), &reduced);
}

static cebus_status run_var(cebus_program *p)
{
    int dim = -1;
    const cebus_var_options options = {.dims = &dim, .n_dims = 1, .keepdim = true};
    cebus_tensor *x = cebus_program_float(p), *variance = NULL;
    return scaled(p, cebus_var(p->rt, x, &options, &variance), &variance);
}

static cebus_status run_softmax(cebus_program *p)
{
    cebus_tensor *x = cebus_program_float(p), *out;
    int dim = (int)cebus_program_draw(p, 2) - 1;
    return cebus_program_done(p, cebus_softmax(p->rt, x, dim, &out), &out);
}

static cebus_status run_layer_norm(cebus_program *p)
{
    cebus_tensor *x = cebus_program_float(p), *out;
    cebus_tensor *weight = cebus_program_once_in(p, 2) ? p->parameters[2] : NULL;
    return cebus_program_done(p, cebus_layer_norm(p->rt, x, weight, NULL, NULL, &out), &out);
}

static bool has_columns(const cebus_view *view, const cebus_view *like)
{
    (void)like;
    return view->ndim == 2 && view->shape[1] == CEBUS_PROGRAM_SIDE && view->shape[0] > 1;
}

/** Moves the running statistics, too: all of it or nothing. */
static cebus_status run_batch_norm(cebus_program *p)
{
    cebus_tensor *x = cebus_program_find(p, has_columns, NULL), *out;
    const cebus_batch_norm_options options = {
        .running_mean = p->running_mean, .running_var = p->running_var, .training = true};
    if (x == NULL)
        return CEBUS_OK;
    cebus_status status =
        cebus_batch_norm(p->rt, x, p->parameters[2], p->parameters[5], &options, &out);
    return cebus_program_done(p, status, &out);
}

static bool is_square(const cebus_view *view, const cebus_view *like)
{
    (void)like;
    return view->ndim == 2 && view->shape[0] == CEBUS_PROGRAM_SIDE &&
           view->shape[1] == CEBUS_PROGRAM_SIDE;
}

/** [32, 32] seen as one image of four channels, 16 x 16. */
static cebus_status as_image(cebus_program *p, cebus_tensor **out)
{
    cebus_tensor *x = cebus_program_find(p, is_square, NULL);
    *out = NULL;
    return x != NULL ? cebus_reshape(p->rt, x, 4, (int64_t[]){1, 4, 16, 16}, out) : CEBUS_OK;
}

static cebus_status from_image(cebus_program *p, cebus_status status, cebus_tensor **image)
{
    cebus_tensor *out = NULL;
    if (status == CEBUS_OK && *image != NULL)
        status = cebus_reshape(p->rt, *image, 2, (int64_t[]){-1, 16}, &out);
    cebus_tensor_release(*image);
    return cebus_program_done(p, status, &out);
}

static cebus_status run_pool(cebus_program *p)
{
    const cebus_pool_options options = {.kernel = {2, 2}};
    cebus_tensor *image, *out = NULL;
    bool max = cebus_program_once_in(p, 2);
    cebus_status status = as_image(p, &image);
    if (status == CEBUS_OK && image != NULL)
        status = max ? cebus_max_pool2d(p->rt, image, &options, &out)
                     : cebus_avg_pool2d(p->rt, image, &options, &out);
    cebus_tensor_release(image);
    return from_image(p, status, &out);
}

static cebus_status run_conv(cebus_program *p)
{
    const cebus_conv_options options = {.padding = {1, 1}};
    cebus_tensor *image, *kernel = NULL, *weight = NULL, *out = NULL;
    cebus_status status = as_image(p, &image);
    if (status == CEBUS_OK && image != NULL)
        status = cebus_slice(p->rt, p->parameters[0], 0, 0, 18, 1, &kernel);
    if (kernel != NULL)
        status = cebus_reshape(p->rt, kernel, 4, (int64_t[]){16, 4, 3, 3}, &weight);
    if (weight != NULL)
        status = cebus_conv2d(p->rt, image, weight, NULL, &options, &out);
    cebus_tensor_release(image);
    cebus_tensor_release(kernel);
    cebus_tensor_release(weight);
    return from_image(p, status, &out);
}

static cebus_status run_attention(cebus_program *p)
{
    cebus_attention_options options = {.is_causal = cebus_program_once_in(p, 2)};
    cebus_tensor *q = cebus_program_find(p, is_square, NULL), *out;
    cebus_tensor *k = cebus_program_find(p, is_square, NULL);
    cebus_tensor *v = cebus_program_find(p, is_square, NULL);
    if (q == NULL || k == NULL || v == NULL)
        return CEBUS_OK;
    options.dropout_p = cebus_program_once_in(p, 2) ? 0.2 : 0;
    return cebus_program_done(p, cebus_scaled_dot_product_attention(p->rt, q, k, v, &options, &out),
                              &out);
}

static cebus_status run_cross_entropy(cebus_program *p)
{
    cebus_tensor *x = cebus_program_find(p, has_columns, NULL), *target, *loss = NULL;
    if (x == NULL)
        return CEBUS_OK;
    int last = -1;
    cebus_status status = cebus_argmax(p->rt, x, 1, &last, false, &target);
    if (status != CEBUS_OK)
        return status;
    status = cebus_cross_entropy(p->rt, x, target, NULL, &loss);
    cebus_tensor_release(target);
    return cebus_program_done(p, status, &loss);
}

static cebus_status run_gather(cebus_program *p)
{
    cebus_tensor *x = cebus_program_find(p, has_columns, NULL), *order, *out = NULL;
    /* 40 is out of range: an error */
    double stop = cebus_program_once_in(p, 6) && !p->careful ? 40 : 2;
    if (x == NULL)
        return CEBUS_OK;
    cebus_status status = cebus_arange(p->rt, stop, -1, -1, CEBUS_I64, &order);
    if (status == CEBUS_OK && stop < 40 && cebus_tensor_size(x, 0) <= 2)
        status = CEBUS_INVALID_ARGUMENT;
    else if (status == CEBUS_OK)
        status = cebus_index_select(p->rt, x, 0, order, &out);
    cebus_tensor_release(order);
    return cebus_program_done(p, status, &out);
}

static bool same_columns(const cebus_view *view, const cebus_view *like)
{
    return view->ndim == 2 && like->ndim == 2 && view->shape[1] == like->shape[1] &&
           view->shape[0] + like->shape[0] <= 2 * CEBUS_PROGRAM_SIDE;
}

static cebus_status run_cat(cebus_program *p)
{
    cebus_tensor *both[2] = {cebus_program_float(p), NULL}, *out;
    both[1] = cebus_program_find(p, same_columns, cebus_tensor_view(both[0]));
    if (both[1] == NULL)
        return CEBUS_OK;
    return cebus_program_done(p, cebus_cat(p->rt, both, 2, 0, &out), &out);
}

/** Divides by two, rounded down. */
static cebus_status halve(cebus_program *p, cebus_tensor **places)
{
    cebus_tensor *two, *half = NULL;
    cebus_status status = cebus_full(p->rt, 2, CEBUS_I64, 0, NULL, &two);
    if (status == CEBUS_OK)
        status = cebus_div_floor(p->rt, *places, two, &half);
    cebus_tensor_release(two);
    if (status == CEBUS_OK) {
        cebus_tensor_release(*places);
        *places = half;
    }
    return status;
}

/** Adds one tensor's first column into another at half the places of its own largest elements. */
static cebus_status run_scatter(cebus_program *p)
{
    cebus_tensor *x = cebus_program_find(p, has_columns, NULL), *places, *out = NULL;
    int last = -1;
    if (x == NULL)
        return CEBUS_OK;
    cebus_status status = cebus_argmax(p->rt, x, 1, &last, true, &places);
    if (status != CEBUS_OK)
        return status;
    status = halve(p, &places);
    if (status == CEBUS_OK)
        status = cebus_scatter_add(p->rt, x, 1, places, x, &out);
    cebus_tensor_release(places);
    return cebus_program_done(p, status, &out);
}

static cebus_status run_move(cebus_program *p)
{
    const int64_t pads[] = {1, -1}, shift = 3;
    const int dim = 0;
    cebus_tensor *x = cebus_program_any(p), *out = NULL;
    cebus_status status = cebus_program_once_in(p, 2) ? cebus_pad(p->rt, x, 2, pads, 0.5, &out)
                                                      : cebus_roll(p->rt, x, 1, &shift, &dim, &out);
    return cebus_program_done(p, status, &out);
}

static cebus_status run_resize(cebus_program *p)
{
    const cebus_interpolate_options options = {.mode = CEBUS_INTERPOLATE_BILINEAR,
                                               .size = {12, 20}};
    cebus_tensor *image, *out = NULL;
    cebus_status status = as_image(p, &image);
    if (status == CEBUS_OK && image != NULL)
        status = cebus_interpolate(p->rt, image, &options, &out);
    cebus_tensor_release(image);
    return from_image(p, status, &out);
}

/** One step of an LSTM with 8 units, whose weights are views of parameters. */
static cebus_status run_cell(cebus_program *p)
{
    cebus_tensor *x = cebus_program_find(p, has_columns, NULL), *w_hh;
    bool keep_h = cebus_program_once_in(p, 2);
    cebus_lstm_state next = {NULL, NULL};
    if (x == NULL)
        return CEBUS_OK;
    cebus_status status = cebus_slice(p->rt, p->parameters[1], 1, 0, 8, 1, &w_hh);
    if (status != CEBUS_OK)
        return status;
    cebus_recurrent_weights weights = {.w_ih = p->parameters[0], .w_hh = w_hh};
    status = cebus_lstm_cell(p->rt, x, NULL, &weights, &next);
    cebus_tensor_release(w_hh);
    if (status != CEBUS_OK)
        return status;
    cebus_tensor_release(keep_h ? next.c : next.h);
    cebus_program_keep(p, keep_h ? next.h : next.c);
    return CEBUS_OK;
}

static cebus_status run_cast(cebus_program *p)
{
    static const cebus_dtype types[] = {CEBUS_F64, CEBUS_BF16, CEBUS_F16, CEBUS_F32};
    cebus_tensor *x = cebus_program_any(p), *narrow, *out = NULL;
    cebus_status status = cebus_cast(p->rt, x, types[cebus_program_draw(p, 4)], &narrow);
    if (status != CEBUS_OK)
        return status;
    if (cebus_program_once_in(p, 6))
        return cebus_program_done(p, status, &narrow);
    status = cebus_cast(p->rt, narrow, CEBUS_F32, &out);
    cebus_tensor_release(narrow);
    return cebus_program_done(p, status, &out);
}

/** A product, or a function, in 16 bits, of narrow copies; the result in f32. */
static cebus_status run_half(cebus_program *p)
{
    cebus_dtype type = cebus_program_once_in(p, 2) ? CEBUS_BF16 : CEBUS_F16;
    bool product = cebus_program_once_in(p, 2);
    cebus_tensor *x = cebus_program_float(p), *w = p->parameters[0];
    cebus_tensor *narrow = NULL, *weight = NULL, *result = NULL, *out = NULL;
    cebus_status status = cebus_cast(p->rt, x, type, &narrow);
    if (status == CEBUS_OK && product)
        status = cebus_cast(p->rt, w, type, &weight);
    if (status == CEBUS_OK)
        status = product ? cebus_linear(p->rt, narrow, weight, NULL, &result)
                         : cebus_gelu(p->rt, narrow, &result);
    if (status == CEBUS_OK)
        status = cebus_cast(p->rt, result, CEBUS_F32, &out);
    cebus_tensor_release(narrow);
    cebus_tensor_release(weight);
    cebus_tensor_release(result);
    return cebus_program_done(p, status, &out);
}

static cebus_status run_create(cebus_program *p)
{
    const int64_t side = CEBUS_PROGRAM_SIDE;
    const int64_t shapes[4][3] = {{side, side}, {side, side / 2}, {2, side / 2, side}, {1, side}};
    uint64_t which = cebus_program_draw(p, 4);
    int ndim = which == 2 ? 3 : 2;
    const int64_t *shape = shapes[which];
    cebus_tensor *out = NULL;
    cebus_status status = CEBUS_OK;
    switch (cebus_program_draw(p, 6)) {
    case 0:
        status = cebus_program_upload(p, ndim, shape, &out);
        break;
    case 1:
        status = cebus_full(p->rt, 0.25, CEBUS_F32, ndim, shape, &out);
        break;
    case 2:
        status = cebus_uniform(p->rt, (cebus_uniform_range){-1, 1}, CEBUS_F32, ndim, shape, &out);
        break;
    case 3:
        status = cebus_bernoulli(p->rt, 0.3, CEBUS_F32, ndim, shape, &out);
        break;
    default:
        status = cebus_randn(p->rt, CEBUS_F32, ndim, shape, &out);
    }
    return cebus_program_done(p, status, &out);
}

static cebus_status run_dropout(cebus_program *p)
{
    cebus_tensor *x = cebus_program_float(p), *out;
    return cebus_program_done(p, cebus_dropout(p->rt, x, 0.3, true, &out), &out);
}

const cebus_program_op cebus_program_compute[] = {
    {"unary", 12, run_unary},
    {"binary", 12, run_binary},
    {"where", 2, run_where},
    {"scalar", 4, run_scalar},
    {"matmul", 6, run_matmul},
    {"linear", 5, run_linear},
    {"parameter", 3, run_parameter},
    {"reduce", 3, run_reduce},
    {"var", 1, run_var},
    {"softmax", 2, run_softmax},
    {"layer_norm", 3, run_layer_norm},
    {"batch_norm", 3, run_batch_norm},
    {"pool", 2, run_pool},
    {"conv", 2, run_conv},
    {"attention", 3, run_attention},
    {"cross_entropy", 2, run_cross_entropy},
    {"gather", 2, run_gather},
    {"cat", 2, run_cat},
    {"scatter", 1, run_scatter},
    {"move", 2, run_move},
    {"resize", 1, run_resize},
    {"cell", 2, run_cell},
    {"cast", 2, run_cast},
    {"half", 4, run_half},
    {"create", 8, run_create},
    {"dropout", 4, run_dropout},
    {NULL, 0, NULL},
};
