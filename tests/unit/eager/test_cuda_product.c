/* Matrix products over views, cut into calls of a GEMM library: carried out here as the library
 * would, they give what the definition gives, whatever the strides. */
#include "eager/device/cuda/product.h"

#include <criterion/criterion.h>
#include <string.h>

#include "eager/view.h"

#define ROOM 4096

/* ---- the library, and the definition ----------------------------------------------------- */

static double element(const double *x, bool turned, int64_t ld, int64_t row, int64_t col)
{
    return turned ? x[col * ld + row] : x[row * ld + col];
}

/* One call, as blas.h describes it. */
static void library(const cebus_cuda_gemm *g, const double *a, const double *b, double *c)
{
    cr_assert_geq(g->lda, g->trans_a ? g->m : g->k);
    cr_assert_geq(g->ldb, g->trans_b ? g->k : g->n);
    cr_assert_geq(g->ldc, g->n);
    for (int64_t i = 0; i < g->batch; i++) {
        for (int64_t r = 0; r < g->m; r++) {
            for (int64_t s = 0; s < g->n; s++) {
                double sum = 0;
                for (int64_t p = 0; p < g->k; p++)
                    sum += element(a + i * g->a_stride, g->trans_a, g->lda, r, p) *
                           element(b + i * g->b_stride, g->trans_b, g->ldb, p, s);
                c[i * g->c_stride + r * g->ldc + s] += sum;
            }
        }
    }
}

/* Offset of matrix `index` of the batch. */
static int64_t matrix_at(const cebus_cuda_operand *o, const cebus_cuda_factors *f, int64_t index)
{
    int64_t offset = 0;
    for (int i = f->ndim - 1; i >= 0; i--) {
        offset += index % f->shape[i] * o->batch_stride[i];
        index /= f->shape[i];
    }
    return offset;
}

static void definition(const cebus_cuda_factors *f, double *c)
{
    cebus_cuda_operand a = cebus_cuda_operand_describe(f->a.array, f->ndim);
    cebus_cuda_operand b = cebus_cuda_operand_describe(f->b.array, f->ndim);
    a = f->a.turned ? cebus_cuda_operand_transpose(&a) : a;
    b = f->b.turned ? cebus_cuda_operand_transpose(&b) : b;
    int64_t count = 1;
    for (int i = 0; i < f->ndim; i++)
        count *= f->shape[i];
    for (int64_t i = 0; i < count; i++) {
        const double *x = (const double *)a.data + matrix_at(&a, f, i);
        const double *y = (const double *)b.data + matrix_at(&b, f, i);
        double *z = c + matrix_at(&f->c, f, i);
        for (int64_t r = 0; r < a.rows; r++) {
            for (int64_t s = 0; s < b.cols; s++) {
                double sum = 0;
                for (int64_t p = 0; p < a.cols; p++)
                    sum += x[r * a.row_stride + p * a.col_stride] *
                           y[p * b.row_stride + s * b.col_stride];
                z[r * f->c.row_stride + s * f->c.col_stride] += sum;
            }
        }
    }
}

static void fill_copy(const cebus_cuda_factor *factor)
{
    const cebus_view *view = factor->array->view;
    if (!factor->as_stored.copied)
        return;
    for (int64_t i = 0; i < cebus_view_numel(view); i++) {
        int64_t rest = i, offset = 0;
        for (int d = view->ndim - 1; d >= 0; d--) {
            offset += rest % view->shape[d] * view->strides[d];
            rest /= view->shape[d];
        }
        ((double *)factor->as_stored.data)[i] = ((const double *)factor->array->data)[offset];
    }
}

/* ---- views ------------------------------------------------------------------------------- */

static double numbers[ROOM], result[ROOM], wanted[ROOM];
static char scratch_room[ROOM * sizeof(double)];

static void fill_numbers(void)
{
    for (int i = 0; i < ROOM; i++)
        numbers[i] = (i * 37 % 101) - 50;
}

typedef struct side {
    int ndim;
    int64_t shape[5], strides[5];
    bool turned;
} side;

static cebus_view view_of(const side *s)
{
    cebus_view view = {.dtype = CEBUS_F64, .ndim = s->ndim};
    for (int i = 0; i < s->ndim; i++) {
        view.shape[i] = s->shape[i];
        view.strides[i] = s->strides[i];
    }
    return view;
}

