#include "evict/places/site.h"

#include <string.h>

#include <cebus/pack.h>

#include "evict/places/hours.h"
#include "evict/places/stages.h"
#include "evict/places/ties.h"
#include "evict/timeline/sojourn.h"
#include "layout/number.h"

/** Blocks that all rounds of packing may place, where values can move if they find no places: many
 * rounds take longer than they are worth. */
#define MOST_TRIED 200000
/** Blocks that a repair may look at in all its steps, and its steps at most. */
#define MOST_LOOKED 5000000
#define MOST_REPAIRS 2000
/** Beyond so many blocks each takes longer, the more there are: who lives at the same time is
 * looked through. With no rounds, as somebody waits, half as many get no stages. */
#define MANY_BLOCKS 4096

/** n offsets, all anywhere. */
static uint64_t *new_offsets(cebus_pool *pool, size_t n)
{
    uint64_t *offsets = cebus_pool_alloc(pool, n * sizeof *offsets);
    if (offsets != NULL)
        memset(offsets, 0xff, n * sizeof *offsets);
    return offsets;
}

static bool reserve(cebus_placement *placement, const cebus_iteration *iteration,
                    const cebus_plan *plan)
{
    cebus_pool *pool = placement->pool;
    placement->n_values = iteration->n_values;
    placement->n_actions = plan->count;
    placement->n_calls = iteration->n_calls;
    placement->values = new_offsets(pool, placement->n_values);
    placement->actions = new_offsets(pool, placement->n_actions);
    placement->workspaces = new_offsets(pool, placement->n_calls);
    placement->scratch = new_offsets(pool, placement->n_actions);
    return placement->values != NULL && placement->actions != NULL &&
           placement->workspaces != NULL && placement->scratch != NULL;
}

/**
 * What pack is asked: the sojourns, then the fixtures, which are there all the time, then what
 * stays that go on behind the end take as the next iteration begins. A fixture at
 * the very bottom, where parameters lie, is no block of the question: all is placed above it. With
 * no other, no block has a preset, which is when packers are at their best.
 */
typedef struct question {
    cebus_fixture *fixtures; /**< those that stay, neighbours as one */
    size_t n_fixtures, capacity;
    cebus_hours hours;
    cebus_pack_block *blocks;
    uint64_t *presets, *offsets;
    size_t count, room; /**< blocks; as many at most */
    size_t n_fixed;     /**< stays and fixtures; behind them what stays take behind the end */
    cebus_ties ties;
    bool presets_any; /**< some block has to be where its preset says */
    bool swaps;       /**< something comes back from the host */
    bool overloaded; /**< more lies there at once than the capacity: no places hold, in any stage */
    uint64_t base;   /**< what offsets count from */
} question;

static void free_question(cebus_pool *pool, question *q)
{
    cebus_pool_free_object(pool, q->fixtures, q->capacity * sizeof *q->fixtures);
    cebus_pool_free_object(pool, q->blocks, q->room * sizeof *q->blocks);
    cebus_pool_free_object(pool, q->presets, q->room * sizeof *q->presets);
    cebus_pool_free_object(pool, q->offsets, q->room * sizeof *q->offsets);
    cebus_ties_deinit(&q->ties);
    cebus_hours_deinit(&q->hours);
}

static bool find_fixtures(cebus_pool *pool, const cebus_plan *plan, const cebus_site *site,
                          question *q)
{
    q->capacity = site->n_fixtures;
    q->fixtures = cebus_pool_alloc(pool, q->capacity * sizeof *q->fixtures);
    for (size_t i = 0; i < site->n_fixtures && q->fixtures != NULL; i++) {
        cebus_fixture fixture = site->fixtures[i];
        cebus_fixture *last = q->n_fixtures > 0 ? &q->fixtures[q->n_fixtures - 1] : NULL;
        if (fixture.owner > 0 && cebus_plan_names(plan, fixture.owner - 1))
            continue;
        if (last != NULL && last->offset + last->bytes == fixture.offset)
            last->bytes += fixture.bytes;
        else
            q->fixtures[q->n_fixtures++] = fixture;
    }
    return q->capacity == 0 || q->fixtures != NULL;
}

