/**
 * lines.h: a dense array cut into the lines along one dimension, as softmax and the losses read
 * it: elements (o, r, i) of [outer, n, inner], line (o, i) running over r. Lines that lie side by
 * side (inner > 1) are taken together, up to CEBUS_FOLD_WIDTH at a time: a tile.
 */
#ifndef CEBUS_EAGER_DEVICE_CPU_LINES_H
#define CEBUS_EAGER_DEVICE_CPU_LINES_H

#include "eager/device/cpu/fold.h"
#include "eager/device/cpu/parallel.h"
#include "layout/clones.h"

typedef struct cebus_lines {
    int64_t outer, n, inner;
    int64_t tiles; /**< in all */
} cebus_lines;

typedef struct cebus_tile {
    int64_t offset; /**< of its first element */
    int64_t line;   /**< number of its first line, o * inner + i */
    int64_t width;  /**< lines */
} cebus_tile;

/** Lines of a dense view along `dim`; of a 0-d view its one element. */
cebus_lines cebus_lines_of(const cebus_view *dense, int dim);
cebus_tile cebus_lines_tile(const cebus_lines *lines, int64_t index);

/** Folds each line of a tile of `x` into out[0..width). `centers` (NULL: 0) has as many. */
void cebus_lines_fold(const cebus_lines *lines, const cebus_tile *tile, const cebus_fold *fold,
                      const void *x, const void *centers, void *out);

/** Room for one value of either float type for each line of a tile. */
typedef union cebus_line_values {
    float f32[CEBUS_FOLD_WIDTH];
    double f64[CEBUS_FOLD_WIDTH];
} cebus_line_values;

/**
 * One pass over a tile, y = f(y, a, b, p, q, r, c): y, a and b lie like the lines (and start where
 * they do); p, q and r hold one value for each line of the tile; c is a constant. What f does not
 * use may be NULL.
 */
typedef struct cebus_line_map {
    const cebus_lines *lines;
    const cebus_tile *tile;
    void *y;
    const void *a, *b;
    const void *p, *q, *r;
    double c;
} cebus_line_map;

/** Defines a function that makes such a pass; EXPRESSION is a macro of f's seven arguments. */
#define CEBUS_LINE_MAP(name, T, EXPRESSION)                                                        \
    CEBUS_CLONES                                                                                   \
    static void name(const cebus_line_map *m)                                                      \
    {                                                                                              \
        T *restrict y = (T *)m->y + m->tile->offset;                                               \
        const T *restrict a = (const T *)(m->a != NULL ? m->a : m->y) + m->tile->offset;           \
        const T *restrict b = (const T *)(m->b != NULL ? m->b : m->y) + m->tile->offset;           \
        const T *restrict p = m->p, *restrict q = m->q, *restrict r = m->r;                        \
        T c = (T)m->c;                                                                             \
        int64_t n = m->lines->n, inner = m->lines->inner, width = m->tile->width;                  \
        if (inner == 1) {                                                                          \
            T p0 = p != NULL ? *p : 0, q0 = q != NULL ? *q : 0, r0 = r != NULL ? *r : 0;           \
            for (int64_t i = 0; i < n; i++)                                                        \
                y[i] = EXPRESSION(y[i], a[i], b[i], p0, q0, r0, c);                                \
            (void)p0, (void)q0, (void)r0;                                                          \
        } else {                                                                                   \
            for (int64_t k = 0; k < n; k++, y += inner, a += inner, b += inner) {                  \
                for (int64_t i = 0; i < width; i++)                                                \
                    y[i] = EXPRESSION(y[i], a[i], b[i], p[i], q[i], r[i], c);                      \
            }                                                                                      \
        }                                                                                          \
        (void)c;                                                                                   \
    }

/** Runs `body` over ranges of tiles. */
void cebus_lines_run(const cebus_lines *lines, int threads, cebus_range_fn body, void *context);

#endif
