/**
 * attention.c: scaled dot-product attention, forward and backward, a block of rows of scores at a
 * time. A block has as many rows as the second-level cache holds; its rows are whole, so that
 * their softmax is final at once. Threads share the batch (forward: also the blocks).
 */
#include <math.h>
#include <string.h>

#include "eager/device/cpu/families.h"
#include "eager/device/cpu/gemm.h"
#include "eager/device/cpu/operand.h"
#include "eager/device/cpu/parallel.h"
#include "eager/device/cpu/scores.h"
#include "eager/device/cpu/widen.h"
#include "eager/ops/attention.h"
#include "eager/view.h"
#include "layout/number.h"

/* Rows of a block: whole register tiles of the products. Fewer where the scores are causal, for
 * a block computes all columns that its last row sees. */
#define MIN_ROWS 24
#define MAX_ROWS 384
#define MAX_CAUSAL_ROWS 96
#define BLOCK_SCORES 98304 /* elements of a block that has more than MIN_ROWS */
#define WORTH_THREADS 5e5  /* multiplications below which one thread does it all */

/* Inputs that products read, in the order of their enum; the others only have strides. */
static const int factors[] = {CEBUS_ATTENTION_Q, CEBUS_ATTENTION_K, CEBUS_ATTENTION_V,
                              CEBUS_ATTENTION_GRAD};

typedef struct attention_job {
    const cebus_launch *launch;
    const cebus_attention_attrs *attrs;
    const cebus_scores *scores;
    cebus_dtype dtype;
    int64_t size;                              /* of an element */
    int64_t length, columns, features, values; /* L, S, E, D */
    int ndim;                                  /* of the batch */
    int64_t shape[CEBUS_MAX_DIMS], count;
    cebus_operand in[CEBUS_ATTENTION_INPUTS];
    cebus_operand out[CEBUS_ATTENTION_MASK + 1];
    int64_t block_rows, blocks, ld;
    int64_t tasks, workers;
    char *scratch;
    uint64_t matrix_bytes, product_bytes, worker_bytes;
} attention_job;

/* A matrix of the batch, or a part of one, as an argument of a product. */
typedef struct matrix {
    char *data;
    bool turned;
    int64_t ld;
} matrix;

typedef struct sizes {
    int64_t m, n, k;
    double alpha;
    bool accumulate;
} sizes;

/* Rows [first, first + rows) of the scores of matrix `index`, and the columns that any sees. */
typedef struct row_block {
    const attention_job *job;
    int64_t index, first, rows, columns;
    matrix weights, grads;
    void *scratch;
} row_block;

/* ---- plan -------------------------------------------------------------------------------- */

static bool is_backward(const attention_job *job)
{
    return job->launch->n_in > CEBUS_ATTENTION_GRAD;
}

static void plan_sizes(attention_job *job)
{
    const cebus_launch *launch = job->launch;
    const cebus_view *lse =
        is_backward(job) ? launch->in[CEBUS_ATTENTION_LSE].view : launch->out[1].view;
    job->dtype = lse->dtype;
    job->size = (int64_t)cebus_dtype_size(lse->dtype);
    job->scores = cebus_scores_find(lse->dtype);
    job->ndim = lse->ndim - 1;
    job->count = 1;
    for (int i = 0; i < job->ndim; i++) {
        job->shape[i] = lse->shape[i];
        job->count *= lse->shape[i];
    }
    const cebus_view *k = launch->in[CEBUS_ATTENTION_K].view;
    const cebus_view *v = launch->in[CEBUS_ATTENTION_V].view;
    job->length = lse->shape[job->ndim];
    job->columns = k->shape[k->ndim - 2];
    job->features = k->shape[k->ndim - 1];
    job->values = v->shape[v->ndim - 1];
}

/* A mask as it is read for the scores: repeated where it has one row, column or matrix. */
static cebus_operand over_scores(const attention_job *job, const cebus_array *mask)
{
    int64_t shape[CEBUS_MAX_DIMS];
    memcpy(shape, job->shape, sizeof shape);
    shape[job->ndim] = job->length;
    shape[job->ndim + 1] = job->columns;
    cebus_view view;
    cebus_view_expand(mask->view, job->ndim + 2, shape, &view);
    cebus_array expanded = {.data = mask->data, .view = &view};
    return cebus_operand_describe(&expanded, job->ndim);
}

