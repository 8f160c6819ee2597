/**
 * trace.c: the public face of reading traces (lineage/trace/read.h).
 */
#include <cebus/trace.h>

#include <string.h>

#include "cebus_config.h"
#include "eager/host.h"
#include "eager/op.h"
#include "layout/prefix.h"

#if CEBUS_HAVE_JSON

#include "lineage/trace/read.h"
#include "lineage/trace/values.h"

static const char op_open[] = "trace_reader_open", op_next[] = "trace_reader_next";

struct cebus_trace_reader {
    cebus_host_allocator host;
    cebus_trace_source *source;
    cebus_trace_output *out; /**< of the item */
    size_t capacity;
    bool broken; /**< an item was lost for want of memory */
};

/** A limit as given, or its default where it is 0. */
static cebus_status read_limit(const char *name, uint64_t given, uint64_t most, uint64_t *bound)
{
    if (given > most)
        return cebus_fail(CEBUS_INVALID_ARGUMENT, op_open, "limits.%s is %llu; at most %llu", name,
                          (unsigned long long)given, (unsigned long long)most);
    if (given > 0)
        *bound = given;
    return CEBUS_OK;
}

static cebus_status read_limits(const cebus_trace_limits *given, cebus_trace_bounds *out)
{
    cebus_trace_limits limits = {0};
    *out = (cebus_trace_bounds){
        .line_bytes = UINT64_C(1) << 20, .items = UINT64_C(1) << 22, .bytes = UINT64_C(1) << 50};
    if (!cebus_prefix_read(given, &limits, sizeof limits))
        return cebus_fail(CEBUS_INVALID_ARGUMENT, op_open,
                          "the limits ask for something this version does not know; initialize "
                          "with CEBUS_TRACE_LIMITS_INIT");
    cebus_status status = read_limit("line_bytes", limits.line_bytes, INT32_MAX, &out->line_bytes);
    if (status == CEBUS_OK)
        status = read_limit("items", limits.items, INT32_MAX, &out->items);
    if (status == CEBUS_OK)
        status = read_limit("bytes", limits.bytes, CEBUS_TRACE_BYTES_MAX, &out->bytes);
    return status;
}

static cebus_status open_reader(const char *path, cebus_trace_format format,
                                const cebus_trace_bounds *bounds, cebus_trace_reader **out)
{
    char why[sizeof((cebus_error *)0)->message];
    cebus_host_allocator host = cebus_host_default();
    cebus_trace_reader *reader = host.alloc(host.context, sizeof *reader);
    if (reader == NULL)
        return cebus_fail(CEBUS_OUT_OF_HOST_MEMORY, op_open, "no host memory to open a trace");
    *reader = (cebus_trace_reader){.host = host};
    cebus_status status = cebus_trace_source_open(&host, path, format == CEBUS_TRACE_DTR, bounds,
                                                  why, sizeof why, &reader->source);
    if (status != CEBUS_OK) {
        cebus_trace_reader_close(reader);
        return cebus_fail(status, op_open, "%s", why);
    }
    *out = reader;
    return CEBUS_OK;
}

cebus_status cebus_trace_reader_open(const char *path, cebus_trace_format format,
                                     const cebus_trace_limits *limits, cebus_trace_reader **out)
{
    cebus_trace_bounds bounds;
    if (out == NULL)
        return cebus_fail(CEBUS_INVALID_ARGUMENT, op_open, "out is NULL");
    *out = NULL;
    if (path == NULL)
        return cebus_fail(CEBUS_INVALID_ARGUMENT, op_open, "the path is NULL");
    if (format != CEBUS_TRACE_CEBUS && format != CEBUS_TRACE_DTR)
        return cebus_fail(CEBUS_INVALID_ARGUMENT, op_open, "unknown format %d", (int)format);
    cebus_status status = read_limits(limits, &bounds);
    return status == CEBUS_OK ? open_reader(path, format, &bounds, out) : status;
}

