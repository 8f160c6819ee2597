#include "evict/planner/planner.h"

#include <math.h>
#include <string.h>

#include "evict/curve.h"
#include "evict/planner/emit.h"
#include "evict/planner/search.h"
#include "evict/planner/usage.h"
#include "evict/planner/yielding.h"

/** Sums of bytes up to this are exact in the sequence's doubles. */
#define MOST_BYTES (UINT64_C(1) << 52)

/** Times the effort that plans for less room may take together. */
#define PLACED_EFFORTS 2
/** Those that swap, which are all searched on: one for each tenth of its time that the first costs
 * the program, up to that, and a half at least. The dearer it is the more a search gains. */
#define LEAST_PLACED_EFFORTS 0.5
#define PLACED_COST 0.1
/** Plans of which it is asked whether they can be placed. */
#define MOST_PLACED 8
/** Of a long program, one after the other that were no better than the best. */
#define MOST_VAIN 2
/** The least part of the limit that is left free where a plan cannot be placed. */
#define LEAST_FREE_PART 512
/** A run of the greedy for less room, and the search from the best of some, may take such a part of
 * the effort; the search more of it where it gains more: where values are swapped, or plans dear.
 */
#define TIGHTEN_PART 8
#define GAINING_PART 3
/** Moves that take a smaller part of the program's time are none: another plan costs more. */
#define SMALL_MOVES_PART 1000
/** Times what the best takes with its moves, beyond which a plan for less room is given up: what is
 * pruned and searched may be that much cheaper. */
#define MOST_TIGHTENED 1.25
/** So many times the effort where calls are few, less up to where there are many. */
#define FEW_CALLS 512
#define MANY_CALLS 2048
#define FEW_CALLS_EFFORT 1.75

static bool emit(cebus_search *s, const cebus_plan_terms *terms, cebus_plan *out)
{
    bool ok = true;
    if (terms->host > 0) {
        ok = cebus_links_run(&s->links) && (terms->effort == 0 || cebus_yielding_settle(&s->links));
        out->wait_ns = s->links.streams.stall_ns;
    }
    ok = ok && cebus_emit_plan(&s->sequence, terms->host > 0 ? &s->links : NULL, out);
    if (terms->host > 0)
        cebus_yielding_clear(&s->links);
    return ok;
}

/** A part of the bytes has to be free while calls run, and what runs before each; not so few that
 * nothing changes. False: there are none. */
static bool leave_free(cebus_search *s, const uint64_t *crowd, uint64_t part)
{
    bool any = false;
    const double least = floor(s->limit / LEAST_FREE_PART);
    cebus_sequence *sequence = &s->sequence;
    uint32_t last = cebus_sequence_start(sequence);
    for (uint32_t k = 0; k < sequence->iteration->n_calls; last = k++) {
        const uint64_t share = crowd[k] / part;
        cebus_track_add(&sequence->track, cebus_sequence_key(sequence, last) + 1,
                        cebus_sequence_key(sequence, k) + 1,
                        crowd[k] > 0 ? fmax((double)share, least) : 0);
        any = any || crowd[k] > 0;
    }
    return any;
}

/** Brings the sequence down to the limit at that price. */
static bool tighten_at(cebus_search *s, const cebus_plan_terms *terms, double theta, double most_ns)
{
    cebus_greedy *greedy = &s->greedy;
    greedy->most_spent = greedy->closure.spent + terms->effort / TIGHTEN_PART;
    cebus_greedy_end end = cebus_greedy_run(greedy, s->limit, theta, (uint64_t)most_ns);
    if (end != CEBUS_GREEDY_FITS)
        return end != CEBUS_GREEDY_NO_HOST_MEMORY;
    return cebus_search_prune(s, s->limit) && cebus_search_offer(s);
}

/** The plan that was found to be placed best. */
typedef struct placed {
    cebus_plan plan;
    uint64_t ns; /**< with what it takes to move values between their places */
    bool any;
    uint64_t end; /**< what may have been spent when no more plans are made */
} placed;

/** Whether a search gains much: where values are swapped, or plans are dear. */
static bool gains(const cebus_search *s, const cebus_plan_terms *terms)
{
    return terms->host > 0 || cebus_search_is_dear(s);
}

