/*
 * matmul.c: matmul and linear by cuBLASLt (blas.h). Inputs are read where they are wherever their
 * strides allow it (product.h); a bias is added in the product's epilogue, or, where cuBLASLt has
 * none for the type, in a pass of its own.
 */
#include "eager/device/cuda/bias.h"
#include "eager/device/cuda/blas.h"
#include "eager/device/cuda/copy.h"
#include "eager/device/cuda/families.h"

/* The result is a b + bias. */
typedef struct job {
    const cebus_launch *launch;
    const char *op;
    cebus_cuda_factors factors;
    const cebus_array *bias; /* NULL: none */
    bool trans_b;
    cebus_cuda_product product;
    cebus_cuda_blas_info info;
    void *bias_copy; /* where the library does not take it as it is */
    bool copies_bias;
    void *workspace; /* of the library */
} job;

static bool is_aligned(const cebus_array *array)
{
    const cebus_view *view = array->view;
    return cebus_cuda_alignment(view->offset, (int64_t)cebus_dtype_size(view->dtype)) ==
           CEBUS_CUDA_USEFUL_ALIGNMENT;
}

/* The inner length, 0 for a sum of nothing. */
static int64_t inner(const job *j)
{
    const cebus_view *a = j->factors.a.array->view;
    return a->shape[a->ndim - 1];
}

static bool is_empty(const job *j)
{
    return cebus_view_numel(j->launch->out[0].view) == 0;
}

static void describe_result(job *j, bool row, bool column)
{
    const cebus_array *out = &j->launch->out[0];
    const cebus_view *a = j->factors.a.array->view, *b = j->factors.b.array->view;
    cebus_cuda_factors *f = &j->factors;
    f->dtype = out->view->dtype;
    f->ndim = out->view->ndim - !row - !column;
    f->c = (cebus_cuda_operand){
        .data = out->data, .col_stride = 1, .align = CEBUS_CUDA_USEFUL_ALIGNMENT};
    f->c.rows = row ? 1 : a->shape[a->ndim - 2];
    f->c.cols = column ? 1 : b->shape[j->trans_b ? b->ndim - 2 : b->ndim - 1];
    f->c.row_stride = f->c.cols;
    int64_t stride = f->c.rows * f->c.cols;
    for (int i = f->ndim - 1; i >= 0; i--) {
        f->shape[i] = out->view->shape[i];
        f->c.batch_stride[i] = stride;
        stride *= f->shape[i];
    }
}

static cebus_status plan(job *j, cebus_cuda_scratch *scratch)
{
    cebus_cuda *cuda = cebus_cuda_of(j->launch);
    cebus_cuda_factors *f = &j->factors;
    const bool row = f->a.array->view->ndim == 1, column = f->b.array->view->ndim == 1;
    describe_result(j, row, column);
    f->a.turned = row;
    f->b.turned = j->trans_b;
    cebus_cuda_product_plan(&j->product, f, scratch);
    j->product.gemm.tf32 = cuda->tf32 && f->dtype == CEBUS_F32;
    j->product.gemm.bias = j->bias != NULL;
    cebus_status status = cebus_cuda_blas_query(cuda, j->op, &j->product.gemm, &j->info);
    if (status != CEBUS_OK)
        return status;
    j->copies_bias = j->info.adds_bias && (j->bias->view->strides[0] != 1 || !is_aligned(j->bias));
    if (j->copies_bias)
        j->bias_copy =
            cebus_cuda_scratch_take(scratch, (uint64_t)f->c.cols * cebus_dtype_size(f->dtype));
    j->workspace = cebus_cuda_scratch_take(scratch, j->info.workspace);
    return CEBUS_OK;
}

/* Fills a dense copy. */
static void copy(const job *j, void *data, const cebus_array *from)
{
    cebus_view dense;
    cebus_view_contiguous(&dense, from->view->dtype, from->view->ndim, from->view->shape);
    const cebus_array to = {.data = data, .view = &dense};
    cebus_cuda_copy(j->launch, &to, from);
}

