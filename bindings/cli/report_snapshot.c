#include "report_snapshot.h"

#include <stdlib.h>

/** What made a block, in the place of a stack: the op, and the number of the call as its line. */
static void put_frames(struct report_snapshot *s, const struct report_block *block)
{
    struct writer *w = &s->writer;
    writer_key(w, "frames");
    writer_list(w);
    if (block != NULL) {
        const char *none = block->memory_class == CEBUS_MEMORY_WORKSPACE ? "workspace" : "constant";
        writer_dictionary(w);
        writer_put_word(w, "filename", block->from == REPORT_NOT_MOVED ? "call" : "moved; call");
        writer_put_number(w, "line", block->call);
        writer_put_text(w, "name", report_names_text(&s->survey->book->names, block->op, none));
        writer_close(w);
    }
    writer_close(w);
}

/** An entry of the trace; its dictionary stays open. */
static void open_entry(struct report_snapshot *s, const char *action, uint64_t at_ns,
                       uint64_t address, uint64_t bytes)
{
    struct writer *w = &s->writer;
    uint64_t begin = s->survey->total.begin_ns;
    writer_dictionary(w);
    writer_put_word(w, "action", action);
    writer_put_number(w, "addr", address);
    writer_put_number(w, "size", bytes);
    writer_put_number(w, "stream", 0);
    writer_key(w, "time_us");
    writer_number(w, at_ns > begin ? (at_ns - begin) / 1000 : 0);
}

/** The viewer colours by category; one must be "unknown", as those of put_event() are. */
static void put_entry(struct report_snapshot *s, const char *action, uint64_t at_ns,
                      const struct report_block *block)
{
    open_entry(s, action, at_ns, block->offset, block->bytes);
    writer_put_word(&s->writer, "category",
                    report_class_name((cebus_memory_class)block->memory_class));
    put_frames(s, block);
    writer_close(&s->writer);
}

static void put_event(struct report_snapshot *s, const char *action, uint64_t at_ns, uint64_t bytes)
{
    open_entry(s, action, at_ns, 0, bytes);
    writer_put_word(&s->writer, "category", "unknown");
    if (action[0] == 'o')
        writer_put_number(&s->writer, "device_free", s->bytes - s->used_bytes);
    put_frames(s, NULL);
    writer_close(&s->writer);
}

/* --- blocks ---------------------------------------------------------------------------------- */

static void put_block(struct report_snapshot *s, uint64_t address, uint64_t bytes,
                      const struct report_block *block)
{
    struct writer *w = &s->writer;
    writer_dictionary(w);
    writer_put_number(w, "address", address);
    writer_put_number(w, "size", bytes);
    writer_put_number(w, "requested_size", block != NULL ? bytes : 0);
    writer_put_word(w, "state", block != NULL ? "active_allocated" : "inactive");
    put_frames(s, block);
    writer_close(w);
}

/** By address, and nothing left out: the viewer counts sizes to tell where a block lies. */
static uint64_t put_blocks(struct report_snapshot *s)
{
    uint64_t at = 0, used = 0;
    const struct report_block **list = report_blocks_list(s->blocks);
    writer_key(&s->writer, "blocks");
    writer_list(&s->writer);
    for (size_t i = 0; i < s->blocks->count; i++) {
        if (list[i]->offset > at)
            put_block(s, at, list[i]->offset - at, NULL);
        put_block(s, list[i]->offset, list[i]->bytes, list[i]);
        at = list[i]->offset + list[i]->bytes;
        used += list[i]->bytes;
    }
    if (at < s->bytes)
        put_block(s, at, s->bytes - at, NULL);
    writer_close(&s->writer);
    free(list);
    return used;
}

static void put_segment(struct report_snapshot *s)
{
    struct writer *w = &s->writer;
    writer_dictionary(w);
    writer_put_number(w, "device", 0);
    writer_put_number(w, "address", 0);
    writer_put_number(w, "total_size", s->bytes);
    writer_put_number(w, "stream", 0);
    writer_put_word(w, "segment_type", "large");
    writer_key(w, "segment_pool_id");
    writer_pair(w, 0, 0);
    writer_key(w, "is_expandable");
    writer_flag(w, false);
    put_frames(s, NULL);
    uint64_t used = put_blocks(s);
    writer_put_number(w, "allocated_size", used);
    writer_put_number(w, "active_size", used);
    writer_put_number(w, "requested_size", used);
    writer_close(w);
}

/** The end of the trace, and the state it ends in. */
static void finish(struct report_snapshot *s, uint64_t now)
{
    struct writer *w = &s->writer;
    put_event(s, "snapshot", now, 0);
    writer_close(w); /* device 0 */
    writer_close(w);
    writer_key(w, "segments");
    writer_list(w);
    put_segment(s);
    writer_close(w);
    writer_close(w);
    writer_finish(w);
    s->done = true;
}

/* --- the sink -------------------------------------------------------------------------------- */

static void came(void *context, const struct report_block *block)
{
    struct report_snapshot *s = context;
    s->used_bytes += block->bytes;
    if (!s->done)
        put_entry(s, "alloc", block->begin_ns, block);
}

static void went(void *context, const struct report_block *block)
{
    struct report_snapshot *s = context;
    s->used_bytes -= block->bytes;
    if (s->done)
        return;
    put_entry(s, "free_requested", block->end_ns, block);
    put_entry(s, "free_completed", block->end_ns, block);
}

static void happened(void *context, const cebus_event *event, uint64_t now)
{
    struct report_snapshot *s = context;
    uint64_t last = s->survey->last_event > 0 ? s->survey->last_event : s->survey->events;
    if (s->done)
        return;
    if (event->kind == CEBUS_EVENT_OUT_OF_MEMORY)
        put_event(s, "oom", now, event->bytes);
    if (++s->events == last)
        finish(s, now);
}

struct report_sink report_snapshot_begin(struct report_snapshot *s, FILE *file,
                                         enum writer_form form, const struct report_survey *survey,
                                         const struct report_blocks *blocks)
{
    *s = (struct report_snapshot){.survey = survey, .blocks = blocks, .bytes = survey->top};
    for (size_t i = 0; i < survey->n_budgets; i++) {
        if (survey->budgets[i] > s->bytes)
            s->bytes = survey->budgets[i];
    }
    struct writer *w = &s->writer;
    writer_begin(w, file, form);
    writer_dictionary(w);
    writer_key(w, "device_traces");
    writer_list(w);
    writer_list(w);
    put_event(s, "segment_alloc", survey->total.begin_ns, s->bytes);
    return (struct report_sink){.came = came, .went = went, .happened = happened, .context = s};
}

void report_snapshot_end(struct report_snapshot *s)
{
    if (!s->done)
        finish(s, s->survey->total.end_ns);
}
