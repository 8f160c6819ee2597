#include "layout/pack/scan.h"

#include "layout/clones.h"
#include "layout/number.h"

#include <string.h>

#define NEVER UINT64_MAX
enum {
    LANES = 8 /* of a row of the table that are worked on at once */
};

CEBUS_CLONE_PART uint32_t log2_of(uint32_t value)
{
    return 31 - (uint32_t)__builtin_clz(value);
}

/** Where a lifetime is in the table: see there. */
static void find_places(cebus_pack_scan *scan)
{
    const cebus_pack_state *state = scan->state;
    memset(scan->levels, 0xff, scan->stride * scan->n_levels * sizeof *scan->levels);
    for (uint32_t i = 0; i < state->n; i++) {
        uint32_t row = log2_of(state->end[i] - state->first[i]);
        scan->places[i].first = row * scan->stride + state->first[i];
        scan->places[i].second = row * scan->stride + state->end[i] - (UINT32_C(1) << row);
    }
}

bool cebus_pack_scan_init(cebus_pack_scan *scan, cebus_pack_state *state)
{
    cebus_pack_memory *memory = state->memory;
    size_t sections = (size_t)state->n_sections + 1;
    *scan = (cebus_pack_scan){.state = state, .n_levels = log2_of(state->n_sections) + 1};
    scan->list = cebus_pack_memory_take(memory, state->n, sizeof *scan->list);
    scan->niche = cebus_pack_memory_take(memory, sections, sizeof *scan->niche);
    scan->resting = cebus_pack_memory_take(memory, sections, sizeof *scan->resting);
    scan->options = cebus_pack_memory_take(memory, sections, sizeof *scan->options);
    scan->stride = sections + LANES;
    scan->levels =
        cebus_pack_memory_take(memory, scan->stride * scan->n_levels, sizeof *scan->levels);
    scan->next = scan->levels;
    scan->places = cebus_pack_memory_take(memory, state->n, sizeof *scan->places);
    if (scan->list == NULL || scan->niche == NULL || scan->resting == NULL ||
        scan->options == NULL || scan->levels == NULL || scan->places == NULL)
        return false;
    find_places(scan);
    return true;
}

void cebus_pack_scan_list(cebus_pack_scan *scan, cebus_pack_component component)
{
    const cebus_pack_state *state = scan->state;
    uint32_t count = 0;
    uint64_t least = NEVER;
    for (uint32_t i = state->from[component.lo]; i < state->from[component.hi]; i++) {
        uint64_t size = state->is_put[i] ? NEVER : state->size[i];
        scan->list[count] = i;
        count += !state->is_put[i];
        least = size < least ? size : least;
    }
    scan->count = count;
    scan->least = least;
}

/* --- niches ---------------------------------------------------------------------------------- */

/** Where nothing is still to be put there is a wall. */
static uint64_t level(const cebus_pack_state *state, uint32_t s)
{
    return state->rest[s] > 0 ? state->floor[s] : NEVER;
}

static void find_niches(cebus_pack_scan *scan, cebus_pack_component component)
{
    const cebus_pack_state *state = scan->state;
    uint64_t before = NEVER;
    scan->resting[component.lo] = 0;
    for (uint32_t begin = component.lo, end; begin < component.hi; begin = end) {
        uint64_t height = level(state, begin);
        for (end = begin; end < component.hi && level(state, end) == height; end++)
            scan->resting[end + 1] = scan->resting[end] + (state->top[end] == state->floor[end]);
        uint64_t after = end < component.hi ? level(state, end) : NEVER;
        bool is_niche = height != NEVER && before > height && after > height;
        for (uint32_t s = begin; s < end; s++)
            scan->niche[s] = is_niche ? begin + 1 : 0;
        before = height;
    }
}

static bool is_on_floor(const cebus_pack_scan *scan, uint32_t block)
{
    const cebus_pack_state *state = scan->state;
    uint32_t first = state->first[block], last = state->end[block] - 1;
    return scan->niche[first] != 0 && scan->niche[first] == scan->niche[last] &&
           state->low[block] == state->floor[first];
}

