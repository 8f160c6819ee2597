#include "layout/pack/search.h"

#include "layout/pack/nogood.h"
#include "layout/pack/scan.h"

#include <string.h>

/** A node that is being looked at: either all its pieces must fit, or one of its options. */
typedef struct frame {
    cebus_pack_component component;
    bool is_split;
    bool may_be_empty; /**< "nothing lies here" is still to be tried */
    bool no_hat;       /**< nothing can lie above the option tried last */
    bool is_forced;    /**< there never was a choice: not worth remembering */
    uint32_t section;
    size_t
        first_choice; /**< in `choices`: its pieces or options not tried yet, the next one last */
    size_t n_trail;   /**< before any was tried */
} frame;

/** A piece, or an option (lo). */
typedef cebus_pack_component choice;

struct cebus_pack_search {
    cebus_pack_state state;
    cebus_pack_scan scan;
    cebus_pack_nogood nogoods;
    cebus_pack_order *order;
    const cebus_pack_part *part;
    cebus_pack_memory *memory;
    uint32_t *rank;
    uint32_t *words; /**< of a nogood */
    frame *frames;
    size_t n_frames, frame_room;
    choice *choices;
    size_t n_choices, choice_room;
    uint64_t seed;
    uint64_t restarts;
    uint64_t nodes; /**< of this restart */
};

typedef enum verdict {
    GOOD,
    BAD,
    DEEPER,
    LOST, /**< no memory */
} verdict;

cebus_pack_search *cebus_pack_search_create(cebus_pack_order *order, const cebus_pack_part *part,
                                            uint64_t capacity, uint64_t seed,
                                            cebus_pack_memory *memory)
{
    cebus_pack_search *search = cebus_pack_memory_take(memory, 1, sizeof *search);
    if (search == NULL)
        return NULL;
    *search = (cebus_pack_search){.order = order, .part = part, .memory = memory, .seed = seed};
    if (!cebus_pack_state_init(&search->state, order->problem, part, capacity, memory) ||
        !cebus_pack_scan_init(&search->scan, &search->state) ||
        !cebus_pack_nogood_init(&search->nogoods, memory))
        return NULL;
    size_t n = search->state.n;
    search->frame_room = search->choice_room = 2 * n + 64;
    search->rank = cebus_pack_memory_take(memory, n, sizeof *search->rank);
    search->words = cebus_pack_memory_take(memory, 3 * n, sizeof *search->words);
    search->frames = cebus_pack_memory_take(memory, search->frame_room, sizeof *search->frames);
    search->choices = cebus_pack_memory_take(memory, search->choice_room, sizeof *search->choices);
    bool good = search->rank != NULL && search->words != NULL && search->frames != NULL &&
                search->choices != NULL;
    return good ? search : NULL;
}

/** Room for one more item of an array; the old array goes with the search. */
static bool grow(cebus_pack_memory *memory, void **items, size_t *room, size_t count, size_t bytes)
{
    if (count < *room)
        return true;
    void *grown = cebus_pack_memory_take(memory, 4 * *room, bytes);
    if (grown == NULL)
        return false;
    memcpy(grown, *items, count * bytes);
    *items = grown;
    *room *= 4;
    return true;
}

static bool add_choice(cebus_pack_search *search, choice added)
{
    void *items = search->choices;
    if (!grow(search->memory, &items, &search->choice_room, search->n_choices, sizeof added))
        return false;
    search->choices = items;
    search->choices[search->n_choices++] = added;
    return true;
}

static bool add_frame(cebus_pack_search *search, frame added)
{
    void *items = search->frames;
    if (!grow(search->memory, &items, &search->frame_room, search->n_frames, sizeof added))
        return false;
    search->frames = items;
    search->frames[search->n_frames++] = added;
    return true;
}

/* --- what is known to fail ------------------------------------------------------------------- */

static uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 32)) * UINT64_C(0xd6e8feb86659fd93);
    x = (x ^ (x >> 32)) * UINT64_C(0xd6e8feb86659fd93);
    return x ^ (x >> 32);
}

/** The blocks of the scan's list and their lows, as words. */
static size_t spell(cebus_pack_search *search, uint64_t *out_hash)
{
    const cebus_pack_scan *scan = &search->scan;
    size_t n = 0;
    *out_hash = 0;
    for (uint32_t k = 0; k < scan->count; k++) {
        uint32_t block = scan->list[k];
        uint64_t low = search->state.low[block];
        search->words[n++] = block;
        search->words[n++] = (uint32_t)low;
        search->words[n++] = (uint32_t)(low >> 32);
        *out_hash += mix(low * UINT64_C(0x9e3779b97f4a7c15) + block + 1);
    }
    *out_hash = mix(*out_hash);
    return n;
}

static bool is_known(cebus_pack_search *search)
{
    uint64_t hash;
    size_t n = spell(search, &hash);
    return cebus_pack_nogood_has(&search->nogoods, hash, search->words, n);
}

/** The state is as it was when the node was scanned. */
static void remember(cebus_pack_search *search, cebus_pack_component component)
{
    uint64_t hash;
    cebus_pack_scan_list(&search->scan, component);
    size_t n = spell(search, &hash);
    cebus_pack_nogood_add(&search->nogoods, hash, search->words, n);
}

