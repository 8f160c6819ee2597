#include "eager/runtime.h"

#include <stdio.h>
#include <string.h>

#include "eager/autograd/hook.h"
#include "eager/budget.h"
#include "eager/capture/hooks.h"
#include "eager/custom.h"
#include "eager/device/plugin.h"
#include "eager/guidance/guidance.h"
#include "eager/guidance/loaded.h"
#include "eager/host.h"
#include "eager/ladder.h"
#include "eager/options.h"
#include "eager/spill/spill.h"
#include "eager/strain.h"
#include "eager/swap/swap.h"
#include "eager/trace/record.h"
#include "layout/number.h"

/** An address no other live thread has. */
static uintptr_t thread_identity(void)
{
    static _Thread_local char identity;
    return (uintptr_t)&identity;
}

static bool owned_by_me(cebus_runtime *rt)
{
    return atomic_load_explicit(&rt->owner, memory_order_relaxed) == thread_identity();
}

void cebus_runtime_lock_always(cebus_runtime *rt)
{
    if (!owned_by_me(rt)) {
        pthread_mutex_lock(&rt->mutex);
        atomic_store_explicit(&rt->owner, thread_identity(), memory_order_relaxed);
    }
    rt->depth++;
}

cebus_status cebus_runtime_lock(cebus_runtime *rt, const char *function)
{
    if (rt == NULL)
        return cebus_fail(CEBUS_INVALID_ARGUMENT, function, "the runtime is NULL");
    if (owned_by_me(rt) && rt->in_kernel)
        return cebus_fail(CEBUS_REENTRANT, function,
                          "called from inside a kernel of the same runtime");
    cebus_runtime_lock_always(rt);
    return CEBUS_OK;
}

static void destroy(cebus_runtime *rt)
{
    cebus_host_allocator host = rt->host;
    if (rt->device != NULL)
        cebus_swap_deinit(rt);
    (void)cebus_record_end(rt);
    cebus_guidance_stop(rt);
    cebus_loaded_clear(rt);
    cebus_measure_deinit(rt);
    cebus_custom_free(rt);
    cebus_lineage_deinit(&rt->lineage);
    cebus_pool_free_object(&rt->pool, rt->replay.calls,
                           rt->replay.capacity * sizeof *rt->replay.calls);
    cebus_pool_free_object(&rt->pool, rt->stack.frames,
                           rt->stack.capacity * sizeof *rt->stack.frames);
    cebus_pool_free_object(&rt->pool, rt->ops.entries, rt->ops.capacity * sizeof *rt->ops.entries);
    cebus_pool_free_object(&rt->pool, rt->events.events,
                           rt->events.capacity * sizeof *rt->events.events);
    cebus_trail_free(rt);
    cebus_arena_deinit(&rt->arena);
    cebus_pool_deinit(&rt->pool);
    if (rt->base != NULL)
        rt->device_ops->slab_release(rt->device, rt->base, rt->slab_bytes);
    if (rt->device != NULL)
        rt->device_ops->close(rt->device);
    pthread_mutex_destroy(&rt->mutex);
    host.free(host.context, rt);
}

void cebus_event_emit(cebus_runtime *rt, cebus_event event)
{
    cebus_event_queue *queue = &rt->events;
    if (queue->hook == NULL)
        return;
    void *events = queue->events;
    if (!cebus_pool_grow(&rt->pool, &events, &queue->capacity, queue->count, sizeof *queue->events))
        return;
    queue->events = events;
    event.time_ns = rt->clock_ns;
    event.call = rt->stats.calls;
    if (event.device_ns == 0)
        event.device_ns = rt->device_ops->clock(rt->device, CEBUS_STREAM_COMPUTE);
    queue->events[queue->count++] = event;
}

static void open_lock(cebus_runtime *rt)
{
    rt->depth = 0;
    atomic_store_explicit(&rt->owner, 0, memory_order_relaxed);
    pthread_mutex_unlock(&rt->mutex);
}

/**
 * Lets contexts of hooks go, outside the lock. The whole queue at once: what is let go may release
 * tensors, and must not come back here for what is queued already, deeper with each.
 */
static void deliver_releases(cebus_runtime *rt)
{
    const cebus_error error = *cebus_last_error();
    cebus_hook *hook = rt->released;
    rt->released = NULL;
    rt->handles++;
    while (hook != NULL) {
        cebus_hook *next = hook->next;
        if (hook->user.release != NULL) {
            open_lock(rt);
            hook->user.release(hook->user.context);
            cebus_runtime_lock_always(rt);
        }
        cebus_pool_free_object(&rt->pool, hook, sizeof *hook);
        hook = next;
    }
    rt->handles--;
    cebus_error_restore(&error);
}