static bool rests(const cebus_pack_scan *scan, uint32_t block)
{
    const cebus_pack_state *state = scan->state;
    uint64_t highest = 0;
    if (scan->resting[state->end[block]] > scan->resting[state->first[block]])
        return true;
    if (state->align[block] == 1)
        return state->preset[block] != CEBUS_PACK_ANYWHERE;
    for (uint32_t s = state->first[block]; s < state->end[block]; s++) {
        if (state->top[s] > highest)
            highest = state->top[s];
    }
    return state->preset[block] != CEBUS_PACK_ANYWHERE ||
           cebus_align_up(highest, state->align[block]) == state->low[block];
}

/** Of several that are alike the first will do. */
static bool has_twin_before(const cebus_pack_state *state, uint32_t block)
{
    return state->twin[block] != CEBUS_PACK_NOBODY && !state->is_put[state->twin[block]];
}

bool cebus_pack_scan_lies(const cebus_pack_scan *scan, uint32_t block)
{
    return is_on_floor(scan, block) && rests(scan, block);
}

bool cebus_pack_scan_is_option(const cebus_pack_scan *scan, uint32_t block)
{
    return !has_twin_before(scan->state, block) && cebus_pack_scan_lies(scan, block);
}

void cebus_pack_scan_look(cebus_pack_scan *scan, cebus_pack_component component)
{
    cebus_pack_scan_list(scan, component);
    find_niches(scan, component);
}

uint64_t cebus_pack_scan_above(const cebus_pack_scan *scan, uint32_t block)
{
    const cebus_pack_state *state = scan->state;
    uint32_t first = state->first[block], end = state->end[block];
    uint64_t least = NEVER;
    for (uint32_t k = 0; k < scan->count; k++) {
        uint32_t i = scan->list[k];
        uint64_t top = state->low[i] + state->size[i];
        if (i != block && state->first[i] < end && state->end[i] > first && top < least)
            least = top;
    }
    return least == NEVER ? NEVER : cebus_align_up(least, state->align[block]);
}

/* --- the lowest place on each section --------------------------------------------------------- */

/*
 * A table with a row a power of two: an entry says that something may lie at a height in as many
 * sections from there on. A block's lifetime is two entries that overlap; then each row is handed
 * down to the next.
 */
static void clear_next(cebus_pack_scan *scan, cebus_pack_component component)
{
    uint32_t rows = log2_of(component.hi - component.lo) + 1;
    for (uint32_t row = 0; row < rows; row++) {
        memset(scan->levels + row * scan->stride + component.lo, 0xff,
               (component.hi - component.lo) * sizeof *scan->levels);
    }
}

CEBUS_CLONE_PART void lower(uint64_t *place, uint64_t value)
{
    *place = value < *place ? value : *place;
}

static void add_next(cebus_pack_scan *scan, uint32_t block, uint64_t height)
{
    lower(&scan->levels[scan->places[block].first], height);
    lower(&scan->levels[scan->places[block].second], height);
}

/** Hands a row of `n` entries, of stretches of 2 x `half` sections, down to the one before it. Up
 * to LANES entries more are lowered, too: of sections after these, and cleared before they are
 * used. */
CEBUS_CLONE_PART void hand_down(uint64_t *restrict to, const uint64_t *restrict from, uint32_t n,
                                uint32_t half)
{
    for (uint32_t s = 0; s < half; s += LANES) {
        for (uint32_t k = 0; k < LANES; k++)
            lower(&to[s + k], from[s + k]);
    }
    for (uint32_t s = half; s < n; s += LANES) {
        for (uint32_t k = 0; k < LANES; k++) {
            uint64_t a = from[s + k], b = from[s + k - half];
            lower(&to[s + k], a < b ? a : b);
        }
    }
}

CEBUS_CLONES static void spread(uint64_t *levels, size_t stride, uint32_t n)
{
    for (uint32_t row = log2_of(n); row > 0; row--)
        hand_down(levels + (row - 1) * stride, levels + row * stride, n, UINT32_C(1) << (row - 1));
}

static void spread_next(cebus_pack_scan *scan, cebus_pack_component component)
{
    spread(scan->levels + component.lo, scan->stride, component.hi - component.lo);
}

/* --- consequences ---------------------------------------------------------------------------- */

