/**
 * plan_line.h: one line of a plan file: a flat JSON object of numbers and short texts. It is all
 * the JSON that a plan needs, read without a library and without host memory, so that plans load in
 * every build.
 */
#ifndef CEBUS_EAGER_GUIDANCE_PLAN_LINE_H
#define CEBUS_EAGER_GUIDANCE_PLAN_LINE_H

#include <cebus/base.h>

/** Keys of a line, at most. */
#define CEBUS_PLAN_MEMBERS 16

/** Borrowed from the line; neither key nor text is terminated. */
typedef struct cebus_plan_member {
    const char *key, *text; /**< text: NULL of a number */
    size_t key_bytes, text_bytes;
    uint64_t number;
} cebus_plan_member;

typedef struct cebus_plan_line {
    cebus_plan_member members[CEBUS_PLAN_MEMBERS];
    size_t count;
} cebus_plan_line;

/** What is wrong with the line, as a static text; NULL: nothing, and *out is what it says. */
const char *cebus_plan_line_parse(const char *line, size_t bytes, cebus_plan_line *out);

/** By its key; NULL: there is none. */
const cebus_plan_member *cebus_plan_line_find(const cebus_plan_line *line, const char *key);

#endif
