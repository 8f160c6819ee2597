#include <criterion/criterion.h>

#include "eager/ladder.h"
#include "eager/runtime.h"
#include "eager/storage.h"
#include "eager/swap/swap.h"
#include "eager/tensor.h"
#include "program.h"
#include "tests/support/test_device.h"

TestSuite(swap);

#define N 1024
#define BLOCK (N * sizeof(float))

static cebus_runtime *open_swapping(uint64_t budget, cebus_swap swap, uint64_t host_budget)
{
    cebus_runtime *rt;
    cebus_runtime_options options = CEBUS_RUNTIME_OPTIONS_INIT;
    options.memory_budget = budget;
    options.policy = "lru";
    options.swap = swap;
    options.host_budget = host_budget;
    options.debug = CEBUS_DEBUG_WALK | CEBUS_DEBUG_HASH;
    OK(cebus_runtime_create(&options, &rt));
    return rt;
}

static void release_all(cebus_tensor **tensors, int n)
{
    for (int i = 0; i < n; i++)
        cebus_tensor_release(tensors[i]);
}

Test(swap, uploads_beyond_the_budget_wait_on_the_host)
{
    cebus_runtime *rt = open_swapping(4 * BLOCK, CEBUS_SWAP_ON, 0);
    cebus_tensor *x[8];
    for (int i = 0; i < 8; i++)
        x[i] = leaf(rt, N, (float)i);
    cr_expect_leq(cebus_max_memory_allocated(rt), 4 * BLOCK);
    cr_expect_geq(stats_of(rt).swap_outs, 4);
    for (int i = 0; i < 8; i++)
        cr_expect_eq(at(x[i], 5), i);
    release_all(x, 8);
    cr_expect_eq(cebus_memory_allocated(rt), 0);
    cebus_runtime_destroy(rt);
}

Test(swap, off_by_default_for_policies_that_recompute)
{
    cebus_runtime *rt = open_swapping(4 * BLOCK, CEBUS_SWAP_DEFAULT, 0);
    cebus_tensor *x[4], *more;
    float data[N] = {0};
    for (int i = 0; i < 4; i++)
        x[i] = leaf(rt, N, (float)i);
    FAILS(CEBUS_OUT_OF_MEMORY, "needs 4096",
          cebus_tensor_from_host(rt, data, CEBUS_F32, 1, (int64_t[]){N}, &more));
    cr_expect_eq(stats_of(rt).swap_outs, 0);
    release_all(x, 4);
    cebus_runtime_destroy(rt);
}

/** The report names what is in the way, not what would have left if that had helped. */
Test(swap, what_could_leave_is_not_what_cannot_go)
{
    char report[4096];
    cebus_runtime *rt = open_swapping(4 * BLOCK, CEBUS_SWAP_ON, 0);
    cebus_tensor *row = leaf(rt, 2 * N, 1), *kept = leaf(rt, N, 2), *pair = leaf(rt, 2, 3);
    cebus_tensor *column, *out;
    OK(cebus_tensor_set_persistent(kept));
    OK(cebus_reshape(rt, pair, 2, (int64_t[]){2, 1}, &column));
    FAILS(CEBUS_OUT_OF_MEMORY, "needs 16384 bytes", cebus_add(rt, column, row, &out));
    cebus_runtime_oom_report(rt, report, sizeof report);
    cr_expect_not_null(strstr(report, "in use by the running call"), "%s", report);
    cr_expect_null(strstr(report, ": persistent"), "%s", report);
    release_all((cebus_tensor *[]){row, kept, pair, column}, 4);
    cebus_runtime_destroy(rt);
}

