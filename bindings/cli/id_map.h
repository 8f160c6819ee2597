/**
 * id_map.h: numbers of a file to indices of an array.
 */
#ifndef ID_MAP_H
#define ID_MAP_H

#include <stddef.h>
#include <stdint.h>

#define NO_INDEX UINT32_MAX

struct id_slot {
    uint64_t id; /**< 0: empty */
    uint32_t index;
};

/** Zero is an empty one. */
struct id_map {
    uint64_t seed; /**< a file cannot know which ids collide */
    struct id_slot *slots;
    size_t capacity; /**< 0 or a power of two, at least twice the count */
    size_t count;
};

/** NO_INDEX when the id is not there. O(1). */
uint32_t id_map_find(const struct id_map *map, uint64_t id);
/** Adds or overwrites; the id is not 0. O(1) amortized. */
void id_map_set(struct id_map *map, uint64_t id, uint32_t index);
void id_map_free(struct id_map *map);

#endif
