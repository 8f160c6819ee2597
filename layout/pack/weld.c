#include "layout/pack/weld.h"

#include <string.h>

#define NOBODY UINT32_MAX

enum {
    MOST_HEAP = 12,     /**< blocks in a heap: all of one lifetime */
    FEW_HEAP = 3,       /**< or some of them */
    MOST_SIDE = 24,     /**< blocks of one side of a joint that are looked at */
    FEW_SIDE = 12,      /**< with more no heaps of three */
    MOST_HEAPS = 600,   /**< of a side; 24 + 276 at most, or 12 + 66 + 220 */
    MOST_MEETINGS = 64, /**< at a joint */
};

/** Blocks of one lifetime, one on top of the other. */
typedef struct heap {
    uint32_t pieces[MOST_HEAP];
    uint32_t count;
} heap;

/** Two heaps of one size that meet at a joint. */
typedef struct meeting {
    heap before, after;
} meeting;

/** What welding needs only while it goes on. */
typedef struct welder {
    cebus_pack_weld *weld;
    const cebus_pack_weld_options *options;
    uint32_t begin, n_sections;      /**< of the part */
    uint32_t *ends, *starts;         /**< by section: where in the lists its pieces begin */
    uint32_t *by_end, *by_start;     /**< pieces that are in no other */
    heap *heaps[2];                  /**< of the joint that is looked at */
    cebus_pack_keyed *sums[2];       /**< those by size */
    meeting *meetings;               /**< of all joints */
    cebus_pack_keyed *order, *spare; /**< those by how likely they are */
    size_t n_meetings, room;
    bool *is_taken; /**< by piece: in a meeting that was made a weld in this round */
} welder;

/* --- what meets at a joint ------------------------------------------------------------------- */

static bool is_whole(const cebus_pack_weld_piece *piece)
{
    return piece->whole == NOBODY;
}

/** Pieces by the section they end with and start in, counted from the part's first. */
static void list_pieces(welder *w)
{
    const cebus_pack_weld *weld = w->weld;
    memset(w->ends, 0, ((size_t)w->n_sections + 2) * sizeof *w->ends);
    memset(w->starts, 0, ((size_t)w->n_sections + 2) * sizeof *w->starts);
    for (uint32_t i = 0; i < weld->n_pieces; i++) {
        if (!is_whole(&weld->pieces[i]))
            continue;
        w->ends[weld->pieces[i].end - w->begin]++;
        w->starts[weld->pieces[i].first - w->begin]++;
    }
    for (uint32_t s = 1; s <= w->n_sections + 1; s++) {
        w->ends[s] += w->ends[s - 1];
        w->starts[s] += w->starts[s - 1];
    }
    for (uint32_t i = weld->n_pieces; i-- > 0;) {
        if (!is_whole(&weld->pieces[i]))
            continue;
        w->by_end[--w->ends[weld->pieces[i].end - w->begin]] = i;
        w->by_start[--w->starts[weld->pieces[i].first - w->begin]] = i;
    }
}

static uint64_t size_of(const welder *w, const heap *one)
{
    uint64_t size = 0;
    for (uint32_t k = 0; k < one->count; k++)
        size += w->weld->pieces[one->pieces[k]].size;
    return size;
}

static bool are_alike(const welder *w, uint32_t i, uint32_t j)
{
    const cebus_pack_weld_piece *a = &w->weld->pieces[i], *b = &w->weld->pieces[j];
    return !a->is_fixed && !b->is_fixed && a->first == b->first && a->end == b->end;
}

/** Adds all heaps of up to `most` pieces that begin with `base`, of those from `next` on. */
static size_t add_heaps(const welder *w, const uint32_t *pieces, uint32_t n, heap base,
                        uint32_t next, uint32_t most, heap *out, size_t count)
{
    for (uint32_t k = next; k < n && count < MOST_HEAPS; k++) {
        if (!are_alike(w, pieces[k], base.count > 0 ? base.pieces[0] : pieces[k]))
            continue;
        heap more = base;
        more.pieces[more.count++] = pieces[k];
        out[count++] = more;
        if (more.count < most)
            count = add_heaps(w, pieces, n, more, k + 1, most, out, count);
    }
    return count;
}

