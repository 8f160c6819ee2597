#include "eager/device/cpu/dense.h"

#include "eager/device/cpu/copy.h"
#include "eager/view.h"

uint64_t cebus_dense_bytes(const cebus_view *view, const cebus_view *layout)
{
    if (cebus_view_same_layout(view, layout))
        return 0;
    return cebus_scratch_round((uint64_t)cebus_view_numel(view) * cebus_dtype_size(view->dtype));
}

const void *cebus_dense_read(int threads, const cebus_array *x, const cebus_view *layout,
                             char **scratch)
{
    uint64_t bytes = cebus_dense_bytes(x->view, layout);
    if (bytes == 0)
        return x->data;
    cebus_view view = *layout;
    view.dtype = x->view->dtype;
    cebus_array copy = {*scratch, &view};
    cebus_copy_array(threads, &copy, x);
    *scratch += bytes;
    return copy.data;
}

uint64_t cebus_row_major_bytes(const cebus_view *view)
{
    cebus_view layout;
    cebus_view_contiguous(&layout, view->dtype, view->ndim, view->shape);
    return cebus_dense_bytes(view, &layout);
}

const void *cebus_row_major_read(int threads, const cebus_array *x, char **scratch)
{
    cebus_view layout;
    cebus_view_contiguous(&layout, x->view->dtype, x->view->ndim, x->view->shape);
    return cebus_dense_read(threads, x, &layout, scratch);
}
