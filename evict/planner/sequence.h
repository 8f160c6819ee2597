/**
 * sequence.h: a plan under construction: the program plus further runs of its calls. What is
 * resident when follows from it: a value lives from where it is made to its last use before it is
 * made again. Nothing else is decided: what is evicted is what is made again later.
 *
 *     instances   START  f  g  h  ...  f'  g_b  ...  END         f': f, run again
 *     events of x        P  U          P    U                    made, used; made again, used
 *     x is there         [--]          [----]
 *
 * Each value has its events in order: PRODUCE, USE, and MOVE, a use by the call that takes the
 * bytes over in place. Between two events a value is there if the second is a use. An output of a
 * replay that nobody uses before it is made again is not placed at all. So residency is a function
 * of the sequence alone, putting in and taking out are exact inverses, and a log undoes them.
 *
 * Persistent values are there always and have no events; what was there before is made by START.
 * What cannot be made again is used by the last call that runs while it is held, and so is what
 * the program holds while parameters are written (evict/cuts.h); what outlives the iteration by
 * END. A value whose bytes an in-place call took over and that the program reads even so (the
 * runtime makes it again then) counts as there until its release.
 *
 * Of a past (cebus_iteration.past) nothing is left but what is there, made by the first call behind
 * it; its calls can run again.
 *
 * Swaps are calls beyond those of the program, two for each value: OUT uses it where its copy is
 * complete, IN makes it where the copy back starts, each time it does. They cost nothing; slots of
 * the link, which they need, are looked after by who puts them in (swap_slots.h).
 *
 * Beyond Capuchin (Peng et al., ASPLOS'20): planner `cebus`.
 */
#ifndef CEBUS_EVICT_PLANNER_SEQUENCE_H
#define CEBUS_EVICT_PLANNER_SEQUENCE_H

#include "evict/planner/track.h"
#include "layout/number.h"
#include "lineage/iteration.h"

#define CEBUS_SEQUENCE_NONE UINT32_MAX

typedef enum cebus_event_kind {
    CEBUS_EVENT_USE,
    CEBUS_EVENT_PRODUCE,
    CEBUS_EVENT_MOVE,
} cebus_event_kind;

/** An event: the instance x 4 + its kind. */
static inline uint32_t cebus_event_instance(uint32_t event)
{
    return event >> 2;
}
static inline cebus_event_kind cebus_event_kind_of(uint32_t event)
{
    return (cebus_event_kind)(event & 3);
}

/** The events of a value. */
typedef struct cebus_life {
    uint32_t *events;
    uint32_t count, capacity;
    uint32_t call; /**< that makes it again; NONE: none can */
    double bytes;
} cebus_life;

typedef struct cebus_instance {
    uint32_t call; /**< NONE: START or END, or not in use */
    uint32_t gap;  /**< runs after so many calls of the program, before the next */
} cebus_instance;

typedef struct cebus_change {
    uint32_t instance;
    uint32_t call, before; /**< of one taken out: to put it back; before: NONE, it was put in */
} cebus_change;

/** Why a replay was found to be needed (prune.h): without it, and those of other calls that go with
 * it, an item would have so many bytes more, and more than fit. Holds while the lives of what these
 * calls make, and of what is made along with what they read, are as they were. */
typedef struct cebus_need {
    uint32_t calls[16]; /**< its own first; that of the item last, if that is a replay */
    uint32_t n_calls;   /**< 0: not known */
    uint32_t changes;   /**< of these lives, in all */
    uint32_t item;
    double bytes;
} cebus_need;

typedef struct cebus_sequence {
    cebus_pool *pool;                 /**< borrowed */
    const cebus_iteration *iteration; /**< borrowed, sealed */
    cebus_track track;
    cebus_life *lives;         /**< of values */
    uint32_t *ports;           /**< of calls: values with events they read, then make; each once */
    uint32_t *port_ends;       /**< of call k: reads [2k, 2k + 1), makes [2k + 1, 2k + 2) */
    uint32_t *selves;          /**< of values: itself, what its swaps read or make */
    uint32_t *ends;            /**< of values: the gap of its last event */
    uint32_t *turns;           /**< events put in and taken out so far: of calls, of all that each
                                    made first; then of values */
    uint32_t *sources;         /**< of ports: which of `turns` tells whether what makes the value
                                    makes it as before */
    uint32_t *last_gaps;       /**< of calls: the last gap in which it may run again */
    cebus_instance *instances; /**< the calls' first runs, START, END, then replays */
    size_t n_instances, instances_capacity;
    uint32_t *unused; /**< numbers of replays taken out: a stack */
    size_t n_unused, unused_capacity;
    cebus_need *needs; /**< of replays, by instance; may be shorter */
    size_t n_needs, needs_capacity;
    cebus_change *changes; /**< the log */
    size_t n_changes, changes_capacity;
    uint64_t grain; /**< bytes are rounded up to that */
    uint64_t cost;  /**< ns of all replays */
    size_t n_replays;
} cebus_sequence;

/** The program, no replays; bytes count in grains (a power of two; 1: as they are). False without
 * host memory: then there is nothing to free. */
bool cebus_sequence_init(cebus_sequence *sequence, const cebus_iteration *iteration, uint64_t grain,
                         cebus_pool *pool);
void cebus_sequence_deinit(cebus_sequence *sequence);

