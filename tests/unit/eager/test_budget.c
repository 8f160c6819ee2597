#include <criterion/criterion.h>

#include "program.h"
#include "tests/support/test_device.h"

#define N 1024 /* elements: blocks of 4 KiB */
#define BLOCK (N * sizeof(float))

TestSuite(budget);

/** y[i] = leaf + i, four held vectors. */
static void make_held(cebus_runtime *rt, cebus_tensor *x, cebus_tensor **y, int n)
{
    for (int i = 0; i < n; i++)
        OK(cebus_add_scalar(rt, x, i, &y[i]));
}

static void release_held(cebus_tensor **y, int n)
{
    for (int i = 0; i < n; i++)
        cebus_tensor_release(y[i]);
}

Test(budget, evicts_and_rebuilds_what_is_read)
{
    cebus_runtime *rt = open_runtime(4 * BLOCK, "coop", CEBUS_DEBUG_WALK | CEBUS_DEBUG_HASH);
    cebus_tensor *x = leaf(rt, N, 1), *y[8];
    make_held(rt, x, y, 8);
    cr_expect_not(cebus_tensor_is_resident(y[0]));
    for (int i = 0; i < 8; i++)
        cr_expect_eq(at(y[i], N - 1), 1 + (float)i);
    cebus_memory_stats stats = stats_of(rt);
    cr_expect_leq(stats.allocated_bytes_peak, 4 * BLOCK);
    cr_expect_gt(stats.evictions, 4);
    cr_expect_gt(stats.recomputes, 4);
    release_held(y, 8);
    cebus_tensor_release(x);
    cr_expect_eq(cebus_memory_allocated(rt), 0);
    cebus_runtime_destroy(rt);
}

Test(budget, none_reports_instead)
{
    char report[4096];
    cebus_runtime *rt = open_runtime(4 * BLOCK, "none", CEBUS_DEBUG_WALK);
    cebus_tensor *x = leaf(rt, N, 1), *y[4];
    make_held(rt, x, y, 3);
    FAILS(CEBUS_OUT_OF_MEMORY, "needs 4096 bytes; budget 16384", cebus_add_scalar(rt, x, 9, &y[3]));
    cr_expect_null(y[3]);
    cr_expect_gt(cebus_runtime_oom_report(rt, report, sizeof report), 0);
    cr_expect_not_null(strstr(report, "add_scalar wants 4096 bytes"), "%s", report);
    cr_expect_not_null(strstr(report, "in use by the running call"), "%s", report);
    cr_expect_not_null(strstr(report, "policy none"), "%s", report);
    OK(cebus_runtime_set_policy(rt, "lru"));
    OK(cebus_add_scalar(rt, x, 9, &y[3]));
    cr_expect_eq(at(y[3], 0), 10);
    for (int i = 0; i < 4; i++)
        cebus_tensor_release(y[i]);
    cebus_tensor_release(x);
    cebus_runtime_destroy(rt);
}

/** Four inputs and as large an output do not fit beside the leaf; the three others would not do. */
Test(budget, a_call_that_cannot_fit_gives_nothing_up)
{
    cebus_runtime *rt = open_runtime(8 * BLOCK, "coop", CEBUS_DEBUG_WALK);
    cebus_tensor *x = leaf(rt, N, 1), *y[7], *all;
    make_held(rt, x, y, 7);
    uint64_t before = stats_of(rt).evictions;
    FAILS(CEBUS_OUT_OF_MEMORY, "needs 16384 bytes", cebus_cat(rt, y, 4, 0, &all));
    cr_expect_eq(stats_of(rt).evictions, before);
    for (int i = 0; i < 7; i++)
        cr_expect(cebus_tensor_is_resident(y[i]));
    for (int i = 0; i < 7; i++)
        cebus_tensor_release(y[i]);
    cebus_tensor_release(x);
    cebus_runtime_destroy(rt);
}

/** To make the matrix again takes all of memory, which is more than any kernel of linear needs
 * beside its inputs. It stands between two other inputs, so that it is neither the first nor the
 * last to be brought back. */
