/* A stable radix sort (sort.h). */
#include "eager/device/cuda/sort.h"

#include "eager/device/cuda/copy.h"
#include "eager/device/cuda/grid.h"

#define BITS 4
#define DIGITS 16
#define SCAN_THREADS 512

/** One pass. counts[digit][worker]: how often the worker's stretch has the digit; after the scan,
 * where its first one goes. */
typedef struct sort_pass {
    const uint32_t *keys, *places;
    uint32_t *to_keys, *to_places, *counts;
    int64_t n, stretch, workers;
    int shift;
} sort_pass;

CEBUS_DEVICE int digit_of(const sort_pass *p, uint32_t key)
{
    return (int)(key >> p->shift) & (DIGITS - 1);
}

CEBUS_KERNEL count_kernel(const sort_pass p)
{
    for (int64_t w = cebus_grid_first(); w < p.workers; w += cebus_grid_step()) {
        uint32_t counts[DIGITS] = {0};
        int64_t end = (w + 1) * p.stretch < p.n ? (w + 1) * p.stretch : p.n;
        for (int64_t i = w * p.stretch; i < end; i++)
            counts[digit_of(&p, p.keys[i])]++;
        for (int d = 0; d < DIGITS; d++)
            p.counts[d * p.workers + w] = counts[d];
    }
}

/** Each count becomes the sum of all before it; one block, in which each thread has a stretch. */
CEBUS_KERNEL scan_kernel(const sort_pass p)
{
    CEBUS_SHARED(uint32_t, sums, SCAN_THREADS);
    int t = cebus_thread(), threads = cebus_threads();
    int64_t n = DIGITS * p.workers, begin = n * t / threads, end = n * (t + 1) / threads;
    uint32_t sum = 0;
    for (int64_t i = begin; i < end; i++)
        sum += p.counts[i];
    sums[t] = sum;
    cebus_sync();
    for (int delta = 1; delta < threads; delta *= 2) {
        uint32_t before = t >= delta ? sums[t - delta] : 0;
        cebus_sync();
        sums[t] += before;
        cebus_sync();
    }
    uint32_t total = sums[t] - sum;
    for (int64_t i = begin; i < end; i++) {
        uint32_t count = p.counts[i];
        p.counts[i] = total;
        total += count;
    }
}

CEBUS_KERNEL scatter_kernel(const sort_pass p)
{
    for (int64_t w = cebus_grid_first(); w < p.workers; w += cebus_grid_step()) {
        uint32_t next[DIGITS];
        int64_t end = (w + 1) * p.stretch < p.n ? (w + 1) * p.stretch : p.n;
        for (int d = 0; d < DIGITS; d++)
            next[d] = p.counts[d * p.workers + w];
        for (int64_t i = w * p.stretch; i < end; i++) {
            uint32_t to = next[digit_of(&p, p.keys[i])]++;
            p.to_keys[to] = p.keys[i];
            p.to_places[to] = p.places[i];
        }
    }
}

cebus_sort cebus_sort_plan(int64_t n, char *workspace, uint64_t *out_bytes)
{
    uint64_t list = cebus_cuda_round((uint64_t)n * sizeof(uint32_t));
    cebus_sort sort = {};
    sort.n = n;
    sort.stretch = (n + 8191) / 8192;
    sort.stretch = sort.stretch < 16 ? 16 : sort.stretch;
    sort.workers = (n + sort.stretch - 1) / sort.stretch;
    *out_bytes = 4 * list + cebus_cuda_round((uint64_t)sort.workers * DIGITS * sizeof(uint32_t));
    if (workspace == NULL)
        return sort;
    sort.keys = (uint32_t *)workspace;
    sort.places = (uint32_t *)(workspace + list);
    sort.other_keys = (uint32_t *)(workspace + 2 * list);
    sort.other_places = (uint32_t *)(workspace + 3 * list);
    sort.counts = (uint32_t *)(workspace + 4 * list);
    return sort;
}

void cebus_sort_run(const cebus_launch *launch, cebus_sort *sort, uint32_t limit)
{
    for (int shift = 0; shift < 32 && (limit >> shift) > 0; shift += BITS) {
        sort_pass p = {sort->keys,         sort->places,  sort->other_keys,
                       sort->other_places, sort->counts,  sort->n,
                       sort->stretch,      sort->workers, shift};
        int64_t blocks = cebus_grid_blocks(p.workers);
        cebus_grid_run(launch, count_kernel, blocks, CEBUS_GRID_THREADS, p);
        cebus_grid_run(launch, scan_kernel, 1, SCAN_THREADS, p);
        cebus_grid_run(launch, scatter_kernel, blocks, CEBUS_GRID_THREADS, p);
        sort->other_keys = sort->keys;
        sort->other_places = sort->places;
        sort->keys = p.to_keys;
        sort->places = p.to_places;
    }
}
