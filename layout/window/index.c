#include "layout/window/index.h"

#include "layout/clones.h"
#include "layout/window/event.h"
#include "layout/window/level.h"

#include <string.h>

/** A level is set so much below what is known to be an answer. */
#define LEVEL_BELOW 0.5
/** Every so many searches it is asked whether tables pay; if not, there are none for so many. */
#define REVIEW 128
#define REST 2048
/** What takes as long as a sweep needs for a block: a part of a look, of a try, of a table's share
 * in a change. Measured roughly; what is answered does not depend on it. */
#define LOOK_BLOCKS 16
#define TRY_BLOCKS 2
#define RAISE_BLOCKS 2
/** Windows of no more bytes than so many blocks have on average are worked out in vectors. */
#define BRIEF_BLOCKS 8

/* Following the arena. */

static void follow_moves(cebus_window_index *index, const cebus_chunk_change *change)
{
    cebus_tables *tables = &index->tables;
    if (change->from.chunk != CEBUS_CHUNK_NONE)
        cebus_tables_move(tables, change->from.chunk, change->to.chunk);
    if (change->dead != CEBUS_CHUNK_NONE)
        cebus_tables_empty(tables, change->dead);
}

/** What it knows is not true any more; the next search builds it anew. */
static void lose(cebus_window_index *index)
{
    index->lost = true;
    cebus_chunks_deinit(&index->chunks);
    cebus_tables_deinit(&index->tables);
    cebus_tables_init(&index->tables, index->tables.pool);
}

void cebus_window_index_insert(cebus_window_index *index, cebus_block *block)
{
    cebus_chunk_change change;
    if (index->lost)
        return;
    if (!cebus_chunks_insert(&index->chunks, block, &change)) {
        lose(index);
        return;
    }
    cebus_tables_reserve(&index->tables, index->chunks.used);
    follow_moves(index, &change);
}

void cebus_window_index_erase(cebus_window_index *index, cebus_block *block)
{
    cebus_chunk_change change;
    if (index->lost)
        return;
    cebus_chunks_erase(&index->chunks, block, &change);
    follow_moves(index, &change);
}

void cebus_window_index_cheaper(cebus_window_index *index, cebus_block *block)
{
    if (index != NULL && !index->lost)
        cebus_chunks_note(&index->chunks, block);
}

/* Life. */

static bool build(cebus_window_index *index)
{
    index->lost = false;
    for (cebus_block *block = index->arena->first; block != NULL; block = block->next) {
        cebus_window_index_insert(index, block);
        if (index->lost)
            return false;
    }
    return true;
}

bool cebus_window_index_create(cebus_arena *arena)
{
    cebus_window_index *index = cebus_pool_alloc(arena->pool, sizeof *index);
    if (index == NULL)
        return false;
    *index = (cebus_window_index){.arena = arena};
    cebus_chunks_init(&index->chunks, arena->pool);
    cebus_tables_init(&index->tables, arena->pool);
    if (!build(index)) {
        cebus_window_index_destroy(index);
        return false;
    }
    arena->index = index;
    return true;
}

void cebus_window_index_destroy(cebus_window_index *index)
{
    if (index == NULL)
        return;
    index->arena->index = NULL;
    lose(index);
    cebus_pool_free_object(index->arena->pool, index, sizeof *index);
}

/* Searching. */

/** 1/price of a window must be that if it is to win, or tie. */
static double least_of(const cebus_window_search *search)
{
    uint64_t most = cebus_window_search_most(search);
    return most != UINT64_MAX ? cebus_bound_least(most) : 0;
}

/** Which of the times of groups are over, a bit each. */
CEBUS_CLONES static uint32_t find_over(const float *times, float t)
{
    uint32_t over = 0;
    for (uint32_t i = 0; i < CEBUS_GROUPS; i++)
        over |= (uint32_t)(times[i] <= t) << i;
    return over;
}

/** Those of a group that are due, which are to be learned now: the soonest is that of the others,
 * until it hears of these. */
