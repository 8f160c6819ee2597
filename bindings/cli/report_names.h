/**
 * report_names.h: names of ops to small numbers. A trace has few of them; a file may have as many
 * as it likes, of any length, so both have limits.
 */
#ifndef REPORT_NAMES_H
#define REPORT_NAMES_H

#include "id_map.h"

enum {
    REPORT_MOST_NAMES = 4096, /**< the last stands for all that come later */
    REPORT_NAME_BYTES = 160,  /**< longer ones are cut */
};

/** Zero is an empty one. */
struct report_names {
    char **list;
    size_t count, room;
    struct id_map by_hash;
};

/** Number of a name; NO_INDEX of none (NULL). O(its length). */
uint32_t report_names_find(struct report_names *names, const char *text);
/** The name, or `none`. */
const char *report_names_text(const struct report_names *names, uint32_t index, const char *none);
void report_names_free(struct report_names *names);

#endif
