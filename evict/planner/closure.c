#include "evict/planner/closure.h"

#include <math.h>
#include <string.h>

#define NONE CEBUS_SEQUENCE_NONE

static const cebus_reach near = {.calls = 192, .steps = 1024, .visits = 300, .depth = 60};
static const cebus_reach far = {.calls = 4096, .steps = 8192, .visits = 20000, .depth = 2000};

/** What becomes of a value where the chain runs. */
enum {
    UNKNOWN,
    PRESENT,  /**< it is there anyway */
    EXTENDED, /**< it is kept until then */
    REMADE,   /**< made in the chain, for the chain */
    RENEWED,  /**< made in the chain, and used after it: evicted until then */
};

static void *filled(cebus_pool *pool, size_t count, size_t bytes)
{
    void *items = cebus_pool_alloc(pool, count * bytes);
    if (items != NULL)
        memset(items, 0, count * bytes);
    return items;
}

/** What is there, at the least, while a call runs again: what persists, all it reads, and the
 * smallest of what it makes. */
static void find_needs(cebus_closure *c)
{
    const cebus_sequence *sequence = c->sequence;
    const double persistent = cebus_sequence_persistent(sequence);
    for (uint32_t k = 0; k < sequence->iteration->n_calls; k++) {
        uint32_t count;
        double least = INFINITY;
        c->needs[k] = persistent + cebus_sequence_workspace(sequence, k);
        const uint32_t *values = cebus_sequence_reads(sequence, k, &count);
        for (uint32_t i = 0; i < count; i++)
            c->needs[k] += sequence->lives[values[i]].bytes;
        values = cebus_sequence_makes(sequence, k, &count);
        for (uint32_t i = 0; i < count; i++)
            least = fmin(least, sequence->lives[values[i]].bytes);
        c->needs[k] += count > 0 ? least : 0;
    }
}

/** Of a bit for each call. */
static size_t n_words(const cebus_sequence *sequence)
{
    return sequence->iteration->n_calls / 64 + 1;
}

bool cebus_closure_init(cebus_closure *closure, const cebus_sequence *sequence, cebus_pool *pool)
{
    size_t n = sequence->iteration->n_values;
    memset(closure, 0, sizeof *closure);
    closure->sequence = sequence;
    closure->pool = pool;
    closure->caution = 1;
    closure->most_time = INFINITY;
    closure->needs = filled(pool, sequence->iteration->n_calls, sizeof *closure->needs);
    closure->shares = filled(pool, n, sizeof *closure->shares);
    closure->states = filled(pool, n, sizeof *closure->states);
    closure->readers = filled(pool, n, sizeof *closure->readers);
    closure->bits = filled(pool, n_words(sequence), sizeof *closure->bits);
    closure->undo_values = filled(pool, 2 * n, sizeof *closure->undo_values);
    closure->undo_states = filled(pool, 2 * n, sizeof *closure->undo_states);
    closure->calls = cebus_pool_alloc(pool, far.calls * sizeof *closure->calls);
    closure->steps = cebus_pool_alloc(pool, far.steps * sizeof *closure->steps);
    closure->added = cebus_pool_alloc(pool, far.steps * sizeof *closure->added);
    closure->reach = near;
    if (closure->needs != NULL)
        find_needs(closure);
    if (closure->needs != NULL && closure->shares != NULL && closure->states != NULL &&
        closure->readers != NULL && closure->bits != NULL && closure->undo_values != NULL &&
        closure->undo_states != NULL && closure->calls != NULL && closure->steps != NULL &&
        closure->added != NULL)
        return true;
    cebus_closure_deinit(closure);
    return false;
}

