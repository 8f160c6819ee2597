#include "eager/planning.h"

#include <string.h>

#include "eager/swap.h"

/** Of the budget: what plans leave free where bytes have addresses and no placement. Holes of a
 * sixteenth are usual when values of a few sizes come and go; less makes the policy evict what no
 * plan foresaw. */
#define HOLES_PART 16

/** So many plans are tried, each for less, until their values can be placed. */
#define TRIES 6
/** So many times in a row places are chosen anew because some were taken. */
#define MOST_MOVES 4
/** Nodes the exact packer may visit. */
#define PACK_STEPS 2000
/** Steps of a planner that searches: about a second for a thousand calls. */
#define EFFORT 20000

static void clear_placement(cebus_runtime *rt)
{
    cebus_guidance *guidance = rt->guidance;
    cebus_pool_free_object(&rt->pool, guidance->spots,
                           guidance->placement.n_values * sizeof *guidance->spots);
    guidance->spots = NULL;
    cebus_placement_clear(&guidance->placement);
    if (rt->arena.layout->planned)
        cebus_arena_plan_below(&rt->arena, 0);
}

void cebus_planning_clear(cebus_runtime *rt)
{
    cebus_fixtures *fixtures = &rt->guidance->fixtures;
    cebus_draft_cancel(&rt->guidance->draft);
    clear_placement(rt);
    cebus_plan_clear(&rt->guidance->plan);
    cebus_pool_free_object(&rt->pool, fixtures->items,
                           fixtures->capacity * sizeof *fixtures->items);
    *fixtures = (cebus_fixtures){0};
}

static void add_fixture(cebus_pool *pool, cebus_fixtures *fixtures, const cebus_block *block)
{
    cebus_fixture *last = fixtures->count > 0 ? &fixtures->items[fixtures->count - 1] : NULL;
    if (last != NULL && last->offset + last->bytes == block->offset) {
        last->bytes += block->bytes;
        return;
    }
    void *items = fixtures->items;
    if (!cebus_pool_grow(pool, &items, &fixtures->capacity, fixtures->count,
                         sizeof *fixtures->items)) {
        fixtures->complete = false;
        return;
    }
    fixtures->items = items;
    fixtures->items[fixtures->count++] = (cebus_fixture){block->offset, block->bytes};
}

/** Made by the iteration that ends, and still there: the next one makes its own, and lets this go.
 */
static bool is_passing(const cebus_iteration *iteration, uint32_t ordinal)
{
    return ordinal < iteration->n_values && iteration->values[ordinal].born != CEBUS_ITERATION_NONE;
}

void cebus_planning_look(cebus_runtime *rt)
{
    const cebus_access_log *log = &rt->guidance->log;
    cebus_fixtures *fixtures = &rt->guidance->fixtures;
    const cebus_iteration *iteration = log->following ? &log->reference : &log->learning;
    if (!log->following && !log->recording)
        return;
    fixtures->count = 0;
    fixtures->silent = 0;
    fixtures->complete = true;
    for (const cebus_block *block = rt->arena.first; block != NULL; block = block->next) {
        const cebus_candidate *owner = block->state != CEBUS_BLOCK_FREE ? block->owner : NULL;
        if (owner == NULL)
            continue;
        uint32_t ordinal = cebus_access_ordinal(log, &owner->value);
        if (ordinal == CEBUS_ITERATION_NONE)
            fixtures->silent += block->bytes;
        if (!is_passing(iteration, ordinal))
            add_fixture(&rt->pool, fixtures, block);
    }
}

static cebus_plan_terms terms_of(cebus_runtime *rt, bool placed)
{
    uint64_t silent = rt->guidance->fixtures.silent;
    rt->swap.blocked = false;
    cebus_swap_terms swap = cebus_swap_terms_now(rt);
    return (cebus_plan_terms){
        .budget = rt->arena.limit > silent ? rt->arena.limit - silent : 0,
        .holes = rt->arena.commodity || placed ? 0 : rt->arena.limit / HOLES_PART,
        .host = swap.use != CEBUS_SWAP_NEVER ? rt->swap.budget : 0,
        .out_rate = swap.out_rate,
        .in_rate = swap.in_rate,
    };
}

