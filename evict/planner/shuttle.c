#include "evict/planner/shuttle.h"

#include <string.h>

#include "evict/planner/check.h"
#include "evict/planner/finalists.h"
#include "evict/planner/planner.h"
#include "evict/planner/usage.h"
#include "evict/timeline/presence.h"
#include "evict/timeline/timeline.h"

#define NONE CEBUS_ITERATION_NONE

/** Values of less than this part of the memory stay. */
#define SMALLEST_PART 4000
/** Parts of the effort for each plan of the activations, and times that for all that is tried
 * once there is one: where none fits another part of the memory may do. */
#define EFFORT_PART 16
#define MOST_EFFORTS 3
/** Values used more often than this cost the link alike: it is not known which uses are far apart.
 */
#define MOST_CLASSES 4
/** A part of what persists: if no more is used so often they can wait for the next iteration. */
#define OFTEN_PART 4
/** Shares that differ by a smaller part of the memory are one. */
#define SHARE_PART 64
/** The part of the memory that is spared beside a full one: in which places may be found. */
#define SPARED_PART 32
/** Activations beside parameters are also planned for such parts of the memory less, up to so many
 * of them: who comes early finds room there, and all find places. */
#define LESS_PART 32
#define MOST_LESS 4

typedef struct shuttle {
    const cebus_iteration *iteration;
    const cebus_plan_terms *terms;
    cebus_pool *pool;
    uint64_t persistent; /**< bytes of all that is */
    uint64_t at_once;    /**< the most of it that one call uses */
    uint64_t others;     /**< the most that calls need beside it, if nothing is given up */
    uint64_t least;      /**< and the most that one call needs alone */
    bool crosses;        /**< what the step writes waits on the device for the next iteration */
    bool *streams;       /**< of values */
    cebus_finalists best;
    uint32_t n_others; /**< plans for the activations */
    uint64_t spent;    /**< steps, on all of them */
    bool fitted;       /**< the last fits its part of the memory */
    bool slow;         /**< by the last an iteration takes as long as by the rival, without waits */
} shuttle;

static void find_least(shuttle *s)
{
    for (uint32_t k = 0; k < s->iteration->n_calls; k++) {
        const cebus_usage used = cebus_usage_of(s->iteration, k);
        s->at_once = used.persistent > s->at_once ? used.persistent : s->at_once;
        s->least = used.others > s->least ? used.others : s->least;
    }
}

static uint64_t most(const uint64_t *items, size_t count)
{
    uint64_t best = 0;
    for (size_t i = 0; i < count; i++)
        best = items[i] > best ? items[i] : best;
    return best;
}

/* --- what stays ------------------------------------------------------------------------------ */

/** What is too small to matter, or read by the host meanwhile, stays first of all. */
static uint32_t class_of(const shuttle *s, const cebus_runs *runs, uint32_t v)
{
    const cebus_iteration_value *value = &s->iteration->values[v];
    if (value->bytes < cebus_plan_target(s->terms) / SMALLEST_PART || value->read > 0)
        return MOST_CLASSES + 1;
    uint32_t n = cebus_runs_n_uses(runs, v);
    return n < MOST_CLASSES ? n : MOST_CLASSES;
}

static uint64_t class_bytes(const shuttle *s, const cebus_runs *runs, uint32_t class)
{
    uint64_t bytes = 0;
    for (uint32_t v = 0; v < s->iteration->n_values; v++) {
        if (s->iteration->values[v].persistent && class_of(s, runs, v) == class)
            bytes += s->iteration->values[v].bytes;
    }
    return bytes;
}

/** Of a class so many bytes stay, evenly over the order of first uses: so that the link has
 * something to bring all the time. */
static void spread(shuttle *s, const cebus_runs *runs, uint32_t class, uint64_t stay)
{
    double share = (double)stay / ((double)class_bytes(s, runs, class) + 1), owed = 0;
    for (uint32_t v = 0; v < s->iteration->n_values; v++) {
        uint64_t bytes = s->iteration->values[v].bytes;
        if (!s->iteration->values[v].persistent || class_of(s, runs, v) != class)
            continue;
        owed += share * (double)bytes;
        if (bytes > stay || owed < (double)bytes / 2)
            continue;
        s->streams[v] = false;
        owed -= (double)bytes;
        stay -= bytes;
    }
}

