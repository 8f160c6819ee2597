#include "eager/swap.h"

#include "eager/debug.h"
#include "eager/guidance.h"
#include "eager/ladder.h"
#include "eager/storage.h"
#include "lineage/cost.h"

/** Taken for a link whose rate is unknown until copies were timed. */
#define RATE_GUESS UINT64_C(5000000000)

static uint64_t rate_or_guess(uint64_t rate)
{
    return rate > 0 ? rate : RATE_GUESS;
}

static uint64_t room(const cebus_swapper *swap)
{
    uint64_t needed = swap->used_bytes - swap->spare_bytes;
    return swap->budget > needed ? swap->budget - needed : 0;
}

cebus_swap_terms cebus_swap_terms_now(const cebus_runtime *rt)
{
    const cebus_swapper *swap = &rt->swap;
    cebus_swap_terms terms = {.use = CEBUS_SWAP_NEVER,
                              .out_rate = rate_or_guess(rt->info.out_rate),
                              .in_rate = rate_or_guess(rt->info.in_rate),
                              .room = room(swap)};
    bool wanted =
        swap->option == CEBUS_SWAP_ON || (swap->option == CEBUS_SWAP_DEFAULT && rt->policy->swaps);
    if (wanted && !swap->blocked)
        terms.use = rt->policy->swaps ? CEBUS_SWAP_ALWAYS : CEBUS_SWAP_CHEAPER;
    return terms;
}

static void free_host(cebus_runtime *rt, const cebus_host_bytes *bytes)
{
    rt->device_ops->host_free(rt->device, bytes->pointer, bytes->bytes);
    rt->swap.used_bytes -= bytes->bytes;
    rt->stats.swapped_bytes_current = rt->swap.used_bytes;
}

void cebus_swap_reclaim(cebus_runtime *rt)
{
    cebus_swapper *swap = &rt->swap;
    size_t kept = 0;
    for (size_t i = 0; i < swap->count; i++) {
        const cebus_host_bytes *bytes = &swap->leaving[i];
        if (rt->device_ops->stream_reached(rt->device, CEBUS_STREAM_OUT, bytes->out_mark) &&
            rt->device_ops->stream_reached(rt->device, CEBUS_STREAM_IN, bytes->in_mark))
            free_host(rt, bytes);
        else
            swap->leaving[kept++] = *bytes;
    }
    swap->count = kept;
}

void cebus_swap_deinit(cebus_runtime *rt)
{
    for (size_t i = 0; i < rt->swap.count; i++)
        free_host(rt, &rt->swap.leaving[i]);
    cebus_pool_free_object(&rt->pool, rt->swap.leaving,
                           rt->swap.capacity * sizeof *rt->swap.leaving);
}

/** Host memory goes once no copy reads or writes it any more. */
static void leave(cebus_runtime *rt, cebus_host_bytes bytes)
{
    cebus_swapper *swap = &rt->swap;
    void *leaving = swap->leaving;
    if (cebus_pool_grow(&rt->pool, &leaving, &swap->capacity, swap->count, sizeof *swap->leaving)) {
        swap->leaving = leaving;
        swap->leaving[swap->count++] = bytes;
        return;
    }
    (void)rt->device_ops->stream_await(rt->device, CEBUS_STREAM_OUT, bytes.out_mark);
    (void)rt->device_ops->stream_await(rt->device, CEBUS_STREAM_IN, bytes.in_mark);
    free_host(rt, &bytes);
}

void cebus_swap_forget(cebus_runtime *rt, cebus_candidate *candidate)
{
    if (candidate->host == NULL)
        return;
    if (candidate->value.resident)
        rt->swap.spare_bytes -= candidate->value.bytes;
    leave(rt, (cebus_host_bytes){
                  .pointer = candidate->host,
                  .bytes = candidate->value.bytes,
                  .out_mark = candidate->host_mark,
                  .in_mark = rt->device_ops->stream_mark(rt->device, CEBUS_STREAM_IN),
              });
    candidate->host = NULL;
    candidate->value.swapped = false;
    if (rt->swap.count >= 64)
        cebus_swap_reclaim(rt);
}

