/**
 * bounds.h: lower bounds on the overhead, as tests/bench/lower_bound.py writes them:
 *
 *     {"cebus_bounds": 1, "points": [{"budget": "50%", "budget_bytes": 1048576, "overhead": 1.089,
 *      "status": "..."}]}
 *
 * A point without an overhead (null) says that no schedule fits.
 */
#ifndef BOUNDS_H
#define BOUNDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bound {
    uint64_t budget_bytes;
    double overhead; /**< NAN: infeasible */
};

struct bounds {
    struct bound *points; /**< by budget, ascending */
    size_t count;
};

/** What is wrong with the file is printed, and false returned. Free in any case. */
bool bounds_read(const char *path, struct bounds *out);
/** The bound at a budget, give or take rounding; NULL: the file has none there. */
const struct bound *bounds_find(const struct bounds *bounds, uint64_t budget_bytes);
void bounds_free(struct bounds *bounds);

#endif
