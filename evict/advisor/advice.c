#include "evict/advisor/advice.h"

#include <string.h>

#include <cebus/pack.h>

#include "evict/advisor/shelf.h"

/** Of packing, where blocks do not fit at once: some milliseconds each for 10^4 of them. Few large
 * sizes leave holes of a quarter of the memory otherwise. */
#define ROUNDS 32

/** A plan and all its memory. */
typedef struct advice {
    cebus_advice plan;
    cebus_shelf shelf;
} advice;

/** While blocks are listed. */
typedef struct listing {
    const cebus_advice_draft *draft;
    cebus_advice *plan;
    uint32_t *open;           /**< by buffer: its block plus 1; 0: it is not there */
    uint32_t *trips;          /**< by buffer: its next trip plus 1 */
    uint32_t *after;          /**< by trip: the same buffer's next, plus 1 */
    uint32_t *out_at, *in_at; /**< by trip: its copies */
    size_t room;
} listing;

/* --- steps and copies ----------------------------------------------------------------------- */

static void list_steps(const cebus_advice_draft *draft, cebus_advice *plan)
{
    const cebus_unfold *unfold = &draft->bench->unfold;
    for (size_t k = 0; k < unfold->n_steps; k++)
        plan->steps[k] = (cebus_advice_step){.call = unfold->steps[k].call,
                                             .again = unfold->steps[k].again,
                                             .start_ns = draft->log->steps[k],
                                             .end_ns = draft->log->ends[k]};
    plan->n_steps = unfold->n_steps;
}

static void list_copies(listing *l)
{
    const cebus_belady *b = &l->draft->bench->belady;
    const cebus_rehearsal_log *log = l->draft->log;
    cebus_advice *plan = l->plan;
    for (uint32_t i = 0; i < b->n_outs; i++) {
        const cebus_trip *trip = &b->trips[b->outs[i]];
        l->out_at[b->outs[i]] = (uint32_t)plan->n_copies;
        plan->copies[plan->n_copies++] =
            (cebus_advice_copy){.value = l->draft->value_of[trip->buffer],
                                .after = trip->from,
                                .start_ns = log->outs[i],
                                .end_ns = log->out_ends[i]};
    }
    for (uint32_t i = 0; i < b->n_ins; i++) {
        const cebus_trip *trip = &b->trips[b->ins[i]];
        l->in_at[b->ins[i]] = (uint32_t)plan->n_copies;
        plan->copies[plan->n_copies++] =
            (cebus_advice_copy){.value = l->draft->value_of[trip->buffer],
                                .in = true,
                                .after = trip->since,
                                .before = trip->to,
                                .start_ns = log->ins[i],
                                .end_ns = log->in_ends[i]};
    }
}

/* --- blocks --------------------------------------------------------------------------------- */

static uint64_t event_ns(const listing *l, cebus_advice_event event, uint32_t at, bool ends)
{
    if (event == CEBUS_ADVICE_STEP)
        return ends ? l->plan->steps[at].end_ns : l->plan->steps[at].start_ns;
    if (event == CEBUS_ADVICE_COPY)
        return ends ? l->plan->copies[at].end_ns : l->plan->copies[at].start_ns;
    return ends ? l->draft->time_ns : 0;
}

static void open_block(listing *l, uint32_t buffer, cebus_advice_event event, uint32_t at)
{
    const uint64_t bytes = l->draft->graph->buffers[buffer].bytes;
    l->plan->blocks[l->plan->n_blocks++] =
        (cebus_advice_block){.value = l->draft->value_of[buffer],
                             .bytes = bytes,
                             .born = (uint8_t)event,
                             .born_at = at,
                             .dies = CEBUS_ADVICE_EDGE,
                             .from_ns = event_ns(l, event, at, false),
                             .to_ns = l->draft->time_ns};
    l->open[buffer] = (uint32_t)l->plan->n_blocks;
}

