#include "evict/planner/swap_slots.h"

#include <stdlib.h>
#include <string.h>

#include "evict/planner/copies.h"
#include "evict/planner/picks.h"

#define NONE CEBUS_SEQUENCE_NONE

/** Values of less than this part of the limit stay. */
#define SMALLEST_PART 2000

typedef struct filler {
    cebus_pool *pool;
    cebus_sequence *sequence;
    const cebus_plan_terms *terms;
    double limit, price, again; /**< again 0: makes no difference */
    uint64_t *times;            /**< when call k starts */
    uint32_t *backs;            /**< of values: calls done when it first comes back; 0: it stays */
    uint64_t host;              /**< bytes there */
    cebus_copies out, in;       /**< busy times of the link */
    cebus_picks offers;         /**< scores: -ns saved for a ns of link; from, to: calls */
    bool more;                  /**< something would have gone again */
} filler;

/** Where a swap would lie. */
typedef struct fit {
    cebus_span out, in;
    uint32_t away, back; /**< calls done */
} fit;

/** The first call that starts at a time or after it; n_calls: none does. */
static uint32_t call_from(const filler *f, uint64_t time)
{
    uint32_t low = 0, high = (uint32_t)f->sequence->iteration->n_calls;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (f->times[middle] < time)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static uint32_t instance_of(const filler *f, uint32_t calls)
{
    return calls < f->sequence->iteration->n_calls ? calls : cebus_sequence_end(f->sequence);
}

/** Whether there are slots for it, with calls between. */
static bool find_fit(const filler *f, const cebus_pick *o, fit *out)
{
    uint64_t bytes = f->sequence->iteration->values[o->value].bytes;
    uint64_t idle = f->times[o->from + 1];
    if (f->backs[o->value] > 0)
        out->out = (cebus_span){idle, idle};
    else
        out->out = cebus_copies_earliest(&f->out, idle, cebus_plan_out_ns(f->terms, bytes));
    out->in = cebus_copies_latest(&f->in, f->times[o->to], cebus_plan_in_ns(f->terms, bytes));
    if (out->in.from == out->in.to || out->in.from <= out->out.to)
        return false;
    out->away = call_from(f, out->out.to);
    out->back = call_from(f, out->in.from + 1) - 1;
    return out->away < out->back;
}

/** Works the score out; 0: it gains nothing, or there is no room. */
static void weigh(const filler *f, cebus_pick *o, fit *out)
{
    const cebus_life *life = &f->sequence->lives[o->value];
    o->score = 0;
    if ((f->backs[o->value] == 0 &&
         f->host + f->sequence->iteration->values[o->value].bytes > f->terms->host) ||
        !find_fit(f, o, out))
        return;
    double saved =
        -f->price * cebus_track_area(&f->sequence->track,
                                     cebus_sequence_key(f->sequence, instance_of(f, out->away)),
                                     cebus_sequence_key(f->sequence, instance_of(f, out->back)),
                                     f->limit, 0, -life->bytes);
    if (life->call != NONE && f->again > 0) {
        double again = f->again * (double)f->sequence->iteration->calls[life->call].cost_ns;
        saved = saved < again ? saved : again;
    }
    o->score = -saved / (double)(out->out.to - out->out.from + out->in.to - out->in.from);
}

/** Whether a value is away in other calls; it may yet go behind them, by the copy that is there,
 * unless it is to go once. */
static bool is_taken(filler *f, const cebus_pick *o)
{
    if (f->backs[o->value] == 0 || o->from < f->backs[o->value] || !f->terms->once)
        return f->backs[o->value] > 0 && o->from < f->backs[o->value];
    if (!f->more) {
        fit where;
        cebus_pick again = *o;
        weigh(f, &again, &where);
        f->more = again.score < 0;
    }
    return true;
}

static bool find_offers(filler *f)
{
    const cebus_sequence *sequence = f->sequence;
    uint32_t n = (uint32_t)sequence->iteration->n_calls;
    fit where;
    for (uint32_t v = 0; v < sequence->iteration->n_values; v++) {
        const cebus_life *life = &sequence->lives[v];
        for (uint32_t i = 1; i < life->count && life->bytes * SMALLEST_PART > f->limit; i++) {
            uint32_t from = cebus_event_instance(life->events[i - 1]);
            uint32_t to = cebus_event_instance(life->events[i]);
            cebus_pick o = {.value = v, .from = from, .to = to < n ? to : n, .order = v};
            if (from >= n)
                continue;
            weigh(f, &o, &where);
            if (o.score < 0 && !cebus_picks_push(&f->offers, f->pool, o))
                return false;
        }
    }
    return true;
}

static bool put_out(filler *f, uint32_t value, const fit *where)
{
    f->backs[value] = where->back;
    f->host += f->sequence->iteration->values[value].bytes;
    return cebus_copies_add(&f->out, f->pool, (cebus_copy){where->out, value, where->away}) &&
           cebus_sequence_insert(f->sequence, cebus_sequence_out(f->sequence, value),
                                 instance_of(f, where->away), NULL);
}

static bool take(filler *f, const cebus_pick *o, const fit *where)
{
    return (f->backs[o->value] > 0 || put_out(f, o->value, where)) &&
           cebus_copies_add(&f->in, f->pool, (cebus_copy){where->in, o->value, where->back}) &&
           cebus_sequence_insert(f->sequence, cebus_sequence_in(f->sequence, o->value),
                                 instance_of(f, where->back), NULL);
}

/** The best offer as it stands now, of those whose scores only fall; NONE: there is none. */
static bool next(filler *f, cebus_pick *out, fit *out_fit)
{
    out->value = NONE;
    while (f->offers.count > 0 && out->value == NONE) {
        cebus_pick o = cebus_picks_pop(&f->offers);
        if (is_taken(f, &o))
            continue;
        weigh(f, &o, out_fit);
        if (o.score < 0 && (f->offers.count == 0 || o.score <= 0.98 * f->offers.items[0].score))
            *out = o;
        else if (o.score < 0 && !cebus_picks_push(&f->offers, f->pool, o))
            return false;
    }
    return true;
}

static bool is_over(const filler *f)
{
    return cebus_track_exceeds(&f->sequence->track, 0, UINT64_MAX, f->limit);
}

static bool fill_best(filler *f)
{
    cebus_pick o;
    fit where;
    while (is_over(f)) {
        if (!next(f, &o, &where))
            return false;
        if (o.value == NONE)
            break;
        if (!take(f, &o, &where))
            return false;
    }
    return true;
}

/** When it idles, its call out of the way. */
static uint64_t idle_from(const filler *f, const cebus_pick *o)
{
    return f->times[o->from + 1];
}

static int compare_starts(const void *a, const void *b)
{
    const cebus_pick *x = a, *y = b;
    if (x->from != y->from)
        return x->from < y->from ? -1 : 1;
    return (x->order > y->order) - (x->order < y->order);
}

/** Moves offers that idle by then to `idle`, where the last used comes first. */
static bool add_idle(filler *f, cebus_picks *idle, size_t *at, uint64_t now)
{
    bool ok = true;
    for (; *at < f->offers.count && idle_from(f, &f->offers.items[*at]) <= now && ok; ++*at) {
        cebus_pick o = f->offers.items[*at];
        o.score = -(double)o.to;
        ok = cebus_picks_push(idle, f->pool, o);
    }
    return ok;
}

static bool fill_in_turn(filler *f, cebus_picks *idle)
{
    fit where;
    bool ok = true;
    uint64_t now = 0;
    cebus_picks *offers = &f->offers;
    if (offers->count > 0)
        qsort(offers->items, offers->count, sizeof *offers->items, compare_starts);
    for (size_t at = 0; ok && (at < offers->count || idle->count > 0) && is_over(f);) {
        if (idle->count == 0 && idle_from(f, &offers->items[at]) > now)
            now = idle_from(f, &offers->items[at]);
        if (!add_idle(f, idle, &at, now))
            return false;
        cebus_pick o = cebus_picks_pop(idle);
        if (is_taken(f, &o))
            continue;
        weigh(f, &o, &where);
        if (o.score >= 0)
            continue;
        ok = take(f, &o, &where);
        if (where.out.to > now)
            now = where.out.to;
    }
    return ok;
}

static bool fill(filler *f, cebus_swap_order order)
{
    cebus_picks idle = {0};
    uint64_t now = 0;
    for (size_t k = 0; k <= f->sequence->iteration->n_calls; k++) {
        f->times[k] = now;
        now += k < f->sequence->iteration->n_calls ? f->sequence->iteration->calls[k].cost_ns : 0;
    }
    bool ok =
        find_offers(f) && (order == CEBUS_SWAP_IN_TURN ? fill_in_turn(f, &idle) : fill_best(f));
    cebus_picks_deinit(&idle, f->pool);
    return ok;
}

bool cebus_swap_slots_fill(cebus_sequence *sequence, const cebus_plan_terms *terms, double limit,
                           cebus_swap_order order, double price, double again, bool *out_more)
{
    cebus_pool *pool = sequence->pool;
    filler f = {.pool = pool,
                .sequence = sequence,
                .terms = terms,
                .limit = limit,
                .price = order == CEBUS_SWAP_BEST ? price : 1,
                .again = order == CEBUS_SWAP_BEST ? again : 0};
    size_t bytes = (sequence->iteration->n_calls + 1) * sizeof *f.times;
    size_t n_values = sequence->iteration->n_values;
    f.times = cebus_pool_alloc(pool, bytes);
    f.backs = cebus_pool_alloc(pool, n_values * sizeof *f.backs);
    bool ok = f.times != NULL && f.backs != NULL;
    if (ok) {
        memset(f.backs, 0, n_values * sizeof *f.backs);
        ok = fill(&f, order);
    }
    *out_more = f.more;
    cebus_picks_deinit(&f.offers, pool);
    cebus_copies_deinit(&f.out, pool);
    cebus_copies_deinit(&f.in, pool);
    cebus_pool_free_object(pool, f.times, bytes);
    cebus_pool_free_object(pool, f.backs, n_values * sizeof *f.backs);
    return ok;
}