/** What is used most often stays first: it would come most often. Returns the bytes that stay. */
static uint64_t choose(shuttle *s, const cebus_runs *runs, uint64_t stay)
{
    uint64_t staying = 0;
    for (size_t v = 0; v < s->iteration->n_values; v++)
        s->streams[v] = s->iteration->values[v].persistent;
    for (uint32_t class = MOST_CLASSES + 1; class > 0; class --) {
        uint64_t all = class_bytes(s, runs, class), part = all < stay ? all : stay;
        spread(s, runs, class, part);
        stay -= part;
    }
    for (size_t v = 0; v < s->iteration->n_values; v++) {
        if (s->iteration->values[v].persistent && !s->streams[v])
            staying += s->iteration->values[v].bytes;
    }
    return staying;
}

/* --- both in one plan ------------------------------------------------------------------------ */

/** What is due before each run, as lists of presences by index. */
typedef struct schedule {
    const cebus_runs *runs;
    const cebus_presences *presences;
    uint32_t *first_in, *next_in;     /**< of runs, of presences */
    uint32_t *first_copy, *next_copy; /**< those whose copy out starts there; of the end, too */
    uint32_t *first_out, *next_out;   /**< those that are gone then */
} schedule;

static void fill_schedule(schedule *d)
{
    memset(d->first_in, 0xff, (d->runs->count + 1) * sizeof *d->first_in);
    memset(d->first_copy, 0xff, (d->runs->count + 1) * sizeof *d->first_copy);
    memset(d->first_out, 0xff, (d->runs->count + 1) * sizeof *d->first_out);
    for (uint32_t i = (uint32_t)d->presences->count; i-- > 0;) {
        const cebus_presence *p = &d->presences->items[i];
        d->next_in[i] = d->first_in[p->since];
        d->first_in[p->since] = i;
        d->next_out[i] = d->first_out[p->gone];
        d->first_out[p->gone] = i;
        if (p->writes && p->gone != p->done) {
            d->next_copy[i] = d->first_copy[p->done];
            d->first_copy[p->done] = i;
        }
    }
}

static bool add_list(const schedule *d, cebus_action_kind kind, uint32_t i, const uint32_t *next,
                     uint32_t at, cebus_plan *out)
{
    bool ok = true;
    for (; i != NONE && ok; i = next[i])
        ok = cebus_plan_add(out, kind, at, d->presences->items[i].value);
    return ok;
}

/** What goes, then what comes, before a run. */
static bool add_all(const schedule *d, uint32_t r, uint32_t at, cebus_plan *out)
{
    return add_list(d, CEBUS_ACTION_COPY_OUT, d->first_copy[r], d->next_copy, at, out) &&
           add_list(d, CEBUS_ACTION_SWAP_OUT, d->first_out[r], d->next_out, at, out) &&
           add_list(d, CEBUS_ACTION_SWAP_IN, d->first_in[r], d->next_in, at, out);
}

/** Copies actions from *a on up to `until`, or to those due later. */
static bool add_from(const cebus_plan *from, size_t *a, size_t until, uint32_t at, cebus_plan *out)
{
    bool ok = true;
    for (; *a < until && *a < from->count && from->actions[*a].at <= at && ok; ++*a) {
        const cebus_action *action = &from->actions[*a];
        ok = cebus_plan_add(out, (cebus_action_kind)action->kind, action->at, action->value);
    }
    return ok;
}

