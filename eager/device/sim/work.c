#include "eager/device/sim/work.h"

#include <string.h>

#include "eager/device/sim/duration.h"
#include "eager/ops/attention.h"
#include "eager/ops/conv.h"
#include "eager/view.h"

/** Products of fewer channels than this gain nothing from Winograd's algorithm: the tiles it
 * multiplies have become too thin. DeepBench's 3-channel layer on a P100 runs at 4.3 of 9.3
 * TFLOP/s.
 */
#define WINOGRAD_CHANNELS 16

static uint64_t numel(const cebus_view *view)
{
    return (uint64_t)cebus_view_numel(view);
}

uint64_t cebus_work_bytes(const cebus_view *view)
{
    uint64_t bytes = cebus_dtype_size(view->dtype);
    for (int d = 0; d < view->ndim; d++) {
        if (view->strides[d] != 0 || view->shape[d] == 0)
            bytes = cebus_amount_mul(bytes, (uint64_t)view->shape[d]);
    }
    return bytes;
}

const cebus_work_entry *cebus_work_find(const char *op)
{
    static const cebus_work_entry unknown = {.family = CEBUS_WORK_ELEMENTWISE};
    for (const cebus_work_entry *entry = cebus_work_table; entry->op != NULL; entry++) {
        if (strcmp(entry->op, op) == 0)
            return entry;
    }
    return &unknown;
}

static void add_array(const cebus_array *array, cebus_work *work)
{
    uint64_t n = numel(array->view);
    work->bytes = cebus_amount_add(work->bytes, cebus_work_bytes(array->view));
    work->flops = n > work->flops ? n : work->flops;
}

cebus_work cebus_work_of(const cebus_work_entry *entry, const cebus_launch *launch)
{
    cebus_work work = {.family = entry->family};
    for (uint32_t i = 0; i < launch->n_in; i++)
        add_array(&launch->in[i], &work);
    for (uint32_t j = 0; j < launch->n_out; j++)
        add_array(&launch->out[j], &work);
    if (entry->refine != NULL)
        entry->refine(launch, &work);
    return work;
}

/* --- products ------------------------------------------------------------------------------ */

static bool is_winograd(const cebus_conv_attrs *attrs, const cebus_view *weight)
{
    for (int i = 0; i < 2; i++) {
        if (attrs->stride[i] != 1 || attrs->dilation[i] != 1 || weight->shape[2 + i] != 3)
            return false;
    }
    return attrs->groups == 1 && weight->dtype == CEBUS_F32 &&
           weight->shape[0] >= WINOGRAD_CHANNELS && weight->shape[1] >= WINOGRAD_CHANNELS;
}

/** A multiplication and an addition for each output, input channel of its group and tap. */
static void convolve(const cebus_launch *launch, const cebus_view *weight, const cebus_view *output,
                     cebus_work *work)
{
    uint64_t taps = (uint64_t)(weight->shape[1] * weight->shape[2] * weight->shape[3]);
    work->flops = cebus_amount_mul(cebus_amount_mul(2, taps), numel(output));
    work->winograd = is_winograd(launch->attrs, weight);
}

void cebus_work_conv(const cebus_launch *launch, cebus_work *work)
{
    convolve(launch, launch->in[1].view, launch->out[0].view, work);
}

void cebus_work_conv_transpose(const cebus_launch *launch, cebus_work *work)
{
    convolve(launch, launch->in[1].view, launch->in[0].view, work);
}

void cebus_work_conv_weight(const cebus_launch *launch, cebus_work *work)
{
    convolve(launch, launch->out[0].view, launch->in[1].view, work);
}

/** 2 x the result's elements x the length that is summed over, the last of `a`. */
static void multiply(const cebus_view *a, const cebus_view *out, cebus_work *work)
{
    uint64_t length = a->ndim > 0 ? (uint64_t)a->shape[a->ndim - 1] : 1;
    work->flops = cebus_amount_mul(cebus_amount_mul(2, length), numel(out));
}

void cebus_work_matmul(const cebus_launch *launch, cebus_work *work)
{
    multiply(launch->in[0].view, launch->out[0].view, work);
    if (launch->in[1].view->ndim > 2)
        work->family = CEBUS_WORK_BATCHED_MATMUL;
}

void cebus_work_linear(const cebus_launch *launch, cebus_work *work)
{
    multiply(launch->in[0].view, launch->out[0].view, work);
}

/**
 * Rows of scores x their length x (E for each product with q or k, E of v for each with v): two
 * products forward, five backward, which makes the scores again (Dao et al., "FlashAttention",
 * 2022). A causal mask leaves half of a square of scores.
 */
static void attend(const cebus_launch *launch, const cebus_view *lse, const unsigned *products,
                   cebus_work *work)
{
    const cebus_attention_attrs *attrs = launch->attrs;
    const cebus_view *q = launch->in[CEBUS_ATTENTION_Q].view;
    const cebus_view *k = launch->in[CEBUS_ATTENTION_K].view;
    const cebus_view *v = launch->in[CEBUS_ATTENTION_V].view;
    uint64_t length = (uint64_t)k->shape[k->ndim - 2];
    uint64_t depth = products[0] * (uint64_t)q->shape[q->ndim - 1] +
                     products[1] * (uint64_t)v->shape[v->ndim - 1];
    uint64_t scores = cebus_amount_mul(numel(lse), length);
    if (attrs->is_causal && q->shape[q->ndim - 2] == k->shape[k->ndim - 2])
        scores = (scores + numel(lse)) / 2;
    work->flops = cebus_amount_mul(scores, cebus_amount_mul(2, depth));
}

void cebus_work_attention(const cebus_launch *launch, cebus_work *work)
{
    attend(launch, launch->out[1].view, (const unsigned[]){1, 1}, work);
}

void cebus_work_attention_backward(const cebus_launch *launch, cebus_work *work)
{
    attend(launch, launch->in[CEBUS_ATTENTION_LSE].view, (const unsigned[]){3, 2}, work);
}

/* --- bytes --------------------------------------------------------------------------------- */

static void add_bytes(cebus_work *work, uint64_t bytes)
{
    work->bytes = cebus_amount_add(work->bytes, bytes);
}

void cebus_work_two_passes(const cebus_launch *launch, cebus_work *work)
{
    add_bytes(work, cebus_work_bytes(launch->in[0].view));
}

void cebus_work_two_passes_backward(const cebus_launch *launch, cebus_work *work)
{
    add_bytes(work, cebus_work_bytes(launch->in[0].view));
    add_bytes(work, cebus_work_bytes(launch->in[1].view));
}

void cebus_work_overwrite(const cebus_launch *launch, cebus_work *work)
{
    work->bytes -= cebus_work_bytes(launch->in[0].view);
}

void cebus_work_take(const cebus_launch *launch, cebus_work *work)
{
    work->bytes = cebus_work_bytes(launch->in[1].view);
    add_bytes(work, cebus_amount_mul(2, cebus_work_bytes(launch->out[0].view)));
}

/** The source is read, its places are read and written. */
static void put(const cebus_view *source, cebus_work *work)
{
    add_bytes(work, cebus_amount_mul(2, cebus_work_bytes(source)));
}

void cebus_work_put(const cebus_launch *launch, cebus_work *work)
{
    put(launch->in[0].view, work);
}

void cebus_work_scatter(const cebus_launch *launch, cebus_work *work)
{
    put(launch->in[2].view, work);
}