void cebus_closure_deinit(cebus_closure *closure)
{
    size_t n = closure->sequence->iteration->n_values;
    cebus_pool_free_object(closure->pool, closure->needs,
                           closure->sequence->iteration->n_calls * sizeof *closure->needs);
    cebus_pool_free_object(closure->pool, closure->shares, n * sizeof *closure->shares);
    cebus_pool_free_object(closure->pool, closure->states, n * sizeof *closure->states);
    cebus_pool_free_object(closure->pool, closure->readers, n * sizeof *closure->readers);
    cebus_pool_free_object(closure->pool, closure->bits,
                           n_words(closure->sequence) * sizeof *closure->bits);
    cebus_pool_free_object(closure->pool, closure->undo_values,
                           2 * n * sizeof *closure->undo_values);
    cebus_pool_free_object(closure->pool, closure->undo_states,
                           2 * n * sizeof *closure->undo_states);
    cebus_pool_free_object(closure->pool, closure->calls, far.calls * sizeof *closure->calls);
    cebus_pool_free_object(closure->pool, closure->steps, far.steps * sizeof *closure->steps);
    cebus_pool_free_object(closure->pool, closure->added, far.steps * sizeof *closure->added);
}

void cebus_closure_reach_far(cebus_closure *closure, bool on)
{
    closure->reach = on ? far : near;
}

/* ---- scratch ------------------------------------------------------------------------------ */

static uint32_t state_of(const cebus_closure *c, uint32_t v)
{
    return c->states[v] / 8 == c->epoch ? c->states[v] % 8 : UNKNOWN;
}

static void set_state(cebus_closure *c, uint32_t v, uint32_t state)
{
    c->undo_values[c->n_undo] = v;
    c->undo_states[c->n_undo++] = c->states[v];
    c->states[v] = c->epoch * 8 + state;
}

/** Bytes from a key on; false when there is no room for another step. */
static bool add_step(cebus_closure *c, uint64_t key, double bytes)
{
    if (c->n_steps == c->reach.steps)
        return false;
    uint32_t i = c->n_steps;
    for (; i > 0 && c->steps[i - 1].key > key; i--)
        c->steps[i] = c->steps[i - 1];
    c->steps[i] = (cebus_step){key, bytes};
    c->added[c->n_steps++] = (cebus_step){key, bytes};
    return true;
}

static void remove_step(cebus_closure *c)
{
    cebus_step step = c->added[--c->n_steps];
    uint32_t i = 0;
    while (c->steps[i].key != step.key || c->steps[i].bytes != step.bytes)
        i++;
    memmove(&c->steps[i], &c->steps[i + 1], (c->n_steps - i) * sizeof step);
}

typedef struct point {
    size_t n_undo;
    uint32_t n_calls, n_steps;
    double time;
} point;

static point here(const cebus_closure *c)
{
    return (point){c->n_undo, c->n_calls, c->n_steps, c->time};
}

static void go_back(cebus_closure *c, point to)
{
    while (c->n_steps > to.n_steps)
        remove_step(c);
    c->n_calls = to.n_calls;
    c->time = to.time;
    while (c->n_undo > to.n_undo) {
        c->n_undo--;
        c->states[c->undo_values[c->n_undo]] = c->undo_states[c->n_undo];
    }
}

/** Whether `bytes` more between two keys would put anything over the limit, or more over it. */
static bool adds_excess(const cebus_closure *c, uint64_t from, uint64_t to, double bytes)
{
    const cebus_track *track = &c->sequence->track;
    double limit = c->limit - bytes;
    uint64_t at = from;
    for (uint32_t i = 0; i < c->n_steps && c->steps[i].key < to; i++) {
        if (c->steps[i].key > at) {
            if (cebus_track_exceeds(track, at, c->steps[i].key, limit))
                return true;
            at = c->steps[i].key;
        }
        limit -= c->steps[i].bytes;
    }
    return at < to && cebus_track_exceeds(track, at, to, limit);
}

/** The area that `bytes` more from a key on would add, on top of the staircase; above `most`:
 * some of it. */
