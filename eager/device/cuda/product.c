#include "eager/device/cuda/product.h"

#include "eager/view.h"
#include "layout/number.h"

void *cebus_cuda_scratch_take(cebus_cuda_scratch *scratch, uint64_t bytes)
{
    void *piece = scratch->base ? scratch->base + scratch->bytes : NULL;
    scratch->bytes += cebus_align_up(bytes, CEBUS_CUDA_PIECE);
    return piece;
}

int64_t cebus_cuda_alignment(int64_t elements, int64_t size)
{
    const int64_t bytes = elements * size;
    int64_t align = CEBUS_CUDA_USEFUL_ALIGNMENT;
    while (align > size && bytes % align != 0)
        align /= 2;
    return align;
}

/* ---- operands ---------------------------------------------------------------------------- */

cebus_cuda_operand cebus_cuda_operand_describe(const cebus_array *array, int batch_ndim)
{
    const cebus_view *view = array->view;
    const int n = view->ndim;
    cebus_cuda_operand o = {
        .data = array->data,
        .rows = view->shape[n > 1 ? n - 2 : 0],
        .row_stride = view->strides[n > 1 ? n - 2 : 0],
        .cols = n > 1 ? view->shape[n - 1] : 1,
        .col_stride = n > 1 ? view->strides[n - 1] : 1,
        .align = cebus_cuda_alignment(view->offset, (int64_t)cebus_dtype_size(view->dtype)),
    };
    for (int from = n - 3, to = batch_ndim - 1; from >= 0; from--, to--)
        o.batch_stride[to] = view->shape[from] == 1 ? 0 : view->strides[from];
    return o;
}

cebus_cuda_operand cebus_cuda_operand_transpose(const cebus_cuda_operand *o)
{
    cebus_cuda_operand other = *o;
    other.rows = o->cols;
    other.cols = o->rows;
    other.row_stride = o->col_stride;
    other.col_stride = o->row_stride;
    return other;
}

bool cebus_cuda_operand_by_rows(const cebus_cuda_operand *o)
{
    return (o->col_stride == 1 || o->cols == 1) && (o->row_stride >= o->cols || o->rows == 1);
}

void cebus_cuda_operand_copy(cebus_cuda_operand *operand, const cebus_array *array, int batch_ndim,
                             cebus_cuda_scratch *scratch)
{
    const cebus_view *view = array->view;
    cebus_view dense;
    if (operand->copied)
        return;
    cebus_view_contiguous(&dense, view->dtype, view->ndim, view->shape);
    uint64_t bytes = (uint64_t)cebus_view_numel(view) * cebus_dtype_size(view->dtype);
    cebus_array target = {.data = cebus_cuda_scratch_take(scratch, bytes), .view = &dense};
    *operand = cebus_cuda_operand_describe(&target, batch_ndim);
    operand->copied = true;
}

void cebus_cuda_operand_settle(cebus_cuda_operand *operand, const cebus_array *array,
                               int batch_ndim, cebus_cuda_scratch *scratch)
{
    const cebus_cuda_operand turned = cebus_cuda_operand_transpose(operand);
    if (!cebus_cuda_operand_by_rows(operand) && !cebus_cuda_operand_by_rows(&turned))
        cebus_cuda_operand_copy(operand, array, batch_ndim, scratch);
}

/* ---- batches ----------------------------------------------------------------------------- */

/* A dimension of the batch in all three operands. */
typedef struct dimension {
    int64_t length, a, b, c;
} dimension;

typedef struct batch {
    int n;
    dimension at[CEBUS_MAX_DIMS];
} batch;

static void remove_dimension(batch *all, int i)
{
    all->n--;
    for (; i < all->n; i++)
        all->at[i] = all->at[i + 1];
}

/* Dimensions of length 1 go; neighbours that lie as one become one. */
static void merge(batch *all)
{
    for (int i = all->n - 1; i >= 0; i--) {
        if (all->at[i].length == 1)
            remove_dimension(all, i);
    }
    for (int i = all->n - 2; i >= 0; i--) {
        dimension *outer = &all->at[i];
        const dimension *inner = &all->at[i + 1];
        if (outer->a != inner->length * inner->a || outer->b != inner->length * inner->b ||
            outer->c != inner->length * inner->c)
            continue;
        outer->length *= inner->length;
        outer->a = inner->a;
        outer->b = inner->b;
        outer->c = inner->c;
        remove_dimension(all, i + 1);
    }
}

/* A dimension over which B is one matrix, and that continues the rows of A and C, is rows. */
static void fold_rows(batch *all, cebus_cuda_operand *a, cebus_cuda_operand *c)
{
    while (all->n > 0) {
        const dimension *last = &all->at[all->n - 1];
        const bool one_row = a->rows == 1;
        const int64_t a_row = one_row ? last->a : a->row_stride;
        const int64_t c_row = one_row ? last->c : c->row_stride;
        if (last->b != 0 || !cebus_cuda_operand_by_rows(a) || a_row < a->cols || c_row < c->cols ||
            last->a != a->rows * a_row || last->c != c->rows * c_row)
            return;
        a->row_stride = a_row;
        c->row_stride = c_row;
        a->rows *= last->length;
        c->rows *= last->length;
        all->n--;
    }
}

/* The longest dimension, the innermost of several. */
static int longest(const batch *all)
{
    int best = all->n - 1;
    for (int i = all->n - 2; i >= 0; i--) {
        if (all->at[i].length > all->at[best].length)
            best = i;
    }
    return best;
}

