#include "evict/planner/search.h"

#include <math.h>

#include "evict/planner/improve.h"
#include "evict/planner/ladder.h"
#include "evict/planner/march.h"
#include "evict/planner/prune.h"
#include "evict/planner/swap_slots.h"
#include "evict/planner/weights.h"

/** Visits for a call of the program that a run may take beside its part of the effort. */
#define FIRST_VISITS 64
/** Parts of the effort after which no more ways are tried; swaps are better searched than found. */
#define WAYS_PART 2
#define SWAPS_PART 6
/** Times the effort for marches where no plan fits. */
#define MARCH_EFFORTS 5
/** Of the effort for what is placed first, where calls are so many and packings take long: what
 * places are found for at once goes on with the rest. */
#define LONG_CALLS 4096
#define FIRST_EFFORT (3.0 / 4)
/** Times the effort that all there is may take in the longest programs that swap. */
#define LONG_EFFORTS 2.5
/** Plans that take less than such a part of the program's time, and copy nothing, are searched with
 * half of the effort: with all of it they came out cheaper by 0.13% of the program at most. */
#define CHEAP 0.04
/** Of the steps of a first plan with swaps, before anything is swapped. */
#define BARE_PART 2
/** Rounds in which weights are found; and where the program waits. */
#define ROUNDS 200
#define FIRST_ROUNDS 60
/** Of the effort for each of two searches; the better one goes on with the rest. */
#define BOTH_PARTS (3.0 / 8)

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
static bool is_better(const cebus_search *s, double peak, uint64_t ns)
{
    return peak <= s->limit && s->best.peak <= s->limit ? ns < s->best_ns : peak < s->best.peak;
}

bool cebus_search_offer(cebus_search *s)
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

uint64_t cebus_search_most_ns(const cebus_search *s)
{
    return s->best.peak <= s->limit ? s->best_ns + s->best_ns / 2
                                    : (uint64_t)(CEBUS_SEARCH_MOST_OVERHEAD * s->base_ns);
}

/** A short look at each replay goes with the run that made it; what takes longer counts. */
bool cebus_search_prune(cebus_search *s, double limit)
{
    const uint64_t most = 256 + 2 * s->sequence.n_replays;
    uint64_t visits;
    bool ok = cebus_prune_all(&s->sequence, limit, s->sequence.pool, &visits);
    s->greedy.closure.spent += visits > most ? visits - most : 0;
    return ok;
}

/** One run, pruned. It goes on with the sequence that is there. */
static bool run_once(cebus_search *s, double limit, double theta, cebus_greedy_end *out_end)
{
    *out_end = cebus_greedy_run(&s->greedy, limit, theta, cebus_search_most_ns(s));
    return *out_end != CEBUS_GREEDY_NO_HOST_MEMORY &&
           (*out_end != CEBUS_GREEDY_FITS || cebus_search_prune(s, limit));
}

/** From the bare program to the limit, by way of higher ones. Where a run gets stuck, what it did
 * is dear and of no use: what fitted the limit before stands. */
static bool run_steps(cebus_search *s, const way *how, double theta)
{
    cebus_greedy_end end = CEBUS_GREEDY_FITS;
    if (!cebus_snapshot_restore(&s->base, &s->sequence))
        return false;
    double limit = s->limit, peak = cebus_track_peak(&s->sequence.track, NULL);
    while (how->factor < 1 && limit / how->factor < peak)
        limit /= how->factor;
    while (end == CEBUS_GREEDY_FITS) {
        if (!run_once(s, limit, theta, &end) ||
            (end == CEBUS_GREEDY_FITS && !cebus_search_offer(s)))
            return false;
        if (limit <= s->limit)
            break;
        limit = fmax(limit * how->factor, s->limit);
    }
    return true;
}

uint64_t cebus_search_first_visits(const cebus_iteration *iteration)
{
    const uint64_t calls = iteration->n_calls;
    return FIRST_VISITS * ((calls < CEBUS_SEARCH_LONG ? calls : CEBUS_SEARCH_LONG) + 64);
}

/** A first plan of a long program makes do with few rounds of weights. */
static int rounds_of(const cebus_search *s)
{
    const bool first = s->greedy.terms->effort == 0;
    return first && cebus_search_is_long(s) ? FIRST_ROUNDS : ROUNDS;
}

