/**
 * access.h: the access log: what the iterations of the program do, learned once and recognized when
 * they are done again.
 *
 * The log sees every call of the program (no replays) and is told where iterations end (segment.h
 * finds that out). What it has not seen before it records (reference.h). Each call is held against
 * the record that is followed: the same op, the same signature, as many inputs and outputs, the
 * same ordinals read, as many bytes made. While all agree its ordinals name live values, and its
 * future is known.
 *
 * At the first call that differs, another record that began alike and goes on with this call is
 * followed instead: the ordinals stay. Where there is none, nothing is followed until the next
 * iteration; it is no error: the iteration at hand is recorded in its turn, what came before the
 * difference copied. An iteration that stops early changes nothing. Which record an iteration is
 * held against first is what came after the one before it last time.
 *
 *     mark   1         2         3         4             5
 *     calls    abcabd    abcabd    abcd      abX           abcd
 *     log     records   follows   follows   follows ab,   follows
 *                       first     ab, then  then records  first ab,
 *                                 records                 then second
 *
 * Costs: while it follows, one comparison a call, nothing allocated. Memory: the records, and one
 * more. Without host memory, and for iterations longer than CEBUS_ITERATION_MAX_CALLS, nothing is
 * learned.
 */
#ifndef CEBUS_LINEAGE_ACCESS_H
#define CEBUS_LINEAGE_ACCESS_H

#include "lineage/reference.h"
#include "lineage/value.h"

/** How an iteration ended. */
typedef enum cebus_ending {
    CEBUS_ENDING_WRITES,  /**< parameters were written, or the program said so */
    CEBUS_ENDING_REPEATS, /**< it begins again: the period is known */
    CEBUS_ENDING_BEGINS,  /**< another begins that is known (cebus_access_begins()) */
    CEBUS_ENDING_BROKEN,  /**< in the middle: nothing is to be learned from it */
} cebus_ending;

typedef struct cebus_access_log {
    cebus_pool *pool; /**< borrowed */
    cebus_reference_set known;
    const cebus_iteration *reference; /**< what is followed, or was; no calls: nothing is known */
    uint32_t place;                   /**< its place */
    uint32_t last;                    /**< the place of the last iteration that was whole; NONE */
    uint32_t left; /**< the place of what was followed until the call that is expected; NONE */
    cebus_iteration learning; /**< what is being recorded */
    cebus_value **live;       /**< of ordinals: who bears it now; NULL: nobody */
    size_t n_live;            /**< ordinals that there is room for: those of every record */
    uint64_t unit;     /**< records have bytes rounded up to it, as blocks are; a power of two */
    uint64_t named;    /**< names given out over the log's life (value.h: name) */
    uint64_t before;   /**< names up to here belong to earlier iterations */
    uint64_t prefix;   /**< of what is recorded */
    uint32_t at;       /**< calls since the iteration began */
    uint32_t unproven; /**< records made since one was last followed to its end */
    bool following;    /**< all calls since then were the reference's */
    bool recording;
} cebus_access_log;

/** A call that is about to be committed; outputs are numbered as in eager's ops. */
typedef struct cebus_access {
    const char *op; /**< lives as long as the log */
    /** Of the call without what it reads: attributes and shapes, not numbers that change from
     * iteration to iteration. 0: it has none. */
    uint64_t signature;
    uint64_t cost_ns, workspace;
    cebus_value *const *in; /**< NULL entries: absent */
    cebus_value *const *out;
    uint32_t n_in, n_out;
    uint64_t mutates;       /**< inputs that are written in place: the outputs, in order */
    uint64_t kept;          /**< outputs that stay the value their input was: writes to leaves */
    const bool *persistent; /**< of each input */
    bool replayable;
} cebus_access;

/** `named`: what an earlier log of the same values had named when it ended; 0: there was none. */
void cebus_access_init(cebus_access_log *log, cebus_pool *pool, uint64_t named);
void cebus_access_deinit(cebus_access_log *log);

/** A call is about to be made, of which inputs, op and signature are known: if the reference does
 * not go on with it, it is left now, or another followed. Nothing is named. */
void cebus_access_expect(cebus_access_log *log, const cebus_access *access);
/** The call that was expected last was not made after all, as it failed: what was followed before
 * it is followed on. */
void cebus_access_retract(cebus_access_log *log);
/** Whether the call, about to be made, looks like the first of an iteration: it reads nothing that
 * a call of this one made, and either what went before is known to end here and no record goes on
 * with this call, or it is how one that is known begins. */
bool cebus_access_begins(cebus_access_log *log, const cebus_access *access);
/** A call was made. */
void cebus_access_call(cebus_access_log *log, const cebus_access *access);
/** Nobody holds the value any more: only replays will read it. */
void cebus_access_release(cebus_access_log *log, const cebus_value *value);
/** The host reads its bytes. */
void cebus_access_read(cebus_access_log *log, const cebus_value *value);
/** It lost its record: no call makes it again. */
void cebus_access_detach(cebus_access_log *log, const cebus_value *value);
/** The value dies. */
void cebus_access_forget(cebus_access_log *log, const cebus_value *value);

/**
 * A value is to persist. Where a call made it before anything is known, what was done until now was
 * to set up, and no part of an iteration, which else would not come again: the first begins.
 */
void cebus_access_persist(cebus_access_log *log, const cebus_value *value);

/** An iteration ended; true when something new was learned from it. */
bool cebus_access_end(cebus_access_log *log, cebus_ending ending);

/** Whether all calls since the iteration began are a whole one that is known. */
static inline bool cebus_access_is_whole(const cebus_access_log *log)
{
    return log->following && log->at > 0 && log->at == log->reference->n_calls;
}

/** Its number in this iteration; NONE: no call has named it yet. */
static inline uint32_t cebus_access_ordinal(const cebus_access_log *log, const cebus_value *value)
{
    return value->name > log->before ? (uint32_t)(value->name - log->before - 1)
                                     : CEBUS_ITERATION_NONE;
}

/** Names count from 1 in each iteration: the next one to be given. */
static inline uint32_t cebus_access_next_ordinal(const cebus_access_log *log)
{
    return (uint32_t)(log->named - log->before);
}

/** The call that made a value in this iteration; NONE: none did, or it is not known. */
uint32_t cebus_access_born(const cebus_access_log *log, const cebus_value *value);

/** While the log follows: who bears an ordinal of the reference. */
static inline cebus_value *cebus_access_bearer(const cebus_access_log *log, uint32_t ordinal)
{
    return log->live[ordinal];
}

#endif
