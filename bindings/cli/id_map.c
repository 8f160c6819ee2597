#include "id_map.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "message.h"

/** splitmix64's finalizer (Steele, Lea, Flood, OOPSLA'14). */
static size_t place_of(const struct id_map *map, uint64_t id)
{
    uint64_t z = id ^ map->seed;
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    size_t place = (size_t)(z ^ (z >> 31)) & (map->capacity - 1);
    while (map->slots[place].id != 0 && map->slots[place].id != id)
        place = (place + 1) & (map->capacity - 1);
    return place;
}

uint32_t id_map_find(const struct id_map *map, uint64_t id)
{
    if (map->capacity == 0)
        return NO_INDEX;
    const struct id_slot *slot = &map->slots[place_of(map, id)];
    return slot->id == id ? slot->index : NO_INDEX;
}

static uint64_t draw_seed(void)
{
    uint64_t seed;
    if (getentropy(&seed, sizeof seed) != 0)
        seed = (uint64_t)time(NULL) ^ (uint64_t)(uintptr_t)&seed;
    return seed;
}

static void grow(struct id_map *map)
{
    struct id_slot *old = map->slots;
    size_t old_capacity = map->capacity;
    if (old_capacity == 0)
        map->seed = draw_seed();
    map->capacity = old_capacity > 0 ? 2 * old_capacity : 256;
    map->slots = take(NULL, map->capacity, sizeof *map->slots);
    memset(map->slots, 0, map->capacity * sizeof *map->slots);
    for (size_t i = 0; i < old_capacity; i++) {
        if (old[i].id != 0)
            map->slots[place_of(map, old[i].id)] = old[i];
    }
    free(old);
}

void id_map_set(struct id_map *map, uint64_t id, uint32_t index)
{
    if (2 * (map->count + 1) > map->capacity)
        grow(map);
    struct id_slot *slot = &map->slots[place_of(map, id)];
    if (slot->id == 0)
        map->count++;
    *slot = (struct id_slot){.id = id, .index = index};
}

void id_map_free(struct id_map *map)
{
    free(map->slots);
    *map = (struct id_map){0};
}
