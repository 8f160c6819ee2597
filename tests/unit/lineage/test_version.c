#include <criterion/criterion.h>

#include "suite.h"

#include <string.h>

TestSuite(version, .init = setup, .fini = teardown);

static cebus_value *dependant(cebus_value *leaf)
{
    cebus_value *held;
    cr_assert_eq(cebus_version_dependant(&p.lineage, leaf, &held), CEBUS_OK);
    return held;
}

Test(version, resident_readers_become_leaves)
{
    cebus_value *leaf = program_leaf(&p, 64), *out = program_call(&p, 1, leaf, NULL);
    cr_expect_null(dependant(leaf));
    cr_assert_eq(cebus_version_cut(&p.lineage, leaf), CEBUS_OK);
    cr_expect_null(out->producer);
    cr_expect_null(leaf->consumers);
    program_release(&p, out);
    program_release(&p, leaf);
}

Test(version, absent_readers_somebody_holds_come_back_first)
{
    cebus_value *leaf = program_leaf(&p, 64), *out = program_call(&p, 1, leaf, NULL);
    program_evict(&p, out);
    cr_expect_eq(dependant(leaf), out);
    cr_expect_eq(cebus_version_cut(&p.lineage, leaf), CEBUS_NOT_REPLAYABLE, "a cut would lose it");
    program_return(&p, out);
    cr_expect_null(dependant(leaf));
    cr_assert_eq(cebus_version_cut(&p.lineage, leaf), CEBUS_OK);
    program_release(&p, out);
    program_release(&p, leaf);
}

/** Direct readers that are there, and those behind absent ones; not what is made of either. */
Test(version, survivors_are_all_that_loses_its_record)
{
    cebus_value *leaf = program_leaf(&p, 64), *near = program_call(&p, 1, leaf, NULL),
                *ghost = program_call(&p, 1, leaf, NULL), *far = program_call(&p, 1, ghost, NULL),
                *after = program_call(&p, 1, near, NULL);
    cebus_versions survivors;
    program_evict(&p, ghost);
    program_release(&p, ghost);
    cr_expect_null(dependant(leaf));
    cr_assert_eq(cebus_version_survivors(&p.lineage, leaf, &survivors), CEBUS_OK);
    cr_assert_eq(survivors.count, 2);
    cr_expect(survivors.values[0] == near || survivors.values[1] == near);
    cr_expect(survivors.values[0] == far || survivors.values[1] == far);
    cr_assert_eq(cebus_version_cut(&p.lineage, leaf), CEBUS_OK);
    cr_expect_null(near->producer);
    cr_expect_null(far->producer);
    cr_expect_not_null(after->producer);
    cr_assert_eq(cebus_version_survivors(&p.lineage, leaf, &survivors), CEBUS_OK);
    cr_expect_eq(survivors.count, 0);
    program_release(&p, after);
    program_release(&p, far);
    program_release(&p, near);
    program_release(&p, leaf);
}

Test(version, parked_versions_count_as_held)
{
    cebus_value *leaf = program_leaf(&p, 64), *out = program_call(&p, 1, leaf, NULL);
    program_evict(&p, out);
    cebus_value_park(out);
    program_release(&p, out);
    cr_expect_eq(dependant(leaf), out);
    cebus_value_unpark(&p.lineage, out);
    cebus_value_retain(leaf);
    cebus_value_release(&p.lineage, leaf);
    program_release(&p, leaf);
}

/** A name may ask for it one day, but nobody is going to read it. */
Test(version, what_parked_versions_are_made_of_is_not_missed)
{
    cebus_value *leaf = program_leaf(&p, 64), *saved = program_call(&p, 1, leaf, NULL);
    cebus_value *parked = program_call(&p, 1, saved, NULL);
    cebus_value *later = program_call(&p, 1, parked, NULL);
    program_evict(&p, later);
    program_evict(&p, parked);
    cebus_value_park(parked);
    program_release(&p, parked);
    program_release(&p, saved);
    cr_expect(cebus_version_is_missed(&p.lineage, saved), "by way of what is parked");
    cebus_heirs heirs;
    cr_assert_eq(cebus_version_heirs(&p.lineage, saved, 1, &heirs), CEBUS_OK);
    cr_assert_eq(heirs.count, 1);
    cr_expect_eq(heirs.values[0], later);
    cr_expect_eq(heirs.bytes, later->bytes);
    program_return(&p, later);
    cr_expect_not(cebus_version_is_missed(&p.lineage, saved));
    cr_expect_eq(dependant(saved), parked, "and yet it must not be lost");
    cebus_value_unpark(&p.lineage, parked);
    program_release(&p, later);
    program_release(&p, leaf);
}

