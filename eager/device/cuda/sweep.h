/**
 * sweep.h: one pass over arrays of one shape, element by element: what unary, binary, cast and
 * in-place kernels are made of. The counterpart of eager/device/cpu/sweep.h: an op gives formulas
 * over numbers, the sweep brings strides, broadcasting, narrow types and 16-byte accesses.
 *
 * A formula is a struct
 *
 *     struct F {
 *         typedef float lane;      what inputs are read as
 *         typedef float result;    what the formula gives
 *         enum { inputs = 2, bytes = 0 };   bit i of bytes: input i is a mask, read as 0 or 1
 *         CEBUS_DEVICE float of(const float *v, cebus_sweep_numbers s);
 *     };
 *
 * Each element is computed alone: bits depend on neither strides nor blocks.
 */
#ifndef CEBUS_EAGER_DEVICE_CUDA_SWEEP_H
#define CEBUS_EAGER_DEVICE_CUDA_SWEEP_H

#include "eager/device/cuda/vector.h"
#include "eager/device/cuda/walk.h"

#define CEBUS_SWEEP_INPUTS 3

/** What formulas read of the call's attributes. */
typedef struct cebus_sweep_numbers {
    double a, b;
} cebus_sweep_numbers;

/** A formula `name` of COUNT inputs of type T, after `names` gave v's elements names; R: what it
 * gives. */
#define CEBUS_SWEEP_FORMULA(name, T, R, COUNT, MASKS, names, formula)                              \
    struct name {                                                                                  \
        typedef T lane;                                                                            \
        typedef R result;                                                                          \
        enum {                                                                                     \
            inputs = COUNT,                                                                        \
            bytes = MASKS                                                                          \
        };                                                                                         \
        CEBUS_DEVICE R of(const T *v, cebus_sweep_numbers numbers)                                 \
        {                                                                                          \
            names;                                                                                 \
            (void)numbers;                                                                         \
            return formula;                                                                        \
        }                                                                                          \
    };

typedef struct cebus_sweep {
    cebus_walk walk; /**< of the output, then the inputs */
    cebus_cells out, in[CEBUS_SWEEP_INPUTS];
    cebus_sweep_numbers numbers;
    int pack;
    bool dense; /**< floats of one type, and masks, in one order without gaps, all in whole vectors
                 */
} cebus_sweep;

typedef void (*cebus_sweep_kernel)(cebus_sweep);

/** Up to CEBUS_PACK elements that go on by the walk's steps. */
template <class F>
CEBUS_DEVICE void cebus_sweep_some(const cebus_sweep *p, const int64_t *at, int n)
{
    typename F::lane in[F::inputs][CEBUS_PACK] = {};
    typename F::result out[CEBUS_PACK] = {};
    CEBUS_UNROLL
    for (int i = 0; i < F::inputs; i++) {
        if (F::bytes >> i & 1) {
            uint8_t mask[CEBUS_PACK] = {0};
            cebus_lane<uint8_t>::load(mask, p->in[i], at[1 + i], p->walk.step[1 + i], n);
            for (int k = 0; k < CEBUS_PACK; k++)
                in[i][k] = mask[k] != 0;
        } else {
            cebus_lane<typename F::lane>::load(in[i], p->in[i], at[1 + i], p->walk.step[1 + i], n);
        }
    }
    CEBUS_UNROLL
    for (int k = 0; k < CEBUS_PACK; k++) {
        if (k >= n)
            break;
        typename F::lane v[F::inputs];
        CEBUS_UNROLL
        for (int i = 0; i < F::inputs; i++)
            v[i] = in[i][k];
        out[k] = F::of(v, p->numbers);
    }
    cebus_lane<typename F::result>::store(out, p->out, at[0], p->walk.step[0], n);
}

/* --- arrays without gaps ------------------------------------------------------------------- */

template <cebus_dtype D>
CEBUS_DEVICE void cebus_sweep_read_of(float *to, const char *data, int64_t at)
{
    CEBUS_UNROLL
    for (int k = 0; k < CEBUS_PACK; k += cebus_vector<D>::length)
        cebus_vector<D>::read(to + k, data, at + k);
}

template <cebus_dtype D>
CEBUS_DEVICE void cebus_sweep_write_of(const float *from, char *data, int64_t at)
{
    CEBUS_UNROLL
    for (int k = 0; k < CEBUS_PACK; k += cebus_vector<D>::length)
        cebus_vector<D>::write(from + k, data, at + k);
}

/** CEBUS_PACK elements of the dense array. */
CEBUS_DEVICE void cebus_sweep_read(float *to, cebus_cells from, int64_t at)
{
    if (from.dtype == CEBUS_F32)
        cebus_sweep_read_of<CEBUS_F32>(to, from.data, at);
    else if (from.dtype == CEBUS_F16)
        cebus_sweep_read_of<CEBUS_F16>(to, from.data, at);
    else
        cebus_sweep_read_of<CEBUS_BF16>(to, from.data, at);
}

CEBUS_DEVICE void cebus_sweep_write(const float *from, cebus_cells to, int64_t at)
{
    if (to.dtype == CEBUS_F32)
        cebus_sweep_write_of<CEBUS_F32>(from, to.data, at);
    else if (to.dtype == CEBUS_F16)
        cebus_sweep_write_of<CEBUS_F16>(from, to.data, at);
    else
        cebus_sweep_write_of<CEBUS_BF16>(from, to.data, at);
}

