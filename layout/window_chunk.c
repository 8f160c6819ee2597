#include "layout/window_chunk.h"

#include <string.h>

/** Two neighbours that together have no more than this become one. */
#define JOIN_MAX (CEBUS_CHUNK_MAX / 2)

void cebus_chunks_init(cebus_chunks *chunks, cebus_pool *pool)
{
    *chunks = (cebus_chunks){.pool = pool,
                             .dead = CEBUS_CHUNK_NONE,
                             .first = CEBUS_CHUNK_NONE,
                             .noted = CEBUS_CHUNK_NONE};
}

void cebus_chunks_deinit(cebus_chunks *chunks)
{
    cebus_pool_free_object(chunks->pool, chunks->at, chunks->capacity * sizeof *chunks->at);
    cebus_chunks_init(chunks, chunks->pool);
}

/** A chunk without blocks, after chunk `prev` (NONE: the first); NONE without host memory. */
static uint32_t add_chunk(cebus_chunks *chunks, uint32_t prev)
{
    uint32_t id = chunks->dead;
    void *at = chunks->at;
    if (id != CEBUS_CHUNK_NONE) {
        chunks->dead = chunks->at[id].next;
    } else {
        if (!cebus_pool_grow(chunks->pool, &at, &chunks->capacity, chunks->used,
                             sizeof *chunks->at))
            return CEBUS_CHUNK_NONE;
        chunks->at = at;
        id = chunks->used++;
        chunks->at[id].waiting = false; /* a dead one may still be in the list */
    }
    cebus_chunk *chunk = &chunks->at[id];
    uint32_t next = prev != CEBUS_CHUNK_NONE ? chunks->at[prev].next : chunks->first;
    chunk->next = next;
    chunk->prev = prev;
    chunk->count = chunk->noted = chunk->query = 0;
    *(prev != CEBUS_CHUNK_NONE ? &chunks->at[prev].next : &chunks->first) = id;
    if (next != CEBUS_CHUNK_NONE)
        chunks->at[next].prev = id;
    return id;
}

static void remove_chunk(cebus_chunks *chunks, uint32_t id)
{
    cebus_chunk *chunk = &chunks->at[id];
    *(chunk->prev != CEBUS_CHUNK_NONE ? &chunks->at[chunk->prev].next : &chunks->first) =
        chunk->next;
    if (chunk->next != CEBUS_CHUNK_NONE)
        chunks->at[chunk->next].prev = chunk->prev;
    chunk->count = chunk->noted = 0;
    chunk->next = chunks->dead;
    chunks->dead = id;
}

static void add_bits(cebus_chunks *chunks, uint32_t id, uint32_t bits)
{
    cebus_chunk *chunk = &chunks->at[id];
    chunk->noted |= bits;
    if (bits == 0 || chunk->waiting)
        return;
    chunk->waiting = true;
    chunk->next_noted = chunks->noted;
    chunks->noted = id;
}

static uint32_t bits_below(uint32_t place)
{
    return (uint32_t)((UINT64_C(1) << place) - 1);
}

/** Moves the blocks of `from` from place `start` on to the end of `to`. */
static void move_blocks(cebus_chunks *chunks, uint32_t from, uint32_t start, uint32_t to)
{
    cebus_chunk *source = &chunks->at[from], *target = &chunks->at[to];
    uint32_t moved = source->count - start;
    for (uint32_t i = 0; i < moved; i++) {
        cebus_block *block = source->blocks[start + i];
        target->blocks[target->count + i] = block;
        block->chunk = to;
    }
    uint32_t bits = (uint32_t)((uint64_t)source->noted >> start << target->count);
    source->noted &= bits_below(start);
    source->count = start;
    target->count += moved;
    add_bits(chunks, to, bits);
}

uint32_t cebus_chunk_place(const cebus_chunk *chunk, const cebus_block *block)
{
    uint32_t place = 0;
    while (chunk->blocks[place] != block)
        place++;
    return place;
}

