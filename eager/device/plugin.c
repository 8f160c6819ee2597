#include "eager/device/plugin.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cebus_config.h"

#define MAX_PLUGINS 8

static const char op[] = "device";

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const cebus_plugin *plugins[MAX_PLUGINS]; /**< loaded so far; they stay */

/** One search. */
typedef struct search {
    const char *device; /**< its name ends at `length` */
    int length;
    char path[4096];  /**< of the file at hand */
    char looked[256]; /**< folders without it, for the message */
    cebus_status status;
    const cebus_plugin *found;
} search;

static cebus_status host_fail(cebus_status status, const char *where, const char *message)
{
    return cebus_fail(status, where, "%s", message);
}

static const cebus_plugin_host host = {
    .abi = CEBUS_PLUGIN_ABI,
    .version = CEBUS_VERSION_STRING,
    .fail = host_fail,
};

static cebus_status unusable(const search *s, const char *why, const char *detail)
{
    return cebus_fail(CEBUS_UNSUPPORTED, op, "the plug-in %s %s%s", s->path, why, detail);
}

/** A plug-in of another version would read other structures. */
static cebus_status check_match(const search *s, const cebus_plugin *plugin)
{
    if (plugin->abi != CEBUS_PLUGIN_ABI)
        return cebus_fail(CEBUS_UNSUPPORTED, op,
                          "the plug-in %s has interface number %u, this library %d: install the "
                          "one that came with cebus %s",
                          s->path, plugin->abi, CEBUS_PLUGIN_ABI, CEBUS_VERSION_STRING);
    if (strcmp(plugin->version, CEBUS_VERSION_STRING) != 0)
        return cebus_fail(CEBUS_UNSUPPORTED, op,
                          "the plug-in %s belongs to cebus %s, this library is %s: install both "
                          "from one version",
                          s->path, plugin->version, CEBUS_VERSION_STRING);
    const char *name = plugin->device->name;
    if (strlen(name) != (size_t)s->length || strncmp(name, s->device, (size_t)s->length) != 0)
        return unusable(s, "offers a device called ", name);
    return CEBUS_OK;
}

static cebus_status enter(const search *s, void *library, const cebus_plugin **out)
{
    union {
        void *object;
        cebus_plugin_entry_function *function;
    } entry = {.object = dlsym(library, CEBUS_PLUGIN_ENTRY_NAME)};
    if (entry.object == NULL)
        return unusable(s, "is none of cebus: it has no ", CEBUS_PLUGIN_ENTRY_NAME);
    cebus_error_restore(&(cebus_error){.status = CEBUS_OK});
    *out = entry.function(&host);
    if (*out != NULL)
        return check_match(s, *out);
    cebus_status status = cebus_last_error()->status;
    return status != CEBUS_OK ? status : unusable(s, "did not start, and did not say why", "");
}

static void load(search *s)
{
    size_t slot = 0;
    const cebus_plugin *plugin = NULL;
    void *library = dlopen(s->path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        s->status = unusable(s, "cannot be loaded: ", dlerror());
        return;
    }
    while (slot < MAX_PLUGINS && plugins[slot] != NULL)
        slot++;
    if (slot == MAX_PLUGINS)
        s->status = unusable(s, "is one too many for this process", "");
    else
        s->status = enter(s, library, &plugin);
    if (s->status == CEBUS_OK)
        plugins[slot] = s->found = plugin;
    else
        dlclose(library);
}

/** Looks into one folder; true when the search is over. */
static bool look(search *s, const char *folder, int folder_length)
{
    int bytes = snprintf(s->path, sizeof s->path, "%.*s/libcebus_%.*s.so", folder_length, folder,
                         s->length, s->device);
    if (bytes < (int)sizeof s->path && access(s->path, F_OK) == 0) {
        load(s);
        return true;
    }
    size_t used = strlen(s->looked);
    snprintf(s->looked + used, sizeof s->looked - used, "%s%.*s", used > 0 ? ", " : "",
             folder_length, folder);
    return false;
}

/** The folders of CEBUS_PLUGIN_PATH, separated by colons. */
static bool look_in_path(search *s)
{
    const char *at = secure_getenv("CEBUS_PLUGIN_PATH");
    while (at != NULL && *at != '\0') {
        int length = (int)strcspn(at, ":");
        if (length > 0 && look(s, at, length))
            return true;
        at += length;
        at += *at == ':';
    }
    return false;
}

/** The folder of the library (or of the program that it is linked into). */
static bool look_beside_library(search *s)
{
    Dl_info info;
    char program[4096];
    const char *file = dladdr(&host, &info) != 0 ? info.dli_fname : NULL;
    const char *slash = file != NULL ? strrchr(file, '/') : NULL;
    if (slash == NULL) { /* a program by its bare name: the system knows the rest */
        ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
        program[length > 0 ? length : 0] = '\0';
        file = program;
        slash = strrchr(program, '/');
    }
    return slash != NULL && look(s, file, (int)(slash - file));
}

static void find(search *s)
{
    for (size_t i = 0; i < MAX_PLUGINS && plugins[i] != NULL && s->found == NULL; i++) {
        const char *name = plugins[i]->device->name;
        if (strlen(name) == (size_t)s->length && strncmp(name, s->device, (size_t)s->length) == 0)
            s->found = plugins[i];
    }
    if (s->found != NULL || look_in_path(s) || look_beside_library(s))
        return;
    s->status = cebus_fail(CEBUS_UNSUPPORTED, op,
                           "there is no plug-in libcebus_%.*s.so; looked in %s "
                           "(CEBUS_PLUGIN_PATH names further folders)",
                           s->length, s->device, s->looked);
}

/** Names become parts of file names. */
static bool is_name(const char *device, size_t length)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789_";
    return length > 0 && length <= 32 && strspn(device, letters) >= length;
}

cebus_status cebus_plugin_find(const char *device, const cebus_plugin **out)
{
    search s = {.device = device, .length = (int)strcspn(device, ":")};
    *out = NULL;
    if (!is_name(device, (size_t)s.length))
        return cebus_fail(CEBUS_UNSUPPORTED, op,
                          "\"%.64s\" is no name of a device: small letters, digits and _", device);
    cebus_error before = *cebus_last_error();
    pthread_mutex_lock(&lock);
    find(&s);
    pthread_mutex_unlock(&lock);
    if (s.status == CEBUS_OK)
        cebus_error_restore(&before);
    *out = s.found;
    return s.status;
}