/** Stays, as hours has them. What of one is behind the end is at the beginning. */
static bool add_stays(const cebus_sojourns *sojourns, const cebus_site *site, question *q)
{
    const cebus_hours *hours = &q->hours;
    bool ok = true;
    for (uint32_t i = 0; i < sojourns->count && ok; i++) {
        const uint64_t bytes = cebus_align_up(sojourns->items[i].bytes, site->alignment);
        cebus_pack_block *block = &q->blocks[i];
        *block = (cebus_pack_block){.lower = hours->from[i],
                                    .upper = hours->to[i],
                                    .bytes = hours->roots[i] == i ? bytes : 0,
                                    .alignment = site->alignment};
        if (site->occupancy == NULL || block->bytes == 0 || block->upper <= hours->end + 1)
            continue;
        const uint64_t over = block->upper - hours->end;
        block->upper = hours->end + 1;
        q->blocks[q->count] = *block;
        q->blocks[q->count].lower = 0;
        q->blocks[q->count].upper = cebus_occupancy_time(site->occupancy, over);
        ok = cebus_ties_add(&q->ties, (uint32_t)q->count++, i);
    }
    return ok;
}

static bool ask(cebus_pool *pool, const cebus_sojourns *sojourns, const cebus_site *site,
                question *q)
{
    size_t skipped = q->n_fixtures > 0 && q->fixtures[0].offset == 0;
    size_t n_fixtures = q->n_fixtures - skipped;
    q->base = skipped > 0 ? cebus_align_up(q->fixtures[0].bytes, site->alignment) : 0;
    q->count = q->n_fixed = sojourns->count + n_fixtures;
    q->room = q->n_fixed + sojourns->count;
    q->blocks = cebus_pool_alloc(pool, q->room * sizeof *q->blocks);
    q->presets = new_offsets(pool, q->room);
    q->offsets = new_offsets(pool, q->room);
    if (q->blocks == NULL || q->presets == NULL || q->offsets == NULL)
        return false;
    for (size_t i = 0; i < n_fixtures; i++) {
        const cebus_fixture *fixture = &q->fixtures[skipped + i];
        q->blocks[sojourns->count + i] =
            (cebus_pack_block){.upper = q->hours.end + 1, .bytes = fixture->bytes, .alignment = 1};
        q->presets[sojourns->count + i] = fixture->offset - q->base;
        q->presets_any = true;
    }
    return add_stays(sojourns, site, q);
}

/** Both stays of what crosses from one iteration to the next, and is tied, get one place, beside
 * fixtures, and so does a copy that goes on there. */
static void tie(const cebus_sojourns *sojourns, const cebus_site *site, question *q)
{
    uint64_t offset = 0;
    size_t fixture = sojourns->count;
    cebus_ties_sort(&q->ties, q->blocks, site->order);
    for (size_t i = 0; i < q->ties.count; i++) {
        const cebus_tie *tie = &q->ties.items[i];
        if (tie->bond < site->bond)
            continue;
        uint64_t bytes = q->blocks[tie->first].bytes;
        for (; fixture < q->n_fixed && q->presets[fixture] < offset + bytes; fixture++) {
            uint64_t end = q->presets[fixture] + q->blocks[fixture].bytes;
            uint64_t alignment = q->blocks[tie->first].alignment;
            offset = end > offset ? cebus_align_up(end, alignment) : offset;
        }
        q->presets[tie->first] = q->presets[tie->last] = offset;
        q->presets[q->hours.roots[tie->last]] = offset;
        q->presets_any = true;
        offset += bytes;
    }
}

/** A stay that ends above the capacity is too much for all calls it meets. */
static void note_crowd(const question *q, const cebus_sojourns *sojourns, const cebus_site *site)
{
    for (size_t i = 0; i < sojourns->count; i++) {
        uint64_t top = q->base + q->offsets[i] + q->blocks[i].bytes;
        uint64_t excess = top > site->capacity ? top - site->capacity : 0;
        const cebus_sojourn *stay = &sojourns->items[i];
        for (size_t k = 0; excess > 0 && k < sojourns->n_calls; k++) {
            uint32_t first = k > 0 ? sojourns->run_of[k - 1] + 1 : 0;
            bool meets = stay->from <= sojourns->run_of[k] && stay->to > first;
            if (meets && site->crowd[k] < excess)
                site->crowd[k] = excess;
        }
    }
}