static void close_block(listing *l, uint32_t buffer, cebus_advice_event event, uint32_t at)
{
    cebus_advice_block *block = &l->plan->blocks[l->open[buffer] - 1];
    block->dies = (uint8_t)event;
    block->dies_at = at;
    block->to_ns = event_ns(l, event, at, true);
    l->open[buffer] = 0;
}

static void add_scratch(listing *l, uint32_t k, uint64_t bytes)
{
    l->plan->blocks[l->plan->n_blocks++] =
        (cebus_advice_block){.value = UINT32_MAX,
                             .bytes = bytes,
                             .born = CEBUS_ADVICE_STEP,
                             .born_at = k,
                             .dies = CEBUS_ADVICE_STEP,
                             .dies_at = k,
                             .from_ns = l->plan->steps[k].start_ns,
                             .to_ns = l->plan->steps[k].end_ns};
}

/** The buffer's next trip starts, after so many steps. */
static void start_trip(listing *l, uint32_t buffer, uint32_t after)
{
    const uint32_t i = l->trips[buffer] - 1;
    if (l->open[buffer] == 0)
        return;
    if (l->draft->bench->belady.trips[i].copies)
        close_block(l, buffer, CEBUS_ADVICE_COPY, l->out_at[i]);
    else if (after > 0)
        close_block(l, buffer, CEBUS_ADVICE_STEP, after - 1);
}

static void end_trip(listing *l, uint32_t buffer)
{
    const uint32_t i = l->trips[buffer] - 1;
    open_block(l, buffer, CEBUS_ADVICE_COPY, l->in_at[i]);
    l->trips[buffer] = l->after[i];
}

/** Trips of each buffer in a row; they were listed in the order in which they start. */
static void chain_trips(listing *l)
{
    const cebus_belady *b = &l->draft->bench->belady;
    for (size_t i = b->n_trips; i-- > 0;) {
        const uint32_t buffer = b->trips[i].buffer;
        l->after[i] = l->trips[buffer];
        l->trips[buffer] = (uint32_t)i + 1;
    }
}

static bool starts_trip(const listing *l, uint32_t buffer, uint32_t after)
{
    const uint32_t trip = l->trips[buffer];
    return trip != 0 && l->draft->bench->belady.trips[trip - 1].from == after;
}

/** What is there when the iteration begins. What leaves at once, without a copy, was not needed. */
static void open_first(listing *l)
{
    const cebus_breed_bench *bench = l->draft->bench;
    for (uint32_t i = 0; i < l->draft->graph->n_buffers; i++) {
        const cebus_buffer *buffer = &l->draft->graph->buffers[i];
        const bool small = bench->pools.pool[i] == CEBUS_GRAPH_NONE;
        const bool there =
            bench->belady.stays[i] || (small && (buffer->persistent || buffer->given));
        if (!there)
            continue;
        const uint32_t trip = l->trips[i];
        if (trip != 0 && bench->belady.trips[trip - 1].from == 0 &&
            !bench->belady.trips[trip - 1].copies)
            continue;
        open_block(l, i, CEBUS_ADVICE_EDGE, 0);
        if (starts_trip(l, i, 0))
            start_trip(l, i, 0);
    }
}

static void list_blocks(listing *l)
{
    const cebus_unfold *unfold = &l->draft->bench->unfold;
    chain_trips(l);
    open_first(l);
    for (uint32_t k = 0; k < unfold->n_steps; k++) {
        const cebus_step *step = &unfold->steps[k];
        const cebus_use *uses = unfold->uses + step->use;
        if (step->scratch > 0)
            add_scratch(l, k, step->scratch);
        for (uint32_t i = 0; i < step->n_uses; i++) {
            if (uses[i].flags & CEBUS_USE_MAKES)
                open_block(l, uses[i].buffer, CEBUS_ADVICE_STEP, k);
            else if (l->open[uses[i].buffer] == 0)
                end_trip(l, uses[i].buffer);
        }
        for (uint32_t i = 0; i < step->n_uses; i++) {
            if (uses[i].flags & CEBUS_USE_LAST)
                close_block(l, uses[i].buffer, CEBUS_ADVICE_STEP, k);
            else if (starts_trip(l, uses[i].buffer, k + 1))
                start_trip(l, uses[i].buffer, k + 1);
        }
    }
    for (uint32_t i = 0; i < l->draft->graph->n_buffers; i++) {
        if (l->draft->bench->belady.stays[i] && l->open[i] == 0)
            end_trip(l, i);
    }
}

