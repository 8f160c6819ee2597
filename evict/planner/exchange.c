#include "evict/planner/exchange.h"

#include "evict/planner/chance.h"

#define NONE CEBUS_SEQUENCE_NONE

/** Values of less than this part of the limit are not worth a copy. */
#define SMALLEST_PART 2000

void cebus_exchange_init(cebus_exchange *exchange, cebus_sequence *sequence, double limit)
{
    *exchange = (cebus_exchange){.sequence = sequence, .least = limit / SMALLEST_PART, .random = 1};
}

void cebus_exchange_deinit(cebus_exchange *exchange)
{
    cebus_copies_deinit(&exchange->out, exchange->sequence->pool);
    cebus_copies_deinit(&exchange->in, exchange->sequence->pool);
}

bool cebus_exchange_begin(cebus_exchange *exchange, const cebus_links *links)
{
    exchange->links = links;
    exchange->host = links->host;
    return cebus_copies_copy(&exchange->out, exchange->sequence->pool, &links->out) &&
           cebus_copies_copy(&exchange->in, exchange->sequence->pool, &links->in);
}

/** The first event of a value from one on in which a call runs that swaps it; the count: none. */
static uint32_t find_event(const cebus_exchange *x, uint32_t value, uint32_t call, uint32_t from)
{
    const cebus_life *life = &x->sequence->lives[value];
    uint32_t i = from;
    while (i < life->count &&
           x->sequence->instances[cebus_event_instance(life->events[i])].call != call)
        i++;
    return i;
}

static bool is_swapped(const cebus_exchange *x, uint32_t value)
{
    return find_event(x, value, cebus_sequence_out(x->sequence, value), 0) <
           x->sequence->lives[value].count;
}

/** The event in which it comes back for the first time; the count: it does not. */
static uint32_t first_in(const cebus_exchange *x, uint32_t value)
{
    return find_event(x, value, cebus_sequence_in(x->sequence, value), 0);
}

/* ---- places ------------------------------------------------------------------------------- */

static uint64_t start_of(const cebus_exchange *x, uint32_t event)
{
    return x->links->starts[cebus_event_instance(event)];
}

/** The use that ends the widest stretch without, from an event on; 0: there is none. What nobody
 * holds any more is not swapped. */
static uint32_t widest(const cebus_exchange *x, uint32_t value, uint32_t from)
{
    const cebus_life *life = &x->sequence->lives[value];
    uint32_t best = 0, freed = x->sequence->iteration->values[value].freed;
    uint64_t width = 0;
    for (uint32_t i = from + 1; i < life->count; i++) {
        uint64_t begin = start_of(x, life->events[i - 1]), end = start_of(x, life->events[i]);
        uint32_t gap = x->sequence->instances[cebus_event_instance(life->events[i])].gap;
        if (cebus_event_kind_of(life->events[i]) == CEBUS_EVENT_PRODUCE || end <= begin + width ||
            gap >= freed ||
            (from > 0 && cebus_event_kind_of(life->events[i - 1]) == CEBUS_EVENT_PRODUCE))
            continue;
        width = end - begin;
        best = i;
    }
    return best;
}

/** When the call of an event is done. */
static uint64_t end_of(const cebus_exchange *x, uint32_t event)
{
    return cebus_links_end(x->links, cebus_event_instance(event));
}

/** When a value was made whose event is given, done. */
static uint64_t made_at(const cebus_exchange *x, const cebus_life *life, uint32_t i)
{
    while (i > 0 && cebus_event_kind_of(life->events[i]) != CEBUS_EVENT_PRODUCE)
        i--;
    return end_of(x, life->events[i]);
}

/** Whether an instance of the run is where it was. */
static bool is_there(const cebus_exchange *x, uint32_t instance)
{
    return !cebus_sequence_is_replay(x->sequence, instance) ||
           x->sequence->instances[instance].call != NONE;
}

/** The first instance still there that starts at a time or after it. */
static uint32_t from_time(const cebus_exchange *x, uint64_t ns)
{
    size_t i = ns > 0 ? cebus_links_at(x->links, ns - 1) + 1 : 0;
    i = i < x->links->n_order ? i : x->links->n_order - 1;
    while (!is_there(x, x->links->order[i]))
        i++;
    return x->links->order[i];
}

