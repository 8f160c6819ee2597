#include "layout/bins.h"

typedef struct bin_index {
    unsigned level, split;
} bin_index;

static unsigned lowest_bit(uint64_t word)
{
    return (unsigned)__builtin_ctzll(word);
}

static unsigned highest_bit(uint64_t word)
{
    return 63 - (unsigned)__builtin_clzll(word);
}

/** The bin of a size: its leading bit, then the CEBUS_BINS_SPLIT_LOG2 bits that follow. */
static bin_index index_of(uint64_t bytes)
{
    unsigned level = highest_bit(bytes);
    uint64_t fraction = bytes << (63 - level) << 1;
    return (bin_index){level, (unsigned)(fraction >> (64 - CEBUS_BINS_SPLIT_LOG2))};
}

/* The treap of one bin. */

static bool is_before(const cebus_block *a, const cebus_block *b)
{
    return a->bytes != b->bytes ? a->bytes < b->bytes : a->offset < b->offset;
}

/** A bijective hash (the finalizer of splitmix64), so that no two blocks share a priority. */
static uint64_t priority(const cebus_block *block)
{
    uint64_t x = block->offset + UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

static void tree_split(cebus_block *tree, const cebus_block *key, cebus_block **out_below,
                       cebus_block **out_above)
{
    while (tree != NULL) {
        if (is_before(tree, key)) {
            *out_below = tree;
            out_below = &tree->bin_high;
            tree = tree->bin_high;
        } else {
            *out_above = tree;
            out_above = &tree->bin_low;
            tree = tree->bin_low;
        }
    }
    *out_below = *out_above = NULL;
}

static void tree_join(cebus_block *below, cebus_block *above, cebus_block **out_tree)
{
    while (below != NULL && above != NULL) {
        if (priority(below) > priority(above)) {
            *out_tree = below;
            out_tree = &below->bin_high;
            below = below->bin_high;
        } else {
            *out_tree = above;
            out_tree = &above->bin_low;
            above = above->bin_low;
        }
    }
    *out_tree = below != NULL ? below : above;
}

static void tree_insert(cebus_block **link, cebus_block *block)
{
    while (*link != NULL && priority(*link) > priority(block))
        link = is_before(*link, block) ? &(*link)->bin_high : &(*link)->bin_low;
    tree_split(*link, block, &block->bin_low, &block->bin_high);
    *link = block;
}

static void tree_remove(cebus_block **link, cebus_block *block)
{
    while (*link != block)
        link = is_before(*link, block) ? &(*link)->bin_high : &(*link)->bin_low;
    tree_join(block->bin_low, block->bin_high, link);
}

/** The first block that is not before `key`. */
static cebus_block *tree_first_from(cebus_block *tree, const cebus_block *key)
{
    cebus_block *found = NULL;
    while (tree != NULL) {
        if (is_before(tree, key)) {
            tree = tree->bin_high;
        } else {
            found = tree;
            tree = tree->bin_low;
        }
    }
    return found;
}

/** The last block that is not after `key`. */
static cebus_block *tree_last_up_to(cebus_block *tree, const cebus_block *key)
{
    cebus_block *found = NULL;
    while (tree != NULL) {
        if (is_before(key, tree)) {
            tree = tree->bin_low;
        } else {
            found = tree;
            tree = tree->bin_high;
        }
    }
    return found;
}

static cebus_block *tree_best_fit(cebus_block *tree, uint64_t bytes, bool prefer_low)
{
    cebus_block *fit = tree_first_from(tree, &(cebus_block){.bytes = bytes, .offset = 0});
    if (fit == NULL || prefer_low)
        return fit;
    return tree_last_up_to(tree, &(cebus_block){.bytes = fit->bytes, .offset = UINT64_MAX});
}

static bool lies_around(const cebus_block *block, uint64_t offset, uint64_t bytes)
{
    return block->offset <= offset && block->bytes >= bytes &&
           offset - block->offset <= block->bytes - bytes;
}

/** Depth is logarithmic: priorities are random. */
static cebus_block *tree_around(cebus_block *tree, uint64_t offset, uint64_t bytes)
{
    while (tree != NULL && !lies_around(tree, offset, bytes)) {
        cebus_block *found = tree_around(tree->bin_high, offset, bytes);
        if (found != NULL)
            return found;
        tree = tree->bytes >= bytes ? tree->bin_low : NULL;
    }
    return tree;
}

static uint64_t tree_count(const cebus_block *tree)
{
    if (tree == NULL)
        return 0;
    return 1 + tree_count(tree->bin_low) + tree_count(tree->bin_high);
}

/* The bins. */

void cebus_bins_init(cebus_bins *bins)
{
    *bins = (cebus_bins){0};
}

void cebus_bins_insert(cebus_bins *bins, cebus_block *block)
{
    bin_index at = index_of(block->bytes);
    tree_insert(&bins->root[at.level][at.split], block);
    bins->splits[at.level] |= UINT32_C(1) << at.split;
    bins->levels |= UINT64_C(1) << at.level;
}

void cebus_bins_remove(cebus_bins *bins, cebus_block *block)
{
    bin_index at = index_of(block->bytes);
    tree_remove(&bins->root[at.level][at.split], block);
    if (bins->root[at.level][at.split] != NULL)
        return;
    bins->splits[at.level] &= ~(UINT32_C(1) << at.split);
    if (bins->splits[at.level] == 0)
        bins->levels &= ~(UINT64_C(1) << at.level);
}

/** The first bin after `at` that is not empty; its tree is NULL when there is none. */
static cebus_block *next_bin(const cebus_bins *bins, bin_index at)
{
    uint32_t splits = bins->splits[at.level] & (~UINT32_C(1) << at.split);
    if (splits != 0)
        return bins->root[at.level][lowest_bit(splits)];
    uint64_t levels = bins->levels & (~UINT64_C(1) << at.level);
    if (levels == 0)
        return NULL;
    unsigned level = lowest_bit(levels);
    return bins->root[level][lowest_bit(bins->splits[level])];
}

cebus_block *cebus_bins_find(const cebus_bins *bins, uint64_t bytes, bool prefer_low)
{
    uint64_t wanted = bytes != 0 ? bytes : 1;
    bin_index at = index_of(wanted);
    if (bins->levels == 0)
        return NULL;
    cebus_block *fit = tree_best_fit(bins->root[at.level][at.split], wanted, prefer_low);
    if (fit != NULL)
        return fit;
    return tree_best_fit(next_bin(bins, at), wanted, prefer_low);
}

cebus_block *cebus_bins_around(const cebus_bins *bins, uint64_t offset, uint64_t bytes)
{
    bin_index at = index_of(bytes != 0 ? bytes : 1);
    uint64_t levels = bins->levels & (~UINT64_C(0) << at.level);
    for (; levels != 0; levels &= levels - 1) {
        unsigned level = lowest_bit(levels);
        uint32_t splits = bins->splits[level];
        if (level == at.level)
            splits &= ~UINT32_C(0) << at.split;
        for (; splits != 0; splits &= splits - 1) {
            cebus_block *root = bins->root[level][lowest_bit(splits)];
            cebus_block *found = tree_around(root, offset, bytes);
            if (found != NULL)
                return found;
        }
    }
    return NULL;
}

cebus_block *cebus_bins_largest(const cebus_bins *bins)
{
    if (bins->levels == 0)
        return NULL;
    unsigned level = highest_bit(bins->levels);
    cebus_block *largest = bins->root[level][highest_bit(bins->splits[level])];
    while (largest->bin_high != NULL)
        largest = largest->bin_high;
    return largest;
}

bool cebus_bins_contains(const cebus_bins *bins, const cebus_block *block)
{
    bin_index at = index_of(block->bytes);
    return tree_first_from(bins->root[at.level][at.split], block) == block;
}

/** Depth is O(log), as the priorities have it. */
static size_t tree_list(cebus_block *tree, cebus_block **out)
{
    if (tree == NULL)
        return 0;
    size_t count = tree_list(tree->bin_low, out);
    out[count++] = tree;
    return count + tree_list(tree->bin_high, out + count);
}

size_t cebus_bins_list(const cebus_bins *bins, cebus_block **out)
{
    size_t count = 0;
    for (uint64_t levels = bins->levels; levels != 0; levels &= levels - 1) {
        unsigned level = lowest_bit(levels);
        for (uint64_t splits = bins->splits[level]; splits != 0; splits &= splits - 1)
            count += tree_list(bins->root[level][lowest_bit(splits)], out + count);
    }
    return count;
}

bool cebus_bins_check(const cebus_bins *bins, uint64_t blocks)
{
    uint64_t count = 0;
    for (unsigned level = 0; level < CEBUS_BINS_LEVELS; level++) {
        if (((bins->levels >> level) & 1) != (bins->splits[level] != 0))
            return false;
        for (unsigned split = 0; split < CEBUS_BINS_SPLIT; split++) {
            const cebus_block *tree = bins->root[level][split];
            if (((bins->splits[level] >> split) & 1) != (tree != NULL))
                return false;
            count += tree_count(tree);
        }
    }
    return count == blocks;
}
