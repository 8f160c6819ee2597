/**
 * walk.h: a timeline's way through an iteration (timeline.c), and the room it finds on it: who has
 * bytes, since when others are free, and who goes for whom.
 */
#ifndef CEBUS_EVICT_TIMELINE_WALK_H
#define CEBUS_EVICT_TIMELINE_WALK_H

#include "evict/placement.h"
#include "evict/timeline/ground.h"
#include "evict/timeline/holes.h"
#include "evict/timeline/occupancy.h"
#include "evict/timeline/streams.h"
#include "evict/timeline/timeline.h"

/** Of a value. */
typedef struct cebus_walk_state {
    uint64_t ready;   /**< when its bytes are there */
    uint64_t last;    /**< when compute is through with them */
    uint64_t out_end; /**< of the copy to the host */
    bool resident, on_host, stays;
    bool busy;      /**< the call at hand reads it */
    size_t back;    /**< behind the action that was to bring it back last: it stays from there on */
    uint64_t place; /**< where it lies; ANYWHERE: it is not known */
    uint64_t spot;  /**< where it is to come next */
} cebus_walk_state;

typedef struct cebus_walk {
    const cebus_iteration *iteration;
    const cebus_plan *plan;
    const cebus_timeline_terms *terms;
    cebus_timeline *out;
    cebus_walk_state *states;
    uint32_t *released; /**< values by when they are released */
    uint32_t *stack;    /**< values to be made again */
    uint32_t *leaving;  /**< actions whose values may leave, or left, and are not to be back yet */
    cebus_holes holes;
    size_t n_released, n_leaving;
    size_t next;       /**< actions before it were due */
    size_t left, came; /**< actions before these have left, or come, or never will */
    cebus_streams streams;
    uint32_t at;
    const cebus_placement *placement; /**< NULL: memory is a number */
    cebus_ground ground;
    bool failed;   /**< no host memory */
    bool shuttles; /**< some persistent value is away as the iteration begins */
} cebus_walk;

/** Bytes are free since then. */
void cebus_walk_add_hole(cebus_walk *w, uint64_t since, uint64_t bytes);
/** What has a place is there (CEBUS_GROUND_TAKEN), or has left it at a time. */
void cebus_walk_settle(cebus_walk *w, uint64_t place, uint64_t bytes, uint64_t since);
/** A value goes: its bytes are free since then, but not before a copy of them is done, of what is
 * let go, too. */
void cebus_walk_go(cebus_walk *w, uint32_t v, uint64_t since);
/** It is copied to the host, if it is not there. */
void cebus_walk_copy_out(cebus_walk *w, uint32_t v);
/** The first value that may leave does; false: there is none. */
bool cebus_walk_yield(cebus_walk *w);

/** Who waits to leave goes from a place that others are to have. False: somebody stays there. */
bool cebus_walk_clear(cebus_walk *w, uint64_t place, uint64_t bytes);
/** Takes bytes at a place, if there is one and that can be had; else anywhere, and *place says so.
 * Answers when all of them are free. What does not fit at all goes over the budget. */
uint64_t cebus_walk_take_at(cebus_walk *w, uint64_t *place, uint64_t bytes);
/** The same for a value, at its spot. */
uint64_t cebus_walk_take_for(cebus_walk *w, uint32_t v);

#endif