static uint32_t find_due_in(cebus_table *table, uint32_t group, float t, uint32_t *out)
{
    const float *due = cebus_table_due(table, group * CEBUS_GROUP);
    float soonest = CEBUS_DUE_NEVER;
    uint32_t count = 0;
    for (uint32_t i = 0; i < CEBUS_GROUP; i++) {
        float at = due[(size_t)i * CEBUS_TABLES];
        out[count] = group * CEBUS_GROUP + i;
        count += (uint32_t)(at <= t);
        at = at <= t ? CEBUS_DUE_NEVER : at;
        soonest = at < soonest ? at : soonest;
    }
    table->soonest[group] = soonest;
    return count;
}

/** The chunks that are due, of CEBUS_GROUPS groups. */
static uint32_t find_due(cebus_table *table, uint32_t first, float t, uint32_t *out)
{
    uint32_t count = 0;
    for (uint32_t over = find_over(&table->soonest[first], t); over != 0; over &= over - 1)
        count += find_due_in(table, first + (uint32_t)__builtin_ctz(over), t, &out[count]);
    return count;
}

/** False if one of them is due still, for want of room. */
static bool learn_those(cebus_window_search *search, const uint32_t *ids, uint32_t count)
{
    bool all_known = true;
    for (uint32_t i = 0; i < count; i++)
        all_known &= cebus_window_learn(search, ids[i]);
    return all_known;
}

static bool learn_due(cebus_window_search *search)
{
    const cebus_tables *tables = &search->index->tables;
    cebus_table *table = search->table;
    float t = cebus_bound_time(cebus_tables_time(tables, search->now));
    uint32_t groups = (tables->chunks + CEBUS_GROUP - 1) / CEBUS_GROUP;
    uint32_t due[CEBUS_GROUPS * CEBUS_GROUP + 1];
    bool all_known = true;
    for (uint32_t first = 0; first < groups; first += CEBUS_GROUPS) {
        all_known &= learn_those(search, due, find_due(table, first, t, due));
    }
    return all_known;
}

/** What hot windows are worth, as far as the highest bits of a float tell, and which they are in
 * the others: floats above 0 are in the order of their bits, and compilers know vectors for the
 * greatest of integers. */
typedef struct ranking {
    uint32_t count;
    int32_t key[CEBUS_HOT_MAX];
} ranking;

#define PLACE_BITS (CEBUS_HOT_MAX - 1)
_Static_assert((CEBUS_HOT_MAX & PLACE_BITS) == 0, "places are the lowest bits of a key");

CEBUS_CLONES static void rank_hot(const cebus_hot *hot, float t, ranking *restrict out)
{
    out->count = hot->count;
    for (uint32_t i = 0; i < hot->count; i++) {
        float value = hot->rise[i] * (t - hot->zero[i]);
        int32_t bits;
        value = value > 0 ? value : 0;
        value = value < FLT_MAX ? value : FLT_MAX;
        memcpy(&bits, &value, sizeof bits);
        out->key[i] = (bits & ~PLACE_BITS) | (int32_t)i;
    }
}

/** The greatest key; those of windows that were tried, and of those worth nothing, are places
 * only. */
CEBUS_CLONES static int32_t greatest_of(const ranking *all)
{
    int32_t most = 0;
    for (uint32_t i = 0; i < all->count; i++)
        most = all->key[i] > most ? all->key[i] : most;
    return most;
}

/** What the window of a key is worth at most. */
static double most_worth(int32_t key)
{
    int32_t bits = key | PLACE_BITS;
    float value;
    memcpy(&value, &bits, sizeof value);
    return (double)value;
}

/** The last takes the place of one that went. */
static void unrank(ranking *all, uint32_t place)
{
    int32_t last = all->key[--all->count];
    all->key[place] = (last & ~PLACE_BITS) | (int32_t)place;
}

