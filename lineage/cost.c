#include "lineage/cost.h"

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
    return value != NULL && !value->resident && (value->parked == 0 || value->holders > 0);
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

void cebus_cost_leave(cebus_lineage *lineage, cebus_value *value)
{
    if (value->producer == NULL)
        return;
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
