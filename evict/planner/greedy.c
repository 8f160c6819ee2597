#include "evict/planner/greedy.h"

#include <math.h>
#include <string.h>

#define NONE CEBUS_SEQUENCE_NONE

/** A pick whose exact score is above the next guess by less than this factor is taken all the same.
 */
#define SLACK 1.02
/** Before it is pruned a run may cost so many times what it may in the end. */
#define PRUNED (1 + 1.0 / 64)
/** After a chain kept or made a value, at most so many of the calls that read it are looked at
 * again. */
#define READERS 48
/** The factor by which a guess was too low fades by BELIEF each time it is used; it is multiplied
 * by VAIN where the stretch gained nothing; MOST_DEAR is its maximum. */
#define BELIEF 0.95
#define VAIN 4
#define MOST_DEAR 1000
/** A run with more replays than this for each call of the program is given up; a march with more
 * than that. */
#define MOST_REPLAYS 3
#define MOST_MARCHED 10

bool cebus_greedy_init(cebus_greedy *greedy, cebus_sequence *sequence, cebus_pool *pool)
{
    memset(greedy, 0, sizeof *greedy);
    greedy->pool = pool;
    greedy->sequence = sequence;
    greedy->most_spent = greedy->end = UINT64_MAX;
    greedy->most_score = INFINITY;
    if (!cebus_closure_init(&greedy->closure, sequence, pool))
        return false;
    size_t bytes = sequence->iteration->n_values * sizeof *greedy->marks;
    greedy->marks = cebus_pool_alloc(pool, bytes);
    greedy->barred = cebus_pool_alloc(pool, bytes);
    greedy->factors = cebus_pool_alloc(pool, sequence->iteration->n_values * sizeof(double));
    greedy->worth = cebus_pool_alloc(pool, sequence->iteration->n_values * sizeof *greedy->worth);
    greedy->worth_least = INFINITY;
    if (greedy->marks != NULL && greedy->barred != NULL && greedy->factors != NULL &&
        greedy->worth != NULL) {
        memset(greedy->marks, 0, bytes);
        memset(greedy->barred, 0, bytes);
        return true;
    }
    cebus_greedy_deinit(greedy);
    return false;
}

void cebus_greedy_deinit(cebus_greedy *greedy)
{
    cebus_closure_deinit(&greedy->closure);
    cebus_pool_free_object(greedy->pool, greedy->marks,
                           greedy->sequence->iteration->n_values * sizeof *greedy->marks);
    cebus_pool_free_object(greedy->pool, greedy->barred,
                           greedy->sequence->iteration->n_values * sizeof *greedy->barred);
    cebus_pool_free_object(greedy->pool, greedy->worth,
                           greedy->sequence->iteration->n_values * sizeof *greedy->worth);
    cebus_pool_free_object(greedy->pool, greedy->factors,
                           greedy->sequence->iteration->n_values * sizeof *greedy->factors);
    cebus_picks_deinit(&greedy->picks, greedy->pool);
    cebus_pool_free_object(greedy->pool, greedy->touched,
                           greedy->touched_capacity * sizeof *greedy->touched);
}

void cebus_greedy_hurry(cebus_greedy *greedy, bool on, bool learns)
{
    size_t n = greedy->sequence->iteration->n_values;
    greedy->brisk = on;
    greedy->learns = learns;
    memset(greedy->barred, 0, n * sizeof *greedy->barred);
    for (size_t v = 0; v < n; v++)
        greedy->factors[v] = 1;
}

/* ---- picks -------------------------------------------------------------------------------- */

/** Whether event i of a value is a use, before which the value could be evicted. */
static bool is_use(const cebus_greedy *g, uint32_t v, uint32_t i)
{
    const cebus_life *life = &g->sequence->lives[v];
    return i > 0 && i < life->count && life->call != NONE && life->bytes >= g->least &&
           cebus_event_kind_of(life->events[i]) != CEBUS_EVENT_PRODUCE &&
           !cebus_sequence_is_swap(
               g->sequence, g->sequence->instances[cebus_event_instance(life->events[i])].call);
}

