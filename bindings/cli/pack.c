/**
 * pack.c: offsets for blocks whose lifetimes are known.
 */
#include <cebus/pack.h>
#include <cebus/runtime.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "blocks_file.h"
#include "clock.h"
#include "command.h"
#include "message.h"
#include "numbers.h"
#include "output.h"
#include "result.h"
#include "text.h"

enum {
    KEY_MINIMIZE = 0x100,
    KEY_JSON,
    KEY_MAX_STEPS,
    KEY_ROUNDS,
    KEY_SEED,
};

/** An exit status beside those of message.h: neither packed nor proved that nothing fits. */
#define EXIT_UNDECIDED 3

#define DEFAULT_SECONDS 10.0
#define DEFAULT_ROUNDS 50

struct pack {
    const char *input, *output;
    uint64_t capacity, rounds, max_steps, seed;
    double seconds;
    bool minimize, json;
    double start;
};

static const struct argp_option options[] = {
    {"capacity", 'c', "BYTES", 0, "no block may end above it, as in 1048576 or 6GiB", 0},
    {"minimize", KEY_MINIMIZE, NULL, 0, "as low as possible, not only within the capacity", 0},
    {"output", 'o', "OUT.csv", 0, "the blocks with their offsets (-: standard output)", 0},
    {"time-limit", 't', "S", 0, "end after so many seconds (default: 10)", 1},
    {"rounds", KEY_ROUNDS, "N", 0,
     "before the search, pack again up to N times, each time with what lay too high placed earlier "
     "(default: 50)",
     1},
    {"max-steps", KEY_MAX_STEPS, "N", 0,
     "end after so many nodes of the search: the same result on any machine", 1},
    {"seed", KEY_SEED, "N", 0, "other random orders for the search (default: 0)", 1},
    {"json", KEY_JSON, NULL, 0, "print the result as an object", 2},
    {0},
};

/* --- the command line ------------------------------------------------------------------------ */

