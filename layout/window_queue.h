/**
 * window_queue.h: which windows a search has still to look at, the likeliest first.
 *
 * Groups are valued all at once; the likeliest is opened, its chunks are valued, and from then on
 * it counts as much as the likeliest of them; so is the likeliest chunk, which counts as much as
 * the likeliest window that starts there and was not taken.
 */
#ifndef CEBUS_LAYOUT_WINDOW_QUEUE_H
#define CEBUS_LAYOUT_WINDOW_QUEUE_H

#include "layout/window_table.h"

/** The place that stands for a loose chunk. */
#define CEBUS_QUEUE_LOOSE CEBUS_CHUNK_MAX

typedef struct cebus_queue {
    cebus_tables *tables; /**< borrowed, as is */
    cebus_table *table;
    double t;                /**< the tables' time */
    uint32_t chunks, groups; /**< opened */
} cebus_queue;

/** A search at `now`. O(groups). */
void cebus_queue_begin(cebus_queue *queue, cebus_tables *tables, cebus_table *table, uint64_t now);

/** Takes the start of the greatest bound on 1/price of those not taken yet; chunk NONE if that is
 * below `least`, or 0. Place CEBUS_QUEUE_LOOSE: the chunk may have it, but is loose; with its lines
 * known, it is to be asked again. O(groups / CEBUS_GROUP + CEBUS_GROUP) for each group opened. */
cebus_seat cebus_queue_next(cebus_queue *queue, double least);

/** Makes the bounds of what was opened as tight as what is known by now. O(opened). */
void cebus_queue_end(cebus_queue *queue);

#endif
