#include "evict/planner/weights.h"

#include <string.h>

typedef cebus_weights_stretch stretch;

typedef struct model {
    cebus_pool *pool;
    cebus_weights_fitted fit;
    double *price;  /**< ns for a byte */
    double *sums;   /**< of the prices before a position */
    double *slopes; /**< of the dual */
} model;

static uint32_t instance_at(const cebus_sequence *sequence, size_t position)
{
    return position == 0                                  ? cebus_sequence_start(sequence)
           : position == sequence->iteration->n_calls + 1 ? cebus_sequence_end(sequence)
                                                          : (uint32_t)position - 1;
}

static uint32_t position_of(const cebus_sequence *sequence, uint32_t instance)
{
    return instance == cebus_sequence_start(sequence) ? 0 : sequence->instances[instance].gap + 1;
}

static bool add_stretches(model *m, const cebus_sequence *sequence, uint32_t v)
{
    const cebus_life *life = &sequence->lives[v];
    for (uint32_t i = 1; i < life->count && life->call != CEBUS_SEQUENCE_NONE; i++) {
        stretch s = {.from = position_of(sequence, cebus_event_instance(life->events[i - 1])) + 1,
                     .to = position_of(sequence, cebus_event_instance(life->events[i])),
                     .bytes = life->bytes,
                     .cost = (double)sequence->iteration->calls[life->call].cost_ns};
        void *stretches = m->fit.stretches;
        if (s.from >= s.to || s.bytes <= 0 ||
            cebus_event_kind_of(life->events[i]) == CEBUS_EVENT_PRODUCE)
            continue;
        if (!cebus_pool_grow(m->pool, &stretches, &m->fit.capacity, m->fit.n_stretches, sizeof s))
            return false;
        m->fit.stretches = stretches;
        m->fit.stretches[m->fit.n_stretches++] = s;
    }
    return true;
}

/** Prices, so many steps up the slopes, and their sums; both at once, since each sum waits for the
 * one before it. Answers their part of the dual. */
static double set_prices(model *m, double step)
{
    double dual = 0, sum = 0;
    for (size_t t = 0; t < m->fit.n; t++) {
        const double next = m->price[t] + step * m->slopes[t], price = next > 0 ? next : 0;
        m->price[t] = price;
        m->slopes[t] = 0;
        sum += price;
        m->sums[t + 1] = sum;
        dual += price * m->fit.over[t];
    }
    m->slopes[m->fit.n] = 0;
    return dual;
}

/** The part of the stretches, from what there is of the dual; where slopes change. */
static double add_stretch_gains(model *m, double dual)
{
    for (size_t i = 0; i < m->fit.n_stretches; i++) {
        const stretch *s = &m->fit.stretches[i];
        double gain = s->bytes * (m->sums[s->to] - m->sums[s->from]) - s->cost;
        if (gain <= 0)
            continue;
        dual -= gain;
        m->slopes[s->from] -= s->bytes;
        m->slopes[s->to] += s->bytes;
    }
    return dual;
}

/** Slopes, from where they change. Answers the squares of those along which prices can go. */
static double sum_slopes(model *m)
{
    double now = 0, square = 0;
    for (size_t t = 0; t < m->fit.n; t++) {
        now += m->slopes[t];
        const double slope = now + m->fit.over[t];
        m->slopes[t] = slope;
        square += m->price[t] > 0 || slope > 0 ? slope * slope : 0;
    }
    return square;
}

static void climb(model *m)
{
    const double cost = m->fit.cost;
    double best = 0, pace = 1, step = 0;
    for (int round = 0, since = 0; round < m->fit.rounds; round++) {
        const double dual = add_stretch_gains(m, set_prices(m, step)), square = sum_slopes(m);
        since = dual > best ? 0 : since + 1;
        if (dual > best) {
            best = dual;
            memcpy(m->fit.best, m->price, m->fit.n * sizeof *m->fit.best);
        } else if (since % 12 == 0) {
            pace /= 2;
        }
        if (square <= 0 || dual >= cost)
            return;
        step = pace * (cost - dual) / square;
    }
}

/** Prices, and their mean where something is over the limit, so that none is without weight. */
static double set_weights(const cebus_weights_fitted *fit, cebus_sequence *sequence)
{
    double sum = 0, count = 0;
    for (size_t t = 0; t < fit->n; t++) {
        sum += fit->best[t];
        count += fit->over[t] > 0;
    }
    double mean = count > 0 ? sum / count : 0;
    for (size_t t = 0; t < fit->n && mean > 0; t++)
        cebus_track_weigh(&sequence->track, instance_at(sequence, t),
                          (fit->best[t] / mean + 1) / 2);
    return mean;
}

