#include "eager/device/cuda/attention_plan.h"

#include "eager/device/cuda/scores.h"
#include "layout/number.h"

typedef cebus_cuda_attention job;

/* Elements of a buffer of scores: 64 MiB of f32, about what the second-level cache and a wave of
 * blocks are worth. Causal matrices are cut into so many blocks of rows, as half of the scores are
 * hidden (1: not at all), where a product still has so many tiles of so many rows: most of a wave
 * of them. Matrices of so many rows and more, that products take few of at a time as they do not
 * lie as one, are gathered where that makes as many tiles; those of shorter ones cost less than
 * their copies. */
#ifdef CEBUS_CUDA_HOST /* tests see chunks and blocks of small matrices */
#define BUFFER_SCORES 200
#define CAUSAL_BLOCKS 4
#define TILE 1
#define WAVE 8
#define GATHERED_LENGTH 3
#else
#define BUFFER_SCORES (INT64_C(16) << 20)
#define CAUSAL_BLOCKS 4
#define TILE 128
#define WAVE 96
#define GATHERED_LENGTH 512
#endif
/* Elements of gathered matrices at most. */
#define BUFFER_GATHERED (2 * BUFFER_SCORES)
/* Different lengths of what blocks of rows see. */
#define SEEN_LENGTHS 16

static const int factors[] = {CEBUS_ATTENTION_Q, CEBUS_ATTENTION_K, CEBUS_ATTENTION_V,
                              CEBUS_ATTENTION_GRAD};

int64_t cebus_cuda_attention_ld(int64_t columns)
{
    return cebus_round_up_i64(columns, CEBUS_CUDA_SCORES_PACK);
}

/* ---- operands ---------------------------------------------------------------------------- */