Test(budget, rebuilds_before_it_pins_what_is_at_hand)
{
    cebus_runtime *rt = open_runtime(80 * BLOCK, "coop", CEBUS_DEBUG_WALK | CEBUS_DEBUG_HASH);
    cebus_tensor *before = vector(rt, 40 * N, 0), *flat, *matrix, *rows = vector(rt, 5 * N, 1);
    cebus_tensor *x, *bias, *out;
    OK(cebus_add_scalar(rt, before, 2, &flat));
    cebus_tensor_release(before);
    OK(cebus_reshape(rt, flat, 2, (int64_t[]){40, N}, &matrix));
    cebus_tensor_release(flat);
    OK(cebus_reshape(rt, rows, 2, (int64_t[]){5, N}, &x));
    cebus_tensor_release(rows);
    bias = vector(rt, 40, 3);
    OK(cebus_runtime_trim(rt));
    cr_assert_not(cebus_tensor_is_resident(matrix));
    OK(cebus_linear(rt, x, matrix, bias, &out));
    cr_expect_eq(at(out, 199), 2 * N + 3);
    cebus_tensor_release(x);
    cebus_tensor_release(matrix);
    cebus_tensor_release(bias);
    cebus_tensor_release(out);
    cebus_runtime_destroy(rt);
}

Test(budget, restores_all_at_once)
{
    cebus_runtime *rt = open_runtime(8 * BLOCK, "coop", CEBUS_DEBUG_WALK | CEBUS_DEBUG_HASH);
    cebus_tensor *x = leaf(rt, N, 1), *y[9] = {NULL};
    make_held(rt, x, y, 8);
    OK(cebus_runtime_trim(rt));
    OK(cebus_tensors_restore(y, 7));
    for (int i = 0; i < 7; i++)
        cr_expect(cebus_tensor_is_resident(y[i]));
    FAILS(CEBUS_OUT_OF_MEMORY, "needs 4096", cebus_tensors_restore(y, 8));
    for (int i = 0; i < 8; i++)
        cr_expect_eq(at(y[i], 7), 1 + (float)i);
    OK(cebus_tensors_restore(y + 8, 1));
    OK(cebus_tensors_restore(NULL, 0));
    FAILS(CEBUS_INVALID_ARGUMENT, "NULL", cebus_tensors_restore(NULL, 1));
    release_held(y, 8);
    cebus_tensor_release(x);
    cebus_runtime_destroy(rt);
}

Test(budget, shrinks_at_once_and_grows_again)
{
    cebus_runtime *rt = open_runtime(16 * BLOCK, "coop", CEBUS_DEBUG_WALK | CEBUS_DEBUG_HASH);
    cebus_tensor *x = leaf(rt, N, 1), *y[10];
    make_held(rt, x, y, 10);
    OK(cebus_runtime_set_budget(rt, 3 * BLOCK));
    cr_expect_leq(cebus_memory_allocated(rt), 3 * BLOCK);
    cr_expect_eq(cebus_runtime_budget(rt), 3 * BLOCK);
    for (int i = 0; i < 10; i++)
        cr_expect_eq(at(y[i], 7), 1 + (float)i);
    OK(cebus_runtime_set_budget(rt, 16 * BLOCK));
    for (int i = 0; i < 10; i++)
        cr_expect_eq(at(y[i], 7), 1 + (float)i);
    for (int i = 0; i < 10; i++)
        cebus_tensor_release(y[i]);
    cebus_tensor_release(x);
    cebus_runtime_destroy(rt);
}