/** Copies of what nobody holds fill the host, until other values have to leave. */
Test(swap, what_was_abandoned_makes_room_on_the_host)
{
    cebus_runtime *rt;
    cebus_runtime_options options = CEBUS_RUNTIME_OPTIONS_INIT;
    options.memory_budget = 4 * BLOCK;
    options.host_budget = 6 * BLOCK;
    options.policy = "odswap"; /* swaps whatever it costs */
    options.debug = CEBUS_DEBUG_WALK | CEBUS_DEBUG_HASH;
    OK(cebus_runtime_create(&options, &rt));
    cebus_tensor *x[4], *y[4], *z[4];
    for (int i = 0; i < 4; i++)
        x[i] = vector(rt, N, i);
    for (int i = 0; i < 4; i++)
        OK(cebus_add_scalar(rt, x[i], 1, &y[i]));
    OK(cebus_runtime_trim(rt));
    release_all(x, 4);
    cr_assert_eq(stats_of(rt).swapped_bytes_current, 6 * BLOCK, "kept while nobody wants the room");
    for (int i = 0; i < 4; i++)
        cr_expect_eq(at(y[i], 5), i + 1);
    uint64_t before = stats_of(rt).recomputes;
    for (int i = 0; i < 4; i++)
        z[i] = leaf(rt, N, (float)(10 + i));
    for (int i = 0; i < 4; i++)
        cr_expect_eq(at(y[i], 5), i + 1);
    cr_expect_eq(stats_of(rt).recomputes, before, "they went to the host");
    cr_expect_leq(stats_of(rt).swapped_bytes_current, 6 * BLOCK);
    for (int i = 0; i < 4; i++)
        cr_expect_eq(at(z[i], 5), 10 + i);
    release_all(y, 4);
    release_all(z, 4);
    cebus_runtime_destroy(rt);
}

/** Leaves that only records keep fill the host, until values that are held have to leave. */
Test(swap, leaves_nobody_can_reach_make_room_off_the_device)
{
    cebus_runtime *rt = open_swapping(4 * BLOCK, CEBUS_SWAP_ON, 4 * BLOCK);
    cebus_tensor *batch[7], *sum[7], *z[6];
    for (int i = 0; i < 7; i++) {
        batch[i] = leaf(rt, N, (float)i);
        OK(cebus_sum(rt, batch[i], 0, NULL, false, &sum[i]));
        cebus_tensor_release(batch[i]); /* whose sum may have to be made again */
    }
    cr_assert_gt(stats_of(rt).swapped_bytes_current, 3 * BLOCK, "no room for another");
    for (int i = 0; i < 6; i++)
        z[i] = leaf(rt, N, (float)(10 + i));
    cr_expect_gt(stats_of(rt).lineage_cuts, 0);
    for (int i = 0; i < 7; i++)
        cr_expect_eq(at(sum[i], 0), (float)i * N);
    for (int i = 0; i < 6; i++)
        cr_expect_eq(at(z[i], 5), 10 + i);
    release_all(sum, 7);
    release_all(z, 6);
    OK(cebus_runtime_check(rt));
    cebus_runtime_destroy(rt);
}

Test(swap, what_did_not_change_is_copied_once)
{
    cebus_runtime *rt = open_swapping(2 * BLOCK, CEBUS_SWAP_ON, 0);
    cebus_tensor *x[3];
    for (int i = 0; i < 3; i++)
        x[i] = leaf(rt, N, (float)i);
    for (int turn = 0; turn < 5; turn++) {
        for (int i = 0; i < 3; i++)
            cr_expect_eq(at(x[i], 9), i);
    }
    cebus_memory_stats stats = stats_of(rt);
    cr_expect_leq(stats.swap_outs, 3, "each once");
    cr_expect_geq(stats.swap_ins, 10);
    release_all(x, 3);
    cebus_runtime_destroy(rt);
}

Test(swap, a_write_ends_the_copy)
{
    cebus_runtime *rt = open_swapping(2 * BLOCK, CEBUS_SWAP_ON, 0);
    write_between_reads(rt, N);
    cr_expect_gt(stats_of(rt).swap_ins, 0);
    cebus_runtime_destroy(rt);
}

