#include "report_values.h"

#include <stdlib.h>

#include "message.h"

struct report_value *report_values_find(const struct report_values *values, uint64_t value)
{
    if (value == 0)
        return NULL;
    uint32_t index = id_map_find(&values->by_value, value);
    return index != NO_INDEX ? &values->list[index] : NULL;
}

static struct report_value *find_or_add(struct report_values *values, uint64_t value)
{
    struct report_value *found = report_values_find(values, value);
    if (found != NULL || values->count == REPORT_MOST_VALUES)
        return found;
    values->list = take_more(values->list, &values->room, values->count, sizeof *values->list);
    id_map_set(&values->by_value, value, (uint32_t)values->count);
    found = &values->list[values->count++];
    *found = (struct report_value){.value = value, .op = NO_INDEX};
    return found;
}

static void on_evicted(struct report_value *value, const cebus_event *event, uint32_t op,
                       const struct report_block *block)
{
    value->evictions++;
    value->bytes = event->bytes;
    value->block_bytes = block != NULL ? block->bytes : event->bytes;
    value->memory_class = (uint8_t)event->memory_class;
    value->op = op;
    value->away = true;
    value->came_along = false;
}

/** It has bytes again; a RETURNED event that follows says that it was the one asked for. */
static void on_placed(struct report_value *value)
{
    if (!value->away)
        return;
    value->away = false;
    value->came_along = true;
    value->along++;
}

static void on_rebuilt(struct report_value *value, uint64_t ns)
{
    if (value->came_along)
        value->along--;
    value->came_along = value->away = false;
    value->recomputes++;
    value->recompute_ns += ns;
}

void report_values_event(struct report_values *values, const cebus_event *event, uint32_t op,
                         const struct report_block *block)
{
    bool leaves = event->kind == CEBUS_EVENT_EVICTED || event->kind == CEBUS_EVENT_SWAPPED_OUT;
    struct report_value *value = leaves && event->value != 0
                                     ? find_or_add(values, event->value)
                                     : report_values_find(values, event->value);
    if (value == NULL) {
        values->lost += event->kind == CEBUS_EVENT_EVICTED;
        return;
    }
    switch (event->kind) {
    case CEBUS_EVENT_EVICTED:
        on_evicted(value, event, op, block);
        break;
    case CEBUS_EVENT_PLACED:
        on_placed(value);
        break;
    case CEBUS_EVENT_RETURNED:
        if (event->method == CEBUS_METHOD_RECOMPUTE)
            on_rebuilt(value, event->ns);
        break;
    case CEBUS_EVENT_SWAPPED_OUT:
        value->out_ns += event->ns;
        break;
    case CEBUS_EVENT_SWAPPED_IN:
        value->away = false;
        value->swap_ins++;
        value->in_ns += event->ns;
        break;
    default:
        break;
    }
}

static int by_cost(const void *a, const void *b)
{
    const struct report_value *x = a, *y = b;
    if ((x->evictions == 0) != (y->evictions == 0))
        return x->evictions == 0 ? 1 : -1;
    if (report_value_cost(x) != report_value_cost(y))
        return report_value_cost(x) < report_value_cost(y) ? 1 : -1;
    return x->value < y->value ? -1 : 1;
}

size_t report_values_sort(struct report_values *values)
{
    size_t n = 0;
    if (values->count == 0)
        return 0;
    qsort(values->list, values->count, sizeof *values->list, by_cost);
    id_map_free(&values->by_value);
    while (n < values->count && values->list[n].evictions > 0)
        n++;
    return n;
}

void report_values_free(struct report_values *values)
{
    free(values->list);
    id_map_free(&values->by_value);
    *values = (struct report_values){0};
}
