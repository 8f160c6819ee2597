#include "lineage/segment.h"

#include <string.h>

/** Slots of `last`: one a call of the longest period. */
#define MASK (CEBUS_SEGMENT_PERIOD - 1)

/** Numbers of calls must not wrap. */
#define MOST_CALLS (UINT32_C(1) << 31)

void cebus_segmenter_init(cebus_segmenter *segmenter, cebus_pool *pool)
{
    *segmenter = (cebus_segmenter){.pool = pool};
}

void cebus_segmenter_deinit(cebus_segmenter *s)
{
    cebus_pool_free_object(s->pool, s->ids, CEBUS_SEGMENT_PERIOD * sizeof *s->ids);
    cebus_pool_free_object(s->pool, s->last, CEBUS_SEGMENT_PERIOD * sizeof *s->last);
    s->ids = NULL;
    s->last = NULL;
}

bool cebus_segmenter_updated(const cebus_segmenter *segmenter, const cebus_segment_call *call)
{
    bool goes_on = !call->in_graph &&
                   (call->writes_parameter || call->writes_persistent || call->reads_update);
    return segmenter->updating && !goes_on;
}

bool cebus_segmenter_is_looking(const cebus_segmenter *segmenter, const cebus_segment_scene *scene)
{
    return !segmenter->updating && segmenter->backwards == scene->backwards;
}

bool cebus_segmenter_is_quiet(const cebus_segmenter *segmenter, const cebus_segment_scene *scene)
{
    return cebus_segmenter_is_looking(segmenter, scene) && scene->graph <= segmenter->graph;
}

/** The id that call n has if the period holds. */
static uint64_t id_before(const cebus_segmenter *segmenter, uint32_t n)
{
    return segmenter->ids[(n - segmenter->period) & MASK];
}

/** Whether call n would be the first of an iteration, if there is a period. */
static bool is_due(const cebus_segmenter *segmenter)
{
    uint32_t n = segmenter->n;
    return segmenter->period > 0 && n >= segmenter->start &&
           (n - segmenter->start) % segmenter->period == 0;
}

bool cebus_segmenter_repeats(const cebus_segmenter *segmenter, const cebus_segment_call *call,
                             const cebus_segment_scene *scene)
{
    return is_due(segmenter) && segmenter->period >= CEBUS_SEGMENT_LEAST &&
           segmenter->matched / 2 >= segmenter->period && segmenter->n > segmenter->start &&
           call->reach == 0 && id_before(segmenter, segmenter->n) == call->id &&
           cebus_segmenter_is_quiet(segmenter, scene);
}

/** No call so far counts any more. */
static void start_anew(cebus_segmenter *s)
{
    s->floor = s->n;
    s->period = s->matched = 0;
}

static void count_from_zero(cebus_segmenter *s)
{
    memset(s->last, 0, CEBUS_SEGMENT_PERIOD * sizeof *s->last);
    s->n = 0;
    start_anew(s);
}

static bool make_tables(cebus_segmenter *s)
{
    if (s->ids != NULL)
        return true;
    s->ids = cebus_pool_alloc(s->pool, CEBUS_SEGMENT_PERIOD * sizeof *s->ids);
    s->last = cebus_pool_alloc(s->pool, CEBUS_SEGMENT_PERIOD * sizeof *s->last);
    if (s->ids == NULL || s->last == NULL) {
        cebus_segmenter_deinit(s);
        return false;
    }
    memset(s->ids, 0, CEBUS_SEGMENT_PERIOD * sizeof *s->ids);
    memset(s->last, 0, CEBUS_SEGMENT_PERIOD * sizeof *s->last);
    return true;
}

/** Supposes that what began with the last call of this id begins again. */
static void suppose(cebus_segmenter *s, uint64_t id)
{
    uint32_t before = s->last[id & MASK];
    bool found = before >= s->floor && before < s->n && s->n - before < CEBUS_SEGMENT_PERIOD &&
                 s->ids[before & MASK] == id;
    s->period = found ? s->n - before : 0;
    s->matched = found;
    s->start = s->n;
}

/** Where the iteration that call n lies in began, if iterations begin at `start`. */
static uint32_t begun(const cebus_segmenter *s)
{
    return s->n - (s->n - s->start) % s->period;
}

/** The call reads across what was taken for a beginning: the beginning is further back. */
static void move_start(cebus_segmenter *s, uint32_t oldest)
{
    s->start = oldest + ((s->n - oldest) / s->period + 1) * s->period;
}

static void look_for_period(cebus_segmenter *s, const cebus_segment_call *call,
                            const cebus_segment_scene *scene)
{
    if (s->period > 0 && id_before(s, s->n) == call->id)
        s->matched++;
    else
        suppose(s, call->id);
    if (s->period > 0 && s->n >= s->start) {
        if (is_due(s) && s->graph < scene->graph)
            s->graph = scene->graph;
        if (call->reach > s->n - begun(s))
            move_start(s, s->n - call->reach);
    }
    s->ids[s->n & MASK] = call->id;
    s->last[call->id & MASK] = s->n;
    s->n++;
}

void cebus_segmenter_add(cebus_segmenter *segmenter, const cebus_segment_call *call,
                         const cebus_segment_scene *scene)
{
    segmenter->updating |= !call->in_graph && (call->writes_parameter ||
                                               (call->writes_persistent && call->reads_update));
    /* Once there are gradients, only the write that uses them ends the iteration. */
    if (!cebus_segmenter_is_looking(segmenter, scene) || !make_tables(segmenter))
        return;
    if (segmenter->n == MOST_CALLS)
        count_from_zero(segmenter);
    look_for_period(segmenter, call, scene);
}

void cebus_segmenter_cut(cebus_segmenter *s, bool repeats, const cebus_segment_scene *scene)
{
    s->updating = false;
    s->backwards = scene->backwards;
    s->graph = scene->graph;
    if (!repeats)
        start_anew(s);
}
