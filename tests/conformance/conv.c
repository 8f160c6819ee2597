/*
 * Convolutions against one naive loop. A geometry is the list of its products: which pixel of the
 * image times which weight goes into which pixel of the output. The convolution, its transpose
 * and all their gradients add up that one list in different ways.
 */
#include <stdlib.h>
#include <string.h>

#include "tests/support/images.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

/* Of the plain convolution; the transpose reads the output and writes the image. */
typedef struct geometry {
    int64_t batch, image_channels, output_channels;
    int64_t image[2], output[2], kernel[2];
    cebus_conv_options options;
} geometry;

typedef struct sizes {
    int64_t image[4], weight[4], output[4];
} sizes;

static sizes sizes_of(const geometry *g)
{
    return (sizes){
        .image = {g->batch, g->image_channels, g->image[0], g->image[1]},
        .weight = {g->output_channels, g->image_channels / g->options.groups, g->kernel[0],
                   g->kernel[1]},
        .output = {g->batch, g->output_channels, g->output[0], g->output[1]},
    };
}

static int64_t count(const int64_t *shape)
{
    return shape[0] * shape[1] * shape[2] * shape[3];
}

static int64_t at(const int64_t *shape, int64_t a, int64_t b, int64_t c, int64_t d)
{
    return ((a * shape[1] + b) * shape[2] + c) * shape[3] + d;
}

/* The three arrays of a geometry, row-major; what is NULL is not touched. */
typedef struct arrays {
    const double *image, *weight, *output; /* factors */
    double *to_image, *to_weight, *to_output;
} arrays;

static void multiply(const arrays *a, int64_t image, int64_t weight, int64_t output)
{
    if (a->to_output)
        a->to_output[output] += a->image[image] * a->weight[weight];
    if (a->to_image)
        a->to_image[image] += a->output[output] * a->weight[weight];
    if (a->to_weight)
        a->to_weight[weight] += a->output[output] * a->image[image];
}

static void taps(const geometry *g, const arrays *a, const int64_t *place)
{
    sizes s = sizes_of(g);
    const cebus_conv_options *o = &g->options;
    int64_t group = place[1] / (g->output_channels / o->groups), channels = s.weight[1];
    for (int64_t c = 0; c < channels; c++)
        for (int64_t i = 0; i < g->kernel[0]; i++)
            for (int64_t j = 0; j < g->kernel[1]; j++) {
                int64_t h = place[2] * o->stride[0] - o->padding[0] + i * o->dilation[0];
                int64_t w = place[3] * o->stride[1] - o->padding[1] + j * o->dilation[1];
                if (h >= 0 && h < g->image[0] && w >= 0 && w < g->image[1])
                    multiply(a, at(s.image, place[0], group * channels + c, h, w),
                             at(s.weight, place[1], c, i, j),
                             at(s.output, place[0], place[1], place[2], place[3]));
            }
}

static void add_products(const geometry *g, const arrays *a)
{
    sizes s = sizes_of(g);
    int64_t p[4];
    for (p[0] = 0; p[0] < s.output[0]; p[0]++)
        for (p[1] = 0; p[1] < s.output[1]; p[1]++)
            for (p[2] = 0; p[2] < s.output[2]; p[2]++)
                for (p[3] = 0; p[3] < s.output[3]; p[3]++)
                    taps(g, a, p);
}

static double *zeros(int64_t n)
{
    return calloc((size_t)n + 1, sizeof(double));
}

/* result[n, c, h, w] += bias[c] */
static void add_bias(double *result, const int64_t *shape, const double *bias)
{
    int64_t plane = shape[2] * shape[3];
    for (int64_t i = 0; i < count(shape); i++)
        result[i] += bias[i / plane % shape[1]];
}

static double *sum_to_bias(const double *grad, const int64_t *shape)
{
    double *sum = zeros(shape[1]);
    for (int64_t i = 0; sum && i < count(shape); i++)
        sum[i / (shape[2] * shape[3]) % shape[1]] += grad[i];
    return sum;
}

/* One call and its backward: the tensors, and their elements. */
typedef struct trial {
    cebus_test *t;
    const geometry *g;
    bool transposed;
    double tolerance;
    cebus_tensor *x, *weight, *bias, *out, *grad; /* bias may be NULL */
    double *x_values, *weight_values, *bias_values, *grad_values;
} trial;