static cebus_status add_bias(const job *j)
{
    const cebus_array *out = &j->launch->out[0];
    return cebus_cuda_add_bias(j->launch, j->op, out->data,
                               cebus_view_numel(out->view) / j->bias->view->shape[0], j->bias);
}

/* A sum of nothing, and the bias. */
static cebus_status run_empty_sum(const job *j)
{
    cebus_cuda_fill(j->launch, &j->launch->out[0], 0);
    cebus_status status = cebus_cuda_launched(j->op);
    return status == CEBUS_OK && j->bias ? add_bias(j) : status;
}

static cebus_status multiply(const job *j)
{
    const cebus_cuda_factors *f = &j->factors;
    if (f->a.as_stored.copied)
        copy(j, f->a.as_stored.data, f->a.array);
    if (f->b.as_stored.copied)
        copy(j, f->b.as_stored.data, f->b.array);
    if (j->copies_bias)
        copy(j, j->bias_copy, j->bias);
    cebus_status status = cebus_cuda_launched(j->op);
    if (status != CEBUS_OK)
        return status;
    const void *bias = j->bias ? j->bias->data : NULL;
    const cebus_cuda_blas_batch batch = {.product = &j->product,
                                         .alpha = 1,
                                         .a = f->a.as_stored.data,
                                         .b = f->b.as_stored.data,
                                         .c = j->launch->out[0].data,
                                         .bias = j->copies_bias ? j->bias_copy : bias,
                                         .workspace = j->workspace};
    status = cebus_cuda_blas_run_all(cebus_cuda_of(j->launch), j->op, &batch);
    return status == CEBUS_OK && j->bias && !j->info.adds_bias ? add_bias(j) : status;
}

static uint64_t workspace_of(job *j)
{
    cebus_cuda_scratch scratch = {0};
    if (is_empty(j) || inner(j) == 0 || plan(j, &scratch) != CEBUS_OK)
        return 0; /* what fails here is reported by the run */
    return scratch.bytes;
}

static cebus_status run(job *j)
{
    cebus_cuda_scratch scratch = {.base = j->launch->workspace};
    if (j->launch->out[0].data == NULL || is_empty(j))
        return CEBUS_OK;
    if (inner(j) == 0)
        return run_empty_sum(j);
    cebus_status status = plan(j, &scratch);
    if (status == CEBUS_OK)
        status = cebus_cuda_scratch_check(&scratch, j->launch, j->op);
    if (status != CEBUS_OK)
        return status;
    return multiply(j);
}

/* ---- kernels ----------------------------------------------------------------------------- */

static job matmul_job(const cebus_launch *launch)
{
    return (job){.launch = launch,
                 .op = "matmul",
                 .factors = {.a.array = &launch->in[0], .b.array = &launch->in[1]}};
}

/* x weight^T + bias; an absent bias has no dimensions. */
static job linear_job(const cebus_launch *launch)
{
    return (job){.launch = launch,
                 .op = "linear",
                 .factors = {.a.array = &launch->in[0], .b.array = &launch->in[1]},
                 .bias = launch->in[2].view->ndim == 1 ? &launch->in[2] : NULL,
                 .trans_b = true};
}

#define DEFINE_KERNEL(name)                                                                        \
    static cebus_status name##_run(const cebus_launch *launch)                                     \
    {                                                                                              \
        job j = name##_job(launch);                                                                \
        return run(&j);                                                                            \
    }                                                                                              \
    static uint64_t name##_workspace(const cebus_launch *launch)                                   \
    {                                                                                              \
        job j = name##_job(launch);                                                                \
        return workspace_of(&j);                                                                   \
    }
DEFINE_KERNEL(matmul)
DEFINE_KERNEL(linear)

const cebus_kernel cebus_cuda_matmul_kernels[] = {
    {"matmul", matmul_run, matmul_workspace, NULL},
    {"linear", linear_run, linear_workspace, NULL},
    {NULL, NULL, NULL, NULL},
};
