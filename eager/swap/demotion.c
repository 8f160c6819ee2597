#include "eager/swap/demotion.h"

#include "eager/swap/away.h"
#include "eager/swap/spill_copy.h"
#include "eager/swap/swap.h"

/** So much of the host's budget should be free. */
#define MARK_PART 8

/** A copy that nobody wants: it goes once it is written. */
static void cancel(cebus_runtime *rt, size_t i)
{
    cebus_swapper *swap = &rt->swap;
    cebus_demotion gone = swap->demotions[i];
    swap->demotions[i] = swap->demotions[--swap->n_demotions];
    swap->demoting_bytes -= gone.candidate->value.bytes;
    gone.candidate->host_mark = gone.copy->out_mark; /* until then its bytes are read */
    cebus_swap_leave(rt, (cebus_host_bytes){.pointer = gone.copy,
                                            .bytes = gone.candidate->value.bytes,
                                            .out_mark = gone.copy->out_mark,
                                            .tier = CEBUS_TIER_SPILL});
}

void cebus_demotion_cancel(cebus_runtime *rt, const cebus_candidate *candidate)
{
    for (size_t i = 0; i < rt->swap.n_demotions; i++) {
        if (rt->swap.demotions[i].candidate == candidate) {
            cancel(rt, i);
            return;
        }
    }
}

/** The coldest leaves the list, whether it can go or not: who failed once is not tried again. */
static bool start(cebus_runtime *rt)
{
    cebus_swapper *swap = &rt->swap;
    cebus_candidate *candidate = cebus_away_coldest(rt);
    uint64_t bytes = candidate->value.bytes;
    cebus_away_remove(rt, candidate);
    if (!candidate->value.swapped || candidate->host == NULL)
        return true; /* it was made again meanwhile */
    cebus_spill_copy *copy = cebus_spill_copy_create(rt, CEBUS_TIER_SPILL, bytes);
    if (copy == NULL)
        return false;
    const char *from = candidate->tier == CEBUS_TIER_HOST
                           ? candidate->host
                           : ((cebus_spill_copy *)candidate->host)->pageable;
    if (cebus_spill_copy_demote(rt, copy, from) != CEBUS_OK) {
        cebus_spill_copy_free(rt, copy);
        return false;
    }
    swap->demotions[swap->n_demotions++] = (cebus_demotion){candidate, copy};
    swap->demoting_bytes += bytes;
    return true;
}

/** Starts as many as it takes, at most as many as there is room for. */
static void start_enough(cebus_runtime *rt, uint64_t bytes)
{
    cebus_swapper *swap = &rt->swap;
    while (swap->demoting_bytes < bytes && cebus_away_coldest(rt) != NULL &&
           swap->n_demotions < CEBUS_DEMOTIONS && start(rt))
        ;
}

/** The copy takes the place of the one on the host. Waits for it; false: it failed. */
static bool finish(cebus_runtime *rt, size_t i)
{
    cebus_swapper *swap = &rt->swap;
    cebus_demotion done = swap->demotions[i];
    cebus_candidate *candidate = done.candidate;
    if (cebus_spill_copy_written(rt, done.copy) != 0 || !candidate->value.swapped) {
        bool failed = candidate->value.swapped;
        cancel(rt, i);
        return !failed;
    }
    swap->demotions[i] = swap->demotions[--swap->n_demotions];
    swap->demoting_bytes -= candidate->value.bytes;
    cebus_swap_leave(
        rt, (cebus_host_bytes){.pointer = candidate->host,
                               .bytes = candidate->value.bytes,
                               .out_mark = done.copy->out_mark,
                               .in_mark = rt->device_ops->stream_mark(rt->device, CEBUS_STREAM_IN),
                               .tier = (cebus_tier)candidate->tier});
    cebus_away_remove(rt, candidate);
    candidate->host = done.copy;
    candidate->tier = CEBUS_TIER_SPILL;
    candidate->host_mark = done.copy->out_mark;
    cebus_away_add(rt, candidate);
    rt->stats.demotions++;
    rt->stats.demoted_bytes += candidate->value.bytes;
    return true;
}

static void finish_reached(cebus_runtime *rt)
{
    cebus_swapper *swap = &rt->swap;
    for (size_t i = swap->n_demotions; i-- > 0;) {
        if (rt->device_ops->stream_reached(rt->device, CEBUS_STREAM_OUT,
                                           swap->demotions[i].copy->out_mark))
            (void)finish(rt, i);
    }
}

void cebus_demotion_look(cebus_runtime *rt)
{
    const cebus_swapper *swap = &rt->swap;
    uint64_t most = swap->host_budget - swap->host_budget / MARK_PART;
    uint64_t needed = swap->used_bytes - swap->spare_bytes - swap->leaving_bytes;
    if (swap->spill == NULL)
        return;
    finish_reached(rt);
    if (needed > most)
        start_enough(rt, needed - most);
}

void cebus_demotion_make_room(cebus_runtime *rt, uint64_t bytes)
{
    const cebus_device_ops *ops = rt->device_ops;
    cebus_swapper *swap = &rt->swap;
    uint64_t before = rt->stats.demoted_bytes, gone = 0;
    if (swap->spill == NULL)
        return;
    while (gone < bytes) {
        start_enough(rt, bytes - gone);
        if (swap->n_demotions == 0 || !finish(rt, 0))
            break;
        gone = rt->stats.demoted_bytes - before;
    }
    if (gone == 0)
        return;
    (void)ops->stream_await(rt->device, CEBUS_STREAM_IN,
                            ops->stream_mark(rt->device, CEBUS_STREAM_IN));
    cebus_swap_reclaim(rt);
}
