/*
 * char_gpt: trains a small GPT on the bytes of a text, unlimited and in a part of that memory, and
 * shows that both runs compute the same.
 *
 * What to read: gpt_forward() and the two functions above it are the model. Nothing in them speaks
 * of memory: a value is released as soon as this program does not need its handle any more, and
 * the runtime keeps, drops and rebuilds what the gradient needs.
 *
 * Calls that can fail return a status that is 0 (CEBUS_OK) for success. So they chain with ||: the
 * first that fails ends the chain, and cebus_last_error() tells what it was.
 */
#include <cebus/cebus.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "corpus.h"
#include "options.h"
#include "parameters.h"
#include "random.h"
#include "training.h"

enum {
    BYTES = 256
};

/* Sizes of the model and what it reads; the same for every run. */
struct setup {
    int64_t layers, width, heads, context, batch;
    int64_t sample;   /* bytes to write when trained */
    const char *path; /* of the text; NULL: the default */
    uint64_t seed;
    struct corpus corpus;
};

struct block {
    struct affine attention_norm, query, key, value, projection;
    struct affine mlp_norm, widen, narrow;
};

struct gpt {
    const struct setup *setup;
    cebus_runtime *rt;
    cebus_tensor *token_table, *position_table;
    struct block *blocks;
    struct affine norm, head;
};

/* --- the model ------------------------------------------------------------------------------ */

/* [batch, length, width] to [batch, heads, length, width / heads]: two views, nothing moves. */
static int split_heads(const struct gpt *gpt, cebus_tensor *x, const struct affine *layer,
                       cebus_tensor **out)
{
    int64_t heads = gpt->setup->heads;
    const int64_t shape[] = {cebus_tensor_size(x, 0), cebus_tensor_size(x, 1), heads, -1};
    cebus_tensor *projected = NULL, *split = NULL;
    int failed = cebus_linear(gpt->rt, x, layer->weight, layer->bias, &projected) ||
                 cebus_reshape(gpt->rt, projected, 4, shape, &split) ||
                 cebus_permute(gpt->rt, split, (int[]){0, 2, 1, 3}, out);
    RELEASE(projected, split);
    return failed;
}

/* x + projection(attention(norm(x))) */
static int attend(const struct gpt *gpt, const struct block *block, cebus_tensor *x,
                  cebus_tensor **out)
{
    cebus_runtime *rt = gpt->rt;
    const int64_t *shape = cebus_tensor_view(x)->shape;
    const cebus_attention_options causal = {.is_causal = true};
    const struct affine *norm = &block->attention_norm, *projection = &block->projection;
    cebus_tensor *normed = NULL, *q = NULL, *k = NULL, *v = NULL;
    cebus_tensor *heads = NULL, *turned = NULL, *joined = NULL, *mixed = NULL;
    int failed = cebus_layer_norm(rt, x, norm->weight, norm->bias, NULL, &normed) ||
                 split_heads(gpt, normed, &block->query, &q) ||
                 split_heads(gpt, normed, &block->key, &k) ||
                 split_heads(gpt, normed, &block->value, &v) ||
                 cebus_scaled_dot_product_attention(rt, q, k, v, &causal, &heads) ||
                 cebus_permute(rt, heads, (int[]){0, 2, 1, 3}, &turned) ||
                 cebus_reshape(rt, turned, 3, shape, &joined) ||
                 cebus_linear(rt, joined, projection->weight, projection->bias, &mixed) ||
                 cebus_add(rt, x, mixed, out);
    RELEASE(normed, q, k, v, heads, turned, joined, mixed);
    return failed;
}

/* x + narrow(gelu(widen(norm(x)))) */
static int think(const struct gpt *gpt, const struct block *block, cebus_tensor *x,
                 cebus_tensor **out)
{
    cebus_runtime *rt = gpt->rt;
    const struct affine *norm = &block->mlp_norm, *widen = &block->widen, *narrow = &block->narrow;
    cebus_tensor *normed = NULL, *wide = NULL, *active = NULL, *narrowed = NULL;
    int failed = cebus_layer_norm(rt, x, norm->weight, norm->bias, NULL, &normed) ||
                 cebus_linear(rt, normed, widen->weight, widen->bias, &wide) ||
                 cebus_gelu(rt, wide, &active) ||
                 cebus_linear(rt, active, narrow->weight, narrow->bias, &narrowed) ||
                 cebus_add(rt, x, narrowed, out);
    RELEASE(normed, wide, active, narrowed);
    return failed;
}

