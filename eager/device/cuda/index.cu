/*
 * The indexing ops. All are one of two loops over three arrays of the shape of the indices (or of
 * what these are repeated to), k along the indexed dimension:
 *
 *     take:  rows[o, k, r] = table[o, index[o, k, r], r]
 *     add:   table[o, index[o, k, r], r] += rows[o, k, r]      (index.h)
 */
#include "eager/device/cuda/index.h"

#include "eager/device/cuda/copy.h"
#include "eager/device/cuda/families.h"

CEBUS_BEGIN_DECLS
#include "eager/ops/index.h"
CEBUS_END_DECLS

/** The arrays as the loops see them: views of one number of dimensions; of the shape of `index`,
 * but for dimension `dim` of the table, whose length is `length`. */
typedef struct index_views {
    cebus_view table, index, rows;
    int dim;
    int64_t length, pick;
    bool adds;
} index_views;

/* --- take ---------------------------------------------------------------------------------- */

typedef struct take_job {
    cebus_walk walk; /* of rows, table, indices */
    cebus_index_job job;
    int pack;
} take_job;

/** Elements of one row of the table, where one index says which. */
template <class S> CEBUS_DEVICE void take_row(const take_job *p, const int64_t *at, int n)
{
    int64_t index = cebus_index_at(&p->job, at[2]);
    if (index < 0)
        return;
    int64_t from = at[1] + index * p->job.pick;
    int64_t to_step = p->walk.step[0], from_step = p->walk.step[1];
    char *rows = p->job.rows.data;
    const char *table = p->job.table.data;
    if (n == CEBUS_PACK && to_step == 1 && from_step == 1 && cebus_pack_fits<S>(rows, at[0]) &&
        cebus_pack_fits<S>(table, from)) {
        alignas(16) S raw[CEBUS_PACK];
        cebus_pack_read(raw, table, from);
        cebus_pack_write(raw, rows, at[0]);
        return;
    }
    for (int i = 0; i < n; i++)
        ((S *)rows)[at[0] + i * to_step] = ((const S *)table)[from + i * from_step];
}

template <class S> CEBUS_KERNEL take_kernel(const take_job p)
{
    int64_t at[3], end = p.walk.numel;
    for (int64_t i = cebus_grid_first() * p.pack; i < end; i += cebus_grid_step() * p.pack) {
        int left = (int)(end - i < p.pack ? end - i : p.pack);
        for (int64_t k = i; left > 0;) {
            int64_t run = cebus_walk_locate<3>(&p.walk, k, at);
            int n = p.walk.step[2] != 0 ? 1 : run < left ? (int)run : left;
            take_row<S>(&p, at, n);
            left -= n;
            k += n;
        }
    }
}

/* --- add, in order ------------------------------------------------------------------------- */

template <class T> CEBUS_KERNEL add_kernel(const cebus_index_job p)
{
    for (int64_t i = cebus_grid_first(); i < p.own.numel; i += cebus_grid_step()) {
        int64_t own[3], at[2];
        cebus_walk_locate<3>(&p.own, i, own);
        for (int64_t k = 0; k < p.depth.numel; k++) {
            cebus_walk_locate<2>(&p.depth, k, at);
            int64_t index = cebus_index_at(&p, own[2] + at[1]);
            if (index < 0)
                continue;
            int64_t to = own[0] + index * p.pick;
            cebus_lane<T>::set(p.table, to,
                               cebus_lane<T>::get(p.table, to) +
                                   cebus_lane<T>::get(p.rows, own[1] + at[0]));
        }
    }
}

/* --- jobs ---------------------------------------------------------------------------------- */