static const int64_t *shape_of_x(const trial *r, const sizes *s)
{
    return r->transposed ? s->output : s->image;
}

static const int64_t *shape_of_out(const trial *r, const sizes *s)
{
    return r->transposed ? s->image : s->output;
}

static void check_forward(const trial *r)
{
    sizes s = sizes_of(r->g);
    const int64_t *shape = shape_of_out(r, &s);
    double *want = zeros(count(shape));
    arrays a = {.weight = r->weight_values};
    if (r->transposed) {
        a.output = r->x_values;
        a.to_image = want;
    } else {
        a.image = r->x_values;
        a.to_output = want;
    }
    add_products(r->g, &a);
    if (r->bias)
        add_bias(want, shape, r->bias_values);
    cebus_test_expect(r->t, "result", r->out, 4, shape, want, r->tolerance);
    EXPECT(r->t, cebus_test_is_channels_last(r->out));
    free(want);
}

static void check_backward(const trial *r)
{
    sizes s = sizes_of(r->g);
    double *to_x = zeros(count(shape_of_x(r, &s))), *to_weight = zeros(count(s.weight));
    double *to_bias = r->bias ? sum_to_bias(r->grad_values, shape_of_out(r, &s)) : NULL;
    arrays a = {.weight = r->weight_values, .to_weight = to_weight};
    if (r->transposed) {
        a.image = r->grad_values;
        a.output = r->x_values;
        a.to_output = to_x;
    } else {
        a.image = r->x_values;
        a.output = r->grad_values;
        a.to_image = to_x;
    }
    add_products(r->g, &a);
    cebus_test_expect_grad(r->t, "gradient of x", r->x, to_x, r->tolerance);
    cebus_test_expect_grad(r->t, "gradient of weight", r->weight, to_weight, r->tolerance);
    if (r->bias)
        cebus_test_expect_grad(r->t, "gradient of bias", r->bias, to_bias, r->tolerance);
    free(to_x);
    free(to_weight);
    free(to_bias);
}

static cebus_status call(const trial *r, cebus_tensor **out)
{
    return (r->transposed ? cebus_conv_transpose2d : cebus_conv2d)(r->t->rt, r->x, r->weight,
                                                                   r->bias, &r->g->options, out);
}

static void run(trial *r)
{
    OK(r->t, cebus_tensor_set_requires_grad(r->x, true));
    OK(r->t, cebus_tensor_set_requires_grad(r->weight, true));
    if (r->bias)
        OK(r->t, cebus_tensor_set_requires_grad(r->bias, true));
    OK(r->t, call(r, &r->out));
    check_forward(r);
    OK(r->t, cebus_backward(r->t->rt, r->out, r->grad, false));
    check_backward(r);
}

/* What kind of tensors a geometry is tried with. */
typedef struct variant {
    cebus_dtype dtype;
    cebus_test_order x, grad, weight;
    bool transposed, bias;
} variant;

static void check(cebus_test *t, const geometry *g, const variant *v)
{
    sizes s = sizes_of(g);
    trial r = {.t = t,
               .g = g,
               .transposed = v->transposed,
               .tolerance = v->dtype == CEBUS_F64 ? 1e-12 : 1e-4};
    r.x = cebus_test_image(t, v->x, v->dtype, 1, shape_of_x(&r, &s));
    r.weight = cebus_test_image(t, v->weight, v->dtype, 2, s.weight);
    if (v->bias)
        r.bias = cebus_test_tensor(t, v->dtype, 3, 1, 0, 1, shape_of_out(&r, &s) + 1);
    r.grad = cebus_test_image(t, v->grad, v->dtype, 4, shape_of_out(&r, &s));
    if (r.x && r.weight && r.grad) {
        r.x_values = cebus_test_doubles(t, r.x);
        r.weight_values = cebus_test_doubles(t, r.weight);
        r.bias_values = r.bias ? cebus_test_doubles(t, r.bias) : NULL;
        r.grad_values = cebus_test_doubles(t, r.grad);
        run(&r);
    }
    cebus_tensor *const tensors[] = {r.x, r.weight, r.bias, r.out, r.grad};
    for (size_t i = 0; i < LENGTH(tensors); i++)
        cebus_tensor_release(tensors[i]);
    free(r.x_values);
    free(r.weight_values);
    free(r.bias_values);
    free(r.grad_values);
}

