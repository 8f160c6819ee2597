/**
 * layout.h: the strategies that decide where in the arena a request goes. All share the arena's
 * books (arena.h): blocks, holes, merging, windows. A layout answers three questions:
 *
 *   find     in which hole, where in it, and with how many bytes?
 *   within   the same when the hole is given (a window was just evicted)
 *   extend   no hole will do: may more of the arena be put behind one? (segments.h)
 *
 * Layouts are data: adding one is writing its functions and a row of the table in layout.c.
 */
#ifndef CEBUS_LAYOUT_LAYOUT_H
#define CEBUS_LAYOUT_LAYOUT_H

#include "layout/block.h"

struct cebus_arena;

/** A place for a request: [offset, offset + bytes) of a hole. */
typedef struct cebus_spot {
    cebus_block *hole; /**< NULL: there is none */
    uint64_t offset, bytes;
} cebus_spot;

typedef struct cebus_layout {
    const char *name;
    const char *summary; /**< for people, a few words */
    bool by_density;     /**< zones come from measured cost density; else from ops' names */
    bool has_low_end;    /**< what stays for good is moved to the persistent end */
    bool has_run;        /**< small blocks have a run of their own at the top */
    bool moves;          /**< blocks may be moved together (compaction) */
    bool planned;        /**< follows a placement plan where there is one (evict/placement.h) */
    bool is_number;      /**< memory is one number: addresses mean nothing */
    /** Addresses for each byte of the limit, at least 1. More than 1: only what segments put bytes
     * behind can be used, or any `limit` bytes where memory is a number. */
    unsigned address_factor;

    /** Where `bytes`, rounded to the alignment, go now; out->hole NULL when no hole will do. */
    void (*find)(const struct cebus_arena *arena, uint64_t bytes, cebus_zone zone, cebus_spot *out);
    /** Where they go in one hole of at least as many bytes; NULL: a given hole does not matter. */
    void (*within)(const struct cebus_arena *arena, cebus_block *hole, uint64_t bytes,
                   cebus_zone zone, cebus_spot *out);
    /** Puts bytes behind addresses, so that find succeeds; false: cannot be. NULL: all have. */
    bool (*extend)(struct cebus_arena *arena, uint64_t bytes, bool *out_no_memory);
    /** Whether extend would; NULL like it. */
    bool (*can_extend)(const struct cebus_arena *arena, uint64_t bytes);
    /** Bytes of a hole that extend could take away for use elsewhere; NULL like extend. */
    uint64_t (*idle_bytes)(const struct cebus_arena *arena, const cebus_block *hole);
} cebus_layout;

/** The layout of a name, or NULL. NULL names the default, zones. */
const cebus_layout *cebus_layout_find(const char *name);
/** Number i of all, the default first; NULL past the last. */
const cebus_layout *cebus_layout_at(size_t i);

#endif
