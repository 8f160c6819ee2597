#include "report_memory.h"

#include <string.h>

enum {
    MOST_EXACT = 5000, /**< changes that are all shown */
    STEPS = 1700,      /**< of three points at most, when there are more */
};

uint64_t report_unit(const struct report_survey *survey)
{
    return survey->grain > 0 ? survey->grain & -survey->grain : 1;
}

static void put_point(struct report_memory *m, const struct report_level *level)
{
    report_array_add(&m->array, level->at_ns - m->put.at_ns);
    for (int c = 0; c < REPORT_CLASSES; c++)
        report_array_add_change(&m->array, m->put.bytes[c] / m->unit, level->bytes[c] / m->unit);
    m->put = *level;
    m->points++;
}

static bool is_same(const struct report_level *a, const struct report_level *b)
{
    return a->at_ns == b->at_ns && memcmp(a->bytes, b->bytes, sizeof a->bytes) == 0;
}

/** The step is over: its extremes in the order they came, and the state it leaves. */
static void put_step(struct report_memory *m)
{
    const struct report_level *first = m->low.at_ns < m->high.at_ns ? &m->low : &m->high;
    const struct report_level *second = first == &m->low ? &m->high : &m->low;
    if (!m->open)
        return;
    m->open = false;
    if (!is_same(first, &m->put))
        put_point(m, first);
    if (!is_same(second, &m->put))
        put_point(m, second);
    if (!is_same(&m->now, &m->put))
        put_point(m, &m->now);
}

/** A block of that class came or went at that time: `more` or less. */
static void change(struct report_memory *m, uint64_t at_ns, const struct report_block *block,
                   bool more)
{
    uint64_t at = at_ns > m->survey->total.begin_ns ? at_ns - m->survey->total.begin_ns : 0;
    if (at < m->now.at_ns)
        at = m->now.at_ns;
    if (at / m->step_ns != m->step)
        put_step(m);
    m->now.at_ns = at;
    m->now.bytes[block->memory_class] += more ? block->bytes : -block->bytes;
    m->now.total += more ? block->bytes : -block->bytes;
    if (!m->open)
        m->low = m->high = m->now;
    if (m->now.total <= m->low.total)
        m->low = m->now;
    if (m->now.total > m->high.total)
        m->high = m->now;
    m->step = at / m->step_ns;
    m->open = true;
}

static void came(void *context, const struct report_block *block)
{
    change(context, block->begin_ns, block, true);
}

static void went(void *context, const struct report_block *block)
{
    change(context, block->end_ns, block, false);
}

static void ended(void *context, uint64_t now)
{
    (void)now;
    put_step(context);
}

struct report_sink report_memory_begin(struct report_memory *m, const struct report_survey *survey)
{
    *m = (struct report_memory){.survey = survey, .unit = report_unit(survey), .step_ns = 1};
    if (survey->changes > MOST_EXACT)
        m->step_ns = report_counts_ns(&survey->total) / STEPS + 1;
    report_array_begin(&m->array);
    return (struct report_sink){.came = came, .went = went, .ended = ended, .context = m};
}

void report_memory_put(struct report_memory *m, struct writer *writer)
{
    writer_key(writer, "memory");
    writer_dictionary(writer);
    writer_put_number(writer, "points", m->points);
    writer_put_number(writer, "changes", m->survey->changes);
    report_array_put(&m->array, writer, "flat");
    writer_close(writer);
}

void report_memory_free(struct report_memory *m)
{
    report_array_free(&m->array);
}
