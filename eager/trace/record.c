#include "eager/trace/record.h"

#include <string.h>

#include <cebus/trace.h>

#include "eager/call.h"
#include "eager/launch.h"
#include "eager/tensor.h"
#include "eager/trace/signature.h"
#include "eager/trace/write.h"
#include "lineage/error_text.h"

/** A candidate's trace_id: the id, and whether the trace has it as a persistent constant. Ids count
 * over the runtime's life, so that those of an earlier trace are told by their size. */
#define PERSISTENT_CONSTANT (UINT64_C(1) << 63)

typedef struct cebus_recorder {
    uint64_t before; /**< ids up to here belong to earlier traces */
    uint64_t ops, marks;
    cebus_trace_writer writer;
} cebus_recorder;

/** In this trace, from 1; 0: the trace does not know it. */
static uint64_t id_of(const cebus_recorder *recorder, const cebus_candidate *candidate)
{
    uint64_t id = candidate->trace_id & ~PERSISTENT_CONSTANT;
    return id > recorder->before ? id - recorder->before : 0;
}

static bool is_persistent(const cebus_storage *storage)
{
    return storage->persistent ||
           (storage->now->zone == CEBUS_ZONE_PERSISTENT && !storage->now->gradient);
}

static void put(cebus_recorder *recorder, const char *text)
{
    cebus_trace_write_text(&recorder->writer, text);
}

static void put_number(cebus_recorder *recorder, const char *text, uint64_t number)
{
    cebus_trace_write_text(&recorder->writer, text);
    cebus_trace_write_number(&recorder->writer, number);
}

/** What lives without the trace's knowledge is a constant when it is first read. */
static void introduce(cebus_runtime *rt, const cebus_storage *storage)
{
    cebus_recorder *recorder = rt->recorder;
    cebus_candidate *version = storage->now;
    if (id_of(recorder, version) != 0)
        return;
    bool persistent = is_persistent(storage);
    version->trace_id = ++rt->trace_ids | (persistent ? PERSISTENT_CONSTANT : 0);
    put_number(recorder, "{\"const\": ", id_of(recorder, version));
    put_number(recorder, ", \"bytes\": ", version->value.bytes);
    put(recorder, persistent ? ", \"persistent\": true}\n" : ", \"persistent\": false}\n");
}

static void put_inputs(cebus_recorder *recorder, const cebus_call *call, cebus_tensor *const *in)
{
    const char *before = ", \"in\": [";
    for (uint32_t i = 0; i < call->n_in; i++) {
        if (in[i] == NULL)
            continue;
        put_number(recorder, before, id_of(recorder, in[i]->storage->now));
        before = ", ";
    }
    put(recorder, before[2] == '"' ? ", \"in\": []" : "]");
}

static void put_output(cebus_recorder *recorder, uint32_t j, const cebus_candidate *version)
{
    put(recorder, j == 0 ? "{" : ", {");
    put_number(recorder, "\"value\": ", id_of(recorder, version));
    put_number(recorder, ", \"bytes\": ", version->value.bytes);
}

static void put_outputs(cebus_runtime *rt, const cebus_call *call, cebus_candidate *const *out)
{
    put(rt->recorder, ", \"out\": [");
    for (uint32_t j = 0; j < call->n_out; j++) {
        out[j]->trace_id = ++rt->trace_ids;
        put_output(rt->recorder, j, out[j]);
        put(rt->recorder, "}");
    }
    put(rt->recorder, "]");
}

/** The outputs of an in-place call. Answers the ids that ended with it in `ended` (0: none). */
static void put_written(cebus_runtime *rt, const cebus_call *call, cebus_tensor *const *in,
                        cebus_candidate *const *out, uint64_t *ended)
{
    cebus_recorder *recorder = rt->recorder;
    uint64_t listed = 0;
    put(recorder, ", \"out\": [");
    for (uint32_t i = 0, j = 0; i < call->n_in && j < call->n_out; i++) {
        if (in[i] == NULL)
            continue;
        listed++;
        if (!cebus_op_mutates(call->op, i))
            continue;
        cebus_candidate *version = out[j];
        bool renewed =
            version == in[i]->storage->now && version->value.made && !is_persistent(in[i]->storage);
        ended[j] = renewed ? id_of(recorder, version) : 0;
        if (renewed || version != in[i]->storage->now)
            version->trace_id = ++rt->trace_ids;
        put_output(recorder, j++, version);
        put_number(recorder, ", \"alias_of\": ", listed - 1);
        put(recorder, "}");
    }
    put(recorder, "]");
}

/** What a kernel has half written nothing writes again (custom.h). */
static void put_flags(cebus_recorder *recorder, const cebus_op *op, bool half_written)
{
    const char *before = "";
    const struct {
        bool set;
        const char *name;
    } flags[] = {{(op->flags & CEBUS_OP_RNG) != 0, "\"rng\""},
                 {op->mutates != 0, "\"mutates\""},
                 {half_written || (op->flags & CEBUS_OP_NONREPLAYABLE) != 0, "\"nonreplayable\""}};
    put(recorder, ", \"flags\": [");
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        if (!flags[i].set)
            continue;
        put(recorder, before);
        put(recorder, flags[i].name);
        before = ", ";
    }
    put(recorder, "]}\n");
}