/* The sum of what the bytes mean and where they stand: [batch, length, width]. */
static int embed(const struct gpt *gpt, cebus_tensor *bytes, cebus_tensor **out)
{
    cebus_tensor *tokens = NULL, *positions = NULL;
    int64_t length = cebus_tensor_size(bytes, 1);
    int failed = cebus_embedding(gpt->rt, gpt->token_table, bytes, CEBUS_NO_PADDING, &tokens) ||
                 cebus_slice(gpt->rt, gpt->position_table, 0, 0, length, 1, &positions) ||
                 cebus_add(gpt->rt, tokens, positions, out);
    RELEASE(tokens, positions);
    return failed;
}

/* Logits [batch, length, 256] of the byte after each of `bytes` [batch, length]. */
static int gpt_forward(const struct gpt *gpt, cebus_tensor *bytes, cebus_tensor **out)
{
    cebus_tensor *x = NULL, *normed = NULL;
    int failed = embed(gpt, bytes, &x);
    for (int64_t i = 0; i < gpt->setup->layers && !failed; i++) {
        cebus_tensor *between = NULL, *next = NULL;
        failed = attend(gpt, &gpt->blocks[i], x, &between) ||
                 think(gpt, &gpt->blocks[i], between, &next);
        RELEASE(x, between);
        x = next;
    }
    failed = failed ||
             cebus_layer_norm(gpt->rt, x, gpt->norm.weight, gpt->norm.bias, NULL, &normed) ||
             cebus_linear(gpt->rt, normed, gpt->head.weight, gpt->head.bias, out);
    RELEASE(x, normed);
    return failed;
}

/* What a block adds is made smaller, the more blocks there are: the sum stays as large as they are
 * (Radford et al., "Language Models are Unsupervised Multitask Learners", 2019, section 2.3). */
static int create_block(struct parameters *params, const struct setup *setup, struct block *block)
{
    int64_t width = setup->width;
    double less = 1 / sqrt(2 * (double)setup->layers);
    return parameters_norm(params, width, &block->attention_norm) ||
           parameters_linear(params, 1, width, width, &block->query) ||
           parameters_linear(params, 1, width, width, &block->key) ||
           parameters_linear(params, 1, width, width, &block->value) ||
           parameters_linear(params, less, width, width, &block->projection) ||
           parameters_norm(params, width, &block->mlp_norm) ||
           parameters_linear(params, 1, width, 4 * width, &block->widen) ||
           parameters_linear(params, less, 4 * width, width, &block->narrow);
}

static int gpt_create(const struct task *task, struct parameters *params, void **out_model)
{
    const struct setup *setup = task->setup;
    int64_t width = setup->width;
    struct gpt *gpt = calloc(1, sizeof *gpt);
    if (gpt == NULL)
        return 1;
    *out_model = gpt;
    gpt->setup = setup;
    gpt->rt = params->rt;
    gpt->blocks = calloc((size_t)setup->layers, sizeof *gpt->blocks);
    int failed = gpt->blocks == NULL ||
                 parameters_weight(params, 0.02, 2, (int64_t[]){BYTES, width}, &gpt->token_table) ||
                 parameters_weight(params, 0.02, 2, (int64_t[]){setup->context, width},
                                   &gpt->position_table);
    for (int64_t i = 0; i < setup->layers && !failed; i++)
        failed = create_block(params, setup, &gpt->blocks[i]);
    return failed || parameters_norm(params, width, &gpt->norm) ||
           parameters_linear(params, 1, width, BYTES, &gpt->head);
}

static void gpt_destroy(void *model)
{
    struct gpt *gpt = model;
    free(gpt->blocks);
    free(gpt);
}

/* --- training ------------------------------------------------------------------------------- */

