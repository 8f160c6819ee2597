/**
 * replay.h: the ordered list of calls that rebuilds missing values. Found iteratively (chains of
 * 10^4 calls occur), inputs before readers, each record once.
 *
 * While a list runs, value->plan_uses counts the reads that are still to come from it: a resident
 * value with plan_uses > 0 is needed by the list, a rebuilt one whose count falls to zero and that
 * nobody holds can go at once.
 */
#ifndef CEBUS_LINEAGE_REPLAY_H
#define CEBUS_LINEAGE_REPLAY_H

#include "lineage/call.h"

typedef struct cebus_replay {
    cebus_call **calls; /**< the lineage's scratch list: valid until the next build */
    size_t count;
} cebus_replay;

/**
 * Builds the list for `targets` (absent or not; a swapped value is present: its bytes are copied
 * back). CEBUS_NOT_REPLAYABLE when something on the way has
 * neither bytes nor a record: a broken invariant, never a silent wrong value.
 * CEBUS_OUT_OF_HOST_MEMORY leaves nothing behind. O(records on the way).
 */
cebus_status cebus_replay_build(cebus_lineage *lineage, cebus_value *const *targets, size_t n,
                                cebus_replay *out);

/**
 * Puts a list into the program's own order. Inputs come before readers there, too, and mostly less
 * has to be held at once than on a walk from the target back: whoever wrote the program made things
 * when they were wanted (of a tree of cells a half or a third as much). O(n log n).
 */
void cebus_replay_sort(const cebus_replay *replay);

/** What it takes to run some calls, each once. */
typedef struct cebus_effort {
    uint64_t ns;
    uint64_t bytes; /**< of all that they make */
} cebus_effort;

/**
 * What it would take to rebuild a value if it were absent now: its own run and those of the absent
 * values behind it, until `calls` were met or they take more than `ns`. Less without host memory
 * for the walk. A call counts with what it last had to wait for: in short memory that tells what
 * brings a value back from what its calls take in one pass. O(calls x inputs).
 */
cebus_effort cebus_replay_behind(cebus_lineage *lineage, const cebus_value *value, size_t calls,
                                 uint64_t ns);

/**
 * What lies between a value and the missed ones that are made of it: all of them would have to wait
 * for it if it went. Until `calls` were met or they take more than `ns`. O(calls x readers).
 */
cebus_effort cebus_replay_ahead(cebus_lineage *lineage, const cebus_value *value, size_t calls,
                                uint64_t ns);

/** A run of a call with what it last had to wait for; at least 1 ns. */
static inline uint64_t cebus_replay_call_ns(const cebus_call *call)
{
    return (call->cost_ns > 0 ? call->cost_ns : 1) + call->wait_ns;
}

/** What the calls of a list take, with what they last had to wait for. */
uint64_t cebus_replay_sum(const cebus_replay *replay);

/** How far a rebuild is: what it will read is known, and should be the last to go. */
typedef struct cebus_replay_cursor {
    uint64_t at;      /**< the furthest place of the list that was run */
    uint64_t waiting; /**< calls that wait for inputs */
} cebus_replay_cursor;

/**
 * How soon the rebuild reads a value: 1 for the call that waits last, one more for each before it
 * and for each place further down the list; 0: not at all (Belady, 1966). O(readers).
 */
uint64_t cebus_replay_distance(const cebus_replay_cursor *cursor, const cebus_value *value);

/** Whether a short chain of runs makes an absent value of another, and nothing else is missing for
 * that: whoever reads both makes the other first, and keeps it. O(inputs of the chain). */
bool cebus_replay_follows(const cebus_value *value, const cebus_value *other);

/** Numbers the calls of a list, in the order it has now (takes the numbers away). */
void cebus_replay_number(const cebus_replay *replay);
void cebus_replay_unnumber(const cebus_replay *replay);

/**
 * Estimates for each call of the list the bytes it takes at once to run it and what it waits for,
 * depth first, the input with the greatest need before the others (Sethi, Ullman, 1970: register
 * allocation for trees), but for what that follows from: call->need. O(inputs).
 */
void cebus_replay_rank(const cebus_replay *replay);

/** Adds (removes) the reads of calls [from, count) to the plan_uses of what they read. */
void cebus_replay_claim(const cebus_replay *replay, size_t from);
void cebus_replay_unclaim(const cebus_replay *replay, size_t from);

#endif
