#include "eager/swap/swap.h"

#include <string.h>

#include "eager/budget.h"
#include "eager/debug.h"
#include "eager/guidance/feedback.h"
#include "eager/ladder.h"
#include "eager/storage.h"
#include "eager/swap/away.h"
#include "eager/swap/demotion.h"
#include "eager/swap/spill_copy.h"

/** Rates in bytes/s, of a link and of a file, that are assumed until copies were timed. */
#define RATE_GUESS UINT64_C(5000000000)
#define SPILL_RATE_GUESS UINT64_C(1000000000)
/** The file's rates count as measured once so many bytes were written and read. */
#define TELLING_BYTES (UINT64_C(8) << 20)

static uint64_t rate_or_guess(uint64_t rate)
{
    return rate > 0 ? rate : RATE_GUESS;
}

static uint64_t room(uint64_t budget, uint64_t used, uint64_t spare)
{
    uint64_t needed = used > spare ? used - spare : 0;
    return budget > needed ? budget - needed : 0;
}

/** The file's rates as measured. With estimated costs always the guess, so that every run evicts
 * the same. */
static cebus_swap_tier spill_terms(const cebus_runtime *rt)
{
    cebus_spill_figures now;
    if (rt->swap.spill == NULL)
        return (cebus_swap_tier){0};
    cebus_spill_query(rt->swap.spill, &now);
    cebus_swap_tier tier = {.out_rate = SPILL_RATE_GUESS,
                            .in_rate = SPILL_RATE_GUESS,
                            .room = room(now.budget, now.used_bytes, rt->swap.spill_spare)};
    if (rt->cost_model == CEBUS_COST_ESTIMATED || now.written_bytes < TELLING_BYTES ||
        now.read_bytes < TELLING_BYTES)
        return tier;
    tier.out_rate = now.write_rate;
    tier.in_rate = now.read_rate;
    tier.latency_ns = rt->info.latency_ns + (now.write_latency_ns + now.read_latency_ns) / 2;
    return tier;
}

void cebus_swap_learn_link(cebus_runtime *rt)
{
    cebus_device_info info;
    if (rt->info.simulated || rt->cost_model == CEBUS_COST_ESTIMATED || !cebus_swap_wanted(rt) ||
        rt->swap.budget == 0)
        return;
    rt->device_ops->query(rt->device, &info);
    rt->info.latency_ns = info.latency_ns;
}

bool cebus_swap_moves_persistent(const cebus_runtime *rt)
{
    return !rt->info.simulated || rt->policy->moves_persistent || rt->swap.strained;
}

void cebus_swap_note_strain(cebus_runtime *rt)
{
    if (!rt->info.simulated || rt->policy->swaps || rt->swap.option != CEBUS_SWAP_ON)
        return;
    uint64_t lost = rt->stats.recompute_ns + rt->device_ops->stalled(rt->device);
    rt->swap.strained |= lost > rt->stats.compute_ns;
}

bool cebus_swap_wanted(const cebus_runtime *rt)
{
    return rt->swap.option == CEBUS_SWAP_ON ||
           (rt->swap.option == CEBUS_SWAP_DEFAULT && rt->policy->swaps);
}

cebus_swap_terms cebus_swap_terms_now(const cebus_runtime *rt)
{
    const cebus_swapper *swap = &rt->swap;
    cebus_swap_terms terms = {
        .use = CEBUS_SWAP_NEVER,
        .out_rate = rate_or_guess(rt->info.out_rate),
        .in_rate = rate_or_guess(rt->info.in_rate),
        .latency_ns = rt->info.latency_ns,
        .room = room(swap->host_budget, swap->used_bytes, swap->spare_bytes + swap->leaving_bytes),
        .spill = spill_terms(rt),
        .memory = cebus_budget_now(rt),
        .persistent = swap->option == CEBUS_SWAP_ON && cebus_swap_moves_persistent(rt)};
    if (swap->host_budget == 0 && swap->spill != NULL) { /* what planners reckon with */
        terms.out_rate = terms.spill.out_rate;
        terms.in_rate = terms.spill.in_rate;
        terms.latency_ns = terms.spill.latency_ns;
    }
    if (cebus_swap_wanted(rt) && !swap->blocked)
        terms.use = rt->policy->swaps ? CEBUS_SWAP_ALWAYS : CEBUS_SWAP_CHEAPER;
    return terms;
}

