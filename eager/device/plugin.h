/**
 * plugin.h: what a device plug-in and the library say to each other.
 *
 * A plug-in is a shared library, libcebus_<name>, that exports one symbol, CEBUS_PLUGIN_ENTRY. The
 * library loads it when a device of that name is first asked for, so that nothing of its vendor is
 * linked into libcebus. The two sides share internal structures (launches, views, attributes of
 * ops), so they must come from one version: the entry's table says both its number and that.
 *
 * Symbols of libcebus are hidden. What a plug-in needs of it comes in two ways:
 *  - state (the thread's last error) through the table of functions that the entry is given;
 *  - pure functions (eager/view.c, eager/dtype.c, eager/ops/layouts.c) compiled into the plug-in.
 */
#ifndef CEBUS_EAGER_DEVICE_PLUGIN_H
#define CEBUS_EAGER_DEVICE_PLUGIN_H

#include "eager/device/device.h"

/** Changes with this header, device.h, op.h and the attributes of ops (eager/ops). */
#define CEBUS_PLUGIN_ABI 4
/** The symbol. */
#define CEBUS_PLUGIN_ENTRY cebus_plugin_entry
#define CEBUS_PLUGIN_ENTRY_NAME "cebus_plugin_entry"

/** What the library offers a plug-in; lives as long as the process. */
typedef struct cebus_plugin_host {
    uint32_t abi;        /**< CEBUS_PLUGIN_ABI of the library */
    const char *version; /**< of the library, as in "0.1.0" */
    /** Records the calling thread's last error and returns `status`. */
    cebus_status (*fail)(cebus_status status, const char *op, const char *message);
} cebus_plugin_host;

/** What a plug-in offers; lives as long as the process. The first two members never move. */
typedef struct cebus_plugin {
    uint32_t abi;                   /**< CEBUS_PLUGIN_ABI of the plug-in */
    const char *version;            /**< of cebus, that it was built with */
    const cebus_device_ops *device; /**< named as the plug-in is */
    /** Whether a device can be opened now: CEBUS_OK, or why not, recorded by host->fail. Also says
     * what it runs on, as in "CUDA 13.0, cuDNN 9.19", in either case. */
    cebus_status (*probe)(char *out_runs_on, size_t bytes);
} cebus_plugin;

/** NULL after host->fail when the plug-in cannot work in this process at all. */
typedef const cebus_plugin *cebus_plugin_entry_function(const cebus_plugin_host *host);

/**
 * The plug-in of a device, by the device's name up to a colon: loaded before, or found as
 * libcebus_<name>.so in the folders of CEBUS_PLUGIN_PATH or beside the library. The first file that
 * is there counts. CEBUS_UNSUPPORTED with what is wrong with it, or where none was. Thread-safe.
 */
cebus_status cebus_plugin_find(const char *device, const cebus_plugin **out);

#endif
