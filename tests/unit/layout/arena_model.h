/**
 * arena_model.h: an arena beside the simplest thing that could replace it, an array with one
 * entry for each unit of the alignment. Every operation is done on both; what the arena must
 * answer is read off the array by brute force.
 *
 * Operations return NULL, or what the two disagree about. Shared by the unit test, which draws
 * operations at random, and the fuzz target, which reads them from its input.
 */
#ifndef CEBUS_TESTS_LAYOUT_ARENA_MODEL_H
#define CEBUS_TESTS_LAYOUT_ARENA_MODEL_H

#include "layout/arena.h"
#include "layout/zones.h"

#include <string.h>

#define MODEL_ALIGNMENT 64
#define MODEL_UNITS 256 /**< the most that the arena grows to */

typedef struct arena_model {
    cebus_pool pool;
    cebus_arena arena;
    const char *layout;
    uint64_t run, small;       /**< units of the run at the top (0: none), and of what it is for */
    uint64_t units;            /**< of the alignment, in the arena now */
    uint16_t map[MODEL_UNITS]; /**< 0 where free, else 1 + the slot of the block there */
    cebus_block *blocks[MODEL_UNITS]; /**< by slot; NULL where the slot is not taken */
} arena_model;

/** Units [start, end). */
typedef struct model_range {
    uint64_t start, end;
} model_range;

static inline void model_init_layout(arena_model *model, uint64_t units, const char *layout)
{
    memset(model, 0, sizeof *model);
    model->units = units;
    model->layout = layout;
    cebus_pool_init(&model->pool, NULL);
    cebus_arena_setup setup = {.layout = cebus_layout_find(layout),
                               .limit = units * MODEL_ALIGNMENT,
                               .alignment = MODEL_ALIGNMENT};
    cebus_arena_open(&model->arena, &setup, &model->pool);
}

static inline void model_init(arena_model *model, uint64_t units)
{
    model_init_layout(model, units, "zones");
}

/** A run of `run` units at the top for blocks up to `small`; a resize takes it away again. */
static inline const char *model_set_run(arena_model *model, uint64_t run, uint64_t small)
{
    bool possible = small > 0 && run > 0 && run < model->units;
    cebus_arena_set_run(&model->arena, run * MODEL_ALIGNMENT, small * MODEL_ALIGNMENT);
    model->run = possible ? run : 0;
    model->small = possible ? small : 0;
    return NULL;
}

/** Returns what is left out of the pool, which must be nothing. */
static inline uint64_t model_deinit(arena_model *model)
{
    cebus_arena_deinit(&model->arena);
    uint64_t leaked = model->pool.live_objects;
    cebus_pool_deinit(&model->pool);
    return leaked;
}

/** The first run of free units at or after `from`; start == end when there is none. */
static inline model_range model_free_run(const arena_model *model, uint64_t from)
{
    model_range run = {from, from};
    while (run.start < model->units && model->map[run.start] != 0)
        run.start++;
    run.end = run.start;
    while (run.end < model->units && model->map[run.end] == 0)
        run.end++;
    return run;
}

/** Best fit among the runs that start in [from, to): the smallest of at least `units`, of equals
 * the lowest or the highest. */
static inline model_range model_best_fit(const arena_model *model, uint64_t units, bool low,
                                         model_range starts)
{
    model_range best = {0, 0};
    model_range run = model_free_run(model, 0);
    for (; run.start != run.end; run = model_free_run(model, run.end)) {
        uint64_t length = run.end - run.start, least = best.end - best.start;
        if (run.start < starts.start || run.start >= starts.end)
            continue;
        if (length >= units && (least == 0 || length < least || (length == least && !low)))
            best = run;
    }
    return best;
}

/** Without a plan, `planned` is `zones`. */
static inline bool model_is_zoned(const arena_model *model)
{
    return strcmp(model->layout, "zones") == 0 || strcmp(model->layout, "planned") == 0;
}

