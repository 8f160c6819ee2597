#include "lineage/value.h"

#include <string.h>

void cebus_value_init(cebus_value *value, uint64_t bytes)
{
    memset(value, 0, sizeof *value);
    value->bytes = bytes;
    value->refs = 1;
    value->holders = 1;
}