static bool differ(const cebus_plan_terms *a, const cebus_plan_terms *b)
{
    return a->budget != b->budget || a->holes != b->holes || a->host != b->host ||
           a->out_rate != b->out_rate || a->in_rate != b->in_rate;
}

/** Whether plans must be the same in every run: then they are waited for. */
static bool must_repeat(const cebus_runtime *rt)
{
    return rt->info.simulated || rt->cost_model == CEBUS_COST_ESTIMATED;
}

/** False when there is no plan: the policy has none, or host memory is short. */
static bool plan(cebus_runtime *rt, cebus_plan_terms terms)
{
    cebus_guidance *guidance = rt->guidance;
    const cebus_iteration *reference = &guidance->log.reference;
    cebus_plan_clear(&guidance->plan);
    terms.effort = rt->policy->searches && must_repeat(rt) ? EFFORT : 0;
    if (rt->policy->plan(reference, &terms, &guidance->plan) &&
        cebus_plan_link(&guidance->plan, reference))
        return true;
    cebus_plan_clear(&guidance->plan);
    return false;
}

/** Bytes that come from outside during the iteration, all together: they have no place. */
static uint64_t bytes_from_outside(const cebus_iteration *iteration)
{
    uint64_t bytes = 0;
    for (size_t v = 0; v < iteration->n_values; v++) {
        const cebus_iteration_value *value = &iteration->values[v];
        if (value->born == CEBUS_ITERATION_NONE && !value->persistent &&
            value->freed != CEBUS_ITERATION_NONE)
            bytes += value->bytes;
    }
    return bytes;
}

static cebus_site_verdict place(cebus_runtime *rt, uint64_t *out_missing)
{
    cebus_guidance *guidance = rt->guidance;
    const cebus_iteration *reference = &guidance->log.reference;
    uint64_t outside = bytes_from_outside(reference);
    cebus_site site = {.capacity = rt->arena.limit > outside ? rt->arena.limit - outside : 0,
                       .alignment = rt->arena.alignment,
                       .fixtures = guidance->fixtures.items,
                       .n_fixtures = guidance->fixtures.count,
                       .max_steps = PACK_STEPS};
    clear_placement(rt);
    cebus_site_verdict verdict =
        cebus_placement_make(reference, &guidance->plan, &site, &guidance->placement, out_missing);
    if (verdict != CEBUS_SITE_PLACED)
        return verdict;
    guidance->spots = cebus_pool_alloc(&rt->pool, reference->n_values * sizeof *guidance->spots);
    if (guidance->spots == NULL) {
        clear_placement(rt);
        return CEBUS_SITE_NO_HOST_MEMORY;
    }
    cebus_arena_plan_below(&rt->arena, guidance->placement.height);
    return verdict;
}

/** Plans for less until the values of the plan find places; terms->budget is what did. */
static bool plan_and_place(cebus_runtime *rt, cebus_plan_terms *terms)
{
    for (int i = 0; i < TRIES && plan(rt, *terms); i++) {
        uint64_t missing = 0;
        cebus_site_verdict verdict = place(rt, &missing);
        if (verdict == CEBUS_SITE_PLACED)
            return true;
        if (verdict == CEBUS_SITE_NO_HOST_MEMORY || missing == 0 || missing >= terms->budget)
            break;
        terms->budget -= missing;
    }
    clear_placement(rt);
    return false;
}

/** Has a better plan made while the program goes on. */
static void start_draft(cebus_runtime *rt, cebus_plan_terms terms)
{
    if (!rt->policy->searches || must_repeat(rt) || rt->guidance->plan.count == 0)
        return;
    terms.effort = EFFORT;
    cebus_draft_start(&rt->guidance->draft, rt->policy, &rt->guidance->log.reference, &terms);
}

