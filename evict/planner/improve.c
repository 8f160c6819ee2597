#include "evict/planner/improve.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "evict/planner/chance.h"
#include "evict/planner/exchange.h"
#include "evict/planner/prune.h"
#include "evict/planner/snapshot.h"

#define NONE CEBUS_SEQUENCE_NONE

enum {
    MOST_RUINED = 40,
    MOST_RUINED_LOG = 4, /* in most steps fewer than 2^4, few rather than many */
    MOST_SWAPS = 8,      /* in one step */
    /* Visits of a repair: there are other ways than a long one. */
    MOST_LOOK = 3000,
    /* Steps for a call of the program that make nothing better, before it is over. */
    MOST_IDLE = 40,
    /* Of eight steps without swaps, those that put in what is not needed; so many picks. */
    STIRS = 2,
    MOST_STIRRED = 3,
    /* Searches that begin, or more where values are swapped; visits of one for a call that are
     * enough for it. */
    RUNNERS = 4,
    MOST_RUNNERS = 8,
    /* Of so many of them one goes by what shares the price of keeping a value (greedy.h). */
    SHARING_PART = 4,
    RACE_VISITS = 100,
    /* Replays that pruning counts as one visit for; visits that this is the price of, and one for
     * each replay: where it takes longer, as replays depend on each other, that counts, too. */
    PRUNED_A_VISIT = 8,
    PRUNED_USUALLY = 256,
};

/** Heat of the simulated annealing (Kirkpatrick et al., 1983), first and last: by how much a step
 * may make the plan longer on the average, in mean costs of a replay of the best plan. */
#define HOT 1
#define COLD 0.05
/** Times that where searches that swap race: one that loses its way is dropped anyway. */
#define RACE_HEAT 2
/** A stir brings one place below the limit by up to STIR_DEPTH of it. Until what it makes
 * superfluous is pruned it may cost STIR_COST of all replays, or STIR_REPLAYS mean ones if that is
 * more: where there are few, one may replace all of them. */
#define STIR_DEPTH 0.2
#define STIR_COST (1.0 / 16)
#define STIR_REPLAYS 10

typedef struct ruin {
    cebus_greedy *greedy;
    cebus_sequence *sequence;
    uint64_t random;
    uint32_t chosen[MOST_RUINED];
    uint32_t n_chosen;
    bool swaps, races;
    cebus_exchange exchange;
    cebus_links runs[2];         /**< of the sequence as it stands, and after a step */
    unsigned stands;             /**< which is which */
    uint32_t values[MOST_SWAPS]; /**< to be swapped */
    uint32_t n_values;
    double heat;         /**< ns that a step may make it worse, on the average */
    cebus_snapshot best; /**< if it is not what stands */
    uint64_t best_ns;
} ruin;

static uint32_t below(ruin *r, uint32_t n)
{
    return cebus_chance_below(&r->random, n);
}

/** A random replay; NONE: by bad luck, none was met. */
static uint32_t any_replay(ruin *r)
{
    uint32_t first = cebus_sequence_end(r->sequence) + 1;
    uint32_t n = (uint32_t)r->sequence->n_instances - first;
    for (int tries = 0; tries < 64 && n > 0; tries++) {
        uint32_t i = first + below(r, n);
        uint32_t call = r->sequence->instances[i].call;
        if (call != NONE && !cebus_sequence_is_swap(r->sequence, call))
            return i;
    }
    return NONE;
}

/** The dearest of a few random ones. */
static uint32_t dear_replay(ruin *r)
{
    uint32_t best = any_replay(r);
    for (int i = 0; i < 3 && best != NONE; i++) {
        uint32_t one = any_replay(r);
        const cebus_iteration_call *calls = r->sequence->iteration->calls;
        if (one != NONE && calls[r->sequence->instances[one].call].cost_ns >
                               calls[r->sequence->instances[best].call].cost_ns)
            best = one;
    }
    return best;
}

