/**
 * channel.h: images mapped channel by channel, what batch and group norm end with: each element by
 * a few coefficients of its channel (or of a sample's channel).
 */
#ifndef CEBUS_EAGER_DEVICE_CUDA_CHANNEL_H
#define CEBUS_EAGER_DEVICE_CUDA_CHANNEL_H

#include "eager/device/cuda/walk.h"

/** What each formula makes of them is its own business. */
template <class T> struct cebus_coefficients {
    T a, b, c, d;
};

typedef struct cebus_channel_job {
    cebus_walk walk; /**< of out, x, g, the coefficients */
    cebus_cells out, x, g;
    const void *coefficients;
    int pack;
} cebus_channel_job;

/** F: T of(T x, T g, cebus_coefficients<T> k); `grads`: g is read. */
template <class F, class T, bool grads>
CEBUS_DEVICE void cebus_channel_some(const cebus_channel_job *p, const int64_t *at, int n)
{
    const cebus_coefficients<T> *k = (const cebus_coefficients<T> *)p->coefficients + at[3];
    T x[CEBUS_PACK] = {}, g[CEBUS_PACK] = {};
    cebus_lane<T>::load(x, p->x, at[1], p->walk.step[1], n);
    if (grads)
        cebus_lane<T>::load(g, p->g, at[2], p->walk.step[2], n);
    if (p->walk.step[3] == 0) {
        cebus_coefficients<T> all = *k;
        CEBUS_UNROLL
        for (int j = 0; j < CEBUS_PACK; j++)
            x[j] = F::of(x[j], g[j], all);
    } else {
        CEBUS_UNROLL
        for (int j = 0; j < CEBUS_PACK; j++)
            if (j < n)
                x[j] = F::of(x[j], g[j], k[j * p->walk.step[3]]);
    }
    cebus_lane<T>::store(x, p->out, at[0], p->walk.step[0], n);
}

template <class F, class T, bool grads> CEBUS_KERNEL cebus_channel_kernel(const cebus_channel_job p)
{
    int64_t at[4], end = p.walk.numel;
    for (int64_t i = cebus_grid_first() * p.pack; i < end; i += cebus_grid_step() * p.pack) {
        int left = (int)(end - i < p.pack ? end - i : p.pack);
        for (int64_t k = i; left > 0;) {
            int64_t run = cebus_walk_locate<4>(&p.walk, k, at);
            int n = run < left ? (int)run : left;
            cebus_channel_some<F, T, grads>(&p, at, n);
            left -= n;
            k += n;
        }
    }
}

/** out := F(x, g, coefficients); `g` NULL: not read. `channels` is the view of the coefficients, in
 * records of T, read in the shape of x. */
template <class F, class T>
static void cebus_channel_run(const cebus_launch *launch, const cebus_array *out,
                              const cebus_array *x, const cebus_array *g,
                              const cebus_array *channels)
{
    const cebus_view *views[] = {out->view, x->view, g != NULL ? g->view : x->view, channels->view};
    cebus_channel_job p = {};
    p.walk = cebus_walk_of(4, views);
    p.out = cebus_cells_of(out);
    p.x = cebus_cells_of(x);
    p.g = cebus_cells_of(g != NULL ? g : x);
    p.coefficients = channels->data;
    p.pack = cebus_walk_pack(p.walk.numel);
    int64_t blocks = cebus_grid_blocks((p.walk.numel + p.pack - 1) / p.pack);
    if (g != NULL)
        cebus_grid_run(launch, cebus_channel_kernel<F, T, true>, blocks, CEBUS_GRID_THREADS, p);
    else
        cebus_grid_run(launch, cebus_channel_kernel<F, T, false>, blocks, CEBUS_GRID_THREADS, p);
}

#endif
