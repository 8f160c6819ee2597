#include "evict/timeline/walk.h"

#include "layout/number.h"

#define NONE CEBUS_ITERATION_NONE

/** Evictions that are looked for, at most: a plan that foresees so little tells no time. */
#define MOST_UNFORESEEN 4096

void cebus_walk_add_hole(cebus_walk *w, uint64_t since, uint64_t bytes)
{
    if (!cebus_holes_add(&w->holes, since, bytes))
        w->failed = true;
}

void cebus_walk_settle(cebus_walk *w, uint64_t place, uint64_t bytes, uint64_t since)
{
    if (place != CEBUS_ANYWHERE && !cebus_ground_set(&w->ground, place, bytes, since))
        w->failed = true;
}

void cebus_walk_go(cebus_walk *w, uint32_t v, uint64_t since)
{
    cebus_walk_state *s = &w->states[v];
    since = cebus_max_u64(since, s->out_end);
    s->resident = false;
    cebus_walk_settle(w, s->place, w->iteration->values[v].bytes, since);
    s->place = CEBUS_ANYWHERE;
    cebus_walk_add_hole(w, since, w->iteration->values[v].bytes);
}

void cebus_walk_copy_out(cebus_walk *w, uint32_t v)
{
    cebus_walk_state *s = &w->states[v];
    uint64_t bytes = w->iteration->values[v].bytes;
    if (s->on_host)
        return;
    s->out_end = cebus_streams_copy_out(&w->streams, bytes, cebus_max_u64(s->last, s->ready)).to;
    s->on_host = true;
    w->out->out_bytes += bytes;
}

/** Whether an action that was due waits for its value to leave. */
static bool may_leave(const cebus_walk *w, size_t a)
{
    const cebus_action *action = &w->plan->actions[a];
    const cebus_walk_state *s = &w->states[action->value];
    return action->kind == CEBUS_ACTION_SWAP_OUT && s->resident && s->on_host && !s->busy &&
           a >= s->back;
}

bool cebus_walk_yield(cebus_walk *w)
{
    for (; w->left < w->next; w->left++) {
        const uint32_t v = w->plan->actions[w->left].value;
        if (!may_leave(w, w->left))
            continue;
        cebus_walk_go(w, v, w->states[v].last);
        w->left++;
        return true;
    }
    return false;
}

static bool may_go(const cebus_walk *w, uint32_t v)
{
    const cebus_iteration_value *value = &w->iteration->values[v];
    const cebus_walk_state *s = &w->states[v];
    return s->resident && !s->busy && !value->persistent && value->bytes > 0 &&
           (w->terms->swaps || (value->replayable && value->born != NONE));
}

/** What no plan said: the one used least recently goes. */
static bool evict(cebus_walk *w)
{
    uint32_t oldest = NONE;
    if (w->out->unforeseen >= MOST_UNFORESEEN)
        return false;
    for (uint32_t v = 0; v < w->iteration->n_values; v++) {
        if (may_go(w, v) && (oldest == NONE || w->states[v].last < w->states[oldest].last))
            oldest = v;
    }
    if (oldest == NONE)
        return false;
    if (w->terms->swaps)
        cebus_walk_copy_out(w, oldest);
    cebus_walk_go(w, oldest, w->states[oldest].last);
    w->out->unforeseen++;
    return true;
}

static uint64_t take(cebus_walk *w, uint64_t bytes)
{
    while (w->holes.free < bytes && (cebus_walk_yield(w) || evict(w)))
        continue;
    return cebus_holes_take(&w->holes, bytes);
}

bool cebus_walk_clear(cebus_walk *w, uint64_t place, uint64_t bytes)
{
    if (cebus_ground_since(&w->ground, place, bytes) != CEBUS_GROUND_TAKEN)
        return true;
    size_t kept = 0;
    for (size_t i = 0; i < w->n_leaving; i++) {
        const uint32_t a = w->leaving[i], v = w->plan->actions[a].value;
        const cebus_walk_state *s = &w->states[v];
        if (a < w->left || a < s->back)
            continue;
        w->leaving[kept++] = a;
        if (s->place != CEBUS_ANYWHERE && s->place < place + bytes &&
            place < s->place + w->iteration->values[v].bytes && may_leave(w, a))
            cebus_walk_go(w, v, s->last);
    }
    w->n_leaving = kept;
    return cebus_ground_since(&w->ground, place, bytes) != CEBUS_GROUND_TAKEN;
}

uint64_t cebus_walk_take_at(cebus_walk *w, uint64_t *place, uint64_t bytes)
{
    if (w->placement == NULL || *place == CEBUS_ANYWHERE || !cebus_walk_clear(w, *place, bytes)) {
        *place = CEBUS_ANYWHERE;
        return take(w, bytes);
    }
    const uint64_t since = cebus_ground_since(&w->ground, *place, bytes);
    cebus_walk_settle(w, *place, bytes, CEBUS_GROUND_TAKEN);
    (void)take(w, bytes); /* which bytes these are is known */
    return since;
}

uint64_t cebus_walk_take_for(cebus_walk *w, uint32_t v)
{
    cebus_walk_state *s = &w->states[v];
    s->place = s->spot;
    s->spot = CEBUS_ANYWHERE;
    return cebus_walk_take_at(w, &s->place, w->iteration->values[v].bytes);
}
