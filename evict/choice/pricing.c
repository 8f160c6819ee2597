#include "evict/choice/pricing.h"

#include <math.h>

#include "evict/wish.h"
#include "layout/checked.h"
#include "layout/window/index.h"
#include "layout/window/window.h"
#include "lineage/burden.h"
#include "lineage/cost.h"
#include "lineage/version.h"

/** Added to the price of what a running rebuild reads next, for each ns of its age. Far above any
 * real price. */
#define URGENCY (UINT64_C(1) << 20)

/** An exact price counts at most so many absent calls that a value is made of, and as many that are
 * made of it. */
#define LOOK CEBUS_BURDEN_CALLS
/** An exact price is multiplied by 1 + (CROWDING x bytes the rebuild makes / memory)^2, so that a
 * rebuild of a third of the memory counts twice: to make room for itself it evicts what has to be
 * rebuilt next. The number matters little, the square does: with 1 + bytes / memory InceptionV4
 * thrashed under coop at 18% of its peak. */
#define CROWDING 3.0
/** Below so many blocks, and once rebuilding took longer than the program itself, all prices are
 * exact. */
#define EXACT_BLOCKS 1024

/** The price of a digest is moved up by as much as that of a value which must be saved. 2^5 and
 * 2^12 times the price made the same choices in all logs that were tried. */
#define DIGEST_SHIFT CEBUS_WISH_MUST

int cebus_pricing_shift(const cebus_candidate *candidate)
{
    bool digest = candidate->value.digest && candidate->method == CEBUS_GO_DROP;
    int wish = candidate->hint != CEBUS_HINT_NONE ? cebus_wish_shift(candidate) : 0;
    return wish + (digest ? DIGEST_SHIFT : 0);
}

/** Whether a rebuild is under way that may not give up what takes so long to make again. The
 * neighbourhood's price cannot tell: it leaves out what a call waited for when it ran last. */
static bool is_too_dear(const cebus_chooser *chooser, const cebus_candidate *candidate)
{
    uint64_t most = chooser->dearest;
    return most > 0 && cebus_burden_exceeds(chooser->lineage, &candidate->value, most);
}

/** As the runtime knows, or as the chooser takes it. */
static bool is_gradient(const cebus_chooser *chooser, const cebus_candidate *candidate)
{
    return candidate->gradient || cebus_value_is_past(&candidate->value, chooser->turn);
}

/** Whether a value is not in use, and nobody wishes it to stay. */
static bool is_offered(const cebus_chooser *chooser, const cebus_candidate *candidate)
{
    return cebus_candidate_is_idle(candidate) &&
           (chooser->last_resort || !cebus_wish_saves(candidate));
}

/** Whether what is offered may go without a copy. */
static bool is_droppable(const cebus_chooser *chooser, const cebus_candidate *candidate)
{
    return cebus_value_is_replayable(&candidate->value) &&
           (chooser->last_resort || !is_gradient(chooser, candidate)) &&
           !is_too_dear(chooser, candidate);
}

bool cebus_pricing_may_go(const cebus_chooser *chooser, const cebus_candidate *candidate)
{
    if (!is_offered(chooser, candidate))
        return false;
    if (chooser->swap.use != CEBUS_SWAP_NEVER && cebus_regen_may_swap(&chooser->swap, candidate))
        return true;
    return is_droppable(chooser, candidate);
}

bool cebus_pricing_may_drop(const cebus_chooser *chooser, const cebus_candidate *candidate)
{
    return is_offered(chooser, candidate) && is_droppable(chooser, candidate) &&
           cebus_regen_may_drop(&chooser->swap, candidate);
}

/**
 * ns of rebuilding that evicting a candidate adds: the absent calls it is made of, and the absent
 * calls still wanted that are made of it, each once. DTR's neighbourhood cost is coarser: it joins
 * all absent values that are connected, dead ones included. Next to a large such class all values
 * cost about the same, and only age tells a gradient that the whole backward needs from an
 * activation that one call makes. A rebuild that makes more bytes than there is room for runs parts
 * of it several times, so the price grows with the square of its bytes. False: it is more than
 * `most`. Walks end as soon as that is clear.
 */
static bool find_exact(const cebus_chooser *chooser, const cebus_candidate *candidate,
                       uint64_t most, uint64_t *out)
{
    const cebus_value *value = &candidate->value;
    cebus_effort behind = cebus_burden_behind(chooser->lineage, value, most);
    if (behind.ns > most)
        return false;
    double fill = CROWDING * (double)behind.bytes / (double)chooser->arena->limit;
    double times = 1 + fill * fill, left = (double)most / times - (double)behind.ns + 1;
    if (left < 0 && most < UINT64_MAX)
        return false;
    uint64_t ahead_most = left < 0x1p63 && most < UINT64_MAX ? (uint64_t)left : UINT64_MAX;
    cebus_effort ahead = cebus_replay_ahead(chooser->lineage, value, LOOK, ahead_most);
    double ns = ((double)behind.ns + (double)ahead.ns) * times;
    *out = ns < 0x1p64 ? (uint64_t)ns : UINT64_MAX;
    return *out <= most;
}

