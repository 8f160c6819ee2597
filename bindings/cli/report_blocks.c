#include "report_blocks.h"

#include <search.h>
#include <stdlib.h>

#include "message.h"

/** Equal is what overlaps: the tree holds disjoint ranges, so this orders them. */
static int compare(const void *a, const void *b)
{
    const struct report_block *x = a, *y = b;
    if (x->offset + x->bytes <= y->offset)
        return -1;
    return y->offset + y->bytes <= x->offset ? 1 : 0;
}

struct report_block *report_blocks_find(const struct report_blocks *blocks, uint64_t offset)
{
    struct report_block key = {.offset = offset, .bytes = 1};
    void *const *node = tfind(&key, &blocks->root, compare);
    struct report_block *block = node != NULL ? *node : NULL;
    return block != NULL && block->offset == offset ? block : NULL;
}

struct report_block *report_blocks_add(struct report_blocks *blocks,
                                       const struct report_block *block)
{
    struct report_block *copy = take(NULL, 1, sizeof *copy);
    *copy = *block;
    void *const *node = tsearch(copy, &blocks->root, compare);
    if (node == NULL) {
        complain("no host memory for %zu blocks", blocks->count + 1);
        exit(EXIT_WRONG);
    }
    if (*node == copy) {
        blocks->count++;
        return copy;
    }
    free(copy);
    return NULL;
}

void report_blocks_remove(struct report_blocks *blocks, struct report_block *block)
{
    tdelete(block, &blocks->root, compare);
    free(block);
    blocks->count--;
}

struct report_block *report_blocks_any(const struct report_blocks *blocks)
{
    /* A node's first member is its item, as tfind() relies on. */
    return blocks->root != NULL ? *(struct report_block **)blocks->root : NULL;
}

/** twalk() has no argument for whom it walks. */
static _Thread_local const struct report_block **walk_at;

static void list_node(const void *node, VISIT visit, int depth)
{
    (void)depth;
    if (visit == postorder || visit == leaf)
        *walk_at++ = *(const struct report_block *const *)node;
}

const struct report_block **report_blocks_list(const struct report_blocks *blocks)
{
    const struct report_block **list = take(NULL, blocks->count, sizeof *list);
    walk_at = list;
    twalk(blocks->root, list_node);
    return list;
}

void report_blocks_free(struct report_blocks *blocks)
{
    tdestroy(blocks->root, free);
    *blocks = (struct report_blocks){0};
}
