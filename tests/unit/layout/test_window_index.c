#include "layout/window/index.h"
#include "random.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

TestSuite(window_index, .timeout = 280);

#define UNIT 64
#define LIMIT 4

/* A program that places, releases, touches and asks, while the sweep answers beside the index. What
 * a block truly weighs is its owner's; with a weigher the block itself may show less. */

typedef struct item {
    cebus_block *block;
    uint64_t weight;
    bool evictable;
} item;

typedef struct scene {
    cebus_pool pool;
    cebus_arena arena;
    item *items; /* in no order, with gaps: block NULL */
    size_t capacity;
    uint64_t seed, now;
    uint64_t sizes[24];
    unsigned n_sizes; /* asked for; 0: any */
    uint64_t step;    /* the clock's */
    unsigned weights; /* a kind of them, see draw_weight() */
    bool weighs;      /* blocks are brought up to date when a search reads them */
    uint64_t answers;
} scene;

static bool host_fails; /* now and then */
static uint64_t host_seed;

static bool fails(void)
{
    return host_fails && random_below(&host_seed, 4) == 0;
}

static void *faulty_alloc(void *context, size_t bytes)
{
    (void)context;
    return fails() ? NULL : malloc(bytes);
}

static void *faulty_realloc(void *context, void *memory, size_t bytes)
{
    (void)context;
    return fails() ? NULL : realloc(memory, bytes);
}

static void plain_free(void *context, void *memory)
{
    (void)context;
    free(memory);
}

static uint64_t draw(scene *s, uint64_t limit)
{
    return random_below(&s->seed, limit);
}

static uint64_t draw_weight(scene *s)
{
    switch (s->weights) {
    case 0: /* many ties */
        return 1000 * draw(s, 3);
    case 1:
        return 1 + draw(s, 100000);
    case 2: /* of all magnitudes, saturating */
        return random_wide(&s->seed) >> 1;
    default:
        return 1 + (draw(s, 1 << 24) >> draw(s, 24));
    }
}

static uint64_t draw_size(scene *s)
{
    return (1 + (draw(s, 256) >> draw(s, 8))) * UNIT;
}

static void open_scene(scene *s, uint64_t seed, size_t blocks)
{
    const cebus_host_allocator host = {
        .alloc = faulty_alloc, .realloc = faulty_realloc, .free = plain_free};
    *s = (scene){.seed = seed, .capacity = 64 * blocks, .now = 1};
    s->items = calloc(s->capacity, sizeof *s->items);
    cebus_pool_init(&s->pool, &host);
    s->pool.direct = true;
    host_fails = false;
    uint64_t bytes = blocks * 40 * UNIT;
    if (seed % 8 == 7)
        cr_assert_eq(cebus_arena_init_commodity(&s->arena, bytes, 4 * bytes, UNIT, &s->pool),
                     CEBUS_PLACED);
    else
        cr_assert_eq(cebus_arena_init(&s->arena, bytes, UNIT, &s->pool), CEBUS_PLACED);
    s->n_sizes = (unsigned)draw(s, 25);
    for (size_t i = 0; i < 24; i++)
        s->sizes[i] = draw_size(s) * (1 + draw(s, 8));
    s->step = UINT64_C(1) << draw(s, 12);
    s->weights = (unsigned)draw(s, 4);
    s->weighs = draw(s, 3) == 0;
}

static void close_scene(scene *s)
{
    host_fails = false;
    cebus_arena_deinit(&s->arena);
    cr_assert_eq(s->pool.live_objects, 0);
    cebus_pool_deinit(&s->pool);
    free(s->items);
}

/** Shows what the owner knows: at once, or when a search reads the block. */
static void show(cebus_block *block)
{
    const item *owner = block->owner;
    block->weight = owner->weight;
    block->state = owner->evictable ? CEBUS_BLOCK_EVICTABLE : CEBUS_BLOCK_BARRIER;
}

static void weigh(void *context, cebus_block *block)
{
    (void)context;
    show(block);
}