/** Chooses replays next to a random one in the order in which they run. */
static void choose_window(ruin *r, uint32_t n)
{
    uint32_t i = any_replay(r);
    for (uint32_t looked = 0; i != NONE && i != CEBUS_TRACK_NONE && r->n_chosen < n; looked++) {
        if (cebus_sequence_is_replay(r->sequence, i) &&
            !cebus_sequence_is_swap(r->sequence, r->sequence->instances[i].call))
            r->chosen[r->n_chosen++] = i;
        else if (looked > 40 * n)
            break;
        i = cebus_track_next(&r->sequence->track, i);
    }
}

/** Chooses replays of calls that are near each other in the program. */
static void choose_neighbours(ruin *r, uint32_t n)
{
    uint32_t middle = dear_replay(r), first = cebus_sequence_end(r->sequence) + 1;
    if (middle == NONE)
        return;
    uint32_t call = r->sequence->instances[middle].call;
    uint32_t reach = 2 + below(r, 4 * n);
    r->chosen[r->n_chosen++] = middle;
    for (uint32_t i = first; i < r->sequence->n_instances && r->n_chosen < n; i++) {
        uint32_t other = r->sequence->instances[i].call;
        if (i != middle && other < r->sequence->iteration->n_calls && other + reach > call &&
            other < call + reach)
            r->chosen[r->n_chosen++] = i;
    }
}

static void choose_any(ruin *r, uint32_t n)
{
    while (r->n_chosen < n)
        r->chosen[r->n_chosen++] = dear_replay(r);
}

static void bar(ruin *r, uint32_t call)
{
    uint32_t count;
    const uint32_t *values = cebus_sequence_makes(r->sequence, call, &count);
    for (uint32_t i = 0; i < count; i++)
        r->greedy->barred[values[i]] = r->greedy->noise;
}

static bool remove_chosen(ruin *r, bool bars)
{
    bool ok = true;
    for (uint32_t i = 0; i < r->n_chosen && ok; i++) {
        uint32_t instance = r->chosen[i];
        uint32_t call = instance != NONE ? r->sequence->instances[instance].call : NONE;
        if (call == NONE || !cebus_sequence_can_remove(r->sequence, instance))
            continue;
        if (bars && below(r, 3) == 0)
            bar(r, call);
        ok = cebus_sequence_remove_all(r->sequence, instance);
    }
    return ok;
}

static void choose(ruin *r, uint32_t n)
{
    r->n_chosen = 0;
    switch (below(r, 4)) {
    case 0:
    case 1:
        choose_window(r, n);
        break;
    case 2:
        choose_neighbours(r, n);
        break;
    default:
        choose_any(r, n);
    }
}

/* ---- swaps -------------------------------------------------------------------------------- */

/** ns beyond the program's own. */
static uint64_t total(const ruin *r)
{
    return r->sequence->cost + (r->swaps ? r->runs[r->stands].streams.stall_ns : 0);
}

static void note_value(ruin *r, uint32_t value)
{
    for (uint32_t i = 0; i < r->n_values; i++) {
        if (r->values[i] == value)
            return;
    }
    if (r->n_values < MOST_SWAPS && r->sequence->lives[value].bytes >= r->exchange.least)
        r->values[r->n_values++] = value;
}

/** It is swapped, and once is all. */
static bool is_done_with(const ruin *r, uint32_t value)
{
    return r->runs[0].terms->once && r->runs[r->stands].outs[value] != NONE;
}

/** Takes out some replays, and notes what they made for swapping. */
static bool note_replayed(ruin *r)
{
    choose(r, 1 + below(r, 4));
    for (uint32_t i = 0; i < r->n_chosen; i++) {
        uint32_t count,
            call = r->chosen[i] != NONE ? r->sequence->instances[r->chosen[i]].call : NONE;
        const uint32_t *values =
            call != NONE ? cebus_sequence_makes(r->sequence, call, &count) : NULL;
        for (uint32_t j = 0; values != NULL && j < count; j++) {
            if (!is_done_with(r, values[j]))
                note_value(r, values[j]);
        }
    }
    return remove_chosen(r, false);
}

/** Whether a value that idles before event i might be away: of one that is swapped only what comes
 * after a use since it is back. */