/** Hands the queue over in pieces, each outside the lock, so that hooks may call cebus. */
static void deliver_events(cebus_runtime *rt)
{
    enum {
        PIECE = 64
    };
    cebus_event piece[PIECE];
    cebus_event_queue *queue = &rt->events;
    while (queue->count > 0) {
        cebus_event_hook hook = queue->hook;
        void *context = queue->context;
        size_t left = queue->count - queue->delivered, n = left < PIECE ? left : PIECE;
        memcpy(piece, queue->events + queue->delivered, n * sizeof *piece);
        queue->delivered += n;
        if (n == left)
            queue->count = queue->delivered = 0;
        open_lock(rt);
        for (size_t i = 0; i < n && hook != NULL; i++)
            hook(context, &piece[i]);
        cebus_runtime_lock_always(rt);
    }
}

void cebus_runtime_unlock(cebus_runtime *rt)
{
    if (rt->depth > 1) {
        rt->depth--;
        return;
    }
    while (rt->released != NULL)
        deliver_releases(rt);
    if (rt->events.count > 0)
        deliver_events(rt);
    bool last = rt->closing && rt->handles == 0;
    open_lock(rt);
    if (last)
        destroy(rt);
}

cebus_status cebus_runtime_use_file(cebus_runtime *rt, const char *function, const char *path,
                                    cebus_status (*act)(cebus_runtime *rt, const char *path))
{
    if (path == NULL)
        return cebus_fail(CEBUS_INVALID_ARGUMENT, function, "the path is NULL");
    cebus_status status = cebus_runtime_lock(rt, function);
    if (status != CEBUS_OK)
        return status;
    status = act(rt, path);
    cebus_runtime_unlock(rt);
    return status;
}

int cebus_runtime_leave(cebus_runtime *rt)
{
    int depth = rt->depth;
    rt->handles++;
    rt->depth = 1;
    cebus_runtime_unlock(rt);
    return depth;
}

void cebus_runtime_enter(cebus_runtime *rt, int depth)
{
    cebus_runtime_lock_always(rt);
    rt->depth = depth;
    rt->handles--;
}

static bool is_commodity(const cebus_runtime_options *options)
{
    return cebus_options_layout(options)->is_number;
}

/** A device that is built in, or a plug-in's. */
static cebus_status find_device(const char *name, const cebus_device_ops **out)
{
    const cebus_plugin *plugin;
    *out = cebus_device_find(name);
    if (*out != NULL)
        return CEBUS_OK;
    if (cebus_plugin_find(name, &plugin) == CEBUS_OK) {
        *out = plugin->device;
        return CEBUS_OK;
    }
    const cebus_error why = *cebus_last_error();
    return cebus_fail(why.status, "runtime_create",
                      "no device \"%s\": %s. Built in are \"cpu\" and \"sim:MACHINE\"", name,
                      why.message);
}

static cebus_status open_device(cebus_runtime *rt, const cebus_runtime_options *options)
{
    const char *name = options->device != NULL ? options->device : "cpu";
    cebus_status status = find_device(name, &rt->device_ops);
    if (status != CEBUS_OK)
        return status;
    cebus_device_options device = {.name = name,
                                   .threads = options->threads,
                                   .unlimited = is_commodity(options),
                                   .profile = options->profile,
                                   .host = &rt->host};
    status = rt->device_ops->open(&device, &rt->device);
    if (status != CEBUS_OK)
        return status;
    snprintf(rt->device_name, sizeof rt->device_name, "%s", name);
    rt->device_ops->query(rt->device, &rt->info);
    if (rt->info.timed && rt->cost_model == CEBUS_COST_ESTIMATED)
        rt->info.out_rate = rt->info.in_rate = rt->info.copy_rate = rt->info.latency_ns = 0;
    rt->device_context = rt->device_ops->context(rt->device);
    return CEBUS_OK;
}

/** Where the host's memory is the device's, a copy in it gains nothing over a file. */
static uint64_t host_budget_of(const cebus_runtime *rt, const cebus_runtime_options *options)
{
    bool same = !rt->info.remote && !rt->info.simulated;
    if (options->host_budget > 0)
        return options->host_budget;
    return same && options->spill_budget > 0 ? 0 : rt->info.host_bytes / 2;
}

