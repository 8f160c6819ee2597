/**
 * replacement.h: replaces a file atomically: by the whole new one, or not at all. The new file is
 * written beside its place, under a name of its own, and renamed when it is whole. Devices and
 * pipes, and files in folders that take no new ones, are written directly.
 */
#ifndef CEBUS_EAGER_TRACE_REPLACEMENT_H
#define CEBUS_EAGER_TRACE_REPLACEMENT_H

#include <limits.h>
#include <stdbool.h>

typedef struct cebus_replacement {
    int fd;               /**< -1: not open */
    bool beside;          /**< false: `place` is written directly */
    char place[PATH_MAX]; /**< where it goes, links followed */
    char at[PATH_MAX]; /**< where it is written, if beside; a program that dies leaves it there */
} cebus_replacement;

/** Opens `fd` for writing, empty. errno's value, 0 on success; nothing is open or made then. */
int cebus_replacement_open(cebus_replacement *replacement, const char *path);
/**
 * Closes it and, where `good`, puts it in its place; otherwise what was there before stays, except
 * where it was written directly. errno's value, 0 on success.
 */
int cebus_replacement_close(cebus_replacement *replacement, bool good);

#endif