/* A geometry from a sequence of draws; false when its output would be empty. */
static bool draw_geometry(uint64_t *state, bool wide, geometry *out)
{
    int64_t groups = cebus_test_draw(state, 0, 1) ? 1 : cebus_test_draw(state, 1, 3);
    int64_t unit = groups * (wide ? 16 : 1);
    *out = (geometry){
        .batch = cebus_test_draw(state, 1, 3),
        .image_channels = unit * cebus_test_draw(state, 1, wide ? 2 : 5),
        .output_channels = unit * cebus_test_draw(state, 1, wide ? 2 : 5),
        .options = {.groups = groups},
    };
    cebus_conv_options *o = &out->options;
    for (int i = 0; i < 2; i++) {
        out->kernel[i] = cebus_test_draw(state, 1, 3);
        o->stride[i] = cebus_test_draw(state, 1, 3);
        o->padding[i] = cebus_test_draw(state, 0, 2);
        o->dilation[i] = cebus_test_draw(state, 1, 2);
        out->image[i] = cebus_test_draw(state, 1, 8);
        int64_t room =
            out->image[i] + 2 * o->padding[i] - o->dilation[i] * (out->kernel[i] - 1) - 1;
        out->output[i] = room / o->stride[i] + 1;
        if (room < 0)
            return false;
    }
    return true;
}

static void sweep(cebus_test *t, cebus_dtype dtype, bool transposed, bool wide, int trials)
{
    uint64_t state = 1000 * (uint64_t)dtype + 100 * transposed + 10 * wide;
    for (int i = 0; i < trials && t->failures == 0; i++) {
        geometry g;
        variant v = {
            .dtype = dtype,
            .transposed = transposed,
            .x = (cebus_test_order)cebus_test_draw(&state, 0, CEBUS_TEST_ORDERS - 1),
            .grad = (cebus_test_order)cebus_test_draw(&state, 0, CEBUS_TEST_ORDERS - 1),
            .weight = cebus_test_draw(&state, 0, 3) ? CEBUS_TEST_ROWS : CEBUS_TEST_CHANNELS_LAST,
            .bias = cebus_test_draw(&state, 0, 1) != 0,
        };
        if (!draw_geometry(&state, wide, &g))
            continue;
        for (int d = 0; transposed && d < 2; d++)
            g.options.output_padding[d] =
                g.image[d] - ((g.output[d] - 1) * g.options.stride[d] - 2 * g.options.padding[d] +
                              g.options.dilation[d] * (g.kernel[d] - 1) + 1);
        check(t, &g, &v);
        if (t->failures > 0)
            cebus_test_fail(t, __FILE__, __LINE__, "trial %d", i);
    }
}

static void conv2d_f32(cebus_test *t)
{
    sweep(t, CEBUS_F32, false, false, 150);
}

static void conv2d_f32_wide(cebus_test *t)
{
    sweep(t, CEBUS_F32, false, true, 50);
}

static void conv2d_f64(cebus_test *t)
{
    sweep(t, CEBUS_F64, false, false, 100);
}

static void transpose_f32(cebus_test *t)
{
    sweep(t, CEBUS_F32, true, false, 150);
}

static void transpose_f32_wide(cebus_test *t)
{
    sweep(t, CEBUS_F32, true, true, 50);
}

static void transpose_f64(cebus_test *t)
{
    sweep(t, CEBUS_F64, true, false, 100);
}

/* Channel counts beside the widths of vectors, where a library's kernels pad. */
static void channel_counts(cebus_test *t)
{
    for (int64_t channels = 1; channels <= 20; channels++)
        for (int64_t kernel = 1; kernel <= 3; kernel += 2)
            for (int64_t stride = 1; stride <= 2; stride++) {
                geometry g = {4,
                              channels,
                              21 - channels,
                              {8, 8},
                              {8 / stride, 8 / stride},
                              {kernel, kernel},
                              {{stride, stride}, {kernel / 2, kernel / 2}, {1, 1}, 1, {0, 0}}};
                check(t, &g, &(variant){CEBUS_F32, 0, 0, CEBUS_TEST_ROWS, false, false});
                if (t->failures > 0)
                    cebus_test_fail(t, __FILE__, __LINE__, "%d channels, kernel %d, stride %d",
                                    (int)channels, (int)kernel, (int)stride);
            }
}