/** Sizes are read as everywhere; plain numbers are not rounded as doubles are. */
static uint64_t read_capacity(const char *text, struct argp_state *state)
{
    uint64_t bytes;
    if (text[0] != '\0' && text[strspn(text, "0123456789")] == '\0')
        return number_count("capacity", text, 1, UINT64_MAX, state);
    if (strchr(text, '%') != NULL)
        argp_error(state, "--capacity: \"%s\" is a share of nothing; give bytes, as in 6GiB", text);
    if (cebus_size_parse(text, 0, &bytes) != CEBUS_OK)
        argp_error(state, "--capacity: %s", cebus_last_error()->message);
    if (bytes == 0)
        argp_error(state, "--capacity: \"%s\" is no room; give bytes, as in 6GiB", text);
    return bytes;
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct pack *pack = state->input;
    switch (key) {
    case 'c':
        pack->capacity = read_capacity(argument, state);
        return 0;
    case 'o':
        pack->output = argument;
        return 0;
    case 't':
        pack->seconds = number_seconds("time-limit", argument, state);
        return 0;
    case KEY_MINIMIZE:
        pack->minimize = true;
        return 0;
    case KEY_JSON:
        pack->json = true;
        return 0;
    case KEY_ROUNDS:
        pack->rounds = number_count("rounds", argument, 0, UINT64_MAX, state);
        return 0;
    case KEY_MAX_STEPS:
        pack->max_steps = number_count("max-steps", argument, 0, UINT64_MAX, state);
        return 0;
    case KEY_SEED:
        pack->seed = number_count("seed", argument, 0, UINT64_MAX, state);
        return 0;
    case ARGP_KEY_ARG:
        if (pack->input != NULL)
            argp_error(state, "one file at a time: \"%s\" is too much", argument);
        pack->input = argument;
        return 0;
    case ARGP_KEY_END:
        if (pack->input == NULL)
            argp_error(state, "which file of blocks? Name a CSV file (--help has its format)");
        if (pack->capacity == 0 && !pack->minimize)
            argp_error(state, "--capacity or --minimize is needed");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp argp = {
    .options = options,
    .parser = parse,
    .args_doc = "IN.csv",
    .doc = "Gives offsets to blocks of known lifetimes so that those that live at the same time do "
           "not overlap. IN.csv has a block a line, `id,lower,upper,size[,alignment][,offset]', "
           "upper exclusive; a first line may name the columns. A block that has an offset stays "
           "there.\vExit status: 0 when packed; 2 when it is proved that nothing fits; 3 when time "
           "or steps ended first; 1 after an error; 64 when the command line makes no sense.",
};

/* --- what was found -------------------------------------------------------------------------- */

static bool go_on(void *context)
{
    const struct pack *pack = context;
    return clock_seconds() - pack->start < pack->seconds;
}

static const char *const verdicts[] = {
    [CEBUS_PACK_SOLVED] = "solved",
    [CEBUS_PACK_INFEASIBLE] = "infeasible",
    [CEBUS_PACK_UNDECIDED] = "undecided",
};

static bool print_json(const struct pack *pack, const struct blocks *blocks,
                       const cebus_pack_result *result)
{
    json_t *json = json_object();
    json_put(json, "verdict", json_string(verdicts[result->verdict]));
    if (result->verdict == CEBUS_PACK_INFEASIBLE) {
        json_t *reason = json_string(cebus_pack_reason_text(result->reason));
        json_put(json, "reason", reason);
    }
    json_put_number(json, "blocks", blocks->n);
    if (pack->capacity > 0)
        json_put_number(json, "capacity", pack->capacity);
    json_put_number(json, "height", result->height);
    json_put_number(json, "bound", result->bound);
    json_put_number(json, "max_load", result->max_load);
    json_put_number(json, "steps", result->steps);
    json_put(json, "seconds", json_real(clock_seconds() - pack->start));
    return json_print_line(json);
}

static void print_bytes(FILE *to, const char *name, uint64_t bytes)
{
    char text[TEXT_BYTES];
    fprintf(to, "%-12s %" PRIu64 " (%s)\n", name, bytes, text_bytes(bytes, text));
}

static void print_text(const struct pack *pack, const struct blocks *blocks,
                       const cebus_pack_result *result, FILE *to)
{
    fprintf(to, "%-12s %s\n", "verdict", verdicts[result->verdict]);
    fprintf(to, "%-12s %zu\n", "blocks", blocks->n);
    if (pack->capacity > 0)
        print_bytes(to, "capacity", pack->capacity);
    if (result->height > 0)
        print_bytes(to, "height", result->height);
    print_bytes(to, "bound", result->bound);
    print_bytes(to, "max load", result->max_load);
    fprintf(to, "%-12s %" PRIu64 "\n", "steps", result->steps);
    fprintf(to, "%-12s %.3f\n", "seconds", clock_seconds() - pack->start);
}

/** What stands in the way, with its line. */
static void say_why(const struct pack *pack, const struct blocks *blocks,
                    const cebus_pack_result *result)
{
    char text[480];
    const char *why = cebus_pack_reason_text(result->reason),
               *remains = output_remains(pack->output);
    if (result->reason == CEBUS_PACK_SEARCHED) {
        complain_file(blocks->path, "%s%s", why, remains);
        return;
    }
    if (result->reason == CEBUS_PACK_COLLIDING_PRESETS)
        snprintf(text, sizeof text, "%s: \"%.100s\" of line %zu%s", why,
                 blocks->ids[result->second], blocks->lines[result->second], remains);
    else
        snprintf(text, sizeof text, "%s%s", why, remains);
    blocks_complain(blocks, result->first, text);
}

static int finish(const struct pack *pack, const struct blocks *blocks, const uint64_t *offsets,
                  const cebus_pack_result *result)
{
    bool to_stdout = pack->output != NULL && strcmp(pack->output, "-") == 0;
    if (result->verdict == CEBUS_PACK_SOLVED && pack->output != NULL &&
        !blocks_write(blocks, offsets, pack->output))
        return EXIT_WRONG;
    if (pack->json && !to_stdout) {
        if (!print_json(pack, blocks, result))
            return EXIT_WRONG;
    } else if (!to_stdout) {
        print_text(pack, blocks, result, stdout);
    }
    if (result->verdict == CEBUS_PACK_INFEASIBLE) {
        say_why(pack, blocks, result);
        return EXIT_INFEASIBLE;
    }
    if (result->verdict == CEBUS_PACK_UNDECIDED)
        complain_file(blocks->path,
                      "undecided: allow more time (--time-limit) or steps (--max-steps), or a "
                      "larger capacity%s",
                      output_remains(pack->output));
    return result->verdict == CEBUS_PACK_SOLVED ? 0 : EXIT_UNDECIDED;
}

static int pack_blocks(struct pack *pack, const struct blocks *blocks)
{
    cebus_pack_options how = CEBUS_PACK_OPTIONS_INIT;
    cebus_pack_result result = CEBUS_PACK_RESULT_INIT;
    uint64_t *offsets = take(NULL, blocks->n, sizeof *offsets);
    how.capacity = pack->capacity;
    how.minimise = pack->minimize;
    how.presets = blocks->presets;
    how.rounds = pack->rounds;
    how.max_steps = pack->max_steps;
    how.seed = pack->seed;
    how.go_on = go_on;
    how.context = pack;
    /* Time may be over when the file is read: one packing is worth the wait. */
    how.at_least_one = true;
    int status = EXIT_WRONG;
    cebus_status packed = cebus_pack(blocks->list, blocks->n, &how, offsets, &result);
    switch (packed) {
    case CEBUS_OK:
        status = finish(pack, blocks, offsets, &result);
        break;
    case CEBUS_INVALID_ARGUMENT:
        say_why(pack, blocks, &result);
        break;
    default:
        complain_file(blocks->path, "no host memory for %zu blocks", blocks->n);
    }
    free(offsets);
    return status;
}

int command_pack(int argc, char **argv)
{
    struct blocks blocks = {0};
    struct pack pack = {.rounds = DEFAULT_ROUNDS,
                        .max_steps = UINT64_MAX,
                        .seconds = DEFAULT_SECONDS,
                        .start = clock_seconds()};
    argp_parse(&argp, argc, argv, 0, NULL, &pack);
    int status = EXIT_WRONG;
    if (spares(pack.output, pack.input, "the file of blocks") && blocks_read(&blocks, pack.input))
        status = pack_blocks(&pack, &blocks);
    blocks_free(&blocks);
    return status;
}
