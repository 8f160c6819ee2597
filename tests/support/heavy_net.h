/**
 * heavy_net.h: a network that is nearly all parameters, gradients and optimizer state: a few square
 * layers, trained by Adam on a few rows. In a budget below that it keeps copying to the host and
 * back. For tests in which calls may fail on the way: each says which failures are made good.
 */
#ifndef CEBUS_TESTS_SUPPORT_HEAVY_NET_H
#define CEBUS_TESTS_SUPPORT_HEAVY_NET_H

#include <cebus/cebus.h>

enum {
    CEBUS_HEAVY_LAYERS = 5,
    CEBUS_HEAVY_WIDTH_MAX = 40
};

typedef struct cebus_heavy_net {
    cebus_runtime *rt;
    int64_t width, rows;
    /** After a call failed: whether to make it again. */
    bool (*again)(struct cebus_heavy_net *net, cebus_status status, const char *what);
    void *owner; /**< for `again` */
    bool broken; /**< no more calls are made */
    char why[640];
    cebus_tensor *w[CEBUS_HEAVY_LAYERS];
    cebus_optimizer *adam;
    cebus_tensor *h, *loss; /**< of the running step */
    float result[CEBUS_HEAVY_LAYERS][CEBUS_HEAVY_WIDTH_MAX * CEBUS_HEAVY_WIDTH_MAX];
} cebus_heavy_net;

/** Makes the call, and again as `again` says. Nothing once the net is broken. */
#define CEBUS_HEAVY_TRY(net, call)                                                                 \
    do {                                                                                           \
    } while (!(net)->broken && cebus_heavy_net_again((net), (call), #call))

/** Whether a call that answered `status` is made again; breaks the net where `again` refuses.
 */
bool cebus_heavy_net_again(cebus_heavy_net *net, cebus_status status, const char *what);
/** Ends it: `what` went wrong, and the last error. The first such call counts. */
void cebus_heavy_net_break(cebus_heavy_net *net, const char *what);

/** Makes the parameters in `rt`. */
void cebus_heavy_net_open(cebus_heavy_net *net);

/** A step in its parts; step does them all, and marks the iteration's end. */
void cebus_heavy_net_begin(cebus_heavy_net *net);
void cebus_heavy_net_layer(cebus_heavy_net *net, int i);
void cebus_heavy_net_backward(cebus_heavy_net *net);
void cebus_heavy_net_update(cebus_heavy_net *net);
void cebus_heavy_net_step(cebus_heavy_net *net);

/** Copies the parameters to `result`, and destroys all, the runtime, too. */
void cebus_heavy_net_close(cebus_heavy_net *net);

#endif
