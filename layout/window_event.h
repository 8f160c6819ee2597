/**
 * window_event.h: what blocks that may have become cheaper mean to the tables of window_index.h.
 *
 * The runs that hold such a block are the same few for all sizes: so many blocks below it, so many
 * above. What one of them costs is worked out once, for all tables that want it, and replaces what
 * they knew of its start.
 */
#ifndef CEBUS_LAYOUT_WINDOW_EVENT_H
#define CEBUS_LAYOUT_WINDOW_EVENT_H

#include "layout/window_look.h"

/** Reads what was noted since the last search, and tells it the tables. */
void cebus_window_settle(cebus_window_search *search);

#endif
