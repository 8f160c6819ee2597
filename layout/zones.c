#include "layout/zones.h"

#define DENSITY_SHIFT 16

/**
 * The median moves by half of itself for as many samples as any wrong start needs (a first call
 * may be a thousand times too slow), then by a small share that holds it steady.
 */
#define FIRST_SAMPLES 64
#define FIRST_STEP 2
#define STEADY_STEP 64

const char *cebus_zone_name(cebus_zone zone)
{
    switch (zone) {
    case CEBUS_ZONE_PERSISTENT:
        return "persistent";
    case CEBUS_ZONE_EXPENSIVE:
        return "expensive";
    case CEBUS_ZONE_CHEAP:
        return "cheap";
    case CEBUS_ZONE_TRANSIENT:
        return "transient";
    case CEBUS_ZONE_COUNT:
        break;
    }
    return "unknown";
}

static uint64_t density_of(uint64_t cost_ns, uint64_t bytes)
{
    uint64_t most = UINT64_MAX >> DENSITY_SHIFT;
    uint64_t cost = cost_ns < most ? cost_ns : most;
    return (cost << DENSITY_SHIFT) / (bytes != 0 ? bytes : 1);
}

static uint64_t moved_toward(uint64_t median, uint64_t sample, uint64_t samples)
{
    uint64_t step = median / (samples < FIRST_SAMPLES ? FIRST_STEP : STEADY_STEP) + 1;
    if (sample > median)
        return sample - median > step ? median + step : sample;
    return median - sample > step ? median - step : sample;
}

cebus_zone cebus_density_classify(cebus_density *density, uint64_t cost_ns, uint64_t bytes,
                                  cebus_zone before)
{
    uint64_t sample = density_of(cost_ns, bytes);
    if (density->samples == 0)
        density->median = sample;
    uint64_t median = density->median, border = median;
    if (before == CEBUS_ZONE_EXPENSIVE)
        border = median / CEBUS_DENSITY_STICKS;
    else if (before == CEBUS_ZONE_CHEAP)
        border = median <= UINT64_MAX / CEBUS_DENSITY_STICKS ? median * CEBUS_DENSITY_STICKS
                                                             : UINT64_MAX;
    density->median = moved_toward(median, sample, density->samples);
    density->samples++;
    return sample > border ? CEBUS_ZONE_EXPENSIVE : CEBUS_ZONE_CHEAP;
}
