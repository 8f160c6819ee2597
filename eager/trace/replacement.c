#include "eager/trace/replacement.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int open_again(const char *path, int flags, mode_t mode)
{
    int fd;
    do {
        fd = open(path, flags | O_WRONLY | O_CREAT | O_CLOEXEC, mode);
    } while (fd < 0 && errno == EINTR);
    return fd;
}

/** Whether a new file may take the place. What leads through /dev or /proc may be a file that
 * others have open, as a shell has /dev/stdout; a name that is too long has no room for more. */
static bool find_place(cebus_replacement *replacement, const char *path)
{
    struct stat old;
    if (strncmp(path, "/dev/", 5) == 0 || strncmp(path, "/proc/", 6) == 0)
        return false;
    if (lstat(path, &old) == 0)
        return stat(path, &old) == 0 && S_ISREG(old.st_mode) &&
               realpath(path, replacement->place) != NULL;
    return snprintf(replacement->place, PATH_MAX, "%s", path) < PATH_MAX;
}

/** With the permissions of the file that it replaces, where the file system knows any, or those of
 * any new file. */
static bool open_beside(cebus_replacement *replacement)
{
    struct stat old;
    const bool replaces = stat(replacement->place, &old) == 0;
    const mode_t mode = replaces ? old.st_mode & 07777 : 0666;
    for (unsigned n = 0; replacement->fd < 0; n++) {
        if (snprintf(replacement->at, PATH_MAX, "%s.%ld-%u", replacement->place, (long)getpid(),
                     n) >= PATH_MAX)
            return false;
        replacement->fd = open_again(replacement->at, O_EXCL, mode);
        if (replacement->fd < 0 && errno != EEXIST)
            return false;
    }
    if (replaces)
        fchmod(replacement->fd, mode);
    return true;
}

int cebus_replacement_open(cebus_replacement *replacement, const char *path)
{
    replacement->fd = -1;
    replacement->beside = find_place(replacement, path) && open_beside(replacement);
    if (!replacement->beside)
        replacement->fd = open_again(path, O_TRUNC, 0666);
    return replacement->fd < 0 ? errno : 0;
}

int cebus_replacement_close(cebus_replacement *replacement, bool good)
{
    int error = close(replacement->fd) != 0 && errno != EINTR ? errno : 0;
    replacement->fd = -1;
    if (!replacement->beside)
        return error;
    good = good && error == 0;
    if (good && rename(replacement->at, replacement->place) != 0) {
        good = false;
        error = errno;
    }
    if (!good)
        unlink(replacement->at);
    return error;
}