/** Best first. */
static void try_hot(cebus_window_search *search)
{
    ranking all;
    int32_t key;
    rank_hot(search->table->hot,
             cebus_bound_time(cebus_tables_time(&search->index->tables, search->now)), &all);
    while ((key = greatest_of(&all)) > PLACE_BITS && most_worth(key) >= least_of(search)) {
        uint32_t place = (uint32_t)(key & PLACE_BITS);
        all.key[place] = 0;
        if (!cebus_window_try(search, place)) {
            cebus_table_remove_hot(search->table, place);
            unrank(&all, place);
        }
    }
}

/** What was not found by now costs more than what was, or there is nothing else. */
static bool is_enough(const cebus_window_search *search)
{
    const cebus_window *last = cebus_window_search_last(search);
    if (last == NULL)
        return search->table->level <= CEBUS_LEVEL_ANY;
    cebus_window_key key = cebus_window_key_of(last);
    return !cebus_window_key_is_less(&search->table->known, &key);
}

static bool search_at_level(cebus_window_search *search)
{
    bool all_known = learn_due(search);
    try_hot(search);
    if (!all_known) { /* many are worth the same */
        cebus_window_look_all(search);
        return true;
    }
    return is_enough(search);
}

/** For answers of a price. */
static double level_below(uint64_t price)
{
    return LEVEL_BELOW / ((double)price + 1);
}

static void search_table(cebus_window_search *search)
{
    cebus_tables *tables = &search->index->tables;
    cebus_table *table = search->table;
    bool found = search_at_level(search);
    if (!found) {
        cebus_level_lower(search);
        found = search_at_level(search);
    }
    if (!found) {
        cebus_window_look_all(search);
        cebus_table_set_level(tables, table, level_below(cebus_window_search_most(search)));
    }
    if (search->pool != NULL && search->pool->count > 0)
        search->best = search->pool->windows[0];
}

static cebus_window_asked *asked_of(cebus_window_index *index, uint64_t bytes)
{
    return &index->asked[(bytes * UINT64_C(0x9e3779b97f4a7c15)) >> 56];
}

static void search_once(cebus_window_search *search)
{
    search->best = (cebus_window){0};
    if (search->table != NULL) {
        search_table(search);
        return;
    }
    cebus_window_look_all(search);
    asked_of(search->index, search->bytes)->price = cebus_window_search_most(search);
}

/** All in one go. False if that may have missed something. */
static bool search_several(cebus_window_search *search, cebus_window *out, size_t limit,
                           size_t *out_count)
{
    cebus_window_pool pool;
    cebus_window_pool_init(&pool, limit);
    search->pool = &pool;
    search_once(search);
    search->pool = NULL;
    for (size_t i = 0; i < pool.n_picks; i++)
        out[i] = pool.windows[pool.picks[i]];
    *out_count = pool.n_picks;
    return !pool.unsure;
}

static size_t search_best(cebus_window_search *search, cebus_window *out, size_t limit)
{
    size_t count = 0;
    if (limit > 1 && limit <= CEBUS_WINDOW_PICKS && search_several(search, out, limit, &count))
        return count;
    search->taken = out;
    for (count = 0; count < limit; count++) {
        search->n_taken = count;
        search_once(search);
        if (search->best.first == NULL)
            break;
        out[count] = search->best;
    }
    return count;
}

static void weigh_all(const cebus_window_search *search)
{
    for (cebus_block *block = search->index->arena->first; block != NULL; block = block->next) {
        if (block->state != CEBUS_BLOCK_FREE)
            search->weigher.weigh(search->weigher.context, block);
    }
}

/** The plain search. */
static size_t sweep(cebus_window_search *search, cebus_window *out, size_t limit)
{
    search->index->count.sweeps++;
    if (search->weigher.weigh != NULL)
        weigh_all(search);
    return cebus_window_find_best(search->index->arena, search->bytes, search->now, out, limit);
}