/* Depthwise, one pixel, a kernel as large as the image, many weights and few pixels, more pixels
 * than are multiplied at a time, and windows of one pixel, so many that a weight's sum is cut. */
static void special_shapes(cebus_test *t)
{
    static const geometry list[] = {
        {2, 16, 16, {7, 7}, {7, 7}, {3, 3}, {{1, 1}, {1, 1}, {1, 1}, 16, {0, 0}}},
        {2, 8, 16, {5, 6}, {3, 3}, {3, 3}, {{2, 2}, {1, 1}, {1, 1}, 8, {0, 0}}},
        {1, 1, 1, {1, 1}, {1, 1}, {1, 1}, {{1, 1}, {0, 0}, {1, 1}, 1, {0, 0}}},
        {2, 3, 4, {5, 4}, {1, 1}, {5, 4}, {{1, 1}, {0, 0}, {1, 1}, 1, {0, 0}}},
        {4, 96, 80, {2, 2}, {2, 2}, {3, 3}, {{1, 1}, {1, 1}, {1, 1}, 1, {0, 0}}},
        {3, 64, 128, {4, 4}, {2, 2}, {3, 3}, {{2, 2}, {1, 1}, {1, 1}, 1, {0, 0}}},
        {2, 3, 32, {16, 16}, {8, 8}, {7, 7}, {{2, 2}, {3, 3}, {1, 1}, 1, {0, 0}}},
        {1, 512, 2, {17, 17}, {17, 17}, {3, 3}, {{1, 1}, {1, 1}, {1, 1}, 1, {0, 0}}},
        {2, 32, 48, {12, 12}, {12, 12}, {1, 1}, {{1, 1}, {0, 0}, {1, 1}, 1, {0, 0}}},
        {8, 5, 9, {23, 20}, {23, 20}, {1, 1}, {{1, 1}, {0, 0}, {1, 1}, 1, {0, 0}}},
        {3, 16, 24, {33, 30}, {17, 10}, {1, 1}, {{2, 3}, {0, 0}, {1, 1}, 1, {0, 0}}},
    };
    for (size_t i = 0; i < LENGTH(list); i++)
        for (cebus_test_order order = 0; order < CEBUS_TEST_ORDERS; order++) {
            check(t, &list[i], &(variant){CEBUS_F32, order, order, CEBUS_TEST_ROWS, false, true});
            check(t, &list[i], &(variant){CEBUS_F64, order, order, CEBUS_TEST_ROWS, false, false});
        }
}

static void empty_batch(cebus_test *t)
{
    cebus_tensor *x = cebus_test_tensor(t, CEBUS_F32, 1, 1, 0, 4, (int64_t[]){0, 3, 5, 5});
    cebus_tensor *w = cebus_test_tensor(t, CEBUS_F32, 2, 1, 0, 4, (int64_t[]){2, 3, 3, 3});
    cebus_tensor *out = NULL;
    double zero[2 * 3 * 3 * 3] = {0};
    OK(t, cebus_tensor_set_requires_grad(w, true));
    OK(t, cebus_conv2d(t->rt, x, w, NULL, NULL, &out));
    cebus_test_expect(t, "result", out, 4, (int64_t[]){0, 2, 3, 3}, zero, 0);
    OK(t, cebus_backward(t->rt, out, out, false));
    cebus_test_expect_grad(t, "gradient of weight", w, zero, 0);
    cebus_tensor_release(x);
    cebus_tensor_release(w);
    cebus_tensor_release(out);
}

