/**
 * Policy `superneurons` (Wang et al., SuperNeurons: Dynamic GPU Memory Management for Training Deep
 * Neural Networks, PPoPP'18). Its three techniques: liveness analysis, which a runtime that frees
 * what nobody holds has anyway; a unified tensor pool, in which the outputs of convolutions (the
 * checkpoints) go to the host while the next layers run and come back while the backward of the
 * checkpoint behind them runs, but only those that the device, as an LRU cache of tensors, cannot
 * keep; and cost-aware recomputation of the cheap layers between checkpoints (pooling, activation,
 * normalization). What a backward rebuilds of such a segment is kept for the layers below
 * (speed-centric) where the segment's tensors together need no more than the largest layer does,
 * and dropped again after each use (memory-centric) elsewhere.
 *
 *     conv1   bn1  relu1   conv2 ...            backward of the segment, speed-centric:
 *     host    drop drop    host                 conv1 comes back; bn1, relu1 run once more and stay
 *
 * Liberties: Matrix products, attention, recurrent cells and joins of branches count as checkpoints
 * beside convolutions, so that other networks gain, too, and no recomputation runs down a chain of
 * residual additions; so do cheap layers on the output of a checkpoint that the program does not
 * keep (relu after a convolution). Layers are told by the names of their ops (family.h). Which
 * checkpoints leave
 * is decided ahead by running the cache over the recorded iteration. The choice of convolution
 * algorithms is left out. An iteration that fits is left alone; what the plan does not make fit is
 * met as an LRU cache with swapping would.
 */
#include "evict/policies/cache.h"
#include "evict/policies/family.h"
#include "evict/policy.h"

/** Larger segments are kept whole when they are rebuilt. */
#define LARGEST_SEGMENT 32

typedef struct draft {
    cebus_survey survey;
    uint32_t *segment; /**< of spans that are dropped: checkpoints before it; NONE: others */
    uint32_t *heavy;   /**< 1 for the spans of checkpoints */
    uint32_t *leave;   /**< the call before which a checkpoint goes; NONE: it stays */
    uint64_t largest;  /**< bytes that the largest layer reads and makes */
} draft;

static uint64_t layer_bytes(const cebus_iteration *iteration, const cebus_iteration_call *call)
{
    uint64_t bytes = call->workspace;
    for (uint32_t i = 0; i < (uint32_t)call->n_in + call->n_out; i++) {
        uint32_t v = iteration->refs[call->refs + i];
        if (v != CEBUS_ITERATION_NONE && !iteration->values[v].persistent)
            bytes += iteration->values[v].bytes;
    }
    return bytes;
}

/** Whether two branches of some size meet in the call. */
static bool joins(const cebus_iteration *iteration, const cebus_iteration_call *call)
{
    uint32_t branches = 0;
    const uint32_t *refs = &iteration->refs[call->refs];
    uint64_t made = call->n_out > 0 ? iteration->values[refs[call->n_in]].bytes : 0;
    for (uint32_t i = 0; i < call->n_in; i++) {
        if (refs[i] == CEBUS_ITERATION_NONE)
            continue;
        const cebus_iteration_value *value = &iteration->values[refs[i]];
        branches += !value->persistent && value->bytes >= made / 8;
    }
    return branches > 1;
}

typedef enum layer {
    LAYER_OTHER,
    LAYER_CHECKPOINT,
    LAYER_CHEAP
} layer;

/** What is known while calls are classified. */
typedef struct classes {
    uint8_t *layers;       /**< of each call */
    uint8_t *lost;         /**< of each value: not there in the backward, and dear to make again */
    uint32_t *checkpoints; /**< up to each call */
} classes;

static bool reads_lost(const cebus_iteration *iteration, const cebus_iteration_call *call,
                       const uint8_t *lost)
{
    for (uint32_t i = 0; i < call->n_in; i++) {
        uint32_t v = iteration->refs[call->refs + i];
        if (v != CEBUS_ITERATION_NONE && lost[v])
            return true;
    }
    return false;
}

/** A cheap layer on something lost stands in for it: who keeps no output of the convolution keeps
 * that of its activation. */
