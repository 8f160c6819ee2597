#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "layout/arena.h"
#include "layout/gather.h"
#include "tests/support/patterns.h"

/** Of sizes: the median 256 KiB, ten times as much one sigma and a half above. */
#define MEDIAN (256.0 * 1024)
#define SIGMA 1.5
#define LARGEST 64 /* of the limit, a share */

typedef struct server {
    cebus_pool pool;
    cebus_arena arena;
    cebus_block **blocks;
    uint64_t count, capacity, random;
    cebus_pattern result;
} server;

static double uniform(server *s)
{
    s->random = s->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return ((double)(s->random >> 11) + 0.5) * 0x1p-53;
}

static uint64_t draw_bytes(server *s)
{
    double normal = sqrt(-2 * log(uniform(s))) * cos(6.283185307179586 * uniform(s));
    double bytes = MEDIAN * exp(SIGMA * normal), most = (double)s->arena.limit / LARGEST;
    return (uint64_t)(bytes < most ? bytes : most) + 1;
}

/** As a runtime does: moves the least that makes a hole, then looks again. */
static void compact(server *s, uint64_t bytes)
{
    cebus_gather gather;
    cebus_move move = {0};
    if (!cebus_gather_find(&s->arena, cebus_arena_rounded(&s->arena, bytes), &gather))
        return;
    move.block = gather.first;
    while (!cebus_arena_fits(&s->arena, bytes) &&
           cebus_arena_next_move(&s->arena, move.block, &move)) {
        s->result.moved_bytes += move.block->bytes;
        cebus_arena_move(&s->arena, &move);
    }
}

static void release_any(server *s)
{
    uint64_t i = (uint64_t)(uniform(s) * (double)s->count);
    cebus_arena_release(&s->arena, s->blocks[i]);
    s->blocks[i] = s->blocks[--s->count];
}

static void keep(server *s, cebus_block *block)
{
    if (s->count == s->capacity) {
        s->capacity = s->capacity > 0 ? 2 * s->capacity : 1024;
        s->blocks = realloc(s->blocks, s->capacity * sizeof(cebus_block *));
        if (s->blocks == NULL)
            abort();
    }
    s->blocks[s->count++] = block;
}

/** Three of four blocks are cheap activations of a request, the others dear or scratch. */
static cebus_zone draw_zone(server *s)
{
    double u = uniform(s);
    return u < 0.5 ? CEBUS_ZONE_CHEAP : u < 0.75 ? CEBUS_ZONE_EXPENSIVE : CEBUS_ZONE_TRANSIENT;
}

static void serve(server *s, uint64_t *stranded)
{
    cebus_block *block;
    uint64_t bytes = draw_bytes(s), most = s->arena.limit / 100 * 97;
    cebus_zone zone = draw_zone(s);
    while (s->count > 0 && s->arena.used_bytes + bytes > most)
        release_any(s);
    s->result.requests++;
    s->result.asked_bytes += bytes;
    cebus_place_result placed = cebus_arena_place(&s->arena, bytes, zone, &block);
    if (placed == CEBUS_PLACE_FULL) {
        *stranded = cebus_arena_stranded_bytes(&s->arena, bytes);
        if (s->arena.layout->moves)
            compact(s, bytes);
        placed = cebus_arena_place(&s->arena, bytes, zone, &block);
    }
    if (placed == CEBUS_PLACED)
        keep(s, block);
    else
        s->result.failures++;
}

cebus_pattern cebus_pattern_server(const char *layout, uint64_t limit, uint64_t requests,
                                   uint64_t seed)
{
    server s = {.random = seed};
    double sums[2] = {0};
    uint64_t counts[2] = {0};
    cebus_pool_init(&s.pool, NULL);
    cebus_arena_setup setup = {cebus_layout_find(layout), limit, 0, 512};
    if (setup.layout == NULL || cebus_arena_open(&s.arena, &setup, &s.pool) != CEBUS_PLACED)
        abort();
    for (uint64_t i = 0; i < requests; i++) {
        uint64_t stranded = UINT64_MAX;
        serve(&s, &stranded);
        if (stranded == UINT64_MAX)
            continue;
        sums[2 * i >= requests] += (double)stranded;
        counts[2 * i >= requests]++;
    }
    s.result.budget = limit;
    s.result.stranded_early = counts[0] > 0 ? (uint64_t)(sums[0] / (double)counts[0]) : 0;
    s.result.stranded_late = counts[1] > 0 ? (uint64_t)(sums[1] / (double)counts[1]) : 0;
    cebus_arena_deinit(&s.arena);
    cebus_pool_deinit(&s.pool);
    free(s.blocks);
    return s.result;
}
