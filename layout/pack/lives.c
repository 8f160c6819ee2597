#include "layout/pack/lives.h"

#include <string.h>

static uint32_t level_of(const cebus_pack_problem *problem, uint32_t block)
{
    uint32_t sections = problem->end[block] - problem->first[block];
    return sections > 1 ? 32 - (uint32_t)__builtin_clz(sections - 1) : 0;
}

static uint32_t bucket_of(const cebus_pack_lives *lives, uint32_t block)
{
    uint32_t level = level_of(lives->problem, block);
    return lives->bucket[level] + (uint32_t)((uint64_t)lives->problem->first[block] >> level);
}

/** Every block has its room, wherever it is going to lie. */
static void share_out(cebus_pack_lives *lives, size_t buckets)
{
    uint32_t sum = 0;
    memset(lives->end, 0, buckets * sizeof *lives->end);
    for (uint32_t i = 0; i < lives->problem->n; i++)
        lives->end[bucket_of(lives, i)]++;
    for (size_t i = 0; i < buckets; i++) {
        lives->begin[i] = sum;
        sum += lives->end[i];
        lives->end[i] = lives->begin[i];
    }
}

bool cebus_pack_lives_init(cebus_pack_lives *lives, const cebus_pack_problem *problem,
                           cebus_pack_memory *memory)
{
    size_t buckets = 0;
    *lives = (cebus_pack_lives){.problem = problem};
    for (uint32_t i = 0; i < problem->n; i++) {
        uint32_t level = level_of(problem, i) + 1;
        lives->levels = level > lives->levels ? level : lives->levels;
    }
    for (uint32_t level = 0; level < lives->levels; level++) {
        lives->bucket[level] = (uint32_t)buckets;
        buckets += ((size_t)problem->n_sections >> level) + 1;
    }
    lives->begin = cebus_pack_memory_take(memory, buckets, sizeof *lives->begin);
    lives->end = cebus_pack_memory_take(memory, buckets, sizeof *lives->end);
    lives->blocks = cebus_pack_memory_take(memory, problem->n, sizeof *lives->blocks);
    if (lives->begin == NULL || lives->end == NULL || lives->blocks == NULL)
        return false;
    share_out(lives, buckets);
    return true;
}

void cebus_pack_lives_clear(cebus_pack_lives *lives, const cebus_pack_part *part)
{
    for (uint32_t i = part->block_begin; i < part->block_end; i++) {
        uint32_t bucket = bucket_of(lives, i);
        lives->end[bucket] = lives->begin[bucket];
    }
}

void cebus_pack_lives_add(cebus_pack_lives *lives, uint32_t block)
{
    lives->blocks[lives->end[bucket_of(lives, block)]++] = block;
}

uint32_t cebus_pack_lives_with(const cebus_pack_lives *lives, uint32_t block, uint32_t *out)
{
    const cebus_pack_problem *problem = lives->problem;
    uint32_t first = problem->first[block], end = problem->end[block], count = 0;
    for (uint32_t level = 0; level < lives->levels; level++) {
        uint32_t from = first >> level, to = (end - 1) >> level;
        uint32_t low = lives->bucket[level] + (from > 0 ? from - 1 : 0);
        for (uint32_t bucket = low; bucket <= lives->bucket[level] + to; bucket++) {
            for (uint32_t i = lives->begin[bucket]; i < lives->end[bucket]; i++) {
                uint32_t other = lives->blocks[i];
                out[count] = other;
                count += (uint32_t)((problem->first[other] < end) & (problem->end[other] > first));
            }
        }
    }
    return count;
}
