#include <criterion/criterion.h>

#include "program.h"

#define N 1024
#define BLOCK (N * sizeof(float))

static cebus_runtime *rt;

static void setup(void)
{
    rt = open_runtime(64 * BLOCK, "coop", CEBUS_DEBUG_WALK | CEBUS_DEBUG_HASH);
}

static void teardown(void)
{
    cr_expect_eq(cebus_memory_allocated(rt), 0);
    cebus_runtime_destroy(rt);
}

TestSuite(inplace, .init = setup, .fini = teardown);

Test(inplace, a_dropped_reader_of_the_old_version_comes_back_right)
{
    cebus_tensor *x = leaf(rt, N, 2), *y, *z;
    OK(cebus_mul(rt, x, x, &y));
    OK(cebus_exp(rt, y, &z));
    float wanted = at(z, 0);
    OK(cebus_add_(rt, y, x, 1));
    OK(cebus_runtime_trim(rt));
    cr_expect_not(cebus_tensor_is_resident(z));
    cr_expect_eq(at(z, 0), wanted, "z was made from y before the write");
    cr_expect_eq(at(y, 0), 6);
    cebus_tensor_release(z);
    cebus_tensor_release(y);
    cebus_tensor_release(x);
}

Test(inplace, many_versions_replay_in_a_chain)
{
    cebus_tensor *x = leaf(rt, N, 1), *y, *seen[10];
    OK(cebus_add(rt, x, x, &y));
    for (int i = 0; i < 10; i++) {
        OK(cebus_add_scalar(rt, y, 0, &seen[i]));
        OK(cebus_mul_scalar_(rt, y, 2));
    }
    OK(cebus_runtime_trim(rt));
    for (int i = 9; i >= 0; i--)
        cr_expect_eq(at(seen[i], 5), (float)(2 << i));
    cr_expect_eq(at(y, 5), 2048);
    for (int i = 0; i < 10; i++)
        cebus_tensor_release(seen[i]);
    cebus_tensor_release(y);
    cebus_tensor_release(x);
}

Test(inplace, writes_through_views_are_writes_to_the_storage)
{
    cebus_tensor *x = leaf(rt, N, 1), *y, *half, *before;
    OK(cebus_add(rt, x, x, &y));
    OK(cebus_add_scalar(rt, y, 0, &before));
    OK(cebus_slice(rt, y, 0, 0, N / 2, 1, &half));
    OK(cebus_fill_(rt, half, 7));
    cr_expect_eq(cebus_tensor_version(y), 1);
    cr_expect_eq(cebus_tensor_version(half), 1);
    OK(cebus_runtime_trim(rt));
    cr_expect_eq(at(y, 0), 7);
    cr_expect_eq(at(y, N - 1), 2);
    cr_expect_eq(at(before, 0), 2);
    cebus_tensor_release(before);
    cebus_tensor_release(half);
    cebus_tensor_release(y);
    cebus_tensor_release(x);
}

/** A diagonal of rows of five, made of a slice: what is written to it is written to the matrix. */
Test(inplace, writes_through_diagonals_are_writes_to_the_matrix)
{
    cebus_tensor *x, *part, *turned, *line, *one, *outside, *none;
    OK(cebus_zeros(rt, CEBUS_F32, 2, (int64_t[]){4, 5}, &x));
    OK(cebus_slice(rt, x, 1, 1, 5, 1, &part));
    OK(cebus_transpose(rt, part, 0, 1, &turned));
    OK(cebus_diagonal(rt, turned, 1, 0, 1, &line));
    cr_expect_eq(cebus_tensor_numel(line), 3);
    OK(cebus_fill_(rt, line, 7));
    OK(cebus_runtime_trim(rt));
    for (int i = 0; i < 20; i++)
        cr_expect_eq(at(x, i), i == 6 || i == 12 || i == 18 ? 7 : 0, "%d", i);
    OK(cebus_diagonal(rt, x, -3, -2, -1, &one));
    cr_expect_eq(cebus_tensor_numel(one), 1);
    OK(cebus_fill_(rt, one, 3));
    cr_expect_eq(at(x, 15), 3);
    OK(cebus_diagonal(rt, x, INT64_MIN, 0, 1, &outside));
    cr_expect_eq(cebus_tensor_numel(outside), 0);
    cr_expect_eq(cebus_diagonal(rt, x, 0, 1, -1, &none), CEBUS_INVALID_ARGUMENT);
    cebus_tensor *all[] = {x, part, turned, line, one, outside};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        cebus_tensor_release(all[i]);
}