Test(budget, refuses_to_shrink_below_what_cannot_go)
{
    cebus_runtime *rt = open_runtime(16 * BLOCK, "coop", CEBUS_DEBUG_WALK);
    cebus_tensor *x[6];
    for (int i = 0; i < 6; i++)
        x[i] = leaf(rt, N, (float)i);
    FAILS(CEBUS_OUT_OF_MEMORY, "are less than the", cebus_runtime_set_budget(rt, 5 * BLOCK));
    cr_expect_eq(cebus_last_error()->bytes_wanted, 6 * BLOCK);
    cr_expect_eq(cebus_runtime_budget(rt), 16 * BLOCK);
    OK(cebus_tensor_set_persistent(x[0]));
    FAILS(CEBUS_OUT_OF_MEMORY, "persistent", cebus_runtime_set_budget(rt, BLOCK / 2));
    FAILS(CEBUS_INVALID_ARGUMENT, "too small", cebus_runtime_set_budget(rt, 0));
    for (int i = 0; i < 6; i++) {
        cr_expect_eq(at(x[i], 0), (float)i);
        cebus_tensor_release(x[i]);
    }
    cebus_runtime_destroy(rt);
}

Test(budget, compacts_when_only_fragments_are_free)
{
    cebus_runtime *rt = open_runtime(8 * BLOCK, "coop", CEBUS_DEBUG_WALK);
    cebus_tensor *x[8], *big = NULL;
    for (int i = 0; i < 8; i++)
        x[i] = leaf(rt, N, (float)i);
    for (int i = 0; i < 8; i += 2)
        cebus_tensor_release(x[i]);
    OK(cebus_full(rt, 5, CEBUS_F32, 1, &(int64_t){4 * N}, &big));
    cr_expect_eq(at(big, 4 * N - 1), 5);
    cr_expect_geq(stats_of(rt).compactions, 1);
    for (int i = 1; i < 8; i += 2) {
        cr_expect_eq(at(x[i], 3), (float)i, "moved bytes are the same");
        cebus_tensor_release(x[i]);
    }
    cebus_tensor_release(big);
    cebus_runtime_destroy(rt);
}

Test(budget, leaves_mapped_tensors_where_they_are)
{
    cebus_runtime *rt = open_runtime(8 * BLOCK, "coop", CEBUS_DEBUG_WALK);
    cebus_tensor *x[8], *big = NULL;
    const void *before, *after;
    for (int i = 0; i < 8; i++)
        x[i] = leaf(rt, N, (float)i);
    OK(cebus_tensor_map(x[3], &before));
    OK(cebus_tensor_map(x[5], &before));
    for (int i = 0; i < 8; i += 2)
        cebus_tensor_release(x[i]);
    FAILS(CEBUS_OUT_OF_MEMORY, "needs", cebus_full(rt, 5, CEBUS_F32, 1, &(int64_t){4 * N}, &big));
    OK(cebus_tensor_map(x[5], &after));
    cr_expect_eq(before, after);
    cr_expect_eq(*(const float *)after, 5);
    cebus_tensor_unmap(x[3]);
    cebus_tensor_unmap(x[5]);
    OK(cebus_full(rt, 5, CEBUS_F32, 1, &(int64_t){4 * N}, &big));
    cr_expect_eq(*(const float *)after, 5, "what is mapped has stayed");
    cebus_tensor_unmap(x[5]);
    cebus_tensor_release(big);
    for (int i = 1; i < 8; i += 2)
        cebus_tensor_release(x[i]);
    cebus_runtime_destroy(rt);
}

Test(budget, trims_to_the_leaves)
{
    cebus_runtime *rt = open_runtime(16 * BLOCK, "coop", CEBUS_DEBUG_WALK | CEBUS_DEBUG_HASH);
    cebus_tensor *x = leaf(rt, N, 2), *y[5];
    make_held(rt, x, y, 5);
    OK(cebus_runtime_trim(rt));
    cr_expect_eq(cebus_memory_allocated(rt), BLOCK);
    for (int i = 0; i < 5; i++) {
        cr_expect_eq(at(y[i], 0), 2 + (float)i);
        cebus_tensor_release(y[i]);
    }
    cebus_tensor_release(x);
    cebus_runtime_destroy(rt);
}

