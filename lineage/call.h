/**
 * call.h: an op record, enough to run the call again: op and attributes (opaque here), which
 * versions it read, which it made, the RNG counter, what it cost. And the lineage itself: the set
 * of all records of a runtime.
 *
 * References: a value counts its producer; a record counts, through its edges, the values it
 * reads; it knows its outputs weakly. No cycles, so counting frees everything. A record's edges
 * are cut as soon as no output is alive; its memory stays while a graph node counts it too.
 * Destruction is iterative, however long the chain: dead values queue up in the lineage and the
 * owner reaps them one by one.
 */
#ifndef CEBUS_LINEAGE_CALL_H
#define CEBUS_LINEAGE_CALL_H

#include "layout/pool.h"
#include "lineage/turn.h"
#include "lineage/value.h"

typedef struct cebus_call cebus_call;

/** One input of a record. `value` is NULL for an absent optional input. */
typedef struct cebus_edge {
    cebus_value *value;
    cebus_call *call;
    struct cebus_edge *next, *prev; /**< among the value's consumers */
    bool pinned;                    /**< by a call that waits for its other inputs (owner's use) */
} cebus_edge;

/** What a record keeps of what rebuilding its outputs would take (burden.h). */
typedef struct cebus_burden {
    uint64_t generation; /**< of the lineage's bounds: of another one nothing is known */
    uint64_t least;      /**< and the sum by which all bounds had sunk by then */
    uint64_t most;       /**< UINT64_MAX: not known */
    uint64_t ns, bytes;  /**< of the calls that a look back met; 0: they are to be met anew */
    uint32_t level;      /**< of the walk's stack, when the record was taken off it */
    bool watched;        /**< a walk met it: what leaves is looked for from there */
    bool looked;         /**< a look back met it that may still be remembered */
    bool whole;          /**< it was not ended by a time */
} cebus_burden;

struct cebus_call {
    /* One cache line, if the struct starts one: what a walk reads of every record. */
    uint64_t mark;  /**< visited in this epoch */
    cebus_edge *in; /**< n_in edges */
    uint32_t n_in, n_out;
    uint64_t cost_ns;   /**< of one run; the least measured. With outputs: cebus_cost_lower() */
    uint64_t wait_ns;   /**< of making inputs again for it, when it last had to wait for them */
    uint64_t out_bytes; /**< of the outputs in `out` */
    cebus_value **out;  /**< n_out, weak; NULL once dead or not made */
    const void *op;     /**< opaque */

    cebus_burden burden;
    uint32_t refs; /**< live outputs + graph nodes */
    uint32_t live_outputs;
    uint32_t missed; /**< of `out`: absent, and read by somebody in the end (version.h) */
    uint64_t serial; /**< in the order of the program: an input's producer comes before */
    uint64_t seed, rng_offset;
    uint64_t widest; /**< the most bytes that it reads of one value that was made */
    uint64_t listed; /**< its place, from 1, in the list that is being rebuilt; 0: not in it */
    uint64_t
        waiting;   /**< its place, from 1, among the calls that wait for inputs; 0: it does not */
    uint64_t need; /**< bytes it took at once, rebuilt depth first, when last listed (replay.h) */
    size_t bytes;  /**< of the whole allocation */
    void *payload; /**< the owner's: attributes and views; 16-byte aligned */
};

typedef struct cebus_lineage {
    cebus_pool *pool;       /**< borrowed */
    cebus_value *dead;      /**< waiting to be reaped */
    cebus_value *unsettled; /**< whose counts are to follow what changed (version.h) */
    uint64_t epoch;         /**< stamps visits; only ever grows */
    uint64_t live_calls;    /**< records in memory */
    uint64_t made_calls;    /**< records so far */
    cebus_turn turn;
    struct {
        uint64_t generation; /**< of the bounds that hold */
        uint64_t sunk;       /**< ns by which all have sunk */
        uint64_t credit;     /**< records to whose bounds may be added */
    } burdens;               /**< (burden.h) */
    struct cebus_scratch {
        void **items;
        size_t count, capacity;
    } stack, list; /**< working space of the walks, kept between them */
} cebus_lineage;

void cebus_lineage_init(cebus_lineage *lineage, cebus_pool *pool);
void cebus_lineage_deinit(cebus_lineage *lineage);

/**
 * A record with room for its edges, outputs and `payload_bytes`; one reference, the caller's. NULL
 * without host memory. Nothing is linked yet: cebus_call_read(), cebus_call_make().
 */
cebus_call *cebus_call_create(cebus_lineage *lineage, const void *op, uint32_t n_in, uint32_t n_out,
                              size_t payload_bytes);

/** Sets edge i to read `value` (counts it), all of it, which is there. */
void cebus_call_read(cebus_call *call, uint32_t i, cebus_value *value);
/** The same where the call reads `bytes` of it: a slice. */
void cebus_call_read_part(cebus_call *call, uint32_t i, cebus_value *value, uint64_t bytes);
/** An output so many times smaller than what is read of an input that was made, too, is a digest of
 * that. */
#define CEBUS_DIGEST_PART 16

/** Makes the record the producer of `value`, a leaf until now, as output i; the lineage's turn
 * counts it. Whether that is a digest is told by the inputs that are set already. */
void cebus_call_make(cebus_lineage *lineage, cebus_call *call, uint32_t i, cebus_value *value);

/** For qsort, of pointers to records: in the order in which they were made. */
int cebus_call_by_serial(const void *left, const void *right);

/** True if the bytes of all it reads exist: it can run again as it is. */
bool cebus_call_has_inputs(const cebus_call *call);

void cebus_call_retain(cebus_call *call);
/** Drops a reference; at zero the record goes, and with it what it read. O(inputs). */
void cebus_call_release(cebus_lineage *lineage, cebus_call *call);

/** Makes every live output a leaf and cuts the edges: the record will not be replayed. */
void cebus_call_forget(cebus_lineage *lineage, cebus_call *call);
/** Makes one value a leaf. */
void cebus_value_detach(cebus_lineage *lineage, cebus_value *value);

/** A handle outside lineage takes (drops) the value. A value at zero refs queues as dead. */
void cebus_value_hold(cebus_lineage *lineage, cebus_value *value);
void cebus_value_unhold(cebus_lineage *lineage, cebus_value *value);
/** The same without claiming the bytes: the version must stay rebuildable, not resident. */
void cebus_value_park(cebus_value *value);
void cebus_value_unpark(cebus_lineage *lineage, cebus_value *value);
/** A bare reference: it only keeps the struct. */
void cebus_value_retain(cebus_value *value);
void cebus_value_release(cebus_lineage *lineage, cebus_value *value);

/** The next dead value, unlinked from everything, for its owner to free; NULL when none. O(1). */
cebus_value *cebus_lineage_reap(cebus_lineage *lineage);

/** Appends to a scratch list; false without host memory. */
bool cebus_scratch_push(cebus_lineage *lineage, struct cebus_scratch *scratch, void *item);

/** Somebody holds it, and a call past `turn` made it (0: no turn is known): a gradient, as far as
 * can be told (turn.h). */
static inline bool cebus_value_is_past(const cebus_value *value, uint64_t turn)
{
    return turn > 0 && value->holders > 0 && value->producer != NULL &&
           value->producer->serial > turn;
}

/**
 * Verifies what must hold of `value` at any time: counts match, resident or rebuildable. Writes the
 * first violation to `why`. O(edges), recursion-free.
 */
bool cebus_value_check(const cebus_value *value, char *why, size_t why_bytes);

#endif