static inline uint32_t cebus_sequence_start(const cebus_sequence *sequence)
{
    return (uint32_t)sequence->iteration->n_calls;
}
static inline uint32_t cebus_sequence_end(const cebus_sequence *sequence)
{
    return (uint32_t)sequence->iteration->n_calls + 1;
}
static inline bool cebus_sequence_is_replay(const cebus_sequence *sequence, uint32_t instance)
{
    return instance > sequence->iteration->n_calls + 1;
}
static inline uint64_t cebus_sequence_key(const cebus_sequence *sequence, uint32_t instance)
{
    return cebus_track_key(&sequence->track, instance);
}

/** The calls that swap a value. */
static inline uint32_t cebus_sequence_out(const cebus_sequence *sequence, uint32_t value)
{
    return (uint32_t)sequence->iteration->n_calls + 2 * value;
}
static inline uint32_t cebus_sequence_in(const cebus_sequence *sequence, uint32_t value)
{
    return cebus_sequence_out(sequence, value) + 1;
}
static inline bool cebus_sequence_is_swap(const cebus_sequence *sequence, uint32_t call)
{
    return call != CEBUS_SEQUENCE_NONE && call >= sequence->iteration->n_calls;
}
/** Whether running a call again makes a value again that it makes. */
static inline bool cebus_sequence_remakes(const cebus_sequence *sequence, uint32_t call,
                                          uint32_t value)
{
    return sequence->lives[value].call == call || cebus_sequence_is_swap(sequence, call);
}
static inline uint64_t cebus_sequence_cost(const cebus_sequence *sequence, uint32_t call)
{
    return cebus_sequence_is_swap(sequence, call) ? 0 : sequence->iteration->calls[call].cost_ns;
}

/** Bytes as they count. */
static inline double cebus_sequence_bytes(const cebus_sequence *sequence, uint64_t bytes)
{
    return (double)cebus_align_up(bytes, sequence->grain);
}
static inline double cebus_sequence_workspace(const cebus_sequence *sequence, uint32_t call)
{
    return cebus_sequence_is_swap(sequence, call)
               ? 0
               : cebus_sequence_bytes(sequence, sequence->iteration->calls[call].workspace);
}
/** Of all that persists. O(values). */
static inline double cebus_sequence_persistent(const cebus_sequence *sequence)
{
    double bytes = 0;
    for (size_t v = 0; v < sequence->iteration->n_values; v++) {
        if (sequence->iteration->values[v].persistent)
            bytes += cebus_sequence_bytes(sequence, sequence->iteration->values[v].bytes);
    }
    return bytes;
}

/** Values with events that a call reads, or makes. */
static inline const uint32_t *cebus_sequence_reads(const cebus_sequence *sequence, uint32_t call,
                                                   uint32_t *out_count)
{
    size_t of = call - sequence->iteration->n_calls;
    if (cebus_sequence_is_swap(sequence, call)) {
        *out_count = of % 2 == 0;
        return &sequence->selves[of / 2];
    }
    const uint32_t *ends = &sequence->port_ends[2 * (size_t)call];
    *out_count = ends[1] - ends[0];
    return &sequence->ports[ends[0]];
}
static inline const uint32_t *cebus_sequence_makes(const cebus_sequence *sequence, uint32_t call,
                                                   uint32_t *out_count)
{
    size_t of = call - sequence->iteration->n_calls;
    if (cebus_sequence_is_swap(sequence, call)) {
        *out_count = of % 2 == 1;
        return &sequence->selves[of / 2];
    }
    const uint32_t *ends = &sequence->port_ends[2 * (size_t)call];
    *out_count = ends[2] - ends[1];
    return &sequence->ports[ends[1]];
}

/** The first event of a value at or behind a key; the count: there is none. O(log events). */
static inline uint32_t cebus_sequence_find(const cebus_sequence *sequence, uint32_t value,
                                           uint64_t key)
{
    const cebus_life *life = &sequence->lives[value];
    uint32_t low = 0, high = life->count;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (cebus_sequence_key(sequence, cebus_event_instance(life->events[middle])) < key)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}
/** Whether event i of a value is a PRODUCE whose bytes are placed. */
bool cebus_sequence_is_placed(const cebus_sequence *sequence, uint32_t value, uint32_t i);
/** Bytes that stay over the gap before an instance. */
double cebus_sequence_level_before(const cebus_sequence *sequence, uint32_t instance);

/** Runs a call again before an instance; all it reads is then resident there. *out (may be NULL):
 * the replay. False without host memory: then only deinit is left. */
bool cebus_sequence_insert(cebus_sequence *sequence, uint32_t call, uint32_t before,
                           uint32_t *out_instance);
/** Whether a replay can be taken out: what it makes is there without it, or was never used. */
bool cebus_sequence_can_remove(const cebus_sequence *sequence, uint32_t instance);
/** Takes out a replay that can be. False without host memory: then only deinit is left. */
bool cebus_sequence_remove(cebus_sequence *sequence, uint32_t instance);
/** Whether anything that a replay makes is used. */
bool cebus_sequence_is_useful(const cebus_sequence *sequence, uint32_t instance);

/** Takes out a replay, and then those that made something for it alone. */
bool cebus_sequence_remove_all(cebus_sequence *sequence, uint32_t instance);

/** A point in the log to go back to, exactly. */
static inline size_t cebus_sequence_mark(const cebus_sequence *sequence)
{
    return sequence->n_changes;
}
bool cebus_sequence_undo(cebus_sequence *sequence, size_t mark);
/** Takes out all replays; the log is empty then. */
bool cebus_sequence_clear(cebus_sequence *sequence);
/** What was done stays. */
static inline void cebus_sequence_keep(cebus_sequence *sequence)
{
    sequence->n_changes = 0;
}

#endif