static uint64_t most_rounds(const cebus_site *site, size_t n_blocks)
{
    uint64_t most = MOST_TRIED / (n_blocks + 1);
    if (n_blocks > MANY_BLOCKS)
        most = most * MANY_BLOCKS / n_blocks;
    return site->rounds < most ? site->rounds : most;
}

/** Where replays alone are planned and it is asked what is too much when, a repair does better than
 * rounds: what does not fit is little, and short. How high that lies tells nothing then. */
static void repair(const question *q, const cebus_site *site, cebus_pack_options *options)
{
    const uint64_t most = MOST_LOOKED / (q->count + 1);
    if (options->rounds == 0 || q->swaps || site->crowd == NULL || site->moves.rate == 0)
        return;
    options->rounds = 0;
    options->repairs = most < MOST_REPAIRS ? most : MOST_REPAIRS;
}

/** Within the capacity, or as low as may be where more lies at once than that. */
static cebus_status pack(const cebus_pool *pool, question *q, const cebus_site *site,
                         cebus_pack_result *result)
{
    cebus_pack_options options = CEBUS_PACK_OPTIONS_INIT;
    options.capacity = site->capacity > q->base ? site->capacity - q->base : 1;
    options.rounds = site->moves.rate > 0 ? most_rounds(site, q->count) : site->rounds;
    options.fits_only = site->fits_only;
    repair(q, site, &options);
    options.presets = q->presets_any ? q->presets : NULL;
    options.host = &pool->host;
    options.go_on = site->go_on;
    options.context = site->context;
    cebus_status status = cebus_pack(q->blocks, q->count, &options, q->offsets, result);
    q->overloaded = result->reason == CEBUS_PACK_LOAD_ABOVE_CAPACITY;
    if (status != CEBUS_OK || result->verdict != CEBUS_PACK_INFEASIBLE || site->fits_only)
        return status;
    options.capacity = options.rounds = options.repairs = 0;
    return cebus_pack(q->blocks, q->count, &options, q->offsets, result);
}

/** The question as one of stages. Runs before which nothing can move are firm: all, where copies
 * are on their way. Then one stage may do even so, with its smallest blocks apart. */
static bool stage(question *q, const cebus_sojourns *sojourns, const cebus_site *site,
                  const cebus_moment *moments, cebus_shifts *shifts, bool *out_found)
{
    cebus_pool *pool = sojourns->pool;
    const size_t runs = (size_t)sojourns->runs + 2;
    bool *firm = cebus_pool_alloc(pool, runs * sizeof *firm);
    if (firm == NULL)
        return false;
    for (size_t run = 0; run < runs; run++)
        firm[run] = q->swaps || moments[run].at == CEBUS_MOMENT_NONE;
    cebus_stages stages = {.blocks = q->blocks,
                           .n = q->count,
                           .n_presets = q->count - sojourns->count,
                           .presets = q->presets,
                           .capacity = site->capacity > q->base ? site->capacity - q->base : 0,
                           .runs = sojourns->runs,
                           .firm = firm,
                           .moves = site->moves,
                           .go_on = site->go_on,
                           .context = site->context,
                           .offsets = q->offsets,
                           .shifts = shifts};
    bool ok = cebus_stages_make(&stages, out_found);
    cebus_pool_free_object(pool, firm, runs * sizeof *firm);
    return ok;
}

/** Places between which values move. */
static cebus_site_verdict relocate(const cebus_iteration *iteration, const cebus_plan *plan,
                                   const cebus_sojourns *sojourns, const cebus_site *site,
                                   question *q, cebus_placement *out)
{
    cebus_pool *pool = out->pool;
    cebus_shifts shifts;
    bool found = false;
    cebus_moment *moments = cebus_relocation_moments(sojourns, iteration, plan);
    cebus_shifts_init(&shifts, pool);
    bool ok = moments != NULL && stage(q, sojourns, site, moments, &shifts, &found);
    if (ok && found) {
        out->relocations = cebus_relocations_of(&shifts, sojourns, plan, moments, q->base);
        out->n_relocations = out->relocations != NULL ? shifts.count : 0;
        out->moving_ns = cebus_shifts_ns(&shifts, &site->moves);
        ok = out->relocations != NULL;
    }
    cebus_shifts_deinit(&shifts);
    cebus_pool_free_object(pool, moments, ((size_t)sojourns->runs + 2) * sizeof *moments);
    if (!ok)
        return CEBUS_SITE_NO_HOST_MEMORY;
    return found ? CEBUS_SITE_PLACED : CEBUS_SITE_FULL;
}