/** What the search from a plan for less room may take: a part of what is left. */
static uint64_t searching(const cebus_search *s, const cebus_plan_terms *terms, const placed *p)
{
    const uint64_t spent = s->greedy.closure.spent, left = p->end > spent ? p->end - spent : 0;
    const uint64_t most = terms->effort / (gains(s, terms) ? GAINING_PART : TIGHTEN_PART);
    return most < left / 2 ? most : left / 2;
}

/** What plans for less room may take. */
static uint64_t placing(const cebus_search *s, const cebus_plan_terms *terms)
{
    const double costs = (double)s->best_ns / s->base_ns / PLACED_COST,
                 efforts = terms->host > 0 ? fmax(costs, LEAST_PLACED_EFFORTS) : PLACED_EFFORTS;
    return (uint64_t)(fmin(efforts, PLACED_EFFORTS) * (double)terms->effort);
}

/** Brings what fitted before down to the limit again, and searches from there. It may be far off
 * where most is left free: a repair, which looks at what idles there alone, came to three times the
 * cost; and which price is the one to begin with cannot be told, so some are tried. */
static bool tighten(cebus_search *s, const cebus_plan_terms *terms, const placed *p, bool *out_fits)
{
    static const double parts[] = {1, 0, 0.3, 3};
    const double theta = s->best_theta;
    const double most =
        p->any ? MOST_TIGHTENED * (double)p->ns : CEBUS_SEARCH_MOST_OVERHEAD * s->base_ns;
    bool ok = cebus_snapshot_take(&s->base, &s->sequence);
    s->best.peak = INFINITY;
    for (size_t i = 0; i < sizeof parts / sizeof *parts && ok; i++)
        ok = cebus_snapshot_restore(&s->base, &s->sequence) &&
             tighten_at(s, terms, parts[i] * theta, most);
    if (ok && s->best.peak > s->limit && terms->host > 0)
        ok = cebus_search_descend(s, terms, p->end);
    if (!p->any)
        ok = ok && cebus_search_march(s);
    s->best_theta = theta;
    *out_fits = s->best.peak <= s->limit;
    return ok && (!*out_fits ||
                  cebus_search_improve(s, terms, s->greedy.closure.spent + searching(s, terms, p)));
}

/** Asks for places for a plan, and takes it over if it is the best. */
static bool try_places(const cebus_search *s, const cebus_plan_terms *terms, uint64_t *crowd,
                       placed *p, cebus_plan *plan)
{
    uint64_t ns = 0;
    memset(crowd, 0, s->sequence.iteration->n_calls * sizeof *crowd);
    bool found = terms->place(terms->place_context, plan, crowd, &ns);
    if (found && (!p->any || s->best_ns + ns < p->ns)) {
        p->any = true;
        p->ns = s->best_ns + ns;
        cebus_plan_clear(&p->plan);
        p->plan = *plan;
        cebus_plan_init(plan, p->plan.pool);
        if (terms->keep != NULL)
            terms->keep(terms->place_context);
    }
    return found && (double)ns <= s->base_ns / SMALL_MOVES_PART;
}

/** The plan as it stands, and places for it. *out_done: found, and next to nothing moves. */
static bool emit_placed(cebus_search *s, const cebus_plan_terms *terms, uint64_t *crowd, placed *p,
                        cebus_plan *out, bool *out_done)
{
    cebus_plan_clear(out);
    if (!emit(s, terms, out))
        return false;
    *out_done = try_places(s, terms, crowd, p, out);
    return true;
}

/** A plan that has places, made better until so much is spent. *out_done false: it has none then.
 */
static bool go_on(cebus_search *s, const cebus_plan_terms *terms, uint64_t spent, uint64_t *crowd,
                  placed *p, cebus_plan *out, bool *out_done)
{
    const uint64_t ns = s->best_ns;
    return cebus_search_improve(s, terms, spent) &&
           (s->best_ns >= ns || emit_placed(s, terms, crowd, p, out, out_done));
}

/** Leaves free what was too much, or a half of that: at first, as a packing that was lucky would do
 * with less. False: there is nothing to leave free. */
static bool make_room(cebus_search *s, const uint64_t *crowd, bool first)
{
    bool any = leave_free(s, crowd, first ? 2 : 1);
    if (any && cebus_track_peak(&s->sequence.track, NULL) <= s->limit)
        any = leave_free(s, crowd, first ? 2 : 1);
    return any;
}

