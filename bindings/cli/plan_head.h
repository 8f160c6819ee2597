/**
 * plan_head.h: the first line of a file of plans (<cebus/plan.h>): what it was made for. Whoever
 * replays by it need not say that again.
 */
#ifndef PLAN_HEAD_H
#define PLAN_HEAD_H

#include <jansson.h>

#include "settings.h"

struct plan_head {
    json_t *root;         /**< of the line: texts point in here */
    char budget[32];      /**< as a setting */
    char host_budget[32]; /**< the same */
};

/** Whether a file holds such plans, by its first line; false for what cannot be read, too. */
bool plan_head_is(const char *path);

/** Fills in the settings that nobody gave, from a file of plans; they borrow from `head`. What is
 * wrong is printed, and false returned; then there is nothing to free. */
bool plan_head_apply(struct plan_head *head, const char *path, struct settings *settings);
void plan_head_free(struct plan_head *head);

#endif
