#include "evict/choose.h"

/** Brings each block's state and weight up to date: prices depend on who is absent now. */
static void price_blocks(const cebus_chooser *chooser)
{
    for (cebus_block *block = chooser->arena->first; block != NULL; block = block->next) {
        if (block->state == CEBUS_BLOCK_FREE)
            continue;
        const cebus_candidate *candidate = block->owner;
        bool evictable = candidate != NULL && cebus_candidate_is_evictable(candidate) &&
                         (!candidate->gradient || chooser->last_resort);
        block->state = evictable ? CEBUS_BLOCK_EVICTABLE : CEBUS_BLOCK_BARRIER;
        if (evictable)
            block->weight = chooser->policy->weight(chooser->lineage, candidate);
    }
}

static uint64_t free_bytes(const cebus_block *block)
{
    return block != NULL && block->state == CEBUS_BLOCK_FREE ? block->bytes : 0;
}

/** The score of policies that choose windows, when a single victim is asked of them. */
static double score_by_density(uint64_t weight, const cebus_situation *situation)
{
    return (double)weight / ((double)situation->bytes * (double)situation->age);
}

static double score_block(const cebus_chooser *chooser, const cebus_block *block)
{
    cebus_situation situation = {
        .age = chooser->now > block->tick ? chooser->now - block->tick : 1,
        .bytes = block->bytes,
        .adjacent_free = free_bytes(block->prev) + free_bytes(block->next),
    };
    if (chooser->policy->score == NULL)
        return score_by_density(block->weight, &situation);
    return chooser->policy->score(block->weight, &situation);
}

static cebus_victims lowest_score(const cebus_chooser *chooser)
{
    cebus_victims best = {0};
    double best_score = 0;
    for (cebus_block *block = chooser->arena->first; block != NULL; block = block->next) {
        if (block->state != CEBUS_BLOCK_EVICTABLE)
            continue;
        double score = score_block(chooser, block);
        if (best.first == NULL || score < best_score) {
            best.first = best.last = block;
            best_score = score;
        }
    }
    if (best.first != NULL)
        best.price = cebus_block_price(best.first, chooser->now);
    return best;
}

static cebus_victims best_window(const cebus_chooser *chooser, uint64_t bytes)
{
    cebus_window window;
    cebus_window_find(chooser->arena, bytes, chooser->now, &window);
    return (cebus_victims){.first = window.first, .last = window.last, .price = window.price};
}

cebus_victims cebus_choose_victims(const cebus_chooser *chooser, uint64_t bytes)
{
    if (chooser->policy->unit == CEBUS_UNIT_NONE)
        return (cebus_victims){0};
    price_blocks(chooser);
    if (chooser->policy->unit == CEBUS_UNIT_WINDOW)
        return best_window(chooser, bytes);
    return lowest_score(chooser);
}

cebus_victims cebus_choose_one(const cebus_chooser *chooser)
{
    if (chooser->policy->unit == CEBUS_UNIT_NONE)
        return (cebus_victims){0};
    if (!chooser->keep_prices)
        price_blocks(chooser);
    return lowest_score(chooser);
}
