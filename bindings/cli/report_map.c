#include "report_map.h"

#include <stdlib.h>
#include <string.h>

#include "message.h"
#include "report_memory.h"

enum {
    MOST_BLOCKS = 40000,
    MOST_MOVES = 4000,
    COLUMNS = 1024,
    ROWS = 192,
    LEVELS = 4, /**< of a cell: how full */
};

static uint64_t since_start(const struct report_map *map, uint64_t at_ns)
{
    uint64_t begin = map->survey->total.begin_ns;
    return at_ns > begin ? at_ns - begin : 0;
}

static double overlap(double low, double high, double cell)
{
    double from = low > cell ? low : cell, to = high < cell + 1 ? high : cell + 1;
    return to > from ? to - from : 0;
}

/** Adds a rectangle to the cells it touches. */
static void fill_cells(struct report_map *map, const struct report_block *block)
{
    double x_scale = COLUMNS / ((double)report_counts_ns(&map->survey->total) + 1);
    double y_scale = ROWS / ((double)map->survey->top + 1);
    double left = (double)since_start(map, block->begin_ns) * x_scale;
    double right = (double)since_start(map, block->end_ns) * x_scale;
    double low = (double)block->offset * y_scale;
    double high = (double)(block->offset + block->bytes) * y_scale;
    for (int row = (int)low; row < ROWS && row < high; row++) {
        float *cells = map->cells + ((size_t)block->memory_class * ROWS + (size_t)row) * COLUMNS;
        double height = overlap(low, high, row);
        for (int column = (int)left; column < COLUMNS && column < right; column++)
            cells[column] += (float)(overlap(left, right, column) * height);
    }
}

static void list_block(struct report_map *map, const struct report_block *block)
{
    uint64_t end = since_start(map, block->end_ns), begin = since_start(map, block->begin_ns);
    unsigned moved = block->from != REPORT_NOT_MOVED ? 8 : 0;
    report_array_add(&map->blocks, end - map->last_end_ns);
    report_array_add(&map->blocks, end - begin);
    report_array_add(&map->blocks, block->offset / map->unit);
    report_array_add(&map->blocks, block->bytes / map->unit);
    report_array_add(&map->blocks, block->memory_class + moved);
    report_array_add(&map->blocks, block->op != NO_INDEX ? block->op + 1 : 0);
    report_array_add(&map->blocks, block->value);
    map->last_end_ns = end;
    map->listed++;
}

static void went(void *context, const struct report_block *block)
{
    struct report_map *map = context;
    if (block->end_ns == block->begin_ns)
        return;
    if (report_area_class(block) >= map->least_area)
        list_block(map, block);
    else
        fill_cells(map, block);
}

static void came(void *context, const struct report_block *block)
{
    struct report_map *map = context;
    if (block->from == REPORT_NOT_MOVED || report_size_class(block->bytes) < map->least_move)
        return;
    uint64_t at = since_start(map, block->begin_ns);
    report_array_add(&map->moved, at - map->last_move_ns);
    report_array_add(&map->moved, block->from / map->unit);
    report_array_add(&map->moved, block->offset / map->unit);
    report_array_add(&map->moved, block->bytes / map->unit);
    map->last_move_ns = at;
    map->moves++;
}

struct report_sink report_map_begin(struct report_map *map, const struct report_survey *survey)
{
    size_t cells = (size_t)REPORT_CLASSES * ROWS * COLUMNS;
    *map = (struct report_map){
        .survey = survey,
        .unit = report_unit(survey),
        .least_area = report_least_class(survey->areas, MOST_BLOCKS),
        .least_move = report_least_class(survey->move_sizes, MOST_MOVES),
    };
    report_array_begin(&map->blocks);
    report_array_begin(&map->moved);
    if (map->least_area > 0) {
        map->cells = take(NULL, cells, sizeof *map->cells);
        memset(map->cells, 0, cells * sizeof *map->cells);
    }
    return (struct report_sink){.came = came, .went = went, .context = map};
}

/** '.': empty; else a letter for the class that fills most, and how much all of them do. */
static char cell_letter(const struct report_map *map, int row, int column)
{
    int most = 0;
    float total = 0, shares[REPORT_CLASSES];
    for (int c = 0; c < REPORT_CLASSES; c++) {
        shares[c] = map->cells[((size_t)c * ROWS + (size_t)row) * COLUMNS + (size_t)column];
        total += shares[c];
        if (shares[c] > shares[most])
            most = c;
    }
    int level = (int)(total * LEVELS);
    if (total < 0.01F)
        return '.';
    return (char)('a' + most * LEVELS + (level < LEVELS ? level : LEVELS - 1));
}

/** Row by row from the lowest address, equal cells as their number and a letter. */
static void put_cells(const struct report_map *map, struct writer *writer)
{
    FILE *file = writer->file;
    writer_key(writer, "cells");
    fputc('"', file);
    for (int row = 0; row < ROWS; row++) {
        for (int column = 0, next; column < COLUMNS; column = next) {
            char letter = cell_letter(map, row, column);
            for (next = column + 1; next < COLUMNS; next++) {
                if (cell_letter(map, row, next) != letter)
                    break;
            }
            if (next - column > 1)
                fprintf(file, "%d", next - column);
            fputc(letter, file);
        }
    }
    writer_raw(writer, "\"", 1);
}

void report_map_put(struct report_map *map, struct writer *writer)
{
    writer_key(writer, "map");
    writer_dictionary(writer);
    writer_put_number(writer, "top", map->survey->top / map->unit);
    writer_put_number(writer, "listed", map->listed);
    writer_put_number(writer, "total", map->survey->blocks);
    report_array_put(&map->blocks, writer, "blocks");
    writer_put_number(writer, "moves", map->moves);
    writer_put_number(writer, "all_moves", map->survey->moves);
    report_array_put(&map->moved, writer, "moved");
    writer_put_number(writer, "columns", COLUMNS);
    writer_put_number(writer, "rows", ROWS);
    writer_put_number(writer, "levels", LEVELS);
    if (map->cells != NULL)
        put_cells(map, writer);
    writer_close(writer);
}

void report_map_free(struct report_map *map)
{
    report_array_free(&map->blocks);
    report_array_free(&map->moved);
    free(map->cells);
    *map = (struct report_map){0};
}
