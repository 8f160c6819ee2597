#include "lineage/cost.h"

#include <assert.h>

#include "lineage/burden.h"
#include "lineage/replay.h"

static cebus_class *find_root(cebus_class *node)
{
    while (node->parent != NULL)
        node = node->parent;
    return node;
}

static void drop_node(cebus_lineage *lineage, cebus_class *node)
{
    while (node != NULL && --node->refs == 0) {
        cebus_class *parent = node->parent;
        cebus_pool_free_object(lineage->pool, node, sizeof *node);
        node = parent;
    }
}

/** Union by rank keeps paths logarithmic, so that find needs no compression (and no recursion). */
static cebus_class *unite(cebus_class *a, cebus_class *b)
{
    if (a == b)
        return a;
    if (a->rank < b->rank) {
        cebus_class *swap = a;
        a = b;
        b = swap;
    }
    if (a->rank == b->rank)
        a->rank++;
    b->parent = a;
    a->refs++;
    a->cost += b->cost;
    return a;
}

static uint64_t call_cost(const cebus_call *call)
{
    return call->cost_ns > 0 ? call->cost_ns : 1;
}

uint64_t cebus_cost_own(const cebus_value *value)
{
    return value->producer != NULL ? call_cost(value->producer) : 0;
}

/** One run rebuilds all outputs of a record: the first absent one carries its cost. */
static bool sibling_carries_cost(const cebus_value *value)
{
    const cebus_call *call = value->producer;
    for (uint32_t i = 0; i < call->n_out; i++) {
        const cebus_value *sibling = call->out[i];
        if (sibling != NULL && sibling != value && sibling->group_cost > 0)
            return true;
    }
    return false;
}

/** Absent, and to be read again: a parked version is only kept in case a backward is repeated. */
static bool is_missed(const cebus_value *value)
{
    return value != NULL && !cebus_value_is_present(value) &&
           (value->parked == 0 || value->holders > 0);
}

static cebus_class *unite_with(cebus_class *root, const cebus_value *neighbour)
{
    if (!is_missed(neighbour) || neighbour->group == NULL)
        return root;
    return unite(root, find_root(neighbour->group));
}

static cebus_class *unite_neighbours(cebus_class *root, const cebus_value *value)
{
    const cebus_call *call = value->producer;
    for (uint32_t i = 0; i < call->n_in; i++)
        root = unite_with(root, call->in[i].value);
    for (uint32_t i = 0; i < call->n_out; i++)
        root = unite_with(root, call->out[i]);
    for (const cebus_edge *edge = value->consumers; edge != NULL; edge = edge->next) {
        for (uint32_t i = 0; i < edge->call->n_out; i++)
            root = unite_with(root, edge->call->out[i]);
    }
    return root;
}

static void forget(cebus_value *value)
{
    if (value != NULL)
        value->price_known = false;
}

void cebus_cost_disturb(const cebus_value *value)
{
    const cebus_call *call = value->producer;
    for (uint32_t i = 0; call != NULL && i < call->n_in; i++)
        forget(call->in[i].value);
    for (const cebus_edge *edge = value->consumers; edge != NULL; edge = edge->next) {
        for (uint32_t i = 0; i < edge->call->n_out; i++)
            forget(edge->call->out[i]);
    }
}

void cebus_cost_revise(cebus_lineage *lineage, cebus_call *call, uint64_t ns)
{
    uint64_t before = cebus_replay_call_ns(call);
    call->cost_ns = ns;
    cebus_burden_changed(lineage, call, before);
    for (uint32_t i = 0; i < call->n_out; i++) {
        forget(call->out[i]);
        if (call->out[i] != NULL && call->out[i]->group == NULL)
            cebus_cost_disturb(call->out[i]);
    }
}

void cebus_cost_lower(cebus_lineage *lineage, cebus_call *call, uint64_t ns)
{
    if (ns < call->cost_ns)
        cebus_cost_revise(lineage, call, ns);
}

void cebus_cost_wait(cebus_lineage *lineage, cebus_call *call, uint64_t ns)
{
    uint64_t before = cebus_replay_call_ns(call);
    call->wait_ns = ns;
    cebus_burden_changed(lineage, call, before);
}

