#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "eager/ladder.h"
#include "eager/swap/swap.h"

#define TOP 10

/** Appends to a fixed buffer; a full buffer swallows the rest. */
typedef struct text {
    char *at;
    size_t room;
} text;

static void CEBUS_PRINTF(2, 3) append(text *out, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int wanted = vsnprintf(out->at, out->room, format, args);
    va_end(args);
    size_t taken = wanted > 0 ? (size_t)wanted : 0;
    taken = taken < out->room ? taken : out->room - 1;
    out->at += taken;
    out->room -= taken;
}

static void append_classes(cebus_runtime *rt, text *out)
{
    uint64_t bytes[CEBUS_ZONE_COUNT] = {0}, leaves = 0, workspace = 0;
    for (const cebus_block *block = rt->arena.first; block != NULL; block = block->next) {
        const cebus_candidate *candidate = block->owner;
        if (block->state == CEBUS_BLOCK_FREE || block->unmapped)
            continue;
        if (candidate == NULL)
            workspace += block->bytes;
        else if (candidate->zone != CEBUS_ZONE_PERSISTENT && candidate->value.producer == NULL)
            leaves += block->bytes;
        else
            bytes[candidate->zone] += block->bytes;
    }
    append(out,
           "  persistent %" PRIu64 ", leaves %" PRIu64 ", rebuildable %" PRIu64
           ", workspace %" PRIu64 "\n",
           bytes[CEBUS_ZONE_PERSISTENT], leaves,
           bytes[CEBUS_ZONE_EXPENSIVE] + bytes[CEBUS_ZONE_CHEAP] + bytes[CEBUS_ZONE_TRANSIENT],
           workspace);
}

/** Whether a copy off the device would let it go. */
static bool may_swap(const cebus_runtime *rt, const cebus_candidate *candidate)
{
    cebus_swap_terms terms = cebus_swap_terms_now(rt);
    terms.persistent = true; /* as the last resort has it */
    return cebus_candidate_is_idle(candidate) && cebus_regen_may_swap(&terms, candidate);
}

/** Keeps the TOP largest blocks that cannot go, largest first. */
static size_t find_unevictable(cebus_runtime *rt, const cebus_block *top[TOP])
{
    size_t count = 0;
    for (const cebus_block *block = rt->arena.first; block != NULL; block = block->next) {
        const cebus_candidate *candidate = block->owner;
        if (candidate == NULL || cebus_candidate_is_evictable(candidate) || may_swap(rt, candidate))
            continue;
        size_t at = count;
        while (at > 0 && top[at - 1]->bytes < block->bytes)
            at--;
        if (at == TOP)
            continue;
        size_t last = count < TOP ? count++ : TOP - 1;
        memmove(&top[at + 1], &top[at], (last - at) * sizeof *top);
        top[at] = block;
    }
    return count;
}

static void append_unevictable(cebus_runtime *rt, text *out)
{
    const cebus_block *top[TOP];
    size_t count = find_unevictable(rt, top);
    if (count > 0)
        append(out, "  largest that cannot go:\n");
    for (size_t i = 0; i < count; i++) {
        const cebus_candidate *candidate = top[i]->owner;
        const cebus_call *call = candidate->value.producer;
        const cebus_op *op = call != NULL ? call->op : NULL;
        append(out, "    %" PRIu64 " bytes at %" PRIu64 ", made by %s: %s\n", top[i]->bytes,
               top[i]->offset, op != NULL ? op->name : "the program",
               cebus_candidate_reason(candidate));
    }
}

static void write_report(cebus_runtime *rt, const cebus_shortage *shortage)
{
    text out = {rt->oom_report, sizeof rt->oom_report};
    append(&out,
           "out of memory: %s wants %" PRIu64 " bytes\n  budget %" PRIu64 ", used %" PRIu64
           ", free %" PRIu64 ", largest hole %" PRIu64 ", stranded %" PRIu64 "\n",
           shortage->op, shortage->bytes, rt->arena.limit, rt->arena.used_bytes,
           cebus_arena_free_bytes(&rt->arena), shortage->hole,
           cebus_arena_stranded_bytes(&rt->arena, shortage->bytes));
    append(&out, "  rungs tried: free block, %s\n",
           rt->policy->unit == CEBUS_UNIT_NONE
               ? "none more (policy none)"
               : "evict, cut lineage, evict and compact, leaf gradients");
    append_classes(rt, &out);
    append_unevictable(rt, &out);
}

cebus_status cebus_oom_tell(cebus_runtime *rt)
{
    const cebus_shortage *shortage = &rt->shortage;
    rt->stats.num_ooms++;
    cebus_event_emit(rt, (cebus_event){.kind = CEBUS_EVENT_OUT_OF_MEMORY,
                                       .rung = CEBUS_RUNG_FAILED,
                                       .op = shortage->op,
                                       .bytes = shortage->bytes});
    (void)cebus_fail(CEBUS_OUT_OF_MEMORY, shortage->op,
                     "needs %" PRIu64 " bytes; budget %" PRIu64 ", largest hole %" PRIu64
                     ", and nothing more can be given up. Raise the budget or release tensors; "
                     "cebus_runtime_oom_report() has the details",
                     shortage->bytes, rt->arena.limit, shortage->hole);
    return cebus_fail_bytes(shortage->bytes);
}

cebus_status cebus_oom_fail(cebus_runtime *rt, uint64_t bytes, const char *op)
{
    if (rt->trial > 0)
        return CEBUS_OUT_OF_MEMORY;
    rt->shortage = (cebus_shortage){
        .op = op, .bytes = bytes, .hole = cebus_arena_largest_hole_for(&rt->arena, bytes)};
    write_report(rt, &rt->shortage);
    return rt->retries ? CEBUS_OUT_OF_MEMORY : cebus_oom_tell(rt);
}

cebus_status cebus_oom_budget(cebus_runtime *rt, uint64_t bytes)
{
    static const char op[] = "set_budget";
    uint64_t used = rt->arena.used_bytes;
    (void)cebus_oom_fail(rt, used, op);
    (void)cebus_fail(CEBUS_OUT_OF_MEMORY, op,
                     used > bytes
                         ? "%" PRIu64 " bytes are less than the %" PRIu64 " that cannot be "
                           "given up: ask for more or release tensors; "
                           "cebus_runtime_oom_report() has the details"
                         : "of what cannot be given up some lies beyond %" PRIu64 " bytes (%" PRIu64
                           " in all) and cannot be moved: ask for more, "
                           "or unmap or release tensors",
                     bytes, used);
    return cebus_fail_bytes(used);
}
