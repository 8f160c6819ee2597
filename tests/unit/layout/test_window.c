#include "layout/window/window.h"
#include "random.h"

#include <criterion/criterion.h>

TestSuite(window);

#define UNIT 64
#define MOST_BLOCKS 40

__extension__ typedef unsigned __int128 wide;

/* Prices. */

static uint64_t exact_price(uint64_t weight, uint64_t age)
{
    wide price = (((wide)weight << CEBUS_PRICE_SHIFT) + age - 1) / age; /* rounded up */
    return price < CEBUS_PRICE_MAX ? (uint64_t)price : CEBUS_PRICE_MAX;
}

static uint64_t price(uint64_t weight, uint64_t tick, uint64_t now)
{
    cebus_block block = {.weight = weight, .tick = tick, .state = CEBUS_BLOCK_EVICTABLE};
    return cebus_block_price(&block, now);
}

Test(window, prices_are_exact_for_any_weight_and_age)
{
    uint64_t seed = 1;
    for (int i = 0; i < 200000; i++) {
        uint64_t weight = random_wide(&seed), age = random_wide(&seed) | 1;
        cr_assert_eq(price(weight, 0, age), exact_price(weight, age), "%llu / %llu",
                     (unsigned long long)weight, (unsigned long long)age);
    }
}

Test(window, prices_at_the_edges)
{
    uint64_t plain = UINT64_C(1) << (64 - CEBUS_PRICE_SHIFT);
    for (uint64_t weight = plain - 2; weight <= plain + 2; weight++) {
        for (uint64_t age = plain - 2; age <= plain + 2; age++)
            cr_expect_eq(price(weight, 0, age), exact_price(weight, age));
    }
    cr_expect_eq(price(UINT64_C(1) << 63, 0, 1), CEBUS_PRICE_MAX);
    cr_expect_eq(price(UINT64_MAX, 0, UINT64_MAX), UINT64_C(1) << CEBUS_PRICE_SHIFT);
    cr_expect_eq(price(UINT64_MAX - 1, 0, UINT64_MAX), UINT64_C(1) << CEBUS_PRICE_SHIFT);
    cr_expect_eq(price(1, 0, UINT64_MAX), 1);
    cr_expect_eq(price(UINT64_C(3) << 50, 0, UINT64_C(1) << 51), UINT64_C(3) << 25);
    cr_expect_eq(price(UINT64_C(524289) << 40, 0, UINT64_C(1) << 41), CEBUS_PRICE_MAX);
    cr_expect_eq(price(0, 0, 1), 0);
    cr_expect_eq(price(CEBUS_PRICE_MAX >> CEBUS_PRICE_SHIFT, 0, 1), CEBUS_PRICE_MAX);
    cr_expect_eq(price((CEBUS_PRICE_MAX >> CEBUS_PRICE_SHIFT) - 1, 0, 1),
                 CEBUS_PRICE_MAX - (UINT64_C(1) << CEBUS_PRICE_SHIFT));
}

Test(window, a_block_used_now_or_later_is_one_tick_old)
{
    uint64_t one = price(1000, 9, 10);
    cr_expect_eq(one, UINT64_C(1000) << CEBUS_PRICE_SHIFT);
    cr_expect_eq(price(1000, 10, 10), one);
    cr_expect_eq(price(1000, 11, 10), one);
    cr_expect_eq(price(1000, UINT64_MAX, 0), one);
    cr_expect_eq(price(1000, 0, 0), one);
}

Test(window, free_costs_nothing)
{
    cebus_block block = {.weight = 5, .state = CEBUS_BLOCK_FREE};
    cr_expect_eq(cebus_block_price(&block, 1), 0);
}

/* Windows against all runs. */

static cebus_pool pool;
static cebus_arena arena;

static cebus_block *place(uint64_t bytes, cebus_block_state state, uint64_t weight, uint64_t tick)
{
    cebus_block *block;
    cr_assert_eq(cebus_arena_place(&arena, bytes, CEBUS_ZONE_EXPENSIVE, &block), CEBUS_PLACED);
    block->state = (uint8_t)state;
    block->weight = weight;
    block->tick = tick;
    return block;
}

static uint64_t random_price_part(uint64_t *seed, unsigned kind)
{
    switch (kind) {
    case 0: /* many ties */
        return random_below(seed, 3);
    case 1:
        return random_below(seed, 1000);
    case 2: /* saturating */
        return random_wide(seed);
    default:
        return 0;
    }
}

