#include "evict/planner/yielding.h"

#include <string.h>

#define NONE CEBUS_SEQUENCE_NONE

/** Runs of the links at most; and copies held for one. */
#define MOST_RUNS 64
#define MOST_HELD 8

static uint64_t wanted(const cebus_links *links, uint32_t value)
{
    return cebus_sequence_key(links->sequence, links->outs[value]);
}

/** How long calls wait for it: where its room is wanted. */
static uint64_t lateness(const cebus_links *links, const cebus_copy *copy)
{
    uint64_t due = links->starts[links->outs[copy->value]];
    return copy->when.to > due ? copy->when.to - due : 0;
}

/** The copy that calls wait longest for, of those not given up; `count`: for none. */
static size_t find_latest(const cebus_links *links, const bool *given_up)
{
    size_t latest = links->out.count;
    uint64_t most = 0;
    for (size_t i = 0; i < links->out.count; i++) {
        const cebus_copy *copy = &links->out.items[i];
        if (given_up[copy->value] || lateness(links, copy) <= most)
            continue;
        most = lateness(links, copy);
        latest = i;
    }
    return latest;
}

static size_t find(const cebus_links *links, uint32_t value)
{
    size_t i = 0;
    while (links->out.items[i].value != value)
        i++;
    return i;
}

/** The last copy that ran before copy i, with the link busy ever since, and is wanted later; i
 * itself: there is none. */
static size_t find_before(const cebus_links *links, size_t i)
{
    const cebus_copy *items = links->out.items;
    const uint64_t first = wanted(links, items[i].value);
    size_t before = i;
    while (before > 0 && items[before - 1].when.to == items[before].when.from) {
        before--;
        if (wanted(links, items[before].value) > first)
            return before;
    }
    return i;
}

/** Copies that run before that of a value are held, one after the other: while the link has others
 * that may leave it takes those. *out_better: calls wait less. Else all is as it was. */
static bool hold_for(cebus_links *links, uint32_t value, bool *out_better)
{
    struct {
        uint32_t value, former;
    } held[MOST_HELD];
    size_t n = 0, late = find(links, value), before;
    const uint64_t stall = links->streams.stall_ns;
    bool ok = true;
    *out_better = false;
    while (n < MOST_HELD && ok && !*out_better && (before = find_before(links, late)) < late) {
        uint32_t other = links->out.items[before].value;
        held[n].value = other;
        held[n++].former = links->held[other];
        links->held[other] = links->out.items[late].behind;
        ok = cebus_links_run(links);
        *out_better = ok && links->streams.stall_ns < stall;
        late = ok ? find(links, value) : late;
    }
    if (!ok || *out_better || n == 0)
        return ok;
    while (n-- > 0)
        links->held[held[n].value] = held[n].former;
    return cebus_links_run(links);
}

static bool settle(cebus_links *links, bool *given_up)
{
    bool ok = true, better;
    for (size_t runs = 0; runs < MOST_RUNS / MOST_HELD && ok; runs += !better) {
        size_t late = find_latest(links, given_up);
        if (late == links->out.count)
            break;
        uint32_t value = links->out.items[late].value;
        ok = hold_for(links, value, &better);
        given_up[value] = !better;
    }
    return ok;
}

bool cebus_yielding_settle(cebus_links *links)
{
    size_t n = links->sequence->iteration->n_values;
    if (links->streams.stall_ns == 0 || links->out.count == 0)
        return true;
    bool *given_up = cebus_pool_alloc(links->pool, n * sizeof *given_up);
    links->held = cebus_pool_alloc(links->pool, n * sizeof *links->held);
    bool ok = given_up != NULL && links->held != NULL;
    if (ok) {
        memset(given_up, 0, n * sizeof *given_up);
        memset(links->held, 0xff, n * sizeof *links->held);
        ok = settle(links, given_up);
    }
    cebus_pool_free_object(links->pool, given_up, n * sizeof *given_up);
    return ok;
}

void cebus_yielding_clear(cebus_links *links)
{
    size_t n = links->sequence->iteration->n_values;
    cebus_pool_free_object(links->pool, links->held, n * sizeof *links->held);
    links->held = NULL;
}