/** Where a layout says that a block goes in a hole. */
static inline uint64_t model_start_in(const arena_model *model, model_range hole, uint64_t units,
                                      cebus_zone zone)
{
    uint64_t border = model->units - model->run;
    bool low = strcmp(model->layout, "best-fit") == 0 || zone == CEBUS_ZONE_EXPENSIVE ||
               (zone == CEBUS_ZONE_PERSISTENT && model_is_zoned(model));
    bool spares_run = model->run > 0 && units > model->small && hole.start < border &&
                      hole.end > border && strcmp(model->layout, "best-fit") != 0;
    if (low || (spares_run && hole.start + units > border))
        return hole.start;
    return (spares_run ? border : hole.end) - units;
}

/** The hole that a layout takes for a request; empty: none. What it takes in the run is taken from
 * the high end. */
static inline model_range model_hole_for(const arena_model *model, uint64_t units, cebus_zone zone,
                                         bool *out_in_run)
{
    *out_in_run = false;
    bool zones = model_is_zoned(model);
    bool low = !zones || cebus_zone_grows_up(zone);
    uint64_t border = model->units - model->run;
    model_range all = {0, model->units}, below = {0, border}, above = {border, model->units};
    if (model->run == 0)
        return model_best_fit(model, units, low, all);
    model_range hole = {0, 0};
    if (units <= model->small && !(zones && zone == CEBUS_ZONE_PERSISTENT)) {
        hole = model_best_fit(model, units, false, above);
        uint64_t start = border;
        while (start > 0 && model->map[start] == 0 && model->map[start - 1] == 0)
            start--;
        model_range over = model_free_run(model, start);
        if (hole.end == 0 && over.start < border && over.end >= border + units)
            hole = over;
        *out_in_run = hole.end > 0;
    }
    if (hole.end == 0)
        hole = model_best_fit(model, units, low, below);
    return hole.end > 0 ? hole : model_best_fit(model, units, low, above);
}

static inline uint64_t model_rounded(uint64_t bytes)
{
    return bytes == 0 ? 1 : (bytes - 1) / MODEL_ALIGNMENT + 1;
}

static inline void model_fill(arena_model *model, model_range range, uint16_t entry)
{
    for (uint64_t unit = range.start; unit < range.end; unit++)
        model->map[unit] = entry;
}

/** Enters the block that the arena placed, which must start at unit `start`. */
static inline const char *model_enter(arena_model *model, uint64_t start, uint64_t bytes,
                                      cebus_zone zone, cebus_block *block)
{
    uint64_t units = model_rounded(bytes);
    if (block->offset != start * MODEL_ALIGNMENT)
        return "placed elsewhere than the layout says";
    if (block->bytes != units * MODEL_ALIGNMENT)
        return "placed with another length";
    if (block->state != CEBUS_BLOCK_BARRIER || block->owner != NULL || block->zone != zone ||
        block->immovable)
        return "placed block is not bare";
    uint16_t slot = 0;
    while (model->blocks[slot] != NULL)
        slot++;
    model->blocks[slot] = block;
    block->owner = &model->blocks[slot];
    model_fill(model, (model_range){start, start + units}, (uint16_t)(slot + 1));
    return NULL;
}

static inline const char *model_place(arena_model *model, uint64_t bytes, cebus_zone zone)
{
    bool in_run;
    model_range hole = model_hole_for(model, model_rounded(bytes), zone, &in_run);
    bool fits = hole.start != hole.end;
    if (cebus_arena_fits(&model->arena, bytes) != fits)
        return "fits is wrong";
    cebus_block *block = NULL;
    cebus_place_result result = cebus_arena_place(&model->arena, bytes, zone, &block);
    if (result != (fits ? CEBUS_PLACED : CEBUS_PLACE_FULL))
        return "a fitting hole was missed, or one was made up";
    uint64_t units = model_rounded(bytes);
    uint64_t start = in_run ? hole.end - units : model_start_in(model, hole, units, zone);
    return fits ? model_enter(model, start, bytes, zone, block) : NULL;
}

static inline cebus_block *model_block_at(const arena_model *model, uint64_t unit)
{
    cebus_block *block = model->arena.first;
    while (block != NULL && block->offset != unit * MODEL_ALIGNMENT)
        block = block->next;
    return block;
}

