/**
 * trace_model: trains a model for a few steps and records a trace of them.
 *
 *     trace_model MODEL [OPTIONS] -o FILE         at a test's size, or as the options say
 *     trace_model --preset NAME [OPTIONS] -o FILE at a paper's size
 *     trace_model --list                          models and presets
 *
 * The first step is not recorded: it makes what later steps find (batches, momentum). A simulated
 * machine has as much memory as it takes, unless --budget says otherwise.
 */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/models.h"

typedef struct arguments {
    const char *model, *preset, *device, *policy, *budget, *file;
    int64_t steps, warmup;
    bool help, list, untied, two_way, auxiliary, drawn;
    cebus_model_config config; /**< zero: not given */
} arguments;

/** An option and where its value goes. */
typedef struct option {
    const char *name;
    enum {
        TEXT,
        NUMBER,
        REAL,
        FLAG
    } kind;
    size_t offset;
    const char *help;
} option;

#define CONFIG(field) (offsetof(arguments, config) + offsetof(cebus_model_config, field))

static const option options[] = {
    {"--preset", TEXT, offsetof(arguments, preset),
     "NAME  a paper's size; other options change it"},
    {"-o", TEXT, offsetof(arguments, file), "FILE  the trace"},
    {"--device", TEXT, offsetof(arguments, device), "NAME  cpu (default) or sim:MACHINE"},
    {"--policy", TEXT, offsetof(arguments, policy), "NAME  of eviction"},
    {"--budget", TEXT, offsetof(arguments, budget), "BYTES  of device memory, as in 12GiB"},
    {"--steps", NUMBER, offsetof(arguments, steps), "N  recorded (2)"},
    {"--warmup", NUMBER, offsetof(arguments, warmup), "N  before them (1)"},
    {"--seed", NUMBER, CONFIG(seed), "N"},
    {"--batch", NUMBER, CONFIG(batch), "N"},
    {"--width", NUMBER, CONFIG(width), "N"},
    {"--depth", NUMBER, CONFIG(depth), "N"},
    {"--length", NUMBER, CONFIG(length), "N  side of an image, steps of a sequence"},
    {"--breadth", NUMBER, CONFIG(breadth), "N  the other side of an image"},
    {"--classes", NUMBER, CONFIG(classes), "N"},
    {"--heads", NUMBER, CONFIG(heads), "N"},
    {"--input", NUMBER, CONFIG(input), "N  features"},
    {"--positions", NUMBER, CONFIG(positions), "N"},
    {"--dropout", REAL, CONFIG(dropout), "P  negative: none"},
    {"--untied", FLAG, offsetof(arguments, untied), " gpt: a head of its own"},
    {"--two-way", FLAG, offsetof(arguments, two_way), " lstm: in both directions"},
    {"--auxiliary", FLAG, offsetof(arguments, auxiliary), " inceptionv3: the auxiliary classifier"},
    {"--drawn", FLAG, offsetof(arguments, drawn), " parameters and batches made on the device"},
    {"--list", FLAG, offsetof(arguments, list), " models and presets"},
    {"--help", FLAG, offsetof(arguments, help), " this"},
};

enum {
    N_OPTIONS = sizeof options / sizeof *options
};

static int misuse(const char *wrong)
{
    fprintf(stderr, "trace_model: %s (--help lists the options)\n", wrong);
    return 2;
}

static int help(void)
{
    puts("usage: trace_model MODEL|--preset NAME [OPTIONS] -o FILE");
    for (size_t i = 0; i < N_OPTIONS; i++)
        printf("  %s %s\n", options[i].name, options[i].help);
    return 0;
}

static bool store(const option *o, void *place, const char *value)
{
    char *end = NULL;
    if (o->kind == TEXT)
        *(const char **)place = value;
    else if (o->kind == REAL)
        *(double *)place = strtod(value, &end);
    else
        *(int64_t *)place = strtoll(value, &end, 10);
    if (o->kind == NUMBER && *(int64_t *)place < 0)
        return false;
    return end == NULL || (end != value && *end == '\0');
}

/** NULL, or what is wrong, in `text`. */
static const char *parse(int argc, char **argv, arguments *out, char *text, size_t bytes)
{
    for (int i = 1; i < argc; i++) {
        const option *o = NULL;
        for (size_t k = 0; k < N_OPTIONS && o == NULL; k++)
            o = strcmp(argv[i], options[k].name) == 0 ? &options[k] : NULL;
        if (o == NULL && argv[i][0] != '-' && out->model == NULL) {
            out->model = argv[i];
        } else if (o == NULL) {
            snprintf(text, bytes, "what is %s?", argv[i]);
            return text;
        } else if (o->kind == FLAG) {
            *(bool *)((char *)out + o->offset) = true;
        } else if (i + 1 == argc || !store(o, (char *)out + o->offset, argv[i + 1])) {
            snprintf(text, bytes, "%s wants %s", o->name, o->help);
            return text;
        } else {
            i++;
        }
    }
    return NULL;
}

