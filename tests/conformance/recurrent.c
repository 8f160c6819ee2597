/*
 * LSTM and GRU against the formulas of the PyTorch documentation, element by element in double.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/arrays.h"
#include "tests/support/strided.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))
#define MAX_CELLS 4

static const cebus_dtype types[] = {CEBUS_F32, CEBUS_F64};

/* ---- reference --------------------------------------------------------------------------- */

/* One cell's weights: [G H, I], [G H, H], [G H], [G H]; biases may be NULL. */
typedef struct numbers {
    double *w_ih, *w_hh, *b_ih, *b_hh;
} numbers;

typedef struct sizes {
    int64_t inputs, hidden;
} sizes;

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

static double affine(const double *w, const double *b, int64_t row, const double *x, int64_t n)
{
    double sum = b ? b[row] : 0;
    for (int64_t i = 0; i < n; i++)
        sum += w[row * n + i] * x[i];
    return sum;
}

/* One row: h and c are replaced. */
static void lstm_row(const numbers *w, sizes s, const double *x, double *h, double *c)
{
    double gates[4][16];
    for (int g = 0; g < 4; g++)
        for (int64_t j = 0; j < s.hidden; j++)
            gates[g][j] = affine(w->w_ih, w->b_ih, g * s.hidden + j, x, s.inputs) +
                          affine(w->w_hh, w->b_hh, g * s.hidden + j, h, s.hidden);
    for (int64_t j = 0; j < s.hidden; j++) {
        c[j] = sigmoid(gates[1][j]) * c[j] + sigmoid(gates[0][j]) * tanh(gates[2][j]);
        h[j] = sigmoid(gates[3][j]) * tanh(c[j]);
    }
}

static void gru_row(const numbers *w, sizes s, const double *x, double *h)
{
    double next[16];
    for (int64_t j = 0; j < s.hidden; j++) {
        double part[3][2];
        for (int g = 0; g < 3; g++) {
            part[g][0] = affine(w->w_ih, w->b_ih, g * s.hidden + j, x, s.inputs);
            part[g][1] = affine(w->w_hh, w->b_hh, g * s.hidden + j, h, s.hidden);
        }
        double r = sigmoid(part[0][0] + part[0][1]), z = sigmoid(part[1][0] + part[1][1]);
        next[j] = (1 - z) * tanh(part[2][0] + r * part[2][1]) + z * h[j];
    }
    memcpy(h, next, (size_t)s.hidden * sizeof *h);
}

/* ---- material ---------------------------------------------------------------------------- */

/* A network of either kind with all its tensors. */
typedef struct network {
    bool lstm, bidirectional, batch_first, with_bias, with_state;
    int layers;
    int64_t steps, batch, inputs, hidden; /* batch 0: x has no batch dimension */
    cebus_dtype dtype;
    cebus_tensor *x;
    cebus_lstm_state state;
    cebus_recurrent_weights weights[MAX_CELLS];
} network;

/* Small and simple: what most cases start from. */
static network small_lstm(int layers)
{
    return (network){.lstm = true,
                     .layers = layers,
                     .steps = 3,
                     .batch = 2,
                     .inputs = 3,
                     .hidden = 4,
                     .dtype = CEBUS_F32};
}

static int directions(const network *n)
{
    return n->bidirectional ? 2 : 1;
}

static int cells(const network *n)
{
    return n->layers * directions(n);
}

static int64_t rows(const network *n)
{
    return n->batch > 0 ? n->batch : 1;
}

static void make_weights(cebus_test *t, network *n, int cell)
{
    const int64_t width = cell < directions(n) ? n->inputs : directions(n) * n->hidden;
    const int64_t gates = (n->lstm ? 4 : 3) * n->hidden;
    const uint64_t seed = 100 * (uint64_t)cell;
    n->weights[cell] = (cebus_recurrent_weights){
        .w_ih = cebus_test_tensor(t, n->dtype, seed + 1, 1, 0, 2, (int64_t[]){gates, width}),
        .w_hh = cebus_test_tensor(t, n->dtype, seed + 2, 1, 0, 2, (int64_t[]){gates, n->hidden}),
    };
    if (!n->with_bias)
        return;
    n->weights[cell].b_ih = cebus_test_tensor(t, n->dtype, seed + 3, 1, 0, 1, &gates);
    n->weights[cell].b_hh = cebus_test_tensor(t, n->dtype, seed + 4, 1, 0, 1, &gates);
}