/** The plan, and others for less room where its values do not fit side by side. */
static bool place_all(cebus_search *s, const cebus_plan_terms *terms, uint64_t *crowd, placed *p,
                      cebus_plan *out)
{
    bool fits, done;
    int vain = 0;
    if (!emit_placed(s, terms, crowd, p, out, &done))
        return false;
    if (done)
        return go_on(s, terms, s->enough, crowd, p, out, &done);
    for (int i = 1; i < MOST_PLACED; i++) {
        const uint64_t spent = s->greedy.closure.spent, ns = s->best_ns;
        if (cebus_greedy_is_stopped(&s->greedy) || spent >= p->end || (done && !gains(s, terms)))
            break;
        if (done) {
            if (!go_on(s, terms, spent + (p->end - spent) / 2, crowd, p, out, &done))
                return false;
            if (done && s->best_ns >= ns)
                break;
        }
        if (done)
            continue;
        if (!make_room(s, crowd, i == 1))
            break;
        if (!tighten(s, terms, p, &fits))
            return false;
        if (!fits || (p->any && s->best_ns >= p->ns))
            break;
        const uint64_t best = p->ns;
        if (!emit_placed(s, terms, crowd, p, out, &done))
            return false;
        vain = p->any && p->ns == best ? vain + 1 : 0;
        if (vain >= MOST_VAIN && cebus_search_is_long(s))
            break;
    }
    return true;
}

/** A plan with places if any was found; else the last one, as it is. */
static bool place(cebus_search *s, const cebus_plan_terms *terms, uint64_t *crowd, cebus_plan *out)
{
    placed p = {.end = s->greedy.closure.spent + placing(s, terms)};
    cebus_plan_init(&p.plan, out->pool);
    bool ok = place_all(s, terms, crowd, &p, out);
    if (ok && p.any) {
        cebus_plan_clear(out);
        *out = p.plan;
    } else {
        cebus_plan_clear(&p.plan);
    }
    return ok;
}

static bool hand_out(cebus_search *s, const cebus_plan_terms *terms, cebus_plan *out)
{
    size_t bytes = s->sequence.iteration->n_calls * sizeof(uint64_t);
    if (terms->place == NULL || s->best.peak > s->limit)
        return emit(s, terms, out);
    uint64_t *crowd = cebus_pool_alloc(s->sequence.pool, bytes);
    bool ok = crowd != NULL && place(s, terms, crowd, out);
    cebus_pool_free_object(s->sequence.pool, crowd, bytes);
    return ok;
}

static bool is_exact(const cebus_iteration *iteration)
{
    uint64_t bytes = 0;
    for (size_t v = 0; v < iteration->n_values && bytes <= MOST_BYTES; v++)
        bytes = iteration->values[v].bytes <= MOST_BYTES ? bytes + iteration->values[v].bytes
                                                         : MOST_BYTES + 1;
    return bytes <= MOST_BYTES;
}

uint64_t cebus_planner_effort(const cebus_iteration *iteration, uint64_t effort)
{
    double calls = fmin(fmax((double)iteration->n_calls, FEW_CALLS), MANY_CALLS);
    double few = (MANY_CALLS - calls) / (MANY_CALLS - FEW_CALLS);
    return (uint64_t)((double)effort * (1 + few * (FEW_CALLS_EFFORT - 1)));
}

bool cebus_planner_plan(const cebus_iteration *iteration, const cebus_plan_terms *terms,
                        cebus_plan *out)
{
    cebus_curve curve;
    if (!cebus_curve_init(&curve, iteration, out->pool))
        return false;
    bool fits = cebus_curve_peak(&curve, NULL) <= cebus_plan_target(terms);
    cebus_curve_deinit(&curve);
    if (fits || !is_exact(iteration))
        return true;
    const double limit = fmax((double)cebus_plan_target(terms), 1); /* no steps lead down to 0 */
    cebus_search s;
    cebus_plan_terms own = *terms;
    /* Where nothing can fit no search gets there. */
    if (cebus_usage_least(iteration) <= cebus_plan_target(terms))
        own.effort = cebus_planner_effort(iteration, terms->effort);
    else
        own.effort = 0;
    if (!cebus_search_init(&s, iteration, &own, limit, out->pool))
        return false;
    bool ok = cebus_search_run(&s, &own);
    out->over = ok && terms->effort > 0 && s.best.peak > s.limit;
    ok = ok && hand_out(&s, &own, out);
    out->spent = s.greedy.closure.spent;
    cebus_search_deinit(&s);
    return ok;
}
