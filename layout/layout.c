#include "layout/layout.h"

#include "layout/arena.h"
#include "layout/segments.h"
#include "layout/zones.h"

#include <string.h>

/* One best-fit arena. */

static void place_low(const cebus_arena *arena, cebus_block *hole, uint64_t bytes, cebus_zone zone,
                      cebus_spot *out)
{
    (void)arena;
    (void)zone;
    *out = (cebus_spot){hole, hole->offset, bytes};
}

static void find_lowest(const cebus_arena *arena, uint64_t bytes, cebus_zone zone, cebus_spot *out)
{
    cebus_block *hole = cebus_bins_find(&arena->bins, bytes, true);
    *out = (cebus_spot){0};
    if (hole != NULL)
        place_low(arena, hole, bytes, zone, out);
}

/* Two ends, and a run for small blocks at the top. */

/** At one end of a hole; what grows down leaves the run alone where it can. */
static inline void place_at_end(const cebus_arena *arena, cebus_block *hole, uint64_t bytes,
                                bool low, cebus_spot *out)
{
    uint64_t end = hole->offset + hole->bytes;
    if (hole == arena->straddler && bytes > arena->small_most) {
        if (bytes > arena->border - hole->offset)
            low = true; /* takes no more of the run than it must */
        else
            end = arena->border;
    }
    *out = (cebus_spot){hole, low ? hole->offset : end - bytes, bytes};
}

/** At the high end of a hole in the run, or of a hole that reaches far enough into it. */
static inline void find_in_run(const cebus_arena *arena, uint64_t bytes, cebus_spot *out)
{
    cebus_block *hole = cebus_bins_find(&arena->upper, bytes, false);
    cebus_block *straddler = arena->straddler;
    if (hole == NULL && straddler != NULL &&
        straddler->offset + straddler->bytes - arena->border >= bytes)
        hole = straddler;
    *out = (cebus_spot){0};
    if (hole != NULL)
        *out = (cebus_spot){hole, hole->offset + hole->bytes - bytes, bytes};
}

/** The best hole below the border, else above it: neither run nor arena is ever full alone. */
static inline cebus_block *find_by_size(const cebus_arena *arena, uint64_t bytes, bool low)
{
    cebus_block *hole = cebus_bins_find(&arena->bins, bytes, low);
    return hole != NULL ? hole : cebus_bins_find(&arena->upper, bytes, low);
}

static void place_zoned(const cebus_arena *arena, cebus_block *hole, uint64_t bytes,
                        cebus_zone zone, cebus_spot *out)
{
    place_at_end(arena, hole, bytes, cebus_zone_grows_up(zone), out);
}

static void find_zoned(const cebus_arena *arena, uint64_t bytes, cebus_zone zone, cebus_spot *out)
{
    *out = (cebus_spot){0};
    if (bytes <= arena->small_most && zone != CEBUS_ZONE_PERSISTENT)
        find_in_run(arena, bytes, out);
    if (out->hole != NULL)
        return;
    cebus_block *hole = find_by_size(arena, bytes, cebus_zone_grows_up(zone));
    if (hole != NULL)
        place_zoned(arena, hole, bytes, zone, out);
}

/* As published with Coop: what is dear grows up, all else down, small blocks of any kind have the
 * run; ties go to the lowest hole. Unlike there, a full run overflows instead of failing. */

static void place_coop(const cebus_arena *arena, cebus_block *hole, uint64_t bytes, cebus_zone zone,
                       cebus_spot *out)
{
    place_at_end(arena, hole, bytes, zone == CEBUS_ZONE_EXPENSIVE, out);
}

static void find_coop(const cebus_arena *arena, uint64_t bytes, cebus_zone zone, cebus_spot *out)
{
    *out = (cebus_spot){0};
    if (bytes <= arena->small_most)
        find_in_run(arena, bytes, out);
    if (out->hole != NULL)
        return;
    cebus_block *hole = find_by_size(arena, bytes, true);
    if (hole != NULL)
        place_coop(arena, hole, bytes, zone, out);
}

static const cebus_layout layouts[] = {
    {.name = "zones",
     .summary = "what stays at the bottom, dear values up from it, cheap ones down from the top",
     .by_density = true,
     .has_low_end = true,
     .has_run = true,
     .moves = true,
     .address_factor = 1,
     .find = find_zoned,
     .within = place_zoned},
    {.name = "planned",
     .summary = "offsets from a plan of the whole iteration; zones for what none foresaw",
     .by_density = true,
     .has_low_end = true,
     .has_run = true,
     .moves = true,
     .planned = true,
     .address_factor = 1,
     .find = find_zoned,
     .within = place_zoned},
    {.name = "coop",
     .summary = "as published: outputs of convolutions and products up, all else down",
     .has_run = true,
     .address_factor = 1,
     .find = find_coop,
     .within = place_coop},
    {.name = "best-fit",
     .summary = "the smallest hole that is large enough, wherever it is",
     .by_density = true,
     .address_factor = 1,
     .find = find_lowest,
     .within = place_low},
    {.name = "caching",
     .summary = "a caching allocator: two pools of segments, split and merged, kept when free",
     .by_density = true,
     .address_factor = 4,
     .find = cebus_segments_find,
     .extend = cebus_segments_extend,
     .can_extend = cebus_segments_can_extend,
     .idle_bytes = cebus_segments_idle_whole},
    {.name = "caching-expandable",
     .summary = "the same with one segment a pool that grows by pages",
     .by_density = true,
     .address_factor = 4,
     .find = cebus_segments_find,
     .extend = cebus_segments_grow,
     .can_extend = cebus_segments_can_grow,
     .idle_bytes = cebus_segments_idle_pages},
    {.name = "commodity",
     .summary = "memory as a number: any free bytes will do (sim:* only)",
     .by_density = true,
     .has_low_end = true,
     .moves = true,
     .is_number = true,
     .address_factor = 16,
     .find = find_zoned,
     .within = place_zoned},
};

const cebus_layout *cebus_layout_at(size_t i)
{
    return i < sizeof layouts / sizeof *layouts ? &layouts[i] : NULL;
}

const cebus_layout *cebus_layout_find(const char *name)
{
    if (name == NULL)
        return &layouts[0];
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++) {
        if (strcmp(layouts[i].name, name) == 0)
            return &layouts[i];
    }
    return NULL;
}