/** Windows that share no element are written through, to the tensor; others are refused. */
Test(inplace, writes_through_windows_are_writes_to_the_tensor)
{
    cebus_tensor *x, *apart, *shared, *strided, *none;
    OK(cebus_zeros(rt, CEBUS_F32, 2, (int64_t[]){2, 6}, &x));
    OK(cebus_windows(rt, x, 1, 2, 4, &apart));
    cr_expect_eq(cebus_tensor_numel(apart), 8);
    OK(cebus_fill_(rt, apart, 7));
    OK(cebus_runtime_trim(rt));
    for (int i = 0; i < 12; i++)
        cr_expect_eq(at(x, i), i % 6 % 4 < 2 ? 7 : 0, "%d", i);
    OK(cebus_as_strided(rt, x, 1, (int64_t[]){3}, (int64_t[]){4}, 2, &strided));
    OK(cebus_fill_(rt, strided, 3));
    cr_expect_eq(at(x, 2) + at(x, 6) + at(x, 10), 9);
    OK(cebus_windows(rt, x, -1, 3, 2, &shared));
    cr_expect_eq(cebus_fill_(rt, shared, 1), CEBUS_INVALID_ARGUMENT);
    cr_expect_eq(cebus_windows(rt, x, 1, 7, 1, &none), CEBUS_INVALID_ARGUMENT);
    cr_expect_eq(cebus_windows(rt, x, 1, 1, 0, &none), CEBUS_INVALID_ARGUMENT);
    cr_expect_eq(cebus_as_strided(rt, x, 1, (int64_t[]){3}, (int64_t[]){5}, 2, &none),
                 CEBUS_INVALID_ARGUMENT);
    cebus_tensor *all[] = {x, apart, shared, strided};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        cebus_tensor_release(all[i]);
}

Test(inplace, a_dimension_that_stays_is_squeezed_into_a_view)
{
    cebus_tensor *x = leaf(rt, N, 1), *same;
    OK(cebus_squeeze(rt, x, 0, &same));
    cr_expect_neq(same, x);
    cr_expect_eq(cebus_tensor_size(same, 0), N);
    OK(cebus_fill_(rt, same, 4));
    cr_expect_eq(at(x, 9), 4);
    cebus_tensor_release(same);
    cebus_tensor_release(x);
}

Test(inplace, writing_a_leaf_brings_dropped_readers_back_first)
{
    cebus_tensor *x = leaf(rt, N, 3), *y, *z;
    OK(cebus_mul(rt, x, x, &y));
    OK(cebus_add(rt, y, x, &z));
    OK(cebus_runtime_trim(rt));
    OK(cebus_fill_(rt, x, 100));
    OK(cebus_runtime_trim(rt));
    cr_expect_eq(at(y, 0), 9);
    cr_expect_eq(at(z, 0), 12);
    cr_expect_eq(at(x, 0), 100);
    cebus_tensor_release(z);
    cebus_tensor_release(y);
    cebus_tensor_release(x);
}

Test(inplace, writing_a_parameter_keeps_its_address)
{
    const void *before, *after;
    cebus_tensor *x = leaf(rt, N, 3), *y = leaf(rt, N, 1);
    OK(cebus_tensor_set_persistent(x));
    OK(cebus_tensor_map(x, &before));
    cebus_tensor_unmap(x);
    for (int i = 0; i < 5; i++)
        OK(cebus_add_(rt, x, y, -1));
    OK(cebus_tensor_map(x, &after));
    cebus_tensor_unmap(x);
    cr_expect_eq(before, after);
    cr_expect_eq(at(x, 0), -2);
    cr_expect_eq(stats_of(rt).live_records, 0, "nothing needs to know how a parameter came about");
    cebus_tensor_release(x);
    cebus_tensor_release(y);
}

