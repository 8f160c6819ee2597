#include "evict/planner/planner.h"

#include <math.h>
#include <string.h>

#include "evict/curve.h"
#include "evict/planner/emit.h"
#include "evict/planner/greedy.h"
#include "evict/planner/improve.h"
#include "evict/planner/ladder.h"
#include "evict/planner/march.h"
#include "evict/planner/prune.h"
#include "evict/planner/snapshot.h"
#include "evict/planner/swap_slots.h"
#include "evict/planner/weights.h"
#include "evict/planner/yielding.h"

/** Sums of bytes up to this are exact in the sequence's doubles. */
#define MOST_BYTES (UINT64_C(1) << 52)

/** Times the iteration itself, beyond which a run is not worth going on with. */
#define MOST_OVERHEAD 5
/** Visits for a call of the program that a run may take beside its part of the effort. */
#define FIRST_VISITS 64
/** Parts of the effort after which no more ways are tried; swaps are better searched than found. */
#define WAYS_PART 2
#define SWAPS_PART 6
/** Plans of which it is asked whether they can be placed. */
#define MOST_PLACED 8
/** Plans that take such a part of the program's time are dear: marches may find better ones. */
#define DEAR 0.3
/** Times the effort for marches where no plan fits. */
#define MARCH_EFFORTS 5
#define MOST_MARCHES 64
/** Times the half of the effort for a search after marches, at most. */
#define MOST_DEAR 4
/** Of the effort for what is placed first, where calls are so many and packings take long: what
 * places are found for at once goes on with the rest. */
#define LONG_CALLS 4096
#define FIRST_EFFORT (3.0 / 4)
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
/** Of the effort for each of two searches; the better one goes on with the rest. */
#define BOTH_PARTS (3.0 / 8)

typedef struct search {
    cebus_sequence sequence;
    cebus_greedy greedy;
    cebus_snapshot base; /**< what runs start from: swaps */
    cebus_snapshot best;
    cebus_links links; /**< for what waits; `terms` NULL: nothing is swapped */
    uint64_t best_ns;  /**< of the best: replays and waiting */
    double limit, base_ns;
    double price;      /**< ns for an area, of the weights */
    double best_theta; /**< at which the best run ended */
    uint64_t begun;    /**< spent before the search at hand */
    uint64_t effort;   /**< that each march has */
    uint64_t until;    /**< what may have been spent when it is over */
    uint64_t first;    /**< effort for what is placed first, unless that is dear */
} search;

/** A way to run the greedy. */
typedef struct
try {
    double factor; /**< of one limit to the next on the way to the last; 1: straight to it */
    bool weighs;   /**< by weights.h */
    bool shares;   /**< cebus_greedy_share() */
    bool twice;
}
way;

/** Whether what has that peak, and takes so much longer than the program, is better than the best.
 */
static bool is_better(const search *s, double peak, uint64_t ns)
{
    return peak <= s->limit && s->best.peak <= s->limit ? ns < s->best_ns : peak < s->best.peak;
}

/** Keeps the sequence if it is better than the best. */
static bool offer(search *s)
{
    double peak = cebus_track_peak(&s->sequence.track, NULL);
    uint64_t ns = s->sequence.cost;
    if (peak <= s->limit && s->links.terms != NULL) {
        if (!cebus_links_run(&s->links))
            return false;
        ns += s->links.streams.stall_ns;
    }
    if (!is_better(s, peak, ns))
        return true;
    s->best_theta = s->greedy.closure.theta;
    s->best_ns = ns;
    return cebus_snapshot_take(&s->best, &s->sequence);
}

/** How much dearer than the best a run may get. */
static uint64_t most_ns(const search *s)
{
    return s->best.peak <= s->limit ? s->best_ns + s->best_ns / 2
                                    : (uint64_t)(MOST_OVERHEAD * s->base_ns);
}

/** One run, pruned. It goes on with the sequence that is there. */
static bool run_once(search *s, double limit, double theta, cebus_greedy_end *out_end)
{
    *out_end = cebus_greedy_run(&s->greedy, limit, theta, most_ns(s));
    return *out_end != CEBUS_GREEDY_NO_HOST_MEMORY &&
           (*out_end != CEBUS_GREEDY_FITS ||
            cebus_prune_all(&s->sequence, limit, s->sequence.pool));
}

/** From the bare program to the limit, by way of higher ones. Where a run gets stuck, what it did
 * is dear and of no use: what fitted the limit before stands. */
