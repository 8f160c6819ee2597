/**
 * stop.h: asks the caller's hook once in a while whether to end, and never again after it said yes.
 */
#ifndef CEBUS_LAYOUT_PACK_STOP_H
#define CEBUS_LAYOUT_PACK_STOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct cebus_pack_stop {
    bool (*go_on)(void *context); /**< NULL: always */
    void *context;
    uint64_t work; /**< done since the hook was asked */
    bool stopped;
    bool held; /**< what goes on is finished first */
} cebus_pack_stop;

/** Some work was done, about a nanosecond each; true when it is time to end. */
static inline bool cebus_pack_stop_now(cebus_pack_stop *stop, uint64_t work)
{
    enum {
        PERIOD = 1000000
    };
    stop->work += work;
    if (stop->work >= PERIOD && !stop->stopped) {
        stop->work = 0;
        stop->stopped = stop->go_on != NULL && !stop->go_on(stop->context);
    }
    return stop->stopped && !stop->held;
}

#endif
