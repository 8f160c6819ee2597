#include "evict/planner/share.h"

#include "evict/planner/weave.h"
#include "evict/timeline/presence.h"
#include "evict/timeline/timeline.h"

/** Values of less than this part of the memory stay. */
#define SMALLEST_PART 4000

/** What is too small to matter, or read by the host meanwhile, stays first of all. */
static uint32_t class_of(const cebus_sharing *s, uint32_t v)
{
    const cebus_iteration_value *value = &s->iteration->values[v];
    if (value->bytes < cebus_plan_target(s->terms) / SMALLEST_PART || value->read > 0)
        return CEBUS_SHARE_OFTEN + 1;
    uint32_t n = cebus_runs_n_uses(s->runs, v);
    return n < CEBUS_SHARE_OFTEN ? n : CEBUS_SHARE_OFTEN;
}

bool cebus_share_may_stream(const cebus_sharing *sharing, uint32_t value)
{
    return sharing->iteration->values[value].persistent &&
           class_of(sharing, value) <= CEBUS_SHARE_OFTEN;
}

static uint64_t class_bytes(const cebus_sharing *s, uint32_t class)
{
    uint64_t bytes = 0;
    for (uint32_t v = 0; v < s->iteration->n_values; v++) {
        if (s->iteration->values[v].persistent && class_of(s, v) == class)
            bytes += s->iteration->values[v].bytes;
    }
    return bytes;
}

/** Of a class so many bytes stay, evenly over the order of first uses: so that the link has
 * something to bring all the time. */
static void spread(const cebus_sharing *s, uint32_t class, uint64_t stay, bool *streams)
{
    double share = (double)stay / ((double)class_bytes(s, class) + 1), owed = 0;
    for (uint32_t v = 0; v < s->iteration->n_values; v++) {
        uint64_t bytes = s->iteration->values[v].bytes;
        if (!s->iteration->values[v].persistent || class_of(s, v) != class)
            continue;
        owed += share * (double)bytes;
        if (bytes > stay || owed < (double)bytes / 2)
            continue;
        streams[v] = false;
        owed -= (double)bytes;
        stay -= bytes;
    }
}

void cebus_share_choose(const cebus_sharing *sharing, uint64_t stay, bool *streams)
{
    for (size_t v = 0; v < sharing->iteration->n_values; v++)
        streams[v] = sharing->iteration->values[v].persistent;
    for (uint32_t class = CEBUS_SHARE_OFTEN + 1; class > 0; class --) {
        uint64_t all = class_bytes(sharing, class), part = all < stay ? all : stay;
        spread(sharing, class, part, streams);
        stay -= part;
    }
}

bool cebus_share_time(const cebus_sharing *sharing, cebus_plan *plan, uint64_t *out_ns)
{
    cebus_timeline timeline;
    cebus_timeline_terms with = {.budget = sharing->terms->budget,
                                 .out_rate = sharing->terms->out_rate,
                                 .in_rate = sharing->terms->in_rate,
                                 .latency_ns = sharing->terms->latency_ns,
                                 .ahead = true};
    if (!cebus_timeline_run(sharing->iteration, plan, &with, sharing->pool, &timeline))
        return false;
    plan->wait_ns = timeline.stall_ns;
    *out_ns = timeline.total_ns;
    return true;
}

/** Bytes that stay, and those that stream. */
static void count_bytes(const cebus_sharing *s, const bool *streams, uint64_t *stay, uint64_t *rest)
{
    *stay = *rest = 0;
    for (size_t v = 0; v < s->iteration->n_values; v++) {
        if (s->iteration->values[v].persistent)
            *(streams[v] ? rest : stay) += s->iteration->values[v].bytes;
    }
}

bool cebus_share_plan(const cebus_sharing *sharing, const cebus_share *share, cebus_plan *out,
                      uint64_t *out_ns)
{
    cebus_presences presences;
    uint64_t stay, rest;
    const cebus_plan_terms *terms = sharing->terms;
    const uint64_t room = cebus_plan_target(terms);
    *out_ns = UINT64_MAX;
    count_bytes(sharing, share->streams, &stay, &rest);
    if (rest > terms->host || stay + cebus_runs_peak(sharing->runs) >= room)
        return true;
    cebus_presence_terms with = {.streams = share->streams,
                                 .room = room - stay,
                                 .spared = share->spared,
                                 .ahead = share->ahead,
                                 .out_rate = terms->out_rate,
                                 .in_rate = terms->in_rate,
                                 .latency_ns = terms->latency_ns,
                                 .turn = share->turn};
    cebus_presence_verdict verdict = cebus_presences_find(sharing->runs, &with, &presences);
    if (verdict != CEBUS_PRESENCE_FITS)
        return verdict == CEBUS_PRESENCE_FULL;
    bool ok = cebus_weave(sharing->runs, &presences, share->streams, sharing->others, out) &&
              cebus_share_time(sharing, out, out_ns);
    cebus_presences_deinit(&presences);
    return ok;
}
