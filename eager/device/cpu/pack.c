#include "eager/device/cpu/pack.h"

#include "eager/device/cpu/copy.h"
#include "eager/view.h"

static bool lies_in(const cebus_view *view, cebus_pack_order order)
{
    switch (order) {
    case CEBUS_PACK_ROWS:
        return cebus_view_is_contiguous(view);
    case CEBUS_PACK_CHANNELS_LAST:
        return cebus_view_is_channels_last(view);
    default:
        return true;
    }
}

void cebus_pack_init(cebus_pack *pack, const cebus_launch *launch, int n,
                     const cebus_pack_order *order)
{
    *pack = (cebus_pack){.n = n};
    for (int i = 0; i < n; i++) {
        const cebus_view *view = launch->in[i].view;
        pack->order[i] = order[i];
        pack->copied[i] = view->ndim > 0 && cebus_view_numel(view) > 0 && !lies_in(view, order[i]);
        pack->offset[i] = pack->bytes;
        if (pack->copied[i])
            pack->bytes +=
                cebus_pack_align((uint64_t)cebus_view_numel(view) * cebus_dtype_size(view->dtype));
    }
}

void cebus_pack_run(const cebus_pack *pack, const cebus_launch *launch, void **data)
{
    for (int i = 0; i < pack->n; i++) {
        const cebus_array *from = &launch->in[i];
        data[i] = from->data;
        if (!pack->copied[i])
            continue;
        data[i] = (char *)launch->workspace + pack->offset[i];
        cebus_view dense;
        if (pack->order[i] == CEBUS_PACK_ROWS)
            cebus_view_contiguous(&dense, from->view->dtype, from->view->ndim, from->view->shape);
        else
            cebus_view_channels_last(&dense, from->view->dtype, from->view->shape);
        cebus_copy_array(launch->threads, &(cebus_array){data[i], &dense}, from);
    }
}
