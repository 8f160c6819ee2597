#include <cebus/pack.h>

#include "layout/pack/exact.h"
#include "layout/pack/portfolio.h"
#include "layout/pack/repair.h"
#include "layout/pack/wheel.h"
#include "layout/prefix.h"

#include <string.h>

/** A packing in progress. Offsets are in units and by the problem's order of blocks. */
typedef struct packing {
    cebus_pack_problem problem;
    cebus_pack_memory memory;
    cebus_pack_options options;
    cebus_pack_stop stop;
    cebus_pack_repair *repair; /**< NULL: none is wanted */
    uint64_t *offset;
    uint64_t *heights; /**< by part: bytes where it ends; UINT64_MAX: not packed */
} packing;

/* --- what is asked --------------------------------------------------------------------------- */

static bool read_options(const cebus_pack_options *given, cebus_pack_options *out)
{
    *out = (cebus_pack_options){.struct_size = sizeof *out};
    if (!cebus_prefix_read(given, out, sizeof *out))
        return false;
    out->minimise |= out->capacity == 0;
    if (out->capacity == 0 || out->capacity > CEBUS_PACK_MAX_BYTES)
        out->capacity = 2 * CEBUS_PACK_MAX_BYTES; /* none: nothing comes near it */
    const cebus_host_allocator *host = out->host;
    return host == NULL || (host->alloc != NULL && host->realloc != NULL && host->free != NULL);
}

/* --- what cannot be -------------------------------------------------------------------------- */

/** Where a block must end; 0 of one that may lie anywhere, or takes no room wherever it lies. */
static uint64_t preset_top(const packing *p, size_t i)
{
    const uint64_t *presets = p->options.presets;
    uint64_t bytes = p->problem.blocks[i].bytes;
    bool somewhere = bytes > 0 && presets != NULL && presets[i] != CEBUS_PACK_ANYWHERE;
    return somewhere ? presets[i] + bytes : 0;
}

/** A proof in the caller's numbers, if one of them is too large. */
static void find_obstacle(const packing *p, size_t n, cebus_pack_result *result)
{
    const cebus_pack_block *blocks = p->problem.blocks;
    for (size_t i = 0; i < n && result->reason == CEBUS_PACK_NO_REASON; i++) {
        result->first = i;
        if (blocks[i].bytes > p->options.capacity)
            result->reason = CEBUS_PACK_BLOCK_ABOVE_CAPACITY;
        else if (preset_top(p, i) > p->options.capacity)
            result->reason = CEBUS_PACK_PRESET_ABOVE_CAPACITY;
    }
    if (result->reason == CEBUS_PACK_NO_REASON) {
        result->first = p->problem.max_starts;
        if (result->bound > p->options.capacity)
            result->reason = CEBUS_PACK_LOAD_ABOVE_CAPACITY;
    }
    if (result->reason == CEBUS_PACK_NO_REASON)
        result->first = 0;
    else
        result->verdict = CEBUS_PACK_INFEASIBLE;
}

/** What nothing can go below: the load, and where a preset ends. */
static uint64_t bound_of(const packing *p, size_t n)
{
    uint64_t bound = p->problem.max_load;
    for (size_t s = 0; s < p->problem.n_sections; s++) {
        /* of the blocks that are rounded up, only one can end at the top */
        uint64_t load = p->problem.load[s] * p->problem.unit - p->problem.slack;
        if (load > bound)
            bound = load;
    }
    for (size_t i = 0; i < n; i++) {
        if (preset_top(p, i) > bound)
            bound = preset_top(p, i);
    }
    return bound;
}

/* --- packing --------------------------------------------------------------------------------- */

static uint64_t height_of(const packing *p)
{
    uint64_t height = 0;
    for (size_t i = 0; i < p->problem.n_parts; i++) {
        if (p->heights[i] > height)
            height = p->heights[i];
    }
    return height;
}

/** Units at which a block that ends within the capacity does not end; UINT64_MAX where what ends
 * above it counts, too. */
static uint64_t limit_of(const packing *p)
{
    const cebus_pack_options *o = &p->options;
    bool decides = o->fits_only && !o->minimise && o->max_steps == 0;
    return decides ? (o->capacity + p->problem.slack) / p->problem.unit + 1 : UINT64_MAX;
}