/* Fills a new arena with blocks of all states; some layouts are all of one kind. */
static void open_random_layout(uint64_t *seed, uint64_t now)
{
    cebus_pool_init(&pool, NULL);
    cr_assert_eq(cebus_arena_init(&arena, 1 << 20, UNIT, &pool), CEBUS_PLACED);
    unsigned kind = (unsigned)random_below(seed, 4);
    uint64_t barriers = random_below(seed, 8), holes = random_below(seed, 8);
    cebus_block *blocks[MOST_BLOCKS];
    uint64_t count = random_below(seed, MOST_BLOCKS);
    for (uint64_t i = 0; i < count; i++) {
        uint64_t tick = kind == 3 ? now : random_price_part(seed, kind);
        blocks[i] = place((1 + random_below(seed, 6)) * UNIT, CEBUS_BLOCK_EVICTABLE,
                          random_price_part(seed, kind % 3), tick);
        if (random_below(seed, 16) < barriers)
            blocks[i]->state = CEBUS_BLOCK_BARRIER;
    }
    uint64_t tail = random_below(seed, 3);
    cr_assert_eq(cebus_arena_resize(&arena, arena.last->offset + tail * UNIT), CEBUS_PLACED);
    for (uint64_t i = 0; i < count; i++) {
        if (random_below(seed, 16) < holes)
            cebus_arena_release(&arena, blocks[i]);
    }
}

static void close_layout(void)
{
    cebus_arena_deinit(&arena);
    cebus_pool_deinit(&pool);
}

static bool is_taken(const cebus_block *block, const cebus_window *taken, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (block->offset >= taken[i].first->offset && block->offset <= taken[i].last->offset)
            return true;
    }
    return false;
}