static bool run_steps(search *s, const way *how, double theta)
{
    cebus_greedy_end end = CEBUS_GREEDY_FITS;
    if (!cebus_snapshot_restore(&s->base, &s->sequence))
        return false;
    double limit = s->limit, peak = cebus_track_peak(&s->sequence.track, NULL);
    while (how->factor < 1 && limit / how->factor < peak)
        limit /= how->factor;
    while (end == CEBUS_GREEDY_FITS) {
        if (!run_once(s, limit, theta, &end) || (end == CEBUS_GREEDY_FITS && !offer(s)))
            return false;
        if (limit <= s->limit)
            break;
        limit = fmax(limit * how->factor, s->limit);
    }
    return true;
}

/** Sets the search up as told, runs it, and runs it again at some of the price it ended at. */
static bool try_one(search *s, const way *how)
{
    if (!cebus_snapshot_restore(&s->base, &s->sequence))
        return false;
    cebus_greedy_share(&s->greedy, s->limit, how->shares);
    if (!how->weighs)
        cebus_weights_level(&s->sequence);
    else if (!cebus_weights_fit(&s->sequence, s->limit,
                                s->best.peak <= s->limit ? (double)s->best_ns : s->base_ns,
                                s->sequence.pool, &s->price))
        return false;
    return run_steps(s, how, 0) &&
           (!how->twice || run_steps(s, how, 0.3 * s->greedy.closure.theta));
}

/** done: the first of them was tried. */
static bool try_all(search *s, bool done)
{
    static const way ways[] = {
        {.factor = 1, .weighs = true},
        {.factor = 1, .twice = true},
        {.factor = 0.7, .shares = true},
        {.factor = 1, .shares = true, .twice = true},
        {.factor = 0.7},
        {.factor = 0.7, .weighs = true},
        {.factor = 0.85},
        {.factor = 0.85, .shares = true},
        {.factor = 1, .weighs = true, .shares = true, .twice = true},
        {.factor = 0.7, .weighs = true, .shares = true},
        {.factor = 0.6},
        {.factor = 0.85, .weighs = true, .shares = true},
        {.factor = 0.93, .shares = true},
    };
    bool ok = true;
    const uint64_t first = FIRST_VISITS * (s->sequence.iteration->n_calls + 64);
    const uint64_t effort = s->until - s->begun;
    for (size_t i = done; i < sizeof ways / sizeof *ways && ok; i++) {
        uint64_t most = s->begun + effort / (done ? SWAPS_PART : WAYS_PART);
        bool enough = s->greedy.closure.spent >= most;
        if (i > 0 && enough && (s->best.peak <= s->limit || i > 2))
            break;
        s->greedy.most_spent = s->greedy.closure.spent + first + effort / 4;
        ok = try_one(s, &ways[i]);
    }
    return ok;
}

/** One march; what it fitted in is pruned, which may make it a third as dear. */
static bool march_once(search *s, const cebus_march *how, bool shares)
{
    const uint64_t most = (uint64_t)fmin(MOST_OVERHEAD * s->base_ns, 3.0 * (double)most_ns(s));
    if (!cebus_snapshot_restore(&s->base, &s->sequence))
        return false;
    cebus_weights_level(&s->sequence);
    cebus_greedy_share(&s->greedy, s->limit, shares);
    cebus_greedy_end end = cebus_march_run(&s->greedy, how, s->limit, most);
    cebus_greedy_share(&s->greedy, s->limit, false);
    if (end != CEBUS_GREEDY_FITS)
        return end != CEBUS_GREEDY_NO_HOST_MEMORY;
    return cebus_prune_all(&s->sequence, s->limit, s->sequence.pool) && offer(s);
}

static bool is_dear(const search *s)
{
    return s->best.peak > s->limit || (double)s->best_ns > DEAR * s->base_ns;
}

/** Where plans are dear, or none fits, as near the floor: marches, each in its way and then, until
 * one fits, by chance. They are no part of the effort, half of which is left for a search, and more
 * the dearer the plan. */