static void make(cebus_test *t, network *n, cebus_test_layout layout)
{
    int64_t x[] = {n->steps, n->batch, n->inputs}, state[] = {cells(n), n->batch, n->hidden};
    int ndim = 3;
    if (n->batch == 0) {
        ndim = 2;
        x[1] = x[2];
        state[1] = state[2];
    } else if (n->batch_first) {
        x[0] = n->batch;
        x[1] = n->steps;
    }
    n->x = cebus_test_strided_noise(t, layout, n->dtype, 7, ndim, x);
    if (n->with_state)
        n->state.h = cebus_test_strided_noise(t, layout, n->dtype, 8, ndim, state);
    if (n->with_state && n->lstm)
        n->state.c = cebus_test_strided_noise(t, layout, n->dtype, 9, ndim, state);
    for (int i = 0; i < cells(n); i++)
        make_weights(t, n, i);
}

/* Calls `visit` for every tensor of the network that is there. */
static void for_each(network *n, void (*visit)(cebus_tensor *))
{
    cebus_tensor *own[] = {n->x, n->state.h, n->state.c};
    for (size_t i = 0; i < LENGTH(own); i++)
        if (own[i])
            visit(own[i]);
    for (int c = 0; c < cells(n); c++) {
        const cebus_recurrent_weights *w = &n->weights[c];
        cebus_tensor *all[] = {w->w_ih, w->w_hh, w->b_ih, w->b_hh};
        for (size_t i = 0; i < LENGTH(all); i++)
            if (all[i])
                visit(all[i]);
    }
}

static cebus_status run(cebus_runtime *rt, const network *n, cebus_recurrent_result *out)
{
    cebus_recurrent_options options = {
        .num_layers = n->layers, .bidirectional = n->bidirectional, .batch_first = n->batch_first};
    if (n->lstm)
        return cebus_lstm(rt, n->x, n->with_state ? &n->state : NULL, n->weights, &options, out);
    return cebus_gru(rt, n->x, n->state.h, n->weights, &options, out);
}

/* ---- values ------------------------------------------------------------------------------ */

static double *read_or_null(cebus_test *t, cebus_tensor *x)
{
    return x ? cebus_test_doubles(t, x) : NULL;
}

/* [.., a, b, ..] to [.., b, a, ..]; replaces *values. */
static void swap_leading(double **values, int64_t a, int64_t b, int64_t rest)
{
    double *turned = malloc((size_t)(a * b * rest) * sizeof *turned);
    for (int64_t i = 0; turned && i < a * b; i++)
        memcpy(turned + (i % b * a + i / b) * rest, *values + i * rest, (size_t)rest * 8);
    free(*values);
    *values = turned;
}

/* x [T, B, I] through one cell; h and c [B, H] are replaced, y gets its columns of [T, B, D H]. */
static void run_cell(const network *n, int cell, const numbers *w, sizes s, const double *x,
                     double *h, double *c, double *y)
{
    const int64_t width = directions(n) * n->hidden, column = cell % directions(n) * n->hidden;
    for (int64_t i = 0; i < n->steps; i++) {
        int64_t step = cell % directions(n) ? n->steps - 1 - i : i;
        for (int64_t r = 0; r < rows(n); r++) {
            const double *row = x + (step * rows(n) + r) * s.inputs;
            if (n->lstm)
                lstm_row(w, s, row, h + r * n->hidden, c + r * n->hidden);
            else
                gru_row(w, s, row, h + r * n->hidden);
            memcpy(y + (step * rows(n) + r) * width + column, h + r * n->hidden,
                   (size_t)n->hidden * sizeof *y);
        }
    }
}

/* All layers; h and c [cells, B, H] are replaced. The result is [T, B, D H]; the caller frees. */
static double *run_reference(cebus_test *t, const network *n, double *h, double *c)
{
    const int64_t state = rows(n) * n->hidden, width = directions(n) * n->hidden;
    double *x = cebus_test_doubles(t, n->x);
    if (n->batch_first && n->batch > 0)
        swap_leading(&x, n->batch, n->steps, n->inputs);
    for (int layer = 0; layer < n->layers; layer++) {
        double *y = calloc((size_t)(n->steps * rows(n) * width), sizeof *y);
        for (int d = 0; d < directions(n); d++) {
            int cell = layer * directions(n) + d;
            const cebus_recurrent_weights *from = &n->weights[cell];
            numbers w = {read_or_null(t, from->w_ih), read_or_null(t, from->w_hh),
                         read_or_null(t, from->b_ih), read_or_null(t, from->b_hh)};
            sizes s = {layer ? width : n->inputs, n->hidden};
            run_cell(n, cell, &w, s, x, h + cell * state, c + cell * state, y);
            free(w.w_ih);
            free(w.w_hh);
            free(w.b_ih);
            free(w.b_hh);
        }
        free(x);
        x = y;
    }
    if (n->batch_first && n->batch > 0)
        swap_leading(&x, n->steps, n->batch, width);
    return x;
}

