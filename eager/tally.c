#include "eager/tally.h"

#include "layout/number.h"

static uint64_t ppm_of_budget(const cebus_runtime *rt, uint64_t bytes)
{
    return (uint64_t)(1e6 * (double)bytes / (double)rt->arena.limit);
}

void cebus_tally_retry(cebus_runtime *rt, uint64_t bytes)
{
    uint64_t idle = cebus_arena_free_bytes(&rt->arena);
    uint64_t ppm = ppm_of_budget(rt, idle > bytes ? idle - bytes : 0);
    rt->stats.num_alloc_retries++;
    rt->stats.stranded_bytes_max =
        cebus_max_u64(rt->stats.stranded_bytes_max, cebus_arena_stranded_bytes(&rt->arena, bytes));
    rt->stats.fragmentation_ppm_sum += ppm;
    rt->stats.fragmentation_ppm_max = cebus_max_u64(rt->stats.fragmentation_ppm_max, ppm);
}

void cebus_tally_forced(cebus_runtime *rt, uint64_t free_before, const cebus_block *block)
{
    cebus_memory_stats *stats = &rt->stats;
    uint64_t unused = cebus_arena_free_bytes(&rt->arena);
    uint64_t beyond = free_before > block->bytes ? free_before - block->bytes : 0;
    stats->forced_evictions++;
    stats->forced_free_ppm_sum += ppm_of_budget(rt, beyond);
    stats->forced_free_ppm_max =
        cebus_max_u64(stats->forced_free_ppm_max, ppm_of_budget(rt, beyond));
    stats->unused_ppm_sum += ppm_of_budget(rt, unused);
    stats->unused_ppm_max = cebus_max_u64(stats->unused_ppm_max, ppm_of_budget(rt, unused));
    stats->unused_with_request_ppm_sum += ppm_of_budget(rt, unused + block->bytes);
}

void cebus_tally_placed(cebus_runtime *rt, const cebus_block *block)
{
    rt->stats.allocated_bytes_allocated += block->bytes;
    rt->stats.allocated_bytes_peak =
        cebus_max_u64(rt->stats.allocated_bytes_peak, rt->arena.used_bytes);
    rt->iteration_peak = cebus_max_u64(rt->iteration_peak, rt->arena.used_bytes);
}
