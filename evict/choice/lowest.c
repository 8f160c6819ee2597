#include "evict/choice/lowest.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "evict/choice/board.h"
#include "evict/choice/rank.h"
#include "layout/window/index.h"

/** A sweep has the records of this many blocks ahead fetched into the cache. */
#define AHEAD 4

/**
 * Records lie about in memory, and a sweep does little with each: it would mostly wait. A scout
 * runs ahead and has the lines of the next candidates fetched.
 */
static void fetch(const cebus_block *block)
{
    const cebus_candidate *candidate = block->owner;
    if (candidate == NULL)
        return;
    __builtin_prefetch(&candidate->value);
    __builtin_prefetch(&candidate->block);
    __builtin_prefetch(&candidate->exports);
}

static const cebus_block *send_scout(const cebus_arena *arena)
{
    const cebus_block *scout = arena->first;
    for (int i = 0; i < AHEAD && scout != NULL; i++, scout = scout->next)
        fetch(scout);
    return scout;
}

static const cebus_block *advance_scout(const cebus_block *scout)
{
    if (scout == NULL)
        return NULL;
    fetch(scout);
    return scout->next;
}

static const cebus_block *send_scout_down(const cebus_arena *arena)
{
    const cebus_block *scout = arena->last;
    for (int i = 0; i < AHEAD && scout != NULL; i++, scout = scout->prev)
        fetch(scout);
    return scout;
}

static const cebus_block *advance_scout_down(const cebus_block *scout)
{
    if (scout == NULL)
        return NULL;
    fetch(scout);
    return scout->prev;
}

/* Prices that stand. */

/** Where a rebuild goes on, prices hang on how far it is. */
static bool may_stand(const cebus_chooser *chooser)
{
    return chooser->standing != NULL && chooser->rebuild == NULL &&
           chooser->policy->score != cebus_policy_score_age &&
           chooser->arena->blocks >= CEBUS_STANDING_BLOCKS;
}

/** Who goes by age, and by what its owner wishes, does not need prices. */
static bool goes_by_age(const cebus_chooser *chooser)
{
    return chooser->policy->score == cebus_policy_score_age && chooser->rebuild == NULL;
}

static void let_stand(const cebus_chooser *chooser)
{
    if (chooser->standing == NULL)
        return;
    *chooser->standing = (cebus_standing){
        .left = may_stand(chooser) ? chooser->arena->blocks / CEBUS_STANDING_PART : 0,
        .policy = chooser->policy,
        .swap = chooser->swap.use,
        .persistent = chooser->swap.persistent,
        .last_resort = chooser->last_resort,
        .dearest = chooser->dearest,
    };
}

bool cebus_lowest_stands(const cebus_chooser *chooser)
{
    cebus_standing *standing = chooser->standing;
    if (!may_stand(chooser) || standing->left == 0 || standing->policy != chooser->policy ||
        standing->swap != chooser->swap.use || standing->persistent != chooser->swap.persistent ||
        standing->last_resort != chooser->last_resort || standing->dearest != chooser->dearest)
        return false;
    standing->left--;
    return true;
}

void cebus_lowest_price(const cebus_chooser *chooser)
{
    const cebus_block *scout = send_scout(chooser->arena);
    for (cebus_block *block = chooser->arena->first; block != NULL; block = block->next) {
        scout = advance_scout(scout);
        if (block->state != CEBUS_BLOCK_FREE)
            cebus_pricing_block(chooser, block);
    }
    let_stand(chooser);
}

static void price_row(const cebus_chooser *chooser, cebus_board *board, uint32_t row,
                      cebus_block *block)
{
    if (block->state != CEBUS_BLOCK_FREE)
        cebus_pricing_block(chooser, block);
    cebus_board_read(board, row, block, chooser->now);
}