static void expect(cebus_test *t, const network *n, const char *what, cebus_tensor *got,
                   const double *want, int64_t count)
{
    const double tolerance = n->dtype == CEBUS_F64 ? 1e-12 : 1e-5;
    EXPECT(t, cebus_tensor_numel(got) == count);
    EXPECT(t, cebus_tensor_ndim(got) == (n->batch > 0 ? 3 : 2));
    double *values = cebus_test_doubles(t, got);
    if (values && cebus_tensor_numel(got) == count)
        cebus_test_near(t, what, values, want, count, tolerance, tolerance / 10);
    free(values);
}

/* `given`, or zeros, in an array of its own. */
static double *start_of(cebus_test *t, cebus_tensor *given, int64_t count)
{
    return given ? cebus_test_doubles(t, given) : calloc((size_t)count + 1, sizeof(double));
}

static void expect_reference(cebus_test *t, const network *n, const cebus_recurrent_result *got)
{
    const int64_t state = cells(n) * rows(n) * n->hidden;
    double *h = start_of(t, n->state.h, state), *c = start_of(t, n->state.c, state);
    double *y = run_reference(t, n, h, c);
    expect(t, n, "out", got->out, y, n->steps * rows(n) * directions(n) * n->hidden);
    expect(t, n, "h", got->h, h, state);
    EXPECT(t, n->lstm == (got->c != NULL));
    if (got->c)
        expect(t, n, "c", got->c, c, state);
    free(h);
    free(c);
    free(y);
}

static void check_values(cebus_test *t, network *n, cebus_test_layout layout)
{
    cebus_recurrent_result out;
    make(t, n, layout);
    OK(t, run(t->rt, n, &out));
    expect_reference(t, n, &out);
    cebus_tensor_release(out.out);
    cebus_tensor_release(out.h);
    cebus_tensor_release(out.c);
    for_each(n, cebus_tensor_release);
}

static void layer_values(cebus_test *t)
{
    for (size_t d = 0; d < LENGTH(types); d++)
        for (int flags = 0; flags < 64; flags++) {
            network n = {.lstm = flags & 1,
                         .bidirectional = flags & 2,
                         .batch_first = flags & 4,
                         .with_bias = flags & 8,
                         .with_state = flags & 16,
                         .layers = flags & 32 ? 2 : 1,
                         .steps = 4,
                         .batch = flags % 5,
                         .inputs = 3,
                         .hidden = 5,
                         .dtype = types[d]};
            check_values(t, &n, (cebus_test_layout)(flags % 3));
        }
}

/* Long rows and one step. */
static void wide_values(cebus_test *t)
{
    for (int lstm = 0; lstm < 2; lstm++) {
        network n = small_lstm(1);
        n.lstm = lstm;
        n.with_bias = n.with_state = true;
        n.steps = 1;
        n.batch = 700;
        n.hidden = 16;
        check_values(t, &n, CEBUS_TEST_PLAIN);
    }
}

/* A cell is a layer of one step; it takes any leading dimensions. */
static void cell_values(cebus_test *t)
{
    for (int lstm = 0; lstm < 2; lstm++) {
        network n = small_lstm(1);
        n.lstm = lstm;
        n.with_bias = n.with_state = true;
        n.steps = 1;
        n.batch = 6;
        n.hidden = 5;
        n.dtype = CEBUS_F64;
        const int64_t x_shape[] = {2, 3, 3}, state_shape[] = {2, 3, 5};
        cebus_recurrent_result layer;
        cebus_lstm_state state = {NULL, NULL}, next = {NULL, NULL};
        cebus_tensor *x;
        make(t, &n, CEBUS_TEST_PLAIN);
        OK(t, run(t->rt, &n, &layer));
        OK(t, cebus_reshape(t->rt, n.x, 3, x_shape, &x));
        OK(t, cebus_reshape(t->rt, n.state.h, 3, state_shape, &state.h));
        if (lstm) {
            OK(t, cebus_reshape(t->rt, n.state.c, 3, state_shape, &state.c));
            OK(t, cebus_lstm_cell(t->rt, x, &state, n.weights, &next));
        } else {
            OK(t, cebus_gru_cell(t->rt, x, state.h, n.weights, &next.h));
        }
        EXPECT(t, cebus_tensor_ndim(next.h) == 3);
        double *want = cebus_test_doubles(t, layer.h), *got = cebus_test_doubles(t, next.h);
        cebus_test_near(t, "cell", got, want, 30, 0, 0);
        free(want);
        free(got);
        cebus_tensor *all[] = {x, state.h, state.c, next.h, next.c, layer.out, layer.h, layer.c};
        for (size_t i = 0; i < LENGTH(all); i++)
            cebus_tensor_release(all[i]);
        for_each(&n, cebus_tensor_release);
    }
}