static void plan_operands(attention_job *job, cebus_scratch *scratch)
{
    const cebus_launch *launch = job->launch;
    for (int i = 0; i < (is_backward(job) ? 4 : 3); i++)
        job->in[factors[i]] = cebus_operand_init(&launch->in[factors[i]], job->ndim, scratch);
    if (job->attrs->has_mask)
        job->in[CEBUS_ATTENTION_MASK] = over_scores(job, &launch->in[CEBUS_ATTENTION_MASK]);
    if (job->attrs->has_keep)
        job->in[CEBUS_ATTENTION_KEEP] = over_scores(job, &launch->in[CEBUS_ATTENTION_KEEP]);
    if (is_backward(job))
        job->in[CEBUS_ATTENTION_OUT] =
            cebus_operand_describe(&launch->in[CEBUS_ATTENTION_OUT], job->ndim);
    for (uint32_t i = 0; i < (is_backward(job) ? launch->n_out : 1); i++)
        job->out[i] = cebus_operand_describe(&launch->out[i], job->ndim);
}

static uint64_t product_scratch(const attention_job *job, int64_t m, int64_t n, int64_t k)
{
    cebus_gemm gemm = {.dtype = job->dtype, .m = m, .n = n, .k = k};
    return cebus_gemm_scratch(&gemm);
}

/* The most that any product of a block needs. */
static uint64_t products_scratch(const attention_job *job)
{
    const int64_t rows = job->block_rows, columns = job->columns;
    const int64_t width = cebus_max_i64(job->features, job->values);
    uint64_t bytes = product_scratch(job, rows, columns, width);
    uint64_t other = product_scratch(job, rows, width, columns);
    bytes = other > bytes ? other : bytes;
    other = is_backward(job) ? product_scratch(job, columns, width, rows) : 0;
    return other > bytes ? other : bytes;
}

static void plan_blocks(attention_job *job, cebus_scratch *scratch)
{
    int64_t fit = BLOCK_SCORES / cebus_max_i64(1, job->columns) / MIN_ROWS * MIN_ROWS;
    int64_t most = job->attrs->is_causal ? MAX_CAUSAL_ROWS : MAX_ROWS;
    job->block_rows = cebus_min_i64(cebus_max_i64(1, job->length),
                                    cebus_min_i64(most, cebus_max_i64(MIN_ROWS, fit)));
    job->blocks = cebus_ceil_div(job->length, job->block_rows);
    job->ld = cebus_max_i64(1, cebus_round_up_i64(job->columns, 16));
    job->tasks = is_backward(job) ? job->count : job->count * job->blocks;
    double work = (double)job->count * (double)job->length * (double)job->columns *
                  (double)(job->features + job->values);
    job->workers = work < WORTH_THREADS
                       ? 1
                       : cebus_min_i64(job->launch->threads, cebus_max_i64(1, job->tasks));
    job->matrix_bytes = (uint64_t)((job->block_rows * job->ld * job->size + 63) / 64 * 64);
    job->product_bytes = products_scratch(job);
    job->worker_bytes = job->matrix_bytes * (is_backward(job) ? 2 : 1) + job->product_bytes;
    job->scratch = cebus_scratch_take(scratch, job->worker_bytes * (uint64_t)job->workers);
}

static void plan(attention_job *job, const cebus_launch *launch, cebus_scratch *scratch)
{
    *job = (attention_job){.launch = launch, .attrs = launch->attrs};
    plan_sizes(job);
    plan_operands(job, scratch);
    plan_blocks(job, scratch);
}

/* ---- matrices ---------------------------------------------------------------------------- */

