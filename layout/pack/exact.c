#include "layout/pack/exact.h"

/** The first slice of a part, in nodes; later ones are longer. */
#define SLICE 2048

static uint64_t *offsets_of(const cebus_pack_exact *exact, const cebus_pack_part *part)
{
    return exact->offset + part->block_begin;
}

static uint64_t measure(const cebus_pack_exact *exact, const cebus_pack_part *part)
{
    uint64_t height = 0;
    for (uint32_t i = part->block_begin; i < part->block_end; i++) {
        uint64_t top = cebus_pack_problem_top(exact->problem, i, exact->offset[i]);
        if (top > height)
            height = top;
    }
    return height;
}

static bool is_over(const cebus_pack_exact *exact)
{
    return exact->steps >= exact->most_steps || exact->stop->stopped;
}

static cebus_pack_lane_task task_of(const cebus_pack_exact *exact, size_t p, uint64_t capacity,
                                    uint64_t seed)
{
    return (cebus_pack_lane_task){
        .problem = exact->problem,
        .part = &exact->problem->parts[p],
        .capacity = capacity,
        .seed = seed,
    };
}

/** A slice of the search on a part; what it finds is kept. */
static cebus_pack_outcome run_slice(cebus_pack_exact *exact, cebus_pack_lane *lane, size_t p,
                                    uint64_t nodes)
{
    const cebus_pack_part *part = &exact->problem->parts[p];
    uint64_t left = exact->most_steps - exact->steps, used;
    cebus_pack_outcome outcome = cebus_pack_lane_run(lane, nodes < left ? nodes : left, exact->stop,
                                                     &used, offsets_of(exact, part));
    exact->steps = used < left ? exact->steps + used : exact->most_steps;
    if (outcome == CEBUS_PACK_OUTCOME_FITS)
        exact->heights[p] = measure(exact, part);
    return outcome;
}

/* --- a capacity ------------------------------------------------------------------------------ */

/** The lanes of a part that is too high. */
typedef struct attempts {
    size_t part;
    cebus_pack_lane lanes[CEBUS_PACK_LANE_KINDS];
} attempts;

static size_t count_high(const cebus_pack_exact *exact, uint64_t capacity)
{
    size_t count = 0;
    for (size_t p = 0; p < exact->problem->n_parts; p++)
        count += exact->heights[p] > capacity;
    return count;
}

static void start(const cebus_pack_exact *exact, uint64_t capacity, attempts *all)
{
    for (size_t p = 0; p < exact->problem->n_parts; p++) {
        if (exact->heights[p] <= capacity)
            continue;
        cebus_pack_lane_task task = task_of(exact, p, capacity, exact->seed);
        all->part = p;
        for (int kind = 0; kind < CEBUS_PACK_LANE_KINDS; kind++)
            cebus_pack_lane_init(&all->lanes[kind], &task, (cebus_pack_lane_kind)kind, exact->host);
        all++;
    }
}

/** A slice of each lane of a part, two of guesses, until one has found something. */
static cebus_pack_outcome run_lanes(cebus_pack_exact *exact, attempts *one, uint64_t nodes)
{
    cebus_pack_outcome outcome = CEBUS_PACK_OUTCOME_OPEN;
    for (int kind = 0; kind < CEBUS_PACK_LANE_KINDS && outcome == CEBUS_PACK_OUTCOME_OPEN; kind++)
        outcome = run_slice(exact, &one->lanes[kind], one->part,
                            kind == CEBUS_PACK_LANE_GUESS ? 2 * nodes : nodes);
    return outcome;
}

static void end(attempts *one)
{
    for (int kind = 0; kind < CEBUS_PACK_LANE_KINDS; kind++)
        cebus_pack_lane_destroy(&one->lanes[kind]);
}

