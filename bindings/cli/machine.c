#include "machine.h"

#include <cebus/runtime.h>
#include <stdio.h>
#include <string.h>

void machine_device(const char *machine, char out[DEVICE_BYTES])
{
    if (strncmp(machine, "sim:", 4) == 0)
        machine += 4;
    snprintf(out, DEVICE_BYTES, "sim:%s%s", machine,
             strstr(machine, ",issue=") == NULL ? ",issue=0ns" : "");
}

const char *machine_problem(const char *machine)
{
    char device[DEVICE_BYTES];
    if (strlen(machine) > DEVICE_BYTES / 2)
        return "the name is too long";
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
