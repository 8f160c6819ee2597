#include "eager/device/cpu/operand.h"

#include <limits.h>

#include "eager/device/cpu/copy.h"
#include "eager/view.h"
#include "layout/number.h"

void *cebus_scratch_take(cebus_scratch *scratch, uint64_t bytes)
{
    void *piece = scratch->base ? scratch->base + scratch->bytes : NULL;
    scratch->bytes += (bytes + 63) / 64 * 64;
    return piece;
}

/* Strides beyond an int would keep OpenBLAS out. */
bool cebus_operand_by_rows(const cebus_operand *o)
{
    return (o->col_stride == 1 || o->cols == 1) &&
           ((o->row_stride >= o->cols && o->row_stride <= INT_MAX) || o->rows == 1);
}

cebus_operand cebus_operand_transpose(const cebus_operand *o)
{
    cebus_operand other = *o;
    other.rows = o->cols;
    other.cols = o->rows;
    other.row_stride = o->col_stride;
    other.col_stride = o->row_stride;
    return other;
}

cebus_operand cebus_operand_describe(const cebus_array *array, int batch_ndim)
{
    const cebus_view *view = array->view;
    int n = view->ndim;
    cebus_operand o = {.data = array->data,
                       .rows = view->shape[n > 1 ? n - 2 : 0],
                       .row_stride = view->strides[n > 1 ? n - 2 : 0],
                       .cols = n > 1 ? view->shape[n - 1] : 1,
                       .col_stride = n > 1 ? view->strides[n - 1] : 1};
    for (int from = n - 3, to = batch_ndim - 1; from >= 0; from--, to--)
        o.batch_stride[to] = view->shape[from] == 1 ? 0 : view->strides[from];
    return o;
}

cebus_operand cebus_operand_init(const cebus_array *array, int batch_ndim, cebus_scratch *scratch)
{
    const cebus_view *view = array->view;
    cebus_operand as_is = cebus_operand_describe(array, batch_ndim);
    cebus_operand turned = cebus_operand_transpose(&as_is);
    if (cebus_operand_by_rows(&as_is) || cebus_operand_by_rows(&turned))
        return as_is;
    cebus_view dense;
    cebus_view_contiguous(&dense, view->dtype, view->ndim, view->shape);
    uint64_t bytes = (uint64_t)cebus_view_numel(view) * cebus_dtype_size(view->dtype);
    cebus_array target = {.data = cebus_scratch_take(scratch, bytes), .view = &dense};
    cebus_operand copy = cebus_operand_describe(&target, batch_ndim);
    copy.copied = true;
    return copy;
}

void cebus_operand_copy(const cebus_operand *operand, const cebus_array *array, int threads)
{
    if (!operand->copied)
        return;
    cebus_view dense;
    cebus_view_contiguous(&dense, array->view->dtype, array->view->ndim, array->view->shape);
    cebus_array to = {.data = (void *)operand->data, .view = &dense};
    cebus_copy_array(threads, &to, array);
}

void cebus_operand_place(const cebus_operand *operand, bool *out_trans, int64_t *out_ld)
{
    *out_trans = !cebus_operand_by_rows(operand);
    cebus_operand o = *out_trans ? cebus_operand_transpose(operand) : *operand;
    *out_ld = cebus_max_i64(1, o.rows == 1 ? o.cols : o.row_stride);
}
