#include "eager/device/cpu/lines.h"

#include "eager/view.h"
#include "layout/number.h"

cebus_lines cebus_lines_of(const cebus_view *dense, int dim)
{
    int64_t numel = cebus_view_numel(dense);
    cebus_lines lines = {.outer = numel, .n = 1, .inner = 1};
    if (numel == 0)
        return (cebus_lines){0};
    if (dense->ndim > 0 && dense->shape[dim] != 1) {
        lines.n = dense->shape[dim];
        lines.inner = dense->strides[dim];
        lines.outer = numel / (lines.n * lines.inner);
    }
    lines.tiles = lines.outer * cebus_ceil_div(lines.inner, CEBUS_FOLD_WIDTH);
    return lines;
}

cebus_tile cebus_lines_tile(const cebus_lines *lines, int64_t index)
{
    int64_t across = lines->tiles / lines->outer;
    int64_t o = index / across, i = index % across * CEBUS_FOLD_WIDTH;
    int64_t left = lines->inner - i;
    return (cebus_tile){
        .offset = o * lines->n * lines->inner + i,
        .line = o * lines->inner + i,
        .width = left < CEBUS_FOLD_WIDTH ? left : CEBUS_FOLD_WIDTH,
    };
}

void cebus_lines_fold(const cebus_lines *lines, const cebus_tile *tile, const cebus_fold *fold,
                      const void *x, const void *centers, void *out)
{
    _Alignas(64) unsigned char block[CEBUS_FOLD_WIDTH * CEBUS_FOLD_BYTES];
    const char *from = (const char *)x + tile->offset * fold->in_bytes;
    fold->begin(block, tile->width, centers, 1);
    if (lines->inner == 1)
        fold->row(block, from, lines->n, 0);
    else
        fold->columns(block, tile->width, from, lines->n, lines->inner, 0);
    fold->finish(block, tile->width, out, 1, 1);
}

void cebus_lines_run(const cebus_lines *lines, int threads, cebus_range_fn body, void *context)
{
    if (lines->tiles == 0)
        return;
    int64_t elements = lines->outer * lines->n * lines->inner / lines->tiles;
    cebus_parallel_for(threads, lines->tiles, CEBUS_GRAIN / 4 / elements + 1, body, context);
}
