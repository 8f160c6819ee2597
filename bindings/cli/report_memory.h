/**
 * report_memory.h: memory in use over time, by class, for a page. A run of many changes is cut into
 * equal times, and of each the highest and the lowest state and the last one are kept, at their own
 * instants: no peak is lost (M4: Jugel, Jerzak, Hackenbroich, Markl, VLDB 2014).
 */
#ifndef REPORT_MEMORY_H
#define REPORT_MEMORY_H

#include "report_array.h"
#include "report_survey.h"

/** What is in use at an instant. */
struct report_level {
    uint64_t at_ns, total;
    uint64_t bytes[REPORT_CLASSES];
};

struct report_memory {
    const struct report_survey *survey;
    uint64_t unit; /**< divides all addresses and sizes */
    uint64_t step_ns;
    struct report_level now;
    struct report_level low, high, put; /**< of this step; the last one written */
    bool open;                          /**< a step has begun */
    uint64_t step;
    struct report_array array; /**< of each point: its time and bytes by class, as changes */
    uint64_t points;
};

struct report_sink report_memory_begin(struct report_memory *memory,
                                       const struct report_survey *survey);
/** The array as "memory" of the page's data, and what it is made of. */
void report_memory_put(struct report_memory *memory, struct writer *writer);
void report_memory_free(struct report_memory *memory);

/** The largest power of two that divides all addresses and sizes of a run. */
uint64_t report_unit(const struct report_survey *survey);

#endif