static bool may_leave(const ruin *r, uint32_t value, uint32_t i)
{
    const cebus_life *life = &r->sequence->lives[value];
    const uint32_t out = r->runs[r->stands].outs[value];
    uint32_t last = cebus_event_instance(life->events[i - 1]);
    return out == NONE ||
           (cebus_event_kind_of(life->events[i - 1]) != CEBUS_EVENT_PRODUCE &&
            cebus_sequence_key(r->sequence, last) > cebus_sequence_key(r->sequence, out));
}

/** ns for which a value idles where an instance runs; 0: it is used there, or gone. */
static uint64_t idle_ns(const ruin *r, uint32_t value, uint32_t instance)
{
    const cebus_life *life = &r->sequence->lives[value];
    const uint64_t *starts = r->runs[r->stands].starts;
    uint32_t i = cebus_sequence_find(r->sequence, value, cebus_sequence_key(r->sequence, instance));
    if (i == 0 || i >= life->count || cebus_event_instance(life->events[i]) == instance ||
        cebus_event_kind_of(life->events[i]) == CEBUS_EVENT_PRODUCE || !may_leave(r, value, i))
        return 0;
    return starts[cebus_event_instance(life->events[i])] -
           starts[cebus_event_instance(life->events[i - 1])];
}

/** Notes for swapping some values that idle where an instance runs, mostly those that idle long. */
static bool note_idle(ruin *r, uint32_t instance)
{
    uint32_t most = 1 + below(r, 4);
    cebus_picks *picks = &r->greedy->picks;
    bool ok = true;
    picks->count = 0;
    for (uint32_t v = 0; v < r->sequence->iteration->n_values && ok; v++) {
        if (r->sequence->lives[v].bytes < r->exchange.least || is_done_with(r, v))
            continue;
        double ns = (double)idle_ns(r, v, instance);
        if (ns > 0)
            ok = cebus_picks_push(picks, r->sequence->pool,
                                  (cebus_pick){.score = -ns * below(r, 1024), .value = v});
    }
    for (uint32_t i = 0; i < most && picks->count > 0; i++)
        note_value(r, cebus_picks_pop(picks).value);
    return ok;
}

/** Takes some swaps out; `again`: notes them, to be put in elsewhere. */
static bool take_swaps(ruin *r, bool again)
{
    const cebus_copies *copies = &r->runs[r->stands].out;
    bool ok = true;
    for (uint32_t i = 0, n = 1 + below(r, 3); i < n && copies->count > 0 && ok; i++) {
        uint32_t value = copies->items[below(r, (uint32_t)copies->count)].value;
        bool taken = false;
        if (!r->runs[0].terms->once && below(r, 2) == 0)
            ok = cebus_exchange_take_again(&r->exchange, value, &taken);
        if (ok && !taken)
            ok = cebus_exchange_take(&r->exchange, value, &taken);
        if (taken && again)
            note_value(r, value);
    }
    return ok;
}

static bool put_swaps(ruin *r)
{
    cebus_swap_place places[MOST_SWAPS];
    bool ok = true, stale;
    for (uint32_t i = 0; i < r->n_values && ok; i++) {
        if (r->runs[r->stands].outs[r->values[i]] == NONE)
            ok = cebus_exchange_take(&r->exchange, r->values[i], &stale);
    }
    for (uint32_t i = 0; i < r->n_values && ok; i++)
        ok = cebus_exchange_find(&r->exchange, r->values[i], true, &places[i]);
    for (uint32_t i = 0; i < r->n_values && ok; i++)
        ok = places[i].value == NONE || cebus_exchange_put(&r->exchange, &places[i]);
    return ok;
}

static bool note_peak(ruin *r)
{
    uint32_t peak;
    cebus_track_peak(&r->sequence->track, &peak);
    return note_idle(r, peak);
}

/** Notes what idles around a random replay, which may become superfluous. */
static bool note_around(ruin *r)
{
    uint32_t replay = any_replay(r);
    return replay == NONE || note_idle(r, replay);
}

/** Takes out swaps whose copies are on the link where the first noted value wants it; by chance
 * they are put in elsewhere. Where the link is always busy, a dear value gets in no other way. */