static layer layer_of(const cebus_iteration *iteration, const cebus_iteration_call *call,
                      const uint8_t *lost)
{
    cebus_family family = cebus_family_of(call->op);
    if (cebus_family_is_heavy(family) || (family == CEBUS_FAMILY_JOIN && joins(iteration, call)))
        return LAYER_CHECKPOINT;
    if (!cebus_family_is_cheap(family))
        return LAYER_OTHER;
    return reads_lost(iteration, call, lost) ? LAYER_CHECKPOINT : LAYER_CHEAP;
}

static void classify_span(draft *d, size_t s, const classes *c)
{
    const cebus_span *span = &d->survey.spans[s];
    uint32_t born = d->survey.iteration->values[span->value].born;
    if (span->turn == CEBUS_ITERATION_NONE)
        return;
    /* The data layer is a checkpoint, too. */
    if (born == CEBUS_ITERATION_NONE || c->layers[born] == LAYER_CHECKPOINT)
        d->heavy[s] = 1;
    else if (c->layers[born] == LAYER_CHEAP && cebus_survey_is_replayable(&d->survey, s))
        d->segment[s] = c->checkpoints[born];
}

/** What a cheap layer makes of things that are not lost is not lost either. */
static void classify(draft *d, const classes *c)
{
    const cebus_iteration *iteration = d->survey.iteration;
    uint32_t before = 0;
    for (size_t k = 0; k < iteration->n_calls; k++) {
        const cebus_iteration_call *call = &iteration->calls[k];
        uint64_t bytes = layer_bytes(iteration, call);
        d->largest = bytes > d->largest ? bytes : d->largest;
        c->layers[k] = (uint8_t)layer_of(iteration, call, c->lost);
        before += c->layers[k] == LAYER_CHECKPOINT;
        c->checkpoints[k] = before;
        for (uint32_t j = 0; j < call->n_out && c->layers[k] == LAYER_CHEAP; j++)
            c->lost[iteration->refs[call->refs + call->n_in + j]] = 0;
    }
    for (size_t s = 0; s < d->survey.n_spans; s++)
        classify_span(d, s, c);
}

/** Values from before the iteration are there, and what crosses a turn is there or on the host. */
static void find_lost(const draft *d, uint8_t *lost)
{
    const cebus_iteration *iteration = d->survey.iteration;
    for (size_t v = 0; v < iteration->n_values; v++)
        lost[v] = iteration->values[v].born != CEBUS_ITERATION_NONE;
    for (size_t s = 0; s < d->survey.n_spans; s++) {
        if (d->survey.spans[s].turn != CEBUS_ITERATION_NONE)
            lost[d->survey.spans[s].value] = 0;
    }
}

static bool classify_all(draft *d)
{
    cebus_pool *pool = d->survey.pool;
    size_t calls = d->survey.iteration->n_calls, values = d->survey.iteration->n_values;
    classes c = {.layers = cebus_pool_alloc(pool, calls),
                 .lost = cebus_pool_alloc(pool, values),
                 .checkpoints = cebus_pool_alloc(pool, calls * sizeof *c.checkpoints)};
    bool ok = c.layers != NULL && c.lost != NULL && c.checkpoints != NULL;
    if (ok) {
        find_lost(d, c.lost);
        classify(d, &c);
    }
    cebus_pool_free_object(pool, c.layers, calls);
    cebus_pool_free_object(pool, c.lost, values);
    cebus_pool_free_object(pool, c.checkpoints, calls * sizeof *c.checkpoints);
    return ok;
}

/** The dropped spans of one segment, by the time of their next use. */
typedef struct segment {
    uint32_t spans[LARGEST_SEGMENT];
    uint32_t count;
    uint64_t bytes;
} segment;

static bool drop_all(draft *d, const segment *g, cebus_plan *out)
{
    bool speed = g->count == LARGEST_SEGMENT || g->bytes <= d->largest;
    uint32_t first = d->survey.spans[g->spans[0]].to;
    for (uint32_t i = 0; i < g->count; i++) {
        const cebus_span *span = &d->survey.spans[g->spans[i]];
        uint32_t back = speed ? first : span->to;
        if (!cebus_plan_add(out, CEBUS_ACTION_DROP, span->from + 1, span->value))
            return false;
        cebus_curve_cut(&d->survey.curve, span->from + 1, back,
                        (int64_t)cebus_survey_bytes(&d->survey, g->spans[i]));
        for (uint32_t j = 0; j < i && !speed; j++) {
            uint32_t after = d->survey.spans[g->spans[j]].to + 1;
            if (after < span->to && after > span->from + 1 &&
                !cebus_plan_add(out, CEBUS_ACTION_DROP, after, span->value))
                return false;
        }
    }
    return true;
}

