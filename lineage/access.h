/**
 * access.h: the access log: what an iteration of the program does, learned once and recognized when
 * it is done again.
 *
 * The log sees every call of the program (no replays) and the marks between iterations. The first
 * iteration is recorded (iteration.h). From the next on each call is held against the record: the
 * same op, as many inputs and outputs, the same ordinals read, as many bytes made. While all
 * agree the program follows the record: its ordinals name live values, and its future is known.
 * The first call that differs ends that until the next mark. It is no error; the iteration
 * at hand is recorded in its turn (what came before the difference is copied), and replaces the
 * record at the mark. A record that was once followed to its end stands until two iterations in a
 * row have left it: one evaluation, or a call for a log line, does not make it forgotten.
 * An iteration that stops early changes nothing.
 *
 *     mark   1         2         3         4             5         6
 *     calls    abcabd    abcabd    abcabd    abX           abcabd
 *     log     records   follows   follows   follows ab,   follows
 *                                           then records
 *
 * Costs: while it follows, one comparison a call, nothing allocated. Memory: at most two records.
 * Without host memory, and for iterations longer than CEBUS_ITERATION_MAX_CALLS, nothing is
 * learned.
 */
#ifndef CEBUS_LINEAGE_ACCESS_H
#define CEBUS_LINEAGE_ACCESS_H

#include "lineage/iteration.h"
#include "lineage/value.h"

typedef struct cebus_access_log {
    cebus_pool *pool;          /**< borrowed */
    cebus_iteration reference; /**< what is followed; no calls: there is none yet */
    cebus_iteration learning;  /**< what is being recorded */
    cebus_value **live;        /**< of the reference's ordinals: who bears it now; NULL: nobody */
    uint64_t named;            /**< names given out over the log's life (value.h: name) */
    uint64_t before;           /**< names up to here belong to earlier iterations */
    uint32_t at;               /**< calls since the mark */
    uint32_t strikes;          /**< iterations in a row that left the reference */
    bool following;            /**< all calls since the mark were the reference's */
    bool recording;
    bool confirmed; /**< the reference was followed to its end */
} cebus_access_log;

/** A call that is about to be committed; outputs are numbered as in eager's ops. */
typedef struct cebus_access {
    const char *op; /**< lives as long as the log */
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

/** A call was made. */
void cebus_access_call(cebus_access_log *log, const cebus_access *access);
/** Nobody holds the value any more: only replays will read it. */
void cebus_access_release(cebus_access_log *log, const cebus_value *value);
/** The host reads its bytes. */
void cebus_access_read(cebus_access_log *log, const cebus_value *value);
/** The value dies. */
void cebus_access_forget(cebus_access_log *log, const cebus_value *value);

/** An iteration ended; true when the reference is a new one: plans for the old one are void. */
bool cebus_access_mark(cebus_access_log *log);

/** Its number in this iteration; NONE: no call has named it yet. */
uint32_t cebus_access_ordinal(const cebus_access_log *log, const cebus_value *value);

/** While the log follows: who bears an ordinal of the reference. */
static inline cebus_value *cebus_access_bearer(const cebus_access_log *log, uint32_t ordinal)
{
    return log->live[ordinal];
}

#endif
