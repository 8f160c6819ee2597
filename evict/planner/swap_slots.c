#include "evict/planner/swap_slots.h"

#include <string.h>

#define NONE CEBUS_SEQUENCE_NONE

/** Values of less than this part of the limit stay. */
#define SMALLEST_PART 2000

typedef struct slot {
    uint64_t from, to; /**< ns */
} slot;

/** One direction of the link: its busy times, ascending. */
typedef struct lane {
    slot *slots;
    size_t count, capacity;
} lane;

/** A stretch that could be swapped. */
typedef struct offer {
    double score;             /**< ns saved for a ns of link */
    uint32_t value, from, to; /**< calls that use it before and after; n_calls: the end */
} offer;

typedef struct filler {
    cebus_pool *pool;
    cebus_sequence *sequence;
    const cebus_plan_terms *terms;
    double limit, price, again;
    uint64_t *times; /**< when call k starts */
    bool *away;      /**< of values: swapped */
    uint64_t host;   /**< bytes there */
    lane out, in;
    offer *offers;
    size_t n_offers, capacity;
} filler;

/** Where a swap would lie. */
typedef struct fit {
    slot out, in;
    size_t out_index, in_index;
    uint32_t away, back; /**< calls done */
} fit;

/** The earliest free slot from a time on; its index among the busy ones. */
static slot earliest(const lane *l, uint64_t from, uint64_t length, size_t *out_index)
{
    size_t i = 0;
    for (; i < l->count; i++) {
        if (l->slots[i].to <= from)
            continue;
        if (l->slots[i].from >= from + length)
            break;
        from = l->slots[i].to;
    }
    *out_index = i;
    return (slot){from, from + length};
}

/** The latest free slot that ends by a time; from == to: there is none. */
static slot latest(const lane *l, uint64_t to, uint64_t length, size_t *out_index)
{
    size_t i = l->count;
    for (; i > 0; i--) {
        if (l->slots[i - 1].from >= to)
            continue;
        if (l->slots[i - 1].to + length <= to)
            break;
        to = l->slots[i - 1].from;
    }
    *out_index = i;
    return to >= length ? (slot){to - length, to} : (slot){0, 0};
}

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
static bool find_fit(const filler *f, const offer *o, fit *out)
{
    uint64_t bytes = f->sequence->iteration->values[o->value].bytes;
    out->out = earliest(&f->out, f->times[o->from + 1], cebus_plan_out_ns(f->terms, bytes),
                        &out->out_index);
    out->in = latest(&f->in, f->times[o->to], cebus_plan_in_ns(f->terms, bytes), &out->in_index);
    if (out->in.from == out->in.to || out->in.from <= out->out.to)
        return false;
    out->away = call_from(f, out->out.to);
    out->back = call_from(f, out->in.from + 1) - 1;
    return out->away < out->back;
}

/** Works the score out; 0: it gains nothing, or there is no room. */
static void weigh(const filler *f, offer *o, fit *out)
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
    o->score = saved / (double)(out->out.to - out->out.from + out->in.to - out->in.from);
}

static bool is_better(const offer *a, const offer *b)
{
    return a->score > b->score || (a->score == b->score && a->value < b->value);
}

/** A heap, the best on top. */
static bool push(filler *f, offer o)
{
    void *offers = f->offers;
    if (!cebus_pool_grow(f->pool, &offers, &f->capacity, f->n_offers, sizeof o))
        return false;
    f->offers = offers;
    size_t i = f->n_offers++;
    for (; i > 0 && is_better(&o, &f->offers[(i - 1) / 2]); i = (i - 1) / 2)
        f->offers[i] = f->offers[(i - 1) / 2];
    f->offers[i] = o;
    return true;
}

static offer pop(filler *f)
{
    offer top = f->offers[0], last = f->offers[--f->n_offers];
    size_t i = 0;
    for (size_t child = 1; child < f->n_offers; child = 2 * i + 1) {
        if (child + 1 < f->n_offers && is_better(&f->offers[child + 1], &f->offers[child]))
            child++;
        if (!is_better(&f->offers[child], &last))
            break;
        f->offers[i] = f->offers[child];
        i = child;
    }
    f->offers[i] = last;
    return top;
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
            offer o = {.value = v, .from = from, .to = to < n ? to : n};
            if (from >= n)
                continue;
            weigh(f, &o, &where);
            if (o.score > 0 && !push(f, o))
                return false;
        }
    }
    return true;
}

static bool occupy(filler *f, lane *l, size_t index, slot what)
{
    void *slots = l->slots;
    if (!cebus_pool_grow(f->pool, &slots, &l->capacity, l->count, sizeof what))
        return false;
    l->slots = slots;
    memmove(&l->slots[index + 1], &l->slots[index], (l->count - index) * sizeof what);
    l->slots[index] = what;
    l->count++;
    return true;
}

static bool take(filler *f, const offer *o, const fit *where)
{
    f->away[o->value] = true;
    f->host += f->sequence->iteration->values[o->value].bytes;
    return occupy(f, &f->out, where->out_index, where->out) &&
           occupy(f, &f->in, where->in_index, where->in) &&
           cebus_sequence_insert(f->sequence, cebus_sequence_out(f->sequence, o->value),
                                 instance_of(f, where->away), NULL) &&
           cebus_sequence_insert(f->sequence, cebus_sequence_in(f->sequence, o->value),
                                 instance_of(f, where->back), NULL);
}

/** The best offer as it stands now, of those whose scores only fall; NONE: there is none. */
static bool next(filler *f, offer *out, fit *out_fit)
{
    out->value = NONE;
    while (f->n_offers > 0 && out->value == NONE) {
        offer o = pop(f);
        if (f->away[o.value])
            continue;
        weigh(f, &o, out_fit);
        if (o.score > 0 && (f->n_offers == 0 || o.score >= 0.98 * f->offers[0].score))
            *out = o;
        else if (o.score > 0 && !push(f, o))
            return false;
    }
    return true;
}

static bool fill(filler *f)
{
    offer o;
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
    cebus_pool_free_object(pool, f.offers, f.capacity * sizeof *f.offers);
    cebus_pool_free_object(pool, f.out.slots, f.out.capacity * sizeof *f.out.slots);
    cebus_pool_free_object(pool, f.in.slots, f.in.capacity * sizeof *f.in.slots);
    cebus_pool_free_object(pool, f.times, bytes);
    cebus_pool_free_object(pool, f.away, n_values);
    return ok;
}