static bool march_all(search *s)
{
    static const struct {
        cebus_march how;
        bool shares;
    } ways[] = {
        {{.price = INFINITY}, false},
        {{.price = 0, .merges = true}, false},
        {{.price = 0}, true},
        {{.price = 10000}, false},
        {{.price = INFINITY, .merges = true}, false},
        {{.price = 10000}, true},
        {{.price = 0}, false},
        {{.price = 10000, .merges = true}, true},
    };
    const size_t n = sizeof ways / sizeof *ways;
    const uint64_t begun = s->greedy.closure.spent, effort = s->effort;
    bool ok = true;
    for (uint32_t i = 0; ok && effort > 0 && i < MOST_MARCHES && is_dear(s); i++) {
        bool fits = s->best.peak <= s->limit;
        uint64_t end = begun + (fits ? 1 : MARCH_EFFORTS) * effort;
        if ((fits && i >= n) || s->greedy.closure.spent >= end ||
            cebus_greedy_is_stopped(&s->greedy))
            break;
        cebus_march how = ways[i % n].how;
        how.noise = i / (uint32_t)n;
        if (how.noise > 0 && how.price <= 0)
            continue;
        s->greedy.most_spent = s->greedy.closure.spent + effort;
        ok = march_once(s, &how, ways[i % n].shares);
    }
    if (s->greedy.closure.spent > begun) {
        const uint64_t half = effort / 2;
        double dear = fmin((double)s->best_ns / (DEAR * s->base_ns), MOST_DEAR);
        s->until = s->greedy.closure.spent + (uint64_t)(fmax(dear, 1) * (double)half);
    }
    return ok;
}

/** Swaps whatever the link hides; all runs start from that. */
static bool fill_base(search *s, const cebus_plan_terms *terms, cebus_swap_order order,
                      double again)
{
    return cebus_sequence_clear(&s->sequence) &&
           cebus_weights_fit(&s->sequence, s->limit,
                             s->best.peak <= s->limit ? (double)s->best_ns : s->base_ns,
                             s->sequence.pool, &s->price) &&
           cebus_swap_slots_fill(&s->sequence, terms, s->limit, order, s->price, again) &&
           cebus_snapshot_take(&s->base, &s->sequence) && offer(s);
}

/** The best of some ways to share out the link; runs start from it then. */
static bool add_swaps(search *s, const cebus_plan_terms *terms, cebus_swap_order order)
{
    static const way plain = {.factor = 1, .weighs = true};
    static const double agains[] = {1, 4, 1e9};
    uint64_t first = FIRST_VISITS * (s->sequence.iteration->n_calls + 64);
    s->greedy.most_spent = s->greedy.closure.spent + first;
    if (!try_one(s, &plain))
        return false;
    size_t n = order == CEBUS_SWAP_BEST ? sizeof agains / sizeof *agains : 1, best = 0;
    for (size_t i = 0; i < n; i++) {
        uint64_t ns = s->best_ns;
        double peak = s->best.peak;
        s->greedy.most_spent = s->greedy.closure.spent + first;
        if (!fill_base(s, terms, order, agains[i]) || !try_one(s, &plain))
            return false;
        if (s->best_ns != ns || s->best.peak < peak)
            best = i;
    }
    return best + 1 == n || fill_base(s, terms, order, agains[best]);
}

/** Down a ladder from there. */
static bool descend_from(search *s, const cebus_plan_terms *terms, const cebus_snapshot *from)
{
    return cebus_snapshot_restore(from, &s->sequence) &&
           cebus_ladder_descend(&s->greedy, terms, s->limit,
                                (uint64_t)(MOST_OVERHEAD * s->base_ns)) &&
           offer(s);
}

/** Where no way led to the limit: from the lowest that one led to, which may be near, and if that
 * leads nowhere from the top. */
static bool descend(search *s, const cebus_plan_terms *terms)
{
    if (s->best.peak <= s->limit || terms->effort == 0)
        return true;
    return descend_from(s, terms, &s->best) &&
           (s->best.peak <= s->limit || descend_from(s, terms, &s->base));
}

/** The best, made better until so much is spent; it is in the sequence then, too. The price at
 * which the run ended that made it stays: what a search ended at by chance says nothing. */
static bool improve(search *s, const cebus_plan_terms *terms, uint64_t spent)
{
    const double theta = s->best_theta;
    if (!cebus_snapshot_restore(&s->best, &s->sequence))
        return false;
    if (s->best.peak > s->limit || s->greedy.closure.spent >= spent)
        return true;
    cebus_weights_level(&s->sequence);
    bool ok = cebus_improve_run(&s->greedy, terms, s->limit, theta, spent) && offer(s);
    s->best_theta = theta;
    return ok;
}

static bool emit(search *s, const cebus_plan_terms *terms, cebus_plan *out)
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
static bool leave_free(search *s, const uint64_t *crowd, uint64_t part)
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
static bool tighten_at(search *s, const cebus_plan_terms *terms, double theta, double most_ns)
{
    cebus_greedy *greedy = &s->greedy;
    greedy->most_spent = greedy->closure.spent + terms->effort / TIGHTEN_PART;
    cebus_greedy_end end = cebus_greedy_run(greedy, s->limit, theta, (uint64_t)most_ns);
    if (end != CEBUS_GREEDY_FITS)
        return end != CEBUS_GREEDY_NO_HOST_MEMORY;
    return cebus_prune_all(&s->sequence, s->limit, s->sequence.pool) && offer(s);
}

