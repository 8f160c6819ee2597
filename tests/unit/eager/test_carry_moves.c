/** What moves while a plan is carried out: blocks for what is to come back, and values to the
 * places that a plan has for them next. */
#include <criterion/criterion.h>

#include "eager/compaction.h"
#include "eager/guidance/guidance.h"
#include "eager/guidance/scheme.h"
#include "eager/guidance/state.h"
#include "eager/runtime.h"
#include "evict/policy.h"
#include "program.h"

TestSuite(carry_moves);

/** A runtime that learns, and follows what `policy` plans. */
static cebus_runtime *open_moving(const cebus_runtime_options *options, const cebus_policy *policy)
{
    cebus_runtime *rt;
    OK(cebus_runtime_create(options, &rt));
    rt->policy = policy;
    rt->learning = CEBUS_LEARNS;
    cebus_guidance_start(rt);
    return rt;
}

/* ---- who leaves --------------------------------------------------------------------------- */

enum {
    WAITING = 3,
    FEW = 1 << 10 /* numbers */
};

/** Outputs of tanh may leave once all are made. */
static bool let_go(const cebus_iteration *iteration, const cebus_plan_terms *terms, cebus_plan *out)
{
    bool ok = true;
    (void)terms;
    for (uint32_t v = 0; v < iteration->n_values && ok; v++) {
        const cebus_iteration_value *value = &iteration->values[v];
        if (value->born != CEBUS_ITERATION_NONE &&
            strcmp(iteration->calls[value->born].op, "tanh") == 0)
            ok = cebus_plan_add(out, CEBUS_ACTION_SWAP_OUT, WAITING, v);
    }
    return ok && cebus_plan_sort(out, iteration);
}

/** Where they wait somebody is to have the place of the middle one. */
static bool step_waiting(cebus_runtime *rt, cebus_tensor *x)
{
    cebus_tensor *y[WAITING], *sum;
    bool followed = false;
    for (int i = 0; i < WAITING; i++)
        OK(cebus_tanh(rt, x, &y[i]));
    OK(cebus_add_scalar_(rt, x, 1));
    const cebus_block *block = y[1]->storage->now->block;
    if (cebus_guidance_follows(rt)) {
        const uint64_t offset = block->offset, bytes = block->bytes;
        followed = true;
        cr_expect(cebus_guidance_yield_at(rt, offset + bytes / 2, bytes / 4));
        cr_expect_not(cebus_guidance_yield_at(rt, offset, bytes), "it has gone");
        for (int i = 0; i < WAITING; i++)
            cr_expect_eq(y[i]->storage->now->value.resident, i != 1, "%d", i);
    }
    for (int i = 0; i < WAITING; i++) {
        OK(cebus_sum(rt, y[i], 0, NULL, false, &sum));
        cebus_tensor_release(sum);
        cebus_tensor_release(y[i]);
    }
    OK(cebus_iteration_mark(rt));
    return followed;
}

Test(carry_moves, of_what_may_leave_only_what_lies_in_the_place_does)
{
    cebus_policy policy = cebus_policy_coop;
    cebus_runtime_options options = CEBUS_RUNTIME_OPTIONS_INIT;
    options.device = "sim:titanv-12g";
    options.layout = "zones";
    options.memory_budget = 64 * FEW * sizeof(float);
    options.swap = CEBUS_SWAP_ON;
    policy.plan = let_go;
    cebus_runtime *rt = open_moving(&options, &policy);
    cebus_tensor *x = vector(rt, FEW, 1);
    OK(cebus_tensor_set_persistent(x));
    int followed = 0;
    for (int i = 0; i < 6; i++)
        followed += step_waiting(rt, x);
    cr_expect_gt(followed, 0);
    OK(cebus_runtime_check(rt));
    cebus_tensor_release(x);
    cebus_runtime_destroy(rt);
}

/* ---- blocks ------------------------------------------------------------------------------- */

enum {
    STEPS = 6,
    SMALL = 8,      /* values that take the room of the large one */
    PIECE = 1 << 16 /* numbers */
};

/** The output of exp, which is read at last, leaves, and is to be back so many calls before the
 * end.
 */
static bool send_away_until(const cebus_iteration *iteration, uint32_t calls, cebus_plan *out)
{
    bool ok = true;
    for (uint32_t v = 0; v < iteration->n_values && ok; v++) {
        const cebus_iteration_value *value = &iteration->values[v];
        if (value->born != CEBUS_ITERATION_NONE &&
            strcmp(iteration->calls[value->born].op, "exp") == 0)
            ok = cebus_plan_add(out, CEBUS_ACTION_SWAP_OUT, value->born + 1, v) &&
                 cebus_plan_add(out, CEBUS_ACTION_SWAP_IN, (uint32_t)iteration->n_calls - calls, v);
    }
    return ok && cebus_plan_sort(out, iteration);
}