void cebus_cuda_attention_init(cebus_cuda_attention *j, const cebus_launch *launch)
{
    *j = (cebus_cuda_attention){.launch = launch, .attrs = launch->attrs};
    j->is_backward = launch->n_in > CEBUS_ATTENTION_GRAD;
    j->op =
        j->is_backward ? "scaled_dot_product_attention_backward" : "scaled_dot_product_attention";
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
    j->ld = cebus_cuda_attention_ld(j->columns);
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

int cebus_cuda_attention_factors(const job *j)
{
    return j->is_backward ? 4 : 3;
}

int cebus_cuda_attention_factor(int index)
{
    return factors[index];
}

static uint32_t outputs_of(const job *j)
{
    return j->is_backward ? j->launch->n_out : 1;
}

static void plan_operands(job *j, cebus_cuda_scratch *scratch)
{
    const cebus_launch *launch = j->launch;
    for (int i = 0; i < cebus_cuda_attention_factors(j); i++) {
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

cebus_cuda_operand *cebus_cuda_attention_multiplied(cebus_cuda_attention *j, int index)
{
    const int inputs = cebus_cuda_attention_factors(j);
    return index < inputs ? &j->in[factors[index]] : &j->out[index - inputs];
}

int cebus_cuda_attention_multiplied_count(const cebus_cuda_attention *j)
{
    const int results = j->is_backward ? 3 : 1;
    return cebus_cuda_attention_factors(j) + results;
}

static void reorder(int64_t *of, int ndim, const int *order)
{
    int64_t was[CEBUS_MAX_DIMS];
    memcpy(was, of, sizeof was);
    for (int i = 0; i < ndim; i++)
        of[i] = was[order[i]];
}

/* The batch in the order that makes the largest products, from here on. Answers how many matrices
 * one product takes at most. */
static int64_t order_batch(job *j)
{
    int64_t together;
    const int64_t *strides[CEBUS_CUDA_ATTENTION_MULTIPLIED];
    int order[CEBUS_MAX_DIMS];
    for (int i = 0; i < cebus_cuda_attention_multiplied_count(j); i++)
        strides[i] = cebus_cuda_attention_multiplied(j, i)->batch_stride;
    j->ndim = cebus_cuda_cut_order(j->ndim, j->shape, cebus_cuda_attention_multiplied_count(j),
                                   strides, order, &together);
    reorder(j->shape, j->ndim, order);
    reorder(j->lse.batch_stride, j->ndim, order);
    for (int i = 0; i < CEBUS_ATTENTION_INPUTS; i++)
        reorder(j->in[i].batch_stride, j->ndim, order);
    for (int i = 0; i <= CEBUS_ATTENTION_MASK; i++)
        reorder(j->out[i].batch_stride, j->ndim, order);
    return together;
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

/* ---- chunks and blocks ------------------------------------------------------------------- */

/* Tiles of rows of one product, that takes `together` matrices at most. */
static int64_t tiles(const job *j, int64_t together, int64_t rows)
{
    const int64_t fit = BUFFER_SCORES / j->ld / rows;
    if (fit == 0)
        return cebus_round_up_i64(cebus_min_i64(rows, BUFFER_SCORES / j->ld), TILE) / TILE;
    return cebus_min_i64(together, fit) * (cebus_round_up_i64(rows, TILE) / TILE);
}

/* Rows of a block at most. Blocks of rows need but the columns that they see; narrow types would be
 * rounded after each. */
static int64_t block_rows(const job *j, int64_t together)
{
    if (!j->attrs->is_causal || j->dtype != j->wide)
        return j->length;
    const int64_t whole = cebus_min_i64(WAVE, tiles(j, together, j->length));
    for (int64_t parts = CAUSAL_BLOCKS; parts > 1; parts /= 2) {
        const int64_t rows = cebus_round_up_i64(cebus_ceil_div(j->length, parts), TILE);
        if (rows < j->length && tiles(j, together, rows) >= whole)
            return rows;
    }
    return j->length;
}

int64_t cebus_cuda_attention_seen(const cebus_cuda_attention *j, int64_t index)
{
    const int64_t end = index * j->cut.rows + cebus_cuda_cut_rows(&j->cut, index);
    if (!j->attrs->is_causal)
        return j->columns;
    const int64_t step = cebus_round_up_i64(cebus_ceil_div(j->columns, SEEN_LENGTHS), TILE);
    return cebus_min_i64(j->columns, cebus_round_up_i64(end, step));
}

/* A buffer of scores, and another of what is made of them where that is of another type. */
static void take_scores(const job *j, cebus_cuda_scratch *scratch, char **out, char **out_soft)
{
    const uint64_t numel = (uint64_t)(cebus_cuda_cut_matrices(&j->cut) * j->cut.rows * j->ld);
    *out = cebus_cuda_scratch_take(scratch, numel * cebus_dtype_size(j->wide));
    *out_soft =
        j->wide == j->dtype ? *out : cebus_cuda_scratch_take(scratch, numel * (uint64_t)j->size);
}

static bool lies_as_one(const job *j, const cebus_cuda_operand *o)
{
    for (int i = 0; i + 1 < j->ndim; i++)
        if (o->batch_stride[i] != j->shape[i + 1] * o->batch_stride[i + 1])
            return false;
    return true;
}

/* Whether products shall take the whole batch as one, rather than `together` matrices: they have
 * too few tiles, or blocks of rows would have. */
static bool is_worth_gathering(const job *j, int64_t together)
{
    if (j->dtype != j->wide || j->length < GATHERED_LENGTH || j->count == together)
        return false;
    const int64_t few = tiles(j, together, j->length);
    return (few < WAVE && few < tiles(j, j->count, j->length)) ||
           (block_rows(j, together) == j->length && block_rows(j, j->count) < j->length);
}

static void cut(job *j, int64_t together)
{
    const int64_t rows = block_rows(j, together);
    j->cut = cebus_cuda_cut_of(j->ndim, j->shape, j->length, rows, j->ld, BUFFER_SCORES);
}

/* Elements that it takes to gather what does not lie as one. */
static int64_t choose_gathered(job *j)
{
    int64_t numel = 0;
    for (int i = 0; i < cebus_cuda_attention_multiplied_count(j); i++) {
        const cebus_cuda_operand *o = cebus_cuda_attention_multiplied(j, i);
        j->gathers[i] = o->rows * o->cols > 0 && !lies_as_one(j, o);
        if (j->gathers[i])
            numel += cebus_cuda_cut_matrices(&j->cut) * o->rows * o->cols;
    }
    return numel;
}

static void plan_cut(job *j)
{
    const int64_t together = order_batch(j);
    if (is_worth_gathering(j, together)) {
        cut(j, j->count);
        if (choose_gathered(j) <= BUFFER_GATHERED)
            return;
        memset(j->gathers, 0, sizeof j->gathers);
    }
    cut(j, together);
}

static void take_gathered(job *j, cebus_cuda_scratch *scratch)
{
    for (int i = 0; i < cebus_cuda_attention_multiplied_count(j); i++) {
        const cebus_cuda_operand *o = cebus_cuda_attention_multiplied(j, i);
        const int64_t numel = cebus_cuda_cut_matrices(&j->cut) * o->rows * o->cols;
        if (j->gathers[i])
            j->dense[i] = cebus_cuda_scratch_take(scratch, (uint64_t)(numel * j->size));
    }
}

void cebus_cuda_attention_plan(cebus_cuda_attention *j, cebus_cuda_scratch *scratch)
{
    plan_operands(j, scratch);
    plan_cut(j);
    for (int i = 0; i < cebus_cuda_attention_multiplied_count(j); i++)
        settle_alignment(j, cebus_cuda_attention_multiplied(j, i));
    take_scores(j, scratch, &j->weights, &j->soft_weights);
    if (j->is_backward)
        take_scores(j, scratch, &j->grads, &j->soft_grads);
    take_gathered(j, scratch);
}

/* ---- a chunk of the batch ---------------------------------------------------------------- */

/* Of an element of an input. */
static int64_t size_of(const job *j, uint32_t input)
{
    return (int64_t)cebus_dtype_size(j->launch->in[input].view->dtype);
}

/* The chunk's matrices of an operand with elements of `size` bytes. */
static void move_to(const job *j, const cebus_cuda_chunk *chunk, cebus_cuda_operand *o,
                    int64_t size)
{
    int64_t offset = 0, index = chunk->first;
    for (int i = j->ndim - 1; i >= 0; i--) {
        offset += index % j->shape[i] * o->batch_stride[i];
        index /= j->shape[i];
    }
    if (o->data) /* there are no addresses while planning */
        o->data += offset * size;
    memmove(o->batch_stride, o->batch_stride + chunk->from,
            (size_t)chunk->ndim * sizeof *o->batch_stride);
}

cebus_cuda_attention cebus_cuda_attention_chunk(const cebus_cuda_attention *j,
                                                const cebus_cuda_chunk *chunk)
{
    job c = *j;
    for (uint32_t i = 0; i < j->launch->n_in; i++)
        move_to(j, chunk, &c.in[i], size_of(j, i));
    for (int i = 0; i <= CEBUS_ATTENTION_MASK; i++)
        move_to(j, chunk, &c.out[i], j->size);
    move_to(j, chunk, &c.lse, (int64_t)cebus_dtype_size(j->wide));
    c.ndim = chunk->ndim;
    memcpy(c.shape, chunk->shape, sizeof c.shape);
    return c;
}

cebus_cuda_attention cebus_cuda_attention_gathered(const cebus_cuda_attention *chunk)
{
    job c = *chunk;
    for (int i = 0; i < cebus_cuda_attention_multiplied_count(&c); i++) {
        cebus_cuda_operand *o = cebus_cuda_attention_multiplied(&c, i);
        if (!c.gathers[i])
            continue;
        o->data = c.dense[i];
        o->align = CEBUS_CUDA_USEFUL_ALIGNMENT;
        o->row_stride = o->cols;
        o->col_stride = 1;
        int64_t stride = o->rows * o->cols;
        for (int d = c.ndim - 1; d >= 0; d--) {
            o->batch_stride[d] = stride;
            stride *= c.shape[d];
        }
        settle_alignment(&c, o);
    }
    return c;
}
