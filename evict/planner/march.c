#include "evict/planner/march.h"

#include <math.h>

/** What is smaller than this part of the bytes that are too many is looked at last. */
#define SMALL 32
/** Chains that do not fit where they were weighed to, beyond which an instance is given up. */
#define MOST_FAILED 16

/** A replay that makes a value again which is there already, once it was made here. *out: none. */
static bool find_later(const cebus_sequence *sequence, uint32_t value, uint32_t made, uint32_t *out)
{
    const cebus_life *life = &sequence->lives[value];
    uint32_t i = cebus_sequence_find(sequence, value, cebus_sequence_key(sequence, made)) + 1;
    while (i < life->count && cebus_event_kind_of(life->events[i]) == CEBUS_EVENT_USE)
        i++;
    if (i == life->count || cebus_event_kind_of(life->events[i]) != CEBUS_EVENT_PRODUCE)
        return false;
    *out = cebus_event_instance(life->events[i]);
    return cebus_sequence_is_replay(sequence, *out) &&
           !cebus_sequence_is_swap(sequence, sequence->instances[*out].call) &&
           cebus_sequence_can_remove(sequence, *out);
}

/** Whether something makes the same again as one of the instances from one to another. */
static bool would_merge(const cebus_sequence *sequence, uint32_t first, uint32_t end)
{
    bool found = false;
    for (uint32_t i = first; i != end && !found; i = cebus_track_next(&sequence->track, i)) {
        uint32_t count, later;
        const uint32_t call = sequence->instances[i].call;
        const uint32_t *values = cebus_sequence_makes(sequence, call, &count);
        for (uint32_t j = 0; j < count && !found; j++)
            found = cebus_sequence_remakes(sequence, call, values[j]) &&
                    find_later(sequence, values[j], i, &later);
    }
    return found;
}

/** Takes out what makes the same again as a replay, with what does so for it alone. */
static bool merge(cebus_sequence *sequence, uint32_t replay)
{
    uint32_t count, later, call = sequence->instances[replay].call;
    const uint32_t *values = cebus_sequence_makes(sequence, call, &count);
    bool ok = true;
    for (uint32_t i = 0; i < count && ok; i++) {
        if (cebus_sequence_remakes(sequence, call, values[i]) &&
            find_later(sequence, values[i], replay, &later))
            ok = cebus_sequence_remove_all(sequence, later);
    }
    return ok;
}

/** Whether an instance was taken out: a number that is not in use. */
static bool is_gone(const cebus_sequence *sequence, uint32_t instance)
{
    return cebus_sequence_is_replay(sequence, instance) &&
           sequence->instances[instance].call == CEBUS_SEQUENCE_NONE;
}

/** The same for all from one instance to another, until one of the two goes as well. */
static bool merge_all(cebus_sequence *sequence, uint32_t first, uint32_t end)
{
    bool ok = true;
    for (uint32_t i = first; ok && i != end && !is_gone(sequence, i) && !is_gone(sequence, end);) {
        uint32_t next = cebus_track_next(&sequence->track, i);
        ok = merge(sequence, i);
        i = next;
    }
    return ok;
}

/** Puts the chain in the closure into the sequence; not, if what runs before an instance fits no
 * more. False without host memory. */
static bool take(cebus_greedy *greedy, uint32_t instance, bool merges, cebus_march_course *course,
                 bool *out_taken)
{
    cebus_sequence *sequence = greedy->sequence;
    const cebus_closure *closure = &greedy->closure;
    uint32_t first = closure->before, replay;
    bool ok = true;
    for (uint32_t i = 0; i < closure->n_calls && ok; i++) {
        ok = cebus_sequence_insert(sequence, closure->calls[i], closure->before, &replay);
        first = ok && i == 0 ? replay : first;
    }
    *out_taken = ok && !cebus_track_exceeds(&sequence->track, 0,
                                            cebus_sequence_key(sequence, instance), closure->limit);
    if (ok && !*out_taken)
        return cebus_sequence_undo(sequence, 0);
    course->meets = course->meets || (ok && would_merge(sequence, first, closure->before));
    ok = ok && (!merges || !course->meets || merge_all(sequence, first, closure->before));
    cebus_sequence_keep(sequence);
    return ok;
}

