#include "eager/device/sim/link.h"

#include <string.h>

#include "eager/device/sim/duration.h"
#include "layout/number.h"

/** Forgets the steps that end by `now`. */
static void prune(cebus_link *link, uint64_t now)
{
    size_t gone = 0;
    while (gone + 1 < link->count && link->steps[gone + 1].at <= now)
        gone++;
    if (gone + 1 == link->count && link->steps[gone].at <= now)
        gone++;
    if (gone == 0)
        return;
    link->count -= gone;
    memmove(link->steps, link->steps + gone, link->count * sizeof *link->steps);
}

/** Index of the step that begins at `at`, put in where none does. */
static size_t split(cebus_link *link, uint64_t at)
{
    size_t i = link->count;
    while (i > 0 && link->steps[i - 1].at > at)
        i--;
    if (i > 0 && link->steps[i - 1].at == at)
        return i - 1;
    cebus_link_step fresh = i > 0 ? link->steps[i - 1] : (cebus_link_step){.at = 0};
    fresh.at = at;
    memmove(link->steps + i + 1, link->steps + i, (link->count - i) * sizeof *link->steps);
    link->steps[i] = fresh;
    link->count++;
    return i;
}

/** What a copy may use during a step. */
static uint64_t left(const cebus_link *link, const cebus_link_step *step,
                     cebus_link_direction direction)
{
    uint64_t all = step->used[CEBUS_LINK_OUT] + step->used[CEBUS_LINK_IN];
    return cebus_min_u64(link->rate[direction] - step->used[direction], link->both - all);
}

uint64_t cebus_link_book(cebus_link *link, cebus_link_direction direction, uint64_t now,
                         uint64_t start, uint64_t bytes)
{
    if (bytes == 0 || link->rate[direction] == 0)
        return start;
    prune(link, now);
    size_t i = split(link, start);
    for (;; i++) {
        cebus_link_step *step = &link->steps[i];
        uint64_t rate = left(link, step, direction);
        uint64_t end = rate > 0 ? cebus_ns_add(step->at, cebus_ns_of(bytes, rate)) : CEBUS_NS_MAX;
        if (i + 1 == link->count || end <= link->steps[i + 1].at) {
            split(link, end);
            link->steps[i].used[direction] += rate;
            return end;
        }
        uint64_t moved = cebus_amount_in(link->steps[i + 1].at - step->at, rate);
        bytes -= cebus_min_u64(moved, bytes);
        step->used[direction] += rate;
    }
}
