/**
 * value.h: one version of a storage's contents, as a node of the recorded program.
 *
 * A value knows who made it (`producer`, NULL for a leaf), who reads it (`consumers`), whether its
 * bytes exist now (`resident`), and who wants it:
 *  - holders: handles outside lineage (a storage whose current version it is; the autograd graph);
 *  - edges: records that read it when they are replayed.
 * refs = holders + edges + parked names. At zero the value is dead and waits to be reaped (call.h).
 *
 * An absent value must be rebuildable: it has a producer, and each input of that is resident or,
 * again, rebuildable (cebus_value_check() verifies the closure). A leaf cannot be rebuilt: its
 * bytes stay while refs > 0.
 *
 * The owner embeds cebus_value at the start of its own struct and allocates it.
 * Thread-safety: none; the runtime's lock.
 */
#ifndef CEBUS_LINEAGE_VALUE_H
#define CEBUS_LINEAGE_VALUE_H

#include <cebus/base.h>

struct cebus_call;
struct cebus_edge;
struct cebus_class;

/** Classes of absent neighbours that a value remembers; few values have more (cost.h). */
#define CEBUS_NEAR_MAX 4

typedef struct cebus_value {
    /* One cache line, if the struct starts one: what a search for victims reads of every value. */
    struct cebus_call *producer; /**< counted; NULL: a leaf */
    uint64_t price_fixed;        /**< price without what its classes add (cost.h) */
    struct cebus_class *price_near[CEBUS_NEAR_MAX]; /**< the distinct classes next to it */
    uint32_t pins;                                  /**< uses by the running call: must stay */
    uint32_t plan_uses;                             /**< reads left in the running replay list */
    uint8_t price_classes;                          /**< entries of price_near */
    bool price_known;                               /**< false: price_* are to be found anew */
    bool resident;
    bool swapped;    /**< a copy elsewhere brings the bytes back: to a replay as good as resident */
    bool made;       /**< it had a producer once, whether or not that record was cut since */
    bool digest;     /**< much smaller than something that it is made of (call.h) */
    uint16_t output; /**< its index among the producer's outputs */

    struct cebus_edge *consumers; /**< records that read this version (weak, both ways) */
    struct cebus_class *group;    /**< class of absent neighbours; NULL while resident (cost.h) */
    struct cebus_value *next_dead;
    uint64_t bytes;      /**< of the whole storage */
    uint64_t group_cost; /**< what it added to its class */
    uint32_t refs, holders;
    uint32_t parked;      /**< of refs: names kept so that the version can be held again */
    uint32_t ghost_depth; /**< longest chain of unheld versions behind it */
    uint32_t ahead;       /**< reads by calls that make something missed (version.h) */
    bool counted;         /**< in its call's missed outputs */
    bool queued;          /**< to be counted anew, behind next_queued */
    struct cebus_value *next_queued;
    uint64_t name; /**< in the access log (access.h); 0: none yet */
} cebus_value;

/** A leaf with one holder and no bytes yet. */
void cebus_value_init(cebus_value *value, uint64_t bytes);

/** True if its bytes exist: nothing has to be replayed to read them. */
static inline bool cebus_value_is_present(const cebus_value *value)
{
    return value->resident || value->swapped;
}

/** True if somebody holds it, or an absent value that is made of it. O(readers). */
bool cebus_value_is_wanted(const cebus_value *value);

/** True if its bytes may be given up and rebuilt by a replay. */
static inline bool cebus_value_is_replayable(const cebus_value *value)
{
    return value->producer != NULL;
}

#endif