CEBUS_DEVICE void cebus_sweep_read_mask(float *to, cebus_cells from, int64_t at)
{
    uint8_t mask[CEBUS_PACK];
    cebus_pack_read(mask, from.data, at);
    CEBUS_UNROLL
    for (int k = 0; k < CEBUS_PACK; k++)
        to[k] = mask[k] != 0 ? 1.0F : 0.0F;
}

template <class F> CEBUS_DEVICE void cebus_sweep_whole(const cebus_sweep *p, int64_t at)
{
    float in[F::inputs][CEBUS_PACK], out[CEBUS_PACK];
    CEBUS_UNROLL
    for (int i = 0; i < F::inputs; i++) {
        if (F::bytes >> i & 1)
            cebus_sweep_read_mask(in[i], p->in[i], at);
        else
            cebus_sweep_read(in[i], p->in[i], at);
    }
    CEBUS_UNROLL
    for (int k = 0; k < CEBUS_PACK; k++) {
        float v[F::inputs];
        CEBUS_UNROLL
        for (int i = 0; i < F::inputs; i++)
            v[i] = in[i][k];
        out[k] = F::of(v, p->numbers);
    }
    cebus_sweep_write(out, p->out, at);
}

/** Formulas in f32. */
template <class A, class B> struct cebus_sweep_in_f32 {
    enum {
        value = 0
    };
};
template <> struct cebus_sweep_in_f32<float, float> {
    enum {
        value = 1
    };
};

/** Whether `p`, of `n` inputs, of which `bytes` are masks, has no gaps; few elements are not worth
 * it. */
static inline bool cebus_sweep_is_dense(const cebus_sweep *p, int n, uint32_t bytes)
{
    bool dense = p->pack == CEBUS_PACK && p->walk.ndim == 0 && p->walk.step[0] == 1 &&
                 cebus_vector_number(p->out.dtype) >= 0 && cebus_vector_fits(p->out);
    for (int i = 0; i < n; i++) {
        bool mask = bytes >> i & 1;
        dense = dense && p->walk.step[1 + i] == 1 &&
                (mask ? cebus_dtype_size(p->in[i].dtype) == 1 : p->in[i].dtype == p->out.dtype) &&
                cebus_vector_fits(p->in[i]);
    }
    return dense;
}

template <class F> CEBUS_KERNEL cebus_sweep_run(const cebus_sweep p)
{
    int64_t at[1 + F::inputs], end = p.walk.numel, begin = 0;
    if constexpr (cebus_sweep_in_f32<typename F::lane, typename F::result>::value) {
        begin = p.dense ? end / CEBUS_PACK * CEBUS_PACK : 0;
        for (int64_t i = cebus_grid_first() * CEBUS_PACK; i < begin;
             i += cebus_grid_step() * CEBUS_PACK)
            cebus_sweep_whole<F>(&p, i);
    }
    for (int64_t i = begin + cebus_grid_first() * p.pack; i < end;
         i += cebus_grid_step() * p.pack) {
        int left = (int)(end - i < p.pack ? end - i : p.pack);
        for (int64_t k = i; left > 0;) {
            int64_t run = cebus_walk_locate<1 + F::inputs>(&p.walk, k, at);
            int n = run < left ? (int)run : left;
            cebus_sweep_some<F>(&p, at, n);
            left -= n;
            k += n;
        }
    }
}

/** The kernels of an op, by the lane of its inputs; NULL: inference refuses it. */
typedef struct cebus_sweep_kernels {
    cebus_sweep_kernel in[CEBUS_IN_COUNT];
    uint32_t bytes; /**< as the formulas' */
} cebus_sweep_kernels;

/** Runs the sweep over the launch's inputs (broadcast to the output) into its output. */
static inline cebus_status cebus_sweep_launch(const cebus_launch *launch, const char *op,
                                              const cebus_sweep_kernels *kernels,
                                              cebus_sweep_numbers numbers)
{
    const cebus_view *out = launch->out[0].view;
    cebus_view wide[CEBUS_SWEEP_INPUTS];
    const cebus_view *views[1 + CEBUS_SWEEP_INPUTS] = {out};
    cebus_sweep p = {};
    uint32_t first = 0;
    while (first + 1 < launch->n_in && kernels->bytes >> first & 1)
        first++;
    for (uint32_t i = 0; i < launch->n_in; i++) {
        wide[i] = cebus_view_as(launch->in[i].view, out);
        views[1 + i] = &wide[i];
        p.in[i] = cebus_cells_of(&launch->in[i]);
    }
    p.walk = cebus_walk_of(1 + (int)launch->n_in, views);
    p.out = cebus_cells_of(&launch->out[0]);
    p.numbers = numbers;
    p.pack = cebus_walk_pack(p.walk.numel);
    p.dense = cebus_sweep_is_dense(&p, (int)launch->n_in, kernels->bytes);
    cebus_grid_run(launch, kernels->in[cebus_lane_number(launch->in[first].view->dtype)],
                   cebus_grid_blocks((p.walk.numel + p.pack - 1) / p.pack), CEBUS_GRID_THREADS, p);
    return cebus_cuda_launched(op);
}

#endif
