/**
 * matmul.c: matrix products over views. Whatever the strides, an operand ends up as a matrix with
 * unit stride in one direction, walked by batch strides: mostly by reading it where it is, else
 * from a dense copy in workspace. Batches whose right operand is one matrix are a single product.
 */
#include "eager/device/cpu/copy.h"
#include "eager/device/cpu/families.h"
#include "eager/device/cpu/gemm_batch.h"
#include "eager/view.h"

/* An operand as [batch.., rows, cols], its batch expanded to the result's. */
typedef struct operand {
    const void *data;
    int64_t rows, cols, row_stride, col_stride;
    int64_t batch_stride[CEBUS_MAX_DIMS];
} operand;

typedef struct product {
    cebus_gemm_batch batch;
    cebus_array dense_a, dense_b; /* copies to make first; view NULL: none */
    cebus_view view_a, view_b;
    uint64_t dense_bytes;
} product;

/* The inputs of either op: the result is a b + bias. */
typedef struct factors {
    cebus_array a, b, bias;
    bool trans_b;
} factors;

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static uint64_t align(uint64_t bytes)
{
    return (bytes + 63) / 64 * 64;
}

/* ---- operands ---------------------------------------------------------------------------- */

static bool reads_along_rows(const operand *o)
{
    return (o->col_stride == 1 || o->cols == 1) && (o->row_stride >= o->cols || o->rows == 1);
}

static operand swapped(operand o)
{
    operand other = o;
    other.rows = o.cols;
    other.cols = o.rows;
    other.row_stride = o.col_stride;
    other.col_stride = o.row_stride;
    return other;
}

static bool reads_along_cols(const operand *o)
{
    operand other = swapped(*o);
    return reads_along_rows(&other);
}

/* A vector is a row when `left`, else a column. */
static operand describe(const void *data, const cebus_view *view, bool left, int batch_ndim)
{
    operand o = {.data = data};
    int n = view->ndim;
    if (n == 1) {
        int64_t length = view->shape[0], stride = view->strides[0];
        o.rows = left ? 1 : length;
        o.cols = left ? length : 1;
        o.row_stride = left ? larger(1, length) : stride;
        o.col_stride = left ? stride : 1;
        return o;
    }
    o.rows = view->shape[n - 2];
    o.cols = view->shape[n - 1];
    o.row_stride = view->strides[n - 2];
    o.col_stride = view->strides[n - 1];
    for (int from = n - 3, to = batch_ndim - 1; from >= 0; from--, to--)
        o.batch_stride[to] = view->shape[from] == 1 ? 0 : view->strides[from];
    return o;
}

/* The operand as given, or as the dense copy at `workspace` (advanced) that *dense asks for. */
static operand prepare(const cebus_array *in, bool left, product *p, cebus_array *dense,
                       char *workspace)
{
    int batch_ndim = p->batch.ndim;
    operand o = describe(in->data, in->view, left, batch_ndim);
    if (reads_along_rows(&o) || reads_along_cols(&o))
        return o;
    cebus_view *view = left ? &p->view_a : &p->view_b;
    cebus_view_contiguous(view, in->view->dtype, in->view->ndim, in->view->shape);
    *dense = (cebus_array){.data = workspace ? workspace + p->dense_bytes : NULL, .view = view};
    p->dense_bytes += align((uint64_t)cebus_view_numel(view) * cebus_dtype_size(view->dtype));
    return describe(dense->data, view, left, batch_ndim);
}

static bool one_matrix(const operand *o, int batch_ndim)
{
    for (int i = 0; i < batch_ndim; i++) {
        if (o->batch_stride[i] != 0)
            return false;
    }
    return true;
}

/* Batch dimensions that continue the rows of A become rows, from the innermost on. */
static void fold_rows(operand *a, cebus_gemm_batch *batch)
{
    while (batch->ndim > 0) {
        int last = batch->ndim - 1;
        int64_t count = batch->shape[last], stride = a->batch_stride[last];
        if (a->rows == 1 && stride >= a->cols)
            a->row_stride = stride;
        else if (count != 1 && (a->rows == 1 || stride != a->rows * a->row_stride))
            break;
        a->rows *= count;
        batch->ndim--;
    }
}

/* ---- plan -------------------------------------------------------------------------------- */

static void place(operand o, const void **data, bool *trans, int64_t *ld)
{
    *data = o.data;
    *trans = !reads_along_rows(&o);
    if (*trans)
        o = swapped(o);
    *ld = larger(1, o.rows == 1 ? o.cols : o.row_stride);
}

static void plan(product *p, const factors *f, const cebus_view *out, char *workspace)
{
    *p = (product){.batch.one = {.dtype = out->dtype, .alpha = 1}};
    cebus_gemm_batch *batch = &p->batch;
    batch->ndim = out->ndim - (f->a.view->ndim > 1) - (f->b.view->ndim > 1);
    for (int i = 0; i < batch->ndim; i++)
        batch->shape[i] = out->shape[i];
    operand a = prepare(&f->a, true, p, &p->dense_a, workspace);
    operand b = prepare(&f->b, false, p, &p->dense_b, workspace);
    if (f->trans_b)
        b = swapped(b);
    if (reads_along_rows(&a) && one_matrix(&b, batch->ndim))
        fold_rows(&a, batch);
    for (int i = 0; i < batch->ndim; i++) {
        batch->a_stride[i] = a.batch_stride[i];
        batch->b_stride[i] = b.batch_stride[i];
    }
    cebus_gemm *gemm = &batch->one;
    gemm->m = a.rows;
    gemm->n = b.cols;
    gemm->k = a.cols;
    gemm->ldc = larger(1, b.cols);
    place(a, &gemm->a, &gemm->trans_a, &gemm->lda);
    place(b, &gemm->b, &gemm->trans_b, &gemm->ldb);
}

static uint64_t product_workspace(const cebus_launch *launch, const factors *f)
{
    product p;
    plan(&p, f, launch->out[0].view, NULL);
    return p.dense_bytes + cebus_gemm_batch_scratch(&p.batch, launch->threads);
}

static cebus_status product_run(const cebus_launch *launch, const factors *f)
{
    product p;
    if (launch->out[0].data == NULL)
        return CEBUS_OK;
    plan(&p, f, launch->out[0].view, launch->workspace);
    if (p.dense_a.view)
        cebus_copy_array(launch->threads, &p.dense_a, &f->a);
    if (p.dense_b.view)
        cebus_copy_array(launch->threads, &p.dense_b, &f->b);
    p.batch.one.c = launch->out[0].data;
    if (f->bias.view) {
        p.batch.bias = f->bias.data;
        p.batch.bias_stride = f->bias.view->strides[0];
    }
    cebus_gemm_batch_run(&p.batch, launch->threads, (char *)launch->workspace + p.dense_bytes);
    return CEBUS_OK;
}

/* ---- kernels ----------------------------------------------------------------------------- */

static factors matmul_factors(const cebus_launch *launch)
{
    return (factors){.a = launch->in[0], .b = launch->in[1]};
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

/* x weight^T + bias */
static factors linear_factors(const cebus_launch *launch)
{
    factors f = {.a = launch->in[0], .b = launch->in[1], .trans_b = true};
    if (launch->in[2].view)
        f.bias = launch->in[2];
    return f;
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

const cebus_kernel cebus_cpu_matmul[] = {
    {"matmul", matmul_run, matmul_workspace},
    {"linear", linear_run, linear_workspace},
    {NULL, NULL, NULL},
};
