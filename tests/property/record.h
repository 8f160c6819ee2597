/**
 * record.h: what a run let its program see: every value read on the host and every status, as
 * a list of hashes. Two runs are equal when their records are.
 */
#ifndef CEBUS_TESTS_PROPERTY_RECORD_H
#define CEBUS_TESTS_PROPERTY_RECORD_H

#include <cebus/cebus.h>

typedef struct cebus_record {
    uint64_t *hashes;
    size_t count, capacity;
} cebus_record;

/** Appends the hash of some bytes; aborts without host memory. */
void cebus_record_bytes(cebus_record *record, const void *data, size_t bytes);
void cebus_record_number(cebus_record *record, uint64_t number);
/** Reads a tensor on the host and appends its hash. On failure nothing is appended. */
CEBUS_MUST_CHECK cebus_status cebus_record_tensor(cebus_record *record, cebus_tensor *tensor);
/** Goes back to a former count. */
void cebus_record_truncate(cebus_record *record, size_t count);
/** Index of the first difference; -1 when there is none. */
int64_t cebus_record_compare(const cebus_record *a, const cebus_record *b);
void cebus_record_deinit(cebus_record *record);

#endif
