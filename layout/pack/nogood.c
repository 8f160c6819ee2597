#include "layout/pack/nogood.h"

#include <string.h>

enum {
    PROBES = 8,
    GROWTH = 8,
    FIRST_SLOTS = 1 << 11,
    MOST_SLOTS = 1 << 20,
    FIRST_RING = 1 << 14,
    MOST_RING = 1 << 23,
};

#define EMPTY UINT64_MAX

static cebus_pack_slot *take_slots(cebus_pack_memory *memory, size_t count)
{
    cebus_pack_slot *slots = cebus_pack_memory_take(memory, count, sizeof *slots);
    if (slots != NULL)
        memset(slots, 0xff, count * sizeof *slots);
    return slots;
}

bool cebus_pack_nogood_init(cebus_pack_nogood *table, cebus_pack_memory *memory)
{
    *table = (cebus_pack_nogood){.memory = memory, .n_slots = FIRST_SLOTS, .n_ring = FIRST_RING};
    table->slots = take_slots(memory, table->n_slots);
    table->ring = cebus_pack_memory_take(memory, table->n_ring, sizeof *table->ring);
    return table->slots != NULL && table->ring != NULL;
}

/** The place of an entry: its number of words, then those. */
static const uint32_t *entry(const cebus_pack_nogood *table, uint64_t at)
{
    return table->ring + (at & (table->n_ring - 1));
}

static bool is_kept(const cebus_pack_nogood *table, uint64_t at)
{
    return table->written - at <= table->n_ring;
}

bool cebus_pack_nogood_has(cebus_pack_nogood *table, uint64_t hash, const uint32_t *words, size_t n)
{
    for (size_t probe = 0; probe < PROBES; probe++) {
        const cebus_pack_slot *slot = &table->slots[(hash + probe) & (table->n_slots - 1)];
        if (slot->at == EMPTY)
            return false;
        if (slot->hash != hash)
            continue;
        if (is_kept(table, slot->at)) {
            const uint32_t *kept = entry(table, slot->at);
            if (kept[0] == n && memcmp(kept + 1, words, n * sizeof *words) == 0)
                return true;
        } else if (!table->strict) {
            table->guessed = true;
            return true;
        }
    }
    return false;
}

/** An empty slot near the hash, or the one with the oldest entry. */
static cebus_pack_slot *slot_for(cebus_pack_slot *slots, size_t n_slots, uint64_t hash)
{
    cebus_pack_slot *oldest = &slots[hash & (n_slots - 1)];
    for (size_t probe = 0; probe < PROBES; probe++) {
        cebus_pack_slot *slot = &slots[(hash + probe) & (n_slots - 1)];
        if (slot->at == EMPTY || slot->hash == hash)
            return slot;
        if (slot->at < oldest->at)
            oldest = slot;
    }
    return oldest;
}

static void grow_slots(cebus_pack_nogood *table)
{
    if (table->used < table->n_slots / 2 || table->n_slots == MOST_SLOTS)
        return;
    cebus_pack_slot *grown = take_slots(table->memory, table->n_slots * GROWTH);
    if (grown == NULL)
        return;
    for (size_t i = 0; i < table->n_slots; i++) {
        if (table->slots[i].at != EMPTY)
            *slot_for(grown, table->n_slots * GROWTH, table->slots[i].hash) = table->slots[i];
    }
    table->slots = grown;
    table->n_slots *= GROWTH;
}

/** Before the ring has come round for the first time, so that everything keeps its place. */
static void grow_ring(cebus_pack_nogood *table, size_t n)
{
    if (table->written + n <= table->n_ring || table->written > table->n_ring ||
        table->n_ring == MOST_RING)
        return;
    uint32_t *grown = cebus_pack_memory_take(table->memory, table->n_ring * GROWTH, sizeof *grown);
    if (grown == NULL)
        return;
    memcpy(grown, table->ring, (size_t)table->written * sizeof *grown);
    table->ring = grown;
    table->n_ring *= GROWTH;
}

void cebus_pack_nogood_add(cebus_pack_nogood *table, uint64_t hash, const uint32_t *words, size_t n)
{
    grow_slots(table);
    grow_ring(table, n + 1);
    if (n + 1 > table->n_ring)
        return;
    size_t at = (size_t)(table->written & (table->n_ring - 1));
    if (at + n + 1 > table->n_ring)
        table->written += table->n_ring - at; /* entries do not wrap */
    cebus_pack_slot *slot = slot_for(table->slots, table->n_slots, hash);
    table->used += slot->at == EMPTY;
    *slot = (cebus_pack_slot){hash, table->written};
    uint32_t *kept = table->ring + (table->written & (table->n_ring - 1));
    kept[0] = (uint32_t)n;
    memcpy(kept + 1, words, n * sizeof *words);
    table->written += n + 1;
}

void cebus_pack_nogood_be_strict(cebus_pack_nogood *table)
{
    memset(table->slots, 0xff, table->n_slots * sizeof *table->slots);
    table->used = 0;
    table->written = 0;
    table->guessed = false;
    table->strict = true;
}
