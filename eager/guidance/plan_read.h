/**
 * plan_read.h: what writing and reading a plan file share. The reader is cebus_plan_book_read()
 * (plan_book.h).
 */
#ifndef CEBUS_EAGER_GUIDANCE_PLAN_READ_H
#define CEBUS_EAGER_GUIDANCE_PLAN_READ_H

#include "eager/guidance/plan_book.h"

/** Bounds on what a file may ask for: its lines, its plans, the actions of all of them. */
#define CEBUS_PLAN_LINE_BYTES 4096
#define CEBUS_PLAN_MOST_PLANS 4096
#define CEBUS_PLAN_MOST_ACTIONS (UINT32_C(1) << 24)

/** As a file calls them, by cebus_action_kind. */
extern const char *const cebus_plan_action_names[CEBUS_ACTION_KINDS];

#endif
