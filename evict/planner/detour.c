#include "evict/planner/detour.h"

#include <math.h>

#define NONE CEBUS_SEQUENCE_NONE

/** Values of less than this part of the limit stay. */
#define SMALLEST_PART 2000

void cebus_detours_init(cebus_detours *detours, cebus_sequence *sequence,
                        const cebus_plan_terms *terms, double limit, double price)
{
    *detours =
        (cebus_detours){.sequence = sequence, .terms = terms, .limit = limit, .price = price};
}

void cebus_detours_deinit(cebus_detours *detours)
{
    cebus_picks_deinit(&detours->offers, detours->sequence->pool);
}

/** Whether a call runs among the events of a value, before event i. */
static bool runs_before(const cebus_sequence *sequence, uint32_t value, uint32_t i, uint32_t call)
{
    const cebus_life *life = &sequence->lives[value];
    bool any = false;
    for (uint32_t j = 0; j < i && !any; j++)
        any = sequence->instances[cebus_event_instance(life->events[j])].call == call;
    return any;
}

/** Whether event i is a use up to which it could be away. What nobody holds any more, not even the
 * call that takes it over, is not swapped. */
static bool can_go(const cebus_sequence *sequence, uint32_t value, uint32_t i)
{
    const cebus_life *life = &sequence->lives[value];
    if (i == 0 || i >= life->count || cebus_event_kind_of(life->events[i]) == CEBUS_EVENT_PRODUCE)
        return false;
    const cebus_instance *use = &sequence->instances[cebus_event_instance(life->events[i])];
    const bool moves = cebus_event_kind_of(life->events[i]) == CEBUS_EVENT_MOVE;
    return (moves || use->gap < sequence->iteration->values[value].freed) &&
           !cebus_sequence_is_swap(sequence, use->call);
}

/** ns of the link for a value that has to leave, or is on the host already. */
static double link_ns(const cebus_detours *d, uint32_t value, bool leaves)
{
    const uint64_t bytes = d->sequence->iteration->values[value].bytes;
    return (double)(cebus_plan_in_ns(d->terms, bytes) +
                    (leaves ? cebus_plan_out_ns(d->terms, bytes) : 0));
}

/** What it is worth to have a value away between a key and event i. */
static cebus_detour weigh(const cebus_detours *d, uint32_t value, uint32_t i, uint64_t from)
{
    const cebus_sequence *sequence = d->sequence;
    const uint32_t to = cebus_event_instance(sequence->lives[value].events[i]);
    const bool leaves = !runs_before(sequence, value, i, cebus_sequence_out(sequence, value));
    const double area = cebus_track_area(&sequence->track, from, cebus_sequence_key(sequence, to),
                                         d->limit, -sequence->lives[value].bytes, 0);
    const bool can = area > 0 && (!leaves || d->host + sequence->iteration->values[value].bytes <=
                                                 d->terms->host);
    return (cebus_detour){value, to, leaves,
                          can ? d->price * link_ns(d, value, leaves) / area : INFINITY};
}

/** Of equal ones that which is read last goes first (Belady, 1966). */
static cebus_pick pick_of(const cebus_detours *d, const cebus_detour *detour)
{
    return (cebus_pick){.score = detour->score,
                        .value = detour->value,
                        .to = detour->to,
                        .order = UINT32_MAX - d->sequence->instances[detour->to].gap};
}

static bool offer(cebus_detours *d, const cebus_detour *detour)
{
    return detour->score == INFINITY ||
           cebus_picks_push(&d->offers, d->sequence->pool, pick_of(d, detour));
}

/** Whether it is as good as any other is known to be. */
static bool is_best(const cebus_detours *d, const cebus_detour *detour)
{
    if (detour->score == INFINITY || d->offers.count == 0)
        return detour->score < INFINITY;
    const cebus_pick pick = pick_of(d, detour), *next = &d->offers.items[0];
    return pick.score < next->score || (pick.score <= next->score && pick.order <= next->order);
}

