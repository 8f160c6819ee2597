/**
 * index.c: the indexing kernels. All are one loop over three arrays of the shape of the indices
 * (or of what these are repeated to), read one way or the other:
 *
 *     take:  rows[o, k, r] = table[o, index[o, k, r], r]
 *     add:   table[o, index[o, k, r], r] += rows[o, k, r]
 *
 * where k runs along the indexed dimension, r through the dimensions after it and o through the
 * rest. `take` is cut for threads along (o, k). `add` is cut along (o, r) only and goes through k
 * in order: every element has one owner and one order of additions, so the bits depend neither
 * on timing nor on the number of threads.
 */
#include <string.h>

#include "eager/device/cpu/copy.h"
#include "eager/device/cpu/families.h"
#include "eager/device/cpu/parallel.h"
#include "eager/device/half.h"
#include "eager/ops/index.h"
#include "eager/view.h"
#include "layout/clones.h"
#include "layout/number.h"

/* One line of the loop, in elements: what a typed function does in one go. */
typedef struct line {
    char *table, *rows; /* of its first element; the table's before an index is applied */
    const void *index;
    int64_t table_step, rows_step, index_step;
    int64_t pick; /* stride of the indexed dimension in the table */
    int64_t n;
    bool narrow; /* indices are i32 */
} line;

/* Moves a line: with one index for all of it (then `table` is where that index leads), or with
 * one for each element. */
typedef void (*line_fn)(const line *l);
typedef struct mover {
    line_fn same, each;
} mover;

/* One array of the loop: its bytes and its strides along o, k and r, in elements. */
typedef struct lane {
    char *data;
    int64_t outer[CEBUS_MAX_DIMS], depth, run;
} lane;

typedef struct walk {
    lane table, index, rows;
    int64_t outer, depth, run; /* lengths of o, k and r */
    int64_t shape[CEBUS_MAX_DIMS];
    int ndim;     /* dimensions of o */
    int64_t pick; /* stride of the indexed dimension in the table */
    int64_t skip; /* an index whose rows are left out; -1: none */
    int64_t size; /* bytes of an element */
    bool narrow;  /* indices are i32 */
    bool adds;    /* from rows to table, otherwise from table to rows */
    bool shared;  /* all o mean the same part of the table: not to be cut apart when adding */
    const mover *move;
} walk;

/* A range of k or r. */
typedef struct range {
    int64_t begin, end;
} range;

/* Index `offset` elements into data of i32 or i64. */
static inline int64_t read_index(const void *data, bool narrow, int64_t offset)
{
    return narrow ? ((const int32_t *)data)[offset] : ((const int64_t *)data)[offset];
}

#define DEFINE_TAKE(type, bits)                                                                    \
    static void take_same_##bits(const line *l)                                                    \
    {                                                                                              \
        const type *table = (const type *)l->table;                                                \
        type *rows = (type *)l->rows;                                                              \
        if (l->table_step == 1 && l->rows_step == 1)                                               \
            memcpy(rows, table, (size_t)l->n * sizeof(type));                                      \
        else                                                                                       \
            for (int64_t i = 0; i < l->n; i++)                                                     \
                rows[i * l->rows_step] = table[i * l->table_step];                                 \
    }                                                                                              \
    static void take_each_##bits(const line *l)                                                    \
    {                                                                                              \
        const type *table = (const type *)l->table;                                                \
        type *rows = (type *)l->rows;                                                              \
        for (int64_t i = 0; i < l->n; i++) {                                                       \
            int64_t chosen = read_index(l->index, l->narrow, i * l->index_step);                   \
            rows[i * l->rows_step] = table[chosen * l->pick + i * l->table_step];                  \
        }                                                                                          \
    }                                                                                              \
    static const mover take_##bits = {take_same_##bits, take_each_##bits};

DEFINE_TAKE(uint8_t, 8)
DEFINE_TAKE(uint16_t, 16)
DEFINE_TAKE(uint32_t, 32)
DEFINE_TAKE(uint64_t, 64)

#define PLAIN_SUM(a, b) ((a) + (b))
#define F16_SUM(a, b) cebus_f16_from_f32(cebus_f16_to_f32(a) + cebus_f16_to_f32(b))
#define BF16_SUM(a, b) cebus_bf16_from_f32(cebus_bf16_to_f32(a) + cebus_bf16_to_f32(b))