/** `table`, `index` and `rows` are arrays whose views `v` replaces. */
static cebus_index_job job_of(const cebus_launch *launch, const index_views *v,
                              const cebus_array *table, const cebus_array *rows, const char *op)
{
    cebus_index_job job = {};
    job.table = cebus_cells_of(table);
    job.rows = cebus_cells_of(rows);
    job.index = launch->in[1].data;
    job.narrow = v->index.dtype == CEBUS_I32;
    job.pick = v->pick;
    job.length = v->length;
    job.skip = -1;
    job.op = (uint64_t)(uintptr_t)op;
    if (!v->adds)
        return job;
    uint32_t depth = 1U << v->dim, all = (1U << v->index.ndim) - 1;
    for (int d = 0; d < v->table.ndim; d++)
        depth |= v->table.strides[d] == 0 && v->table.shape[d] != 1 ? 1U << d : 0;
    const cebus_view *own[] = {&v->table, &v->rows, &v->index};
    job.own = cebus_walk_over(3, own, all & ~depth, false);
    job.depth = cebus_walk_over(2, own + 1, all & depth, true);
    return job;
}

static void take(const cebus_launch *launch, const index_views *v, const char *op)
{
    static void (*const kernels[])(take_job) = {take_kernel<uint8_t>, take_kernel<uint16_t>,
                                                take_kernel<uint32_t>, take_kernel<uint64_t>};
    size_t size = cebus_dtype_size(v->table.dtype);
    const cebus_view *views[] = {&v->rows, &v->table, &v->index};
    take_job p = {};
    p.walk = cebus_walk_of(3, views);
    p.job = job_of(launch, v, &launch->in[0], &launch->out[0], op);
    p.job.fault = cebus_cuda_of(launch)->fault;
    p.pack = cebus_walk_pack(p.walk.numel);
    cebus_grid_run(launch,
                   kernels[size == 1   ? 0
                           : size == 2 ? 1
                           : size == 4 ? 2
                                       : 3],
                   cebus_grid_blocks((p.walk.numel + p.pack - 1) / p.pack), CEBUS_GRID_THREADS, p);
}

static void add(const cebus_launch *launch, const index_views *v, const cebus_array *rows,
                int64_t skip, const char *op)
{
    static void (*const kernels[])(cebus_index_job) = {add_kernel<float>, add_kernel<double>,
                                                       add_kernel<int64_t>};
    cebus_index_job job = job_of(launch, v, &launch->out[0], rows, op);
    uint64_t bytes;
    job.skip = skip;
    job.fault = cebus_cuda_of(launch)->fault;
    if (job.own.numel == 0 || job.depth.numel == 0)
        return;
    if (cebus_index_sorts(&job, &bytes))
        cebus_index_add_sorted(launch, &job, (char *)launch->workspace);
    else
        cebus_grid_run(launch, kernels[cebus_lane_number(job.table.dtype)],
                       cebus_grid_blocks(job.own.numel), CEBUS_GRID_THREADS, job);
}

static uint64_t add_bytes(const cebus_launch *launch, const index_views *v, const cebus_array *rows)
{
    cebus_index_job job = job_of(launch, v, &launch->out[0], rows, "");
    uint64_t bytes;
    cebus_index_sorts(&job, &bytes);
    return bytes;
}

/* --- views --------------------------------------------------------------------------------- */

/** Completes `v`, whose views are of one number of dimensions. */
static void finish_views(index_views *v)
{
    v->length = v->table.shape[v->dim];
    v->pick = v->table.strides[v->dim];
    v->table.strides[v->dim] = 0;
    for (int d = 0; d < v->index.ndim; d++) {
        v->table.shape[d] = v->index.shape[d];
        v->rows.shape[d] = v->index.shape[d];
    }
}

/** gather, gather_backward, scatter_add: the views are as the loops want them. */
static index_views along(const cebus_launch *launch, const cebus_view *table,
                         const cebus_view *rows, bool adds)
{
    index_views v = {*table, *launch->in[1].view, *rows, 0, 0, 0, adds};
    cebus_view *all[] = {&v.table, &v.index, &v.rows};
    for (cebus_view *view : all)
        if (view->ndim == 0)
            cebus_view_insert_dim(view, 0);
    v.dim = (int)((const cebus_index_attrs *)launch->attrs)->dim;
    finish_views(&v);
    return v;
}