static cebus_status open_tiers(cebus_runtime *rt, const cebus_runtime_options *options)
{
    rt->swap.host_budget = rt->swap.budget = host_budget_of(rt, options);
    rt->swap.pinned_budget =
        options->pinned_budget > 0 ? options->pinned_budget : rt->swap.host_budget;
    if (options->spill_budget == 0 || options->swap == CEBUS_SWAP_OFF)
        return CEBUS_OK;
    if (rt->info.simulated)
        return cebus_fail(CEBUS_UNSUPPORTED, "runtime_create",
                          "device %s has no bytes to spill: leave spill_budget 0, or take cpu",
                          rt->device_name);
    rt->swap.budget += options->spill_budget;
    cebus_spill_setup setup = {.directory = options->spill_directory,
                               .budget = options->spill_budget,
                               .host = &rt->host,
                               .pool = &rt->pool};
    return cebus_spill_open(&setup, &rt->swap.spill);
}

/** A device that forgets bytes must not be at work on them. */
static void forget_bytes(void *context, uint64_t offset, uint64_t bytes)
{
    cebus_runtime *rt = context;
    (void)rt->device_ops->synchronize(rt->device);
    rt->device_ops->slab_decommit(rt->device, rt->base, offset, offset + bytes);
}

/** Memory as a number wants so many addresses that a hole for what the budget allows is always
 * found. */
static uint64_t most_of(const cebus_runtime *rt, const cebus_layout *layout, uint64_t budget)
{
    uint64_t most = cebus_max_u64(budget, rt->info.memory_bytes);
    return layout->is_number ? cebus_max_u64(most, UINT64_C(1) << 36) : most;
}

/** The slab reserves room for the budget to grow to all the device has; pages cost nothing. */
static cebus_status open_arena(cebus_runtime *rt, const cebus_runtime_options *options)
{
    uint64_t budget = options->memory_budget;
    const cebus_layout *layout = cebus_options_layout(options);
    if (budget == 0)
        budget = rt->info.memory_bytes / 10 * 8;
    if (layout->extend != NULL && rt->info.commits)
        return cebus_fail(CEBUS_UNSUPPORTED, "runtime_create",
                          "layout %s maps pages here and there, which device %s cannot: take cpu, "
                          "sim:NAME, or another layout",
                          layout->name, rt->device_name);
    rt->most_bytes = most_of(rt, layout, budget);
    cebus_arena_setup setup = {.layout = layout,
                               .limit = options->memory_budget == 0 ? cebus_budget_begin(rt, budget)
                                                                    : budget,
                               .most = rt->most_bytes,
                               .alignment = rt->info.alignment};
    rt->slab_bytes = cebus_arena_addresses(&setup);
    cebus_status status = rt->device_ops->slab_reserve(rt->device, rt->slab_bytes, &rt->base);
    if (status != CEBUS_OK)
        return status;
    if (cebus_arena_open(&rt->arena, &setup, &rt->pool) != CEBUS_PLACED)
        return cebus_fail(CEBUS_OUT_OF_HOST_MEMORY, "runtime_create",
                          "no host memory for the arena's books");
    rt->arena.on_unmap = forget_bytes;
    rt->arena.on_unmap_context = rt;
    if (layout->address_factor == 1)
        status = rt->device_ops->slab_commit(rt->device, rt->base, 0, rt->arena.limit);
    if (status != CEBUS_OK)
        return status;
    rt->stats.reserved_bytes_current = rt->arena.limit;
    return CEBUS_OK;
}

cebus_status cebus_runtime_create(const cebus_runtime_options *options, cebus_runtime **out)
{
    cebus_runtime_options known;
    if (out == NULL)
        return cebus_fail(CEBUS_INVALID_ARGUMENT, "runtime_create", "out is NULL");
    *out = NULL;
    cebus_status status = cebus_options_read(options, &known);
    if (status != CEBUS_OK)
        return status;
    cebus_host_allocator host = known.host != NULL ? *known.host : cebus_host_default();
    cebus_runtime *rt = host.alloc(host.context, sizeof *rt);
    if (rt == NULL)
        return cebus_fail(CEBUS_OUT_OF_HOST_MEMORY, "runtime_create", "no host memory");
    memset(rt, 0, sizeof *rt);
    pthread_mutex_init(&rt->mutex, NULL);
    rt->host = host;
    cebus_pool_init(&rt->pool, &host);
    rt->pool.direct = (known.debug & CEBUS_DEBUG_HOST) != 0;
    cebus_lineage_init(&rt->lineage, &rt->pool);
    rt->policy = cebus_options_chosen_policy(&known);
    rt->learning = known.policy != NULL ? CEBUS_LEARNS : CEBUS_LEARNS_ONCE_SHORT;
    rt->seed = rt->chaos = known.seed;
    rt->cost_model = known.cost_model;
    rt->swap.option = known.swap;
    rt->debug = known.debug;
    status = open_device(rt, &known);
    if (status == CEBUS_OK)
        status = open_tiers(rt, &known);
    if (status == CEBUS_OK)
        status = open_arena(rt, &known);
    if (status != CEBUS_OK) {
        destroy(rt);
        return status;
    }
    cebus_guidance_start(rt);
    *out = rt;
    return CEBUS_OK;
}