/** Where everything is when an iteration begins: what crosses is there. */
static bool add_beginning(const shuttle *s, const cebus_presences *presences, cebus_plan *out)
{
    const size_t n = s->iteration->n_values;
    bool ok = true, *away = cebus_pool_copy(s->pool, s->streams, n * sizeof *away);
    if (away == NULL)
        return false;
    for (size_t i = 0; i < presences->count; i++) {
        if (cebus_presence_crosses(&presences->items[i]))
            away[presences->items[i].value] = false;
    }
    for (int there = 0; there <= 1; there++) {
        for (uint32_t v = 0; v < n && ok; v++) {
            if (s->iteration->values[v].persistent && away[v] == (there == 0))
                ok =
                    cebus_plan_add(out, there ? CEBUS_ACTION_SWAP_IN : CEBUS_ACTION_SWAP_OUT, 0, v);
        }
    }
    cebus_pool_free_object(s->pool, away, n * sizeof *away);
    return ok;
}

static bool weave(const shuttle *s, const schedule *d, const cebus_plan *others, cebus_plan *out)
{
    const cebus_runs *runs = d->runs;
    size_t a = 0;
    bool ok = add_beginning(s, d->presences, out);
    for (uint32_t r = 0; r < runs->count && ok; r++) {
        const cebus_run *run = &runs->items[r];
        size_t until = run->action != NONE ? run->action : others->count;
        ok = add_from(others, &a, until, run->at, out) && add_all(d, r, run->at, out);
    }
    uint32_t end = (uint32_t)s->iteration->n_calls;
    return ok && add_from(others, &a, others->count, end, out) &&
           add_all(d, (uint32_t)runs->count, end, out);
}

static bool weave_all(const shuttle *s, const cebus_runs *runs, const cebus_presences *presences,
                      const cebus_plan *others, cebus_plan *out)
{
    size_t n_runs = runs->count + 1, n = presences->count;
    size_t bytes = 3 * (n_runs + n) * sizeof(uint32_t);
    uint32_t *lists = cebus_pool_alloc(s->pool, bytes);
    if (lists == NULL)
        return false;
    schedule d = {.runs = runs,
                  .presences = presences,
                  .first_in = lists,
                  .first_copy = lists + n_runs,
                  .first_out = lists + 2 * n_runs,
                  .next_in = lists + 3 * n_runs,
                  .next_copy = lists + 3 * n_runs + n,
                  .next_out = lists + 3 * n_runs + 2 * n};
    fill_schedule(&d);
    bool ok = weave(s, &d, others, out) && cebus_plan_link(out, s->iteration);
    cebus_pool_free_object(s->pool, lists, bytes);
    return ok;
}

/* --- the best of some ------------------------------------------------------------------------ */

/** Whether something that takes so long is of no use. */
static bool is_slow(const shuttle *s, uint64_t ns)
{
    return s->terms->rival_ns > 0 && ns >= s->terms->rival_ns;
}

/** Keeps the plan if it is among those that take least; it is empty then. */
static bool offer(shuttle *s, cebus_plan *plan)
{
    cebus_timeline timeline;
    cebus_timeline_terms with = {.budget = s->terms->budget,
                                 .out_rate = s->terms->out_rate,
                                 .in_rate = s->terms->in_rate,
                                 .latency_ns = s->terms->latency_ns,
                                 .ahead = true};
    if (!cebus_timeline_run(s->iteration, plan, &with, s->pool, &timeline))
        return false;
    plan->wait_ns = timeline.stall_ns;
    if (!is_slow(s, timeline.total_ns))
        cebus_finalists_enter(&s->best, plan, timeline.total_ns, s->n_others);
    return true;
}

/** How the memory is shared out beside activations. */
typedef struct share {
    uint64_t stay;   /**< bytes of persistent values that stay */
    uint64_t ahead;  /**< bytes kept free for those on their way */
    uint64_t spared; /**< bytes that nobody has who need not */
    uint32_t turn;
} share;

