#include "layout/pack/problem.h"

#include "layout/checked.h"
#include "layout/number.h"
#include "layout/pack/presets.h"

#include <string.h>

/** What building needs only while it builds. */
typedef struct builder {
    cebus_pack_problem *problem;
    const uint64_t *presets;
    size_t n_all;
    size_t n_sized;           /**< blocks of more than no bytes */
    uint64_t least_align;     /**< of those */
    uint32_t *first, *end;    /**< of each of the caller's blocks that has bytes */
    cebus_pack_keyed *starts; /**< those blocks by lower */
    cebus_pack_keyed *ends;   /**< by upper */
    cebus_pack_keyed *spare;
} builder;

static uint64_t alignment_of(const cebus_pack_block *block)
{
    return block->alignment == 0 ? 1 : block->alignment;
}

static uint64_t preset_of(const uint64_t *presets, size_t i)
{
    return presets == NULL ? CEBUS_PACK_ANYWHERE : presets[i];
}

/* --- what may be asked ----------------------------------------------------------------------- */

static cebus_pack_reason fault_of(const cebus_pack_block *block, uint64_t preset, uint64_t *sum)
{
    uint64_t align = alignment_of(block);
    uint64_t highest = 0;
    if (block->upper <= block->lower)
        return CEBUS_PACK_EMPTY_LIFETIME;
    if ((align & (align - 1)) != 0)
        return CEBUS_PACK_WRONG_ALIGNMENT;
    if (!cebus_checked_add(*sum, block->bytes, sum) || !cebus_checked_add(*sum, align, sum) ||
        *sum > CEBUS_PACK_MAX_BYTES)
        return CEBUS_PACK_TOO_LARGE;
    if (preset == CEBUS_PACK_ANYWHERE)
        return CEBUS_PACK_NO_REASON;
    if (!cebus_checked_add(preset, block->bytes, &highest) || highest > CEBUS_PACK_MAX_BYTES)
        return CEBUS_PACK_TOO_LARGE;
    return (preset & (align - 1)) != 0 ? CEBUS_PACK_MISALIGNED_PRESET : CEBUS_PACK_NO_REASON;
}

static bool check(builder *b, cebus_pack_result *out_result)
{
    uint64_t sum = 0;
    b->least_align = CEBUS_PACK_MAX_BYTES;
    for (size_t i = 0; i < b->n_all; i++) {
        const cebus_pack_block *block = &b->problem->blocks[i];
        cebus_pack_reason fault = fault_of(block, preset_of(b->presets, i), &sum);
        if (fault != CEBUS_PACK_NO_REASON) {
            out_result->reason = fault;
            out_result->first = i;
            return false;
        }
        if (block->bytes == 0)
            continue;
        b->n_sized++;
        if (alignment_of(block) < b->least_align)
            b->least_align = alignment_of(block);
    }
    return true;
}

/* --- sections -------------------------------------------------------------------------------- */

static void sort_ends(builder *b)
{
    size_t n = 0;
    for (size_t i = 0; i < b->n_all; i++) {
        const cebus_pack_block *block = &b->problem->blocks[i];
        if (block->bytes == 0)
            continue;
        b->starts[n] = (cebus_pack_keyed){block->lower, (uint32_t)i};
        b->ends[n++] = (cebus_pack_keyed){block->upper, (uint32_t)i};
    }
    cebus_pack_sort(b->starts, b->spare, n);
    cebus_pack_sort(b->ends, b->spare, n);
}

/** A section ends at the first end after a start. What lives in it is counted on the way. */
static void cut_sections(builder *b)
{
    cebus_pack_problem *problem = b->problem;
    size_t started = 0;
    uint64_t live = 0;
    bool grew = false;
    for (size_t ended = 0; ended < b->n_sized;) {
        uint32_t ending = b->ends[ended].item;
        if (started < b->n_sized && b->starts[started].key < b->ends[ended].key) {
            uint32_t starting = b->starts[started++].item;
            b->first[starting] = problem->n_sections;
            grew = true;
            live += problem->blocks[starting].bytes;
            if (live > problem->max_load) {
                problem->max_load = live;
                problem->max_starts = starting;
            }
            continue;
        }
        problem->n_sections += grew;
        grew = false;
        b->end[ending] = problem->n_sections;
        live -= problem->blocks[ending].bytes;
        ended++;
    }
}

/* --- units ----------------------------------------------------------------------------------- */

