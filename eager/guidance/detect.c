#include "eager/guidance/detect.h"

#include "eager/trace/signature.h"

void cebus_detector_init(cebus_detector *detector, cebus_pool *pool)
{
    cebus_segmenter_init(&detector->segmenter, pool);
    detector->scene = (cebus_segment_scene){0};
    detector->marked = detector->launched = false;
    detector->named = 0;
}

void cebus_detector_deinit(cebus_detector *detector)
{
    cebus_segmenter_deinit(&detector->segmenter);
}

static bool is_persistent(const cebus_storage *storage)
{
    return storage->persistent ||
           (storage->now->zone == CEBUS_ZONE_PERSISTENT && !storage->now->gradient);
}

/** Gradients of leaves, and what the run of writes was the first to name. Parameters are read
 * everywhere. */
static bool belongs_to_update(const cebus_detector *detector, const cebus_access_log *log,
                              const cebus_tensor *tensor)
{
    const cebus_candidate *now = tensor->storage->now;
    return now->gradient || (detector->segmenter.updating && !cebus_tensor_is_parameter(tensor) &&
                             now->value.name > detector->named && now->value.name > log->before);
}

static void look_at_writes(cebus_detector *detector, const cebus_op *op, cebus_tensor *const *in)
{
    cebus_segment_call *seen = &detector->call;
    for (uint64_t mask = op->mutates; mask != 0; mask &= mask - 1) {
        uint32_t i = (uint32_t)__builtin_ctzll(mask);
        if (i >= detector->access.n_in || in[i] == NULL)
            break;
        seen->writes_parameter |=
            (op->flags & CEBUS_OP_UPDATE) != 0 || cebus_tensor_is_parameter(in[i]);
        seen->writes_persistent |= detector->persistent[i];
    }
}

/** How an input came about, the same in every iteration: the persistent value itself, a leaf, or
 * made so many calls ago. */
static uint64_t origin_of(cebus_detector *detector, const cebus_access_log *log, uint32_t i)
{
    const cebus_value *value = detector->in[i];
    if (value == NULL)
        return 0;
    if (detector->persistent[i])
        return ((const cebus_candidate *)value)->serial << 2 | 1;
    uint32_t born = cebus_access_born(log, value);
    if (born == CEBUS_ITERATION_NONE)
        return 2;
    uint32_t reach = log->at - born;
    if (reach > detector->call.reach)
        detector->call.reach = reach;
    return ((uint64_t)reach ^ value->bytes << 24) << 2 | 3;
}

static void look_for_id(cebus_detector *detector, const cebus_access_log *log)
{
    uint64_t id = detector->access.signature ^ (uint64_t)(uintptr_t)detector->access.op;
    for (uint32_t i = 0; i < detector->access.n_in; i++) {
        id = (id ^ origin_of(detector, log, i)) * UINT64_C(0x9e3779b97f4a7c15);
        id ^= id >> 32;
    }
    detector->call.id = id;
}

void cebus_detector_look(cebus_detector *detector, const cebus_runtime *rt,
                         const cebus_access_log *log, const cebus_call *call,
                         cebus_tensor *const *in, bool in_graph)
{
    const cebus_op *op = call->op;
    detector->scene = (cebus_segment_scene){rt->backwards, rt->nodes};
    detector->call = (cebus_segment_call){.in_graph = in_graph};
    detector->access = (cebus_access){.op = op->name,
                                      .signature = cebus_call_signature(call, in_graph),
                                      .in = detector->in,
                                      .out = detector->out,
                                      .n_in = call->n_in,
                                      .n_out = call->n_out,
                                      .mutates = op->mutates,
                                      .persistent = detector->persistent};
    for (uint32_t i = 0; i < call->n_in; i++) {
        const cebus_storage *storage = in[i] != NULL ? in[i]->storage : NULL;
        detector->in[i] = storage != NULL ? &storage->now->value : NULL;
        detector->persistent[i] = storage != NULL && is_persistent(storage);
        detector->call.reads_update |= storage != NULL && belongs_to_update(detector, log, in[i]);
    }
    if (op->mutates != 0)
        look_at_writes(detector, op, in);
    if (!detector->marked && cebus_segmenter_is_looking(&detector->segmenter, &detector->scene))
        look_for_id(detector, log);
}

void cebus_detector_launch(cebus_detector *detector)
{
    detector->marked = true;
    detector->launched = false;
}

void cebus_detector_launched(cebus_detector *detector, bool marked)
{
    detector->marked = true;
    detector->launched = !marked;
}

bool cebus_detector_finds(cebus_detector *detector, cebus_access_log *log, cebus_ending *out_ending)
{
    const cebus_segmenter *segmenter = &detector->segmenter;
    detector->marked &= log->at <= CEBUS_ITERATION_MAX_CALLS;
    if (log->at == 0 || detector->marked)
        return false;
    if (cebus_segmenter_updated(segmenter, &detector->call)) {
        *out_ending = CEBUS_ENDING_WRITES;
        return true;
    }
    if (cebus_segmenter_repeats(segmenter, &detector->call, &detector->scene)) {
        *out_ending = log->at == segmenter->period ? CEBUS_ENDING_REPEATS : CEBUS_ENDING_BROKEN;
        return true;
    }
    *out_ending = CEBUS_ENDING_BEGINS;
    return cebus_segmenter_is_quiet(segmenter, &detector->scene) &&
           cebus_access_begins(log, &detector->access);
}

void cebus_detector_cut(cebus_detector *detector, const cebus_runtime *rt, cebus_ending ending)
{
    detector->scene = (cebus_segment_scene){rt->backwards, rt->nodes};
    bool repeats = ending == CEBUS_ENDING_REPEATS || ending == CEBUS_ENDING_BROKEN;
    cebus_segmenter_cut(&detector->segmenter, repeats, &detector->scene);
}

/** Outputs that stay what their input was: writes to what no call of the program made. What a call
 * made counts as a new value, whether or not its record was cut: that depends on the budget. */
static uint64_t kept_outputs(const cebus_call *call, cebus_tensor *const *in,
                             cebus_candidate *const *out)
{
    const cebus_op *op = call->op;
    uint64_t kept = 0;
    for (uint32_t i = 0, j = 0; op->mutates != 0 && i < call->n_in; i++) {
        if (!cebus_op_mutates(op, i))
            continue;
        const cebus_storage *storage = in[i]->storage;
        if (out[j] == storage->now && (!out[j]->value.made || is_persistent(storage)))
            kept |= UINT64_C(1) << j;
        j++;
    }
    return kept;
}

void cebus_detector_take(cebus_detector *detector, const cebus_access_log *log,
                         const cebus_call *call, cebus_tensor *const *in,
                         cebus_candidate *const *out)
{
    bool updating = detector->segmenter.updating;
    detector->access.cost_ns = call->cost_ns;
    detector->access.kept = kept_outputs(call, in, out);
    for (uint32_t j = 0; j < call->n_out; j++)
        detector->out[j] = &out[j]->value;
    if (detector->launched && detector->call.writes_parameter && !detector->call.in_graph)
        detector->marked = detector->launched = false;
    if (detector->marked)
        return;
    cebus_segmenter_add(&detector->segmenter, &detector->call, &detector->scene);
    if (!updating && detector->segmenter.updating)
        detector->named = log->named;
}