static double excess_at(const cebus_greedy *greedy, uint32_t instance)
{
    return cebus_track_level(&greedy->sequence->track, instance) - greedy->closure.limit;
}

/** What goes next where an instance runs, small values only if no other can. */
static cebus_greedy_end choose(cebus_greedy *greedy, uint32_t instance, uint64_t most_ns)
{
    bool found = false;
    for (int tries = 0; tries < 3 && !found; tries++) {
        if (tries > 0) {
            /* What was taken since may have made others cheaper. */
            greedy->least = tries > 1 ? 1 : fmax(1, excess_at(greedy, instance) / SMALL);
            greedy->picks.count = 0;
            if (!cebus_greedy_note_at(greedy, instance))
                return CEBUS_GREEDY_NO_HOST_MEMORY;
        }
        if (!cebus_greedy_best_at(greedy, instance, most_ns, &found))
            return CEBUS_GREEDY_NO_HOST_MEMORY;
    }
    return found ? CEBUS_GREEDY_FITS : CEBUS_GREEDY_HOPELESS;
}

/** What goes by way of the host, if no chain that was noted is cheaper. Where nothing can go by it
 * any chain will do. */
static cebus_greedy_end choose_way(cebus_greedy *greedy, cebus_detours *detours, uint32_t instance,
                                   uint64_t most_ns, bool *out_by_host)
{
    cebus_detour detour;
    bool found;
    if (!cebus_detours_find(detours, instance, &detour))
        return CEBUS_GREEDY_NO_HOST_MEMORY;
    *out_by_host = false;
    if (detour.value == CEBUS_SEQUENCE_NONE)
        return choose(greedy, instance, most_ns);
    greedy->most_score = detour.score;
    bool ok = cebus_greedy_best_at(greedy, instance, most_ns, &found);
    greedy->most_score = INFINITY;
    *out_by_host = ok && !found;
    if (*out_by_host) {
        ok = cebus_detours_put(detours, &detour, instance);
        cebus_sequence_keep(greedy->sequence);
    }
    return ok ? CEBUS_GREEDY_FITS : CEBUS_GREEDY_NO_HOST_MEMORY;
}

/** Whether it takes too long to come past the middle of the program. */
static bool is_late(const cebus_greedy *greedy, const cebus_march *how, uint32_t instance)
{
    const cebus_sequence *sequence = greedy->sequence;
    return how->middle > 0 && greedy->closure.spent > how->middle &&
           sequence->instances[instance].gap < sequence->iteration->n_calls / 2;
}

/** Until an instance fits, or is no longer needed. */
static cebus_greedy_end clear(cebus_greedy *greedy, cebus_detours *detours, uint32_t instance,
                              const cebus_march *how, uint64_t most_ns, cebus_march_course *course)
{
    cebus_greedy_end end = CEBUS_GREEDY_FITS;
    int failed = 0;
    if (detours == NULL)
        greedy->picks.count = 0;
    while (end == CEBUS_GREEDY_FITS && !is_gone(greedy->sequence, instance) &&
           excess_at(greedy, instance) > 0) {
        bool done = false, taken;
        greedy->closure.settled = cebus_sequence_key(greedy->sequence, instance);
        if (cebus_greedy_is_astray(greedy, most_ns) || failed > MOST_FAILED ||
            is_late(greedy, how, instance))
            return CEBUS_GREEDY_STUCK;
        end = detours != NULL ? choose_way(greedy, detours, instance, most_ns, &done)
                              : choose(greedy, instance, most_ns);
        if (end != CEBUS_GREEDY_FITS || done)
            continue;
        if (!take(greedy, instance, how->merges, course, &taken))
            end = CEBUS_GREEDY_NO_HOST_MEMORY;
        failed += !taken;
    }
    return end;
}

/** The next instance, or, where the one before is gone, the first since the program's last call:
 * what fitted still does. */
static uint32_t next_of(const cebus_sequence *sequence, uint32_t instance)
{
    uint32_t gap = sequence->instances[instance].gap;
    if (is_gone(sequence, instance))
        instance = gap > 0 ? gap - 1 : cebus_sequence_start(sequence);
    return cebus_track_next(&sequence->track, instance);
}

