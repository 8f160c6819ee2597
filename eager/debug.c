#include "eager/debug.h"

#include <inttypes.h>
#include <stdio.h>

#include "eager/storage.h"
#include "eager/swap/swap.h"

/** FNV-1a: any changed bit changes it with high probability. */
static uint64_t hash_bytes(uint64_t hash, const char *bytes, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++)
        hash = (hash ^ (unsigned char)bytes[i]) * UINT64_C(1099511628211);
    return hash;
}

/** Piece by piece through the host's memory. */
static bool hash_remote(cebus_runtime *rt, const char *bytes, uint64_t count, uint64_t *hash)
{
    char piece[4096];
    for (uint64_t at = 0; at < count; at += sizeof piece) {
        uint64_t part = count - at < sizeof piece ? count - at : sizeof piece;
        if (rt->device_ops->copy(rt->device, piece, bytes + at, part, CEBUS_COPY_TO_HOST) !=
            CEBUS_OK)
            return false;
        *hash = hash_bytes(*hash, piece, part);
    }
    return true;
}

static bool hash_candidate(cebus_runtime *rt, cebus_candidate *candidate, uint64_t *out)
{
    cebus_swap_settle(rt, candidate);
    if (candidate->block == NULL || rt->device_ops->synchronize(rt->device) != CEBUS_OK)
        return false;
    uint64_t hash = UINT64_C(14695981039346656037);
    const char *bytes = cebus_candidate_address(rt, candidate);
    if (!rt->info.remote)
        hash = hash_bytes(hash, bytes, candidate->value.bytes);
    else if (!hash_remote(rt, bytes, candidate->value.bytes, &hash))
        return false;
    *out = hash != 0 ? hash : 1;
    return true;
}

void cebus_debug_leave(cebus_runtime *rt, cebus_candidate *candidate)
{
    if ((rt->debug & CEBUS_DEBUG_HASH) && candidate->hash == 0)
        (void)hash_candidate(rt, candidate, &candidate->hash);
}

cebus_status cebus_debug_return(cebus_runtime *rt, cebus_candidate *candidate)
{
    uint64_t hash;
    if (!(rt->debug & CEBUS_DEBUG_HASH) || candidate->hash == 0)
        return CEBUS_OK;
    if (!hash_candidate(rt, candidate, &hash) || hash == candidate->hash)
        return CEBUS_OK;
    const cebus_call *producer = candidate->value.producer;
    const char *name = producer != NULL ? ((const cebus_op *)producer->op)->name : "swap";
    return cebus_fail(CEBUS_INTERNAL, name,
                      "its replay gave other bytes than its first run (%" PRIu64 " bytes): the "
                      "kernel is not deterministic; flag it non-replayable",
                      candidate->value.bytes);
}

void cebus_debug_chaos(cebus_runtime *rt)
{
    if (!(rt->debug & CEBUS_DEBUG_CHAOS) || rt->policy->unit == CEBUS_UNIT_NONE)
        return;
    rt->chaos = rt->chaos * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    uint64_t skip = (rt->chaos >> 33) % (rt->arena.used_blocks + 1);
    cebus_candidate *last = NULL;
    for (cebus_block *block = rt->arena.first; block != NULL; block = block->next) {
        cebus_candidate *candidate = block->owner;
        if (candidate == NULL || !cebus_candidate_is_evictable(candidate))
            continue;
        last = candidate;
        if (skip-- == 0)
            break;
    }
    if (last == NULL)
        return;
    rt->stats.evictions++;
    rt->stats.dropped_bytes += last->value.bytes;
    cebus_candidate_drop(rt, last);
}

/** The values in blocks. With the lock taken once no call is under way: none is in use. */
static bool check_blocks(cebus_runtime *rt, char *why, size_t why_bytes)
{
    for (const cebus_block *block = rt->arena.first; block != NULL; block = block->next) {
        const cebus_candidate *candidate = block->owner;
        if (candidate == NULL)
            continue;
        if (candidate->block != block || !candidate->value.resident) {
            snprintf(why, why_bytes, "the block at %" PRIu64 " and its owner disagree",
                     block->offset);
            return false;
        }
        if (!cebus_value_check(&candidate->value, why, why_bytes))
            return false;
        if (candidate->value.pins > 0 && rt->depth == 1) {
            snprintf(why, why_bytes, "the value at %" PRIu64 " is pinned by no call",
                     block->offset);
            return false;
        }
    }
    return true;
}

cebus_status cebus_debug_walk(cebus_runtime *rt, const char *op)
{
    char why[256] = "";
    if (cebus_arena_check(&rt->arena, why, sizeof why) && check_blocks(rt, why, sizeof why))
        return CEBUS_OK;
    return cebus_fail(CEBUS_INTERNAL, op, "broken invariant: %s", why);
}
