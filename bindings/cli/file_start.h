/**
 * file_start.h: what a file begins with, looked at before it is read.
 */
#ifndef FILE_START_H
#define FILE_START_H

#include <stdbool.h>
#include <stddef.h>

/** Up to `bytes` - 1 bytes as a string. False, and nothing, where `path` is no regular file that
 * can be read: what is read from a pipe to look at it is gone. */
bool file_start(const char *path, char *start, size_t bytes);

/** False of a pipe, of standard input, and of what is not there. */
bool file_is_regular(const char *path);

#endif
