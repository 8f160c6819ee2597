#include "evict/planner/search.h"

#include <math.h>

#include "evict/planner/march.h"

/** Plans that take such a part of the program's time are dear: marches may find better ones. */
#define DEAR 0.3
/** Marches; in long programs each way is gone once: none got through by chance. */
#define MOST_MARCHES 64
/** Where so many came no further than such a part of a long program no other is tried: of 24 cells
 * in which that was so later ones found a plan in none. */
#define FEW_MARCHES 3
#define PAST_MIDDLE 0.6
/** Of the effort of a march, to come past the middle of a long program: of 38 that fitted all but
 * one took less than two fifths. */
#define MIDDLE_EFFORT (2.0 / 3)
/** Times the half of the effort for a search after marches, at most; the same of one that others
 * for less room follow. */
#define MOST_DEAR 4
#define MOST_DEAR_FIRST 2

bool cebus_search_march_once(cebus_search *s, const cebus_march *how, bool shares,
                             cebus_march_course *out)
{
    const uint64_t most = (uint64_t)fmin(CEBUS_SEARCH_MOST_OVERHEAD * s->base_ns,
                                         3.0 * (double)cebus_search_most_ns(s));
    if (how->link > 0 ? !cebus_sequence_clear(&s->sequence)
                      : !cebus_snapshot_restore(&s->base, &s->sequence))
        return false;
    cebus_weights_level(&s->sequence);
    cebus_greedy_share(&s->greedy, s->limit, shares);
    cebus_greedy_end end = cebus_march_run(&s->greedy, how, s->limit, most, out);
    cebus_greedy_share(&s->greedy, s->limit, false);
    if (end != CEBUS_GREEDY_FITS)
        return end != CEBUS_GREEDY_NO_HOST_MEMORY;
    return cebus_search_prune(s, s->limit) &&
           (how->link <= 0 || cebus_detours_hasten(&s->links, &s->sequence, s->limit)) &&
           cebus_search_offer(s);
}

bool cebus_search_is_dear(const cebus_search *s)
{
    return s->best.peak > s->limit || (double)s->best_ns > DEAR * s->base_ns;
}

/** Whether no plan fits, and something else is to be tried first. */
static bool is_tried(const cebus_search *s)
{
    const uint64_t trial = s->greedy.terms->trial;
    return !cebus_search_fits(s) && trial > 0 && s->greedy.closure.spent >= trial;
}

/** A way to march, and what came of it. */
typedef struct way {
    cebus_march how;
    bool shares;
} way;

static const way ways[] = {
    {{.price = INFINITY}, false},
    {{.price = 0, .merges = true}, false},
    {{.price = 0}, true},
    {{.price = 10000}, false},
    {{.price = INFINITY, .merges = true}, false},
    {{.price = 10000}, true},
    {{.price = 0}, false},
    {{.price = 10000, .merges = true}, true},
};

enum {
    WAYS = sizeof ways / sizeof *ways
};

typedef struct marched {
    cebus_march_course course;
    uint64_t spent;
} marched;

/** One before that makes the same of a long program, as nothing is merged in either; NULL: none. */
static const marched *find_twin(const cebus_search *s, const marched *done, uint32_t i)
{
    const marched *found = NULL;
    for (uint32_t j = 0; j < i && i < WAYS && cebus_search_is_long(s); j++) {
        if (ways[j].how.price == ways[i].how.price && ways[j].shares == ways[i].shares &&
            !done[j].course.meets)
            found = &done[j];
    }
    return found;
}

/** Whether marches through a long program get stuck early: none of the first came past the middle.
 */
static bool is_vain(const cebus_search *s, const marched *done, uint32_t i)
{
    const double far = PAST_MIDDLE * (double)s->sequence.iteration->n_calls;
    bool past = i < FEW_MARCHES || cebus_search_fits(s) || !cebus_search_is_long(s);
    for (uint32_t j = 0; j < FEW_MARCHES && !past; j++)
        past = (double)done[j].course.calls >= far;
    return !past;
}

/** Whether another march may begin. */
static bool goes_on(const cebus_search *s, const marched *done, uint32_t i, uint64_t begun)
{
    const uint32_t marches = cebus_search_is_long(s) ? WAYS : MOST_MARCHES;
    const bool any = cebus_search_fits(s);
    const uint64_t end = begun + (any ? 1 : s->efforts) * s->effort;
    return s->effort > 0 && i < marches && cebus_search_is_dear(s) && !is_tried(s) &&
           !(any && i >= WAYS) && s->greedy.closure.spent < end &&
           !cebus_greedy_is_stopped(&s->greedy) && !is_vain(s, done, i);
}

/** What is left for a search afterwards. */
static void share_effort(cebus_search *s)
{
    const uint64_t half = s->effort / 2;
    const double most = s->greedy.terms->place != NULL ? MOST_DEAR_FIRST : MOST_DEAR;
    double dear = fmin((double)s->best_ns / (DEAR * s->base_ns), most);
    s->until = s->greedy.closure.spent + (uint64_t)(fmax(dear, 1) * (double)half);
    s->until = s->until < s->last ? s->until : s->last;
}

bool cebus_search_march(cebus_search *s)
{
    const uint64_t begun = s->greedy.closure.spent;
    marched done[WAYS];
    bool ok = true;
    for (uint32_t i = 0; ok && goes_on(s, done, i, begun); i++) {
        const uint64_t spent = s->greedy.closure.spent;
        const marched *twin = find_twin(s, done, i);
        cebus_march how = ways[i % WAYS].how;
        how.noise = i / WAYS;
        if (how.noise > 0 && how.price <= 0)
            continue;
        if (twin != NULL) {
            done[i] = *twin;
            s->greedy.closure.spent += twin->spent;
            continue;
        }
        marched now;
        if (cebus_search_is_long(s))
            how.middle = spent + (uint64_t)(MIDDLE_EFFORT * (double)s->effort);
        s->greedy.most_spent = spent + s->effort;
        ok = cebus_search_march_once(s, &how, ways[i % WAYS].shares, &now.course);
        now.spent = s->greedy.closure.spent - spent;
        if (i < WAYS)
            done[i] = now;
    }
    if (s->greedy.closure.spent > begun)
        share_effort(s);
    return ok;
}