Test(inplace, refuses_expanded_and_partly_shared_operands)
{
    cebus_tensor *x = leaf(rt, N, 1), *wide, *low, *high;
    cebus_tensor *one = leaf(rt, 1, 1);
    OK(cebus_expand(rt, one, 1, &(int64_t){8}, &wide));
    FAILS(CEBUS_INVALID_ARGUMENT, "expanded", cebus_fill_(rt, wide, 0));
    OK(cebus_slice(rt, x, 0, 0, N - 1, 1, &low));
    OK(cebus_slice(rt, x, 0, 1, N, 1, &high));
    FAILS(CEBUS_INVALID_ARGUMENT, "shares some", cebus_add_(rt, high, low, 1));
    OK(cebus_add_(rt, low, low, 1));
    cr_expect_eq(at(x, 0), 2);
    cebus_tensor *rows, *left, *right;
    OK(cebus_reshape(rt, x, 2, (int64_t[]){N / 8, 8}, &rows));
    OK(cebus_slice(rt, rows, 1, 0, 3, 1, &left));
    OK(cebus_slice(rt, rows, 1, 5, 8, 1, &right));
    OK(cebus_add_(rt, left, right, 1));
    cr_expect_eq(at(x, 8), 4, "columns of a matrix interleave without meeting");
    cebus_tensor_release(left);
    cebus_tensor_release(right);
    OK(cebus_slice(rt, rows, 1, 0, 5, 1, &left));
    OK(cebus_slice(rt, rows, 1, 3, 8, 1, &right));
    FAILS(CEBUS_INVALID_ARGUMENT, "shares some", cebus_add_(rt, left, right, 1));
    cebus_tensor_release(left);
    cebus_tensor_release(right);
    cebus_tensor_release(rows);
    cr_expect_eq(at(x, N - 1), 1);
    cebus_tensor_release(low);
    cebus_tensor_release(high);
    cebus_tensor_release(wide);
    cebus_tensor_release(one);
    cebus_tensor_release(x);
}

/** Each write makes a version of its storage: one call cannot make two of one. */
Test(inplace, writes_a_storage_once_a_call)
{
    cebus_tensor *x = leaf(rt, 8, 1), *g = leaf(rt, 8, 2), *low, *high;
    OK(cebus_slice(rt, x, 0, 0, 4, 1, &low));
    OK(cebus_slice(rt, x, 0, 4, 8, 1, &high));
    cebus_adam_tensors same = {.param = x, .grad = g, .exp_avg = x, .exp_avg_sq = x};
    FAILS(CEBUS_INVALID_ARGUMENT, "share one storage", cebus_adam_step(rt, &same, 1, NULL));
    cebus_sgd_options options = CEBUS_SGD_OPTIONS_INIT;
    options.momentum = 0.9;
    cebus_sgd_tensors apart = {.param = low, .grad = low, .momentum = high};
    FAILS(CEBUS_INVALID_ARGUMENT, "inputs 0 and 2", cebus_sgd_step(rt, &apart, 1, &options));
    cr_expect_eq(at(x, 0), 1, "nothing has changed");
    cebus_tensor_release(low);
    cebus_tensor_release(high);
    cebus_tensor_release(x);
    cebus_tensor_release(g);
}

/** A call that writes a parameter for good, and beside it something made of that parameter: what
 * was made of the latter, and given up, is still what it was. */
Test(inplace, overwrites_a_parameter_and_what_was_made_of_it)
{
    cebus_tensor *momentum = leaf(rt, 8, 3), *g = leaf(rt, 8, 2), *x, *twice;
    OK(cebus_tensor_set_persistent(momentum));
    OK(cebus_add_scalar(rt, momentum, 2, &x));
    OK(cebus_mul_scalar(rt, x, 2, &twice));
    OK(cebus_runtime_trim(rt));
    cr_assert_not(cebus_tensor_is_resident(twice));
    cebus_sgd_options options = CEBUS_SGD_OPTIONS_INIT;
    options.lr = 0.5;
    options.momentum = 0.5;
    cebus_sgd_tensors tensors = {.param = x, .grad = g, .momentum = momentum};
    OK(cebus_sgd_step(rt, &tensors, 2, &options));
    cr_expect_eq(at(twice, 0), 10);
    cr_expect_eq(at(x, 0), 5 - 0.5 * 3.5);
    cr_expect_eq(at(momentum, 0), 3.5);
    cebus_tensor_release(momentum);
    cebus_tensor_release(g);
    cebus_tensor_release(x);
    cebus_tensor_release(twice);
}

