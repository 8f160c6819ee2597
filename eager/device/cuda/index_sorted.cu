/* Adding at indices that are sorted first (index.h). */
#include "eager/device/cuda/index.h"
#include "eager/device/cuda/sort.h"

/** Fewer indices are gone through in order. */
#define LEAST 64

typedef struct sorted_job {
    cebus_index_job job;
    uint32_t *keys, *places;
    int64_t n;
    int pack;
    int64_t packs; /* of the own elements */
} sorted_job;

/** What is left out comes last. */
CEBUS_KERNEL keys_kernel(const sorted_job p)
{
    for (int64_t i = cebus_grid_first(); i < p.n; i += cebus_grid_step()) {
        int64_t at[2];
        cebus_walk_locate<2>(&p.job.depth, i, at);
        int64_t index = cebus_index_at(&p.job, at[1]);
        p.keys[i] = (uint32_t)(index < 0 ? p.job.length : index);
        p.places[i] = (uint32_t)i;
    }
}

/** Own elements [own, own + n) of the table's row `key`: adds all rows from slot `slot` on. */
template <class T>
CEBUS_DEVICE void add_segment(const sorted_job *p, int64_t slot, uint32_t key, int64_t own, int n)
{
    const cebus_walk *w = &p->job.own;
    while (n > 0) {
        int64_t at[2], from[1];
        T sum[CEBUS_PACK] = {}, row[CEBUS_PACK] = {};
        int64_t run = cebus_walk_locate<2>(w, own, at);
        int some = run < n ? (int)run : n;
        int64_t to = at[0] + (int64_t)key * p->job.pick;
        cebus_lane<T>::load(sum, p->job.table, to, w->step[0], some);
        for (int64_t i = slot; i < p->n && p->keys[i] == key; i++) {
            cebus_walk_locate<1>(&p->job.depth, p->places[i], from);
            cebus_lane<T>::load(row, p->job.rows, from[0] + at[1], w->step[1], some);
            CEBUS_UNROLL
            for (int k = 0; k < CEBUS_PACK; k++)
                sum[k] += row[k];
        }
        cebus_lane<T>::store(sum, p->job.table, to, w->step[0], some);
        own += some;
        n -= some;
    }
}

/** The first slot of each key makes its row of the table. */
template <class T> CEBUS_KERNEL segments_kernel(const sorted_job p)
{
    for (int64_t t = cebus_grid_first(); t < p.n * p.packs; t += cebus_grid_step()) {
        int64_t slot = t / p.packs, own = t % p.packs * p.pack;
        uint32_t key = p.keys[slot];
        if (key == (uint32_t)p.job.length || (slot > 0 && p.keys[slot - 1] == key))
            continue;
        int64_t left = p.job.own.numel - own;
        add_segment<T>(&p, slot, key, own, left < p.pack ? (int)left : p.pack);
    }
}

bool cebus_index_sorts(const cebus_index_job *job, uint64_t *out_bytes)
{
    int64_t n = job->depth.numel;
    *out_bytes = 0;
    if (n < LEAST || n >= INT32_MAX || job->length >= INT32_MAX)
        return false;
    if (job->own.numel != 1) {
        if (job->own.step[2] != 0)
            return false;
        for (int d = 0; d < job->own.ndim; d++)
            if (job->own.strides[2][d] != 0)
                return false;
    }
    cebus_sort_plan(n, NULL, out_bytes);
    return true;
}

void cebus_index_add_sorted(const cebus_launch *launch, const cebus_index_job *job, char *workspace)
{
    uint64_t bytes;
    cebus_sort sort = cebus_sort_plan(job->depth.numel, workspace, &bytes);
    sorted_job p = {};
    p.job = *job;
    p.keys = sort.keys;
    p.places = sort.places;
    p.n = sort.n;
    p.pack = job->own.numel >= CEBUS_PACK ? CEBUS_PACK : 1;
    p.packs = (job->own.numel + p.pack - 1) / p.pack;
    cebus_grid_run(launch, keys_kernel, cebus_grid_blocks(p.n), CEBUS_GRID_THREADS, p);
    cebus_sort_run(launch, &sort, (uint32_t)job->length);
    p.keys = sort.keys;
    p.places = sort.places;
    static void (*const kernels[])(sorted_job) = {segments_kernel<float>, segments_kernel<double>,
                                                  segments_kernel<int64_t>};
    cebus_grid_run(launch, kernels[cebus_lane_number(job->table.dtype)],
                   cebus_grid_blocks(p.n * p.packs), CEBUS_GRID_THREADS, p);
}