/** A plan like that. */
static bool try_share(shuttle *s, const cebus_runs *runs, const cebus_plan *others,
                      const share *how)
{
    cebus_plan plan;
    cebus_presences presences;
    uint64_t staying = choose(s, runs, how->stay), room = cebus_plan_target(s->terms);
    if (s->persistent - staying > s->terms->host || staying >= room)
        return true;
    cebus_presence_terms terms = {.streams = s->streams,
                                  .room = room - staying,
                                  .spared = how->spared,
                                  .ahead = how->ahead,
                                  .out_rate = s->terms->out_rate,
                                  .in_rate = s->terms->in_rate,
                                  .latency_ns = s->terms->latency_ns,
                                  .turn = how->turn};
    cebus_presence_verdict verdict = cebus_presences_find(runs, &terms, &presences);
    if (verdict != CEBUS_PRESENCE_FITS)
        return verdict == CEBUS_PRESENCE_FULL;
    cebus_plan_init(&plan, s->pool);
    bool ok = weave_all(s, runs, &presences, others, &plan) && offer(s, &plan);
    cebus_plan_clear(&plan);
    cebus_presences_deinit(&presences);
    return ok;
}

/** Whether what persists finds room where iterations meet, and is not used all over the iteration:
 * but in the forward, the backward and the step. Then to give way in the midst of it costs least,
 * and nothing waits there for what was just written. */
static bool can_cross(const shuttle *s, const cebus_runs *program)
{
    uint64_t often = 0;
    for (uint32_t v = 0; v < s->iteration->n_values; v++) {
        if (s->iteration->values[v].persistent && cebus_runs_n_uses(program, v) >= MOST_CLASSES)
            often += s->iteration->values[v].bytes;
    }
    return s->persistent <= cebus_plan_target(s->terms) && often < s->persistent / OFTEN_PART;
}

/** The first run that has so many bytes: what shuttles gives way to them there at the latest. */
static uint32_t find_fullest(const cebus_runs *runs, uint64_t peak)
{
    uint32_t run = 0;
    while (run < runs->count && runs->bytes[run] < peak)
        run++;
    return run < runs->count ? run : 0;
}

/** With all the room there is left for what is on its way, and with some of it spared. */
static bool try_spared(shuttle *s, const cebus_runs *runs, const cebus_plan *others, share how)
{
    how.spared = 0;
    if (!try_share(s, runs, others, &how))
        return false;
    how.spared = cebus_plan_target(s->terms) / SPARED_PART;
    return try_share(s, runs, others, &how);
}

static bool try_shares(shuttle *s, const cebus_plan *others)
{
    static const double stays[] = {0.9, 0.6, 0.2}, aheads[] = {0.5, 0.25};
    const uint64_t target = cebus_plan_target(s->terms), least = target / SHARE_PART;
    cebus_runs runs;
    bool ok = true;
    s->n_others++;
    if (!cebus_runs_init(&runs, s->iteration, others, s->pool))
        return false;
    uint64_t peak = most(runs.bytes, runs.count);
    s->slow = is_slow(s, runs.times[runs.count]);
    uint64_t spare = target > peak + s->at_once ? target - peak - s->at_once : 0;
    share how = {.stay = UINT64_MAX, .turn = s->crosses ? find_fullest(&runs, peak) : 0};
    for (size_t i = 0; i < sizeof stays / sizeof *stays && peak < target && ok && !s->slow; i++) {
        uint64_t stay = (uint64_t)(stays[i] * (double)spare);
        if (how.stay - stay < least)
            continue;
        how.stay = stay;
        how.ahead = UINT64_MAX;
        for (size_t j = 0; j < sizeof aheads / sizeof *aheads && ok; j++) {
            uint64_t ahead = (uint64_t)(aheads[j] * (double)(target - peak - stay));
            if (how.ahead - ahead < least)
                continue;
            how.ahead = ahead;
            ok = try_spared(s, &runs, others, how);
        }
    }
    cebus_runs_deinit(&runs);
    return ok;
}

/** Activations in so many bytes, of an iteration like ours. */
static bool try_part_of(shuttle *s, const cebus_iteration *iteration, uint64_t bytes, uint64_t host)
{
    cebus_plan others;
    cebus_plan_terms terms = *s->terms;
    terms.budget = bytes + s->persistent + (s->terms->budget - cebus_plan_target(s->terms));
    terms.host = host;
    terms.effort /= EFFORT_PART;
    terms.place = NULL;
    if (s->best.count > 0)
        terms.most = MOST_EFFORTS * cebus_planner_effort(iteration, terms.effort);
    cebus_plan_init(&others, s->pool);
    const bool fits = iteration == s->iteration && bytes >= s->others;
    bool ok = (fits || cebus_planner_plan(iteration, &terms, &others)) &&
              cebus_plan_make_ready(&others, s->iteration) && try_shares(s, &others);
    s->fitted = fits || !others.over;
    s->spent += others.spent;
    cebus_plan_clear(&others);
    return ok;
}

