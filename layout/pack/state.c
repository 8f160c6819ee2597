#include "layout/pack/state.h"

#include <string.h>

#include "layout/number.h"

static bool take(cebus_pack_state *state)
{
    size_t n = state->n, sections = (size_t)state->n_sections + 1;
    cebus_pack_memory *memory = state->memory;
    state->first = cebus_pack_memory_take(memory, n, sizeof *state->first);
    state->end = cebus_pack_memory_take(memory, n, sizeof *state->end);
    state->last = cebus_pack_memory_take(memory, n, sizeof *state->last);
    state->twin = cebus_pack_memory_take(memory, n, sizeof *state->twin);
    state->low = cebus_pack_memory_take(memory, n, sizeof *state->low);
    state->is_put = cebus_pack_memory_take(memory, n, sizeof *state->is_put);
    state->floor = cebus_pack_memory_take(memory, sections, sizeof *state->floor);
    state->top = cebus_pack_memory_take(memory, sections, sizeof *state->top);
    state->rest = cebus_pack_memory_take(memory, sections, sizeof *state->rest);
    state->crossing = cebus_pack_memory_take(memory, sections, sizeof *state->crossing);
    state->from = cebus_pack_memory_take(memory, sections, sizeof *state->from);
    state->weight = cebus_pack_memory_take(memory, sections, sizeof *state->weight);
    state->trail_room = 16 * (n + sections);
    state->trail = cebus_pack_memory_take(memory, state->trail_room, sizeof *state->trail);
    return state->first != NULL && state->end != NULL && state->last != NULL &&
           state->twin != NULL && state->low != NULL && state->is_put != NULL &&
           state->floor != NULL && state->top != NULL && state->rest != NULL &&
           state->crossing != NULL && state->from != NULL && state->weight != NULL &&
           state->trail != NULL;
}

static void fill_sections(cebus_pack_state *state)
{
    size_t sections = (size_t)state->n_sections + 1;
    memset(state->floor, 0, sections * sizeof *state->floor);
    memset(state->top, 0, sections * sizeof *state->top);
    memset(state->rest, 0, sections * sizeof *state->rest);
    memset(state->crossing, 0, sections * sizeof *state->crossing);
    for (size_t s = 0; s < sections; s++)
        state->weight[s] = 1;
    for (uint32_t i = 0; i < state->n; i++) {
        state->rest[state->first[i]] += state->size[i];
        state->rest[state->end[i]] -= state->size[i];
        state->crossing[state->first[i]]++;
        state->crossing[state->end[i] - 1]--;
    }
    for (uint32_t s = 1; s <= state->n_sections; s++) {
        state->rest[s] += state->rest[s - 1];
        state->crossing[s] += state->crossing[s - 1];
    }
    uint32_t i = 0;
    for (uint32_t s = 0; s <= state->n_sections; s++) {
        while (i < state->n && state->first[i] < s)
            i++;
        state->from[s] = i;
    }
}

static bool are_alike(const cebus_pack_state *state, uint32_t i, uint32_t j)
{
    return state->first[i] == state->first[j] && state->end[i] == state->end[j] &&
           state->size[i] == state->size[j] && state->align[i] == state->align[j] &&
           state->last[i] == state->last[j] && state->preset[i] == CEBUS_PACK_ANYWHERE &&
           state->preset[j] == CEBUS_PACK_ANYWHERE;
}

/** The nearest one before it. Twins are neighbours, or nearly so: a few of the same size may have
 * other alignments. */
static void find_twins(cebus_pack_state *state)
{
    enum {
        NEAR = 16
    };
    for (uint32_t i = 0; i < state->n; i++) {
        state->twin[i] = CEBUS_PACK_NOBODY;
        for (uint32_t back = 1; back <= NEAR && back <= i; back++) {
            if (are_alike(state, i, i - back)) {
                state->twin[i] = i - back;
                break;
            }
        }
    }
}

