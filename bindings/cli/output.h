/**
 * output.h: a file that a command makes: all of it, or what was there before. It is written without
 * a name, so that nothing is left of a command that is interrupted (beside its place, under a name
 * of its own, where the file system has no such files), and takes the place when it is whole.
 * Devices and pipes, and files in folders that take no new ones, are written directly.
 */
#ifndef OUTPUT_H
#define OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

struct output {
    const char *path; /**< as the user named it */
    FILE *file;       /**< NULL: nothing is open */
    char *place;      /**< where it goes, links followed; NULL: `at` is written directly */
    char *at;         /**< where it is written; NULL: it has no name yet */
};

/** Whether a file can be made there, without making one; if not, that is said. */
bool output_is_possible(const char *path);

/** For the end of a message that nothing was written: that an older file is there still, or "". */
const char *output_remains(const char *path);

/** Opens `output->file`. What is wrong is said, and false returned; nothing is open then. */
bool output_open(struct output *output, const char *path);
/**
 * Closes it and, where `good` and every write went well, puts it in its place. Otherwise what was
 * there before stays; a failed write is said unless !good, when more was said before. Returns
 * whether it is in its place. Of an output that is not open: returns `good`.
 */
bool output_close(struct output *output, bool good);

#endif