static uint64_t exact_of(const cebus_chooser *chooser, const cebus_candidate *candidate)
{
    uint64_t price = UINT64_MAX;
    (void)find_exact(chooser, candidate, UINT64_MAX, &price);
    return price;
}

/** Whether all prices are exact, not only those of the few lowest scores. Where one large absent
 * class makes all neighbourhood prices alike, the lowest scores are just those of the oldest and
 * largest values, which may all be dear. */
static bool are_all_exact(const cebus_chooser *chooser)
{
    const cebus_arena *arena = chooser->arena;
    return chooser->strained && arena->blocks < EXACT_BLOCKS;
}

bool cebus_pricing_scores_exactly(const cebus_chooser *chooser)
{
    return are_all_exact(chooser) && chooser->swap.use == CEBUS_SWAP_NEVER &&
           chooser->rebuild == NULL && chooser->policy->weight == cebus_policy_weight_neighbourhood;
}

/** The policy's price; false: it is more than `most`. That of the neighbourhood is remembered
 * (lineage/cost.h). What a replay left behind and nobody will read costs nothing. */
static bool weigh(const cebus_chooser *chooser, cebus_candidate *candidate, uint64_t most,
                  uint64_t *out)
{
    *out = 0;
    if (!cebus_version_is_missed(chooser->lineage, &candidate->value))
        return true;
    if (chooser->policy->weight != cebus_policy_weight_neighbourhood)
        *out = chooser->policy->weight(chooser->lineage, candidate);
    else if (are_all_exact(chooser))
        return find_exact(chooser, candidate, most, out);
    else
        *out = cebus_cost_price(chooser->lineage, &candidate->value);
    return true;
}

/**
 * A value that was about to be swapped is dropped if making it again takes less than copying it
 * back. That is asked of its exact price, since the neighbourhood's also counts calls that are not
 * needed to rebuild it. The copy out is not counted against swapping: it mostly overlaps with
 * calls, and a dropped value makes those around it dearer.
 */
static void prefer_making(const cebus_chooser *chooser, cebus_block *block)
{
    cebus_candidate *candidate = block->owner;
    uint64_t most = cebus_regen_back_ns(&chooser->swap, candidate);
    if (!cebus_value_is_replayable(&candidate->value) ||
        cebus_replay_behind(chooser->lineage, &candidate->value, LOOK, most).ns > most)
        return;
    uint64_t exact = exact_of(chooser, candidate);
    if (exact > most)
        return;
    candidate->method = CEBUS_GO_DROP;
    block->weight = exact;
}

static void choose_method(const cebus_chooser *chooser, cebus_block *block)
{
    cebus_candidate *candidate = block->owner;
    candidate->method = CEBUS_GO_DROP;
    if (chooser->swap.use == CEBUS_SWAP_NEVER)
        return;
    block->weight = cebus_regen_weight(&chooser->swap, candidate, block->weight);
    if (candidate->method == CEBUS_GO_SWAP && cebus_regen_may_choose(&chooser->swap, candidate))
        prefer_making(chooser, block);
}

/** What the running rebuild will read is dearer than anything it will not, and the sooner the
 * dearer: that comes on top of its price. Scores divide by age: multiplied by it here, age cancels
 * out. */
static uint64_t urgency_of(const cebus_chooser *chooser, const cebus_block *block,
                           const cebus_value *value)
{
    uint64_t age = chooser->now > block->tick ? chooser->now - block->tick : 1, more;
    uint64_t distance =
        chooser->rebuild != NULL ? cebus_replay_distance(chooser->rebuild, value) : 0;
    if (distance == 0)
        return 0;
    return cebus_checked_mul(age, URGENCY / distance + 1, &more) ? more : UINT64_MAX;
}

static uint64_t add(uint64_t a, uint64_t b)
{
    uint64_t sum;
    return cebus_checked_add(a, b, &sum) ? sum : UINT64_MAX;
}

static uint64_t free_bytes(const cebus_block *block)
{
    return block != NULL && block->state == CEBUS_BLOCK_FREE ? block->bytes : 0;
}

/** A weight above this has a score above `most`, by all policies that do not go by age alone
 * (policy.h). */
static double most_weight(const cebus_chooser *chooser, const cebus_block *block, double most)
{
    uint64_t age = chooser->now > block->tick ? chooser->now - block->tick : 1;
    double bytes = (double)(block->bytes + free_bytes(block->prev) + free_bytes(block->next));
    return most * bytes * (double)age * (1 + 1e-9) + 1;
}

