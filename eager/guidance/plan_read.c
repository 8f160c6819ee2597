#include "eager/guidance/plan_read.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "eager/guidance/plan_line.h"
#include "lineage/error_text.h"
#include "lineage/trace/lines.h"

/** Sums of what a file says cannot wrap below this. */
#define MOST (UINT64_C(1) << 62)

typedef struct reader {
    cebus_plan_book *book;
    cebus_trace_lines lines;
    cebus_plan_line line;
    const cebus_policy *policy;
    const char *path;
    uint64_t actions; /**< of all plans so far */
    cebus_status status;
    char *why;
    size_t why_bytes;
} reader;

/** False, for brevity. */
static bool CEBUS_PRINTF(2, 3) refuse(reader *r, const char *format, ...)
{
    va_list args;
    size_t length = strlen(r->path);
    int used = snprintf(r->why, r->why_bytes, "%s:%" PRIu64 ": ",
                        length > 96 ? r->path + length - 96 : r->path, r->lines.number);
    va_start(args, format);
    vsnprintf(r->why + used, r->why_bytes - (size_t)used, format, args);
    va_end(args);
    r->status = CEBUS_INVALID_ARGUMENT;
    return false;
}

static bool has_no_memory(reader *r)
{
    (void)refuse(r, "no host memory to read on");
    r->status = CEBUS_OUT_OF_HOST_MEMORY;
    return false;
}

/** The next line as an object. `wanted`: what it must be, for the message where there is none. */
static bool next_line(reader *r, const char *wanted)
{
    const char *line, *wrong;
    char text[128];
    size_t bytes;
    switch (cebus_trace_lines_next(&r->lines, &line, &bytes)) {
    case CEBUS_LINE_READ:
        wrong = cebus_plan_line_parse(line, bytes, &r->line);
        return wrong == NULL || refuse(r, "%s", wrong);
    case CEBUS_LINE_NONE:
        return refuse(r, "the file ends behind this line, where %s must follow", wanted);
    case CEBUS_LINE_TOO_LONG:
        return refuse(r, "the line has more than %d bytes", CEBUS_PLAN_LINE_BYTES);
    case CEBUS_LINE_NO_MEMORY:
        return has_no_memory(r);
    case CEBUS_LINE_FAILED:
        break;
    }
    (void)refuse(r, "reading failed: %s", cebus_error_text(r->lines.error, text, sizeof text));
    r->status = CEBUS_DEVICE_ERROR;
    return false;
}

static bool read_number(reader *r, const char *key, uint64_t least, uint64_t most, uint64_t *out)
{
    const cebus_plan_member *member = cebus_plan_line_find(&r->line, key);
    if (member == NULL || member->text != NULL)
        return refuse(r, "the key \"%s\" %s; it must be a number", key,
                      member == NULL ? "is missing" : "has a text");
    *out = member->number;
    if (member->number >= least && member->number <= most)
        return true;
    return refuse(r, "\"%s\" is %" PRIu64 "; it must be from %" PRIu64 " to %" PRIu64, key,
                  member->number, least, most);
}

static bool read_text(reader *r, const char *key, const cebus_plan_member **out)
{
    *out = cebus_plan_line_find(&r->line, key);
    if (*out != NULL && (*out)->text != NULL)
        return true;
    return refuse(r, "the key \"%s\" %s; it must be a text", key,
                  *out == NULL ? "is missing" : "has a number");
}

static bool read_policy(reader *r)
{
    const cebus_plan_member *member;
    char name[32] = "";
    if (!read_text(r, "policy", &member))
        return false;
    if (member->text_bytes < sizeof name)
        memcpy(name, member->text, member->text_bytes);
    r->policy = cebus_policy_find(name);
    return (r->policy != NULL && r->policy->plan != NULL) ||
           refuse(r, "\"policy\" names none that plans");
}

static bool read_head(reader *r, uint64_t *out_plans)
{
    uint64_t version;
    if (!next_line(r, "{\"cebus_plans\": 1, ...}"))
        return false;
    if (cebus_plan_line_find(&r->line, "cebus_plans") == NULL)
        return refuse(r, "no plans: such a file begins with {\"cebus_plans\": 1, ...}");
    return read_number(r, "cebus_plans", 1, 1, &version) && read_policy(r) &&
           read_number(r, "plans", 0, CEBUS_PLAN_MOST_PLANS, out_plans);
}

static bool read_signature(reader *r, uint64_t *out)
{
    const cebus_plan_member *member;
    if (!read_text(r, "plan", &member))
        return false;
    *out = 0;
    for (size_t i = 0; i < member->text_bytes; i++) {
        char c = member->text[i];
        bool digit = c >= '0' && c <= '9', letter = c >= 'a' && c <= 'f';
        if (!digit && !letter)
            break;
        *out = *out << 4 | (uint64_t)(digit ? c - '0' : c - 'a' + 10);
        if (i == 15 && member->text_bytes == 16)
            return true;
    }
    return refuse(r, "\"plan\" must have 16 hexadecimal digits, 0-9 and a-f");
}

