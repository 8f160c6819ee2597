#include "eager/residency.h"

#include <assert.h>
#include <stdlib.h>

#include "eager/budget.h"
#include "eager/ladder.h"
#include "eager/rebuild/foresight.h"
#include "eager/rebuild/rebuild.h"
#include "eager/swap/swap.h"
#include "eager/tensor.h"
#include "lineage/version.h"

/** How values that are pinned in turn are brought back; combined with |. */
enum {
    PIN_LAST_FIRST = 1 << 0,
    PIN_AT_ANY_COST = 1 << 1, /**< whatever it takes to make again what goes for it */
};

/** Makes values resident one after the other, pinning each before the next. */
static cebus_status pin_in_turn(cebus_runtime *rt, cebus_candidate *const *values, size_t n,
                                unsigned how, const char *op)
{
    const bool backward = (how & PIN_LAST_FIRST) != 0;
    for (size_t k = 0; k < n; k++) {
        size_t i = backward ? n - 1 - k : k;
        if (values[i] == NULL)
            continue;
        values[i]->value.pins++;
        cebus_status status = CEBUS_OK;
        if (!values[i]->value.resident)
            status = (how & PIN_AT_ANY_COST) != 0 ? cebus_rebuild_at_any_cost(rt, values[i], op)
                                                  : cebus_rebuild(rt, values[i], op);
        if (status == CEBUS_OK)
            continue;
        for (size_t undo = 0; undo <= k; undo++) {
            size_t j = backward ? n - 1 - undo : undo;
            if (values[j] != NULL)
                values[j]->value.pins--;
        }
        return status;
    }
    return CEBUS_OK;
}

/** What has to be made again before what is at hand, or can be copied back; the larger first. */
static bool goes_first(const cebus_candidate *a, const cebus_candidate *b)
{
    bool a_present = cebus_value_is_present(&a->value),
         b_present = cebus_value_is_present(&b->value);
    return a_present != b_present ? b_present : a->value.bytes > b->value.bytes;
}

/** The values without NULLs, by goes_first; NULL without host memory. */
static cebus_candidate **sort_by_need(cebus_runtime *rt, cebus_candidate *const *values, size_t n,
                                      size_t *out_count)
{
    size_t count = 0;
    cebus_candidate **sorted = cebus_pool_alloc(&rt->pool, n * sizeof *sorted);
    for (size_t i = 0; i < n && sorted != NULL; i++) {
        size_t at = count;
        if (values[i] == NULL)
            continue;
        for (; at > 0 && goes_first(values[i], sorted[at - 1]); at--)
            sorted[at] = sorted[at - 1];
        sorted[at] = values[i];
        count++;
    }
    *out_count = count;
    return sorted;
}

/** Rebuilds take more room than what they make: they run before anything else is pinned. */
static cebus_status pin_by_need(cebus_runtime *rt, cebus_candidate *const *values, size_t n,
                                unsigned how, const char *op)
{
    size_t count;
    cebus_candidate **sorted = sort_by_need(rt, values, n, &count);
    if (sorted == NULL)
        return CEBUS_OUT_OF_MEMORY; /* as the order before this one found */
    cebus_status status = pin_in_turn(rt, sorted, count, how, op);
    cebus_pool_free_object(&rt->pool, sorted, n * sizeof *sorted);
    return status;
}

static cebus_status pin_and_rebuild(cebus_runtime *rt, cebus_candidate *const *values, size_t n,
                                    const char *op)
{
    for (size_t i = 0; i < n; i++) {
        if (values[i] != NULL)
            values[i]->value.pins++;
    }
    cebus_status status = cebus_rebuild_all(rt, values, n, op);
    if (status != CEBUS_OK)
        cebus_residency_end(rt, values, n);
    return status;
}

static bool all_resident(cebus_candidate *const *values, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (values[i] != NULL && !values[i]->value.resident)
            return false;
    }
    return true;
}