/** The same for a weight that has still to be worked out, where that takes long: what comes on top
 * of it only makes it more. */
static uint64_t most_unpriced(const cebus_chooser *chooser, const cebus_block *block, double most)
{
    if (most == HUGE_VAL || !are_all_exact(chooser) || chooser->swap.use != CEBUS_SWAP_NEVER ||
        cebus_pricing_shift(block->owner) < 0 || chooser->policy->score == cebus_policy_score_age)
        return UINT64_MAX;
    double weight = most_weight(chooser, block, most);
    return weight < 0x1p63 ? (uint64_t)weight : UINT64_MAX;
}

bool cebus_pricing_may_be_within(const cebus_chooser *chooser, const cebus_block *block,
                                 double most)
{
    return most == HUGE_VAL || chooser->policy->score == cebus_policy_score_age ||
           (double)block->weight <= most_weight(chooser, block, most);
}

bool cebus_pricing_block_within(const cebus_chooser *chooser, cebus_block *block, double most)
{
    cebus_candidate *candidate = block->owner;
    if (candidate == NULL || !cebus_pricing_may_go(chooser, candidate)) {
        block->state = CEBUS_BLOCK_BARRIER;
        return true;
    }
    uint64_t before = block->weight, weight, limit = most_unpriced(chooser, block, most);
    uint64_t urgency = urgency_of(chooser, block, &candidate->value);
    block->state = CEBUS_BLOCK_EVICTABLE;
    candidate->method = CEBUS_GO_DROP;
    if (urgency > limit || !weigh(chooser, candidate, limit, &weight))
        return false;
    block->weight = weight;
    choose_method(chooser, block);
    block->weight = cebus_wish_price(block->weight, cebus_pricing_shift(candidate));
    block->weight = add(block->weight, urgency);
    if (block->weight < before)
        cebus_window_index_cheaper(chooser->arena->index, block);
    return true;
}

void cebus_pricing_block(const cebus_chooser *chooser, cebus_block *block)
{
    (void)cebus_pricing_block_within(chooser, block, HUGE_VAL);
}

/** For policies that choose windows and have no score, when they are asked for a single victim. */
static double score_by_density(uint64_t weight, const cebus_situation *situation)
{
    return (double)weight / ((double)situation->bytes * (double)situation->age);
}

double cebus_pricing_score(const cebus_chooser *chooser, const cebus_block *block,
                           const cebus_quote *quote)
{
    cebus_situation situation = {
        .age = chooser->now > quote->tick ? chooser->now - quote->tick : 1,
        .bytes = quote->bytes,
        .adjacent_free = chooser->arena->commodity ? 0 : quote->free_beside,
    };
    if (chooser->policy->score == NULL || chooser->rebuild != NULL)
        return score_by_density(quote->weight, &situation);
    if (chooser->policy->score == cebus_policy_score_age && block->owner != NULL)
        situation.age = cebus_wish_price(situation.age, -cebus_wish_shift(block->owner));
    return chooser->policy->score(quote->weight, &situation);
}

double cebus_pricing_score_now(const cebus_chooser *chooser, const cebus_block *block)
{
    cebus_quote quote = {block->weight, block->tick, block->bytes,
                         free_bytes(block->prev) + free_bytes(block->next)};
    return cebus_pricing_score(chooser, block, &quote);
}

/** Weights of swaps, and of what nobody misses, are exact as they are. */
bool cebus_pricing_exact_within(const cebus_chooser *chooser, const cebus_block *block,
                                uint64_t most, uint64_t *out)
{
    cebus_candidate *candidate = block->owner;
    *out = block->weight;
    if (candidate->method == CEBUS_GO_SWAP ||
        !cebus_version_is_missed(chooser->lineage, &candidate->value))
        return true;
    int shift = cebus_pricing_shift(candidate);
    bool any = most == UINT64_MAX || shift < 0;
    if (!find_exact(chooser, candidate, any ? UINT64_MAX : most >> shift, out))
        return false;
    *out = cebus_wish_price(*out, shift);
    return true;
}

static uint64_t exact_weight(const cebus_chooser *chooser, const cebus_block *block)
{
    uint64_t weight;
    (void)cebus_pricing_exact_within(chooser, block, UINT64_MAX, &weight);
    return weight;
}

double cebus_pricing_exact_score(const cebus_chooser *chooser, const cebus_block *block)
{
    cebus_block exact = *block;
    exact.weight = exact_weight(chooser, block);
    return cebus_pricing_score_now(chooser, &exact);
}

uint64_t cebus_pricing_exact_price(const cebus_chooser *chooser, const cebus_block *block)
{
    cebus_block exact = *block;
    exact.weight = exact_weight(chooser, block);
    return cebus_block_price(&exact, chooser->now);
}