void cebus_runtime_destroy(cebus_runtime *rt)
{
    if (rt == NULL)
        return;
    cebus_runtime_lock_always(rt);
    rt->watch.on = rt->watch.due = false;
    cebus_capture_abandon(rt);
    rt->closing = true;
    cebus_runtime_unlock(rt);
}

cebus_status cebus_runtime_set_policy(cebus_runtime *rt, const char *policy)
{
    const cebus_policy *found = NULL;
    cebus_status status = cebus_options_policy(policy, &found);
    if (status == CEBUS_OK)
        status = cebus_runtime_lock(rt, "set_policy");
    if (status != CEBUS_OK)
        return status;
    rt->policy = found;
    rt->learning = CEBUS_LEARNS;
    cebus_guidance_start(rt);
    cebus_capture_restart(rt);
    cebus_runtime_unlock(rt);
    return CEBUS_OK;
}

const char *cebus_runtime_policy(const cebus_runtime *rt)
{
    cebus_runtime *locked = (cebus_runtime *)rt;
    cebus_runtime_lock_always(locked);
    const char *name = rt->policy->name;
    cebus_runtime_unlock(locked);
    return name;
}

const char *cebus_runtime_layout(const cebus_runtime *rt)
{
    return rt != NULL ? rt->arena.layout->name : NULL;
}

bool cebus_runtime_swaps(const cebus_runtime *rt)
{
    return rt != NULL && cebus_swap_wanted(rt);
}

const char *cebus_layout_name(size_t i)
{
    const cebus_layout *layout = cebus_layout_at(i);
    return layout != NULL ? layout->name : NULL;
}

const char *cebus_policy_name(size_t i)
{
    const cebus_policy *policy = cebus_policy_at(i);
    return policy != NULL ? policy->name : NULL;
}

int cebus_runtime_threads(const cebus_runtime *rt)
{
    return rt->info.threads;
}

void cebus_manual_seed(cebus_runtime *rt, uint64_t seed)
{
    cebus_runtime_lock_always(rt);
    rt->seed = seed;
    rt->rng_offset = 0;
    if (rt->capture != NULL)
        cebus_capture_reseed(rt);
    cebus_runtime_unlock(rt);
}

cebus_status cebus_runtime_synchronize(cebus_runtime *rt)
{
    cebus_status status = cebus_runtime_lock(rt, "synchronize");
    if (status != CEBUS_OK)
        return status;
    status = rt->device_ops->synchronize(rt->device);
    cebus_runtime_unlock(rt);
    return status;
}

cebus_status cebus_runtime_trim(cebus_runtime *rt)
{
    cebus_status status = cebus_runtime_lock(rt, "trim");
    if (status != CEBUS_OK)
        return status;
    cebus_ladder_evict_all(rt, true);
    status = rt->device_ops->synchronize(rt->device);
    cebus_swap_reclaim(rt);
    for (const cebus_block *block = rt->info.commits ? NULL : rt->arena.first;
         block != NULL && status == CEBUS_OK; block = block->next) {
        if (block->state == CEBUS_BLOCK_FREE)
            rt->device_ops->slab_decommit(rt->device, rt->base, block->offset,
                                          block->offset + block->bytes);
    }
    cebus_runtime_unlock(rt);
    return status;
}

void cebus_runtime_set_event_hook(cebus_runtime *rt, cebus_event_hook hook, void *context)
{
    cebus_runtime_lock_always(rt);
    rt->events.hook = hook;
    rt->events.context = context;
    rt->events.count = rt->events.delivered = 0;
    cebus_runtime_unlock(rt);
}

cebus_status cebus_iteration_mark(cebus_runtime *rt)
{
    cebus_status status = cebus_runtime_lock(rt, "iteration_mark");
    if (status != CEBUS_OK)
        return status;
    rt->stats.iterations++;
    cebus_strain_end(rt);
    cebus_event_emit(rt, (cebus_event){.kind = CEBUS_EVENT_MARK});
    if (rt->recorder != NULL)
        cebus_record_mark(rt);
    if (rt->guidance != NULL)
        cebus_guidance_mark(rt);
    cebus_capture_turn(rt, true);
    cebus_runtime_unlock(rt);
    return CEBUS_OK;
}
