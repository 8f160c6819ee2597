#include "eager/view.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "program.h"

TestSuite(view);

/* ---- views and the elements they touch, by enumeration ------------------------------------- */

#define MOST 4096

/* Offsets in row-major order of the view's elements; their number. */
static int enumerate(const cebus_view *view, int64_t *offsets)
{
    int64_t coordinates[CEBUS_MAX_DIMS] = {0};
    int n = 0;
    for (int d = 0; d < view->ndim; d++)
        if (view->shape[d] == 0)
            return 0;
    for (;;) {
        int64_t at = view->offset;
        for (int d = 0; d < view->ndim; d++)
            at += coordinates[d] * view->strides[d];
        offsets[n++] = at;
        int d = view->ndim - 1;
        while (d >= 0 && ++coordinates[d] == view->shape[d])
            coordinates[d--] = 0;
        if (d < 0)
            return n;
    }
}

static int compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* A view of a random kind: permuted, stepped, cut or repeated. */
static cebus_view draw(unsigned *state)
{
    int64_t shape[CEBUS_MAX_DIMS];
    cebus_view plain, view;
    int ndim = rand_r(state) % 5;
    for (int d = 0; d < ndim; d++)
        shape[d] = rand_r(state) % 16 ? 1 + rand_r(state) % 5 : 0;
    cebus_view_contiguous(&plain, CEBUS_F32, ndim, shape);
    view = plain;
    for (int d = ndim - 1; d > 0 && rand_r(state) % 2; d--) {
        int other = rand_r(state) % (d + 1);
        view.shape[d] = plain.shape[other], view.strides[d] = plain.strides[other];
        view.shape[other] = plain.shape[d], view.strides[other] = plain.strides[d];
        plain = view;
    }
    if (ndim > 0 && rand_r(state) % 3 == 0) {
        int d = rand_r(state) % ndim;
        view.shape[d] = (view.shape[d] + 1) / 2;
        view.strides[d] *= rand_r(state) % 3;
    }
    view.offset = rand_r(state) % 3;
    return view;
}

Test(view, predicates_match_enumeration)
{
    static int64_t offsets[MOST], sorted[MOST];
    unsigned state = 1;
    int dense = 0, contiguous = 0;
    for (int round = 0; round < 20000; round++) {
        cebus_view view = draw(&state);
        int n = enumerate(&view, offsets);
        memcpy(sorted, offsets, (size_t)n * sizeof *sorted);
        qsort(sorted, (size_t)n, sizeof *sorted, compare);
        bool is_dense = true, is_contiguous = true;
        for (int i = 0; i < n; i++) {
            is_dense = is_dense && sorted[i] == view.offset + i;
            is_contiguous = is_contiguous && offsets[i] == view.offset + i;
        }
        uint64_t bytes;
        cr_assert_eq(cebus_view_numel(&view), n);
        cr_assert_eq(cebus_view_is_dense(&view), is_dense, "%s", CEBUS_SHAPE(&view));
        cr_assert_eq(cebus_view_is_contiguous(&view), is_contiguous);
        cr_assert_eq(cebus_view_extent(&view), n ? sorted[n - 1] + 1 : 0);
        cr_assert(cebus_view_bytes(&view, &bytes));
        cr_assert_eq(bytes, n ? 4 * (uint64_t)(sorted[n - 1] + 1) : 0);
        bool repeats = false;
        for (int i = 1; i < n; i++)
            repeats = repeats || sorted[i] == sorted[i - 1];
        cr_assert_eq(cebus_view_may_repeat(&view), repeats, "%s", CEBUS_SHAPE(&view));
        dense += is_dense;
        contiguous += is_contiguous;
    }
    cr_assert_gt(contiguous, 2000);
    cr_assert_gt(dense, contiguous + 1000, "the drawn views are too plain");
}

/* The same order of elements where the original is dense, and dense always. */
Test(view, like_is_dense_and_in_order)
{
    static int64_t offsets[MOST], copies[MOST];
    unsigned state = 2;
    for (int round = 0; round < 20000; round++) {
        cebus_view view = draw(&state), like;
        cebus_view_like(&like, &view, CEBUS_I64);
        int n = enumerate(&view, offsets);
        cr_assert_eq(enumerate(&like, copies), n);
        cr_assert_eq(like.dtype, CEBUS_I64);
        cr_assert_eq(like.offset, 0);
        cr_assert(cebus_view_is_dense(&like));
        cr_assert(cebus_view_same_shape(&like, &view));
        if (!cebus_view_is_dense(&view))
            cr_assert(cebus_view_is_contiguous(&like));
        else
            for (int i = 0; i < n; i++)
                cr_assert_eq(copies[i], offsets[i] - view.offset);
    }
}

