/* Elements moved or set. */
#include "eager/device/cuda/copy.h"

#include "eager/device/cuda/walk.h"
#include "eager/device/elementwise.h"

/* --- element by element -------------------------------------------------------------------- */

/** A copy, or a fill with `bits`. Array 0 of the walk is the target, array 1 the source. */
typedef struct copy_job {
    cebus_walk walk;
    char *to;
    const char *from;
    uint64_t bits;
    int pack;
} copy_job;

template <class S> CEBUS_DEVICE void copy_some(const copy_job *p, const int64_t *at, int n)
{
    int64_t to_step = p->walk.step[0], from_step = p->walk.step[1];
    const S *from = (const S *)p->from + at[1];
    S *to = (S *)p->to + at[0];
    if (to_step == 1 && from_step == 1 && n == CEBUS_PACK && cebus_pack_fits<S>(p->to, at[0]) &&
        cebus_pack_fits<S>(p->from, at[1])) {
        alignas(16) S raw[CEBUS_PACK];
        cebus_pack_read(raw, p->from, at[1]);
        cebus_pack_write(raw, p->to, at[0]);
        return;
    }
    for (int i = 0; i < n; i++)
        to[i * to_step] = from[i * from_step];
}

template <class S> CEBUS_DEVICE void fill_some(const copy_job *p, const int64_t *at, int n)
{
    S *to = (S *)p->to + at[0];
    if (p->walk.step[0] == 1 && n == CEBUS_PACK && cebus_pack_fits<S>(p->to, at[0])) {
        alignas(16) S raw[CEBUS_PACK];
        for (int i = 0; i < CEBUS_PACK; i++)
            raw[i] = (S)p->bits;
        cebus_pack_write(raw, p->to, at[0]);
        return;
    }
    for (int i = 0; i < n; i++)
        to[i * p->walk.step[0]] = (S)p->bits;
}

template <class S, bool fills> CEBUS_KERNEL copy_kernel(const copy_job p)
{
    int64_t at[2], end = p.walk.numel;
    for (int64_t i = cebus_grid_first() * p.pack; i < end; i += cebus_grid_step() * p.pack) {
        int left = (int)(end - i < p.pack ? end - i : p.pack);
        for (int64_t k = i; left > 0;) {
            int64_t run = cebus_walk_locate<2>(&p.walk, k, at);
            int n = run < left ? (int)run : left;
            if (fills)
                fill_some<S>(&p, at, n);
            else
                copy_some<S>(&p, at, n);
            left -= n;
            k += n;
        }
    }
}

template <bool fills> static void run_walk(const cebus_launch *launch, copy_job *p, size_t size)
{
    static void (*const kernels[])(copy_job) = {
        copy_kernel<uint8_t, fills>,
        copy_kernel<uint16_t, fills>,
        copy_kernel<uint32_t, fills>,
        copy_kernel<uint64_t, fills>,
    };
    int which = size == 1 ? 0 : size == 2 ? 1 : size == 4 ? 2 : 3;
    p->pack = cebus_walk_pack(p->walk.numel);
    cebus_grid_run(launch, kernels[which],
                   cebus_grid_blocks((p->walk.numel + p->pack - 1) / p->pack), CEBUS_GRID_THREADS,
                   *p);
}

/** Narrow elements that lie side by side in both arrays are moved as wider ones. */
static size_t widen(copy_job *p, size_t size)
{
    cebus_walk *w = &p->walk;
    while (size < 8 && w->step[0] == 1 && w->step[1] == 1) {
        uint64_t odd = (uint64_t)w->run | ((uintptr_t)p->to | (uintptr_t)p->from) / size;
        for (int d = 0; d < w->ndim; d++)
            odd |= (uint64_t)w->strides[0][d] | (uint64_t)w->strides[1][d];
        if (odd & 1)
            break;
        size *= 2;
        w->run /= 2;
        w->numel /= 2;
        for (int d = 0; d < w->ndim; d++) {
            w->strides[0][d] /= 2;
            w->strides[1][d] /= 2;
        }
    }
    w->wide = w->numel >= INT32_MAX;
    if (w->numel > 0 && !w->wide) {
        w->run_divisor = cebus_divisor_of((uint32_t)w->run);
        for (int d = 0; d < w->ndim; d++)
            w->divisor[d] = cebus_divisor_of((uint32_t)w->shape[d]);
    }
    return size;
}

/* --- transposition: both sides in long accesses, through a tile of shared memory ------------- */

#define TILE 32

/** Rows go on by 1 in the source, columns by 1 in the target; `outer` runs over the rest. */
typedef struct tile_job {
    char *to;
    const char *from;
    int64_t rows, columns; /**< lengths */
    int64_t to_row, from_column;
    int64_t tiles_across, tiles;
    int ndim;
    int64_t shape[CEBUS_MAX_DIMS], to_stride[CEBUS_MAX_DIMS], from_stride[CEBUS_MAX_DIMS];
} tile_job;

/** Where a tile begins. */
typedef struct tile_at {
    int64_t row, column, to, from;
} tile_at;

CEBUS_DEVICE tile_at tile_find(const tile_job *p, int64_t tile)
{
    int64_t down = (p->rows + TILE - 1) / TILE;
    tile_at at = {};
    at.column = tile % p->tiles_across * TILE;
    tile /= p->tiles_across;
    at.row = tile % down * TILE;
    tile /= down;
    for (int d = p->ndim - 1; d >= 0; d--) {
        int64_t index = tile % p->shape[d];
        tile /= p->shape[d];
        at.to += index * p->to_stride[d];
        at.from += index * p->from_stride[d];
    }
    return at;
}

