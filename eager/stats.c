#include <stdio.h>
#include <string.h>

#include "eager/debug.h"
#include "eager/spill/spill.h"

static void refresh_spill(cebus_runtime *rt)
{
    cebus_spill_figures now;
    if (rt->swap.spill == NULL)
        return;
    cebus_spill_query(rt->swap.spill, &now);
    rt->stats.spilled_bytes = now.written_bytes;
    rt->stats.unspilled_bytes = now.read_bytes;
    rt->stats.spill_bytes_current = now.used_bytes;
    rt->stats.spill_failures = now.failures;
}

static void refresh(cebus_runtime *rt)
{
    cebus_memory_stats *stats = &rt->stats;
    uint64_t free_bytes = cebus_arena_free_bytes(&rt->arena);
    cebus_device_info info;
    if (rt->device_ops->slab_idle != NULL)
        rt->device_ops->slab_idle(rt->device, rt->arena.untouched, rt->arena.untouched_end);
    rt->device_ops->query(rt->device, &info);
    stats->allocated_bytes_current = rt->arena.used_bytes;
    stats->largest_hole = cebus_arena_largest_hole(&rt->arena);
    stats->inactive_split_bytes = free_bytes - stats->largest_hole;
    stats->live_records = rt->lineage.live_calls;
    stats->host_bytes = rt->pool.host_bytes;
    stats->device_ns = rt->device_ops->clock(rt->device, CEBUS_STREAM_COMPUTE);
    stats->stall_ns = info.stall_ns;
    stats->outside_bytes = info.outside_bytes;
    refresh_spill(rt);
}

cebus_status cebus_runtime_memory_stats(cebus_runtime *rt, cebus_memory_stats *out)
{
    static const char op[] = "memory_stats";
    if (out == NULL || out->struct_size < sizeof(size_t))
        return cebus_fail(CEBUS_INVALID_ARGUMENT, op, "%s",
                          out == NULL ? "out is NULL" : "initialize with CEBUS_MEMORY_STATS_INIT");
    cebus_status status = cebus_runtime_lock(rt, op);
    if (status != CEBUS_OK)
        return status;
    size_t size = out->struct_size;
    size_t known = size < sizeof *out ? size : sizeof *out;
    refresh(rt);
    memcpy(out, &rt->stats, known);
    out->struct_size = size;
    cebus_runtime_unlock(rt);
    return CEBUS_OK;
}

uint64_t cebus_memory_allocated(cebus_runtime *rt)
{
    cebus_runtime_lock_always(rt);
    uint64_t bytes = rt->arena.used_bytes;
    cebus_runtime_unlock(rt);
    return bytes;
}

uint64_t cebus_max_memory_allocated(cebus_runtime *rt)
{
    cebus_runtime_lock_always(rt);
    uint64_t bytes = rt->stats.allocated_bytes_peak;
    cebus_runtime_unlock(rt);
    return bytes;
}

uint64_t cebus_memory_reserved(cebus_runtime *rt)
{
    return cebus_runtime_budget(rt);
}

void cebus_reset_peak_memory_stats(cebus_runtime *rt)
{
    cebus_runtime_lock_always(rt);
    rt->stats.allocated_bytes_peak = rt->arena.used_bytes;
    rt->stats.fragmentation_ppm_max = 0;
    rt->stats.forced_free_ppm_max = rt->stats.unused_ppm_max = 0;
    rt->stats.stranded_bytes_max = 0;
    cebus_runtime_unlock(rt);
}

size_t cebus_runtime_oom_report(cebus_runtime *rt, char *text, size_t text_bytes)
{
    cebus_runtime_lock_always(rt);
    size_t length = strlen(rt->oom_report);
    if (text_bytes > 0) {
        size_t taken = length < text_bytes ? length : text_bytes - 1;
        memcpy(text, rt->oom_report, taken);
        text[taken] = '\0';
    }
    cebus_runtime_unlock(rt);
    return length;
}

static double mib(uint64_t bytes)
{
    return (double)bytes / 0x1p20;
}

size_t cebus_runtime_tiers(cebus_runtime *rt, char *text, size_t text_bytes)
{
    char host[96] = "no host memory", spill[96] = "no spill file";
    cebus_spill_figures now;
    cebus_runtime_lock_always(rt);
    if (rt->swap.host_budget > 0)
        snprintf(host, sizeof host, "host memory %.1f of %.1f MiB, %.1f of it pageable",
                 mib(rt->swap.used_bytes), mib(rt->swap.host_budget),
                 mib(rt->info.pins ? rt->swap.pageable_bytes : rt->swap.used_bytes));
    if (rt->swap.spill != NULL) {
        cebus_spill_query(rt->swap.spill, &now);
        snprintf(spill, sizeof spill, "spill file %.1f of %.1f MiB, %s, %s", mib(now.used_bytes),
                 mib(now.budget), now.engine, now.direct ? "direct" : "through the page cache");
    }
    cebus_runtime_unlock(rt);
    return (size_t)snprintf(text, text_bytes, "%s; %s", host, spill);
}

size_t cebus_runtime_dump(cebus_runtime *rt, char *text, size_t text_bytes)
{
    cebus_runtime_lock_always(rt);
    size_t length = cebus_arena_dump(&rt->arena, text, text_bytes);
    cebus_runtime_unlock(rt);
    return length;
}

cebus_status cebus_runtime_check(cebus_runtime *rt)
{
    cebus_status status = cebus_runtime_lock(rt, "check");
    if (status != CEBUS_OK)
        return status;
    status = cebus_debug_walk(rt, "check");
    cebus_runtime_unlock(rt);
    return status;
}