/** Adds the heaps of all blocks of a lifetime that are more than `most`. */
static size_t add_full_heaps(const welder *w, const uint32_t *pieces, uint32_t n, uint32_t most,
                             heap *out, size_t count)
{
    for (uint32_t k = 0; k < n && count < MOST_HEAPS; k++) {
        heap full = {.count = 0};
        uint32_t before = 0, all = 0;
        for (uint32_t other = 0; other < n; other++) {
            if (!are_alike(w, pieces[k], pieces[other]))
                continue;
            before += other < k;
            all++;
            if (full.count < MOST_HEAP)
                full.pieces[full.count++] = pieces[other];
        }
        if (before == 0 && all > most && all <= MOST_HEAP)
            out[count++] = full;
    }
    return count;
}

/** The heaps of one side, by size. */
static size_t list_heaps(welder *w, int side, const uint32_t *pieces, uint32_t n)
{
    uint32_t most = n > FEW_SIDE ? FEW_HEAP - 1 : FEW_HEAP;
    size_t count = add_heaps(w, pieces, n < MOST_SIDE ? n : MOST_SIDE, (heap){.count = 0}, 0, most,
                             w->heaps[side], 0);
    count = add_full_heaps(w, pieces, n < MOST_SIDE ? n : MOST_SIDE, most, w->heaps[side], count);
    for (size_t i = 0; i < count; i++) {
        w->sums[side][i] = (cebus_pack_keyed){size_of(w, &w->heaps[side][i]), (uint32_t)i};
    }
    cebus_pack_sort(w->sums[side], w->spare, count);
    return count;
}

static uint64_t draw(const welder *w, const meeting *met)
{
    uint64_t seed = w->options->seed;
    for (uint32_t k = 0; k < met->before.count; k++)
        seed = cebus_pack_random(&seed) + met->before.pieces[k];
    for (uint32_t k = 0; k < met->after.count; k++)
        seed = cebus_pack_random(&seed) + met->after.pieces[k];
    return cebus_pack_random(&seed);
}

/** Notes a meeting, with how unlikely it is to be true; by chance not. */
static void note(welder *w, uint32_t before, uint32_t after, uint32_t pairs)
{
    meeting met = {w->heaps[0][before], w->heaps[1][after]};
    uint64_t chance = draw(w, &met);
    if (w->n_meetings == w->room || (chance & 255) >= w->options->share)
        return;
    uint64_t doubt = 10 * (met.before.count + met.after.count) + 3 * (uint64_t)pairs;
    w->order[w->n_meetings] =
        (cebus_pack_keyed){doubt << 32 | chance >> 32, (uint32_t)w->n_meetings};
    w->meetings[w->n_meetings++] = met;
}

/** Notes where heaps of the joint before section `s` are of one size. */
static void meet(welder *w, uint32_t s)
{
    uint32_t n = w->ends[s + 1] - w->ends[s], m = w->starts[s + 1] - w->starts[s];
    if (n == 0 || m == 0 || (uint64_t)n * m > w->options->most)
        return;
    size_t n_before = list_heaps(w, 0, w->by_end + w->ends[s], n);
    size_t n_after = list_heaps(w, 1, w->by_start + w->starts[s], m);
    size_t from = 0, left = MOST_MEETINGS;
    uint64_t most = w->options->capacity / w->weld->from->unit;
    for (size_t i = 0; i < n_before && w->sums[0][i].key <= most; i++) {
        while (from < n_after && w->sums[1][from].key < w->sums[0][i].key)
            from++;
        for (size_t j = from; j < n_after && w->sums[1][j].key == w->sums[0][i].key && left > 0;
             j++, left--)
            note(w, w->sums[0][i].item, w->sums[1][j].item, n * m);
    }
}

