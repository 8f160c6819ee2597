#include "evict/planner/prune.h"

#include <string.h>

#include "layout/pack/sort.h"

/** A replay, and its call: its number may be another's, once it is gone. */
typedef struct candidate {
    uint32_t instance, call;
} candidate;

/** The dearest first, then the first in order. */
static uint64_t turn_of(uint64_t ns, uint64_t key)
{
    return (uint64_t)(UINT32_MAX - (ns < UINT32_MAX ? ns : UINT32_MAX)) << 32 | key;
}

/* ---- what becomes of the levels ------------------------------------------------------------- */

enum {
    MOST_GONE = 64, /* beyond that it is tried */
    MOST_STEPS = 256,
    /* How long it takes: steps as one visit of a closure, replays that are listed as one step. */
    STEPS_A_VISIT = 16,
    LISTED_A_STEP = 2,
};

/** A step of a curve: bytes more from a key on. */
typedef struct step {
    uint64_t key;
    double bytes;
} step;

/** What the sequence would be without a replay and those that made something for it alone, worked
 * out without changing it. */
typedef struct preview {
    const cebus_sequence *sequence;
    uint32_t gone[MOST_GONE];
    uint64_t filter; /**< a Bloom filter of what is gone */
    uint32_t n_gone, n_steps;
    step steps[MOST_STEPS]; /**< within [from, to) */
    uint32_t n_listed;      /**< of steps: two for all that ends or goes */
    uint64_t from, to;      /**< keys between which there may be more bytes than now */
    bool full;
} preview;

static void lose(preview *p, uint32_t instance)
{
    p->gone[p->n_gone++] = instance;
    p->filter |= UINT64_C(1) << instance % 64;
}

static bool is_gone(const preview *p, uint32_t instance)
{
    bool found = false;
    if ((p->filter >> instance % 64 & 1) == 0)
        return false;
    for (uint32_t i = 0; i < p->n_gone && !found; i++)
        found = p->gone[i] == instance;
    return found;
}

/** Whether a value is used after event i before it is made again. */
static bool is_used_after(const preview *p, const cebus_life *life, uint32_t i)
{
    for (i++; i < life->count && is_gone(p, cebus_event_instance(life->events[i]));)
        i++;
    return i < life->count && cebus_event_kind_of(life->events[i]) != CEBUS_EVENT_PRODUCE;
}

static bool is_useless(const preview *p, uint32_t instance)
{
    const cebus_sequence *sequence = p->sequence;
    uint32_t count, call = sequence->instances[instance].call;
    uint64_t key = cebus_sequence_key(sequence, instance);
    const uint32_t *values = cebus_sequence_makes(sequence, call, &count);
    bool used = false;
    for (uint32_t j = 0; j < count && !used; j++) {
        if (cebus_sequence_remakes(sequence, call, values[j]))
            used = is_used_after(p, &sequence->lives[values[j]],
                                 cebus_sequence_find(sequence, values[j], key));
    }
    return !used;
}

/** Whether there is room for two steps more. */
static bool count_steps(preview *p)
{
    p->full = p->full || p->n_steps + 2 > MOST_STEPS;
    p->n_steps += p->full ? 0 : 2;
    return !p->full;
}

/** The key at which the bytes of event i begin: behind it, or at it if that is a replay at which
 * they were not placed. */
static uint64_t begin_of(const preview *p, const cebus_life *life, uint32_t i)
{
    uint32_t instance = cebus_event_instance(life->events[i]);
    bool is_placed = cebus_event_kind_of(life->events[i]) != CEBUS_EVENT_PRODUCE ||
                     !cebus_sequence_is_replay(p->sequence, instance);
    return cebus_sequence_key(p->sequence, instance) + is_placed;
}

/** So many bytes more between two keys. */
static void add_stretch(preview *p, uint64_t from, uint64_t to, double bytes)
{
    if (!count_steps(p))
        return;
    from = from > p->from ? from : p->from;
    to = to < p->to ? to : p->to;
    if (from >= to)
        return;
    p->steps[p->n_listed++] = (step){from, bytes};
    p->steps[p->n_listed++] = (step){to, -bytes};
}

