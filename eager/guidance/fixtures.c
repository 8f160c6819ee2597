#include "eager/guidance/fixtures.h"

#include "eager/compaction.h"
#include "eager/guidance/shuttles.h"
#include "eager/swap/swap.h"

/** Bytes that stay are moved together where so much of the budget is free between them. */
#define SCATTERED_PART 512

void cebus_fixtures_clear(cebus_runtime *rt, cebus_fixtures *fixtures)
{
    cebus_pool_free_object(&rt->pool, fixtures->items,
                           fixtures->capacity * sizeof *fixtures->items);
    *fixtures = (cebus_fixtures){0};
}

/** Adds a block that no plan may place anything on; `owner` as in cebus_fixture. */
static void add_fixture(cebus_pool *pool, cebus_fixtures *fixtures, const cebus_block *block,
                        uint32_t owner)
{
    cebus_fixture *last = fixtures->count > 0 ? &fixtures->items[fixtures->count - 1] : NULL;
    if (last != NULL && last->offset + last->bytes == block->offset && last->owner == 0 &&
        owner == 0) {
        last->bytes += block->bytes;
        return;
    }
    void *items = fixtures->items;
    if (!cebus_pool_grow(pool, &items, &fixtures->capacity, fixtures->count,
                         sizeof *fixtures->items)) {
        fixtures->complete = false;
        return;
    }
    fixtures->items = items;
    fixtures->items[fixtures->count++] = (cebus_fixture){block->offset, block->bytes, owner};
}

static const cebus_iteration *iteration_now(const cebus_access_log *log)
{
    return log->following ? log->reference : &log->learning;
}

/** Whether the next iteration finds a block where it is: what this one made and still holds the
 * next one makes anew, and lets go. */
static bool stays(const cebus_access_log *log, const cebus_block *block)
{
    const cebus_iteration *iteration = iteration_now(log);
    const cebus_candidate *owner = block->state != CEBUS_BLOCK_FREE ? block->owner : NULL;
    if (owner == NULL)
        return false;
    uint32_t ordinal = cebus_access_ordinal(log, &owner->value);
    return ordinal >= iteration->n_values ||
           iteration->values[ordinal].born == CEBUS_ITERATION_NONE;
}

void cebus_fixtures_look(cebus_runtime *rt)
{
    const cebus_access_log *log = &rt->guidance->log;
    const cebus_iteration *iteration = iteration_now(log);
    cebus_fixtures *fixtures = &rt->guidance->fixtures;
    if (!log->following && !log->recording)
        return;
    fixtures->count = 0;
    fixtures->silent = 0;
    fixtures->complete = true;
    for (const cebus_block *block = rt->arena.first; block != NULL; block = block->next) {
        if (!stays(log, block))
            continue;
        const cebus_candidate *owner = block->owner;
        uint32_t ordinal = cebus_access_ordinal(log, &owner->value);
        bool persistent = ordinal < iteration->n_values && iteration->values[ordinal].persistent;
        fixtures->silent += ordinal == CEBUS_ITERATION_NONE ? block->bytes : 0;
        add_fixture(&rt->pool, fixtures, block, persistent ? ordinal + 1 : 0);
    }
}

void cebus_fixtures_fetch(cebus_runtime *rt)
{
    const cebus_scheme *scheme = rt->guidance->scheme;
    if (scheme->spots == NULL || scheme->shuttling)
        return;
    for (uint32_t v = 0; v < scheme->shuttles.count; v++) {
        cebus_value *value = cebus_shuttles_bearer(scheme, v);
        if (value != NULL && value->swapped && value->holders > 0 &&
            cebus_arena_fits(&rt->arena, value->bytes))
            (void)cebus_swap_in(rt, cebus_candidate_of(value), "fetch");
    }
}

static bool are_scattered(const cebus_runtime *rt)
{
    uint64_t gaps = 0, end = 0;
    for (const cebus_block *block = rt->arena.first; block != NULL; block = block->next) {
        if (!stays(&rt->guidance->log, block))
            continue;
        gaps += block->offset - end;
        end = block->offset + block->bytes;
    }
    return gaps > rt->arena.limit / SCATTERED_PART;
}

