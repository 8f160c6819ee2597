#include "tests/bench/recorder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "eager/device/device.h"

/** A launch with its own arrays, views and attributes, or a copy with its own bytes. */
typedef struct deed {
    const cebus_kernel *kernel; /**< NULL: a copy */
    cebus_launch launch;
    void *owned;
    void *to;
    const void *from;
    uint64_t bytes;
    cebus_copy_kind kind;
} deed;

static struct {
    cebus_device *device; /* of the runtime */
    deed *deeds;
    size_t n, room, launches;
    bool on;
} recorder;

static void *must(void *pointer)
{
    if (pointer == NULL) {
        fputs("recorder: no memory\n", stderr);
        exit(1);
    }
    return pointer;
}

static deed *next_deed(void)
{
    if (recorder.n == recorder.room) {
        recorder.room = recorder.room * 2 + 256;
        recorder.deeds = must(realloc(recorder.deeds, recorder.room * sizeof(deed)));
    }
    deed *out = &recorder.deeds[recorder.n++];
    memset(out, 0, sizeof *out);
    return out;
}

static void keep_launch(const cebus_kernel *kernel, const cebus_launch *launch)
{
    size_t count = launch->n_in + launch->n_out;
    size_t views_at = count * sizeof(cebus_array);
    size_t attrs_at = (views_at + count * sizeof(cebus_view) + 15) & ~(size_t)15;
    char *memory = must(malloc(attrs_at + launch->attr_bytes + 1));
    cebus_array *arrays = (cebus_array *)memory;
    cebus_view *views = (cebus_view *)(memory + views_at);
    for (size_t i = 0; i < count; i++) {
        arrays[i] = i < launch->n_in ? launch->in[i] : launch->out[i - launch->n_in];
        if (arrays[i].view != NULL) {
            views[i] = *arrays[i].view;
            arrays[i].view = &views[i];
        }
    }
    if (launch->attr_bytes > 0)
        memcpy(memory + attrs_at, launch->attrs, launch->attr_bytes);
    deed *kept = next_deed();
    kept->kernel = kernel;
    kept->launch = *launch;
    kept->launch.in = arrays;
    kept->launch.out = arrays + launch->n_in;
    kept->launch.attrs = memory + attrs_at;
    kept->owned = memory;
    recorder.launches++;
}

static cebus_status recorder_open(const cebus_device_options *options, cebus_device **out)
{
    cebus_status status = cebus_device_cpu.open(options, out);
    recorder.device = *out;
    return status;
}

static cebus_status recorder_launch(cebus_device *device, const cebus_kernel *kernel,
                                    const cebus_launch *launch, uint64_t *out_ns)
{
    if (recorder.on)
        keep_launch(kernel, launch);
    return cebus_device_cpu.launch(device, kernel, launch, out_ns);
}

static cebus_status recorder_copy(cebus_device *device, void *to, const void *from, uint64_t bytes,
                                  cebus_copy_kind kind)
{
    if (recorder.on) {
        deed *kept = next_deed();
        *kept = (deed){.to = to, .from = from, .bytes = bytes, .kind = kind};
        if (kind != CEBUS_COPY_ON_DEVICE)
            kept->owned = must(malloc(bytes + 1));
        if (kind == CEBUS_COPY_TO_DEVICE)
            kept->from = memcpy(kept->owned, from, bytes);
        if (kind == CEBUS_COPY_TO_HOST)
            kept->to = kept->owned;
    }
    return cebus_device_cpu.copy(device, to, from, bytes, kind);
}

void bench_recorder_register(void)
{
    static cebus_device_ops ops;
    ops = cebus_device_cpu;
    ops.name = "recorder";
    ops.open = recorder_open;
    ops.launch = recorder_launch;
    ops.copy = recorder_copy;
    cebus_device_register(&ops);
}

void bench_recorder_start(void)
{
    bench_recorder_clear();
    recorder.on = true;
}

void bench_recorder_stop(void)
{
    recorder.on = false;
}

size_t bench_recorder_launches(void)
{
    return recorder.launches;
}

void bench_recorder_play(void)
{
    for (size_t i = 0; i < recorder.n; i++) {
        const deed *d = &recorder.deeds[i];
        uint64_t ns;
        cebus_status status =
            d->kernel != NULL
                ? cebus_device_cpu.launch(recorder.device, d->kernel, &d->launch, &ns)
                : cebus_device_cpu.copy(recorder.device, d->to, d->from, d->bytes, d->kind);
        if (status != CEBUS_OK) {
            fprintf(stderr, "recorder: %s failed\n", d->kernel != NULL ? d->kernel->op : "a copy");
            exit(1);
        }
    }
}

void bench_recorder_clear(void)
{
    for (size_t i = 0; i < recorder.n; i++)
        free(recorder.deeds[i].owned);
    free(recorder.deeds);
    recorder.deeds = NULL;
    recorder.n = recorder.room = recorder.launches = 0;
}