/** index_select and its gradient: the indices are repeated over all dimensions but `dim`. */
static index_views repeated(const cebus_launch *launch, const cebus_view *table,
                            const cebus_view *rows, bool adds)
{
    const cebus_view *index = launch->in[1].view;
    index_views v = {*table, *rows, *rows, 0, 0, 0, adds};
    v.dim = (int)((const cebus_index_attrs *)launch->attrs)->dim;
    v.index.dtype = index->dtype;
    for (int d = 0; d < rows->ndim; d++)
        v.index.strides[d] = 0;
    v.index.strides[v.dim] = index->ndim > 0 ? index->strides[0] : 0;
    finish_views(&v);
    return v;
}

/** An embedding: indices gain the columns, the table all index dimensions but the last (which picks
 * its rows), with stride 0. */
static index_views embedded(const cebus_launch *launch, const cebus_view *table,
                            const cebus_view *rows, bool adds)
{
    index_views v = {*table, *launch->in[1].view, *rows, 0, 0, 0, adds};
    if (v.index.ndim == 0) {
        cebus_view_insert_dim(&v.index, 0);
        cebus_view_insert_dim(&v.rows, 0);
    }
    while (v.table.ndim < v.rows.ndim)
        cebus_view_insert_dim(&v.table, 0);
    cebus_view_insert_dim(&v.index, v.index.ndim);
    v.index.shape[v.index.ndim - 1] = table->shape[1];
    v.dim = v.rows.ndim - 2;
    finish_views(&v);
    return v;
}

/* --- entries ------------------------------------------------------------------------------- */

static void zero(const cebus_launch *launch)
{
    cebus_cuda_fill(launch, &launch->out[0], 0); /* zero in every type */
}

#define TAKE(name, views)                                                                          \
    static cebus_status run_##name(const cebus_launch *launch)                                     \
    {                                                                                              \
        index_views v = views(launch, launch->in[0].view, launch->out[0].view, false);             \
        take(launch, &v, #name);                                                                   \
        return cebus_cuda_launched(#name);                                                         \
    }
TAKE(embedding, embedded)
TAKE(gather, along)
TAKE(index_select, repeated)

/* `prepare` gives the table its value before anything is added; input number ROWS is added. */
#define ADD(name, views, ROWS, skip, prepare)                                                      \
    static cebus_status run_##name(const cebus_launch *launch)                                     \
    {                                                                                              \
        index_views v = views(launch, launch->out[0].view, launch->in[ROWS].view, true);           \
        prepare;                                                                                   \
        add(launch, &v, &launch->in[ROWS], skip, #name);                                           \
        return cebus_cuda_launched(#name);                                                         \
    }                                                                                              \
    static uint64_t name##_workspace(const cebus_launch *launch)                                   \
    {                                                                                              \
        index_views v = views(launch, launch->out[0].view, launch->in[ROWS].view, true);           \
        return add_bytes(launch, &v, &launch->in[ROWS]);                                           \
    }
ADD(embedding_backward, embedded, 0, ((const cebus_embedding_attrs *)launch->attrs)->padding,
    zero(launch))
ADD(gather_backward, along, 0, -1, zero(launch))
ADD(index_select_backward, repeated, 0, -1, zero(launch))
ADD(scatter_add, along, 2, -1, cebus_cuda_copy(launch, &launch->out[0], &launch->in[0]))

const cebus_kernel cebus_cuda_index_kernels[] = {
    {"embedding", run_embedding, NULL, NULL},
    {"embedding_backward", run_embedding_backward, embedding_backward_workspace, NULL},
    {"gather", run_gather, NULL, NULL},
    {"gather_backward", run_gather_backward, gather_backward_workspace, NULL},
    {"index_select", run_index_select, NULL, NULL},
    {"index_select_backward", run_index_select_backward, index_select_backward_workspace, NULL},
    {"scatter_add", run_scatter_add, scatter_add_workspace, NULL},
    {},
};
