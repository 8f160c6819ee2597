/*
 * attention.c: scaled dot-product attention, forward and backward: products by cuBLASLt, and rows
 * of scores by our own kernels (scores.cu), for as many matrices at a time as a bounded buffer of
 * scores holds (cut.h); of a matrix that is too large, for a block of rows at a time. Blocks follow
 * each other on the stream, so that the gradients of k and v are summed in one order.
 *
 * Scores of f16 and bf16 are f32 until they are soft; then they are rounded, so that all products
 * are of one type on tensor cores. (cuDNN's fused attention would take f16 and bf16; it gives other
 * bits for another size of block.) Where a matrix takes several blocks of rows, the gradients of k
 * and v are rounded after each.
 */
#include "eager/ops/attention.h"

#include "eager/device/cuda/blas.h"
#include "eager/device/cuda/copy.h"
#include "eager/device/cuda/cut.h"
#include "eager/device/cuda/families.h"
#include "eager/device/cuda/scores.h"

/* Elements of a buffer of scores: 64 MiB of f32, about what the second-level cache and a wave of
 * blocks are worth. */
#ifdef CEBUS_CUDA_HOST /* tests see chunks and blocks of small matrices */
#define BUFFER_SCORES 100
#else
#define BUFFER_SCORES (INT64_C(16) << 20)
#endif
/* Inputs that products read; the others only have strides. */
static const int factors[] = {CEBUS_ATTENTION_Q, CEBUS_ATTENTION_K, CEBUS_ATTENTION_V,
                              CEBUS_ATTENTION_GRAD};

typedef struct job {
    const cebus_launch *launch;
    const cebus_attention_attrs *attrs;
    const char *op;
    bool is_backward;
    bool plans;              /* nothing runs yet: what products will take is found out */
    cebus_dtype dtype, wide; /* of operands; of scores */
    int64_t size;            /* of an operand's element */
    int64_t length, columns, features, values; /* L, S, E, D */
    int ndim;                                  /* of the batch */
    int64_t shape[CEBUS_MAX_DIMS], count, ld;
    cebus_cuda_operand in[CEBUS_ATTENTION_INPUTS];
    cebus_cuda_operand out[CEBUS_ATTENTION_MASK + 1];
    cebus_cuda_operand lse; /* matrices of one column */
    cebus_cuda_cut cut;
    char *weights, *grads;           /* scores */
    char *soft_weights, *soft_grads; /* what products read of them: the same where types are */
    char *workspace;                 /* of the products */
    uint64_t product_bytes;
} job;

/* Rows [first, first + rows) of the scores of a chunk. */
typedef struct block {
    job *j;
    cebus_cuda_chunk chunk;
    int64_t first, rows;
    bool is_first; /* of its matrices */
    cebus_cuda_operand weights, grads, soft_weights, soft_grads;
} block;

/* ---- plan -------------------------------------------------------------------------------- */

static void plan_sizes(job *j)
{
    const cebus_launch *launch = j->launch;
    const cebus_view *lse =
        j->is_backward ? launch->in[CEBUS_ATTENTION_LSE].view : launch->out[1].view;
    const cebus_view *k = launch->in[CEBUS_ATTENTION_K].view;
    const cebus_view *v = launch->in[CEBUS_ATTENTION_V].view;
    j->dtype = launch->in[CEBUS_ATTENTION_Q].view->dtype;
    j->wide = lse->dtype;
    j->size = (int64_t)cebus_dtype_size(j->dtype);
    j->ndim = lse->ndim - 1;
    j->count = 1;
    for (int i = 0; i < j->ndim; i++)
        j->count *= j->shape[i] = lse->shape[i];
    j->length = lse->shape[j->ndim];
    j->columns = k->shape[k->ndim - 2];
    j->features = k->shape[k->ndim - 1];
    j->values = v->shape[v->ndim - 1];
    j->ld = (j->columns + CEBUS_CUDA_SCORES_PACK - 1) / CEBUS_CUDA_SCORES_PACK *
            CEBUS_CUDA_SCORES_PACK; /* products, too, load rows that begin so at once */
}