/* --- offsets -------------------------------------------------------------------------------- */

static bool comes_later(const cebus_advice_block *a, const cebus_advice_block *b)
{
    return a->from_ns > b->from_ns || (a->from_ns == b->from_ns && a->to_ns > b->to_ns);
}

/** Shell's sort: qsort() knows no context. */
static void sort_by_time(const cebus_advice *plan, uint32_t *queue)
{
    for (size_t i = 0; queue != NULL && i < plan->n_blocks; i++)
        queue[i] = (uint32_t)i;
    for (size_t gap = plan->n_blocks / 2; gap > 0; gap /= 2) {
        for (size_t i = gap; i < plan->n_blocks; i++) {
            const uint32_t x = queue[i];
            size_t k = i;
            for (; k >= gap && comes_later(&plan->blocks[queue[k - gap]], &plan->blocks[x]);
                 k -= gap)
                queue[k] = queue[k - gap];
            queue[k] = x;
        }
    }
}

/** What stays over lies at the same place at the start and at the end. */
static void preset_stays(const listing *l, uint64_t *presets)
{
    const cebus_advice *plan = l->plan;
    uint64_t at = 0;
    uint64_t *place =
        cebus_shelf_take(&((advice *)l->plan)->shelf, l->draft->graph->n_buffers, sizeof *place);
    if (place == NULL)
        return;
    for (size_t i = 0; i < l->draft->graph->n_buffers; i++) {
        place[i] = CEBUS_PACK_ANYWHERE;
        if (!l->draft->bench->belady.stays[i])
            continue;
        place[i] = at;
        at += cebus_graph_rounded(l->draft->graph->buffers[i].bytes);
    }
    for (size_t i = 0; i < plan->n_blocks; i++) {
        const cebus_advice_block *block = &plan->blocks[i];
        const bool edge = block->born == CEBUS_ADVICE_EDGE || block->dies == CEBUS_ADVICE_EDGE;
        presets[i] = edge && block->value != UINT32_MAX ? place[l->draft->graph->home[block->value]]
                                                        : CEBUS_PACK_ANYWHERE;
    }
}

static bool has_presets(const uint64_t *presets, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (presets[i] != CEBUS_PACK_ANYWHERE)
            return true;
    }
    return false;
}

/** Where each pool's objects lie: its first place, the size of one, and the offset of the first. */
typedef struct regions {
    uint64_t *sizes, *bases, *first;
    uint64_t n_places, top;
} regions;

static uint64_t largest_scratch(const cebus_advice *plan)
{
    uint64_t most = 0;
    for (size_t i = 0; i < plan->n_blocks; i++) {
        if (plan->blocks[i].value == UINT32_MAX && plan->blocks[i].bytes > most)
            most = plan->blocks[i].bytes;
    }
    return cebus_graph_rounded(most);
}

static bool find_regions(const listing *l, regions *out)
{
    const cebus_pools *pools = &l->draft->bench->pools;
    cebus_shelf *shelf = &((advice *)l->plan)->shelf;
    *out = (regions){.sizes = cebus_shelf_take(shelf, pools->n_pools, sizeof *out->sizes),
                     .bases = cebus_shelf_take(shelf, pools->n_pools, sizeof *out->bases),
                     .first = cebus_shelf_take(shelf, pools->n_pools, sizeof *out->first)};
    if (shelf->failed)
        return false;
    for (size_t i = 0; i < l->draft->graph->n_buffers; i++) {
        const uint64_t bytes = cebus_graph_rounded(l->draft->graph->buffers[i].bytes);
        if (pools->pool[i] != CEBUS_GRAPH_NONE && bytes > out->sizes[pools->pool[i]])
            out->sizes[pools->pool[i]] = bytes;
    }
    out->top = largest_scratch(l->plan);
    for (size_t i = 0; i < pools->n_pools; i++) {
        out->bases[i] = out->top;
        out->first[i] = out->n_places;
        out->top += out->sizes[i] * pools->room[i];
        out->n_places += pools->room[i];
    }
    return true;
}