/** The last instance still there that starts at a time or before it. */
static uint32_t by_time(const cebus_exchange *x, uint64_t ns)
{
    size_t i = cebus_links_at(x->links, ns);
    while (!is_there(x, x->links->order[i]))
        i--;
    return x->links->order[i];
}

static uint64_t part(cebus_exchange *x, uint64_t of)
{
    return of / 256 * cebus_chance_below(&x->random, 256);
}

/** When the copy out is done and its room is wanted. */
static cebus_span choose_out(cebus_exchange *x, uint64_t made, uint64_t read, uint64_t ns,
                             uint32_t how)
{
    cebus_span out = {made, made + ns};
    if (how != 1)
        out = cebus_copies_earliest(&x->out, made + (how == 2 ? part(x, read - made) : 0), ns);
    if (how == 3) /* its room is wanted before the copy is through: that waits */
        out.to -= part(x, ns);
    return out;
}

/** When the copy in starts. */
static cebus_span choose_in(cebus_exchange *x, uint64_t made, uint64_t read, uint64_t ns,
                            uint32_t how)
{
    if (how == 1) {
        uint64_t from = read - part(x, ns < read ? ns : read);
        return (cebus_span){from, from + ns};
    }
    return cebus_copies_latest(&x->in, read - (how == 2 ? part(x, read - made) : 0), ns);
}

/** A place in the widest stretch after it came back: its copy is on the host, so it need not leave
 * again. */
static bool find_again(cebus_exchange *x, uint32_t value, bool chance, cebus_swap_place *out)
{
    const cebus_life *life = &x->sequence->lives[value];
    const uint64_t ns =
        cebus_plan_in_ns(x->links->terms, x->sequence->iteration->values[value].bytes);
    uint32_t i = widest(x, value, first_in(x, value));
    if (i == 0)
        return true;
    uint64_t idle = end_of(x, life->events[i - 1]), read = start_of(x, life->events[i]);
    cebus_span comes = choose_in(x, idle, read, ns, chance ? cebus_chance_below(&x->random, 8) : 0);
    uint32_t last = cebus_event_instance(life->events[i - 1]);
    if (comes.from <= idle)
        return true;
    uint32_t back = by_time(x, comes.from);
    if (cebus_sequence_key(x->sequence, back) <= cebus_sequence_key(x->sequence, last) + 1)
        return true;
    *out = (cebus_swap_place){value, NONE, back};
    return cebus_copies_add(&x->in, x->sequence->pool, (cebus_copy){comes, value, back});
}

bool cebus_exchange_find(cebus_exchange *exchange, uint32_t value, bool chance,
                         cebus_swap_place *out)
{
    cebus_exchange *x = exchange;
    const cebus_life *life = &x->sequence->lives[value];
    const cebus_iteration_value *item = &x->sequence->iteration->values[value];
    out->value = NONE;
    if (life->bytes < x->least)
        return true;
    if (is_swapped(x, value))
        return x->links->terms->once || find_again(x, value, chance, out);
    uint32_t i = widest(x, value, 0);
    if (i == 0 || x->host + item->bytes > x->links->terms->host)
        return true;
    uint64_t made = made_at(x, life, i - 1), read = start_of(x, life->events[i]);
    cebus_span leaves = choose_out(x, made, read, cebus_plan_out_ns(x->links->terms, item->bytes),
                                   chance ? cebus_chance_below(&x->random, 8) : 0);
    cebus_span comes = choose_in(x, made, read, cebus_plan_in_ns(x->links->terms, item->bytes),
                                 chance ? cebus_chance_below(&x->random, 8) : 0);
    if (leaves.to > comes.from)
        return true;
    uint32_t last = cebus_event_instance(life->events[i - 1]);
    uint32_t away = from_time(x, leaves.to), back = by_time(x, comes.from);
    uint64_t behind = cebus_sequence_key(x->sequence, last);
    if (cebus_sequence_key(x->sequence, away) <= behind)
        away = cebus_track_next(&x->sequence->track, last);
    if (cebus_sequence_key(x->sequence, away) >= cebus_sequence_key(x->sequence, back))
        return true;
    *out = (cebus_swap_place){value, away, back};
    x->host += item->bytes;
    return cebus_copies_add(&x->out, x->sequence->pool, (cebus_copy){leaves, value, last}) &&
           cebus_copies_add(&x->in, x->sequence->pool, (cebus_copy){comes, value, back});
}

