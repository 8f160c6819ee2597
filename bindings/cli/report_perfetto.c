#include "report_perfetto.h"

#include <inttypes.h>
#include <string.h>

enum {
    PROCESS = 1,
    THREAD_STREAMS = 1, /**< and on: one a stream */
    THREAD_EVICTIONS = THREAD_STREAMS + REPORT_STREAMS,
    THREAD_ITERATIONS,
    THREADS,
};

static uint64_t since_start(const struct report_perfetto *p, uint64_t at_ns)
{
    uint64_t begin = p->survey->total.begin_ns;
    return at_ns > begin ? at_ns - begin : 0;
}

/** An event's fields that all have; its dictionary stays open. */
static void open_event(struct report_perfetto *p, const char *phase, const char *name,
                       unsigned thread)
{
    struct writer *w = &p->writer;
    writer_dictionary(w);
    writer_put_text(w, "ph", phase);
    writer_put_text(w, "name", name);
    writer_put_number(w, "pid", PROCESS);
    writer_put_number(w, "tid", thread);
}

static void put_time(struct report_perfetto *p, const char *key, uint64_t ns)
{
    writer_key(&p->writer, key);
    writer_micros(&p->writer, ns);
}

static void open_arguments(struct report_perfetto *p)
{
    writer_key(&p->writer, "args");
    writer_dictionary(&p->writer);
}

/** Of an event that has arguments. */
static void close_event(struct report_perfetto *p)
{
    writer_close(&p->writer);
    writer_close(&p->writer);
}

/** Lines that a viewer reads one by one are of use to people, too. */
static void end_line(struct report_perfetto *p)
{
    fputc('\n', p->writer.file);
}

static void put_metadata(struct report_perfetto *p, const char *what, unsigned thread,
                         const char *name, unsigned order)
{
    open_event(p, "M", what, thread);
    open_arguments(p);
    if (name != NULL)
        writer_put_text(&p->writer, "name", name);
    else
        writer_put_number(&p->writer, "sort_index", order);
    close_event(p);
    end_line(p);
}

static void put_threads(struct report_perfetto *p)
{
    static const char *const names[THREADS] = {
        [THREAD_STREAMS + REPORT_COMPUTE] = "compute",
        [THREAD_STREAMS + REPORT_OUT] = "copy out",
        [THREAD_STREAMS + REPORT_IN] = "copy in",
        [THREAD_EVICTIONS] = "evictions",
        [THREAD_ITERATIONS] = "iterations",
    };
    for (unsigned t = THREAD_STREAMS; t < THREADS; t++) {
        put_metadata(p, "thread_name", t, names[t], 0);
        put_metadata(p, "thread_sort_index", t, NULL, t);
    }
}

/* --- counters -------------------------------------------------------------------------------- */

/** The state that an instant leaves behind. */
static void put_counters(struct report_perfetto *p)
{
    for (int c = 0; c < REPORT_CLASSES; c++) {
        char name[32];
        if (p->bytes[c] == p->written[c])
            continue;
        snprintf(name, sizeof name, "memory: %s", report_class_name((cebus_memory_class)c));
        open_event(p, "C", name, 0);
        put_time(p, "ts", since_start(p, p->at_ns));
        open_arguments(p);
        writer_put_number(&p->writer, "bytes", p->bytes[c]);
        close_event(p);
        end_line(p);
        p->written[c] = p->bytes[c];
    }
}

static void change(struct report_perfetto *p, uint64_t at_ns, const struct report_block *block,
                   bool more)
{
    if (at_ns > p->at_ns) {
        put_counters(p);
        p->at_ns = at_ns;
    }
    p->bytes[block->memory_class] += more ? block->bytes : -block->bytes;
}

static void came(void *context, const struct report_block *block)
{
    change(context, block->begin_ns, block, true);
}

static void went(void *context, const struct report_block *block)
{
    change(context, block->end_ns, block, false);
}

/* --- slices and instants --------------------------------------------------------------------- */

/** "conv", "replay conv", "copy out conv", "wait". */
static void name_of(const struct report_perfetto *p, const struct report_piece *piece, char *out,
                    size_t bytes)
{
    const char *op = report_names_text(&p->survey->book->names, piece->op, "");
    if (piece->work == REPORT_CALL)
        snprintf(out, bytes, "%s", op[0] != '\0' ? op : "call");
    else
        snprintf(out, bytes, "%s%s%s", report_work_name(piece->work), op[0] != '\0' ? " " : "", op);
}