static int create_adam(cebus_runtime *rt, cebus_optimizer **out)
{
    cebus_adam_options options = CEBUS_ADAM_OPTIONS_INIT;
    options.beta2 = 0.99;
    options.weight_decay = 0.01;
    options.decoupled = true;
    return cebus_optimizer_create_adam(rt, &options, out);
}

/* Uploads the pieces of text of one step: what to read, and the same one byte later. */
static int upload_batch(const struct gpt *gpt, uint64_t step, cebus_tensor **out_bytes,
                        cebus_tensor **out_next)
{
    const struct setup *setup = gpt->setup;
    size_t rows = (size_t)setup->batch, length = (size_t)setup->context;
    const int64_t shape[] = {setup->batch, setup->context};
    int32_t *bytes = calloc(2 * rows * length, sizeof *bytes);
    if (bytes == NULL)
        return 1;
    int32_t *next = bytes + rows * length;
    for (size_t row = 0; row < rows; row++) {
        const unsigned char *text =
            corpus_piece(&setup->corpus, setup->seed, step * rows + row, length + 1);
        for (size_t i = 0; i < length; i++) {
            bytes[row * length + i] = text[i];
            next[row * length + i] = text[i + 1];
        }
    }
    int failed = cebus_tensor_from_host(gpt->rt, bytes, CEBUS_I32, 2, shape, out_bytes) ||
                 cebus_tensor_from_host(gpt->rt, next, CEBUS_I32, 2, shape, out_next);
    free(bytes);
    return failed;
}

/* The mean cross entropy of the next byte, over all positions of the batch. */
static int gpt_loss(void *model, uint64_t step, cebus_tensor **out)
{
    const struct gpt *gpt = model;
    cebus_tensor *bytes = NULL, *next = NULL, *logits = NULL, *rows = NULL, *targets = NULL;
    int failed = upload_batch(gpt, step, &bytes, &next) || gpt_forward(gpt, bytes, &logits) ||
                 cebus_reshape(gpt->rt, logits, 2, (int64_t[]){-1, BYTES}, &rows) ||
                 cebus_reshape(gpt->rt, next, 1, (int64_t[]){-1}, &targets) ||
                 cebus_cross_entropy(gpt->rt, rows, targets, NULL, out);
    RELEASE(bytes, next, logits, rows, targets);
    return failed;
}

/* --- sampling ------------------------------------------------------------------------------- */

/* Logits of the byte after `length` bytes of text. */
static int predict(const struct gpt *gpt, const char *text, int64_t length, float logits[BYTES])
{
    const int64_t shape[] = {1, length};
    cebus_tensor *bytes = NULL, *all = NULL, *last = NULL, *indices = NULL;
    int failed = cebus_tensor_from_host(gpt->rt, text, CEBUS_U8, 2, shape, &bytes) ||
                 cebus_cast(gpt->rt, bytes, CEBUS_I32, &indices) ||
                 gpt_forward(gpt, indices, &all) ||
                 cebus_select(gpt->rt, all, 1, length - 1, &last) ||
                 cebus_tensor_to_host(last, logits, BYTES * sizeof *logits);
    RELEASE(bytes, indices, all, last);
    return failed;
}

/* A byte with the probability the model gives it, made surer of itself by a temperature. */
static char draw(const float logits[BYTES], double uniform)
{
    static const double temperature = 0.8;
    double weights[BYTES], sum = 0;
    for (int i = 0; i < BYTES; i++)
        sum += weights[i] = exp(logits[i] / temperature);
    double left = uniform * sum;
    int chosen = 0;
    while (chosen < BYTES - 1 && (left -= weights[chosen]) >= 0)
        chosen++;
    return (char)chosen;
}