bool cebus_pack_state_init(cebus_pack_state *state, const cebus_pack_problem *problem,
                           const cebus_pack_part *part, uint64_t capacity,
                           cebus_pack_memory *memory)
{
    *state = (cebus_pack_state){
        .memory = memory,
        .n = part->block_end - part->block_begin,
        .n_sections = part->section_end - part->section_begin,
        .capacity = (capacity + problem->slack) / problem->unit,
        .size = problem->size + part->block_begin,
        .align = problem->align + part->block_begin,
        .preset = problem->preset + part->block_begin,
    };
    if (!take(state))
        return false;
    for (uint32_t i = 0; i < state->n; i++) {
        uint32_t block = part->block_begin + i;
        state->first[i] = problem->first[block] - part->section_begin;
        state->end[i] = problem->end[block] - part->section_begin;
        state->last[i] = (capacity - cebus_pack_problem_top(problem, block, 0)) / problem->unit;
        state->low[i] = state->preset[i] != CEBUS_PACK_ANYWHERE ? state->preset[i] : 0;
        state->is_put[i] = false;
    }
    fill_sections(state);
    find_twins(state);
    return true;
}

static void note(cebus_pack_state *state, uint64_t *place, uint64_t value)
{
    if (state->n_trail == state->trail_room) {
        cebus_pack_change *grown =
            cebus_pack_memory_take(state->memory, 4 * state->trail_room, sizeof *grown);
        if (grown == NULL) {
            state->no_memory = true;
            return;
        }
        memcpy(grown, state->trail, state->n_trail * sizeof *grown);
        state->trail = grown;
        state->trail_room *= 4;
    }
    state->trail[state->n_trail++] = (cebus_pack_change){place, value};
}

void cebus_pack_state_set(cebus_pack_state *state, uint64_t *place, uint64_t value)
{
    note(state, place, *place);
    *place = value;
}

/** Those that live with the block go above it. */
static bool lift(cebus_pack_state *state, uint32_t block, uint32_t from, uint64_t top)
{
    uint32_t first = state->first[block], end = state->end[block];
    bool fits = true;
    state->had_hat = false;
    for (uint32_t i = from; i < state->n && state->first[i] < end; i++) {
        if (state->is_put[i] || state->end[i] <= first)
            continue;
        state->had_hat = true;
        if (state->preset[i] != CEBUS_PACK_ANYWHERE) {
            fits &= top <= state->preset[i];
            continue;
        }
        uint64_t low = cebus_align_up(top, state->align[i]);
        if (low > state->low[i])
            cebus_pack_state_set(state, &state->low[i], low);
        if (state->low[i] > state->last[i]) {
            for (uint32_t s = state->first[i]; s < state->end[i]; s++)
                state->weight[s]++;
            fits = false;
        }
    }
    return fits;
}

bool cebus_pack_state_put(cebus_pack_state *state, uint32_t block, uint32_t lo)
{
    uint64_t top = state->low[block] + state->size[block];
    bool fits = state->low[block] <= state->last[block];
    note(state, NULL, block);
    state->is_put[block] = true;
    for (uint32_t s = state->first[block]; s < state->end[block]; s++) {
        cebus_pack_state_set(state, &state->floor[s], top);
        cebus_pack_state_set(state, &state->top[s], top);
        state->rest[s] -= state->size[block];
        state->crossing[s] -= s + 1 < state->end[block];
        if (top + state->rest[s] > state->capacity) {
            state->weight[s]++;
            fits = false;
        }
    }
    return lift(state, block, state->from[lo], top) && fits;
}

static void take_back(cebus_pack_state *state, uint32_t block)
{
    state->is_put[block] = false;
    for (uint32_t s = state->first[block]; s < state->end[block]; s++) {
        state->rest[s] += state->size[block];
        state->crossing[s] += s + 1 < state->end[block];
    }
}

void cebus_pack_state_undo(cebus_pack_state *state, size_t n_trail)
{
    while (state->n_trail > n_trail) {
        const cebus_pack_change *change = &state->trail[--state->n_trail];
        if (change->place != NULL)
            *change->place = change->value;
        else
            take_back(state, (uint32_t)change->value);
    }
}