/* A mask as it is read for the scores: repeated where it has one row, column or matrix. */
static cebus_cuda_operand over_scores(const job *j, const cebus_array *mask)
{
    int64_t shape[CEBUS_MAX_DIMS];
    cebus_view view;
    memcpy(shape, j->shape, sizeof shape);
    shape[j->ndim] = j->length;
    shape[j->ndim + 1] = j->columns;
    cebus_view_expand(mask->view, j->ndim + 2, shape, &view);
    const cebus_array expanded = {.data = mask->data, .view = &view};
    return cebus_cuda_operand_describe(&expanded, j->ndim);
}

static cebus_cuda_operand describe_lse(const job *j)
{
    const cebus_launch *launch = j->launch;
    const cebus_array *lse = j->is_backward ? &launch->in[CEBUS_ATTENTION_LSE] : &launch->out[1];
    cebus_view view = *lse->view;
    view.shape[view.ndim] = 1;
    view.strides[view.ndim++] = 1;
    const cebus_array column = {.data = lse->data, .view = &view};
    return cebus_cuda_operand_describe(&column, j->ndim);
}

static int factors_of(const job *j)
{
    return j->is_backward ? 4 : 3;
}

static uint32_t outputs_of(const job *j)
{
    return j->is_backward ? j->launch->n_out : 1;
}

static void plan_operands(job *j, cebus_cuda_scratch *scratch)
{
    const cebus_launch *launch = j->launch;
    for (int i = 0; i < factors_of(j); i++) {
        cebus_cuda_operand *o = &j->in[factors[i]];
        *o = cebus_cuda_operand_describe(&launch->in[factors[i]], j->ndim);
        cebus_cuda_operand_settle(o, &launch->in[factors[i]], j->ndim, scratch);
    }
    if (j->attrs->has_mask)
        j->in[CEBUS_ATTENTION_MASK] = over_scores(j, &launch->in[CEBUS_ATTENTION_MASK]);
    if (j->attrs->has_keep)
        j->in[CEBUS_ATTENTION_KEEP] = over_scores(j, &launch->in[CEBUS_ATTENTION_KEEP]);
    if (j->is_backward)
        j->in[CEBUS_ATTENTION_OUT] =
            cebus_cuda_operand_describe(&launch->in[CEBUS_ATTENTION_OUT], j->ndim);
    j->lse = describe_lse(j);
    for (uint32_t i = 0; i < outputs_of(j); i++)
        j->out[i] = cebus_cuda_operand_describe(&launch->out[i], j->ndim);
}

/* What products read and write, in turn. */
static cebus_cuda_operand *multiplied(job *j, int index)
{
    const int inputs = factors_of(j);
    return index < inputs ? &j->in[factors[index]] : &j->out[index - inputs];
}

static int multiplied_count(const job *j)
{
    const int results = j->is_backward ? 3 : 1;
    return factors_of(j) + results;
}

static void reorder(int64_t *of, int ndim, const int *order)
{
    int64_t was[CEBUS_MAX_DIMS];
    memcpy(was, of, sizeof was);
    for (int i = 0; i < ndim; i++)
        of[i] = was[order[i]];
}

/* The batch in the order that makes the largest products, from here on. */
static void order_batch(job *j)
{
    const int64_t *strides[CEBUS_ATTENTION_INPUTS + CEBUS_ATTENTION_MASK];
    int order[CEBUS_MAX_DIMS];
    for (int i = 0; i < multiplied_count(j); i++)
        strides[i] = multiplied(j, i)->batch_stride;
    j->ndim = cebus_cuda_cut_order(j->ndim, j->shape, multiplied_count(j), strides, order);
    reorder(j->shape, j->ndim, order);
    reorder(j->lse.batch_stride, j->ndim, order);
    for (int i = 0; i < CEBUS_ATTENTION_INPUTS; i++)
        reorder(j->in[i].batch_stride, j->ndim, order);
    for (int i = 0; i <= CEBUS_ATTENTION_MASK; i++)
        reorder(j->out[i].batch_stride, j->ndim, order);
}