/* Where (row, 0) of matrix `index` lies, in elements. */
static int64_t offset_of(const attention_job *job, const cebus_operand *operand, int64_t index,
                         int64_t row)
{
    int64_t offset = row * operand->row_stride;
    for (int i = job->ndim - 1; i >= 0; i--) {
        offset += index % job->shape[i] * operand->batch_stride[i];
        index /= job->shape[i];
    }
    return offset;
}

/* The block's matrix of an operand, from `row` on. */
static matrix part(const row_block *b, const cebus_operand *operand, int64_t row)
{
    int64_t offset = offset_of(b->job, operand, b->index, row);
    matrix m = {.data = (char *)operand->data + offset * b->job->size};
    cebus_operand_place(operand, &m.turned, &m.ld);
    return m;
}

static matrix input(const row_block *b, int which, int64_t row)
{
    return part(b, &b->job->in[which], row);
}

static matrix turn(matrix m)
{
    m.turned = !m.turned;
    return m;
}

static char *row_of(const row_block *b, matrix m, int64_t i)
{
    return m.data + i * m.ld * b->job->size;
}

/* c = alpha a b (+ c) */
static void multiply(const row_block *block, matrix a, matrix b, matrix c, sizes s)
{
    cebus_gemm gemm = {.dtype = block->job->dtype,
                       .trans_a = a.turned,
                       .trans_b = b.turned,
                       .accumulate = s.accumulate,
                       .m = s.m,
                       .n = s.n,
                       .k = s.k,
                       .lda = a.ld,
                       .ldb = b.ld,
                       .ldc = c.ld,
                       .alpha = s.alpha,
                       .a = a.data,
                       .b = b.data,
                       .c = c.data};
    cebus_gemm_run(&gemm, block->scratch);
}

/* ---- rows of scores ---------------------------------------------------------------------- */

static int64_t visible(const attention_job *job, int64_t row)
{
    return job->attrs->is_causal ? cebus_min_i64(row + 1, job->columns) : job->columns;
}

/* Zeros where other rows of the block see more columns than this one. */
static void clear_hidden(const row_block *b, char *row, int64_t n)
{
    const int64_t size = b->job->size;
    memset(row + n * size, 0, (size_t)((b->columns - n) * size));
}

static void apply_mask(const row_block *b, int64_t i, char *row, int64_t n)
{
    const attention_job *job = b->job;
    const cebus_operand *mask = &job->in[CEBUS_ATTENTION_MASK];
    if (!job->attrs->has_mask)
        return;
    int64_t offset = offset_of(job, mask, b->index, b->first + i);
    if (job->launch->in[CEBUS_ATTENTION_MASK].view->dtype == CEBUS_BOOL)
        job->scores->hide(row, n, (const uint8_t *)mask->data + offset, mask->col_stride);
    else
        job->scores->add(row, n, (const char *)mask->data + offset * job->size, mask->col_stride);
}

static void apply_dropout(const row_block *b, int64_t i, char *row, int64_t n)
{
    const attention_job *job = b->job;
    const cebus_operand *keep = &job->in[CEBUS_ATTENTION_KEEP];
    if (!job->attrs->has_keep)
        return;
    int64_t offset = offset_of(job, keep, b->index, b->first + i);
    job->scores->drop(row, n, (const uint8_t *)keep->data + offset, keep->col_stride);
}

/* The logarithm of the sum of exponentials of row i of the block. */
static char *lse_of(const row_block *b, void *lse, int64_t i)
{
    return (char *)lse + (b->index * b->job->length + b->first + i) * b->job->size;
}

static row_block block_at(const attention_job *job, int64_t worker, int64_t index, int64_t block)
{
    char *scratch = job->scratch + (uint64_t)worker * job->worker_bytes;
    row_block b = {.job = job, .index = index, .first = block * job->block_rows};
    b.rows = cebus_min_i64(job->block_rows, job->length - b.first);
    b.columns = visible(job, b.first + b.rows - 1);
    b.weights = (matrix){.data = scratch, .ld = job->ld};
    b.grads = (matrix){.data = scratch + job->matrix_bytes, .ld = job->ld};
    b.scratch = scratch + job->worker_bytes - job->product_bytes;
    return b;
}

