/**
 * level.h: adjusts the price below which a window counts as hot, so that about as many are hot as a
 * list holds.
 *
 * The level of a table rises where its list is full, and falls where nothing is at it any more.
 * Where more windows cost the same than there is room for, those stay that evict fewer bytes or
 * lie lower, as those win: the list ends within a price. Such a table says up to where it `knows`
 * all. A window that would come after that need not be hot before it gets cheaper than that price.
 */
#ifndef CEBUS_LAYOUT_WINDOW_LEVEL_H
#define CEBUS_LAYOUT_WINDOW_LEVEL_H

#include "layout/window/look.h"

/** The window that starts at a spot becomes hot, or its chunk is due when it does. The level may
 * rise to make room. False: there is none. */
bool cebus_level_add(cebus_window_search *search, cebus_seat at, cebus_line line);

/** Is it hot? If not, its chunk is due when it is. */
bool cebus_level_keeps(cebus_window_search *search, cebus_seat at, cebus_line line);

/** Chunks are due when something may be at a part of the level. O(chunks). */
void cebus_level_lower(const cebus_window_search *search);

#endif
