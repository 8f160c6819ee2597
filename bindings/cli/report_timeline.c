#include "report_timeline.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "message.h"

/** More than any arena has; sums of two stay far from the end of 64 bits. */
#define MOST_BYTES (UINT64_C(1) << 61)

const char *report_work_name(enum report_work work)
{
    static const char *const names[REPORT_WORKS] = {
        [REPORT_CALL] = "call", [REPORT_REPLAY] = "replay",     [REPORT_MOVE] = "move",
        [REPORT_WAIT] = "wait", [REPORT_COPY_OUT] = "copy out", [REPORT_COPY_IN] = "copy in",
    };
    return names[work];
}

const char *report_class_name(cebus_memory_class memory_class)
{
    static const char *const names[REPORT_CLASSES] = {
        [CEBUS_MEMORY_ACTIVATION] = "activation", [CEBUS_MEMORY_PERSISTENT] = "persistent",
        [CEBUS_MEMORY_GRADIENT] = "gradient",     [CEBUS_MEMORY_LEAF] = "leaf",
        [CEBUS_MEMORY_WORKSPACE] = "workspace",
    };
    return names[memory_class];
}

void report_timeline_init(struct report_timeline *t, const char *path, struct report_book *book)
{
    *t = (struct report_timeline){.path = path, .book = book};
}

void report_timeline_add_sink(struct report_timeline *t, const struct report_sink *sink)
{
    if (t->n_sinks < REPORT_MOST_SINKS)
        t->sinks[t->n_sinks++] = *sink;
}

