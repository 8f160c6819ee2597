/**
 * tally.h: what the statistics count of requests for bytes (ladder.h). Fragmentation is counted
 * where a request found no hole, in parts per million of the budget.
 */
#ifndef CEBUS_EAGER_TALLY_H
#define CEBUS_EAGER_TALLY_H

#include "eager/runtime.h"

/** A request found no hole: what is free beyond it, and what of that lies in holes too small. */
void cebus_tally_retry(cebus_runtime *rt, uint64_t bytes);

/** A request has its block. */
void cebus_tally_placed(cebus_runtime *rt, const cebus_block *block);

/** It does, and something was evicted for it: what was free beyond it when it came, and what is
 * free now. */
void cebus_tally_forced(cebus_runtime *rt, uint64_t free_before, const cebus_block *block);

#endif