/** The next block that is not free: one that goes away leaves no other than free ones changed. */
static cebus_block *next_used(cebus_block *block)
{
    do
        block = block->next;
    while (block != NULL && block->state == CEBUS_BLOCK_FREE);
    return block;
}

/** What does not stay goes from between what does to the end of the one hole there is. */
static void part(cebus_runtime *rt)
{
    const cebus_access_log *log = &rt->guidance->log;
    uint64_t top = rt->arena.limit;
    const cebus_block *last = NULL;
    for (const cebus_block *block = rt->arena.first; block != NULL; block = block->next)
        last = stays(log, block) ? block : last;
    for (cebus_block *block = rt->arena.first, *next; block != NULL && block != last;
         block = next) {
        next = next_used(block);
        const uint64_t bytes = block->bytes; /* what moves leaves this block behind, free */
        bool passes = block->state != CEBUS_BLOCK_FREE && !stays(log, block);
        if (passes && cebus_compaction_shift(rt, block, top - bytes))
            top -= bytes;
    }
}

void cebus_fixtures_gather(cebus_runtime *rt)
{
    const cebus_layout *layout = rt->arena.layout;
    if (!layout->planned || !layout->moves || !are_scattered(rt) ||
        cebus_compaction_run(rt, UINT64_MAX) != CEBUS_OK)
        return;
    part(rt);
    (void)cebus_compaction_run(rt, UINT64_MAX);
}

void cebus_fixtures_note(cebus_runtime *rt, cebus_scheme *scheme)
{
    const cebus_fixtures *now = &scheme->fixtures;
    cebus_fixtures *around = &scheme->around;
    if (around->count > 0 || now->count == 0 || !now->complete)
        return;
    cebus_fixtures_clear(rt, around);
    around->items = cebus_pool_copy(&rt->pool, now->items, now->count * sizeof *now->items);
    around->count = around->capacity = around->items != NULL ? now->count : 0;
}

/** Whether bytes are among those that no iteration names. */
static bool has(const cebus_fixtures *fixtures, const cebus_fixture *bytes)
{
    bool found = false;
    for (size_t i = 0; i < fixtures->count && !found; i++) {
        const cebus_fixture *f = &fixtures->items[i];
        found = f->owner == 0 && f->offset == bytes->offset && f->bytes == bytes->bytes;
    }
    return found;
}

/** Its block, if it lies there still. */
static cebus_block *block_of(const cebus_runtime *rt, const cebus_fixture *fixture)
{
    cebus_block *block = cebus_arena_block_at(&rt->arena, fixture->offset);
    bool is_it = block != NULL && block->offset == fixture->offset &&
                 block->bytes == fixture->bytes && block->owner != NULL;
    return is_it ? block : NULL;
}

/** It goes to where such bytes lay, and what lies there by now elsewhere. */
static bool go_back(cebus_runtime *rt, const cebus_scheme *scheme, const cebus_fixture *fixture,
                    const cebus_fixture *to)
{
    if (to->owner != 0 || to->bytes != fixture->bytes || has(&scheme->fixtures, to))
        return false;
    (void)cebus_compaction_vacate(rt, to->offset, to->offset + to->bytes);
    cebus_block *block = block_of(rt, fixture);
    return block != NULL && cebus_compaction_shift(rt, block, to->offset);
}

void cebus_fixtures_restore(cebus_runtime *rt, const cebus_scheme *scheme)
{
    const cebus_fixtures *now = &scheme->fixtures, *around = &scheme->around;
    for (size_t i = 0; i < now->count && around->count > 0; i++) {
        bool back = now->items[i].owner != 0 || has(around, &now->items[i]);
        for (size_t k = 0; k < around->count && !back; k++)
            back = go_back(rt, scheme, &now->items[i], &around->items[k]);
    }
}
