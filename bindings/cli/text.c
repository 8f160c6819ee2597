#include "text.h"

#include <inttypes.h>
#include <stdio.h>

const char *text_bytes(uint64_t bytes, char out[TEXT_BYTES])
{
    static const char *const units[] = {"KiB", "MiB", "GiB", "TiB", "PiB"};
    double number = (double)bytes / 1024;
    size_t unit = 0;
    if (bytes < 1024) {
        snprintf(out, TEXT_BYTES, "%" PRIu64 " B", bytes);
        return out;
    }
    for (; number >= 1023.995 && unit + 1 < sizeof units / sizeof *units; unit++)
        number /= 1024;
    snprintf(out, TEXT_BYTES, "%.2f %s", number, units[unit]);
    return out;
}

const char *text_ns(uint64_t ns, char out[TEXT_BYTES])
{
    static const char *const units[] = {"us", "ms", "s"};
    double number = (double)ns / 1000;
    size_t unit = 0;
    if (ns < 1000) {
        snprintf(out, TEXT_BYTES, "%" PRIu64 " ns", ns);
        return out;
    }
    for (; number >= 999.995 && unit + 1 < sizeof units / sizeof *units; unit++)
        number /= 1000;
    snprintf(out, TEXT_BYTES, "%.2f %s", number, units[unit]);
    return out;
}
