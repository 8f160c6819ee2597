#include "eager/device/cuda/mapped.h"

#include "eager/device/cuda/grid.h"

/** As wide as a thread can move at once. */
typedef struct alignas(16) wide {
    uint64_t low, high;
} wide;

typedef struct mapped_job {
    void *to;
    const void *from;
    int64_t n; /**< elements */
} mapped_job;

template <class T> CEBUS_KERNEL mapped_kernel(const mapped_job p)
{
    for (int64_t i = cebus_grid_first(); i < p.n; i += cebus_grid_step())
        ((T *)p.to)[i] = ((const T *)p.from)[i];
}

template <class T>
static void run(const cebus_launch *launch, void *to, const void *from, uint64_t bytes)
{
    mapped_job p = {};
    p.to = to;
    p.from = from;
    p.n = (int64_t)(bytes / sizeof(T));
    cebus_grid_run(launch, mapped_kernel<T>, cebus_grid_blocks(p.n), CEBUS_GRID_THREADS, p);
}

cebus_status cebus_mapped_copy(cebus_cuda *cuda, void *to, const void *from, uint64_t bytes)
{
    cebus_launch launch = {};
    uint64_t together = (uint64_t)(uintptr_t)to | (uint64_t)(uintptr_t)from | bytes;
    launch.device = cuda;
    if (together % sizeof(wide) == 0)
        run<wide>(&launch, to, from, bytes);
    else if (together % sizeof(uint32_t) == 0)
        run<uint32_t>(&launch, to, from, bytes);
    else
        run<uint8_t>(&launch, to, from, bytes);
    return cebus_cuda_launched("device cuda");
}