/* Chunks and blocks begin anywhere in the batch: what all of them are aligned to. */
static void settle_alignment(const job *j, cebus_cuda_operand *o)
{
    for (int i = 0; i <= j->ndim; i++) {
        const int64_t stride = i < j->ndim ? o->batch_stride[i]
                                           : (j->cut.blocks > 1 ? j->cut.rows * o->row_stride : 0);
        const int64_t align = cebus_cuda_alignment(stride, j->size);
        o->align = align < o->align ? align : o->align;
    }
}

static cebus_status visit(job *j);

/* A buffer of scores, and another of what is made of them where that is of another type. */
static void take_scores(const job *j, cebus_cuda_scratch *scratch, char **out, char **out_soft)
{
    const uint64_t numel = (uint64_t)(cebus_cuda_cut_matrices(&j->cut) * j->cut.rows * j->ld);
    *out = cebus_cuda_scratch_take(scratch, numel * cebus_dtype_size(j->wide));
    *out_soft =
        j->wide == j->dtype ? *out : cebus_cuda_scratch_take(scratch, numel * (uint64_t)j->size);
}

/* Every product runs, but for its launch, to learn how much workspace it takes. */
static cebus_status plan(job *j, cebus_cuda_scratch *scratch)
{
    plan_operands(j, scratch);
    order_batch(j);
    j->cut = cebus_cuda_cut_of(j->ndim, j->shape, j->length, j->ld, BUFFER_SCORES);
    for (int i = 0; i < multiplied_count(j); i++)
        settle_alignment(j, multiplied(j, i));
    take_scores(j, scratch, &j->weights, &j->soft_weights);
    if (j->is_backward)
        take_scores(j, scratch, &j->grads, &j->soft_grads);
    j->plans = true;
    cebus_status status = visit(j);
    j->plans = false;
    j->workspace = cebus_cuda_scratch_take(scratch, j->product_bytes);
    return status;
}

/* ---- products ---------------------------------------------------------------------------- */

/* The chunk's matrices of an operand with elements of `size` bytes, from `row` on. */
static cebus_cuda_operand part_of(const block *b, const cebus_cuda_operand *operand, int64_t row,
                                  int64_t size)
{
    const job *j = b->j;
    cebus_cuda_operand o = *operand;
    int64_t offset = row * o.row_stride, index = b->chunk.first;
    for (int i = j->ndim - 1; i >= 0; i--) {
        offset += index % j->shape[i] * operand->batch_stride[i];
        index /= j->shape[i];
    }
    if (o.data) /* there are no addresses while planning */
        o.data += offset * size;
    for (int i = 0; i < b->chunk.ndim; i++)
        o.batch_stride[i] = operand->batch_stride[b->chunk.from + i];
    return o;
}

static cebus_cuda_operand part(const block *b, const cebus_cuda_operand *operand, int64_t row)
{
    return part_of(b, operand, row, b->j->size);
}

/* Its rows of those that go along with the scores' rows. */
static cebus_cuda_operand rows_of(const block *b, const cebus_cuda_operand *operand)
{
    cebus_cuda_operand o = part(b, operand, b->first);
    o.rows = b->rows;
    return o;
}

static cebus_cuda_operand input(const block *b, int which)
{
    const bool along = which == CEBUS_ATTENTION_Q || which == CEBUS_ATTENTION_GRAD;
    return along ? rows_of(b, &b->j->in[which]) : part(b, &b->j->in[which], 0);
}

static cebus_cuda_operand turn(cebus_cuda_operand operand)
{
    return cebus_cuda_operand_transpose(&operand);
}

static cebus_cuda_operand scores_in(const block *b, char *buffer)
{
    cebus_cuda_operand o = {.data = buffer,
                            .rows = b->rows,
                            .cols = b->j->columns,
                            .row_stride = b->j->ld,
                            .col_stride = 1,
                            .align = CEBUS_CUDA_USEFUL_ALIGNMENT};
    int64_t stride = b->rows * b->j->ld;
    for (int i = b->chunk.ndim - 1; i >= 0; i--) {
        o.batch_stride[i] = stride;
        stride *= b->chunk.shape[i];
    }
    return o;
}

