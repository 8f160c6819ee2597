#include "eager/device/cpu/parallel.h"

/* Begin of part `i` of `parts`: the first n % parts of them are one longer. */
static int64_t part_begin(int64_t n, int64_t parts, int64_t i)
{
    int64_t rest = n % parts;
    return n / parts * i + (i < rest ? i : rest);
}

void cebus_parallel_for(int threads, int64_t n, int64_t grain, cebus_range_fn body, void *context)
{
    if (n <= 0)
        return;
    if (threads <= 1 || n <= grain) {
        body(context, 0, n);
        return;
    }
    int64_t wanted = grain > 0 ? (n - 1) / grain + 1 : n;
    int parts = wanted < threads ? (int)wanted : threads;
#ifdef _OPENMP
#pragma omp parallel for num_threads(parts) schedule(static, 1)
#endif
    for (int i = 0; i < parts; i++)
        body(context, part_begin(n, parts, i), part_begin(n, parts, i + 1));
}