static double area_over(const cebus_greedy *greedy, double limit)
{
    const cebus_track *track = &greedy->sequence->track;
    return -cebus_track_area(track, 0, UINT64_MAX, limit, 0, -cebus_track_peak(track, NULL));
}

static void set_up(cebus_greedy *greedy, bool on, bool far, uint32_t noise)
{
    cebus_greedy_hurry(greedy, false, on);
    cebus_closure_reach_far(&greedy->closure, far);
    /* What a chain puts over the limit is dealt with when it is met. */
    greedy->closure.caution = on ? 0 : 1;
    greedy->closure.settled = 0;
    greedy->marches = on;
    greedy->noise = noise;
}

/** What is there from the start, or a call reads or makes, may go behind it, either way. */
static bool pass(cebus_greedy *greedy, cebus_detours *detours, uint32_t instance)
{
    const cebus_sequence *sequence = greedy->sequence;
    const uint32_t call = sequence->instances[instance].call;
    const uint64_t key = cebus_sequence_key(sequence, instance);
    uint32_t n_reads = 0, n_made = 0;
    const uint32_t *reads = NULL, *made = NULL;
    if (call != CEBUS_SEQUENCE_NONE) {
        reads = cebus_sequence_reads(sequence, call, &n_reads);
        made = cebus_sequence_makes(sequence, call, &n_made);
    } else if (instance == cebus_sequence_start(sequence)) {
        n_reads = (uint32_t)sequence->iteration->n_values;
    }
    bool ok = true;
    for (uint32_t i = 0; i < n_reads + n_made && ok; i++) {
        const uint32_t v = i >= n_reads ? made[i - n_reads] : reads != NULL ? reads[i] : i;
        ok = sequence->lives[v].count == 0 || (cebus_detours_note_behind(detours, v, key) &&
                                               cebus_greedy_note_behind(greedy, v, key));
    }
    greedy->closure.spent++;
    return ok;
}

static cebus_greedy_end march(cebus_greedy *greedy, const cebus_march *how, double limit,
                              uint64_t most_ns, cebus_detours *detours, cebus_march_course *course)
{
    const cebus_sequence *sequence = greedy->sequence;
    cebus_greedy_end end = CEBUS_GREEDY_FITS;
    const double area = fmax(area_over(greedy, limit), 1);
    const double time = (double)cebus_iteration_cost(sequence->iteration);
    cebus_greedy_begin(greedy, limit, how->price > 0 ? how->price * time / area : 0);
    set_up(greedy, true, detours == NULL, how->noise);
    uint32_t past = sequence->iteration->past;
    uint32_t i = past > 0 ? past : cebus_sequence_start(sequence);
    for (; i != CEBUS_TRACK_NONE && end == CEBUS_GREEDY_FITS; i = next_of(sequence, i)) {
        if (excess_at(greedy, i) > 0)
            end = clear(greedy, detours, i, how, most_ns, course);
        if (detours != NULL && end == CEBUS_GREEDY_FITS && !is_gone(sequence, i) &&
            !pass(greedy, detours, i))
            end = CEBUS_GREEDY_NO_HOST_MEMORY;
        course->calls = sequence->instances[i].gap;
    }
    set_up(greedy, false, false, 0);
    greedy->closure.theta = greedy->dearest; /* who goes on from here pays no infinite price */
    return end;
}

cebus_greedy_end cebus_march_run(cebus_greedy *greedy, const cebus_march *how, double limit,
                                 uint64_t most_ns, cebus_march_course *out_course)
{
    cebus_detours detours;
    *out_course = (cebus_march_course){.calls = 0};
    if (how->link <= 0)
        return march(greedy, how, limit, most_ns, NULL, out_course);
    cebus_detours_init(&detours, greedy->sequence, greedy->terms, limit, how->link);
    greedy->picks.count = 0;
    cebus_greedy_end end = march(greedy, how, limit, most_ns, &detours, out_course);
    cebus_detours_deinit(&detours);
    return end;
}
