#include <criterion/criterion.h>

#include "eager/compaction.h"
#include "eager/storage.h"
#include "program.h"
#include "tests/support/test_device.h"

#define N 1024
#define BLOCK (N * sizeof(float))

TestSuite(compaction);

/** What events say about it. */
typedef struct told {
    uint64_t moves, moved_bytes, compactions, compacted_bytes, up;
} told;

static void listen(void *context, const cebus_event *event)
{
    told *t = context;
    if (event->kind == CEBUS_EVENT_MOVED) {
        t->moves++;
        t->moved_bytes += event->bytes;
        t->up += event->offset > event->from;
    } else if (event->kind == CEBUS_EVENT_COMPACTED) {
        t->compactions++;
        t->compacted_bytes += event->bytes;
    }
}

static cebus_runtime *open_on(const char *device, const char *layout, cebus_tensor **x, told *t)
{
    cebus_runtime *rt;
    cebus_runtime_options options = CEBUS_RUNTIME_OPTIONS_INIT;
    options.device = device;
    options.memory_budget = 8 * BLOCK;
    options.layout = layout;
    options.debug = CEBUS_DEBUG_WALK;
    options.threads = 1;
    OK(cebus_runtime_create(&options, &rt));
    for (int i = 0; i < 8; i++)
        x[i] = leaf(rt, N, (float)i);
    *t = (told){0};
    cebus_runtime_set_event_hook(rt, listen, t);
    return rt;
}

static cebus_runtime *open_layout(const char *layout, cebus_tensor **x, told *t)
{
    return open_on("cpu", layout, x, t);
}

static void close_layout(cebus_runtime *rt, cebus_tensor **x)
{
    for (int i = 0; i < 8; i++)
        cebus_tensor_release(x[i]);
    cr_expect_eq(cebus_memory_allocated(rt), 0);
    cebus_runtime_destroy(rt);
}

static void drop(cebus_tensor **x)
{
    cebus_tensor_release(*x);
    *x = NULL;
}

Test(compaction, is_counted_and_moves_no_more_than_it_must)
{
    cebus_tensor *x[8], *big;
    told t;
    cebus_runtime *rt = open_layout("zones", x, &t);
    drop(&x[1]);
    drop(&x[3]);
    drop(&x[6]);
    OK(cebus_full(rt, 5, CEBUS_F32, 1, &(int64_t){2 * N}, &big));
    cebus_memory_stats stats = stats_of(rt);
    cr_expect_eq(stats.compactions, 1);
    cr_expect_eq(stats.moved_bytes, BLOCK, "one block lies between two of the holes");
    cr_expect_eq(stats.evictions, 0);
    cr_expect_eq(stats.forced_evictions, 0);
    cr_expect_eq(stats.num_alloc_retries, 1);
    cr_expect_eq(t.moves, 1);
    cr_expect_eq(t.moved_bytes, stats.moved_bytes);
    cr_expect_eq(t.up, 0, "blocks slide down");
    cr_expect_eq(t.compactions, 1);
    cr_expect_eq(t.compacted_bytes, stats.moved_bytes);
    for (int i = 0; i < 8; i++)
        cr_expect(x[i] == NULL || at(x[i], N - 1) == (float)i, "moved bytes are the same");
    cebus_tensor_release(big);
    close_layout(rt, x);
}

Test(compaction, goes_round_what_was_handed_out)
{
    cebus_tensor *x[8], *big;
    const void *address;
    told t;
    cebus_runtime *rt = open_layout("zones", x, &t);
    OK(cebus_tensor_map(x[2], &address));
    drop(&x[1]);
    drop(&x[3]);
    drop(&x[6]);
    OK(cebus_full(rt, 5, CEBUS_F32, 1, &(int64_t){2 * N}, &big));
    cr_expect_eq(*(const float *)address, 2);
    cr_expect_eq(stats_of(rt).moved_bytes, 2 * BLOCK, "the dearer way, past blocks 4 and 5");
    cebus_tensor_release(big);
    cebus_tensor_unmap(x[2]);
    close_layout(rt, x);
}

Test(compaction, is_not_for_layouts_as_published)
{
    static const char *const layouts[] = {"best-fit", "coop"};
    for (int i = 0; i < 2; i++) {
        cebus_tensor *x[8], *big;
        told t;
        cebus_runtime *rt = open_layout(layouts[i], x, &t);
        drop(&x[1]);
        drop(&x[3]);
        FAILS(CEBUS_OUT_OF_MEMORY, "needs",
              cebus_full(rt, 5, CEBUS_F32, 1, &(int64_t){2 * N}, &big));
        cr_expect_eq(stats_of(rt).compactions, 0);
        cr_expect_eq(stats_of(rt).moved_bytes, 0);
        cr_expect_eq(t.moves + t.compactions, 0);
        close_layout(rt, x);
    }
}