Test(swap, the_host_budget_is_kept)
{
    cebus_runtime *rt = open_swapping(2 * BLOCK, CEBUS_SWAP_ON, 2 * BLOCK);
    cebus_tensor *x[4], *more;
    float data[N] = {0};
    for (int i = 0; i < 4; i++)
        x[i] = leaf(rt, N, (float)i);
    FAILS(CEBUS_OUT_OF_MEMORY, "needs 4096",
          cebus_tensor_from_host(rt, data, CEBUS_F32, 1, (int64_t[]){N}, &more));
    cr_expect_leq(stats_of(rt).swapped_bytes_current, 2 * BLOCK);
    cebus_tensor_release(x[1]);
    for (int i = 0; i < 4; i++) /* with room to exchange two */
        cr_expect(i == 1 || at(x[i], 0) == (float)i);
    x[1] = NULL;
    release_all(x, 4);
    cebus_runtime_destroy(rt);
}

/** A chain that is read back from its end: no copy has to be waited for where it is made ahead. */
static cebus_memory_stats run_chain(const char *policy, cebus_swap swap)
{
    enum {
        LENGTH = 24
    };
    cebus_runtime *rt;
    cebus_runtime_options options = CEBUS_RUNTIME_OPTIONS_INIT;
    cebus_tensor *x[LENGTH + 1], *sum;
    options.device = "test";
    options.memory_budget = 8 * BLOCK;
    options.policy = policy;
    options.swap = swap;
    options.cost_model = CEBUS_COST_ESTIMATED;
    options.debug = CEBUS_DEBUG_WALK | CEBUS_DEBUG_HASH;
    cr_assert(cebus_test_device_register());
    OK(cebus_runtime_create(&options, &rt));
    x[0] = leaf(rt, N, 1);
    for (int i = 0; i < LENGTH; i++)
        OK(cebus_add_scalar(rt, x[i], 1, &x[i + 1]));
    for (int i = LENGTH; i-- > 0;) {
        OK(cebus_add(rt, x[i], x[i + 1], &sum));
        cr_expect_eq(at(sum, 7), (float)(2 * i + 3));
        cebus_tensor_release(sum);
    }
    cr_expect_leq(cebus_max_memory_allocated(rt), 8 * BLOCK);
    cebus_memory_stats stats = stats_of(rt);
    release_all(x, LENGTH + 1);
    cr_expect_eq(cebus_memory_allocated(rt), 0);
    cebus_runtime_destroy(rt);
    return stats;
}

Test(swap, what_goes_next_is_copied_ahead_of_need)
{
    cebus_memory_stats stats = run_chain("odswap", CEBUS_SWAP_DEFAULT);
    cr_expect_gt(stats.copies_ahead, 0);
    cr_expect_eq(stats.copied_ahead_bytes, stats.copies_ahead * BLOCK);
    cr_expect_leq(stats.copies_ahead, stats.swap_outs);
    cr_expect_gt(stats.clean_evictions, 0);
    cr_expect_leq(stats.clean_evictions, stats.evictions);
}

Test(swap, nothing_is_copied_ahead_that_would_be_dropped)
{
    cr_expect_eq(run_chain("lru", CEBUS_SWAP_OFF).copies_ahead, 0);
    cr_expect_eq(run_chain("odswap", CEBUS_SWAP_OFF).copies_ahead, 0);
    cr_expect_eq(run_chain("coop", CEBUS_SWAP_DEFAULT).copies_ahead, 0);
}

Test(swap, refuses_what_it_does_not_know)
{
    cebus_runtime *rt;
    cebus_runtime_options options = CEBUS_RUNTIME_OPTIONS_INIT;
    options.swap = (cebus_swap)7;
    FAILS(CEBUS_INVALID_ARGUMENT, "swap", cebus_runtime_create(&options, &rt));
    options.swap = CEBUS_SWAP_DEFAULT;
    options.layout = "heaps";
    FAILS(CEBUS_INVALID_ARGUMENT, "zones", cebus_runtime_create(&options, &rt));
    options.layout = "commodity";
    FAILS(CEBUS_INVALID_ARGUMENT, "sim:", cebus_runtime_create(&options, &rt));
}

/** The device's own count, read past the runtime. */
static uint64_t host_waits(cebus_runtime *rt)
{
    cebus_device_info info;
    rt->device_ops->query(rt->device, &info);
    return info.host_waits;
}