/** Sets the search up as told, runs it, and runs it again at some of the price it ended at. Nothing
 * comes of it where all is spent. */
static bool try_one(cebus_search *s, const way *how)
{
    if (cebus_greedy_is_stopped(&s->greedy))
        return true;
    if (!cebus_snapshot_restore(&s->base, &s->sequence))
        return false;
    cebus_greedy_share(&s->greedy, s->limit, how->shares);
    if (!how->weighs)
        cebus_weights_level(&s->sequence);
    else if (!cebus_weights_fit(&s->weights, &s->sequence, s->limit,
                                s->best.peak <= s->limit ? (double)s->best_ns : s->base_ns,
                                rounds_of(s), &s->price))
        return false;
    return run_steps(s, how, 0) &&
           (!how->twice || run_steps(s, how, 0.3 * s->greedy.closure.theta));
}

/** Whether what a search may take is gone before it began to search. */
static bool spends_all(const cebus_search *s)
{
    return s->greedy.closure.spent >= s->until;
}

/** done: the first of them was tried. */
static bool try_all(cebus_search *s, bool done)
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
    const uint64_t effort = s->until - s->begun,
                   first = cebus_search_first_visits(s->sequence.iteration);
    for (size_t i = done; i < sizeof ways / sizeof *ways && ok; i++) {
        uint64_t most = s->begun + effort / (done ? SWAPS_PART : WAYS_PART);
        bool enough = s->greedy.closure.spent >= most;
        if (i > 0 && enough && (cebus_search_fits(s) || (effort > 0 && spends_all(s)) || i > 2))
            break;
        s->greedy.most_spent = s->greedy.closure.spent + first + effort / 4;
        ok = try_one(s, &ways[i]);
    }
    return ok;
}

/** What there is to be beaten; UINT64_MAX: nothing fits. Whatever else the best is makes no
 * difference to a run. */
static uint64_t to_beat(const cebus_search *s)
{
    return cebus_search_fits(s) ? s->best_ns : UINT64_MAX;
}

/** A run that was made before counts, and ends, as it did. */
static bool repeat(cebus_search *s, const cebus_trial *before)
{
    s->greedy.closure.spent += before->spent;
    s->greedy.closure.theta = before->theta;
    return !before->succeeded ||
           (cebus_snapshot_restore(&before->better, &s->sequence) && cebus_search_offer(s));
}

/** A plain run from the base, which may take so many steps. In long programs none is made twice: it
 * would end the same, but what is known of replays by then saves some steps. */
static bool try_plain(cebus_search *s, uint64_t allowed)
{
    static const way plain = {.factor = 1, .weighs = true};
    const uint64_t spent = s->greedy.closure.spent, ns = to_beat(s);
    const cebus_trial *before = cebus_trials_find(&s->trials, &s->base, ns, allowed);
    if (before != NULL && cebus_search_is_long(s) && spent + before->spent < s->greedy.end)
        return repeat(s, before);
    s->greedy.most_spent = spent + allowed;
    if (!try_one(s, &plain))
        return false;
    cebus_trial *now = cebus_trials_add(&s->trials, &s->base, ns, allowed);
    if (now == NULL)
        return false;
    now->spent = s->greedy.closure.spent - spent;
    now->theta = s->best_theta;
    now->succeeded = to_beat(s) != ns;
    return !now->succeeded || cebus_snapshot_copy(&s->best, &now->better);
}

/** What a value that came back counts for when it could go again, and whether it may. */
typedef struct sharing {
    double again;
    bool once;
} sharing;

/** Ways to share out the link, at most. */
#define MOST_SHARINGS 4

/** What came of one. */
typedef struct filling {
    cebus_snapshot base;
    uint64_t to_beat;
    sharing how;
    bool more; /**< it makes a difference that values come back once */
} filling;

static bool is_alike(const filling *f, uint64_t to_beat, const sharing *how)
{
    return f->to_beat == to_beat && f->how.again == how->again &&
           (f->how.once == how->once || (f->how.once && !f->more));
}

/** Swaps whatever the link hides; all runs start from that. Noted as fillings[n], unless it is as
 * one of the n before. */