/* --- nodes ----------------------------------------------------------------------------------- */

/** The least room to spare on a section of a piece. */
static uint64_t spare(const cebus_pack_state *state, cebus_pack_component piece)
{
    uint64_t least = UINT64_MAX;
    for (uint32_t s = piece.lo; s < piece.hi; s++) {
        uint64_t room = state->capacity - state->floor[s] - state->rest[s];
        if (room < least)
            least = room;
    }
    return least;
}

/** Pieces by room to spare, the tightest last. */
static void sort_pieces(const cebus_pack_state *state, choice *pieces, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        choice moved = pieces[i];
        uint64_t room = spare(state, moved);
        size_t at = i;
        for (; at > 0 && spare(state, pieces[at - 1]) < room; at--)
            pieces[at] = pieces[at - 1];
        pieces[at] = moved;
    }
}

/** Cuts a component where nothing crosses, into `choices`. */
static bool cut(cebus_pack_search *search, cebus_pack_component whole)
{
    const cebus_pack_state *state = &search->state;
    uint32_t lo = whole.lo;
    for (uint32_t s = whole.lo; s < whole.hi; s++) {
        if (state->rest[s] == 0)
            lo = s + 1;
        else if (state->crossing[s] == 0) {
            if (!add_choice(search, (choice){lo, s + 1}))
                return false;
            lo = s + 1;
        }
    }
    return true;
}

/** The options of the section that was chosen, best rank last; a preset leaves no other. */
static bool list_options(cebus_pack_search *search, frame *node)
{
    const cebus_pack_scan *scan = &search->scan;
    const cebus_pack_state *state = &search->state;
    size_t begin = search->n_choices;
    for (uint32_t k = 0; k < scan->count; k++) {
        uint32_t block = scan->list[k];
        if (state->first[block] > node->section || state->end[block] <= node->section ||
            !cebus_pack_scan_is_option(scan, block))
            continue;
        if (state->preset[block] != CEBUS_PACK_ANYWHERE) {
            search->n_choices = begin;
            node->may_be_empty = false;
            return add_choice(search, (choice){block, 0});
        }
        if (!add_choice(search, (choice){block, 0}))
            return false;
        size_t at = search->n_choices - 1;
        for (; at > begin && search->rank[search->choices[at - 1].lo] < search->rank[block]; at--)
            search->choices[at] = search->choices[at - 1];
        search->choices[at] = (choice){block, 0};
    }
    return true;
}

static verdict branch(cebus_pack_search *search, cebus_pack_component component)
{
    frame node = {.component = component,
                  .section = search->scan.section,
                  .may_be_empty = search->scan.may_be_empty,
                  .first_choice = search->n_choices,
                  .n_trail = search->state.n_trail};
    if (!list_options(search, &node))
        return LOST;
    node.is_forced = search->n_choices - node.first_choice + node.may_be_empty < 2;
    return add_frame(search, node) ? DEEPER : LOST;
}

static verdict enter_piece(cebus_pack_search *search, cebus_pack_component piece)
{
    search->nodes++;
    cebus_pack_found found = cebus_pack_scan_run(&search->scan, piece);
    if (search->state.no_memory)
        return LOST;
    if (found == CEBUS_PACK_FOUND_END)
        return GOOD;
    if (found == CEBUS_PACK_FOUND_CONFLICT || is_known(search))
        return BAD;
    return branch(search, piece);
}

/** Looks at a component; the caller undoes what that changes. */
static verdict enter(cebus_pack_search *search, cebus_pack_component whole)
{
    size_t first = search->n_choices;
    if (!cut(search, whole))
        return LOST;
    size_t pieces = search->n_choices - first;
    if (pieces == 0)
        return GOOD;
    if (pieces == 1) {
        search->n_choices = first;
        return enter_piece(search, search->choices[first]);
    }
    sort_pieces(&search->state, search->choices + first, pieces);
    frame node = {.component = whole,
                  .is_split = true,
                  .first_choice = first,
                  .n_trail = search->state.n_trail};
    return add_frame(search, node) ? DEEPER : LOST;
}

/* --- going on -------------------------------------------------------------------------------- */

static verdict leave(cebus_pack_search *search, verdict result)
{
    frame *node = &search->frames[--search->n_frames];
    search->n_choices = node->first_choice;
    if (result == BAD && !node->is_split && !node->is_forced) {
        search->scan.urgent = node->section;
        remember(search, node->component);
    }
    return result;
}

/** Nothing lies on the floor of the section: its options all go on top of something else. */
static bool leave_empty(cebus_pack_search *search, const frame *node)
{
    cebus_pack_state *state = &search->state;
    cebus_pack_scan_look(&search->scan, node->component);
    for (uint32_t k = 0; k < search->scan.count; k++) {
        uint32_t block = search->scan.list[k];
        if (state->first[block] > node->section || state->end[block] <= node->section ||
            !cebus_pack_scan_lies(&search->scan, block))
            continue;
        uint64_t above = cebus_pack_scan_above(&search->scan, block);
        if (above > state->last[block])
            return false;
        cebus_pack_state_set(state, &state->low[block], above);
    }
    return true;
}