#define DEFINE_ADD(type, name, SUM)                                                                \
    CEBUS_CLONES static void add_same_##name(const line *l)                                        \
    {                                                                                              \
        type *restrict table = (type *)l->table;                                                   \
        const type *restrict rows = (const type *)l->rows;                                         \
        const int64_t step = l->table_step, rows_step = l->rows_step, n = l->n;                    \
        if (step == 1 && rows_step == 1)                                                           \
            for (int64_t i = 0; i < n; i++)                                                        \
                table[i] = SUM(table[i], rows[i]);                                                 \
        else                                                                                       \
            for (int64_t i = 0; i < n; i++)                                                        \
                table[i * step] = SUM(table[i * step], rows[i * rows_step]);                       \
    }                                                                                              \
    static void add_each_##name(const line *l)                                                     \
    {                                                                                              \
        type *table = (type *)l->table;                                                            \
        const type *rows = (const type *)l->rows;                                                  \
        for (int64_t i = 0; i < l->n; i++) {                                                       \
            int64_t chosen = read_index(l->index, l->narrow, i * l->index_step);                   \
            type *to = &table[chosen * l->pick + i * l->table_step];                               \
            *to = SUM(*to, rows[i * l->rows_step]);                                                \
        }                                                                                          \
    }                                                                                              \
    static const mover add_##name = {add_same_##name, add_each_##name};

DEFINE_ADD(float, f32, PLAIN_SUM)
DEFINE_ADD(double, f64, PLAIN_SUM)
DEFINE_ADD(uint16_t, f16, F16_SUM)
DEFINE_ADD(uint16_t, bf16, BF16_SUM)
/* Integers wrap around, as unsigned ones may. */
DEFINE_ADD(uint64_t, i64, PLAIN_SUM)
DEFINE_ADD(uint32_t, i32, PLAIN_SUM)

static const mover *take_of(cebus_dtype dtype)
{
    switch (cebus_dtype_size(dtype)) {
    case 1:
        return &take_8;
    case 2:
        return &take_16;
    case 4:
        return &take_32;
    default:
        return &take_64;
    }
}

static const mover *add_of(cebus_dtype dtype)
{
    switch (dtype) {
    case CEBUS_F64:
        return &add_f64;
    case CEBUS_F16:
        return &add_f16;
    case CEBUS_BF16:
        return &add_bf16;
    case CEBUS_I64:
        return &add_i64;
    case CEBUS_I32:
        return &add_i32;
    default:
        return &add_f32;
    }
}

/* Offsets in the three arrays, in elements. */
typedef struct place {
    int64_t table, index, rows;
} place;

/* Where (o, k, r) is; in the table, before an index is applied. */
static place locate(const walk *w, int64_t o, int64_t k, int64_t r)
{
    place at = {r * w->table.run, k * w->index.depth + r * w->index.run,
                k * w->rows.depth + r * w->rows.run};
    for (int d = w->ndim - 1; d >= 0; d--) {
        int64_t coordinate = o % w->shape[d];
        o /= w->shape[d];
        at.table += coordinate * w->table.outer[d];
        at.index += coordinate * w->index.outer[d];
        at.rows += coordinate * w->rows.outer[d];
    }
    return at;
}

/* A line from `at` on, with steps still to be set. */
static line line_at(const walk *w, place at, int64_t n)
{
    const int64_t index_size = w->narrow ? sizeof(int32_t) : sizeof(int64_t);
    return (line){
        .table = w->table.data + at.table * w->size,
        .rows = w->rows.data + at.rows * w->size,
        .index = w->index.data + at.index * index_size,
        .pick = w->pick,
        .n = n,
        .narrow = w->narrow,
    };
}

/* Lines along k: nothing follows the indexed dimension. */
static void walk_depth(const walk *w, int64_t o, range k)
{
    line l = line_at(w, locate(w, o, k.begin, 0), k.end - k.begin);
    l.rows_step = w->rows.depth;
    l.index_step = w->index.depth;
    w->move->each(&l);
}

