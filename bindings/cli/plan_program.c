#include "plan_program.h"

#include <cebus/memory.h>
#include <cebus/runtime.h>
#include <stdlib.h>

#include "machine.h"
#include "message.h"

static void make_values(const struct program *trace, cebus_advise_value *values)
{
    for (size_t i = 0; i < trace->n_storages; i++) {
        const struct program_storage *storage = &trace->storages[i];
        values[i] =
            (cebus_advise_value){.bytes = storage->bytes,
                                 .persistent = storage->persistent,
                                 .given = storage->maker == NO_INDEX && !storage->persistent,
                                 .kept = !storage->persistent};
    }
    for (size_t i = 0; i < trace->n_steps; i++) {
        if (trace->steps[i].kind == STEP_FREE)
            values[trace->steps[i].index].kept = false;
    }
}

void plan_program_make(const struct program *trace, struct plan_program *out)
{
    out->values = take(NULL, trace->n_storages + 1, sizeof *out->values);
    out->calls = take(NULL, trace->n_ops + 1, sizeof *out->calls);
    make_values(trace, out->values);
    for (size_t i = 0; i < trace->n_ops; i++) {
        const struct program_op *op = &trace->ops[i];
        out->calls[i] = (cebus_advise_call){.cost_ns = op->cost_ns,
                                            .workspace = op->workspace,
                                            .refs = op->first,
                                            .n_in = op->is_view ? 0 : op->n_in,
                                            .n_out = op->n_out,
                                            .n_written = op->n_written,
                                            .replayable = op->replayable,
                                            .stateful = !op->replayable};
        for (uint32_t k = 0; k < op->n_written; k++) { /* the old value went into the new one */
            const uint32_t old = program_inputs(trace, op)[k];
            if (old != program_outputs(trace, op)[k])
                out->values[old].kept = false;
        }
    }
    out->program = (cebus_advise_program){.values = out->values,
                                          .calls = out->calls,
                                          .refs = trace->refs,
                                          .n_values = trace->n_storages,
                                          .n_calls = trace->n_ops,
                                          .n_refs = trace->n_refs};
}

void plan_program_free(struct plan_program *program)
{
    free(program->values);
    free(program->calls);
}

bool plan_machine(const char *machine, const char *memory, cebus_advise_link *out_link,
                  uint64_t *out_memory)
{
    char device[DEVICE_BYTES];
    cebus_runtime_options options = CEBUS_RUNTIME_OPTIONS_INIT;
    cebus_runtime *rt;
    const char *problem = machine_problem(machine);
    if (problem != NULL) {
        complain("--machine %s: %s", machine, problem);
        return false;
    }
    machine_device(machine, device);
    options.device = device;
    if (cebus_machine_link(device, &out_link->out, &out_link->in, &out_link->both,
                           &out_link->latency_ns) != CEBUS_OK ||
        cebus_runtime_create(&options, &rt) != CEBUS_OK) {
        complain_cebus(machine);
        return false;
    }
    const uint64_t all = cebus_memory_reserved(rt);
    cebus_runtime_destroy(rt);
    *out_memory = all;
    if (memory != NULL && cebus_size_parse(memory, all, out_memory) != CEBUS_OK) {
        complain("--memory: %s", cebus_last_error()->message);
        return false;
    }
    return true;
}
