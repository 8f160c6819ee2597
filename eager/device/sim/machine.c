#include "eager/device/sim/machine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cebus/runtime.h>

#include "eager/op.h"

#define GIB (UINT64_C(1) << 30)
#define GIGA UINT64_C(1000000000)
#define TERA (1000 * GIGA)

/** WORKLOADS.md's machines; README.md names the source of what that table does not say. */
static const cebus_machine machines[] = {
    {
        .name = "p100-16g",
        .memory = 16 * GIB,
        .host = 512 * GIB,
        .bandwidth = 732 * GIGA,
        .f32 = 93 * TERA / 10,
        .f64 = 47 * TERA / 10,
        .half = 187 * TERA / 10,
        .link_out = 12 * GIGA,
        .link_in = 12 * GIGA,
        .link_both = 24 * GIGA,
        .latency_ns = 7000,
        .launch_ns = 2000,
        .issue_ns = 4500,
        .queue = 1024,
    },
    {
        .name = "v100-16g",
        .memory = 16 * GIB,
        .host = 512 * GIB,
        .bandwidth = 900 * GIGA,
        .f32 = 157 * TERA / 10,
        .f64 = 78 * TERA / 10,
        .half = 125 * TERA,
        .half_is_tensor = true,
        .link_out = 12 * GIGA,
        .link_in = 12 * GIGA,
        .link_both = 20 * GIGA,
        .latency_ns = 7000,
        .launch_ns = 2000,
        .issue_ns = 4500,
        .queue = 1024,
    },
    {
        .name = "titanv-12g",
        .memory = 12 * GIB,
        .host = 64 * GIB,
        .bandwidth = 653 * GIGA,
        .f32 = 138 * TERA / 10,
        .f64 = 69 * TERA / 10,
        .half = 110 * TERA,
        .half_is_tensor = true,
        .link_out = 12 * GIGA,
        .link_in = 12 * GIGA,
        .link_both = 24 * GIGA,
        .latency_ns = 7000,
        .launch_ns = 2000,
        .issue_ns = 4500,
        .queue = 1024,
    },
    {
        .name = "a100-80g",
        .memory = 80 * GIB,
        .host = 2048 * GIB,
        .bandwidth = 2039 * GIGA,
        .f32 = 195 * TERA / 10,
        .f64 = 97 * TERA / 10,
        .tf32 = 156 * TERA,
        .half = 312 * TERA,
        .half_is_tensor = true,
        .link_out = 25 * GIGA,
        .link_in = 25 * GIGA,
        .link_both = 50 * GIGA,
        .latency_ns = 7000,
        .launch_ns = 2000,
        .issue_ns = 3000,
        .queue = 1024,
    },
    {
        .name = "h200-141g",
        .memory = 141 * GIB,
        .host = 2048 * GIB,
        .bandwidth = 4800 * GIGA,
        .f32 = 67 * TERA,
        .f64 = 34 * TERA,
        .tf32 = 495 * TERA,
        .half = 990 * TERA,
        .half_is_tensor = true,
        .link_out = 55 * GIGA,
        .link_in = 55 * GIGA,
        .link_both = 110 * GIGA,
        .latency_ns = 7000,
        .launch_ns = 2000,
        .issue_ns = 3000,
        .queue = 1024,
    },
};

const char *cebus_machine_name(size_t i)
{
    return i < sizeof machines / sizeof *machines ? machines[i].name : NULL;
}

enum {
    TEXT_BYTES = 64 /**< longest name or value of a change */
};

typedef enum change_kind {
    CHANGE_SIZE,
    CHANGE_TIME,
    CHANGE_COUNT,
    CHANGE_SWITCH,
} change_kind;

/** What may follow the machine's name. */
static const struct change {
    const char *key;
    change_kind kind;
    size_t offset;
} changes[] = {
    {"memory", CHANGE_SIZE, offsetof(cebus_machine, memory)},
    {"host", CHANGE_SIZE, offsetof(cebus_machine, host)},
    {"bandwidth", CHANGE_SIZE, offsetof(cebus_machine, bandwidth)},
    {"link", CHANGE_SIZE, offsetof(cebus_machine, link_out)},
    {"both", CHANGE_SIZE, offsetof(cebus_machine, link_both)},
    {"launch", CHANGE_TIME, offsetof(cebus_machine, launch_ns)},
    {"issue", CHANGE_TIME, offsetof(cebus_machine, issue_ns)},
    {"latency", CHANGE_TIME, offsetof(cebus_machine, latency_ns)},
    {"queue", CHANGE_COUNT, offsetof(cebus_machine, queue)},
    {"tf32", CHANGE_SWITCH, offsetof(cebus_machine, use_tf32)},
};

static const char device_sim[] = "device sim";

static cebus_status no_machine(const char *device)
{
    char names[160] = "";
    for (size_t i = 0; cebus_machine_name(i) != NULL; i++) {
        size_t used = strlen(names);
        snprintf(names + used, sizeof names - used, "%ssim:%s", i > 0 ? ", " : "",
                 cebus_machine_name(i));
    }
    return cebus_fail(CEBUS_INVALID_ARGUMENT, device_sim, "no machine \"%.80s\"; there are %s",
                      device, names);
}

static cebus_status bad_change(const char *text, const char *wanted)
{
    return cebus_fail(CEBUS_INVALID_ARGUMENT, device_sim, "\"%.80s\": %s", text, wanted);
}