/* A gradient that was expanded from one number. */
static void expanded_gradient(cebus_test *t)
{
    cebus_tensor *x = cebus_test_tensor(t, CEBUS_F32, 1, 1, 0, 4, (int64_t[]){2, 16, 5, 5});
    cebus_tensor *w = cebus_test_tensor(t, CEBUS_F32, 2, 1, 0, 4, (int64_t[]){16, 16, 3, 3});
    cebus_tensor *one = cebus_test_from_doubles(t, CEBUS_F32, (double[]){1}, 0, NULL);
    cebus_tensor *wide = NULL, *ones = NULL, *out = NULL, *first = NULL, *second = NULL;
    double values[2 * 16 * 3 * 3];
    for (size_t i = 0; i < LENGTH(values); i++)
        values[i] = 1;
    OK(t, cebus_tensor_set_requires_grad(w, true));
    OK(t, cebus_conv2d(t->rt, x, w, NULL, NULL, &out));
    OK(t, cebus_expand(t->rt, one, 4, (int64_t[]){2, 16, 3, 3}, &wide));
    OK(t, cebus_backward(t->rt, out, wide, true));
    OK(t, cebus_tensor_grad(w, &first));
    OK(t, cebus_tensor_set_grad(w, NULL));
    ones = cebus_test_from_doubles(t, CEBUS_F32, values, 4, (int64_t[]){2, 16, 3, 3});
    OK(t, cebus_backward(t->rt, out, ones, false));
    OK(t, cebus_tensor_grad(w, &second));
    cebus_test_expect_same(t, "gradient of weight", first, second);
    cebus_tensor *const tensors[] = {x, w, one, wide, ones, out, first, second};
    for (size_t i = 0; i < LENGTH(tensors); i++)
        cebus_tensor_release(tensors[i]);
}

static cebus_status conv_function(cebus_runtime *rt, cebus_tensor *const *in, void *context,
                                  cebus_tensor **out)
{
    return cebus_conv2d(rt, in[0], in[1], in[2], context, out);
}

static cebus_status transpose_function(cebus_runtime *rt, cebus_tensor *const *in, void *context,
                                       cebus_tensor **out)
{
    return cebus_conv_transpose2d(rt, in[0], in[1], in[2], context, out);
}

static void check_gradient(cebus_test *t, const char *what, cebus_test_function function,
                           cebus_conv_options options, const int64_t *weight, int64_t bias)
{
    cebus_tensor *in[3] = {
        cebus_test_tensor(t, CEBUS_F64, 1, 1, 0, 4, (int64_t[]){2, 4, 5, 6}),
        cebus_test_tensor(t, CEBUS_F64, 2, 1, 0, 4, weight),
        cebus_test_tensor(t, CEBUS_F64, 3, 1, 0, 1, &bias),
    };
    for (int i = 0; i < 3; i++)
        EXPECT(t, cebus_tensor_set_requires_grad(in[i], true) == CEBUS_OK);
    cebus_test_gradient(t, what, function, &options, in, 3);
    for (int i = 0; i < 3; i++)
        cebus_tensor_release(in[i]);
}

static void gradients(cebus_test *t)
{
    const int64_t plain[4] = {3, 4, 3, 2}, grouped[4] = {6, 2, 3, 3}, turned[4] = {4, 3, 3, 2};
    const int64_t turned_groups[4] = {4, 3, 2, 3};
    check_gradient(t, "conv2d", conv_function, (cebus_conv_options){0}, plain, 3);
    check_gradient(
        t, "conv2d with all options", conv_function,
        (cebus_conv_options){.stride = {2, 1}, .padding = {2, 1}, .dilation = {1, 2}, .groups = 2},
        grouped, 6);
    check_gradient(t, "conv_transpose2d", transpose_function, (cebus_conv_options){0}, turned, 3);
    check_gradient(t, "conv_transpose2d with all options", transpose_function,
                   (cebus_conv_options){.stride = {2, 3},
                                        .padding = {1, 1},
                                        .dilation = {2, 1},
                                        .groups = 2,
                                        .output_padding = {1, 2}},
                   turned_groups, 6);
    /* Output padding beyond the stride, allowed by the dilation. */
    check_gradient(t, "conv_transpose2d, output padding of the stride", transpose_function,
                   (cebus_conv_options){.dilation = {3, 2}, .output_padding = {2, 1}}, turned, 3);
}

static void determinism(cebus_test *t)
{
    cebus_tensor *x = cebus_test_tensor(t, CEBUS_F32, 1, 1, 0, 4, (int64_t[]){3, 32, 9, 9});
    cebus_tensor *w = cebus_test_tensor(t, CEBUS_F32, 2, 1, 0, 4, (int64_t[]){48, 32, 3, 3});
    cebus_conv_options o = {0};
    cebus_test_expect_repeats(t, conv_function, &o, (cebus_tensor *[]){x, w, NULL}, w);
    cebus_tensor_release(x);
    cebus_tensor_release(w);
}