/* Lines along r: with one index each, or as many as elements. */
static void walk_run(const walk *w, int64_t o, range k, range r)
{
    place at = locate(w, o, k.begin, r.begin);
    for (int64_t i = k.begin; i < k.end; i++) {
        line l = line_at(w, at, r.end - r.begin);
        l.table_step = w->table.run;
        l.rows_step = w->rows.run;
        l.index_step = w->index.run;
        at.index += w->index.depth;
        at.rows += w->rows.depth;
        if (w->index.run != 0) {
            w->move->each(&l);
            continue;
        }
        int64_t chosen = read_index(l.index, l.narrow, 0);
        l.table += chosen * w->pick * w->size;
        if (chosen != w->skip)
            w->move->same(&l);
    }
}

/* The part (k, r) of position `o`. */
static void walk_block(const walk *w, int64_t o, range k, range r)
{
    if (w->run == 1 && w->skip < 0)
        walk_depth(w, o, k);
    else
        walk_run(w, o, k, r);
}

/* Rows [begin, end) of the o x k rows there are. */
static void take_part(void *context, int64_t begin, int64_t end)
{
    const walk *w = context;
    for (int64_t row = begin; row < end;) {
        int64_t o = row / w->depth, k = row % w->depth;
        int64_t n = cebus_min_i64(w->depth - k, end - row);
        walk_block(w, o, (range){k, k + n}, (range){0, w->run});
        row += n;
    }
}

/* Columns [begin, end) of the o x r columns there are, or of r when all o share them. */
static void add_part(void *context, int64_t begin, int64_t end)
{
    const walk *w = context;
    range all = {0, w->depth};
    if (w->shared) {
        for (int64_t o = 0; o < w->outer; o++)
            walk_block(w, o, all, (range){begin, end});
        return;
    }
    for (int64_t column = begin; column < end;) {
        int64_t o = column / w->run, r = column % w->run;
        int64_t n = cebus_min_i64(w->run - r, end - column);
        walk_block(w, o, all, (range){r, r + n});
        column += n;
    }
}

/* Cuts the loop so that a part moves about CEBUS_GRAIN elements. */
static void walk_all(walk *w, int threads)
{
    int64_t units = w->outer * w->depth, work = w->run;
    if (w->adds) {
        units = w->shared ? w->run : w->outer * w->run;
        work = w->shared ? w->outer * w->depth : w->depth;
    }
    if (units > 0 && work > 0)
        cebus_parallel_for(threads, units, CEBUS_GRAIN / work + 1, w->adds ? add_part : take_part,
                           w);
}

/* The arrays as the loop sees them: views of as many dimensions, `index` and `rows` of one shape
 * (rows may be longer), the table as long in all but `dim` or longer, or of stride 0. */
typedef struct walk_views {
    cebus_array table, index, rows;
    int dim;
} walk_views;

/* True when dimension `d` continues the run so far in all three arrays. */
static bool extends_run(const walk *w, const walk_views *v, int d)
{
    return v->table.view->strides[d] == w->table.run * w->run &&
           v->index.view->strides[d] == w->index.run * w->run &&
           v->rows.view->strides[d] == w->rows.run * w->run;
}

static void add_outer(walk *w, const walk_views *v, int d)
{
    w->shape[w->ndim] = v->index.view->shape[d];
    w->table.outer[w->ndim] = v->table.view->strides[d];
    w->index.outer[w->ndim] = v->index.view->strides[d];
    w->rows.outer[w->ndim] = v->rows.view->strides[d];
    w->outer *= w->shape[w->ndim];
    w->shared = w->shared && w->table.outer[w->ndim] == 0;
    w->ndim++;
}

static void walk_init(walk *w, const walk_views *v)
{
    const cebus_view *table = v->table.view, *index = v->index.view, *rows = v->rows.view;
    *w = (walk){
        .table = {.data = v->table.data},
        .index = {.data = v->index.data, .depth = index->strides[v->dim]},
        .rows = {.data = v->rows.data, .depth = rows->strides[v->dim]},
        .outer = 1,
        .depth = index->shape[v->dim],
        .run = 1,
        .pick = table->strides[v->dim],
        .skip = -1,
        .size = (int64_t)cebus_dtype_size(table->dtype),
        .narrow = index->dtype == CEBUS_I32,
        .shared = true,
    };
    int end = index->ndim;
    if (end - 1 > v->dim) {
        end--;
        w->run = index->shape[end];
        w->table.run = table->strides[end];
        w->index.run = index->strides[end];
        w->rows.run = rows->strides[end];
    }
    while (end - 1 > v->dim && extends_run(w, v, end - 1))
        w->run *= index->shape[--end];
    for (int d = 0; d < end; d++)
        if (d != v->dim)
            add_outer(w, v, d);
}

