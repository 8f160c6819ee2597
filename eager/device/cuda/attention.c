/*
 * attention.c: scaled dot-product attention, forward and backward: products by cuBLASLt, and rows
 * of scores by our own kernels (scores.cu), for as many matrices at a time as a bounded buffer of
 * scores holds (cut.h); of a matrix that is too large, for a block of rows at a time, and so of
 * causal ones, where a block needs but the columns that it sees (attention_plan.c). Blocks follow
 * each other on the stream, so that the gradients of k and v are summed in one order.
 *
 * Scores of f16 and bf16 are f32 until they are soft; then they are rounded, so that all products
 * are of one type on tensor cores. (cuDNN's fused attention would take f16 and bf16; it gives other
 * bits for another size of block.) Where a matrix takes several blocks of rows, the gradients of k
 * and v are rounded after each.
 */
#include "eager/device/cuda/attention_plan.h"
#include "eager/device/cuda/blas.h"
#include "eager/device/cuda/copy.h"
#include "eager/device/cuda/families.h"
#include "eager/device/cuda/scores.h"

typedef cebus_cuda_attention job; /* all of it, or a chunk of its batch */

/* Rows [first, first + rows) of the scores of a chunk. */
typedef struct block {
    job *j;
    cebus_cuda_chunk chunk;
    int64_t first, rows, columns, ld;
    bool begins; /* the sums of its matrices */
    cebus_cuda_operand weights, grads, soft_weights, soft_grads;
} block;

/* ---- plan -------------------------------------------------------------------------------- */

static cebus_status visit(job *j);

/* Every product runs, but for its launch, to learn how much workspace it takes. */
static cebus_status plan(job *j, cebus_cuda_scratch *scratch)
{
    cebus_cuda_attention_plan(j, scratch);
    j->plans = true;
    cebus_status status = visit(j);
    j->plans = false;
    j->workspace = cebus_cuda_scratch_take(scratch, j->product_bytes);
    return status;
}

/* ---- products ---------------------------------------------------------------------------- */

/* An operand with elements of `size` bytes, so many further on. */
static cebus_cuda_operand moved(const cebus_cuda_operand *operand, int64_t elements, int64_t size)
{
    cebus_cuda_operand o = *operand;
    if (o.data) /* there are no addresses while planning */
        o.data += elements * size;
    return o;
}

/* Its rows of those that go along with the scores' rows. */
static cebus_cuda_operand rows_of(const block *b, const cebus_cuda_operand *operand)
{
    cebus_cuda_operand o = moved(operand, b->first * operand->row_stride, b->j->size);
    o.rows = b->rows;
    return o;
}

/* Of those that go along with their columns. */
static cebus_cuda_operand columns_of(const block *b, const cebus_cuda_operand *operand)
{
    cebus_cuda_operand o = *operand;
    o.rows = b->columns;
    return o;
}

static cebus_cuda_operand input(const block *b, int which)
{
    const bool along = which == CEBUS_ATTENTION_Q || which == CEBUS_ATTENTION_GRAD;
    return along ? rows_of(b, &b->j->in[which]) : columns_of(b, &b->j->in[which]);
}

static cebus_cuda_operand turn(cebus_cuda_operand operand)
{
    return cebus_cuda_operand_transpose(&operand);
}

static cebus_cuda_operand scores_in(const block *b, char *buffer)
{
    cebus_cuda_operand o = {.data = buffer,
                            .rows = b->rows,
                            .cols = b->columns,
                            .row_stride = b->ld,
                            .col_stride = 1,
                            .align = CEBUS_CUDA_USEFUL_ALIGNMENT};
    int64_t stride = b->rows * b->ld;
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
    const int64_t numel = b->chunk.matrices * b->rows * b->ld;
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
    const cebus_cuda_operand o =
        moved(operand, b->first * operand->row_stride, (int64_t)cebus_dtype_size(dtype));
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
    s.columns = b->columns;
    s.values = j->values;
    s.weights = j->weights;
    s.grads = j->grads;
    s.soft_weights = j->soft_weights;
    s.soft_grads = j->soft_grads;
    s.ld = b->ld;
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
                     columns_of(b, &j->out[CEBUS_ATTENTION_K]), (sum){scale, !b->begins, false});
    if (status == CEBUS_OK && wanted(j, CEBUS_ATTENTION_V))
        status = multiply(b, turn(b->soft_weights), grad, columns_of(b, &j->out[CEBUS_ATTENTION_V]),
                          (sum){keep, !b->begins, false});
    return status;
}

