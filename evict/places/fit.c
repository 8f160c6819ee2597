#include "evict/places/fit.h"

#include "evict/places/timed.h"
#include "evict/planner/search.h"
#include "evict/timeline/timeline.h"

/** So many plans are made, each for less. */
#define TRIES 6
/** The same after a planner that searches could not place its own. */
#define TRIES_BESIDE_SEARCH 3
/** Times the program's time: plans that take more are dear. */
#define DEAR 1.2
/** Times what the first plan takes: one that does, and has places, may not be the best. */
#define MUCH_LONGER 1.2
/** Times that: without any places a plan takes less. */
#define TOO_LONG 1.5
/** Times what it takes if any place will do: one waits long for its places. */
#define WAITS_LONG 1.05
/** Parts of the memory that a plan by which parameters shuttle does without where the one before it
 * found no places, at least and at most. */
#define LEAST_LESS_PART 32
#define MOST_LESS_PART 16

/** Of the memory: where a first plan misses more, one for less does not come near, either. */
#define MOST_FAR_PART 4

/** Steps of a first plan for each call that an attempt counts beside those of its plan: places are
 * looked for. */
#define ATTEMPT_VISITS 8

static cebus_site_verdict place(cebus_fit *fit, const cebus_plan *plan, uint64_t *crowd,
                                cebus_placement *out, uint64_t *out_missing)
{
    fit->site.crowd = crowd;
    /* Where not even its bytes fit the memory no plan for less is made. */
    fit->site.fits_only = plan->over && fit->terms.budget == fit->memory;
    cebus_placement_clear(out);
    return cebus_placement_make(fit->iteration, plan, &fit->site, out, out_missing);
}

static cebus_timeline_terms terms_of(const cebus_fit *fit, const cebus_placement *placement)
{
    return (cebus_timeline_terms){.budget = fit->memory,
                                  .out_rate = fit->terms.out_rate,
                                  .in_rate = fit->terms.in_rate,
                                  .latency_ns = fit->terms.latency_ns,
                                  .placement = placement,
                                  .moves = fit->site.moves,
                                  .ahead = true};
}

/** How long an iteration takes by a plan with places: what waits for its own waits longer than for
 * any. False without host memory. */
static bool run(const cebus_fit *fit, const cebus_plan *plan, const cebus_placement *placement,
                cebus_timeline *out)
{
    const cebus_timeline_terms with = terms_of(fit, placement);
    return cebus_timeline_run(fit->iteration, plan, &with, plan->pool, out);
}

/** Places for when copies are done, if there are any and they take less than those that were
 * found by runs: until *ns. False without host memory. */
static bool find_timed(cebus_fit *fit, cebus_plan *plan, uint64_t *ns)
{
    uint64_t timed_ns = 0;
    bool found = false;
    cebus_plan late;
    cebus_placement placement;
    const cebus_timeline_terms with = terms_of(fit, NULL);
    cebus_placement_init(&placement, fit->found.pool);
    if (!cebus_timed_make(fit->iteration, &with, &fit->site, plan, &late, &placement, &found,
                          &timed_ns))
        return false;
    if (found && timed_ns < *ns) {
        cebus_placement_clear(&fit->found);
        cebus_plan_clear(plan);
        fit->found = placement;
        *plan = late;
        *ns = timed_ns;
    } else if (found) {
        cebus_placement_clear(&placement);
        cebus_plan_clear(&late);
    }
    return true;
}

/** Where parameters come and go it matters when. */
static bool find_shuttling(cebus_fit *fit, cebus_plan *plan, bool placed)
{
    cebus_timeline timeline;
    uint64_t ns = UINT64_MAX;
    if (placed) {
        if (!run(fit, plan, &fit->found, &timeline))
            return false;
        plan->wait_ns = timeline.stall_ns + timeline.moving_ns;
        ns = timeline.total_ns;
    }
    return find_timed(fit, plan, &ns) && ns < UINT64_MAX;
}

static bool find_places(void *context, cebus_plan *plan, uint64_t *crowd, uint64_t *out_ns)
{
    uint64_t missing;
    cebus_fit *fit = context;
    cebus_placement_clear(&fit->found);
    *out_ns = 0;
    if (!cebus_plan_make_ready(plan, fit->iteration))
        return false;
    bool found = place(fit, plan, crowd, &fit->found, &missing) == CEBUS_SITE_PLACED;
    if (cebus_plan_shuttles(plan, fit->iteration))
        found = find_shuttling(fit, plan, found);
    *out_ns = fit->found.moving_ns;
    return found;
}

static void keep_places(void *context)
{
    cebus_fit *fit = context;
    cebus_placement_clear(fit->placement);
    *fit->placement = fit->found;
    cebus_placement_init(&fit->found, fit->found.pool);
}

