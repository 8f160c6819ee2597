#include "lineage/value.h"

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