static bool fill_base(cebus_search *s, cebus_plan_terms *terms, cebus_swap_order order,
                      const sharing *how, filling *fillings, size_t n)
{
    filling *now = &fillings[n];
    for (size_t i = 0; i < n; i++) {
        if (is_alike(&fillings[i], to_beat(s), how))
            return cebus_snapshot_copy(&fillings[i].base, &s->base);
    }
    terms->once = how->once;
    now->to_beat = to_beat(s);
    now->how = *how;
    return cebus_sequence_clear(&s->sequence) &&
           cebus_weights_fit(&s->weights, &s->sequence, s->limit,
                             cebus_search_fits(s) ? (double)s->best_ns : s->base_ns, rounds_of(s),
                             &s->price) &&
           cebus_swap_slots_fill(&s->sequence, terms, s->limit, order, s->price, how->again,
                                 &now->more) &&
           cebus_snapshot_take(&s->base, &s->sequence) &&
           cebus_snapshot_copy(&s->base, &now->base) && cebus_search_offer(s);
}

/** Of an order: those to be tried, of a first plan of a long program one. Where none is of use the
 * first one stands: to look for values that come back twice takes steps, which found more elsewhere
 * in most programs. */
static const sharing *sharings_of(cebus_swap_order order, size_t *out_count)
{
    static const sharing in_turn[] = {{1, true}, {1, false}};
    static const sharing best[MOST_SHARINGS] = {{1, true}, {1, false}, {4, false}, {1e9, false}};
    *out_count = order == CEBUS_SWAP_BEST ? MOST_SHARINGS : sizeof in_turn / sizeof *in_turn;
    return order == CEBUS_SWAP_BEST ? best : in_turn;
}

/** The best of some ways to share out the link; runs start from it then, and keep to it. */
static bool share_link(cebus_search *s, cebus_plan_terms *terms, cebus_swap_order order,
                       filling *fillings)
{
    size_t n, best = 0;
    const sharing *ways = sharings_of(order, &n);
    if (terms->effort == 0 && cebus_search_is_long(s))
        n = 1;
    for (size_t i = 0; i < n; i++) {
        uint64_t ns = s->best_ns;
        double peak = s->best.peak;
        if (!fill_base(s, terms, order, &ways[i], fillings, i) ||
            !try_plain(s, cebus_search_first_visits(s->sequence.iteration)))
            return false;
        if (s->best_ns != ns || s->best.peak < peak)
            best = i;
    }
    const bool ok = best + 1 == n || fill_base(s, terms, order, &ways[best], fillings, n);
    terms->once = ways[best].once;
    return ok;
}

/** Swaps, beside the best without any; the base has them then. */
static bool add_swaps(cebus_search *s, cebus_plan_terms *terms, cebus_swap_order order)
{
    const uint64_t first = cebus_search_first_visits(s->sequence.iteration);
    const uint64_t most = terms->effort == 0 ? s->greedy.end / BARE_PART : first;
    filling fillings[MOST_SHARINGS + 1];
    for (size_t i = 0; i <= MOST_SHARINGS; i++) {
        fillings[i] = (filling){.more = false};
        cebus_snapshot_init(&fillings[i].base, s->sequence.pool);
    }
    const bool ok =
        try_plain(s, most < first ? most : first) && share_link(s, terms, order, fillings);
    for (size_t i = 0; i <= MOST_SHARINGS; i++)
        cebus_snapshot_deinit(&fillings[i].base);
    return ok;
}

/** Down a ladder from there. */
static bool descend_from(cebus_search *s, const cebus_plan_terms *terms, const cebus_snapshot *from)
{
    return cebus_snapshot_restore(from, &s->sequence) &&
           cebus_ladder_descend(&s->greedy, terms, s->limit,
                                (uint64_t)(CEBUS_SEARCH_MOST_OVERHEAD * s->base_ns)) &&
           cebus_search_offer(s);
}

/** Where no way led to the limit: from the lowest that one led to, which may be near, and if that
 * leads nowhere from the top. In long programs, each step of which takes longer, that has one
 * effort. */
