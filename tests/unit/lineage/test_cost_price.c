/* Remembered prices, against the same worked out anew. */
#include <criterion/criterion.h>

#include "suite.h"
#include "tests/support/host.h"

TestSuite(cost_price, .init = setup, .fini = teardown);

static void check(cebus_value *value)
{
    cr_expect_eq(cebus_cost_price(&p.lineage, value), cebus_cost_neighbourhood(&p.lineage, value));
}

/** One step of make-believe runtime: asks, and asks again out of memory. */
static uint64_t price(cebus_value *value)
{
    uint64_t cost = cebus_cost_price(&p.lineage, value);
    check(value);
    return cost;
}

Test(cost_price, is_remembered_until_a_neighbour_changes)
{
    cebus_value *leaf = program_leaf(&p, 64);
    cebus_value *a = program_call(&p, 1, leaf, NULL), *b = program_call(&p, 10, a, NULL),
                *c = program_call(&p, 100, b, NULL), *d = program_call(&p, 1000, c, NULL);
    cr_expect_eq(price(b), 10);
    cr_expect(b->price_known);
    program_evict(&p, a);
    cr_expect_not(b->price_known);
    cr_expect_eq(price(b), 11);
    program_evict(&p, d);
    cr_expect(b->price_known, "d is no neighbour of b");
    program_evict(&p, c);
    cr_expect_eq(price(b), 1111);
    program_return(&p, d);
    cr_expect(b->price_known, "what d cost is read from the class");
    cr_expect_eq(price(b), 111);
    program_return(&p, a);
    cr_expect_eq(price(b), 110);
    cebus_value *all[] = {d, c, b, a, leaf};
    for (int i = 0; i < 5; i++)
        program_release(&p, all[i]);
}

Test(cost_price, sees_classes_unite_at_a_distance)
{
    cebus_value *leaf = program_leaf(&p, 64);
    cebus_value *a = program_call(&p, 1, leaf, NULL), *b = program_call(&p, 10, leaf, NULL),
                *middle = program_call(&p, 100, a, b), *between = program_call(&p, 1000, a, b);
    program_evict(&p, a);
    program_evict(&p, b);
    cr_expect_eq(price(middle), 111);
    cr_expect_eq(middle->price_classes, 2);
    program_evict(&p, between);
    cr_expect(middle->price_known, "between is no neighbour of middle");
    cr_expect_eq(price(middle), 1111);
    cr_expect_eq(middle->price_classes, 1);
    cebus_value *all[] = {between, middle, b, a, leaf};
    for (int i = 0; i < 5; i++)
        program_release(&p, all[i]);
}

Test(cost_price, counts_more_classes_than_it_can_remember)
{
    enum {
        N = CEBUS_NEAR_MAX + 3
    };
    cebus_value *leaf = program_leaf(&p, 64), *hub = program_call(&p, 1, leaf, NULL), *reader[N];
    for (int i = 0; i < N; i++) {
        reader[i] = program_call(&p, 10, hub, NULL);
        program_evict(&p, reader[i]);
        cr_expect_eq(price(hub), 1 + 10 * (uint64_t)(i + 1));
        cr_expect_eq(hub->price_known, i < CEBUS_NEAR_MAX);
    }
    for (int i = 0; i < N; i++) {
        program_return(&p, reader[i]);
        cr_expect_eq(price(hub), 1 + 10 * (uint64_t)(N - 1 - i));
        program_release(&p, reader[i]);
    }
    program_release(&p, hub);
    program_release(&p, leaf);
}

Test(cost_price, falls_when_a_replay_was_faster)
{
    cebus_value *leaf = program_leaf(&p, 64), *a = program_call(&p, 50, leaf, NULL),
                *b = program_call(&p, 7, a, NULL);
    cr_expect_eq(price(a), 50);
    cebus_cost_lower(&p.lineage, a->producer, 60);
    cr_expect_eq(price(a), 50, "the least counts");
    cebus_cost_lower(&p.lineage, a->producer, 40);
    cr_expect_eq(price(a), 40);
    cebus_value_hold(&p.lineage, a);
    cebus_value_park(a);
    program_evict(&p, a);
    cebus_cost_return(&p.lineage, a);
    cr_expect_eq(price(b), 7 + 40, "missed, and in no class");
    cebus_cost_lower(&p.lineage, a->producer, 30);
    cr_expect_eq(price(b), 7 + 30);
    program_release(&p, a);
    cr_expect_eq(price(b), 7 + 30);
    program_release(&p, a);
    cr_expect_eq(price(b), 7, "parked only");
    cebus_value_unpark(&p.lineage, a);
    program_release(&p, b);
    program_release(&p, leaf);
    cr_expect_eq(p.live, 0);
}