/** The next option of the node on top. */
static verdict try_next(cebus_pack_search *search)
{
    frame *node = &search->frames[search->n_frames - 1];
    cebus_pack_state *state = &search->state;
    while (search->n_choices > node->first_choice && !node->no_hat) {
        uint32_t block = search->choices[--search->n_choices].lo;
        bool fits = cebus_pack_state_put(state, block, node->component.lo);
        node->no_hat = !state->had_hat;
        if (state->no_memory)
            return LOST;
        if (fits)
            return enter(search, node->component);
        cebus_pack_state_undo(state, node->n_trail);
    }
    if (node->may_be_empty && !node->no_hat) {
        node->may_be_empty = false;
        if (leave_empty(search, node))
            return state->no_memory ? LOST : enter(search, node->component);
        cebus_pack_state_undo(state, node->n_trail);
    }
    return leave(search, BAD);
}

static verdict resume(cebus_pack_search *search, verdict result)
{
    frame *node = &search->frames[search->n_frames - 1];
    if (node->is_split) {
        if (result == BAD || search->n_choices == node->first_choice)
            return leave(search, result == BAD ? BAD : GOOD);
        return enter_piece(search, search->choices[--search->n_choices]);
    }
    if (result == GOOD)
        return leave(search, GOOD);
    if (result == BAD)
        cebus_pack_state_undo(&search->state, node->n_trail);
    return try_next(search);
}

/** From the root until it is decided, or DEEPER when it is given up; the state is lost with it. */
static verdict restart(cebus_pack_search *search, uint64_t limit, cebus_pack_stop *stop)
{
    cebus_pack_component whole = {0, search->state.n_sections};
    cebus_pack_state_undo(&search->state, 0);
    search->n_frames = search->n_choices = 0;
    search->nodes = 0;
    search->scan.stop = stop;
    verdict result = enter(search, whole);
    while (search->n_frames > 0 && result != LOST) {
        if (search->nodes >= limit || stop->stopped)
            return DEEPER;
        result = resume(search, result);
    }
    return stop->stopped && result != LOST ? DEEPER : result;
}

/* --- restarts -------------------------------------------------------------------------------- */

/**
 * Orders take turns, first as they are, then shaken, by reaches from two places to all. Times to a
 * packing are heavy-tailed, so many short and different attempts beat a few long ones. Two in
 * three learn from where others failed: that alone solves most, and some only without.
 */
static uint64_t prepare(cebus_pack_search *search)
{
    static const char *const keys[] = {"WAT", "TAW", "TWA", "TZ", "AW", "ZW", "WZ"};
    enum {
        ORDERS = sizeof keys / sizeof *keys,
        REACHES = 5
    };
    uint64_t round = search->restarts / ORDERS, n = search->state.n;
    cebus_pack_order_sort(search->order, search->part, keys[search->restarts % ORDERS]);
    if (round > 0)
        cebus_pack_order_shake(search->order, search->part, 2 + (n >> search->restarts % REACHES),
                               &search->seed);
    cebus_pack_order_rank(search->order, search->part, search->rank);
    search->scan.lowest_first = (search->restarts + round) % 2 == 0;
    search->scan.weighted = (search->restarts + round) % 6 >= 2;
    search->scan.urgent = CEBUS_PACK_NOBODY;
    search->restarts++;
    uint64_t limit = 2 * n + 64;
    for (uint64_t i = 0; i < round && limit < UINT64_C(1) << 40; i++)
        limit += limit / 32;
    return limit;
}

static cebus_pack_outcome conclude(cebus_pack_search *search, verdict result, uint64_t *out_offset)
{
    if (result == LOST)
        return CEBUS_PACK_OUTCOME_NO_MEMORY;
    if (result == GOOD) {
        memcpy(out_offset, search->state.low, search->state.n * sizeof *out_offset);
        return CEBUS_PACK_OUTCOME_FITS;
    }
    if (result == BAD && !search->nogoods.guessed)
        return CEBUS_PACK_OUTCOME_CANNOT;
    if (result == BAD)
        cebus_pack_nogood_be_strict(&search->nogoods);
    return CEBUS_PACK_OUTCOME_OPEN;
}

cebus_pack_outcome cebus_pack_search_run(cebus_pack_search *search, uint64_t nodes,
                                         cebus_pack_stop *stop, uint64_t *out_nodes,
                                         uint64_t *out_offset)
{
    cebus_pack_outcome outcome = CEBUS_PACK_OUTCOME_OPEN;
    *out_nodes = 0;
    while (outcome == CEBUS_PACK_OUTCOME_OPEN && *out_nodes < nodes && !stop->stopped) {
        uint64_t limit = prepare(search);
        if (limit > nodes - *out_nodes)
            limit = nodes - *out_nodes;
        verdict result = restart(search, limit, stop);
        *out_nodes += search->nodes;
        outcome = conclude(search, result, out_offset);
    }
    return outcome;
}