static void keep(scene *s, cebus_block *block)
{
    item *owner = s->items;
    while (owner->block != NULL)
        owner++;
    cr_assert_lt((size_t)(owner - s->items), s->capacity);
    owner->block = block;
    owner->weight = draw(s, 32) ? draw_weight(s) : CEBUS_WEIGHT_WALL;
    owner->evictable = owner->weight != CEBUS_WEIGHT_WALL;
    block->owner = owner;
    block->tick = s->now;
    if (!s->weighs)
        show(block);
    cebus_window_index_cheaper(s->arena.index, block);
}

static cebus_block *release(scene *s, cebus_block *block)
{
    ((item *)block->owner)->block = NULL;
    return cebus_arena_release(&s->arena, block);
}

static void evict(scene *s, const cebus_window *window)
{
    uint64_t end = window->last->offset + window->last->bytes;
    cebus_block *block = window->first;
    for (;;) {
        if (block->state != CEBUS_BLOCK_FREE)
            block = release(s, block);
        if (block->offset + block->bytes >= end)
            return;
        block = block->next;
    }
}

static void expect_same(scene *s, uint64_t bytes, size_t limit, cebus_window *got)
{
    const cebus_weigher weigher = {.weigh = weigh};
    cebus_window wanted[LIMIT];
    char why[128] = "";
    size_t found = cebus_window_index_find(s->arena.index, bytes, s->now,
                                           s->weighs ? &weigher : NULL, got, limit);
    for (cebus_block *block = s->arena.first; block != NULL && s->weighs; block = block->next) {
        if (block->state != CEBUS_BLOCK_FREE)
            show(block);
    }
    cr_assert_eq(cebus_window_find_best(&s->arena, bytes, s->now, wanted, limit), found);
    for (size_t i = 0; i < found; i++) {
        cr_assert_eq(got[i].price, wanted[i].price);
        cr_assert_eq(got[i].first, wanted[i].first);
        cr_assert_eq(got[i].last, wanted[i].last);
        cr_assert_eq(got[i].evicted_bytes, wanted[i].evicted_bytes);
        cr_assert_eq(got[i].evicted_blocks, wanted[i].evicted_blocks);
    }
    if (draw(s, 64) == 0)
        cr_assert(cebus_window_index_check(s->arena.index, why, sizeof why), "%s", why);
    s->answers++;
}

/** What a runtime does: place, or evict the best window and place in its hole. */
static void request(scene *s)
{
    uint64_t bytes = s->n_sizes > 0 ? s->sizes[draw(s, s->n_sizes)] : draw_size(s);
    cebus_zone zone = (cebus_zone)draw(s, CEBUS_ZONE_COUNT);
    cebus_block *block;
    cebus_window best[LIMIT] = {{0}};
    cebus_place_result placed = cebus_arena_place(&s->arena, bytes, zone, &block);
    if (placed == CEBUS_PLACE_FULL && s->arena.index != NULL) {
        expect_same(s, bytes, draw(s, 8) ? 1 : 1 + draw(s, LIMIT), best);
        if (best[0].first == NULL)
            return;
        evict(s, &best[0]);
        placed = cebus_arena_place(&s->arena, bytes, CEBUS_ZONE_CHEAP, &block);
    }
    cr_assert(placed != CEBUS_PLACE_FULL || s->arena.commodity || s->arena.index == NULL);
    if (placed == CEBUS_PLACED)
        keep(s, block);
}

static void reprice(scene *s, item *one)
{
    uint64_t before = one->weight;
    one->weight = draw(s, 2) ? draw_weight(s) : before - before / 4;
    one->evictable = true;
    if (!s->weighs)
        show(one->block);
    cebus_window_index_cheaper(s->arena.index, one->block);
}