/* --- welding --------------------------------------------------------------------------------- */

static bool is_free(const welder *w, const heap *one)
{
    bool taken = false;
    for (uint32_t k = 0; k < one->count; k++)
        taken |= w->is_taken[one->pieces[k]];
    return !taken;
}

static void pile(welder *w, const heap *one, uint32_t whole)
{
    cebus_pack_weld_piece *made = &w->weld->pieces[whole];
    uint64_t at = 0;
    for (uint32_t k = 0; k < one->count; k++) {
        cebus_pack_weld_piece *piece = &w->weld->pieces[one->pieces[k]];
        piece->whole = whole;
        piece->at = at;
        at += piece->size;
        if (piece->alignment > made->alignment)
            made->alignment = piece->alignment;
        w->is_taken[one->pieces[k]] = true;
    }
}

static void join(welder *w, const meeting *met)
{
    cebus_pack_weld *weld = w->weld;
    const cebus_pack_weld_piece *before = &weld->pieces[met->before.pieces[0]];
    const cebus_pack_weld_piece *after = &weld->pieces[met->after.pieces[0]];
    uint32_t whole = weld->n_pieces++;
    weld->pieces[whole] = (cebus_pack_weld_piece){
        .first = before->first,
        .end = after->end,
        .whole = NOBODY,
        .lower = before->lower,
        .upper = after->upper,
        .size = size_of(w, &met->before),
    };
    w->is_taken[whole] = false;
    pile(w, &met->before, whole);
    pile(w, &met->after, whole);
    weld->n_welds++;
}

/** Whether anything was welded. */
static bool run_round(welder *w)
{
    uint32_t before = w->weld->n_welds;
    list_pieces(w);
    w->n_meetings = 0;
    for (uint32_t s = 1; s < w->n_sections; s++)
        meet(w, s);
    cebus_pack_sort(w->order, w->spare, w->n_meetings);
    for (size_t i = 0; i < w->n_meetings; i++) {
        const meeting *met = &w->meetings[w->order[i].item];
        if (is_free(w, &met->before) && is_free(w, &met->after))
            join(w, met);
    }
    return w->weld->n_welds > before;
}

static bool take_welder(welder *w, uint32_t n, cebus_pack_memory *memory)
{
    size_t sections = (size_t)w->n_sections + 2;
    w->room = 4 * (size_t)n + MOST_HEAPS;
    w->ends = cebus_pack_memory_take(memory, sections, sizeof *w->ends);
    w->starts = cebus_pack_memory_take(memory, sections, sizeof *w->starts);
    w->by_end = cebus_pack_memory_take(memory, n, sizeof *w->by_end);
    w->by_start = cebus_pack_memory_take(memory, n, sizeof *w->by_start);
    w->meetings = cebus_pack_memory_take(memory, w->room, sizeof *w->meetings);
    w->order = cebus_pack_memory_take(memory, w->room, sizeof *w->order);
    w->spare = cebus_pack_memory_take(memory, w->room, sizeof *w->spare);
    w->is_taken = cebus_pack_memory_take(memory, 2 * (size_t)n, sizeof *w->is_taken);
    bool good = w->ends != NULL && w->starts != NULL && w->by_end != NULL && w->by_start != NULL &&
                w->meetings != NULL && w->order != NULL && w->spare != NULL && w->is_taken != NULL;
    for (int side = 0; side < 2; side++) {
        w->heaps[side] = cebus_pack_memory_take(memory, MOST_HEAPS, sizeof *w->heaps[side]);
        w->sums[side] = cebus_pack_memory_take(memory, MOST_HEAPS, sizeof *w->sums[side]);
        good &= w->heaps[side] != NULL && w->sums[side] != NULL;
    }
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
        .begin = part->section_begin,
        .n_sections = part->section_end - part->section_begin,
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
