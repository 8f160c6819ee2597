/**
 * conv_loops_typed.h: the convolution loops for one element type. conv_loops.c includes it with
 * REAL and NAME(x) defined. Sums run over the taps, then the channels, in the weight's order.
 */

CEBUS_CLONES static void NAME(add_scaled)(int64_t n, REAL scale, const REAL *restrict x,
                                          REAL *restrict sum)
{
    for (int64_t i = 0; i < n; i++)
        sum[i] += scale * x[i];
}

/** weight[g][o][i][tap] -> packed[g][tap][from][to]. */
static void NAME(weight_pack)(const conv_loops *l)
{
    const cebus_conv_shape *s = &l->job->shape;
    const cebus_view *view = l->job->weight.view;
    const REAL *weight = l->job->weight.data;
    REAL *packed = l->job->scratch;
    bool to_output = l->job->way == CEBUS_CONV_OUTPUT;
    for (int64_t g = 0; g < s->groups; g++)
        for (int64_t tap = 0; tap < l->taps; tap++)
            for (int64_t from = 0; from < l->from_channels; from++)
                for (int64_t to = 0; to < l->to_channels; to++) {
                    int64_t o = to_output ? to : from, i = to_output ? from : to;
                    int64_t o_all = g * (to_output ? l->to_channels : l->from_channels) + o;
                    *packed++ = weight[o_all * view->strides[0] + i * view->strides[1] +
                                       tap / s->kernel[1] * view->strides[2] +
                                       tap % s->kernel[1] * view->strides[3]];
                }
}

/** Adds to `sum` what one tap of group `g` contributes; `from` is the pixel it reads. */
static void NAME(tap_add)(const conv_loops *l, int64_t g, int64_t tap, const REAL *from, REAL *sum)
{
    int64_t step = l->from->view->strides[1];
    const REAL *weight =
        (const REAL *)l->job->scratch + (g * l->taps + tap) * l->from_channels * l->to_channels;
    for (int64_t i = 0; i < l->from_channels; i++)
        NAME(add_scaled)(l->to_channels, from[i * step], weight + i * l->to_channels, sum);
}

/** One pixel of one group of what is written. */
static void NAME(pixel)(const conv_loops *l, const int64_t *at, int64_t g, REAL *sum)
{
    const cebus_view *view = l->from->view;
    const REAL *from = (const REAL *)l->from->data + at[0] * view->strides[0] +
                       g * l->from_channels * view->strides[1];
    const cebus_array *bias = &l->job->bias;
    for (int64_t o = 0; o < l->to_channels; o++) {
        int64_t channel = g * l->to_channels + o;
        sum[o] = bias->view ? ((const REAL *)bias->data)[channel * bias->view->strides[0]] : 0;
    }
    for (int64_t tap = 0; tap < l->taps; tap++) {
        int64_t source[2];
        if (tap_source(l->job, at + 1, tap, source))
            NAME(tap_add)
            (l, g, tap, from + source[0] * view->strides[2] + source[1] * view->strides[3], sum);
    }
    view = l->to->view;
    REAL *to = (REAL *)l->to->data + at[0] * view->strides[0] + at[1] * view->strides[2] +
               at[2] * view->strides[3] + g * l->to_channels * view->strides[1];
    for (int64_t o = 0; o < l->to_channels; o++)
        to[o * view->strides[1]] = sum[o];
}

static void NAME(pixels)(const conv_loops *l, int64_t begin, int64_t end, void *sum)
{
    const int64_t *shape = l->to->view->shape;
    for (int64_t row = begin; row < end; row++)
        for (int64_t x = 0; x < shape[3]; x++) {
            int64_t at[3] = {row / shape[2], row % shape[2], x};
            for (int64_t g = 0; g < l->job->shape.groups; g++)
                NAME(pixel)(l, at, g, sum);
        }
}

/** What one pixel of output channel `o` adds to its weights, sum[tap][channel]. */
static void NAME(weight_add)(const conv_loops *l, int64_t o, const int64_t *at, REAL *sum)
{
    const cebus_view *out = l->job->output.view, *in = l->job->image.view;
    REAL slope =
        ((const REAL *)l->job->output.data)[at[0] * out->strides[0] + o * out->strides[1] +
                                            at[1] * out->strides[2] + at[2] * out->strides[3]];
    int64_t g = o / (out->shape[1] / l->job->shape.groups), channels = l->from_channels;
    const REAL *image =
        (const REAL *)l->job->image.data + at[0] * in->strides[0] + g * channels * in->strides[1];
    for (int64_t tap = 0; tap < l->taps; tap++) {
        int64_t source[2];
        if (!tap_source(l->job, at + 1, tap, source))
            continue;
        const REAL *pixel = image + source[0] * in->strides[2] + source[1] * in->strides[3];
        if (in->strides[1] == 1)
            NAME(add_scaled)(channels, slope, pixel, sum + tap * channels);
        else
            for (int64_t c = 0; c < channels; c++)
                sum[tap * channels + c] += slope * pixel[c * in->strides[1]];
    }
}

/** The weights of the output channels [begin, end). */
static void NAME(weights)(const conv_loops *l, int64_t begin, int64_t end, void *scratch)
{
    const cebus_conv_shape *s = &l->job->shape;
    REAL *sum = scratch;
    int64_t channels = l->from_channels, pixels = s->output[0] * s->output[1];
    for (int64_t o = begin; o < end; o++) {
        memset(sum, 0, (size_t)(l->taps * channels) * sizeof *sum);
        for (int64_t p = 0; p < s->batch * pixels; p++) {
            int64_t at[3] = {p / pixels, p % pixels / s->output[1], p % s->output[1]};
            NAME(weight_add)(l, o, at, sum);
        }
        REAL *weight = (REAL *)l->job->weight.data + o * channels * l->taps;
        for (int64_t tap = 0; tap < l->taps; tap++)
            for (int64_t c = 0; c < channels; c++)
                weight[c * l->taps + tap] = sum[tap * channels + c];
    }
}

#undef REAL
#undef NAME
