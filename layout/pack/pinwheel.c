#include "layout/pack/pinwheel.h"

enum {
    MOST_FOUND = 64, /**< at a joint */
    LEFT = 0,        /**< sides: what ends at the first joint */
    START = 1,       /**< what starts there */
    UNDER = 2,       /**< what ends at the second joint */
    RIGHT = 3,       /**< what starts there */
};

/** A search around a joint. */
typedef struct search {
    cebus_pack_pinwheels *all;
    cebus_pack_pinwheel found;
    uint32_t left; /**< of MOST_FOUND */
} search;

static bool is_looked_at(const cebus_pack_pinwheels *all, uint32_t section)
{
    uint64_t pairs = cebus_pack_joints_pairs(all->joints, section);
    return pairs == 2 || (pairs > 2 && pairs <= all->most);
}

/** All but `right` is there. */
static void find_right(search *s)
{
    const cebus_pack_side *side = &s->all->sides[RIGHT];
    uint64_t size = s->found.under->size + s->found.middle->size;
    for (size_t k = cebus_pack_side_find(side, size);
         k < side->n && side->sums[k].key == size && s->left > 0; k++) {
        s->found.right = cebus_pack_side_heap(side, k);
        if (s->found.right->end != s->found.over->end)
            continue;
        s->left--;
        s->all->note(s->all->context, &s->found);
    }
}

/** Left, middle and over are there. */
static void find_under(search *s)
{
    const cebus_pack_side *side = &s->all->sides[UNDER];
    uint64_t room = s->all->capacity - s->found.left->size;
    for (size_t k = 0; k < side->n && side->sums[k].key <= room; k++) {
        s->found.under = cebus_pack_side_heap(side, k);
        if (s->found.under->first == s->found.left->first)
            find_right(s);
    }
}

/** The middle is there, and left is as high as it and over together. */
static void find_over(search *s)
{
    const cebus_pack_side *starts = &s->all->sides[START];
    uint64_t size = s->found.left->size - s->found.middle->size;
    for (size_t k = cebus_pack_side_find(starts, size);
         k < starts->n && starts->sums[k].key == size && s->left > 0; k++) {
        s->found.over = cebus_pack_side_heap(starts, k);
        if (s->found.over->end > s->found.middle->end)
            find_under(s);
    }
}

static void find_left(search *s)
{
    const cebus_pack_side *side = &s->all->sides[LEFT];
    for (size_t k = cebus_pack_side_find(side, s->found.middle->size + 1);
         k < side->n && side->sums[k].key <= s->all->capacity && s->left > 0; k++) {
        s->found.left = cebus_pack_side_heap(side, k);
        find_over(s);
    }
}

void cebus_pack_pinwheels_find(cebus_pack_pinwheels *all, uint32_t section)
{
    const cebus_pack_joints *joints = all->joints;
    cebus_pack_side *starts = &all->sides[START];
    search s = {.all = all, .left = MOST_FOUND};
    uint32_t listed = 0;
    if (!is_looked_at(all, section))
        return;
    cebus_pack_joints_heaps(joints, section, &all->sides[LEFT], starts);
    for (size_t k = 0; k < starts->n && s.left > 0; k++) {
        s.found.middle = cebus_pack_side_heap(starts, k);
        uint32_t other = s.found.middle->end - joints->begin;
        if (other >= joints->n_sections || !is_looked_at(all, other))
            continue;
        if (other != listed)
            cebus_pack_joints_heaps(joints, other, &all->sides[UNDER], &all->sides[RIGHT]);
        listed = other;
        s.found.pairs =
            cebus_pack_joints_pairs(joints, section) + cebus_pack_joints_pairs(joints, other);
        find_left(&s);
    }
}