/** What they left too high, or all where they left nothing. */
static uint64_t repair_part(packing *p, const cebus_pack_part *part, uint64_t target, bool any)
{
    uint64_t *offset = p->offset + part->block_begin;
    if (!any)
        memset(offset, 0xff, (part->block_end - part->block_begin) * sizeof *offset);
    return cebus_pack_repair_run(p->repair, part, target, p->options.repairs, &p->stop, offset);
}

/** The heuristics on one part, below `target` bytes if that goes; answers where it ends. */
static uint64_t construct_part(packing *p, cebus_pack_portfolio *portfolio,
                               const cebus_pack_part *part, uint64_t target)
{
    cebus_pack_wheel wheel = {
        .portfolio = portfolio,
        .part = part,
        .target = target,
        .limit = limit_of(p),
        .offset = p->offset + part->block_begin,
        .seed = p->options.seed,
    };
    wheel.height =
        cebus_pack_portfolio_run(portfolio, part, target, wheel.limit, &p->stop, wheel.offset);
    cebus_pack_wheel_run(&wheel, p->options.rounds, &p->stop);
    if (p->repair != NULL && wheel.height > target && !p->stop.stopped)
        return repair_part(p, part, target, wheel.height != UINT64_MAX);
    return wheel.height;
}

/** All parts, one after another. */
static cebus_status construct(packing *p, uint64_t target)
{
    cebus_pack_portfolio portfolio = {.at_least_one = p->options.at_least_one};
    const cebus_pack_piece *mark = cebus_pack_memory_mark(&p->memory);
    if (!cebus_pack_portfolio_init(&portfolio, &p->problem, &p->memory))
        return CEBUS_OUT_OF_HOST_MEMORY;
    const bool repairs = p->options.repairs > 0 && !p->options.minimise;
    p->repair = repairs ? cebus_pack_repair_create(&p->problem, &p->memory) : NULL;
    if (repairs && p->repair == NULL)
        return CEBUS_OUT_OF_HOST_MEMORY;
    for (size_t i = 0; i < p->problem.n_parts; i++)
        p->heights[i] = construct_part(p, &portfolio, &p->problem.parts[i], target);
    cebus_pack_memory_release(&p->memory, mark);
    return CEBUS_OK;
}

/** The search, where the heuristics left something to be done. */
static cebus_status search(packing *p, cebus_pack_result *result)
{
    cebus_pack_exact exact = {
        .problem = &p->problem,
        .memory = &p->memory,
        .host = p->options.host,
        .stop = &p->stop,
        .most_steps = p->options.max_steps,
        .seed = p->options.seed,
        .heights = p->heights,
        .offset = p->offset,
    };
    cebus_pack_outcome outcome = CEBUS_PACK_OUTCOME_FITS;
    if (height_of(p) > p->options.capacity)
        outcome = cebus_pack_exact_fit(&exact, p->options.capacity);
    if (outcome == CEBUS_PACK_OUTCOME_FITS && p->options.minimise)
        outcome = cebus_pack_exact_lower(&exact, &result->bound);
    result->steps = exact.steps;
    if (outcome == CEBUS_PACK_OUTCOME_NO_MEMORY)
        return CEBUS_OUT_OF_HOST_MEMORY;
    if (outcome == CEBUS_PACK_OUTCOME_CANNOT) {
        result->verdict = CEBUS_PACK_INFEASIBLE;
        result->reason = CEBUS_PACK_SEARCHED;
    }
    return CEBUS_OK;
}

static cebus_status solve(packing *p, cebus_pack_result *result)
{
    const cebus_pack_problem *problem = &p->problem;
    p->offset = cebus_pack_memory_take(&p->memory, problem->n, sizeof *p->offset);
    p->heights = cebus_pack_memory_take(&p->memory, problem->n_parts, sizeof *p->heights);
    if (p->offset == NULL || p->heights == NULL)
        return CEBUS_OUT_OF_HOST_MEMORY;
    uint64_t target = p->options.minimise ? result->bound : p->options.capacity;
    cebus_status status = construct(p, target);
    if (status == CEBUS_OK && height_of(p) > target && p->options.max_steps > 0 && !p->stop.stopped)
        status = search(p, result);
    if (status != CEBUS_OK || result->verdict == CEBUS_PACK_INFEASIBLE)
        return status;
    const uint64_t height = height_of(p);
    const bool is_wanted = height <= p->options.capacity || limit_of(p) == UINT64_MAX;
    result->height = height != UINT64_MAX && is_wanted ? height : 0;
    if (height <= p->options.capacity)
        result->verdict = CEBUS_PACK_SOLVED;
    return CEBUS_OK;
}

