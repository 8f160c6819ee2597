#include "file_start.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool file_start(const char *path, char *start, size_t bytes)
{
    struct stat file;
    int fd = strcmp(path, "-") != 0 ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
    ssize_t got = -1;
    if (fd >= 0 && fstat(fd, &file) == 0 && S_ISREG(file.st_mode))
        got = read(fd, start, bytes - 1);
    if (fd >= 0)
        close(fd);
    start[got > 0 ? got : 0] = '\0';
    return got >= 0;
}

bool file_is_regular(const char *path)
{
    struct stat file;
    return strcmp(path, "-") != 0 && stat(path, &file) == 0 && S_ISREG(file.st_mode);
}
