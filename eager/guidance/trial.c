#include "eager/guidance/trial.h"

/** Longer than foretold by more than this part of it. */
#define SUSPECT_PART 8
/** Iterations in a row that must have been: what persists finds its places by and by. */
#define MOST_SUSPECT 4
/** Iterations without it. In the first much still comes back that it had sent away. */
#define UNPLANNED 4
/** None is better if it takes less by more than this part. */
#define BETTER_PART 50

bool cebus_trial_suspects(cebus_trial *trial, uint64_t took_ns, uint64_t foretold_ns)
{
    if (trial->over || took_ns <= foretold_ns + foretold_ns / SUSPECT_PART) {
        trial->suspect = 0;
        return false;
    }
    if (trial->suspect++ == 0 || took_ns < trial->planned_ns)
        trial->planned_ns = took_ns;
    trial->over = trial->suspect > MOST_SUSPECT;
    return trial->over;
}

bool cebus_trial_runs(const cebus_trial *trial)
{
    return trial->over && trial->unplanned < UNPLANNED;
}

cebus_trial_outcome cebus_trial_compare(cebus_trial *trial, uint64_t took_ns)
{
    if (trial->unplanned++ == 0)
        return CEBUS_TRIAL_GOES_ON;
    if (trial->unplanned_ns == 0 || took_ns < trial->unplanned_ns)
        trial->unplanned_ns = took_ns;
    if (trial->unplanned < UNPLANNED)
        return CEBUS_TRIAL_GOES_ON;
    bool better = trial->unplanned_ns < trial->planned_ns - trial->planned_ns / BETTER_PART;
    return better ? CEBUS_TRIAL_NONE_WINS : CEBUS_TRIAL_PLAN_WINS;
}