static void sort_steps(preview *p)
{
    for (uint32_t i = 1; i < p->n_listed; i++) {
        step one = p->steps[i];
        uint32_t k = i;
        for (; k > 0 && p->steps[k - 1].key > one.key; k--)
            p->steps[k] = p->steps[k - 1];
        p->steps[k] = one;
    }
}

/** An input of a replay that is gone need not be there for it any more; a replay that made it for
 * that alone goes, too. */
static void lose_read(preview *p, uint32_t value, uint64_t key)
{
    const cebus_life *life = &p->sequence->lives[value];
    uint32_t i = cebus_sequence_find(p->sequence, value, key);
    if (is_used_after(p, life, i))
        return;
    do
        i--;
    while (cebus_event_kind_of(life->events[i]) != CEBUS_EVENT_PRODUCE &&
           is_gone(p, cebus_event_instance(life->events[i])));
    add_stretch(p, begin_of(p, life, i), key, -life->bytes);
    uint32_t maker = cebus_event_instance(life->events[i]);
    if (cebus_event_kind_of(life->events[i]) != CEBUS_EVENT_PRODUCE ||
        !cebus_sequence_is_replay(p->sequence, maker) || is_gone(p, maker) || !is_useless(p, maker))
        return;
    p->full = p->full || p->n_gone == MOST_GONE;
    if (!p->full)
        lose(p, maker);
}

/** What a replay made and others use has to stay from its last use before: only there bytes are
 * added. */
static void keep_made(preview *p, uint32_t call, uint64_t key)
{
    uint32_t count;
    uint64_t from = key;
    const uint32_t *values = cebus_sequence_makes(p->sequence, call, &count);
    p->from = 0;
    p->to = key;
    for (uint32_t j = 0; j < count; j++) {
        const cebus_life *life = &p->sequence->lives[values[j]];
        uint32_t i = cebus_sequence_find(p->sequence, values[j], key);
        if (!cebus_sequence_remakes(p->sequence, call, values[j]) || !is_used_after(p, life, i))
            continue;
        uint64_t begin = begin_of(p, life, i - 1);
        add_stretch(p, begin, key, life->bytes);
        from = begin < from ? begin : from;
    }
    p->from = from;
}

static void look_without(preview *p, uint32_t instance)
{
    lose(p, instance);
    keep_made(p, p->sequence->instances[instance].call, cebus_sequence_key(p->sequence, instance));
    for (uint32_t i = 0; i < p->n_gone; i++) {
        uint32_t count, call = p->sequence->instances[p->gone[i]].call;
        uint64_t key = cebus_sequence_key(p->sequence, p->gone[i]);
        count_steps(p);
        const uint32_t *values = cebus_sequence_reads(p->sequence, call, &count);
        for (uint32_t j = 0; j < count; j++)
            lose_read(p, values[j], key);
    }
}

/* ---- what is needed -------------------------------------------------------------------------- */

/** Changes of what the call of a swap makes, and of what is made along with what it reads. */
static uint32_t changes_of_swap(const cebus_sequence *sequence, uint32_t call)
{
    const uint32_t n = (uint32_t)sequence->iteration->n_calls, value = (call - n) / 2;
    const uint32_t maker = sequence->lives[value].call;
    const bool is_out = call == cebus_sequence_out(sequence, value);
    return sequence->turns[is_out && maker != CEBUS_SEQUENCE_NONE ? maker : n + value];
}

/** The same of any other call. */
static uint32_t changes_of_call(const cebus_sequence *sequence, uint32_t call)
{
    const uint32_t *ends = &sequence->port_ends[2 * (size_t)call];
    uint32_t changes = sequence->turns[call];
    for (uint32_t j = ends[0]; j < ends[1]; j++)
        changes += sequence->turns[sequence->sources[j]];
    return changes;
}

/** Changes of a call, added up once in a round: of many replays the same calls are asked for. */
typedef struct tally {
    uint32_t round, changes;
} tally;

/** All replays at hand, and what is known of the calls while none of them goes. */
typedef struct pruning {
    cebus_sequence *sequence;
    double limit;
    tally *tallies; /**< of calls */
    uint32_t round; /**< above 0 */
    candidate *replays;
    cebus_pack_keyed *queue, *spare; /**< some of them, by turn */
    size_t n;                        /**< in the queue */
    uint64_t looked;                 /**< steps of previews */
} pruning;

