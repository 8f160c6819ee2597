#include "layout/window/index.h"

#include <stdio.h>

/** Are the floats on the safe side of what is kept? */
static bool is_rounded_safely(const cebus_chunks *chunks, const cebus_chunk *chunk, uint32_t place)
{
    bool wall = (chunk->walls >> place & 1) != 0;
    return (double)chunk->length[place] >= (double)chunk->bytes[place] &&
           (double)chunk->since[place] <= chunk->tick[place] - chunks->epoch &&
           (wall || (double)chunk->heavy[place] <= chunk->weight[place]);
}

/** Other than a noted one: that is read before anybody relies on it. */
static bool is_kept_dearer(const cebus_chunk *chunk, uint32_t place)
{
    const cebus_block *block = chunk->blocks[place];
    if ((chunk->noted >> place & 1) != 0)
        return false;
    if (block->state == CEBUS_BLOCK_FREE)
        return chunk->weight[place] > 0 || chunk->bytes[place] != block->bytes;
    bool wall = block->state == CEBUS_BLOCK_BARRIER && block->weight == CEBUS_WEIGHT_WALL;
    double weight = (double)block->weight * (double)(UINT64_C(1) << CEBUS_PRICE_SHIFT);
    return chunk->weight[place] > weight || chunk->tick[place] > cebus_time_before(block->tick) ||
           ((chunk->walls >> place & 1) != 0 && !wall) || chunk->bytes[place] != block->bytes;
}

/** Other than a noted one. */
static bool is_kept_elsewhere(const cebus_chunk *chunk, uint32_t place)
{
    const cebus_block *block = chunk->blocks[place];
    return (chunk->noted >> place & 1) == 0 && chunk->offset[place] != block->offset;
}

static const char *fault_in_chunk(const cebus_chunks *chunks, uint32_t id, const cebus_block **at)
{
    const cebus_chunk *chunk = &chunks->at[id];
    if (chunk->count == 0 || chunk->count > CEBUS_CHUNK_MAX)
        return "a chunk in the list with no blocks, or too many";
    if (chunk->next != CEBUS_CHUNK_NONE && chunks->at[chunk->next].prev != id)
        return "prev is not the chunk before";
    if ((uint64_t)chunk->noted >> chunk->count != 0)
        return "a note beyond the blocks of a chunk";
    for (uint32_t i = 0; i < chunk->count; i++, *at = (*at)->next) {
        if (*at == NULL || chunk->blocks[i] != *at)
            return "a chunk does not hold the blocks that follow each other";
        if ((*at)->chunk != id)
            return "a block names another chunk";
        if (is_kept_dearer(chunk, i))
            return "a block is kept at a higher price than its own";
        if (is_kept_elsewhere(chunk, i))
            return "a block is kept where it does not lie";
        if ((chunk->noted >> i & 1) == 0 && !is_rounded_safely(chunks, chunk, i))
            return "a block is rounded to a higher price or fewer bytes than its own";
    }
    return NULL;
}

static const char *fault_in_chunks(const cebus_window_index *index)
{
    const cebus_chunks *chunks = &index->chunks;
    const cebus_block *at = index->arena->first;
    const char *fault = NULL;
    for (uint32_t id = chunks->first; id != CEBUS_CHUNK_NONE && fault == NULL;
         id = chunks->at[id].next)
        fault = fault_in_chunk(chunks, id, &at);
    if (fault == NULL && at != NULL)
        fault = "a block is in no chunk";
    return fault;
}

static bool is_wall(const cebus_block *block)
{
    return block->state == CEBUS_BLOCK_BARRIER && block->weight == CEBUS_WEIGHT_WALL;
}

/** Of the shortest run of `bytes` from a block on, a BARRIER as if it were EVICTABLE. False: there
 * is none, or a run without its first block would do. */
static bool key_from(const cebus_block *first, uint64_t bytes, uint64_t now, cebus_window_key *out)
{
    uint64_t length = 0;
    *out = (cebus_window_key){0, 0, first->offset};
    for (const cebus_block *block = first; block != NULL && !is_wall(block); block = block->next) {
        out->price += cebus_block_price(block, now);
        out->evicted_bytes += block->state != CEBUS_BLOCK_FREE ? block->bytes : 0;
        length += block->bytes;
        if (length >= bytes)
            return length - first->bytes < bytes;
    }
    return false;
}

/** Is a window in the list, with a line that is not below 1/price? */
static bool is_hot(const cebus_table *table, uint32_t chunk, const cebus_block *first, double t,
                   uint64_t price)
{
    const cebus_hot *hot = table->hot;
    for (uint32_t i = 0; i < hot->count; i++) {
        cebus_line line = {hot->rise[i], hot->zero[i]};
        if (hot->chunk[i] == chunk && hot->first[i] == first &&
            cebus_line_at(&line, t) >= cebus_bound_least(price))
            return true;
    }
    return false;
}

static const char *fault_in_chunk_of(const cebus_window_index *index, const cebus_table *table,
                                     uint32_t id)
{
    const cebus_chunk *chunk = &index->chunks.at[id];
    double t = cebus_tables_time(&index->tables, index->now);
    if (*cebus_table_due(table, id) < table->soonest[id / CEBUS_GROUP])
        return "a chunk is due before its group";
    if (*cebus_table_due(table, id) <= cebus_bound_time(t))
        return NULL;
    for (uint32_t i = 0; i < chunk->count; i++) {
        cebus_window_key key;
        if (key_from(chunk->blocks[i], table->bytes, index->now, &key) &&
            !cebus_window_key_is_less(&table->known, &key) &&
            !is_hot(table, id, chunk->blocks[i], t, key.price))
            return "I1: a window at the level is not hot, nor is its chunk due";
    }
    return NULL;
}

static const char *fault_in_tables(const cebus_window_index *index)
{
    const cebus_tables *tables = &index->tables;
    const char *fault = NULL;
    if (index->chunks.noted != CEBUS_CHUNK_NONE)
        return NULL;
    for (uint32_t k = 0; k < tables->count && fault == NULL; k++) {
        const cebus_table *table = &tables->table[k];
        if (cebus_window_index_hole(index) >= table->bytes)
            continue; /* I4: nobody asks */
        for (uint32_t id = 0; id < index->chunks.used && fault == NULL; id++)
            fault = fault_in_chunk_of(index, table, id);
    }
    return fault;
}

bool cebus_window_index_check(const cebus_window_index *index, char *why, size_t why_bytes)
{
    const char *fault = NULL;
    if (!index->lost)
        fault = fault_in_chunks(index);
    if (!index->lost && fault == NULL)
        fault = fault_in_tables(index);
    if (fault != NULL && why != NULL)
        snprintf(why, why_bytes, "%s", fault);
    return fault == NULL;
}