Test(version, what_nobody_missed_may_be_missed_later)
{
    cebus_value *leaf = program_leaf(&p, 64), *first = program_call(&p, 1, leaf, NULL),
                *ghost = program_call(&p, 1, first, NULL), *top = program_call(&p, 1, ghost, NULL);
    program_evict(&p, ghost);
    cebus_value_park(ghost);
    program_release(&p, first);
    program_release(&p, ghost);
    cr_expect_not(cebus_version_is_missed(&p.lineage, first));
    program_evict(&p, top);
    cr_expect(cebus_version_is_missed(&p.lineage, first), "top is to be made again");
    program_return(&p, top);
    cr_expect_not(cebus_version_is_missed(&p.lineage, first));
    cebus_value_hold(&p.lineage, ghost);
    cr_expect(cebus_version_is_missed(&p.lineage, first), "somebody holds it again");
    program_release(&p, ghost);
    cr_expect_not(cebus_version_is_missed(&p.lineage, first));
    cebus_value_unpark(&p.lineage, ghost);
    program_release(&p, top);
    program_release(&p, leaf);
    cr_expect_eq(p.live, 0);
}

Test(version, ghosts_are_forgotten_through_and_through)
{
    cebus_value *leaf = program_leaf(&p, 64);
    cebus_value *ghost = program_call(&p, 1, leaf, NULL);
    cebus_value *other = program_call(&p, 1, ghost, NULL);
    cebus_value *top = program_call(&p, 1, other, NULL);
    program_evict(&p, ghost);
    program_evict(&p, other);
    program_release(&p, ghost);
    program_release(&p, other);
    cr_expect_null(dependant(leaf));
    cr_assert_eq(cebus_version_cut(&p.lineage, leaf), CEBUS_OK);
    cr_expect_null(top->producer, "its replay needed the leaf, two ghosts away");
    cr_expect_eq(p.lineage.live_calls, 0);
    program_release(&p, top);
    program_release(&p, leaf);
}

Test(version, a_resident_value_on_the_way_stops_the_cut)
{
    cebus_value *leaf = program_leaf(&p, 64);
    cebus_value *middle = program_call(&p, 1, leaf, NULL);
    cebus_value *top = program_call(&p, 1, middle, NULL);
    program_evict(&p, top);
    cr_expect_null(dependant(leaf), "top comes back from middle, whatever the leaf becomes");
    cr_assert_eq(cebus_version_cut(&p.lineage, leaf), CEBUS_OK);
    cr_expect_null(middle->producer);
    cr_expect_not_null(top->producer);
    program_release(&p, top);
    program_release(&p, middle);
    program_release(&p, leaf);
}

Test(version, long_chains_of_ghosts_ask_to_be_cut)
{
    cebus_value *leaf = program_leaf(&p, 64), *value = program_call(&p, 1, leaf, NULL);
    int cuts = 0;
    for (int i = 0; i < 10 * CEBUS_GHOST_DEPTH_MAX; i++) {
        cebus_value *next = program_call(&p, 1, value, NULL);
        cebus_value_retain(value);
        cebus_value_unhold(&p.lineage, value);
        if (cebus_version_became_ghost(value, CEBUS_GHOST_DEPTH_MAX)) {
            cr_assert_eq(cebus_version_cut(&p.lineage, value), CEBUS_OK);
            cuts++;
        }
        value->holders++;
        value->refs++;
        cebus_value_release(&p.lineage, value);
        program_release(&p, value);
        cr_expect_leq(p.lineage.live_calls, CEBUS_GHOST_DEPTH_MAX + 2);
        value = next;
    }
    cr_expect_geq(cuts, 9);
    program_release(&p, value);
    program_release(&p, leaf);
}

/* Who is missed, remembered, against a search that remembers nothing. */

enum {
    VALUES = 60,
    STEPS = 3000
};

static cebus_value *values[VALUES];
static bool held[VALUES], seen[VALUES];
static int made;
static uint64_t state;

static uint64_t draw(uint64_t limit)
{
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (state >> 33) % limit;
}