static void take(const walk_views *v, int threads)
{
    walk w;
    walk_init(&w, v);
    w.move = take_of(v->table.view->dtype);
    walk_all(&w, threads);
}

/* Adds the rows to the table, but for those with the index `skip`. */
static void add(const walk_views *v, int64_t skip, int threads)
{
    walk w;
    walk_init(&w, v);
    w.adds = true;
    w.skip = skip;
    w.move = add_of(v->table.view->dtype);
    walk_all(&w, threads);
}

/* All indices, in row-major order, before anything is written. */
static cebus_status check_bounds(const char *op, const cebus_array *index, int dim, int64_t bound)
{
    const cebus_view *view = index->view;
    bool narrow = view->dtype == CEBUS_I32;
    int64_t numel = cebus_view_numel(view);
    int64_t inner = view->ndim > 0 ? view->shape[view->ndim - 1] : 1;
    int64_t step = view->ndim > 0 ? view->strides[view->ndim - 1] : 0;
    for (int64_t position = 0; position < numel; position += inner) {
        int64_t offset = 0, row = position / inner;
        for (int d = view->ndim - 2; d >= 0; d--) {
            offset += row % view->shape[d] * view->strides[d];
            row /= view->shape[d];
        }
        for (int64_t i = 0; i < inner; i++) {
            int64_t value = read_index(index->data, narrow, offset + i * step);
            int64_t at = position + i;
            if ((uint64_t)value >= (uint64_t)bound)
                return cebus_fail(CEBUS_INVALID_ARGUMENT, op,
                                  "index %lld at position %lld of the indices is out of range: "
                                  "dimension %d has length %lld, so indices lie in [0, %lld)",
                                  (long long)value, (long long)at, dim, (long long)bound,
                                  (long long)bound);
        }
    }
    return CEBUS_OK;
}

/* A 0-D view is walked as one of one element. */
static const cebus_view *at_least_1d(const cebus_view *view, cebus_view *room)
{
    if (view->ndim > 0)
        return view;
    *room = *view;
    cebus_view_insert_dim(room, 0);
    return room;
}

/* gather, gather_backward, scatter_add: the views are as the loop wants them. */
static void along(const cebus_launch *launch, const cebus_array *table, const cebus_array *rows,
                  bool adds)
{
    const cebus_index_attrs *attrs = launch->attrs;
    cebus_view room[3];
    const walk_views v = {
        .table = {table->data, at_least_1d(table->view, &room[0])},
        .index = {launch->in[1].data, at_least_1d(launch->in[1].view, &room[1])},
        .rows = {rows->data, at_least_1d(rows->view, &room[2])},
        .dim = (int)attrs->dim,
    };
    if (adds)
        add(&v, -1, launch->threads);
    else
        take(&v, launch->threads);
}

static cebus_status check_along(const cebus_launch *launch, const char *op, const cebus_view *table)
{
    int dim = (int)((const cebus_index_attrs *)launch->attrs)->dim;
    return check_bounds(op, &launch->in[1], dim, table->ndim > 0 ? table->shape[dim] : 1);
}

static cebus_status run_gather(const cebus_launch *launch)
{
    cebus_status status = check_along(launch, "gather", launch->in[0].view);
    if (status == CEBUS_OK)
        along(launch, &launch->in[0], &launch->out[0], false);
    return status;
}

static void zero(const cebus_launch *launch)
{
    const uint64_t nothing = 0; /* zero in every type */
    cebus_copy_value(launch->threads, &launch->out[0], &nothing);
}

static cebus_status run_gather_backward(const cebus_launch *launch)
{
    cebus_status status = check_along(launch, "gather_backward", launch->out[0].view);
    if (status != CEBUS_OK)
        return status;
    zero(launch);
    along(launch, &launch->out[0], &launch->in[0], true);
    return CEBUS_OK;
}

static cebus_status run_scatter_add(const cebus_launch *launch)
{
    cebus_status status = check_along(launch, "scatter_add", launch->out[0].view);
    if (status != CEBUS_OK)
        return status;
    cebus_copy_array(launch->threads, &launch->out[0], &launch->in[0]);
    along(launch, &launch->out[0], &launch->in[2], true);
    return CEBUS_OK;
}

