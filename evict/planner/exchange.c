#include "evict/planner/exchange.h"

#include <string.h>

#define NONE CEBUS_SEQUENCE_NONE

/** Values of less than this part of the limit are not worth a copy. */
#define SMALLEST_PART 2000

void cebus_exchange_init(cebus_exchange *exchange, cebus_sequence *sequence, double limit)
{
    *exchange = (cebus_exchange){.sequence = sequence, .least = limit / SMALLEST_PART, .random = 1};
}

static void free_copies(cebus_exchange *x, cebus_copies *copies)
{
    cebus_pool_free_object(x->sequence->pool, copies->items,
                           copies->capacity * sizeof *copies->items);
}

void cebus_exchange_deinit(cebus_exchange *exchange)
{
    free_copies(exchange, &exchange->out);
    free_copies(exchange, &exchange->in);
}

uint32_t cebus_exchange_below(cebus_exchange *exchange, uint32_t n)
{
    exchange->random =
        exchange->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)((exchange->random >> 33) % n);
}

/** Room for one more than there are in the other. */
static bool reserve(cebus_exchange *x, cebus_copies *copies, size_t count)
{
    while (copies->capacity < count) {
        void *items = copies->items;
        if (!cebus_pool_grow(x->sequence->pool, &items, &copies->capacity, copies->capacity,
                             sizeof *copies->items))
            return false;
        copies->items = items;
    }
    return true;
}

static bool copy_all(cebus_exchange *x, const cebus_copies *from, cebus_copies *to)
{
    if (!reserve(x, to, from->count))
        return false;
    if (from->count > 0)
        memcpy(to->items, from->items, from->count * sizeof *to->items);
    to->count = from->count;
    return true;
}

bool cebus_exchange_begin(cebus_exchange *exchange, const cebus_links *links)
{
    exchange->links = links;
    exchange->host = links->host;
    return copy_all(exchange, &links->out, &exchange->out) &&
           copy_all(exchange, &links->in, &exchange->in);
}

/** The instance of a value's swap that runs a call; NONE: it has none. */
static uint32_t find_instance(const cebus_exchange *x, uint32_t value, uint32_t call)
{
    const cebus_life *life = &x->sequence->lives[value];
    for (uint32_t i = 0; i < life->count; i++) {
        uint32_t instance = cebus_event_instance(life->events[i]);
        if (x->sequence->instances[instance].call == call)
            return instance;
    }
    return NONE;
}

/* ---- slots -------------------------------------------------------------------------------- */

/** When the earliest free slot from a time on begins. */
static uint64_t earliest(const cebus_copies *busy, uint64_t from, uint64_t length)
{
    for (size_t i = 0; i < busy->count; i++) {
        if (busy->items[i].to <= from)
            continue;
        if (busy->items[i].from >= from + length)
            break;
        from = busy->items[i].to;
    }
    return from;
}

/** When the latest free slot that ends by a time begins; 0: there is none. */
static uint64_t latest(const cebus_copies *busy, uint64_t to, uint64_t length)
{
    for (size_t i = busy->count; i > 0; i--) {
        if (busy->items[i - 1].from >= to)
            continue;
        if (busy->items[i - 1].to + length <= to)
            break;
        to = busy->items[i - 1].from;
    }
    return to > length ? to - length : 0;
}

static bool occupy(cebus_exchange *x, cebus_copies *busy, cebus_copy copy)
{
    if (!reserve(x, busy, busy->count + 1))
        return false;
    size_t i = busy->count++;
    for (; i > 0 && busy->items[i - 1].from > copy.from; i--)
        busy->items[i] = busy->items[i - 1];
    busy->items[i] = copy;
    return true;
}

static void vacate(cebus_copies *busy, uint32_t value)
{
    size_t kept = 0;
    for (size_t i = 0; i < busy->count; i++) {
        if (busy->items[i].value != value)
            busy->items[kept++] = busy->items[i];
    }
    busy->count = kept;
}

/* ---- places ------------------------------------------------------------------------------- */

static uint64_t start_of(const cebus_exchange *x, uint32_t event)
{
    return x->links->starts[cebus_event_instance(event)];
}

/** The use that ends the widest stretch without; 0: there is none. What nobody holds any more is
 * not swapped. */
static uint32_t widest(const cebus_exchange *x, uint32_t value)
{
    const cebus_life *life = &x->sequence->lives[value];
    uint32_t best = 0, freed = x->sequence->iteration->values[value].freed;
    uint64_t width = 0;
    for (uint32_t i = 1; i < life->count; i++) {
        uint64_t from = start_of(x, life->events[i - 1]), to = start_of(x, life->events[i]);
        uint32_t gap = x->sequence->instances[cebus_event_instance(life->events[i])].gap;
        if (cebus_event_kind_of(life->events[i]) == CEBUS_EVENT_PRODUCE || to <= from + width ||
            gap >= freed)
            continue;
        width = to - from;
        best = i;
    }
    return best;
}