static bool make_way(ruin *r)
{
    uint32_t count, *more = &r->values[r->n_values];
    if (r->n_values == 0)
        return true;
    bool again = below(r, 2) == 0;
    bool ok =
        cebus_exchange_make_way(&r->exchange, r->values[0], MOST_SWAPS - r->n_values, more, &count);
    r->n_values += again ? count : 0;
    return ok;
}

/** The first six of the eight ways to change a plan that swaps. */
static bool change_swaps(ruin *r, uint32_t how)
{
    bool ok = cebus_exchange_begin(&r->exchange, &r->runs[r->stands]);
    r->n_values = 0;
    if (how < 2) {
        ok = ok && note_replayed(r) && (how > 0 || !r->races || make_way(r));
    } else if (how == 2) {
        choose(r, 1 + below(r, MOST_SWAPS));
        ok = ok && remove_chosen(r, false) && note_peak(r);
    } else if (how == 3) {
        ok = ok && take_swaps(r, false) && note_peak(r);
    } else if (how == 4) {
        ok = ok && note_around(r);
    } else {
        ok = ok && take_swaps(r, below(r, 2) == 0);
    }
    return ok && put_swaps(r);
}

/* ---- the search --------------------------------------------------------------------------- */

static bool change(ruin *r)
{
    uint32_t how = r->swaps ? below(r, 8) : 8;
    if (how < 6)
        return change_swaps(r, how);
    choose(r, 1 + below(r, UINT32_C(1) << below(r, MOST_RUINED_LOG)));
    return remove_chosen(r, true);
}

/** Whether the plan after a change takes at most `most` ns. */
static bool is_good(ruin *r, uint64_t most, bool *out)
{
    cebus_links *run = &r->runs[!r->stands];
    *out = r->sequence->cost <= most;
    if (!*out || !r->swaps)
        return true;
    if (!cebus_links_run_within(run, most - r->sequence->cost))
        return false;
    r->greedy->closure.spent += r->sequence->n_instances / 64;
    *out = r->sequence->cost + run->streams.stall_ns <= most;
    if (*out)
        r->stands = !r->stands;
    return true;
}

/** Brings a random place below the limit. *most: raised by what it may cost until it is pruned. */
static bool stir(ruin *r, double limit, double theta, uint64_t *most)
{
    double lower = limit * (1 - STIR_DEPTH * (1 + below(r, 1024)) / 1024);
    double share = fmin(1, fmax(STIR_COST, STIR_REPLAYS / (double)(1 + r->sequence->n_replays)));
    uint32_t at = below(r, (uint32_t)r->sequence->iteration->n_calls);
    *most += (uint64_t)(share * (double)*most);
    return cebus_greedy_stir(r->greedy, lower, theta, *most, at, 1 + below(r, MOST_STIRRED)) !=
           CEBUS_GREEDY_NO_HOST_MEMORY;
}

/** A change and its repair; a plan that fits is pruned if it may be kept. */
static bool try_change(ruin *r, double limit, double theta, uint64_t most, bool *out_fits)
{
    cebus_sequence *sequence = r->sequence;
    cebus_greedy *greedy = r->greedy;
    cebus_greedy_end end = CEBUS_GREEDY_FITS;
    bool stirs = !r->swaps && below(r, 8) < STIRS;
    greedy->most_spent = greedy->closure.spent + MOST_LOOK;
    if (!(stirs ? stir(r, limit, theta, &most) : change(r)))
        return false;
    if (cebus_track_exceeds(&sequence->track, 0, UINT64_MAX, limit))
        end = cebus_greedy_repair(greedy, limit, theta, most);
    greedy->closure.spent += 4;
    *out_fits = end == CEBUS_GREEDY_FITS;
    if (!*out_fits || sequence->cost > most + most / 64)
        return end != CEBUS_GREEDY_NO_HOST_MEMORY;
    const uint64_t usual = PRUNED_USUALLY + sequence->n_replays;
    greedy->closure.spent += sequence->n_replays / PRUNED_A_VISIT;
    uint64_t visits;
    bool ok = cebus_prune_all(sequence, limit, sequence->pool, &visits);
    greedy->closure.spent += visits > usual ? visits - usual : 0;
    return ok;
}