/** Where late values stay (foresight.h), or did so meanwhile, it is tried without them at last:
 * better slow than out of memory. That is told when it is known which try was the last. */
static cebus_status pin_at_last(cebus_runtime *rt, cebus_candidate *const *values, size_t n,
                                const char *op)
{
    bool stays = cebus_foresight_stays(rt) > 0;
    rt->retries = true;
    rt->shortage.op = NULL;
    cebus_status status = pin_in_turn(rt, values, n, 0, op);
    stays |= cebus_foresight_stays(rt) > 0;
    rt->retries = false;
    if (status != CEBUS_OUT_OF_MEMORY)
        return status;
    if (!stays)
        return rt->shortage.op != NULL ? cebus_oom_tell(rt) : status;
    rt->oom_report[0] = '\0';
    cebus_ladder_evict_all(rt, true);
    return pin_in_turn(rt, values, n, 0, op);
}

static cebus_status make_resident(cebus_runtime *rt, cebus_candidate *const *values, size_t n,
                                  const char *op)
{
    if (all_resident(values, n)) {
        for (size_t i = 0; i < n; i++) {
            if (values[i] != NULL)
                values[i]->value.pins++;
        }
        return CEBUS_OK;
    }
    rt->trial++;
    cebus_status status = pin_and_rebuild(rt, values, n, op);
    /* Each input's chain may run before the other inputs take their room, in either order. At last
     * dearer values go for it, of which fewer go than for an empty arena, and then all. */
    if (status == CEBUS_OUT_OF_MEMORY)
        status = pin_by_need(rt, values, n, 0, op);
    if (status == CEBUS_OUT_OF_MEMORY)
        status = pin_in_turn(rt, values, n, PIN_LAST_FIRST, op);
    if (status == CEBUS_OUT_OF_MEMORY)
        status = pin_in_turn(rt, values, n, 0, op);
    if (status == CEBUS_OUT_OF_MEMORY)
        status = pin_by_need(rt, values, n, PIN_AT_ANY_COST, op);
    if (status == CEBUS_OUT_OF_MEMORY) {
        cebus_ladder_evict_all(rt, false);
        status = pin_by_need(rt, values, n, 0, op);
    }
    rt->trial--;
    return status == CEBUS_OUT_OF_MEMORY ? pin_at_last(rt, values, n, op) : status;
}

/** What is on its way from the spill file must have come as it was written. */
static cebus_status check_arrivals(cebus_runtime *rt, cebus_candidate *const *values, size_t n,
                                   const char *op)
{
    cebus_status status = CEBUS_OK;
    for (size_t i = 0; i < n && status == CEBUS_OK; i++)
        status = cebus_swap_arrive(rt, values[i], op);
    return status;
}

cebus_status cebus_residency_begin(cebus_runtime *rt, cebus_candidate *const *values, size_t n,
                                   const char *op)
{
    cebus_status status = make_resident(rt, values, n, op);
    if (status != CEBUS_OK || rt->swap.spill == NULL)
        return status;
    status = check_arrivals(rt, values, n, op);
    if (status != CEBUS_OK)
        cebus_residency_end(rt, values, n);
    return status;
}

void cebus_residency_end(cebus_runtime *rt, cebus_candidate *const *values, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (values[i] == NULL)
            continue;
        values[i]->value.pins--;
        cebus_candidate_settle(rt, values[i]);
    }
}

static bool push(cebus_runtime *rt, cebus_candidate ***list, size_t *capacity, size_t *count,
                 cebus_candidate *candidate)
{
    void *items = *list;
    if (!cebus_pool_grow(&rt->pool, &items, capacity, *count, sizeof **list))
        return false;
    *list = items;
    (*list)[(*count)++] = candidate;
    return true;
}

static bool push_pinned(cebus_runtime *rt, cebus_pinned *pinned, cebus_candidate *candidate)
{
    return push(rt, &pinned->items, &pinned->capacity, &pinned->count, candidate);
}

