/**
 * clock.h: virtual time: a host that asks for work, and three streams that do it.
 *
 *     host      |ask|ask|ask|ask|...           each takes issue_ns, wherever the streams are
 *     compute       |--- a ---|- b -|  |- c -| in order; c waited for the copy: the gap is a stall
 *     copy in           |------- p -------|    while compute goes on
 *
 * Work starts when its stream is free, the host has asked for it, and all that its stream waits for
 * has ended. The host may be ahead of a stream by `depth` pieces of work; then it waits, as the
 * drivers of real devices do. That bounds what must be remembered, too: of each stream the ends of
 * its last `depth` pieces, because what came before has ended by now.
 *
 * All is integer ns: a program's times are the same in every run on every host. Times that would
 * pass CEBUS_NS_MAX stay there.
 */
#ifndef CEBUS_EAGER_DEVICE_SIM_CLOCK_H
#define CEBUS_EAGER_DEVICE_SIM_CLOCK_H

#include "eager/device/device.h"

typedef struct cebus_sim_stream {
    uint64_t count; /**< pieces of work so far */
    uint64_t free;  /**< end of the last */
    uint64_t wait;  /**< what comes next may not start before */
    uint64_t *ends; /**< of piece n, at n % depth */
} cebus_sim_stream;

typedef struct cebus_sim_clock {
    uint64_t host; /**< now */
    uint64_t issue_ns, depth;
    uint64_t stall;       /**< compute stood still for copies so far */
    uint64_t host_copies; /**< the host waited for copies since it last asked for compute work */
    cebus_sim_stream streams[CEBUS_STREAM_COUNT];
} cebus_sim_clock;

/** False without host memory. */
bool cebus_sim_clock_init(cebus_sim_clock *clock, uint64_t issue_ns, uint64_t depth,
                          const cebus_host_allocator *host);
void cebus_sim_clock_deinit(cebus_sim_clock *clock, const cebus_host_allocator *host);

/** The host asks for a piece of work; answers when that starts. To be followed by end. */
uint64_t cebus_sim_clock_begin(cebus_sim_clock *clock, cebus_stream stream);
/** The piece just begun ends at `end`. */
void cebus_sim_clock_end(cebus_sim_clock *clock, cebus_stream stream, uint64_t end);

/** When a mark (a count of pieces) is reached; 0 when that is certainly not later than now. */
uint64_t cebus_sim_clock_reached_at(const cebus_sim_clock *clock, cebus_stream stream,
                                    uint64_t mark);
/** Work asked for on `stream` from now on starts after `mark` of `on`. */
void cebus_sim_clock_wait(cebus_sim_clock *clock, cebus_stream stream, cebus_stream on,
                          uint64_t mark);
/** The host waits for a mark. */
void cebus_sim_clock_await(cebus_sim_clock *clock, cebus_stream stream, uint64_t mark);
/** The host waits for everything. */
void cebus_sim_clock_synchronize(cebus_sim_clock *clock);
/** When all that was asked of a stream is done, waiting included, or now. */
uint64_t cebus_sim_clock_done(const cebus_sim_clock *clock, cebus_stream stream);

#endif