/* ---- matrices that do not lie as one ------------------------------------------------------ */

/* The first `rows` rows of each matrix. */
static void copy_rows(const job *j, const cebus_cuda_operand *to, const cebus_cuda_operand *from,
                      int64_t rows)
{
    int64_t shape[CEBUS_MAX_DIMS];
    memcpy(shape, j->shape, sizeof shape);
    shape[j->ndim] = rows;
    shape[j->ndim + 1] = to->cols;
    cebus_view views[2];
    const cebus_cuda_operand *const operands[] = {to, from};
    for (int i = 0; i < 2; i++) {
        cebus_view_contiguous(&views[i], j->dtype, j->ndim + 2, shape);
        memcpy(views[i].strides, operands[i]->batch_stride, (size_t)j->ndim * sizeof *shape);
        views[i].strides[j->ndim] = operands[i]->row_stride;
        views[i].strides[j->ndim + 1] = operands[i]->col_stride;
    }
    const cebus_array into = {.data = to->data, .view = &views[0]};
    const cebus_array out_of = {.data = from->data, .view = &views[1]};
    cebus_cuda_copy(j->launch, &into, &out_of);
}

/* Inputs of a chunk, before its products. */
static cebus_status gather(const job *chunk, job *gathered)
{
    for (int i = 0; i < cebus_cuda_attention_factors(chunk); i++) {
        const cebus_cuda_operand *to = cebus_cuda_attention_multiplied(gathered, i);
        if (chunk->gathers[i])
            copy_rows(chunk, to, cebus_cuda_attention_multiplied((job *)chunk, i), to->rows);
    }
    return cebus_cuda_launched(chunk->op);
}

/* Results of it, behind them: of gradients of k and v the rows of columns that were seen. */
static cebus_status scatter(const job *chunk, job *gathered)
{
    const int64_t seen = cebus_cuda_attention_seen(chunk, chunk->cut.blocks - 1);
    const int inputs = cebus_cuda_attention_factors(chunk);
    for (int i = inputs; i < cebus_cuda_attention_multiplied_count(chunk); i++) {
        const cebus_cuda_operand *from = cebus_cuda_attention_multiplied(gathered, i);
        if (chunk->gathers[i] && wanted(chunk, (uint32_t)(i - inputs)))
            copy_rows(chunk, cebus_cuda_attention_multiplied((job *)chunk, i), from,
                      i == inputs ? from->rows : seen);
    }
    return cebus_cuda_launched(chunk->op);
}

/* ---- walk -------------------------------------------------------------------------------- */

static cebus_status visit_block(job *j, const cebus_cuda_chunk *chunk, int64_t index)
{
    block b = {.j = j, .chunk = *chunk};
    b.first = index * j->cut.rows;
    b.rows = cebus_cuda_cut_rows(&j->cut, index);
    b.columns = cebus_cuda_attention_seen(j, index);
    b.ld = cebus_cuda_attention_ld(b.columns);
    b.begins = index + 1 == j->cut.blocks;
    b.weights = scores_in(&b, j->weights);
    b.grads = scores_in(&b, j->grads);
    b.soft_weights = scores_in(&b, j->soft_weights);
    b.soft_grads = scores_in(&b, j->soft_grads);
    return j->is_backward ? backward_block(&b) : forward_block(&b);
}

/* Whether it differs in size or in what it accumulates from the block before it, which is the one
 * that follows in the matrix. */
