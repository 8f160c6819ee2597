#include "eager/device/cpu/widen.h"

#include <assert.h>

#include "eager/device/cpu/convert.h"
#include "eager/device/cpu/dense.h"

/** A launch with its narrow arrays in f32: inputs, then outputs. */
typedef struct widened {
    cebus_launch launch;
    cebus_array array[CEBUS_WIDEN_ARRAYS];
    cebus_view view[CEBUS_WIDEN_ARRAYS];
    bool converted[CEBUS_WIDEN_ARRAYS];
    uint64_t bytes; /**< of what was converted, at the beginning of the workspace */
} widened;

static bool is_narrow(const cebus_view *view)
{
    return view->dtype == CEBUS_F16 || view->dtype == CEBUS_BF16;
}

static bool has_narrow(const cebus_launch *launch)
{
    for (uint32_t i = 0; i < launch->n_in; i++) {
        if (is_narrow(launch->in[i].view))
            return true;
    }
    for (uint32_t j = 0; j < launch->n_out; j++) {
        if (is_narrow(launch->out[j].view))
            return true;
    }
    return false;
}

/** Dense in the memory order of `like`, so that kernels choose as they would for it; what is
 * repeated by stride 0 is kept once. Returns how many elements that takes. */
static int64_t lay_out(const cebus_view *like, cebus_view *out)
{
    int order[CEBUS_MAX_DIMS];
    for (int d = 0; d < like->ndim; d++) {
        int at = d;
        for (; at > 0 && like->strides[order[at - 1]] < like->strides[d]; at--)
            order[at] = order[at - 1];
        order[at] = d;
    }
    int64_t numel = 1;
    *out = (cebus_view){.dtype = CEBUS_F32, .ndim = like->ndim};
    for (int i = like->ndim - 1; i >= 0; i--) {
        int d = order[i];
        out->shape[d] = like->shape[d];
        if (like->strides[d] == 0 && like->shape[d] > 1)
            continue;
        out->strides[d] = numel;
        numel *= like->shape[d];
    }
    return numel;
}

/** Describes array `k`; its data, where it is converted, lies in the workspace. */
static void widen(widened *w, uint32_t k, const cebus_array *from, void *base)
{
    w->array[k] = *from;
    w->converted[k] = is_narrow(from->view);
    if (!w->converted[k])
        return;
    uint64_t bytes = (uint64_t)lay_out(from->view, &w->view[k]) * sizeof(float);
    w->array[k].view = &w->view[k];
    if (from->data != NULL)
        w->array[k].data = cebus_scratch_at(base, w->bytes);
    w->bytes += cebus_scratch_round(bytes);
}

static void widen_all(widened *w, const cebus_launch *launch)
{
    assert(launch->n_in + launch->n_out <= CEBUS_WIDEN_ARRAYS);
    w->launch = *launch;
    w->bytes = 0;
    for (uint32_t i = 0; i < launch->n_in; i++)
        widen(w, i, &launch->in[i], launch->workspace);
    for (uint32_t j = 0; j < launch->n_out; j++)
        widen(w, launch->n_in + j, &launch->out[j], launch->workspace);
    w->launch.in = w->array;
    w->launch.out = w->array + launch->n_in;
}

/** Elements that are repeated are converted once. */
static cebus_status convert(int threads, const cebus_array *to, const cebus_array *from)
{
    cebus_view source = *from->view, target = *to->view;
    for (int d = 0; d < source.ndim; d++) {
        if (source.strides[d] == 0 && source.shape[d] > 1)
            source.shape[d] = target.shape[d] = 1;
    }
    const cebus_array in = {from->data, &source}, out = {to->data, &target};
    const cebus_launch launch = {.in = &in, .out = &out, .n_in = 1, .n_out = 1, .threads = threads};
    return cebus_convert_run(&launch, 0);
}

uint64_t cebus_widen_workspace(const cebus_launch *launch,
                               uint64_t (*workspace)(const cebus_launch *launch))
{
    widened w;
    if (!has_narrow(launch))
        return workspace != NULL ? workspace(launch) : 0;
    widen_all(&w, launch);
    return w.bytes + (workspace != NULL ? workspace(&w.launch) : 0);
}

cebus_status cebus_widen_run(const cebus_launch *launch,
                             cebus_status (*run)(const cebus_launch *launch))
{
    widened w;
    cebus_status status = CEBUS_OK;
    if (!has_narrow(launch))
        return run(launch);
    widen_all(&w, launch);
    w.launch.workspace = cebus_scratch_at(launch->workspace, w.bytes);
    w.launch.workspace_bytes = launch->workspace_bytes - w.bytes;
    for (uint32_t i = 0; i < launch->n_in && status == CEBUS_OK; i++) {
        if (w.converted[i] && launch->in[i].data != NULL)
            status = convert(launch->threads, &w.array[i], &launch->in[i]);
    }
    if (status == CEBUS_OK)
        status = run(&w.launch);
    for (uint32_t j = 0; j < launch->n_out && status == CEBUS_OK; j++) {
        if (w.converted[launch->n_in + j] && launch->out[j].data != NULL)
            status = convert(launch->threads, &launch->out[j], &w.launch.out[j]);
    }
    return status;
}