Test(compaction, says_what_was_free_where_something_went)
{
    cebus_tensor *x[8], *dropped, *big;
    told t;
    cebus_runtime *rt = open_layout("best-fit", x, &t);
    drop(&x[3]);
    OK(cebus_add(rt, x[0], x[0], &dropped));
    drop(&x[4]);
    drop(&x[7]);
    OK(cebus_full(rt, 5, CEBUS_F32, 1, &(int64_t){2 * N}, &big));
    cebus_memory_stats stats = stats_of(rt);
    cr_expect_eq(stats.forced_evictions, 1);
    cr_expect_eq(stats.forced_free_ppm_sum, 0, "as much was free as was wanted");
    cr_expect_eq(stats.unused_ppm_sum, 125000, "one block of eight is left");
    cr_expect_eq(stats.unused_ppm_max, 125000);
    cr_expect_eq(stats.unused_with_request_ppm_sum, 375000);
    cebus_tensor_release(big);
    cebus_tensor_release(dropped);
    close_layout(rt, x);
}

/** Leaves lie from the top down in the order in which they were made. */
Test(compaction, vacates_a_stretch_for_holes_elsewhere)
{
    cebus_tensor *x[8];
    told t;
    cebus_runtime *rt = open_layout("zones", x, &t);
    drop(&x[1]);
    drop(&x[6]);
    cebus_block *hole = cebus_compaction_vacate(rt, 0, 2 * BLOCK);
    cr_assert_not_null(hole);
    cr_expect_eq(hole->offset, 0);
    cr_expect_eq(hole->bytes, 2 * BLOCK);
    cr_expect_eq(stats_of(rt).compactions, 1);
    cr_expect_eq(stats_of(rt).moved_bytes, BLOCK);
    cr_expect_eq(t.moves, 1);
    cr_expect_eq(t.up, 1, "to the hole that the second left");
    cr_expect_null(cebus_compaction_vacate(rt, 4 * BLOCK, 7 * BLOCK),
                   "two find room below, and the third none");
    for (int i = 0; i < 8; i++)
        cr_expect(x[i] == NULL || at(x[i], N - 1) == (float)i, "moved bytes are the same");
    cr_expect_eq(t.moves, 3);
    close_layout(rt, x);
}

Test(compaction, vacates_nothing_that_was_handed_out)
{
    cebus_tensor *x[8];
    const void *address;
    told t;
    cebus_runtime *rt = open_layout("zones", x, &t);
    OK(cebus_tensor_map(x[0], &address));
    drop(&x[1]);
    drop(&x[6]);
    cr_expect_null(cebus_compaction_vacate(rt, 6 * BLOCK, 8 * BLOCK));
    cr_expect_eq(stats_of(rt).moved_bytes, 0);
    cr_expect_eq(*(const float *)address, 0);
    cebus_tensor_unmap(x[0]);
    close_layout(rt, x);
}

Test(compaction, what_cannot_be_copied_stays_where_it_is)
{
    cebus_tensor *x[8];
    told t;
    cr_assert(cebus_test_device_register());
    cebus_runtime *rt = open_on("test", "zones", x, &t);
    drop(&x[1]);
    drop(&x[6]);
    const uint64_t allocated = cebus_memory_allocated(rt);
    cebus_test_faults = (cebus_test_device_faults){.copy_at = 1};
    cr_expect_null(cebus_compaction_vacate(rt, 0, 2 * BLOCK));
    cr_expect(cebus_test_faults.fired);
    cebus_test_faults = (cebus_test_device_faults){0};
    cr_expect_eq(stats_of(rt).moved_bytes, 0);
    cr_expect_eq(t.moves, 0);
    cr_expect_eq(cebus_memory_allocated(rt), allocated, "the hole it was to go to is free again");
    cr_expect_not_null(cebus_compaction_vacate(rt, 0, 2 * BLOCK));
    cr_expect_eq(stats_of(rt).moved_bytes, BLOCK);
    cr_expect_eq(t.moves, 1);
    for (int i = 0; i < 8; i++)
        cr_expect(x[i] == NULL || at(x[i], N - 1) == (float)i, "the bytes are the same");
    close_layout(rt, x);
}