/** One slice for each part that is too high. */
static cebus_pack_outcome run_slices(cebus_pack_exact *exact, uint64_t capacity, attempts *all,
                                     size_t count, uint64_t nodes)
{
    cebus_pack_outcome outcome = CEBUS_PACK_OUTCOME_FITS;
    for (size_t i = 0; i < count; i++) {
        if (exact->heights[all[i].part] <= capacity)
            continue;
        cebus_pack_outcome one = run_lanes(exact, &all[i], nodes);
        if (one == CEBUS_PACK_OUTCOME_CANNOT || one == CEBUS_PACK_OUTCOME_NO_MEMORY)
            return one;
        if (one == CEBUS_PACK_OUTCOME_OPEN)
            outcome = one;
        else
            end(&all[i]);
    }
    return outcome;
}

cebus_pack_outcome cebus_pack_exact_fit(cebus_pack_exact *exact, uint64_t capacity)
{
    const cebus_pack_piece *mark = cebus_pack_memory_mark(exact->memory);
    cebus_pack_outcome outcome = CEBUS_PACK_OUTCOME_NO_MEMORY;
    size_t count = count_high(exact, capacity);
    attempts *all = cebus_pack_memory_take(exact->memory, count, sizeof *all);
    if (all != NULL) {
        start(exact, capacity, all);
        outcome = CEBUS_PACK_OUTCOME_OPEN;
        for (uint64_t nodes = SLICE; outcome == CEBUS_PACK_OUTCOME_OPEN && !is_over(exact);
             nodes += nodes / 2)
            outcome = run_slices(exact, capacity, all, count, nodes);
        for (size_t i = 0; i < count; i++)
            end(&all[i]);
    }
    cebus_pack_memory_release(exact->memory, mark);
    return outcome;
}

/* --- the least height ------------------------------------------------------------------------ */

static size_t highest(const cebus_pack_exact *exact)
{
    size_t found = 0;
    for (size_t p = 1; p < exact->problem->n_parts; p++) {
        if (exact->heights[p] > exact->heights[found])
            found = p;
    }
    return found;
}

/** Between the bound and just below the height, four in turn. */
static uint64_t choose_target(const cebus_pack_exact *exact, uint64_t bound, uint64_t height,
                              uint64_t turn)
{
    uint64_t gap = height - 1 - bound, unit = exact->problem->unit;
    switch (turn % 4) {
    case 0:
        return bound;
    case 1:
        return bound + gap / 2;
    case 2:
        return bound + gap - gap / 8;
    default:
        return gap >= unit ? height - unit : height - 1;
    }
}

static cebus_pack_outcome attempt(cebus_pack_exact *exact, size_t p, uint64_t target,
                                  cebus_pack_lane_kind kind, uint64_t nodes)
{
    cebus_pack_lane lane;
    cebus_pack_lane_task task = task_of(exact, p, target, exact->seed + exact->steps);
    cebus_pack_lane_init(&lane, &task, kind, exact->host);
    cebus_pack_outcome outcome = run_slice(exact, &lane, p, nodes);
    cebus_pack_lane_destroy(&lane);
    return outcome;
}

cebus_pack_outcome cebus_pack_exact_lower(cebus_pack_exact *exact, uint64_t *bound)
{
    uint64_t nodes = SLICE, unit = exact->problem->unit;
    for (uint64_t turn = 0; !is_over(exact); turn++) {
        size_t p = highest(exact);
        uint64_t height = exact->heights[p];
        if (height <= *bound)
            return CEBUS_PACK_OUTCOME_FITS;
        uint64_t target = choose_target(exact, *bound, height, turn);
        cebus_pack_outcome outcome =
            attempt(exact, p, target, turn / 4 % CEBUS_PACK_LANE_KINDS, nodes);
        if (outcome == CEBUS_PACK_OUTCOME_NO_MEMORY)
            return outcome;
        if (outcome == CEBUS_PACK_OUTCOME_CANNOT)
            *bound = exact->problem->slack == 0 ? (target / unit + 1) * unit : target + 1;
        if (turn % (4 * CEBUS_PACK_LANE_KINDS) == 4 * CEBUS_PACK_LANE_KINDS - 1)
            nodes += nodes / 2;
    }
    return CEBUS_PACK_OUTCOME_OPEN;
}