/** One step of the search. */
static bool step(ruin *r, double limit, double theta)
{
    cebus_sequence *sequence = r->sequence;
    double chance = (1 + below(r, 65536)) / 65536.0;
    uint64_t most = total(r) + (uint64_t)(-log(chance) * r->heat);
    bool fits = false, good = false;
    cebus_sequence_keep(sequence);
    r->greedy->noise++;
    theta *= exp2((double)below(r, 512) / 64 - 5);
    return try_change(r, limit, theta, most, &fits) && (!fits || is_good(r, most, &good)) &&
           (good || cebus_sequence_undo(sequence, 0));
}

/** Saves the plan, if it is the best, before it is changed. */
static bool keep_best(ruin *r, bool *is_kept)
{
    if (*is_kept || total(r) > r->best_ns)
        return true;
    *is_kept = true;
    return cebus_snapshot_take(&r->best, r->sequence);
}

/** Steps until so much is spent, or none was any good for long. */
static bool take_steps(ruin *r, double limit, double theta, uint64_t spent)
{
    const cebus_greedy *greedy = r->greedy;
    uint64_t idle = 0, most = MOST_IDLE * (uint64_t)r->sequence->iteration->n_calls;
    uint64_t from = greedy->closure.spent;
    bool ok = true, is_kept = false;
    r->best_ns = total(r);
    while (ok && greedy->closure.spent < spent && idle < most && r->best_ns > 0 &&
           !cebus_greedy_is_stopped(greedy)) {
        double part = (double)(greedy->closure.spent - from) / (double)(spent - from);
        r->heat = (double)r->best_ns / (double)(r->sequence->n_replays + 1);
        r->heat *= HOT * pow(COLD / HOT, part) * (r->swaps && r->races ? RACE_HEAT : 1);
        ok = keep_best(r, &is_kept) && step(r, limit, theta);
        idle++;
        if (total(r) < r->best_ns) {
            r->best_ns = total(r);
            is_kept = false;
            idle = 0;
        }
    }
    return ok && (!is_kept || cebus_snapshot_restore(&r->best, r->sequence));
}

/** Searches from the present plan; ends at the best, of best_ns. learns: its steps are few. */
static bool run(ruin *r, double limit, double theta, uint64_t spent, bool learns)
{
    cebus_greedy *greedy = r->greedy;
    r->stands = 0;
    bool ok = !r->swaps || cebus_links_run(&r->runs[0]);
    cebus_snapshot_init(&r->best, r->sequence->pool);
    greedy->noise = 0;
    cebus_greedy_hurry(greedy, true, learns);
    ok = ok && take_steps(r, limit, theta, spent);
    cebus_greedy_hurry(greedy, false, false);
    greedy->noise = 0;
    cebus_snapshot_deinit(&r->best);
    return ok;
}

/* ---- several searches --------------------------------------------------------------------- */

/** A search in the race: the best it has found. */
typedef struct runner {
    cebus_snapshot at;
    uint64_t ns;
    size_t number;
} runner;

/** Goes on with one search. */
static bool run_on(ruin *r, runner *one, double limit, double theta, uint64_t spent)
{
    cebus_closure *closure = &r->greedy->closure;
    closure->sharing = one->number % SHARING_PART == SHARING_PART - 1;
    bool ok = cebus_snapshot_restore(&one->at, r->sequence) && run(r, limit, theta, spent, false);
    closure->sharing = false;
    one->ns = r->best_ns;
    return ok && cebus_snapshot_take(&one->at, r->sequence);
}

static int by_ns(const void *a, const void *b)
{
    const runner *left = a, *right = b;
    if (left->ns != right->ns)
        return left->ns < right->ns ? -1 : 1;
    return left->number < right->number ? -1 : 1;
}

/** n searches for a part of the effort, the better half of them for another part, and so on: past
 * some effort other random numbers bring more than going on. */
