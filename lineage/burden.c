#include "lineage/burden.h"

#include <assert.h>

/** Of a value that leaves with more calls behind it than this it is not known what it adds. */
#define BEHIND 1024
/** What leaves is added to the bounds of so many records at most. */
#define AHEAD 256
/** For each call that a walk meets, and for each question, what leaves may be added to the bounds
 * of so many records. Where few ask, bounds are forgotten instead. */
#define CREDIT 8

static uint64_t add(uint64_t a, uint64_t b)
{
    return a < UINT64_MAX - b ? a + b : UINT64_MAX;
}

static bool is_known(const cebus_lineage *lineage, const cebus_call *call)
{
    return call->burden.generation == lineage->burdens.generation;
}

/** The bounds of a record: of nothing at first. */
static cebus_burden *burden_of(const cebus_lineage *lineage, cebus_call *call)
{
    if (!is_known(lineage, call))
        call->burden =
            (cebus_burden){.generation = lineage->burdens.generation, .most = UINT64_MAX};
    return &call->burden;
}

static uint64_t least_of(const cebus_lineage *lineage, const cebus_call *call)
{
    uint64_t least = is_known(lineage, call) ? call->burden.least : 0;
    return least > lineage->burdens.sunk ? least - lineage->burdens.sunk : 0;
}

static void note_least(const cebus_lineage *lineage, cebus_call *call, uint64_t ns)
{
    cebus_burden *burden = burden_of(lineage, call);
    uint64_t least = add(ns, lineage->burdens.sunk);
    burden->least = least > burden->least ? least : burden->least;
}

void cebus_burden_forget(cebus_lineage *lineage)
{
    lineage->burdens.generation++;
}

/* The walk back. */

typedef struct walk {
    cebus_lineage *lineage;
    uint64_t enough; /**< it ends at a record that is known to take longer */
    uint64_t ns;     /**< of the calls met so far */
    uint64_t bytes;  /**< that they make */
    bool asked;      /**< somebody wants to know: not only what is known is kept up to date */
    bool looks;      /**< what was found will be remembered; else the calls are listed */
    uint64_t known;  /**< of the record where it ended; 0: it went on to the end */
    bool failed;     /**< no host memory */
} walk;

/** Takes up the absent inputs of a call. */
static void push_inputs(walk *w, const cebus_call *call)
{
    cebus_lineage *lineage = w->lineage;
    for (uint32_t i = 0; i < call->n_in && w->known == 0; i++) {
        const cebus_value *input = call->in[i].value;
        if (input == NULL || cebus_value_is_present(input) || input->producer == NULL ||
            input->producer->mark == lineage->epoch)
            continue;
        uint64_t least = least_of(lineage, input->producer);
        w->known = least > w->enough ? least : 0;
        input->producer->mark = lineage->epoch;
        w->failed |= !cebus_scratch_push(lineage, &lineage->stack, input->producer);
    }
}

/** Notes that a call was met, which the walk's stack took off at its height. */
static void meet(walk *w, cebus_call *call)
{
    cebus_lineage *lineage = w->lineage;
    cebus_burden *burden = burden_of(lineage, call);
    burden->watched = true;
    burden->looked |= w->looks;
    lineage->burdens.credit += w->asked ? CREDIT : 0;
    burden->level = (uint32_t)lineage->stack.count;
    w->ns += cebus_replay_call_ns(call);
    w->bytes += call->out_bytes;
    if (!w->looks)
        w->failed |= !cebus_scratch_push(lineage, &lineage->list, call);
}

/** Walks back from a call until the calls met take more than `ns`, or are `calls`, or a bound says
 * that they take more than `enough`. True if that was all of them. */
static bool walk_back(walk *w, cebus_call *from, uint64_t ns, size_t calls)
{
    struct cebus_scratch *stack = &w->lineage->stack;
    cebus_call *call = from;
    stack->count = w->lineage->list.count = 0;
    from->mark = ++w->lineage->epoch;
    for (size_t met = 0; call != NULL && met < calls; met++) {
        if (w->failed || w->known > 0 || w->ns > ns)
            return false;
        meet(w, call);
        push_inputs(w, call);
        call = stack->count > 0 ? stack->items[--stack->count] : NULL;
    }
    return call == NULL && !w->failed && w->known == 0 && w->ns <= ns;
}

/**
 * What a walk that ended early says of the calls on its way. All that was met since a call is
 * behind it if, since then, the walk's stack was never lower than when the call was taken off it.
 * Where the walk ended at a record with a bound, only calls in front of that count beside it.
 */
