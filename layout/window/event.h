/**
 * event.h: what blocks that may have become cheaper mean to the tables of index.h.
 *
 * No window that holds such a block is at a table's level before all of its blocks are, each. When
 * that may be shows among the few blocks around it: for all tables at once by two on either side;
 * where those are at the level already, for a table by itself as far as blocks are.
 */
#ifndef CEBUS_LAYOUT_WINDOW_EVENT_H
#define CEBUS_LAYOUT_WINDOW_EVENT_H

#include "layout/window/look.h"

/** Reads what was noted since the last search, and tells it the tables. */
void cebus_window_settle(cebus_window_search *search);

#endif