static void errors_conv2d(cebus_test *t)
{
    cebus_tensor *x = cebus_test_tensor(t, CEBUS_F32, 1, 1, 0, 4, (int64_t[]){2, 4, 5, 5});
    cebus_tensor *w = cebus_test_tensor(t, CEBUS_F32, 2, 1, 0, 4, (int64_t[]){6, 4, 3, 3});
    cebus_tensor *flat = cebus_test_tensor(t, CEBUS_F32, 2, 1, 0, 3, (int64_t[]){4, 5, 5});
    cebus_tensor *b = cebus_test_tensor(t, CEBUS_F32, 3, 1, 0, 1, (int64_t[]){5});
    cebus_tensor *wide = cebus_test_tensor(t, CEBUS_F64, 2, 1, 0, 4, (int64_t[]){6, 4, 3, 3});
    cebus_tensor *ints = cebus_test_tensor(t, CEBUS_I32, 2, 9, 0, 4, (int64_t[]){6, 4, 3, 3});
    cebus_tensor *none = cebus_test_tensor(t, CEBUS_F32, 2, 1, 0, 4, (int64_t[]){6, 4, 0, 3});
    cebus_tensor *out = x;
    cebus_runtime *rt = t->rt;
    FAILS(t, CEBUS_INVALID_ARGUMENT, "conv2d", cebus_conv2d(rt, NULL, w, NULL, NULL, &out));
    EXPECT(t, out == NULL);
    FAILS(t, CEBUS_INVALID_ARGUMENT, "conv2d", cebus_conv2d(rt, x, NULL, NULL, NULL, &out));
    FAILS(t, CEBUS_INVALID_ARGUMENT, "conv2d", cebus_conv2d(rt, x, w, NULL, NULL, NULL));
    FAILS(t, CEBUS_INVALID_ARGUMENT, "conv2d", cebus_conv2d(NULL, x, w, NULL, NULL, &out));
    FAILS(t, CEBUS_SHAPE_MISMATCH, "[4, 5, 5]", cebus_conv2d(rt, flat, w, NULL, NULL, &out));
    FAILS(t, CEBUS_SHAPE_MISMATCH, "[6, 4, 0, 3]", cebus_conv2d(rt, x, none, NULL, NULL, &out));
    FAILS(t, CEBUS_SHAPE_MISMATCH, "bias has shape [5]: expected [6]",
          cebus_conv2d(rt, x, w, b, NULL, &out));
    FAILS(t, CEBUS_DTYPE_MISMATCH, "f64", cebus_conv2d(rt, x, wide, NULL, NULL, &out));
    FAILS(t, CEBUS_DTYPE_MISMATCH, "i32", cebus_conv2d(rt, ints, ints, NULL, NULL, &out));
    FAILS(t, CEBUS_SHAPE_MISMATCH, "3 groups",
          cebus_conv2d(rt, x, w, NULL, &(cebus_conv_options){.groups = 3}, &out));
    FAILS(t, CEBUS_INVALID_ARGUMENT, "groups is -1",
          cebus_conv2d(rt, x, w, NULL, &(cebus_conv_options){.groups = -1}, &out));
    FAILS(t, CEBUS_INVALID_ARGUMENT, "stride -2",
          cebus_conv2d(rt, x, w, NULL, &(cebus_conv_options){.stride = {1, -2}}, &out));
    FAILS(t, CEBUS_INVALID_ARGUMENT, "padding -1",
          cebus_conv2d(rt, x, w, NULL, &(cebus_conv_options){.padding = {-1, 0}}, &out));
    FAILS(t, CEBUS_INVALID_ARGUMENT, "dilation -1",
          cebus_conv2d(rt, x, w, NULL, &(cebus_conv_options){.dilation = {-1, 0}}, &out));
    FAILS(t, CEBUS_INVALID_ARGUMENT, "2^20",
          cebus_conv2d(rt, x, w, NULL, &(cebus_conv_options){.padding = {INT64_MAX, 0}}, &out));
    FAILS(t, CEBUS_SHAPE_MISMATCH, "less dilation",
          cebus_conv2d(rt, x, w, NULL, &(cebus_conv_options){.dilation = {3, 3}}, &out));
    FAILS(t, CEBUS_INVALID_ARGUMENT, "output_padding",
          cebus_conv2d(rt, x, w, NULL, &(cebus_conv_options){.output_padding = {1, 0}}, &out));
    EXPECT(t, out == NULL);
    cebus_tensor *const tensors[] = {x, w, flat, b, wide, ints, none};
    for (size_t i = 0; i < LENGTH(tensors); i++)
        cebus_tensor_release(tensors[i]);
}