/** Blocks of no bytes are in nobody's way: they stay at their presets, or at 0. */
static void write_offsets(const packing *p, size_t n, uint64_t *out_offsets)
{
    const uint64_t *presets = p->options.presets;
    for (size_t i = 0; i < n; i++) {
        if (p->problem.blocks[i].bytes == 0)
            out_offsets[i] = presets != NULL && presets[i] != CEBUS_PACK_ANYWHERE ? presets[i] : 0;
    }
    for (size_t i = 0; i < p->problem.n; i++)
        out_offsets[p->problem.index[i]] = p->offset[i] * p->problem.unit;
}

static cebus_status pack(packing *p, const cebus_pack_block *blocks, size_t n,
                         uint64_t *out_offsets, cebus_pack_result *result)
{
    cebus_status status =
        cebus_pack_problem_build(&p->problem, &p->memory, blocks, n, p->options.presets, result);
    if (status != CEBUS_OK)
        return status;
    result->max_load = p->problem.max_load;
    result->bound = bound_of(p, n);
    find_obstacle(p, n, result);
    if (result->reason != CEBUS_PACK_NO_REASON)
        return CEBUS_OK;
    status = solve(p, result);
    if (status == CEBUS_OK && (result->height != 0 || result->verdict == CEBUS_PACK_SOLVED))
        write_offsets(p, n, out_offsets);
    return status;
}

cebus_status cebus_pack(const cebus_pack_block *blocks, size_t n, const cebus_pack_options *options,
                        uint64_t *out_offsets, cebus_pack_result *out_result)
{
    packing p = {0};
    cebus_pack_result result = {.verdict = CEBUS_PACK_UNDECIDED};
    if (out_result == NULL || out_result->struct_size < sizeof(size_t))
        return CEBUS_INVALID_ARGUMENT;
    result.struct_size = out_result->struct_size;
    cebus_status status = CEBUS_INVALID_ARGUMENT;
    if (((blocks != NULL && out_offsets != NULL) || n == 0) && read_options(options, &p.options)) {
        cebus_pack_memory_init(&p.memory, p.options.host);
        p.stop = (cebus_pack_stop){.go_on = p.options.go_on, .context = p.options.context};
        status = pack(&p, blocks, n, out_offsets, &result);
        cebus_pack_memory_release(&p.memory, NULL);
    }
    size_t known = result.struct_size < sizeof result ? result.struct_size : sizeof result;
    memcpy(out_result, &result, known);
    return status;
}

const char *cebus_pack_reason_text(cebus_pack_reason reason)
{
    switch (reason) {
    case CEBUS_PACK_NO_REASON:
        break;
    case CEBUS_PACK_EMPTY_LIFETIME:
        return "its lifetime is empty: upper must be above lower";
    case CEBUS_PACK_WRONG_ALIGNMENT:
        return "its alignment is not a power of two";
    case CEBUS_PACK_TOO_LARGE:
        return "sizes, alignments and offsets up to here are more than 2^60 bytes";
    case CEBUS_PACK_MISALIGNED_PRESET:
        return "its preset offset is not a multiple of its alignment";
    case CEBUS_PACK_COLLIDING_PRESETS:
        return "its preset offset overlaps that of another block";
    case CEBUS_PACK_BLOCK_ABOVE_CAPACITY:
        return "it is larger than the capacity";
    case CEBUS_PACK_PRESET_ABOVE_CAPACITY:
        return "its preset offset lets it end above the capacity";
    case CEBUS_PACK_LOAD_ABOVE_CAPACITY:
        return "when it starts, more bytes live than the capacity";
    case CEBUS_PACK_SEARCHED:
        return "every packing has been ruled out";
    }
    return "no reason";
}
