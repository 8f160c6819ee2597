/**
 * info.c: what this cebus is made of, and how it is set up.
 */
#include <cebus/info.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "message.h"
#include "result.h"
#include "text.h"

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct settings *settings = state->input;
    (void)argument;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = state->child_inputs[1] = settings;
        return 0;
    case ARGP_KEY_ARG:
        argp_error(state, "it takes no arguments, as in \"%s\"", argument);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_child children[] = {
    {.argp = &run_settings}, {.argp = &machine_settings}, {0}};

static const struct argp argp = {
    .parser = parse,
    .children = children,
    .doc = "Shows devices, simulated machines, libraries with their versions, and every setting "
           "with where it comes from: the default, the environment, or an option given "
           "here." COMMAND_EXIT_STATUS_NO_RUN,
};

/** What a program finds that sets no option of cebus_runtime_create(). */
struct plain {
    uint64_t budget;
    const char *policy;
    int threads;
};

static bool read_plain(struct plain *out)
{
    cebus_runtime *rt;
    if (cebus_runtime_create(NULL, &rt) != CEBUS_OK) {
        complain_cebus("a runtime with all defaults");
        return false;
    }
    *out = (struct plain){.budget = cebus_runtime_budget(rt),
                          .policy = cebus_runtime_policy(rt),
                          .threads = cebus_runtime_threads(rt)};
    cebus_runtime_destroy(rt);
    return true;
}

/** Memory of a machine: a runtime takes 80% of it by default. */
static uint64_t machine_bytes(const char *name)
{
    char device[64];
    cebus_runtime *rt;
    cebus_runtime_options options = CEBUS_RUNTIME_OPTIONS_INIT;
    snprintf(device, sizeof device, "sim:%s", name);
    options.device = device;
    if (cebus_runtime_create(&options, &rt) != CEBUS_OK)
        return 0;
    uint64_t bytes = cebus_runtime_budget(rt) / 8 * 10;
    cebus_runtime_destroy(rt);
    return bytes;
}

/** The value in force, or in words what stands for it. */
static const char *setting_text(const struct settings *settings, enum setting_key key)
{
    static const char *const unset[SETTING_COUNT] = {
        [SETTING_SWAP] = "as the policy was published",
        [SETTING_HOST_BUDGET] = "half of the machine's host memory",
        [SETTING_PROFILE] = "none",
        [SETTING_FORMAT] = "told by the trace's first line",
    };
    const char *text = settings->of[key].text;
    return text != NULL ? text : unset[key];
}

/* --- JSON ------------------------------------------------------------------------------------ */

static json_t *names_json(const char *(*name)(size_t i))
{
    json_t *list = json_array();
    for (size_t i = 0; name(i) != NULL; i++)
        json_array_append_new(list, json_string(name(i)));
    return list;
}

static json_t *machines_json(void)
{
    json_t *list = json_array();
    for (size_t i = 0; cebus_machine_name(i) != NULL; i++) {
        json_t *machine = json_object();
        json_put(machine, "name", json_string(cebus_machine_name(i)));
        json_put(machine, "memory_bytes",
                 json_integer((json_int_t)machine_bytes(cebus_machine_name(i))));
        json_array_append_new(list, machine);
    }
    return list;
}

static json_t *libraries_json(void)
{
    cebus_feature feature;
    json_t *list = json_array();
    for (size_t i = 0; cebus_feature_at(i, &feature); i++) {
        json_t *library = json_object();
        json_put(library, "name", json_string(feature.name));
        json_put(library, "present", json_boolean(feature.present));
        json_put(library, "version", json_string(feature.version));
        json_put(library, "what", json_string(feature.what));
        json_array_append_new(list, library);
    }
    return list;
}

static void put_setting(json_t *list, const char *name, json_t *value, const char *origin)
{
    json_t *setting = json_object();
    json_put(setting, "value", value);
    json_put(setting, "from", json_string(origin));
    json_put(list, name, setting);
}