/** A counter that grows with each change to the lives of what these calls make, and of what is made
 * along with what they read: while it stands, the same replays would go with them. */
static uint32_t changes_of(const pruning *p, const uint32_t *calls, uint32_t n)
{
    uint32_t changes = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (cebus_sequence_is_swap(p->sequence, calls[i])) {
            changes += changes_of_swap(p->sequence, calls[i]);
            continue;
        }
        tally *t = &p->tallies[calls[i]];
        if (t->round != p->round)
            *t = (tally){p->round, changes_of_call(p->sequence, calls[i])};
        changes += t->changes;
    }
    return changes;
}

/** Whether a replay was needed when it was last looked at, and is for the same reason. */
static bool is_still_needed(const pruning *p, uint32_t instance)
{
    const cebus_sequence *sequence = p->sequence;
    const cebus_need *need = &sequence->needs[instance];
    if (need->n_calls == 0 || need->calls[0] != sequence->instances[instance].call)
        return false;
    if (cebus_sequence_is_replay(sequence, need->item) &&
        sequence->instances[need->item].call == CEBUS_SEQUENCE_NONE)
        return false;
    return cebus_track_level(&sequence->track, need->item) + need->bytes > p->limit &&
           need->changes == changes_of(p, need->calls, need->n_calls);
}

/** Notes why a replay is needed, if few calls tell that. Where the item is itself a replay, its
 * call is one of them: while the lives of what it makes stand, it is still there. */
static void note_need(const pruning *all, const preview *p, uint32_t item, double bytes)
{
    cebus_sequence *sequence = all->sequence;
    cebus_need *need = &sequence->needs[p->gone[0]];
    const uint32_t most = sizeof need->calls / sizeof *need->calls;
    need->n_calls = 0;
    if (p->n_gone >= most)
        return;
    for (uint32_t i = 0; i < p->n_gone; i++)
        need->calls[i] = sequence->instances[p->gone[i]].call;
    need->n_calls = p->n_gone;
    if (cebus_sequence_is_replay(sequence, item))
        need->calls[need->n_calls++] = sequence->instances[item].call;
    need->changes = changes_of(all, need->calls, need->n_calls);
    need->item = item;
    need->bytes = bytes;
}

/** The first item between two keys that is not gone and has more bytes than the limit; NONE. */
static uint32_t first_over(const preview *p, uint64_t from, uint64_t to, double limit)
{
    const cebus_track *track = &p->sequence->track;
    uint32_t item = cebus_track_first_over(track, from, to, limit);
    while (item != CEBUS_TRACK_NONE && is_gone(p, item))
        item = cebus_track_first_over(track, cebus_track_key(track, item) + 1, to, limit);
    return item;
}

/** Whether a sequence that fits would fit without a replay. True also where only trying tells. */
static bool fits_without(pruning *all, uint32_t instance)
{
    preview p;
    double bytes = 0;
    p.sequence = all->sequence;
    p.n_gone = p.n_steps = p.n_listed = 0;
    p.filter = 0;
    p.full = false;
    look_without(&p, instance);
    all->looked += p.n_steps;
    if (p.full)
        return true;
    sort_steps(&p);
    for (uint32_t i = 0; i + 1 < p.n_listed; i++) {
        bytes += p.steps[i].bytes;
        if (bytes <= 0 || p.steps[i].key >= p.steps[i + 1].key)
            continue;
        uint32_t item = first_over(&p, p.steps[i].key, p.steps[i + 1].key, all->limit - bytes);
        if (item != CEBUS_TRACK_NONE) {
            note_need(all, &p, item, bytes);
            return false;
        }
    }
    return true;
}

/** Takes a replay out if the rest fits. */
static bool try_one(pruning *p, uint32_t instance)
{
    cebus_sequence *sequence = p->sequence;
    const size_t mark = cebus_sequence_mark(sequence);
    if (!cebus_sequence_can_remove(sequence, instance) || !fits_without(p, instance))
        return true;
    p->round++;
    if (!cebus_sequence_remove_all(sequence, instance))
        return false;
    return cebus_track_peak(&sequence->track, NULL) <= p->limit ||
           cebus_sequence_undo(sequence, mark);
}

