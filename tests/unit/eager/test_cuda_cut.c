/* Batches cut into chunks and blocks of rows: all of it once, in order, within the bound. */
#include "eager/device/cuda/cut.h"

#include <criterion/criterion.h>

typedef struct world {
    int ndim;
    int64_t shape[4], length, row, bound;
    int64_t rows; /* of a block at most; 0: length */
} world;

static cebus_cuda_cut cut_of(const world *w)
{
    const int64_t rows = w->rows ? w->rows : w->length;
    return cebus_cuda_cut_of(w->ndim, w->shape, w->length, rows, w->row, w->bound);
}

/* The chunk's shape is a range of one dimension and all of those after it. */
static void check_chunk(const world *w, const cebus_cuda_cut *cut, const cebus_cuda_chunk *chunk)
{
    int64_t matrices = 1;
    for (int i = 0; i < chunk->ndim; i++) {
        matrices *= chunk->shape[i];
        cr_assert_leq(chunk->shape[i], w->shape[chunk->from + i]);
        cr_assert(i == 0 || chunk->shape[i] == w->shape[chunk->from + i]);
    }
    cr_assert_eq(chunk->ndim + chunk->from, w->ndim);
    cr_assert_eq(chunk->matrices, matrices);
    cr_assert_leq(matrices, cebus_cuda_cut_matrices(cut));
}

static void check(const world *w)
{
    const cebus_cuda_cut cut = cut_of(w);
    int64_t count = 1, next = 0, rows = 0;
    for (int i = 0; i < w->ndim; i++)
        count *= w->shape[i];
    for (int64_t i = 0; i < cut.chunks; i++) {
        const cebus_cuda_chunk chunk = cebus_cuda_cut_chunk(&cut, i);
        cr_assert_eq(chunk.first, next);
        check_chunk(w, &cut, &chunk);
        next += chunk.matrices;
    }
    cr_assert_eq(next, count);
    for (int64_t i = 0; i < cut.blocks; i++) {
        const int64_t part = cebus_cuda_cut_rows(&cut, i);
        cr_assert(part > 0 && part <= cut.rows);
        rows += part;
    }
    cr_assert_eq(rows, w->length);
    const int64_t elements = cebus_cuda_cut_matrices(&cut) * cut.rows * w->row;
    cr_assert(elements <= w->bound || (cut.rows == 1 && cebus_cuda_cut_matrices(&cut) == 1));
    cr_assert(w->rows || cut.blocks == 1 || cebus_cuda_cut_matrices(&cut) == 1);
    cr_assert(w->rows == 0 || cut.rows <= w->rows);
}

Test(cuda_cut, cuts_everything_once)
{
    static const int64_t bounds[] = {1, 7, 8, 63, 64, 100, 500, 1000, 100000};
    for (int ndim = 0; ndim <= 4; ndim++) {
        for (size_t b = 0; b < sizeof bounds / sizeof *bounds; b++) {
            for (int64_t length = 1; length < 12; length += 5) {
                check(&(world){ndim, {3, 5, 2, 4}, length, 8, bounds[b]});
                check(&(world){ndim, {1, 7, 1, 3}, length, 16, bounds[b]});
                check(&(world){ndim, {3, 5, 2, 4}, length, 8, bounds[b], (length + 2) / 3});
            }
        }
    }
}

Test(cuda_cut, takes_all_at_once_where_it_fits)
{
    const world w = {2, {3, 4}, 5, 8, 3 * 4 * 5 * 8};
    const cebus_cuda_cut cut = cut_of(&w);
    cr_assert(cut.chunks == 1 && cut.blocks == 1 && cebus_cuda_cut_matrices(&cut) == 12);
}

Test(cuda_cut, makes_chunks_even)
{
    const world w = {2, {32, 12}, 512, 512, INT64_C(16) << 20};
    const cebus_cuda_cut cut = cut_of(&w);
    cr_assert(cut.dim == 0 && cut.inner == 12 && cut.chunks == 7 && cut.step == 5);
}

Test(cuda_cut, cuts_matrices_that_do_not_fit)
{
    const world w = {1, {6}, 100, 104, 512};
    const cebus_cuda_cut cut = cut_of(&w);
    cr_assert(cut.chunks == 6 && cut.rows == 4 && cut.blocks == 25);
}

Test(cuda_cut, cuts_matrices_that_would_fit)
{
    const world w = {2, {4, 12}, 1024, 1024, INT64_C(16) << 20, 256};
    const cebus_cuda_cut cut = cut_of(&w);
    cr_assert(cut.chunks == 1 && cut.rows == 256 && cut.blocks == 4);
    cr_assert_eq(cebus_cuda_cut_matrices(&cut), 48);
}

typedef struct lie {
    int ndim;
    int64_t shape[4], strides[2][4]; /* of two arrays */
} lie;

static void expect_order(const lie *l, int n, const int *want, int64_t together)
{
    int64_t found;
    const int64_t *const strides[] = {l->strides[0], l->strides[1]};
    int order[CEBUS_MAX_DIMS];
    cr_assert_eq(cebus_cuda_cut_order(l->ndim, l->shape, 2, strides, order, &found), n);
    cr_assert_eq(found, together);
    for (int i = 0; i < n; i++)
        cr_assert_eq(order[i], want[i], "dimension %d is %d", i, order[i]);
}

Test(cuda_cut, puts_most_matrices_last)
{
    /* Heads of [32, length, 12]: neither dimension continues the other. */
    expect_order(&(lie){2, {32, 12}, {{9600, 64}, {9600, 64}}}, 2, (int[]){1, 0}, 32);
    expect_order(&(lie){2, {12, 32}, {{64, 9600}, {64, 9600}}}, 2, (int[]){0, 1}, 32);
    expect_order(&(lie){2, {8, 8}, {{9600, 64}, {9600, 64}}}, 2, (int[]){0, 1}, 8);
    /* One array alone stands in the way. */
    expect_order(&(lie){2, {32, 12}, {{768, 64}, {9600, 64}}}, 2, (int[]){1, 0}, 32);
}

Test(cuda_cut, keeps_what_lies_as_one)
{
    expect_order(&(lie){2, {32, 12}, {{768, 64}, {0, 0}}}, 2, (int[]){0, 1}, 384);
    expect_order(&(lie){3, {5, 4, 16}, {{20, 5, 100}, {20, 5, 100}}}, 3, (int[]){2, 0, 1}, 20);
    expect_order(&(lie){3, {16, 2, 3}, {{1, 300, 100}, {1, 300, 100}}}, 3, (int[]){1, 2, 0}, 16);
    expect_order(&(lie){4, {1, 6, 1, 2}, {{9, 2, 9, 1}, {9, 2, 9, 1}}}, 2, (int[]){1, 3}, 12);
    expect_order(&(lie){1, {1}, {{7}, {7}}}, 0, NULL, 1);
    expect_order(&(lie){0}, 0, NULL, 1);
}