static void change(scene *s)
{
    item *one = &s->items[draw(s, 64)];
    for (size_t i = draw(s, s->capacity); i < s->capacity && one->block == NULL; i += 7)
        one = &s->items[i];
    if (one->block == NULL)
        return;
    switch (draw(s, 8)) {
    case 0:
        release(s, one->block);
        break;
    case 1: /* without a word, I2 */
        if (one->weight != CEBUS_WEIGHT_WALL)
            one->evictable = !one->evictable;
        break;
    case 2:
        reprice(s, one);
        break;
    case 3:
        one->block->tick -= draw(s, one->block->tick + 1);
        cebus_window_index_cheaper(s->arena.index, one->block);
        break;
    case 4: /* dearer: no word */
        if (one->weight < UINT64_MAX / 2)
            one->weight += draw(s, 1000);
        break;
    default:
        if (one->block->tick < s->now)
            one->block->tick = s->now + (draw(s, 64) == 0 ? draw(s, 10000) : 0);
    }
    if (one->block != NULL && !s->weighs)
        show(one->block);
}

static void compact(scene *s)
{
    cebus_move move = {0};
    for (uint64_t left = draw(s, 40); left > 0; left--) {
        if (!cebus_arena_next_move(&s->arena, move.block, &move))
            return;
        cebus_arena_move(&s->arena, &move);
    }
}

static void slide(scene *s)
{
    cebus_block *block = s->items[draw(s, 64)].block;
    uint64_t units = draw(s, 100) * UNIT;
    if (block == NULL)
        return;
    bool down = block->offset >= units && draw(s, 2);
    (void)cebus_arena_slide(&s->arena, block, down ? block->offset - units : block->offset + units);
}

static void rare_event(scene *s)
{
    uint64_t capacity = s->arena.capacity, units = draw(s, 100) * UNIT;
    switch (draw(s, 7)) {
    case 0:
        compact(s);
        break;
    case 1:
        (void)cebus_arena_resize(&s->arena, draw(s, 2) ? capacity + units : capacity - units);
        break;
    case 2: /* I7 */
        s->now -= draw(s, s->now);
        break;
    case 3:
        cebus_window_index_destroy(s->arena.index);
        break;
    case 4:
        for (uint64_t left = draw(s, 10); left > 0; left--)
            slide(s);
        break;
    default:
        if (s->arena.index == NULL)
            (void)cebus_window_index_create(&s->arena);
    }
}

static uint64_t run_scene(uint64_t seed, size_t blocks, size_t steps, bool faults)
{
    scene s;
    open_scene(&s, seed, blocks);
    host_fails = faults;
    host_seed = seed;
    while (s.arena.index == NULL)
        (void)cebus_window_index_create(&s.arena);
    for (size_t i = 0; i < steps; i++) {
        s.now += draw(&s, s.step);
        uint64_t what = draw(&s, 1000);
        if (what < 3)
            rare_event(&s);
        else if (what < 600)
            request(&s);
        else
            change(&s);
    }
    close_scene(&s);
    return s.answers;
}

Test(window_index, answers_as_the_sweep_does)
{
    uint64_t answers = 0;
    for (uint64_t seed = 1; answers < 1000000; seed++)
        answers += run_scene(seed, 4 + seed % 61, 10000, false);
}

Test(window_index, answers_alike_in_larger_arenas)
{
    for (uint64_t seed = 1; seed <= 6; seed++)
        run_scene(seed, 300 * seed, 20000, false);
}

Test(window_index, a_host_without_memory_is_answered_by_the_sweep)
{
    for (uint64_t seed = 1; seed <= 60; seed++)
        run_scene(seed, 10 + 10 * seed, 4000, true);
}

/* What it takes and what it saves. */

static void fill(scene *s, size_t blocks)
{
    for (size_t i = 0; i < blocks; i++) {
        cebus_block *block;
        cr_assert_eq(cebus_arena_place(&s->arena, 4 * UNIT, CEBUS_ZONE_EXPENSIVE, &block),
                     CEBUS_PLACED);
        keep(s, block);
        ((item *)block->owner)->evictable = true;
        ((item *)block->owner)->weight = 1000000 + 1000 * i;
        block->tick = 0;
        show(block);
    }
    cr_assert_eq(cebus_arena_resize(&s->arena, blocks * 4 * UNIT), CEBUS_PLACED);
}