bool cebus_detours_note_behind(cebus_detours *detours, uint32_t value, uint64_t key)
{
    const cebus_sequence *sequence = detours->sequence;
    const uint32_t i = cebus_sequence_find(sequence, value, key + 1);
    if (sequence->lives[value].bytes * SMALLEST_PART <= detours->limit ||
        !can_go(sequence, value, i))
        return true;
    const cebus_detour detour = weigh(detours, value, i, key + 1);
    return offer(detours, &detour);
}

bool cebus_detours_find(cebus_detours *detours, uint32_t instance, cebus_detour *out)
{
    cebus_detours *d = detours;
    const cebus_sequence *sequence = d->sequence;
    const uint64_t key = cebus_sequence_key(sequence, instance);
    out->value = NONE;
    out->score = INFINITY;
    while (d->offers.count > 0 && out->value == NONE) {
        const cebus_pick pick = cebus_picks_pop(&d->offers);
        const cebus_life *life = &sequence->lives[pick.value];
        const uint32_t i = cebus_sequence_find(sequence, pick.value, key);
        if (!can_go(sequence, pick.value, i) || cebus_event_instance(life->events[i]) != pick.to ||
            pick.to == instance)
            continue;
        const cebus_detour detour = weigh(d, pick.value, i, key);
        if (is_best(d, &detour))
            *out = detour;
        else if (!offer(d, &detour))
            return false;
    }
    return out->value == NONE || offer(d, out);
}

bool cebus_detours_put(cebus_detours *detours, const cebus_detour *detour, uint32_t instance)
{
    cebus_sequence *sequence = detours->sequence;
    const uint32_t v = detour->value;
    if (detour->leaves)
        detours->host += sequence->iteration->values[v].bytes;
    return (!detour->leaves ||
            cebus_sequence_insert(sequence, cebus_sequence_out(sequence, v), instance, NULL)) &&
           cebus_sequence_insert(sequence, cebus_sequence_in(sequence, v), detour->to, NULL);
}

/* ---- copies back, earlier ----------------------------------------------------------------- */

/** Place in `order` of the earliest instance before which a value may come that comes at a place:
 * behind its last use, with room for it all the way, and no earlier than at a time. */
static size_t earliest(const cebus_links *links, double limit, uint32_t value, size_t at,
                       uint64_t from)
{
    const cebus_sequence *sequence = links->sequence;
    const cebus_life *life = &sequence->lives[value];
    const uint32_t i =
        cebus_sequence_find(sequence, value, cebus_sequence_key(sequence, links->order[at]));
    const uint32_t last = cebus_event_instance(life->events[i - 1]);
    while (at > 0 && links->order[at - 1] != last && links->starts[links->order[at]] > from &&
           cebus_track_level(&sequence->track, links->order[at - 1]) + life->bytes <= limit)
        at--;
    return at;
}

bool cebus_detours_hasten(cebus_links *links, cebus_sequence *sequence, double limit)
{
    const uint32_t n = (uint32_t)sequence->iteration->n_calls;
    if (!cebus_links_run(links))
        return false;
    uint64_t busy = UINT64_MAX; /* the link is, from then on */
    bool ok = true;
    for (size_t at = links->n_order; at-- > 0 && ok;) {
        const uint32_t instance = links->order[at], call = sequence->instances[instance].call;
        if (!cebus_sequence_is_swap(sequence, call) || (call - n) % 2 == 0)
            continue;
        const uint32_t value = (call - n) / 2;
        const uint64_t ns =
            cebus_plan_in_ns(links->terms, sequence->iteration->values[value].bytes);
        const uint64_t start = links->starts[instance], by = start < busy ? start : busy;
        const size_t to = earliest(links, limit, value, at, by > ns ? by - ns : 0);
        const uint64_t comes = links->starts[links->order[to]];
        busy = comes < by ? comes : by;
        if (to == at)
            continue;
        ok = cebus_sequence_remove(sequence, instance) &&
             cebus_sequence_insert(sequence, call, links->order[to], NULL);
    }
    cebus_sequence_keep(sequence);
    return ok;
}
