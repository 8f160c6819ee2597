#include "eager/spill/pace.h"

/** What was learned before counts so much less with each move. */
#define MEMORY (1023.0 / 1024)
/** Up to about so many bytes all moves count alike. */
#define SMALL 65536.0
/** Sizes must spread by this part of their mean, squared, to tell the slope from the latency. */
#define SPREAD 0.05

void cebus_pace_add(cebus_pace *pace, uint64_t bytes, uint64_t ns)
{
    double x = (double)bytes, y = (double)ns, weight = SMALL / (x + SMALL);
    pace->n = MEMORY * pace->n + weight;
    pace->x = MEMORY * pace->x + weight * x;
    pace->y = MEMORY * pace->y + weight * y;
    pace->xx = MEMORY * pace->xx + weight * x * x;
    pace->xy = MEMORY * pace->xy + weight * x * y;
}

void cebus_pace_fit(const cebus_pace *pace, uint64_t *out_rate, uint64_t *out_latency_ns)
{
    double spread = pace->n * pace->xx - pace->x * pace->x, latency = 0;
    double slope = pace->x > 0 ? pace->y / pace->x : 0;
    *out_rate = *out_latency_ns = 0;
    if (slope <= 0)
        return;
    if (spread > SPREAD * pace->x * pace->x) {
        double fitted = (pace->n * pace->xy - pace->x * pace->y) / spread;
        latency = (pace->y - fitted * pace->x) / pace->n;
        if (latency > 0 && fitted > 0)
            slope = fitted;
        else
            latency = 0;
    }
    *out_rate = (uint64_t)(1e9 / slope) + 1;
    *out_latency_ns = (uint64_t)latency;
}