static bool is_new(const job *j, int64_t index)
{
    return index + 2 >= j->cut.blocks ||
           cebus_cuda_attention_seen(j, index) != cebus_cuda_attention_seen(j, index + 1);
}

/* All blocks, from the last on, which sees most: what it writes the others add to. While planning
 * only those that differ. */
static cebus_status visit_blocks(job *j, const cebus_cuda_chunk *chunk)
{
    cebus_status status = CEBUS_OK;
    for (int64_t i = j->cut.blocks - 1; i >= 0 && status == CEBUS_OK; i--)
        if (!j->plans || is_new(j, i))
            status = visit_block(j, chunk, i);
    return status;
}

static cebus_status visit_chunk(job *j, int64_t index)
{
    const cebus_cuda_chunk cut = cebus_cuda_cut_chunk(&j->cut, index);
    const job chunk = cebus_cuda_attention_chunk(j, &cut);
    job gathered = cebus_cuda_attention_gathered(&chunk);
    cebus_status status = j->plans ? CEBUS_OK : gather(&chunk, &gathered);
    if (status == CEBUS_OK)
        status = visit_blocks(&gathered, &cut);
    if (status == CEBUS_OK && !j->plans)
        status = scatter(&chunk, &gathered);
    j->product_bytes = gathered.product_bytes;
    return status;
}

/* All chunks; while planning the first and the last. */
static cebus_status visit(job *j)
{
    cebus_status status = CEBUS_OK;
    for (int64_t i = 0; i < j->cut.chunks && status == CEBUS_OK; i++) {
        if (j->plans && i > 0)
            i = j->cut.chunks - 1;
        status = visit_chunk(j, i);
    }
    return status;
}

/* ---- kernels ----------------------------------------------------------------------------- */

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
    for (int i = 0; i < cebus_cuda_attention_factors(j); i++) {
        const int which = cebus_cuda_attention_factor(i);
        const cebus_array *from = &j->launch->in[which];
        cebus_view dense;
        if (!j->in[which].copied)
            continue;
        cebus_view_contiguous(&dense, from->view->dtype, from->view->ndim, from->view->shape);
        const cebus_array to = {.data = j->in[which].data, .view = &dense};
        cebus_cuda_copy(j->launch, &to, from);
    }
}

/* The gradients of columns that no row sees, and of scores that no block works on. */
static void fill_hidden(const job *j)
{
    if (!j->is_backward)
        return;
    if (cebus_cuda_attention_seen(j, j->cut.blocks - 1) < j->columns) {
        fill(j, CEBUS_ATTENTION_K, 0);
        fill(j, CEBUS_ATTENTION_V, 0);
    }
    if (cebus_cuda_attention_seen(j, 0) < j->columns)
        fill(j, CEBUS_ATTENTION_MASK, 0);
}

static uint64_t workspace(const cebus_launch *launch)
{
    job j;
    cebus_cuda_scratch scratch = {0};
    cebus_cuda_attention_init(&j, launch);
    if (is_empty(&j) || plan(&j, &scratch) != CEBUS_OK)
        return 0; /* what fails here is reported by the run */
    return scratch.bytes;
}

static cebus_status run(const cebus_launch *launch)
{
    job j;
    cebus_cuda_scratch scratch = {.base = launch->workspace};
    cebus_cuda_attention_init(&j, launch);
    if (is_empty(&j))
        return run_empty(&j);
    cebus_status status = plan(&j, &scratch);
    if (status == CEBUS_OK)
        status = cebus_cuda_scratch_check(&scratch, launch, j.op);
    if (status != CEBUS_OK)
        return status;
    copy_inputs(&j);
    fill_hidden(&j);
    status = cebus_cuda_launched(j.op);
    return status == CEBUS_OK ? visit(&j) : status;
}

const cebus_kernel cebus_cuda_attention_kernels[] = {
    {"scaled_dot_product_attention", run, workspace, NULL},
    {"scaled_dot_product_attention_backward", run, workspace, NULL},
    {NULL, NULL, NULL, NULL},
};