/** With swaps, and with replays alone: these leave the link to what persists. Where neither fits
 * nothing will in fewer bytes; and in fewer they take no less. */
static bool try_both(shuttle *s, const cebus_iteration *iteration, uint64_t bytes, uint64_t host)
{
    s->fitted = false;
    s->slow = true;
    if (host > 0 && !try_part_of(s, iteration, bytes, host))
        return false;
    const bool fitted = s->fitted, slow = s->slow;
    bool ok = try_part_of(s, iteration, bytes, 0);
    s->fitted = s->fitted || fitted;
    s->slow = s->slow && slow;
    return ok;
}

static void add_scratch(cebus_iteration_call *calls, uint32_t from, uint32_t to, uint64_t bytes)
{
    for (uint32_t k = from; k < to; k++)
        calls[k].workspace += bytes;
}

/** Calls for which what persists is scratch while they use it, and nothing at other times. A
 * planner has it there from when it is made on, so what is not yet, or not any more, is scratch as
 * well. */
static void make_lean(const cebus_iteration *iteration, cebus_iteration_call *calls)
{
    const uint32_t n = (uint32_t)iteration->n_calls;
    for (uint32_t k = 0; k < n; k++)
        calls[k].workspace += cebus_usage_of(iteration, k).persistent;
    for (uint32_t v = 0; v < iteration->n_values; v++) {
        const cebus_iteration_value *value = &iteration->values[v];
        if (!value->persistent)
            continue;
        add_scratch(calls, 0, value->born != NONE ? value->born : 0, value->bytes);
        add_scratch(calls, value->freed, n, value->bytes);
    }
}

/** The program waits for a first plan, and nobody for one that is not wanted any more. */
static bool goes_on(const shuttle *s)
{
    return (s->terms->effort > 0 || s->best.count == 0) &&
           (s->terms->go_on == NULL || s->terms->go_on(s->terms->context));
}

/** Activations in all of the memory, but beside what persists where that is used; then in less: a
 * plan for less room is one for more, too, and which of them take least with places is chance. */
static bool try_beside(shuttle *s, uint64_t host)
{
    cebus_iteration lean = *s->iteration;
    const size_t bytes = lean.n_calls * sizeof *lean.calls;
    const uint64_t target = cebus_plan_target(s->terms);
    lean.calls = cebus_pool_copy(s->pool, s->iteration->calls, bytes);
    if (lean.calls == NULL)
        return false;
    make_lean(s->iteration, lean.calls);
    bool ok = true;
    s->fitted = true;
    s->slow = false;
    for (uint64_t i = 0; i <= MOST_LESS && s->fitted && !s->slow && ok && goes_on(s); i++)
        ok = try_both(s, &lean, target - i * (target / LESS_PART), host);
    cebus_pool_free_object(s->pool, lean.calls, bytes);
    return ok;
}

/** Activations as they are, if there is room; then less and less of them at once. Where they peak
 * and where most of what persists is used are not the same calls: whether both fit is found out. */
static bool try_parts(shuttle *s)
{
    static const double parts[] = {0.8, 0.6, 0.4, 0.25, 0.1};
    uint64_t target = cebus_plan_target(s->terms);
    uint64_t host = s->terms->host > s->persistent ? s->terms->host - s->persistent : 0;
    uint64_t least = s->least + s->least / 16;
    bool ok = s->others >= target || try_part_of(s, s->iteration, s->others, 0);
    s->fitted = true;
    s->slow = false;
    for (size_t i = 0; i < sizeof parts / sizeof *parts && s->fitted && !s->slow && ok; i++) {
        if (!goes_on(s))
            break;
        uint64_t bytes = (uint64_t)(parts[i] * (double)target);
        bool last = bytes <= least;
        bytes = last ? least : bytes;
        if (bytes < s->others && bytes < target)
            ok = try_both(s, s->iteration, bytes, host);
        if (last)
            break;
    }
    return ok && try_beside(s, host);
}

