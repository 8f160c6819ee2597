#include "report_survey.h"

#include <math.h>

static void add_counts(struct report_counts *to, const struct report_counts *from)
{
    for (int w = 0; w < REPORT_WORKS; w++) {
        to->work_ns[w] += from->work_ns[w];
        to->works[w] += from->works[w];
    }
    to->out_bytes += from->out_bytes;
    to->in_bytes += from->in_bytes;
    to->moved_bytes += from->moved_bytes;
    to->evictions += from->evictions;
    to->evicted_bytes += from->evicted_bytes;
    to->compactions += from->compactions;
    to->cuts += from->cuts;
    to->ooms += from->ooms;
    if (from->peak_bytes > to->peak_bytes)
        to->peak_bytes = from->peak_bytes;
    if (from->end_ns > to->end_ns)
        to->end_ns = from->end_ns;
}

unsigned report_size_class(uint64_t bytes)
{
    return bytes > 1 ? 63 - (unsigned)__builtin_clzll(bytes) : 0;
}

unsigned report_area_class(const struct report_block *block)
{
    double ns = (double)(block->end_ns - block->begin_ns);
    int power;
    frexp((double)block->bytes * (ns > 1 ? ns : 1), &power);
    return power > 1 ? (unsigned)power - 1 : 0;
}

unsigned report_least_class(const uint64_t counts[REPORT_SIZES], uint64_t most)
{
    uint64_t sum = 0;
    for (unsigned c = REPORT_SIZES; c-- > 0;) {
        sum += counts[c];
        if (sum > most)
            return c + 1;
    }
    return 0;
}

/* --- the sink -------------------------------------------------------------------------------- */

static void came(void *context, const struct report_block *block)
{
    struct report_survey *s = context;
    s->used_bytes += block->bytes;
    if (s->used_bytes > s->now.peak_bytes)
        s->now.peak_bytes = s->used_bytes;
    if (block->offset + block->bytes > s->top)
        s->top = block->offset + block->bytes;
    s->grain |= block->offset | block->bytes;
    s->changes++;
    s->blocks++;
    if (block->from != REPORT_NOT_MOVED) {
        s->moves++;
        s->move_sizes[report_size_class(block->bytes)]++;
    }
}

static void went(void *context, const struct report_block *block)
{
    struct report_survey *s = context;
    s->used_bytes -= block->bytes;
    s->changes++;
    s->areas[report_area_class(block)]++;
}

static void worked(void *context, const struct report_piece *piece)
{
    struct report_survey *s = context;
    s->now.works[piece->work]++;
    s->now.work_ns[piece->work] += piece->end_ns - piece->begin_ns;
    if (piece->end_ns > s->now.end_ns)
        s->now.end_ns = piece->end_ns;
    if (piece->work == REPORT_COPY_OUT)
        s->now.out_bytes += piece->bytes;
    else if (piece->work == REPORT_COPY_IN)
        s->now.in_bytes += piece->bytes;
    else if (piece->work == REPORT_MOVE)
        s->now.moved_bytes += piece->bytes;
    s->pieces[piece->stream]++;
}

static void on_budget(struct report_survey *s, uint64_t bytes, uint64_t now)
{
    if (s->n_budgets == REPORT_BUDGETS)
        return;
    s->budgets_ns[s->n_budgets] = now;
    s->budgets[s->n_budgets++] = bytes;
}

static void on_oom(struct report_survey *s, const cebus_event *event, uint64_t now)
{
    uint64_t n = s->total.ooms + s->now.ooms++;
    s->last_event = s->events;
    if (n < REPORT_OOMS)
        s->ooms[n] = (struct report_oom){.at_ns = now,
                                         .bytes = event->bytes,
                                         .op = report_names_find(&s->book->names, event->op)};
}

static void on_mark(struct report_survey *s)
{
    s->last_event = s->events;
    s->last[s->iterations++ % REPORT_ITERATIONS] = s->now;
    add_counts(&s->total, &s->now);
    s->now = (struct report_counts){
        .begin_ns = s->now.end_ns, .end_ns = s->now.end_ns, .peak_bytes = s->used_bytes};
}

static void happened(void *context, const cebus_event *event, uint64_t now)
{
    struct report_survey *s = context;
    if (s->events++ == 0)
        s->total.begin_ns = s->now.begin_ns = s->now.end_ns =
            event->ns < event->device_ns ? event->device_ns - event->ns : 0;
    if (now > s->now.end_ns)
        s->now.end_ns = now;
    switch (event->kind) {
    case CEBUS_EVENT_EVICTED:
        s->now.evictions++;
        s->now.evicted_bytes += event->bytes;
        break;
    case CEBUS_EVENT_COMPACTED:
        s->now.compactions++;
        break;
    case CEBUS_EVENT_CUT:
        s->now.cuts++;
        break;
    case CEBUS_EVENT_BUDGET:
        on_budget(s, event->bytes, now);
        break;
    case CEBUS_EVENT_OUT_OF_MEMORY:
        on_oom(s, event, now);
        break;
    case CEBUS_EVENT_MARK:
        on_mark(s);
        break;
    default:
        break;
    }
}

static void ended(void *context, uint64_t now)
{
    struct report_survey *s = context;
    if (now > s->now.end_ns)
        s->now.end_ns = now;
    add_counts(&s->total, &s->now);
}

struct report_sink report_survey_begin(struct report_survey *survey, struct report_book *book)
{
    *survey = (struct report_survey){.book = book, .n_budgets = 1};
    return (struct report_sink){.came = came,
                                .went = went,
                                .worked = worked,
                                .happened = happened,
                                .ended = ended,
                                .context = survey};
}

/* --- answers --------------------------------------------------------------------------------- */

size_t report_survey_kept(const struct report_survey *survey, uint64_t *out_first)
{
    uint64_t n = survey->iterations < REPORT_ITERATIONS ? survey->iterations : REPORT_ITERATIONS;
    *out_first = survey->iterations - n;
    return (size_t)n;
}

const struct report_counts *report_survey_iteration(const struct report_survey *survey, uint64_t i)
{
    return &survey->last[i % REPORT_ITERATIONS];
}

bool report_survey_is_unfinished(const struct report_survey *survey)
{
    const struct report_counts *now = &survey->now;
    return now->works[REPORT_CALL] > 0 || now->ooms > 0 || now->evictions > 0;
}

uint64_t report_counts_ns(const struct report_counts *counts)
{
    return counts->end_ns > counts->begin_ns ? counts->end_ns - counts->begin_ns : 0;
}

double report_counts_overhead(const struct report_counts *counts, uint64_t base_ns)
{
    uint64_t base = base_ns > 0 ? base_ns : counts->work_ns[REPORT_CALL];
    return base > 0 ? (double)report_counts_ns(counts) / (double)base : 0;
}
