#include "layout/pack/lane.h"

enum {
    /** Blocks of a part that is not welded any more: rounds of welding would take their time. */
    MANY = 20000,
    /** Nodes of a guess: another one is more likely to be quick than this one to end. */
    GUESS_NODES = 3000,
};

void cebus_pack_lane_init(cebus_pack_lane *lane, const cebus_pack_lane_task *task,
                          cebus_pack_lane_kind kind, const cebus_host_allocator *host)
{
    *lane = (cebus_pack_lane){.task = *task, .kind = kind};
    uint32_t n = task->part->block_end - task->part->block_begin;
    lane->is_over = kind != CEBUS_PACK_LANE_PLAIN && n > MANY;
    cebus_pack_memory_init(&lane->memory, host);
}

void cebus_pack_lane_destroy(cebus_pack_lane *lane)
{
    cebus_pack_memory_release(&lane->memory, NULL);
    lane->search = NULL;
}

/**
 * Guesses: everything at first, which undoes cuts at places of many sizes; then joints of few
 * blocks, and not all of those, since chance makes each guess another one.
 */
static bool weld(cebus_pack_lane *lane, cebus_pack_stop *stop)
{
    static const uint32_t most[] = {UINT32_MAX, 8, UINT32_MAX, 8};
    static const uint32_t share[] = {256, 192, 224, 160};
    enum {
        GUESSES = sizeof most / sizeof *most,
    };
    bool guesses = lane->kind == CEBUS_PACK_LANE_GUESS;
    cebus_pack_weld_options options = {
        .capacity = lane->task.capacity,
        .most = guesses ? most[lane->draws % GUESSES] : 1,
        .share = guesses ? share[lane->draws % GUESSES] : 256,
        .seed = lane->task.seed + lane->draws,
    };
    lane->draws++;
    return cebus_pack_weld_init(&lane->weld, lane->task.problem, lane->task.part, &options, stop,
                                &lane->memory);
}

static bool prepare(cebus_pack_lane *lane, cebus_pack_stop *stop)
{
    const cebus_pack_lane_task *task = &lane->task;
    const cebus_pack_problem *problem = task->problem;
    const cebus_pack_part *part = task->part;
    if (lane->kind != CEBUS_PACK_LANE_PLAIN) {
        if (!weld(lane, stop))
            return false;
        if (lane->weld.n_welds == 0) {
            lane->is_over = lane->draws == 1;
            cebus_pack_lane_destroy(lane);
            return true;
        }
        problem = &lane->weld.problem;
        part = problem->parts;
    }
    uint32_t n = part->block_end - part->block_begin;
    lane->offset = cebus_pack_memory_take(&lane->memory, n, sizeof *lane->offset);
    if (lane->offset == NULL || !cebus_pack_order_init(&lane->order, problem, &lane->memory))
        return false;
    lane->search = cebus_pack_search_create(&lane->order, part, task->capacity,
                                            task->seed + lane->draws, &lane->memory);
    return lane->search != NULL;
}

/** What the search of a welded part says about the part. */
static cebus_pack_outcome conclude(cebus_pack_lane *lane, cebus_pack_outcome outcome,
                                   uint64_t *out_offset)
{
    if (lane->kind == CEBUS_PACK_LANE_PLAIN)
        return outcome;
    if (outcome == CEBUS_PACK_OUTCOME_FITS)
        cebus_pack_weld_split(&lane->weld, lane->offset, out_offset);
    bool is_wrong = outcome == CEBUS_PACK_OUTCOME_CANNOT;
    lane->is_over = is_wrong && lane->kind == CEBUS_PACK_LANE_LONE;
    if (is_wrong || lane->kind == CEBUS_PACK_LANE_GUESS)
        cebus_pack_lane_destroy(lane);
    return is_wrong ? CEBUS_PACK_OUTCOME_OPEN : outcome;
}

/** Goes on with a search, or makes a guess and searches that. */
static cebus_pack_outcome run_one(cebus_pack_lane *lane, uint64_t nodes, cebus_pack_stop *stop,
                                  uint64_t *out_nodes, uint64_t *out_offset)
{
    *out_nodes = 0;
    if (lane->search == NULL && !lane->is_over && !prepare(lane, stop))
        return CEBUS_PACK_OUTCOME_NO_MEMORY;
    if (lane->search == NULL)
        return CEBUS_PACK_OUTCOME_OPEN;
    uint64_t *offset = lane->kind == CEBUS_PACK_LANE_PLAIN ? out_offset : lane->offset;
    cebus_pack_outcome outcome =
        cebus_pack_search_run(lane->search, nodes, stop, out_nodes, offset);
    return conclude(lane, outcome, out_offset);
}

cebus_pack_outcome cebus_pack_lane_run(cebus_pack_lane *lane, uint64_t nodes, cebus_pack_stop *stop,
                                       uint64_t *out_nodes, uint64_t *out_offset)
{
    cebus_pack_outcome outcome = CEBUS_PACK_OUTCOME_OPEN;
    bool guesses = lane->kind == CEBUS_PACK_LANE_GUESS;
    uint64_t turns = guesses ? nodes / GUESS_NODES + 1 : 1;
    *out_nodes = 0;
    for (uint64_t turn = 0; turn < turns && outcome == CEBUS_PACK_OUTCOME_OPEN && !stop->stopped;
         turn++) {
        uint64_t left = nodes - *out_nodes, used;
        outcome = run_one(lane, guesses && left > GUESS_NODES ? GUESS_NODES : left, stop, &used,
                          out_offset);
        *out_nodes += used < left ? used : left;
    }
    return outcome;
}
