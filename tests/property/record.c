#include "tests/property/record.h"

#include <stdlib.h>

void cebus_record_number(cebus_record *record, uint64_t number)
{
    if (record->count == record->capacity) {
        record->capacity = record->capacity > 0 ? 2 * record->capacity : 64;
        record->hashes = realloc(record->hashes, record->capacity * sizeof *record->hashes);
        if (record->hashes == NULL)
            abort();
    }
    record->hashes[record->count++] = number;
}

void cebus_record_bytes(cebus_record *record, const void *data, size_t bytes)
{
    const unsigned char *at = data;
    uint64_t hash = UINT64_C(14695981039346656037);
    for (size_t i = 0; i < bytes; i++)
        hash = (hash ^ at[i]) * UINT64_C(1099511628211);
    cebus_record_number(record, hash);
}

cebus_status cebus_record_tensor(cebus_record *record, cebus_tensor *tensor)
{
    size_t bytes =
        (size_t)cebus_tensor_numel(tensor) * cebus_dtype_size(cebus_tensor_dtype(tensor));
    void *data = malloc(bytes + 1);
    cebus_status status =
        data != NULL ? cebus_tensor_to_host(tensor, data, bytes) : CEBUS_OUT_OF_HOST_MEMORY;
    if (status == CEBUS_OK)
        cebus_record_bytes(record, data, bytes);
    free(data);
    return status;
}

void cebus_record_truncate(cebus_record *record, size_t count)
{
    record->count = count;
}

int64_t cebus_record_compare(const cebus_record *a, const cebus_record *b)
{
    size_t n = a->count < b->count ? a->count : b->count;
    for (size_t i = 0; i < n; i++) {
        if (a->hashes[i] != b->hashes[i])
            return (int64_t)i;
    }
    return a->count == b->count ? -1 : (int64_t)n;
}

void cebus_record_deinit(cebus_record *record)
{
    free(record->hashes);
    *record = (cebus_record){0};
}