/** It is to come back once half of those it left for are gone. */
static bool send_away(const cebus_iteration *iteration, const cebus_plan_terms *terms,
                      cebus_plan *out)
{
    (void)terms;
    return send_away_until(iteration, 2, out);
}

/** A large value, and small ones, every other of which is gone: enough room, but apart. */
typedef struct apart {
    cebus_tensor *large, *small[SMALL];
} apart;

static void lay_apart(cebus_runtime *rt, cebus_tensor *x, cebus_tensor *y, apart *a)
{
    OK(cebus_exp(rt, y, &a->large));
    for (int i = 0; i < SMALL; i++)
        OK(cebus_tanh(rt, x, &a->small[i]));
    for (int i = 0; i < SMALL; i += 2)
        cebus_tensor_release(a->small[i]);
}

/** The large one is read at last. */
static void end_apart(cebus_runtime *rt, const apart *a)
{
    cebus_tensor *sum;
    OK(cebus_sum(rt, a->large, 0, NULL, false, &sum));
    cebus_tensor_release(sum);
    cebus_tensor_release(a->large);
    for (int i = 1; i < SMALL; i += 2)
        cebus_tensor_release(a->small[i]);
    OK(cebus_iteration_mark(rt));
}

/** By then it is to come back. */
static void step_apart(cebus_runtime *rt, cebus_tensor *x, cebus_tensor *y)
{
    apart a;
    lay_apart(rt, x, y, &a);
    OK(cebus_add_scalar_(rt, x, 1));
    OK(cebus_add_scalar_(rt, x, -1));
    end_apart(rt, &a);
}

/** In room for so many small ones. */
static cebus_runtime *open_apart(cebus_policy *policy, uint64_t smalls, cebus_tensor **x,
                                 cebus_tensor **y)
{
    cebus_runtime_options options = CEBUS_RUNTIME_OPTIONS_INIT;
    options.device = "sim:titanv-12g";
    options.layout = "zones";
    options.memory_budget = smalls * PIECE * sizeof(float) + (1 << 14);
    options.swap = CEBUS_SWAP_ON;
    cebus_runtime *rt = open_moving(&options, policy);
    *x = vector(rt, PIECE, 1);
    *y = vector(rt, PIECE * SMALL / 2, 1);
    OK(cebus_tensor_set_persistent(*x));
    OK(cebus_tensor_set_persistent(*y));
    return rt;
}

/** It would come as it is read, and all behind it no sooner. */
Test(carry_moves, blocks_are_moved_for_what_is_to_come_back)
{
    cebus_tensor *x, *y;
    cebus_policy policy = cebus_policy_coop;
    policy.plan = send_away;
    cebus_runtime *rt = open_apart(&policy, 1 + SMALL / 2 + SMALL, &x, &y);
    for (int i = 0; i < STEPS; i++)
        step_apart(rt, x, y);
    cebus_memory_stats stats = stats_of(rt);
    cr_expect_eq(stats.guided_swap_outs, 1);
    cr_expect_eq(stats.guided_unforeseen, 0, "%lu", stats.guided_unforeseen);
    cr_expect_eq(stats.guided_missed, 0, "%lu of %lu", stats.guided_missed, stats.guided_actions);
    cr_expect_gt(stats.moved_bytes, 0);
    cebus_tensor_release(x);
    cebus_tensor_release(y);
    cebus_runtime_destroy(rt);
}

/** It may leave from the start. */
static bool let_large_go(const cebus_iteration *iteration, const cebus_plan_terms *terms,
                         cebus_plan *out)
{
    (void)terms;
    return send_away_until(iteration, 1, out);
}

/** Another comes that takes as much as two. By then the large one has long been copied out. */
static void step_between(cebus_runtime *rt, cebus_tensor *x, cebus_tensor *y)
{
    apart a;
    cebus_tensor *twice;
    const int64_t numbers = 2 * (int64_t)PIECE;
    lay_apart(rt, x, y, &a);
    for (int i = 0; i < WAITING * STEPS; i++)
        OK(cebus_add_scalar_(rt, x, i % 2 == 0 ? 1 : -1));
    OK(cebus_full(rt, 1, CEBUS_F32, 1, &numbers, &twice));
    cebus_tensor_release(twice);
    end_apart(rt, &a);
}