/** All that was absent is there. */
static bool pin_survivors(cebus_runtime *rt, cebus_candidate *leaf, cebus_pinned *pinned)
{
    cebus_versions survivors;
    if (cebus_version_survivors(&rt->lineage, &leaf->value, &survivors) != CEBUS_OK)
        return false;
    for (size_t i = 0; i < survivors.count; i++) {
        if (!push_pinned(rt, pinned, cebus_candidate_of(survivors.values[i])))
            return false;
        survivors.values[i]->pins++;
    }
    return push(rt, &pinned->leaves, &pinned->room, &pinned->n_leaves, leaf);
}

/** Makes what a cut would forget, and pins that and all else that was made of the leaf. */
static cebus_status bring_dependants(cebus_runtime *rt, cebus_candidate *leaf, cebus_pinned *pinned,
                                     const char *op)
{
    for (;;) {
        cebus_value *held;
        cebus_status status = cebus_version_dependant(&rt->lineage, &leaf->value, &held);
        if (status != CEBUS_OK)
            return cebus_fail(status, op, "no host memory to find what reads the old contents");
        if (held == NULL)
            return pin_survivors(rt, leaf, pinned)
                       ? CEBUS_OK
                       : cebus_fail(CEBUS_OUT_OF_HOST_MEMORY, op, "no host memory to keep a list");
        cebus_candidate *dependant = cebus_candidate_of(held);
        status = cebus_residency_begin(rt, &dependant, 1, op);
        if (status != CEBUS_OK)
            return status;
        if (!push_pinned(rt, pinned, dependant)) {
            cebus_residency_end(rt, &dependant, 1);
            return cebus_fail(CEBUS_OUT_OF_HOST_MEMORY, op, "no host memory to keep a list");
        }
    }
}

/** Whether it is only there for something absent that is made of it, and may go. */
static bool is_passing(cebus_runtime *rt, cebus_value *value)
{
    return value->holders == 0 && value->parked == 0 && value->producer != NULL &&
           cebus_version_is_missed(&rt->lineage, value);
}

/** Lists those of [from, count); answers how many, and their bytes. */
static size_t list_passing(cebus_runtime *rt, const cebus_pinned *pinned, size_t from,
                           cebus_value **out, uint64_t *bytes)
{
    size_t n = 0;
    *bytes = 0;
    for (size_t i = from; i < pinned->count; i++) {
        if (!is_passing(rt, &pinned->items[i]->value))
            continue;
        *bytes += pinned->items[i]->value.bytes;
        out[n++] = &pinned->items[i]->value;
    }
    return n;
}

/** The last that the program made first: what it takes to make that makes most of the others, too.
 */
static int by_age(const void *left, const void *right)
{
    const cebus_candidate *a = *(cebus_candidate *const *)left,
                          *b = *(cebus_candidate *const *)right;
    return a->serial > b->serial ? -1 : a->serial < b->serial;
}

/** Makes and pins them all. */
static cebus_status bring_heirs(cebus_runtime *rt, const cebus_heirs *heirs, cebus_pinned *pinned,
                                const char *op)
{
    size_t n = heirs->count, bytes = n * sizeof(cebus_candidate *);
    cebus_candidate **list = cebus_pool_alloc(&rt->pool, bytes);
    if (list == NULL)
        return CEBUS_OUT_OF_MEMORY;
    for (size_t i = 0; i < n; i++)
        list[i] = cebus_candidate_of(heirs->values[i]);
    qsort(list, n, sizeof *list, by_age);
    cebus_status status = cebus_residency_begin(rt, list, n, op);
    size_t i = 0;
    while (status == CEBUS_OK && i < n && push_pinned(rt, pinned, list[i]))
        i++;
    if (status == CEBUS_OK && i < n) {
        cebus_residency_end(rt, list + i, n - i);
        status = CEBUS_OUT_OF_MEMORY;
    }
    cebus_pool_free_object(&rt->pool, list, bytes);
    return status;
}