static void place_batch(cebus_cuda_product *p, batch *all)
{
    p->gemm.batch = 1;
    if (all->n > 0) {
        const int i = longest(all);
        p->gemm.batch = all->at[i].length;
        p->gemm.a_stride = all->at[i].a;
        p->gemm.b_stride = all->at[i].b;
        p->gemm.c_stride = all->at[i].c;
        remove_dimension(all, i);
    }
    p->ndim = all->n;
    for (int i = 0; i < all->n; i++) {
        p->shape[i] = all->at[i].length;
        p->a_step[i] = all->at[i].a;
        p->b_step[i] = all->at[i].b;
        p->c_step[i] = all->at[i].c;
    }
}

/* Whether it is stored transposed, and its leading dimension. */
static void place_matrix(const cebus_cuda_operand *operand, int64_t *out_trans, int64_t *out_ld)
{
    cebus_cuda_operand o = *operand;
    *out_trans = !cebus_cuda_operand_by_rows(operand);
    if (*out_trans)
        o = cebus_cuda_operand_transpose(operand);
    *out_ld = cebus_max_i64(1, o.rows == 1 ? o.cols : o.row_stride);
}

/* What the calls after the first find their data aligned to. */
static int64_t aligned(int64_t align, const int64_t *step, int ndim, int64_t size)
{
    for (int i = 0; i < ndim; i++)
        align = cebus_min_i64(align, cebus_cuda_alignment(step[i], size));
    return align;
}

void cebus_cuda_product_init(cebus_cuda_product *p, const cebus_cuda_factors *f,
                             const cebus_cuda_operand *a_operand, const cebus_cuda_operand *b)
{
    cebus_cuda_operand a = *a_operand, c = f->c;
    const cebus_dtype result = f->result ? f->result : f->dtype;
    const int64_t size = (int64_t)cebus_dtype_size(f->dtype);
    batch all = {.n = f->ndim};
    for (int i = 0; i < f->ndim; i++)
        all.at[i] =
            (dimension){f->shape[i], a.batch_stride[i], b->batch_stride[i], c.batch_stride[i]};
    merge(&all);
    fold_rows(&all, &a, &c);
    *p = (cebus_cuda_product){.gemm = {.dtype = f->dtype, .result = result}};
    place_batch(p, &all);
    cebus_cuda_gemm *gemm = &p->gemm;
    int64_t c_trans;
    gemm->m = a.rows;
    gemm->n = b->cols;
    gemm->k = a.cols;
    place_matrix(&a, &gemm->trans_a, &gemm->lda);
    place_matrix(b, &gemm->trans_b, &gemm->ldb);
    place_matrix(&c, &c_trans, &gemm->ldc);
    gemm->a_align = aligned(a.align, p->a_step, p->ndim, size);
    gemm->b_align = aligned(b->align, p->b_step, p->ndim, size);
    gemm->c_align = aligned(c.align, p->c_step, p->ndim, (int64_t)cebus_dtype_size(result));
}

static cebus_cuda_operand as_multiplied(const cebus_cuda_factor *factor)
{
    return factor->turned ? cebus_cuda_operand_transpose(&factor->as_stored) : factor->as_stored;
}

/* Plans with those factors copied that `copies` names, beside those that must be. */
static void attempt(cebus_cuda_product *p, cebus_cuda_factors *f, const bool *copies,
                    cebus_cuda_scratch *scratch)
{
    cebus_cuda_factor *factor[] = {&f->a, &f->b};
    for (int i = 0; i < 2; i++) {
        cebus_cuda_operand *operand = &factor[i]->as_stored;
        *operand = cebus_cuda_operand_describe(factor[i]->array, f->ndim);
        if (copies[i])
            cebus_cuda_operand_copy(operand, factor[i]->array, f->ndim, scratch);
        else
            cebus_cuda_operand_settle(operand, factor[i]->array, f->ndim, scratch);
    }
    const cebus_cuda_operand a = as_multiplied(&f->a), b = as_multiplied(&f->b);
    cebus_cuda_product_init(p, f, &a, &b);
}

void cebus_cuda_product_plan(cebus_cuda_product *p, cebus_cuda_factors *f,
                             cebus_cuda_scratch *scratch)
{
    static const bool ways[][2] = {{false, false}, {true, false}, {false, true}, {true, true}};
    int best = 0;
    int64_t fewest = INT64_MAX;
    for (int i = 0; i < 4 && fewest > CEBUS_CUDA_CALLS; i++) {
        cebus_cuda_scratch trial = *scratch;
        attempt(p, f, ways[i], &trial);
        if (cebus_cuda_product_calls(p) < fewest) {
            fewest = cebus_cuda_product_calls(p);
            best = i;
        }
    }
    attempt(p, f, ways[best], scratch);
}

int64_t cebus_cuda_product_calls(const cebus_cuda_product *p)
{
    int64_t calls = 1;
    for (int i = 0; i < p->ndim; i++)
        calls *= p->shape[i];
    return calls;
}

cebus_cuda_place cebus_cuda_product_place(const cebus_cuda_product *p, int64_t index)
{
    cebus_cuda_place place = {0, 0, 0};
    for (int i = p->ndim - 1; i >= 0; i--) {
        const int64_t at = index % p->shape[i];
        place.a += at * p->a_step[i];
        place.b += at * p->b_step[i];
        place.c += at * p->c_step[i];
        index /= p->shape[i];
    }
    return place;
}
