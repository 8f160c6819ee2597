#include "eager/device/cuda/bias.h"

#include "eager/device/cuda/lane.h"

typedef struct bias_job {
    cebus_cells rows, bias;
    int64_t numel, columns, stride;
} bias_job;

template <class T> CEBUS_KERNEL bias_kernel(const bias_job p)
{
    for (int64_t i = cebus_grid_first(); i < p.numel; i += cebus_grid_step()) {
        const T bias = cebus_lane<T>::get(p.bias, i % p.columns * p.stride);
        cebus_lane<T>::set(p.rows, i, cebus_lane<T>::get(p.rows, i) + bias);
    }
}

cebus_status cebus_cuda_add_bias(const cebus_launch *launch, const char *op, void *data,
                                 int64_t rows, const cebus_array *bias)
{
    bias_job p = {};
    p.bias = cebus_cells_of(bias);
    p.rows = (cebus_cells){(char *)data, p.bias.dtype};
    p.columns = bias->view->shape[0];
    p.stride = bias->view->strides[0];
    p.numel = rows * p.columns;
    cebus_grid_run(launch, p.bias.dtype == CEBUS_F64 ? bias_kernel<double> : bias_kernel<float>,
                   cebus_grid_blocks(p.numel), CEBUS_GRID_THREADS, p);
    return cebus_cuda_launched(op);
}
