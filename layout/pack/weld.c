#include "layout/pack/weld.h"

#include "layout/pack/pinwheel.h"

#include <string.h>

#define NOBODY UINT32_MAX

enum {
    MOST_MEETINGS = 64, /**< at a joint */
    LEAST_ROOM = 600,   /**< for meetings */
};

/** Two heaps of one size that meet at a joint: before it, and after. */
typedef struct meeting {
    cebus_pack_heap heaps[2];
} meeting;

/** The heaps of a pinwheel: left, middle, over, under, right. */
typedef struct wheel {
    cebus_pack_heap heaps[5];
} wheel;

/** What welding needs only while it goes on. */
typedef struct welder {
    cebus_pack_weld *weld;
    const cebus_pack_weld_options *options;
    cebus_pack_joints joints;
    cebus_pack_pinwheels pinwheels;
    uint64_t most_size; /**< units */
    wheel *wheels;      /**< of all joints */
    meeting *meetings;
    cebus_pack_keyed *order, *spare; /**< those by how likely they are */
    size_t count, room, wheel_room;  /**< of wheels, or of meetings */
    bool *is_taken; /**< by piece: in something that was made a weld in this round */
} welder;

static bool is_whole(const cebus_pack_weld_piece *piece)
{
    return piece->whole == NOBODY;
}

/* --- what may be welded ---------------------------------------------------------------------- */

/** A number that depends on the seed and on the pieces of these heaps. */
static uint64_t draw(const welder *w, const cebus_pack_heap *heaps, uint32_t n)
{
    uint64_t seed = w->options->seed;
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t k = 0; k < heaps[i].count; k++)
            seed = cebus_pack_random(&seed) + heaps[i].pieces[k];
    }
    return cebus_pack_random(&seed);
}

/** Counts what was found, and notes how unlikely it is to be true; by chance, or for want of room,
 * not. */
static void note(welder *w, const cebus_pack_heap *heaps, uint32_t n, uint64_t pairs, size_t room)
{
    uint64_t chance = draw(w, heaps, n), doubt = 3 * pairs;
    if (w->count == room || (chance & 255) >= w->options->share)
        return;
    for (uint32_t i = 0; i < n; i++)
        doubt += UINT64_C(10) * heaps[i].count;
    w->order[w->count] = (cebus_pack_keyed){doubt << 32 | chance >> 32, (uint32_t)w->count};
    w->count++;
}

/** Notes where heaps of the joint before section `s` are of one size. */
static void meet(welder *w, uint32_t s)
{
    uint64_t pairs = cebus_pack_joints_pairs(&w->joints, s);
    cebus_pack_side *before = &w->pinwheels.sides[0], *after = &w->pinwheels.sides[1];
    if (pairs == 0 || pairs > w->options->most)
        return;
    cebus_pack_joints_heaps(&w->joints, s, before, after);
    size_t from = 0, left = MOST_MEETINGS;
    for (size_t i = 0; i < before->n && before->sums[i].key <= w->most_size; i++) {
        while (from < after->n && after->sums[from].key < before->sums[i].key)
            from++;
        for (size_t j = from; j < after->n && after->sums[j].key == before->sums[i].key && left > 0;
             j++, left--) {
            meeting met = {{*cebus_pack_side_heap(before, i), *cebus_pack_side_heap(after, j)}};
            if (w->count < w->room)
                w->meetings[w->count] = met;
            note(w, met.heaps, 2, pairs, w->room);
        }
    }
}

static void note_wheel(void *context, const cebus_pack_pinwheel *found)
{
    welder *w = context;
    wheel made = {{*found->left, *found->middle, *found->over, *found->under, *found->right}};
    if (w->count < w->wheel_room)
        w->wheels[w->count] = made;
    note(w, made.heaps, 5, found->pairs, w->wheel_room);
}

/* --- welding --------------------------------------------------------------------------------- */

static bool are_free(const welder *w, const cebus_pack_heap *heaps, uint32_t n)
{
    bool taken = false;
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t k = 0; k < heaps[i].count; k++)
            taken |= w->is_taken[heaps[i].pieces[k]];
    }
    return !taken;
}

