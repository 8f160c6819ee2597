#include "eager/guidance/worth.h"

#include <time.h>

/** A running mean, in which the last time has the weight 1 / MEMORY. */
#define MEMORY 4
/** The wait is doubled so often at most. */
#define MOST_DOUBLINGS 20

uint64_t cebus_pace_clock(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

void cebus_pace_note(cebus_pace *pace, uint64_t took_ns, size_t n_calls)
{
    uint64_t call_ns = took_ns / (n_calls + 1) + 1;
    if (pace->call_ns == 0)
        pace->call_ns = call_ns;
    else
        pace->call_ns = (pace->call_ns * (MEMORY - 1) + call_ns) / MEMORY;
}

uint64_t cebus_pace_reckon(const cebus_pace *pace, size_t n_calls, uint64_t guess)
{
    return pace->call_ns > 0 ? pace->call_ns * (n_calls + 1) : guess;
}

bool cebus_worth_planning(const cebus_worth *worth, uint64_t plan_ns)
{
    const uint64_t wait = plan_ns < CEBUS_WORTH_MOST_NS ? plan_ns : CEBUS_WORTH_MOST_NS;
    const uint32_t times = worth->searches < MOST_DOUBLINGS ? worth->searches : MOST_DOUBLINGS;
    return worth->ran_ns >= wait << times;
}

void cebus_worth_spend(cebus_worth *worth)
{
    worth->ran_ns = 0;
    worth->searches++;
}
