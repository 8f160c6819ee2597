#include <criterion/criterion.h>

#include "suite.h"

TestSuite(replay, .init = setup, .fini = teardown);

/** A record runs after the records of all its absent inputs. */
static void expect_order(const cebus_replay *list)
{
    for (size_t at = 0; at < list->count; at++) {
        for (uint32_t i = 0; i < list->calls[at]->n_in; i++) {
            const cebus_value *input = list->calls[at]->in[i].value;
            bool made = input == NULL || input->resident;
            for (size_t before = 0; !made && before < at; before++)
                made = list->calls[before] == input->producer;
            cr_expect(made, "call %zu reads what no earlier call makes", at);
            for (size_t before = 0; before < at; before++)
                cr_expect_neq(list->calls[before], list->calls[at], "a call is listed twice");
        }
    }
}

Test(replay, lists_a_deep_chain_without_recursion)
{
    enum {
        N = 200000
    };
    cebus_replay list;
    cebus_value *leaf = program_leaf(&p, 64), *value = leaf;
    for (int i = 0; i < N; i++) {
        cebus_value *next = program_call(&p, 1, value, NULL);
        if (value != leaf) {
            program_evict(&p, value);
            program_release(&p, value);
        }
        value = next;
    }
    program_evict(&p, value);
    cr_assert_eq(cebus_replay_build(&p.lineage, &value, 1, &list), CEBUS_OK);
    cr_expect_eq(list.count, N);
    cr_expect_eq(list.calls[0]->in[0].value, leaf);
    cr_expect_eq(list.calls[N - 1], value->producer);
    program_release(&p, value);
    program_release(&p, leaf);
}

Test(replay, runs_shared_parents_once_and_in_order)
{
    cebus_replay list;
    cebus_value *leaf = program_leaf(&p, 64), *v[6];
    v[0] = program_call(&p, 1, leaf, NULL);
    v[1] = program_call(&p, 1, v[0], NULL);
    v[2] = program_call(&p, 1, v[0], v[1]);
    v[3] = program_call(&p, 1, v[1], v[2]);
    v[4] = program_call(&p, 1, v[3], v[0]);
    v[5] = program_call(&p, 1, v[4], v[4]);
    for (int i = 0; i < 6; i++)
        program_evict(&p, v[i]);
    cr_assert_eq(cebus_replay_build(&p.lineage, &v[5], 1, &list), CEBUS_OK);
    cr_expect_eq(list.count, 6);
    expect_order(&list);
    cebus_replay_claim(&list, 0);
    cr_expect_eq(v[0]->plan_uses, 3);
    cr_expect_eq(v[4]->plan_uses, 2);
    cr_expect_eq(leaf->plan_uses, 1);
    cebus_replay_unclaim(&list, 0);
    for (int i = 0; i < 6; i++)
        cr_expect_eq(v[i]->plan_uses, 0);
    for (int i = 0; i < 6; i++)
        program_release(&p, v[i]);
    program_release(&p, leaf);
}

/** What several targets follow from is listed once, and nothing for one that is there. */
Test(replay, lists_what_several_targets_need_once)
{
    cebus_replay list;
    cebus_value *leaf = program_leaf(&p, 64), *v[4];
    v[0] = program_call(&p, 1, leaf, NULL);
    v[1] = program_call(&p, 1, v[0], NULL);
    v[2] = program_call(&p, 1, v[0], NULL);
    v[3] = program_call(&p, 1, leaf, NULL);
    for (int i = 0; i < 3; i++)
        program_evict(&p, v[i]);
    cebus_value *targets[] = {v[2], v[1], v[3], v[2]};
    cr_assert_eq(cebus_replay_build(&p.lineage, targets, 4, &list), CEBUS_OK);
    cr_expect_eq(list.count, 3);
    expect_order(&list);
    for (int i = 0; i < 4; i++)
        program_release(&p, v[i]);
    program_release(&p, leaf);
}

