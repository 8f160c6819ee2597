#include "eager/device/cuda/parts.h"

#include "eager/device/cuda/lane.h"

typedef struct parts_job {
    const void *parts;
    cebus_cells out;
    int64_t slices, n;
} parts_job;

template <class T> CEBUS_KERNEL parts_kernel(const parts_job p)
{
    for (int64_t i = cebus_grid_first(); i < p.n; i += cebus_grid_step()) {
        double sum = 0;
        CEBUS_UNROLL
        for (int64_t s = 0; s < p.slices; s++)
            sum += (double)((const T *)p.parts)[s * p.n + i];
        cebus_lane<T>::set(p.out, i, (T)sum);
    }
}

void cebus_cuda_add_parts(const cebus_launch *launch, const void *parts, int64_t slices, void *out,
                          cebus_dtype dtype, int64_t n)
{
    parts_job p = {};
    p.parts = parts;
    p.out = (cebus_cells){(char *)out, dtype};
    p.slices = slices;
    p.n = n;
    cebus_grid_run(launch, dtype == CEBUS_F64 ? parts_kernel<double> : parts_kernel<float>,
                   cebus_grid_blocks(n), CEBUS_GRID_THREADS, p);
}