static inline const char *model_place_in(arena_model *model, uint64_t from, uint64_t bytes,
                                         cebus_zone zone)
{
    model_range hole = model_free_run(model, from % MODEL_UNITS);
    if (hole.start >= hole.end)
        return NULL;
    while (hole.start > 0 && model->map[hole.start - 1] == 0)
        hole.start--;
    bool fits = hole.end - hole.start >= model_rounded(bytes);
    cebus_block *free_block = model_block_at(model, hole.start);
    if (free_block == NULL)
        return "no block where a hole starts";
    cebus_block *block = NULL;
    cebus_place_result result =
        cebus_arena_place_in(&model->arena, free_block, bytes, zone, &block);
    if (result != (fits ? CEBUS_PLACED : CEBUS_PLACE_FULL))
        return "place_in is wrong about the hole";
    uint64_t start = model_start_in(model, hole, model_rounded(bytes), zone);
    return fits ? model_enter(model, start, bytes, zone, block) : NULL;
}

static inline model_range model_range_of(const cebus_block *block)
{
    return (model_range){block->offset / MODEL_ALIGNMENT,
                         (block->offset + block->bytes) / MODEL_ALIGNMENT};
}

static inline const char *model_release(arena_model *model, uint64_t slot)
{
    cebus_block **entry = &model->blocks[slot % MODEL_UNITS];
    if (*entry == NULL)
        return NULL;
    model_range range = model_range_of(*entry);
    model_fill(model, range, 0);
    while (range.start > 0 && model->map[range.start - 1] == 0)
        range.start--;
    while (range.end < model->units && model->map[range.end] == 0)
        range.end++;
    model_range hole = model_range_of(cebus_arena_release(&model->arena, *entry));
    *entry = NULL;
    return hole.start == range.start && hole.end == range.end ? NULL : "release did not merge";
}

static inline const char *model_resize(arena_model *model, uint64_t units)
{
    bool possible = true;
    for (uint64_t unit = units; unit < model->units; unit++)
        possible = possible && model->map[unit] == 0;
    cebus_place_result result = cebus_arena_resize(
        &model->arena, units * MODEL_ALIGNMENT + MODEL_ALIGNMENT - 1 /* rounded down */);
    if (result != (possible ? CEBUS_PLACED : CEBUS_PLACE_FULL))
        return "resize is wrong about what is in the way";
    if (possible) {
        model->units = units;
        if (model->arena.layout->has_run)
            model->run = model->small = 0; /* too small an arena for a run of its own */
    }
    return NULL;
}

/** The lowest block that compaction should move, at or after unit `from`, or NULL. */
static inline cebus_block *model_next_to_move(const arena_model *model, uint64_t from)
{
    for (uint64_t unit = from; unit < model->units; unit++) {
        uint16_t entry = model->map[unit];
        bool moves = unit > 0 && model->map[unit - 1] == 0 && entry != 0;
        if (moves && !model->blocks[entry - 1]->immovable)
            return model->blocks[entry - 1];
    }
    return NULL;
}

static inline bool compact_step(cebus_arena *arena, cebus_block *from, cebus_move *out)
{
    if (!cebus_arena_next_move(arena, from, out))
        return false;
    cebus_arena_move(arena, out);
    return true;
}

/** One step of compaction. `from` is NULL or a used block; set to the block moved now. */
static inline const char *model_compact_step(arena_model *model, cebus_block **from)
{
    uint64_t start = *from != NULL ? (*from)->offset / MODEL_ALIGNMENT : 0;
    const cebus_block *wanted =
        model->arena.layout->moves ? model_next_to_move(model, start) : NULL;
    cebus_move move;
    bool moved = compact_step(&model->arena, *from, &move);
    *from = move.block;
    if (move.block != wanted || moved != (wanted != NULL))
        return "compaction moved the wrong block";
    if (!moved)
        return NULL;
    uint64_t to = move.to / MODEL_ALIGNMENT, old = move.from / MODEL_ALIGNMENT;
    uint64_t units = move.block->bytes / MODEL_ALIGNMENT;
    if (to >= old || model->map[to] != 0 || (to > 0 && model->map[to - 1] == 0))
        return "compaction moved a block to the wrong place";
    memmove(model->map + to, model->map + old, units * sizeof *model->map);
    model_fill(model, (model_range){to + units > old ? to + units : old, old + units}, 0);
    return move.block->offset == move.to ? NULL : "the moved block says another offset";
}

