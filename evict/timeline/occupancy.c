#include "evict/timeline/occupancy.h"

#include <string.h>

bool cebus_occupancy_init(cebus_occupancy *occupancy, const cebus_iteration *iteration,
                          const cebus_plan *plan, cebus_pool *pool)
{
    const size_t runs = iteration->n_calls + plan->count + 1;
    *occupancy = (cebus_occupancy){.pool = pool, .capacity = runs, .n_actions = plan->count};
    occupancy->turns = cebus_pool_alloc(pool, runs * sizeof *occupancy->turns);
    occupancy->starts = cebus_pool_alloc(pool, runs * sizeof *occupancy->starts);
    occupancy->copies = cebus_pool_alloc(pool, plan->count * sizeof *occupancy->copies);
    occupancy->ends = cebus_pool_alloc(pool, plan->count * sizeof *occupancy->ends);
    occupancy->stays = cebus_pool_alloc(pool, plan->count * sizeof *occupancy->stays);
    bool ok = occupancy->turns != NULL && occupancy->starts != NULL &&
              (plan->count == 0 ||
               (occupancy->copies != NULL && occupancy->ends != NULL && occupancy->stays != NULL));
    if (ok)
        cebus_occupancy_begin(occupancy, 0);
    else
        cebus_occupancy_deinit(occupancy);
    return ok;
}

void cebus_occupancy_deinit(cebus_occupancy *occupancy)
{
    cebus_pool *pool = occupancy->pool;
    const size_t runs = occupancy->capacity, n = occupancy->n_actions;
    cebus_pool_free_object(pool, occupancy->turns, runs * sizeof *occupancy->turns);
    cebus_pool_free_object(pool, occupancy->starts, runs * sizeof *occupancy->starts);
    cebus_pool_free_object(pool, occupancy->copies, n * sizeof *occupancy->copies);
    cebus_pool_free_object(pool, occupancy->ends, n * sizeof *occupancy->ends);
    cebus_pool_free_object(pool, occupancy->stays, n * sizeof *occupancy->stays);
    *occupancy = (cebus_occupancy){.pool = pool};
}

/* --- what a timeline notes ------------------------------------------------------------------- */

/** What was over before the iteration began is so from the beginning. */
static uint64_t since_begin(const cebus_occupancy *occupancy, uint64_t ns)
{
    return ns > occupancy->began_ns ? ns - occupancy->began_ns : 0;
}

void cebus_occupancy_begin(cebus_occupancy *occupancy, uint64_t ns)
{
    if (occupancy == NULL)
        return;
    occupancy->count = 0;
    occupancy->began_ns = ns;
    occupancy->total_ns = 0;
    for (size_t a = 0; a < occupancy->n_actions; a++) {
        occupancy->copies[a] = occupancy->ends[a] = CEBUS_OCCUPANCY_NEVER;
        occupancy->stays[a] = false;
    }
}

void cebus_occupancy_await(cebus_occupancy *occupancy, uint64_t ns)
{
    if (occupancy != NULL && occupancy->count < occupancy->capacity)
        occupancy->turns[occupancy->count] = since_begin(occupancy, ns);
}

void cebus_occupancy_run(cebus_occupancy *occupancy, uint64_t ns)
{
    if (occupancy != NULL && occupancy->count < occupancy->capacity)
        occupancy->starts[occupancy->count++] = since_begin(occupancy, ns);
}

void cebus_occupancy_copy(cebus_occupancy *occupancy, size_t action, uint64_t ns)
{
    if (occupancy != NULL)
        occupancy->copies[action] = occupancy->ends[action] = since_begin(occupancy, ns);
}

void cebus_occupancy_arrive(cebus_occupancy *occupancy, size_t action, uint64_t ns)
{
    if (occupancy != NULL)
        occupancy->ends[action] = since_begin(occupancy, ns);
}

void cebus_occupancy_stay(cebus_occupancy *occupancy, size_t action)
{
    if (occupancy != NULL)
        occupancy->stays[action] = true;
}

void cebus_occupancy_end(cebus_occupancy *occupancy, uint64_t ns)
{
    if (occupancy != NULL)
        occupancy->total_ns = since_begin(occupancy, ns);
}

/* --- one clock ------------------------------------------------------------------------------- */

uint64_t cebus_occupancy_turn(const cebus_occupancy *occupancy, uint32_t run)
{
    return (run < occupancy->count ? occupancy->turns[run] : occupancy->total_ns) + run;
}

uint64_t cebus_occupancy_start(const cebus_occupancy *occupancy, uint32_t run)
{
    return (run < occupancy->count ? occupancy->starts[run] : occupancy->total_ns) + run;
}

