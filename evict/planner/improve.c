#include "evict/planner/improve.h"

#include <math.h>
#include <string.h>

#include "evict/planner/prune.h"

#define NONE CEBUS_SEQUENCE_NONE

enum {
    MOST_RUINED = 40
};

typedef struct ruin {
    cebus_greedy *greedy;
    cebus_sequence *sequence;
    uint64_t random;
    uint32_t chosen[MOST_RUINED];
    uint32_t n_chosen;
} ruin;

static uint32_t below(ruin *r, uint32_t n)
{
    r->random = r->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)((r->random >> 33) % n);
}

/** Any replay; NONE: by bad luck, none was met. */
static uint32_t any_replay(ruin *r)
{
    uint32_t first = cebus_sequence_end(r->sequence) + 1;
    uint32_t n = (uint32_t)r->sequence->n_instances - first;
    for (int tries = 0; tries < 64 && n > 0; tries++) {
        uint32_t i = first + below(r, n);
        uint32_t call = r->sequence->instances[i].call;
        if (call != NONE && !cebus_sequence_is_swap(r->sequence, call))
            return i;
    }
    return NONE;
}

/** The dearest of a few. */
static uint32_t dear_replay(ruin *r)
{
    uint32_t best = any_replay(r);
    for (int i = 0; i < 3 && best != NONE; i++) {
        uint32_t one = any_replay(r);
        const cebus_iteration_call *calls = r->sequence->iteration->calls;
        if (one != NONE && calls[r->sequence->instances[one].call].cost_ns >
                               calls[r->sequence->instances[best].call].cost_ns)
            best = one;
    }
    return best;
}

/** Those around one in the order in which they run. */
static void choose_window(ruin *r, uint32_t n)
{
    uint32_t i = any_replay(r);
    for (uint32_t looked = 0; i != NONE && i != CEBUS_TRACK_NONE && r->n_chosen < n; looked++) {
        if (cebus_sequence_is_replay(r->sequence, i) &&
            !cebus_sequence_is_swap(r->sequence, r->sequence->instances[i].call))
            r->chosen[r->n_chosen++] = i;
        else if (looked > 40 * n)
            break;
        i = cebus_track_next(&r->sequence->track, i);
    }
}

/** Those of calls that the program makes near that of one. */
static void choose_neighbours(ruin *r, uint32_t n)
{
    uint32_t middle = dear_replay(r), first = cebus_sequence_end(r->sequence) + 1;
    if (middle == NONE)
        return;
    uint32_t call = r->sequence->instances[middle].call;
    uint32_t reach = 2 + below(r, 4 * n);
    r->chosen[r->n_chosen++] = middle;
    for (uint32_t i = first; i < r->sequence->n_instances && r->n_chosen < n; i++) {
        uint32_t other = r->sequence->instances[i].call;
        if (i != middle && other < r->sequence->iteration->n_calls && other + reach > call &&
            other < call + reach)
            r->chosen[r->n_chosen++] = i;
    }
}

static void choose_any(ruin *r, uint32_t n)
{
    while (r->n_chosen < n)
        r->chosen[r->n_chosen++] = dear_replay(r);
}

static void bar(ruin *r, uint32_t call)
{
    uint32_t count;
    const uint32_t *values = cebus_sequence_makes(r->sequence, call, &count);
    for (uint32_t i = 0; i < count; i++)
        r->greedy->barred[values[i]] = r->greedy->noise;
}

static bool remove_chosen(ruin *r)
{
    bool ok = true;
    for (uint32_t i = 0; i < r->n_chosen && ok; i++) {
        uint32_t instance = r->chosen[i];
        uint32_t call = instance != NONE ? r->sequence->instances[instance].call : NONE;
        if (call == NONE || !cebus_sequence_can_remove(r->sequence, instance))
            continue;
        if (below(r, 3) == 0)
            bar(r, call);
        ok = cebus_sequence_remove_all(r->sequence, instance);
    }
    return ok;
}

static void choose(ruin *r)
{
    uint32_t n = 1 + below(r, below(r, 4) == 0 ? MOST_RUINED : 10);
    r->n_chosen = 0;
    switch (below(r, 4)) {
    case 0:
    case 1:
        choose_window(r, n);
        break;
    case 2:
        choose_neighbours(r, n);
        break;
    default:
        choose_any(r, n);
    }
}

/** One ruin, one repair. */
static bool step(ruin *r, double limit, double theta)
{
    cebus_sequence *sequence = r->sequence;
    uint64_t cost = sequence->cost;
    cebus_greedy_end end = CEBUS_GREEDY_FITS;
    cebus_sequence_keep(sequence);
    r->greedy->noise++;
    choose(r);
    if (!remove_chosen(r))
        return false;
    theta *= exp2((double)below(r, 512) / 64 - 5);
    if (cebus_track_exceeds(&sequence->track, 0, UINT64_MAX, limit))
        end = cebus_greedy_repair(r->greedy, limit, theta, cost);
    r->greedy->closure.spent += 4;
    if (end == CEBUS_GREEDY_NO_HOST_MEMORY)
        return false;
    if (end == CEBUS_GREEDY_FITS && sequence->cost <= cost + cost / 64 &&
        !cebus_prune_all(sequence, limit, sequence->pool))
        return false;
    return (end == CEBUS_GREEDY_FITS && sequence->cost <= cost) || cebus_sequence_undo(sequence, 0);
}

bool cebus_improve_run(cebus_greedy *greedy, double limit, double theta, uint64_t spent)
{
    ruin r = {.greedy = greedy, .sequence = greedy->sequence, .random = 1};
    bool ok = true;
    greedy->noise = 0;
    memset(greedy->barred, 0, greedy->sequence->iteration->n_values * sizeof *greedy->barred);
    while (greedy->closure.spent < spent && r.sequence->n_replays > 0 && ok &&
           !cebus_greedy_is_stopped(greedy))
        ok = step(&r, limit, theta);
    greedy->noise = 0;
    return ok;
}
