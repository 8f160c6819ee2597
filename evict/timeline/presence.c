#include "evict/timeline/presence.h"

#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX

/** What is known of a value as the runs go by. */
typedef struct state {
    uint32_t open; /**< its presence that goes on; NONE: it is not there */
    uint32_t next; /**< of its uses, the next one's index; the end: there is none */
    uint32_t at;   /**< among those that are there */
} state;

/** A value that is there. */
typedef struct guest {
    uint32_t value;
    uint32_t use; /**< the run that uses it next; NONE: none does */
    uint32_t to;  /**< the run behind its last use so far */
} guest;

typedef struct walk {
    const cebus_runs *runs;
    const cebus_presence_terms *terms;
    cebus_presences *out;
    state *states;
    guest *there;
    size_t n_there;
    uint64_t bytes;         /**< of them */
    uint32_t *first, *next; /**< of runs, of presences: those that were written until there */
    uint32_t *then;         /**< of presences: the value's next one; NONE: there is none */
} walk;

static uint64_t bytes_of(const cebus_runs *runs, uint32_t value)
{
    return runs->iteration->values[value].bytes;
}

static uint64_t room_at(const walk *w, uint32_t r)
{
    return w->terms->room > w->runs->bytes[r] ? w->terms->room - w->runs->bytes[r] : 0;
}

/** The run that uses a value next. */
static uint32_t next_use(const walk *w, uint32_t value)
{
    uint32_t next = w->states[value].next;
    return next < w->runs->first_uses[value + 1] ? w->runs->uses[next] : NONE;
}

static bool add_presence(walk *w, uint32_t value, uint32_t r)
{
    void *items = w->out->items;
    if (!cebus_pool_grow(w->out->pool, &items, &w->out->capacity, w->out->count,
                         sizeof *w->out->items))
        return false;
    w->out->items = items;
    w->states[value].open = (uint32_t)w->out->count;
    w->out->items[w->out->count++] =
        (cebus_presence){.value = value, .since = r, .from = r, .to = r + 1};
    w->states[value].at = (uint32_t)w->n_there;
    w->there[w->n_there++] = (guest){.value = value, .use = next_use(w, value), .to = r + 1};
    w->bytes += bytes_of(w->runs, value);
    return true;
}

/** Of what the run does not use, what is used farthest in the future leaves; false: nothing can. */
static bool leave_one(walk *w, uint32_t r)
{
    size_t best = w->n_there;
    uint32_t farthest = r;
    for (size_t i = 0; i < w->n_there; i++) {
        if (w->there[i].to <= r && w->there[i].use > farthest) {
            best = i;
            farthest = w->there[i].use;
        }
    }
    if (best == w->n_there)
        return false;
    w->bytes -= bytes_of(w->runs, w->there[best].value);
    w->states[w->there[best].value].open = NONE;
    w->there[best] = w->there[--w->n_there];
    w->states[w->there[best].value].at = (uint32_t)best;
    return true;
}

/** What the run uses is there, and what does not fit beside it has left. */
static bool visit(walk *w, uint32_t r, bool *out_fits)
{
    const cebus_iteration *iteration = w->runs->iteration;
    const cebus_iteration_call *call = &iteration->calls[w->runs->items[r].call];
    const uint32_t *refs = &iteration->refs[call->refs];
    for (uint32_t i = 0; i < (uint32_t)call->n_in + call->n_out; i++) {
        if (refs[i] == NONE || !w->terms->streams[refs[i]] || next_use(w, refs[i]) != r)
            continue; /* the last: another input is the same value */
        state *s = &w->states[refs[i]];
        s->next++;
        if (s->open == NONE && !add_presence(w, refs[i], r))
            return false;
        w->out->items[s->open].to = w->there[s->at].to = r + 1;
        w->there[s->at].use = next_use(w, refs[i]);
    }
    for (uint32_t i = call->n_in; i < (uint32_t)call->n_in + call->n_out; i++) {
        if (refs[i] == NONE || !w->terms->streams[refs[i]])
            continue;
        cebus_presence *p = &w->out->items[w->states[refs[i]].open];
        p->writes = true;
        p->done = r + 1;
    }
    uint64_t room = room_at(w, r), ahead = w->terms->ahead < room ? w->terms->ahead : room;
    while (w->bytes > room - ahead && leave_one(w, r))
        continue;
    *out_fits = w->bytes <= room;
    return true;
}