static cebus_block *at_offset(const cebus_runtime *rt, uint64_t offset)
{
    cebus_block *block = rt->arena.first;
    while (block != NULL && block->offset != offset)
        block = block->next;
    return block;
}

Test(compaction, shifts_a_value_to_where_it_is_told)
{
    cebus_tensor *x[8];
    const void *address;
    told t;
    cebus_runtime *rt = open_layout("zones", x, &t);
    drop(&x[1]);
    drop(&x[6]);
    cr_expect_not(cebus_compaction_shift(rt, at_offset(rt, 0), 2 * BLOCK), "others lie there");
    cr_expect_not(cebus_compaction_shift(rt, at_offset(rt, 0), 0), "it lies there");
    cr_expect_eq(t.moves, 0);
    cr_expect(cebus_compaction_shift(rt, at_offset(rt, 0), 6 * BLOCK));
    cr_expect_not_null(at_offset(rt, 6 * BLOCK)->owner);
    cr_expect(cebus_compaction_shift(rt, at_offset(rt, 2 * BLOCK), BLOCK / 2),
              "over some of its own bytes");
    cr_expect(cebus_compaction_shift(rt, at_offset(rt, BLOCK / 2), BLOCK * 3 / 4), "and back up");
    cr_expect_eq(stats_of(rt).moved_bytes, 3 * BLOCK);
    cr_expect_eq(t.moves, 3);
    for (int i = 0; i < 8; i++)
        cr_expect(x[i] == NULL || (at(x[i], 0) == (float)i && at(x[i], N - 1) == (float)i));
    OK(cebus_tensor_map(x[5], &address));
    cr_expect_not(cebus_compaction_shift(rt, at_offset(rt, BLOCK * 3 / 4), 0), "handed out");
    cebus_tensor_unmap(x[5]);
    OK(cebus_runtime_check(rt));
    close_layout(rt, x);
}

Test(compaction, what_cannot_be_copied_does_not_shift)
{
    cebus_tensor *x[8];
    told t;
    cr_assert(cebus_test_device_register());
    cebus_runtime *rt = open_on("test", "zones", x, &t);
    drop(&x[6]);
    for (uint64_t to = 0; to <= BLOCK / 2; to += BLOCK / 2) {
        cebus_test_faults = (cebus_test_device_faults){.copy_at = 1};
        cr_expect_not(cebus_compaction_shift(rt, at_offset(rt, 2 * BLOCK), BLOCK + to));
        cr_expect(cebus_test_faults.fired);
        cr_expect_not_null(at_offset(rt, 2 * BLOCK));
    }
    cebus_test_faults = (cebus_test_device_faults){0};
    for (int i = 0; i < 8; i++)
        cr_expect(x[i] == NULL || at(x[i], N - 1) == (float)i);
    OK(cebus_runtime_check(rt));
    close_layout(rt, x);
}

static cebus_candidate *candidate_of(cebus_runtime *rt, uint64_t bytes)
{
    for (cebus_block *block = rt->arena.first; block != NULL; block = block->next) {
        if (block->owner != NULL && block->bytes == bytes)
            return block->owner;
    }
    return NULL;
}

/** Small blocks lie together: a copy each would be all that moving them brings. */
Test(compaction, only_what_is_not_small_goes_to_the_low_end)
{
    cebus_runtime *rt;
    cebus_runtime_options options = CEBUS_RUNTIME_OPTIONS_INIT;
    cebus_tensor *large, *small;
    told t = {0};
    options.memory_budget = UINT64_C(64) << 20;
    options.layout = "zones";
    options.threads = 1;
    OK(cebus_runtime_create(&options, &rt));
    OK(cebus_full(rt, 1, CEBUS_F32, 1, &(int64_t){1 << 16}, &large));
    OK(cebus_full(rt, 2, CEBUS_F32, 1, &(int64_t){1 << 8}, &small));
    cebus_runtime_set_event_hook(rt, listen, &t);
    cebus_candidate_move_low(rt, candidate_of(rt, 4 << 8));
    cebus_candidate_move_low(rt, candidate_of(rt, 4 << 16));
    cr_expect_eq(candidate_of(rt, 4 << 16)->block->offset, 0);
    cr_expect_eq(at(large, 0), 1);
    cr_expect_eq(at(small, 0), 2);
    cr_expect_eq(t.moves, 1, "the large one");
    cebus_tensor_release(large);
    cebus_tensor_release(small);
    cebus_runtime_destroy(rt);
}
