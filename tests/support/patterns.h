/**
 * patterns.h: programs that are hard on a layout. Each says how often a request failed although
 * live bytes and the request together were within what the pattern allows.
 *
 *   comb      long- and short-lived blocks in turn fill the budget; the short ones go; then one
 *             request as large as all that is free
 *   variable  training on inputs whose length (or side) is drawn anew each step; the next batch is
 *             there before a step ends; live bytes stay within 97% of the budget. Nothing may be
 *             given up (policy none)
 *   server    blocks of lognormal sizes and random lives for ever, on the arena alone: nothing can
 *             be given up, but blocks move where the layout lets them; within 97% of the limit
 */
#ifndef CEBUS_TESTS_SUPPORT_PATTERNS_H
#define CEBUS_TESTS_SUPPORT_PATTERNS_H

#include <cebus/base.h>

typedef struct cebus_pattern {
    uint64_t requests;
    uint64_t failures; /**< requests (variable: steps) that found no place */
    uint64_t asked_bytes, moved_bytes;
    uint64_t evictions;
    uint64_t budget;
    uint64_t stranded_early, stranded_late; /**< bytes, means of the two halves: free, but not in
                                               the largest hole (server: of no use to a request) */
} cebus_pattern;

/** `rebuildable`: the long-lived may be given up, too; else they can only be moved. */
cebus_pattern cebus_pattern_comb(const char *layout, const char *policy, bool rebuildable);
/** `squared`: sizes grow with the square of what is drawn, as images' do. */
cebus_pattern cebus_pattern_variable(const char *layout, bool squared, uint64_t steps,
                                     uint64_t seed);
cebus_pattern cebus_pattern_server(const char *layout, uint64_t limit, uint64_t requests,
                                   uint64_t seed);

#endif
