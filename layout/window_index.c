#include "layout/window_index.h"

#include "layout/window_event.h"
#include "layout/window_look.h"
#include "layout/window_queue.h"

/** Part of its level that a table keeps when an answer suggests another. */
#define LEVEL_KEPT 0.75
/** Every so many searches it is asked whether tables pay; if not, there are none for so many. */
#define REVIEW 128
#define REST 2048
/** What takes as long as a sweep needs for a block: a part of a look, of a try, of a table's share
 * in a change. Measured roughly; what is answered does not depend on it. */
#define LOOK_BLOCKS 16
#define TRY_BLOCKS 2
#define RAISE_BLOCKS 2

/* Following the arena. */

static void follow_moves(cebus_window_index *index, const cebus_chunk_change *change)
{
    cebus_tables *tables = &index->tables;
    if (change->from.chunk != CEBUS_CHUNK_NONE)
        cebus_tables_move(tables, change, index->now);
    if (change->dead != CEBUS_CHUNK_NONE)
        cebus_tables_empty(tables, change->dead);
}

/** What it knows is not true any more; the next search builds it anew. */
static void lose(cebus_window_index *index)
{
    index->lost = true;
    cebus_chunks_deinit(&index->chunks);
    cebus_tables_deinit(&index->tables);
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
    cebus_tables_insert(&index->tables, change.at.chunk, change.at.place);
}

void cebus_window_index_erase(cebus_window_index *index, cebus_block *block)
{
    cebus_chunk_change change;
    if (index->lost)
        return;
    cebus_chunks_erase(&index->chunks, block, &change);
    cebus_tables_erase(&index->tables, change.at.chunk, change.at.place);
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

static void learn(cebus_window_search *search)
{
    cebus_table *table = search->table;
    double level = 1 / ((double)search->best.price + 1);
    if (search->best.first != NULL)
        table->level =
            table->level > 0 ? LEVEL_KEPT * table->level + (1 - LEVEL_KEPT) * level : level;
}

/** Best first. */
static void search_table(cebus_window_search *search)
{
    cebus_queue queue;
    cebus_seat at;
    cebus_queue_begin(&queue, &search->index->tables, search->table, search->now);
    while ((at = cebus_queue_next(&queue, least_of(search))).chunk != CEBUS_CHUNK_NONE) {
        if (at.place == CEBUS_QUEUE_LOOSE)
            cebus_window_learn(search, at.chunk);
        else
            cebus_window_try(search, at);
    }
    if (search->pool != NULL && search->pool->count > 0)
        search->best = search->pool->windows[0];
    if (search->table->level <= 0)
        learn(search);
    cebus_queue_end(&queue);
}

static void search_once(cebus_window_search *search)
{
    search->best = (cebus_window){0};
    if (search->table != NULL)
        search_table(search);
    else
        cebus_window_look_all(search);
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
    if (search->table != NULL)
        learn(search);
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
        if (count == 0 && search->table != NULL)
            learn(search);
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
    uint64_t blocks = index->arena->used_blocks + index->arena->free_blocks;
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

/** The table of a size that was asked for before, not too long ago. */
static cebus_table *table_of(cebus_window_index *index, uint64_t bytes)
{
    cebus_tables *tables = &index->tables;
    cebus_table *table = cebus_tables_find(tables, bytes);
    cebus_window_asked *asked = &index->asked[(bytes * UINT64_C(0x9e3779b97f4a7c15)) >> 58];
    bool again = asked->bytes == bytes && tables->queries - asked->query <= CEBUS_WINDOW_ASKED;
    if (table == NULL && again && index->resting == 0)
        table = cebus_tables_add(tables, bytes);
    *asked = (cebus_window_asked){bytes, tables->queries};
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
    index->count.sweeps += search.table == NULL;
    return search_best(&search, out, limit);
}
