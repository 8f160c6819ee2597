#include "eager/device/cuda/blas.h"

cebus_status cebus_cuda_blas_run_all(cebus_cuda *cuda, const char *op,
                                     const cebus_cuda_blas_batch *batch)
{
    const cebus_cuda_product *product = batch->product;
    const int64_t size = (int64_t)cebus_dtype_size((cebus_dtype)product->gemm.dtype);
    const int64_t result = (int64_t)cebus_dtype_size((cebus_dtype)product->gemm.result);
    const int64_t calls = cebus_cuda_product_calls(product);
    cebus_status status = CEBUS_OK;
    for (int64_t i = 0; i < calls && status == CEBUS_OK; i++) {
        const cebus_cuda_place at = cebus_cuda_product_place(product, i);
        const cebus_cuda_blas_call call = {
            .gemm = &product->gemm,
            .alpha = batch->alpha,
            .a = (const char *)batch->a + at.a * size,
            .b = (const char *)batch->b + at.b * size,
            .c = (char *)batch->c + at.c * result,
            .bias = batch->bias,
            .workspace = batch->workspace,
        };
        status = cebus_cuda_blas_run(cuda, op, &call);
    }
    return status;
}
