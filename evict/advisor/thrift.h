/**
 * thrift.h: an order to start from in which calls that use the same large buffers run one after
 * another. Of the calls that could run it takes the one that needs least to be brought to the
 * device for what it lets go, as if the device were an LRU cache; else the first in the program.
 *
 *     program    A1 B1 A2 B2 A3 B3      A1: layer A at time 1
 *     thrifty    A1 A2 A3 B1 B2 B3      each layer's weights come once
 *
 * Backward through a recurrent layer that separates the chain over time, which needs the recurrent
 * weights alone, from the sums of gradients that hang off it.
 */
#ifndef CEBUS_EVICT_ADVISOR_THRIFT_H
#define CEBUS_EVICT_ADVISOR_THRIFT_H

#include "evict/advisor/order.h"

/** Buffers of at least `large` bytes count, in a cache of `room` bytes. O(calls x those that could
 * run, of which it looks at some hundreds, + edges). `work` has room for each buffer thrice. */
void cebus_thrift_order(cebus_order *order, uint64_t large, uint64_t room, uint32_t *work,
                        uint32_t *out);

#endif