void cebus_cost_leave(cebus_lineage *lineage, cebus_value *value)
{
    if (value->producer == NULL)
        return;
    cebus_cost_disturb(value);
    cebus_burden_left(lineage, value);
    cebus_class *node = cebus_pool_alloc(lineage->pool, sizeof *node);
    if (node == NULL)
        return;
    uint64_t cost = sibling_carries_cost(value) ? 0 : call_cost(value->producer);
    *node = (cebus_class){.cost = cost, .refs = 1};
    value->group_cost = cost;
    unite_neighbours(node, value);
    value->group = node;
}

void cebus_cost_return(cebus_lineage *lineage, cebus_value *value)
{
    cebus_burden_returned(lineage, value);
    cebus_cost_disregard(lineage, value);
}

void cebus_cost_disregard(cebus_lineage *lineage, cebus_value *value)
{
    cebus_cost_disturb(value);
    if (value->group == NULL)
        return;
    find_root(value->group)->cost -= value->group_cost;
    value->group_cost = 0;
    drop_node(lineage, value->group);
    value->group = NULL;
}

/** Adds a neighbour's class once per epoch; an absent value outside any class counts alone. */
static uint64_t class_cost(uint64_t epoch, const cebus_value *neighbour)
{
    if (!is_missed(neighbour))
        return 0;
    if (neighbour->group == NULL)
        return cebus_cost_own(neighbour);
    cebus_class *root = find_root(neighbour->group);
    if (root->mark == epoch)
        return 0;
    root->mark = epoch;
    return root->cost;
}

uint64_t cebus_cost_neighbourhood(cebus_lineage *lineage, const cebus_value *value)
{
    const cebus_call *call = value->producer;
    if (call == NULL)
        return 0;
    uint64_t epoch = ++lineage->epoch;
    uint64_t cost = call_cost(call);
    for (uint32_t i = 0; i < call->n_in; i++)
        cost += class_cost(epoch, call->in[i].value);
    for (const cebus_edge *edge = value->consumers; edge != NULL; edge = edge->next) {
        for (uint32_t i = 0; i < edge->call->n_out; i++)
            cost += class_cost(epoch, edge->call->out[i]);
    }
    return cost;
}

/** Adds a neighbour to the price of `value` that is being worked out; answers what it adds. */
static uint64_t remember(cebus_value *value, uint64_t epoch, const cebus_value *neighbour)
{
    if (!is_missed(neighbour))
        return 0;
    if (neighbour->group == NULL) {
        uint64_t own = cebus_cost_own(neighbour);
        value->price_fixed += own;
        return own;
    }
    cebus_class *root = find_root(neighbour->group);
    if (root->mark == epoch)
        return 0;
    root->mark = epoch;
    if (value->price_classes < CEBUS_NEAR_MAX)
        value->price_near[value->price_classes++] = root;
    else
        value->price_known = false;
    return root->cost;
}

static uint64_t work_out(cebus_lineage *lineage, cebus_value *value)
{
    const cebus_call *call = value->producer;
    uint64_t epoch = ++lineage->epoch, cost = call_cost(call);
    value->price_fixed = cost;
    value->price_classes = 0;
    value->price_known = true;
    for (uint32_t i = 0; i < call->n_in; i++)
        cost += remember(value, epoch, call->in[i].value);
    for (const cebus_edge *edge = value->consumers; edge != NULL; edge = edge->next) {
        for (uint32_t i = 0; i < edge->call->n_out; i++)
            cost += remember(value, epoch, edge->call->out[i]);
    }
    return cost;
}

/** True if class `i` of the value is one of those before it, by now. */
static bool is_repeated(const cebus_value *value, uint32_t i)
{
    for (uint32_t j = 0; j < i; j++) {
        if (value->price_near[j] == value->price_near[i])
            return true;
    }
    return false;
}

/**
 * The classes a value remembers are alive: a neighbour in each of them keeps it, and made the
 * value forget if it left. Classes never split, so what once united is one for good.
 */
static uint64_t recall(cebus_value *value)
{
    uint64_t cost = value->price_fixed;
    uint32_t i = 0;
    while (i < value->price_classes) {
        value->price_near[i] = find_root(value->price_near[i]);
        if (is_repeated(value, i))
            value->price_near[i] = value->price_near[--value->price_classes];
        else
            cost += value->price_near[i++]->cost;
    }
    return cost;
}

uint64_t cebus_cost_price(cebus_lineage *lineage, cebus_value *value)
{
    if (value->producer == NULL)
        return 0;
    uint64_t cost = value->price_known ? recall(value) : work_out(lineage, value);
#if CEBUS_CHECKS >= 2
    assert(cost == cebus_cost_neighbourhood(lineage, value));
#endif
    return cost;
}