/** The last run whose turn it is by then. */
static uint32_t run_at(const cebus_occupancy *occupancy, uint64_t ns)
{
    size_t low = 0, high = occupancy->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (occupancy->turns[middle] <= ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 ? (uint32_t)(low - 1) : 0;
}

uint64_t cebus_occupancy_time(const cebus_occupancy *occupancy, uint64_t ns)
{
    return ns + (ns < occupancy->total_ns ? run_at(occupancy, ns) : occupancy->count);
}

/* --- copies in are asked for later ----------------------------------------------------------- */

/** Of what is due before one run: what goes makes room for what comes, which replays may read. */
enum {
    GOES,
    COMES,
    RUNS,
    CLASSES
};

/** Where an action stands in a plan. */
typedef struct standing {
    uint32_t run, at; /**< it is due before that run; calls done then */
    uint32_t class;
} standing;

static uint32_t class_of(const cebus_action *action)
{
    return action->kind == CEBUS_ACTION_REPLAY    ? RUNS
           : action->kind == CEBUS_ACTION_SWAP_IN ? COMES
                                                  : GOES;
}

/** Whether a replay is of the same run as the next action. */
static bool goes_on(const cebus_iteration *iteration, const cebus_plan *plan, size_t a, uint32_t k)
{
    const cebus_action *this = &plan->actions[a], *next = this + 1;
    return a + 1 < plan->count && next->at <= k && next->kind == CEBUS_ACTION_REPLAY &&
           iteration->values[next->value].born == iteration->values[this->value].born;
}

/** Standings of actions, and of runs the calls done before them. */
static void find_standings(const cebus_iteration *iteration, const cebus_plan *plan,
                           standing *standings, uint32_t *ats)
{
    uint32_t run = 0;
    size_t a = 0;
    for (uint32_t k = 0; k <= iteration->n_calls; k++) {
        for (; a < plan->count && plan->actions[a].at <= k; a++) {
            const uint32_t class = class_of(&plan->actions[a]);
            standings[a] = (standing){.run = run, .at = plan->actions[a].at, .class = class};
            if (class == RUNS && !goes_on(iteration, plan, a, k))
                ats[run++] = k;
        }
        ats[run++] = k;
    }
}

/** Actions by run and class, else as they were. False without host memory. */
static bool sort_actions(cebus_plan *plan, const standing *standings, size_t runs)
{
    const size_t keys = runs * CLASSES + 1;
    size_t *start = cebus_pool_alloc(plan->pool, keys * sizeof *start);
    cebus_action *sorted = cebus_pool_alloc(plan->pool, plan->capacity * sizeof *sorted);
    bool ok = start != NULL && sorted != NULL;
    if (ok) {
        memset(start, 0, keys * sizeof *start);
        for (size_t a = 0; a < plan->count; a++)
            start[standings[a].run * CLASSES + standings[a].class + 1]++;
        for (size_t key = 1; key < keys; key++)
            start[key] += start[key - 1];
        for (size_t a = 0; a < plan->count; a++) {
            const standing *s = &standings[a];
            cebus_action *to = &sorted[start[s->run * CLASSES + s->class]++];
            *to = plan->actions[a];
            to->at = s->at;
        }
        memcpy(plan->actions, sorted, plan->count * sizeof *sorted);
    }
    cebus_pool_free_object(plan->pool, sorted, plan->capacity * sizeof *sorted);
    cebus_pool_free_object(plan->pool, start, keys * sizeof *start);
    return ok;
}

bool cebus_occupancy_postpone(const cebus_occupancy *occupancy, const cebus_iteration *iteration,
                              cebus_plan *plan)
{
    cebus_pool *pool = plan->pool;
    const size_t runs = occupancy->capacity, n = plan->count;
    standing *standings = cebus_pool_alloc(pool, n * sizeof *standings);
    uint32_t *ats = cebus_pool_alloc(pool, runs * sizeof *ats);
    bool ok = n == 0 || (standings != NULL && ats != NULL);
    if (ok && n > 0) {
        find_standings(iteration, plan, standings, ats);
        for (size_t a = 0; a < n; a++) {
            const bool copies =
                standings[a].class == COMES && occupancy->copies[a] != CEBUS_OCCUPANCY_NEVER;
            const uint32_t run = copies ? run_at(occupancy, occupancy->copies[a]) : 0;
            if (run > standings[a].run)
                standings[a] = (standing){.run = run, .at = ats[run], .class = COMES};
        }
        ok = sort_actions(plan, standings, runs) && cebus_plan_link(plan, iteration);
    }
    cebus_pool_free_object(pool, ats, runs * sizeof *ats);
    cebus_pool_free_object(pool, standings, n * sizeof *standings);
    return ok;
}