/** Counts a block as an option, or raises it off a floor that it does not rest on. */
static bool weigh_block(cebus_pack_scan *scan, uint32_t block, bool *changed)
{
    cebus_pack_state *state = scan->state;
    if (!is_on_floor(scan, block)) {
        add_next(scan, block, state->low[block]);
        return true;
    }
    if (rests(scan, block)) {
        scan->options[state->first[block]] += !has_twin_before(state, block);
        scan->options[state->end[block]] -= !has_twin_before(state, block);
        add_next(scan, block, state->low[block] + scan->least);
        return true;
    }
    uint64_t above = cebus_pack_scan_above(scan, block);
    if (above > state->last[block])
        return false;
    cebus_pack_state_set(state, &state->low[block], above);
    add_next(scan, block, above);
    *changed = true;
    return true;
}

/** Raises the floors of sections without options. */
static bool raise_floors(cebus_pack_scan *scan, cebus_pack_component component, bool *changed)
{
    cebus_pack_state *state = scan->state;
    int32_t options = 0;
    for (uint32_t s = component.lo; s < component.hi; s++) {
        options += scan->options[s];
        scan->options[s] = options;
        if (options > 0 || state->rest[s] == 0 || scan->next[s] <= state->floor[s])
            continue;
        if (scan->next[s] > state->capacity || scan->next[s] + state->rest[s] > state->capacity) {
            state->weight[s]++;
            return false;
        }
        cebus_pack_state_set(state, &state->floor[s], scan->next[s]);
        *changed = true;
    }
    return true;
}

static bool settle(cebus_pack_scan *scan, cebus_pack_component component, bool *changed)
{
    *changed = false;
    find_niches(scan, component);
    clear_next(scan, component);
    memset(scan->options + component.lo, 0,
           (component.hi - component.lo + 1) * sizeof *scan->options);
    for (uint32_t k = 0; k < scan->count; k++) {
        if (!weigh_block(scan, scan->list[k], changed))
            return false;
    }
    spread_next(scan, component);
    return raise_floors(scan, component, changed);
}

/** A section to branch on: the less of first, then of second. */
typedef struct prospect {
    uint64_t options, weight, second;
    uint32_t section;
    bool may_be_empty;
} prospect;

static prospect look_at(const cebus_pack_scan *scan, uint32_t s)
{
    const cebus_pack_state *state = scan->state;
    uint64_t raised = scan->next[s] <= state->capacity ? scan->next[s] + state->rest[s] : NEVER;
    bool may_be_empty = raised <= state->capacity;
    uint64_t options = (uint64_t)scan->options[s] + may_be_empty;
    bool urgent = scan->weighted && s == scan->urgent && options > 1;
    return (prospect){
        .options = options,
        .weight = urgent                          ? UINT32_MAX
                  : scan->weighted && options > 1 ? state->weight[s]
                                                  : 1,
        .second = scan->lowest_first ? state->floor[s]
                                     : state->capacity - state->floor[s] - state->rest[s],
        .section = s,
        .may_be_empty = may_be_empty,
    };
}

/** Where there is one option only, that is done before anything is chosen. */
static bool is_better(const prospect *a, const prospect *b)
{
    if ((a->options == 1) != (b->options == 1))
        return a->options == 1;
    uint64_t mine = a->options * b->weight, other = b->options * a->weight;
    return mine < other || (mine == other && a->second < b->second);
}

/** The fewest options, nothing being one of them; then the lowest floor or the least to spare. */
static void choose(cebus_pack_scan *scan, cebus_pack_component component)
{
    prospect best = {.options = UINT32_MAX, .weight = 1, .second = NEVER};
    for (uint32_t s = component.lo; s < component.hi; s++) {
        if (scan->options[s] == 0 || scan->niche[s] == 0)
            continue;
        prospect found = look_at(scan, s);
        if (is_better(&found, &best))
            best = found;
    }
    scan->section = best.section;
    scan->may_be_empty = best.may_be_empty;
}

cebus_pack_found cebus_pack_scan_run(cebus_pack_scan *scan, cebus_pack_component component)
{
    bool changed = true;
    cebus_pack_scan_list(scan, component);
    if (scan->count == 0)
        return CEBUS_PACK_FOUND_END;
    uint64_t work = 10 * ((uint64_t)scan->count + component.hi - component.lo);
    while (changed && !scan->state->no_memory) {
        if (cebus_pack_stop_now(scan->stop, work) || !settle(scan, component, &changed))
            return CEBUS_PACK_FOUND_CONFLICT;
    }
    choose(scan, component);
    return CEBUS_PACK_FOUND_BRANCH;
}