static void note_way(const walk *w)
{
    const struct cebus_scratch *list = &w->lineage->list;
    uint64_t ns = w->known;
    uint32_t lowest = UINT32_MAX;
    for (size_t i = list->count; i-- > 0;) {
        cebus_call *call = list->items[i];
        bool behind_it = call->burden.level <= lowest;
        if (behind_it || w->known == 0)
            ns = add(ns, cebus_replay_call_ns(call));
        if (behind_it) {
            note_least(w->lineage, call, ns);
            lowest = call->burden.level;
        }
    }
}

static void note_all(const walk *w, cebus_call *call)
{
    note_least(w->lineage, call, w->ns);
    call->burden.most = w->ns;
}

/** A little more than needed is walked: the bounds last longer then. */
static bool find_out(cebus_lineage *lineage, cebus_call *call, uint64_t ns)
{
    walk w = {.lineage = lineage, .enough = ns, .asked = true};
    if (walk_back(&w, call, add(ns, ns), SIZE_MAX))
        note_all(&w, call);
    else if (!w.failed)
        note_way(&w);
    return w.ns > ns || w.known > ns;
}

static bool answer(cebus_lineage *lineage, cebus_call *call, uint64_t ns)
{
    lineage->burdens.credit += CREDIT;
    if (least_of(lineage, call) > ns)
        return true;
    if (is_known(lineage, call) && call->burden.most <= ns)
        return false;
    return find_out(lineage, call, ns);
}

bool cebus_burden_exceeds(cebus_lineage *lineage, const cebus_value *value, uint64_t ns)
{
    if (value->producer == NULL)
        return false;
    bool exceeds = answer(lineage, value->producer, ns);
#if CEBUS_CHECKS >= 2
    assert(exceeds == (cebus_replay_behind(lineage, value, SIZE_MAX, ns).ns > ns));
#endif
    return exceeds;
}

/* The look back. */

static cebus_effort look_back(cebus_lineage *lineage, cebus_call *call, uint64_t ns)
{
    cebus_burden *burden = burden_of(lineage, call);
    if (burden->ns > 0 && (burden->whole || burden->ns > ns))
        return (cebus_effort){burden->ns, burden->bytes};
    walk w = {.lineage = lineage, .enough = UINT64_MAX, .asked = true, .looks = true};
    if (walk_back(&w, call, ns, CEBUS_BURDEN_CALLS))
        note_all(&w, call);
    burden->ns = w.failed ? 0 : w.ns;
    burden->bytes = w.bytes;
    burden->whole = w.ns <= ns;
    return (cebus_effort){w.ns, w.bytes};
}

cebus_effort cebus_burden_behind(cebus_lineage *lineage, const cebus_value *value, uint64_t ns)
{
    if (value->producer == NULL)
        return (cebus_effort){0};
    cebus_effort found = look_back(lineage, value->producer, ns);
#if CEBUS_CHECKS >= 2
    cebus_effort other = cebus_replay_behind(lineage, value, CEBUS_BURDEN_CALLS, ns);
    assert((found.ns > ns) == (other.ns > ns));
    assert(found.ns > ns || (found.ns == other.ns && found.bytes == other.bytes));
#endif
    return found;
}

/** Takes up a call whose look back is to be forgotten. */
static bool push_looked(cebus_lineage *lineage, cebus_call *call)
{
    if (!is_known(lineage, call) || !call->burden.looked)
        return true;
    call->burden.looked = false;
    call->burden.ns = 0;
    return cebus_scratch_push(lineage, &lineage->stack, call);
}

static bool push_looking(cebus_lineage *lineage, const cebus_value *value)
{
    bool pushed = true;
    for (const cebus_edge *edge = value->consumers; edge != NULL && pushed; edge = edge->next)
        pushed = push_looked(lineage, edge->call);
    return pushed;
}

/** Goes on to all that looked back at the calls taken up. */
static void forget_looks(cebus_lineage *lineage, bool pushed)
{
    struct cebus_scratch *stack = &lineage->stack;
    while (stack->count > 0 && pushed) {
        const cebus_call *call = stack->items[--stack->count];
        for (uint32_t j = 0; j < call->n_out && pushed; j++) {
            const cebus_value *made = call->out[j];
            if (made != NULL && !cebus_value_is_present(made))
                pushed = push_looking(lineage, made);
        }
    }
    if (!pushed)
        cebus_burden_forget(lineage);
}

static void forget_looks_at(cebus_lineage *lineage, const cebus_value *value)
{
    lineage->stack.count = 0;
    forget_looks(lineage, push_looking(lineage, value));
}

static void forget_looks_over(cebus_lineage *lineage, const cebus_call *call)
{
    lineage->stack.count = 0;
    forget_looks(lineage, push_looked(lineage, (cebus_call *)call));
}