static bool is_wanted(const cebus_fit *fit)
{
    return fit->terms.go_on == NULL || fit->terms.go_on(fit->terms.context);
}

static bool is_placed(const cebus_fit *fit)
{
    return fit->placement->height > 0;
}

/** The plan is made and placed. False: there is none, or no memory. */
static bool attempt(cebus_fit *fit, uint64_t *out_missing)
{
    *out_missing = 0;
    cebus_plan_clear(fit->plan);
    fit->terms.crowded = fit->terms.budget <= fit->crowded;
    if (!fit->policy->plan(fit->iteration, &fit->terms, fit->plan))
        return false;
    if (fit->terms.budget > fit->crowded && cebus_plan_shuttles(fit->plan, fit->iteration))
        fit->crowded = fit->terms.budget;
    if (is_placed(fit))
        return true;
    return cebus_plan_make_ready(fit->plan, fit->iteration) &&
           place(fit, fit->plan, NULL, fit->placement, out_missing) != CEBUS_SITE_NO_HOST_MEMORY;
}

/** What is there stands, unless a plan for so many bytes is placed and takes less. */
static void rival(cebus_fit *fit, uint64_t budget)
{
    uint64_t missing;
    cebus_timeline before, now;
    cebus_plan plan = *fit->plan;
    cebus_placement placement = *fit->placement;
    const uint64_t had = fit->terms.budget;
    if (!run(fit, &plan, &placement, &before))
        return;
    fit->terms.budget = budget;
    fit->terms.rival_ns = before.total_ns;
    cebus_plan_init(fit->plan, plan.pool);
    cebus_placement_init(fit->placement, plan.pool);
    bool better = attempt(fit, &missing) && is_placed(fit) &&
                  run(fit, fit->plan, fit->placement, &now) && now.total_ns < before.total_ns;
    fit->terms.rival_ns = 0;
    cebus_plan_clear(better ? &plan : fit->plan);
    cebus_placement_clear(better ? &placement : fit->placement);
    if (better)
        return;
    *fit->plan = plan;
    *fit->placement = placement;
    fit->terms.budget = had;
}

/** How long an iteration takes by the plan; with places, if it has any. 0 without host memory. */
static uint64_t total_ns(const cebus_fit *fit)
{
    cebus_timeline timeline;
    return run(fit, fit->plan, fit->placement, &timeline) ? timeline.total_ns : 0;
}

/** What is there has places, unlike the first, which took so long. Where parameters come and go it
 * is chance what it takes: if that is much longer some are made for more room, but less than the
 * first had. False: it takes too long even so. */
static bool settle(cebus_fit *fit, uint64_t first_ns)
{
    static const uint64_t parts[] = {2, 4};
    const uint64_t less = fit->memory - fit->terms.budget;
    const double first = (double)first_ns;
    if (fit->terms.place == NULL || !cebus_plan_shuttles(fit->plan, fit->iteration))
        return true;
    for (size_t i = 0; i < sizeof parts / sizeof *parts && less > 0 && is_wanted(fit); i++) {
        if ((double)total_ns(fit) > MUCH_LONGER * first)
            rival(fit, fit->memory - less + less / parts[i]);
    }
    return (double)total_ns(fit) < TOO_LONG * first;
}

/** It takes so much longer than the program that a search from elsewhere may well find better. */
static bool is_dear(const cebus_fit *fit)
{
    return (double)total_ns(fit) > DEAR * (double)cebus_iteration_cost(fit->iteration);
}

static bool any_persists(const cebus_iteration *iteration)
{
    for (size_t v = 0; v < iteration->n_values; v++) {
        if (iteration->values[v].persistent && iteration->values[v].bytes > 0)
            return true;
    }
    return false;
}

/** Beside a dear plan with swaps in which parameters stay one is made by which they shuttle. */
static void look_elsewhere(cebus_fit *fit)
{
    if (fit->terms.place == NULL || fit->terms.host == 0 || !is_wanted(fit) || !is_dear(fit) ||
        !any_persists(fit->iteration) || cebus_plan_shuttles(fit->plan, fit->iteration))
        return;
    fit->crowded = fit->memory;
    rival(fit, fit->memory);
}

/** Where parameters come and go and what has places waits for them one is made for less memory yet:
 * with more room places may be found that are not waited for. */
static void look_for_room(cebus_fit *fit)
{
    cebus_timeline anywhere;
    if (fit->terms.place == NULL || !is_wanted(fit) ||
        !cebus_plan_shuttles(fit->plan, fit->iteration) || !run(fit, fit->plan, NULL, &anywhere) ||
        (double)total_ns(fit) <= WAITS_LONG * (double)anywhere.total_ns)
        return;
    rival(fit, fit->terms.budget - fit->memory / MOST_LESS_PART);
}

