#include "evict/choose.h"

#include "lineage/cost.h"

/** Gradients are dropped as a last resort only; a swap brings them back at no risk. */
static bool may_go(const cebus_chooser *chooser, const cebus_candidate *candidate)
{
    if (!cebus_candidate_is_idle(candidate))
        return false;
    if (cebus_regen_may_swap(&chooser->swap, candidate))
        return true;
    return cebus_value_is_replayable(&candidate->value) &&
           (!candidate->gradient || chooser->last_resort);
}

/** What the policy says, out of the values' memory where that is the neighbourhood's cost. */
static uint64_t weigh(const cebus_chooser *chooser, cebus_candidate *candidate)
{
    if (chooser->policy->weight == cebus_policy_weight_neighbourhood)
        return cebus_cost_price(chooser->lineage, &candidate->value);
    return chooser->policy->weight(chooser->lineage, candidate);
}

/** Brings each block's state and weight up to date: prices depend on who is absent now. */
static void price_blocks(const cebus_chooser *chooser)
{
    for (cebus_block *block = chooser->arena->first; block != NULL; block = block->next) {
        if (block->state == CEBUS_BLOCK_FREE)
            continue;
        cebus_candidate *candidate = block->owner;
        bool offered = candidate != NULL && may_go(chooser, candidate);
        block->state = offered ? CEBUS_BLOCK_EVICTABLE : CEBUS_BLOCK_BARRIER;
        if (offered)
            block->weight =
                cebus_regen_weight(&chooser->swap, candidate, weigh(chooser, candidate));
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
    double best_score = 0, next_score = 0;
    const cebus_block *next = NULL;
    for (cebus_block *block = chooser->arena->first; block != NULL; block = block->next) {
        if (block->state != CEBUS_BLOCK_EVICTABLE)
            continue;
        double score = score_block(chooser, block);
        if (best.first == NULL || score < best_score) {
            next = best.first;
            next_score = best_score;
            best.first = best.last = block;
            best_score = score;
        } else if (next == NULL || score < next_score) {
            next = block;
            next_score = score;
        }
    }
    if (best.first != NULL)
        best.price = cebus_block_price(best.first, chooser->now);
    if (next != NULL)
        best.next_price = cebus_block_price(next, chooser->now);
    return best;
}

static cebus_victims best_window(const cebus_chooser *chooser, uint64_t bytes)
{
    cebus_window best[2] = {{0}};
    if (chooser->compare)
        cebus_window_find_best(chooser->arena, bytes, chooser->now, best, 2);
    else
        cebus_window_find(chooser->arena, bytes, chooser->now, &best[0]);
    return (cebus_victims){.first = best[0].first,
                           .last = best[0].last,
                           .price = best[0].price,
                           .next_price = best[1].first != NULL ? best[1].price : 0};
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
