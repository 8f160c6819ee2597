#include "eager/device/cpu/reduction.h"

#include <string.h>

#include "eager/device/cpu/parallel.h"
#include "layout/number.h"

/* Fewer units than this are cut into slices, of no fewer elements than that. */
#define ENOUGH_UNITS 32
#define SLICE_ELEMENTS 32768

/* Bytes of the buffer that makes strided rows contiguous: at least one tile of the widest type. */
#define BUFFER_BYTES 8192

/* ---- plan -------------------------------------------------------------------------------- */

static int64_t product(const cebus_axis *axes, int n)
{
    int64_t count = 1;
    for (int i = 0; i < n; i++)
        count *= axes[i].length;
    return count;
}

/** Inserts behind all axes of no smaller stride; ties stay in order. */
static void insert(cebus_axis *axes, int *n, cebus_axis axis, bool ordered)
{
    int at = (*n)++;
    for (; at > 0 && !ordered && axes[at - 1].in < axis.in; at--)
        axes[at] = axes[at - 1];
    axes[at] = axis;
}

/** Merges each axis into the one before it where that one continues it. */
static int merge(cebus_axis *axes, int n)
{
    int last = 0;
    for (int i = 1; i < n; i++) {
        cebus_axis *outer = &axes[last], inner = axes[i];
        if (outer->in == inner.in * inner.length && outer->out == inner.out * inner.length)
            *outer = (cebus_axis){outer->length * inner.length, inner.in, inner.out};
        else
            axes[++last] = inner;
    }
    return n == 0 ? 0 : last + 1;
}

static int64_t choose_slices(const cebus_reduction *r)
{
    if (r->units == 0 || r->units >= ENOUGH_UNITS)
        return 1;
    int64_t worth = r->outputs * r->count / SLICE_ELEMENTS / r->units;
    int64_t most = 2 * ENOUGH_UNITS / r->units;
    int64_t slices = worth < most ? worth : most;
    return slices > 1 ? slices : 1;
}

void cebus_reduction_plan(cebus_reduction *out, const cebus_view *x, uint32_t dims, bool ordered)
{
    cebus_reduction *r = out;
    *r = (cebus_reduction){0};
    int64_t out_strides[CEBUS_MAX_DIMS];
    int64_t outputs = 1;
    for (int d = x->ndim - 1; d >= 0; d--) {
        out_strides[d] = outputs;
        outputs *= dims >> d & 1 ? 1 : x->shape[d];
    }
    for (int d = 0; d < x->ndim; d++) {
        cebus_axis axis = {x->shape[d], x->strides[d], out_strides[d]};
        if (axis.length == 1)
            continue;
        if (dims >> d & 1) {
            axis.out = 0;
            insert(r->reduced, &r->n_reduced, axis, ordered);
        } else {
            insert(r->kept, &r->n_kept, axis, false);
        }
    }
    r->n_reduced = merge(r->reduced, r->n_reduced);
    r->n_kept = merge(r->kept, r->n_kept);
    r->count = product(r->reduced, r->n_reduced);
    r->outputs = outputs;

    r->by_columns = r->n_kept > 0 && (r->n_reduced == 0 ||
                                      r->kept[r->n_kept - 1].in < r->reduced[r->n_reduced - 1].in);
    r->tiles = r->by_columns ? cebus_ceil_div(r->kept[r->n_kept - 1].length, CEBUS_FOLD_WIDTH) : 1;
    r->units = product(r->kept, r->n_kept - r->by_columns) * r->tiles;
    r->slices = choose_slices(r);

    int64_t widest = r->by_columns ? r->kept[r->n_kept - 1].length : 1;
    widest = widest < CEBUS_FOLD_WIDTH ? widest : CEBUS_FOLD_WIDTH;
    r->block_bytes = cebus_ceil_div(widest * CEBUS_FOLD_BYTES, 64) * 64;
}

uint64_t cebus_reduction_workspace(const cebus_reduction *r)
{
    return r->slices > 1 ? (uint64_t)(r->units * r->slices * r->block_bytes) : 0;
}

/* ---- walk -------------------------------------------------------------------------------- */

/** Elements of the kept outputs that one unit folds. */
typedef struct unit {
    int64_t in, out; /* offsets of its first element */
    int64_t width;   /* outputs */
    int64_t in_step, out_step;
} unit;

/** Offsets of position `at` in the row-major order of `axes`. */
static void locate(const cebus_axis *axes, int n, int64_t at, int64_t *in, int64_t *out)
{
    *in = *out = 0;
    for (int i = n - 1; i >= 0; i--) {
        int64_t index = i == 0 ? at : at % axes[i].length;
        at /= axes[i].length;
        *in += index * axes[i].in;
        *out += index * axes[i].out;
    }
}

static unit find_unit(const cebus_reduction *r, int64_t index)
{
    unit u = {.width = 1};
    locate(r->kept, r->n_kept - r->by_columns, index / r->tiles, &u.in, &u.out);
    if (r->by_columns) {
        const cebus_axis *inner = &r->kept[r->n_kept - 1];
        int64_t first = index % r->tiles * CEBUS_FOLD_WIDTH;
        int64_t left = inner->length - first;
        u.in += first * inner->in;
        u.out += first * inner->out;
        u.width = left < CEBUS_FOLD_WIDTH ? left : CEBUS_FOLD_WIDTH;
        u.in_step = inner->in;
        u.out_step = inner->out;
    }
    return u;
}