static cebus_cuda_operand dense_result(const cebus_cuda_factors *f, int64_t m, int64_t n)
{
    cebus_cuda_operand c = {.data = (char *)result,
                            .rows = m,
                            .cols = n,
                            .row_stride = n,
                            .col_stride = 1,
                            .align = 16};
    int64_t stride = m * n;
    for (int i = f->ndim - 1; i >= 0; i--) {
        c.batch_stride[i] = stride;
        stride *= f->shape[i];
    }
    return c;
}

typedef struct outcome {
    int64_t calls, batch, m;
    bool copied_a, copied_b;
} outcome;

static outcome multiply(const side *left, const side *right, int ndim, const int64_t *shape)
{
    fill_numbers();
    cebus_view views[] = {view_of(left), view_of(right)};
    cebus_array arrays[] = {{numbers, &views[0]}, {numbers + 17, &views[1]}};
    cebus_cuda_factors f = {.dtype = CEBUS_F64,
                            .ndim = ndim,
                            .a = {.array = &arrays[0], .turned = left->turned},
                            .b = {.array = &arrays[1], .turned = right->turned}};
    int64_t count = 1;
    for (int i = 0; i < ndim; i++)
        count *= f.shape[i] = shape[i];
    cebus_cuda_operand a = cebus_cuda_operand_describe(&arrays[0], ndim);
    cebus_cuda_operand b = cebus_cuda_operand_describe(&arrays[1], ndim);
    const int64_t m = left->turned ? a.cols : a.rows, n = right->turned ? b.rows : b.cols;
    f.c = dense_result(&f, m, n);
    cr_assert_leq(count * m * n, ROOM);
    cebus_cuda_scratch only_counts = {0}, scratch = {.base = scratch_room};
    cebus_cuda_product p;
    cebus_cuda_product_plan(&p, &f, &only_counts);
    cebus_cuda_product_plan(&p, &f, &scratch);
    cr_assert_eq(scratch.bytes, only_counts.bytes, "workspace does not depend on addresses");
    cr_assert_leq(scratch.bytes, sizeof scratch_room);
    fill_copy(&f.a);
    fill_copy(&f.b);
    memset(result, 0, sizeof result);
    memset(wanted, 0, sizeof wanted);
    for (int64_t i = 0; i < cebus_cuda_product_calls(&p); i++) {
        cebus_cuda_place at = cebus_cuda_product_place(&p, i);
        library(&p.gemm, (const double *)f.a.as_stored.data + at.a,
                (const double *)f.b.as_stored.data + at.b, result + at.c);
    }
    definition(&f, wanted);
    for (int64_t i = 0; i < count * m * n; i++)
        cr_assert_eq(result[i], wanted[i], "element %lld: %g, not %g", (long long)i, result[i],
                     wanted[i]);
    return (outcome){cebus_cuda_product_calls(&p), p.gemm.batch, p.gemm.m, f.a.as_stored.copied,
                     f.b.as_stored.copied};
}

/* ---- tests ------------------------------------------------------------------------------- */

Test(cuda_product, reads_matrices_where_they_are)
{
    const side rows = {2, {3, 4}, {4, 1}, false}, wide = {2, {3, 4}, {9, 1}, false};
    const side columns = {2, {3, 4}, {1, 3}, false}, turned = {2, {4, 3}, {3, 1}, true};
    const side right = {2, {4, 5}, {5, 1}, false}, weight = {2, {5, 4}, {4, 1}, true};
    const side *lefts[] = {&rows, &wide, &columns, &turned};
    for (int i = 0; i < 4; i++) {
        for (int j = 0; j < 2; j++) {
            outcome o = multiply(lefts[i], j ? &weight : &right, 0, NULL);
            cr_assert(o.calls == 1 && o.batch == 1 && !o.copied_a && !o.copied_b);
        }
    }
}

Test(cuda_product, takes_vectors)
{
    const side row = {1, {6}, {1}, true}, strided = {1, {6}, {5}, true};
    const side column = {1, {6}, {3}, false}, matrix = {2, {6, 4}, {4, 1}, false};
    outcome o = multiply(&row, &column, 0, NULL);
    cr_assert(!o.copied_a && !o.copied_b);
    o = multiply(&strided, &matrix, 0, NULL);
    cr_assert(!o.copied_a && !o.copied_b);
}

Test(cuda_product, copies_what_has_no_unit_stride)
{
    const side spread = {2, {3, 4}, {17, 2}, false}, repeated = {2, {3, 4}, {0, 1}, false};
    const side right = {2, {4, 5}, {5, 1}, false}, loose = {2, {4, 5}, {31, 3}, false};
    cr_assert(multiply(&spread, &right, 0, NULL).copied_a);
    cr_assert(multiply(&repeated, &right, 0, NULL).copied_a);
    outcome o = multiply(&spread, &loose, 0, NULL);
    cr_assert(o.copied_a && o.copied_b);
}