static inline const char *model_compact(arena_model *model)
{
    cebus_block *from = NULL;
    const char *fault;
    do {
        fault = model_compact_step(model, &from);
    } while (fault == NULL && from != NULL);
    if (fault == NULL && model->arena.layout->moves && model_next_to_move(model, 0) != NULL)
        return "a pass of compaction left something to move";
    return fault;
}

/** What the owner may do to a block. */
static inline const char *model_touch(arena_model *model, uint64_t slot, unsigned how)
{
    cebus_block *block = model->blocks[slot % MODEL_UNITS];
    if (block == NULL)
        return NULL;
    block->state = how & 1 ? CEBUS_BLOCK_EVICTABLE : CEBUS_BLOCK_BARRIER;
    block->immovable = (how >> 1) & 1;
    block->weight = block->tick = UINT64_MAX - how;
    return NULL;
}

/** One operation out of four bytes. */
static inline const char *model_step(arena_model *model, const uint8_t bytes[4])
{
    uint64_t wide = (uint64_t)bytes[1] << 8 | bytes[2];
    cebus_zone zone = (cebus_zone)(bytes[3] % CEBUS_ZONE_COUNT);
    uint64_t size = bytes[0] & 16 ? wide % (12 * MODEL_ALIGNMENT) : wide;
    switch (bytes[0] % 16) {
    case 0:
        if (bytes[3] % 4 == 0 && model->arena.layout->has_run)
            return model_set_run(model, wide % (MODEL_UNITS / 2), bytes[3] / 16);
        return model_resize(model, wide % (MODEL_UNITS + 1));
    case 1:
        return model_compact(model);
    case 2:
        return model_compact_step(model, &(cebus_block *){model->blocks[wide % MODEL_UNITS]});
    case 3:
        return model_place_in(model, bytes[2], size, zone);
    case 4:
    case 5:
        return model_touch(model, wide, bytes[3]);
    case 6:
    case 7:
    case 8:
    case 9:
        return model_release(model, wide);
    default:
        return model_place(model, size, zone);
    }
}

static inline const char *model_compare_holes(const arena_model *model)
{
    uint64_t free_units = 0, largest = 0, holes = 0, small = 0;
    model_range run = model_free_run(model, 0);
    for (; run.start != run.end; run = model_free_run(model, run.end)) {
        uint64_t length = run.end - run.start;
        free_units += length;
        holes++;
        largest = length > largest ? length : largest;
        small += length < 3 ? length : 0;
    }
    const cebus_arena *arena = &model->arena;
    if (cebus_arena_free_bytes(arena) != free_units * MODEL_ALIGNMENT ||
        arena->free_blocks != holes)
        return "free bytes or blocks differ";
    if (cebus_arena_largest_hole(arena) != largest * MODEL_ALIGNMENT)
        return "largest hole differs";
    if (cebus_arena_stranded_bytes(arena, 3 * MODEL_ALIGNMENT) != small * MODEL_ALIGNMENT)
        return "stranded bytes differ";
    return NULL;
}

/** Compares everything, after any operation. */
static inline const char *model_compare(const arena_model *model)
{
    static char why[128];
    if (!cebus_arena_check(&model->arena, why, sizeof why))
        return why;
    if (model->arena.capacity != model->units * MODEL_ALIGNMENT)
        return "capacity differs";
    for (const cebus_block *block = model->arena.first; block != NULL; block = block->next) {
        uint16_t entry = 0;
        if (block->state != CEBUS_BLOCK_FREE)
            entry = (uint16_t)((cebus_block **)block->owner - model->blocks + 1);
        if (entry != 0 && model->blocks[entry - 1] != block)
            return "a block has another owner";
        model_range range = model_range_of(block);
        for (uint64_t unit = range.start; unit < range.end; unit++) {
            if (model->map[unit] != entry)
                return "block and map differ";
        }
    }
    return model_compare_holes(model);
}

#endif