/** What waits to leave would have to come back, which takes longer. */
Test(carry_moves, blocks_are_moved_before_anything_leaves)
{
    cebus_tensor *x, *y;
    cebus_policy policy = cebus_policy_coop;
    policy.plan = let_large_go;
    policy.searches = true;
    cebus_runtime *rt = open_apart(&policy, 1 + SMALL + SMALL, &x, &y);
    for (int i = 0; i < STEPS; i++)
        step_between(rt, x, y);
    cebus_memory_stats stats = stats_of(rt);
    const uint64_t came = stats.swap_ins;
    step_between(rt, x, y);
    stats = stats_of(rt);
    cr_expect_gt(stats.guided_iterations, 1);
    cr_expect_eq(stats.guided_swap_outs, 1);
    cr_expect_eq(stats.swap_ins, came, "%lu", stats.swap_ins - came);
    cr_expect_gt(stats.moved_bytes, 0);
    cebus_tensor_release(x);
    cebus_tensor_release(y);
    cebus_runtime_destroy(rt);
}

/* ---- values ------------------------------------------------------------------------------- */

static uint64_t state;

static bool coin(unsigned percent)
{
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (state >> 33) % 100 < percent;
}

static bool plan_nothing(const cebus_iteration *iteration, const cebus_plan_terms *terms,
                         cebus_plan *out)
{
    (void)iteration;
    (void)terms;
    (void)out;
    return true;
}

enum {
    CROWD = 12,
    CALLS = 48,
    UNIT = 1024 /* numbers */
};

/** Values of many sizes come and go; all hold what was written when they go. */
static void step_crowd(cebus_runtime *rt, uint64_t seed)
{
    static float host[16 * UNIT];
    cebus_tensor *held[CROWD] = {NULL};
    int64_t numbers[CROWD] = {0};
    float written[CROWD];
    state = seed;
    for (int i = 0; i <= CALLS + CROWD; i++) {
        int k = i > CALLS ? i - CALLS - 1 : (int)((state >> 40) % CROWD);
        if (held[k] != NULL) {
            OK(cebus_tensor_to_host(held[k], host, sizeof(float) * (size_t)numbers[k]));
            cr_expect(host[0] == written[k] && host[numbers[k] - 1] == written[k]);
            cebus_tensor_release(held[k]);
            held[k] = NULL;
        }
        written[k] = (float)i;
        numbers[k] = coin(25) ? 6 * UNIT : coin(50) ? 3 * UNIT : UNIT * (1 + (int64_t)coin(50));
        if (i <= CALLS)
            OK(cebus_full(rt, i, CEBUS_F32, 1, &numbers[k], &held[k]));
    }
    OK(cebus_iteration_mark(rt));
}

/** In no more than what is there at once, where not all find places side by side. */
Test(carry_moves, values_move_on_where_the_plan_has_them_move)
{
    cebus_policy policy = cebus_policy_coop;
    uint64_t moved = 0, missed = 0, evicted = 0;
    int relocated = 0;
    policy.plan = plan_nothing;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        cebus_runtime_options options = CEBUS_RUNTIME_OPTIONS_INIT;
        options.device = "cpu";
        options.layout = "planned";
        options.memory_budget = 64 << 20;
        options.threads = 1;
        cebus_runtime *rt = open_moving(&options, &policy);
        for (int i = 0; i < 3; i++)
            step_crowd(rt, seed);
        OK(cebus_runtime_set_budget(rt, stats_of(rt).allocated_bytes_peak));
        uint64_t before = stats_of(rt).moved_bytes;
        for (int i = 0; i < 3; i++)
            step_crowd(rt, seed);
        if (rt->guidance->scheme->placement.n_relocations > 0) {
            relocated++;
            moved += stats_of(rt).moved_bytes - before;
            missed += stats_of(rt).missed_placements;
            evicted += stats_of(rt).evictions;
        }
        OK(cebus_runtime_check(rt));
        cebus_runtime_destroy(rt);
    }
    cr_expect_gt(relocated, 4, "%d", relocated);
    cr_expect_gt(moved, 0);
    cr_expect_eq(missed, 0, "%lu", missed);
    cr_expect_eq(evicted, 0, "%lu", evicted);
}

/* ---- what persists ------------------------------------------------------------------------ */

enum {
    PAIR = 2,
    BIG = 1 << 14 /* numbers */
};

/** What persists leaves when it was read first, and is back for the second time. */
static bool send_pair(const cebus_iteration *iteration, const cebus_plan_terms *terms,
                      cebus_plan *out)
{
    bool ok = true;
    (void)terms;
    for (uint32_t v = 0; v < iteration->n_values && ok; v++) {
        if (iteration->values[v].persistent)
            ok = cebus_plan_add(out, CEBUS_ACTION_SWAP_IN, 0, v) &&
                 cebus_plan_add(out, CEBUS_ACTION_SWAP_OUT, PAIR, v) &&
                 cebus_plan_add(out, CEBUS_ACTION_SWAP_IN, PAIR + 2, v);
    }
    return ok && cebus_plan_sort(out, iteration);
}

