#include "machine.h"

#include <cebus/runtime.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

void machine_device(const char *machine, char out[DEVICE_BYTES])
{
    if (strncmp(machine, "sim:", 4) == 0)
        machine += 4;
    snprintf(out, DEVICE_BYTES, "sim:%s%s", machine,
             strstr(machine, ",issue=") == NULL ? ",issue=0ns" : "");
}

/** What stands before the first comma is one of the machines. */
static bool is_known(const char *machine)
{
    const char *name;
    size_t length = strcspn(machine, ",");
    for (size_t i = 0; (name = cebus_machine_name(i)) != NULL; i++) {
        if (strlen(name) == length && strncmp(name, machine, length) == 0)
            return true;
    }
    return false;
}

static const char *no_machine(const char *machine)
{
    static _Thread_local char problem[300];
    const char *name;
    snprintf(problem, sizeof problem, "no machine \"%.80s\"; there are", machine);
    for (size_t i = 0; (name = cebus_machine_name(i)) != NULL; i++) {
        size_t used = strlen(problem);
        snprintf(problem + used, sizeof problem - used, "%s %s", i > 0 ? "," : "", name);
    }
    return problem;
}

const char *machine_problem(const char *machine)
{
    char device[DEVICE_BYTES];
    if (strlen(machine) > DEVICE_BYTES / 2)
        return "the name is too long";
    if (strncmp(machine, "sim:", 4) == 0)
        machine += 4;
    if (!is_known(machine))
        return no_machine(machine);
    machine_device(machine, device);
    cebus_runtime *rt;
    cebus_runtime_options options = CEBUS_RUNTIME_OPTIONS_INIT;
    options.device = device;
    options.memory_budget = 1 << 20;
    if (cebus_runtime_create(&options, &rt) != CEBUS_OK)
        return cebus_last_error()->message;
    cebus_runtime_destroy(rt);
    return NULL;
}
