#include "layout/pack/wheel.h"

#include <string.h>

/** Orders to begin with; each gets its share of the rounds. */
static const char *const starts[] = {"TWA", "AW", "TZ", "WZ"};

enum {
    N_STARTS = sizeof starts / sizeof *starts,
    AIM_PART = 200, /* too high: above the target, or within this part of the lowest packing */
};

/**
 * The next order: what ends above `aim` goes forward by a part of all places, 1/100 to a third, by
 * chance; of the rest, one in fifty goes back a little, so that orders do not repeat.
 */
static void move(cebus_pack_wheel *wheel, uint64_t aim)
{
    cebus_pack_order *order = &wheel->portfolio->order;
    uint32_t begin = wheel->part->block_begin, n = wheel->part->block_end - begin;
    for (uint32_t place = 0; place < n; place++) {
        cebus_pack_keyed *item = &order->items[place];
        uint64_t chance = cebus_pack_random(&wheel->seed);
        uint64_t offset = wheel->portfolio->trial[item->item - begin];
        item->key = (uint64_t)n + place;
        if (cebus_pack_problem_top(order->problem, item->item, offset) > aim)
            item->key -= n / 100 + chance % (n / 3 + 1);
        else if (chance % 50 == 0)
            item->key += (chance >> 32) % (n / 50 + 1);
    }
    cebus_pack_sort(order->items, order->spare, n);
}

/** Units that a trial must stay below to be of use. Where another order follows from it, it has to
 * be there to its end. */
static uint64_t limit_of(const cebus_pack_wheel *wheel, bool is_last)
{
    const cebus_pack_problem *problem = wheel->portfolio->problem;
    const uint32_t begin = wheel->part->block_begin, n = wheel->part->block_end - begin;
    uint64_t units = 0;
    if (!is_last || wheel->height == UINT64_MAX)
        return is_last ? wheel->limit : UINT64_MAX;
    for (uint32_t i = 0; i < n; i++) {
        const uint64_t top = wheel->offset[i] + problem->size[begin + i];
        units = top > units ? top : units;
    }
    /* rounded up to units, what ends as high may be lower in bytes */
    return units + 1 < wheel->limit ? units + 1 : wheel->limit;
}

static void run(cebus_pack_wheel *wheel, const char *keys, uint64_t rounds, cebus_pack_stop *stop)
{
    uint32_t n = wheel->part->block_end - wheel->part->block_begin;
    uint64_t lowest = UINT64_MAX;
    cebus_pack_order_sort(&wheel->portfolio->order, wheel->part, keys);
    for (uint64_t i = 0; i < rounds && wheel->height > wheel->target; i++) {
        uint64_t height =
            cebus_pack_portfolio_try(wheel->portfolio, wheel->part, wheel->part->has_presets,
                                     limit_of(wheel, i + 1 == rounds), stop);
        if (stop->stopped)
            return;
        lowest = height < lowest ? height : lowest;
        if (height < wheel->height) {
            wheel->height = height;
            memcpy(wheel->offset, wheel->portfolio->trial, n * sizeof *wheel->offset);
        }
        uint64_t aim = lowest - lowest / AIM_PART;
        move(wheel, aim > wheel->target ? aim : wheel->target);
    }
}

void cebus_pack_wheel_run(cebus_pack_wheel *wheel, uint64_t rounds, cebus_pack_stop *stop)
{
    for (size_t i = 0; i < N_STARTS && wheel->height > wheel->target && !stop->stopped; i++)
        run(wheel, starts[i], (rounds + i) / N_STARTS, stop);
}