/** A new piece from where `before` starts until `after` ends. */
static uint32_t add_whole(welder *w, const cebus_pack_heap *before, const cebus_pack_heap *after,
                          uint64_t size)
{
    cebus_pack_weld *weld = w->weld;
    uint32_t whole = weld->n_pieces++;
    weld->pieces[whole] = (cebus_pack_weld_piece){
        .first = before->first,
        .end = after->end,
        .whole = NOBODY,
        .lower = weld->pieces[before->pieces[0]].lower,
        .upper = weld->pieces[after->pieces[0]].upper,
        .size = size,
    };
    w->is_taken[whole] = false;
    weld->n_welds++;
    return whole;
}

/** The heap lies `at` units above the bottom of the whole. */
static void pile(welder *w, const cebus_pack_heap *heap, uint64_t at, uint32_t whole)
{
    cebus_pack_weld_piece *made = &w->weld->pieces[whole];
    for (uint32_t k = 0; k < heap->count; k++) {
        cebus_pack_weld_piece *piece = &w->weld->pieces[heap->pieces[k]];
        piece->whole = whole;
        piece->at = at;
        at += piece->size;
        if (piece->alignment > made->alignment)
            made->alignment = piece->alignment;
        w->is_taken[heap->pieces[k]] = true;
    }
}

static void join(welder *w, const meeting *met)
{
    uint32_t whole = add_whole(w, &met->heaps[0], &met->heaps[1], met->heaps[0].size);
    pile(w, &met->heaps[0], 0, whole);
    pile(w, &met->heaps[1], 0, whole);
}

static void join_wheel(welder *w, const wheel *met)
{
    const cebus_pack_heap *left = &met->heaps[0], *middle = &met->heaps[1], *over = &met->heaps[2],
                          *under = &met->heaps[3], *right = &met->heaps[4];
    uint32_t whole = add_whole(w, under, right, under->size + left->size);
    pile(w, under, 0, whole);
    pile(w, right, 0, whole);
    pile(w, left, under->size, whole);
    pile(w, middle, under->size, whole);
    pile(w, over, right->size, whole);
}

static void weld_wheels(welder *w)
{
    w->count = 0;
    for (uint32_t s = 1; s < w->joints.n_sections; s++)
        cebus_pack_pinwheels_find(&w->pinwheels, s);
    cebus_pack_sort(w->order, w->spare, w->count);
    for (size_t i = 0; i < w->count; i++) {
        const wheel *met = &w->wheels[w->order[i].item];
        if (are_free(w, met->heaps, 5))
            join_wheel(w, met);
    }
}

static void weld_meetings(welder *w)
{
    w->count = 0;
    for (uint32_t s = 1; s < w->joints.n_sections; s++)
        meet(w, s);
    cebus_pack_sort(w->order, w->spare, w->count);
    for (size_t i = 0; i < w->count; i++) {
        const meeting *met = &w->meetings[w->order[i].item];
        if (are_free(w, met->heaps, 2))
            join(w, met);
    }
}

/** Whether anything was welded. Pinwheels last: made of what is whole they are few and certain, of
 * five heaps of pieces many are there by chance. */
static bool run_round(welder *w)
{
    uint32_t before = w->weld->n_welds;
    cebus_pack_joints_list(&w->joints, w->weld->n_pieces);
    weld_meetings(w);
    if (w->weld->n_welds == before)
        weld_wheels(w);
    return w->weld->n_welds > before;
}

static bool take_welder(welder *w, uint32_t n, cebus_pack_memory *memory)
{
    w->wheel_room = n;
    w->room = 4 * (size_t)n + LEAST_ROOM;
    w->wheels = cebus_pack_memory_take(memory, w->wheel_room, sizeof *w->wheels);
    w->meetings = cebus_pack_memory_take(memory, w->room, sizeof *w->meetings);
    w->order = cebus_pack_memory_take(memory, w->room, sizeof *w->order);
    w->spare = cebus_pack_memory_take(memory, w->room, sizeof *w->spare);
    w->is_taken = cebus_pack_memory_take(memory, 2 * (size_t)n, sizeof *w->is_taken);
    bool good = w->wheels != NULL && w->meetings != NULL && w->order != NULL && w->spare != NULL &&
                w->is_taken != NULL &&
                cebus_pack_joints_init(&w->joints, w->weld->part, w->weld->pieces, n, memory);
    w->pinwheels = (cebus_pack_pinwheels){
        .joints = &w->joints,
        .capacity = w->most_size,
        .most = w->options->most,
        .note = note_wheel,
        .context = w,
    };
    for (int side = 0; side < 4; side++)
        good = good && cebus_pack_side_init(&w->pinwheels.sides[side], memory);
    return good;
}