static bool reserve_needs(cebus_sequence *sequence)
{
    while (sequence->n_needs < sequence->n_instances) {
        void *needs = sequence->needs;
        if (!cebus_pool_grow(sequence->pool, &needs, &sequence->needs_capacity, sequence->n_needs,
                             sizeof *sequence->needs))
            return false;
        sequence->needs = needs;
        sequence->needs[sequence->n_needs++] = (cebus_need){.n_calls = 0};
    }
    return true;
}

/** Lists the replays, those in doubt before the others. */
static size_t list(pruning *p)
{
    const cebus_sequence *sequence = p->sequence;
    size_t n_doubtful = 0;
    p->n = 0;
    for (uint32_t i = cebus_sequence_end(sequence) + 1; i < sequence->n_instances; i++) {
        const uint32_t call = sequence->instances[i].call;
        if (call == CEBUS_SEQUENCE_NONE || cebus_sequence_is_swap(sequence, call))
            continue;
        const bool in_doubt = !is_still_needed(p, i);
        const size_t at = in_doubt ? n_doubtful++ : p->n;
        p->replays[p->n] = (candidate){i, call};
        p->queue[p->n] = p->queue[at];
        p->queue[at] = (cebus_pack_keyed){
            turn_of(cebus_sequence_cost(sequence, call), cebus_sequence_key(sequence, i)),
            (uint32_t)p->n++};
    }
    return n_doubtful;
}

/** Once one is gone the reasons of others may be, too: goes on with all that come after it. */
static void widen(pruning *p, uint64_t last)
{
    size_t n = 0;
    for (size_t i = 0; i < p->n; i++) {
        if (p->queue[i].key > last)
            p->queue[n++] = p->queue[i];
    }
    p->n = n;
    cebus_pack_sort(p->queue, p->spare, n);
}

/** Those in doubt, the dearest first; all that come after the first that goes. */
static bool try_all(pruning *p)
{
    const uint32_t first = p->round;
    size_t n = list(p);
    bool ok = true;
    cebus_pack_sort(p->queue, p->spare, n);
    for (size_t i = 0; i < n && ok; i++) {
        const cebus_pack_keyed turn = p->queue[i];
        const candidate one = p->replays[turn.item];
        const uint32_t round = p->round;
        if (p->sequence->instances[one.instance].call != one.call ||
            (round > first && is_still_needed(p, one.instance)))
            continue;
        ok = try_one(p, one.instance);
        if (round == first && p->round > first) {
            widen(p, turn.key);
            n = p->n;
            i = SIZE_MAX;
        }
    }
    return ok;
}

bool cebus_prune_all(cebus_sequence *sequence, double limit, cebus_pool *pool, uint64_t *out_visits)
{
    const size_t most = sequence->n_replays, n_calls = sequence->iteration->n_calls;
    pruning p = {.sequence = sequence, .limit = limit, .round = 1};
    p.looked = most / LISTED_A_STEP;
    p.replays = cebus_pool_alloc(pool, most * sizeof *p.replays);
    p.queue = cebus_pool_alloc(pool, most * sizeof *p.queue);
    p.spare = cebus_pool_alloc(pool, most * sizeof *p.spare);
    p.tallies = cebus_pool_alloc(pool, n_calls * sizeof *p.tallies);
    bool ok = p.replays != NULL && p.queue != NULL && p.spare != NULL && p.tallies != NULL &&
              reserve_needs(sequence);
    if (ok) {
        memset(p.tallies, 0, n_calls * sizeof *p.tallies);
        ok = try_all(&p);
    }
    *out_visits = p.looked / STEPS_A_VISIT;
    cebus_pool_free_object(pool, p.replays, most * sizeof *p.replays);
    cebus_pool_free_object(pool, p.queue, most * sizeof *p.queue);
    cebus_pool_free_object(pool, p.spare, most * sizeof *p.spare);
    cebus_pool_free_object(pool, p.tallies, n_calls * sizeof *p.tallies);
    return ok;
}