static int list(void)
{
    printf("models:");
    for (size_t i = 0; cebus_model_name(i) != NULL; i++)
        printf(" %s", cebus_model_name(i));
    printf("\npresets:\n");
    for (size_t i = 0; cebus_model_preset_at(i) != NULL; i++) {
        const cebus_model_preset *preset = cebus_model_preset_at(i);
        printf("  %-22s %s, %.1f million parameters\n", preset->name, preset->label,
               (double)cebus_model_size(preset->model, &preset->config) * 1e-6);
    }
    return 0;
}

static void replace(int64_t *field, int64_t given)
{
    if (given != 0)
        *field = given;
}

/** The preset's sizes, where the command line gives no others. */
static cebus_model_config configure(const arguments *a, const cebus_model_preset *preset)
{
    const cebus_model_config *given = &a->config;
    cebus_model_config config = preset != NULL ? preset->config : (cebus_model_config){.seed = 1};
    if (given->seed != 0)
        config.seed = given->seed;
    replace(&config.batch, given->batch);
    replace(&config.width, given->width);
    replace(&config.depth, given->depth);
    replace(&config.length, given->length);
    replace(&config.breadth, given->breadth);
    replace(&config.classes, given->classes);
    replace(&config.heads, given->heads);
    replace(&config.input, given->input);
    replace(&config.positions, given->positions);
    if (given->dropout != 0)
        config.dropout = given->dropout;
    config.untied = config.untied || a->untied;
    config.two_way = config.two_way || a->two_way;
    config.auxiliary = config.auxiliary || a->auxiliary;
    config.drawn = config.drawn || a->drawn;
    return config;
}

static cebus_status open_runtime(const arguments *a, cebus_runtime **out)
{
    cebus_runtime_options runtime = CEBUS_RUNTIME_OPTIONS_INIT;
    bool simulated = a->device != NULL && strncmp(a->device, "sim:", 4) == 0;
    cebus_status status = CEBUS_OK;
    runtime.device = a->device;
    runtime.policy = a->policy;
    runtime.threads = 1;
    if (a->budget != NULL)
        status = cebus_size_parse(a->budget, 0, &runtime.memory_budget);
    else if (simulated)
        runtime.memory_budget = UINT64_C(1) << 40;
    return status == CEBUS_OK ? cebus_runtime_create(&runtime, out) : status;
}

static cebus_status train(cebus_runtime *rt, cebus_model *model, int64_t steps)
{
    cebus_status status = CEBUS_OK;
    for (int64_t i = 0; i < steps && status == CEBUS_OK; i++) {
        status = cebus_model_step(model, NULL);
        if (status == CEBUS_OK)
            status = cebus_iteration_mark(rt);
    }
    return status;
}

static cebus_status record(cebus_runtime *rt, cebus_model *model, const arguments *a)
{
    cebus_status status = train(rt, model, a->warmup);
    if (status == CEBUS_OK)
        status = cebus_runtime_synchronize(rt);
    if (status == CEBUS_OK)
        status = cebus_trace_start(rt, a->file);
    if (status != CEBUS_OK)
        return status;
    status = train(rt, model, a->steps);
    cebus_status stopped = cebus_trace_stop(rt);
    return status != CEBUS_OK ? status : stopped;
}

static int fail(const char *what)
{
    const cebus_error *error = cebus_last_error();
    fprintf(stderr, "trace_model: %s: %s: %s\n", what, error->op, error->message);
    return 1;
}

static int run(const arguments *a, const char *name, const cebus_model_config *config)
{
    cebus_runtime *rt = NULL;
    if (open_runtime(a, &rt) != CEBUS_OK)
        return fail("no runtime");
    cebus_model *model = cebus_model_create(rt, name, config);
    int result = 0;
    if (model == NULL)
        result = fail(name);
    else if (record(rt, model, a) != CEBUS_OK)
        result = fail("training");
    else
        fprintf(stderr, "%s: %" PRId64 " steps in %s, peak %" PRIu64 " bytes\n", name, a->steps,
                a->file, cebus_max_memory_allocated(rt));
    cebus_model_destroy(model);
    cebus_runtime_destroy(rt);
    return result;
}

int main(int argc, char **argv)
{
    arguments a = {.steps = 2, .warmup = 1};
    char text[128];
    const char *wrong = parse(argc, argv, &a, text, sizeof text);
    const cebus_model_preset *preset = NULL;
    if (wrong != NULL)
        return misuse(wrong);
    if (a.help)
        return help();
    if (a.list)
        return list();
    if (a.preset != NULL && (preset = cebus_model_preset_find(a.preset)) == NULL)
        return misuse("no such preset: --list names them");
    if (preset != NULL && a.model != NULL)
        return misuse("a model or a preset, not both");
    if (preset != NULL)
        a.model = preset->model;
    if (a.model == NULL || cebus_model_size(a.model, NULL) < 0)
        return misuse("no such model: --list names them");
    if (a.file == NULL)
        return misuse("no file: -o FILE");
    cebus_model_config config = configure(&a, preset);
    return run(&a, a.model, &config);
}
