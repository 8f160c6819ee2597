/**
 * Policy `capuchin` (Peng et al., Capuchin: Tensor-based GPU Memory Management for Deep Learning,
 * ASPLOS'20, sections 4 and 5). The first iteration is measured while memory is managed on demand:
 * what was used least recently goes to the host. From its accesses a plan is made. Candidates are
 * the values that lie idle while memory is short. Each is judged by its free time, what is left
 * between two of its accesses once it has been copied out and back,
 *
 *     FT = (start of the next access - bytes / rate in) - (end of this one + bytes / rate out)
 *
 * and the longest go by copies as long as the copies are hidden. Then the exposed part of the best
 * swap (-FT) is set against the time of the best recomputation, the one that saves the most bytes a
 * second (MSPS), and the cheaper is taken, until memory suffices (Algorithm 1). A recomputation
 * begins at its sources, the candidates it reads. Once one of them is dropped itself, its sources
 * and its time come in its place; who is a source of several that were dropped is run once for each
 * of them (Algorithm 2). A copy back starts at the access before which the link must be free for
 * it, one copy after the other. A recomputation runs when it is needed, and what it makes on its
 * way that the program still holds is kept (collective recomputation).
 *
 * Liberties: Memory is short wherever the recorded curve of bytes is above the budget: each choice
 * is made among the values idle at the highest point that is left. Times are the calls' costs, not
 * access times from which stalls were subtracted. Feedback moves the trigger of a late prefetch 5%
 * of its copy earlier (eager/guidance/feedback.h), none later: where memory was tight a copy back
 * waits for room by itself. Where triggers that moved made iterations longer they go back, and
 * stay. Persistent values stay. An iteration that fits is left alone.
 */
#include <string.h>

#include "evict/policy.h"
#include "evict/survey.h"

/** Candidates at most: what they read is a matrix of bits. The smallest values do without. */
#define MOST_CANDIDATES 8192

#define NONE CEBUS_ITERATION_NONE

typedef enum fate {
    FATE_STAYS,
    FATE_SWAPPED,
    FATE_DROPPED,
} fate;

/** A span whose value may go. */
typedef struct candidate {
    uint32_t span;
    uint32_t next;     /**< the next candidate of the same value; NONE: it is the last */
    int64_t free_ns;   /**< FT */
    uint64_t again_ns; /**< its recomputation from its sources */
    uint64_t extra_ns; /**< what it costs beside: as a source of those that were dropped */
    bool replayable;
    uint8_t fate;
} candidate;

typedef struct draft {
    cebus_survey survey;
    const cebus_plan_terms *terms;
    candidate *all;
    uint64_t *sources; /**< n rows of bits: the candidates that each is recomputed from */
    uint32_t *first;   /**< by value: its first candidate; NONE: it has none */
    uint32_t *marked;  /**< by call: the candidate, plus one, whose recomputation runs it */
    uint32_t *stack;   /**< calls to look at */
    size_t n, words;   /**< candidates; of a row */
} draft;

static uint64_t *row(const draft *d, size_t c)
{
    return d->sources + c * d->words;
}

static bool reads(const draft *d, size_t c, size_t source)
{
    return (row(d, c)[source / 64] >> (source % 64)) & 1;
}

static const cebus_span *span_of(const draft *d, size_t c)
{
    return &d->survey.spans[d->all[c].span];
}

static const cebus_iteration_value *value_of(const draft *d, size_t c)
{
    return &d->survey.iteration->values[span_of(d, c)->value];
}

/* --- candidates --------------------------------------------------------------------------------
 */

static int64_t free_time(const draft *d, const cebus_span *span, uint64_t bytes)
{
    uint64_t out = cebus_plan_out_ns(d->terms, bytes);
    uint64_t in = cebus_plan_in_ns(d->terms, bytes);
    const uint64_t *times = d->survey.times;
    return (int64_t)(times[span->to] - times[span->from + 1]) - (int64_t)(out + in);
}

/** short_before[k]: calls before k that do not fit the budget. */
static void count_short(const draft *d, uint64_t *short_before)
{
    size_t n_calls = d->survey.iteration->n_calls;
    uint64_t goal = cebus_plan_target(d->terms), before = 0;
    cebus_curve_read(&d->survey.curve, short_before);
    for (size_t k = 0; k <= n_calls; k++) {
        bool is_short = k < n_calls && short_before[k] > goal;
        short_before[k] = before;
        before += is_short;
    }
}