/** The plan that is ready takes the place of the first one, if its values find places, too. */
static void adopt_draft(cebus_runtime *rt)
{
    uint64_t missing;
    cebus_plan better;
    cebus_guidance *guidance = rt->guidance;
    cebus_plan_init(&better, &rt->pool);
    if (!cebus_draft_take(&guidance->draft, &better))
        return;
    cebus_plan first = guidance->plan;
    bool placed = guidance->spots != NULL;
    guidance->plan = better;
    if (cebus_plan_link(&guidance->plan, &guidance->log.reference) &&
        (!placed || place(rt, &missing) == CEBUS_SITE_PLACED)) {
        cebus_plan_clear(&first);
        return;
    }
    cebus_plan_clear(&guidance->plan);
    guidance->plan = first;
    if (placed)
        (void)place(rt, &missing);
}

static uint64_t summed_cost(const cebus_iteration *iteration)
{
    uint64_t ns = 0;
    for (size_t k = 0; k < iteration->n_calls; k++)
        ns += iteration->calls[k].cost_ns;
    return ns;
}

/** Some places were taken by what nobody foresaw, or what stays moved. */
static bool should_move(cebus_runtime *rt)
{
    cebus_guidance *guidance = rt->guidance;
    bool missed = rt->stats.missed_placements > guidance->missed;
    guidance->missed = rt->stats.missed_placements;
    guidance->moves = missed ? guidance->moves + 1 : 0;
    return missed && guidance->moves <= MOST_MOVES;
}

void cebus_planning_renew(cebus_runtime *rt, bool learned)
{
    cebus_guidance *guidance = rt->guidance;
    bool places = rt->arena.layout->planned && guidance->fixtures.complete;
    bool move = should_move(rt);
    cebus_plan_terms terms = terms_of(rt, false);
    if (learned) {
        guidance->iteration_ns = summed_cost(&guidance->log.reference);
        guidance->moves = 0;
    }
    if (!learned && !differ(&terms, &guidance->terms) && !(places && move)) {
        adopt_draft(rt);
        return;
    }
    cebus_draft_cancel(&guidance->draft);
    guidance->terms = terms;
    cebus_plan_terms placed = terms_of(rt, true);
    if (places && plan_and_place(rt, &placed))
        start_draft(rt, placed);
    else if (plan(rt, terms))
        start_draft(rt, terms);
}

void cebus_planning_expect(cebus_guidance *guidance)
{
    const cebus_placement *placement = &guidance->placement;
    guidance->workspace_spot = CEBUS_ANYWHERE;
    if (guidance->spots != NULL) /* what calls make first is looked up there, not here */
        memset(guidance->spots, 0xff, placement->n_values * sizeof *guidance->spots);
}

uint64_t cebus_guidance_output_spot(const cebus_runtime *rt, uint32_t j,
                                    const cebus_candidate *output)
{
    const cebus_guidance *guidance = rt->guidance;
    if (guidance == NULL || guidance->spots == NULL || !guidance->log.following)
        return CEBUS_ANYWHERE;
    const cebus_iteration *reference = &guidance->log.reference;
    if (guidance->log.at >= reference->n_calls)
        return CEBUS_ANYWHERE;
    const cebus_iteration_call *call = &reference->calls[guidance->log.at];
    if (j >= call->n_out)
        return CEBUS_ANYWHERE;
    uint32_t ordinal = reference->refs[call->refs + call->n_in + j];
    return reference->values[ordinal].bytes == output->value.bytes
               ? guidance->placement.values[ordinal]
               : CEBUS_ANYWHERE;
}

uint64_t cebus_guidance_workspace_spot(cebus_runtime *rt)
{
    if (rt->guidance == NULL)
        return CEBUS_ANYWHERE;
    uint64_t spot = rt->guidance->workspace_spot;
    rt->guidance->workspace_spot = CEBUS_ANYWHERE;
    return spot;
}

uint64_t cebus_guidance_spot(cebus_runtime *rt, const cebus_candidate *candidate)
{
    const cebus_guidance *guidance = rt->guidance;
    if (guidance == NULL || guidance->spots == NULL || !guidance->log.following)
        return CEBUS_ANYWHERE;
    uint32_t ordinal = cebus_access_ordinal(&guidance->log, &candidate->value);
    if (ordinal >= guidance->placement.n_values)
        return CEBUS_ANYWHERE;
    uint64_t spot = guidance->spots[ordinal];
    guidance->spots[ordinal] = CEBUS_ANYWHERE;
    return spot;
}