/**
 * What is there in passing could go no more after a cut, as long as something that is made of it is
 * absent: a whole map for the gradient of a bias. Where that is less, it is made now.
 * CEBUS_OUT_OF_MEMORY: it does not fit.
 */
static cebus_status free_survivors(cebus_runtime *rt, cebus_pinned *pinned, size_t from,
                                   const char *op)
{
    cebus_heirs heirs = {0};
    uint64_t stranded;
    size_t bytes = (pinned->count - from) * sizeof(cebus_value *);
    if (pinned->count == from || cebus_swap_terms_now(rt).use != CEBUS_SWAP_NEVER)
        return CEBUS_OK;
    cebus_value **passing = cebus_pool_alloc(&rt->pool, bytes);
    if (passing == NULL)
        return CEBUS_OUT_OF_MEMORY;
    size_t n = list_passing(rt, pinned, from, passing, &stranded);
    cebus_status status =
        n > 0 ? cebus_version_heirs_of(&rt->lineage, passing, n, stranded, &heirs) : CEBUS_OK;
    if (status == CEBUS_OK && heirs.bytes < stranded)
        status = bring_heirs(rt, &heirs, pinned, op);
    cebus_pool_free_object(&rt->pool, passing, bytes);
    return status == CEBUS_OUT_OF_HOST_MEMORY ? CEBUS_OUT_OF_MEMORY : status;
}

/** Records read a copy of the leaf from now on. */
static cebus_status hand_over(cebus_runtime *rt, cebus_candidate *leaf, const char *op)
{
    cebus_candidate *copy = cebus_candidate_create(rt, leaf->value.bytes);
    if (copy == NULL)
        return cebus_fail(CEBUS_OUT_OF_HOST_MEMORY, op, "no host memory to keep the old contents");
    cebus_status status =
        cebus_candidate_copy(rt, leaf, copy, CEBUS_ZONE_CHEAP, CEBUS_ANYWHERE, op);
    if (status == CEBUS_OK)
        cebus_version_hand_over(&leaf->value, &copy->value);
    cebus_candidate_unhold(rt, copy);
    return status;
}

static void unpin_from(cebus_runtime *rt, cebus_pinned *pinned, size_t from)
{
    for (size_t i = from; i < pinned->count; i++) {
        pinned->items[i]->value.pins--;
        if (pinned->items[i]->value.parked > 0) /* others are held, or missed */
            cebus_candidate_settle(rt, pinned->items[i]);
    }
    pinned->count = from;
}

cebus_status cebus_residency_before_write(cebus_runtime *rt, cebus_candidate *leaf,
                                          cebus_pinned *pinned, const char *op)
{
    size_t count = pinned->count, n_leaves = pinned->n_leaves;
    /* Plans do not know of copies. And where values go to the host, a step may go in parts, and has
     * to know before its first write that all of them will find room (optim/step.c): what one can
     * do with a copy says nothing about the next. */
    if (rt->policy->plan != NULL || cebus_swap_terms_now(rt).use != CEBUS_SWAP_NEVER)
        return bring_dependants(rt, leaf, pinned, op);
    rt->trial++;
    cebus_status status = bring_dependants(rt, leaf, pinned, op);
    if (status == CEBUS_OK)
        status = free_survivors(rt, pinned, count, op);
    if (status == CEBUS_OUT_OF_MEMORY) {
        unpin_from(rt, pinned, count);
        pinned->n_leaves = n_leaves;
        status = hand_over(rt, leaf, op);
    }
    rt->trial--;
    return status == CEBUS_OUT_OF_MEMORY ? bring_dependants(rt, leaf, pinned, op) : status;
}

