/**
 * svg.h: the plot of a sweep: overhead against budget, a line a policy.
 */
#ifndef SVG_H
#define SVG_H

#include <stdbool.h>
#include <stddef.h>

struct svg_point {
    double x; /**< budget, % of what the trace needs at most */
    double y; /**< overhead; NAN: it does not fit */
};

struct svg_line {
    const char *name;
    const struct svg_point *points; /**< by x, ascending */
    size_t count;
    bool is_bound; /**< a lower bound: dashed, grey, without marks */
};

struct svg_plot {
    const char *title, *subtitle;
    const struct svg_line *lines;
    size_t count;
};

/** Writes the file; what goes wrong is printed, and false returned. */
bool svg_write(const char *path, const struct svg_plot *plot);

#endif