/** Free bytes at each run, beside the presences as they are. */
static uint64_t *find_free(const walk *w)
{
    const cebus_runs *runs = w->runs;
    uint64_t *free = cebus_pool_alloc(runs->pool, (runs->count + 1) * sizeof *free);
    if (free == NULL)
        return NULL;
    memset(free, 0, (runs->count + 1) * sizeof *free);
    for (size_t i = 0; i < w->out->count; i++) {
        const cebus_presence *p = &w->out->items[i];
        free[p->from] -= bytes_of(runs, p->value);
        free[p->to] += bytes_of(runs, p->value);
    }
    for (size_t r = 1; r <= runs->count; r++)
        free[r] += free[r - 1];
    for (uint32_t r = 0; r < runs->count; r++) {
        free[r] += room_at(w, r);
        free[r] -= free[r] < w->terms->spared ? free[r] : w->terms->spared;
    }
    return free;
}

/** Sets `since` to the run during which a copy has to begin so that it and all after it are in
 * time, if nothing waits. */
static void find_deadlines(const walk *w)
{
    const cebus_runs *runs = w->runs;
    uint64_t due = runs->times[runs->count];
    uint32_t r = (uint32_t)runs->count;
    for (size_t i = w->out->count; i-- > 0;) {
        cebus_presence *p = &w->out->items[i];
        uint64_t takes =
            w->terms->latency_ns + cebus_plan_copy_ns(bytes_of(runs, p->value), w->terms->in_rate);
        due = due < runs->times[p->from] ? due : runs->times[p->from];
        due = due > takes ? due - takes : 0;
        r = r < p->from ? r : p->from;
        while (r > 0 && runs->times[r] > due)
            r--;
        p->since = r;
    }
}

/** How early there is room for it, from its deadline on; behind the value's last presence. */
static void advance(walk *w, cebus_presence *p, uint64_t *free)
{
    uint64_t bytes = bytes_of(w->runs, p->value);
    uint32_t last = w->states[p->value].open;
    uint32_t least = last != NONE ? w->out->items[last].to : 0;
    uint32_t until = p->since > least ? p->since : least;
    uint32_t r = p->from;
    while (r > until && free[r - 1] >= bytes)
        free[--r] -= bytes;
    p->since = r;
}

/** Begins copies earlier; those in the list that need no copy after all are taken out. */
static void advance_all(walk *w, uint64_t *free)
{
    cebus_presences *out = w->out;
    size_t kept = 0;
    find_deadlines(w);
    for (size_t v = 0; v < w->runs->iteration->n_values; v++)
        w->states[v].open = NONE;
    for (size_t i = 0; i < out->count; i++) {
        cebus_presence p = out->items[i];
        uint32_t last = w->states[p.value].open;
        advance(w, &p, free);
        if (last != NONE && p.since <= out->items[last].to) {
            out->items[last].to = p.to;
            out->items[last].writes |= p.writes;
            out->items[last].done = p.writes ? p.done : out->items[last].done;
            continue;
        }
        w->states[p.value].open = (uint32_t)kept;
        out->items[kept++] = p;
    }
    out->count = kept;
}

/** Lists of presences that were written, by `done`. */
static bool sort_ends(walk *w)
{
    cebus_pool *pool = w->runs->pool;
    w->first = cebus_pool_alloc(pool, (w->runs->count + 1) * sizeof *w->first);
    w->next = cebus_pool_alloc(pool, (w->out->count + 1) * sizeof *w->next);
    w->then = cebus_pool_alloc(pool, (w->out->count + 1) * sizeof *w->then);
    if (w->first == NULL || w->next == NULL || w->then == NULL)
        return false;
    memset(w->first, 0xff, (w->runs->count + 1) * sizeof *w->first);
    for (size_t v = 0; v < w->runs->iteration->n_values; v++)
        w->states[v].open = NONE;
    for (uint32_t i = (uint32_t)w->out->count; i-- > 0;) {
        state *s = &w->states[w->out->items[i].value];
        w->then[i] = s->open;
        s->open = i;
        if (!w->out->items[i].writes)
            continue;
        w->next[i] = w->first[w->out->items[i].done];
        w->first[w->out->items[i].done] = i;
    }
    return true;
}

static void free_ends(walk *w)
{
    cebus_pool_free_object(w->runs->pool, w->then, (w->out->count + 1) * sizeof *w->then);
    cebus_pool_free_object(w->runs->pool, w->next, (w->out->count + 1) * sizeof *w->next);
    cebus_pool_free_object(w->runs->pool, w->first, (w->runs->count + 1) * sizeof *w->first);
}

/** The value is there until its next presence begins: both are one, and nothing is copied in. */
static void join(cebus_presences *out, uint32_t i, uint32_t then)
{
    out->items[i].to = out->items[then].to;
    out->items[i].gone = out->items[then].gone;
    out->items[then].value = NONE;
}

/** Takes out what was joined to others. */
static void compact(const walk *w)
{
    size_t kept = 0;
    for (size_t i = 0; i < w->out->count; i++) {
        if (w->out->items[i].value != NONE)
            w->out->items[kept++] = w->out->items[i];
    }
    w->out->count = kept;
}