static cebus_status multiply_parts(job *j, const cebus_cuda_product *product, double alpha,
                                   const void *const *data)
{
    cebus_cuda *cuda = cebus_cuda_of(j->launch);
    cebus_cuda_blas_info info;
    if (!j->plans) {
        const cebus_cuda_blas_batch batch = {.product = product,
                                             .alpha = alpha,
                                             .a = data[0],
                                             .b = data[1],
                                             .c = (void *)data[2],
                                             .workspace = j->workspace};
        return cebus_cuda_blas_run_all(cuda, j->op, &batch);
    }
    cebus_status status = cebus_cuda_blas_query(cuda, j->op, &product->gemm, &info);
    if (info.workspace > j->product_bytes)
        j->product_bytes = info.workspace;
    return status;
}

typedef struct sum {
    double alpha;
    bool accumulate, makes_scores;
} sum;

static cebus_status clear_scores(const block *b, void *buffer)
{
    const job *j = b->j;
    const int64_t numel = b->chunk.matrices * b->rows * j->ld;
    cebus_view view;
    cebus_view_contiguous(&view, j->wide, 1, &numel);
    const cebus_array all = {.data = buffer, .view = &view};
    if (j->plans)
        return CEBUS_OK;
    cebus_cuda_fill(j->launch, &all, 0);
    return cebus_cuda_launched(j->op);
}

/* c = alpha a b (+ c). A sum of nothing is one of scores, whose rows lie in a buffer. */
static cebus_status multiply(const block *b, cebus_cuda_operand left, cebus_cuda_operand right,
                             cebus_cuda_operand result, sum how)
{
    job *j = b->j;
    cebus_cuda_factors f = {.dtype = j->dtype,
                            .result = how.makes_scores ? j->wide : j->dtype,
                            .ndim = b->chunk.ndim,
                            .c = result};
    cebus_cuda_product product;
    if (result.rows == 0 || result.cols == 0)
        return CEBUS_OK;
    if (left.cols == 0)
        return clear_scores(b, result.data);
    memcpy(f.shape, b->chunk.shape, sizeof f.shape);
    cebus_cuda_product_init(&product, &f, &left, &right);
    product.gemm.tf32 = j->dtype == CEBUS_F32 && cebus_cuda_of(j->launch)->tf32;
    product.gemm.accumulate = how.accumulate;
    const void *const data[] = {left.data, right.data, result.data};
    return multiply_parts(j, &product, how.alpha, data);
}

/* ---- rows of scores ---------------------------------------------------------------------- */

/* The block's rows of an operand; nothing of one that is absent. */
static cebus_cuda_matrices matrices_of(const block *b, const cebus_cuda_operand *operand,
                                       cebus_dtype dtype)
{
    const cebus_cuda_operand o = part_of(b, operand, b->first, (int64_t)cebus_dtype_size(dtype));
    cebus_cuda_matrices m = {.data = o.data, .row = o.row_stride, .col = o.col_stride};
    memcpy(m.batch, o.batch_stride, sizeof m.batch);
    return m;
}

static cebus_cuda_matrices mask_of(const block *b, int which)
{
    return matrices_of(b, &b->j->in[which], b->j->launch->in[which].view->dtype);
}

static cebus_cuda_scores scores_of(const block *b)
{
    const job *j = b->j;
    cebus_cuda_scores s = {.dtype = j->wide, .other = j->dtype, .ndim = b->chunk.ndim};
    memcpy(s.shape, b->chunk.shape, sizeof s.shape);
    s.matrices = b->chunk.matrices;
    s.first_row = b->first;
    s.rows = b->rows;
    s.columns = j->columns;
    s.values = j->values;
    s.weights = j->weights;
    s.grads = j->grads;
    s.soft_weights = j->soft_weights;
    s.soft_grads = j->soft_grads;
    s.ld = j->ld;
    s.is_causal = j->attrs->is_causal;
    s.keep_scale = j->attrs->keep_scale;
    s.lse = matrices_of(b, &j->lse, j->wide);
    if (j->attrs->has_mask) {
        s.mask = mask_of(b, CEBUS_ATTENTION_MASK);
        s.mask_is_bool = j->launch->in[CEBUS_ATTENTION_MASK].view->dtype == CEBUS_BOOL;
    }
    if (j->attrs->has_keep)
        s.keep = mask_of(b, CEBUS_ATTENTION_KEEP);
    return s;
}

