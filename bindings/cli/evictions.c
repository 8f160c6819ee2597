#include "evictions.h"

#include <stdlib.h>
#include <string.h>

#include "message.h"

/** Few ops have names of their own, and neighbours in time share them: the last is tried first. */
static uint32_t name_of(struct evictions *e, const char *text)
{
    if (text == NULL)
        return NO_INDEX;
    for (size_t i = e->n_names; i-- > 0;) {
        if (strcmp(e->names[i], text) == 0)
            return (uint32_t)i;
    }
    e->names = take_more(e->names, &e->names_room, e->n_names, sizeof *e->names);
    e->names[e->n_names] = take_text(text);
    return (uint32_t)e->n_names++;
}

static void on_evicted(struct evictions *e, const cebus_event *event, size_t op)
{
    e->list = take_more(e->list, &e->room, e->count, sizeof *e->list);
    e->list[e->count] = (struct eviction){
        .number = e->count + 1,
        .value = event->value,
        .storage = id_map_find(&e->makers, event->value),
        .name = name_of(e, event->op),
        .method = event->method,
        .bytes = event->bytes,
        .age_ns = event->age_ns,
        .expected_ns = event->ns,
        .price = event->price,
        .next_price = event->next_price,
        .at = op,
        .out_ns = event->value == e->out_value ? e->out_ns : 0,
    };
    e->out_value = 0;
    if (event->value != 0)
        id_map_set(&e->by_value, event->value, (uint32_t)e->count);
    e->count++;
    e->totals.evictions++;
}

static void note_return(struct evictions *e, const cebus_event *event, size_t op, enum way_back way)
{
    uint32_t index = id_map_find(&e->by_value, event->value);
    if (event->value == 0 || index == NO_INDEX)
        return;
    struct eviction *eviction = &e->list[index];
    if (eviction->way == BACK_NEVER)
        eviction->back_at = op;
    eviction->way = way;
    eviction->back_ns += event->ns;
}

/** A value that was evicted has bytes again; what follows says whether it was the one asked for. */
static void on_placed(struct evictions *e, const cebus_event *event, size_t op)
{
    if (event->value == 0)
        return;
    uint32_t index = id_map_find(&e->by_value, event->value);
    if (index != NO_INDEX && e->list[index].way == BACK_NEVER) {
        e->list[index].way = BACK_ALONG;
        e->list[index].back_at = op;
    }
    e->placed[e->n_placed++ % PROGRAM_MAX_OUTPUTS] = event->value;
}

/** The last values placed before a call ran are its outputs. */
static void on_called(struct evictions *e, const cebus_event *event, size_t index)
{
    const struct program *program = e->program;
    if (program == NULL || index >= program->n_ops)
        return;
    const struct program_op *op = &program->ops[index];
    const uint32_t *out = program_outputs(program, op);
    size_t at = e->n_placed;
    /* The same pointer: a constant of the same name is none of the op's calls. */
    if (event->op != program_op_name(program, op) || op->n_written > 0)
        return;
    for (uint32_t j = op->n_out; j-- > 0 && at > 0;) {
        if (program->storages[out[j]].bytes > 0)
            id_map_set(&e->makers, e->placed[--at % PROGRAM_MAX_OUTPUTS], out[j]);
    }
}

void evictions_event(void *evictions, const cebus_event *event, size_t op)
{
    struct evictions *e = evictions;
    switch (event->kind) {
    case CEBUS_EVENT_EVICTED:
        on_evicted(e, event, op);
        break;
    case CEBUS_EVENT_PLACED:
        on_placed(e, event, op);
        break;
    case CEBUS_EVENT_RETURNED:
        note_return(e, event, op, event->method == CEBUS_METHOD_SWAP ? BACK_SWAP : BACK_RECOMPUTE);
        break;
    case CEBUS_EVENT_CALLED:
        on_called(e, event, op);
        break;
    case CEBUS_EVENT_REPLAYED:
        e->totals.recomputes++;
        e->totals.recompute_ns += event->ns;
        break;
    case CEBUS_EVENT_SWAPPED_OUT:
        e->totals.swapped_bytes += event->bytes;
        e->out_value = event->value;
        e->out_ns = event->ns;
        break;
    case CEBUS_EVENT_SWAPPED_IN:
        e->totals.swapped_bytes += event->bytes;
        note_return(e, event, op, BACK_SWAP);
        break;
    default:
        break;
    }
}

void evictions_pass(void *evictions, int pass)
{
    struct evictions *e = evictions;
    (void)pass;
    e->count = 0;
    e->totals = (struct eviction_totals){0};
    id_map_free(&e->by_value);
    id_map_free(&e->makers);
}

void evictions_free(struct evictions *e)
{
    for (size_t i = 0; i < e->n_names; i++)
        free(e->names[i]);
    free(e->names);
    free(e->list);
    id_map_free(&e->by_value);
    id_map_free(&e->makers);
    *e = (struct evictions){0};
}

const char *way_back_name(enum way_back way)
{
    static const char *const names[BACK_WAYS] = {
        [BACK_NEVER] = "never",
        [BACK_RECOMPUTE] = "recompute",
        [BACK_ALONG] = "along",
        [BACK_SWAP] = "swap",
    };
    return names[way];
}

const char *eviction_op(const struct evictions *e, const struct eviction *eviction)
{
    return eviction->name != NO_INDEX ? e->names[eviction->name] : "(constant)";
}