Test(cuda_product, makes_rows_of_a_batch_with_one_matrix)
{
    const side left = {4, {2, 5, 3, 4}, {60, 12, 4, 1}, false};
    const side right = {2, {4, 2}, {2, 1}, false};
    outcome o = multiply(&left, &right, 2, (int64_t[]){2, 5});
    cr_assert(o.calls == 1 && o.batch == 1 && o.m == 30);
    const side row = {3, {5, 1, 4}, {9, 4, 1}, false};
    o = multiply(&row, &right, 1, (int64_t[]){5});
    cr_assert(o.calls == 1 && o.batch == 1 && o.m == 5);
    const side gap = {3, {5, 3, 4}, {13, 4, 1}, false};
    o = multiply(&gap, &right, 1, (int64_t[]){5});
    cr_assert(o.calls == 1 && o.batch == 5 && o.m == 3);
}

Test(cuda_product, folds_regular_batches)
{
    const side left = {4, {2, 5, 3, 4}, {60, 12, 4, 1}, false};
    const side right = {4, {2, 5, 4, 2}, {40, 8, 2, 1}, false};
    outcome o = multiply(&left, &right, 2, (int64_t[]){2, 5});
    cr_assert(o.calls == 1 && o.batch == 10);
    const side one = {4, {1, 1, 3, 4}, {12, 12, 4, 1}, false};
    o = multiply(&one, &right, 2, (int64_t[]){2, 5});
    cr_assert(o.calls == 1 && o.batch == 10);
}

Test(cuda_product, calls_again_for_the_shorter_dimension)
{
    /* Heads between rows, as attention has them. */
    const side left = {4, {2, 5, 3, 4}, {60, 4, 20, 1}, false};
    const side right = {4, {2, 5, 4, 2}, {40, 8, 2, 1}, false};
    outcome o = multiply(&left, &right, 2, (int64_t[]){2, 5});
    cr_assert(o.calls == 2 && o.batch == 5 && !o.copied_a);
    const side across = {4, {2, 1, 3, 4}, {12, 12, 4, 1}, false};
    const side down = {4, {1, 5, 4, 2}, {40, 8, 2, 1}, false};
    o = multiply(&across, &down, 2, (int64_t[]){2, 5});
    cr_assert(o.calls == 2 && o.batch == 5);
}

Test(cuda_product, copies_rather_than_calling_too_often)
{
    const side left = {4, {20, 18, 1, 2}, {36, 2, 720, 1}, false};
    const side swapped = {4, {20, 18, 2, 1}, {2, 40, 1, 1}, false};
    outcome o = multiply(&left, &swapped, 2, (int64_t[]){20, 18});
    cr_assert(o.calls == 1 && o.batch == 360 && o.copied_b && !o.copied_a);
}

Test(cuda_product, repeats_a_batch_that_no_copy_folds)
{
    const side across = {4, {20, 1, 1, 2}, {2, 2, 2, 1}, false};
    const side down = {4, {1, 18, 2, 1}, {36, 2, 1, 1}, false};
    outcome o = multiply(&across, &down, 2, (int64_t[]){20, 18});
    cr_assert(o.calls == 18 && o.batch == 20 && !o.copied_a && !o.copied_b);
}

Test(cuda_product, knows_alignments)
{
    cr_assert_eq(cebus_cuda_alignment(0, 4), 16);
    cr_assert_eq(cebus_cuda_alignment(4, 4), 16);
    cr_assert_eq(cebus_cuda_alignment(2, 4), 8);
    cr_assert_eq(cebus_cuda_alignment(3, 4), 4);
    cr_assert_eq(cebus_cuda_alignment(1, 2), 2);
    cr_assert_eq(cebus_cuda_alignment(1, 8), 8);
}

Test(cuda_product, cuts_scratch_into_aligned_pieces)
{
    cebus_cuda_scratch scratch = {.base = scratch_room};
    cr_assert_eq(cebus_cuda_scratch_take(&scratch, 1), scratch_room);
    cr_assert_eq(cebus_cuda_scratch_take(&scratch, 0), scratch_room + CEBUS_CUDA_PIECE);
    cr_assert_eq(scratch.bytes, CEBUS_CUDA_PIECE);
    cebus_cuda_scratch counting = {0};
    cr_assert_null(cebus_cuda_scratch_take(&counting, 100));
}
