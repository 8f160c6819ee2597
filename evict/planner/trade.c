#include "evict/planner/trade.h"

#include <string.h>

#include "evict/planner/chance.h"

/** Trades at most: more bring little. */
#define MOST_TRADES 128
/** Values next to one another that are set alike at once, at most; of as many places. */
#define MOST_ALIKE 16
#define MOST_PLACES 3
/** One trade in so many is of what is kept free for what is on its way, one of what is spared:
 * none, or one or two such parts of the memory. */
#define FREE_TRADE 8
#define SPARED_PART 64
#define SPARED_PARTS 3

typedef struct trade {
    const cebus_sharing *sharing;
    uint32_t *values; /**< that may come and go */
    size_t count;
    uint64_t random;
} trade;

static uint32_t draw(trade *t, size_t n)
{
    return cebus_chance_below(&t->random, (uint32_t)n);
}

/** Some that are used one after the other stay, or go; or one does what it did not. */
static void swap_roles(trade *t, bool *streams)
{
    const size_t from = draw(t, t->count);
    size_t n = draw(t, 3) > 0 ? 1 : 1 + draw(t, MOST_ALIKE);
    const bool alike = n == 1 ? !streams[t->values[from]] : draw(t, 2) > 0;
    for (size_t i = from; i < t->count && n > 0; i++, n--)
        streams[t->values[i]] = alike;
}

static void vary(trade *t, cebus_share *share)
{
    switch (draw(t, FREE_TRADE)) {
    case 0:
        share->ahead = share->ahead / 4 * draw(t, 8);
        break;
    case 1:
        share->spared = cebus_plan_target(t->sharing->terms) / SPARED_PART * draw(t, SPARED_PARTS);
        break;
    default:
        for (uint32_t n = draw(t, 2) > 0 ? 1 : 1 + draw(t, MOST_PLACES); n > 0; n--)
            swap_roles(t, share->streams);
    }
}

static bool time_share(const cebus_sharing *s, const cebus_share *share, uint64_t *out_ns)
{
    cebus_plan plan;
    cebus_plan_init(&plan, s->pool);
    bool ok = cebus_share_plan(s, share, &plan, out_ns);
    cebus_plan_clear(&plan);
    return ok;
}

/** What a trade costs, about: each action and run is looked at a few times. */
static uint64_t steps_of(const trade *t)
{
    return 2 * (t->sharing->runs->count + t->sharing->others->count + t->count);
}

static bool trade_all(trade *t, cebus_share *best, bool *streams, uint64_t steps, uint64_t *ns)
{
    const size_t bytes = t->sharing->iteration->n_values * sizeof *streams;
    const cebus_plan_terms *terms = t->sharing->terms;
    const uint64_t most = steps / steps_of(t);
    for (uint64_t i = 0; i < MOST_TRADES && i < most; i++) {
        uint64_t took;
        cebus_share share = *best;
        if (terms->go_on != NULL && !terms->go_on(terms->context))
            break;
        share.streams = streams;
        memcpy(streams, best->streams, bytes);
        vary(t, &share);
        if (!time_share(t->sharing, &share, &took))
            return false;
        if (took > *ns)
            continue;
        *ns = took;
        memcpy(best->streams, streams, bytes);
        share.streams = best->streams;
        *best = share;
    }
    return true;
}

bool cebus_trade(const cebus_sharing *sharing, cebus_share *share, uint64_t steps, uint64_t *ns)
{
    const size_t n = sharing->iteration->n_values;
    trade t = {.sharing = sharing, .random = 1};
    t.values = cebus_pool_alloc(sharing->pool, n * sizeof *t.values);
    bool *streams = cebus_pool_alloc(sharing->pool, n * sizeof *streams);
    bool ok = t.values != NULL && streams != NULL;
    for (uint32_t v = 0; v < n && ok; v++) {
        if (cebus_share_may_stream(sharing, v))
            t.values[t.count++] = v;
    }
    ok = ok && time_share(sharing, share, ns) &&
         (t.count == 0 || trade_all(&t, share, streams, steps, ns));
    cebus_pool_free_object(sharing->pool, streams, n * sizeof *streams);
    cebus_pool_free_object(sharing->pool, t.values, n * sizeof *t.values);
    return ok;
}