static int number_of(const cebus_value *value)
{
    for (int i = 0; i < made; i++) {
        if (values[i] == value)
            return i;
    }
    return -1;
}

/** Held, or an absent value that is made of it is missed. */
static bool is_missed_anew(int number)
{
    if (held[number])
        return true;
    for (cebus_edge *edge = values[number]->consumers; edge != NULL; edge = edge->next) {
        int next = number_of(edge->call->out[0]);
        if (values[next]->resident || seen[next])
            continue;
        seen[next] = true;
        if (is_missed_anew(next))
            return true;
    }
    return false;
}

static cebus_value *draw_present(void)
{
    for (int tries = 0; tries < 20; tries++) {
        cebus_value *value = values[draw((uint64_t)made)];
        if (value->resident)
            return value;
    }
    return NULL;
}

static void make_value(void)
{
    cebus_value *value =
        made > 0 ? program_call(&p, 1, draw_present(), draw_present()) : program_leaf(&p, 64);
    cebus_value_retain(value);
    values[made] = value;
    held[made++] = true;
}

static void change(int number)
{
    cebus_value *value = values[number];
    if (draw(3) == 0) {
        held[number] = !held[number];
        if (held[number])
            cebus_value_hold(&p.lineage, value);
        else
            cebus_value_unhold(&p.lineage, value);
    } else if (!value->resident) {
        program_return(&p, value);
    } else if (value->producer != NULL) {
        program_evict(&p, value);
    }
}

Test(version, knows_what_is_missed_whatever_happens)
{
    int missed = 0, not_missed = 0;
    for (state = 0; state < 10; state++) {
        uint64_t seed = state;
        made = 0;
        make_value();
        for (int i = 0; i < STEPS; i++) {
            if (made < VALUES && draw(20) == 0)
                make_value();
            change((int)draw((uint64_t)made));
            for (int k = (int)draw(5); k < made; k += 1 + (int)draw(10)) {
                memset(seen, 0, sizeof seen);
                bool expected = is_missed_anew(k);
                cr_assert_eq(cebus_version_is_missed(&p.lineage, values[k]), expected);
                cr_assert(cebus_value_check(values[k], NULL, 0));
                missed += expected;
                not_missed += !expected;
            }
        }
        while (made-- > 0) {
            if (!held[made])
                cebus_value_hold(&p.lineage, values[made]);
            cebus_value_release(&p.lineage, values[made]);
            program_release(&p, values[made]);
        }
        state = seed;
    }
    cr_expect_gt(missed, 10000);
    cr_expect_gt(not_missed, 10000);
}

Test(version, heirs_of_several_are_listed_once)
{
    cebus_value *leaf = program_leaf(&p, 64), *a = program_call(&p, 1, leaf, NULL),
                *b = program_call(&p, 1, leaf, NULL), *of_both = program_call(&p, 1, a, b),
                *of_b = program_call(&p, 1, b, NULL);
    cebus_heirs heirs;
    program_evict(&p, of_both);
    program_evict(&p, of_b);
    cr_assert_eq(cebus_version_heirs_of(&p.lineage, (cebus_value *[]){a, b}, 2, UINT64_MAX, &heirs),
                 CEBUS_OK);
    cr_expect_eq(heirs.count, 2);
    cr_expect_eq(heirs.bytes, 2 * 64);
    program_release(&p, of_b);
    program_release(&p, of_both);
    program_release(&p, b);
    program_release(&p, a);
    program_release(&p, leaf);
}

/** A write to the leaf needs nothing then, and no record is lost. */
Test(version, a_copy_takes_over_what_reads_a_leaf)
{
    cebus_value *leaf = program_leaf(&p, 64), *copy = program_leaf(&p, 64),
                *out = program_call(&p, 1, leaf, leaf), *other = program_call(&p, 1, leaf, NULL);
    program_evict(&p, out);
    cr_expect_eq(dependant(leaf), out);
    cebus_version_hand_over(leaf, copy);
    cr_expect_null(dependant(leaf));
    cr_expect_eq(dependant(copy), out);
    cr_expect_eq(out->producer->in[0].value, copy);
    cr_expect_eq(other->producer->in[0].value, copy);
    program_release(&p, copy);
    cr_expect_eq(p.live, 4, "records keep it");
    program_release(&p, other);
    program_release(&p, out);
    cr_expect_eq(p.live, 1);
    program_release(&p, leaf);
}