/** Offsets in pools: each object has a place of its pool, the first that is free when it comes;
 * what is too small to move lies above, each at an offset of its own; scratch of all steps below.
 */
static void place_in_pools(listing *l)
{
    const cebus_pools *pools = &l->draft->bench->pools;
    cebus_shelf *shelf = &((advice *)l->plan)->shelf;
    uint32_t *queue = cebus_shelf_take(shelf, l->plan->n_blocks, sizeof *queue);
    regions r;
    if (!find_regions(l, &r))
        return;
    uint64_t *busy = cebus_shelf_take(shelf, r.n_places, sizeof *busy);
    if (shelf->failed)
        return;
    sort_by_time(l->plan, queue);
    for (size_t k = 0; k < l->plan->n_blocks; k++) {
        cebus_advice_block *block = &l->plan->blocks[queue[k]];
        const uint32_t pool = block->value == UINT32_MAX
                                  ? CEBUS_GRAPH_NONE
                                  : pools->pool[l->draft->graph->home[block->value]];
        if (block->value == UINT32_MAX) { /* steps run one at a time: one region for all */
            block->offset = 0;
            continue;
        }
        if (pool == CEBUS_GRAPH_NONE) {
            block->offset = r.top;
            r.top += cebus_graph_rounded(block->bytes);
            continue;
        }
        uint64_t place = 0;
        while (place + 1 < pools->room[pool] && busy[r.first[pool] + place] > block->from_ns)
            place++;
        busy[r.first[pool] + place] = block->to_ns;
        block->offset = r.bases[pool] + place * r.sizes[pool];
    }
    l->plan->height = r.top;
}

/** False in *out_fits: the lowest packing found is above the memory by *out_missing. */
static cebus_status place_blocks(listing *l, uint64_t *out_missing, bool *out_fits)
{
    cebus_advice *plan = l->plan;
    cebus_shelf *shelf = &((advice *)plan)->shelf;
    cebus_pack_options how = CEBUS_PACK_OPTIONS_INIT;
    cebus_pack_result result = CEBUS_PACK_RESULT_INIT;
    cebus_pack_block *blocks = cebus_shelf_take(shelf, plan->n_blocks, sizeof *blocks);
    uint64_t *offsets = cebus_shelf_take(shelf, plan->n_blocks, sizeof *offsets);
    uint64_t *presets = cebus_shelf_take(shelf, plan->n_blocks, sizeof *presets);
    if (!shelf->failed)
        preset_stays(l, presets);
    if (shelf->failed)
        return CEBUS_OUT_OF_HOST_MEMORY;
    for (size_t i = 0; i < plan->n_blocks; i++) {
        const cebus_advice_block *b = &plan->blocks[i];
        const uint64_t bytes = cebus_graph_rounded(b->bytes);
        blocks[i] = (cebus_pack_block){.lower = b->from_ns,
                                       .upper = b->to_ns > b->from_ns ? b->to_ns : b->from_ns + 1,
                                       .bytes = bytes,
                                       .alignment = CEBUS_GRAPH_ALIGNMENT};
    }
    how.capacity = l->draft->memory;
    how.rounds = ROUNDS;
    how.presets = has_presets(presets, plan->n_blocks) ? presets : NULL;
    how.host = &shelf->host;
    *out_fits = false;
    *out_missing = 0;
    cebus_status status = cebus_pack(blocks, plan->n_blocks, &how, offsets, &result);
    if (status == CEBUS_OUT_OF_HOST_MEMORY)
        return status;
    if (status != CEBUS_OK || result.verdict != CEBUS_PACK_SOLVED) {
        const uint64_t top = result.height > result.max_load ? result.height : result.max_load;
        *out_missing = top > l->draft->memory ? top - l->draft->memory : 0;
        return CEBUS_OK;
    }
    for (size_t i = 0; i < plan->n_blocks; i++)
        plan->blocks[i].offset = offsets[i];
    plan->height = result.height;
    *out_fits = true;
    return CEBUS_OK;
}