/** The outputs in the public struct; both have the same fields. */
static bool copy_outputs(cebus_trace_reader *reader, const cebus_entry *entry)
{
    if (entry->n_out > reader->capacity) {
        cebus_trace_output *out =
            reader->host.realloc(reader->host.context, reader->out, 2 * entry->n_out * sizeof *out);
        if (out == NULL)
            return false;
        reader->out = out;
        reader->capacity = 2 * entry->n_out;
    }
    for (size_t j = 0; j < entry->n_out; j++)
        reader->out[j] = (cebus_trace_output){.value = entry->out[j].value,
                                              .bytes = entry->out[j].bytes,
                                              .alias_of = entry->out[j].alias_of};
    return true;
}

static const cebus_trace_kind kinds[] = {[CEBUS_ENTRY_CONST] = CEBUS_TRACE_CONST,
                                         [CEBUS_ENTRY_OP] = CEBUS_TRACE_OP,
                                         [CEBUS_ENTRY_FREE] = CEBUS_TRACE_FREE,
                                         [CEBUS_ENTRY_MARK] = CEBUS_TRACE_MARK};

_Static_assert((int)CEBUS_ENTRY_RNG == (int)CEBUS_TRACE_RNG &&
                   (int)CEBUS_ENTRY_MUTATES == (int)CEBUS_TRACE_MUTATES &&
                   (int)CEBUS_ENTRY_NONREPLAYABLE == (int)CEBUS_TRACE_NONREPLAYABLE,
               "flags are handed on as they are");

cebus_status cebus_trace_reader_next(cebus_trace_reader *reader, cebus_trace_item *out,
                                     bool *out_end)
{
    cebus_entry entry;
    if (reader == NULL || out == NULL || out_end == NULL)
        return cebus_fail(CEBUS_INVALID_ARGUMENT, op_next, "%s is NULL",
                          reader == NULL ? "the reader" : "an output");
    *out = (cebus_trace_item){.kind = CEBUS_TRACE_CONST};
    *out_end = false;
    cebus_status status = cebus_trace_source_next(reader->source, &entry, out_end);
    if (status != CEBUS_OK)
        return cebus_fail(status, op_next, "%s", cebus_trace_source_error(reader->source));
    if (*out_end)
        return CEBUS_OK;
    reader->broken = reader->broken || !copy_outputs(reader, &entry);
    if (reader->broken)
        return cebus_fail(CEBUS_OUT_OF_HOST_MEMORY, op_next, "no host memory for an op's outputs");
    *out = (cebus_trace_item){.kind = kinds[entry.kind],
                              .line = entry.line,
                              .value = entry.value,
                              .bytes = entry.bytes,
                              .persistent = entry.persistent,
                              .id = entry.id,
                              .name = entry.name,
                              .hash = entry.hash,
                              .cost_ns = entry.cost_ns,
                              .workspace = entry.workspace,
                              .flags = entry.flags,
                              .in = entry.in,
                              .n_in = entry.n_in,
                              .out = entry.n_out > 0 ? reader->out : NULL,
                              .n_out = entry.n_out};
    return CEBUS_OK;
}

const char *cebus_trace_reader_machine(const cebus_trace_reader *reader)
{
    return reader != NULL ? cebus_trace_source_machine(reader->source) : "";
}

void cebus_trace_reader_close(cebus_trace_reader *reader)
{
    if (reader == NULL)
        return;
    cebus_host_allocator host = reader->host;
    if (reader->source != NULL)
        cebus_trace_source_close(reader->source);
    if (reader->out != NULL)
        host.free(host.context, reader->out);
    host.free(host.context, reader);
}

#else

cebus_status cebus_trace_reader_open(const char *path, cebus_trace_format format,
                                     const cebus_trace_limits *limits, cebus_trace_reader **out)
{
    (void)path, (void)format, (void)limits;
    if (out != NULL)
        *out = NULL;
    return cebus_fail(CEBUS_UNSUPPORTED, "trace_reader_open",
                      "this build reads no traces: it was made without a JSON library; install "
                      "libjansson-dev and build again");
}

cebus_status cebus_trace_reader_next(cebus_trace_reader *reader, cebus_trace_item *out,
                                     bool *out_end)
{
    (void)reader, (void)out, (void)out_end;
    return cebus_fail(CEBUS_UNSUPPORTED, "trace_reader_next", "this build reads no traces");
}

const char *cebus_trace_reader_machine(const cebus_trace_reader *reader)
{
    (void)reader;
    return "";
}

void cebus_trace_reader_close(cebus_trace_reader *reader)
{
    (void)reader;
}

#endif