static void count_host(cebus_runtime *rt, cebus_tier tier, uint64_t bytes)
{
    rt->swap.used_bytes += bytes;
    if (tier == CEBUS_TIER_PAGEABLE)
        rt->swap.pageable_bytes += bytes;
    rt->stats.swapped_bytes_current = rt->swap.used_bytes;
    rt->stats.pageable_bytes_current =
        rt->info.pins ? rt->swap.pageable_bytes : rt->swap.used_bytes;
}

static void free_copy(cebus_runtime *rt, const cebus_host_bytes *bytes)
{
    if (bytes->tier == CEBUS_TIER_HOST)
        rt->device_ops->host_free(rt->device, bytes->pointer, bytes->bytes);
    else
        cebus_spill_copy_free(rt, bytes->pointer);
    if (bytes->tier != CEBUS_TIER_SPILL)
        count_host(rt, bytes->tier, -bytes->bytes);
}

/** Frees a copy that was waiting in the list `leaving` and has been taken out of it. */
static void free_left(cebus_runtime *rt, const cebus_host_bytes *bytes)
{
    if (bytes->tier != CEBUS_TIER_SPILL)
        rt->swap.leaving_bytes -= bytes->bytes;
    free_copy(rt, bytes);
}

void cebus_swap_reclaim(cebus_runtime *rt)
{
    cebus_swapper *swap = &rt->swap;
    size_t kept = 0;
    for (size_t i = 0; i < swap->count; i++) {
        const cebus_host_bytes *bytes = &swap->leaving[i];
        if (rt->device_ops->stream_reached(rt->device, CEBUS_STREAM_OUT, bytes->out_mark) &&
            rt->device_ops->stream_reached(rt->device, CEBUS_STREAM_IN, bytes->in_mark))
            free_left(rt, bytes);
        else
            swap->leaving[kept++] = *bytes;
    }
    swap->count = kept;
}

void cebus_swap_deinit(cebus_runtime *rt)
{
    (void)rt->device_ops->synchronize(rt->device);
    for (size_t i = 0; i < rt->swap.count; i++)
        free_left(rt, &rt->swap.leaving[i]);
    cebus_spill_copy_deinit(rt);
    cebus_reckoning_clear(rt);
    cebus_spill_close(rt->swap.spill);
    cebus_pool_free_object(&rt->pool, rt->swap.leaving,
                           rt->swap.capacity * sizeof *rt->swap.leaving);
}

void cebus_swap_leave(cebus_runtime *rt, cebus_host_bytes bytes)
{
    cebus_swapper *swap = &rt->swap;
    void *leaving = swap->leaving;
    if (cebus_pool_grow(&rt->pool, &leaving, &swap->capacity, swap->count, sizeof *swap->leaving)) {
        swap->leaving = leaving;
        swap->leaving[swap->count++] = bytes;
        swap->leaving_bytes += bytes.tier != CEBUS_TIER_SPILL ? bytes.bytes : 0;
        return;
    }
    (void)rt->device_ops->stream_await(rt->device, CEBUS_STREAM_OUT, bytes.out_mark);
    (void)rt->device_ops->stream_await(rt->device, CEBUS_STREAM_IN, bytes.in_mark);
    free_copy(rt, &bytes);
}

void cebus_swap_spare(cebus_runtime *rt, const cebus_candidate *candidate, bool on)
{
    bool spill = candidate->tier == CEBUS_TIER_SPILL;
    uint64_t *spare = spill ? &rt->swap.spill_spare : &rt->swap.spare_bytes;
    *spare += on ? candidate->value.bytes : -candidate->value.bytes;
}

void cebus_swap_forget(cebus_runtime *rt, cebus_candidate *candidate)
{
    if (candidate->host == NULL)
        return;
    cebus_away_remove(rt, candidate);
    cebus_demotion_cancel(rt, candidate);
    if (candidate->value.resident)
        cebus_swap_spare(rt, candidate, false);
    cebus_swap_leave(rt, (cebus_host_bytes){
                             .pointer = candidate->host,
                             .bytes = candidate->value.bytes,
                             .out_mark = candidate->host_mark,
                             .in_mark = rt->device_ops->stream_mark(rt->device, CEBUS_STREAM_IN),
                             .tier = (cebus_tier)candidate->tier,
                         });
    candidate->host = NULL;
    candidate->value.swapped = false;
    if (rt->swap.count >= 64)
        cebus_swap_reclaim(rt);
}