/** What was found to be placed best. */
typedef struct placed {
    cebus_snapshot at;
    uint64_t ns;    /**< with what it takes to move values between their places */
    bool any, last; /**< it is the one that was placed last */
} placed;

/** Brings what fitted before down to the limit again, and searches from there. It may be far off
 * where most is left free: a repair, which looks at what idles there alone, came to three times the
 * cost; and which price is the one to begin with cannot be told, so some are tried. */
static bool tighten(search *s, const cebus_plan_terms *terms, const placed *p, bool *out_fits)
{
    static const double parts[] = {1, 0, 0.3, 3};
    const double theta = s->best_theta;
    const double most = p->any ? MOST_TIGHTENED * (double)p->ns : MOST_OVERHEAD * s->base_ns;
    bool ok = cebus_snapshot_take(&s->base, &s->sequence);
    s->best.peak = INFINITY;
    for (size_t i = 0; i < sizeof parts / sizeof *parts && ok; i++)
        ok = cebus_snapshot_restore(&s->base, &s->sequence) &&
             tighten_at(s, terms, parts[i] * theta, most);
    if (!p->any)
        ok = ok && march_all(s);
    s->best_theta = theta;
    *out_fits = s->best.peak < INFINITY;
    bool gains = terms->host > 0 || is_dear(s);
    uint64_t more = terms->effort / (gains ? GAINING_PART : TIGHTEN_PART);
    return ok && (!*out_fits || improve(s, terms, s->greedy.closure.spent + more));
}

/** Asks for places for the plan, and keeps it if it is the best. */
static bool try_places(search *s, const cebus_plan_terms *terms, uint64_t *crowd, placed *p,
                       cebus_plan *out, bool *out_done)
{
    uint64_t ns = 0;
    memset(crowd, 0, s->sequence.iteration->n_calls * sizeof *crowd);
    bool found = terms->place(terms->place_context, out, crowd, &ns);
    *out_done = found && (double)ns <= s->base_ns / SMALL_MOVES_PART;
    p->last = found && (!p->any || s->best_ns + ns < p->ns);
    if (!p->last)
        return true;
    p->any = true;
    p->ns = s->best_ns + ns;
    return cebus_snapshot_take(&p->at, &s->sequence);
}

/** A plan that has places, made better with the rest of the effort. */
static bool go_on(search *s, const cebus_plan_terms *terms, uint64_t *crowd, placed *p,
                  cebus_plan *out)
{
    bool done;
    const uint64_t ns = s->best_ns;
    if (!improve(s, terms, terms->effort))
        return false;
    if (s->best_ns >= ns)
        return true;
    cebus_plan_clear(out);
    return emit(s, terms, out) && try_places(s, terms, crowd, p, out, &done);
}

/** Leaves free what was too much, or a half of that: at first, as a packing that was lucky would do
 * with less. False: there is nothing to leave free. */
static bool make_room(search *s, const uint64_t *crowd, bool first)
{
    bool any = leave_free(s, crowd, first ? 2 : 1);
    if (any && cebus_track_peak(&s->sequence.track, NULL) <= s->limit)
        any = leave_free(s, crowd, first ? 2 : 1);
    return any;
}

/** The plan, and others for less room where its values do not fit side by side. What cannot be
 * placed is handed out as it is. */
static bool place_all(search *s, const cebus_plan_terms *terms, uint64_t *crowd, placed *p,
                      cebus_plan *out)
{
    bool fits, done;
    if (!try_places(s, terms, crowd, p, out, &done))
        return false;
    if (done)
        return go_on(s, terms, crowd, p, out);
    for (int i = 1; i < MOST_PLACED && !done; i++) {
        if (cebus_greedy_is_stopped(&s->greedy) || !make_room(s, crowd, i == 1))
            break;
        if (!tighten(s, terms, p, &fits))
            return false;
        if (!fits || (p->any && s->best_ns >= p->ns))
            break;
        cebus_plan_clear(out);
        if (!emit(s, terms, out) || !try_places(s, terms, crowd, p, out, &done))
            return false;
    }
    return true;
}

