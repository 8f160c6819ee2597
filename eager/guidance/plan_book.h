/**
 * plan_book.h: plans by the signature of their iteration: what was read from files, until the
 * program does such an iteration. How they are written and read: <cebus/plan.h>.
 *
 * Thread-safety: none; the owner's lock.
 */
#ifndef CEBUS_EAGER_GUIDANCE_PLAN_BOOK_H
#define CEBUS_EAGER_GUIDANCE_PLAN_BOOK_H

#include "eager/trace/write.h"
#include "evict/policy.h"

typedef struct cebus_plan_page {
    uint64_t signature; /**< of the iteration (lineage/reference.h) */
    uint32_t n_calls, n_values;
    const cebus_policy *policy; /**< that made it */
    cebus_plan_terms terms;     /**< that it was made for */
    uint64_t predicted_ns;      /**< what an iteration by it takes; 0: unknown */
    bool placed;                /**< its values had places side by side */
    cebus_plan plan;            /**< in order, not linked */
} cebus_plan_page;

typedef struct cebus_plan_book {
    cebus_pool *pool; /**< borrowed */
    cebus_plan_page *pages;
    size_t count, capacity;
} cebus_plan_book;

void cebus_plan_book_init(cebus_plan_book *book, cebus_pool *pool);
void cebus_plan_book_clear(cebus_plan_book *book);

/** The plan for an iteration; NULL: there is none. */
const cebus_plan_page *cebus_plan_book_find(const cebus_plan_book *book, uint64_t signature,
                                            size_t n_calls, const cebus_policy *policy);

/** Moves all pages of `from` over, in the place of those with the same key. False without host
 * memory: then neither has changed. */
bool cebus_plan_book_merge(cebus_plan_book *book, cebus_plan_book *from);

/** Where plans come from: what a program that means to be guided by them should ask for, too. */
typedef struct cebus_plan_origin {
    const char *device, *layout, *swap; /**< swap: "default", "off" or "on" */
    const cebus_policy *policy;
    uint64_t budget, host_budget; /**< bytes */
} cebus_plan_origin;

/** The first line of a file of n plans. */
void cebus_plan_book_write_head(cebus_trace_writer *to, const cebus_plan_origin *origin, size_t n);
/** One plan, with its actions. */
void cebus_plan_book_write(cebus_trace_writer *to, const cebus_plan_page *page);

/** Reads a file into an empty book. What is wrong is in `why`, in a sentence for the user, and the
 * book is empty. `host`: of the buffer for a line. */
cebus_status cebus_plan_book_read(cebus_plan_book *book, const char *path,
                                  const cebus_host_allocator *host, char *why, size_t why_bytes);

#endif