void cebus_residency_cut(cebus_runtime *rt, const cebus_pinned *pinned)
{
    for (size_t i = 0; i < pinned->n_leaves; i++) {
        /* The same readers were walked before, so the scratch space is there. */
        cebus_status status = cebus_version_cut(&rt->lineage, &pinned->leaves[i]->value);
        assert(status == CEBUS_OK);
        (void)status;
    }
}

void cebus_residency_unpin(cebus_runtime *rt, cebus_pinned *pinned)
{
    unpin_from(rt, pinned, 0);
    cebus_pool_free_object(&rt->pool, pinned->items, pinned->capacity * sizeof *pinned->items);
    cebus_pool_free_object(&rt->pool, pinned->leaves, pinned->room * sizeof *pinned->leaves);
    *pinned = (cebus_pinned){0};
}

bool cebus_residency_exceeds(const cebus_runtime *rt, cebus_tensor *const *tensors, size_t n)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < n; i++) {
        if (tensors[i] != NULL)
            bytes += cebus_arena_rounded(&rt->arena, tensors[i]->storage->now->value.bytes);
    }
    return bytes > cebus_budget_now(rt) && cebus_swap_terms_now(rt).use != CEBUS_SWAP_NEVER;
}

static void unpin_tensors(cebus_runtime *rt, cebus_tensor *const *tensors, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (tensors[i] == NULL)
            continue;
        tensors[i]->storage->held--;
        cebus_residency_end(rt, &tensors[i]->storage->now, 1);
    }
}

/** All at once: what several gradients that are absent are made of is made once for them. */
static cebus_status pin_tensors(cebus_runtime *rt, cebus_tensor *const *tensors, size_t n)
{
    size_t bytes = n * sizeof(cebus_candidate *);
    cebus_candidate **values = cebus_pool_alloc(&rt->pool, bytes);
    if (values == NULL)
        return cebus_fail(CEBUS_OUT_OF_HOST_MEMORY, "optimizer step", "no host memory for a list");
    for (size_t i = 0; i < n; i++)
        values[i] = tensors[i] != NULL ? tensors[i]->storage->now : NULL;
    cebus_status status = cebus_residency_begin(rt, values, n, "optimizer step");
    for (size_t i = 0; i < n && status == CEBUS_OK; i++) {
        if (tensors[i] != NULL)
            tensors[i]->storage->held++;
    }
    cebus_pool_free_object(&rt->pool, values, bytes);
    return status;
}

static cebus_status hold_tensors(cebus_runtime *rt, cebus_tensor *const *tensors, size_t n,
                                 cebus_pinned *pinned)
{
    cebus_status status = pin_tensors(rt, tensors, n);
    if (status != CEBUS_OK)
        return status;
    for (size_t i = 0; i < n && status == CEBUS_OK; i++) {
        if (tensors[i] != NULL && tensors[i]->storage->now->value.producer == NULL)
            status = cebus_residency_before_write(rt, tensors[i]->storage->now, pinned,
                                                  "optimizer step");
    }
    if (status != CEBUS_OK)
        unpin_tensors(rt, tensors, n);
    return status;
}

cebus_status cebus_residency_hold(cebus_runtime *rt, cebus_tensor *const *tensors, size_t n)
{
    cebus_pinned pinned = {0};
    cebus_status status = cebus_runtime_lock(rt, "optimizer step");
    if (status != CEBUS_OK)
        return status;
    status = hold_tensors(rt, tensors, n, &pinned);
    if (status == CEBUS_OK) /* no later write of this step has to rebuild anything */
        cebus_residency_cut(rt, &pinned);
    cebus_residency_unpin(rt, &pinned);
    if (status != CEBUS_OK)
        cebus_runtime_unlock(rt);
    return status;
}

void cebus_residency_unhold(cebus_runtime *rt, cebus_tensor *const *tensors, size_t n)
{
    unpin_tensors(rt, tensors, n);
    cebus_runtime_unlock(rt);
}
