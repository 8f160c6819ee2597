#include "text.h"

#include <inttypes.h>
#include <stdio.h>

/** In the first unit that has fewer than `step` of the next in it, rounded; else in the last. */
static const char *scale(double number, double step, const char *const *units, size_t n,
                         char out[TEXT_BYTES])
{
    size_t unit = 0;
    for (; number >= step - 0.005 && unit + 1 < n; unit++)
        number /= step;
    snprintf(out, TEXT_BYTES, "%.2f %s", number, units[unit]);
    return out;
}

const char *text_bytes(uint64_t bytes, char out[TEXT_BYTES])
{
    static const char *const units[] = {"KiB", "MiB", "GiB", "TiB", "PiB"};
    if (bytes >= 1024)
        return scale((double)bytes / 1024, 1024, units, sizeof units / sizeof *units, out);
    snprintf(out, TEXT_BYTES, "%" PRIu64 " B", bytes);
    return out;
}

const char *text_ns(uint64_t ns, char out[TEXT_BYTES])
{
    static const char *const units[] = {"us", "ms", "s"};
    if (ns >= 1000)
        return scale((double)ns / 1000, 1000, units, sizeof units / sizeof *units, out);
    snprintf(out, TEXT_BYTES, "%" PRIu64 " ns", ns);
    return out;
}