static uint64_t gcd(uint64_t a, uint64_t b)
{
    while (b != 0) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static uint64_t rounded(const builder *b, const cebus_pack_block *block)
{
    return cebus_align_up(block->bytes, b->least_align);
}

/**
 * Every offset of a packing without needless gaps is a sum of sizes and presets, rounded up to
 * alignments. Where some alignment does not divide their common divisor, the power of two in
 * that divisor is what is left.
 */
static void choose_unit(builder *b)
{
    uint64_t unit = 0, most_align = 1;
    for (size_t i = 0; i < b->n_sized; i++) {
        uint32_t item = b->starts[i].item;
        const cebus_pack_block *block = &b->problem->blocks[item];
        uint64_t preset = preset_of(b->presets, item);
        unit = gcd(unit, rounded(b, block));
        if (preset != CEBUS_PACK_ANYWHERE)
            unit = gcd(unit, preset);
        if (alignment_of(block) > most_align)
            most_align = alignment_of(block);
    }
    uint64_t power = unit & (~unit + 1);
    b->problem->unit = most_align > power ? power : unit;
}

/* --- blocks ---------------------------------------------------------------------------------- */

static bool take_blocks(builder *b, cebus_pack_memory *memory)
{
    cebus_pack_problem *problem = b->problem;
    size_t n = b->n_sized, n_sections = problem->n_sections;
    problem->n = n;
    problem->index = cebus_pack_memory_take(memory, n, sizeof *problem->index);
    problem->first = cebus_pack_memory_take(memory, n, sizeof *problem->first);
    problem->end = cebus_pack_memory_take(memory, n, sizeof *problem->end);
    problem->size = cebus_pack_memory_take(memory, n, sizeof *problem->size);
    problem->align = cebus_pack_memory_take(memory, n, sizeof *problem->align);
    problem->preset = cebus_pack_memory_take(memory, n, sizeof *problem->preset);
    problem->load = cebus_pack_memory_take(memory, n_sections + 1, sizeof *problem->load);
    problem->parts = cebus_pack_memory_take(memory, n_sections, sizeof *problem->parts);
    return problem->index != NULL && problem->first != NULL && problem->end != NULL &&
           problem->size != NULL && problem->align != NULL && problem->preset != NULL &&
           problem->load != NULL && problem->parts != NULL;
}

/** By the section they start in; blocks that are alike come to lie side by side. */
static void sort_blocks(builder *b)
{
    size_t n = b->n_sized;
    for (size_t i = 0; i < n; i++)
        b->starts[i].key = b->problem->blocks[b->starts[i].item].bytes;
    cebus_pack_sort(b->starts, b->spare, n);
    for (size_t i = 0; i < n; i++)
        b->starts[i].key = b->end[b->starts[i].item];
    cebus_pack_sort(b->starts, b->spare, n);
    for (size_t i = 0; i < n; i++)
        b->starts[i].key = b->first[b->starts[i].item];
    cebus_pack_sort(b->starts, b->spare, n);
}

static void fill_blocks(builder *b)
{
    cebus_pack_problem *problem = b->problem;
    memset(problem->load, 0, ((size_t)problem->n_sections + 1) * sizeof *problem->load);
    for (size_t i = 0; i < problem->n; i++) {
        uint32_t item = b->starts[i].item;
        const cebus_pack_block *block = &problem->blocks[item];
        uint64_t preset = preset_of(b->presets, item);
        uint64_t align = alignment_of(block);
        problem->index[i] = item;
        problem->first[i] = b->first[item];
        problem->end[i] = b->end[item];
        problem->size[i] = rounded(b, block) / problem->unit;
        problem->align[i] = align > problem->unit ? align / problem->unit : 1;
        problem->preset[i] =
            preset == CEBUS_PACK_ANYWHERE ? CEBUS_PACK_ANYWHERE : preset / problem->unit;
        if (rounded(b, block) - block->bytes > problem->slack)
            problem->slack = rounded(b, block) - block->bytes;
        problem->load[problem->first[i]] += problem->size[i];
        problem->load[problem->end[i]] -= problem->size[i];
    }
    for (size_t s = 1; s < problem->n_sections; s++)
        problem->load[s] += problem->load[s - 1];
}

/** A part ends where everything that lived before has. */
static void cut_parts(cebus_pack_problem *problem)
{
    uint32_t reach = 0;
    for (uint32_t i = 0; i < problem->n; i++) {
        if (i == 0 || problem->first[i] >= reach) {
            problem->parts[problem->n_parts++] =
                (cebus_pack_part){.block_begin = i, .section_begin = problem->first[i]};
        }
        cebus_pack_part *part = &problem->parts[problem->n_parts - 1];
        if (problem->end[i] > reach)
            reach = problem->end[i];
        part->block_end = i + 1;
        part->section_end = reach;
        part->has_presets |= problem->preset[i] != CEBUS_PACK_ANYWHERE;
    }
}

static bool take_builder(builder *b, cebus_pack_memory *memory)
{
    b->first = cebus_pack_memory_take(memory, b->n_all, sizeof *b->first);
    b->end = cebus_pack_memory_take(memory, b->n_all, sizeof *b->end);
    b->starts = cebus_pack_memory_take(memory, b->n_sized, sizeof *b->starts);
    b->ends = cebus_pack_memory_take(memory, b->n_sized, sizeof *b->ends);
    b->spare = cebus_pack_memory_take(memory, b->n_sized, sizeof *b->spare);
    return b->first != NULL && b->end != NULL && b->starts != NULL && b->ends != NULL &&
           b->spare != NULL;
}

cebus_status cebus_pack_problem_build(cebus_pack_problem *problem, cebus_pack_memory *memory,
                                      const cebus_pack_block *blocks, size_t n,
                                      const uint64_t *presets, cebus_pack_result *out_result)
{
    builder b = {.problem = problem, .presets = presets, .n_all = n};
    *problem = (cebus_pack_problem){.blocks = blocks, .unit = 1};
    if (n >= UINT32_MAX / 4) {
        out_result->reason = CEBUS_PACK_TOO_LARGE;
        out_result->first = n - 1;
        return CEBUS_INVALID_ARGUMENT;
    }
    if (!check(&b, out_result))
        return CEBUS_INVALID_ARGUMENT;
    if (!take_builder(&b, memory))
        return CEBUS_OUT_OF_HOST_MEMORY;
    if (b.n_sized == 0)
        return CEBUS_OK;
    sort_ends(&b);
    cut_sections(&b);
    choose_unit(&b);
    if (!take_blocks(&b, memory))
        return CEBUS_OUT_OF_HOST_MEMORY;
    sort_blocks(&b);
    fill_blocks(&b);
    cut_parts(problem);
    return presets == NULL ? CEBUS_OK : cebus_pack_presets_check(problem, memory, out_result);
}
