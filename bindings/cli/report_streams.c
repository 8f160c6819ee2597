#include "report_streams.h"

enum {
    MOST_EXACT = 12000, /**< pieces of a stream, or evictions, that are all shown */
    STEPS = 5000,       /**< when there are more: at most thrice as many pieces */
    EVICTION_STEPS = 4000,
    BUNDLE = 8, /**< added to the work that takes most of a bundle */
};

static void put_piece(struct report_streams *s, struct report_lane *lane, uint64_t begin,
                      uint64_t end)
{
    uint64_t start = s->survey->total.begin_ns;
    begin = begin > start ? begin - start : 0;
    end = end > start ? end - start : 0;
    report_array_add(&lane->array, begin > lane->last_ns ? begin - lane->last_ns : 0);
    report_array_add(&lane->array, end - begin);
    lane->last_ns = end;
    lane->count++;
}

static void put_single(struct report_streams *s, struct report_lane *lane,
                       const struct report_piece *piece)
{
    put_piece(s, lane, piece->begin_ns, piece->end_ns);
    report_array_add(&lane->array, piece->work);
    report_array_add(&lane->array, piece->op != NO_INDEX ? piece->op + 1 : 0);
    report_array_add(&lane->array, piece->value);
    report_array_add(&lane->array, piece->bytes);
}

static void put_bundle(struct report_streams *s, struct report_lane *lane)
{
    int most = 0;
    uint64_t busy = 0;
    const struct report_bundle *bundle = &lane->bundle;
    if (bundle->count == 1)
        put_single(s, lane, &bundle->piece);
    if (bundle->count <= 1)
        return;
    for (int w = 0; w < REPORT_WORKS; w++) {
        busy += w != REPORT_WAIT ? bundle->work_ns[w] : 0;
        if (bundle->work_ns[w] > bundle->work_ns[most])
            most = w;
    }
    put_piece(s, lane, bundle->begin_ns, bundle->end_ns);
    report_array_add(&lane->array, (uint64_t)most + BUNDLE);
    report_array_add(&lane->array, 0);
    report_array_add(&lane->array, bundle->count);
    report_array_add(&lane->array, busy);
}

static void flush(struct report_streams *s, struct report_lane *lane)
{
    put_bundle(s, lane);
    lane->bundle = (struct report_bundle){0};
}

static void worked(void *context, const struct report_piece *piece)
{
    struct report_streams *s = context;
    struct report_lane *lane = &s->lanes[piece->stream];
    struct report_bundle *bundle = &lane->bundle;
    uint64_t ns = piece->end_ns - piece->begin_ns;
    if (bundle->count > 0 && piece->end_ns - bundle->begin_ns > s->step_ns)
        flush(s, lane);
    if (ns >= s->step_ns) {
        put_single(s, lane, piece);
        return;
    }
    if (bundle->count++ == 0)
        bundle->begin_ns = piece->begin_ns;
    bundle->end_ns = piece->end_ns;
    bundle->work_ns[piece->work] += ns;
    bundle->piece = *piece;
}

static void put_evicted(struct report_streams *s)
{
    if (s->evicted_count == 0)
        return;
    report_array_add(&s->evicted, s->evicted_at_ns - s->last_evicted_ns);
    report_array_add(&s->evicted, s->evicted_count);
    report_array_add(&s->evicted, s->evicted_bytes);
    s->last_evicted_ns = s->evicted_at_ns;
    s->evicted_count = s->evicted_bytes = 0;
}

static void happened(void *context, const cebus_event *event, uint64_t now)
{
    struct report_streams *s = context;
    uint64_t begin = s->survey->total.begin_ns, at = now > begin ? now - begin : 0;
    if (event->kind != CEBUS_EVENT_EVICTED)
        return;
    if (s->evicted_count > 0 && at - s->evicted_at_ns > s->eviction_step_ns)
        put_evicted(s);
    if (s->evicted_count++ == 0)
        s->evicted_at_ns = at;
    s->evicted_bytes += event->bytes;
}

static void ended(void *context, uint64_t now)
{
    struct report_streams *s = context;
    (void)now;
    for (int i = 0; i < REPORT_STREAMS; i++)
        flush(s, &s->lanes[i]);
    put_evicted(s);
}

struct report_sink report_streams_begin(struct report_streams *s,
                                        const struct report_survey *survey)
{
    uint64_t ns = report_counts_ns(&survey->total);
    *s = (struct report_streams){.survey = survey};
    for (int i = 0; i < REPORT_STREAMS; i++) {
        report_array_begin(&s->lanes[i].array);
        if (survey->pieces[i] > MOST_EXACT)
            s->step_ns = ns / STEPS + 1;
    }
    report_array_begin(&s->evicted);
    if (survey->total.evictions > MOST_EXACT)
        s->eviction_step_ns = ns / EVICTION_STEPS + 1;
    return (struct report_sink){
        .worked = worked, .happened = happened, .ended = ended, .context = s};
}

void report_streams_put(struct report_streams *s, struct writer *writer)
{
    static const char *const names[REPORT_STREAMS] = {
        [REPORT_COMPUTE] = "compute", [REPORT_OUT] = "copy out", [REPORT_IN] = "copy in"};
    writer_key(writer, "streams");
    writer_list(writer);
    for (int i = 0; i < REPORT_STREAMS; i++) {
        writer_dictionary(writer);
        writer_put_text(writer, "name", names[i]);
        writer_put_number(writer, "drawn", s->lanes[i].count);
        writer_put_number(writer, "total", s->survey->pieces[i]);
        report_array_put(&s->lanes[i].array, writer, "flat");
        writer_close(writer);
    }
    writer_close(writer);
    report_array_put(&s->evicted, writer, "evicted");
}

void report_streams_free(struct report_streams *s)
{
    for (int i = 0; i < REPORT_STREAMS; i++)
        report_array_free(&s->lanes[i].array);
    report_array_free(&s->evicted);
}
