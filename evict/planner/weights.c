#include "evict/planner/weights.h"

#include <string.h>

/** An idle stretch: positions [from, to). Position 0 is START, k + 1 is call k. */
typedef struct stretch {
    uint32_t from, to;
    double bytes, cost;
} stretch;

typedef struct model {
    cebus_pool *pool;
    stretch *stretches;
    size_t n_stretches, capacity;
    size_t n;       /**< positions */
    double *over;   /**< bytes over the limit, below 0 where there is room */
    double *price;  /**< ns for a byte */
    double *sums;   /**< of the prices before a position */
    double *slopes; /**< of the dual */
    double *best;   /**< prices of the highest dual */
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
        void *stretches = m->stretches;
        if (s.from >= s.to || s.bytes <= 0 ||
            cebus_event_kind_of(life->events[i]) == CEBUS_EVENT_PRODUCE)
            continue;
        if (!cebus_pool_grow(m->pool, &stretches, &m->capacity, m->n_stretches, sizeof s))
            return false;
        m->stretches = stretches;
        m->stretches[m->n_stretches++] = s;
    }
    return true;
}

/** Prices, so many steps up the slopes, and their sums; both at once, since each sum waits for the
 * one before it. Answers their part of the dual. */
static double set_prices(model *m, double step)
{
    double dual = 0, sum = 0;
    for (size_t t = 0; t < m->n; t++) {
        const double next = m->price[t] + step * m->slopes[t], price = next > 0 ? next : 0;
        m->price[t] = price;
        m->slopes[t] = 0;
        sum += price;
        m->sums[t + 1] = sum;
        dual += price * m->over[t];
    }
    m->slopes[m->n] = 0;
    return dual;
}

/** The part of the stretches, from what there is of the dual; where slopes change. */
static double add_stretch_gains(model *m, double dual)
{
    for (size_t i = 0; i < m->n_stretches; i++) {
        const stretch *s = &m->stretches[i];
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
    for (size_t t = 0; t < m->n; t++) {
        now += m->slopes[t];
        const double slope = now + m->over[t];
        m->slopes[t] = slope;
        square += m->price[t] > 0 || slope > 0 ? slope * slope : 0;
    }
    return square;
}

static void climb(model *m, double cost, int rounds)
{
    double best = 0, pace = 1, step = 0;
    for (int round = 0, since = 0; round < rounds; round++) {
        const double dual = add_stretch_gains(m, set_prices(m, step)), square = sum_slopes(m);
        since = dual > best ? 0 : since + 1;
        if (dual > best) {
            best = dual;
            memcpy(m->best, m->price, m->n * sizeof *m->best);
        } else if (since % 12 == 0) {
            pace /= 2;
        }
        if (square <= 0 || dual >= cost)
            return;
        step = pace * (cost - dual) / square;
    }
}

/** Prices, and their mean where something is over the limit, so that none is without weight. */
static double set_weights(const model *m, cebus_sequence *sequence)
{
    double sum = 0, count = 0;
    for (size_t t = 0; t < m->n; t++) {
        sum += m->best[t];
        count += m->over[t] > 0;
    }
    double mean = count > 0 ? sum / count : 0;
    for (size_t t = 0; t < m->n && mean > 0; t++)
        cebus_track_weigh(&sequence->track, instance_at(sequence, t), (m->best[t] / mean + 1) / 2);
    return mean;
}

static double *numbers(cebus_pool *pool, size_t count)
{
    double *items = cebus_pool_alloc(pool, count * sizeof *items);
    if (items != NULL)
        memset(items, 0, count * sizeof *items);
    return items;
}

static void free_numbers(model *m, double *items)
{
    cebus_pool_free_object(m->pool, items, (m->n + 1) * sizeof *items);
}

void cebus_weights_level(cebus_sequence *sequence)
{
    for (size_t t = 0; t < sequence->iteration->n_calls + 2; t++)
        cebus_track_weigh(&sequence->track, instance_at(sequence, t), 1);
}

bool cebus_weights_fit(cebus_sequence *sequence, double limit, double cost, int rounds,
                       cebus_pool *pool, double *out_price)
{
    model m = {.pool = pool, .n = sequence->iteration->n_calls + 2};
    m.over = numbers(pool, m.n + 1);
    m.price = numbers(pool, m.n + 1);
    m.sums = numbers(pool, m.n + 1);
    m.slopes = numbers(pool, m.n + 1);
    m.best = numbers(pool, m.n + 1);
    bool ok =
        m.over != NULL && m.price != NULL && m.sums != NULL && m.slopes != NULL && m.best != NULL;
    for (uint32_t v = 0; v < sequence->iteration->n_values && ok; v++)
        ok = add_stretches(&m, sequence, v);
    if (ok) {
        for (size_t t = 0; t < m.n; t++)
            m.over[t] = cebus_track_level(&sequence->track, instance_at(sequence, t)) - limit;
        climb(&m, cost, rounds);
        *out_price = set_weights(&m, sequence);
    }
    free_numbers(&m, m.over);
    free_numbers(&m, m.price);
    free_numbers(&m, m.sums);
    free_numbers(&m, m.slopes);
    free_numbers(&m, m.best);
    cebus_pool_free_object(pool, m.stretches, m.capacity * sizeof *m.stretches);
    return ok;
}
