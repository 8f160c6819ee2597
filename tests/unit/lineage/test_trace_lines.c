#include <criterion/criterion.h>

#include "cebus_config.h"

#if CEBUS_HAVE_JSON

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#include "lineage/trace/lines.h"
#include "trace_text.h"

TestSuite(trace_lines);

/** What is out of a counting allocator, and was at most. A size stands before each block. */
typedef struct meter {
    size_t live, peak;
} meter;

static void *meter_realloc(void *context, void *pointer, size_t bytes)
{
    meter *m = context;
    size_t *old = pointer != NULL ? (size_t *)pointer - 2 : NULL;
    size_t before = old != NULL ? *old : 0;
    size_t *block = realloc(old, bytes + 2 * sizeof *block);
    cr_assert_not_null(block);
    *block = bytes;
    m->live += bytes - before;
    m->peak = m->live > m->peak ? m->live : m->peak;
    return block + 2;
}

static void *meter_alloc(void *context, size_t bytes)
{
    return meter_realloc(context, NULL, bytes);
}

static void meter_free(void *context, void *pointer)
{
    meter *m = context;
    if (pointer == NULL)
        return;
    m->live -= *((size_t *)pointer - 2);
    free((size_t *)pointer - 2);
}

static cebus_host_allocator metered(meter *m)
{
    *m = (meter){0};
    return (cebus_host_allocator){meter_alloc, meter_realloc, meter_free, m};
}

#define LINE_ROOM 100

/** A program that writes into a pipe until it has said all or nobody reads. */
typedef struct writer {
    int fd;
    uint64_t lines;
    size_t piece;                               /**< bytes a write */
    size_t (*line)(uint64_t number, char *out); /**< at most LINE_ROOM bytes, and how many */
} writer;

static bool write_whole(const writer *w, const char *text, size_t bytes)
{
    while (bytes > 0) {
        ssize_t written = write(w->fd, text, bytes < w->piece ? bytes : w->piece);
        if (written <= 0)
            return false;
        text += written;
        bytes -= (size_t)written;
    }
    return true;
}

static void *run_writer(void *context)
{
    writer *w = context;
    static char buffer[1 << 16];
    size_t used = 0;
    bool heard = true;
    for (uint64_t i = 0; i < w->lines && heard; i++) {
        if (used + LINE_ROOM > sizeof buffer) {
            heard = write_whole(w, buffer, used);
            used = 0;
        }
        used += w->line(i, buffer + used);
    }
    if (heard)
        (void)write_whole(w, buffer, used);
    close(w->fd);
    return NULL;
}

/** The read end of a pipe that the writer fills, by a name to open. */
static const char *start_writer(writer *w, pthread_t *out_thread, int *out_fd)
{
    int ends[2];
    static char path[64];
    signal(SIGPIPE, SIG_IGN);
    cr_assert_eq(pipe(ends), 0);
    w->fd = ends[1];
    *out_fd = ends[0];
    snprintf(path, sizeof path, "/proc/self/fd/%d", ends[0]);
    cr_assert_eq(pthread_create(out_thread, NULL, run_writer, w), 0);
    return path;
}

static size_t number_line(uint64_t number, char *out)
{
    return (size_t)snprintf(out, LINE_ROOM, "%llu%s", (unsigned long long)number,
                            number % 3 == 0 ? "\r\n" : "\n");
}

Test(trace_lines, come_whole_through_a_slow_pipe)
{
    meter m;
    int fd;
    pthread_t thread;
    const char *line;
    size_t bytes;
    cebus_trace_lines lines;
    writer w = {.lines = 3000, .piece = 7, .line = number_line};
    cebus_host_allocator host = metered(&m);
    cr_assert_eq(cebus_trace_lines_open(&lines, &host, start_writer(&w, &thread, &fd), 100), 0);
    close(fd);
    for (uint64_t i = 0; i < w.lines; i++) {
        char wanted[LINE_ROOM];
        cr_assert_eq(cebus_trace_lines_next(&lines, &line, &bytes), CEBUS_LINE_READ);
        size_t length = number_line(i, wanted) - 1;
        cr_assert(bytes == length && memcmp(line, wanted, bytes) == 0, "line %llu",
                  (unsigned long long)i);
        cr_assert_eq(lines.number, i + 1);
    }
    cr_expect_eq(cebus_trace_lines_next(&lines, &line, &bytes), CEBUS_LINE_NONE);
    cr_expect_eq(cebus_trace_lines_next(&lines, &line, &bytes), CEBUS_LINE_NONE);
    cr_expect_not(cebus_trace_lines_rewind(&lines), "a pipe cannot");
    cebus_trace_lines_close(&lines);
    pthread_join(thread, NULL);
    cr_expect_eq(m.live, 0);
    cr_expect_leq(m.peak, 1 << 16);
}