static cebus_status add_100(const cebus_custom_launch *launch)
{
    for (uint32_t j = 0; j < launch->n_out; j++) {
        for (int64_t i = 0; i < launch->out[j].view->shape[0]; i++)
            ((float *)launch->out[j].data)[i] += 100;
    }
    return CEBUS_OK;
}

static uint64_t three_times(const cebus_custom_launch *launch)
{
    return 3 * (uint64_t)launch->in[0].view->shape[0] * sizeof(float);
}

static const cebus_custom_op with_workspace = {.struct_size = sizeof(cebus_custom_op),
                                               .name = "with_workspace",
                                               .mutates = 1,
                                               .n_out = 1,
                                               .workspace = three_times,
                                               .run = add_100};
static const cebus_custom_op on_both = {.struct_size = sizeof(cebus_custom_op),
                                        .name = "on_both",
                                        .mutates = 3,
                                        .n_out = 2,
                                        .run = add_100};

/** Beside the leaf and what was made of it there is no room for the workspace. What was made must
 * not go for it: nothing could make it again. */
Test(inplace, what_reads_the_old_version_stays_until_it_is_overwritten)
{
    cebus_runtime *small = open_runtime(4 * 4096, "lru", CEBUS_DEBUG_WALK);
    cebus_tensor *x = leaf(small, 1024, 1), *y, *out;
    OK(cebus_mul_scalar(small, x, 2, &y));
    FAILS(CEBUS_OUT_OF_MEMORY, "needs 12288 bytes",
          cebus_call_custom(small, &with_workspace, NULL, 0, &x, 1, &out));
    cr_expect_eq(at(x, 0), 1);
    OK(cebus_runtime_set_budget(small, 5 * 4096));
    OK(cebus_call_custom(small, &with_workspace, NULL, 0, &x, 1, &out));
    OK(cebus_runtime_trim(small));
    cr_expect_eq(at(y, 1023), 2);
    cr_expect_eq(at(x, 1023), 101);
    cebus_tensor_release(out);
    cebus_tensor_release(y);
    cebus_tensor_release(x);
    cebus_runtime_destroy(small);
}

/** One call overwrites a leaf and what was made of it by way of something that is gone; another
 * reader of the leaf must lose its record all the same, whichever comes first. */
Test(inplace, overwrites_a_leaf_and_what_was_made_of_it)
{
    for (int first = 0; first < 2; first++) {
        cebus_tensor *x = leaf(rt, 64, 1), *a, *b, *other, *out[2];
        OK(cebus_mul_scalar(rt, x, 2, &a));
        OK(cebus_mul_scalar(rt, a, 3, &b));
        OK(cebus_mul_scalar(rt, x, 5, &other));
        cebus_tensor_release(a);
        cebus_tensor *in[2] = {first ? x : b, first ? b : x};
        OK(cebus_call_custom(rt, &on_both, NULL, 0, in, 2, out));
        OK(cebus_runtime_trim(rt));
        cr_expect_eq(at(other, 63), 5);
        cr_expect_eq(at(b, 63), 106);
        cr_expect_eq(at(x, 63), 101);
        cebus_tensor *const all[] = {x, b, other, out[0], out[1]};
        for (size_t i = 0; i < sizeof all / sizeof *all; i++)
            cebus_tensor_release(all[i]);
    }
}

/** An optimizer holds what its parameter shows; where that is computed, each write makes a version
 * of its own. */
