/**
 * fuzz_trace_cebus.c: any bytes as a cebus trace.
 */
#include "trace_target.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    trace_read_bytes(data, size, CEBUS_TRACE_CEBUS);
    return 0;
}