static void read_pair(cebus_runtime *rt, cebus_tensor *const *pair)
{
    for (int i = 0; i < PAIR; i++) {
        cebus_tensor *sum;
        float number;
        OK(cebus_sum(rt, pair[i], 0, NULL, false, &sum));
        OK(cebus_tensor_to_host(sum, &number, sizeof number));
        cr_expect_float_eq(number, (float)(BIG * (i + 1)), 1e-3F * BIG);
        cebus_tensor_release(sum);
    }
}

static void step_pair(cebus_runtime *rt, cebus_tensor *const *pair)
{
    const int64_t numbers = 3 * BIG;
    cebus_tensor *x, *y;
    read_pair(rt, pair);
    OK(cebus_full(rt, 1, CEBUS_F32, 1, &numbers, &x));
    OK(cebus_tanh(rt, x, &y));
    cebus_tensor_release(x);
    cebus_tensor_release(y);
    read_pair(rt, pair);
    OK(cebus_iteration_mark(rt));
}

static cebus_runtime *open_pair(const cebus_policy *policy, cebus_tensor **pair)
{
    const int64_t numbers = BIG;
    cebus_runtime_options options = CEBUS_RUNTIME_OPTIONS_INIT;
    options.device = "cpu";
    options.layout = "planned";
    options.memory_budget = 12 * BIG * sizeof(float);
    options.host_budget = 64 << 20;
    options.threads = 1;
    options.swap = CEBUS_SWAP_ON;
    cebus_runtime *rt = open_moving(&options, policy);
    for (int i = 0; i < PAIR; i++) {
        OK(cebus_full(rt, i + 1, CEBUS_F32, 1, &numbers, &pair[i]));
        OK(cebus_tensor_set_persistent(pair[i]));
    }
    for (int i = 0; i < 5; i++)
        step_pair(rt, pair);
    cr_assert_not_null(rt->guidance->scheme->spots);
    return rt;
}

/** As an iteration begins each is to lie where the other one was left. */
static void exchange_pair(cebus_scheme *scheme)
{
    uint64_t *at = scheme->placement.actions, first = at[0];
    cr_assert_eq(scheme->plan.actions[1].kind, CEBUS_ACTION_SWAP_IN);
    cr_assert_eq(scheme->plan.actions[1].at, 0);
    at[0] = at[1];
    at[1] = first;
}

Test(carry_moves, what_persists_moves_to_where_the_iteration_has_it)
{
    cebus_policy policy = cebus_policy_coop;
    cebus_tensor *pair[PAIR];
    policy.plan = send_pair;
    cebus_runtime *rt = open_pair(&policy, pair);
    const cebus_memory_stats before = stats_of(rt);
    exchange_pair(rt->guidance->scheme);
    for (int i = 0; i < 3; i++)
        step_pair(rt, pair);
    const cebus_memory_stats after = stats_of(rt);
    cr_expect_geq(after.moved_bytes - before.moved_bytes, 3 * 2 * BIG * sizeof(float));
    cr_expect_eq(after.missed_placements, before.missed_placements);
    cr_expect_eq(after.recomputes, before.recomputes);
    OK(cebus_runtime_check(rt));
    for (int i = 0; i < PAIR; i++)
        cebus_tensor_release(pair[i]);
    cebus_runtime_destroy(rt);
}

/** Where it lay when all found their places; there is room for it between these. */
Test(carry_moves, what_no_iteration_names_goes_back_for_a_plan_that_comes_back)
{
    cebus_policy policy = cebus_policy_coop;
    cebus_tensor *pair[PAIR], *idle;
    const int64_t numbers = 16;
    policy.plan = send_pair;
    cebus_runtime *rt = open_pair(&policy, pair);
    OK(cebus_full(rt, 3, CEBUS_F32, 1, &numbers, &idle));
    OK(cebus_tensor_set_persistent(idle));
    for (int i = 0; i < 6; i++)
        step_pair(rt, pair);
    cebus_scheme *scheme = rt->guidance->scheme;
    const uint64_t lay = idle->storage->now->block->offset;
    cr_assert_gt(scheme->around.count, 0);
    cr_assert(cebus_compaction_shift(rt, idle->storage->now->block,
                                     rt->arena.limit - idle->storage->now->block->bytes));
    step_pair(rt, pair);
    cr_expect_neq(idle->storage->now->block->offset, lay);
    cebus_scheme_set_aside(rt, scheme);
    cr_assert_eq(scheme->around.count, 0);
    cr_assert(cebus_scheme_restore(rt, scheme));
    scheme->guided = 0;
    step_pair(rt, pair);
    cr_expect_eq(idle->storage->now->block->offset, lay);
    OK(cebus_runtime_check(rt));
    cebus_tensor_release(idle);
    for (int i = 0; i < PAIR; i++)
        cebus_tensor_release(pair[i]);
    cebus_runtime_destroy(rt);
}