Test(inplace, a_step_on_a_computed_parameter_leaves_it_free_to_go)
{
    cebus_tensor *x = leaf(rt, N, 2), *w = parameter(rt, N, 0), *one = leaf(rt, N, 1), *y;
    cebus_sgd_options options = CEBUS_SGD_OPTIONS_INIT;
    cebus_optimizer *optimizer;
    options.lr = 1;
    OK(cebus_optimizer_create_sgd(rt, &options, &optimizer));
    OK(cebus_optimizer_add(optimizer, w));
    OK(cebus_tensor_set_grad(w, one));
    OK(cebus_mul(rt, x, x, &y));
    OK(cebus_tensor_set_data(w, y));
    cebus_tensor_release(y);
    OK(cebus_optimizer_step(optimizer));
    OK(cebus_runtime_trim(rt));
    cr_expect_not(cebus_tensor_is_resident(w), "no call runs that could need it");
    cr_expect_eq(at(w, 0), 3);
    cebus_optimizer_destroy(optimizer);
    cebus_tensor_release(one);
    cebus_tensor_release(w);
    cebus_tensor_release(x);
}

/** Of a scalar leaf a map was made, of that, by way of another map, a sum that is absent. Nobody
 * holds the maps, and the first is there for the sum alone. `first`: another map, a leaf. */
static cebus_runtime *with_a_map_in_passing(cebus_tensor **first, cebus_tensor **scalar,
                                            cebus_tensor **sum)
{
    cebus_tensor *map, *other;
    cebus_runtime *small = open_runtime(4 * BLOCK, "lru", CEBUS_DEBUG_WALK | CEBUS_DEBUG_HASH);
    *first = leaf(small, N, 2);
    *scalar = leaf(small, 1, 3);
    OK(cebus_mul(small, *first, *scalar, &map));
    OK(cebus_tanh(small, map, &other));
    OK(cebus_sum(small, other, 0, NULL, false, sum));
    cebus_tensor_release(other);
    other = vector(small, 2 * N, 1);
    cr_assert_gt(stats_of(small).forced_evictions, 0, "memory was short");
    cebus_tensor_release(other);
    OK(cebus_runtime_trim(small));
    cr_expect_eq(at(map, 0), 6);
    cebus_tensor_release(map);
    cr_assert_not(cebus_tensor_is_resident(*sum));
    return small;
}

static void end_in_passing(cebus_runtime *small, cebus_tensor *first, cebus_tensor *scalar,
                           cebus_tensor *sum)
{
    OK(cebus_runtime_check(small));
    cebus_tensor_release(sum);
    cebus_tensor_release(scalar);
    cebus_tensor_release(first);
    cr_expect_eq(cebus_memory_allocated(small), 0);
    cebus_runtime_destroy(small);
}

/** The map could go no more after the write, as long as the sum is absent: that is made first. */
Test(inplace, a_write_strands_no_map_for_a_sum)
{
    cebus_tensor *first, *scalar, *sum;
    cebus_runtime *small = with_a_map_in_passing(&first, &scalar, &sum);
    OK(cebus_fill_(small, scalar, 100));
    cr_expect(cebus_tensor_is_resident(sum));
    cebus_tensor *large = vector(small, 5 * N / 2, 1);
    cebus_tensor_release(large);
    cr_expect_float_eq(at(sum, 0), 1023.9874F, 0.01F);
    cr_expect_eq(at(scalar, 0), 100);
    end_in_passing(small, first, scalar, sum);
}

/** Where the sum does not fit, either, a copy of the scalar is kept for it. */
Test(inplace, a_write_keeps_what_is_less_than_a_map)
{
    cebus_tensor *first, *scalar, *sum;
    cebus_runtime *small = with_a_map_in_passing(&first, &scalar, &sum);
    OK(cebus_runtime_set_budget(small, 5 * BLOCK / 2)); /* no room for the other map */
    OK(cebus_fill_(small, scalar, 100));
    cr_expect_not(cebus_tensor_is_resident(sum));
    cebus_tensor *large = vector(small, 5 * N / 4, 1); /* beside the first map alone */
    cebus_tensor_release(large);
    OK(cebus_runtime_set_budget(small, 4 * BLOCK));
    cr_expect_float_eq(at(sum, 0), 1023.9874F, 0.01F);
    cr_expect_eq(at(scalar, 0), 100);
    end_in_passing(small, first, scalar, sum);
}
