#include "message.h"

#include <cebus/base.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "output.h"

int complain(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    flockfile(stderr);
    fputs("cebus: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    funlockfile(stderr);
    va_end(arguments);
    return EXIT_WRONG;
}

int complain_file(const char *path, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    flockfile(stderr);
    fprintf(stderr, "cebus: %s: ", strcmp(path, "-") == 0 ? "(standard input)" : path);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    funlockfile(stderr);
    va_end(arguments);
    return EXIT_WRONG;
}

int complain_cebus(const char *what)
{
    const cebus_error *error = cebus_last_error();
    return complain("%s: %s: %s", what, error->op, error->message);
}

bool spares(const char *output, const char *input, const char *what)
{
    struct stat out, in;
    if (output == NULL || strcmp(output, "-") == 0)
        return true;
    if (!output_is_possible(output))
        return false;
    if (strcmp(input, "-") == 0 || stat(output, &out) != 0 || stat(input, &in) != 0 ||
        !S_ISREG(out.st_mode) || out.st_dev != in.st_dev || out.st_ino != in.st_ino)
        return true;
    complain_file(output, "is %s: it would be written over", what);
    return false;
}

void *take(void *old, size_t count, size_t bytes)
{
    void *memory = reallocarray(old, count > 0 ? count : 1, bytes);
    if (memory == NULL) {
        complain("no host memory for %zu items of %zu bytes", count, bytes);
        exit(EXIT_WRONG);
    }
    return memory;
}

void *take_more(void *items, size_t *capacity, size_t count, size_t bytes)
{
    if (count < *capacity)
        return items;
    *capacity = *capacity > 0 ? 2 * *capacity : 64;
    return take(items, *capacity, bytes);
}

char *take_text(const char *text)
{
    size_t length = strlen(text) + 1;
    return memcpy(take(NULL, length, 1), text, length);
}
