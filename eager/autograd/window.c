#include "eager/autograd/window.h"

#include <cebus/ops.h>

#include "eager/view.h"
#include "eager/views.h"

static bool is_in(uint32_t dims, int d)
{
    return dims >> d & 1;
}

/** The dimensions without which no place is shown twice, with the fewest indices between them. */
static uint32_t choose_dims(const cebus_view *region)
{
    uint32_t best = 0;
    int64_t least = INT64_MAX;
    for (uint32_t dims = 0; dims < UINT32_C(1) << region->ndim; dims++) {
        cebus_view rest = *region;
        int64_t count = 1;
        for (int d = 0; d < region->ndim; d++) {
            count *= is_in(dims, d) ? region->shape[d] : 1;
            rest.shape[d] = is_in(dims, d) ? 1 : region->shape[d];
        }
        if (count < least && !cebus_view_may_repeat(&rest)) {
            least = count;
            best = dims;
        }
    }
    return best;
}

/** One index of each of the dimensions. */
static cebus_view take(const cebus_view *view, uint32_t dims, const int64_t *index)
{
    cebus_view part = *view;
    for (int d = 0; d < view->ndim; d++) {
        if (is_in(dims, d)) {
            part.offset += index[d] * view->strides[d];
            part.shape[d] = 1;
        }
    }
    return part;
}

static cebus_status add_part(cebus_runtime *rt, cebus_tensor *whole, const cebus_view *where,
                             cebus_tensor *grad, const cebus_view *part)
{
    cebus_tensor *to = NULL, *from = NULL;
    cebus_status status = cebus_views_alias(rt, whole, where, &to);
    if (status == CEBUS_OK)
        status = cebus_views_alias(rt, grad, part, &from);
    if (status == CEBUS_OK)
        status = cebus_add_(rt, to, from, 1);
    cebus_tensor_release(to);
    cebus_tensor_release(from);
    return status;
}

/** The next index of those dimensions; false after the last. */
static bool advance(const cebus_view *view, uint32_t dims, int64_t *index)
{
    for (int d = view->ndim - 1; d >= 0; d--) {
        if (!is_in(dims, d))
            continue;
        if (++index[d] < view->shape[d])
            return true;
        index[d] = 0;
    }
    return false;
}

cebus_status cebus_window_add(cebus_runtime *rt, cebus_tensor *whole, const cebus_view *region,
                              cebus_tensor *grad)
{
    int64_t index[CEBUS_MAX_DIMS] = {0};
    cebus_status status = CEBUS_OK;
    if (cebus_view_numel(region) == 0)
        return CEBUS_OK;
    const uint32_t dims = choose_dims(region);
    do {
        const cebus_view where = take(region, dims, index);
        const cebus_view part = take(&grad->view, dims, index);
        status = add_part(rt, whole, &where, grad, &part);
    } while (status == CEBUS_OK && advance(region, dims, index));
    return status;
}
