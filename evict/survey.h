/**
 * survey.h: what every planner asks of a recorded iteration first: where values lie idle, where the
 * program turns from filling memory to emptying it, what time it is.
 *
 * A span is an idle stretch of a value between two uses: while the calls between them run, its
 * bytes could be elsewhere. A turn is a call at which most bytes lie idle: the end of a forward,
 * before its backward. An iteration has as many turns as forwards with a backward (gradient
 * accumulation, GANs). They are found on the curve of idle bytes, as its high points from which it
 * falls by a third of its greatest height at least, not by names of ops: it works for imported
 * logs, too.
 *
 *     idle bytes       turn             calls        f0   f1   f2   b2   b1   b0
 *               ______/ \               value of f0  made use |------------|  use
 *          ____/         \___           value of f1       made use |--|  use
 *        /                   \          spans: [1, 5) from f1 to b0: calls 2 to 4 do without
 */
#ifndef CEBUS_EVICT_SURVEY_H
#define CEBUS_EVICT_SURVEY_H

#include "evict/curve.h"

typedef struct cebus_span {
    uint32_t value;
    uint32_t from; /**< the call that uses it last, before */
    uint32_t to;   /**< the call that uses it next */
    uint32_t turn; /**< the first turn between them, an index; NONE: there is none */
} cebus_span;

typedef struct cebus_survey {
    const cebus_iteration *iteration; /**< borrowed */
    cebus_pool *pool;                 /**< borrowed */
    cebus_curve curve;                /**< if nothing is given up */
    uint64_t *times;                  /**< ns at which call k starts; of n_calls: the end */
    cebus_span *spans;                /**< by `from`: the least recently used first */
    uint32_t *by_end;                 /**< their indices by `to` */
    uint32_t *turns;                  /**< calls, ascending */
    size_t n_spans, n_turns;
    size_t spans_capacity, turns_capacity;
} cebus_survey;

/**
 * Spans of all values that may leave: not of persistent ones, nor of those too small to matter (all
 * of them together less than a hundredth or so of what the iteration makes). False without host
 * memory: then there is nothing to free. O(refs + calls).
 */
bool cebus_survey_init(cebus_survey *survey, const cebus_iteration *iteration, cebus_pool *pool);
void cebus_survey_deinit(cebus_survey *survey);

static inline uint64_t cebus_survey_bytes(const cebus_survey *survey, size_t span)
{
    return survey->iteration->values[survey->spans[span].value].bytes;
}

/** Whether its bytes can be made again: dropped, not copied. */
static inline bool cebus_survey_is_replayable(const cebus_survey *survey, size_t span)
{
    return survey->iteration->values[survey->spans[span].value].replayable;
}

/** An array with an entry for each span, for a planner's marks; all bytes of it are `fill`. */
uint32_t *cebus_survey_marks(const cebus_survey *survey, int fill);
void cebus_survey_free_marks(const cebus_survey *survey, uint32_t *marks);

#endif