static void put(cebus_chunk *chunk, uint32_t place, cebus_block *block)
{
    memmove(&chunk->blocks[place + 1], &chunk->blocks[place],
            (chunk->count - place) * sizeof(cebus_block *));
    chunk->blocks[place] = block;
    chunk->count++;
    uint32_t low = chunk->noted & bits_below(place);
    chunk->noted = low | (uint32_t)((uint64_t)(chunk->noted ^ low) << 1);
}

/** The chunk a new block goes to: that of the block before it, or after it. */
static uint32_t home_of(cebus_chunks *chunks, const cebus_block *block)
{
    if (chunks->first == CEBUS_CHUNK_NONE)
        return add_chunk(chunks, CEBUS_CHUNK_NONE);
    return block->prev != NULL ? block->prev->chunk : chunks->first;
}

bool cebus_chunks_insert(cebus_chunks *chunks, cebus_block *block, cebus_chunk_change *out)
{
    *out = (cebus_chunk_change){CEBUS_CHUNK_NONE, CEBUS_CHUNK_NONE, CEBUS_CHUNK_NONE};
    uint32_t id = home_of(chunks, block);
    if (id == CEBUS_CHUNK_NONE)
        return false;
    if (chunks->at[id].count == CEBUS_CHUNK_MAX) {
        uint32_t half = add_chunk(chunks, id);
        if (half == CEBUS_CHUNK_NONE)
            return false;
        move_blocks(chunks, id, CEBUS_CHUNK_MAX / 2, half);
        out->from = id;
        out->to = half;
        id = home_of(chunks, block);
    }
    uint32_t place = block->prev != NULL ? cebus_chunk_place(&chunks->at[id], block->prev) + 1 : 0;
    put(&chunks->at[id], place, block);
    block->chunk = id;
    add_bits(chunks, id, UINT32_C(1) << place);
    return true;
}

/** Joins a chunk with the one after it where both are small. */
static void join(cebus_chunks *chunks, uint32_t id, cebus_chunk_change *out)
{
    uint32_t next = id != CEBUS_CHUNK_NONE ? chunks->at[id].next : CEBUS_CHUNK_NONE;
    if (next == CEBUS_CHUNK_NONE || chunks->at[id].count + chunks->at[next].count > JOIN_MAX)
        return;
    move_blocks(chunks, next, 0, id);
    remove_chunk(chunks, next);
    out->from = out->dead = next;
    out->to = id;
}

void cebus_chunks_erase(cebus_chunks *chunks, cebus_block *block, cebus_chunk_change *out)
{
    uint32_t id = block->chunk;
    cebus_chunk *chunk = &chunks->at[id];
    uint32_t place = cebus_chunk_place(chunk, block);
    *out = (cebus_chunk_change){CEBUS_CHUNK_NONE, CEBUS_CHUNK_NONE, CEBUS_CHUNK_NONE};
    chunk->count--;
    memmove(&chunk->blocks[place], &chunk->blocks[place + 1],
            (chunk->count - place) * sizeof(cebus_block *));
    uint32_t low = chunk->noted & bits_below(place);
    chunk->noted = low | (uint32_t)((uint64_t)chunk->noted >> (place + 1) << place);
    if (chunk->count == 0) {
        remove_chunk(chunks, id);
        out->dead = id;
        return;
    }
    join(chunks, id, out);
    if (out->dead == CEBUS_CHUNK_NONE)
        join(chunks, chunk->prev, out);
}

void cebus_chunks_note(cebus_chunks *chunks, cebus_block *block)
{
    cebus_chunk *chunk = &chunks->at[block->chunk];
    add_bits(chunks, block->chunk, UINT32_C(1) << cebus_chunk_place(chunk, block));
}

uint32_t cebus_chunks_next_noted(cebus_chunks *chunks)
{
    uint32_t id = chunks->noted;
    if (id == CEBUS_CHUNK_NONE)
        return id;
    chunks->noted = chunks->at[id].next_noted;
    chunks->at[id].waiting = false;
    return id;
}