/** Counts the searches until the next review, and reviews. */
static void review(cebus_window_index *index)
{
    const cebus_window_count *then = &index->reviewed, *now = &index->count;
    uint64_t blocks = index->arena->blocks;
    if (index->resting > 0)
        index->resting--;
    if (now->searches - then->searches < REVIEW)
        return;
    uint64_t answers = now->searches - then->searches - (now->sweeps - then->sweeps);
    uint64_t spent = (now->looks - then->looks) * LOOK_BLOCKS +
                     (now->tries - then->tries) * TRY_BLOCKS +
                     (now->raises - then->raises) * RAISE_BLOCKS;
    if (spent > answers * blocks && index->tables.count > 0) {
        cebus_tables_clear(&index->tables);
        index->resting = REST;
    }
    index->reviewed = index->count;
}

/** A table that begins with what its size cost when it had none. */
static cebus_table *add_table(cebus_tables *tables, const cebus_window_asked *asked)
{
    cebus_table *table = cebus_tables_add(tables, asked->bytes);
    if (table != NULL)
        cebus_table_set_level(tables, table, level_below(asked->price));
    return table;
}

/** For so many searches it is as dear to keep a table as to go without for one. */
static uint64_t lasting(const cebus_tables *tables)
{
    return tables->chunks > CEBUS_WINDOW_ASKED ? tables->chunks : CEBUS_WINDOW_ASKED;
}

/** The table of a size that was asked for before, not too long ago. */
static cebus_table *table_of(cebus_window_index *index, uint64_t bytes)
{
    cebus_tables *tables = &index->tables;
    cebus_table *table = cebus_tables_find(tables, bytes);
    cebus_window_asked *asked = asked_of(index, bytes);
    bool again = asked->bytes == bytes && tables->queries - asked->query <= lasting(tables);
    if (table == NULL && again && index->resting == 0)
        table = add_table(tables, asked);
    *asked = (cebus_window_asked){bytes, tables->queries, asked->price};
    if (table != NULL)
        table->used = tables->queries;
    return table;
}

uint64_t cebus_window_index_hole(const cebus_window_index *index)
{
    const cebus_block *low = cebus_bins_largest(&index->arena->bins);
    const cebus_block *high = cebus_bins_largest(&index->arena->upper);
    uint64_t bytes = low != NULL ? low->bytes : 0;
    return high != NULL && high->bytes > bytes ? high->bytes : bytes;
}

static void set_clock(cebus_window_index *index, uint64_t now)
{
    if (now < index->now)
        cebus_tables_clear(&index->tables);
    index->now = now;
    cebus_tables_set_time(&index->tables, now);
    cebus_chunks_set_epoch(&index->chunks, index->tables.epoch);
}

bool cebus_window_index_settle(cebus_window_index *index, uint64_t now)
{
    cebus_window_search search = {.index = index, .now = now};
    set_clock(index, now);
    if (index->lost && !build(index))
        return false;
    cebus_window_settle(&search);
    return true;
}

static bool is_brief(const cebus_arena *arena, uint64_t bytes)
{
    uint64_t blocks = arena->blocks;
    return bytes <= BRIEF_BLOCKS * (arena->capacity / (blocks + 1));
}

size_t cebus_window_index_find(cebus_window_index *index, uint64_t bytes, uint64_t now,
                               const cebus_weigher *weigher, cebus_window *out, size_t limit)
{
    cebus_window_search search = {.index = index,
                                  .bytes = bytes != 0 ? bytes : 1,
                                  .now = now,
                                  .weigher = weigher != NULL ? *weigher : (cebus_weigher){0}};
    set_clock(index, now);
    index->count.searches++;
    review(index);
    if (cebus_window_index_hole(index) >= search.bytes || (index->lost && !build(index)))
        return sweep(&search, out, limit);
    cebus_window_settle(&search);
    search.table = table_of(index, search.bytes);
    search.brief = is_brief(index->arena, search.bytes);
    index->count.sweeps += search.table == NULL;
    return search_best(&search, out, limit);
}