static bool is_candidate(const draft *d, size_t s, const uint64_t *short_before, uint64_t least)
{
    const cebus_span *span = &d->survey.spans[s];
    return cebus_survey_bytes(&d->survey, s) >= least &&
           short_before[span->to] > short_before[span->from + 1];
}

static size_t count_candidates(const draft *d, const uint64_t *short_before, uint64_t least)
{
    size_t n = 0;
    for (size_t s = 0; s < d->survey.n_spans; s++)
        n += is_candidate(d, s, short_before, least);
    return n;
}

static void add_candidate(draft *d, uint32_t s)
{
    const cebus_span *span = &d->survey.spans[s];
    d->all[d->n] = (candidate){.span = s,
                               .next = d->first[span->value],
                               .free_ns = free_time(d, span, cebus_survey_bytes(&d->survey, s)),
                               .replayable = cebus_survey_is_replayable(&d->survey, s)};
    d->first[span->value] = (uint32_t)d->n++;
}

static void *take(const draft *d, size_t bytes, int fill)
{
    void *memory = cebus_pool_alloc(d->survey.pool, bytes);
    if (memory != NULL)
        memset(memory, fill, bytes);
    return memory;
}

/** The sizes of what a draft holds, so that it can be given back. */
static bool make_arrays(draft *d, size_t n)
{
    const cebus_iteration *iteration = d->survey.iteration;
    d->words = (n + 63) / 64;
    d->all = take(d, n * sizeof *d->all, 0);
    d->sources = take(d, n * d->words * sizeof *d->sources, 0);
    d->first = take(d, iteration->n_values * sizeof *d->first, 0xff);
    d->marked = take(d, iteration->n_calls * sizeof *d->marked, 0);
    d->stack = take(d, iteration->n_calls * sizeof *d->stack, 0);
    return d->all != NULL && d->sources != NULL && d->first != NULL && d->marked != NULL &&
           d->stack != NULL;
}

static void free_arrays(draft *d, size_t n)
{
    cebus_pool *pool = d->survey.pool;
    const cebus_iteration *iteration = d->survey.iteration;
    cebus_pool_free_object(pool, d->all, n * sizeof *d->all);
    cebus_pool_free_object(pool, d->sources, n * d->words * sizeof *d->sources);
    cebus_pool_free_object(pool, d->first, iteration->n_values * sizeof *d->first);
    cebus_pool_free_object(pool, d->marked, iteration->n_calls * sizeof *d->marked);
    cebus_pool_free_object(pool, d->stack, iteration->n_calls * sizeof *d->stack);
}

/* --- recomputation (Algorithm 2) ---------------------------------------------------------------
 */

/** The candidate of a value that is away when a call runs; NONE: it would be there. */
static uint32_t away_at(const draft *d, uint32_t value, uint32_t call)
{
    uint32_t c = d->first[value];
    while (c != NONE && (span_of(d, c)->from >= call || span_of(d, c)->to < call))
        c = d->all[c].next;
    return c;
}

/** Runs the call that makes a value again, once. */
static void run_again(draft *d, size_t c, uint32_t value, size_t *depth)
{
    uint32_t born = d->survey.iteration->values[value].born;
    if (d->marked[born] == c + 1)
        return;
    d->marked[born] = (uint32_t)c + 1;
    d->stack[(*depth)++] = born;
}

/** An input is there, or is a source, or must be made again, too; false when it cannot be. */
static bool need(draft *d, size_t c, uint32_t value, size_t *depth)
{
    const cebus_iteration *iteration = d->survey.iteration;
    const cebus_iteration_value *input = &iteration->values[value];
    uint32_t at = span_of(d, c)->to;
    if (input->persistent)
        return true;
    if (cebus_iteration_to(iteration, input) > at) {
        uint32_t source = away_at(d, value, at);
        if (source != NONE && source != c)
            row(d, c)[source / 64] |= UINT64_C(1) << (source % 64);
        return true;
    }
    if (input->born == NONE || !input->replayable)
        return false;
    run_again(d, c, value, depth);
    return true;
}

