/**
 * iteration.h: what one iteration of the program did, as a record that does not change any more:
 * every call in order, what it read and made, what it cost. Values have no identity that outlives
 * an iteration; here they are numbered in the order in which calls first name them (ordinals), so
 * that the same program has the same numbers in every iteration.
 *
 * Times count calls: "at k" is after k calls, before call k.
 *
 *     x = f(w, in); y = g(x); g_(y) in place      calls   0: f   1: g   2: g_
 *     ordinals in the order of naming             w 0   in 1   x 2   y 3   y after g_ 4
 *
 * Made by access.h as the program runs, or by hand in tests: add what a call reads and makes, then
 * the call, at the end cebus_iteration_seal().
 */
#ifndef CEBUS_LINEAGE_ITERATION_H
#define CEBUS_LINEAGE_ITERATION_H

#include <cebus/base.h>

#include "layout/pool.h"

/** No ordinal, no call: an absent optional input, a value from before, one that outlives it. */
#define CEBUS_ITERATION_NONE UINT32_MAX

/** Longer iterations are not recorded. */
#define CEBUS_ITERATION_MAX_CALLS (UINT32_C(1) << 18)

typedef struct cebus_iteration_value {
    uint64_t bytes;
    uint32_t born;  /**< the call that made it; NONE: it was there before its first reader ran */
    uint32_t freed; /**< calls done when nobody held it any more; NONE: it outlives the iteration */
    uint32_t moved; /**< the in-place call that took its bytes over; NONE: none did */
    uint32_t read;  /**< calls done when the host read it last; 0: it did not. To read it there it
                         must stay resident until then: once sealed, a use by the call before */
    uint32_t first; /**< of its uses, once sealed */
    uint32_t n_uses; /**< calls that read or write it, each once */
    bool persistent; /**< parameters, optimizer state: stays on the device */
    bool absent;     /**< it is not there once the past is (cebus_iteration.past) */
    bool replayable; /**< its call can run again */
} cebus_iteration_value;

typedef struct cebus_iteration_call {
    const char *op; /**< borrowed: must outlive the record */
    uint64_t cost_ns, workspace;
    uint64_t held_ns;   /**< of cost_ns: the device waits for the host to ask for it */
    uint64_t last_ns;   /**< what it took the last time that it was done again */
    uint64_t signature; /**< of what it is, not of what it reads (access.h); 0: it has none */
    uint64_t prefix;    /**< hash of this call and all before it: signatures and ordinals */
    uint32_t refs;      /**< of its inputs, then its outputs, in cebus_iteration.refs */
    uint32_t n_values;  /**< values named once it was made */
    uint16_t n_in, n_out;
} cebus_iteration_call;

typedef struct cebus_iteration {
    cebus_pool *pool; /**< borrowed */
    cebus_iteration_call *calls;
    cebus_iteration_value *values;
    uint32_t *refs; /**< ordinals; NONE: an absent input */
    uint32_t *uses; /**< calls, of one value after the other, ascending; NULL until sealed */
    size_t n_calls, n_values, n_refs, n_uses;
    uint32_t past; /**< the first calls, that ran already: what they made and is not absent is there
                        as call `past` runs. 0: none did */
    size_t calls_capacity, values_capacity, refs_capacity;
} cebus_iteration;

void cebus_iteration_init(cebus_iteration *iteration, cebus_pool *pool);
/** Frees everything; an empty iteration is left. */
void cebus_iteration_clear(cebus_iteration *iteration);

/** @name Recording. False without host memory or past the limits: clear the record, then. */
/** @{ */
/** The next ordinal's value. */
bool cebus_iteration_add_value(cebus_iteration *iteration, const cebus_iteration_value *value);
/** What the next call reads (in order, absent ones too), then what it makes. */
bool cebus_iteration_add_ref(cebus_iteration *iteration, uint32_t ordinal);
/** The call that all refs since the last call belong to. */
bool cebus_iteration_add_call(cebus_iteration *iteration, const cebus_iteration_call *call);
/** Makes `to` (empty) a copy of the first n_calls calls, as it was recorded then. */
bool cebus_iteration_copy(const cebus_iteration *from, size_t n_calls, cebus_iteration *to);
/** Collects the uses. O(refs). */
bool cebus_iteration_seal(cebus_iteration *iteration);
/** @} */

/** ns of all calls. O(calls). */
uint64_t cebus_iteration_cost(const cebus_iteration *iteration);

/** Adds to what calls cost how long the device waits for a host that takes `issue_ns` to ask for
 * each; nothing where that is less than they cost together: then the host gets ahead, and stays so
 * from one iteration to the next. Takes the place of what was added before. Answers the sum.
 * O(calls). */
uint64_t cebus_iteration_hold(cebus_iteration *iteration, uint64_t issue_ns);
/** Takes that out again. O(calls). */
void cebus_iteration_release(cebus_iteration *iteration);

/** Bytes of all that persists. O(values). */
uint64_t cebus_iteration_persistent(const cebus_iteration *iteration);

/** Host bytes that it holds. */
size_t cebus_iteration_bytes(const cebus_iteration *iteration);

/** Use number i of a value of a sealed record: a call. */
static inline uint32_t cebus_iteration_use(const cebus_iteration *iteration, uint32_t ordinal,
                                           uint32_t i)
{
    return iteration->uses[iteration->values[ordinal].first + i];
}

/** Whether a call takes over the place of an input: its last use writes in it. */
static inline bool cebus_iteration_takes_over(const cebus_iteration *iteration, uint32_t call,
                                              uint32_t ordinal)
{
    const cebus_iteration_value *value = &iteration->values[ordinal];
    return value->moved == call &&
           cebus_iteration_use(iteration, ordinal, value->n_uses - 1) == call;
}

/** Calls [from, to) during which the bytes of a value exist, if nothing is given up. */
static inline uint32_t cebus_iteration_from(const cebus_iteration_value *value)
{
    return value->born != CEBUS_ITERATION_NONE ? value->born : 0;
}
static inline uint32_t cebus_iteration_to(const cebus_iteration *iteration,
                                          const cebus_iteration_value *value)
{
    return value->freed != CEBUS_ITERATION_NONE ? value->freed : (uint32_t)iteration->n_calls;
}

#endif
