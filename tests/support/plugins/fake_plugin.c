/**
 * fake_plugin.c: plug-ins for tests/unit/eager/test_plugin.c. Each is this file with FAKE_NAME and
 * one defect; without a defect it offers the CPU device (linked in once more) under its own name.
 */
#include <string.h>

#include "cebus_config.h"
#include "eager/device/plugin.h"

#ifndef FAKE_ABI
#define FAKE_ABI CEBUS_PLUGIN_ABI
#endif
#ifndef FAKE_VERSION
#define FAKE_VERSION CEBUS_VERSION_STRING
#endif
#ifndef FAKE_DEVICE
#define FAKE_DEVICE FAKE_NAME
#endif

#ifdef FAKE_MISSING_SYMBOL
void cebus_nowhere(void);
#endif

static const cebus_plugin_host *library;
static cebus_device_ops device;

static cebus_status fake_open(const cebus_device_options *options, cebus_device **out)
{
    cebus_device_options cpu = *options;
    cpu.name = "cpu";
    if (strcmp(options->name, FAKE_NAME ":broken") == 0)
        return library->fail(CEBUS_DEVICE_ERROR, "device " FAKE_NAME, "it is broken");
    return cebus_device_cpu.open(&cpu, out);
}

static cebus_status fake_probe(char *out_runs_on, size_t bytes)
{
    strncpy(out_runs_on, "fakes 1.0", bytes);
    return CEBUS_OK;
}

#ifdef FAKE_MISSING_ENTRY
#undef CEBUS_PLUGIN_ENTRY
#define CEBUS_PLUGIN_ENTRY fake_other_entry
#endif

__attribute__((visibility("default"))) const cebus_plugin *
CEBUS_PLUGIN_ENTRY(const cebus_plugin_host *host);

const cebus_plugin *CEBUS_PLUGIN_ENTRY(const cebus_plugin_host *host)
{
    static const cebus_plugin plugin = {
        .abi = FAKE_ABI, .version = FAKE_VERSION, .device = &device, .probe = fake_probe};
    library = host;
#if defined(FAKE_REASON)
    host->fail(CEBUS_UNSUPPORTED, "fake", FAKE_REASON);
    return NULL;
#elif defined(FAKE_SILENT)
    return NULL;
#elif defined(FAKE_MISSING_SYMBOL)
    cebus_nowhere();
#endif
    device = cebus_device_cpu;
    device.name = FAKE_DEVICE;
    device.open = fake_open;
    return &plugin;
}