/* ---- gradients --------------------------------------------------------------------------- */

/* in: x, h, c, w_ih, w_hh, b_ih, b_hh; the result joins whatever the call answers. */
static cebus_status run_network(cebus_runtime *rt, cebus_tensor *const *in, void *context,
                                cebus_tensor **out)
{
    network n = *(const network *)context;
    cebus_recurrent_result result;
    cebus_tensor *flat[3] = {NULL};
    n.x = in[0];
    n.state = (cebus_lstm_state){in[1], in[2]};
    n.with_state = in[1] != NULL;
    n.weights[0] = (cebus_recurrent_weights){in[3], in[4], in[5], in[6]};
    cebus_status status = run(rt, &n, &result);
    if (status != CEBUS_OK)
        return status;
    cebus_tensor *parts[] = {result.out, result.h, result.c};
    size_t count = n.lstm ? 3 : 2;
    for (size_t i = 0; i < count && status == CEBUS_OK; i++)
        status = cebus_reshape(rt, parts[i], 1, (int64_t[]){-1}, &flat[i]);
    if (status == CEBUS_OK)
        status = cebus_cat(rt, flat, count, 0, out);
    for (size_t i = 0; i < 3; i++) {
        cebus_tensor_release(parts[i]);
        cebus_tensor_release(flat[i]);
    }
    return status;
}

static void require_grad(cebus_tensor *x)
{
    (void)!cebus_tensor_set_requires_grad(x, true);
}

static void gradients(cebus_test *t)
{
    for (int flags = 0; flags < 8; flags++) {
        network n = small_lstm(1);
        n.lstm = flags & 1;
        n.with_state = flags & 2;
        n.with_bias = n.batch_first = flags & 4;
        n.dtype = CEBUS_F64;
        make(t, &n, CEBUS_TEST_PLAIN);
        for_each(&n, require_grad);
        const cebus_recurrent_weights *w = &n.weights[0];
        cebus_tensor *in[] = {n.x, n.state.h, n.state.c, w->w_ih, w->w_hh, w->b_ih, w->b_hh};
        cebus_test_gradient(t, n.lstm ? "lstm" : "gru", run_network, &n, in, 7);
        for_each(&n, cebus_tensor_release);
    }
}

/* in: x, then the weights of four cells without biases. */
static cebus_status run_deep(cebus_runtime *rt, cebus_tensor *const *in, void *context,
                             cebus_tensor **out)
{
    network n = *(const network *)context;
    cebus_recurrent_result result;
    n.x = in[0];
    for (int i = 0; i < cells(&n); i++)
        n.weights[i] = (cebus_recurrent_weights){in[1 + 2 * i], in[2 + 2 * i], NULL, NULL};
    cebus_status status = run(rt, &n, &result);
    if (status != CEBUS_OK)
        return status;
    cebus_tensor_release(result.h);
    cebus_tensor_release(result.c);
    *out = result.out;
    return CEBUS_OK;
}

/* Two layers in two directions: what flows between layers, and steps taken backward. */
static void deep_gradients(cebus_test *t)
{
    for (int lstm = 0; lstm < 2; lstm++) {
        network n = small_lstm(2);
        n.lstm = lstm;
        n.bidirectional = true;
        n.dtype = CEBUS_F64;
        cebus_tensor *in[2 * MAX_CELLS + 1];
        make(t, &n, CEBUS_TEST_PLAIN);
        for_each(&n, require_grad);
        in[0] = n.x;
        for (int i = 0; i < cells(&n); i++) {
            in[1 + 2 * i] = n.weights[i].w_ih;
            in[2 + 2 * i] = n.weights[i].w_hh;
        }
        cebus_test_gradient(t, "two layers in two directions", run_deep, &n, in, LENGTH(in));
        for_each(&n, cebus_tensor_release);
    }
}