/** "1500ns", "4.5us", "2ms". */
static cebus_status parse_time(const char *text, const char *value, uint64_t *out_ns)
{
    static const struct {
        const char *name;
        double factor;
    } units[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}};
    char *end;
    double number = value[0] >= '0' && value[0] <= '9' ? strtod(value, &end) : -1;
    for (size_t i = 0; number >= 0 && i < sizeof units / sizeof *units; i++) {
        if (strcmp(end, units[i].name) == 0 && number * units[i].factor <= 1e12) {
            *out_ns = (uint64_t)(number * units[i].factor);
            return CEBUS_OK;
        }
    }
    return bad_change(text, "not a time: write 1500ns, 4.5us or 2ms");
}

static cebus_status parse_count(const char *text, const char *value, uint64_t *out)
{
    char *end;
    unsigned long long number = strtoull(value, &end, 10);
    if (value[0] < '0' || value[0] > '9' || *end != '\0' || number < 1 ||
        number > CEBUS_MACHINE_MAX_QUEUE)
        return bad_change(text, "a queue holds 1 to 4096 launches");
    *out = number;
    return CEBUS_OK;
}

static cebus_status parse_switch(const char *text, const char *value, cebus_machine *machine)
{
    bool on = strcmp(value, "on") == 0;
    if (!on && strcmp(value, "off") != 0)
        return bad_change(text, "write on or off");
    if (on && machine->tf32 == 0)
        return bad_change(text, "this machine has no tf32");
    machine->use_tf32 = on;
    return CEBUS_OK;
}

static cebus_status apply(const struct change *change, const char *text, const char *value,
                          cebus_machine *machine)
{
    uint64_t *field = (uint64_t *)((char *)machine + change->offset);
    if (change->kind == CHANGE_TIME)
        return parse_time(text, value, field);
    if (change->kind == CHANGE_COUNT)
        return parse_count(text, value, field);
    if (change->kind == CHANGE_SWITCH)
        return parse_switch(text, value, machine);
    cebus_status status = cebus_size_parse(value, *field, field);
    if (status == CEBUS_OK && field == &machine->link_out) {
        machine->link_in = machine->link_out;
        machine->link_both = 2 * machine->link_out;
    }
    return status;
}

/** One "key=value". */
static cebus_status change_machine(const char *text, cebus_machine *machine)
{
    char keys[160] = "the changes are ";
    size_t length = strcspn(text, "=");
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        size_t used = strlen(keys);
        if (text[length] == '=' && strlen(changes[i].key) == length &&
            strncmp(changes[i].key, text, length) == 0)
            return apply(&changes[i], text, text + length + 1, machine);
        snprintf(keys + used, sizeof keys - used, "%s%s=", i > 0 ? ", " : "", changes[i].key);
    }
    return bad_change(text, keys);
}

static cebus_status check(const char *device, const cebus_machine *machine)
{
    if (machine->memory < 4096)
        return bad_change(device, "a memory below 4 KiB holds no program");
    if (machine->memory > UINT64_C(1) << 56 || machine->host > UINT64_C(1) << 60)
        return bad_change(device, "more memory than can be addressed: at most 2^56 bytes, and 2^60 "
                                  "of the host");
    if (machine->bandwidth == 0)
        return bad_change(device, "a memory of no bandwidth never answers");
    if (machine->link_out > 0 && machine->link_both < machine->link_out)
        return bad_change(device, "both directions together cannot be slower than one; give link=, "
                                  "then both=");
    return CEBUS_OK;
}

static const cebus_machine *find(const char *name, size_t length)
{
    for (size_t i = 0; i < sizeof machines / sizeof *machines; i++) {
        if (strlen(machines[i].name) == length && strncmp(machines[i].name, name, length) == 0)
            return &machines[i];
    }
    return NULL;
}

cebus_status cebus_machine_parse(const char *device, cebus_machine *out)
{
    char text[TEXT_BYTES];
    const char *at = strchr(device, ':');
    at = at != NULL ? at + 1 : device + strlen(device);
    size_t length = strcspn(at, ",");
    const cebus_machine *known = find(at, length);
    if (known == NULL)
        return no_machine(device);
    *out = *known;
    for (at += length; *at == ','; at += length) {
        length = strcspn(++at, ",");
        if (length >= sizeof text)
            return bad_change(at, "too long for a change, key=value");
        memcpy(text, at, length);
        text[length] = '\0';
        cebus_status status = change_machine(text, out);
        if (status != CEBUS_OK)
            return status;
    }
    return check(device, out);
}

cebus_status cebus_machine_link(const char *device, uint64_t *out_out, uint64_t *out_in,
                                uint64_t *out_both, uint64_t *out_latency_ns)
{
    cebus_machine machine;
    if (out_out == NULL || out_in == NULL || out_both == NULL || out_latency_ns == NULL)
        return cebus_fail(CEBUS_INVALID_ARGUMENT, "machine_link", "an output is NULL");
    *out_out = *out_in = *out_both = *out_latency_ns = 0;
    if (device == NULL)
        return cebus_fail(CEBUS_INVALID_ARGUMENT, "machine_link", "the device is NULL");
    cebus_status status = cebus_machine_parse(device, &machine);
    if (status != CEBUS_OK)
        return status;
    *out_out = machine.link_out;
    *out_in = machine.link_in;
    *out_both = machine.link_both;
    *out_latency_ns = machine.latency_ns;
    return CEBUS_OK;
}