static int compared(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static bool beats(const cebus_window *a, const cebus_window *b)
{
    if (b->first == NULL)
        return true;
    int order = compared(a->price, b->price);
    if (order == 0)
        order = compared(a->evicted_bytes, b->evicted_bytes);
    if (order == 0)
        order = compared(a->first->offset, b->first->offset);
    return order < 0;
}

/* Tries every minimal run: one that neither of its end blocks can be left out of. */
static cebus_window brute_force(uint64_t bytes, uint64_t now, const cebus_window *taken,
                                size_t count)
{
    cebus_window best = {0};
    for (cebus_block *first = arena.first; first != NULL; first = first->next) {
        cebus_window run = {.first = first};
        uint64_t length = 0;
        for (cebus_block *last = first; last != NULL; last = last->next) {
            if (last->state == CEBUS_BLOCK_BARRIER || is_taken(last, taken, count))
                break;
            run.last = last;
            length += last->bytes;
            if (last->state == CEBUS_BLOCK_EVICTABLE) {
                run.price += exact_price(last->weight, now > last->tick ? now - last->tick : 1);
                run.evicted_bytes += last->bytes;
                run.evicted_blocks++;
            }
            if (length < bytes)
                continue;
            if (length - first->bytes < bytes && beats(&run, &best))
                best = run;
            break;
        }
    }
    return best;
}

static bool is_same(const cebus_window *a, const cebus_window *b)
{
    return a->first == b->first && a->last == b->last && a->price == b->price &&
           a->evicted_bytes == b->evicted_bytes && a->evicted_blocks == b->evicted_blocks;
}

Test(window, finds_what_brute_force_finds)
{
    uint64_t seed = 20, found = 0;
    for (int i = 0; i < 20000; i++) {
        uint64_t now = i % 2 ? random_wide(&seed) : random_below(&seed, 4);
        open_random_layout(&seed, now);
        uint64_t bytes = 1 + random_below(&seed, 12 * UNIT);
        cebus_window wanted = brute_force(bytes, now, NULL, 0), got;
        cebus_window_find(&arena, bytes, now, &got);
        cr_assert(is_same(&got, &wanted), "layout %d, %d bytes", i, (int)bytes);
        found += got.evicted_blocks > 1;
        close_layout();
    }
    cr_assert_gt(found, 1000, "hardly any layout was interesting");
}

Test(window, finds_the_best_few_disjoint_windows)
{
    enum {
        LIMIT = 5
    };
    uint64_t seed = 30;
    for (int i = 0; i < 3000; i++) {
        uint64_t now = random_below(&seed, 2000), bytes = 1 + random_below(&seed, 6 * UNIT);
        open_random_layout(&seed, now);
        cebus_window got[LIMIT], wanted[LIMIT];
        size_t count = 0;
        while (count < LIMIT &&
               (wanted[count] = brute_force(bytes, now, wanted, count)).first != NULL)
            count++;
        cr_assert_eq(cebus_window_find_best(&arena, bytes, now, got, LIMIT), count);
        for (size_t k = 0; k < count; k++)
            cr_assert(is_same(&got[k], &wanted[k]), "layout %d, window %d", i, (int)k);
        close_layout();
    }
}

/* Single cases. */

static void open_arena(uint64_t units)
{
    cebus_pool_init(&pool, NULL);
    cr_assert_eq(cebus_arena_init(&arena, units * UNIT, UNIT, &pool), CEBUS_PLACED);
}

Test(window, is_trimmed_at_the_end_of_the_arena)
{
    open_arena(6);
    place(2 * UNIT, CEBUS_BLOCK_EVICTABLE, 9, 0);
    place(4 * UNIT, CEBUS_BLOCK_EVICTABLE, 3, 0);
    cebus_window window;
    cebus_window_find(&arena, 4 * UNIT, 1, &window);
    cr_expect_eq(window.first, arena.last);
    cr_expect_eq(window.price, UINT64_C(3) << CEBUS_PRICE_SHIFT);
    close_layout();
}

Test(window, passes_a_block_used_just_now)
{
    /* Where staleness 0 made prices infinite, every window after such a block was lost. */
    open_arena(3);
    place(UNIT, CEBUS_BLOCK_EVICTABLE, UINT64_MAX, 100);
    place(UNIT, CEBUS_BLOCK_EVICTABLE, 0, 100);
    place(UNIT, CEBUS_BLOCK_EVICTABLE, 1, 50);
    cebus_window window;
    cebus_window_find(&arena, 2 * UNIT, 100, &window);
    cr_expect_eq(window.first, arena.first->next);
    cr_expect_eq(window.price, price(1, 50, 100));
    close_layout();
}

Test(window, is_not_there_between_barriers_or_without_room)
{
    open_arena(5);
    cebus_window window;
    cebus_window_find(&arena, 6 * UNIT, 0, &window);
    cr_expect_null(window.first);
    for (int i = 0; i < 5; i++)
        place(UNIT, i % 2 ? CEBUS_BLOCK_BARRIER : CEBUS_BLOCK_EVICTABLE, 1, 0);
    cebus_window_find(&arena, 2 * UNIT, 0, &window);
    cr_expect_null(window.first);
    cr_expect_null(window.last);
    cr_expect_eq(window.price, 0);
    cr_expect_eq(cebus_window_find_best(&arena, UNIT, 0, &window, 0), 0);
    close_layout();
    open_arena(0);
    cebus_window_find(&arena, 1, 0, &window);
    cr_expect_null(window.first);
    close_layout();
}

Test(window, of_no_bytes_is_one_block)
{
    open_arena(2);
    place(UNIT, CEBUS_BLOCK_EVICTABLE, 1, 0);
    cebus_window window;
    cebus_window_find(&arena, 0, 0, &window);
    cr_expect_eq(window.first, arena.last);
    cr_expect_eq(window.last, arena.last);
    close_layout();
}

Test(window, sums_half_a_million_saturated_prices)
{
    enum {
        COUNT = 1 << 19
    };
    static cebus_block blocks[COUNT];
    for (uint64_t i = 0; i < COUNT; i++) {
        blocks[i] = (cebus_block){.offset = i * UNIT, .bytes = UNIT, .weight = UINT64_MAX};
        blocks[i].state = CEBUS_BLOCK_EVICTABLE;
        blocks[i].next = i + 1 < COUNT ? &blocks[i + 1] : NULL;
    }
    cebus_window window;
    cebus_window_find(&(cebus_arena){.first = blocks}, COUNT * UNIT, 0, &window);
    cr_expect_eq(window.price, COUNT * CEBUS_PRICE_MAX);
    cr_expect_eq(window.evicted_blocks, COUNT);
    cr_expect_eq(window.last, &blocks[COUNT - 1]);
}
