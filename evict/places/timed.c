#include "evict/places/timed.h"

/** Blocks that the rounds of one packing may place. */
#define MOST_TRIED 30000
/** Where so large a part of the memory is missing less will not do. */
#define MOST_MISSING_PART 16

typedef struct timed {
    const cebus_iteration *iteration;
    const cebus_timeline_terms *terms;
    cebus_site site;
    cebus_plan plan; /**< that asks for copies in as late as they can begin */
    cebus_occupancy occupancy;
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

/** With each share in turn, and each order of what lies at the bottom. How much is missing the
 * first tells; of the others it is wanted to know only whether they fit. */
static cebus_site_verdict place(timed *t, cebus_placement *out)
{
    static const double shares[] = {1, 0.75, 0.5};
    cebus_site_verdict verdict = CEBUS_SITE_FULL;
    uint64_t missing = 0;
    bool tied = true;
    t->site.tied = &tied;
    t->site.fits_only = false;
    for (size_t i = 0; i < sizeof shares / sizeof *shares; i++) {
        t->site.share = shares[i];
        for (int order = 0; order == 0 || (order < CEBUS_TIE_ORDERS && tied); order++) {
            t->site.order = (cebus_tie_order)order;
            verdict = cebus_placement_make(t->iteration, &t->plan, &t->site, out, &missing);
            if (verdict != CEBUS_SITE_FULL || missing > t->site.capacity / MOST_MISSING_PART)
                return verdict;
            t->site.fits_only = true;
        }
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

static bool make(timed *t, cebus_placement *out, bool *out_found, cebus_timeline *timeline)
{
    const uint64_t rounds = MOST_TRIED / (t->iteration->n_calls + t->plan.count + 1);
    t->site.rounds = rounds < t->site.rounds ? rounds : t->site.rounds;
    t->site.occupancy = &t->occupancy;
    t->site.crowd = NULL;
    if (!prepare(t))
        return false;
    const cebus_site_verdict verdict = place(t, out);
    *out_found = verdict == CEBUS_SITE_PLACED;
    return verdict != CEBUS_SITE_NO_HOST_MEMORY && (!*out_found || run(t, out, timeline));
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
        out_plan->wait_ns = timeline.stall_ns;
        *out_ns = timeline.total_ns;
        return true;
    }
    cebus_placement_clear(out);
    cebus_plan_clear(&t.plan);
    *out_found = false;
    return ok;
}