/** Whether so many bytes more do not fit: on the host, or in the file. */
static bool is_short(cebus_runtime *rt, bool spill, uint64_t bytes)
{
    cebus_spill_figures now;
    if (!spill)
        return rt->swap.used_bytes + bytes > rt->swap.host_budget;
    cebus_spill_query(rt->swap.spill, &now);
    return now.used_bytes + 2 * bytes > now.budget; /* more than it takes: extents lie apart */
}

/** Waits for the oldest copy on the host that nobody needs but a stream, and frees it; false when
 * there is none: the host runs ahead of the streams, and its memory may run out before them. */
static bool await_oldest(cebus_runtime *rt)
{
    cebus_swapper *swap = &rt->swap;
    size_t i = 0;
    while (i < swap->count && swap->leaving[i].tier == CEBUS_TIER_SPILL)
        i++;
    if (i == swap->count)
        return false;
    const cebus_host_bytes bytes = swap->leaving[i];
    (void)rt->device_ops->stream_await(rt->device, CEBUS_STREAM_OUT, bytes.out_mark);
    (void)rt->device_ops->stream_await(rt->device, CEBUS_STREAM_IN, bytes.in_mark);
    swap->count--;
    memmove(swap->leaving + i, swap->leaving + i + 1, (swap->count - i) * sizeof bytes);
    free_left(rt, &bytes);
    return true;
}

bool cebus_swap_has_room(cebus_runtime *rt, uint64_t bytes)
{
    return rt->swap.host_budget > 0 ? !is_short(rt, false, bytes)
                                    : rt->swap.spill != NULL && !is_short(rt, true, bytes);
}

/** Whether they would not fit even when all copies under way are done and freed. Of the file that
 * cannot be foreseen: whether they do not fit now. */
static bool stays_short(cebus_runtime *rt, bool spill, uint64_t bytes)
{
    const cebus_swapper *swap = &rt->swap;
    if (!spill)
        return swap->used_bytes - swap->leaving_bytes + bytes > swap->host_budget;
    cebus_swap_reclaim(rt);
    return is_short(rt, true, bytes);
}

/** Frees room: first by values off the device that nobody holds any more, then by copies whose
 * bytes are also on the device. */
static void make_room(cebus_runtime *rt, bool spill, uint64_t bytes)
{
    cebus_swap_reclaim(rt);
    while (stays_short(rt, spill, bytes) && cebus_away_give_up(rt, spill))
        ;
    for (cebus_block *block = rt->arena.first; block != NULL; block = block->next) {
        if (!stays_short(rt, spill, bytes))
            break;
        cebus_candidate *candidate = block->state != CEBUS_BLOCK_FREE ? block->owner : NULL;
        if (candidate != NULL && candidate->host != NULL && !candidate->arriving &&
            (candidate->tier == CEBUS_TIER_SPILL) == spill)
            cebus_swap_forget(rt, candidate);
    }
    cebus_swap_reclaim(rt);
}

/** Page-locked memory, or pageable memory once the budget for that is used up. */
static void *take_host(cebus_runtime *rt, uint64_t bytes, cebus_tier *out_tier)
{
    const cebus_swapper *swap = &rt->swap;
    void *pointer = NULL;
    *out_tier = CEBUS_TIER_HOST;
    if (!rt->info.pins || swap->used_bytes - swap->pageable_bytes + bytes <= swap->pinned_budget)
        pointer = rt->device_ops->host_alloc(rt->device, bytes);
    if (pointer != NULL || !rt->info.pins)
        return pointer;
    *out_tier = CEBUS_TIER_PAGEABLE;
    return cebus_spill_copy_create(rt, CEBUS_TIER_PAGEABLE, bytes);
}

static void *reserve_host(cebus_runtime *rt, uint64_t bytes, bool now, cebus_tier *out_tier)
{
    if (is_short(rt, false, bytes))
        make_room(rt, false, bytes);
    while (is_short(rt, false, bytes) && await_oldest(rt))
        ;
    if (is_short(rt, false, bytes) && now && bytes <= rt->swap.host_budget)
        cebus_demotion_make_room(rt, rt->swap.used_bytes + bytes - rt->swap.host_budget);
    if (is_short(rt, false, bytes))
        return NULL;
    void *pointer = take_host(rt, bytes, out_tier);
    while (pointer == NULL && await_oldest(rt))
        pointer = take_host(rt, bytes, out_tier);
    if (pointer == NULL)
        return NULL;
    count_host(rt, *out_tier, bytes);
    cebus_demotion_look(rt);
    return pointer;
}