/* Dense views of one layout touch equal offsets in equal order. */
Test(view, same_layout_means_one_index)
{
    static int64_t first[MOST], second[MOST];
    unsigned state = 3;
    int alike = 0;
    for (int round = 0; round < 200000; round++) {
        cebus_view a = draw(&state), b = draw(&state);
        a.offset = b.offset = 0;
        if (!cebus_view_same_shape(&a, &b))
            continue;
        int n = enumerate(&a, first);
        enumerate(&b, second);
        bool equal = memcmp(first, second, (size_t)n * sizeof *first) == 0;
        if (n > 0)
            cr_assert_eq(cebus_view_same_layout(&a, &b), equal);
        alike += equal;
    }
    cr_assert_gt(alike, 500);
}

/* ---- broadcasting -------------------------------------------------------------------------- */

Test(view, broadcast_of_shapes)
{
    const struct {
        int64_t a[3], b[3], want[3];
        int ndim[3]; /* of a, b and the result; -1: they do not broadcast */
    } rows[] = {
        {{0}, {0}, {0}, {0, 0, 0}},          {{3, 4}, {4}, {3, 4}, {2, 1, 2}},
        {{3, 4}, {1}, {3, 4}, {2, 1, 2}},    {{5}, {2, 1}, {2, 5}, {1, 2, 2}},
        {{0, 1}, {1, 7}, {0, 7}, {2, 2, 2}}, {{2, 1, 4}, {1, 3, 1}, {2, 3, 4}, {3, 3, 3}},
        {{3}, {4}, {0}, {1, 1, -1}},         {{0}, {2}, {0}, {1, 1, -1}},
        {{3, 4}, {3}, {0}, {2, 1, -1}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        cebus_view a, b;
        int ndim = -1;
        int64_t shape[CEBUS_MAX_DIMS];
        cebus_view_contiguous(&a, CEBUS_F32, rows[i].ndim[0], rows[i].a);
        cebus_view_contiguous(&b, CEBUS_F32, rows[i].ndim[1], rows[i].b);
        cr_assert_eq(cebus_view_broadcast(&a, &b, &ndim, shape), rows[i].ndim[2] >= 0, "row %zu",
                     i);
        if (rows[i].ndim[2] < 0)
            continue;
        cr_assert_eq(ndim, rows[i].ndim[2]);
        for (int d = 0; d < ndim; d++)
            cr_assert_eq(shape[d], rows[i].want[d], "row %zu", i);
    }
}

Test(view, expand_repeats_with_stride_zero)
{
    const int64_t shape[] = {3, 1}, wanted[] = {2, 3, 4};
    cebus_view view, wide;
    cebus_view_contiguous(&view, CEBUS_F32, 2, shape);
    view.offset = 5;
    cebus_view_expand(&view, 3, wanted, &wide);
    static int64_t offsets[24];
    cr_assert_eq(enumerate(&wide, offsets), 24);
    for (int i = 0; i < 24; i++)
        cr_assert_eq(offsets[i], 5 + i / 4 % 3);
    cebus_view_expand(&view, 3, wanted, &view);
    cr_assert(cebus_view_same_layout(&view, &wide), "in place");
}

Test(view, shapes_that_cannot_be_are_refused)
{
    cebus_runtime *rt = open_runtime(1 << 16, "coop", CEBUS_DEBUG_WALK);
    cebus_tensor *one = vector(rt, 1, 1), *none = vector(rt, 0, 1), *out;
    const int64_t wide[] = {INT64_C(1) << 40, INT64_C(1) << 40}, two[] = {-1, -1};
    const int64_t hidden[] = {0, wide[0], wide[0]}, beyond[] = {wide[0], wide[0], 0};
    const int64_t open[] = {-1, 0};
    FAILS(CEBUS_INVALID_ARGUMENT, "reach 2^62 bytes", cebus_expand(rt, one, 2, wide, &out));
    FAILS(CEBUS_INVALID_ARGUMENT, "reach 2^62 bytes", cebus_expand(rt, none, 3, beyond, &out));
    FAILS(CEBUS_INVALID_ARGUMENT, "to -2147483648 dim",
          cebus_expand(rt, one, INT32_MIN, wide, &out));
    FAILS(CEBUS_INVALID_ARGUMENT, "reach 2^62 bytes", cebus_reshape(rt, none, 3, hidden, &out));
    FAILS(CEBUS_INVALID_ARGUMENT, "one -1", cebus_reshape(rt, one, 2, two, &out));
    FAILS(CEBUS_INVALID_ARGUMENT, "say which", cebus_reshape(rt, none, 2, open, &out));
    FAILS(CEBUS_SHAPE_MISMATCH, "has 1 elements", cebus_reshape(rt, one, 1, &hidden[0], &out));
    FAILS(CEBUS_SHAPE_MISMATCH, "not a multiple of the 7 that [7, -1] has beside its -1",
          cebus_reshape(rt, one, 2, (int64_t[]){7, -1}, &out));
    OK(cebus_reshape(rt, none, 2, (int64_t[]){-1, 7}, &out));
    cr_expect_eq(cebus_tensor_size(out, 0), 0);
    cebus_tensor_release(out);
    cebus_tensor_release(one);
    cebus_tensor_release(none);
    cebus_runtime_destroy(rt);
}

/* ---- channels last, formatting, limits ----------------------------------------------------- */

Test(view, channels_last)
{
    const int64_t shape[] = {2, 3, 4, 5};
    cebus_view view, plain;
    cebus_view_channels_last(&view, CEBUS_F32, shape);
    cebus_view_contiguous(&plain, CEBUS_F32, 4, shape);
    cr_assert(cebus_view_is_channels_last(&view));
    cr_assert(cebus_view_is_dense(&view));
    cr_assert_not(cebus_view_is_contiguous(&view));
    cr_assert_not(cebus_view_is_channels_last(&plain));
    cr_assert_eq(view.strides[0], 60);
    cr_assert_eq(view.strides[1], 1);
    cr_assert_eq(view.strides[2], 15);
    cr_assert_eq(view.strides[3], 3);
    const int64_t points[] = {2, 3, 1, 1};
    cebus_view_contiguous(&plain, CEBUS_F32, 4, points);
    cr_assert(cebus_view_is_channels_last(&plain), "one point is in both orders");
}

Test(view, shapes_are_written_and_cut_short)
{
    const int64_t shape[] = {2, 0, 3}, long_shape[8] = {INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX,
                                                        INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX};
    cebus_view view;
    cebus_view_contiguous(&view, CEBUS_F32, 3, shape);
    cr_assert_str_eq(CEBUS_SHAPE(&view), "[2, 0, 3]");
    cebus_view_contiguous(&view, CEBUS_F32, 0, NULL);
    cr_assert_str_eq(CEBUS_SHAPE(&view), "[]");
    view = (cebus_view){.ndim = 8};
    memcpy(view.shape, long_shape, sizeof long_shape);
    cr_assert_eq(strlen(CEBUS_SHAPE(&view)), sizeof(cebus_shape_text) - 1);
}

Test(view, sizes_that_overflow_are_refused)
{
    const int64_t big[] = {INT64_C(1) << 31, INT64_C(1) << 29}, negative[] = {3, -1};
    const int64_t hidden[] = {0, INT64_C(1) << 62};
    uint64_t bytes = 7;
    cr_assert(cebus_shape_valid(CEBUS_F32, 2, big), "2^62 bytes exactly");
    cr_assert_not(cebus_shape_valid(CEBUS_F64, 2, big));
    cr_assert_not(cebus_shape_valid(CEBUS_F32, 2, negative));
    cr_assert_not(cebus_shape_valid(CEBUS_F32, 2, hidden), "its strides would overflow");
    cr_assert_not(cebus_shape_valid((cebus_dtype)99, 0, NULL));
    cr_assert_not(cebus_shape_valid(CEBUS_F32, -1, big));
    cr_assert_not(cebus_shape_valid(CEBUS_F32, CEBUS_MAX_DIMS + 1, big));
    cebus_view view = {.dtype = CEBUS_F64, .ndim = 2, .shape = {1 << 20, 3}};
    view.strides[0] = INT64_MAX / 4;
    cr_assert_not(cebus_view_bytes(&view, &bytes));
    cr_assert_eq(bytes, 7);
    cr_assert_eq(cebus_dim_wrap(-1, 3), 2);
    cr_assert_eq(cebus_dim_wrap(3, 3), -1);
    cr_assert_eq(cebus_dim_wrap(-4, 3), -1);
}

/** Marks the elements of a view in a map. */
static void mark(const cebus_view *view, unsigned char *map)
{
    int64_t count = cebus_view_numel(view);
    for (int64_t i = 0; i < count; i++) {
        int64_t place = view->offset, rest = i;
        for (int d = view->ndim - 1; d >= 0; d--) {
            place += rest % view->shape[d] * view->strides[d];
            rest /= view->shape[d];
        }
        map[place] = 1;
    }
}

static cebus_view random_view(uint64_t *state)
{
    cebus_view view = {.dtype = CEBUS_F32, .ndim = 2};
    for (int d = 0; d < 2; d++) {
        *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        view.shape[d] = 1 + (int64_t)(*state >> 33) % 5;
        view.strides[d] = (int64_t)(*state >> 40) % (d == 0 ? 17 : 4);
    }
    view.offset = (int64_t)(*state >> 50) % 40;
    return view;
}

Test(view, never_calls_views_apart_that_meet)
{
    enum {
        PLACES = 256
    };
    uint64_t state = 7;
    int interleaved = 0;
    for (int round = 0; round < 20000; round++) {
        unsigned char first[PLACES] = {0}, second[PLACES] = {0};
        cebus_view v = random_view(&state), w = random_view(&state);
        bool shared = false, may = cebus_view_may_overlap(&v, &w);
        mark(&v, first);
        mark(&w, second);
        for (size_t i = 0; i < PLACES; i++)
            shared |= first[i] && second[i];
        cr_assert(may || !shared, "round %d", round);
        interleaved += !may && v.offset < cebus_view_extent(&w) && w.offset < cebus_view_extent(&v);
    }
    cr_expect_gt(interleaved, 100);
}
