/**
 * report_map.h: addresses over time, for a page: a rectangle a block. Of a run of many blocks those
 * with the largest rectangles are listed; the others are summed up in a grid of cells, each with
 * the class that fills most of it.
 */
#ifndef REPORT_MAP_H
#define REPORT_MAP_H

#include "report_array.h"
#include "report_survey.h"

struct report_map {
    const struct report_survey *survey;
    uint64_t unit;
    unsigned least_area, least_move; /**< smaller ones are not listed */
    uint64_t last_end_ns, last_move_ns;
    uint64_t listed, moves;
    struct report_array blocks, moved;
    float *cells; /**< [class][row][column]: the share that is filled; NULL: all are listed */
};

struct report_sink report_map_begin(struct report_map *map, const struct report_survey *survey);
/** The arrays as "map" of the page's data, and what they are made of. */
void report_map_put(struct report_map *map, struct writer *writer);
void report_map_free(struct report_map *map);

#endif