static void errors_transpose(cebus_test *t)
{
    cebus_tensor *x = cebus_test_tensor(t, CEBUS_F32, 1, 1, 0, 4, (int64_t[]){2, 4, 5, 5});
    cebus_tensor *w = cebus_test_tensor(t, CEBUS_F32, 2, 1, 0, 4, (int64_t[]){4, 6, 3, 3});
    cebus_tensor *wrong = cebus_test_tensor(t, CEBUS_F32, 2, 1, 0, 4, (int64_t[]){6, 4, 3, 3});
    cebus_tensor *b = cebus_test_tensor(t, CEBUS_F32, 3, 1, 0, 1, (int64_t[]){4});
    cebus_tensor *out = x;
    cebus_runtime *rt = t->rt;
    const char *op = "conv_transpose2d";
    FAILS(t, CEBUS_INVALID_ARGUMENT, op, cebus_conv_transpose2d(rt, NULL, w, NULL, NULL, &out));
    EXPECT(t, out == NULL);
    FAILS(t, CEBUS_INVALID_ARGUMENT, op, cebus_conv_transpose2d(rt, x, w, NULL, NULL, NULL));
    FAILS(t, CEBUS_SHAPE_MISMATCH, "[6, 4, 3, 3]",
          cebus_conv_transpose2d(rt, x, wrong, NULL, NULL, &out));
    FAILS(t, CEBUS_SHAPE_MISMATCH, "3 groups",
          cebus_conv_transpose2d(rt, x, w, NULL, &(cebus_conv_options){.groups = 3}, &out));
    FAILS(t, CEBUS_SHAPE_MISMATCH, "bias has shape [4]: expected [6]",
          cebus_conv_transpose2d(rt, x, w, b, NULL, &out));
    FAILS(t, CEBUS_INVALID_ARGUMENT, "output_padding is 2",
          cebus_conv_transpose2d(rt, x, w, NULL,
                                 &(cebus_conv_options){.stride = {2, 2}, .output_padding = {2, 0}},
                                 &out));
    FAILS(t, CEBUS_INVALID_ARGUMENT, "output_padding is -1",
          cebus_conv_transpose2d(rt, x, w, NULL, &(cebus_conv_options){.output_padding = {-1, 0}},
                                 &out));
    FAILS(t, CEBUS_SHAPE_MISMATCH, "less padding",
          cebus_conv_transpose2d(rt, x, w, NULL, &(cebus_conv_options){.padding = {4, 4}}, &out));
    EXPECT(t, out == NULL);
    cebus_tensor *const tensors[] = {x, w, wrong, b};
    for (size_t i = 0; i < LENGTH(tensors); i++)
        cebus_tensor_release(tensors[i]);
}

const cebus_case cebus_cases_conv[] = {
    {"conv2d: f32, drawn geometries", conv2d_f32},
    {"conv2d: f32, many channels", conv2d_f32_wide},
    {"conv2d: f64, drawn geometries", conv2d_f64},
    {"conv_transpose2d: f32, drawn geometries", transpose_f32},
    {"conv_transpose2d: f32, many channels", transpose_f32_wide},
    {"conv_transpose2d: f64, drawn geometries", transpose_f64},
    {"conv2d: special shapes", special_shapes},
    {"conv2d: channel counts", channel_counts},
    {"conv2d: empty batch", empty_batch},
    {"conv2d: expanded gradient", expanded_gradient},
    {"conv: gradients", gradients},
    {"conv2d: determinism", determinism},
    {"conv2d: errors", errors_conv2d},
    {"conv_transpose2d: errors", errors_transpose},
    {NULL, NULL},
};
