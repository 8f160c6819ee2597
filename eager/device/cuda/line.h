/**
 * line.h: arrays cut into lines along one dimension, as softmax and the losses read them. Where a
 * line's elements lie side by side a block shares it; else each thread has a line of its own, and
 * neighbouring threads neighbouring lines. Which of both, and the size of a block, follow from
 * shapes and strides.
 */
#ifndef CEBUS_EAGER_DEVICE_CUDA_LINE_H
#define CEBUS_EAGER_DEVICE_CUDA_LINE_H

#include "eager/device/cuda/walk.h"
#include "eager/device/elementwise.h"

typedef struct cebus_line_job {
    cebus_walk lines; /**< of up to four arrays, without the dimension of the lines */
    int64_t n;        /**< of a line */
    int64_t step[CEBUS_WALK_ARRAYS];
    cebus_cells cells[CEBUS_WALK_ARRAYS];
    bool shared; /**< a block shares a line */
} cebus_line_job;

/** `view` without dimension `dim`, if it has one. */
static inline cebus_view cebus_view_drop(const cebus_view *view, int dim)
{
    cebus_view out = *view;
    for (int d = dim; d + 1 < view->ndim; d++) {
        out.shape[d] = view->shape[d + 1];
        out.strides[d] = view->strides[d + 1];
    }
    out.ndim -= view->ndim > 0;
    return out;
}

/** Lines along `dim` of `n_full` arrays of one shape, and beside them arrays of one element a line,
 * in the shape without `dim`. The order is that of the first array. */
static inline cebus_line_job cebus_line_plan(int n, const cebus_array *const *arrays, int n_full,
                                             int dim)
{
    cebus_line_job job = {};
    cebus_view views[CEBUS_WALK_ARRAYS];
    const cebus_view *pointers[CEBUS_WALK_ARRAYS] = {&views[0], &views[1], &views[2], &views[3]};
    const cebus_view *first = arrays[0]->view;
    job.n = first->ndim > 0 ? first->shape[dim] : 1;
    for (int i = 0; i < n; i++) {
        const cebus_view *view = arrays[i]->view;
        job.cells[i] = cebus_cells_of(arrays[i]);
        if (i < n_full) {
            job.step[i] = view->ndim > 0 && job.n > 1 ? view->strides[dim] : 1;
            views[i] = cebus_view_drop(view, dim);
        } else {
            views[i] = cebus_view_as(view, &views[0]);
        }
    }
    job.lines = cebus_walk_of(n, pointers);
    job.shared = job.n > 8 && (job.step[0] == 1 || job.lines.numel < 64);
    return job;
}

/** Runs a pair of kernels: [0] a thread for each line, [1] a block. */
template <class P>
static inline void cebus_line_run(const cebus_launch *launch, void (*const kernels[2])(P),
                                  const cebus_line_job *job, const P &params)
{
    if (job->shared)
        cebus_grid_run(launch, kernels[1], cebus_grid_teams(job->lines.numel),
                       cebus_grid_team(job->n), params);
    else
        cebus_grid_run(launch, kernels[0], cebus_grid_blocks(job->lines.numel), CEBUS_GRID_THREADS,
                       params);
}

/** A thread's lines, and its elements of each. */
template <bool shared> CEBUS_DEVICE int64_t cebus_line_first(void)
{
    return shared ? cebus_block() : cebus_grid_first();
}
template <bool shared> CEBUS_DEVICE int64_t cebus_line_next(void)
{
    return shared ? cebus_blocks() : cebus_grid_step();
}
template <bool shared> CEBUS_DEVICE int64_t cebus_line_begin(void)
{
    return shared ? (int64_t)cebus_thread() * CEBUS_PACK : 0;
}
template <bool shared> CEBUS_DEVICE int64_t cebus_line_step(void)
{
    return (shared ? (int64_t)cebus_threads() : 1) * CEBUS_PACK;
}
CEBUS_DEVICE int cebus_line_pack(int64_t n, int64_t i)
{
    return n - i < CEBUS_PACK ? (int)(n - i) : CEBUS_PACK;
}
template <bool shared> CEBUS_DEVICE bool cebus_line_writes(void)
{
    return !shared || cebus_thread() == 0;
}
/** The parts of a line's threads, folded. */
template <bool shared, class F, class A> CEBUS_DEVICE A cebus_line_fold(A mine)
{
    return shared ? cebus_block_fold<F>(mine) : mine;
}

CEBUS_DEVICE float cebus_line_exp(float x)
{
    return cebus_exp_f32(x);
}
CEBUS_DEVICE double cebus_line_exp(double x)
{
    return cebus_exp_f64(x);
}

/** The largest element so far, and the sum of the exponentials of all, measured from it (M.
 * Milakov, N. Gimelshein, Online normalizer calculation for softmax, 2018). */
template <class T> struct cebus_line_total {
    T largest;
    double sum;
};

template <class T> CEBUS_DEVICE double cebus_line_scale(T from, T to)
{
    return from == to ? 1.0 : (double)cebus_line_exp(from - to);
}

struct cebus_line_joins {
    template <class T> CEBUS_DEVICE void merge(cebus_line_total<T> *into, cebus_line_total<T> later)
    {
        T largest = into->largest > later.largest ? into->largest : later.largest;
        into->sum = into->sum * cebus_line_scale(into->largest, largest) +
                    later.sum * cebus_line_scale(later.largest, largest);
        into->largest = largest;
    }
};

/** Of a pack. Minus infinity alone adds nothing; a NaN makes the sum one. */
template <class T> CEBUS_DEVICE void cebus_line_add(cebus_line_total<T> *total, const T *x, int n)
{
    T largest = total->largest, sum = 0;
    CEBUS_UNROLL
    for (int k = 0; k < CEBUS_PACK; k++)
        largest = k < n && x[k] > largest ? x[k] : largest;
    bool nothing = largest == -(T)INFINITY;
    CEBUS_UNROLL
    for (int k = 0; k < CEBUS_PACK; k++)
        if (k < n && !(nothing && x[k] == x[k]))
            sum += cebus_line_exp(x[k] - largest);
    total->sum = total->sum * cebus_line_scale(total->largest, largest) + (double)sum;
    total->largest = largest;
}

/** Of a whole line of array `i`, at `at`. */
template <class T, bool shared>
CEBUS_DEVICE cebus_line_total<T> cebus_line_normalizer(const cebus_line_job *job, int i, int64_t at)
{
    cebus_line_total<T> total = {-(T)INFINITY, 0};
    for (int64_t k = cebus_line_begin<shared>(); k < job->n; k += cebus_line_step<shared>()) {
        T x[CEBUS_PACK] = {};
        int n = cebus_line_pack(job->n, k);
        cebus_lane<T>::load(x, job->cells[i], at + k * job->step[i], job->step[i], n);
        cebus_line_add(&total, x, n);
    }
    return cebus_line_fold<shared, cebus_line_joins>(total);
}

#endif