/* --- the welded part ------------------------------------------------------------------------- */

static void fill_pieces(cebus_pack_weld *weld)
{
    const cebus_pack_problem *from = weld->from;
    for (uint32_t i = weld->part->block_begin; i < weld->part->block_end; i++) {
        const cebus_pack_block *block = &from->blocks[from->index[i]];
        weld->pieces[weld->n_pieces++] = (cebus_pack_weld_piece){
            .first = from->first[i],
            .end = from->end[i],
            .whole = NOBODY,
            .is_fixed = from->align[i] != 1 || from->preset[i] != CEBUS_PACK_ANYWHERE,
            .lower = block->lower,
            .upper = block->upper,
            .size = from->size[i],
            .alignment = block->alignment,
        };
    }
}

/** What is left, as a problem of its own. Blocks that are not welded keep their bytes, as they may
 * end where their rounded size would not. */
static bool build(cebus_pack_weld *weld, cebus_pack_memory *memory)
{
    const cebus_pack_problem *from = weld->from;
    uint32_t n = weld->part->block_end - weld->part->block_begin;
    cebus_pack_result ignored = CEBUS_PACK_RESULT_INIT;
    size_t count = 0;
    for (uint32_t i = 0; i < weld->n_pieces; i++) {
        const cebus_pack_weld_piece *piece = &weld->pieces[i];
        uint32_t block = weld->part->block_begin + i;
        if (!is_whole(piece))
            continue;
        bool is_old = i < n, is_preset = is_old && from->preset[block] != CEBUS_PACK_ANYWHERE;
        weld->left[count] = i;
        weld->presets[count] = is_preset ? from->preset[block] * from->unit : CEBUS_PACK_ANYWHERE;
        weld->blocks[count++] = (cebus_pack_block){
            .lower = piece->lower,
            .upper = piece->upper,
            .bytes = is_old ? from->blocks[from->index[block]].bytes : piece->size * from->unit,
            .alignment = piece->alignment,
        };
    }
    return cebus_pack_problem_build(&weld->problem, memory, weld->blocks, count,
                                    weld->part->has_presets ? weld->presets : NULL,
                                    &ignored) == CEBUS_OK;
}

bool cebus_pack_weld_init(cebus_pack_weld *weld, const cebus_pack_problem *from,
                          const cebus_pack_part *part, const cebus_pack_weld_options *options,
                          cebus_pack_stop *stop, cebus_pack_memory *memory)
{
    uint32_t n = part->block_end - part->block_begin;
    welder w = {
        .weld = weld,
        .options = options,
        .most_size = options->capacity / from->unit,
    };
    *weld = (cebus_pack_weld){.from = from, .part = part};
    weld->pieces = cebus_pack_memory_take(memory, 2 * (size_t)n, sizeof *weld->pieces);
    weld->left = cebus_pack_memory_take(memory, n, sizeof *weld->left);
    weld->blocks = cebus_pack_memory_take(memory, n, sizeof *weld->blocks);
    weld->presets = cebus_pack_memory_take(memory, n, sizeof *weld->presets);
    weld->offset = cebus_pack_memory_take(memory, 2 * (size_t)n, sizeof *weld->offset);
    if (weld->pieces == NULL || weld->left == NULL || weld->blocks == NULL ||
        weld->presets == NULL || weld->offset == NULL || !take_welder(&w, n, memory))
        return false;
    fill_pieces(weld);
    memset(w.is_taken, 0, n * sizeof *w.is_taken);
    while (!cebus_pack_stop_now(stop, 100 * (uint64_t)n) && run_round(&w))
        continue;
    return weld->n_welds == 0 || build(weld, memory);
}

void cebus_pack_weld_split(cebus_pack_weld *weld, const uint64_t *offset, uint64_t *out_offset)
{
    uint32_t n = weld->part->block_end - weld->part->block_begin;
    for (size_t i = 0; i < weld->problem.n; i++) {
        uint32_t piece = weld->left[weld->problem.index[i]];
        weld->offset[piece] = offset[i] * weld->problem.unit / weld->from->unit;
    }
    /* a whole comes after what it was made of */
    for (uint32_t i = weld->n_pieces; i-- > 0;) {
        const cebus_pack_weld_piece *piece = &weld->pieces[i];
        if (!is_whole(piece))
            weld->offset[i] = weld->offset[piece->whole] + piece->at;
    }
    memcpy(out_offset, weld->offset, n * sizeof *out_offset);
}