Test(cost_price, follows_holders_of_parked_versions)
{
    cebus_value *leaf = program_leaf(&p, 64), *a = program_call(&p, 50, leaf, NULL),
                *b = program_call(&p, 7, a, NULL);
    program_evict(&p, a);
    cr_expect_eq(price(b), 57);
    cebus_value_park(a);
    cr_expect_eq(price(b), 57);
    cebus_value_unhold(&p.lineage, a);
    cr_expect_eq(price(b), 7);
    cebus_value_hold(&p.lineage, a);
    cr_expect_eq(price(b), 57);
    cebus_value_unhold(&p.lineage, a);
    cr_expect_eq(price(b), 7);
    cebus_value_unpark(&p.lineage, a);
    cr_expect_eq(price(b), 57, "a ghost: b is rebuilt from it");
    program_release(&p, b);
    program_release(&p, leaf);
    cr_expect_eq(p.live, 0);
}

Test(cost_price, follows_names_for_ghosts)
{
    cebus_value *leaf = program_leaf(&p, 64), *a = program_call(&p, 50, leaf, NULL),
                *b = program_call(&p, 7, a, NULL);
    program_evict(&p, a);
    program_release(&p, a);
    cr_expect_eq(price(b), 57, "nobody holds a, but it would be rebuilt");
    cebus_value_park(a);
    cr_expect_eq(price(b), 7);
    cebus_value_unpark(&p.lineage, a);
    cr_expect_eq(price(b), 57);
    program_release(&p, b);
    program_release(&p, leaf);
    cr_expect_eq(p.live, 0);
}

Test(cost_price, follows_records_linked_in_any_order)
{
    cebus_value *leaf = program_leaf(&p, 64), *a = program_call(&p, 50, leaf, NULL),
                *b = program_leaf(&p, 64), *c = program_leaf(&p, 64);
    cebus_call *call = cebus_call_create(&p.lineage, "op", 2, 2, 0);
    call->cost_ns = 7;
    cebus_call_make(&p.lineage, call, 0, b);
    program_evict(&p, a);
    cr_expect_eq(price(b), 7);
    cebus_call_read(call, 0, a);
    cr_expect_eq(price(b), 7 + 50, "an absent input");
    program_return(&p, a);
    cr_expect_eq(price(a), 50);
    c->resident = false;
    cebus_call_make(&p.lineage, call, 1, c);
    cr_expect_eq(price(a), 50 + 7, "an absent output");
    program_return(&p, c);
    cebus_value *d = program_call(&p, 3, leaf, NULL);
    program_evict(&p, c);
    cr_expect_eq(price(d), 3);
    cebus_call_read(call, 1, d);
    cr_expect_eq(price(d), 3 + 7, "an output that was absent already");
    cebus_call_release(&p.lineage, call);
    cebus_value *all[] = {d, c, b, a, leaf};
    for (int i = 0; i < 5; i++)
        program_release(&p, all[i]);
    cr_expect_eq(p.live, 0);
}

Test(cost_price, counts_values_that_found_no_memory_for_a_class)
{
    program_deinit(&p);
    static cebus_test_host host; /* until the program is gone, after this function */
    cebus_test_host_init(&host);
    cebus_pool_init(&p.pool, &host.allocator);
    p.pool.direct = true;
    cebus_lineage_init(&p.lineage, &p.pool);
    cebus_value *leaf = program_leaf(&p, 64), *a = program_call(&p, 50, leaf, NULL),
                *b = program_call(&p, 7, a, a);
    cr_expect_eq(price(b), 7);
    cebus_test_host_starve(&host, true);
    program_evict(&p, a);
    cebus_test_host_starve(&host, false);
    cr_expect_null(a->group);
    cr_expect_eq(price(b), 7 + 50 + 50, "once for each time it is read");
    program_return(&p, a);
    cr_expect_eq(price(b), 7);
    program_release(&p, b);
    program_release(&p, a);
    program_release(&p, leaf);
}

/* A random program: everything that happens to values and records, in any order. */

enum {
    SLOTS = 80,
    STEPS = 4000,
    MAX_IN = 3,
    MAX_OUT = 2
};

typedef struct slot {
    cebus_value *value; /**< NULL: empty */
    bool parked;        /**< kept by name, not held */
} slot;

typedef struct fate {
    uint64_t state;
    slot slots[SLOTS];
    uint64_t remembered, crowded; /**< prices asked: found in memory; of too many classes */
} fate;