static void *reserve_spill(cebus_runtime *rt, uint64_t bytes)
{
    if (rt->swap.spill == NULL)
        return NULL;
    cebus_spill_copy *copy = cebus_spill_copy_create(rt, CEBUS_TIER_SPILL, bytes);
    if (copy == NULL) {
        make_room(rt, true, bytes);
        copy = cebus_spill_copy_create(rt, CEBUS_TIER_SPILL, bytes);
    }
    return copy;
}

static void emit(cebus_runtime *rt, cebus_event_kind kind, const cebus_candidate *candidate,
                 cebus_stream stream, uint64_t before)
{
    if (rt->events.hook == NULL)
        return;
    uint64_t end = rt->device_ops->clock(rt->device, stream);
    cebus_event_emit(rt, (cebus_event){.kind = kind,
                                       .value = candidate->serial,
                                       .bytes = candidate->value.bytes,
                                       .offset = candidate->block->offset,
                                       .ns = end - before,
                                       .device_ns = end});
}

/** Room for a copy in the first tier that has some; false: none has. */
static bool reserve(cebus_runtime *rt, uint64_t bytes, bool now, cebus_host_bytes *out)
{
    *out = (cebus_host_bytes){.bytes = bytes};
    out->pointer = reserve_host(rt, bytes, now, &out->tier);
    if (out->pointer != NULL)
        return true;
    out->tier = CEBUS_TIER_SPILL;
    out->pointer = reserve_spill(rt, bytes);
    return out->pointer != NULL;
}

static cebus_status start_copy(cebus_runtime *rt, const cebus_host_bytes *to, const char *from)
{
    if (to->tier != CEBUS_TIER_HOST)
        return cebus_spill_copy_write(rt, to->pointer, from);
    return rt->device_ops->copy_async(rt->device, CEBUS_STREAM_OUT, to->pointer, from, to->bytes,
                                      CEBUS_COPY_TO_HOST);
}

bool cebus_swap_copy_out(cebus_runtime *rt, cebus_candidate *candidate, bool now)
{
    const cebus_device_ops *ops = rt->device_ops;
    cebus_block *block = candidate->block;
    cebus_host_bytes copy;
    rt->swap.blocked = !reserve(rt, candidate->value.bytes, now, &copy);
    if (rt->swap.blocked)
        return false;
    cebus_trail_begin(rt);
    ops->stream_wait(rt->device, CEBUS_STREAM_OUT, CEBUS_STREAM_COMPUTE,
                     block->fence[CEBUS_STREAM_COMPUTE]);
    ops->stream_wait(rt->device, CEBUS_STREAM_OUT, CEBUS_STREAM_IN, block->fence[CEBUS_STREAM_IN]);
    uint64_t before = ops->clock(rt->device, CEBUS_STREAM_OUT);
    const cebus_status status = start_copy(rt, &copy, rt->base + block->offset);
    if (status != CEBUS_OK) {
        free_copy(rt, &copy);
        rt->swap.blocked = true;
        rt->swap.refused |= status == CEBUS_DEVICE_ERROR;
        return false;
    }
    candidate->host = copy.pointer;
    candidate->tier = (uint8_t)copy.tier;
    candidate->host_mark = ops->stream_mark(rt->device, CEBUS_STREAM_OUT);
    block->fence[CEBUS_STREAM_OUT] = candidate->host_mark;
    cebus_reckoning_add(rt, CEBUS_STREAM_OUT, candidate->host_mark, copy.bytes);
    cebus_swap_spare(rt, candidate, true); /* until the bytes on the device are given up */
    rt->stats.swap_outs++;
    rt->stats.swapped_out_bytes += copy.bytes;
    emit(rt, CEBUS_EVENT_SWAPPED_OUT, candidate, CEBUS_STREAM_OUT, before);
    return true;
}

void cebus_swap_copy_all(cebus_runtime *rt, cebus_block *first, const cebus_block *last)
{
    for (cebus_block *block = first;; block = block->next) {
        cebus_candidate *candidate = block->owner;
        if (block->state == CEBUS_BLOCK_EVICTABLE && candidate->method == CEBUS_GO_SWAP &&
            candidate->host == NULL && !cebus_swap_copy_out(rt, candidate, true))
            return;
        if (block == last)
            return;
    }
}

bool cebus_swap_secure(cebus_runtime *rt, cebus_candidate *candidate)
{
    if (candidate->host == NULL || candidate->tier != CEBUS_TIER_SPILL ||
        cebus_spill_copy_written(rt, candidate->host) == 0)
        return true;
    rt->swap.blocked = true;
    cebus_swap_forget(rt, candidate);
    return false;
}

