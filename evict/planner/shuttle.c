#include "evict/planner/shuttle.h"

#include <string.h>

#include "evict/planner/check.h"
#include "evict/planner/finalists.h"
#include "evict/planner/planner.h"
#include "evict/planner/search.h"
#include "evict/planner/stock.h"
#include "evict/planner/trade.h"
#include "evict/planner/usage.h"

#define NONE CEBUS_ITERATION_NONE

/** Parts of the effort for each plan of the activations, and times that for all that is tried
 * once there is one: where none fits another part of the memory may do. */
#define EFFORT_PART 16
#define MOST_EFFORTS 3
/** Parts of it for each of those whose copies calls wait for, where none else fits: marches. */
#define UNHIDDEN_EFFORT_PART 8
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
/** A part of the effort: for trades from the best share of the memory. */
#define TRADE_PART 4
/** Of the steps of a first plan: for each part of it. */
#define FIRST_PART 4
/** What is planned for so small a part of the memory more or less does for another budget, too, of
 * long programs: to plan it again takes long. */
#define LIKE_PART 16

typedef struct shuttle {
    const cebus_iteration *iteration;
    const cebus_plan_terms *terms;
    cebus_pool *pool;
    uint64_t persistent;    /**< bytes of all that is */
    uint64_t at_once;       /**< the most of it that one call uses */
    uint64_t others;        /**< the most that calls need beside it, if nothing is given up */
    uint64_t least;         /**< and the most that one call needs alone */
    bool crosses;           /**< what the step writes waits on the device for the next iteration */
    cebus_share share;      /**< the one at hand */
    cebus_share lead;       /**< the one that takes least */
    uint64_t lead_ns;       /**< what that takes if any place will do; UINT64_MAX: there is none */
    cebus_plan lead_others; /**< and the plan for the activations beside it */
    cebus_finalists best;
    uint32_t n_others;  /**< plans for the activations */
    uint64_t spent;     /**< steps, on all of them */
    cebus_stock *stock; /**< these plans */
    bool shared_all;    /**< it was tried to share out the memory where activations all stay */
    bool slow_all;      /**< an iteration takes as long as by the rival then */
    bool unhidden;      /**< activations go by the host whether calls hide that or not */
    bool fitted;        /**< the last fits its part of the memory */
    bool slow; /**< by the last an iteration takes as long as by the rival, without waits */
} shuttle;

static void find_least(shuttle *s)
{
    for (uint32_t k = 0; k < s->iteration->n_calls; k++) {
        const cebus_usage used = cebus_usage_of(s->iteration, k);
        s->at_once = used.persistent > s->at_once ? used.persistent : s->at_once;
        s->least = used.others > s->least ? used.others : s->least;
    }
}

/* --- the best of some ------------------------------------------------------------------------ */

/** Whether something that takes so long is of no use. */
static bool is_slow(const shuttle *s, uint64_t ns)
{
    return s->terms->rival_ns > 0 && ns >= s->terms->rival_ns;
}

/** Keeps the plan if it is among those that take least; it is empty then. */
static void enter(shuttle *s, cebus_plan *plan, uint64_t ns)
{
    if (!is_slow(s, ns))
        cebus_finalists_enter(&s->best, plan, ns, s->n_others);
}

static cebus_sharing sharing_of(const shuttle *s, const cebus_plan *others, const cebus_runs *runs)
{
    return (cebus_sharing){.iteration = s->iteration,
                           .terms = s->terms,
                           .others = others,
                           .runs = runs,
                           .pool = s->pool};
}

/** What takes least is where trades begin. False without host memory. */
static bool take_lead(shuttle *s, const cebus_plan *others, uint64_t ns)
{
    bool *streams = s->lead.streams;
    s->lead_ns = ns;
    s->lead = s->share;
    s->lead.streams = streams;
    memcpy(streams, s->share.streams, s->iteration->n_values * sizeof *streams);
    cebus_plan_clear(&s->lead_others);
    return cebus_plan_copy(others, &s->lead_others);
}