/** Sets `gone`, for presences by `done` as the link takes them, as far as nobody needs the room. */
static void linger(const walk *w, uint64_t *free)
{
    const cebus_runs *runs = w->runs;
    uint64_t done = 0;
    for (size_t i = 0; i < w->out->count; i++)
        w->out->items[i].gone = w->out->items[i].to;
    for (uint32_t r = 1; r <= runs->count; r++) {
        for (uint32_t i = w->first[r]; i != NONE; i = w->next[i]) {
            cebus_presence *p = &w->out->items[i];
            uint64_t bytes = bytes_of(runs, p->value);
            done = (done > runs->times[r] ? done : runs->times[r]) + w->terms->latency_ns +
                   cebus_plan_copy_ns(bytes, w->terms->out_rate);
            uint32_t then = w->then[i];
            uint32_t until = then != NONE ? w->out->items[then].since : (uint32_t)runs->count;
            while (p->gone < until && runs->times[p->gone] < done && free[p->gone] >= bytes)
                free[p->gone++] -= bytes;
            if (then != NONE && p->gone == until && !w->out->items[then].writes)
                join(w->out, i, then);
        }
    }
}

static cebus_presence_verdict find(walk *w)
{
    bool fits = true;
    for (uint32_t v = 0; v < w->runs->iteration->n_values; v++)
        w->states[v] = (state){.open = NONE, .next = w->runs->first_uses[v]};
    for (uint32_t r = 0; r < w->runs->count && fits; r++) {
        if (!visit(w, r, &fits))
            return CEBUS_PRESENCE_NO_HOST_MEMORY;
    }
    if (!fits)
        return CEBUS_PRESENCE_FULL;
    uint64_t *free = find_free(w);
    if (free == NULL)
        return CEBUS_PRESENCE_NO_HOST_MEMORY;
    advance_all(w, free);
    bool ok = sort_ends(w);
    if (ok)
        linger(w, free);
    free_ends(w);
    if (ok)
        compact(w);
    cebus_pool_free_object(w->runs->pool, free, (w->runs->count + 1) * sizeof *free);
    return ok ? CEBUS_PRESENCE_FITS : CEBUS_PRESENCE_NO_HOST_MEMORY;
}

/** On the clock of runs that begin at 0 there. */
static cebus_presence_verdict
find_from_turn(const cebus_runs *runs, const cebus_presence_terms *terms, cebus_presences *out)
{
    size_t n = runs->iteration->n_values;
    cebus_presence_verdict verdict = CEBUS_PRESENCE_NO_HOST_MEMORY;
    *out = (cebus_presences){.pool = runs->pool};
    walk w = {.runs = runs, .terms = terms, .out = out};
    w.states = cebus_pool_alloc(runs->pool, n * sizeof *w.states);
    w.there = cebus_pool_alloc(runs->pool, n * sizeof *w.there);
    if (w.states != NULL && w.there != NULL)
        verdict = find(&w);
    cebus_pool_free_object(runs->pool, w.there, n * sizeof *w.there);
    cebus_pool_free_object(runs->pool, w.states, n * sizeof *w.states);
    if (verdict != CEBUS_PRESENCE_FITS)
        cebus_presences_deinit(out);
    return verdict;
}

/** A run on a clock that begins at `turn`, on one that begins at 0; `last` for what may end an
 * iteration. */
static uint32_t turn_back(uint32_t run, uint32_t turn, uint32_t n, bool last)
{
    run += turn;
    return run > n || (run == n && !last) ? run - n : run;
}

cebus_presence_verdict cebus_presences_find(const cebus_runs *runs,
                                            const cebus_presence_terms *terms, cebus_presences *out)
{
    cebus_runs turned;
    const uint32_t n = (uint32_t)runs->count;
    if (terms->turn == 0)
        return find_from_turn(runs, terms, out);
    *out = (cebus_presences){.pool = runs->pool};
    if (!cebus_runs_turn(runs, terms->turn, &turned))
        return CEBUS_PRESENCE_NO_HOST_MEMORY;
    cebus_presence_verdict verdict = find_from_turn(&turned, terms, out);
    for (size_t i = 0; i < out->count; i++) {
        cebus_presence *p = &out->items[i];
        p->since = turn_back(p->since, terms->turn, n, false);
        p->from = turn_back(p->from, terms->turn, n, false);
        p->to = turn_back(p->to, terms->turn, n, true);
        p->gone = turn_back(p->gone, terms->turn, n, true);
        p->done = turn_back(p->done, terms->turn, n, true);
    }
    cebus_runs_deinit(&turned);
    return verdict;
}

void cebus_presences_deinit(cebus_presences *presences)
{
    cebus_pool_free_object(presences->pool, presences->items,
                           presences->capacity * sizeof *presences->items);
    *presences = (cebus_presences){.pool = presences->pool};
}