static bool read_terms(reader *r, cebus_plan_terms *out)
{
    return read_number(r, "budget", 0, MOST, &out->budget) &&
           read_number(r, "holes", 0, MOST, &out->holes) &&
           read_number(r, "host", 0, MOST, &out->host) &&
           read_number(r, "out_rate", 1, MOST, &out->out_rate) &&
           read_number(r, "in_rate", 1, MOST, &out->in_rate);
}

static bool read_page_head(reader *r, cebus_plan_page *out, uint64_t *out_actions)
{
    uint64_t calls = 0, values = 0, placed = 0;
    if (!next_line(r, "a plan") || !read_signature(r, &out->signature) ||
        !read_number(r, "calls", 1, CEBUS_ITERATION_MAX_CALLS, &calls) ||
        !read_number(r, "values", 0, CEBUS_PLAN_MOST_ACTIONS, &values) ||
        !read_terms(r, &out->terms) || !read_number(r, "placed", 0, 1, &placed) ||
        !read_number(r, "predicted_ns", 0, MOST, &out->predicted_ns) ||
        !read_number(r, "actions", 0, CEBUS_PLAN_MOST_ACTIONS - r->actions, out_actions))
        return false;
    out->n_calls = (uint32_t)calls;
    out->n_values = (uint32_t)values;
    out->placed = placed != 0;
    out->policy = r->policy;
    return cebus_plan_book_find(r->book, out->signature, calls, r->policy) == NULL ||
           refuse(r, "a second plan for the same iteration");
}

static bool read_action(reader *r, cebus_plan_page *page)
{
    uint64_t value = 0, at = 0;
    const size_t n = page->plan.count;
    const uint32_t least = n > 0 ? page->plan.actions[n - 1].at : 0;
    int kind = 0;
    if (!next_line(r, "an action"))
        return false;
    while (kind < CEBUS_ACTION_KINDS &&
           cebus_plan_line_find(&r->line, cebus_plan_action_names[kind]) == NULL)
        kind++;
    if (kind == CEBUS_ACTION_KINDS)
        return refuse(r, "no action: none of the keys drop, copy_out, swap_out, swap_in, replay");
    if (page->n_values == 0)
        return refuse(r, "an action, but the iteration has no values");
    return read_number(r, cebus_plan_action_names[kind], 0, page->n_values - 1, &value) &&
           read_number(r, "at", least, page->n_calls, &at) &&
           (cebus_plan_add(&page->plan, (cebus_action_kind)kind, (uint32_t)at, (uint32_t)value) ||
            has_no_memory(r));
}

static bool read_page(reader *r)
{
    cebus_plan_book *book = r->book;
    uint64_t actions = 0;
    void *pages = book->pages;
    if (!cebus_pool_grow(book->pool, &pages, &book->capacity, book->count, sizeof *book->pages))
        return has_no_memory(r);
    book->pages = pages;
    cebus_plan_page *page = &book->pages[book->count];
    *page = (cebus_plan_page){0};
    if (!read_page_head(r, page, &actions))
        return false;
    cebus_plan_init(&page->plan, book->pool);
    book->count++;
    r->actions += actions;
    for (uint64_t i = 0; i < actions; i++) {
        if (!read_action(r, page))
            return false;
    }
    return true;
}

static bool read_end(reader *r)
{
    const char *line;
    size_t bytes;
    return cebus_trace_lines_next(&r->lines, &line, &bytes) == CEBUS_LINE_NONE ||
           refuse(r, "something follows the last plan that the first line announced");
}

static void read_all(reader *r)
{
    uint64_t plans = 0;
    bool ok = read_head(r, &plans);
    for (uint64_t i = 0; ok && i < plans; i++)
        ok = read_page(r);
    if (!ok || !read_end(r))
        cebus_plan_book_clear(r->book);
}

cebus_status cebus_plan_book_read(cebus_plan_book *book, const char *path,
                                  const cebus_host_allocator *host, char *why, size_t why_bytes)
{
    reader r = {.book = book, .path = path, .why = why, .why_bytes = why_bytes};
    int error = cebus_trace_lines_open(&r.lines, host, path, CEBUS_PLAN_LINE_BYTES);
    if (error != 0) {
        char text[128];
        snprintf(why, why_bytes, "cannot open \"%s\": %s", path,
                 cebus_error_text(error, text, sizeof text));
        return CEBUS_INVALID_ARGUMENT;
    }
    read_all(&r);
    cebus_trace_lines_close(&r.lines);
    return r.status;
}