bool cebus_exchange_put(cebus_exchange *exchange, const cebus_swap_place *place)
{
    cebus_sequence *sequence = exchange->sequence;
    return (place->out_before == NONE ||
            cebus_sequence_insert(sequence, cebus_sequence_out(sequence, place->value),
                                  place->out_before, NULL)) &&
           cebus_sequence_insert(sequence, cebus_sequence_in(sequence, place->value),
                                 place->in_before, NULL);
}

/** Takes out all that bring a value back from an event on, the last first. *out: all went. */
static bool take_ins(cebus_exchange *x, uint32_t value, uint32_t from, bool *out)
{
    cebus_sequence *sequence = x->sequence;
    const cebus_life *life = &sequence->lives[value];
    const uint32_t in = cebus_sequence_in(sequence, value);
    *out = true;
    for (uint32_t i = life->count; i > from && *out; i--) {
        uint32_t instance = cebus_event_instance(life->events[i - 1]);
        if (sequence->instances[instance].call != in)
            continue;
        *out = cebus_sequence_can_remove(sequence, instance);
        if (*out && !cebus_sequence_remove(sequence, instance))
            return false;
    }
    return true;
}

bool cebus_exchange_take(cebus_exchange *exchange, uint32_t value, bool *out)
{
    cebus_sequence *sequence = exchange->sequence;
    const cebus_life *life = &sequence->lives[value];
    *out = false;
    if (first_in(exchange, value) == life->count || !is_swapped(exchange, value))
        return true;
    if (!take_ins(exchange, value, 0, out))
        return false;
    if (!*out)
        return true;
    if (exchange->links->outs[value] != NONE)
        exchange->host -= sequence->iteration->values[value].bytes;
    cebus_copies_remove(&exchange->out, value);
    cebus_copies_remove(&exchange->in, value);
    uint32_t i = find_event(exchange, value, cebus_sequence_out(sequence, value), 0);
    return cebus_sequence_remove(sequence, cebus_event_instance(life->events[i]));
}

bool cebus_exchange_take_again(cebus_exchange *exchange, uint32_t value, bool *out)
{
    uint32_t first = first_in(exchange, value);
    uint32_t again =
        find_event(exchange, value, cebus_sequence_in(exchange->sequence, value), first + 1);
    *out = false;
    if (again >= exchange->sequence->lives[value].count)
        return true;
    return take_ins(exchange, value, again, out);
}

/** Whose copy has the link at some of a time; NONE: nobody's. */
static uint32_t in_the_way(const cebus_copies *copies, cebus_span time)
{
    uint32_t value = NONE;
    for (size_t i = 0; i < copies->count && value == NONE; i++) {
        cebus_span busy = copies->items[i].when;
        if (busy.from < time.to && busy.to > time.from)
            value = copies->items[i].value;
    }
    return value;
}

/** Until the link is free for a time, or there are so many. */
static bool take_in_the_way(cebus_exchange *x, const cebus_copies *copies, cebus_span time,
                            uint32_t most, uint32_t *values, uint32_t *count)
{
    bool ok = true, taken = true;
    while (ok && taken && *count < most) {
        uint32_t other = in_the_way(copies, time);
        if (other == NONE)
            break;
        ok = cebus_exchange_take(x, other, &taken);
        if (taken)
            values[(*count)++] = other;
    }
    return ok;
}

bool cebus_exchange_make_way(cebus_exchange *exchange, uint32_t value, uint32_t most,
                             uint32_t *values, uint32_t *out_count)
{
    cebus_exchange *x = exchange;
    const cebus_life *life = &x->sequence->lives[value];
    uint64_t bytes = x->sequence->iteration->values[value].bytes;
    uint32_t i = widest(x, value, 0), sides = 1 + cebus_chance_below(&x->random, 3);
    *out_count = 0;
    if (i == 0)
        return true;
    uint64_t made = made_at(x, life, i - 1), read = start_of(x, life->events[i]);
    uint64_t in_ns = cebus_plan_in_ns(x->links->terms, bytes);
    cebus_span out = {made, made + cebus_plan_out_ns(x->links->terms, bytes)};
    cebus_span in = {read > in_ns ? read - in_ns : 0, read};
    return ((sides & 1) == 0 || take_in_the_way(x, &x->out, out, most, values, out_count)) &&
           ((sides & 2) == 0 || take_in_the_way(x, &x->in, in, most, values, out_count));
}
