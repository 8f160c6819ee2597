#include "lineage/call.h"

#include <stdio.h>
#include <string.h>

#include "lineage/burden.h"
#include "lineage/cost.h"
#include "lineage/version.h"

static size_t align16(size_t bytes)
{
    return (bytes + 15) & ~(size_t)15;
}

cebus_call *cebus_call_create(cebus_lineage *lineage, const void *op, uint32_t n_in, uint32_t n_out,
                              size_t payload_bytes)
{
    size_t edges_at = align16(sizeof(cebus_call));
    size_t outs_at = edges_at + n_in * sizeof(cebus_edge);
    size_t payload_at = align16(outs_at + n_out * sizeof(cebus_value *));
    size_t bytes = payload_at + payload_bytes;
    char *memory = cebus_pool_alloc(lineage->pool, bytes);
    if (memory == NULL)
        return NULL;
    memset(memory, 0, payload_at);
    cebus_call *call = (cebus_call *)memory;
    call->op = op;
    call->n_in = n_in;
    call->n_out = n_out;
    call->refs = 1;
    call->bytes = bytes;
    call->in = (cebus_edge *)(memory + edges_at);
    call->out = (cebus_value **)(memory + outs_at);
    call->payload = memory + payload_at;
    lineage->live_calls++;
    call->serial = ++lineage->made_calls;
    return call;
}

/** For a record that gets another input: all it ties together has new neighbours. */
static void forget_prices(cebus_call *call)
{
    for (uint32_t i = 0; i < call->n_in; i++) {
        if (call->in[i].value != NULL)
            call->in[i].value->price_known = false;
    }
    for (uint32_t i = 0; i < call->n_out; i++) {
        if (call->out[i] != NULL)
            call->out[i]->price_known = false;
    }
}

void cebus_call_read(cebus_call *call, uint32_t i, cebus_value *value)
{
    cebus_call_read_part(call, i, value, value->bytes);
}

void cebus_call_read_part(cebus_call *call, uint32_t i, cebus_value *value, uint64_t bytes)
{
    cebus_edge *edge = &call->in[i];
    edge->value = value;
    edge->call = call;
    edge->prev = NULL;
    edge->next = value->consumers;
    if (edge->next != NULL)
        edge->next->prev = edge;
    value->consumers = edge;
    value->refs++;
    value->ahead += call->missed > 0; /* it is there: that does not count it itself */
    if (value->producer != NULL && bytes > call->widest) /* a leaf is there anyway */
        call->widest = bytes;
    if (call->live_outputs > 0)
        forget_prices(call);
}

void cebus_call_make(cebus_lineage *lineage, cebus_call *call, uint32_t i, cebus_value *value)
{
    value->producer = call;
    value->digest = call->widest / CEBUS_DIGEST_PART >= value->bytes;
    value->made = true;
    value->output = (uint16_t)i;
    call->out[i] = value;
    call->out_bytes += value->bytes;
    call->live_outputs++;
    call->refs++;
    value->price_known = false;
    if (!value->resident)
        cebus_cost_disturb(value);
    cebus_version_changed(lineage, value);
    if (value->holders > 0)
        cebus_turn_make(&lineage->turn, value->bytes, call->serial);
}

int cebus_call_by_serial(const void *left, const void *right)
{
    const cebus_call *a = *(cebus_call *const *)left, *b = *(cebus_call *const *)right;
    return a->serial < b->serial ? -1 : a->serial > b->serial;
}

bool cebus_call_has_inputs(const cebus_call *call)
{
    for (uint32_t i = 0; i < call->n_in; i++) {
        if (call->in[i].value != NULL && !cebus_value_is_present(call->in[i].value))
            return false;
    }
    return true;
}

void cebus_call_retain(cebus_call *call)
{
    call->refs++;
}

