#include "layout/pack/order.h"

#include "layout/checked.h"
#include "layout/number.h"

#include <string.h>

/** The largest load of a block's sections, by a tree over sections. */
static void find_peaks(cebus_pack_order *order, uint64_t *tree)
{
    const cebus_pack_problem *problem = order->problem;
    size_t width = problem->n_sections;
    memcpy(tree + width, problem->load, width * sizeof *tree);
    for (size_t node = width - 1; node >= 1; node--)
        tree[node] = cebus_max_u64(tree[2 * node], tree[2 * node + 1]);
    for (size_t i = 0; i < problem->n; i++) {
        size_t lo = problem->first[i] + width, hi = problem->end[i] + width;
        order->peak[i] = 0;
        for (; lo < hi; lo /= 2, hi /= 2) {
            if (lo % 2 == 1)
                order->peak[i] = cebus_max_u64(order->peak[i], tree[lo++]);
            if (hi % 2 == 1)
                order->peak[i] = cebus_max_u64(order->peak[i], tree[--hi]);
        }
    }
}

bool cebus_pack_order_init(cebus_pack_order *order, const cebus_pack_problem *problem,
                           cebus_pack_memory *memory)
{
    size_t n = problem->n;
    order->problem = problem;
    order->peak = cebus_pack_memory_take(memory, n, sizeof *order->peak);
    order->items = cebus_pack_memory_take(memory, n, sizeof *order->items);
    order->spare = cebus_pack_memory_take(memory, n, sizeof *order->spare);
    uint64_t *tree = cebus_pack_memory_take(memory, 2 * (size_t)problem->n_sections, sizeof *tree);
    if (order->peak == NULL || order->items == NULL || order->spare == NULL || tree == NULL)
        return false;
    if (n > 0)
        find_peaks(order, tree);
    return true;
}

/** The smaller, the earlier. */
static uint64_t key_of(const cebus_pack_order *order, uint32_t i, char key)
{
    const cebus_pack_block *block = &order->problem->blocks[order->problem->index[i]];
    uint64_t width = block->upper - block->lower, area;
    switch (key) {
    case 'T':
        return ~order->peak[i];
    case 'W':
        return ~width;
    case 'A':
        return cebus_checked_mul(width, block->bytes, &area) ? ~area : 0;
    case 'Z':
        return ~order->problem->size[i];
    default:
        return block->lower;
    }
}

void cebus_pack_order_sort(cebus_pack_order *order, const cebus_pack_part *part, const char *keys)
{
    size_t n = part->block_end - part->block_begin;
    for (size_t i = 0; i < n; i++)
        order->items[i].item = part->block_begin + (uint32_t)i;
    for (size_t k = strlen(keys); k-- > 0;) {
        for (size_t i = 0; i < n; i++)
            order->items[i].key = key_of(order, order->items[i].item, keys[k]);
        cebus_pack_sort(order->items, order->spare, n);
    }
}

void cebus_pack_order_shake(cebus_pack_order *order, const cebus_pack_part *part, uint64_t reach,
                            uint64_t *seed)
{
    size_t n = part->block_end - part->block_begin;
    for (size_t i = 0; i < n; i++)
        order->items[i].key = i + cebus_pack_random(seed) % reach;
    cebus_pack_sort(order->items, order->spare, n);
}

void cebus_pack_order_rank(const cebus_pack_order *order, const cebus_pack_part *part,
                           uint32_t *out_rank)
{
    size_t n = part->block_end - part->block_begin;
    for (size_t i = 0; i < n; i++)
        out_rank[order->items[i].item - part->block_begin] = (uint32_t)i;
}