/** From both ends: one record is fetched while that of another is waited for. */
void cebus_lowest_price_board(const cebus_chooser *chooser, cebus_board *board)
{
    const cebus_arena *arena = chooser->arena;
    cebus_block *up = arena->first, *down = arena->last;
    const cebus_block *above = send_scout(arena), *below = send_scout_down(arena);
    uint32_t low = 0, high = board->count;
    for (; high - low > 1; up = up->next, down = down->prev) {
        above = advance_scout(above);
        below = advance_scout_down(below);
        price_row(chooser, board, low++, up);
        price_row(chooser, board, --high, down);
    }
    if (low < high)
        price_row(chooser, board, low, up);
    cebus_board_complete(board, chooser->now);
    let_stand(chooser);
}

/* Lists. */

/** What has more changes nothing in the list. */
static double most_of(const cebus_shortlist *list)
{
    return list->lost.block != NULL ? list->lost.score : HUGE_VAL;
}

static void offer(const cebus_chooser *chooser, cebus_block *block, cebus_shortlist *list)
{
    if (block->state != CEBUS_BLOCK_EVICTABLE)
        return;
    if (cebus_pricing_may_be_within(chooser, block, most_of(list)))
        cebus_shortlist_offer(list, (cebus_scored){cebus_pricing_score_now(chooser, block), block});
    else
        assert(cebus_pricing_score_now(chooser, block) > most_of(list));
}

void cebus_lowest_sweep(const cebus_chooser *chooser, cebus_shortlist *list)
{
    for (cebus_block *block = chooser->arena->first; block != NULL; block = block->next)
        offer(chooser, block, list);
}

static void price_and_sweep(const cebus_chooser *chooser, cebus_shortlist *list)
{
    const cebus_block *scout = send_scout(chooser->arena);
    for (cebus_block *block = chooser->arena->first; block != NULL; block = block->next) {
        scout = advance_scout(scout);
        if (block->state == CEBUS_BLOCK_FREE)
            continue;
        cebus_pricing_block(chooser, block);
        offer(chooser, block, list);
    }
    let_stand(chooser);
}

static inline void price_within(const cebus_chooser *chooser, cebus_block *block,
                                cebus_shortlist *list)
{
    if (block->state != CEBUS_BLOCK_FREE &&
        cebus_pricing_block_within(chooser, block, most_of(list)))
        offer(chooser, block, list);
}

/** From both ends. */
static void sweep_both_ways(const cebus_chooser *chooser, cebus_shortlist *list)
{
    const cebus_arena *arena = chooser->arena;
    cebus_block *up = arena->first, *down = arena->last;
    const cebus_block *above = send_scout(arena), *below = send_scout_down(arena);
    uint64_t left = arena->blocks;
    for (; left > 1; left -= 2, up = up->next, down = down->prev) {
        above = advance_scout(above);
        below = advance_scout_down(below);
        price_within(chooser, up, list);
        price_within(chooser, down, list);
    }
    if (left > 0)
        price_within(chooser, up, list);
}

/** The same for who wants no more than the list: exact prices are worked out in so far as they may
 * change it. Prices of other blocks stay as they were. */
static void sweep_within(const cebus_chooser *chooser, cebus_shortlist *list)
{
    if (!chooser->strained) {
        sweep_both_ways(chooser, list);
        return;
    }
    const cebus_block *scout = send_scout(chooser->arena);
    for (cebus_block *block = chooser->arena->first; block != NULL; block = block->next) {
        scout = advance_scout(scout);
        price_within(chooser, block, list);
    }
}

/** Bytes of the hole at a place, 0: none. The block after a chunk's last is the next one's first.
 */
static uint64_t hole_at(const cebus_chunks *chunks, uint32_t id, uint32_t place)
{
    if (id != CEBUS_CHUNK_NONE && place == chunks->at[id].count) {
        id = chunks->at[id].next;
        place = 0;
    }
    if (id == CEBUS_CHUNK_NONE || (chunks->at[id].holes >> place & 1) == 0)
        return 0;
    return chunks->at[id].bytes[place];
}

/** The score of what has this tick is not less than that. */
static double bound_age(const cebus_chooser *chooser, double tick, double haste)
{
    double age = cebus_time_after(chooser->now) * (1 + 1e-12) - tick;
    return -(age > 1 ? age : 1) * haste - 1;
}