/** Spans of one segment follow each other in the order of the backward: nearly always, and where
 * not, the segment is cut in two. */
static bool drop_cheap(draft *d, cebus_plan *out)
{
    segment g = {.count = 0};
    uint32_t current = CEBUS_ITERATION_NONE;
    for (size_t i = 0; i < d->survey.n_spans; i++) {
        uint32_t s = d->survey.by_end[i];
        if (d->segment[s] == CEBUS_ITERATION_NONE)
            continue;
        if (g.count > 0 && (d->segment[s] != current || g.count == LARGEST_SEGMENT)) {
            if (!drop_all(d, &g, out))
                return false;
            g = (segment){.count = 0};
        }
        current = d->segment[s];
        g.spans[g.count++] = s;
        g.bytes += cebus_survey_bytes(&d->survey, s);
    }
    return g.count == 0 || drop_all(d, &g, out);
}

/** A checkpoint is copied as soon as it is made, and fetched one checkpoint ahead. */
static bool swap_heavy(const draft *d, cebus_plan *out)
{
    uint32_t turn = CEBUS_ITERATION_NONE, before = 0;
    for (size_t i = 0; i < d->survey.n_spans; i++) {
        uint32_t s = d->survey.by_end[i];
        const cebus_span *span = &d->survey.spans[s];
        uint32_t born = d->survey.iteration->values[span->value].born, left = d->leave[s];
        if (d->heavy[s] == 0)
            continue;
        if (span->turn != turn) {
            turn = span->turn;
            before = d->survey.turns[turn] + 1;
        }
        if (left != CEBUS_ITERATION_NONE) {
            uint32_t made = born != CEBUS_ITERATION_NONE ? born + 1 : span->from + 1;
            uint32_t back = before > left ? before : left + 1;
            if (!cebus_plan_add(out, CEBUS_ACTION_COPY_OUT, made, span->value) ||
                !cebus_plan_add(out, CEBUS_ACTION_SWAP_OUT, left, span->value) ||
                (back < span->to && !cebus_plan_add(out, CEBUS_ACTION_SWAP_IN, back, span->value)))
                return false;
        }
        before = span->to;
    }
    return true;
}

static bool draft_plan(draft *d, const cebus_plan_terms *terms, cebus_plan *out)
{
    if (d->segment == NULL || d->heavy == NULL || d->leave == NULL || !classify_all(d) ||
        !drop_cheap(d, out))
        return false;
    if (terms->host > 0)
        cebus_cache_evict(&d->survey, d->heavy, cebus_plan_target(terms), d->leave);
    return swap_heavy(d, out) && cebus_plan_sort(out, d->survey.iteration);
}

static bool plan(const cebus_iteration *iteration, const cebus_plan_terms *terms, cebus_plan *out)
{
    draft d = {.largest = 0};
    if (!cebus_survey_init(&d.survey, iteration, out->pool))
        return false;
    bool ok = true;
    if (cebus_curve_peak(&d.survey.curve, NULL) > terms->budget) {
        d.segment = cebus_survey_marks(&d.survey, 0xff);
        d.heavy = cebus_survey_marks(&d.survey, 0);
        d.leave = cebus_survey_marks(&d.survey, 0xff);
        ok = draft_plan(&d, terms, out);
        cebus_survey_free_marks(&d.survey, d.segment);
        cebus_survey_free_marks(&d.survey, d.heavy);
        cebus_survey_free_marks(&d.survey, d.leave);
    }
    cebus_survey_deinit(&d.survey);
    return ok;
}

const cebus_policy cebus_policy_superneurons = {
    .name = "superneurons",
    .unit = CEBUS_UNIT_ONE,
    .weight = cebus_policy_weight_own,
    .score = cebus_policy_score_age,
    .swaps = true,
    .plan = plan,
};
