#include "lineage/trace/lines.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define FIRST_CAPACITY ((size_t)1 << 16)

/** What some programs begin a file in UTF-8 with. */
#define BYTE_ORDER_MARK "\xEF\xBB\xBF"

int cebus_trace_lines_open(cebus_trace_lines *lines, const cebus_host_allocator *host,
                           const char *path, uint64_t limit)
{
    *lines = (cebus_trace_lines){.host = *host, .limit = limit};
    lines->borrowed = strcmp(path, "-") == 0;
    lines->fd = STDIN_FILENO;
    if (lines->borrowed)
        return 0;
    do {
        lines->fd = open(path, O_RDONLY | O_CLOEXEC);
    } while (lines->fd < 0 && errno == EINTR);
    return lines->fd < 0 ? errno : 0;
}

void cebus_trace_lines_close(cebus_trace_lines *lines)
{
    if (!lines->borrowed && lines->fd >= 0)
        close(lines->fd);
    if (lines->buffer != NULL)
        lines->host.free(lines->host.context, lines->buffer);
    lines->buffer = NULL;
    lines->fd = -1;
}

bool cebus_trace_lines_rewind(cebus_trace_lines *lines)
{
    if (lseek(lines->fd, 0, SEEK_SET) != 0)
        return false;
    lines->start = lines->end = lines->seen = 0;
    lines->number = 0;
    lines->ended = false;
    return true;
}

/** Moves the unfinished line to the front of the buffer, or doubles a buffer that it fills. */
static bool make_room(cebus_trace_lines *lines)
{
    if (lines->start > 0) {
        memmove(lines->buffer, lines->buffer + lines->start, lines->end - lines->start);
        lines->end -= lines->start;
        lines->start = 0;
    }
    if (lines->end < lines->capacity)
        return true;
    size_t capacity = lines->capacity > 0 ? 2 * lines->capacity : FIRST_CAPACITY;
    if (lines->capacity > 0 && capacity > lines->limit + 1)
        capacity = (size_t)lines->limit + 1;
    char *buffer = lines->host.realloc(lines->host.context, lines->buffer, capacity);
    if (buffer == NULL)
        return false;
    lines->buffer = buffer;
    lines->capacity = capacity;
    return true;
}

static cebus_trace_line read_more(cebus_trace_lines *lines)
{
    ssize_t got;
    if (!make_room(lines))
        return CEBUS_LINE_NO_MEMORY;
    do {
        got = read(lines->fd, lines->buffer + lines->end, lines->capacity - lines->end);
    } while (got < 0 && errno == EINTR);
    lines->error = got < 0 ? errno : 0;
    lines->ended = got == 0;
    lines->end += got > 0 ? (size_t)got : 0;
    return got < 0 ? CEBUS_LINE_FAILED : CEBUS_LINE_READ;
}

static bool begins_with_mark(const char *line, size_t bytes)
{
    return bytes >= sizeof BYTE_ORDER_MARK - 1 &&
           memcmp(line, BYTE_ORDER_MARK, sizeof BYTE_ORDER_MARK - 1) == 0;
}

cebus_trace_line cebus_trace_lines_next(cebus_trace_lines *lines, const char **out,
                                        size_t *out_bytes)
{
    const char *newline = NULL;
    for (;;) {
        size_t held = lines->end - lines->start;
        if (held > lines->seen)
            newline = memchr(lines->buffer + lines->start + lines->seen, '\n', held - lines->seen);
        lines->seen = newline != NULL ? (size_t)(newline - lines->buffer) - lines->start : held;
        if (lines->seen > lines->limit) {
            lines->number++;
            return CEBUS_LINE_TOO_LONG;
        }
        if (newline != NULL || lines->ended)
            break;
        cebus_trace_line result = read_more(lines);
        if (result != CEBUS_LINE_READ)
            return result;
    }
    if (newline == NULL && lines->seen == 0)
        return CEBUS_LINE_NONE;
    *out = lines->buffer + lines->start;
    *out_bytes = lines->seen;
    lines->start += lines->seen + (newline != NULL ? 1 : 0);
    lines->seen = 0;
    lines->number++;
    if (lines->number == 1 && begins_with_mark(*out, *out_bytes)) {
        *out += sizeof BYTE_ORDER_MARK - 1;
        *out_bytes -= sizeof BYTE_ORDER_MARK - 1;
    }
    return CEBUS_LINE_READ;
}
