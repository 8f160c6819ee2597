/** error_text.h: what an errno says, on any thread and with any C library. */
#ifndef CEBUS_LINEAGE_ERROR_TEXT_H
#define CEBUS_LINEAGE_ERROR_TEXT_H

#include <string.h>

/** In `text`, or a text that stays. The strerror_r() of glibc returns which; that of POSIX and musl
 * returns a status. */
static inline const char *cebus_error_text(int error, char *text, size_t bytes)
{
#ifdef __GLIBC__
    return strerror_r(error, text, bytes);
#else
    return strerror_r(error, text, bytes) == 0 ? text : "unknown error";
#endif
}

#endif