Test(budget, a_long_loop_of_sums_keeps_flat)
{
    cebus_runtime *rt = open_runtime(1 << 20, "coop", 0);
    cebus_tensor *sum = vector(rt, 4, 0), *one = leaf(rt, 4, 1);
    uint64_t records = 0, bytes = 0;
    for (int i = 0; i < 100000; i++) {
        cebus_tensor *next;
        if (i % 2 == 0) {
            OK(cebus_add(rt, sum, one, &next));
            cebus_tensor_release(sum);
            sum = next;
        } else {
            OK(cebus_add_(rt, sum, one, 1));
        }
        if (i == 10000) {
            records = stats_of(rt).live_records;
            bytes = stats_of(rt).host_bytes;
        }
    }
    cr_expect_eq(at(sum, 3), 100000);
    cr_expect_leq(stats_of(rt).live_records, records + 600);
    cr_expect_eq(stats_of(rt).host_bytes, bytes);
    cebus_tensor_release(sum);
    cebus_tensor_release(one);
    cebus_runtime_destroy(rt);
}

/** A cut would leave a leaf, which cannot go. */
Test(budget, long_chains_can_be_made_again_where_memory_was_short)
{
    cebus_runtime *rt = open_runtime(4 * BLOCK, "dtr", CEBUS_DEBUG_HASH);
    cebus_tensor *x = leaf(rt, N, 1), *y[8], *sum, *product;
    make_held(rt, x, y, 8);
    OK(cebus_add(rt, x, y[0], &sum));
    release_held(y, 8);
    for (int i = 0; i < 400; i++) {
        cebus_tensor *next;
        OK(cebus_add(rt, x, sum, &next));
        cebus_tensor_release(sum);
        sum = next;
    }
    make_held(rt, x, y, 8);
    OK(cebus_mul(rt, y[1], y[2], &product)); /* all that is there but the leaf */
    cr_expect_not(cebus_tensor_is_resident(sum));
    cr_expect_eq(stats_of(rt).lineage_cuts, 0);
    cr_expect_eq(at(sum, N - 1), 402);
    cebus_tensor_release(product);
    release_held(y, 8);
    cebus_tensor_release(sum);
    cebus_tensor_release(x);
    cebus_runtime_destroy(rt);
}

Test(budget, evaluation_loops_free_batches_that_only_records_keep)
{
    cebus_runtime *rt = open_runtime(16 * BLOCK, "coop", CEBUS_DEBUG_WALK);
    cebus_tensor *total = vector(rt, N, 0);
    for (int i = 0; i < 100; i++) {
        cebus_tensor *batch = leaf(rt, N, 1), *y, *next;
        OK(cebus_mul(rt, batch, batch, &y));
        OK(cebus_add(rt, total, y, &next));
        cebus_tensor_release(batch);
        cebus_tensor_release(y);
        cebus_tensor_release(total);
        total = next;
    }
    cr_expect_eq(at(total, 0), 100);
    cr_expect_gt(stats_of(rt).lineage_cuts, 0);
    cebus_tensor_release(total);
    cebus_runtime_destroy(rt);
}

/** Each step has a parameter of its own, and the average of all hangs on each. */
Test(budget, parameters_that_were_let_go_leave_before_their_average)
{
    static const char *const policies[] = {"lru", "dtr", "coop", "cebus"};
    for (size_t p = 0; p < sizeof policies / sizeof *policies; p++) {
        cebus_runtime *rt = open_runtime(8 * BLOCK, policies[p], CEBUS_DEBUG_WALK);
        cebus_tensor *average = leaf(rt, N, 0), *parameter = NULL, *made, *share, *part;
        for (int step = 0; step < 40; step++) {
            OK(cebus_randn(rt, CEBUS_F32, 1, (int64_t[]){N}, &made));
            OK(cebus_tensor_set_persistent(made));
            cebus_tensor_release(parameter);
            parameter = made;
            OK(cebus_mul_scalar(rt, average, 0.5, &part));
            OK(cebus_mul_scalar(rt, parameter, 0.5, &share));
            cebus_tensor *former = average;
            OK(cebus_add(rt, part, share, &average));
            cebus_tensor_release(former);
            cebus_tensor_release(part);
            cebus_tensor_release(share);
        }
        cebus_tensor_release(parameter);
        cebus_tensor_release(average);
        cebus_runtime_destroy(rt);
    }
}