/** Copies n elements, `step` apart, side by side. */
static void gather(void *to, const char *from, int64_t n, int64_t step, uint32_t size)
{
    if (size == 1) {
        for (int64_t i = 0; i < n; i++)
            ((uint8_t *)to)[i] = ((const uint8_t *)from)[i * step];
    } else if (size == 2) {
        for (int64_t i = 0; i < n; i++)
            ((uint16_t *)to)[i] = ((const uint16_t *)(const void *)from)[i * step];
    } else if (size == 4) {
        for (int64_t i = 0; i < n; i++)
            ((uint32_t *)to)[i] = ((const uint32_t *)(const void *)from)[i * step];
    } else {
        for (int64_t i = 0; i < n; i++)
            ((uint64_t *)to)[i] = ((const uint64_t *)(const void *)from)[i * step];
    }
}

static void fold_rows(const cebus_fold *fold, void *block, const char *x, int64_t n, int64_t step,
                      int64_t first)
{
    _Alignas(64) unsigned char buffer[BUFFER_BYTES];
    int64_t size = fold->in_bytes, most = step == 1 ? n : BUFFER_BYTES / size;
    for (int64_t i = 0; i < n; i += most) {
        int64_t part = n - i < most ? n - i : most;
        const char *from = x + i * step * size;
        if (step != 1)
            gather(buffer, from, part, step, fold->in_bytes);
        fold->row(block, step == 1 ? (const void *)from : buffer, part, first + i);
    }
}

/** Folds `rows` rows of the unit's columns; rows are `stride` elements apart. */
static void fold_columns(const cebus_fold *fold, void *block, const unit *u, const char *x,
                         const cebus_axis *rows, int64_t first)
{
    _Alignas(64) unsigned char buffer[BUFFER_BYTES];
    if (u->in_step == 1) {
        fold->columns(block, u->width, x, rows->length, rows->in, first);
        return;
    }
    for (int64_t r = 0; r < rows->length; r++) {
        gather(buffer, x + r * rows->in * fold->in_bytes, u->width, u->in_step, fold->in_bytes);
        fold->columns(block, u->width, buffer, 1, u->width, first + r);
    }
}

/** Folds the reduced positions [begin, end) of a unit. */
static void fold_range(const cebus_reduction *r, const cebus_reduction_pass *pass, const unit *u,
                       void *block, int64_t begin, int64_t end)
{
    const cebus_fold *fold = pass->fold;
    const cebus_axis single = {1, 1, 0};
    const cebus_axis *inner = r->n_reduced > 0 ? &r->reduced[r->n_reduced - 1] : &single;
    int outer = r->n_reduced > 0 ? r->n_reduced - 1 : 0;
    for (int64_t at = begin; at < end;) {
        int64_t skip = at % inner->length, in, none;
        int64_t n = inner->length - skip < end - at ? inner->length - skip : end - at;
        locate(r->reduced, outer, at / inner->length, &in, &none);
        const char *x = (const char *)pass->x + (u->in + in + skip * inner->in) * fold->in_bytes;
        if (r->by_columns)
            fold_columns(fold, block, u, x, &(cebus_axis){n, inner->in, 0}, at);
        else
            fold_rows(fold, block, x, n, inner->in, at);
        at += n;
    }
}

/* ---- run --------------------------------------------------------------------------------- */

typedef struct job {
    const cebus_reduction *reduction;
    const cebus_reduction_pass *pass;
} job;

static void begin_unit(const cebus_reduction_pass *pass, const unit *u, void *block)
{
    const char *centers = pass->centers;
    if (centers != NULL)
        centers += u->out * pass->fold->in_bytes;
    pass->fold->begin(block, u->width, centers, u->out_step);
}

static void finish_unit(const cebus_reduction_pass *pass, const unit *u, const void *block)
{
    char *out = (char *)pass->out + u->out * pass->fold->out_bytes;
    pass->fold->finish(block, u->width, out, u->out_step, pass->divisor);
}

static void run_units(void *context, int64_t begin, int64_t end)
{
    const job *j = context;
    _Alignas(64) unsigned char block[CEBUS_FOLD_WIDTH * CEBUS_FOLD_BYTES];
    for (int64_t i = begin; i < end; i++) {
        unit u = find_unit(j->reduction, i);
        begin_unit(j->pass, &u, block);
        fold_range(j->reduction, j->pass, &u, block, 0, j->reduction->count);
        finish_unit(j->pass, &u, block);
    }
}

static void run_slices(void *context, int64_t begin, int64_t end)
{
    const job *j = context;
    const cebus_reduction *r = j->reduction;
    for (int64_t i = begin; i < end; i++) {
        unit u = find_unit(r, i / r->slices);
        int64_t slice = i % r->slices;
        void *block = (char *)j->pass->workspace + i * r->block_bytes;
        begin_unit(j->pass, &u, block);
        fold_range(r, j->pass, &u, block, r->count * slice / r->slices,
                   r->count * (slice + 1) / r->slices);
    }
}

static void merge_slices(const cebus_reduction *r, const cebus_reduction_pass *pass)
{
    for (int64_t i = 0; i < r->units; i++) {
        unit u = find_unit(r, i);
        char *block = (char *)pass->workspace + i * r->slices * r->block_bytes;
        for (int64_t s = 1; s < r->slices; s++)
            pass->fold->merge(block, u.width, block + s * r->block_bytes);
        finish_unit(pass, &u, block);
    }
}

void cebus_reduction_run(const cebus_reduction *r, const cebus_reduction_pass *pass)
{
    job j = {r, pass};
    int64_t tasks = r->units * r->slices;
    if (r->outputs == 0)
        return;
    int64_t elements = r->outputs * r->count / tasks;
    int64_t grain = elements >= CEBUS_GRAIN ? 1 : CEBUS_GRAIN / (elements + 1) + 1;
    if (r->slices > 1) {
        cebus_parallel_for(pass->threads, tasks, grain, run_slices, &j);
        merge_slices(r, pass);
    } else {
        cebus_parallel_for(pass->threads, tasks, grain, run_units, &j);
    }
}