static double *numbers(cebus_pool *pool, size_t count)
{
    double *items = cebus_pool_alloc(pool, count * sizeof *items);
    if (items != NULL)
        memset(items, 0, count * sizeof *items);
    return items;
}

static void free_numbers(cebus_pool *pool, double *items, size_t n)
{
    cebus_pool_free_object(pool, items, (n + 1) * sizeof *items);
}

static void free_fit(cebus_pool *pool, cebus_weights_fitted *fit)
{
    free_numbers(pool, fit->over, fit->n);
    free_numbers(pool, fit->best, fit->n);
    cebus_pool_free_object(pool, fit->stretches, fit->capacity * sizeof *fit->stretches);
    *fit = (cebus_weights_fitted){0};
}

void cebus_weights_init(cebus_weights *weights, cebus_pool *pool)
{
    *weights = (cebus_weights){.pool = pool};
}

void cebus_weights_deinit(cebus_weights *weights)
{
    for (size_t i = 0; i < CEBUS_WEIGHTS_KNOWN; i++)
        free_fit(weights->pool, &weights->known[i]);
}

void cebus_weights_level(cebus_sequence *sequence)
{
    for (size_t t = 0; t < sequence->iteration->n_calls + 2; t++)
        cebus_track_weigh(&sequence->track, instance_at(sequence, t), 1);
}

/** What is asked. False without host memory. */
static bool ask(model *m, const cebus_sequence *sequence, double limit)
{
    cebus_weights_fitted *fit = &m->fit;
    fit->over = numbers(m->pool, fit->n + 1);
    bool ok = fit->over != NULL;
    for (uint32_t v = 0; v < sequence->iteration->n_values && ok; v++)
        ok = add_stretches(m, sequence, v);
    for (size_t t = 0; t < fit->n && ok; t++)
        fit->over[t] = cebus_track_level(&sequence->track, instance_at(sequence, t)) - limit;
    return ok;
}

static bool is_same(const cebus_weights_fitted *a, const cebus_weights_fitted *b)
{
    return a->n == b->n && a->n_stretches == b->n_stretches && a->cost == b->cost &&
           a->rounds == b->rounds && memcmp(a->over, b->over, a->n * sizeof *a->over) == 0 &&
           (a->n_stretches == 0 ||
            memcmp(a->stretches, b->stretches, a->n_stretches * sizeof *a->stretches) == 0);
}

static bool solve(model *m)
{
    const size_t n = m->fit.n;
    m->price = numbers(m->pool, n + 1);
    m->sums = numbers(m->pool, n + 1);
    m->slopes = numbers(m->pool, n + 1);
    m->fit.best = numbers(m->pool, n + 1);
    const bool ok = m->price != NULL && m->sums != NULL && m->slopes != NULL && m->fit.best != NULL;
    if (ok)
        climb(m);
    free_numbers(m->pool, m->price, n);
    free_numbers(m->pool, m->sums, n);
    free_numbers(m->pool, m->slopes, n);
    return ok;
}

/** What was asked before comes first; else it is solved, and the oldest is forgotten. */
static bool look_up(cebus_weights *weights, model *m)
{
    size_t at = 0;
    while (at < CEBUS_WEIGHTS_KNOWN && !is_same(&weights->known[at], &m->fit))
        at++;
    const bool known = at < CEBUS_WEIGHTS_KNOWN;
    at = known ? at : at - 1;
    if (!known && !solve(m))
        return false;
    cebus_weights_fitted first = known ? weights->known[at] : m->fit;
    free_fit(weights->pool, known ? &m->fit : &weights->known[at]);
    memmove(&weights->known[1], &weights->known[0], at * sizeof first);
    weights->known[0] = first;
    m->fit = (cebus_weights_fitted){0};
    return true;
}

bool cebus_weights_fit(cebus_weights *weights, cebus_sequence *sequence, double limit, double cost,
                       int rounds, double *out_price)
{
    model m = {.pool = weights->pool,
               .fit = {.n = sequence->iteration->n_calls + 2, .cost = cost, .rounds = rounds}};
    const bool ok = ask(&m, sequence, limit) && look_up(weights, &m);
    free_fit(m.pool, &m.fit);
    if (ok)
        *out_price = set_weights(&weights->known[0], sequence);
    return ok;
}
