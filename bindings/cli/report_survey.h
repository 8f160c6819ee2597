/**
 * report_survey.h: what the first reading of a run finds: its counters, in all and by iteration,
 * and how much there is to draw, so that the second reading knows what to leave out.
 */
#ifndef REPORT_SURVEY_H
#define REPORT_SURVEY_H

#include "report_timeline.h"

/** Sums over a time. */
struct report_counts {
    uint64_t begin_ns, end_ns; /**< all streams have ended */
    uint64_t work_ns[REPORT_WORKS], works[REPORT_WORKS];
    uint64_t out_bytes, in_bytes, moved_bytes;
    uint64_t evictions, evicted_bytes;
    uint64_t compactions, cuts, ooms;
    uint64_t peak_bytes;
};

enum {
    REPORT_ITERATIONS = 64, /**< the last ones are kept one by one */
    REPORT_BUDGETS = 256,   /**< the first changes of the budget */
    REPORT_OOMS = 64,       /**< the first requests that failed */
    REPORT_SIZES = 128,     /**< powers of two */
};

struct report_oom {
    uint64_t at_ns, bytes;
    uint32_t op;
};

struct report_survey {
    struct report_book *book;
    struct report_counts total;
    struct report_counts now;                     /**< of the iteration that runs */
    struct report_counts last[REPORT_ITERATIONS]; /**< a ring: iteration i at i % its size */
    uint64_t iterations;                          /**< that ended */
    uint64_t used_bytes;
    uint64_t top;                      /**< the address behind the highest block */
    uint64_t grain;                    /**< bits of all addresses and sizes */
    uint64_t blocks, moves, changes;   /**< changes: blocks that came or went */
    uint64_t areas[REPORT_SIZES];      /**< blocks by log2 of bytes x ns */
    uint64_t move_sizes[REPORT_SIZES]; /**< moves by log2 of bytes */
    uint64_t pieces[REPORT_STREAMS];
    uint64_t budgets_ns[REPORT_BUDGETS], budgets[REPORT_BUDGETS];
    size_t n_budgets;
    struct report_oom ooms[REPORT_OOMS];
    uint64_t events;     /**< that happened */
    uint64_t last_event; /**< the number, from 1, of the last mark or out-of-memory; 0: none */
};

/** Its sink; it lives as long as the timeline. Its first budget is the head's, set by the caller.
 */
struct report_sink report_survey_begin(struct report_survey *survey, struct report_book *book);

/** log2 of a block's bytes x ns, and of a move's bytes: which of the counts it belongs to. */
unsigned report_area_class(const struct report_block *block);
unsigned report_size_class(uint64_t bytes);
/** The least class of which, and of all above, there are at most `most`. */
unsigned report_least_class(const uint64_t counts[REPORT_SIZES], uint64_t most);

/** Iterations that are kept one by one; the first of them. */
size_t report_survey_kept(const struct report_survey *survey, uint64_t *out_first);
/** Iteration i of those kept. */
const struct report_counts *report_survey_iteration(const struct report_survey *survey, uint64_t i);
/** Whether something ran after the last iteration ended, or before any did. */
bool report_survey_is_unfinished(const struct report_survey *survey);
/** Time of the whole run. */
uint64_t report_counts_ns(const struct report_counts *counts);
/**
 * Time / time without a budget. `base_ns`: of an iteration without a budget, if known: 0 takes the
 * time of the program's own calls instead, which is the same unless a host cannot keep up. 0 when
 * nothing ran.
 */
double report_counts_overhead(const struct report_counts *counts, uint64_t base_ns);

#endif
