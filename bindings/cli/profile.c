/**
 * profile.c: recorded traces to measured costs: of each op, by name and hash, the median.
 */
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "message.h"
#include "output.h"
#include "program.h"
#include "result.h"

/** One run of an op. */
struct sample {
    const char *name;
    uint64_t hash, ns;
};

struct profile {
    const char *output;
    char **traces;
    size_t n_traces;
    struct program *programs; /**< names live there */
    struct sample *samples;
    size_t n_samples, samples_room;
    const char *machine; /**< of all traces; "" when they differ */
};

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct profile *profile = state->input;
    switch (key) {
    case 'o':
        profile->output = argument;
        return 0;
    case ARGP_KEY_ARGS:
        profile->traces = state->argv + state->next;
        profile->n_traces = (size_t)(state->argc - state->next);
        return 0;
    case ARGP_KEY_END:
        if (profile->n_traces == 0)
            argp_error(state, "which traces? Name one file or more");
        if (profile->output == NULL)
            argp_error(state, "--output is needed: where the profile goes");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option options[] = {
    {"output", 'o', "FILE", 0, "the profile, for --profile (- is standard output)", 0},
    {0},
};

static const struct argp argp = {
    .options = options,
    .parser = parse,
    .args_doc = "TRACE...",
    .doc = "Turns recorded cebus traces into measured costs: of each op with the same attributes, "
           "shapes and types, the median." COMMAND_EXIT_STATUS_NO_RUN,
};

static int compare(const void *a, const void *b)
{
    const struct sample *x = a, *y = b;
    int names = strcmp(x->name, y->name);
    if (names != 0)
        return names;
    if (x->hash != y->hash)
        return x->hash < y->hash ? -1 : 1;
    return x->ns < y->ns ? -1 : x->ns > y->ns;
}

static bool read_trace(struct profile *profile, size_t i)
{
    struct program *program = &profile->programs[i];
    if (!spares(profile->output, profile->traces[i], "the trace") ||
        !program_load(program, profile->traces[i], "cebus"))
        return false;
    if (i == 0)
        profile->machine = program->machine;
    else if (strcmp(profile->machine, program->machine) != 0)
        profile->machine = "";
    for (size_t o = 0; o < program->n_ops; o++) {
        const struct program_op *op = &program->ops[o];
        if (op->hash == 0)
            continue;
        profile->samples = take_more(profile->samples, &profile->samples_room, profile->n_samples,
                                     sizeof *profile->samples);
        profile->samples[profile->n_samples++] =
            (struct sample){program_op_name(program, op), op->hash, op->cost_ns};
    }
    return true;
}

/** One entry from samples of the same op, by time. */
static json_t *entry_of(const struct sample *samples, size_t n)
{
    char hash[17];
    uint64_t low = samples[(n - 1) / 2].ns, high = samples[n / 2].ns;
    json_int_t median = (json_int_t)low + (json_int_t)(high - low) / 2;
    snprintf(hash, sizeof hash, "%016" PRIx64, samples->hash);
    json_t *entry = json_object();
    json_put(entry, "name", json_string(samples->name));
    json_put(entry, "hash", json_string(hash));
    json_put(entry, "cost_ns", json_integer(median));
    json_put(entry, "count", json_integer((json_int_t)n));
    return entry;
}

static json_t *profile_json(struct profile *profile)
{
    json_t *root = json_object(), *ops = json_array();
    qsort(profile->samples, profile->n_samples, sizeof *profile->samples, compare);
    for (size_t first = 0, end; first < profile->n_samples; first = end) {
        const struct sample *one = &profile->samples[first];
        end = first + 1;
        while (end < profile->n_samples && profile->samples[end].hash == one->hash &&
               strcmp(profile->samples[end].name, one->name) == 0)
            end++;
        json_array_append_new(ops, entry_of(one, end - first));
    }
    json_put(root, "cebus_profile", json_integer(1));
    json_put(root, "machine", json_string(profile->machine));
    json_put(root, "ops", ops);
    return root;
}

static bool write_profile(struct profile *profile)
{
    bool to_stdout = strcmp(profile->output, "-") == 0;
    struct output output = {0};
    if (!to_stdout && !output_open(&output, profile->output))
        return false;
    FILE *file = to_stdout ? stdout : output.file;
    json_t *root = profile_json(profile);
    bool good = json_dumpf(root, file, JSON_INDENT(1)) == 0 && fputc('\n', file) != EOF;
    json_decref(root);
    if (!good)
        complain_file(profile->output, "cannot be written: is the disk full?");
    return output_close(&output, good);
}

static bool profile_all(struct profile *profile)
{
    for (size_t i = 0; i < profile->n_traces; i++) {
        if (!read_trace(profile, i))
            return false;
    }
    if (profile->n_samples == 0) {
        complain_file(profile->traces[0],
                      "no op has a hash, so that no cost could be found again; record it anew with "
                      "cebus_trace_start()");
        return false;
    }
    return write_profile(profile);
}

int command_profile(int argc, char **argv)
{
    struct profile profile = {0};
    argp_parse(&argp, argc, argv, 0, NULL, &profile);
    profile.programs = take(NULL, profile.n_traces, sizeof *profile.programs);
    memset(profile.programs, 0, profile.n_traces * sizeof *profile.programs);
    bool good = profile_all(&profile);
    for (size_t i = 0; i < profile.n_traces; i++)
        program_free(&profile.programs[i]);
    free(profile.programs);
    free(profile.samples);
    return good ? 0 : EXIT_WRONG;
}
