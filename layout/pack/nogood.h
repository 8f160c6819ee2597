/**
 * nogood.h: remembers what the search has ruled out (its nogoods): sets of blocks with the lowest
 * offset of each, as words.
 *
 * The words themselves are kept in a ring and compared, so a hit is a fact, until the ring has come
 * round. An entry whose words are gone is known by its 64-bit hash alone. That is as good where a
 * packing is looked for (it would have to be missed twice), but proves nothing: `guessed` is set,
 * and a proof has to begin again, with `strict`.
 *
 * Without host memory to grow the table stays as large as it is.
 */
#ifndef CEBUS_LAYOUT_PACK_NOGOOD_H
#define CEBUS_LAYOUT_PACK_NOGOOD_H

#include "layout/pack/memory.h"

typedef struct cebus_pack_slot {
    uint64_t hash;
    uint64_t at; /**< in the ring, counted from the first word ever; UINT64_MAX: empty */
} cebus_pack_slot;

typedef struct cebus_pack_nogood {
    cebus_pack_memory *memory;
    cebus_pack_slot *slots;
    uint32_t *ring;
    size_t n_slots, n_ring; /**< powers of two */
    size_t used;            /**< slots */
    uint64_t written;       /**< words, ever */
    bool strict;            /**< hits are facts alone */
    bool guessed;           /**< some hit was not */
} cebus_pack_nogood;

/** False without host memory. */
bool cebus_pack_nogood_init(cebus_pack_nogood *table, cebus_pack_memory *memory);
bool cebus_pack_nogood_has(cebus_pack_nogood *table, uint64_t hash, const uint32_t *words,
                           size_t n);
void cebus_pack_nogood_add(cebus_pack_nogood *table, uint64_t hash, const uint32_t *words,
                           size_t n);

/** Forgets everything, for some of it may follow from a guess, and guesses no more. */
void cebus_pack_nogood_be_strict(cebus_pack_nogood *table);

#endif