static bool place(search *s, const cebus_plan_terms *terms, uint64_t *crowd, cebus_plan *out)
{
    placed p = {.any = false};
    uint64_t ns;
    cebus_snapshot_init(&p.at, s->sequence.pool);
    bool ok = place_all(s, terms, crowd, &p, out);
    if (ok && p.any && !p.last) {
        cebus_plan_clear(out);
        ok = cebus_snapshot_restore(&p.at, &s->sequence) && emit(s, terms, out);
        if (ok)
            (void)terms->place(terms->place_context, out, crowd, &ns);
    }
    cebus_snapshot_deinit(&p.at);
    return ok;
}

static bool hand_out(search *s, const cebus_plan_terms *terms, cebus_plan *out)
{
    size_t bytes = s->sequence.iteration->n_calls * sizeof(uint64_t);
    if (!emit(s, terms, out))
        return false;
    if (terms->place == NULL || s->best.peak > s->limit)
        return true;
    uint64_t *crowd = cebus_pool_alloc(s->sequence.pool, bytes);
    bool ok = crowd != NULL && place(s, terms, crowd, out);
    cebus_pool_free_object(s->sequence.pool, crowd, bytes);
    return ok;
}

/** From the bare program, within the effort. The best there was is in `best` and the sequence. */
static bool search_one(search *s, const cebus_plan_terms *terms, cebus_swap_order order,
                       uint64_t effort)
{
    const bool swaps = terms->host > 0;
    s->begun = s->greedy.closure.spent;
    s->effort = effort;
    s->until = s->begun + (effort < s->first ? effort : s->first);
    return cebus_sequence_clear(&s->sequence) && cebus_snapshot_take(&s->base, &s->sequence) &&
           cebus_snapshot_take(&s->best, &s->sequence) && (!swaps || add_swaps(s, terms, order)) &&
           try_all(s, swaps) && march_all(s) && improve(s, terms, s->until);
}

/** Both ways to share out the link; what was found by the better one stands. */
static bool search_both(search *s, const cebus_plan_terms *terms)
{
    const uint64_t effort = (uint64_t)(BOTH_PARTS * (double)terms->effort);
    if (!search_one(s, terms, CEBUS_SWAP_IN_TURN, effort))
        return false;
    if (terms->effort == 0 || (s->best.peak <= s->limit && s->best_ns == 0))
        return true;
    cebus_snapshot first = s->best;
    const uint64_t first_ns = s->best_ns;
    const double first_theta = s->best_theta;
    cebus_snapshot_init(&s->best, s->sequence.pool);
    bool ok = search_one(s, terms, CEBUS_SWAP_BEST, effort);
    if (ok && is_better(s, first.peak, first_ns)) {
        cebus_snapshot second = s->best;
        s->best = first;
        s->best_ns = first_ns;
        s->best_theta = first_theta;
        first = second;
    }
    cebus_snapshot_deinit(&first);
    return ok;
}

static bool search_all(search *s, const cebus_plan_terms *terms, cebus_plan *out)
{
    const bool keeps = terms->place != NULL && s->sequence.iteration->n_calls >= LONG_CALLS;
    s->first = (uint64_t)((keeps ? FIRST_EFFORT : 1) * (double)terms->effort);
    bool ok = terms->host > 0 ? search_both(s, terms)
                              : search_one(s, terms, CEBUS_SWAP_BEST, terms->effort);
    return ok && descend(s, terms) && improve(s, terms, s->first) && hand_out(s, terms, out);
}

static bool plan(search *s, const cebus_iteration *iteration, const cebus_plan_terms *terms,
                 cebus_plan *out)
{
    cebus_snapshot_init(&s->base, out->pool);
    cebus_snapshot_init(&s->best, out->pool);
    if (!cebus_sequence_init(&s->sequence, iteration, terms->grain > 0 ? terms->grain : 1,
                             out->pool))
        return false;
    bool ok = terms->host == 0 || cebus_links_init(&s->links, &s->sequence, terms, out->pool);
    if (ok && cebus_greedy_init(&s->greedy, &s->sequence, out->pool)) {
        s->greedy.terms = terms;
        ok = search_all(s, terms, out);
        cebus_greedy_deinit(&s->greedy);
    } else {
        ok = false;
    }
    if (s->links.terms != NULL)
        cebus_links_deinit(&s->links);
    cebus_sequence_deinit(&s->sequence);
    cebus_snapshot_deinit(&s->best);
    cebus_snapshot_deinit(&s->base);
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
    search s = {.limit = fmax((double)cebus_plan_target(terms), 1), /* no steps lead down to 0 */
                .base_ns = (double)cebus_iteration_cost(iteration)};
    cebus_plan_terms own = *terms;
    own.effort = cebus_planner_effort(iteration, terms->effort);
    return plan(&s, iteration, &own, out);
}