/** What a recomputation reads and runs if all other candidates stay. */
static void find_sources(draft *d, size_t c)
{
    size_t depth = 0;
    candidate *of = &d->all[c];
    const cebus_iteration *iteration = d->survey.iteration;
    if (!of->replayable || value_of(d, c)->born == NONE) {
        of->replayable = false;
        return;
    }
    run_again(d, c, span_of(d, c)->value, &depth);
    while (depth > 0 && of->replayable) {
        const cebus_iteration_call *call = &iteration->calls[d->stack[--depth]];
        of->again_ns += call->cost_ns;
        for (uint32_t i = 0; i < call->n_in && of->replayable; i++) {
            uint32_t value = iteration->refs[call->refs + i];
            of->replayable = value == NONE || need(d, c, value, &depth);
        }
    }
}

/** Reads the sources of t instead of t. */
static void replace_source(draft *d, size_t c, size_t t)
{
    for (size_t w = 0; w < d->words; w++)
        row(d, c)[w] |= row(d, t)[w];
    row(d, c)[t / 64] &= ~(UINT64_C(1) << (t % 64));
    row(d, c)[c / 64] &= ~(UINT64_C(1) << (c % 64));
}

/** Times that c would be run for those that were dropped. */
static uint64_t count_dropped_readers(const draft *d, size_t c)
{
    uint64_t count = 0;
    for (size_t other = 0; other < d->n; other++)
        count += d->all[other].fate == FATE_DROPPED && reads(d, other, c);
    return count;
}

static void drop(draft *d, size_t t)
{
    uint64_t runs = 1;
    d->all[t].fate = FATE_DROPPED;
    for (size_t c = 0; c < d->n; c++) {
        if (c == t || d->all[c].fate != FATE_DROPPED || !reads(d, c, t))
            continue;
        replace_source(d, c, t);
        runs++;
    }
    for (size_t c = 0; c < d->n; c++) {
        candidate *of = &d->all[c];
        if (of->fate != FATE_STAYS)
            continue;
        if (reads(d, c, t)) {
            replace_source(d, c, t);
            of->again_ns += d->all[t].again_ns;
            of->extra_ns = count_dropped_readers(d, c) * of->again_ns;
        }
        if (reads(d, t, c))
            of->extra_ns = runs * of->again_ns;
    }
}

/* --- the choice (Algorithm 1) ------------------------------------------------------------------
 */

static bool is_idle_at(const draft *d, size_t c, uint32_t call)
{
    return d->all[c].fate == FATE_STAYS && span_of(d, c)->from < call && call < span_of(d, c)->to;
}

static uint64_t recompute_ns(const candidate *c)
{
    return c->again_ns + c->extra_ns;
}

/** More bytes a second. */
static bool saves_faster(const draft *d, size_t a, size_t b)
{
    return (double)value_of(d, a)->bytes * (double)recompute_ns(&d->all[b]) >
           (double)value_of(d, b)->bytes * (double)recompute_ns(&d->all[a]);
}

/** The longest free time, and the best MSPS, of what is idle while a call runs. */
static void find_best(const draft *d, uint32_t call, uint32_t *out_swap, uint32_t *out_drop)
{
    *out_swap = *out_drop = NONE;
    for (size_t c = 0; c < d->n; c++) {
        if (!is_idle_at(d, c, call))
            continue;
        if (d->terms->host > 0 &&
            (*out_swap == NONE || d->all[c].free_ns > d->all[*out_swap].free_ns))
            *out_swap = (uint32_t)c;
        if (d->all[c].replayable && (*out_drop == NONE || saves_faster(d, c, *out_drop)))
            *out_drop = (uint32_t)c;
    }
}

static bool prefers_swap(const draft *d, uint32_t swap, uint32_t drop_)
{
    if (swap == NONE || drop_ == NONE)
        return drop_ == NONE;
    int64_t free_ns = d->all[swap].free_ns;
    return free_ns >= 0 || (uint64_t)-free_ns < recompute_ns(&d->all[drop_]);
}

