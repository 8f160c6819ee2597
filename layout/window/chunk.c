#include "layout/window/chunk.h"

#include <math.h>
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

/** What was worked out from what is kept holds no longer. */
static void forget_dates(cebus_chunk *chunk)
{
    chunk->dated = chunk->rank.known = false;
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
    chunk->count = chunk->noted = chunk->news = chunk->walls = chunk->holes = 0;
    forget_dates(chunk);
    memset(chunk->offset, 0, sizeof chunk->offset);
    memset(chunk->bytes, 0, sizeof chunk->bytes); /* all of it is read, whatever the count */
    memset(chunk->tick, 0, sizeof chunk->tick);
    memset(chunk->weight, 0, sizeof chunk->weight);
    memset(chunk->haste, 0, sizeof chunk->haste);
    memset(chunk->length, 0, sizeof chunk->length);
    memset(chunk->heavy, 0, sizeof chunk->heavy);
    memset(chunk->since, 0, sizeof chunk->since);
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

/** What is kept of `n` blocks goes from one place to another, maybe of the same chunk. */
static void move_kept(cebus_chunk *target, uint32_t to, const cebus_chunk *source, uint32_t from,
                      uint32_t n)
{
    memmove(&target->blocks[to], &source->blocks[from], n * sizeof *target->blocks);
    memmove(&target->offset[to], &source->offset[from], n * sizeof *target->offset);
    memmove(&target->bytes[to], &source->bytes[from], n * sizeof *target->bytes);
    memmove(&target->tick[to], &source->tick[from], n * sizeof *target->tick);
    memmove(&target->weight[to], &source->weight[from], n * sizeof *target->weight);
    memmove(&target->haste[to], &source->haste[from], n * sizeof *target->haste);
    memmove(&target->length[to], &source->length[from], n * sizeof *target->length);
    memmove(&target->heavy[to], &source->heavy[from], n * sizeof *target->heavy);
    memmove(&target->since[to], &source->since[from], n * sizeof *target->since);
}

/** The bits from `start` on, as they are behind those of the target. */
static uint32_t moved_bits(uint32_t *bits, uint32_t start, uint32_t to)
{
    uint32_t moved = (uint32_t)((uint64_t)*bits >> start << to);
    *bits &= bits_below(start);
    return moved;
}

/** Moves the blocks of `from` from place `start` on to the end of `to`. */
static void move_blocks(cebus_chunks *chunks, uint32_t from, uint32_t start, uint32_t to,
                        cebus_chunk_change *out)
{
    cebus_chunk *source = &chunks->at[from], *target = &chunks->at[to];
    uint32_t moved = source->count - start;
    out->from = (cebus_seat){from, start};
    out->to = (cebus_seat){to, target->count};
    out->moved = moved;
    move_kept(target, target->count, source, start, moved);
    for (uint32_t i = 0; i < moved; i++)
        target->blocks[target->count + i]->chunk = to;
    uint32_t bits = moved_bits(&source->noted, start, target->count);
    target->news |= moved_bits(&source->news, start, target->count);
    target->walls |= moved_bits(&source->walls, start, target->count);
    target->holes |= moved_bits(&source->holes, start, target->count);
    source->count = start;
    target->count += moved;
    forget_dates(source);
    forget_dates(target);
    add_bits(chunks, to, bits);
}

/** The place of a block in its chunk. */
static uint32_t place_of(const cebus_chunk *chunk, const cebus_block *block)
{
    uint32_t place = 0;
    while (chunk->blocks[place] != block)
        place++;
    return place;
}

static uint32_t widened(uint32_t bits, uint32_t place)
{
    uint32_t low = bits & bits_below(place);
    return low | (uint32_t)((uint64_t)(bits ^ low) << 1);
}

static uint32_t narrowed(uint32_t bits, uint32_t place)
{
    return (bits & bits_below(place)) | (uint32_t)((uint64_t)bits >> (place + 1) << place);
}

static void put(cebus_chunk *chunk, uint32_t place, cebus_block *block)
{
    move_kept(chunk, place + 1, chunk, place, chunk->count - place);
    chunk->blocks[place] = block;
    chunk->offset[place] = chunk->bytes[place] = 0;
    chunk->length[place] = chunk->since[place] = chunk->heavy[place] = 0;
    chunk->tick[place] = chunk->weight[place] = chunk->haste[place] = 0;
    chunk->count++;
    forget_dates(chunk);
    chunk->noted = widened(chunk->noted, place);
    chunk->news = widened(chunk->news, place);
    chunk->walls = widened(chunk->walls, place);
    chunk->holes = widened(chunk->holes, place);
}

static float power_of_two(int8_t digits)
{
    return digits >= 0 ? (float)(1 << digits) : 1 / (float)(1 << -digits);
}

bool cebus_chunk_read(cebus_chunk *chunk, uint32_t place, double epoch)
{
    const cebus_block *block = chunk->blocks[place];
    uint32_t bit = UINT32_C(1) << place;
    bool hole = block->state == CEBUS_BLOCK_FREE;
    bool wall = block->state == CEBUS_BLOCK_BARRIER && block->weight == CEBUS_WEIGHT_WALL;
    double weight = hole ? 0 : (double)block->weight * (double)(UINT64_C(1) << CEBUS_PRICE_SHIFT);
    double tick = hole ? 0 : cebus_time_before(block->tick);
    bool was_wall = (chunk->walls & bit) != 0, was_hole = (chunk->holes & bit) != 0;
    bool dearer = weight > chunk->weight[place] || tick > chunk->tick[place] || (wall && !was_wall);
    bool cheaper =
        weight < chunk->weight[place] || tick < chunk->tick[place] || (was_wall && !wall);
    bool moved = chunk->offset[place] != block->offset || chunk->bytes[place] != block->bytes;
    if (cheaper || hole != was_hole || moved)
        chunk->news |= bit;
    chunk->offset[place] = block->offset;
    chunk->bytes[place] = block->bytes;
    chunk->tick[place] = tick;
    chunk->weight[place] = weight;
    chunk->length[place] = (float)block->bytes * (1 + 0x1p-22F);
    chunk->since[place] = cebus_bound_time_before(tick - epoch);
    chunk->heavy[place] = wall ? HUGE_VALF : (float)weight * (1 - 0x1p-22F);
    chunk->haste[place] = hole ? 0 : power_of_two(block->haste);
    forget_dates(chunk);
    chunk->walls = wall ? chunk->walls | bit : chunk->walls & ~bit;
    chunk->holes = hole ? chunk->holes | bit : chunk->holes & ~bit;
    return dearer;
}

void cebus_chunks_set_epoch(cebus_chunks *chunks, uint64_t epoch)
{
    double then = cebus_time_after(epoch);
    if (then == chunks->epoch)
        return;
    chunks->epoch = then;
    for (uint32_t id = chunks->first; id != CEBUS_CHUNK_NONE; id = chunks->at[id].next) {
        cebus_chunk *chunk = &chunks->at[id];
        for (uint32_t i = 0; i < chunk->count; i++)
            chunk->since[i] = cebus_bound_time_before(chunk->tick[i] - then);
    }
}

void cebus_chunk_date(cebus_chunk *chunk)
{
    if (chunk->dated)
        return;
    chunk->dated = true;
    chunk->oldest = HUGE_VAL;
    chunk->newest = chunk->hastiest = 0;
    chunk->total = 0;
    for (uint32_t i = 0; i < chunk->count; i++) {
        bool older = chunk->haste[i] > 0 && chunk->tick[i] < chunk->oldest;
        chunk->total += chunk->bytes[i];
        chunk->oldest = older ? chunk->tick[i] : chunk->oldest;
        chunk->newest = chunk->tick[i] > chunk->newest ? chunk->tick[i] : chunk->newest;
        double haste = (double)chunk->haste[i];
        chunk->hastiest = haste > chunk->hastiest ? haste : chunk->hastiest;
    }
}

/** The chunk a new block goes to: that of the block before it, or after it. */
static uint32_t home_of(cebus_chunks *chunks, const cebus_block *block)
{
    if (chunks->first == CEBUS_CHUNK_NONE)
        return add_chunk(chunks, CEBUS_CHUNK_NONE);
    return block->prev != NULL ? block->prev->chunk : chunks->first;
}

static cebus_chunk_change no_change(void)
{
    const cebus_seat none = {CEBUS_CHUNK_NONE, 0};
    return (cebus_chunk_change){none, none, none, 0, CEBUS_CHUNK_NONE};
}

bool cebus_chunks_insert(cebus_chunks *chunks, cebus_block *block, cebus_chunk_change *out)
{
    *out = no_change();
    uint32_t id = home_of(chunks, block);
    if (id == CEBUS_CHUNK_NONE)
        return false;
    if (chunks->at[id].count == CEBUS_CHUNK_MAX) {
        uint32_t half = add_chunk(chunks, id);
        if (half == CEBUS_CHUNK_NONE)
            return false;
        move_blocks(chunks, id, CEBUS_CHUNK_MAX / 2, half, out);
        id = home_of(chunks, block);
    }
    uint32_t place = block->prev != NULL ? place_of(&chunks->at[id], block->prev) + 1 : 0;
    put(&chunks->at[id], place, block);
    block->chunk = id;
    out->at = (cebus_seat){id, place};
    add_bits(chunks, id, UINT32_C(1) << place);
    return true;
}

/** Joins a chunk with the one after it where both are small. */
static void join(cebus_chunks *chunks, uint32_t id, cebus_chunk_change *out)
{
    uint32_t next = id != CEBUS_CHUNK_NONE ? chunks->at[id].next : CEBUS_CHUNK_NONE;
    if (next == CEBUS_CHUNK_NONE || chunks->at[id].count + chunks->at[next].count > JOIN_MAX)
        return;
    move_blocks(chunks, next, 0, id, out);
    remove_chunk(chunks, next);
    out->dead = next;
}

void cebus_chunks_erase(cebus_chunks *chunks, cebus_block *block, cebus_chunk_change *out)
{
    uint32_t id = block->chunk;
    cebus_chunk *chunk = &chunks->at[id];
    uint32_t place = place_of(chunk, block);
    *out = no_change();
    out->at = (cebus_seat){id, place};
    chunk->count--;
    forget_dates(chunk);
    move_kept(chunk, place, chunk, place + 1, chunk->count - place);
    chunk->noted = narrowed(chunk->noted, place);
    chunk->news = narrowed(chunk->news, place);
    chunk->walls = narrowed(chunk->walls, place);
    chunk->holes = narrowed(chunk->holes, place);
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
    add_bits(chunks, block->chunk, UINT32_C(1) << place_of(chunk, block));
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