/** A plan by the share at hand, if there is room for one. */
static bool try_share(shuttle *s, const cebus_sharing *sharing)
{
    cebus_plan plan;
    uint64_t ns;
    cebus_plan_init(&plan, s->pool);
    bool ok = cebus_share_plan(sharing, &s->share, &plan, &ns);
    if (ok && ns < UINT64_MAX)
        enter(s, &plan, ns);
    cebus_plan_clear(&plan);
    return ok && (ns >= s->lead_ns || take_lead(s, sharing->others, ns));
}

/** Whether what persists finds room where iterations meet, and is not used all over the iteration:
 * but in the forward, the backward and the step. Then to give way in the midst of it costs least,
 * and nothing waits there for what was just written. */
static bool can_cross(const shuttle *s, const cebus_runs *program)
{
    uint64_t often = 0;
    for (uint32_t v = 0; v < s->iteration->n_values; v++) {
        if (s->iteration->values[v].persistent &&
            cebus_runs_n_uses(program, v) >= CEBUS_SHARE_OFTEN)
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
static bool try_spared(shuttle *s, const cebus_sharing *sharing, uint64_t stay)
{
    cebus_share_choose(sharing, stay, s->share.streams);
    s->share.spared = 0;
    if (!try_share(s, sharing))
        return false;
    s->share.spared = cebus_plan_target(s->terms) / SPARED_PART;
    return try_share(s, sharing);
}

/** The program waits, and is long: what there is will do. */
static bool has_enough(const shuttle *s)
{
    return s->terms->effort == 0 && s->best.count > 0 && s->iteration->n_calls > CEBUS_SEARCH_LONG;
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
    const cebus_sharing sharing = sharing_of(s, others, &runs);
    uint64_t peak = cebus_runs_peak(&runs), last = UINT64_MAX;
    s->slow = is_slow(s, runs.times[runs.count]);
    uint64_t spare = target > peak + s->at_once ? target - peak - s->at_once : 0;
    s->share.turn = s->crosses ? find_fullest(&runs, peak) : 0;
    for (size_t i = 0; i < sizeof stays / sizeof *stays && peak < target && ok && !s->slow; i++) {
        if (has_enough(s))
            break;
        uint64_t stay = (uint64_t)(stays[i] * (double)spare);
        if (last - stay < least)
            continue;
        last = stay;
        s->share.ahead = UINT64_MAX;
        for (size_t j = 0; j < sizeof aheads / sizeof *aheads && ok && !has_enough(s); j++) {
            uint64_t ahead = (uint64_t)(aheads[j] * (double)(target - peak - stay));
            if (s->share.ahead - ahead < least)
                continue;
            s->share.ahead = ahead;
            ok = try_spared(s, &sharing, stay);
        }
    }
    cebus_runs_deinit(&runs);
    return ok;
}

/** Of long programs, each plan of which takes long, every second or fourth part is planned. */
static uint64_t stride_of(const shuttle *s)
{
    const size_t n = s->iteration->n_calls;
    return n > 3 * CEBUS_SEARCH_LONG ? 4 : n > CEBUS_SEARCH_LONG ? 2 : 1;
}

/** How the memory may be shared out beside a plan for the activations. If that is none, as where
 * all fit, it is known from the first time on. */
static bool try_beside_plan(shuttle *s, const cebus_plan *others)
{
    if (others->count == 0 && s->shared_all) {
        s->slow = s->slow_all;
        return true;
    }
    if (!try_shares(s, others))
        return false;
    if (others->count == 0) {
        s->shared_all = true;
        s->slow_all = s->slow;
    }
    return true;
}

/** Activations in so many bytes, of an iteration like ours; NULL without host memory. */
static const cebus_plan *plan_others(shuttle *s, const cebus_iteration *iteration,
                                     const cebus_stock_kind *kind, uint64_t host)
{
    cebus_plan others;
    cebus_plan_terms terms = *s->terms;
    terms.budget = kind->bytes + s->persistent + (s->terms->budget - cebus_plan_target(s->terms));
    terms.host = host;
    terms.effort /= s->unhidden ? UNHIDDEN_EFFORT_PART : EFFORT_PART;
    terms.unhidden = s->unhidden;
    terms.place = NULL;
    if (terms.effort == 0)
        terms.most = CEBUS_SEARCH_FIRST / FIRST_PART;
    else if (s->best.count > 0)
        terms.most = MOST_EFFORTS * cebus_planner_effort(iteration, terms.effort);
    cebus_plan_init(&others, s->pool);
    const bool fits = iteration == s->iteration && kind->bytes >= s->others;
    const bool ok = (fits || cebus_planner_plan(iteration, &terms, &others)) &&
                    cebus_plan_make_ready(&others, s->iteration);
    s->spent += others.spent;
    const cebus_plan *kept = ok ? cebus_stock_add(s->stock, kind, &others) : NULL;
    cebus_plan_clear(&others);
    return kept;
}

/** Such a plan, made or at hand, and parameters beside it. */
static bool try_part_of(shuttle *s, const cebus_iteration *iteration, uint64_t bytes, uint64_t host)
{
    const cebus_stock_kind kind = {.bytes = bytes,
                                   .budget = s->terms->budget,
                                   .lean = iteration != s->iteration,
                                   .swaps = host > 0,
                                   .unhidden = s->unhidden};
    const uint64_t target = cebus_plan_target(s->terms);
    const uint64_t slack = kind.lean ? stride_of(s) * (target / LESS_PART) : target / LIKE_PART;
    const cebus_plan *others = NULL;
    if (s->iteration->n_calls > CEBUS_SEARCH_LONG)
        others = cebus_stock_find(s->stock, &kind, slack);
    if (others == NULL)
        others = plan_others(s, iteration, &kind, host);
    if (others == NULL || !try_beside_plan(s, others))
        return false;
    s->fitted = !others->over;
    return true;
}

/** With swaps, and with replays alone: these leave the link to what persists. Where neither fits
 * nothing will in fewer bytes; and in fewer they take no less. */
static bool try_both(shuttle *s, const cebus_iteration *iteration, uint64_t bytes, uint64_t host)
{
    s->fitted = false;
    s->slow = true;
    if (host > 0 && !try_part_of(s, iteration, bytes, host))
        return false;
    if (s->unhidden)
        return true;
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
    return (s->terms->effort > 0 || (s->best.count == 0 && s->spent < CEBUS_SEARCH_FIRST)) &&
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
    const uint64_t stride = stride_of(s);
    for (uint64_t i = 0; i <= MOST_LESS && s->fitted && !s->slow && ok && goes_on(s); i += stride)
        ok = try_both(s, &lean, target - i * (target / LESS_PART), host);
    cebus_pool_free_object(s->pool, lean.calls, bytes);
    return ok;
}

/** Whether there is room for calls beside all that persists. */
static bool may_stay(const shuttle *s)
{
    return s->persistent + s->least <= cebus_plan_target(s->terms);
}

/** The planner's own, by which all that persists stays. */
static bool offer_stays(shuttle *s)
{
    cebus_plan plan;
    uint64_t ns;
    cebus_plan_terms terms = *s->terms;
    const cebus_sharing sharing = sharing_of(s, NULL, NULL);
    terms.unhidden = s->unhidden;
    cebus_plan_init(&plan, s->pool);
    bool ok = cebus_planner_plan(s->iteration, &terms, &plan);
    s->n_others++;
    if (ok && !plan.over) {
        ok = cebus_share_time(&sharing, &plan, &ns);
        if (ok)
            enter(s, &plan, ns);
    }
    cebus_plan_clear(&plan);
    return ok;
}

/** Where activations fit no part of the memory even so: with copies of them that calls wait for.
 * Often that takes least where all that persists stays. */
static bool try_unhidden(shuttle *s, uint64_t host)
{
    const bool any = s->best.count > 0 || s->terms->rival_ns > 0;
    if (any || s->terms->effort == 0 || host == 0 || !goes_on(s))
        return true;
    s->unhidden = true;
    const bool ok = try_beside(s, host) && (s->best.count == 0 || !may_stay(s) || offer_stays(s));
    s->unhidden = false;
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
    return ok && try_beside(s, host) && try_unhidden(s, host);
}

/** What calls need beside persistent values, if nothing is given up. */
static bool find_others(shuttle *s)
{
    cebus_plan none;
    cebus_runs runs;
    cebus_plan_init(&none, s->pool);
    if (!cebus_runs_init(&runs, s->iteration, &none, s->pool))
        return false;
    s->others = cebus_runs_peak(&runs);
    s->crosses = can_cross(s, &runs);
    cebus_runs_deinit(&runs);
    return true;
}

/** From the share that takes least others are found, a few values at a time, in so many bytes less:
 * the one found there may find places where the other finds none. */
static bool trade_for_less(shuttle *s, const cebus_runs *runs, uint64_t less)
{
    cebus_plan plan;
    cebus_plan_terms terms = *s->terms;
    cebus_sharing sharing = sharing_of(s, &s->lead_others, runs);
    terms.budget -= less;
    sharing.terms = &terms;
    cebus_plan_init(&plan, s->pool);
    s->n_others++;
    bool ok = cebus_trade(&sharing, &s->lead, s->terms->effort / TRADE_PART, &s->lead_ns);
    ok = ok && cebus_share_plan(&sharing, &s->lead, &plan, &s->lead_ns);
    if (ok && s->lead_ns < UINT64_MAX)
        enter(s, &plan, s->lead_ns);
    cebus_plan_clear(&plan);
    return ok;
}

/** Nobody waits for that. */
static bool trade(shuttle *s)
{
    cebus_runs runs;
    if (s->lead_ns == UINT64_MAX || s->terms->effort == 0 || !goes_on(s))
        return true;
    if (!cebus_runs_init(&runs, s->iteration, &s->lead_others, s->pool))
        return false;
    const uint64_t less = cebus_plan_target(s->terms) / SPARED_PART;
    bool ok = trade_for_less(s, &runs, 0) && trade_for_less(s, &runs, less);
    cebus_runs_deinit(&runs);
    return ok;
}

static void begin(shuttle *s)
{
    const size_t bytes = s->iteration->n_values * sizeof(bool);
    s->share.streams = cebus_pool_alloc(s->pool, bytes);
    s->lead.streams = cebus_pool_alloc(s->pool, bytes);
    s->lead_ns = UINT64_MAX;
    cebus_plan_init(&s->lead_others, s->pool);
}

static void end(shuttle *s)
{
    const size_t bytes = s->iteration->n_values * sizeof(bool);
    cebus_finalists_clear(&s->best);
    cebus_plan_clear(&s->lead_others);
    cebus_pool_free_object(s->pool, s->lead.streams, bytes);
    cebus_pool_free_object(s->pool, s->share.streams, bytes);
}

/** Hands the best out. False without host memory; *out_found: there is one. */
static bool search(shuttle *s, cebus_plan *out, bool *out_found)
{
    begin(s);
    bool ok = s->share.streams != NULL && s->lead.streams != NULL && find_others(s) &&
              try_parts(s) && trade(s);
    *out_found = s->best.count > 0;
    ok = ok && (!*out_found || cebus_finalists_choose(&s->best, s->iteration, s->terms, out));
    if (ok && *out_found)
        out->spent = s->spent;
    end(s);
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
    if (terms.effort == 0)
        terms.most = CEBUS_SEARCH_FIRST - CEBUS_SEARCH_FIRST / FIRST_PART;
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
    const bool stays = !terms->crowded && may_stay(&s);
    /* If none fits soon one that does is dear: those by which parameters shuttle come first. */
    const bool is_long = iteration->n_calls > CEBUS_SEARCH_LONG;
    const uint64_t trial = cebus_planner_effort(iteration, terms->effort) / (is_long ? 2 : 1);
    if (stays && !plan_stays(&s, trial, out, &fit))
        return false;
    if (fit)
        return true;
    cebus_stock own;
    cebus_stock_init(&own, out->pool);
    s.stock = terms->stock != NULL ? terms->stock : &own;
    const bool searched = search(&s, out, &found);
    cebus_stock_clear(&own);
    if (!searched)
        return false;
    if (found || (stays && trial == 0))
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