template <class S> CEBUS_KERNEL tile_kernel(const tile_job p)
{
    CEBUS_SHARED(S, tile, TILE * (TILE + 1));
    for (int64_t t = cebus_block(); t < p.tiles; t += cebus_blocks()) {
        tile_at at = tile_find(&p, t);
        const S *from = (const S *)p.from + at.from;
        S *to = (S *)p.to + at.to;
        for (int e = cebus_thread(); e < TILE * TILE; e += cebus_threads()) {
            int64_t row = at.row + e % TILE, column = at.column + e / TILE;
            if (row < p.rows && column < p.columns)
                tile[e / TILE * (TILE + 1) + e % TILE] = from[row + column * p.from_column];
        }
        cebus_sync();
        for (int e = cebus_thread(); e < TILE * TILE; e += cebus_threads()) {
            int64_t row = at.row + e / TILE, column = at.column + e % TILE;
            if (row < p.rows && column < p.columns)
                to[column + row * p.to_row] = tile[e % TILE * (TILE + 1) + e / TILE];
        }
        cebus_sync();
    }
}

/** Whether the copy is a transposition worth tiles; then the tiles. */
static bool tile_plan(const copy_job *p, tile_job *out)
{
    const cebus_walk *w = &p->walk;
    int row = -1;
    for (int d = 0; d < w->ndim; d++)
        if (w->strides[1][d] == 1)
            row = d;
    if (row < 0 || w->step[0] != 1 || w->step[1] == 1 || w->run < 8 || w->shape[row] < 8)
        return false;
    tile_job j = {};
    j.to = p->to;
    j.from = p->from;
    j.rows = w->shape[row];
    j.columns = w->run;
    j.to_row = w->strides[0][row];
    j.from_column = w->step[1];
    j.tiles_across = (j.columns + TILE - 1) / TILE;
    j.tiles = j.tiles_across * ((j.rows + TILE - 1) / TILE);
    for (int d = 0; d < w->ndim; d++) {
        if (d == row)
            continue;
        j.shape[j.ndim] = w->shape[d];
        j.to_stride[j.ndim] = w->strides[0][d];
        j.from_stride[j.ndim++] = w->strides[1][d];
        j.tiles *= w->shape[d];
    }
    *out = j;
    return true;
}

/* --- entries ------------------------------------------------------------------------------- */

void cebus_cuda_copy(const cebus_launch *launch, const cebus_array *to, const cebus_array *from)
{
    const cebus_view *views[] = {to->view, from->view};
    size_t size = cebus_dtype_size(to->view->dtype);
    copy_job p = {};
    tile_job tiles;
    p.walk = cebus_walk_of(2, views);
    p.to = (char *)to->data;
    p.from = (const char *)from->data;
    if (p.walk.numel == 0)
        return;
    if (!tile_plan(&p, &tiles)) {
        size = widen(&p, size);
        run_walk<false>(launch, &p, size);
        return;
    }
    void (*kernel)(tile_job) = size == 1   ? tile_kernel<uint8_t>
                               : size == 2 ? tile_kernel<uint16_t>
                               : size == 4 ? tile_kernel<uint32_t>
                                           : tile_kernel<uint64_t>;
    cebus_grid_run(launch, kernel, cebus_grid_teams(tiles.tiles), CEBUS_GRID_THREADS, tiles);
}

void cebus_cuda_fill(const cebus_launch *launch, const cebus_array *to, uint64_t bits)
{
    const cebus_view *views[] = {to->view, to->view};
    copy_job p = {};
    p.walk = cebus_walk_of(2, views);
    p.to = (char *)to->data;
    p.bits = bits;
    run_walk<true>(launch, &p, cebus_dtype_size(to->view->dtype));
}

uint64_t cebus_cuda_encode(cebus_dtype dtype, double value)
{
    uint64_t bits = 0;
    switch (dtype) {
    case CEBUS_F32:
        return cebus_f32_bits((float)value);
    case CEBUS_F64:
        memcpy(&bits, &value, sizeof bits);
        return bits;
    case CEBUS_F16:
        return cebus_f16_from_f32((float)value);
    case CEBUS_BF16:
        return cebus_bf16_from_f32((float)value);
    case CEBUS_BOOL:
        return value != 0.0;
    default:
        return (uint64_t)cebus_i64_from_f64(value);
    }
}

uint64_t cebus_cuda_dense_bytes(const cebus_view *view, const cebus_view *layout)
{
    if (cebus_view_same_layout(view, layout))
        return 0;
    return cebus_cuda_round((uint64_t)cebus_view_numel(view) * cebus_dtype_size(view->dtype));
}

const void *cebus_cuda_dense(const cebus_launch *launch, const cebus_array *x,
                             const cebus_view *layout, char **scratch)
{
    uint64_t bytes = cebus_cuda_dense_bytes(x->view, layout);
    if (bytes == 0)
        return x->data;
    cebus_view view = *layout;
    view.dtype = x->view->dtype;
    cebus_array copy = {*scratch, &view};
    cebus_cuda_copy(launch, &copy, x);
    *scratch += bytes;
    return copy.data;
}