/** What calls need beside persistent values, if nothing is given up. */
static bool find_others(shuttle *s)
{
    cebus_plan none;
    cebus_runs runs;
    cebus_plan_init(&none, s->pool);
    if (!cebus_runs_init(&runs, s->iteration, &none, s->pool))
        return false;
    s->others = most(runs.bytes, runs.count);
    s->crosses = can_cross(s, &runs);
    cebus_runs_deinit(&runs);
    return true;
}

/** Hands the best out. False without host memory; *out_found: there is one. */
static bool search(shuttle *s, cebus_plan *out, bool *out_found)
{
    s->streams = cebus_pool_alloc(s->pool, s->iteration->n_values * sizeof *s->streams);
    bool ok = s->streams != NULL && find_others(s) && try_parts(s);
    *out_found = s->best.count > 0;
    ok = ok && (!*out_found || cebus_finalists_choose(&s->best, s->iteration, s->terms, out));
    if (ok && *out_found)
        out->spent = s->spent;
    cebus_finalists_clear(&s->best);
    cebus_pool_free_object(s->pool, s->streams, s->iteration->n_values * sizeof *s->streams);
    return ok;
}

/** Whether what the planner made of it fits. */
static bool fits(const shuttle *s, const cebus_plan *plan, bool *out_fits)
{
    cebus_check check;
    if (!cebus_check_run(s->iteration, plan, s->pool, &check))
        return false;
    *out_fits = check.peak <= s->terms->budget;
    return true;
}

/** The planner's own, which may take so many steps until one fits (0: all it has). */
static bool plan_stays(const shuttle *s, uint64_t trial, cebus_plan *out, bool *out_fits)
{
    cebus_plan_terms terms = *s->terms;
    terms.trial = trial;
    cebus_plan_clear(out);
    return cebus_planner_plan(s->iteration, &terms, out) && fits(s, out, out_fits);
}

/** With copies that the calls hide, as far as may be. */
static bool plan_hidden(const cebus_iteration *iteration, const cebus_plan_terms *terms,
                        cebus_plan *out)
{
    shuttle s = {.iteration = iteration, .terms = terms, .pool = out->pool};
    bool found = false, fit = false;
    s.persistent = cebus_iteration_persistent(iteration);
    if (terms->host == 0 || s.persistent == 0)
        return cebus_planner_plan(iteration, terms, out);
    find_least(&s);
    const bool may_stay = !terms->crowded && s.persistent + s.least <= cebus_plan_target(terms);
    /* If none fits soon one that does is dear: those by which parameters shuttle come first. */
    const uint64_t trial = cebus_planner_effort(iteration, terms->effort);
    if (may_stay && !plan_stays(&s, trial, out, &fit))
        return false;
    if (fit)
        return true;
    if (!search(&s, out, &found))
        return false;
    if (found || (may_stay && trial == 0))
        return true;
    return !terms->crowded && plan_stays(&s, 0, out, &fit);
}

/** Where nothing fits: with copies that calls wait for, if that does. */
static bool plan_unhidden(const cebus_iteration *iteration, const cebus_plan_terms *terms,
                          cebus_plan *out)
{
    cebus_plan plan;
    cebus_plan_terms with = *terms;
    with.unhidden = true;
    cebus_plan_init(&plan, out->pool);
    const bool ok = cebus_planner_plan(iteration, &with, &plan), better = ok && !plan.over;
    cebus_plan_clear(better ? out : &plan);
    *out = better ? plan : *out;
    return ok;
}

bool cebus_shuttle_plan(const cebus_iteration *iteration, const cebus_plan_terms *terms,
                        cebus_plan *out)
{
    if (!plan_hidden(iteration, terms, out))
        return false;
    const bool may_fit = cebus_usage_least(iteration) <= cebus_plan_target(terms);
    return !out->over || terms->host == 0 || !may_fit || plan_unhidden(iteration, terms, out);
}