static json_t *settings_json(const struct settings *settings)
{
    json_t *list = json_object();
    for (int k = 0; k < SETTING_COUNT; k++) {
        const struct setting *setting = &settings->of[k];
        put_setting(list, setting_name((enum setting_key)k), json_text(setting->text),
                    setting_origin_name(setting->origin));
    }
    return list;
}

static json_t *plain_json(const struct plain *plain)
{
    json_t *list = json_object();
    put_setting(list, "memory_budget", json_integer((json_int_t)plain->budget), "default");
    put_setting(list, "policy", json_string(plain->policy), "default");
    put_setting(list, "threads", json_integer(plain->threads), "default");
    return list;
}

static bool print_json(const struct settings *settings, const struct plain *plain)
{
    json_t *json = json_object();
    json_put(json, "version", json_string(cebus_version()));
    json_put(json, "devices", names_json(cebus_device_name));
    json_put(json, "machines", machines_json());
    json_put(json, "policies", names_json(cebus_policy_name));
    json_put(json, "layouts", names_json(cebus_layout_name));
    json_put(json, "libraries", libraries_json());
    json_put(json, "settings", settings_json(settings));
    json_put(json, "runtime", plain_json(plain));
    return json_print_line(json);
}

/* --- tables ---------------------------------------------------------------------------------- */

static void print_names(const char *what, const char *(*name)(size_t i))
{
    printf("%-10s", what);
    for (size_t i = 0; name(i) != NULL; i++)
        printf(" %s", name(i));
    putchar('\n');
}

static void print_parts(void)
{
    cebus_feature feature;
    char bytes[TEXT_BYTES];
    printf("cebus %s\n\n", cebus_version());
    print_names("devices", cebus_device_name);
    print_names("policies", cebus_policy_name);
    print_names("layouts", cebus_layout_name);
    printf("\nmachines (devices sim:NAME)\n");
    for (size_t i = 0; cebus_machine_name(i) != NULL; i++)
        printf("  %-14s %s\n", cebus_machine_name(i),
               text_bytes(machine_bytes(cebus_machine_name(i)), bytes));
    printf("\nlibraries\n");
    for (size_t i = 0; cebus_feature_at(i, &feature); i++)
        printf("  %-10s %-10s %s\n", feature.name, feature.present ? feature.version : "-",
               feature.what);
}

static void print_settings(const struct settings *settings)
{
    printf("\nsettings of runs\n");
    for (int k = 0; k < SETTING_COUNT; k++) {
        enum setting_origin origin = settings->of[k].origin;
        printf("  %-12s %-36s %s%s%s\n", setting_name((enum setting_key)k),
               setting_text(settings, (enum setting_key)k), setting_origin_name(origin),
               origin == FROM_ENVIRONMENT ? " " : "",
               origin == FROM_ENVIRONMENT ? setting_variable((enum setting_key)k) : "");
    }
}

static void print_plain(const struct plain *plain)
{
    char bytes[TEXT_BYTES];
    printf("\na program's runtime (device cpu)\n");
    printf("  %-12s %-36s default: 80%% of what the process may use\n", "budget",
           text_bytes(plain->budget, bytes));
    printf("  %-12s %-36s default\n", "policy", plain->policy);
    printf("  %-12s %-36d default: all cores\n", "threads", plain->threads);
}

int command_info(int argc, char **argv)
{
    struct plain plain;
    struct settings settings;
    if (!settings_begin(&settings))
        return EXIT_USAGE;
    argp_parse(&argp, argc, argv, 0, NULL, &settings);
    if (!read_plain(&plain))
        return EXIT_WRONG;
    if (settings.json)
        return print_json(&settings, &plain) ? 0 : EXIT_WRONG;
    print_parts();
    print_settings(&settings);
    print_plain(&plain);
    return 0;
}
