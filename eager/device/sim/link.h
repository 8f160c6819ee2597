/**
 * link.h: the link between device and host, shared by the copies of all streams.
 *
 * The link keeps what is booked: a step function of time, for either direction the bytes/s in use.
 * A copy takes, from its start on, whatever is left at each instant: at most the rate of its
 * direction less what copies booked before it use, and at most the rate of both directions together
 * less what all of them use. So copies that are asked for first run at full speed and what comes
 * later gets the rest; together they never move more than the link can. It is the rule of first
 * come first served instead of equal shares: a booked copy's end never changes, so that times
 * already answered stay true, and every run of a program gives the same ones.
 */
#ifndef CEBUS_EAGER_DEVICE_SIM_LINK_H
#define CEBUS_EAGER_DEVICE_SIM_LINK_H

#include <cebus/base.h>

typedef enum cebus_link_direction {
    CEBUS_LINK_OUT, /**< device to host */
    CEBUS_LINK_IN,
    CEBUS_LINK_DIRECTIONS,
} cebus_link_direction;

/** From `at` to the next step these rates are in use. */
typedef struct cebus_link_step {
    uint64_t at;
    uint64_t used[CEBUS_LINK_DIRECTIONS];
} cebus_link_step;

typedef struct cebus_link {
    uint64_t rate[CEBUS_LINK_DIRECTIONS]; /**< bytes/s; 0: there is no link */
    uint64_t both;
    cebus_link_step *steps; /**< by time; nothing is in use before the first, or from the last on */
    size_t count, capacity; /**< two for each copy that has not ended suffice */
} cebus_link;

/**
 * Books a copy that may start at `start`, and answers when it ends. `now`: no copy will ever start
 * earlier, so what ended before is forgotten. Without a link a copy takes no time.
 */
uint64_t cebus_link_book(cebus_link *link, cebus_link_direction direction, uint64_t now,
                         uint64_t start, uint64_t bytes);

#endif