/** Keys of the calls between an event of a value and the one before. */
static uint64_t begin_of(const cebus_greedy *g, const cebus_life *life, uint32_t i)
{
    return cebus_sequence_key(g->sequence, cebus_event_instance(life->events[i - 1])) + 1;
}
static uint64_t end_of(const cebus_greedy *g, const cebus_life *life, uint32_t i)
{
    return cebus_sequence_key(g->sequence, cebus_event_instance(life->events[i]));
}

/** Whether in addition calls between it and the event before are over the limit. */
static bool is_worth_it(const cebus_greedy *g, uint32_t v, uint32_t i)
{
    const cebus_life *life = &g->sequence->lives[v];
    if (!is_use(g, v, i))
        return false;
    uint64_t from = begin_of(g, life, i), to = end_of(g, life, i);
    return from < to && cebus_track_exceeds(&g->sequence->track, from, to, g->closure.limit);
}

/** The median of noise_of(). */
#define MIDDLE 1.05

/** The factor of a value's scores, from 0.7 to 1.4; 1 without noise. */
static double noise_of(const cebus_greedy *g, uint32_t v)
{
    uint64_t mixed = ((uint64_t)g->noise << 32 | v) * UINT64_C(0x9e3779b97f4a7c15);
    mixed = (mixed ^ mixed >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
    return g->noise == 0 ? 1 : 0.7 + 0.7 * (double)(mixed >> 40) / (double)(1 << 24);
}

/** The score of evicting a value until `user` uses it. The chain may also run earlier, while the
 * inputs of its last call are still there: the better of both is in the closure. */
static double weigh_exactly(cebus_greedy *g, uint32_t v, uint32_t user)
{
    cebus_closure *closure = &g->closure;
    cebus_closure_weigh(closure, v, user);
    double score = closure->score;
    uint32_t early = closure->early;
    if (early == NONE || early == cebus_sequence_start(g->sequence) || closure->n_calls == 1)
        return score;
    const cebus_life *life = &g->sequence->lives[v];
    uint32_t i = cebus_sequence_find(g->sequence, v, cebus_sequence_key(g->sequence, user));
    uint64_t from = cebus_sequence_key(g->sequence, cebus_event_instance(life->events[i - 1])) + 1;
    if (cebus_sequence_key(g->sequence, early) <= from)
        return score;
    cebus_closure_weigh(closure, v, early);
    if (closure->score < score)
        return closure->score;
    cebus_closure_weigh(closure, v, user);
    return closure->score;
}

/** The same with noise. A march must not get stuck: where keeping inputs leaves no gain, it weighs
 * a chain that makes all of them again. */
static double weigh(cebus_greedy *g, uint32_t v, uint32_t user)
{
    double score = weigh_exactly(g, v, user), theta = g->closure.theta;
    if (score == INFINITY && g->marches && theta < INFINITY) {
        g->closure.theta = INFINITY;
        score = weigh_exactly(g, v, user);
        g->closure.theta = theta;
    }
    return score * noise_of(g, v);
}

/** So many guesses count as one visit of the closure; a greedy that learns makes more of them. */
#define LOOKS 8
#define LEARNING_LOOKS 3

/** Finds the first and last place over the limit: elsewhere there is no area to gain. */
static void find_over(cebus_greedy *g)
{
    const cebus_track *track = &g->sequence->track;
    if (g->over_version == track->version && g->over_limit == g->closure.limit)
        return;
    g->over_version = track->version;
    g->over_limit = g->closure.limit;
    cebus_track_find_over(track, g->over_limit, &g->over_from, &g->over_to);
    g->sight++;
}

/** The area that so many bytes fewer between two keys take off. */
static double area_without(cebus_greedy *g, uint64_t from, uint64_t to, double bytes)
{
    uint64_t mixed = ((uint64_t)bytes ^ from << 32 ^ to) * UINT64_C(0x9e3779b97f4a7c15);
    cebus_known_area *known = &g->known[mixed >> 32 & (CEBUS_GREEDY_KNOWN - 1)];
    if (known->sight != g->sight || known->from != from || known->to != to || known->bytes != bytes)
        *known = (cebus_known_area){
            from, to, bytes,
            cebus_track_area(&g->sequence->track, from, to, g->closure.limit, -bytes, 0), g->sight};
    return known->area;
}

/** A lower bound of weigh(): the time of the value's own call over the area of its own bytes. A
 * chain of several calls may free more than that, but its score is not below the lowest of its
 * parts. Most stretches are never weighed by this. INFINITY: it gains nothing. */
static double least_of(cebus_greedy *g, uint32_t v, uint32_t i)
{
    const cebus_life *life = &g->sequence->lives[v];
    if (!is_use(g, v, i))
        return INFINITY;
    uint64_t from = begin_of(g, life, i), to = end_of(g, life, i);
    g->closure.spent += ++g->looks % (g->learns ? LEARNING_LOOKS : LOOKS) == 0;
    find_over(g);
    from = from > g->over_from ? from : g->over_from;
    to = to < g->over_to ? to : g->over_to;
    double area = from < to ? area_without(g, from, to, life->bytes) : 0;
    double cost = (double)g->sequence->iteration->calls[life->call].cost_ns;
    return area > 0 ? cost / area * noise_of(g, v) : INFINITY;
}

/** What weigh() is expected to answer: the lower bound; if it learns, times the factor by which
 * that was too low before. The factor fades, so that no stretch is passed over for good. */
static double guess(cebus_greedy *g, uint32_t v, uint32_t i)
{
    g->factors[v] = g->learns ? 1 + BELIEF * (g->factors[v] - 1) : 1;
    return g->factors[v] * least_of(g, v, i);
}

/** Remembers by how much the bound was too low. */
static void learn(cebus_greedy *g, uint32_t v, double least, double score)
{
    if (!g->learns)
        return;
    double factor = score < INFINITY ? score / least : VAIN * g->factors[v];
    g->factors[v] = fmin(fmax(factor, 1), MOST_DEAR);
}

/** Notes the stretch of a value up to event i, if it may gain something. */
static bool note_one(cebus_greedy *g, uint32_t v, uint32_t i)
{
    cebus_pick pick = {.value = v, .to = cebus_event_instance(g->sequence->lives[v].events[i])};
    pick.order = g->noted++;
    pick.score = guess(g, v, i);
    return pick.score == INFINITY || cebus_picks_push(&g->picks, g->pool, pick);
}

/** Notes all stretches of a value. */
static bool note(cebus_greedy *g, uint32_t v)
{
    bool ok = true;
    if (g->noise > 0 && g->barred[v] == g->noise)
        return true;
    for (uint32_t i = 1; i < g->sequence->lives[v].count && ok; i++)
        ok = note_one(g, v, i);
    return ok;
}

static bool note_all(cebus_greedy *g)
{
    bool ok = true;
    g->picks.count = 0;
    for (uint32_t v = 0; v < g->sequence->iteration->n_values && ok; v++)
        ok = g->sequence->lives[v].call == NONE || note(g, v);
    return ok;
}

/* ---- taking one --------------------------------------------------------------------------- */

static bool touch(cebus_greedy *g, uint32_t v)
{
    void *touched = g->touched;
    if (g->marks[v] == g->round || g->sequence->lives[v].call == NONE)
        return true;
    if (!cebus_pool_grow(g->pool, &touched, &g->touched_capacity, g->n_touched, sizeof *g->touched))
        return false;
    g->touched = touched;
    g->marks[v] = g->round;
    g->touched[g->n_touched++] = v;
    return true;
}

static bool touch_ports(cebus_greedy *g, uint32_t call)
{
    uint32_t count;
    bool ok = true;
    const uint32_t *values = cebus_sequence_reads(g->sequence, call, &count);
    for (uint32_t i = 0; i < count && ok; i++)
        ok = touch(g, values[i]);
    values = cebus_sequence_makes(g->sequence, call, &count);
    for (uint32_t i = 0; i < count && ok; i++)
        ok = touch(g, values[i]);
    return ok;
}

/** Values made of one that the chain made or kept may be cheaper to make again now. */
static bool touch_readers(cebus_greedy *g, uint32_t v)
{
    const cebus_iteration *iteration = g->sequence->iteration;
    bool ok = true;
    for (uint32_t u = 0; u < iteration->values[v].n_uses && u < READERS && ok; u++) {
        uint32_t count, call = cebus_iteration_use(iteration, v, u);
        const uint32_t *values = cebus_sequence_makes(g->sequence, call, &count);
        for (uint32_t i = 0; i < count && ok; i++)
            ok = touch(g, values[i]);
    }
    return ok;
}

/** Puts the chain in the closure into the sequence, and notes the stretches of all values that this
 * concerns again. */
static bool take(cebus_greedy *g)
{
    cebus_closure *closure = &g->closure;
    bool ok = true;
    g->round++;
    g->n_touched = 0;
    for (uint32_t i = 0; i < closure->n_calls && ok; i++)
        ok = cebus_sequence_insert(g->sequence, closure->calls[i], closure->before, NULL) &&
             touch_ports(g, closure->calls[i]);
    size_t n = g->n_touched;
    for (size_t i = 0; i < n && ok; i++)
        ok = touch_readers(g, g->touched[i]);
    for (size_t i = 0; i < g->n_touched && ok; i++)
        ok = note(g, g->touched[i]);
    return ok;
}

static bool fits(const cebus_greedy *g)
{
    return !cebus_track_exceeds(&g->sequence->track, 0, UINT64_MAX, g->closure.limit);
}

bool cebus_greedy_is_astray(const cebus_greedy *g, uint64_t most_ns)
{
    return g->sequence->cost > most_ns || g->closure.spent > g->most_spent ||
           cebus_greedy_is_stopped(g) ||
           g->sequence->n_replays >
               (g->marches ? MOST_MARCHED : MOST_REPLAYS) * (g->sequence->iteration->n_calls + 8);
}

/** Bytes over the limit, as an area. */
static double excess(const cebus_greedy *g)
{
    const cebus_track *track = &g->sequence->track;
    double all = cebus_track_peak(track, NULL);
    return -cebus_track_area(track, 0, UINT64_MAX, g->closure.limit, 0, -all);
}

/** A brisk repair goes on only while this part of the remaining area, at the best score, is
 * affordable. */
#define HOPE 0.9

/** Whether a repair is going to cost too much. */
static bool is_hopeless(const cebus_greedy *g, double score, uint64_t most_ns)
{
    return g->brisk && (double)g->sequence->cost + HOPE * score * excess(g) > (double)most_ns;
}

/** Whether a pick still gains something. A greedy that learns guesses its score again, since chains
 * taken meanwhile may have left it less to gain. *out_least: by least_of(). */
static bool look_again(cebus_greedy *g, cebus_pick *pick, uint32_t i, double *out_least)
{
    if (!g->learns)
        return is_worth_it(g, pick->value, i);
    *out_least = least_of(g, pick->value, i);
    pick->score = fmax(pick->score, g->factors[pick->value] * *out_least);
    return *out_least < INFINITY;
}

/** The best pick whose stretch is still there. False: there is none, or none cheap enough. */
static bool next_pick(cebus_greedy *g, cebus_pick *out, double *out_least)
{
    while (g->picks.count > 0 && g->picks.items[0].score < g->most_score) {
        *out = cebus_picks_pop(&g->picks);
        uint32_t i =
            cebus_sequence_find(g->sequence, out->value, cebus_sequence_key(g->sequence, out->to));
        const cebus_life *life = &g->sequence->lives[out->value];
        if (i < life->count && cebus_event_instance(life->events[i]) == out->to &&
            look_again(g, out, i, out_least))
            return true;
    }
    return false;
}

/** Whether a score is as low as the lowest guess left, give or take SLACK. */
static bool is_best(const cebus_greedy *g, double score)
{
    return g->picks.count == 0 || score <= SLACK * g->picks.items[0].score;
}

static void note_price(cebus_greedy *g, double score)
{
    if (score > g->dearest)
        g->dearest = score;
    if (g->dearest > g->closure.theta)
        g->closure.theta = g->dearest;
}

/** Weighs a pick if it seems to be the best. *is_it: it is, its chain is in the closure; else it
 * was put back, or gains nothing. False without host memory. */
static bool try_pick(cebus_greedy *g, cebus_pick *pick, double least, uint64_t most_ns, bool *is_it)
{
    *is_it = false;
    if (is_best(g, pick->score)) {
        g->closure.most_time = PRUNED * (double)most_ns - (double)g->sequence->cost;
        pick->score = weigh(g, pick->value, pick->to);
        learn(g, pick->value, least, pick->score);
        if (pick->score == INFINITY)
            return true;
        *is_it = is_best(g, pick->score);
    }
    return *is_it || cebus_picks_push(&g->picks, g->pool, *pick);
}

/** Takes picks, so many at most, until it fits or none is left. */
static cebus_greedy_end take_all(cebus_greedy *g, uint64_t most_ns, size_t most, size_t *out_taken)
{
    cebus_pick pick;
    double least = 0;
    *out_taken = 0;
    g->changed = true;
    while (!g->changed || !fits(g)) {
        g->changed = false;
        if (*out_taken == most || cebus_greedy_is_astray(g, most_ns) ||
            !next_pick(g, &pick, &least))
            return CEBUS_GREEDY_STUCK;
        bool is_it;
        if (!try_pick(g, &pick, least, most_ns, &is_it))
            return CEBUS_GREEDY_NO_HOST_MEMORY;
        if (!is_it)
            continue;
        if (most == SIZE_MAX && is_hopeless(g, pick.score, most_ns))
            return CEBUS_GREEDY_HOPELESS;
        note_price(g, pick.score);
        g->changed = true;
        if (!take(g))
            return CEBUS_GREEDY_NO_HOST_MEMORY;
        ++*out_taken;
    }
    return CEBUS_GREEDY_FITS;
}

/** A first theta: all the time of the program over all its area. */
static double mean_theta(const cebus_greedy *g)
{
    const cebus_iteration *iteration = g->sequence->iteration;
    double time = 1, area = excess(g);
    for (size_t k = 0; k < iteration->n_calls; k++)
        time += (double)iteration->calls[k].cost_ns;
    return area > 0 ? time / area : 1;
}

/** When no stretch gains anything any more: looks at small values, too; then makes keeping dearer,
 * so that chains make more inputs again. False once all of that was tried. */
static bool try_harder(cebus_greedy *g, double mean)
{
    enum {
        FIRST = 16, /* parts of the mean */
        NEXT = 16,
        LAST = 65536
    };
    if (g->least > 1)
        g->least = 1;
    else if (g->closure.theta < mean / FIRST)
        g->closure.theta = mean / FIRST;
    else
        g->closure.theta *= NEXT;
    return g->closure.theta <= mean * LAST;
}

void cebus_greedy_begin(cebus_greedy *g, double limit, double theta)
{
    g->closure.limit = limit;
    g->closure.theta = theta;
    g->dearest = 0;
    g->noted = 0;
    g->least = limit / 20000;
}

static cebus_greedy_end run(cebus_greedy *g, double limit, double theta, uint64_t most_ns,
                            bool (*note_first)(cebus_greedy *))
{
    cebus_greedy_end end = CEBUS_GREEDY_STUCK;
    size_t taken = 1;
    cebus_greedy_begin(g, limit, theta);
    double mean = mean_theta(g);
    while (end == CEBUS_GREEDY_STUCK && !cebus_greedy_is_astray(g, most_ns) &&
           (taken > 0 || (!g->brisk && try_harder(g, mean)))) {
        if (!(note_first != NULL ? note_first(g) : note_all(g)))
            return CEBUS_GREEDY_NO_HOST_MEMORY;
        end = take_all(g, most_ns, SIZE_MAX, &taken);
        note_first = g->brisk ? note_first : NULL;
    }
    return end;
}

cebus_greedy_end cebus_greedy_run(cebus_greedy *greedy, double limit, double theta,
                                  uint64_t most_ns)
{
    return run(greedy, limit, theta, most_ns, NULL);
}

/** Lists the values large enough for a look: in many programs few are. What is large enough differs
 * from call to call of a march, so that it lists what may ever be. */
static void list_worth(cebus_greedy *g)
{
    if (g->worth_least == g->least || (g->marches && g->worth_least <= g->least))
        return;
    g->worth_least = g->least;
    g->n_worth = 0;
    for (uint32_t v = 0; v < g->sequence->iteration->n_values; v++) {
        const cebus_life *life = &g->sequence->lives[v];
        if (life->call != NONE && life->bytes >= g->least)
            g->worth[g->n_worth++] = (cebus_worthy){life->bytes, v, life->call};
    }
}

/** With noise it notes every other stretch only: as good a start for a repair, in half the time. */
bool cebus_greedy_note_at(cebus_greedy *g, uint32_t instance)
{
    const uint64_t key = cebus_sequence_key(g->sequence, instance);
    const uint32_t gap = g->sequence->instances[instance].gap;
    bool ok = true;
    list_worth(g);
    for (size_t k = 0; k < g->n_worth && ok; k++) {
        const cebus_worthy *one = &g->worth[k];
        const uint32_t v = one->value;
        if (one->bytes < g->least || g->sequence->ends[v] < gap)
            continue;
        if (one->call > gap) /* values are numbered as they are made */
            break;
        if (g->noise > 0 && !g->marches && (g->barred[v] == g->noise || noise_of(g, v) > MIDDLE))
            continue;
        const cebus_life *life = &g->sequence->lives[v];
        uint32_t i = cebus_sequence_find(g->sequence, v, key);
        if (i == life->count || cebus_event_instance(life->events[i]) == instance)
            continue;
        ok = note_one(g, v, i);
    }
    return ok;
}

bool cebus_greedy_note_behind(cebus_greedy *greedy, uint32_t value, uint64_t key)
{
    const uint32_t i = cebus_sequence_find(greedy->sequence, value, key + 1);
    return i == greedy->sequence->lives[value].count || note_one(greedy, value, i);
}

/** Whether the stretch of a pick crosses a key. */
static bool crosses(const cebus_greedy *g, const cebus_pick *pick, uint64_t key)
{
    const cebus_life *life = &g->sequence->lives[pick->value];
    uint64_t to = cebus_sequence_key(g->sequence, pick->to);
    uint32_t i = cebus_sequence_find(g->sequence, pick->value, to);
    return begin_of(g, life, i) <= key && key < to;
}

bool cebus_greedy_best_at(cebus_greedy *greedy, uint32_t instance, uint64_t most_ns,
                          bool *out_found)
{
    const uint64_t key = cebus_sequence_key(greedy->sequence, instance);
    cebus_pick pick;
    double least = 0;
    *out_found = false;
    while (!*out_found && next_pick(greedy, &pick, &least)) {
        if (crosses(greedy, &pick, key) && !try_pick(greedy, &pick, least, most_ns, out_found))
            return false;
    }
    if (*out_found)
        note_price(greedy, pick.score);
    return true;
}

static bool note_peak(cebus_greedy *g)
{
    uint32_t peak;
    g->picks.count = 0;
    cebus_track_peak(&g->sequence->track, &peak);
    return cebus_greedy_note_at(g, peak);
}

cebus_greedy_end cebus_greedy_repair(cebus_greedy *greedy, double limit, double theta,
                                     uint64_t most_ns)
{
    return run(greedy, limit, theta, most_ns, note_peak);
}

cebus_greedy_end cebus_greedy_stir(cebus_greedy *greedy, double limit, double theta,
                                   uint64_t most_ns, uint32_t instance, uint32_t n)
{
    size_t taken;
    cebus_greedy_begin(greedy, limit, theta);
    greedy->picks.count = 0;
    return cebus_greedy_note_at(greedy, instance) ? take_all(greedy, most_ns, n, &taken)
                                                  : CEBUS_GREEDY_NO_HOST_MEMORY;
}

/* ---- sharing ------------------------------------------------------------------------------ */

void cebus_greedy_share(cebus_greedy *greedy, double limit, bool on)
{
    const cebus_sequence *sequence = greedy->sequence;
    double *shares = greedy->closure.shares;
    greedy->closure.limit = limit;
    greedy->least = limit / 20000;
    for (uint32_t v = 0; v < sequence->iteration->n_values; v++)
        shares[v] = 0;
    for (uint32_t v = 0; v < sequence->iteration->n_values && on; v++) {
        bool idles = false;
        for (uint32_t i = 1; i < sequence->lives[v].count && !idles; i++)
            idles = is_worth_it(greedy, v, i);
        uint32_t count;
        const uint32_t *values =
            idles ? cebus_sequence_reads(sequence, sequence->lives[v].call, &count) : NULL;
        for (uint32_t i = 0; idles && i < count; i++)
            shares[values[i]] += sequence->lives[v].bytes;
    }
    greedy->closure.sharing = on;
}