static cebus_runtime *open_on_test(uint64_t budget)
{
    cebus_runtime *rt;
    cebus_runtime_options options = CEBUS_RUNTIME_OPTIONS_INIT;
    cr_assert(cebus_test_device_register());
    options.device = "test";
    options.memory_budget = budget;
    options.policy = "lru";
    options.swap = CEBUS_SWAP_ON;
    options.threads = 1;
    OK(cebus_runtime_create(&options, &rt));
    return rt;
}

Test(swap, the_host_waits_for_nothing_but_its_own_reads)
{
    cebus_runtime *rt = open_on_test(6 * BLOCK);
    cebus_tensor *x[8], *y[8];
    for (int i = 0; i < 8; i++)
        x[i] = leaf(rt, N, (float)i);
    for (int i = 0; i < 8; i++)
        OK(cebus_add(rt, x[i], x[(i + 3) % 8], &y[i]));
    OK(cebus_runtime_set_budget(rt, 5 * BLOCK));
    OK(cebus_runtime_set_budget(rt, 7 * BLOCK));
    for (int i = 0; i < 8; i++)
        OK(cebus_add_(rt, y[i], x[i], 1.0));
    cr_expect_geq(stats_of(rt).swap_outs, 8);
    cr_expect_geq(stats_of(rt).swap_ins, 4);
    cr_expect_eq(host_waits(rt), 0);
    for (int i = 0; i < 8; i++)
        cr_expect_eq(at(y[i], 9), (float)(2 * i + (i + 3) % 8));
    cr_expect_eq(host_waits(rt), 8);
    release_all(x, 8);
    release_all(y, 8);
    cebus_runtime_destroy(rt);
}

/** Streams run in any order but where they wait: over and over, so that what goes out is late. */
Test(swap, room_that_a_copy_in_did_not_use_is_still_on_its_way_out)
{
    cebus_runtime *rt = open_on_test(BLOCK);
    for (int i = 0; i < 64; i++) {
        float data[N];
        cebus_tensor *x = leaf(rt, N, (float)i);
        x->storage->now->method = CEBUS_GO_SWAP;
        cebus_ladder_give_up(rt, x->storage->now);
        cebus_test_faults = (cebus_test_device_faults){.copy_at = 1};
        FAILS(CEBUS_DEVICE_ERROR, "ordered to fail", cebus_tensor_to_host(x, data, sizeof data));
        cebus_test_faults = (cebus_test_device_faults){0};
        cr_expect_eq(at(x, 5), i);
        cebus_tensor_release(x);
    }
    cebus_runtime_destroy(rt);
}

/** It is no matter of the budget, which the program need not raise. */
Test(swap, a_copy_off_the_device_that_fails_is_told_as_that)
{
    cebus_runtime *rt = open_on_test(2 * BLOCK);
    cebus_tensor *x[3];
    float data[N] = {0};
    for (int i = 0; i < 2; i++)
        x[i] = leaf(rt, N, (float)i);
    cebus_test_faults = (cebus_test_device_faults){.copy_at = 1};
    FAILS(CEBUS_DEVICE_ERROR, "needs 4096 bytes, and the device refused",
          cebus_tensor_from_host(rt, data, CEBUS_F32, 1, (int64_t[]){N}, &x[2]));
    cebus_test_faults = (cebus_test_device_faults){0};
    x[2] = leaf(rt, N, 2);
    for (int i = 0; i < 3; i++)
        cr_expect_eq(at(x[i], 5), i);
    release_all(x, 3);
    cebus_runtime_destroy(rt);
}

static cebus_runtime *open_simulated_with(cebus_swap swap, const char *policy, uint64_t budget,
                                          uint64_t host_budget)
{
    cebus_runtime *rt;
    cebus_runtime_options options = CEBUS_RUNTIME_OPTIONS_INIT;
    options.device = "sim:v100-16g";
    options.memory_budget = budget;
    options.host_budget = host_budget;
    options.policy = policy;
    options.swap = swap;
    OK(cebus_runtime_create(&options, &rt));
    return rt;
}