static double added_area(const cebus_closure *c, uint64_t from, double bytes, double most)
{
    const cebus_track *track = &c->sequence->track;
    double area = 0, height = 0;
    uint64_t at = from;
    for (uint32_t i = 0; i < c->n_steps && c->steps[i].key < c->key && area <= most; i++) {
        if (c->steps[i].key > at) {
            area += cebus_track_area_up_to(track, at, c->steps[i].key, c->limit, height,
                                           height + bytes, most);
            at = c->steps[i].key;
        }
        height += c->steps[i].bytes;
    }
    if (at < c->key && area <= most)
        area += cebus_track_area_up_to(track, at, c->key, c->limit, height, height + bytes, most);
    return area;
}

/** The area that the staircase takes off; its height at the end. */
static double gained_area(const cebus_closure *c, double *out_height)
{
    double area = 0, height = 0;
    uint64_t at = 0;
    for (uint32_t i = 0; i < c->n_steps; i++) {
        uint64_t to = c->steps[i].key < c->key ? c->steps[i].key : c->key;
        if (to > at && height != 0)
            area += cebus_track_area(&c->sequence->track, at, to, c->limit, 0, height);
        at = to;
        height += c->steps[i].bytes;
    }
    if (at < c->key && height != 0)
        area += cebus_track_area(&c->sequence->track, at, c->key, c->limit, 0, height);
    *out_height = height;
    return -area;
}

/* ---- the chain ---------------------------------------------------------------------------- */

/** Where a stretch of a value begins: behind the event before i, or at it, where that is a replay
 * that places the value only if it is used. */
static uint64_t begin_of(const cebus_closure *c, uint32_t v, uint32_t i)
{
    uint32_t event = c->sequence->lives[v].events[i - 1];
    bool is_placed = cebus_event_kind_of(event) != CEBUS_EVENT_PRODUCE ||
                     !cebus_sequence_is_replay(c->sequence, cebus_event_instance(event));
    return cebus_sequence_key(c->sequence, cebus_event_instance(event)) + is_placed;
}

static bool is_there(const cebus_closure *c, uint32_t v, uint32_t i)
{
    const cebus_life *life = &c->sequence->lives[v];
    return i < life->count && cebus_event_kind_of(life->events[i]) != CEBUS_EVENT_PRODUCE;
}

/** The bytes of a value that count when it is kept: those that fall to the one the chain is for. */
static double share_of(const cebus_closure *c, uint32_t v)
{
    double mine = c->sequence->lives[c->value].bytes, bytes = c->sequence->lives[v].bytes;
    return c->sharing && c->shares[v] > mine ? bytes * mine / c->shares[v] : bytes;
}

/** All that a call of the chain makes. What is there until later need not be, up to the chain. */
static bool add_outputs(cebus_closure *c, uint32_t call)
{
    uint32_t count;
    const uint32_t *values = cebus_sequence_makes(c->sequence, call, &count);
    for (uint32_t j = 0; j < count; j++) {
        uint32_t v = values[j], i = cebus_sequence_find(c->sequence, v, c->key);
        if (c->sequence->lives[v].call != call)
            continue;
        bool renews = is_there(c, v, i), was_kept = state_of(c, v) == EXTENDED;
        double bytes = was_kept ? share_of(c, v) : c->sequence->lives[v].bytes;
        set_state(c, v, renews ? RENEWED : REMADE);
        if ((renews || was_kept) && !add_step(c, begin_of(c, v, i), -bytes))
            return false;
    }
    return true;
}

/** What a call of the chain may still cost. */
typedef struct purse {
    double spent, cap;
} purse;

static double add_call(cebus_closure *c, uint32_t call, double cap, uint32_t depth);

/** Keeps a value that is gone where the chain runs until then. */
static double extend(cebus_closure *c, uint32_t v, uint32_t i, double price)
{
    if (price == INFINITY || !add_step(c, begin_of(c, v, i), share_of(c, v)))
        return INFINITY;
    set_state(c, v, EXTENDED);
    return price;
}

/** Well above a price, whatever is rounded. */
#define WELL_ABOVE (1 + 1e-9)

