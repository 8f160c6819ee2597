#include "layout/pack_wheel.h"

#include <string.h>

/** Orders to begin with; each gets its share of the rounds. */
static const char *const starts[] = {"TWA", "AW", "TZ", "WZ"};

enum {
    N_STARTS = sizeof starts / sizeof *starts,
    AIM_PART = 200, /* too high: above the target, or within this part of the lowest packing */
};

/** What a share of the rounds works with. */
typedef struct turn {
    cebus_pack_portfolio *portfolio;
    const cebus_pack_part *part;
    uint64_t target, height; /**< bytes: wanted, and of the lowest packing */
    uint64_t *offset;        /**< of that one */
    uint64_t seed;
} turn;

/**
 * The next order: what ends above `aim` goes forward by a part of all places, 1/100 to a third, by
 * chance; of the rest, one in fifty goes back a little, so that orders do not repeat.
 */
static void move(turn *t, uint64_t aim)
{
    cebus_pack_order *order = &t->portfolio->order;
    uint32_t begin = t->part->block_begin, n = t->part->block_end - begin;
    for (uint32_t place = 0; place < n; place++) {
        cebus_pack_keyed *item = &order->items[place];
        uint64_t chance = cebus_pack_random(&t->seed);
        uint64_t offset = t->portfolio->trial[item->item - begin];
        item->key = (uint64_t)n + place;
        if (cebus_pack_problem_top(order->problem, item->item, offset) > aim)
            item->key -= n / 100 + chance % (n / 3 + 1);
        else if (chance % 50 == 0)
            item->key += (chance >> 32) % (n / 50 + 1);
    }
    cebus_pack_sort(order->items, order->spare, n);
}

static void run(turn *t, const char *keys, uint64_t rounds, cebus_pack_stop *stop)
{
    uint32_t n = t->part->block_end - t->part->block_begin;
    uint64_t lowest = UINT64_MAX;
    cebus_pack_order_sort(&t->portfolio->order, t->part, keys);
    for (uint64_t i = 0; i < rounds && t->height > t->target; i++) {
        uint64_t height =
            cebus_pack_portfolio_try(t->portfolio, t->part, t->part->has_presets, UINT64_MAX, stop);
        if (stop->stopped)
            return;
        lowest = height < lowest ? height : lowest;
        if (height < t->height) {
            t->height = height;
            memcpy(t->offset, t->portfolio->trial, n * sizeof *t->offset);
        }
        uint64_t aim = lowest - lowest / AIM_PART;
        move(t, aim > t->target ? aim : t->target);
    }
}

uint64_t cebus_pack_wheel_run(cebus_pack_portfolio *portfolio, const cebus_pack_part *part,
                              uint64_t target, uint64_t height, uint64_t rounds, uint64_t seed,
                              cebus_pack_stop *stop, uint64_t *out_offset)
{
    turn t = {portfolio, part, target, height, out_offset, seed};
    for (size_t i = 0; i < N_STARTS && t.height > target && !stop->stopped; i++)
        run(&t, starts[i], (rounds + i) / N_STARTS, stop);
    return t.height;
}
