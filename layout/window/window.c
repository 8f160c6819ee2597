#include "layout/window/window.h"

/** Weights below this shift by CEBUS_PRICE_SHIFT without loss; ns of about four minutes. */
#define PLAIN_WEIGHT (UINT64_C(1) << (64 - CEBUS_PRICE_SHIFT))

/** (weight << CEBUS_PRICE_SHIFT) / age for any weight, by long division of the fraction bits; up.
 */
static uint64_t long_price(uint64_t weight, uint64_t age)
{
    uint64_t price = weight / age;
    uint64_t rest = weight % age;
    if (price >= CEBUS_PRICE_MAX >> CEBUS_PRICE_SHIFT)
        return CEBUS_PRICE_MAX;
    for (int bit = 0; bit < CEBUS_PRICE_SHIFT; bit++) {
        bool carry = rest >= age - rest;
        price = price << 1 | carry;
        rest = carry ? rest - (age - rest) : rest << 1;
    }
    return price + (rest > 0);
}

uint64_t cebus_block_price(const cebus_block *block, uint64_t now)
{
    if (block->state == CEBUS_BLOCK_FREE)
        return 0;
    uint64_t age = now > block->tick ? now - block->tick : 1;
    if (block->weight >= PLAIN_WEIGHT)
        return long_price(block->weight, age);
    uint64_t scaled = block->weight << CEBUS_PRICE_SHIFT;
    uint64_t price = scaled / age + (scaled % age > 0);
    return price < CEBUS_PRICE_MAX ? price : CEBUS_PRICE_MAX;
}

/** A run of blocks that slides up the arena: a window and its length in bytes. */
typedef struct slide {
    cebus_window window;
    uint64_t bytes;
} slide;

static void push_last(slide *run, cebus_block *block, uint64_t now)
{
    cebus_window *window = &run->window;
    if (window->first == NULL)
        window->first = block;
    window->last = block;
    run->bytes += block->bytes;
    if (block->state == CEBUS_BLOCK_FREE)
        return;
    window->price += cebus_block_price(block, now);
    window->evicted_bytes += block->bytes;
    window->evicted_blocks++;
}

static void pop_first(slide *run, uint64_t now)
{
    cebus_window *window = &run->window;
    cebus_block *block = window->first;
    window->first = block->next;
    run->bytes -= block->bytes;
    if (block->state == CEBUS_BLOCK_FREE)
        return;
    window->price -= cebus_block_price(block, now);
    window->evicted_bytes -= block->bytes;
    window->evicted_blocks--;
}

static bool is_better(const cebus_window *a, const cebus_window *b)
{
    if (b->first == NULL || a->price != b->price)
        return b->first == NULL || a->price < b->price;
    return a->evicted_bytes < b->evicted_bytes;
}

/**
 * Improves `best` by the windows within [first, end). Prices are not negative, so of all runs
 * that end at a block only the shortest matters; starts only rise, so that a tie keeps the
 * lower start, and the shorter run of those with one start.
 */
static void sweep(cebus_block *first, const cebus_block *end, uint64_t bytes, uint64_t now,
                  cebus_window *best)
{
    slide run = {0};
    for (cebus_block *block = first; block != end; block = block->next) {
        __builtin_prefetch(block->next); /* the branches below are too uncertain to run ahead */
        if (block->state == CEBUS_BLOCK_BARRIER) {
            run = (slide){0};
            continue;
        }
        push_last(&run, block, now);
        while (run.bytes - run.window.first->bytes >= bytes)
            pop_first(&run, now);
        if (run.bytes >= bytes && is_better(&run.window, best))
            *best = run.window;
    }
}

void cebus_window_find(const cebus_arena *arena, uint64_t bytes, uint64_t now, cebus_window *out)
{
    cebus_window_find_best(arena, bytes, now, out, 1);
}

/** Of the windows taken already the one that comes next at or after `block`, or NULL. */
static const cebus_window *next_taken(const cebus_window *taken, size_t count,
                                      const cebus_block *block)
{
    const cebus_window *next = NULL;
    for (size_t i = 0; block != NULL && i < count; i++) {
        uint64_t start = taken[i].first->offset;
        if (start >= block->offset && (next == NULL || start < next->first->offset))
            next = &taken[i];
    }
    return next;
}

/** The best window in the gaps that the `count` windows before it in the list leave. */
static bool find_in_gaps(const cebus_arena *arena, uint64_t bytes, uint64_t now,
                         cebus_window *taken, size_t count)
{
    cebus_window best = {0};
    cebus_block *block = arena->first;
    const cebus_window *next;
    while ((next = next_taken(taken, count, block)) != NULL) {
        sweep(block, next->first, bytes, now, &best);
        block = next->last->next;
    }
    sweep(block, NULL, bytes, now, &best);
    taken[count] = best;
    return best.first != NULL;
}

size_t cebus_window_find_best(const cebus_arena *arena, uint64_t bytes, uint64_t now,
                              cebus_window *out, size_t limit)
{
    uint64_t wanted = bytes != 0 ? bytes : 1;
    size_t count = 0;
    while (count < limit && find_in_gaps(arena, wanted, now, out, count))
        count++;
    return count;
}