/** A bit for each block that may be a candidate. What has no price may have an age. */
static uint32_t candidates_of(const cebus_chooser *chooser, const cebus_chunk *chunk)
{
    return goes_by_age(chooser) ? (uint32_t)((UINT64_C(1) << chunk->count) - 1) & ~chunk->holes
                                : cebus_rank_candidates(chunk);
}

typedef struct place {
    cebus_rank_place at;
    double least; /**< of its blocks' scores, at least */
} place;

/** Scores are not less than these, by what a chunk keeps. */
static void bound_blocks(const cebus_chooser *chooser, const place *where, uint64_t *beside,
                         double *out)
{
    const cebus_chunk *chunk = &chooser->arena->index->chunks.at[where->at.chunk];
    if (!goes_by_age(chooser)) {
        cebus_rank_scores(chooser, &where->at, beside, out);
        return;
    }
    for (uint32_t i = 0; i < chunk->count; i++)
        out[i] = bound_age(chooser, chunk->tick[i], (double)chunk->haste[i]);
}

static double least_age(const cebus_chooser *chooser, cebus_chunk *chunk)
{
    cebus_chunk_date(chunk);
    return chunk->hastiest > 0 ? bound_age(chooser, chunk->oldest, chunk->hastiest) : HUGE_VAL;
}

/** Whether the block is to be read: by what is kept, which is not more than it says itself, it
 * would change the list. */
static bool is_promising(const cebus_chooser *chooser, const cebus_chunk *chunk, uint32_t i,
                         const uint64_t *beside, double most)
{
    if (goes_by_age(chooser))
        return true;
    cebus_quote quote = {cebus_chunk_weight(chunk, i), (uint64_t)chunk->tick[i], chunk->bytes[i],
                         beside[i]};
    return cebus_pricing_score(chooser, chunk->blocks[i], &quote) <= most;
}

static void list_chunk(const cebus_chooser *chooser, const place *where, cebus_shortlist *list)
{
    const cebus_chunks *chunks = &chooser->arena->index->chunks;
    cebus_chunk *chunk = &chunks->at[where->at.chunk];
    uint64_t beside[CEBUS_CHUNK_MAX];
    double score[CEBUS_CHUNK_MAX];
    bound_blocks(chooser, where, beside, score);
    chunk->rank.known = false; /* it was not worth much */
    for (uint32_t bits = candidates_of(chooser, chunk); bits != 0; bits &= bits - 1) {
        uint32_t i = (uint32_t)__builtin_ctz(bits);
        double most = most_of(list);
        if (score[i] > most || !is_promising(chooser, chunk, i, beside, most))
            continue;
        cebus_pricing_block(chooser, chunk->blocks[i]);
        cebus_chunk_read(chunk, i, chunks->epoch);
        offer(chooser, chunk->blocks[i], list);
    }
}

static size_t find_places(const cebus_chooser *chooser, place *out)
{
    cebus_chunks *chunks = &chooser->arena->index->chunks;
    uint64_t low = 0;
    size_t count = 0;
    for (uint32_t id = chunks->first; id != CEBUS_CHUNK_NONE; id = chunks->at[id].next) {
        cebus_chunk *chunk = &chunks->at[id];
        place *where = &out[count++];
        where->at = (cebus_rank_place){id, low, hole_at(chunks, id, chunk->count)};
        where->least = goes_by_age(chooser) ? least_age(chooser, chunk)
                                            : cebus_rank_least(chooser, &where->at);
        low = hole_at(chunks, id, chunk->count - 1);
    }
    return count;
}