/* What changes. */

/** Its burden at most, in so far as that is found at once: UINT64_MAX if not. All behind it is
 * watched from now on. */
static uint64_t most_of(cebus_lineage *lineage, cebus_call *call)
{
    if (is_known(lineage, call) && call->burden.most < UINT64_MAX)
        return call->burden.most;
    walk w = {.lineage = lineage, .enough = UINT64_MAX};
    if (!walk_back(&w, call, UINT64_MAX, BEHIND))
        return UINT64_MAX;
    note_all(&w, call);
    return w.ns;
}

static bool is_watched(const cebus_lineage *lineage, const cebus_call *call)
{
    return is_known(lineage, call) && call->burden.watched;
}

/** Of a record that reads the value. */
static bool any_ahead(const cebus_lineage *lineage, const cebus_value *value,
                      bool (*is)(const cebus_lineage *, const cebus_call *))
{
    for (const cebus_edge *edge = value->consumers; edge != NULL; edge = edge->next) {
        if (is(lineage, edge->call))
            return true;
    }
    return false;
}

/** Once, or, where bounds are forgotten, as long as it is watched: also one that was added to. */
static bool push_watched(cebus_lineage *lineage, cebus_call *call, bool adds)
{
    if ((adds && call->mark == lineage->epoch) || !is_watched(lineage, call))
        return true;
    call->mark = lineage->epoch;
    return cebus_scratch_push(lineage, &lineage->stack, call);
}

static bool push_readers(cebus_lineage *lineage, const cebus_value *value, bool adds)
{
    bool pushed = true;
    for (const cebus_edge *edge = value->consumers; edge != NULL && pushed; edge = edge->next)
        pushed = push_watched(lineage, edge->call, adds);
    return pushed;
}

/** Adds to a bound, or forgets it where that is too much. */
static bool raise_most(cebus_lineage *lineage, cebus_burden *burden, uint64_t ns, bool near)
{
    bool adds = near && lineage->burdens.credit > 0;
    burden->most = adds ? add(burden->most, ns) : UINT64_MAX;
    burden->watched = adds;
    lineage->burdens.credit -= adds;
    return adds;
}

/** Adds to the burdens of the calls that are taken up, and of all that wait for those. */
static void spread(cebus_lineage *lineage, uint64_t ns, bool pushed)
{
    struct cebus_scratch *stack = &lineage->stack;
    size_t met = 0;
    while (stack->count > 0 && pushed) {
        cebus_call *call = stack->items[--stack->count];
        bool adds = raise_most(lineage, burden_of(lineage, call), ns, met++ < AHEAD);
        for (uint32_t j = 0; j < call->n_out && pushed; j++) {
            const cebus_value *made = call->out[j];
            if (made != NULL && !cebus_value_is_present(made))
                pushed = push_readers(lineage, made, adds);
        }
    }
    if (!pushed)
        cebus_burden_forget(lineage);
}

void cebus_burden_left(cebus_lineage *lineage, const cebus_value *value)
{
    forget_looks_at(lineage, value);
    if (value->producer == NULL || !any_ahead(lineage, value, is_watched))
        return;
    uint64_t ns = lineage->burdens.credit > 0 ? most_of(lineage, value->producer) : UINT64_MAX;
    lineage->epoch++;
    lineage->stack.count = 0;
    spread(lineage, ns, push_readers(lineage, value, true));
}

void cebus_burden_returned(cebus_lineage *lineage, const cebus_value *value)
{
    cebus_call *call = value->producer;
    forget_looks_at(lineage, value);
    if (call == NULL || !any_ahead(lineage, value, is_known)) /* no walk counted what it hides */
        return;
    uint64_t ns = cebus_call_has_inputs(call) ? cebus_replay_call_ns(call) : most_of(lineage, call);
    if (ns == UINT64_MAX)
        cebus_burden_forget(lineage);
    else
        lineage->burdens.sunk += ns;
}

void cebus_burden_changed(cebus_lineage *lineage, const cebus_call *call, uint64_t before)
{
    uint64_t now = cebus_replay_call_ns(call);
    if (!is_known(lineage, call) || now == before)
        return;
    forget_looks_over(lineage, call);
    if (now < before) {
        lineage->burdens.sunk += before - now;
        return;
    }
    lineage->epoch++;
    lineage->stack.count = 0;
    spread(lineage, now - before, push_watched(lineage, (cebus_call *)call, true));
}

void cebus_burden_shrunk(cebus_lineage *lineage, const cebus_call *call)
{
    forget_looks_over(lineage, call);
}