/* The indices repeated over all dimensions of `rows` but `dim`. */
static cebus_view repeat_index(const cebus_view *index, const cebus_view *rows, int dim)
{
    cebus_view repeated = *rows;
    repeated.dtype = index->dtype;
    for (int d = 0; d < rows->ndim; d++)
        repeated.strides[d] = 0;
    repeated.strides[dim] = index->ndim > 0 ? index->strides[0] : 0;
    return repeated;
}

static cebus_status run_index_select(const cebus_launch *launch)
{
    int dim = (int)((const cebus_index_attrs *)launch->attrs)->dim;
    cebus_status status = check_along(launch, "index_select", launch->in[0].view);
    if (status != CEBUS_OK)
        return status;
    cebus_view repeated = repeat_index(launch->in[1].view, launch->out[0].view, dim);
    take(&(walk_views){launch->in[0], {launch->in[1].data, &repeated}, launch->out[0], dim},
         launch->threads);
    return CEBUS_OK;
}

static cebus_status run_index_select_backward(const cebus_launch *launch)
{
    int dim = (int)((const cebus_index_attrs *)launch->attrs)->dim;
    cebus_status status = check_along(launch, "index_select_backward", launch->out[0].view);
    if (status != CEBUS_OK)
        return status;
    zero(launch);
    cebus_view repeated = repeat_index(launch->in[1].view, launch->in[0].view, dim);
    add(&(walk_views){launch->out[0], {launch->in[1].data, &repeated}, launch->in[0], dim}, -1,
        launch->threads);
    return CEBUS_OK;
}

/* The three arrays of an embedding in the dimensions of `rows`, at least 2: indices gain the
 * columns, the table all index dimensions but the last (which picks its rows), with stride 0. */
static void widen_embedding(const cebus_view *table, const cebus_view *index,
                            const cebus_view *rows, cebus_view *out)
{
    out[0] = *table;
    out[1] = *index;
    out[2] = *rows;
    if (index->ndim == 0) {
        cebus_view_insert_dim(&out[1], 0);
        cebus_view_insert_dim(&out[2], 0);
    }
    while (out[0].ndim < out[2].ndim)
        cebus_view_insert_dim(&out[0], 0);
    cebus_view_insert_dim(&out[1], out[1].ndim);
    out[1].shape[out[1].ndim - 1] = table->shape[1];
}

static cebus_status run_embedding(const cebus_launch *launch)
{
    const cebus_array *weight = &launch->in[0], *index = &launch->in[1], *rows = &launch->out[0];
    cebus_status status = check_bounds("embedding", index, 0, weight->view->shape[0]);
    if (status != CEBUS_OK)
        return status;
    cebus_view wide[3];
    widen_embedding(weight->view, index->view, rows->view, wide);
    take(&(walk_views){{weight->data, &wide[0]},
                       {index->data, &wide[1]},
                       {rows->data, &wide[2]},
                       wide[2].ndim - 2},
         launch->threads);
    return CEBUS_OK;
}

static cebus_status run_embedding_backward(const cebus_launch *launch)
{
    const cebus_embedding_attrs *attrs = launch->attrs;
    const cebus_array *rows = &launch->in[0], *index = &launch->in[1], *table = &launch->out[0];
    cebus_status status = check_bounds("embedding_backward", index, 0, attrs->rows);
    if (status != CEBUS_OK)
        return status;
    zero(launch);
    cebus_view wide[3];
    widen_embedding(table->view, index->view, rows->view, wide);
    add(&(walk_views){{table->data, &wide[0]},
                      {index->data, &wide[1]},
                      {rows->data, &wide[2]},
                      wide[2].ndim - 2},
        attrs->padding, launch->threads);
    return CEBUS_OK;
}

const cebus_kernel cebus_cpu_index[] = {
    {"embedding", run_embedding, NULL},
    {"embedding_backward", run_embedding_backward, NULL},
    {"gather", run_gather, NULL},
    {"gather_backward", run_gather_backward, NULL},
    {"index_select", run_index_select, NULL},
    {"index_select_backward", run_index_select_backward, NULL},
    {"scatter_add", run_scatter_add, NULL},
    {NULL, NULL, NULL},
};