static cebus_runtime *open_simulated(const char *policy, uint64_t budget, uint64_t host_budget)
{
    return open_simulated_with(CEBUS_SWAP_DEFAULT, policy, budget, host_budget);
}

/** What is swapped and let go stays on the host until its copy is done: that is waited for, once
 * there is no room for the next. */
Test(swap, host_memory_that_streams_still_use_is_waited_for)
{
    enum {
        TURNS = 40
    };
    const uint64_t bytes = 64 << 20;
    cebus_runtime *rt = open_simulated("odswap", 3 * bytes, 3 * bytes);
    cebus_tensor *x, *y[TURNS];
    int64_t n = (int64_t)bytes / 4;
    OK(cebus_zeros(rt, CEBUS_F32, 1, &n, &x));
    for (int i = 0; i < TURNS; i++) {
        OK(cebus_add(rt, x, x, &y[i]));
        if (i >= 2)
            cebus_tensor_release(y[i - 2]);
    }
    cebus_memory_stats stats = stats_of(rt);
    cr_expect_leq(stats.swapped_bytes_current, 3 * bytes);
    cr_expect_eq(stats.num_ooms, 0);
    cr_expect_geq(stats.swap_outs, TURNS / 2, "%zu", (size_t)stats.swap_outs);
    cr_expect_eq(stats.swap_outs, stats.evictions, "something was dropped for want of room");
    cebus_tensor_release(x);
    release_all(y + TURNS - 2, 2);
    cebus_runtime_destroy(rt);
}

/** Parameters of more than the budget, read in turn: which policies move them on such machines. */
static cebus_status read_parameters(cebus_runtime *rt, int64_t n, uint64_t *out_swaps)
{
    cebus_tensor *w[6], *y;
    int made = 0;
    cebus_status status = CEBUS_OK;
    for (; made < 6 && status == CEBUS_OK; made++) {
        status = cebus_zeros(rt, CEBUS_F32, 1, &n, &w[made]);
        if (status == CEBUS_OK)
            status = cebus_tensor_set_persistent(w[made]);
        else
            break;
    }
    for (int i = 0; i < 12 && status == CEBUS_OK; i++) {
        status = cebus_add(rt, w[i % 6], w[i % 6], &y);
        if (status == CEBUS_OK)
            cebus_tensor_release(y);
    }
    *out_swaps = stats_of(rt).swap_ins;
    release_all(w, made);
    return status;
}

Test(swap, on_simulated_machines_parameters_leave_by_odswap_alone)
{
    static const char *const policies[] = {"odswap", "lru", "coop"};
    const uint64_t bytes = 1 << 20;
    for (size_t i = 0; i < sizeof policies / sizeof *policies; i++) {
        uint64_t swaps;
        cebus_runtime *rt = open_simulated(policies[i], 4 * bytes, 64 * bytes);
        cebus_status status = read_parameters(rt, (int64_t)bytes / 4, &swaps);
        cr_expect_eq(status, i == 0 ? CEBUS_OK : CEBUS_OUT_OF_MEMORY, "%s", policies[i]);
        cr_expect_eq(swaps > 0, i == 0, "%s", policies[i]);
        cebus_runtime_destroy(rt);
    }
}

/** Gradients of as many bytes as the optimizer's state are written in turn, the state by none;
 * three quarters of all fit. What the last of eight turns waited. */
static uint64_t stall_of_last_turn(const char *policy)
{
    enum {
        GRADIENTS = 4,
        TURNS = 8
    };
    const uint64_t bytes = 64 << 20;
    const int64_t n = (int64_t)bytes / 4;
    cebus_runtime *rt = open_simulated_with(CEBUS_SWAP_ON, policy, 6 * bytes, 64 * bytes);
    cebus_tensor *state[GRADIENTS], *gradient[GRADIENTS];
    for (int i = 0; i < GRADIENTS; i++) {
        OK(cebus_zeros(rt, CEBUS_F32, 1, &n, &state[i]));
        OK(cebus_tensor_set_persistent(state[i]));
    }
    for (int i = 0; i < GRADIENTS; i++)
        OK(cebus_zeros(rt, CEBUS_F32, 1, &n, &gradient[i]));
    uint64_t before = 0;
    for (int turn = 0; turn < TURNS; turn++) {
        before = stats_of(rt).stall_ns;
        for (int i = 0; i < GRADIENTS; i++)
            OK(cebus_add_(rt, gradient[i], gradient[i], 1));
    }
    uint64_t stall = stats_of(rt).stall_ns - before;
    release_all(state, GRADIENTS);
    release_all(gradient, GRADIENTS);
    cebus_runtime_destroy(rt);
    return stall;
}