static void choose(draft *d)
{
    uint32_t peak_at, swap, best;
    while (cebus_curve_peak(&d->survey.curve, &peak_at) > cebus_plan_target(d->terms)) {
        find_best(d, peak_at, &swap, &best);
        if (swap == NONE && best == NONE)
            return;
        if (prefers_swap(d, swap, best)) {
            best = swap;
            d->all[best].fate = FATE_SWAPPED;
        } else {
            drop(d, best);
        }
        cebus_curve_cut(&d->survey.curve, span_of(d, best)->from + 1, span_of(d, best)->to,
                        (int64_t)value_of(d, best)->bytes);
    }
}

/* --- the plan ----------------------------------------------------------------------------------
 */

/** The last call that starts by then, of those after `from`. */
static uint32_t call_at(const draft *d, uint64_t ns, uint32_t from, uint32_t to)
{
    uint32_t low = from + 1, high = to;
    while (low + 1 < high) {
        uint32_t middle = low + (high - low) / 2;
        if (d->survey.times[middle] <= ns)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static uint64_t less(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
}

/** Bytes may leave after the last use, and come back so that the link, which brings one after the
 * other, has brought them when they are read. *link_ns: when it must begin with what comes next. */
static bool emit_swap(const draft *d, uint32_t c, uint64_t *link_ns, cebus_plan *out)
{
    const cebus_span *span = span_of(d, c);
    uint64_t needed = d->survey.times[span->to];
    uint64_t end = *link_ns < needed ? *link_ns : needed;
    *link_ns = less(end, cebus_plan_in_ns(d->terms, value_of(d, c)->bytes));
    uint32_t back = call_at(d, *link_ns, span->from + 1, span->to);
    return cebus_plan_add(out, CEBUS_ACTION_SWAP_OUT, span->from + 1, span->value) &&
           (back >= span->to || cebus_plan_add(out, CEBUS_ACTION_SWAP_IN, back, span->value));
}

/** Those needed last first, as the link's time is given out backwards. */
static bool emit(const draft *d, cebus_plan *out)
{
    uint64_t link_ns = UINT64_MAX;
    for (size_t i = d->survey.n_spans; i-- > 0;) {
        const cebus_span *span = &d->survey.spans[d->survey.by_end[i]];
        uint32_t c = away_at(d, span->value, span->to);
        if (c == NONE || d->all[c].span != d->survey.by_end[i])
            continue;
        if (d->all[c].fate == FATE_SWAPPED && !emit_swap(d, c, &link_ns, out))
            return false;
        if (d->all[c].fate == FATE_DROPPED &&
            !cebus_plan_add(out, CEBUS_ACTION_DROP, span->from + 1, span->value))
            return false;
    }
    return cebus_plan_sort(out, d->survey.iteration);
}

static bool draft_plan(draft *d, const uint64_t *short_before, cebus_plan *out)
{
    uint64_t least = 1;
    size_t n = count_candidates(d, short_before, least);
    for (; n > MOST_CANDIDATES; least *= 2)
        n = count_candidates(d, short_before, 2 * least);
    bool ok = make_arrays(d, n);
    for (uint32_t s = 0; ok && s < d->survey.n_spans; s++) {
        if (is_candidate(d, s, short_before, least))
            add_candidate(d, s);
    }
    for (size_t c = 0; ok && c < d->n; c++)
        find_sources(d, c);
    if (ok)
        choose(d);
    ok = ok && emit(d, out);
    free_arrays(d, n);
    return ok;
}

static bool plan(const cebus_iteration *iteration, const cebus_plan_terms *terms, cebus_plan *out)
{
    draft d = {.terms = terms};
    if (!cebus_survey_init(&d.survey, iteration, out->pool))
        return false;
    bool ok = true;
    if (cebus_curve_peak(&d.survey.curve, NULL) > terms->budget) {
        size_t bytes = (iteration->n_calls + 1) * sizeof(uint64_t);
        uint64_t *short_before = take(&d, bytes, 0);
        ok = short_before != NULL;
        if (ok)
            count_short(&d, short_before);
        ok = ok && draft_plan(&d, short_before, out);
        cebus_pool_free_object(out->pool, short_before, bytes);
    }
    cebus_survey_deinit(&d.survey);
    return ok;
}

const cebus_policy cebus_policy_capuchin = {
    .name = "capuchin",
    .unit = CEBUS_UNIT_ONE,
    .weight = cebus_policy_weight_own,
    .score = cebus_policy_score_age,
    .swaps = true,
    .plan = plan,
    .feeds_back = true,
};
