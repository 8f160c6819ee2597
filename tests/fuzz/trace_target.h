/**
 * trace_target.h: any bytes as a trace file. Whatever they are, reading them ends, with items that
 * keep the rules of a trace or with a sentence that says what is wrong; the rules are checked here
 * by a table of its own.
 */
#ifndef CEBUS_TESTS_FUZZ_TRACE_TARGET_H
#define CEBUS_TESTS_FUZZ_TRACE_TARGET_H

#include <cebus/trace.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/** More values than an input of a few kilobytes can make. */
#define TRACE_VALUES 4096

typedef enum trace_fate {
    FATE_LIVE = 1,
    FATE_PERSISTENT,
    FATE_OVERWRITTEN,
    FATE_FREED
} trace_fate;

typedef struct trace_value {
    uint64_t id, bytes;
    trace_fate fate;
} trace_value;

typedef struct trace_table {
    trace_value values[TRACE_VALUES];
    size_t count;
} trace_table;

static void trace_stop(const char *what, const cebus_trace_item *item)
{
    fprintf(stderr, "line %llu: %s\n", (unsigned long long)item->line, what);
    abort();
}

static trace_value *trace_find(trace_table *table, uint64_t id)
{
    for (size_t i = 0; i < table->count; i++) {
        if (table->values[i].id == id)
            return &table->values[i];
    }
    return NULL;
}

static void trace_make(trace_table *table, const cebus_trace_item *item, uint64_t id,
                       uint64_t bytes, trace_fate fate)
{
    if (id == 0 || trace_find(table, id) != NULL)
        trace_stop("a value is made twice", item);
    if (table->count == TRACE_VALUES)
        trace_stop("more values than bytes", item);
    table->values[table->count++] = (trace_value){id, bytes, fate};
}

static trace_value *trace_live(trace_table *table, const cebus_trace_item *item, uint64_t id)
{
    trace_value *value = trace_find(table, id);
    if (value == NULL || value->fate == FATE_FREED)
        trace_stop("a value that does not live is used", item);
    return value;
}

static void trace_check_output(trace_table *table, const cebus_trace_item *item, size_t j)
{
    const cebus_trace_output *out = &item->out[j];
    if (out->alias_of < 0) {
        trace_make(table, item, out->value, out->bytes, FATE_LIVE);
        return;
    }
    if (!(item->flags & CEBUS_TRACE_MUTATES) || (size_t)out->alias_of >= item->n_in)
        trace_stop("a write without the flag or the input", item);
    trace_value *old = trace_live(table, item, item->in[out->alias_of]);
    if (old->bytes != out->bytes || old->fate == FATE_OVERWRITTEN)
        trace_stop("an impossible write", item);
    for (size_t k = 0; k < j; k++) {
        if (item->out[k].alias_of >= 0 && item->in[item->out[k].alias_of] == old->id)
            trace_stop("two outputs over one input", item);
    }
    if (out->value == old->id)
        return;
    if (old->fate == FATE_PERSISTENT)
        trace_stop("a persistent constant is replaced", item);
    old->fate = FATE_OVERWRITTEN;
    trace_make(table, item, out->value, out->bytes, FATE_LIVE);
}

static void trace_check(trace_table *table, const cebus_trace_item *item)
{
    switch (item->kind) {
    case CEBUS_TRACE_CONST:
        trace_make(table, item, item->value, item->bytes,
                   item->persistent ? FATE_PERSISTENT : FATE_LIVE);
        break;
    case CEBUS_TRACE_OP:
        if (item->name == NULL || item->name[0] == '\0')
            trace_stop("an op without a name", item);
        for (size_t i = 0; i < item->n_in; i++)
            (void)trace_live(table, item, item->in[i]);
        for (size_t j = 0; j < item->n_out; j++)
            trace_check_output(table, item, j);
        break;
    case CEBUS_TRACE_FREE: {
        trace_value *value = trace_live(table, item, item->value);
        if (value->fate == FATE_PERSISTENT)
            trace_stop("a persistent constant is freed", item);
        value->fate = FATE_FREED;
        break;
    }
    case CEBUS_TRACE_MARK:
        break;
    }
}

/** Whether a refusal names a line and has something to say. */
static void trace_check_refusal(cebus_status status)
{
    const char *message = cebus_last_error()->message;
    const char *colon = strchr(message, ':');
    if (status == CEBUS_INVALID_ARGUMENT && colon != NULL && strlen(colon) > 8)
        return;
    fprintf(stderr, "%s: \"%s\"\n", cebus_status_name(status), message);
    abort();
}

static void trace_read_bytes(const uint8_t *data, size_t size, cebus_trace_format format)
{
    static trace_table table;
    char path[64];
    bool end = false;
    cebus_trace_item item;
    cebus_trace_reader *reader;
    cebus_trace_limits limits = CEBUS_TRACE_LIMITS_INIT;
    int fd = memfd_create("trace", MFD_CLOEXEC);
    limits.items = TRACE_VALUES;
    limits.line_bytes = 4096;
    table.count = 0;
    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        abort();
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    cebus_status status = cebus_trace_reader_open(path, format, &limits, &reader);
    if (status != CEBUS_OK) {
        if (status != CEBUS_UNSUPPORTED)
            trace_check_refusal(status);
        close(fd);
        return;
    }
    for (uint64_t read = 0; !end; read++) {
        status = cebus_trace_reader_next(reader, &item, &end);
        if (status != CEBUS_OK) {
            trace_check_refusal(status);
            break;
        }
        if (!end)
            trace_check(&table, &item);
        if (read > 3 * TRACE_VALUES)
            trace_stop("more items than the limit allows", &item);
    }
    cebus_trace_reader_close(reader);
    close(fd);
}

#endif