/** Two branches that a walk back from the target would list the other way round. */
Test(replay, runs_in_the_order_of_the_program)
{
    enum {
        N = 5
    };
    cebus_replay list;
    cebus_value *leaf = program_leaf(&p, 64), *v[N];
    v[0] = program_call(&p, 1, leaf, NULL);
    v[1] = program_call(&p, 1, leaf, NULL);
    v[2] = program_call(&p, 1, v[0], NULL);
    v[3] = program_call(&p, 1, v[1], NULL);
    v[4] = program_call(&p, 1, v[3], v[2]);
    for (int i = 0; i < N; i++)
        program_evict(&p, v[i]);
    cr_assert_eq(cebus_replay_build(&p.lineage, &v[4], 1, &list), CEBUS_OK);
    cr_assert_eq(list.count, N);
    expect_order(&list);
    cebus_replay_sort(&list);
    for (int i = 0; i < N; i++)
        cr_expect_eq(list.calls[i], v[i]->producer, "call %d", i);
    for (int i = 0; i < N; i++)
        program_release(&p, v[i]);
    program_release(&p, leaf);
}

Test(replay, counts_what_a_call_had_to_wait_for)
{
    cebus_replay list;
    cebus_value *leaf = program_leaf(&p, 64);
    cebus_value *a = program_call(&p, 3, leaf, NULL), *b = program_call(&p, 4, a, NULL);
    b->producer->wait_ns = 100;
    program_evict(&p, b);
    cr_expect_eq(cebus_replay_behind(&p.lineage, b, SIZE_MAX, UINT64_MAX).ns, 104);
    cr_expect_eq(cebus_replay_behind(&p.lineage, a, SIZE_MAX, UINT64_MAX).ns, 3);
    cr_expect_eq(cebus_replay_ahead(&p.lineage, a, SIZE_MAX, UINT64_MAX).ns, 104);
    cr_assert_eq(cebus_replay_build(&p.lineage, &b, 1, &list), CEBUS_OK);
    cr_expect_eq(cebus_replay_sum(&list), 104);
    program_release(&p, b);
    program_release(&p, a);
    program_release(&p, leaf);
}

Test(replay, stops_at_what_is_there)
{
    cebus_replay list;
    cebus_value *leaf = program_leaf(&p, 64);
    cebus_value *a = program_call(&p, 1, leaf, NULL), *b = program_call(&p, 1, a, NULL);
    program_evict(&p, b);
    cr_assert_eq(cebus_replay_build(&p.lineage, &b, 1, &list), CEBUS_OK);
    cr_expect_eq(list.count, 1);
    cr_assert_eq(cebus_replay_build(&p.lineage, &a, 1, &list), CEBUS_OK);
    cr_expect_eq(list.count, 0, "a resident target needs nothing");
    program_release(&p, b);
    program_release(&p, a);
    program_release(&p, leaf);
}

Test(replay, sums_what_lies_behind_and_ahead)
{
    cebus_value *leaf = program_leaf(&p, 64), *chain[5] = {leaf};
    for (int i = 1; i < 5; i++)
        chain[i] = program_call(&p, 1, chain[i - 1], NULL);
    for (int i = 1; i < 5; i++)
        chain[i]->producer->cost_ns = (uint64_t)1 << (4 * i);
    program_evict(&p, chain[1]);
    program_evict(&p, chain[3]);
    program_evict(&p, chain[4]);
    cebus_effort behind = cebus_replay_behind(&p.lineage, chain[4], SIZE_MAX, UINT64_MAX);
    cr_expect_eq(behind.ns, 0x11000, "down to what is there");
    cr_expect_eq(behind.bytes, chain[3]->bytes + chain[4]->bytes);
    cr_expect_eq(cebus_replay_behind(&p.lineage, chain[4], 1, UINT64_MAX).ns, 0x10000);
    cr_expect_eq(cebus_replay_behind(&p.lineage, chain[4], SIZE_MAX, 0x8000).ns, 0x10000);
    cr_expect_eq(cebus_replay_behind(&p.lineage, leaf, SIZE_MAX, UINT64_MAX).ns, 0);
    cr_expect_eq(cebus_replay_behind(&p.lineage, chain[2], SIZE_MAX, UINT64_MAX).ns, 0x110);
    cr_expect_eq(cebus_replay_ahead(&p.lineage, chain[2], SIZE_MAX, UINT64_MAX).ns, 0x11000);
    cr_expect_eq(cebus_replay_ahead(&p.lineage, chain[2], 1, UINT64_MAX).ns, 0x1000);
    cr_expect_eq(cebus_replay_ahead(&p.lineage, chain[2], SIZE_MAX, 0x800).ns, 0x1000);
    cr_expect_eq(cebus_replay_ahead(&p.lineage, leaf, SIZE_MAX, UINT64_MAX).ns, 0x10,
                 "chain[2] is there");
    program_release(&p, chain[4]);
    cr_expect_eq(cebus_replay_ahead(&p.lineage, chain[2], SIZE_MAX, UINT64_MAX).ns, 0x1000,
                 "nobody misses chain[4]");
    for (int i = 0; i < 4; i++)
        program_release(&p, chain[i]);
}