/** Copies of what is on the device anyway go when their room is needed. */
static void make_room(cebus_runtime *rt, uint64_t bytes)
{
    cebus_swapper *swap = &rt->swap;
    cebus_swap_reclaim(rt);
    for (cebus_block *block = rt->arena.first; block != NULL; block = block->next) {
        if (swap->used_bytes + bytes <= swap->budget)
            return;
        cebus_candidate *candidate = block->state != CEBUS_BLOCK_FREE ? block->owner : NULL;
        if (candidate != NULL && candidate->host != NULL && !candidate->arriving)
            cebus_swap_forget(rt, candidate);
    }
    cebus_swap_reclaim(rt);
}

static void *reserve_host(cebus_runtime *rt, uint64_t bytes)
{
    cebus_swapper *swap = &rt->swap;
    if (swap->used_bytes + bytes > swap->budget)
        make_room(rt, bytes);
    if (swap->used_bytes + bytes > swap->budget)
        return NULL;
    void *pointer = rt->device_ops->host_alloc(rt->device, bytes);
    if (pointer == NULL)
        return NULL;
    swap->used_bytes += bytes;
    rt->stats.swapped_bytes_current = swap->used_bytes;
    return pointer;
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

bool cebus_swap_copy_out(cebus_runtime *rt, cebus_candidate *candidate)
{
    const cebus_device_ops *ops = rt->device_ops;
    uint64_t bytes = candidate->value.bytes;
    cebus_block *block = candidate->block;
    void *host = reserve_host(rt, bytes);
    rt->swap.blocked = host == NULL;
    if (host == NULL)
        return false;
    uint64_t before = ops->clock(rt->device, CEBUS_STREAM_OUT);
    ops->stream_wait(rt->device, CEBUS_STREAM_OUT, CEBUS_STREAM_COMPUTE,
                     block->fence[CEBUS_STREAM_COMPUTE]);
    ops->stream_wait(rt->device, CEBUS_STREAM_OUT, CEBUS_STREAM_IN, block->fence[CEBUS_STREAM_IN]);
    cebus_status status = ops->copy_async(rt->device, CEBUS_STREAM_OUT, host,
                                          rt->base + block->offset, bytes, CEBUS_COPY_TO_HOST);
    if (status != CEBUS_OK) {
        free_host(rt, &(cebus_host_bytes){.pointer = host, .bytes = bytes});
        rt->swap.blocked = true;
        return false;
    }
    candidate->host = host;
    candidate->host_mark = ops->stream_mark(rt->device, CEBUS_STREAM_OUT);
    block->fence[CEBUS_STREAM_OUT] = candidate->host_mark;
    rt->swap.spare_bytes += bytes; /* until the bytes on the device are given up */
    rt->stats.swap_outs++;
    rt->stats.swapped_out_bytes += bytes;
    emit(rt, CEBUS_EVENT_SWAPPED_OUT, candidate, CEBUS_STREAM_OUT, before);
    return true;
}

static cebus_status copy_in(cebus_runtime *rt, cebus_candidate *candidate, cebus_block *block)
{
    const cebus_device_ops *ops = rt->device_ops;
    ops->stream_wait(rt->device, CEBUS_STREAM_IN, CEBUS_STREAM_OUT, candidate->host_mark);
    cebus_status status =
        ops->copy_async(rt->device, CEBUS_STREAM_IN, rt->base + block->offset, candidate->host,
                        candidate->value.bytes, CEBUS_COPY_TO_DEVICE);
    if (status == CEBUS_OK)
        block->fence[CEBUS_STREAM_IN] = ops->stream_mark(rt->device, CEBUS_STREAM_IN);
    return status;
}

cebus_status cebus_swap_in(cebus_runtime *rt, cebus_candidate *candidate, const char *op)
{
    cebus_block *block;
    uint64_t before = rt->device_ops->clock(rt->device, CEBUS_STREAM_IN);
    cebus_request request = {.bytes = candidate->value.bytes,
                             .spot = cebus_guidance_spot(rt, candidate),
                             .stream = CEBUS_STREAM_IN,
                             .zone = (cebus_zone)candidate->zone,
                             .op = op};
    cebus_status status = cebus_ladder_reserve(rt, &request, &block);
    if (status != CEBUS_OK)
        return status;
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
    return cebus_debug_return(rt, candidate);
}
