/**
 * lines.h: the lines of a file, one at a time. The buffer never grows beyond the longest line
 * allowed, whatever the file holds, and a line is looked through once, however slowly it comes.
 */
#ifndef CEBUS_LINEAGE_TRACE_LINES_H
#define CEBUS_LINEAGE_TRACE_LINES_H

#include <cebus/base.h>

typedef struct cebus_trace_lines {
    cebus_host_allocator host;
    int fd;
    bool borrowed; /**< standard input: not ours to close */
    bool ended;    /**< the file has no more bytes */
    int error;     /**< errno of a failed read */
    uint64_t limit;
    uint64_t number; /**< of the line last answered, from 1 */
    char *buffer;
    size_t capacity, start, end;
    size_t seen; /**< behind start: no line ends before here */
} cebus_trace_lines;

typedef enum cebus_trace_line {
    CEBUS_LINE_READ,     /**< *out is the line, without its end */
    CEBUS_LINE_NONE,     /**< the file has ended */
    CEBUS_LINE_TOO_LONG, /**< line `number` has more bytes than `limit` */
    CEBUS_LINE_NO_MEMORY,
    CEBUS_LINE_FAILED, /**< `error` says why */
} cebus_trace_line;

/** "-" is standard input. errno's value, 0 on success; then close it in the end. */
int cebus_trace_lines_open(cebus_trace_lines *lines, const cebus_host_allocator *host,
                           const char *path, uint64_t limit);
void cebus_trace_lines_close(cebus_trace_lines *lines);

/** The line stays valid until the next call; it is not terminated. A last line may lack its end,
 * and the first may begin with a byte order mark, which is left out. */
cebus_trace_line cebus_trace_lines_next(cebus_trace_lines *lines, const char **out,
                                        size_t *out_bytes);

/** Back to the first line; false where a file cannot (a pipe). */
bool cebus_trace_lines_rewind(cebus_trace_lines *lines);

#endif
