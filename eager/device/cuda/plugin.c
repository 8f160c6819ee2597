/**
 * plugin.c: the one symbol the plug-in exports.
 */
#include "eager/device/plugin.h"

#include <stdio.h>

#include <cudnn.h>

#include "cebus_config.h"
#include "eager/device/cuda/device_cuda.h"
#include "eager/device/cuda/error.h"

static cebus_status probe(char *out_runs_on, size_t bytes)
{
    size_t dnn = cudnnGetVersion();
    snprintf(out_runs_on, bytes, "CUDA %d.%d, cuDNN %zu.%zu", CUDART_VERSION / 1000,
             CUDART_VERSION % 1000 / 10, dnn / 10000, dnn % 10000 / 100);
    return cebus_cuda_available(0);
}

__attribute__((visibility("default"))) const cebus_plugin *
CEBUS_PLUGIN_ENTRY(const cebus_plugin_host *host);

const cebus_plugin *CEBUS_PLUGIN_ENTRY(const cebus_plugin_host *host)
{
    static const cebus_plugin plugin = {
        .abi = CEBUS_PLUGIN_ABI,
        .version = CEBUS_VERSION_STRING,
        .device = &cebus_device_cuda,
        .probe = probe,
    };
    if (host->abi == CEBUS_PLUGIN_ABI)
        cebus_cuda_error_init(host);
    return &plugin;
}
