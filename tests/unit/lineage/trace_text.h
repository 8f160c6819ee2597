/**
 * trace_text.h: traces written in a test, read by the code under test.
 */
#ifndef CEBUS_TESTS_UNIT_LINEAGE_TRACE_TEXT_H
#define CEBUS_TESTS_UNIT_LINEAGE_TRACE_TEXT_H

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "layout/pool.h"
#include "lineage/trace/read.h"

/** The header and a line end, to put in front of lines under test: those start at line 2. */
#define HEADER "{\"cebus_trace\": 1, \"machine\": \"cpu\", \"unit\": \"ns\"}\n"

static const cebus_trace_bounds trace_bounds = {
    .line_bytes = 1 << 16, .items = 1000, .bytes = UINT64_C(1) << 50};

/** A file in memory with these bytes, by a name under which it can be opened. */
static inline const char *trace_file(const char *text, size_t bytes)
{
    static char path[64];
    int fd = memfd_create("trace", 0);
    cr_assert_geq(fd, 0);
    cr_assert_eq(write(fd, text, bytes), (ssize_t)bytes);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return path;
}

/** The reader behind a text; fails the test when it does not open. */
static inline cebus_trace_source *trace_open(const char *text, bool dtr)
{
    char why[464] = "";
    cebus_trace_source *source;
    cebus_host_allocator host = cebus_host_allocator_default();
    cr_assert_eq(cebus_trace_source_open(&host, trace_file(text, strlen(text)), dtr, &trace_bounds,
                                         why, sizeof why, &source),
                 CEBUS_OK, "%s", why);
    return source;
}

/** The next entry; fails the test on an error or at the end. */
static inline cebus_entry trace_next(cebus_trace_source *source)
{
    bool end;
    cebus_entry entry;
    cr_assert_eq(cebus_trace_source_next(source, &entry, &end), CEBUS_OK, "%s",
                 cebus_trace_source_error(source));
    cr_assert_not(end, "the trace ends too early");
    return entry;
}

static inline void trace_end(cebus_trace_source *source)
{
    bool end;
    cebus_entry entry;
    cr_assert_eq(cebus_trace_source_next(source, &entry, &end), CEBUS_OK, "%s",
                 cebus_trace_source_error(source));
    cr_assert(end, "an entry of kind %d of line %llu too many", (int)entry.kind,
              (unsigned long long)entry.line);
    cebus_trace_source_close(source);
}

/**
 * Reads a text to its first refusal. Returns its status and writes its sentence, "" when nothing
 * was refused. `bounds` NULL: the usual ones.
 */
static inline cebus_status trace_refusal(const char *text, size_t bytes, bool dtr,
                                         const cebus_trace_bounds *bounds, char *why,
                                         size_t why_bytes)
{
    bool end = false;
    cebus_entry entry;
    cebus_trace_source *source;
    cebus_host_allocator host = cebus_host_allocator_default();
    why[0] = '\0';
    cebus_status status =
        cebus_trace_source_open(&host, trace_file(text, bytes), dtr,
                                bounds != NULL ? bounds : &trace_bounds, why, why_bytes, &source);
    if (status != CEBUS_OK)
        return status;
    while (status == CEBUS_OK && !end)
        status = cebus_trace_source_next(source, &entry, &end);
    if (status != CEBUS_OK) {
        snprintf(why, why_bytes, "%s", cebus_trace_source_error(source));
        cr_expect_eq(cebus_trace_source_next(source, &entry, &end), status, "it must stay failed");
        cr_expect_str_eq(cebus_trace_source_error(source), why);
    }
    cebus_trace_source_close(source);
    return status;
}

/** A text that must be refused, at its line `line`, with a sentence that has `wanted` in it. */
typedef struct trace_fault {
    const char *text;
    unsigned line;
    const char *wanted;
} trace_fault;

static inline void trace_check_fault(const trace_fault *fault, const char *before, bool dtr)
{
    char text[4096], place[32], why[464];
    unsigned line = fault->line;
    for (const char *at = before; *at != '\0'; at++)
        line += *at == '\n';
    snprintf(text, sizeof text, "%s%s", before, fault->text);
    cebus_status status = trace_refusal(text, strlen(text), dtr, NULL, why, sizeof why);
    cr_expect_eq(status, CEBUS_INVALID_ARGUMENT, "%s: not refused: %s", fault->text, why);
    cr_expect_not_null(strstr(why, fault->wanted), "%s: \"%s\" lacks \"%s\"", fault->text, why,
                       fault->wanted);
    snprintf(place, sizeof place, ":%u: ", line);
    cr_expect_not_null(strstr(why, place), "%s: \"%s\" is not of line %u", fault->text, why, line);
}

#endif