static void multiply_scores(const row_block *b)
{
    multiply(b, input(b, CEBUS_ATTENTION_Q, b->first), turn(input(b, CEBUS_ATTENTION_K, 0)),
             b->weights,
             (sizes){b->rows, b->columns, b->job->features, b->job->attrs->scale, false});
}

/* ---- forward ----------------------------------------------------------------------------- */

/* Turns scores into weights but for a factor, which is left to the shorter row of the result. */
static double soften_row(const row_block *b, int64_t i)
{
    const attention_job *job = b->job;
    int64_t n = visible(job, b->first + i);
    char *row = row_of(b, b->weights, i);
    double lse;
    apply_mask(b, i, row, n);
    double sum = job->scores->softmax(row, n, &lse);
    apply_dropout(b, i, row, n);
    clear_hidden(b, row, n);
    if (job->launch->out[1].data)
        job->scores->store(lse_of(b, job->launch->out[1].data, i), lse);
    return sum == 0 ? 0 : job->attrs->keep_scale / sum;
}

static void forward_block(const row_block *b)
{
    const attention_job *job = b->job;
    double factor[MAX_ROWS];
    multiply_scores(b);
    for (int64_t i = 0; i < b->rows; i++)
        factor[i] = soften_row(b, i);
    if (job->launch->out[0].data == NULL)
        return;
    matrix out = part(b, &job->out[0], b->first);
    multiply(b, b->weights, input(b, CEBUS_ATTENTION_V, 0), out,
             (sizes){b->rows, job->values, b->columns, 1, false});
    for (int64_t i = 0; i < b->rows; i++)
        job->scores->scale(row_of(b, out, i), job->values, factor[i]);
}

static void forward_task(const attention_job *job, int64_t worker, int64_t task)
{
    row_block b = block_at(job, worker, task / job->blocks, task % job->blocks);
    forward_block(&b);
}

/* ---- backward ---------------------------------------------------------------------------- */

/* For each row the sum of its weights times their gradients, which is also that of the result and
 * its gradient (FlashAttention, appendix B.2). */
static void sum_gradients(const row_block *b, double *delta)
{
    const attention_job *job = b->job;
    const cebus_operand *out = &job->in[CEBUS_ATTENTION_OUT];
    const cebus_operand *grad = &job->in[CEBUS_ATTENTION_GRAD];
    const char *x = part(b, out, b->first).data, *y = part(b, grad, b->first).data;
    for (int64_t i = 0; i < b->rows; i++)
        delta[i] =
            job->scores->dot(x + i * out->row_stride * job->size, out->col_stride,
                             y + i * grad->row_stride * job->size, grad->col_stride, job->values);
}

/* Row i of the weights again, and of the gradient of the scores. */
static void backward_row(const row_block *b, int64_t i, double delta)
{
    const attention_job *job = b->job;
    const char *lse = lse_of(b, job->launch->in[CEBUS_ATTENTION_LSE].data, i);
    int64_t n = visible(job, b->first + i);
    char *weights = row_of(b, b->weights, i), *grads = row_of(b, b->grads, i);
    apply_mask(b, i, weights, n);
    job->scores->weights(weights, n, job->scores->load(lse));
    apply_dropout(b, i, grads, n);
    job->scores->gradient(grads, weights, n, (double[2]){job->attrs->keep_scale, delta});
    apply_dropout(b, i, weights, n);
    clear_hidden(b, weights, n);
    clear_hidden(b, grads, n);
}

/* The gradient of an added mask is that of the scores. */
static void write_mask_gradient(const row_block *b)
{
    const attention_job *job = b->job;
    const size_t seen = (size_t)(b->columns * job->size);
    const size_t row_bytes = (size_t)(job->columns * job->size);
    matrix target = part(b, &job->out[CEBUS_ATTENTION_MASK], b->first);
    for (int64_t i = 0; i < b->rows; i++) {
        char *row = target.data + (size_t)i * row_bytes;
        memcpy(row, row_of(b, b->grads, i), seen);
        memset(row + seen, 0, row_bytes - seen);
    }
}

