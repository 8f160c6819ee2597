#include "evict/survey.h"

#include <string.h>

/** A value matters if it has more than this part of the bytes of all. */
#define SMALLEST_PART 65536

static void *alloc_words(cebus_pool *pool, size_t count, size_t word)
{
    void *words = cebus_pool_alloc(pool, count * word);
    if (words != NULL)
        memset(words, 0, count * word);
    return words;
}

static uint64_t smallest_bytes(const cebus_iteration *iteration)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < iteration->n_values; i++) {
        if (!iteration->values[i].persistent)
            bytes += iteration->values[i].bytes;
    }
    return bytes / SMALLEST_PART + 1;
}

static bool push_span(cebus_survey *survey, cebus_span span)
{
    void *spans = survey->spans;
    if (!cebus_pool_grow(survey->pool, &spans, &survey->spans_capacity, survey->n_spans,
                         sizeof span))
        return false;
    survey->spans = spans;
    survey->spans[survey->n_spans++] = span;
    return true;
}

/** The spans that start at call k. seen[v]: uses of v at calls before k. */
static bool find_spans_of(cebus_survey *survey, uint32_t k, uint32_t *seen, uint64_t smallest)
{
    const cebus_iteration *iteration = survey->iteration;
    const cebus_iteration_call *call = &iteration->calls[k];
    for (uint32_t i = 0; i < (uint32_t)call->n_in + call->n_out; i++) {
        uint32_t v = iteration->refs[call->refs + i];
        if (v == CEBUS_ITERATION_NONE || seen[v] >= iteration->values[v].n_uses ||
            cebus_iteration_use(iteration, v, seen[v]) != k)
            continue;
        seen[v]++;
        const cebus_iteration_value *value = &iteration->values[v];
        if (value->persistent || value->bytes < smallest || seen[v] >= value->n_uses)
            continue;
        uint32_t next = cebus_iteration_use(iteration, v, seen[v]);
        cebus_span span = {.value = v, .from = k, .to = next, .turn = CEBUS_ITERATION_NONE};
        if (next > k + 1 && !push_span(survey, span))
            return false;
    }
    return true;
}

static bool find_spans(cebus_survey *survey)
{
    const cebus_iteration *iteration = survey->iteration;
    uint64_t smallest = smallest_bytes(iteration);
    uint32_t *seen = alloc_words(survey->pool, iteration->n_values, sizeof *seen);
    bool ok = seen != NULL;
    for (uint32_t k = 0; k < iteration->n_calls && ok; k++)
        ok = find_spans_of(survey, k, seen, smallest);
    cebus_pool_free_object(survey->pool, seen, iteration->n_values * sizeof *seen);
    return ok;
}

static bool push_turn(cebus_survey *survey, uint32_t call)
{
    void *turns = survey->turns;
    if (!cebus_pool_grow(survey->pool, &turns, &survey->turns_capacity, survey->n_turns,
                         sizeof call))
        return false;
    survey->turns = turns;
    survey->turns[survey->n_turns++] = call;
    return true;
}

/** Ups and downs by at least `fall`; every up that ends is a turn. */
static bool find_turns(cebus_survey *survey, const cebus_curve *idle, int64_t fall)
{
    int64_t now = 0, extreme = 0;
    uint32_t at = 0;
    bool rising = true, ok = true;
    for (uint32_t k = 0; k < idle->n_calls && ok; k++) {
        now += idle->steps[k];
        if (rising ? now > extreme : now < extreme) {
            extreme = now;
            at = k;
        } else if (rising && extreme - now > fall) {
            ok = push_turn(survey, at);
            rising = false;
            extreme = now;
        } else if (!rising && now - extreme > fall) {
            rising = true;
            extreme = now;
            at = k;
        }
    }
    return ok;
}

static void assign_turns(cebus_survey *survey)
{
    size_t turn = 0;
    for (size_t s = 0; s < survey->n_spans; s++) {
        cebus_span *span = &survey->spans[s];
        while (turn < survey->n_turns && survey->turns[turn] <= span->from)
            turn++;
        if (turn < survey->n_turns && survey->turns[turn] < span->to)
            span->turn = (uint32_t)turn;
    }
}

static bool survey_turns(cebus_survey *survey)
{
    cebus_curve idle;
    if (!cebus_curve_init_flat(&idle, survey->iteration->n_calls, survey->pool))
        return false;
    for (size_t s = 0; s < survey->n_spans; s++)
        cebus_curve_cut(&idle, survey->spans[s].from + 1, survey->spans[s].to,
                        -(int64_t)cebus_survey_bytes(survey, s));
    bool ok = find_turns(survey, &idle, (int64_t)cebus_curve_peak(&idle, NULL) / 3);
    cebus_curve_deinit(&idle);
    assign_turns(survey);
    return ok;
}

static bool sort_by_end(cebus_survey *survey)
{
    size_t keys = survey->iteration->n_calls + 1;
    uint32_t *start = alloc_words(survey->pool, keys, sizeof *start);
    survey->by_end = alloc_words(survey->pool, survey->n_spans, sizeof *survey->by_end);
    bool ok = start != NULL && survey->by_end != NULL;
    if (ok) {
        for (size_t s = 0; s < survey->n_spans; s++)
            start[survey->spans[s].to + 1]++;
        for (size_t k = 1; k < keys; k++)
            start[k] += start[k - 1];
        for (size_t s = 0; s < survey->n_spans; s++)
            survey->by_end[start[survey->spans[s].to]++] = (uint32_t)s;
    }
    cebus_pool_free_object(survey->pool, start, keys * sizeof *start);
    return ok;
}

static bool read_times(cebus_survey *survey)
{
    const cebus_iteration *iteration = survey->iteration;
    survey->times = alloc_words(survey->pool, iteration->n_calls + 1, sizeof *survey->times);
    if (survey->times == NULL)
        return false;
    for (size_t k = 0; k < iteration->n_calls; k++)
        survey->times[k + 1] = survey->times[k] + iteration->calls[k].cost_ns;
    return true;
}

bool cebus_survey_init(cebus_survey *survey, const cebus_iteration *iteration, cebus_pool *pool)
{
    *survey = (cebus_survey){.iteration = iteration, .pool = pool};
    if (!cebus_curve_init(&survey->curve, iteration, pool))
        return false;
    if (read_times(survey) && find_spans(survey) && survey_turns(survey) && sort_by_end(survey))
        return true;
    cebus_survey_deinit(survey);
    return false;
}

void cebus_survey_deinit(cebus_survey *survey)
{
    cebus_pool *pool = survey->pool;
    cebus_curve_deinit(&survey->curve);
    cebus_pool_free_object(pool, survey->times,
                           (survey->iteration->n_calls + 1) * sizeof *survey->times);
    cebus_pool_free_object(pool, survey->by_end, survey->n_spans * sizeof *survey->by_end);
    cebus_pool_free_object(pool, survey->spans, survey->spans_capacity * sizeof *survey->spans);
    cebus_pool_free_object(pool, survey->turns, survey->turns_capacity * sizeof *survey->turns);
}

uint32_t *cebus_survey_marks(const cebus_survey *survey, int fill)
{
    size_t bytes = survey->n_spans * sizeof(uint32_t);
    uint32_t *marks = cebus_pool_alloc(survey->pool, bytes);
    if (marks != NULL)
        memset(marks, fill, bytes);
    return marks;
}

void cebus_survey_free_marks(const cebus_survey *survey, uint32_t *marks)
{
    cebus_pool_free_object(survey->pool, marks, survey->n_spans * sizeof *marks);
}