static void put_free(cebus_recorder *recorder, uint64_t id)
{
    put_number(recorder, "{\"free\": ", id);
    put(recorder, "}\n");
}

void cebus_record_call(cebus_runtime *rt, const cebus_call *call, const cebus_kernel *kernel,
                       cebus_tensor *const *in, cebus_candidate *const *out)
{
    cebus_prepared prepared;
    uint64_t ended[CEBUS_MAX_OUTPUTS] = {0};
    cebus_recorder *recorder = rt->recorder;
    const cebus_op *op = call->op;
    for (uint32_t i = 0; i < call->n_in; i++) {
        if (in[i] != NULL)
            introduce(rt, in[i]->storage);
    }
    cebus_launch_prepare(rt, call, &prepared);
    put_number(recorder, "{\"op\": ", ++recorder->ops);
    put(recorder, ", \"name\": ");
    cebus_trace_write_string(&recorder->writer, op->name);
    put(recorder, ", \"hash\": \"");
    cebus_trace_write_hex(&recorder->writer, cebus_launch_signature(&prepared.launch));
    put(recorder, "\"");
    put_inputs(recorder, call, in);
    if (op->mutates != 0)
        put_written(rt, call, in, out, ended);
    else
        put_outputs(rt, call, out);
    put_number(recorder, ", \"cost_ns\": ", call->cost_ns);
    put_number(recorder, ", \"workspace\": ",
               kernel->workspace != NULL ? kernel->workspace(&prepared.launch) : 0);
    put_flags(recorder, op, rt->half_written);
    for (uint32_t j = 0; j < call->n_out; j++) {
        if (ended[j] != 0)
            put_free(recorder, ended[j]);
    }
}

void cebus_record_free(cebus_runtime *rt, cebus_candidate *candidate)
{
    uint64_t id = id_of(rt->recorder, candidate);
    if (id == 0 || (candidate->trace_id & PERSISTENT_CONSTANT))
        return;
    put_free(rt->recorder, id);
    candidate->trace_id = 0;
}

void cebus_record_mark(cebus_runtime *rt)
{
    put_number(rt->recorder, "{\"mark\": ", ++rt->recorder->marks);
    put(rt->recorder, "}\n");
}

int cebus_record_end(cebus_runtime *rt)
{
    cebus_recorder *recorder = rt->recorder;
    if (recorder == NULL)
        return 0;
    rt->recorder = NULL;
    int error = cebus_trace_writer_close(&recorder->writer);
    cebus_pool_free_object(&rt->pool, recorder, sizeof *recorder);
    return error;
}

static cebus_status start(cebus_runtime *rt, const char *path)
{
    static const char op[] = "trace_start";
    if (rt->recorder != NULL)
        return cebus_fail(CEBUS_INVALID_ARGUMENT, op,
                          "a trace is being recorded; cebus_trace_stop() it first");
    cebus_recorder *recorder = cebus_pool_alloc(&rt->pool, sizeof *recorder);
    if (recorder == NULL)
        return cebus_fail(CEBUS_OUT_OF_HOST_MEMORY, op, "no host memory for a buffer");
    char text[128];
    int error = cebus_trace_writer_open(&recorder->writer, path);
    if (error != 0) {
        cebus_pool_free_object(&rt->pool, recorder, sizeof *recorder);
        return cebus_fail(CEBUS_INVALID_ARGUMENT, op, "cannot create \"%s\": %s", path,
                          cebus_error_text(error, text, sizeof text));
    }
    recorder->before = rt->trace_ids;
    recorder->ops = recorder->marks = 0;
    rt->recorder = recorder;
    put(recorder, "{\"cebus_trace\": 1, \"machine\": ");
    cebus_trace_write_string(&recorder->writer, rt->device_name);
    put(recorder, ", \"unit\": \"ns\"}\n");
    return CEBUS_OK;
}

cebus_status cebus_trace_start(cebus_runtime *rt, const char *path)
{
    return cebus_runtime_use_file(rt, "trace_start", path, start);
}

cebus_status cebus_trace_stop(cebus_runtime *rt)
{
    static const char op[] = "trace_stop";
    cebus_status status = cebus_runtime_lock(rt, op);
    if (status != CEBUS_OK)
        return status;
    char text[128];
    bool recording = rt->recorder != NULL;
    int error = cebus_record_end(rt);
    if (!recording)
        status = cebus_fail(CEBUS_INVALID_ARGUMENT, op,
                            "no trace is being recorded; cebus_trace_start() begins one");
    else if (error != 0)
        status = cebus_fail(CEBUS_DEVICE_ERROR, op,
                            "the trace is lost, its file could not be written: %s",
                            cebus_error_text(error, text, sizeof text));
    cebus_runtime_unlock(rt);
    return status;
}