static bool descend(cebus_search *s, const cebus_plan_terms *terms)
{
    if (s->best.peak <= s->limit || terms->effort == 0 || terms->trial > 0)
        return true;
    const uint64_t end = s->greedy.end, one = s->greedy.closure.spent + terms->effort;
    s->greedy.end = cebus_search_is_long(s) && one < end ? one : end;
    bool ok = descend_from(s, terms, &s->best) &&
              (s->best.peak <= s->limit || descend_from(s, terms, &s->base));
    s->greedy.end = end;
    return ok;
}

bool cebus_search_descend(cebus_search *s, const cebus_plan_terms *terms, uint64_t spent)
{
    const uint64_t end = s->greedy.end, one = s->greedy.closure.spent + terms->effort;
    s->greedy.end = spent < end ? spent : end;
    s->greedy.end = one < s->greedy.end ? one : s->greedy.end;
    bool ok = descend_from(s, terms, &s->base);
    s->greedy.end = end;
    return ok;
}

/** Notes for the searches that share prices who shares them, in what runs start from: in a plan
 * that fits nothing is over the limit, and nobody does. */
static bool note_shares(cebus_search *s)
{
    if (!cebus_snapshot_restore(&s->base, &s->sequence))
        return false;
    cebus_greedy_share(&s->greedy, s->limit, true);
    s->greedy.closure.sharing = false;
    return true;
}

bool cebus_search_improve(cebus_search *s, const cebus_plan_terms *terms, uint64_t spent)
{
    const double theta = s->best_theta;
    spent = spent < s->greedy.end ? spent : s->greedy.end;
    const bool any = s->best.peak <= s->limit && s->greedy.closure.spent < spent;
    if ((any && !note_shares(s)) || !cebus_snapshot_restore(&s->best, &s->sequence))
        return false;
    if (!any)
        return true;
    cebus_weights_level(&s->sequence);
    bool ok = cebus_improve_run(&s->greedy, terms, s->limit, theta, spent) && cebus_search_offer(s);
    s->best_theta = theta;
    return ok;
}

/** Looks no further than is worth it where the plan at hand is cheap. */
static void spare_effort(cebus_search *s, const cebus_plan_terms *terms)
{
    if (terms->host > 0 || !cebus_search_fits(s) || (double)s->best_ns >= CHEAP * s->base_ns)
        return;
    s->enough = terms->effort / 2;
    s->first = s->first < s->enough ? s->first : s->enough;
    s->until = s->until < s->enough ? s->until : s->enough;
}

/** From the bare program, within the effort. The best there was is in `best` and the sequence. */
static bool search_one(cebus_search *s, const cebus_plan_terms *terms, cebus_swap_order order,
                       uint64_t effort)
{
    const bool swaps = terms->host > 0;
    cebus_plan_terms mine = *terms;
    s->begun = s->greedy.closure.spent;
    s->effort = effort;
    s->until = s->begun + (effort < s->first ? effort : s->first);
    bool ok = cebus_sequence_clear(&s->sequence) && cebus_snapshot_take(&s->base, &s->sequence) &&
              cebus_snapshot_take(&s->best, &s->sequence) &&
              (!swaps || add_swaps(s, &mine, order)) && try_all(s, swaps) && cebus_search_march(s);
    spare_effort(s, terms);
    return ok && cebus_search_improve(s, &mine, s->until);
}