/** What the next plan does without. One by which parameters shuttle is made anew, not from what was
 * found: with hardly less it finds no places either, and with much less it is dear. */
static uint64_t lessen(const cebus_fit *fit, uint64_t missing)
{
    const uint64_t least = fit->memory / LEAST_LESS_PART, most = fit->memory / MOST_LESS_PART;
    if (!cebus_plan_shuttles(fit->plan, fit->iteration))
        return missing;
    return missing < least ? least : missing > most ? most : missing;
}

/** Keeps the plan, which has no places, if it can be followed without: to search for another takes
 * as long again. */
static void keep_loose(cebus_fit *fit)
{
    if (fit->holes == 0 || fit->loose.count > 0 || fit->plan->over ||
        fit->terms.budget + fit->holes > fit->memory)
        return;
    fit->loose = *fit->plan;
    cebus_plan_init(fit->plan, fit->loose.pool);
}

/** Notes an attempt, which missed so much. False: the program waits for the plan, and that took
 * enough, or is long, and it is not near. */
static bool has_time(cebus_fit *fit, uint64_t missing)
{
    fit->waited += fit->plan->spent + ATTEMPT_VISITS * fit->iteration->n_calls;
    if (fit->terms.effort > 0)
        return true;
    const bool is_long = fit->iteration->n_calls > CEBUS_SEARCH_LONG;
    return fit->waited < CEBUS_SEARCH_FIRST && !(is_long && missing > fit->memory / MOST_FAR_PART);
}

/** The plan and its places; again for less where there are none, each time with half the effort. */
static bool make(cebus_fit *fit, int tries)
{
    uint64_t first = 0, first_ns = 0, missing = 0;
    for (int i = 0; i < tries && is_wanted(fit) && attempt(fit, &missing); i++) {
        if (is_placed(fit)) {
            look_elsewhere(fit);
            if (i > 0 && !settle(fit, first_ns))
                return false;
            look_for_room(fit);
            return true;
        }
        first = i == 0 ? missing : first;
        const bool gains = i < 2 || missing <= first / 2; /* else there is none that fits */
        fit->none_fits = i == 0 && fit->plan->over && fit->plan->first != NULL;
        const uint64_t less = lessen(fit, missing);
        const bool goes_on = has_time(fit, missing) && !fit->none_fits && missing > 0 &&
                             missing < fit->terms.budget && gains;
        if (goes_on && i == 0 && fit->terms.place != NULL) /* else nobody compares */
            first_ns = total_ns(fit);
        keep_loose(fit);
        if (!goes_on)
            break;
        fit->terms.effort /= 2;
        fit->terms.budget -= less; /* more than there is room for fits nowhere */
        if (fit->terms.budget > fit->site.capacity)
            fit->terms.budget = fit->site.capacity;
    }
    return false;
}

static void begin(cebus_fit *fit)
{
    fit->memory = fit->terms.budget;
    fit->site.go_on = fit->terms.go_on;
    fit->site.context = fit->terms.context;
    cebus_placement_init(&fit->found, fit->placement->pool);
}

bool cebus_fit_place(cebus_fit *fit)
{
    uint64_t ignored;
    begin(fit);
    bool found = find_places(fit, fit->plan, NULL, &ignored);
    if (found)
        keep_places(fit);
    cebus_placement_clear(&fit->found);
    return found;
}

bool cebus_fit_make(cebus_fit *fit)
{
    bool asks = fit->policy->searches && fit->terms.effort > 0;
    begin(fit);
    fit->crowded = fit->waited = 0;
    fit->terms.grain = fit->site.alignment;
    fit->terms.place = asks ? find_places : NULL;
    fit->terms.keep = asks ? keep_places : NULL;
    fit->terms.place_context = fit;
    cebus_plan_init(&fit->loose, fit->plan->pool);
    cebus_stock_init(&fit->stock, fit->plan->pool);
    fit->terms.stock = &fit->stock;
    fit->holes = asks ? fit->holes : 0;
    bool made = make(fit, asks ? TRIES_BESIDE_SEARCH : TRIES);
    cebus_placement_clear(&fit->found);
    cebus_stock_clear(&fit->stock);
    if (!made)
        cebus_placement_clear(fit->placement);
    if (!made && !fit->none_fits) {
        cebus_plan_clear(fit->plan);
        *fit->plan = fit->loose;
        cebus_plan_init(&fit->loose, fit->plan->pool);
    }
    cebus_plan_clear(&fit->loose);
    return made;
}
