#include "tests/property/meter.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "eager/tensor.h"
#include "layout/number.h"

/** Launches carry no context of ours: the meter they belong to. */
static cebus_meter *attached;

static void report(cebus_meter *meter, const char *what, uint64_t a, uint64_t b)
{
    if (meter->violation[0] == '\0')
        snprintf(meter->violation, sizeof meter->violation, "%s (%" PRIu64 ", %" PRIu64 ")", what,
                 a, b);
}

/** Nothing can rebuild it, or somebody uses it right now. */
static bool must_stay(const cebus_candidate *candidate)
{
    return candidate->value.pins > 0 || candidate->exports > 0 ||
           !cebus_value_is_replayable(&candidate->value);
}

/** A leaf that nobody names any more: only records read it, and they can be cut. */
static bool is_cuttable(const cebus_candidate *candidate)
{
    const cebus_value *value = &candidate->value;
    return value->holders == 0 && value->parked == 0 && value->pins == 0 && candidate->exports == 0;
}

/** What could be rebuilt if the calls behind it were still on record: which records are cut depends
 * on what lies on the device when one of their inputs is written. */
static bool was_made(const cebus_candidate *candidate)
{
    bool made = candidate->value.made && candidate->zone != CEBUS_ZONE_PERSISTENT;
    return (made || candidate->gradient) && candidate->value.pins == 0 && candidate->exports == 0;
}

/** Bytes of a leaf's gradient that the walk over the arena has not counted. */
static uint64_t gradient_bytes(const cebus_tensor *gradient)
{
    if (gradient == NULL)
        return 0;
    const cebus_candidate *now = gradient->storage->now;
    return must_stay(now) || now->block == NULL ? 0 : now->block->bytes;
}

static uint64_t leaf_gradients(const cebus_meter *meter)
{
    uint64_t bytes = 0;
    cebus_tensor *leaf;
    for (size_t i = 0; meter->self != NULL; i++) {
        leaf = meter->subject->leaf(meter->self, i);
        if (leaf == NULL)
            break;
        bytes += gradient_bytes(leaf->grad);
        if (leaf->incoming != leaf->grad)
            bytes += gradient_bytes(leaf->incoming);
    }
    return bytes;
}

static const cebus_block *block_at(const cebus_meter *meter, const void *address)
{
    uint64_t offset = (uint64_t)((const char *)address - meter->rt->base);
    const cebus_block *block = meter->rt->arena.first;
    while (block != NULL && block->offset + block->bytes <= offset)
        block = block->next;
    return block;
}

/** The second copy that the replay of a write in place starts from. */
static uint64_t second_copies(const cebus_meter *meter, const cebus_launch *launch)
{
    uint64_t bytes = 0;
    for (uint32_t j = 0; j < launch->n_out; j++) {
        for (uint32_t i = 0; i < launch->n_in; i++) {
            const void *data = launch->in[i].data;
            if (data == NULL || data != launch->out[j].data)
                continue;
            const cebus_block *block = block_at(meter, data);
            const cebus_candidate *owner = block != NULL ? block->owner : NULL;
            if (owner != NULL && owner->value.producer != NULL)
                bytes += block->bytes;
            break;
        }
    }
    return bytes;
}

/** What is only tried nobody needs: the program goes on without. */
static void measure(cebus_meter *meter, const char *op, const cebus_launch *launch)
{
    uint64_t stay = 0, cuttable = 0;
    const cebus_arena *arena = &meter->rt->arena;
    if (meter->rt->trial > 0)
        return;
    for (const cebus_block *block = arena->first; block != NULL; block = block->next) {
        const cebus_candidate *owner = block->owner;
        if (block->state == CEBUS_BLOCK_FREE || block->unmapped)
            continue;
        if (owner != NULL && !must_stay(owner))
            continue;
        stay += block->bytes;
        if (owner != NULL && (is_cuttable(owner) || was_made(owner)))
            cuttable += block->bytes;
    }
    uint64_t floor = stay + leaf_gradients(meter) + second_copies(meter, launch);
    if (floor > meter->floor) {
        meter->floor = floor;
        meter->floor_op = op;
    }
    meter->least = cebus_max_u64(meter->least, stay - cuttable);
    if (arena->used_bytes > arena->limit)
        report(meter, "more bytes in use than the budget", arena->used_bytes, arena->limit);
    if (arena->mapped_bytes > arena->limit)
        report(meter, "more bytes mapped than the budget", arena->mapped_bytes, arena->limit);
}

static void check_addresses(cebus_meter *meter, const cebus_array *arrays, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        const char *data = arrays[i].data, *base = meter->rt->base;
        if (data != NULL && (data < base || data > base + meter->rt->arena.capacity))
            report(meter, "a kernel got an address outside the budget", (uint64_t)(uintptr_t)data,
                   (uint64_t)(uintptr_t)base);
    }
}

/** Each choice by prices that stand takes one of those they stand for; a sweep sets them anew. */
static void count_standing(cebus_meter *meter)
{
    uint64_t left = meter->rt->standing.left;
    meter->stood += left < meter->left ? meter->left - left : 0;
    meter->left = left;
}

static cebus_status launch_measured(cebus_device *device, const cebus_kernel *kernel,
                                    const cebus_launch *launch, uint64_t *out_ns)
{
    cebus_meter *meter = attached;
    meter->launches++;
    check_addresses(meter, launch->in, launch->n_in);
    check_addresses(meter, launch->out, launch->n_out);
    measure(meter, kernel->op, launch);
    count_standing(meter);
    return meter->inner->launch(device, kernel, launch, out_ns);
}

static void on_event(void *context, const cebus_event *event)
{
    cebus_meter *meter = context;
    if (event->kind == CEBUS_EVENT_BUDGET)
        meter->budget = event->bytes;
    else if (event->kind == CEBUS_EVENT_PLACED && !meter->scattered &&
             event->offset + event->bytes > meter->budget)
        report(meter, "placed beyond the budget", event->offset + event->bytes, meter->budget);
}

void cebus_meter_attach(cebus_meter *meter, cebus_runtime *rt, const cebus_subject *subject)
{
    memset(meter, 0, sizeof *meter);
    meter->rt = rt;
    meter->subject = subject;
    meter->budget = cebus_runtime_budget(rt);
    meter->scattered = rt->arena.layout->address_factor > 1;
    meter->inner = rt->device_ops;
    meter->ops = *rt->device_ops;
    meter->ops.launch = launch_measured;
    rt->device_ops = &meter->ops;
    attached = meter;
    cebus_runtime_set_event_hook(rt, on_event, meter);
}