static bool wanted(const job *j, uint32_t output)
{
    return output < j->launch->n_out && (j->plans || j->launch->out[output].data != NULL);
}

static cebus_status multiply_scores(const block *b)
{
    return multiply(b, input(b, CEBUS_ATTENTION_Q), turn(input(b, CEBUS_ATTENTION_K)), b->weights,
                    (sum){b->j->attrs->scale, false, true});
}

/* ---- forward ----------------------------------------------------------------------------- */

static cebus_status soften(const block *b)
{
    if (b->j->plans)
        return CEBUS_OK;
    const cebus_cuda_scores s = scores_of(b);
    return cebus_cuda_scores_soften(b->j->launch, b->j->op, &s);
}

static cebus_status forward_block(const block *b)
{
    cebus_status status = multiply_scores(b);
    if (status == CEBUS_OK)
        status = soften(b);
    if (status == CEBUS_OK && wanted(b->j, 0))
        status = multiply(b, b->soft_weights, input(b, CEBUS_ATTENTION_V),
                          rows_of(b, &b->j->out[0]), (sum){1, false, false});
    return status;
}

/* ---- backward ---------------------------------------------------------------------------- */

static cebus_status differentiate(const block *b)
{
    const job *j = b->j;
    if (j->plans)
        return CEBUS_OK;
    cebus_cuda_scores s = scores_of(b);
    s.out = matrices_of(b, &j->in[CEBUS_ATTENTION_OUT], j->dtype);
    s.grad = matrices_of(b, &j->in[CEBUS_ATTENTION_GRAD], j->dtype);
    if (wanted(j, CEBUS_ATTENTION_MASK))
        s.mask_grad = matrices_of(b, &j->out[CEBUS_ATTENTION_MASK], j->dtype);
    return cebus_cuda_scores_backward(j->launch, j->op, &s);
}

static cebus_status backward_block(const block *b)
{
    job *j = b->j;
    const double scale = j->attrs->scale, keep = j->attrs->keep_scale;
    const cebus_cuda_operand grad = input(b, CEBUS_ATTENTION_GRAD);
    cebus_status status = multiply_scores(b);
    if (status == CEBUS_OK)
        status =
            multiply(b, grad, turn(input(b, CEBUS_ATTENTION_V)), b->grads, (sum){1, false, true});
    if (status == CEBUS_OK)
        status = differentiate(b);
    if (status == CEBUS_OK && wanted(j, CEBUS_ATTENTION_Q))
        status = multiply(b, b->soft_grads, input(b, CEBUS_ATTENTION_K),
                          rows_of(b, &j->out[CEBUS_ATTENTION_Q]), (sum){scale, false, false});
    if (status == CEBUS_OK && wanted(j, CEBUS_ATTENTION_K))
        status =
            multiply(b, turn(b->soft_grads), input(b, CEBUS_ATTENTION_Q),
                     part(b, &j->out[CEBUS_ATTENTION_K], 0), (sum){scale, !b->is_first, false});
    if (status == CEBUS_OK && wanted(j, CEBUS_ATTENTION_V))
        status = multiply(b, turn(b->soft_weights), grad, part(b, &j->out[CEBUS_ATTENTION_V], 0),
                          (sum){keep, !b->is_first, false});
    return status;
}

/* ---- walk -------------------------------------------------------------------------------- */

