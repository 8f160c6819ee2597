#include "eager/spill/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "eager/op.h"
#include "lineage/error_text.h"

static const char op[] = "spill file";

static int open_named(const char *directory)
{
    char path[PATH_MAX];
    int length = snprintf(path, sizeof path, "%s/cebus-XXXXXX", directory);
    if (length < 0 || (size_t)length >= sizeof path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    int fd = mkostemp(path, O_CLOEXEC);
    if (fd >= 0)
        unlink(path);
    return fd;
}

static int open_unnamed(const char *directory)
{
#ifdef O_TMPFILE
    int fd = open(directory, O_TMPFILE | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
    if (fd >= 0)
        return fd;
#endif
    return open_named(directory);
}

static bool set_direct(int fd, bool direct)
{
#ifdef O_DIRECT
    int flags = fcntl(fd, F_GETFL);
    if (flags < 0)
        return false;
    return fcntl(fd, F_SETFL, direct ? flags | O_DIRECT : flags & ~O_DIRECT) == 0;
#else
    (void)fd;
    return !direct;
#endif
}

cebus_status cebus_spill_file_open(const char *directory, cebus_spill_file *out)
{
    if (directory == NULL || directory[0] == '\0')
        directory = secure_getenv("TMPDIR");
    if (directory == NULL || directory[0] == '\0')
        directory = "/var/tmp";
    out->fd = open_unnamed(directory);
    char text[128];
    if (out->fd < 0)
        return cebus_fail(CEBUS_IO_ERROR, op,
                          "cannot make one in %s: %s; name another folder in spill_directory",
                          directory, cebus_error_text(errno, text, sizeof text));
    atomic_init(&out->direct, set_direct(out->fd, true));
    return CEBUS_OK;
}

void cebus_spill_file_close(cebus_spill_file *file)
{
    if (file->fd >= 0)
        close(file->fd);
    file->fd = -1;
}

bool cebus_spill_file_buffer(cebus_spill_file *file)
{
    return atomic_exchange(&file->direct, false) && set_direct(file->fd, false);
}
