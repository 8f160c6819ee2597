/**
 * reorder.h: other ways to launch a capture, drawn: orders that its data allow, plans of the
 * advisor.
 */
#ifndef CEBUS_TESTS_PROPERTY_REORDER_H
#define CEBUS_TESTS_PROPERTY_REORDER_H

#include <cebus/capture.h>

/** Launches run in an order between program order and anything goes; `random` goes on. Not
 * CEBUS_OK: with the last error; CEBUS_INTERNAL, without: the program makes no graph. */
cebus_status cebus_reorder_shuffle(cebus_capture *capture, uint64_t *random);

/** Launches follow a plan for `memory` bytes, if a short search finds one: `*out_found`. */
cebus_status cebus_reorder_advise(cebus_capture *capture, uint64_t memory, uint64_t seed,
                                  cebus_advise_result *out_result, bool *out_found);

#endif