#if CEBUS_CHECKS >= 2
/** No block's score is less than that of its place. */
static void check_places(const cebus_chooser *chooser, const place *places, size_t count)
{
    uint64_t beside[CEBUS_CHUNK_MAX];
    double score[CEBUS_CHUNK_MAX];
    for (size_t k = 0; k < count; k++) {
        const cebus_chunk *chunk = &chooser->arena->index->chunks.at[places[k].at.chunk];
        bound_blocks(chooser, &places[k], beside, score);
        for (uint32_t bits = candidates_of(chooser, chunk); bits != 0; bits &= bits - 1)
            assert(places[k].least <= score[__builtin_ctz(bits)]);
    }
}
#endif

/** Heap order, the least on top, where only what is at `at` may be out of it. */
static void sink(place *heap, size_t count, size_t at)
{
    for (size_t child; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count && heap[child + 1].least < heap[child].least)
            child++;
        if (heap[at].least <= heap[child].least)
            return;
        place held = heap[at];
        heap[at] = heap[child];
        heap[child] = held;
    }
}

/** The likeliest chunks first, until no other can have what would change the list. */
static void list_places(const cebus_chooser *chooser, place *places, size_t count,
                        cebus_shortlist *list)
{
    for (size_t i = count / 2; i-- > 0;)
        sink(places, count, i);
    while (count > 0 && places[0].least <= most_of(list)) {
        list_chunk(chooser, &places[0], list);
        places[0] = places[--count];
        sink(places, count, 0);
    }
}

/** By what is kept. False without host memory for it. */
static bool list_kept(const cebus_chooser *chooser, cebus_shortlist *list)
{
    cebus_arena *arena = chooser->arena;
    if (arena->index == NULL && !cebus_window_index_create(arena))
        return false;
    if (!cebus_window_index_settle(arena->index, chooser->now))
        return false;
    size_t bytes = arena->index->chunks.used * sizeof(place);
    place *places = cebus_pool_alloc(arena->pool, bytes);
    if (places == NULL)
        return false;
    size_t count = find_places(chooser, places);
#if CEBUS_CHECKS >= 2
    check_places(chooser, places, count);
#endif
    list_places(chooser, places, count, list);
    cebus_pool_free_object(arena->pool, places, bytes);
    return true;
}

#if CEBUS_CHECKS >= 2
/** A sweep finds the same. */
static void check_list(const cebus_chooser *chooser, const cebus_shortlist *list)
{
    cebus_shortlist swept;
    cebus_shortlist_init(&swept, list->wanted, list->limit);
    price_and_sweep(chooser, &swept);
    cebus_shortlist found = *list;
    assert(swept.lost.block == found.lost.block && swept.count == found.count);
    while (found.count > 0) {
        cebus_scored one = cebus_shortlist_pop(&found), other = cebus_shortlist_pop(&swept);
        assert(one.block == other.block);
    }
}
#endif

/** The same as a sweep, whatever happened since the last. */
static bool list_ages(const cebus_chooser *chooser, cebus_shortlist *list)
{
    if (!goes_by_age(chooser) || chooser->standing == NULL ||
        chooser->arena->blocks < CEBUS_AGE_BLOCKS || !list_kept(chooser, list))
        return false;
#if CEBUS_CHECKS >= 2
    check_list(chooser, list);
#endif
    return true;
}

/** Without a sweep, if that can be. */
static bool list_without_sweep(const cebus_chooser *chooser, cebus_shortlist *list)
{
    if (list_ages(chooser, list) ||
        (cebus_lowest_stands(chooser) && list_kept(chooser, list) && list->count > 0))
        return true;
    cebus_shortlist_init(list, list->wanted, list->limit);
    return false;
}

void cebus_lowest_list(const cebus_chooser *chooser, bool keep_prices, cebus_shortlist *list)
{
    if (list_without_sweep(chooser, list))
        return;
    if (keep_prices)
        cebus_lowest_sweep(chooser, list);
    else
        price_and_sweep(chooser, list);
}

void cebus_lowest_list_alone(const cebus_chooser *chooser, cebus_shortlist *list)
{
    if (list_without_sweep(chooser, list))
        return;
    sweep_within(chooser, list);
#if CEBUS_CHECKS >= 2
    check_list(chooser, list);
#endif
    let_stand(chooser);
}