/* ---- dropout, determinism, errors -------------------------------------------------------- */

/* True when some element differs. */
static bool differ(cebus_test *t, cebus_tensor *a, cebus_tensor *b)
{
    double *x = cebus_test_doubles(t, a), *y = cebus_test_doubles(t, b);
    bool different = false;
    for (int64_t i = 0; x && y && i < cebus_tensor_numel(a); i++)
        different = different || x[i] != y[i];
    free(x);
    free(y);
    return different;
}

static void dropout(cebus_test *t)
{
    network n = small_lstm(2);
    cebus_recurrent_options options = {.num_layers = 2, .dropout = 0.5};
    cebus_tensor *outs[3];
    make(t, &n, CEBUS_TEST_PLAIN);
    for (int i = 0; i < 3; i++) { /* not training; training twice */
        cebus_recurrent_result result;
        options.training = i > 0;
        OK(t, cebus_lstm(t->rt, n.x, NULL, n.weights, &options, &result));
        outs[i] = result.out;
        cebus_tensor_release(result.h);
        cebus_tensor_release(result.c);
    }
    EXPECT(t, differ(t, outs[0], outs[1]));
    EXPECT(t, differ(t, outs[1], outs[2]));
    for (int i = 0; i < 3; i++)
        cebus_tensor_release(outs[i]);
    for_each(&n, cebus_tensor_release);
}

static void check_bits(cebus_test *t, bool lstm)
{
    network n = small_lstm(1);
    cebus_tensor *outs[2];
    n.lstm = lstm;
    n.bidirectional = true;
    n.batch = 40;
    n.hidden = 50;
    make(t, &n, CEBUS_TEST_PLAIN);
    for (int i = 0; i < 2; i++) {
        cebus_recurrent_result out;
        OK(t, run(t->rt, &n, &out));
        outs[i] = out.out;
        cebus_tensor_release(out.h);
        cebus_tensor_release(out.c);
    }
    cebus_test_same_bits(t, "twice", outs[0], outs[1]);
    cebus_tensor_release(outs[0]);
    cebus_tensor_release(outs[1]);
    for_each(&n, cebus_tensor_release);
}

static void determinism(cebus_test *t)
{
    check_bits(t, false);
    check_bits(t, true);
}

static void check_threads(cebus_test *t)
{
    wide_values(t);
    determinism(t);
}

static void threads(cebus_test *t)
{
    for (int n = 2; n < 5; n++)
        cebus_test_with_threads(t, n, check_threads);
}

