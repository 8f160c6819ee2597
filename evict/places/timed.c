#include "evict/places/timed.h"

/** Blocks that the rounds of one packing may place. */
#define MOST_TRIED 30000
/** Where so large a part of the memory is missing less will not do. */
#define MOST_MISSING_PART 16
/** What takes no more than this part longer than if any place would do is good enough. */
#define GOOD_PART 64

typedef struct timed {
    const cebus_iteration *iteration;
    const cebus_timeline_terms *terms;
    cebus_site site;
    cebus_plan plan; /**< that asks for copies in as late as they can begin */
    cebus_occupancy occupancy;
    bool tied; /**< something crosses from one iteration to the next */
} timed;

static bool occupy(timed *t)
{
    cebus_timeline timeline;
    cebus_timeline_terms with = *t->terms;
    with.occupancy = &t->occupancy;
    return cebus_timeline_run(t->iteration, &t->plan, &with, t->plan.pool, &timeline);
}

/** The plan, and when it has bytes taken. */
static bool prepare(timed *t)
{
    return occupy(t) && cebus_occupancy_postpone(&t->occupancy, t->iteration, &t->plan) &&
           occupy(t);
}

/** With each order of what lies at the bottom in turn. How much is missing the first tells; of the
 * others it is wanted to know only whether they fit. */
static cebus_site_verdict place_in_order(timed *t, cebus_placement *out, uint64_t *out_missing)
{
    const int orders = t->site.bond == CEBUS_TIES_OF_ALL ? CEBUS_TIE_ORDERS : 1;
    cebus_site_verdict verdict = CEBUS_SITE_FULL;
    t->tied = true;
    t->site.tied = &t->tied;
    for (int order = 0; verdict == CEBUS_SITE_FULL && order < orders && t->tied &&
                        *out_missing <= t->site.capacity / MOST_MISSING_PART;
         order++) {
        t->site.order = (cebus_tie_order)order;
        verdict = cebus_placement_make(t->iteration, &t->plan, &t->site, out, out_missing);
        t->site.fits_only = true;
    }
    return verdict;
}

/** With each share in turn, with which copies of what does not cross do not matter at last. */
static cebus_site_verdict place(timed *t, cebus_placement *out)
{
    static const double shares[] = {1, 0.75, 0.5, 0};
    const size_t n = t->site.bond == CEBUS_TIES_OF_ALL ? 3 : 4;
    cebus_site_verdict verdict = CEBUS_SITE_FULL;
    uint64_t missing = 0;
    t->site.fits_only = false;
    for (size_t i = 0; verdict == CEBUS_SITE_FULL && i < n; i++) {
        t->site.share = shares[i];
        verdict = place_in_order(t, out, &missing);
    }
    return verdict;
}

/** How long it takes. */
static bool run(const timed *t, const cebus_placement *placement, cebus_timeline *out)
{
    cebus_timeline_terms with = *t->terms;
    with.placement = placement;
    return cebus_timeline_run(t->iteration, &t->plan, &with, t->plan.pool, out);
}

/** The one that takes less is the best so far; the other one is let go. */
static bool compare(const timed *t, cebus_placement *placement, cebus_placement *best,
                    cebus_timeline *timeline)
{
    cebus_timeline now;
    const bool ok = run(t, placement, &now);
    if (ok && (best->height == 0 || now.total_ns < timeline->total_ns)) {
        const cebus_placement before = *best;
        *best = *placement;
        *placement = before;
        *timeline = now;
    }
    cebus_placement_clear(placement);
    return ok;
}

/** It hardly waits for its places, so others need not be looked for. */
static bool is_good(const timed *t, const cebus_placement *best, const cebus_timeline *timeline)
{
    const uint64_t anywhere = t->occupancy.total_ns;
    return best->height > 0 && timeline->total_ns <= anywhere + anywhere / GOOD_PART;
}

/** What crosses from one iteration to the next stays where it lies; or it moves as that begins. */
static bool make(timed *t, cebus_placement *best, bool *out_found, cebus_timeline *timeline)
{
    const uint64_t rounds = MOST_TRIED / (t->iteration->n_calls + t->plan.count + 1);
    bool ok = prepare(t);
    cebus_site_verdict verdict = CEBUS_SITE_FULL;
    t->site.rounds = rounds < t->site.rounds ? rounds : t->site.rounds;
    t->site.occupancy = &t->occupancy;
    t->site.crowd = NULL;
    for (int bond = 0; ok && bond < CEBUS_TIE_BONDS && !is_good(t, best, timeline); bond++) {
        cebus_placement placement;
        cebus_placement_init(&placement, best->pool);
        t->site.bond = (cebus_tie_bond)bond;
        verdict = place(t, &placement);
        ok = verdict != CEBUS_SITE_NO_HOST_MEMORY &&
             (verdict != CEBUS_SITE_PLACED || compare(t, &placement, best, timeline));
        if (t->terms->moves.rate == 0 || !t->tied)
            break;
    }
    *out_found = ok && best->height > 0;
    return ok;
}

bool cebus_timed_make(const cebus_iteration *iteration, const cebus_timeline_terms *terms,
                      const cebus_site *site, const cebus_plan *plan, cebus_plan *out_plan,
                      cebus_placement *out, bool *out_found, uint64_t *out_ns)
{
    timed t = {.iteration = iteration, .terms = terms, .site = *site};
    cebus_timeline timeline = {0};
    *out_found = false;
    cebus_plan_init(&t.plan, plan->pool);
    bool ok = cebus_plan_copy(plan, &t.plan);
    if (ok && cebus_occupancy_init(&t.occupancy, iteration, plan, plan->pool)) {
        ok = make(&t, out, out_found, &timeline);
        cebus_occupancy_deinit(&t.occupancy);
    } else {
        ok = false;
    }
    if (ok && *out_found) {
        *out_plan = t.plan;
        out_plan->wait_ns = timeline.stall_ns + timeline.moving_ns;
        *out_ns = timeline.total_ns;
        return true;
    }
    cebus_placement_clear(out);
    cebus_plan_clear(&t.plan);
    *out_found = false;
    return ok;
}
