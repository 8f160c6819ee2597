/**
 * matmul.c: matrix products over views. Batches whose right operand is one matrix become a single
 * product, their batch dimensions rows of it.
 */
#include "eager/device/cpu/families.h"
#include "eager/device/cpu/gemm_batch.h"
#include "eager/device/cpu/operand.h"
#include "eager/device/cpu/widen.h"

/* Inputs of either op: the result is a b + bias. */
typedef struct factors {
    const cebus_array *a, *b, *bias;
    bool trans_b;
} factors;

typedef struct product {
    cebus_gemm_batch batch;
    cebus_operand a, b;
} product;

static bool one_matrix(const cebus_operand *o, int batch_ndim)
{
    for (int i = 0; i < batch_ndim; i++) {
        if (o->batch_stride[i] != 0)
            return false;
    }
    return true;
}

/* Batch dimensions that continue the rows of A become rows, from the innermost on. */
static void fold_rows(cebus_operand *a, cebus_gemm_batch *batch)
{
    while (batch->ndim > 0) {
        int64_t count = batch->shape[batch->ndim - 1];
        int64_t stride = a->batch_stride[batch->ndim - 1];
        if (a->rows == 1 && stride >= a->cols)
            a->row_stride = stride;
        else if (count != 1 && (a->rows == 1 || stride != a->rows * a->row_stride))
            return;
        a->rows *= count;
        batch->ndim--;
    }
}

static void plan(product *p, const factors *f, const cebus_view *out, cebus_scratch *scratch)
{
    cebus_gemm_batch *batch = &p->batch;
    bool row = f->a->view->ndim == 1, column = f->b->view->ndim == 1;
    *p = (product){.batch.one = {.dtype = out->dtype, .alpha = 1}};
    batch->ndim = out->ndim - !row - !column;
    for (int i = 0; i < batch->ndim; i++)
        batch->shape[i] = out->shape[i];
    p->a = cebus_operand_init(f->a, batch->ndim, scratch);
    p->b = cebus_operand_init(f->b, batch->ndim, scratch);
    cebus_operand a = row ? cebus_operand_transpose(&p->a) : p->a;
    cebus_operand b = f->trans_b ? cebus_operand_transpose(&p->b) : p->b;
    if (cebus_operand_by_rows(&a) && one_matrix(&b, batch->ndim))
        fold_rows(&a, batch);
    for (int i = 0; i < batch->ndim; i++) {
        batch->a_stride[i] = a.batch_stride[i];
        batch->b_stride[i] = b.batch_stride[i];
    }
    cebus_gemm *gemm = &batch->one;
    gemm->a = a.data;
    gemm->b = b.data;
    gemm->m = a.rows;
    gemm->n = b.cols;
    gemm->k = a.cols;
    gemm->ldc = b.cols > 0 ? b.cols : 1;
    cebus_operand_place(&a, &gemm->trans_a, &gemm->lda);
    cebus_operand_place(&b, &gemm->trans_b, &gemm->ldb);
}

static uint64_t product_workspace(const cebus_launch *launch, const factors *f)
{
    product p;
    cebus_scratch scratch = {0};
    plan(&p, f, launch->out[0].view, &scratch);
    return scratch.bytes + cebus_gemm_batch_scratch(&p.batch, launch->threads);
}

static cebus_status product_run(const cebus_launch *launch, const factors *f)
{
    product p;
    cebus_scratch scratch = {.base = launch->workspace};
    if (launch->out[0].data == NULL)
        return CEBUS_OK;
    plan(&p, f, launch->out[0].view, &scratch);
    cebus_operand_copy(&p.a, f->a, launch->threads);
    cebus_operand_copy(&p.b, f->b, launch->threads);
    p.batch.one.c = launch->out[0].data;
    if (f->bias) {
        p.batch.bias = f->bias->data;
        p.batch.bias_stride = f->bias->view->strides[0];
    }
    cebus_gemm_batch_run(&p.batch, launch->threads, cebus_scratch_take(&scratch, 0));
    return CEBUS_OK;
}

/* ---- kernels ----------------------------------------------------------------------------- */

static factors matmul_factors(const cebus_launch *launch)
{
    return (factors){.a = &launch->in[0], .b = &launch->in[1]};
}

static uint64_t matmul_workspace(const cebus_launch *launch)
{
    factors f = matmul_factors(launch);
    return product_workspace(launch, &f);
}

static cebus_status matmul_run(const cebus_launch *launch)
{
    factors f = matmul_factors(launch);
    return product_run(launch, &f);
}

/* x weight^T + bias; an absent bias has no dimensions. */
static factors linear_factors(const cebus_launch *launch)
{
    return (factors){.a = &launch->in[0],
                     .b = &launch->in[1],
                     .bias = launch->in[2].view->ndim == 1 ? &launch->in[2] : NULL,
                     .trans_b = true};
}

static uint64_t linear_workspace(const cebus_launch *launch)
{
    factors f = linear_factors(launch);
    return product_workspace(launch, &f);
}

static cebus_status linear_run(const cebus_launch *launch)
{
    factors f = linear_factors(launch);
    return product_run(launch, &f);
}

#define KERNELS(X)                                                                                 \
    X(matmul, matmul_run, matmul_workspace)                                                        \
    X(linear, linear_run, linear_workspace)
KERNELS(CEBUS_WIDEN)

const cebus_kernel cebus_cpu_matmul[] = {
    KERNELS(CEBUS_WIDENED){NULL, NULL, NULL},
};