static bool make_room(listing *l, cebus_shelf *shelf)
{
    const cebus_breed_bench *bench = l->draft->bench;
    const size_t n = bench->unfold.n_steps, n_trips = bench->belady.n_trips;
    const size_t n_buffers = l->draft->graph->n_buffers;
    l->room = n + bench->unfold.n_uses + n_trips + n_buffers;
    l->plan->steps = cebus_shelf_take(shelf, n, sizeof *l->plan->steps);
    l->plan->copies = cebus_shelf_take(shelf, bench->belady.n_outs + bench->belady.n_ins,
                                       sizeof *l->plan->copies);
    l->plan->blocks = cebus_shelf_take(shelf, l->room, sizeof *l->plan->blocks);
    l->open = cebus_shelf_take(shelf, n_buffers, sizeof *l->open);
    l->trips = cebus_shelf_take(shelf, n_buffers, sizeof *l->trips);
    l->after = cebus_shelf_take(shelf, n_trips, sizeof *l->after);
    l->out_at = cebus_shelf_take(shelf, n_trips, sizeof *l->out_at);
    l->in_at = cebus_shelf_take(shelf, n_trips, sizeof *l->in_at);
    return !shelf->failed;
}

cebus_status cebus_advice_make(const cebus_advice_draft *draft, const cebus_host_allocator *host,
                               uint64_t *out_missing, cebus_advice **out)
{
    cebus_shelf shelf;
    bool fits = false;
    *out = NULL;
    cebus_shelf_init(&shelf, host);
    advice *a = shelf.host.alloc(shelf.host.context, sizeof *a);
    if (a == NULL)
        return CEBUS_OUT_OF_HOST_MEMORY;
    memset(a, 0, sizeof *a);
    a->shelf = shelf;
    a->plan.memory = draft->memory;
    a->plan.time_ns = draft->time_ns;
    a->plan.ideal_ns = draft->graph->ideal_ns;
    listing l = {.draft = draft, .plan = &a->plan};
    cebus_status status = CEBUS_OUT_OF_HOST_MEMORY;
    if (make_room(&l, &a->shelf)) {
        list_steps(draft, &a->plan);
        list_copies(&l);
        list_blocks(&l);
        status = CEBUS_OK;
        if (draft->bench->pools.bytes)
            status = place_blocks(&l, out_missing, &fits);
        else
            place_in_pools(&l);
        fits = fits || !draft->bench->pools.bytes;
        if (a->shelf.failed)
            status = CEBUS_OUT_OF_HOST_MEMORY;
    }
    if (status == CEBUS_OK && fits)
        *out = &a->plan;
    else
        cebus_advice_destroy(&a->plan);
    return status;
}

void cebus_advice_destroy(cebus_advice *plan)
{
    advice *a = (advice *)plan;
    if (a == NULL)
        return;
    const cebus_host_allocator host = a->shelf.host;
    cebus_shelf_clear(&a->shelf);
    host.free(host.context, a);
}

uint32_t cebus_advice_steps_before(const cebus_advice_step *steps, size_t from, size_t n_steps,
                                   uint64_t ns)
{
    size_t low = from, high = n_steps;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (steps[middle].start_ns < ns)
            low = middle + 1;
        else
            high = middle;
    }
    return (uint32_t)low;
}