static void cut_edge(cebus_lineage *lineage, cebus_edge *edge)
{
    cebus_value *value = edge->value;
    if (value == NULL)
        return;
    if (edge->prev != NULL)
        edge->prev->next = edge->next;
    else
        value->consumers = edge->next;
    if (edge->next != NULL)
        edge->next->prev = edge->prev;
    edge->value = NULL;
    if (edge->call->missed > 0)
        cebus_version_unread(lineage, value);
    cebus_value_release(lineage, value);
}

static void cut_edges(cebus_lineage *lineage, cebus_call *call)
{
    for (uint32_t i = 0; i < call->n_in; i++)
        cut_edge(lineage, &call->in[i]);
}

void cebus_call_release(cebus_lineage *lineage, cebus_call *call)
{
    if (--call->refs > 0)
        return;
    cut_edges(lineage, call);
    lineage->live_calls--;
    cebus_pool_free_object(lineage->pool, call, call->bytes);
}

void cebus_value_detach(cebus_lineage *lineage, cebus_value *value)
{
    cebus_call *call = value->producer;
    if (call == NULL)
        return;
    if (!value->resident)
        cebus_cost_disturb(value);
    if (!cebus_value_is_present(value) && value->consumers != NULL)
        cebus_burden_forget(lineage);
    if (value->holders > 0)
        cebus_turn_unmake(&lineage->turn, value->bytes, call->serial);
    value->price_known = false;
    cebus_version_uncount(lineage, value);
    value->producer = NULL;
    call->out[value->output] = NULL;
    call->out_bytes -= value->bytes;
    if (--call->live_outputs == 0)
        cut_edges(lineage, call);
    else
        cebus_burden_shrunk(lineage, call);
    cebus_call_release(lineage, call);
}

void cebus_call_forget(cebus_lineage *lineage, cebus_call *call)
{
    cebus_call_retain(call);
    for (uint32_t i = 0; i < call->n_out; i++) {
        if (call->out[i] != NULL)
            cebus_value_detach(lineage, call->out[i]);
    }
    cebus_call_release(lineage, call);
}

/** An absent version that is only parked adds nothing to prices (cost.h): for whatever may change
 * that. */
static void holders_change(const cebus_value *value)
{
    if (value->parked > 0 && !value->resident)
        cebus_cost_disturb(value);
}

void cebus_value_hold(cebus_lineage *lineage, cebus_value *value)
{
    if (value->holders == 0) {
        holders_change(value);
        cebus_turn_hold(&lineage->turn, value->bytes, lineage->made_calls);
        if (value->producer != NULL)
            cebus_turn_make(&lineage->turn, value->bytes, value->producer->serial);
    }
    value->refs++;
    if (value->holders++ == 0)
        cebus_version_changed(lineage, value);
}

void cebus_value_unhold(cebus_lineage *lineage, cebus_value *value)
{
    value->holders--;
    if (value->holders == 0) {
        holders_change(value);
        if (value->producer != NULL)
            cebus_turn_unmake(&lineage->turn, value->bytes, value->producer->serial);
        cebus_turn_let_go(&lineage->turn, value->bytes, lineage->made_calls);
        cebus_version_changed(lineage, value);
    }
    cebus_value_release(lineage, value);
}

void cebus_value_park(cebus_value *value)
{
    value->parked++;
    value->refs++;
    if (value->parked == 1 && value->holders == 0)
        holders_change(value);
}

void cebus_value_unpark(cebus_lineage *lineage, cebus_value *value)
{
    if (value->parked == 1 && value->holders == 0)
        holders_change(value);
    value->parked--;
    cebus_value_release(lineage, value);
}

void cebus_value_retain(cebus_value *value)
{
    value->refs++;
}

void cebus_value_release(cebus_lineage *lineage, cebus_value *value)
{
    if (--value->refs > 0)
        return;
    value->next_dead = lineage->dead;
    lineage->dead = value;
}

