/**
 * window_queue.h: which chunks a search has still to look at, the likeliest first.
 *
 * Groups are valued all at once; the likeliest is opened, its chunks are valued, and from then on
 * it counts as much as the likeliest of them that was not taken.
 */
#ifndef CEBUS_LAYOUT_WINDOW_QUEUE_H
#define CEBUS_LAYOUT_WINDOW_QUEUE_H

#include "layout/window_table.h"

typedef struct cebus_queue {
    cebus_tables *tables; /**< borrowed, as is */
    cebus_table *table;
    double t;        /**< the table's time */
    uint32_t opened; /**< groups */
} cebus_queue;

/** A search at `now`. O(groups). */
void cebus_queue_begin(cebus_queue *queue, cebus_tables *tables, cebus_table *table, uint64_t now);

/** Takes the chunk of the greatest bound on 1/price of those not taken yet; CEBUS_CHUNK_NONE if
 * that is below `least`, or 0. O(groups / CEBUS_GROUP + CEBUS_GROUP) for each group opened. */
uint32_t cebus_queue_next(cebus_queue *queue, double least);

/** Makes the bounds of what was opened as tight as what is known by now. O(groups opened). */
void cebus_queue_end(cebus_queue *queue);

#endif