static bool refuse(const struct report_timeline *t, uint64_t line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static bool refuse(const struct report_timeline *t, uint64_t line, const char *format, ...)
{
    char what[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    complain_file(t->path, "line %" PRIu64 ": %s: lines are missing or out of order", line, what);
    return false;
}

/* --- blocks ---------------------------------------------------------------------------------- */

static void tell_came(const struct report_timeline *t, const struct report_block *block)
{
    for (size_t i = 0; i < t->n_sinks; i++) {
        if (t->sinks[i].came != NULL)
            t->sinks[i].came(t->sinks[i].context, block);
    }
}

static void tell_went(const struct report_timeline *t, const struct report_block *block)
{
    for (size_t i = 0; i < t->n_sinks; i++) {
        if (t->sinks[i].went != NULL)
            t->sinks[i].went(t->sinks[i].context, block);
    }
}

/** A block like `block`, from `begin_ns` on. */
static bool add(struct report_timeline *t, struct report_block block, uint64_t line)
{
    block.ordinal = ++t->ordinal;
    if (block.bytes == 0 || block.bytes > MOST_BYTES || block.offset > MOST_BYTES)
        return refuse(t, line, "%" PRIu64 " bytes at %" PRIu64, block.bytes, block.offset);
    if (t->blocks.count == REPORT_MOST_BLOCKS)
        return refuse(t, line, "%zu blocks are in use", t->blocks.count);
    uint32_t last = id_map_find(&t->book->classes, block.ordinal);
    if (last != NO_INDEX)
        block.memory_class = (uint8_t)last;
    const struct report_block *added = report_blocks_add(&t->blocks, &block);
    if (added == NULL)
        return refuse(t, line,
                      "the block of %" PRIu64 " bytes at %" PRIu64
                      " lies over another that is in use",
                      block.bytes, block.offset);
    tell_came(t, added);
    return true;
}

/** The block is gone, and was of that class. */
static void take_out(struct report_timeline *t, struct report_block *block, uint8_t last_class)
{
    if (block->memory_class != last_class)
        id_map_set(&t->book->classes, block->ordinal, last_class);
    block->end_ns = t->now;
    tell_went(t, block);
    report_blocks_remove(&t->blocks, block);
}

static bool is_size_of(const struct report_block *block, uint64_t bytes)
{
    return block->guessed ? bytes >= block->bytes : bytes == block->bytes;
}

static bool on_placed(struct report_timeline *t, const cebus_event *event, uint32_t op,
                      uint64_t line)
{
    return add(t,
               (struct report_block){.offset = event->offset,
                                     .bytes = event->bytes,
                                     .from = REPORT_NOT_MOVED,
                                     .value = event->value,
                                     .begin_ns = t->now,
                                     .call = event->call,
                                     .op = op,
                                     .memory_class = (uint8_t)event->memory_class},
               line);
}

/** The copy's event tells the value's bytes; its block had those it had when the value left. */
static bool on_copied_in(struct report_timeline *t, const cebus_event *event, uint64_t line)
{
    const struct report_value *value = report_values_find(&t->values, event->value);
    struct report_block block = {.offset = event->offset,
                                 .bytes = event->bytes,
                                 .from = REPORT_NOT_MOVED,
                                 .value = event->value,
                                 .begin_ns = t->now,
                                 .call = event->call,
                                 .op = NO_INDEX,
                                 .guessed = true};
    if (value != NULL) {
        block.op = value->op;
        block.memory_class = value->memory_class;
        if (value->block_bytes > block.bytes)
            block.bytes = value->block_bytes;
    }
    return add(t, block, line);
}

static bool on_moved(struct report_timeline *t, const cebus_event *event, uint64_t line)
{
    struct report_block *old = report_blocks_find(&t->blocks, event->from);
    if (old == NULL || !is_size_of(old, event->bytes))
        return refuse(t, line, "nothing of %" PRIu64 " bytes lies at %" PRIu64, event->bytes,
                      event->from);
    struct report_block block = *old;
    take_out(t, old, (uint8_t)event->memory_class);
    block.offset = event->offset;
    block.bytes = event->bytes;
    block.from = event->from;
    block.begin_ns = t->now;
    block.memory_class = (uint8_t)event->memory_class;
    block.guessed = false;
    if (event->value != 0)
        block.value = event->value;
    return add(t, block, line);
}

/** What goes without having come was workspace of a launch, or where a block was copied from. */
static void note_scratch(struct report_timeline *t, const cebus_event *event)
{
    t->has_scratch = true;
    t->scratch = (struct report_block){.offset = event->offset,
                                       .bytes = event->bytes,
                                       .from = REPORT_NOT_MOVED,
                                       .begin_ns = t->before,
                                       .call = event->call,
                                       .op = NO_INDEX,
                                       .memory_class = CEBUS_MEMORY_WORKSPACE};
}

static bool on_freed(struct report_timeline *t, const cebus_event *event, uint64_t line)
{
    struct report_block *block = report_blocks_find(&t->blocks, event->offset);
    if (block == NULL && event->memory_class == CEBUS_MEMORY_WORKSPACE) {
        note_scratch(t, event);
        return true;
    }
    if (block == NULL || !is_size_of(block, event->bytes))
        return refuse(t, line, "no block of %" PRIu64 " bytes is in use at %" PRIu64, event->bytes,
                      event->offset);
    take_out(t, block, (uint8_t)event->memory_class);
    return true;
}

/** The event after it tells whose workspace that was. */
static bool settle_scratch(struct report_timeline *t, const cebus_event *event, uint32_t op,
                           uint64_t line)
{
    if (!t->has_scratch)
        return true;
    t->has_scratch = false;
    if (event != NULL && (event->kind == CEBUS_EVENT_CALLED || event->kind == CEBUS_EVENT_REPLAYED))
        t->scratch.op = op;
    if (!add(t, t->scratch, line))
        return false;
    take_out(t, report_blocks_find(&t->blocks, t->scratch.offset), CEBUS_MEMORY_WORKSPACE);
    return true;
}

/* --- work ------------------------------------------------------------------------------------ */

static void tell_worked(struct report_timeline *t, struct report_piece piece)
{
    t->ends[piece.stream] = piece.end_ns;
    for (size_t i = 0; i < t->n_sinks; i++) {
        if (t->sinks[i].worked != NULL)
            t->sinks[i].worked(t->sinks[i].context, &piece);
    }
}

/** Between two launches nothing ran; after an iteration the program may have waited on purpose. */
static void note_wait(struct report_timeline *t, uint64_t until, uint64_t call)
{
    uint64_t since = t->ends[REPORT_COMPUTE];
    if (since < t->all_done)
        since = t->all_done;
    if (until > since)
        tell_worked(t, (struct report_piece){.stream = REPORT_COMPUTE,
                                             .work = REPORT_WAIT,
                                             .begin_ns = since,
                                             .end_ns = until,
                                             .call = call,
                                             .op = NO_INDEX});
}

static void note_work(struct report_timeline *t, const cebus_event *event,
                      enum report_stream stream, enum report_work work, uint32_t op)
{
    uint64_t end = event->device_ns, begin = event->ns < end ? end - event->ns : 0;
    uint64_t least = t->ends[stream];
    if (work == REPORT_MOVE && event->ns == 0) { /* its event need not tell how long it took */
        begin = 0;
        least = t->all_done > least && t->all_done <= end ? t->all_done : least;
    }
    if (begin < least)
        begin = least;
    if (stream == REPORT_COMPUTE)
        note_wait(t, begin, event->call);
    tell_worked(t, (struct report_piece){.stream = stream,
                                         .work = work,
                                         .begin_ns = begin,
                                         .end_ns = end,
                                         .value = event->value,
                                         .bytes = event->bytes,
                                         .call = event->call,
                                         .op = op});
}

/* --- events ---------------------------------------------------------------------------------- */

static bool is_copy(const cebus_event *event)
{
    return event->kind == CEBUS_EVENT_SWAPPED_OUT || event->kind == CEBUS_EVENT_SWAPPED_IN;
}

/** No stream's clock goes back. A copy's time is that of its stream, when it will end. */
static bool advance(struct report_timeline *t, const cebus_event *event, uint64_t line)
{
    uint64_t last = t->now;
    if (is_copy(event))
        last = t->ends[event->kind == CEBUS_EVENT_SWAPPED_OUT ? REPORT_OUT : REPORT_IN];
    if (event->device_ns < last)
        return refuse(t, line, "the device's clock goes back, from %" PRIu64 " to %" PRIu64 " ns",
                      last, event->device_ns);
    if (!t->started) { /* its zero may be long ago */
        t->started = true;
        t->all_done = t->now = event->ns < event->device_ns ? event->device_ns - event->ns : 0;
    }
    t->before = t->now;
    if (!is_copy(event))
        t->now = event->device_ns;
    return true;
}

static bool on_evicted(struct report_timeline *t, const cebus_event *event, uint64_t line)
{
    const struct report_block *block = report_blocks_find(&t->blocks, event->offset);
    return block != NULL ||
           refuse(t, line, "value %" PRIu64 " is evicted from %" PRIu64 ", where nothing lies",
                  event->value, event->offset);
}

static void on_mark(struct report_timeline *t)
{
    t->all_done = t->now;
    for (int i = 0; i < REPORT_STREAMS; i++) {
        if (t->ends[i] > t->all_done)
            t->all_done = t->ends[i];
    }
}

/** Op of a copied value: the event has none. */
static uint32_t maker_of(const struct report_timeline *t, const cebus_event *event)
{
    const struct report_value *value = report_values_find(&t->values, event->value);
    const struct report_block *block = report_blocks_find(&t->blocks, event->offset);
    if (value != NULL && value->evictions > 0)
        return value->op;
    return block != NULL ? block->op : NO_INDEX;
}

static bool act(struct report_timeline *t, const cebus_event *event, uint32_t op, uint64_t line)
{
    switch (event->kind) {
    case CEBUS_EVENT_PLACED:
        return on_placed(t, event, op, line);
    case CEBUS_EVENT_FREED:
        return on_freed(t, event, line);
    case CEBUS_EVENT_MOVED:
        note_work(t, event, REPORT_COMPUTE, REPORT_MOVE, NO_INDEX);
        return on_moved(t, event, line);
    case CEBUS_EVENT_EVICTED:
        return on_evicted(t, event, line);
    case CEBUS_EVENT_CALLED:
        note_work(t, event, REPORT_COMPUTE, REPORT_CALL, op);
        return true;
    case CEBUS_EVENT_REPLAYED:
        note_work(t, event, REPORT_COMPUTE, REPORT_REPLAY, op);
        return true;
    case CEBUS_EVENT_SWAPPED_OUT:
        note_work(t, event, REPORT_OUT, REPORT_COPY_OUT, maker_of(t, event));
        return true;
    case CEBUS_EVENT_SWAPPED_IN:
        note_work(t, event, REPORT_IN, REPORT_COPY_IN, maker_of(t, event));
        return on_copied_in(t, event, line);
    case CEBUS_EVENT_MARK:
        on_mark(t);
        return true;
    default:
        return true;
    }
}

bool report_timeline_event(void *timeline, const cebus_event *event, uint64_t line)
{
    struct report_timeline *t = timeline;
    uint32_t op = report_names_find(&t->book->names, event->op);
    if (!settle_scratch(t, event, op, line) || !advance(t, event, line) || !act(t, event, op, line))
        return false;
    report_values_event(&t->values, event, op, report_blocks_find(&t->blocks, event->offset));
    for (size_t i = 0; i < t->n_sinks; i++) {
        if (t->sinks[i].happened != NULL)
            t->sinks[i].happened(t->sinks[i].context, event, t->now);
    }
    return true;
}

void report_timeline_end(struct report_timeline *t)
{
    struct report_block *block;
    (void)settle_scratch(t, NULL, NO_INDEX, 0);
    while ((block = report_blocks_any(&t->blocks)) != NULL)
        take_out(t, block, block->memory_class);
    for (int i = 0; i < REPORT_STREAMS; i++) {
        if (t->ends[i] > t->now)
            t->now = t->ends[i];
    }
    for (size_t i = 0; i < t->n_sinks; i++) {
        if (t->sinks[i].ended != NULL)
            t->sinks[i].ended(t->sinks[i].context, t->now);
    }
}

void report_timeline_free(struct report_timeline *t)
{
    report_blocks_free(&t->blocks);
    report_values_free(&t->values);
    *t = (struct report_timeline){0};
}

void report_book_free(struct report_book *book)
{
    report_names_free(&book->names);
    id_map_free(&book->classes);
}