static bool wanted(const attention_job *job, uint32_t output)
{
    return output < job->launch->n_out && job->launch->out[output].data != NULL;
}

static void backward_block(const row_block *b)
{
    const attention_job *job = b->job;
    const double scale = job->attrs->scale;
    double delta[MAX_ROWS];
    matrix q = input(b, CEBUS_ATTENTION_Q, b->first),
           grad = input(b, CEBUS_ATTENTION_GRAD, b->first);
    multiply_scores(b);
    multiply(b, grad, turn(input(b, CEBUS_ATTENTION_V, 0)), b->grads,
             (sizes){b->rows, b->columns, job->values, 1, false});
    sum_gradients(b, delta);
    for (int64_t i = 0; i < b->rows; i++)
        backward_row(b, i, delta[i]);
    if (wanted(job, CEBUS_ATTENTION_Q))
        multiply(b, b->grads, input(b, CEBUS_ATTENTION_K, 0),
                 part(b, &job->out[CEBUS_ATTENTION_Q], b->first),
                 (sizes){b->rows, job->features, b->columns, scale, false});
    if (wanted(job, CEBUS_ATTENTION_K))
        multiply(b, turn(b->grads), q, part(b, &job->out[CEBUS_ATTENTION_K], 0),
                 (sizes){b->columns, job->features, b->rows, scale, true});
    if (wanted(job, CEBUS_ATTENTION_V))
        multiply(b, turn(b->weights), grad, part(b, &job->out[CEBUS_ATTENTION_V], 0),
                 (sizes){b->columns, job->values, b->rows, job->attrs->keep_scale, true});
    if (wanted(job, CEBUS_ATTENTION_MASK))
        write_mask_gradient(b);
}

/* The gradients of k and v are sums over the blocks. */
static void start_from_zero(const row_block *b, uint32_t output)
{
    const cebus_operand *operand = &b->job->out[output];
    if (!wanted(b->job, output))
        return;
    matrix m = part(b, operand, 0);
    for (int64_t i = 0; i < operand->rows; i++)
        memset(row_of(b, m, i), 0, (size_t)(operand->cols * b->job->size));
}

static void backward_task(const attention_job *job, int64_t worker, int64_t index)
{
    row_block b = {.job = job, .index = index};
    start_from_zero(&b, CEBUS_ATTENTION_K);
    start_from_zero(&b, CEBUS_ATTENTION_V);
    for (int64_t block = 0; block < job->blocks; block++) {
        b = block_at(job, worker, index, block);
        backward_block(&b);
    }
}

/* ---- kernels ----------------------------------------------------------------------------- */

static void run_workers(void *context, int64_t begin, int64_t end)
{
    const attention_job *job = context;
    for (int64_t worker = begin; worker < end; worker++) {
        int64_t first = worker * job->tasks / job->workers;
        int64_t last = (worker + 1) * job->tasks / job->workers;
        for (int64_t task = first; task < last; task++) {
            if (is_backward(job))
                backward_task(job, worker, task);
            else
                forward_task(job, worker, task);
        }
    }
}

static uint64_t workspace(const cebus_launch *launch)
{
    attention_job job;
    cebus_scratch scratch = {0};
    plan(&job, launch, &scratch);
    return scratch.bytes;
}

static cebus_status run(const cebus_launch *launch)
{
    attention_job job;
    cebus_scratch scratch = {.base = launch->workspace};
    plan(&job, launch, &scratch);
    for (int i = 0; i < (is_backward(&job) ? 4 : 3); i++)
        cebus_operand_copy(&job.in[factors[i]], &launch->in[factors[i]], launch->threads);
    if (job.tasks > 0)
        cebus_parallel_for((int)job.workers, job.workers, 1, run_workers, &job);
    return CEBUS_OK;
}

#define KERNELS(X)                                                                                 \
    X(scaled_dot_product_attention, run, workspace)                                                \
    X(scaled_dot_product_attention_backward, run, workspace)
KERNELS(CEBUS_WIDEN)

const cebus_kernel cebus_cpu_attention[] = {
    KERNELS(CEBUS_WIDENED){NULL, NULL, NULL},
};