/** When a value was made whose event is given, done. */
static uint64_t made_at(const cebus_exchange *x, const cebus_life *life, uint32_t i)
{
    while (i > 0 && cebus_event_kind_of(life->events[i]) != CEBUS_EVENT_PRODUCE)
        i--;
    uint32_t instance = cebus_event_instance(life->events[i]);
    uint32_t call = x->sequence->instances[instance].call;
    uint64_t start = x->links->starts[instance];
    return call == NONE ? start : start + cebus_sequence_cost(x->sequence, call);
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
    size_t low = 0, high = x->links->n_order - 1;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (x->links->starts[x->links->order[middle]] < ns)
            low = middle + 1;
        else
            high = middle;
    }
    while (!is_there(x, x->links->order[low]))
        low++;
    return x->links->order[low];
}

/** The last instance still there that starts at a time or before it. */
static uint32_t by_time(const cebus_exchange *x, uint64_t ns)
{
    size_t low = 0, high = x->links->n_order;
    while (low + 1 < high) {
        size_t middle = (low + high) / 2;
        if (x->links->starts[x->links->order[middle]] <= ns)
            low = middle;
        else
            high = middle;
    }
    while (!is_there(x, x->links->order[low]))
        low--;
    return x->links->order[low];
}

static uint64_t part(cebus_exchange *x, uint64_t of)
{
    return of / 256 * cebus_exchange_below(x, 256);
}

/** When the copy out is to be done, and when the copy in starts. */
static void choose_times(cebus_exchange *x, const cebus_iteration_value *value, uint64_t made,
                         uint64_t read, bool chance, cebus_copy *out, cebus_copy *in)
{
    uint64_t out_ns = cebus_plan_out_ns(x->links->terms, value->bytes);
    uint64_t in_ns = cebus_plan_in_ns(x->links->terms, value->bytes);
    uint32_t how = chance ? cebus_exchange_below(x, 8) : 0;
    out->from =
        how == 1 ? made : earliest(&x->out, made + (how == 2 ? part(x, read - made) : 0), out_ns);
    out->to = out->from + out_ns;
    if (how == 3) /* its room is wanted before the copy is through: that waits */
        out->to -= part(x, out_ns);
    how = chance ? cebus_exchange_below(x, 8) : 0;
    in->from = how == 1 ? read - part(x, in_ns < read ? in_ns : read)
                        : latest(&x->in, read - (how == 2 ? part(x, read - made) : 0), in_ns);
    in->to = in->from + in_ns;
}

bool cebus_exchange_find(cebus_exchange *exchange, uint32_t value, bool chance,
                         cebus_swap_place *out)
{
    cebus_exchange *x = exchange;
    const cebus_life *life = &x->sequence->lives[value];
    const cebus_iteration_value *item = &x->sequence->iteration->values[value];
    uint32_t i = life->bytes < x->least ? 0 : widest(x, value);
    cebus_copy leaves = {.value = value}, comes = {.value = value};
    out->value = NONE;
    if (i == 0 || x->host + item->bytes > x->links->terms->host ||
        find_instance(x, value, cebus_sequence_out(x->sequence, value)) != NONE)
        return true;
    uint64_t made = made_at(x, life, i - 1);
    choose_times(x, item, made, start_of(x, life->events[i]), chance, &leaves, &comes);
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
    return occupy(x, &x->out, leaves) && occupy(x, &x->in, comes);
}

bool cebus_exchange_put(cebus_exchange *exchange, const cebus_swap_place *place)
{
    cebus_sequence *sequence = exchange->sequence;
    return cebus_sequence_insert(sequence, cebus_sequence_out(sequence, place->value),
                                 place->out_before, NULL) &&
           cebus_sequence_insert(sequence, cebus_sequence_in(sequence, place->value),
                                 place->in_before, NULL);
}

bool cebus_exchange_take(cebus_exchange *exchange, uint32_t value, bool *out)
{
    cebus_sequence *sequence = exchange->sequence;
    uint32_t in = find_instance(exchange, value, cebus_sequence_in(sequence, value));
    uint32_t leave = find_instance(exchange, value, cebus_sequence_out(sequence, value));
    *out = in != NONE && leave != NONE && cebus_sequence_can_remove(sequence, in);
    if (!*out)
        return true;
    if (exchange->links->outs[value] != NONE)
        exchange->host -= sequence->iteration->values[value].bytes;
    vacate(&exchange->out, value);
    vacate(&exchange->in, value);
    return cebus_sequence_remove(sequence, in) && cebus_sequence_remove(sequence, leave);
}
