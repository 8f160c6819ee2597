/**
 * fuzz_trace_dtr.c: any bytes as a log of the DTR simulator.
 */
#include "trace_target.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    trace_read_bytes(data, size, CEBUS_TRACE_DTR);
    return 0;
}
