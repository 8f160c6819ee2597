/**
 * prefix.h: structs from callers that were compiled against another version. The first member is a
 * size_t, the size they had there. Members are added at the end alone, and zero in one asks for
 * nothing.
 */
#ifndef CEBUS_LAYOUT_PREFIX_H
#define CEBUS_LAYOUT_PREFIX_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/** Copies to `to`, of `size` bytes, what both versions have; NULL has nothing. False, and nothing
 * was copied: `from` has no size, or sets a member that this version does not know. */
static inline bool cebus_prefix_read(const void *from, void *to, size_t size)
{
    size_t theirs;
    if (from == NULL)
        return true;
    memcpy(&theirs, from, sizeof theirs);
    if (theirs < sizeof theirs)
        return false;
    for (size_t i = size; i < theirs; i++) {
        if (((const unsigned char *)from)[i] != 0)
            return false;
    }
    memcpy(to, from, theirs < size ? theirs : size);
    return true;
}

#endif
