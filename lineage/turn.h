/**
 * turn.h: where the program turned from its forward to its backward: the call at which it held
 * most bytes. A forward keeps what it makes, a backward lets go of it. So what was made before the
 * turn is read in the opposite order after it, and what is made after it are gradients.
 *
 *     bytes held        ____
 *                  ____|    |____
 *             ____|              |____      the turn is at the last step up
 *             forward        backward
 *
 * A backward may reach the most again for a moment, by bytes that come and go; that is not another
 * turn (cebus_turn_goes_on()). Once half of these bytes are let go, it is over: the next rise, of
 * the next iteration, has a turn of its own.
 *
 * What waits on the way back is counted, too: leaves, which are always there, and late versions,
 * which were made since the turn.
 */
#ifndef CEBUS_LINEAGE_TURN_H
#define CEBUS_LINEAGE_TURN_H

#include <stdbool.h>
#include <stdint.h>

typedef struct cebus_turn {
    uint64_t held;   /**< bytes of the versions that somebody holds */
    uint64_t made;   /**< of them: of those that a record can make again */
    uint64_t late;   /**< of these: of those that calls past the turn made */
    uint64_t most;   /**< what it takes to be another turn; at most twice what is held */
    uint64_t begun;  /**< calls made when the rise to the turn began */
    uint64_t serial; /**< of the call at the turn */
    uint64_t rises;  /**< that led to another turn so far */
    uint64_t waited; /**< the most that waited since the turn, or since somebody looked */
} cebus_turn;

/** So many calls, and this part of those of the rise, may pass until it goes on. */
#define CEBUS_TURN_PAUSE 8
#define CEBUS_TURN_PAUSE_PART 16
/** After more of them it takes this part of the bytes beyond the most. */
#define CEBUS_TURN_STEP 12

/** Whether the rise goes on: bytes that come and go in a backward may reach the most again. */
static inline bool cebus_turn_goes_on(const cebus_turn *turn, uint64_t made_calls)
{
    uint64_t rise = turn->serial - turn->begun, pause = made_calls + 1 - turn->serial;
    return turn->serial < turn->begun || pause <= CEBUS_TURN_PAUSE + rise / CEBUS_TURN_PAUSE_PART ||
           turn->held - turn->most >= turn->most / CEBUS_TURN_STEP;
}

/** Bytes that wait now. */
static inline uint64_t cebus_turn_waits(const cebus_turn *turn)
{
    return turn->held - turn->made + turn->late;
}

/** Somebody holds so many bytes more, after so many calls: the next one makes them. */
static inline void cebus_turn_hold(cebus_turn *turn, uint64_t bytes, uint64_t made_calls)
{
    turn->held += bytes;
    if (turn->held >= turn->most && cebus_turn_goes_on(turn, made_calls)) {
        turn->rises += turn->serial < turn->begun;
        turn->most = turn->held;
        turn->serial = made_calls + 1;
        turn->waited = turn->late = 0;
    }
}

/** A record, of the call with that serial, makes so many of the bytes that somebody holds. */
static inline void cebus_turn_make(cebus_turn *turn, uint64_t bytes, uint64_t serial)
{
    turn->made += bytes;
    turn->late += serial > turn->serial ? bytes : 0;
    uint64_t waits = cebus_turn_waits(turn);
    turn->waited = waits > turn->waited ? waits : turn->waited;
}

/** Nobody holds them any more, or nothing can make them. */
static inline void cebus_turn_unmake(cebus_turn *turn, uint64_t bytes, uint64_t serial)
{
    turn->made -= bytes;
    turn->late -= serial > turn->serial ? bytes : 0;
}

static inline void cebus_turn_let_go(cebus_turn *turn, uint64_t bytes, uint64_t made_calls)
{
    turn->held -= bytes;
    if (turn->held >= turn->most / 2)
        return;
    turn->most = 2 * turn->held;
    turn->begun = made_calls;
}

#endif