void cebus_swap_settle(cebus_runtime *rt, cebus_candidate *candidate)
{
    if (candidate == NULL || !candidate->arriving)
        return;
    cebus_feedback_needed(rt, candidate);
    /* What comes from the file is on its way until it was checked (cebus_swap_arrive). */
    candidate->arriving = candidate->tier == CEBUS_TIER_SPILL;
    if (candidate->block != NULL)
        rt->device_ops->stream_wait(rt->device, CEBUS_STREAM_COMPUTE, CEBUS_STREAM_IN,
                                    candidate->block->fence[CEBUS_STREAM_IN]);
}

cebus_status cebus_swap_arrive(cebus_runtime *rt, cebus_candidate *candidate, const char *op)
{
    if (candidate == NULL || !candidate->arriving || candidate->tier != CEBUS_TIER_SPILL)
        return CEBUS_OK;
    int error = cebus_spill_copy_arrived(rt, candidate->host);
    if (error == 0) {
        cebus_swap_settle(rt, candidate);
        candidate->arriving = false;
        return CEBUS_OK;
    }
    cebus_candidate_discard(rt, candidate);
    char text[128];
    return cebus_fail(CEBUS_IO_ERROR, op,
                      "%llu bytes did not come back from the spill file: %s; nothing is lost: the "
                      "next use reads them again",
                      (unsigned long long)candidate->value.bytes,
                      cebus_spill_error_text(error, text, sizeof text));
}

static cebus_status copy_in(cebus_runtime *rt, cebus_candidate *candidate, cebus_block *block)
{
    const cebus_device_ops *ops = rt->device_ops;
    char *to = rt->base + block->offset;
    cebus_status status = candidate->tier != CEBUS_TIER_HOST
                              ? cebus_spill_copy_read(rt, candidate->host, to)
                              : ops->copy_async(rt->device, CEBUS_STREAM_IN, to, candidate->host,
                                                candidate->value.bytes, CEBUS_COPY_TO_DEVICE);
    block->fence[CEBUS_STREAM_IN] = ops->stream_mark(rt->device, CEBUS_STREAM_IN);
    cebus_reckoning_add(rt, CEBUS_STREAM_IN, block->fence[CEBUS_STREAM_IN], candidate->value.bytes);
    return status;
}

/** With CEBUS_DEBUG_HASH waits for the bytes and compares their hash at once. */
static cebus_status check_return(cebus_runtime *rt, cebus_candidate *candidate, const char *op)
{
    cebus_status status = CEBUS_OK;
    if (rt->debug & CEBUS_DEBUG_HASH)
        status = cebus_swap_arrive(rt, candidate, op);
    return status == CEBUS_OK ? cebus_debug_return(rt, candidate) : status;
}

cebus_status cebus_swap_in(cebus_runtime *rt, cebus_candidate *candidate, const char *op)
{
    cebus_block *block;
    cebus_request request = {.bytes = candidate->value.bytes,
                             .spot = cebus_guidance_spot(rt, candidate),
                             .stream = CEBUS_STREAM_IN,
                             .zone = (cebus_zone)candidate->zone,
                             .op = op};
    cebus_trail_begin(rt);
    cebus_status status = cebus_ladder_reserve(rt, &request, &block);
    if (status != CEBUS_OK)
        return status;
    rt->device_ops->stream_wait(rt->device, CEBUS_STREAM_IN, CEBUS_STREAM_OUT,
                                candidate->host_mark);
    uint64_t before = rt->device_ops->clock(rt->device, CEBUS_STREAM_IN);
    status = copy_in(rt, candidate, block);
    if (status != CEBUS_OK) {
        cebus_ladder_release(rt, block);
        return status;
    }
    cebus_candidate_adopt(rt, candidate, block);
    candidate->arriving = true;
    cebus_candidate_touch(rt, candidate);
    rt->stats.swap_ins++;
    rt->stats.swapped_in_bytes += candidate->value.bytes;
    emit(rt, CEBUS_EVENT_SWAPPED_IN, candidate, CEBUS_STREAM_IN, before);
    cebus_event_emit(rt, (cebus_event){.kind = CEBUS_EVENT_RETURNED,
                                       .method = CEBUS_METHOD_SWAP,
                                       .value = candidate->serial,
                                       .bytes = candidate->value.bytes});
    return check_return(rt, candidate, op);
}