static cebus_status visit_block(job *j, int64_t chunk, int64_t index)
{
    block b = {.j = j, .chunk = cebus_cuda_cut_chunk(&j->cut, chunk)};
    b.first = index * j->cut.rows;
    b.rows = cebus_cuda_cut_rows(&j->cut, index);
    b.is_first = index == 0;
    b.weights = scores_in(&b, j->weights);
    b.grads = scores_in(&b, j->grads);
    b.soft_weights = scores_in(&b, j->soft_weights);
    b.soft_grads = scores_in(&b, j->soft_grads);
    return j->is_backward ? backward_block(&b) : forward_block(&b);
}

/* All blocks; while planning only those that differ in size or in what they accumulate: the first
 * two and the last of the first and of the last chunk. */
static cebus_status visit(job *j)
{
    cebus_status status = CEBUS_OK;
    for (int64_t chunk = 0; chunk < j->cut.chunks; chunk++) {
        if (j->plans && chunk > 0 && chunk + 1 < j->cut.chunks)
            chunk = j->cut.chunks - 1;
        for (int64_t i = 0; i < j->cut.blocks && status == CEBUS_OK; i++) {
            if (j->plans && i > 1 && i + 1 < j->cut.blocks)
                i = j->cut.blocks - 1;
            status = visit_block(j, chunk, i);
        }
    }
    return status;
}

/* ---- kernels ----------------------------------------------------------------------------- */

static void init(job *j, const cebus_launch *launch)
{
    *j = (job){.launch = launch, .attrs = launch->attrs};
    j->is_backward = launch->n_in > CEBUS_ATTENTION_GRAD;
    j->op =
        j->is_backward ? "scaled_dot_product_attention_backward" : "scaled_dot_product_attention";
    plan_sizes(j);
}

static bool is_empty(const job *j)
{
    return j->count == 0 || j->length == 0 || j->columns == 0;
}

/* Every element of an output := value. */
static void fill(const job *j, uint32_t output, double value)
{
    const cebus_array *out = &j->launch->out[output];
    if (wanted(j, output) && cebus_view_numel(out->view) > 0)
        cebus_cuda_fill(j->launch, out, cebus_cuda_encode(out->view->dtype, value));
}

/* No scores: sums of nothing are zero, and their logarithm's place says that nothing was seen. */
static cebus_status run_empty(const job *j)
{
    fill(j, 0, 0);
    fill(j, 1, j->is_backward ? 0 : (double)INFINITY);
    for (uint32_t i = 2; i < j->launch->n_out; i++)
        fill(j, i, 0);
    return cebus_cuda_launched(j->op);
}

static void copy_inputs(const job *j)
{
    for (int i = 0; i < factors_of(j); i++) {
        const cebus_array *from = &j->launch->in[factors[i]];
        cebus_view dense;
        if (!j->in[factors[i]].copied)
            continue;
        cebus_view_contiguous(&dense, from->view->dtype, from->view->ndim, from->view->shape);
        const cebus_array to = {.data = j->in[factors[i]].data, .view = &dense};
        cebus_cuda_copy(j->launch, &to, from);
    }
}

static uint64_t workspace(const cebus_launch *launch)
{
    job j;
    cebus_cuda_scratch scratch = {0};
    init(&j, launch);
    if (is_empty(&j) || plan(&j, &scratch) != CEBUS_OK)
        return 0; /* what fails here is reported by the run */
    return scratch.bytes;
}

static cebus_status run(const cebus_launch *launch)
{
    job j;
    cebus_cuda_scratch scratch = {.base = launch->workspace};
    init(&j, launch);
    if (is_empty(&j))
        return run_empty(&j);
    cebus_status status = plan(&j, &scratch);
    if (status == CEBUS_OK)
        status = cebus_cuda_scratch_check(&scratch, launch, j.op);
    if (status != CEBUS_OK)
        return status;
    copy_inputs(&j);
    status = cebus_cuda_launched(j.op);
    return status == CEBUS_OK ? visit(&j) : status;
}

const cebus_kernel cebus_cuda_attention_kernels[] = {
    {"scaled_dot_product_attention", run, workspace, NULL},
    {"scaled_dot_product_attention_backward", run, workspace, NULL},
    {NULL, NULL, NULL, NULL},
};