/** Another search; what was found by the better one stands. */
static bool search_also(cebus_search *s, const cebus_plan_terms *terms, cebus_swap_order order,
                        uint64_t effort)
{
    cebus_snapshot first = s->best;
    const uint64_t first_ns = s->best_ns;
    const double first_theta = s->best_theta;
    cebus_snapshot_init(&s->best, s->sequence.pool);
    bool ok = search_one(s, terms, order, effort);
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

/** Both ways to share out the link; what was found by the better one stands. */
static bool search_both(cebus_search *s, const cebus_plan_terms *terms)
{
    const uint64_t effort = (uint64_t)(BOTH_PARTS * (double)terms->effort);
    if (!search_one(s, terms, CEBUS_SWAP_IN_TURN, effort))
        return false;
    if (terms->effort == 0 || (s->best.peak <= s->limit && s->best_ns == 0))
        return true;
    return search_also(s, terms, CEBUS_SWAP_BEST, effort);
}

/** Marches on which values go by the host whether the link hides that or not, then a search for
 * what runs again instead, with no swaps in its way; the better one goes on. */
static bool search_unhidden(cebus_search *s, const cebus_plan_terms *terms)
{
    static const cebus_march ways[] = {{.link = 1}, {.link = 0.3}};
    cebus_march_course course;
    cebus_plan_terms without = *terms;
    without.host = 0;
    s->efforts = 1;
    bool ok = cebus_snapshot_take(&s->best, &s->sequence);
    for (size_t i = 0; i < sizeof ways / sizeof *ways && ok; i++) {
        s->greedy.most_spent = s->greedy.closure.spent + terms->effort / 2;
        ok = cebus_search_march_once(s, &ways[i], false, &course);
    }
    ok = ok && cebus_search_improve(s, terms, s->greedy.closure.spent + terms->effort / 2) &&
         search_also(s, &without, CEBUS_SWAP_BEST, terms->effort);
    const uint64_t more = s->greedy.closure.spent + terms->effort / 2;
    return ok && cebus_search_improve(s, terms, more);
}

bool cebus_search_run(cebus_search *s, const cebus_plan_terms *terms)
{
    const bool keeps = terms->place != NULL && s->sequence.iteration->n_calls >= LONG_CALLS;
    s->enough = terms->effort;
    s->first = (uint64_t)((keeps ? FIRST_EFFORT : 1) * (double)terms->effort);
    s->efforts = MARCH_EFFORTS;
    if (terms->host > 0 && terms->unhidden)
        return search_unhidden(s, terms);
    bool ok = terms->host > 0 ? search_both(s, terms)
                              : search_one(s, terms, CEBUS_SWAP_BEST, terms->effort);
    return ok && descend(s, terms) && cebus_search_improve(s, terms, s->first);
}

/** Times the effort for all there is: fewer for long programs, each step of which takes longer, if
 * they swap. Else there is nothing beside it, and what fits in the end may need all of it. */
static double most_efforts(const cebus_iteration *iteration, const cebus_plan_terms *terms)
{
    const double part = (double)CEBUS_SEARCH_LONG / (double)(iteration->n_calls + 1);
    if (terms->host == 0)
        return CEBUS_SEARCH_EFFORTS;
    return fmax(CEBUS_SEARCH_EFFORTS * fmin(part, 1), LONG_EFFORTS);
}

bool cebus_search_init(cebus_search *s, const cebus_iteration *iteration,
                       const cebus_plan_terms *terms, double limit, cebus_pool *pool)
{
    *s = (cebus_search){.limit = limit, .base_ns = (double)cebus_iteration_cost(iteration)};
    cebus_snapshot_init(&s->base, pool);
    cebus_snapshot_init(&s->best, pool);
    cebus_weights_init(&s->weights, pool);
    cebus_trials_init(&s->trials, pool);
    if (!cebus_sequence_init(&s->sequence, iteration, terms->grain > 0 ? terms->grain : 1, pool))
        return false;
    if (terms->host > 0 && !cebus_links_init(&s->links, &s->sequence, terms, pool)) {
        cebus_sequence_deinit(&s->sequence);
        return false;
    }
    if (cebus_greedy_init(&s->greedy, &s->sequence, pool)) {
        s->greedy.terms = terms;
        s->last = UINT64_MAX;
        const double efforts = most_efforts(iteration, terms) * (double)terms->effort;
        const uint64_t most = terms->most > 0 ? terms->most : (uint64_t)efforts;
        s->greedy.end = most + cebus_search_first_visits(iteration);
        if (terms->effort == 0)
            s->greedy.end = terms->most > 0 ? terms->most : CEBUS_SEARCH_FIRST;
        if (terms->effort > 0 && terms->place != NULL)
            s->last = s->greedy.end - terms->effort;
        return true;
    }
    if (s->links.terms != NULL)
        cebus_links_deinit(&s->links);
    cebus_sequence_deinit(&s->sequence);
    return false;
}

void cebus_search_deinit(cebus_search *s)
{
    cebus_weights_deinit(&s->weights);
    cebus_trials_deinit(&s->trials);
    cebus_greedy_deinit(&s->greedy);
    if (s->links.terms != NULL)
        cebus_links_deinit(&s->links);
    cebus_sequence_deinit(&s->sequence);
    cebus_snapshot_deinit(&s->best);
    cebus_snapshot_deinit(&s->base);
}
