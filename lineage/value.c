#include "lineage/call.h"

#include <stddef.h>
#include <string.h>

void cebus_value_init(cebus_value *value, uint64_t bytes)
{
    /* price_fixed and price_near mean nothing while the price is not known. */
    value->producer = NULL;
    memset(&value->pins, 0, sizeof *value - offsetof(cebus_value, pins));
    value->bytes = bytes;
    value->refs = 1;
    value->holders = 1;
}

static bool is_missed(const cebus_value *value)
{
    return value != NULL && value->holders > 0 && !cebus_value_is_present(value);
}

bool cebus_value_is_wanted(const cebus_value *value)
{
    if (value->holders > 0)
        return true;
    for (const cebus_edge *edge = value->consumers; edge != NULL; edge = edge->next) {
        for (uint32_t j = 0; j < edge->call->n_out; j++) {
            if (is_missed(edge->call->out[j]))
                return true;
        }
    }
    return false;
}