Test(window_index, looks_at_few_chunks_once_it_knows_a_size)
{
    scene s;
    open_scene(&s, 1, 1000);
    fill(&s, 5000);
    cr_assert(cebus_window_index_create(&s.arena));
    cebus_window best;
    for (uint64_t now = 1000; now < 1100; now++)
        cebus_window_index_find(s.arena.index, 8 * UNIT, now, NULL, &best, 1);
    const cebus_window_index *index = s.arena.index;
    cr_expect_eq(index->count.searches, 100);
    cr_expect_eq(index->count.sweeps, 1, "a size asked for once may never come again");
    cr_expect_lt(index->count.looks, 2 * index->chunks.used);
    cr_expect_lt(index->count.tries, 4 * 100);
    cr_expect_eq(best.first, s.arena.first);
    close_scene(&s);
}

/** Searches for a size, evicts what is cheapest and fills the hole, so many times. */
static void take_cheapest(scene *s, size_t times)
{
    for (size_t i = 0; i < times; i++) {
        cebus_window best[1];
        cebus_block *block;
        s->now++;
        cr_assert_eq(cebus_window_index_find(s->arena.index, 4 * UNIT, s->now, NULL, best, 1), 1);
        evict(s, &best[0]);
        cr_assert_eq(cebus_arena_place(&s->arena, 4 * UNIT, CEBUS_ZONE_CHEAP, &block),
                     CEBUS_PLACED);
        keep(s, block);
        ((item *)block->owner)->weight = UINT64_C(1) << 40;
        show(block);
    }
}

Test(window_index, in_a_large_arena_a_level_seldom_falls)
{
    scene s;
    open_scene(&s, 1, 2000);
    fill(&s, 20000);
    cr_assert(cebus_window_index_create(&s.arena));
    s.now = 1000000;
    take_cheapest(&s, 1500);
    const cebus_window_index *index = s.arena.index;
    cr_expect_lt(index->count.falls, 14);
    cr_expect_lt(index->count.looks, 4 * index->chunks.used);
    close_scene(&s);
}

/** Many small values made one after the other, then a pause that is long beside all of that: most
 * cost the same, and where they do the lowest wins. */
static void fill_alike(scene *s, size_t blocks, uint64_t weight, uint64_t pause)
{
    fill(s, blocks);
    for (cebus_block *block = s->arena.first; block != NULL; block = block->next) {
        ((item *)block->owner)->weight = weight;
        block->tick = s->now += 25;
        show(block);
    }
    s->now += pause;
    cr_assert(cebus_window_index_create(&s->arena));
}

/** Searches for several windows of two sizes, evicts the best one and fills the hole. */
static void take_alike(scene *s, size_t times, uint64_t weight)
{
    for (size_t i = 0; i < times; i++) {
        cebus_window best[LIMIT];
        s->now += 100;
        cebus_window_index_find(s->arena.index, 3 * UNIT, s->now, NULL, best, LIMIT);
        expect_same(s, 4 * UNIT, LIMIT, best);
        evict(s, &best[0]);
        cebus_block *block;
        cr_assert_eq(cebus_arena_place(&s->arena, 4 * UNIT, CEBUS_ZONE_CHEAP, &block),
                     CEBUS_PLACED);
        keep(s, block);
        ((item *)block->owner)->weight = weight;
        show(block);
    }
}

static void expect_few_looks(uint64_t weight, uint64_t pause)
{
    scene s;
    open_scene(&s, 1, 2000);
    fill_alike(&s, 10000, weight, pause);
    take_alike(&s, 500, weight);
    const cebus_window_index *index = s.arena.index;
    cr_expect_eq(index->count.sweeps, 2, "the first of each size");
    cr_expect_lt(index->count.falls, 25);
    cr_expect_lt(index->count.looks, 16 * index->count.searches);
    close_scene(&s);
}

