/**
 * message.h: what the program tells its user when something is wrong, and the exit statuses.
 */
#ifndef MESSAGE_H
#define MESSAGE_H

#include <stdbool.h>
#include <stddef.h>

/** Exit statuses beside 0, done. A run that does not fit its budget is done: that is a result. */
enum {
    EXIT_WRONG = 1,      /**< a file, a machine or memory failed */
    EXIT_INFEASIBLE = 2, /**< there is no plan or packing to be written: none fits */
    EXIT_USAGE = 64,     /**< the command line makes no sense (EX_USAGE of sysexits.h) */
};

/** Prints "cebus: ..." and a newline to standard error. Returns EXIT_WRONG. */
int complain(const char *format, ...) __attribute__((format(printf, 1, 2)));
/** The same of a file: "cebus: FILE: ..." */
int complain_file(const char *path, const char *format, ...) __attribute__((format(printf, 2, 3)));
/** The same of the thread's last cebus error: "cebus: WHAT: op: message". */
int complain_cebus(const char *what);

/** True unless `output` (NULL: none) is the file `input`, which is `what`, or cannot be made: then
 * that is said. To be asked before any work is done for the output. */
bool spares(const char *output, const char *input, const char *what);

/** Room for `count` items of `bytes` each, as realloc(); without memory the program ends. */
void *take(void *old, size_t count, size_t bytes);
/** Room in *items for one more after `count`, by doubling. */
void *take_more(void *items, size_t *capacity, size_t count, size_t bytes);
/** A copy of a text, to be freed. */
char *take_text(const char *text);

#endif