static uint64_t draw(fate *f, uint64_t limit)
{
    f->state = f->state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (f->state >> 33) % limit;
}

static void reap(void)
{
    cebus_value *dead;
    while ((dead = cebus_lineage_reap(&p.lineage)) != NULL) {
        free(dead);
        p.live--;
    }
}

static void let_go(slot *s)
{
    if (s->parked)
        cebus_value_unpark(&p.lineage, s->value);
    else
        cebus_value_unhold(&p.lineage, s->value);
    reap();
    *s = (slot){0};
}

/** Low slots are read the most and written the least: some values have many readers. */
static slot *slot_to_read(fate *f)
{
    return &f->slots[draw(f, 1 + draw(f, SLOTS))];
}

static slot *slot_to_write(fate *f)
{
    return &f->slots[SLOTS - 1 - draw(f, 1 + draw(f, SLOTS))];
}

/** A call that reads up to three values, some of them twice, and makes one or two. */
static void make_call(fate *f)
{
    uint32_t n_in = 1 + (uint32_t)draw(f, MAX_IN), n_out = 1 + (uint32_t)draw(f, MAX_OUT);
    cebus_call *call = cebus_call_create(&p.lineage, "op", n_in, n_out, 0);
    call->cost_ns = draw(f, 100);
    for (uint32_t i = 0; i < n_in; i++) {
        cebus_value *value = slot_to_read(f)->value;
        if (value != NULL)
            cebus_call_read(call, i, value);
    }
    for (uint32_t i = 0; i < n_out; i++) {
        slot *s = slot_to_write(f);
        if (s->value != NULL)
            let_go(s);
        *s = (slot){.value = program_leaf(&p, 64)};
        cebus_call_make(&p.lineage, call, i, s->value);
    }
    cebus_call_release(&p.lineage, call);
    reap();
}

/** Fewer leave than return, so that there are many small classes. */
static void toggle_residency(fate *f, slot *s)
{
    if (!s->value->resident)
        program_return(&p, s->value);
    else if (s->value->producer != NULL && draw(f, 2) == 0)
        program_evict(&p, s->value);
}

static void toggle_parking(fate *f, slot *s)
{
    s->parked = !s->parked;
    if (!s->parked) {
        cebus_value_hold(&p.lineage, s->value);
        cebus_value_unpark(&p.lineage, s->value);
        return;
    }
    cebus_value_park(s->value);
    cebus_value_unhold(&p.lineage, s->value);
    if (draw(f, 2) == 0 && !s->value->resident)
        cebus_cost_return(&p.lineage, s->value);
}

/** A write: what was computed from the value is cut from it, where nobody absent needs it. */
static void cut(slot *s)
{
    cebus_value *held;
    cr_assert_eq(cebus_version_dependant(&p.lineage, s->value, &held), CEBUS_OK);
    if (held == NULL)
        cr_assert_eq(cebus_version_cut(&p.lineage, s->value), CEBUS_OK);
    reap();
}

static void step(fate *f)
{
    slot *s = &f->slots[draw(f, SLOTS)];
    uint64_t what = draw(f, 20);
    if (s->value == NULL || what < 5)
        make_call(f);
    else if (what < 12)
        toggle_residency(f, s);
    else if (what < 14)
        toggle_parking(f, s);
    else if (what < 15)
        let_go(s);
    else if (what < 16)
        cut(s);
    else if (what < 19 && s->value->producer != NULL)
        cebus_cost_lower(&p.lineage, s->value->producer, draw(f, 100));
    else if (s->value->resident)
        cebus_value_detach(&p.lineage, s->value);
}

static void ask(fate *f, const slot *s)
{
    if (s->value == NULL || s->value->producer == NULL)
        return;
    f->remembered += s->value->price_known;
    check(s->value);
    f->crowded += !s->value->price_known;
}

Test(cost_price, equals_what_a_look_around_finds_whatever_happens)
{
    uint64_t crowded = 0;
    for (uint64_t seed = 0; seed < 10; seed++) {
        fate f = {.state = seed};
        for (int i = 0; i < STEPS; i++) {
            step(&f);
            /* Some at a time: a memory must last through many changes. */
            for (int k = 0; k < SLOTS; k++) {
                if (draw(&f, 4) == 0)
                    ask(&f, &f.slots[k]);
            }
        }
        cr_expect_gt(f.remembered, STEPS);
        crowded += f.crowded;
        for (int k = 0; k < SLOTS; k++) {
            if (f.slots[k].value != NULL)
                let_go(&f.slots[k]);
        }
        cr_expect_eq(p.live, 0);
    }
    cr_expect_gt(crowded, 0);
}
