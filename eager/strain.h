/**
 * strain.h: compares the time that rebuilding takes with that of the program's own calls. It counts
 * from the last calm iteration on, in which rebuilding took little: so a budget that falls after
 * many calm iterations is noticed as soon as one that falls after the first.
 */
#ifndef CEBUS_EAGER_STRAIN_H
#define CEBUS_EAGER_STRAIN_H

#include "eager/runtime.h"

/** Where rebuilding took no more than 1 / part of the time there was no strain: no rule begins with
 * less (rebuild/headroom.h). */
#define CEBUS_STRAIN_CALM 2

/** ns that rebuilding and the program's own calls took. */
static inline uint64_t cebus_strain_rebuilt(const cebus_runtime *rt)
{
    return rt->stats.recompute_ns - rt->strain.rebuilt_ns;
}

static inline uint64_t cebus_strain_ran(const cebus_runtime *rt)
{
    return rt->stats.compute_ns - rt->strain.ran_ns;
}

/** Whether rebuilding took more than times / part of the program's own time. */
static inline bool cebus_strain_exceeds(const cebus_runtime *rt, uint64_t times, uint64_t part)
{
    return part * cebus_strain_rebuilt(rt) > times * cebus_strain_ran(rt);
}

/** Whether it took longer than the program itself, at some time since the last calm iteration: what
 * saves time then must not end by the time that it saves. */
static inline bool cebus_strain_holds(cebus_runtime *rt)
{
    rt->strain.holds |= cebus_strain_exceeds(rt, 1, 1);
    return rt->strain.holds;
}

/** Where an iteration ends. */
static inline void cebus_strain_end(cebus_runtime *rt)
{
    if (!cebus_strain_exceeds(rt, 1, CEBUS_STRAIN_CALM)) {
        rt->strain.rebuilt_ns = rt->strain.rebuilt_until_ns;
        rt->strain.ran_ns = rt->strain.ran_until_ns;
        rt->strain.holds = false;
    }
    rt->strain.rebuilt_until_ns = rt->stats.recompute_ns;
    rt->strain.ran_until_ns = rt->stats.compute_ns;
}

/** For each call of the program, once it ran: as long as there was no mark, iterations end where
 * the program begins to rise to another turn. */
static inline void cebus_strain_count(cebus_runtime *rt)
{
    if (rt->strain.rises == rt->lineage.turn.rises || rt->stats.iterations > 0)
        return;
    rt->strain.rises = rt->lineage.turn.rises;
    cebus_strain_end(rt);
}

#endif
