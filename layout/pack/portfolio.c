#include "layout/pack/portfolio.h"

#include <string.h>

/**
 * An order, and the most blocks it is worth its time with: where many live at once, best fit takes
 * a time that grows with the square of their number.
 */
typedef struct attempt {
    const char *keys;
    bool best_fit;
    uint32_t most;
} attempt;

enum {
    MANY = 4000,
    SORT_NS = 100, /**< a block, to sort by an order */
};

static const attempt anywhere[] = {
    {"TWA", false, UINT32_MAX}, {"TZ", false, UINT32_MAX}, {"TAW", false, UINT32_MAX},
    {"WZ", false, UINT32_MAX},  {"AW", false, MANY},       {"ZW", false, MANY},
    {"L", false, MANY},         {"TWA", true, MANY},       {"TZ", true, MANY},
};

/** Only best fit goes around presets. The first is for any number of blocks. */
static const attempt around_presets[] = {
    {"TWA", true, UINT32_MAX}, {"TZ", true, MANY}, {"WZ", true, MANY},
    {"AW", true, MANY},        {"L", true, MANY},
};

bool cebus_pack_portfolio_init(cebus_pack_portfolio *portfolio, const cebus_pack_problem *problem,
                               cebus_pack_memory *memory)
{
    size_t n = problem->n;
    portfolio->problem = problem;
    portfolio->skyline = cebus_pack_skyline_create(problem, memory);
    portfolio->list = cebus_pack_list_create(problem, memory);
    portfolio->rank = cebus_pack_memory_take(memory, n, sizeof *portfolio->rank);
    portfolio->trial = cebus_pack_memory_take(memory, n, sizeof *portfolio->trial);
    return cebus_pack_order_init(&portfolio->order, problem, memory) &&
           portfolio->skyline != NULL && portfolio->list != NULL && portfolio->rank != NULL &&
           portfolio->trial != NULL;
}

/** Where the trial ends: in bytes that are not rounded. */
static uint64_t measure(const cebus_pack_portfolio *portfolio, const cebus_pack_part *part)
{
    uint64_t bytes = 0;
    for (uint32_t i = part->block_begin; i < part->block_end; i++) {
        uint64_t top =
            cebus_pack_problem_top(portfolio->problem, i, portfolio->trial[i - part->block_begin]);
        bytes = top > bytes ? top : bytes;
    }
    return bytes;
}

/** The same in units. */
static uint64_t measure_units(const cebus_pack_portfolio *portfolio, const cebus_pack_part *part)
{
    uint64_t units = 0;
    for (uint32_t i = part->block_begin; i < part->block_end; i++) {
        uint64_t top = portfolio->trial[i - part->block_begin] + portfolio->problem->size[i];
        units = top > units ? top : units;
    }
    return units;
}

uint64_t cebus_pack_portfolio_try(cebus_pack_portfolio *portfolio, const cebus_pack_part *part,
                                  bool best_fit, uint64_t limit, cebus_pack_stop *stop)
{
    bool done;
    cebus_pack_order_rank(&portfolio->order, part, portfolio->rank);
    if (best_fit)
        done = cebus_pack_list_run(portfolio->list, part, portfolio->rank, limit, stop,
                                   portfolio->trial);
    else
        done = cebus_pack_skyline_run(portfolio->skyline, part, portfolio->rank, limit, stop,
                                      portfolio->trial);
    return done ? measure(portfolio, part) : UINT64_MAX;
}

/** An order from the beginning; as _try(). */
static uint64_t run(cebus_pack_portfolio *portfolio, const cebus_pack_part *part,
                    const attempt *one, uint64_t limit, cebus_pack_stop *stop)
{
    uint32_t n = part->block_end - part->block_begin;
    cebus_pack_order_sort(&portfolio->order, part, one->keys);
    if (cebus_pack_stop_now(stop, (uint64_t)n * SORT_NS))
        return UINT64_MAX;
    return cebus_pack_portfolio_try(portfolio, part, one->best_fit, limit, stop);
}

uint64_t cebus_pack_portfolio_run(cebus_pack_portfolio *portfolio, const cebus_pack_part *part,
                                  uint64_t target, uint64_t limit, cebus_pack_stop *stop,
                                  uint64_t *out_offset)
{
    const attempt *attempts = part->has_presets ? around_presets : anywhere;
    size_t count = part->has_presets ? sizeof around_presets / sizeof *around_presets
                                     : sizeof anywhere / sizeof *anywhere;
    uint32_t n = part->block_end - part->block_begin;
    uint64_t best = UINT64_MAX;
    stop->held = portfolio->at_least_one;
    for (size_t i = 0; i < count && best > target && (stop->held || !stop->stopped); i++) {
        if (n > attempts[i].most)
            continue;
        uint64_t top = run(portfolio, part, &attempts[i], limit, stop);
        stop->held = false;
        if (top != UINT64_MAX) {
            best = top;
            limit = measure_units(portfolio, part);
            memcpy(out_offset, portfolio->trial, n * sizeof *out_offset);
        }
    }
    return best;
}