Test(budget, a_parked_leaf_does_not_hold_the_ladder_up)
{
    cebus_runtime *rt = open_runtime(4 * BLOCK + 512, "coop", CEBUS_DEBUG_WALK);
    cebus_tensor *p = leaf(rt, N, 3), *x = leaf(rt, N, 2), *a, *b, *sum, *grad;
    OK(cebus_tensor_set_persistent(p));
    OK(cebus_tensor_set_requires_grad(p, true));
    OK(cebus_mul(rt, p, p, &a));
    OK(cebus_mul(rt, a, x, &b));
    OK(cebus_sum(rt, b, 0, NULL, false, &sum));
    cebus_tensor_release(a);
    cebus_tensor_release(b);
    cebus_tensor_release(x);
    FAILS(CEBUS_OUT_OF_MEMORY, "nothing more can be given up",
          cebus_backward(rt, sum, NULL, false));
    OK(cebus_runtime_set_budget(rt, 8 * BLOCK));
    OK(cebus_backward(rt, sum, NULL, false));
    OK(cebus_tensor_grad(p, &grad));
    cr_expect_eq(at(grad, N - 1), 12, "d(p^2 x) = 2 p x");
    cebus_tensor_release(grad);
    cebus_tensor_release(sum);
    cebus_tensor_release(p);
    cebus_runtime_destroy(rt);
}

/** The device, which aborts at a gap, commits what the arena counts on, in one piece. */
Test(budget, may_be_any_number_of_bytes)
{
    cebus_runtime *rt;
    cebus_runtime_options options = CEBUS_RUNTIME_OPTIONS_INIT;
    cr_assert(cebus_test_device_register());
    options.device = "test";
    options.memory_budget = 4 * BLOCK + 5;
    OK(cebus_runtime_create(&options, &rt));
    for (int i = 1; i <= 3; i++) {
        OK(cebus_runtime_set_budget(rt, (uint64_t)(4 + i) * BLOCK + 7));
        cr_expect_eq(cebus_runtime_budget(rt), (uint64_t)(4 + i) * BLOCK);
    }
    cebus_tensor *x = vector(rt, 7 * N, 1);
    cr_expect_eq(at(x, 7 * N - 1), 1);
    cebus_tensor_release(x);
    OK(cebus_runtime_set_budget(rt, BLOCK + 9));
    OK(cebus_runtime_set_budget(rt, 2 * BLOCK + 9));
    cebus_runtime_destroy(rt);
}

/** The first two fit what a runtime begins with, the third and the fourth half a step and a
 * quarter of one; the fifth does not fit what others leave. */
Test(budget, what_others_leave_is_taken_by_smaller_steps)
{
    enum {
        MIB = 1 << 20
    };
    static const int64_t mebibytes[] = {125, 125, 120, 60, 30};
    cebus_runtime *rt;
    cebus_tensor *x[5];
    cebus_runtime_options options = CEBUS_RUNTIME_OPTIONS_INIT;
    cr_assert(cebus_test_device_register());
    cebus_test_faults.slab_most = UINT64_C(450) * MIB;
    options.device = "test";
    options.policy = "lru";
    OK(cebus_runtime_create(&options, &rt));
    for (int i = 0; i < 5; i++) {
        cr_expect_eq(stats_of(rt).evictions, 0);
        x[i] = vector(rt, mebibytes[i] * MIB / (int64_t)sizeof(float), i);
    }
    cr_expect_gt(stats_of(rt).evictions, 0);
    cr_expect_gt(stats_of(rt).reserved_bytes_current, UINT64_C(440) * MIB);
    cr_expect_eq(cebus_runtime_budget(rt), stats_of(rt).reserved_bytes_current, "found out");
    for (int i = 0; i < 5; i++)
        cebus_tensor_release(x[i]);
    cebus_runtime_destroy(rt);
}