/** A price for which a value is not kept: its call is cheaper, and the purse cannot pay it. */
static double price_beyond(const cebus_closure *c, uint32_t v, purse has)
{
    const uint32_t call = c->sequence->lives[v].call;
    const double left = has.cap - has.spent,
                 again = call == NONE ? 0 : (double)c->sequence->iteration->calls[call].cost_ns;
    const double price = fmax(left, again) * WELL_ABOVE;
    return has.spent + price > has.cap ? price : INFINITY;
}

/** The price in ns of keeping a value from a key on; INFINITY also where nobody would pay it. */
static double price_from(const cebus_closure *c, uint32_t v, uint64_t from, purse has)
{
    if (from < c->settled && adds_excess(c, from, c->settled, c->sequence->lives[v].bytes))
        return INFINITY;
    if (c->theta == INFINITY)
        return adds_excess(c, from, c->key, share_of(c, v)) ? INFINITY : 0;
    if (c->theta <= 0)
        return 0;
    const double most = price_beyond(c, v, has) * WELL_ABOVE / c->theta;
    const double area = added_area(c, from, share_of(c, v), most);
    return area > most ? INFINITY : c->theta * area;
}

/** The price in ns of having an input of the chain there. */
static double add_input(cebus_closure *c, uint32_t v, purse has, uint32_t depth)
{
    const double cap = has.cap - has.spent;
    const cebus_life *life = &c->sequence->lives[v];
    uint32_t i = cebus_sequence_find(c->sequence, v, c->key);
    if (is_there(c, v, i)) {
        set_state(c, v, PRESENT);
        return 0;
    }
    uint32_t last = life->events[i - 1];
    if (depth == 0 &&
        (c->early == NONE || cebus_sequence_key(c->sequence, cebus_event_instance(last)) <
                                 cebus_sequence_key(c->sequence, c->early)))
        c->early = cebus_event_instance(last);
    double price = INFINITY;
    if (cebus_event_kind_of(last) != CEBUS_EVENT_MOVE)
        price = price_from(c, v, begin_of(c, v, i), has);
    if (life->call == NONE || price <= (double)c->sequence->iteration->calls[life->call].cost_ns)
        return extend(c, v, i, price);
    point back = here(c);
    double again = add_call(c, life->call, price < cap ? price : cap, depth + 1);
    if (again < INFINITY)
        return again;
    go_back(c, back);
    return extend(c, v, i, price);
}

/** The price in ns of a call of the chain with all it needs; INFINITY: above the cap, or it cannot
 * be. */
static double add_call(cebus_closure *c, uint32_t call, double cap, uint32_t depth)
{
    double price = (double)c->sequence->iteration->calls[call].cost_ns;
    if (c->needs[call] > c->limit || ++c->visits > c->reach.visits ||
        c->time + price > c->most_time || depth > c->reach.depth || c->n_calls == c->reach.calls ||
        price > cap || c->sequence->last_gaps[call] < c->sequence->instances[c->before].gap)
        return INFINITY;
    c->calls[c->n_calls++] = call;
    c->time += price;
    if (!add_outputs(c, call))
        return INFINITY;
    uint32_t count;
    const uint32_t *values = cebus_sequence_reads(c->sequence, call, &count);
    for (uint32_t i = 0; i < count; i++) {
        if (state_of(c, values[i]) != UNKNOWN)
            continue;
        price += add_input(c, values[i], (purse){price, cap}, depth);
        if (price > cap || price == INFINITY)
            return INFINITY;
    }
    return price;
}

/** Chains up to this long are sorted one call after the other. */
#define SHORT_CHAIN 16

static void sort_short(uint32_t *calls, uint32_t n)
{
    for (uint32_t i = 1; i < n; i++) {
        const uint32_t call = calls[i];
        uint32_t at = i;
        for (; at > 0 && calls[at - 1] > call; at--)
            calls[at] = calls[at - 1];
        calls[at] = call;
    }
}

