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
    CEBUS_EVENT_EVICTED,  /**< a value was dropped under pressure; price: what it would cost back */
    CEBUS_EVENT_REPLAYED, /**< a recorded call ran again; ns: its time */
    CEBUS_EVENT_COMPACTED, /**< bytes: moved */
    CEBUS_EVENT_CUT,       /**< lineage was cut to free what it kept */
    CEBUS_EVENT_OUT_OF_MEMORY,
    CEBUS_EVENT_BUDGET, /**< the budget changed; bytes: the new one */
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

/** One event. What does not belong to its kind is zero. */
typedef struct cebus_event {
    cebus_event_kind kind; /**< which of the above */
    cebus_rung rung;       /**< of the request this was done for */
    const char *op;        /**< static or as long as the runtime: of the call or producer */
    uint64_t bytes;        /**< of the value, the move or the budget */
    uint64_t offset;       /**< in the arena */
    uint64_t ns;           /**< time of the run */
    uint64_t price;        /**< what the policy took it for */
    uint64_t time_ns;      /**< the runtime's clock: summed cost of all calls so far */
} cebus_event;

/**
 * Called after the runtime's lock is released, in order, on the thread whose call caused the event.
 * It may call cebus. Events that find no host memory are dropped.
 */
typedef void (*cebus_event_hook)(void *context, const cebus_event *event);
/** Sets the hook of a runtime; NULL: none. */
CEBUS_API void cebus_runtime_set_event_hook(cebus_runtime *rt, cebus_event_hook hook,
                                            void *context);

CEBUS_END_DECLS

#endif