cebus_value *cebus_lineage_reap(cebus_lineage *lineage)
{
    cebus_value *value = lineage->dead;
    if (value == NULL)
        return NULL;
    lineage->dead = value->next_dead;
    if (!value->resident)
        cebus_cost_return(lineage, value);
    cebus_value_detach(lineage, value);
    return value;
}

void cebus_lineage_init(cebus_lineage *lineage, cebus_pool *pool)
{
    memset(lineage, 0, sizeof *lineage);
    lineage->burdens.generation = 1; /* no record has bounds yet */
    lineage->pool = pool;
}

static void free_scratch(cebus_pool *pool, struct cebus_scratch *scratch)
{
    cebus_pool_free_object(pool, scratch->items, scratch->capacity * sizeof(void *));
    memset(scratch, 0, sizeof *scratch);
}

void cebus_lineage_deinit(cebus_lineage *lineage)
{
    free_scratch(lineage->pool, &lineage->stack);
    free_scratch(lineage->pool, &lineage->list);
}

bool cebus_scratch_push(cebus_lineage *lineage, struct cebus_scratch *scratch, void *item)
{
    void *items = scratch->items;
    if (scratch->count < scratch->capacity) {
        scratch->items[scratch->count++] = item;
        return true;
    }
    if (!cebus_pool_grow(lineage->pool, &items, &scratch->capacity, scratch->count,
                         sizeof *scratch->items))
        return false;
    scratch->items = items;
    scratch->items[scratch->count++] = item;
    return true;
}

static bool violation(char *why, size_t why_bytes, const char *what, uint64_t a, uint64_t b)
{
    if (why != NULL)
        snprintf(why, why_bytes, "%s (%llu, %llu)", what, (unsigned long long)a,
                 (unsigned long long)b);
    return false;
}

/** What version.h counts. */
static bool counts_right(const cebus_value *value)
{
    uint32_t ahead = 0, missed = 0;
    for (const cebus_edge *edge = value->consumers; edge != NULL; edge = edge->next)
        ahead += edge->call->missed > 0;
    for (uint32_t i = 0; value->producer != NULL && i < value->producer->n_out; i++)
        missed += value->producer->out[i] != NULL && value->producer->out[i]->counted;
    bool counts = value->producer != NULL && !cebus_value_is_present(value) &&
                  (value->holders > 0 || value->ahead > 0);
    return value->ahead == ahead && (value->queued || value->counted == counts) &&
           (value->producer == NULL || value->producer->missed == missed);
}

bool cebus_value_check(const cebus_value *value, char *why, size_t why_bytes)
{
    uint64_t edges = 0;
    for (const cebus_edge *edge = value->consumers; edge != NULL; edge = edge->next) {
        if (edge->value != value || edge->call == NULL)
            return violation(why, why_bytes, "a consumer edge reads another value", edges, 0);
        edges++;
    }
    if (value->refs < value->holders + edges)
        return violation(why, why_bytes, "more holders and edges than refs", value->refs,
                         value->holders + edges);
    if (value->resident && value->group != NULL)
        return violation(why, why_bytes, "a resident value is in a class", 0, 0);
    if (!counts_right(value))
        return violation(why, why_bytes, "who is missed is counted wrong", value->ahead,
                         value->counted);
    if (cebus_value_is_present(value))
        return true;
    const cebus_call *call = value->producer;
    if (call == NULL)
        return violation(why, why_bytes, "an absent value has no record", value->bytes, edges);
    if (call->out[value->output] != value)
        return violation(why, why_bytes, "a record does not know its output", value->output, 0);
    for (uint32_t i = 0; i < call->n_in; i++) {
        const cebus_value *input = call->in[i].value;
        if (input != NULL && !cebus_value_is_present(input) && input->producer == NULL)
            return violation(why, why_bytes, "an input cannot be rebuilt", i, input->bytes);
        if (input != NULL && input->producer != NULL && input->producer->serial >= call->serial)
            return violation(why, why_bytes, "an input is made after the call that reads it",
                             input->producer->serial, call->serial);
    }
    return true;
}
