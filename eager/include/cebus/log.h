/**
 * @file log.h
 * Typed events: what the runtime did, as it happens. Silent by default.
 */
#ifndef CEBUS_LOG_H
#define CEBUS_LOG_H

#include <cebus/tensor.h>

CEBUS_BEGIN_DECLS

/** What happened. */
typedef enum cebus_event_kind {
    CEBUS_EVENT_PLACED,   /**< bytes found a place; `rung` says how hard it was */
    CEBUS_EVENT_FREED,    /**< a place is free again */
    CEBUS_EVENT_MOVED,    /**< a block went from `from` to `offset` */
    CEBUS_EVENT_EVICTED,  /**< a value was given up under pressure: `method`, `price`, `next_price`;
                               the FREED event follows */
    CEBUS_EVENT_RETURNED, /**< an evicted value is there again: `method`; ns: all that it took */
    CEBUS_EVENT_CALLED,   /**< a kernel ran for the program; ns: its time */
    CEBUS_EVENT_REPLAYED, /**< a recorded call ran again; ns: its time */
    CEBUS_EVENT_SWAPPED_OUT, /**< a copy to the host was started */
    CEBUS_EVENT_SWAPPED_IN,  /**< a copy from the host was started */
    CEBUS_EVENT_COMPACTED,   /**< bytes: moved */
    CEBUS_EVENT_CUT,         /**< lineage was cut to free what it kept */
    CEBUS_EVENT_OUT_OF_MEMORY,
    CEBUS_EVENT_BUDGET, /**< the budget changed; bytes: the new one */
    CEBUS_EVENT_MARK,   /**< an iteration ended (cebus_iteration_mark()) */
    CEBUS_EVENT_GUIDED, /**< the second iteration by a new plan ended; bytes: its peak, ns: lost,
                             value: its signature (cebus_plan_summary() says more) */
    CEBUS_EVENT_PLAN_REFUSED, /**< a loaded plan is not used; op: why, value: its signature */
} cebus_event_kind;

/** The rungs of the ladder a request climbs. */
typedef enum cebus_rung {
    CEBUS_RUNG_FREE,        /**< a free block fitted */
    CEBUS_RUNG_EVICT,       /**< the policy's victims */
    CEBUS_RUNG_CUT,         /**< records were cut to free leaves only they kept */
    CEBUS_RUNG_COMPACT,     /**< blocks were moved together */
    CEBUS_RUNG_LAST_RESORT, /**< leaf gradients went, too */
    CEBUS_RUNG_FAILED,
} cebus_rung;

/** How a value goes and comes back. */
typedef enum cebus_method {
    CEBUS_METHOD_RECOMPUTE, /**< dropped, to be made again by replaying its call */
    CEBUS_METHOD_SWAP,      /**< copied to the host, to be copied back */
} cebus_method;

/** What a block of memory holds. */
typedef enum cebus_memory_class {
    CEBUS_MEMORY_ACTIVATION, /**< what calls made */
    CEBUS_MEMORY_PERSISTENT, /**< parameters, optimizer state, buffers */
    CEBUS_MEMORY_GRADIENT,   /**< of leaves, complete or on their way */
    CEBUS_MEMORY_LEAF,       /**< uploaded data: nothing can make it again */
    CEBUS_MEMORY_WORKSPACE,  /**< scratch of a running kernel */
} cebus_memory_class;

/** One event. What does not belong to its kind is zero. */
typedef struct cebus_event {
    cebus_event_kind kind;           /**< which of the above */
    cebus_rung rung;                 /**< of the request this was done for */
    cebus_method method;             /**< EVICTED, RETURNED */
    cebus_memory_class memory_class; /**< PLACED, FREED, MOVED: of the block */
    const char *op;      /**< static or as long as the runtime: of the call or producer */
    uint64_t value;      /**< number of the version, never reused; 0: workspace, or none */
    uint64_t bytes;      /**< of the block, the value, the move or the budget */
    uint64_t offset;     /**< in the arena */
    uint64_t from;       /**< MOVED: the offset before */
    uint64_t ns;         /**< time of the run; EVICTED: what it takes to bring back, as estimated */
    uint64_t age_ns;     /**< EVICTED: since its last use */
    uint64_t price;      /**< EVICTED: what the choice it was part of cost */
    uint64_t next_price; /**< EVICTED: of the cheapest choice that lost; 0: there was no other */
    uint64_t call;       /**< calls of the program so far */
    uint64_t time_ns;    /**< the runtime's clock: summed cost of all calls so far */
    uint64_t device_ns;  /**< the device's clock; of a kernel or a copy: when it ends */
} cebus_event;

/**
 * Called after the runtime's lock is released, in order, on the thread whose call caused the event.
 * It may call cebus; what that causes is delivered before the call within the hook returns, so a
 * hook that causes an event in every event does not end. Events that find no host memory are
 * dropped.
 */
typedef void (*cebus_event_hook)(void *context, const cebus_event *event);
/** Sets the hook of a runtime; NULL: none. */
CEBUS_API void cebus_runtime_set_event_hook(cebus_runtime *rt, cebus_event_hook hook,
                                            void *context);

CEBUS_END_DECLS

#endif