/** No call is there twice: each is a bit. */
static void sort_calls(cebus_closure *c)
{
    uint32_t first = UINT32_MAX, last = 0, n = 0;
    if (c->n_calls <= SHORT_CHAIN) {
        sort_short(c->calls, c->n_calls);
        return;
    }
    for (uint32_t i = 0; i < c->n_calls; i++) {
        const uint32_t word = c->calls[i] / 64;
        c->bits[word] |= UINT64_C(1) << c->calls[i] % 64;
        first = word < first ? word : first;
        last = word > last ? word : last;
    }
    for (uint32_t word = first; word <= last; word++) {
        for (uint64_t bits = c->bits[word]; bits != 0; bits &= bits - 1)
            c->calls[n++] = 64 * word + (uint32_t)__builtin_ctzll(bits);
        c->bits[word] = 0;
    }
}

/** Sorts the chain; notes who reads last what is made for it. */
static void order_chain(cebus_closure *c)
{
    uint32_t count;
    sort_calls(c);
    c->time = 0;
    for (uint32_t i = 0; i < c->n_calls; i++) {
        c->time += (double)c->sequence->iteration->calls[c->calls[i]].cost_ns;
        const uint32_t *values = cebus_sequence_makes(c->sequence, c->calls[i], &count);
        for (uint32_t j = 0; j < count; j++)
            c->readers[values[j]] = NONE;
        values = cebus_sequence_reads(c->sequence, c->calls[i], &count);
        for (uint32_t j = 0; j < count; j++)
            c->readers[values[j]] = i;
    }
}

/** Bytes that a call of the chain places. */
static double placed_by(const cebus_closure *c, uint32_t call)
{
    uint32_t count;
    double bytes = 0;
    const uint32_t *values = cebus_sequence_makes(c->sequence, call, &count);
    for (uint32_t j = 0; j < count; j++) {
        uint32_t state =
            c->sequence->lives[values[j]].call == call ? state_of(c, values[j]) : UNKNOWN;
        if (state == RENEWED || (state == REMADE && c->readers[values[j]] != NONE))
            bytes += c->sequence->lives[values[j]].bytes;
    }
    return bytes;
}

/** Bytes over the limit while the chain runs, which starts at this level. */
static double chain_excess(cebus_closure *c, double level)
{
    double excess = 0;
    for (uint32_t i = 0; i < c->n_calls; i++) {
        uint32_t count, call = c->calls[i];
        level += placed_by(c, call);
        double most = level + cebus_sequence_workspace(c->sequence, call) - c->limit;
        excess += most > 0 ? most : 0;
        const uint32_t *values = cebus_sequence_reads(c->sequence, call, &count);
        for (uint32_t j = 0; j < count; j++) {
            if (state_of(c, values[j]) == REMADE && c->readers[values[j]] == i)
                level -= c->sequence->lives[values[j]].bytes;
        }
    }
    return excess;
}

void cebus_closure_weigh(cebus_closure *closure, uint32_t value, uint32_t before)
{
    closure->epoch++;
    closure->visits = 0;
    closure->time = 0;
    closure->n_undo = 0;
    closure->n_calls = closure->n_steps = 0;
    closure->value = value;
    closure->before = before;
    closure->early = NONE;
    closure->key = cebus_sequence_key(closure->sequence, before);
    closure->score = INFINITY;
    double price = add_call(closure, closure->sequence->lives[value].call, INFINITY, 0);
    closure->spent += closure->visits;
    if (price == INFINITY)
        return;
    double height;
    order_chain(closure);
    double gain = gained_area(closure, &height);
    if (gain <= 0)
        return;
    gain -= closure->caution * cebus_track_weight(&closure->sequence->track, before) *
            chain_excess(closure, cebus_sequence_level_before(closure->sequence, before) + height);
    if (gain > 0)
        closure->score = closure->time / gain;
}
