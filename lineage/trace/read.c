#include "lineage/trace/read.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "lineage/error_text.h"
#include "lineage/trace/source.h"

/** What a file says reaches the user's terminal only as printable characters. */
static void make_printable(char *text)
{
    for (; *text != '\0'; text++) {
        if ((unsigned char)*text < 0x20 || (unsigned char)*text >= 0x7F)
            *text = '?';
    }
}

bool cebus_trace_refuse(cebus_trace_source *source, const char *format, ...)
{
    va_list args;
    int used = snprintf(source->why, sizeof source->why, "%s:%llu: ", source->path,
                        (unsigned long long)source->lines.number);
    va_start(args, format);
    vsnprintf(source->why + used, sizeof source->why - (size_t)used, format, args);
    va_end(args);
    make_printable(source->why);
    source->status = CEBUS_INVALID_ARGUMENT;
    return false;
}

bool cebus_trace_no_memory(cebus_trace_source *source)
{
    (void)cebus_trace_refuse(source, "no host memory to read on");
    source->status = CEBUS_OUT_OF_HOST_MEMORY;
    return false;
}

bool cebus_trace_grow(cebus_trace_source *source, void **items, size_t *capacity, size_t count,
                      size_t item_bytes)
{
    if (count < *capacity)
        return true;
    size_t larger = *capacity > 0 ? 2 * *capacity : 32;
    void *grown = larger <= SIZE_MAX / item_bytes
                      ? source->host.realloc(source->host.context, *items, larger * item_bytes)
                      : NULL;
    if (grown == NULL)
        return cebus_trace_no_memory(source);
    *items = grown;
    *capacity = larger;
    return true;
}

bool cebus_trace_push_in(cebus_trace_source *source, uint64_t value)
{
    void *items = source->in;
    if (!cebus_trace_grow(source, &items, &source->in_capacity, source->n_in, sizeof *source->in))
        return false;
    source->in = items;
    source->in[source->n_in++] = value;
    return true;
}

bool cebus_trace_push_out(cebus_trace_source *source, cebus_entry_output output)
{
    void *items = source->out;
    if (!cebus_trace_grow(source, &items, &source->out_capacity, source->n_out,
                          sizeof *source->out))
        return false;
    source->out = items;
    source->out[source->n_out++] = output;
    return true;
}

bool cebus_trace_count_value(cebus_trace_source *source, uint64_t bytes)
{
    if (source->n_values >= source->bounds.items)
        return cebus_trace_refuse(source,
                                  "more than %llu values, the limit for one file; raise the "
                                  "limit of items if it is meant",
                                  (unsigned long long)source->bounds.items);
    if (bytes > CEBUS_TRACE_SUM_MAX - source->live)
        return cebus_trace_refuse(source, "the values that live now have more than 2^62 bytes "
                                          "together; no machine holds them");
    source->n_values++;
    source->live += bytes;
    return true;
}

bool cebus_trace_count_cost(cebus_trace_source *source, uint64_t cost_ns)
{
    if (cost_ns > CEBUS_TRACE_SUM_MAX - source->cost)
        return cebus_trace_refuse(source, "the costs so far add up to more than 2^62 ns, over a "
                                          "hundred years; they must be nanoseconds");
    source->cost += cost_ns;
    return true;
}

/** The end of a long path: what tells files apart. */
static void keep_path(cebus_trace_source *source, const char *path)
{
    size_t length = strlen(path), room = sizeof source->path - 1;
    if (strcmp(path, "-") == 0)
        path = "standard input";
    else if (length > room)
        path += length - room + 3;
    snprintf(source->path, sizeof source->path, "%s%s", length > room ? "..." : "", path);
}

static bool start(cebus_trace_source *source, const char *path)
{
    int error =
        cebus_trace_lines_open(&source->lines, &source->host, path, source->bounds.line_bytes);
    char text[128];
    if (error == 0)
        return source->is_dtr ? cebus_trace_dtr_start(source) : cebus_trace_cebus_start(source);
    snprintf(source->why, sizeof source->why, "cannot open \"%s\": %s", source->path,
             cebus_error_text(error, text, sizeof text));
    make_printable(source->why);
    source->status = CEBUS_INVALID_ARGUMENT;
    return false;
}

cebus_status cebus_trace_source_open(const cebus_host_allocator *host, const char *path, bool dtr,
                                     const cebus_trace_bounds *bounds, char *why, size_t why_bytes,
                                     cebus_trace_source **out)
{
    *out = NULL;
    cebus_trace_source *source = host->alloc(host->context, sizeof *source);
    if (source == NULL) {
        snprintf(why, why_bytes, "no host memory to open a trace");
        return CEBUS_OUT_OF_HOST_MEMORY;
    }
    memset(source, 0, sizeof *source);
    source->host = *host;
    source->bounds = *bounds;
    source->is_dtr = dtr;
    cebus_trace_values_init(&source->values, host);
    cebus_trace_names_init(&source->dtr.names, host);
    keep_path(source, path);
    if (start(source, path)) {
        *out = source;
        return CEBUS_OK;
    }
    cebus_status status = source->status;
    snprintf(why, why_bytes, "%s", source->why);
    cebus_trace_source_close(source);
    return status;
}

cebus_status cebus_trace_source_next(cebus_trace_source *source, cebus_entry *out, bool *out_end)
{
    memset(out, 0, sizeof *out);
    *out_end = false;
    source->n_in = source->n_out = 0;
    if (source->status == CEBUS_OK &&
        !(source->is_dtr ? cebus_trace_dtr_next(source, out, out_end)
                         : cebus_trace_cebus_next(source, out, out_end)))
        memset(out, 0, sizeof *out);
    return source->status;
}

const char *cebus_trace_source_error(const cebus_trace_source *source)
{
    return source->why;
}

const char *cebus_trace_source_machine(const cebus_trace_source *source)
{
    return source->machine;
}

void cebus_trace_source_close(cebus_trace_source *source)
{
    cebus_host_allocator host = source->host;
    cebus_trace_lines_close(&source->lines);
    cebus_trace_table_deinit(&source->values);
    cebus_trace_dtr_close(source);
    json_decref(source->root);
    if (source->in != NULL)
        host.free(host.context, source->in);
    if (source->out != NULL)
        host.free(host.context, source->out);
    host.free(host.context, source);
}
