/**
 * channel.h: images mapped channel by channel, what batch and group norm end with: each element by
 * a few coefficients of its channel (or of a sample's channel).
 */
#ifndef CEBUS_EAGER_DEVICE_CUDA_CHANNEL_H
#define CEBUS_EAGER_DEVICE_CUDA_CHANNEL_H

#include "eager/device/cuda/vector.h"
#include "eager/device/cuda/walk.h"

/** What each formula makes of them is its own business. They are read together. */
template <class T> struct alignas(4 * sizeof(T)) cebus_coefficients {
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

/* --- images without gaps ------------------------------------------------------------------- */

/** Coefficients of the plane that element `i` is in; *left: elements of it from there on. */
template <class T>
CEBUS_DEVICE const cebus_coefficients<T> *cebus_channel_plane(const cebus_channel_job *p,
                                                              uint32_t i, uint32_t *left)
{
    uint32_t plane = cebus_divide(i, p->walk.run_divisor), c = plane;
    *left = p->walk.run_divisor.value - (i - plane * p->walk.run_divisor.value);
    if (p->walk.ndim > 1)
        c -= cebus_divide(c, p->walk.divisor[1]) * p->walk.divisor[1].value;
    return (const cebus_coefficients<T> *)p->coefficients + c;
}

/** Coefficients of the plane behind it; `i`: where that begins. */
template <class T>
CEBUS_DEVICE const cebus_coefficients<T> *cebus_channel_behind(const cebus_channel_job *p,
                                                               uint32_t i)
{
    uint32_t left;
    return cebus_channel_plane<T>(p, i < p->walk.numel ? i : 0, &left);
}

/** The element `at` alone. */
template <class F, cebus_dtype D, bool grads>
CEBUS_DEVICE void cebus_channel_one(const cebus_channel_job *p, uint32_t at)
{
    typedef typename cebus_vector<D>::lane T;
    T x = cebus_vector<D>::get(p->x.data, at);
    T g = grads ? cebus_vector<D>::get(p->g.data, at) : (T)0;
    uint32_t left;
    const cebus_coefficients<T> *k = cebus_channel_plane<T>(p, at, &left);
    cebus_vector<D>::set(p->out.data, at, F::of(x, g, *k));
}

/** Images whose planes lie one after another, of which no vector has parts of three. */
template <class F, cebus_dtype D, bool grads>
CEBUS_KERNEL cebus_channel_planes(const cebus_channel_job p)
{
    typedef typename cebus_vector<D>::lane T;
    enum {
        length = cebus_vector<D>::length
    };
    const uint32_t numel = (uint32_t)p.walk.numel, vectors = numel / length;
    for (int64_t q = cebus_grid_first(); q < vectors; q += cebus_grid_step()) {
        uint32_t at = (uint32_t)q * length, left;
        T x[length], g[length] = {};
        cebus_vector<D>::read(x, p.x.data, at);
        if (grads)
            cebus_vector<D>::read(g, p.g.data, at);
        cebus_coefficients<T> here = *cebus_channel_plane<T>(&p, at, &left), next = here;
        if (left < length)
            next = *cebus_channel_behind<T>(&p, at + left);
        CEBUS_UNROLL
        for (int j = 0; j < length; j++)
            x[j] = F::of(x[j], g[j], (uint32_t)j < left ? here : next);
        cebus_vector<D>::write(x, p.out.data, at);
    }
    for (int64_t i = (int64_t)vectors * length + cebus_grid_first(); i < numel;
         i += cebus_grid_step())
        cebus_channel_one<F, D, grads>(&p, (uint32_t)i);
}

/** The coefficients of `n` channels from c on. */
template <class T>
CEBUS_DEVICE void cebus_channel_get(const cebus_channel_job *p, int64_t c, int n,
                                    cebus_coefficients<T> *to)
{
    const cebus_coefficients<T> *from = (const cebus_coefficients<T> *)p->coefficients + c;
    CEBUS_UNROLL
    for (int j = 0; j < n; j++)
        to[j] = from[j];
}

/** Images whose channels lie side by side, in whole vectors. The step of the grid is a multiple of
 * a pixel, so that a thread's channels stay. */
template <class F, cebus_dtype D, bool grads>
CEBUS_KERNEL cebus_channel_pixels(const cebus_channel_job p)
{
    typedef typename cebus_vector<D>::lane T;
    enum {
        length = cebus_vector<D>::length
    };
    const int64_t vectors = p.walk.numel / length, pixel = p.walk.run / length;
    const int64_t step = cebus_grid_step();
    const bool stays = step % pixel == 0;
    cebus_coefficients<T> k[length];
    for (int64_t q = cebus_grid_first(), first = q; q < vectors; q += 2 * step) {
        T x[2][length], g[2][length] = {};
        CEBUS_UNROLL
        for (int i = 0; i < 2; i++) { /* both are on their way */
            int64_t at = (q + i * step < vectors ? q + i * step : q) * length;
            cebus_vector<D>::read(x[i], p.x.data, at);
            if (grads)
                cebus_vector<D>::read(g[i], p.g.data, at);
        }
        CEBUS_UNROLL
        for (int i = 0; i < 2; i++) {
            int64_t vector = q + i * step;
            if (vector == first || !stays)
                cebus_channel_get(&p, vector % pixel * length, length, k);
            CEBUS_UNROLL
            for (int j = 0; j < length; j++)
                x[i][j] = F::of(x[i][j], g[i][j], k[j]);
            if (vector < vectors)
                cebus_vector<D>::write(x[i], p.out.data, vector * length);
        }
    }
}

/** Whether out, x and g lie in one order without gaps, in one type, from a multiple of 16 bytes on,
 * and the coefficients follow the planes or the channels in it. */
static inline bool cebus_channel_is_dense(const cebus_channel_job *p, int length)
{
    const cebus_walk *w = &p->walk;
    const cebus_cells all[] = {p->out, p->x, p->g};
    if (w->wide || w->run < length)
        return false;
    for (int i = 0; i < 3; i++) {
        int64_t inside = w->run;
        if (w->step[i] != 1 || all[i].dtype != p->out.dtype || !cebus_vector_fits(all[i]))
            return false;
        for (int d = w->ndim - 1; d >= 0; inside *= w->shape[d--])
            if (w->strides[i][d] != inside)
                return false;
    }
    const int64_t *of = w->strides[3];
    bool repeats = true; /* over all but the last dimension */
    for (int d = 0; d + 1 < w->ndim; d++)
        repeats = repeats && of[d] == 0;
    if (w->step[3] == 1)
        return w->run % length == 0 && repeats && (w->ndim == 0 || of[w->ndim - 1] == 0);
    return w->step[3] == 0 && w->ndim <= 2 && repeats && (w->ndim == 0 || of[w->ndim - 1] == 1);
}

template <class F, cebus_dtype D>
static void cebus_channel_launch(const cebus_launch *launch, const cebus_channel_job *p, bool grads)
{
    int64_t length = cebus_vector<D>::length, pixel = p->walk.run / length;
    int64_t blocks = cebus_grid_blocks(p->walk.numel / length + 1);
    if (p->walk.step[3] == 0) {
        cebus_grid_run(launch,
                       grads ? cebus_channel_planes<F, D, true> : cebus_channel_planes<F, D, false>,
                       blocks, CEBUS_GRID_THREADS, *p);
        return;
    }
    int64_t whole = 1; /* blocks whose threads are a multiple of a pixel */
    while (whole < blocks && whole * CEBUS_GRID_THREADS % pixel != 0)
        whole++;
    blocks = (blocks + whole - 1) / whole * whole;
    cebus_grid_run(launch,
                   grads ? cebus_channel_pixels<F, D, true> : cebus_channel_pixels<F, D, false>,
                   blocks, CEBUS_GRID_THREADS, *p);
}

/** Runs the job if it is of such images; their elements have the same bits either way. */
template <class F>
static bool cebus_channel_run_dense(const cebus_launch *launch, const cebus_channel_job *p,
                                    bool grads)
{
    static void (*const runs[])(const cebus_launch *, const cebus_channel_job *, bool) = {
        cebus_channel_launch<F, CEBUS_F32>, cebus_channel_launch<F, CEBUS_F16>,
        cebus_channel_launch<F, CEBUS_BF16>};
    int number = cebus_vector_number(p->out.dtype);
    if (number < 0 || !cebus_channel_is_dense(p, number == 0 ? 4 : 8))
        return false;
    runs[number](launch, p, grads);
    return true;
}

/* --- any images ---------------------------------------------------------------------------- */

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
    if constexpr (sizeof(T) == sizeof(float)) {
        if (cebus_channel_run_dense<F>(launch, &p, g != NULL))
            return;
    }
    if (g != NULL)
        cebus_grid_run(launch, cebus_channel_kernel<F, T, true>, blocks, CEBUS_GRID_THREADS, p);
    else
        cebus_grid_run(launch, cebus_channel_kernel<F, T, false>, blocks, CEBUS_GRID_THREADS, p);
}

#endif