static cebus_site_verdict answer(const cebus_pool *pool, question *q,
                                 const cebus_sojourns *sojourns, const cebus_site *site,
                                 uint64_t *out_missing)
{
    cebus_pack_result result = CEBUS_PACK_RESULT_INIT;
    cebus_status status = pack(pool, q, site, &result);
    if (status == CEBUS_OUT_OF_HOST_MEMORY)
        return CEBUS_SITE_NO_HOST_MEMORY;
    if (status != CEBUS_OK || (result.height == 0 && !site->fits_only))
        return CEBUS_SITE_FULL;
    const bool found = result.verdict == CEBUS_PACK_SOLVED || !site->fits_only;
    const uint64_t height = q->base + (found ? result.height : result.bound);
    *out_missing = height > site->capacity ? height - site->capacity : 0;
    if (*out_missing > 0 && site->crowd != NULL)
        note_crowd(q, sojourns, site);
    return found && *out_missing == 0 ? CEBUS_SITE_PLACED : CEBUS_SITE_FULL;
}

/** Places, if any are found: by rounds of packing, or in stages. Where copies are on their way
 * there is one stage only, which is tried before the rounds where these take long. */
static cebus_site_verdict find(const cebus_iteration *iteration, const cebus_plan *plan,
                               const cebus_sojourns *sojourns, const cebus_site *site, question *q,
                               cebus_placement *out, uint64_t *out_missing)
{
    const bool staged = site->moves.rate > 0 && site->occupancy == NULL &&
                        (site->rounds > 0 || q->count <= MANY_BLOCKS / 2),
               first = staged && site->rounds > 0 && q->count > MANY_BLOCKS && q->swaps;
    cebus_site_verdict verdict = CEBUS_SITE_FULL;
    if (first) {
        cebus_site brief = *site;
        brief.rounds = 0;
        brief.fits_only = true;
        brief.crowd = NULL;
        verdict = answer(out->pool, q, sojourns, &brief, out_missing);
        if (verdict == CEBUS_SITE_FULL && !q->overloaded)
            verdict = relocate(iteration, plan, sojourns, site, q, out);
    }
    if (verdict == CEBUS_SITE_FULL)
        verdict = answer(out->pool, q, sojourns, site, out_missing);
    if (verdict == CEBUS_SITE_FULL && staged && !first && !q->overloaded)
        verdict = relocate(iteration, plan, sojourns, site, q, out);
    return verdict;
}

/** Whether nothing but two stays of a value lies at the place of the first, from when that ends
 * until the second does. Stays are by when they begin. */
static bool is_free_between(const cebus_sojourns *sojourns, const question *q, size_t first,
                            size_t second)
{
    const cebus_sojourn *stays = sojourns->items;
    uint64_t from = q->offsets[first], to = from + q->blocks[first].bytes;
    bool found = false;
    for (size_t i = 0; i < sojourns->count && stays[i].from < stays[second].to && !found; i++)
        found = i != first && i != second && stays[i].to > stays[first].to && q->offsets[i] < to &&
                q->offsets[i] + q->blocks[i].bytes > from;
    return !found;
}

/** What may leave, but would find its place free again, comes back to that: then it need not leave.
 * False without host memory. */
static bool stay_put(const cebus_sojourns *sojourns, const cebus_iteration *iteration,
                     const cebus_plan *plan, question *q)
{
    cebus_pool *pool = sojourns->pool;
    size_t bytes = iteration->n_values * sizeof(uint32_t);
    if (q->hours.end != sojourns->runs) { /* it is known what leaves */
        for (size_t i = 0; i < sojourns->count; i++)
            q->offsets[i] = q->offsets[q->hours.roots[i]];
        return true;
    }
    uint32_t *last = cebus_pool_alloc(pool, bytes); /* by ordinal: its stay so far, plus 1 */
    if (last == NULL)
        return false;
    memset(last, 0, bytes);
    for (size_t i = 0; i < sojourns->count; i++) {
        const cebus_sojourn *stay = &sojourns->items[i];
        bool acts = stay->kind == CEBUS_SOJOURN_ACTION;
        if (!acts && stay->kind != CEBUS_SOJOURN_VALUE)
            continue;
        uint32_t value = acts ? plan->actions[stay->index].value : stay->index;
        if (acts && plan->actions[stay->index].kind == CEBUS_ACTION_SWAP_IN && last[value] > 0 &&
            q->presets[i] == CEBUS_ANYWHERE && is_free_between(sojourns, q, last[value] - 1, i))
            q->offsets[i] = q->offsets[last[value] - 1];
        last[value] = (uint32_t)i + 1;
    }
    cebus_pool_free_object(pool, last, bytes);
    return true;
}