Test(replay, refuses_what_has_neither_bytes_nor_a_record)
{
    cebus_replay list;
    cebus_value *leaf = program_leaf(&p, 64), *a = program_call(&p, 1, leaf, NULL);
    program_evict(&p, a);
    leaf->resident = false;
    cr_expect_eq(cebus_replay_build(&p.lineage, &a, 1, &list), CEBUS_NOT_REPLAYABLE);
    cr_expect_eq(cebus_replay_build(&p.lineage, &leaf, 1, &list), CEBUS_NOT_REPLAYABLE);
    leaf->resident = true;
    program_release(&p, a);
    program_release(&p, leaf);
}

/** A block that is added to its input: a chain from there. Not where a run of it waits for
 * something else, too, nor when it is long. */
Test(replay, tells_what_follows_by_a_chain)
{
    enum {
        N = 40
    };
    cebus_value *leaf = program_leaf(&p, 64), *start = program_call(&p, 1, leaf, NULL),
                *other = program_call(&p, 1, leaf, NULL), *v[N];
    for (int i = 0; i < N; i++)
        v[i] = program_call(&p, 1, i > 0 ? v[i - 1] : start, NULL);
    cebus_value *both = program_call(&p, 1, start, other), *after = program_call(&p, 1, both, NULL);
    program_evict(&p, other);
    program_evict(&p, both);
    program_evict(&p, after);
    for (int i = 0; i < N; i++)
        program_evict(&p, v[i]);
    for (int there = 1; there >= 0; there--) {
        cr_expect(cebus_replay_follows(v[3], start));
        cr_expect(cebus_replay_follows(v[3], v[2]));
        cr_expect_not(cebus_replay_follows(v[2], v[3]));
        cr_expect_not(cebus_replay_follows(v[3], other));
        cr_expect_not(cebus_replay_follows(after, start), "other is missing");
        cr_expect_not(cebus_replay_follows(v[N - 1], start), "a long way");
        if (there > 0)
            program_evict(&p, start);
    }
    program_return(&p, other);
    cr_expect(cebus_replay_follows(after, start));
    program_release(&p, after);
    program_release(&p, both);
    for (int i = N; i-- > 0;)
        program_release(&p, v[i]);
    program_release(&p, other);
    program_release(&p, start);
    program_release(&p, leaf);
}

/** Blocks that are added to their inputs take no more room where there are more of them: input,
 * what the block made of it, and their sum. */
Test(replay, needs_of_a_chain_do_not_add_up)
{
    enum {
        BLOCKS = 10
    };
    cebus_replay list;
    cebus_value *leaf = program_leaf(&p, 64), *v[2 * BLOCKS + 1];
    v[0] = program_call(&p, 1, leaf, NULL);
    for (int i = 0; i < BLOCKS; i++) {
        v[2 * i + 1] = program_call(&p, 1, v[2 * i], NULL);
        v[2 * i + 2] = program_call(&p, 1, v[2 * i + 1], v[2 * i]);
    }
    for (int i = 0; i <= 2 * BLOCKS; i++)
        program_evict(&p, v[i]);
    cr_assert_eq(cebus_replay_build(&p.lineage, &v[2 * BLOCKS], 1, &list), CEBUS_OK);
    cebus_replay_rank(&list);
    cr_expect_eq(v[2 * BLOCKS]->producer->need, 3 * 64);
    for (int i = 2 * BLOCKS; i >= 0; i--)
        program_release(&p, v[i]);
    program_release(&p, leaf);
}
