/**
 * report_array.h: a list of numbers of a page's data, written while a run is read. Several grow
 * side by side, so each is a text in memory until all are put in their places.
 */
#ifndef REPORT_ARRAY_H
#define REPORT_ARRAY_H

#include <stddef.h>

#include "report_writer.h"

struct report_array {
    struct writer writer; /**< within the list */
    char *text;
    size_t length;
};

/** Opens a list. Without memory the program ends. */
void report_array_begin(struct report_array *array);
/** A number of the list. */
void report_array_add(struct report_array *array, uint64_t number);
/** A number that may be below 0, as the difference of two. */
void report_array_add_change(struct report_array *array, uint64_t from, uint64_t to);
/** Closes the list, puts it under a key, and frees it. */
void report_array_put(struct report_array *array, struct writer *writer, const char *key);
/** Of one that was never put; zero is fine. */
void report_array_free(struct report_array *array);

#endif