Test(swap, under_strain_idle_parameters_leave_on_simulated_machines_too)
{
    cr_expect_eq(stall_of_last_turn("lru"), 0);
    cr_expect_eq(stall_of_last_turn("dtr"), 0);
    cr_expect_eq(stall_of_last_turn("coop"), 0);
}

/** What comes last is made by eight products, which take longer than its copy. */
Test(swap, what_is_dear_is_copied_where_all_has_to_go)
{
    const int64_t n = 1024;
    cebus_runtime *rt;
    cebus_runtime_options options = CEBUS_RUNTIME_OPTIONS_INIT;
    options.device = "sim:v100-16g";
    options.swap = CEBUS_SWAP_ON;
    OK(cebus_runtime_create(&options, &rt));
    cebus_tensor *x, *cheap, *last, *next;
    OK(cebus_full(rt, 1, CEBUS_F32, 2, (int64_t[]){n, n}, &x));
    OK(cebus_add_scalar(rt, x, 1, &cheap));
    OK(cebus_add_scalar(rt, x, 2, &last));
    for (int i = 0; i < 8; i++) {
        OK(cebus_matmul(rt, last, last, &next));
        cebus_tensor_release(last);
        last = next;
    }
    OK(cebus_runtime_trim(rt));
    cr_expect_eq(stats_of(rt).swap_outs, 1);
    cr_expect_eq(cebus_memory_allocated(rt), 0);
    uint64_t before = stats_of(rt).recomputes;
    OK(cebus_add_scalar(rt, last, 1, &next));
    cr_expect_eq(stats_of(rt).recomputes, before);
    cr_expect_eq(stats_of(rt).swap_ins, 1);
    release_all((cebus_tensor *[]){x, cheap, last, next}, 4);
    cebus_runtime_destroy(rt);
}

static uint64_t copy_that_is_waited_for(cebus_runtime *rt, uint64_t offset)
{
    cebus_block *block;
    const cebus_request request = {.bytes = BLOCK,
                                   .spot = offset,
                                   .stream = CEBUS_STREAM_COMPUTE,
                                   .zone = CEBUS_ZONE_CHEAP,
                                   .op = "test"};
    OK(cebus_ladder_reserve(rt, &request, &block));
    cr_expect_eq(block->offset, offset);
    const uint64_t mark = block->fence[CEBUS_STREAM_OUT];
    cebus_ladder_release(rt, block);
    return mark;
}

/** Two blocks become one hole, of which the first is still copied out. */
Test(swap, who_takes_a_part_of_a_hole_waits_for_what_is_done_to_that_part)
{
    cebus_runtime *rt = open_swapping(4 * BLOCK, CEBUS_SWAP_ON, 0);
    cebus_tensor *x[3];
    for (int i = 0; i < 3; i++)
        x[i] = leaf(rt, N, (float)i);
    OK(cebus_runtime_lock(rt, "test"));
    const uint64_t first = x[0]->storage->now->block->offset;
    const uint64_t second = x[1]->storage->now->block->offset;
    cr_assert(cebus_swap_copy_out(rt, x[0]->storage->now, true));
    const uint64_t mark = x[0]->storage->now->host_mark;
    release_all(x, 2);
    cr_expect_eq(copy_that_is_waited_for(rt, second), 0);
    cr_expect_eq(copy_that_is_waited_for(rt, first), mark);
    cr_expect_eq(copy_that_is_waited_for(rt, second), 0);
    cebus_runtime_unlock(rt);
    cebus_tensor_release(x[2]);
    cebus_runtime_destroy(rt);
}