Test(trace_lines, may_lack_their_end_and_be_empty)
{
    const char *line;
    size_t bytes;
    cebus_trace_lines lines;
    cebus_host_allocator host = cebus_host_allocator_default();
    cr_assert_eq(cebus_trace_lines_open(&lines, &host, trace_file("\n\nab", 4), 2), 0);
    for (int pass = 0; pass < 2; pass++) {
        for (int i = 0; i < 2; i++) {
            cr_expect_eq(cebus_trace_lines_next(&lines, &line, &bytes), CEBUS_LINE_READ);
            cr_expect_eq(bytes, 0);
        }
        cr_expect_eq(cebus_trace_lines_next(&lines, &line, &bytes), CEBUS_LINE_READ);
        cr_expect(bytes == 2 && memcmp(line, "ab", 2) == 0);
        cr_expect_eq(cebus_trace_lines_next(&lines, &line, &bytes), CEBUS_LINE_NONE);
        cr_expect_eq(lines.number, 3);
        cr_expect(cebus_trace_lines_rewind(&lines));
    }
    cebus_trace_lines_close(&lines);
}

Test(trace_lines, are_as_long_as_allowed_and_no_longer)
{
    static char text[500000];
    static const uint64_t limits[] = {1, 10, 65535, 65536, 65537, 131072, 200000};
    const char *line;
    size_t bytes;
    cebus_trace_lines lines;
    meter m;
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        cebus_host_allocator host = metered(&m);
        size_t limit = (size_t)limits[i];
        memset(text, 'x', sizeof text);
        text[limit] = text[2 * limit + 2] = '\n';
        size_t length = i % 2 == 0 ? 2 * limit + 3 : limit + 1;
        cr_assert_eq(cebus_trace_lines_open(&lines, &host, trace_file(text, length), limit), 0);
        cr_expect_eq(cebus_trace_lines_next(&lines, &line, &bytes), CEBUS_LINE_READ);
        cr_expect_eq(bytes, limit);
        if (length > limit + 1)
            cr_expect_eq(cebus_trace_lines_next(&lines, &line, &bytes), CEBUS_LINE_TOO_LONG);
        else
            cr_expect_eq(cebus_trace_lines_next(&lines, &line, &bytes), CEBUS_LINE_NONE);
        cr_expect_eq(lines.number, length > limit + 1 ? 2 : 1);
        cebus_trace_lines_close(&lines);
        cr_expect_leq(m.peak, limit + 1 > 65536 ? limit + 1 : 65536);
    }
}

static size_t long_line(uint64_t number, char *out)
{
    (void)number;
    memset(out, 'x', LINE_ROOM);
    return LINE_ROOM;
}

/** 1 GB without a line end: refused as soon as the limit is passed, in the memory of the limit.
 */
Test(trace_lines, a_gigantic_line_is_refused_without_being_kept)
{
    char why[464];
    int fd;
    meter m;
    pthread_t thread;
    cebus_trace_source *source;
    writer w = {.lines = 10000000, .piece = 1 << 16, .line = long_line};
    cebus_trace_bounds bounds = {.line_bytes = 1 << 20, .items = 100, .bytes = 1};
    cebus_host_allocator host = metered(&m);
    cebus_status status = cebus_trace_source_open(&host, start_writer(&w, &thread, &fd), false,
                                                  &bounds, why, sizeof why, &source);
    close(fd);
    cr_expect_eq(status, CEBUS_INVALID_ARGUMENT);
    cr_expect_not_null(strstr(why, ":1: the line has more than 1048576 bytes"), "%s", why);
    cr_expect_eq(m.live, 0);
    cr_expect_leq(m.peak, 2200000);
    pthread_join(thread, NULL);
}

static size_t const_line(uint64_t number, char *out)
{
    if (number == 0)
        return (size_t)snprintf(out, LINE_ROOM, "{\"cebus_trace\": 1}\n");
    return (size_t)snprintf(out, LINE_ROOM, "{\"const\": %" PRIu64 ", \"bytes\": 8}\n",
                            number * 977);
}

/** CEBUS_TEST_ALL: the limit of the public reader. */
Test(trace_lines, ten_million_of_them_end_at_the_limit_of_items, .timeout = 280)
{
    char place[64];
    int fd;
    meter m;
    bool end = false;
    pthread_t thread;
    cebus_entry entry;
    char why[464];
    cebus_trace_source *source;
    uint64_t items = getenv("CEBUS_TEST_ALL") != NULL ? UINT64_C(1) << 22 : UINT64_C(1) << 18;
    cebus_trace_bounds bounds = {.line_bytes = 1 << 20, .items = items, .bytes = 8};
    writer w = {.lines = 10000000, .piece = 1 << 16, .line = const_line};
    cebus_host_allocator host = metered(&m);
    cr_assert_eq(cebus_trace_source_open(&host, start_writer(&w, &thread, &fd), false, &bounds, why,
                                         sizeof why, &source),
                 CEBUS_OK, "%s", why);
    close(fd);
    cebus_status status = CEBUS_OK;
    uint64_t read = 0;
    for (; status == CEBUS_OK && !end; read++)
        status = cebus_trace_source_next(source, &entry, &end);
    cr_expect_eq(status, CEBUS_INVALID_ARGUMENT);
    cr_expect_eq(read, items, "the header counts");
    snprintf(place, sizeof place, ":%llu: more than %llu lines", (unsigned long long)items + 1,
             (unsigned long long)items);
    cr_expect_not_null(strstr(cebus_trace_source_error(source), place), "%s",
                       cebus_trace_source_error(source));
    cebus_trace_source_close(source);
    cr_expect_eq(m.live, 0);
    cr_expect_leq(m.peak, 48 * items + (1 << 18),
                  "16 bytes a slot, and the smaller table when "
                  "they are copied over");
    pthread_join(thread, NULL);
}

#endif
