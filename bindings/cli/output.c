#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "message.h"

/** The folder that a path names a file in; to be freed. */
static char *folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    if (slash == NULL)
        return take_text(".");
    char *folder = take_text(path);
    folder[slash == path ? 1 : slash - path] = '\0';
    return folder;
}

static bool cannot(const char *path, int error)
{
    complain_file(path, "cannot create it: %s", strerror(error));
    return false;
}

bool output_is_possible(const char *path)
{
    struct stat old;
    if (stat(path, &old) == 0) {
        if (S_ISDIR(old.st_mode))
            return cannot(path, EISDIR);
        return faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) == 0 || cannot(path, errno);
    }
    if (errno != ENOENT)
        return cannot(path, errno);
    char *folder = folder_of(path);
    int error = faccessat(AT_FDCWD, folder, W_OK | X_OK, AT_EACCESS) == 0 ? 0 : errno;
    free(folder);
    return error == 0 || cannot(path, error);
}

const char *output_remains(const char *path)
{
    struct stat old;
    return path != NULL && strcmp(path, "-") != 0 && stat(path, &old) == 0 && S_ISREG(old.st_mode)
               ? "; the file that is there is an older one"
               : "";
}

/** The name under which the file takes its place; NULL: it is to be written directly. What leads
 * through /dev or /proc may be a file that others have open, as a shell has /dev/stdout. */
static char *find_place(const char *path)
{
    struct stat old;
    if (strncmp(path, "/dev/", 5) == 0 || strncmp(path, "/proc/", 6) == 0)
        return NULL;
    if (lstat(path, &old) != 0)
        return take_text(path);
    return stat(path, &old) == 0 && S_ISREG(old.st_mode) ? realpath(path, NULL) : NULL;
}

/** The permissions of the file that it replaces, or those of any new file. */
static mode_t mode_at(const char *place)
{
    struct stat old;
    if (stat(place, &old) == 0)
        return old.st_mode & 07777;
    mode_t mask = umask(0);
    umask(mask);
    return 0666 & ~mask;
}

/** A file without a name in the folder of the place: it goes with a program that is interrupted.
 * Below 0 where the file system has none, or where it could not be given a name later. */
static int open_nameless(const char *place)
{
    char *folder = folder_of(place);
    int fd = access("/proc/self/fd", X_OK) == 0
                 ? open(folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600)
                 : -1;
    free(folder);
    return fd;
}

/** Opens a file beside the place; false: the folder takes none. */
static bool open_beside(struct output *output)
{
    static const char ending[] = ".XXXXXX";
    int fd = open_nameless(output->place);
    if (fd < 0) {
        const size_t length = strlen(output->place);
        output->at = take(NULL, length + sizeof ending, 1);
        memcpy(output->at, output->place, length);
        memcpy(output->at + length, ending, sizeof ending);
        fd = mkostemp(output->at, O_CLOEXEC);
    }
    if (fd < 0)
        return false;
    output->file = fchmod(fd, mode_at(output->place)) == 0 ? fdopen(fd, "w") : NULL;
    if (output->file != NULL)
        return true;
    close(fd);
    if (output->at != NULL)
        unlink(output->at);
    return false;
}

/** Gives the open file a name beside its place: only a file that has one can replace another. */
static bool name_it(struct output *output)
{
    enum {
        DIGITS = 32
    };
    char self[DIGITS + sizeof "/proc/self/fd/"];
    const size_t bytes = strlen(output->place) + DIGITS;
    char *name = take(NULL, bytes, 1);
    snprintf(self, sizeof self, "/proc/self/fd/%d", fileno(output->file));
    unsigned n = 0;
    int error;
    do {
        snprintf(name, bytes, "%s.%ld-%u", output->place, (long)getpid(), n++);
        error = linkat(AT_FDCWD, self, AT_FDCWD, name, AT_SYMLINK_FOLLOW) == 0 ? 0 : errno;
    } while (error == EEXIST);
    if (error == 0)
        output->at = name;
    else
        free(name);
    return error == 0 || cannot(output->path, error);
}

static void forget(struct output *output)
{
    free(output->place);
    free(output->at);
    output->place = output->at = NULL;
    output->file = NULL;
}

bool output_open(struct output *output, const char *path)
{
    *output = (struct output){.path = path, .place = find_place(path)};
    if (output->place != NULL && open_beside(output))
        return true;
    forget(output);
    output->at = take_text(path);
    output->file = fopen(path, "we");
    if (output->file != NULL)
        return true;
    int error = errno;
    forget(output);
    return cannot(path, error);
}

bool output_close(struct output *output, bool good)
{
    if (output->file == NULL)
        return good;
    bool written = fflush(output->file) == 0 && !ferror(output->file);
    bool named = output->at != NULL || (good && written && name_it(output));
    written = fclose(output->file) == 0 && written;
    if (good && !written)
        complain_file(output->path, "cannot be written: is the disk full?");
    good = good && written && named;
    if (output->place != NULL && good && rename(output->at, output->place) != 0)
        good = cannot(output->path, errno);
    if (output->place != NULL && output->at != NULL && !good)
        unlink(output->at);
    forget(output);
    return good;
}
