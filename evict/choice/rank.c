#include "evict/choice/rank.h"

#include <math.h>
#include <string.h>

#include "layout/window/index.h"

/** Weights are kept in prices at an age of 1. Less than all of it, for what divisions lose. */
#define SCALE ((1 - 1e-12) / (double)(UINT64_C(1) << CEBUS_PRICE_SHIFT))
/** 1/score from which on it counts as endless, and what stands for that. */
#define ENDLESS 1e29
#define OPEN 1e30
/** What a bound may lose, of a score. */
#define SURE (1 - 1e-9)

static cebus_chunk *chunk_of(const cebus_chooser *chooser, const cebus_rank_place *at)
{
    return &chooser->arena->index->chunks.at[at->chunk];
}

uint32_t cebus_rank_candidates(const cebus_chunk *chunk)
{
    return (uint32_t)((UINT64_C(1) << chunk->count) - 1) & ~chunk->holes & ~chunk->walls;
}

static void find_beside(const cebus_chunk *chunk, const cebus_rank_place *at, uint64_t *out)
{
    memset(out, 0, CEBUS_CHUNK_MAX * sizeof *out);
    out[0] = at->low;
    out[chunk->count - 1] += at->high;
    for (uint32_t bits = chunk->holes; bits != 0; bits &= bits - 1) {
        uint32_t i = (uint32_t)__builtin_ctz(bits);
        if (i > 0)
            out[i - 1] += chunk->bytes[i];
        if (i + 1 < chunk->count)
            out[i + 1] += chunk->bytes[i];
    }
}

void cebus_rank_scores(const cebus_chooser *chooser, const cebus_rank_place *at,
                       uint64_t *out_beside, double *out_scores)
{
    const cebus_chunk *chunk = chunk_of(chooser, at);
    double now = cebus_time_after(chooser->now);
    find_beside(chunk, at, out_beside);
    for (uint32_t i = 0; i < CEBUS_CHUNK_MAX; i++) {
        double age = now - chunk->tick[i];
        double bytes = (double)(int64_t)(chunk->bytes[i] + out_beside[i]);
        out_scores[i] = chunk->weight[i] * SCALE / (bytes * (age > 1 ? age : 1));
    }
}

/** The lines of 1/score: what they are at `now`, and how fast they rise; 0: no candidate. */
static void find_lines(const cebus_chunk *chunk, const cebus_rank_place *at, double now,
                       double *out_value, double *out_rise)
{
    uint64_t beside[CEBUS_CHUNK_MAX];
    uint32_t bits = cebus_rank_candidates(chunk);
    find_beside(chunk, at, beside);
    for (uint32_t i = 0; i < CEBUS_CHUNK_MAX; i++) {
        double age = now - chunk->tick[i], weight = chunk->weight[i] * SCALE;
        double rise = (double)(int64_t)(chunk->bytes[i] + beside[i]) / (weight > 0 ? weight : 1);
        out_rise[i] = (bits >> i & 1) != 0 ? rise : 0;
        out_value[i] = out_rise[i] * (age > 1 ? age : 1);
        out_value[i] = out_rise[i] > 0 && weight <= 0 ? OPEN : out_value[i];
    }
}

static double most_of(const double *terms)
{
    double most = 0;
    for (uint32_t i = 0; i < CEBUS_CHUNK_MAX; i++)
        most = terms[i] > most ? terms[i] : most;
    return most;
}

/** From time `t` on. The chord ends where the first line gets to what is somewhat cheaper. */
static cebus_bound bound_lines(double t, double *value, const double *rise)
{
    double now = most_of(value), level = now * CEBUS_BOUND_CHEAPER, rate = 0;
    for (uint32_t i = 0; i < CEBUS_CHUNK_MAX; i++) {
        double one = now > 0 ? rise[i] / (level - value[i]) : 0;
        rate = one > rate ? one : rate;
    }
    double rest = rate * CEBUS_BOUND_LONGEST > 1 ? 1 / rate : CEBUS_BOUND_LONGEST;
    rest = rest > 1 ? rest : 1;
    for (uint32_t i = 0; i < CEBUS_CHUNK_MAX; i++)
        value[i] += rise[i] * rest;
    return cebus_bound_of(t, now, rest, most_of(value), most_of(rise));
}

/** Whether a bound that was worked out holds: for these holes, from a time that has come, in times
 * since the same epoch. */
static bool holds(const cebus_rank *rank, const cebus_rank_place *at, uint64_t epoch, uint64_t now)
{
    return rank->known && rank->low == at->low && rank->high == at->high && rank->epoch == epoch &&
           rank->since <= now;
}

double cebus_rank_least(const cebus_chooser *chooser, const cebus_rank_place *at)
{
    const cebus_tables *tables = &chooser->arena->index->tables;
    cebus_chunk *chunk = chunk_of(chooser, at);
    cebus_rank *rank = &chunk->rank;
    double t = cebus_tables_time(tables, chooser->now);
    if (!holds(rank, at, tables->epoch, chooser->now)) {
        double value[CEBUS_CHUNK_MAX], rise[CEBUS_CHUNK_MAX];
        find_lines(chunk, at, cebus_time_after(chooser->now), value, rise);
        *rank = (cebus_rank){
            bound_lines(t, value, rise), at->low, at->high, tables->epoch, chooser->now, true};
    }
    double most = cebus_bound_at(&rank->bound, t);
    if (most <= 0)
        return HUGE_VAL;
    return most < ENDLESS ? SURE / most : 0;
}
