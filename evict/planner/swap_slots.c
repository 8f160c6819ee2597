#include "evict/planner/swap_slots.h"

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
    double limit, price, again;
    uint64_t *times;      /**< when call k starts */
    bool *away;           /**< of values: swapped */
    uint64_t host;        /**< bytes there */
    cebus_copies out, in; /**< busy times of the link */
    cebus_picks offers;   /**< scores: -ns saved for a ns of link; from, to: calls */
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
    out->out =
        cebus_copies_earliest(&f->out, f->times[o->from + 1], cebus_plan_out_ns(f->terms, bytes));
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
    if (f->host + f->sequence->iteration->values[o->value].bytes > f->terms->host ||
        !find_fit(f, o, out))
        return;
    double saved =
        -f->price * cebus_track_area(&f->sequence->track,
                                     cebus_sequence_key(f->sequence, instance_of(f, out->away)),
                                     cebus_sequence_key(f->sequence, instance_of(f, out->back)),
                                     f->limit, 0, -life->bytes);
    if (life->call != NONE) {
        double again = f->again * (double)f->sequence->iteration->calls[life->call].cost_ns;
        saved = saved < again ? saved : again;
    }
    o->score = -saved / (double)(out->out.to - out->out.from + out->in.to - out->in.from);
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

static bool take(filler *f, const cebus_pick *o, const fit *where)
{
    f->away[o->value] = true;
    f->host += f->sequence->iteration->values[o->value].bytes;
    return cebus_copies_add(&f->out, f->pool, (cebus_copy){where->out, o->value, where->away}) &&
           cebus_copies_add(&f->in, f->pool, (cebus_copy){where->in, o->value, where->back}) &&
           cebus_sequence_insert(f->sequence, cebus_sequence_out(f->sequence, o->value),
                                 instance_of(f, where->away), NULL) &&
           cebus_sequence_insert(f->sequence, cebus_sequence_in(f->sequence, o->value),
                                 instance_of(f, where->back), NULL);
}

/** The best offer as it stands now, of those whose scores only fall; NONE: there is none. */
static bool next(filler *f, cebus_pick *out, fit *out_fit)
{
    out->value = NONE;
    while (f->offers.count > 0 && out->value == NONE) {
        cebus_pick o = cebus_picks_pop(&f->offers);
        if (f->away[o.value])
            continue;
        weigh(f, &o, out_fit);
        if (o.score < 0 && (f->offers.count == 0 || o.score <= 0.98 * f->offers.items[0].score))
            *out = o;
        else if (o.score < 0 && !cebus_picks_push(&f->offers, f->pool, o))
            return false;
    }
    return true;
}

static bool fill(filler *f)
{
    cebus_pick o;
    fit where;
    uint64_t now = 0;
    for (size_t k = 0; k <= f->sequence->iteration->n_calls; k++) {
        f->times[k] = now;
        now += k < f->sequence->iteration->n_calls ? f->sequence->iteration->calls[k].cost_ns : 0;
    }
    if (!find_offers(f))
        return false;
    while (cebus_track_exceeds(&f->sequence->track, 0, UINT64_MAX, f->limit)) {
        if (!next(f, &o, &where))
            return false;
        if (o.value == NONE)
            break;
        if (!take(f, &o, &where))
            return false;
    }
    return true;
}

bool cebus_swap_slots_fill(cebus_sequence *sequence, const cebus_plan_terms *terms, double limit,
                           double price, double again)
{
    cebus_pool *pool = sequence->pool;
    filler f = {.pool = pool,
                .sequence = sequence,
                .terms = terms,
                .limit = limit,
                .price = price,
                .again = again};
    size_t bytes = (sequence->iteration->n_calls + 1) * sizeof *f.times;
    size_t n_values = sequence->iteration->n_values;
    f.times = cebus_pool_alloc(pool, bytes);
    f.away = cebus_pool_alloc(pool, n_values);
    bool ok = f.times != NULL && f.away != NULL;
    if (ok) {
        memset(f.away, 0, n_values);
        ok = fill(&f);
    }
    cebus_picks_deinit(&f.offers, pool);
    cebus_copies_deinit(&f.out, pool);
    cebus_copies_deinit(&f.in, pool);
    cebus_pool_free_object(pool, f.times, bytes);
    cebus_pool_free_object(pool, f.away, n_values);
    return ok;
}
