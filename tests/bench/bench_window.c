/**
 * bench_window.c: what one window search costs a block, as a Markdown table.
 *
 * Distinct arenas are searched in turn, for another request each time, so that the branch
 * predictor learns none of them. Records "in order" lie in memory as their blocks do, as after
 * start-up; "scattered" ones lie anywhere, as after hours of placing and releasing. One or two
 * arenas stay in the cache between searches; many push each other out of it, as the work between
 * two evictions would, and then a search costs the latency of its list.
 */
#include "layout/window/window.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define UNIT 512
#define MOST_ARENAS 64

typedef struct setting {
    size_t blocks, arenas, searches;
    bool scattered;
} setting;

typedef struct scene {
    cebus_pool pool;
    cebus_arena arena;
    uint64_t now;
} scene;

static uint64_t seed = 1;

static uint64_t random_next(void)
{
    uint64_t z = seed += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/** Every magnitude up to 2^bits alike. */
static uint64_t random_size(unsigned bits)
{
    return ((random_next() & ((UINT64_C(1) << bits) - 1)) >> random_next() % bits) + 1;
}

static void *must(void *pointer)
{
    if (pointer == NULL) {
        fputs("out of memory\n", stderr);
        exit(1);
    }
    return pointer;
}

static void shuffle(void **items, size_t count)
{
    for (size_t i = count; i > 1; i--) {
        size_t other = random_next() % i;
        void *item = items[i - 1];
        items[i - 1] = items[other];
        items[other] = item;
    }
}

/** Leaves the pool with free records in random order. */
static void scatter(cebus_pool *pool, size_t records)
{
    void **taken = must(calloc(records, sizeof *taken));
    for (size_t i = 0; i < records; i++)
        taken[i] = must(cebus_pool_alloc(pool, sizeof(cebus_block)));
    shuffle(taken, records);
    for (size_t i = 0; i < records; i++)
        cebus_pool_free_object(pool, taken[i], sizeof(cebus_block));
    free(taken);
}

/** Mostly evictable blocks of all ages and weights, some holes, a barrier in every 64 or so. */
static void build(scene *at, const setting *how)
{
    cebus_pool_init(&at->pool, NULL);
    if (how->scattered)
        scatter(&at->pool, 2 * how->blocks);
    cebus_arena_init(&at->arena, UINT64_C(1) << 50, UNIT, &at->pool);
    at->now = UINT64_C(10000000000);
    for (size_t i = 0; i < how->blocks; i++) {
        cebus_block *block;
        if (cebus_arena_place(&at->arena, random_size(12) * UNIT, CEBUS_ZONE_EXPENSIVE, &block) !=
            CEBUS_PLACED)
            must(NULL);
        block->state = random_next() % 64 ? CEBUS_BLOCK_EVICTABLE : CEBUS_BLOCK_BARRIER;
        block->weight = random_size(24);
        block->tick = at->now - random_size(30);
    }
    cebus_arena_resize(&at->arena, at->arena.last->offset);
    for (cebus_block *block = at->arena.first; block != NULL; block = block->next) {
        if (random_next() % 8 == 0 && block->state != CEBUS_BLOCK_FREE)
            block = cebus_arena_release(&at->arena, block);
    }
}

static double nanoseconds(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static double search(const scene *at)
{
    cebus_window window;
    uint64_t bytes = random_size(14) * UNIT;
    double start = nanoseconds();
    cebus_window_find(&at->arena, bytes, at->now, &window);
    double time = nanoseconds() - start;
    if (window.first == NULL)
        fprintf(stderr, "no window of %llu bytes\n", (unsigned long long)bytes);
    return time / (double)(at->arena.used_blocks + at->arena.free_blocks);
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void measure(const setting *how)
{
    static scene scenes[MOST_ARENAS];
    for (size_t i = 0; i < how->arenas; i++)
        build(&scenes[i], how);
    double *times = must(calloc(how->searches, sizeof *times));
    for (size_t i = 0; i < how->searches; i++)
        times[i] = search(&scenes[i % how->arenas]);
    qsort(times, how->searches, sizeof *times, ascending);
    double median = times[how->searches / 2];
    double p90 = times[how->searches * 9 / 10];
    const cebus_arena *arena = &scenes[0].arena;
    printf("| %zu | %s | %zu | %.1f | %.1f | %.1f |\n", how->blocks,
           how->scattered ? "scattered" : "in order", how->arenas, median, p90,
           median * (double)(arena->used_blocks + arena->free_blocks) / 1000);
    free(times);
    for (size_t i = 0; i < how->arenas; i++) {
        cebus_arena_deinit(&scenes[i].arena);
        cebus_pool_deinit(&scenes[i].pool);
    }
}

int main(void)
{
    const setting settings[] = {
        {1000, 64, 20000, false}, {1000, 8, 20000, true}, {1000, 64, 20000, true},
        {10000, 16, 2000, false}, {10000, 2, 2000, true}, {10000, 16, 2000, true},
        {100000, 4, 200, false},  {100000, 4, 200, true},
    };
    puts("| blocks | records | arenas in turn | ns per block, median | p90 | us per search |");
    puts("|---|---|---|---|---|---|");
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
        measure(&settings[i]);
    return 0;
}