Test(window_index, windows_that_cost_the_same_are_told_apart)
{
    expect_few_looks(40, 0);
    expect_few_looks(40, 30000000);
    expect_few_looks(40, UINT64_C(1) << 40);
    expect_few_looks(0, 30000000);
}

Test(window_index, sizes_that_never_repeat_are_swept)
{
    scene s;
    open_scene(&s, 1, 1000);
    fill(&s, 2000);
    cr_assert(cebus_window_index_create(&s.arena));
    cebus_window best;
    for (uint64_t size = 5; size < 1005; size++)
        cebus_window_index_find(s.arena.index, size * UNIT, size, NULL, &best, 1);
    cr_expect_eq(s.arena.index->count.sweeps, 1000);
    cr_expect_eq(s.arena.index->count.looks, 0);
    close_scene(&s);
}

Test(window_index, a_size_is_remembered_for_as_many_searches_as_there_are_chunks)
{
    scene s;
    open_scene(&s, 1, 1000);
    fill(&s, 5000);
    cr_assert(cebus_window_index_create(&s.arena));
    cebus_window best;
    cr_assert_gt(s.arena.index->chunks.used, 100);
    for (uint64_t size = 5; size < 105; size++)
        cebus_window_index_find(s.arena.index, size * UNIT, size, NULL, &best, 1);
    cr_assert_eq(s.arena.index->count.sweeps, 100);
    cebus_window_index_find(s.arena.index, 5 * UNIT, 200, NULL, &best, 1);
    cr_expect_eq(s.arena.index->count.sweeps, 100, "it has a table now");
    close_scene(&s);
}

/* The walker. */

static void expect_fault(const scene *s, const char *part)
{
    char why[128] = "";
    cr_assert_not(cebus_window_index_check(s->arena.index, why, sizeof why), "wanted: %s", part);
    cr_expect(strstr(why, part) != NULL, "\"%s\", wanted: %s", why, part);
}

Test(window_index, the_walker_names_what_is_damaged)
{
    scene s;
    open_scene(&s, 1, 1000);
    fill(&s, 500);
    cr_assert(cebus_window_index_create(&s.arena));
    cebus_window_index *index = s.arena.index;
    cebus_window best;
    for (uint64_t now = 1000; now < 1003; now++)
        cebus_window_index_find(index, 8 * UNIT, now, NULL, &best, 1);
    cr_assert(cebus_window_index_check(index, NULL, 0));

    cebus_chunk *chunk = &index->chunks.at[index->chunks.first];
    cebus_table *table = &index->tables.table[0];
    float *at = cebus_table_due(table, index->chunks.first);
    const float due = *at;
    table->hot->rise[0] /= 2;
    expect_fault(&s, "I1: a window at the level is not hot, nor is its chunk due");
    *at = CEBUS_DUE_NOW;
    expect_fault(&s, "a chunk is due before its group");
    table->soonest[index->chunks.first / CEBUS_GROUP] = CEBUS_DUE_NOW;
    cr_expect(cebus_window_index_check(index, NULL, 0), "it would be looked at");
    *at = due;
    table->hot->rise[0] *= 2;
    chunk->offset[1]++;
    expect_fault(&s, "kept where it does not lie");
    chunk->offset[1]--;
    s.arena.first->weight /= 4; /* without a word */
    expect_fault(&s, "higher price");
    chunk->weight[0] /= 4;
    expect_fault(&s, "rounded to a higher price");
    chunk->heavy[0] /= 4;
    expect_fault(&s, "I1");
    s.arena.first->weight *= 4;
    s.arena.first->chunk++;
    expect_fault(&s, "names another chunk");
    s.arena.first->chunk--;
    chunk->noted = UINT32_C(1) << 31;
    chunk->count--;
    expect_fault(&s, "a note beyond");
    chunk->noted = 0;
    expect_fault(&s, "hold the blocks");
    chunk->count++;
    index->chunks.at[chunk->next].prev++;
    expect_fault(&s, "prev is not");
    index->chunks.at[chunk->next].prev--;
    cr_assert(cebus_window_index_check(index, NULL, 0));
    close_scene(&s);
}