/** False without host memory. */
static bool find_wait(const cebus_sojourns *sojourns, const cebus_iteration *iteration,
                      const cebus_plan *plan, const cebus_site *site, const question *q,
                      cebus_placement *out)
{
    cebus_crossings crossings;
    if (!cebus_crossings_init(&crossings, sojourns, iteration, plan, &site->link))
        return false;
    out->over_ns = crossings.over_ns;
    out->wait_ns = cebus_crossings_wait_ns(&crossings, q->offsets);
    cebus_crossings_deinit(&crossings);
    return true;
}

static void write_down(const cebus_sojourns *sojourns, const question *q, const cebus_site *site,
                       cebus_placement *out)
{
    uint64_t *const of[] = {[CEBUS_SOJOURN_VALUE] = out->values,
                            [CEBUS_SOJOURN_ACTION] = out->actions,
                            [CEBUS_SOJOURN_WORKSPACE] = out->workspaces,
                            [CEBUS_SOJOURN_SCRATCH] = out->scratch};
    out->height = out->n_relocations > 0 ? site->capacity : site->alignment;
    for (size_t i = 0; i < sojourns->count; i++) {
        const cebus_sojourn *s = &sojourns->items[i];
        uint64_t offset = q->base + q->offsets[i], end = offset + q->blocks[i].bytes;
        of[s->kind][s->index] = offset;
        out->height = end > out->height ? end : out->height;
    }
}

static bool swaps(const cebus_plan *plan)
{
    bool any = false;
    for (size_t i = 0; i < plan->count && !any; i++)
        any = plan->actions[i].kind == CEBUS_ACTION_SWAP_IN;
    return any;
}

cebus_site_verdict cebus_placement_make(const cebus_iteration *iteration, const cebus_plan *plan,
                                        const cebus_site *site, cebus_placement *out,
                                        uint64_t *out_missing)
{
    question q = {.swaps = swaps(plan)};
    cebus_sojourns sojourns;
    cebus_site_verdict verdict = CEBUS_SITE_NO_HOST_MEMORY;
    *out_missing = 0;
    if (!cebus_sojourns_init(&sojourns, iteration, plan, site->outside, out->pool))
        return verdict;
    if (cebus_hours_init(&q.hours, &sojourns, iteration, plan, site->occupancy, site->share) &&
        cebus_ties_init(&q.ties, &sojourns, iteration, plan) &&
        (site->occupancy == NULL ||
         cebus_ties_find_firm(&q.ties, &sojourns, plan, site->occupancy)) &&
        find_fixtures(out->pool, plan, site, &q) && ask(out->pool, &sojourns, site, &q)) {
        tie(&sojourns, site, &q);
        if (site->tied != NULL)
            *site->tied = q.ties.count > 0;
        verdict = find(iteration, plan, &sojourns, site, &q, out, out_missing);
    }
    *out_missing = verdict == CEBUS_SITE_PLACED ? 0 : *out_missing;
    if (verdict == CEBUS_SITE_PLACED &&
        !(stay_put(&sojourns, iteration, plan, &q) &&
          find_wait(&sojourns, iteration, plan, site, &q, out) && reserve(out, iteration, plan)))
        verdict = CEBUS_SITE_NO_HOST_MEMORY;
    if (verdict != CEBUS_SITE_PLACED)
        cebus_placement_clear(out);
    if (verdict == CEBUS_SITE_PLACED)
        write_down(&sojourns, &q, site, out);
    free_question(out->pool, &q);
    cebus_sojourns_deinit(&sojourns);
    return verdict;
}