/* Writes on after a line end, one byte at a time. */
static int gpt_sample(void *model, char **out_text)
{
    const struct gpt *gpt = model;
    const struct setup *setup = gpt->setup;
    char *text = calloc((size_t)setup->sample + 2, 1);
    if (text == NULL)
        return 1;
    text[0] = '\n';
    struct random random = random_stream(setup->seed, UINT64_MAX);
    bool before = cebus_grad_enable(false);
    int failed = 0;
    for (int64_t length = 1; length <= setup->sample && !failed; length++) {
        float logits[BYTES];
        int64_t seen = length < setup->context ? length : setup->context;
        failed = predict(gpt, text + length - seen, seen, logits);
        if (!failed)
            text[length] = draw(logits, random_next(&random));
    }
    cebus_grad_enable(before);
    if (failed) {
        free(text);
        return 1;
    }
    memmove(text, text + 1, (size_t)setup->sample + 1);
    *out_text = text;
    return 0;
}

/* --- command line --------------------------------------------------------------------------- */

enum {
    KEY_TEXT = 0x200,
    KEY_LAYERS,
    KEY_WIDTH,
    KEY_HEADS,
    KEY_CONTEXT,
    KEY_BATCH,
    KEY_SAMPLE
};

static const struct argp_option described[] = {
    {NULL, 0, NULL, 0, "Model and data:", 0},
    {"text", KEY_TEXT, "FILE", 0, "what to learn (default: the licence texts of this machine)", 0},
    {"sample", KEY_SAMPLE, "N", 0, "write N bytes of text when trained (default 200)", 0},
    {"layers", KEY_LAYERS, "N", 0, "transformer blocks (default 12)", 0},
    {"width", KEY_WIDTH, "N", 0, "numbers for each position (default 128)", 0},
    {"heads", KEY_HEADS, "N", 0, "attention heads, a divisor of the width (default 4)", 0},
    {"context", KEY_CONTEXT, "N", 0, "bytes it looks back (default 128)", 0},
    {"batch", KEY_BATCH, "N", 0, "pieces of text in a step (default 16)", 0},
    {0},
};

struct arguments {
    struct options options;
    struct setup setup;
};

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct arguments *arguments = state->input;
    struct setup *setup = &arguments->setup;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &arguments->options;
        return 0;
    case KEY_TEXT:
        setup->path = argument;
        return 0;
    case KEY_SAMPLE:
        setup->sample = option_number(state, "sample", argument, 0, 100000);
        return 0;
    case KEY_LAYERS:
        setup->layers = option_number(state, "layers", argument, 1, 1000);
        return 0;
    case KEY_WIDTH:
        setup->width = option_number(state, "width", argument, 1, 65536);
        return 0;
    case KEY_HEADS:
        setup->heads = option_number(state, "heads", argument, 1, 1024);
        return 0;
    case KEY_CONTEXT:
        setup->context = option_number(state, "context", argument, 1, 65536);
        return 0;
    case KEY_BATCH:
        setup->batch = option_number(state, "batch", argument, 1, 65536);
        return 0;
    case ARGP_KEY_END:
        if (setup->width % setup->heads != 0)
            argp_error(state, "--heads must divide --width");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

int main(int argc, char **argv)
{
    static const struct argp_child shared[] = {{&shared_options, 0, NULL, 0}, {0}};
    static const struct argp argp = {
        .options = described,
        .parser = parse,
        .doc = "Trains a small GPT on the bytes of a text: first with all the memory it wants, "
               "then within a budget. Both compute the same, to the last bit.",
        .children = shared,
    };
    struct arguments arguments = {
        .options = {.budget = "40%", .steps = 300},
        .setup =
            {.layers = 12, .width = 128, .heads = 4, .context = 128, .batch = 16, .sample = 200},
    };
    struct setup *setup = &arguments.setup;
    const struct task task = {
        .name = "char_gpt",
        .learning_rate = 2e-3,
        .create = gpt_create,
        .create_optimizer = create_adam,
        .loss = gpt_loss,
        .conclude = gpt_sample,
        .destroy = gpt_destroy,
        .setup = setup,
    };
    argp_err_exit_status = EXIT_USAGE;
    argp_parse(&argp, argc, argv, 0, NULL, &arguments);
    setup->seed = arguments.options.seed;
    if (corpus_read(setup->path, (size_t)setup->context + 1, &setup->corpus))
        return EXIT_FAILURE;
    int status = train_and_compare(&task, &arguments.options);
    corpus_free(&setup->corpus);
    return status;
}