static void layer_errors(cebus_test *t)
{
    network n = small_lstm(2);
    cebus_recurrent_result out;
    cebus_recurrent_options deep = {.num_layers = -1}, leaky = {.dropout = 2},
                            two = {.num_layers = 2};
    make(t, &n, CEBUS_TEST_PLAIN);
    cebus_tensor *flat = cebus_test_tensor(t, CEBUS_F32, 1, 1, 0, 1, (int64_t[]){3});
    cebus_tensor *empty = cebus_test_tensor(t, CEBUS_F32, 1, 1, 0, 3, (int64_t[]){0, 2, 3});
    cebus_tensor *wide = cebus_test_tensor(t, CEBUS_F32, 1, 1, 0, 3, (int64_t[]){3, 2, 5});
    cebus_tensor *twice = cebus_test_tensor(t, CEBUS_F64, 1, 1, 0, 3, (int64_t[]){3, 2, 3});
    cebus_recurrent_weights mixed[2] = {n.weights[0], n.weights[0]},
                            missing = {NULL, NULL, NULL, NULL};
    FAILS(t, CEBUS_INVALID_ARGUMENT, "num_layers is -1",
          cebus_lstm(t->rt, n.x, NULL, n.weights, &deep, &out));
    FAILS(t, CEBUS_INVALID_ARGUMENT, "dropout is 2",
          cebus_lstm(t->rt, n.x, NULL, n.weights, &leaky, &out));
    FAILS(t, CEBUS_SHAPE_MISMATCH, "x is [3], expected [steps",
          cebus_lstm(t->rt, flat, NULL, n.weights, NULL, &out));
    FAILS(t, CEBUS_SHAPE_MISMATCH, "x [0, 2, 3] has 0 steps",
          cebus_lstm(t->rt, empty, NULL, n.weights, NULL, &out));
    FAILS(t, CEBUS_SHAPE_MISMATCH, "layer 0: w_ih is [16, 3], expected [16, 5]",
          cebus_lstm(t->rt, wide, NULL, n.weights, NULL, &out));
    FAILS(t, CEBUS_SHAPE_MISMATCH, "layer 1: w_ih is [16, 3], expected [16, 4]",
          cebus_lstm(t->rt, n.x, NULL, mixed, &two, &out));
    FAILS(t, CEBUS_SHAPE_MISMATCH, "layer 0: w_hh is [16, 4], expected [12, 4]",
          cebus_gru(t->rt, n.x, NULL, n.weights, NULL, &out));
    FAILS(t, CEBUS_DTYPE_MISMATCH, "w_hh is f32, x is f64: cebus_cast() one of them",
          cebus_lstm(t->rt, twice, NULL, n.weights, NULL, &out));
    FAILS(t, CEBUS_SHAPE_MISMATCH, "the state is [3, 2, 5], expected [1, 2, 4]",
          cebus_lstm(t->rt, n.x, &(cebus_lstm_state){wide, wide}, n.weights, NULL, &out));
    FAILS(t, CEBUS_INVALID_ARGUMENT, "layer 0: w_ih is NULL",
          cebus_lstm(t->rt, n.x, NULL, &missing, NULL, &out));
    FAILS(t, CEBUS_INVALID_ARGUMENT, "x is NULL",
          cebus_gru(t->rt, NULL, NULL, n.weights, NULL, &out));
    FAILS(t, CEBUS_INVALID_ARGUMENT, "weights is NULL",
          cebus_gru(t->rt, n.x, NULL, NULL, NULL, &out));
    FAILS(t, CEBUS_INVALID_ARGUMENT, "out is NULL",
          cebus_lstm(t->rt, n.x, NULL, n.weights, NULL, NULL));
    EXPECT(t, out.out == NULL && out.h == NULL && out.c == NULL);
    cebus_tensor_release(flat);
    cebus_tensor_release(empty);
    cebus_tensor_release(wide);
    cebus_tensor_release(twice);
    for_each(&n, cebus_tensor_release);
}

static void cell_errors(cebus_test *t)
{
    network n = small_lstm(1);
    cebus_lstm_state next;
    cebus_tensor *h;
    make(t, &n, CEBUS_TEST_PLAIN);
    cebus_lstm_state bad = {.h = n.x};
    cebus_tensor *scalar = cebus_test_tensor(t, CEBUS_F32, 1, 1, 0, 0, NULL);
    FAILS(t, CEBUS_SHAPE_MISMATCH, "the state is [3, 2, 3], expected [3, 2, 4]",
          cebus_lstm_cell(t->rt, n.x, &bad, n.weights, &next));
    EXPECT(t, strcmp(cebus_last_error()->op, "lstm_cell") == 0);
    FAILS(t, CEBUS_SHAPE_MISMATCH, "x has no dimensions",
          cebus_lstm_cell(t->rt, scalar, NULL, n.weights, &next));
    FAILS(t, CEBUS_SHAPE_MISMATCH, "w_hh is [16, 4], expected [12, 4]",
          cebus_gru_cell(t->rt, n.x, NULL, n.weights, &h));
    FAILS(t, CEBUS_INVALID_ARGUMENT, "x is NULL", cebus_gru_cell(t->rt, NULL, NULL, n.weights, &h));
    FAILS(t, CEBUS_INVALID_ARGUMENT, "weights is NULL",
          cebus_lstm_cell(t->rt, n.x, NULL, NULL, &next));
    FAILS(t, CEBUS_INVALID_ARGUMENT, "out is NULL",
          cebus_gru_cell(t->rt, n.x, NULL, n.weights, NULL));
    EXPECT(t, next.h == NULL && next.c == NULL && h == NULL);
    cebus_tensor_release(scalar);
    for_each(&n, cebus_tensor_release);
}

const cebus_case cebus_cases_recurrent[] = {
    {"recurrent/layer_values", layer_values},
    {"recurrent/wide_values", wide_values},
    {"recurrent/cell_values", cell_values},
    {"recurrent/gradients", gradients},
    {"recurrent/deep_gradients", deep_gradients},
    {"recurrent/dropout", dropout, CEBUS_READS_VALUES},
    {"recurrent/determinism", determinism},
    {"recurrent/threads", threads},
    {"recurrent/layer_errors", layer_errors},
    {"recurrent/cell_errors", cell_errors},
    {NULL, NULL},
};
