/**
 * event.h: tells the tables of index.h about blocks that may have become cheaper.
 *
 * Of what was noted only news counts (chunk.h). What is none is a block that lies where it was kept
 * and is no cheaper. So a window that it is in has another block that is news, or is the window
 * that tables know, and no cheaper.
 *
 * No window that holds such a block is at a table's level before all of its blocks are, each. When
 * that may be shows among the few blocks around it, for all tables at once. Where it may be before
 * a chunk is due, a table by itself asks for windows that begin in the chunk, as far as blocks are
 * at the level by then. Only where there are enough the chunk is due sooner.
 */
#ifndef CEBUS_LAYOUT_WINDOW_EVENT_H
#define CEBUS_LAYOUT_WINDOW_EVENT_H

#include "layout/window/look.h"

/** Reads what was noted since the last search, and tells it the tables. */
void cebus_window_settle(cebus_window_search *search);

#endif