static void worked(void *context, const struct report_piece *piece)
{
    struct report_perfetto *p = context;
    char name[REPORT_NAME_BYTES + 16];
    name_of(p, piece, name, sizeof name);
    open_event(p, "X", name, THREAD_STREAMS + (unsigned)piece->stream);
    writer_put_text(&p->writer, "cat", report_work_name(piece->work));
    put_time(p, "ts", since_start(p, piece->begin_ns));
    put_time(p, "dur", piece->end_ns - piece->begin_ns);
    open_arguments(p);
    writer_put_number(&p->writer, "call", piece->call);
    if (piece->value != 0)
        writer_put_number(&p->writer, "value", piece->value);
    if (piece->bytes != 0)
        writer_put_number(&p->writer, "bytes", piece->bytes);
    close_event(p);
    end_line(p);
    if (piece->end_ns > p->done_ns)
        p->done_ns = piece->end_ns;
}

static void put_eviction(struct report_perfetto *p, const cebus_event *event, uint64_t now)
{
    uint32_t op = report_names_find(&p->survey->book->names, event->op);
    char name[REPORT_NAME_BYTES + 16];
    struct writer *w = &p->writer;
    snprintf(name, sizeof name, "evict %s",
             report_names_text(&p->survey->book->names, op, "a constant"));
    open_event(p, "i", name, THREAD_EVICTIONS);
    writer_put_text(w, "s", "t");
    put_time(p, "ts", since_start(p, now));
    open_arguments(p);
    writer_put_number(w, "value", event->value);
    writer_put_number(w, "bytes", event->bytes);
    writer_put_text(w, "by", event->method == CEBUS_METHOD_SWAP ? "swap" : "drop");
    writer_put_number(w, "age_ns", event->age_ns);
    writer_put_number(w, "price", event->price);
    writer_put_number(w, "next_price", event->next_price);
    close_event(p);
    end_line(p);
}

static void put_oom(struct report_perfetto *p, const cebus_event *event, uint64_t now)
{
    open_event(p, "i", "out of memory", THREAD_EVICTIONS);
    writer_put_text(&p->writer, "s", "p");
    put_time(p, "ts", since_start(p, now));
    open_arguments(p);
    writer_put_number(&p->writer, "bytes", event->bytes);
    writer_put_text(&p->writer, "op", event->op != NULL ? event->op : "");
    close_event(p);
    end_line(p);
}

static void put_iteration(struct report_perfetto *p, uint64_t now)
{
    char name[48];
    uint64_t end = p->done_ns > now ? p->done_ns : now;
    snprintf(name, sizeof name, "iteration %" PRIu64, ++p->iterations);
    open_event(p, "X", name, THREAD_ITERATIONS);
    put_time(p, "ts", since_start(p, p->iteration_ns));
    put_time(p, "dur", end - p->iteration_ns);
    writer_close(&p->writer);
    end_line(p);
    p->iteration_ns = end;
}

static void happened(void *context, const cebus_event *event, uint64_t now)
{
    struct report_perfetto *p = context;
    if (event->kind == CEBUS_EVENT_EVICTED)
        put_eviction(p, event, now);
    else if (event->kind == CEBUS_EVENT_OUT_OF_MEMORY)
        put_oom(p, event, now);
    else if (event->kind == CEBUS_EVENT_MARK)
        put_iteration(p, now);
}

static void ended(void *context, uint64_t now)
{
    (void)now;
    put_counters(context);
}

struct report_sink report_perfetto_begin(struct report_perfetto *p, FILE *file,
                                         const struct report_survey *survey,
                                         const struct run_head *head)
{
    *p = (struct report_perfetto){.survey = survey, .iteration_ns = survey->total.begin_ns};
    struct writer *w = &p->writer;
    writer_begin(w, file, WRITER_JSON);
    writer_dictionary(w);
    writer_put_text(w, "displayTimeUnit", "ns");
    writer_key(w, "otherData");
    writer_dictionary(w);
    writer_put_text(w, "trace", head->trace);
    writer_put_text(w, "policy", head->policy);
    writer_put_text(w, "machine", head->machine);
    writer_put_number(w, "budget_bytes", head->budget_bytes);
    writer_close(w);
    writer_key(w, "traceEvents");
    writer_list(w);
    put_metadata(p, "process_name", 0, head->trace, 0);
    put_threads(p);
    return (struct report_sink){.came = came,
                                .went = went,
                                .worked = worked,
                                .happened = happened,
                                .ended = ended,
                                .context = p};
}

void report_perfetto_end(struct report_perfetto *p)
{
    writer_close(&p->writer);
    writer_close(&p->writer);
    writer_finish(&p->writer);
}