static bool race(ruin *r, runner *runners, size_t n, double limit, double theta, uint64_t spent)
{
    uint64_t begun = r->greedy->closure.spent, stages = 1;
    bool ok = true;
    for (size_t i = 0; i < n && ok; i++)
        ok = cebus_snapshot_take(&runners[i].at, r->sequence);
    while (n >> stages > 0)
        stages++;
    uint64_t part = (spent - begun) / stages;
    for (uint64_t stage = 0; stage < stages && ok; stage++, n = (n + 1) / 2) {
        for (size_t i = 0; i < n && ok; i++)
            ok = run_on(r, &runners[i], limit, theta, begun + part * stage + part * (i + 1) / n);
        qsort(runners, n, sizeof *runners, by_ns);
    }
    return ok && cebus_snapshot_restore(&runners[0].at, r->sequence);
}

/** How many searches that effort is enough for; fewer than RUNNERS: one. */
static size_t count_runners(const ruin *r, uint64_t effort)
{
    uint64_t each = RACE_VISITS * (uint64_t)r->sequence->iteration->n_calls;
    size_t n = r->swaps ? MOST_RUNNERS : RUNNERS;
    while (n >= RUNNERS && effort / n < each)
        n /= 2;
    return n < RUNNERS ? 1 : n;
}

/** One search, or several where the effort is enough for them. */
static bool run_all(ruin *r, double limit, double theta, uint64_t spent)
{
    uint64_t begun = r->greedy->closure.spent;
    runner runners[MOST_RUNNERS] = {0};
    size_t n = count_runners(r, spent > begun ? spent - begun : 0);
    r->races = n > 1;
    if (!r->races)
        return run(r, limit, theta, spent, !r->swaps);
    for (size_t i = 0; i < n; i++) {
        cebus_snapshot_init(&runners[i].at, r->sequence->pool);
        runners[i].number = i;
    }
    bool ok = race(r, runners, n, limit, theta, spent);
    for (size_t i = 0; i < n; i++)
        cebus_snapshot_deinit(&runners[i].at);
    return ok;
}

/** Cautions (closure.h) that improve_lower tries. */
static const double cautions[] = {0.03, 0.01, 0.1, 0.3};

bool cebus_improve_lower(cebus_greedy *greedy, double limit, double theta, uint64_t most_ns,
                         uint32_t seed, bool *out_fits)
{
    cebus_sequence *sequence = greedy->sequence;
    ruin r = {.greedy = greedy, .sequence = sequence, .random = seed};
    cebus_sequence_keep(sequence);
    greedy->noise = seed;
    memset(greedy->barred, 0, sequence->iteration->n_values * sizeof *greedy->barred);
    if (seed % 2 == 0) {
        choose(&r, 1 + below(&r, below(&r, 4) == 0 ? MOST_RUINED : 10));
        if (!remove_chosen(&r, true))
            return false;
    }
    theta *= exp2((double)below(&r, 512) / 64 - 5);
    greedy->closure.caution = cautions[seed % (sizeof cautions / sizeof *cautions)];
    cebus_greedy_end end = cebus_greedy_repair(greedy, limit, theta, most_ns);
    greedy->closure.caution = 1;
    greedy->noise = 0;
    *out_fits = end == CEBUS_GREEDY_FITS;
    return end != CEBUS_GREEDY_NO_HOST_MEMORY && (*out_fits || cebus_sequence_undo(sequence, 0));
}

bool cebus_improve_run(cebus_greedy *greedy, const cebus_plan_terms *terms, double limit,
                       double theta, uint64_t spent)
{
    cebus_sequence *sequence = greedy->sequence;
    ruin r = {.greedy = greedy, .sequence = sequence, .random = 1, .swaps = terms->host > 0};
    if (!r.swaps)
        return run_all(&r, limit, theta, spent);
    if (!cebus_links_init(&r.runs[0], sequence, terms, sequence->pool))
        return false;
    bool ok = cebus_links_init(&r.runs[1], sequence, terms, sequence->pool);
    if (ok) {
        cebus_exchange_init(&r.exchange, sequence, limit);
        ok = run_all(&r, limit, theta, spent);
        cebus_exchange_deinit(&r.exchange);
        cebus_links_deinit(&r.runs[1]);
    }
    cebus_links_deinit(&r.runs[0]);
    return ok;
}
