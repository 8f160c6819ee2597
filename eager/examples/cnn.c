/*
 * cnn: trains a small residual network with batch normalization and dropout on generated pictures,
 * unlimited and in a part of that memory, and shows that both runs compute the same.
 *
 * Read char_gpt.c first. What is new here: layers whose images lie channels-last by themselves,
 * running statistics (buffers that a training call updates, once, however often its result is
 * rebuilt), dropout (whose mask is drawn again, to the bit), and a mode for evaluation.
 */
#include <cebus/cebus.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "options.h"
#include "parameters.h"
#include "shapes.h"
#include "training.h"

enum {
    COLOURS = 3,
    STAGES = 3,
    TEST_PICTURES = 256
};

/* Sizes of the model and its pictures; the same for every run. */
struct setup {
    int64_t width, blocks, side, batch;
    double dropout;
    uint64_t seed;
};

/* A convolution without bias and the batch normalization after it. */
struct conv {
    cebus_tensor *weight;
    struct affine norm;
    cebus_tensor *running_mean, *running_var;
    int64_t stride;
};

/* norm(conv(relu(norm(conv(x))))) + x; where the shape changes, the last x goes through shortcut.
 */
struct block {
    struct conv first, second, shortcut;
};

struct resnet {
    const struct setup *setup;
    cebus_runtime *rt;
    bool training;
    struct conv stem;
    struct block *blocks; /* of all stages */
    struct affine head;
};

/* --- the model ------------------------------------------------------------------------------ */

static int conv_forward(const struct resnet *net, const struct conv *conv, cebus_tensor *x,
                        cebus_tensor **out)
{
    const int64_t padding = cebus_tensor_size(conv->weight, -1) / 2;
    const cebus_conv_options move = {
        .stride = {conv->stride, conv->stride},
        .padding = {padding, padding},
    };
    const cebus_batch_norm_options statistics = {
        .running_mean = conv->running_mean,
        .running_var = conv->running_var,
        .training = net->training,
    };
    cebus_tensor *y = NULL;
    int failed = cebus_conv2d(net->rt, x, conv->weight, NULL, &move, &y) ||
                 cebus_batch_norm(net->rt, y, conv->norm.weight, conv->norm.bias, &statistics, out);
    RELEASE(y);
    return failed;
}

static int conv_relu_forward(const struct resnet *net, const struct conv *conv, cebus_tensor *x,
                             cebus_tensor **out)
{
    cebus_tensor *y = NULL;
    int failed = conv_forward(net, conv, x, &y) || cebus_relu(net->rt, y, out);
    RELEASE(y);
    return failed;
}

/* What of x goes around the block. */
static int shortcut_forward(const struct resnet *net, const struct block *block, cebus_tensor *x,
                            cebus_tensor **out)
{
    if (block->shortcut.weight != NULL)
        return conv_forward(net, &block->shortcut, x, out);
    *out = cebus_tensor_retain(x);
    return 0;
}

static int block_forward(const struct resnet *net, const struct block *block, cebus_tensor *x,
                         cebus_tensor **out)
{
    cebus_tensor *inner = NULL, *change = NULL, *around = NULL, *sum = NULL;
    int failed = conv_relu_forward(net, &block->first, x, &inner) ||
                 conv_forward(net, &block->second, inner, &change) ||
                 shortcut_forward(net, block, x, &around) ||
                 cebus_add(net->rt, change, around, &sum) || cebus_relu(net->rt, sum, out);
    RELEASE(inner, change, around, sum);
    return failed;
}

/* Features of each picture, averaged over it, to one number for each kind of shape. */
static int classify(const struct resnet *net, cebus_tensor *features, cebus_tensor **out)
{
    const int64_t shape[] = {cebus_tensor_size(features, 0), cebus_tensor_size(features, 1)};
    cebus_tensor *pooled = NULL, *flat = NULL, *kept = NULL;
    int failed = cebus_adaptive_avg_pool2d(net->rt, features, 1, 1, &pooled) ||
                 cebus_reshape(net->rt, pooled, 2, shape, &flat) ||
                 cebus_dropout(net->rt, flat, net->setup->dropout, net->training, &kept) ||
                 cebus_linear(net->rt, kept, net->head.weight, net->head.bias, out);
    RELEASE(pooled, flat, kept);
    return failed;
}

/* Logits [batch, kinds] for pictures [batch, 3, side, side]. */
static int resnet_forward(const struct resnet *net, cebus_tensor *pictures, cebus_tensor **out)
{
    cebus_tensor *x = NULL;
    int failed = conv_relu_forward(net, &net->stem, pictures, &x);
    for (int64_t i = 0; i < STAGES * net->setup->blocks && !failed; i++) {
        cebus_tensor *next = NULL;
        failed = block_forward(net, &net->blocks[i], x, &next);
        RELEASE(x);
        x = next;
    }
    failed = failed || classify(net, x, out);
    RELEASE(x);
    return failed;
}

static int create_conv(struct parameters *params, int64_t in, int64_t out, int64_t size,
                       struct conv *conv)
{
    double std = sqrt(2.0 / (double)(in * size * size));
    return parameters_weight(params, std, 4, (int64_t[]){out, in, size, size}, &conv->weight) ||
           parameters_norm(params, out, &conv->norm) ||
           parameters_buffer(params, 0, out, &conv->running_mean) ||
           parameters_buffer(params, 1, out, &conv->running_var);
}

static int create_block(struct parameters *params, int64_t in, int64_t out, struct block *block)
{
    block->first.stride = block->shortcut.stride = in == out ? 1 : 2;
    block->second.stride = 1;
    return create_conv(params, in, out, 3, &block->first) ||
           create_conv(params, out, out, 3, &block->second) ||
           (in != out && create_conv(params, in, out, 1, &block->shortcut));
}

static int resnet_create(const struct task *task, struct parameters *params, void **out_model)
{
    const struct setup *setup = task->setup;
    struct resnet *net = calloc(1, sizeof *net);
    if (net == NULL)
        return 1;
    *out_model = net;
    net->setup = setup;
    net->rt = params->rt;
    net->training = true;
    net->stem.stride = 1;
    net->blocks = calloc((size_t)(STAGES * setup->blocks), sizeof *net->blocks);
    int64_t channels = setup->width;
    int failed = net->blocks == NULL || create_conv(params, COLOURS, channels, 3, &net->stem);
    for (int64_t i = 0; i < STAGES * setup->blocks && !failed; i++) {
        int64_t in = channels;
        channels = setup->width << (i / setup->blocks);
        failed = create_block(params, in, channels, &net->blocks[i]);
    }
    return failed || parameters_linear(params, 1, channels, SHAPE_KINDS, &net->head);
}

static void resnet_destroy(void *model)
{
    struct resnet *net = model;
    free(net->blocks);
    free(net);
}

/* --- training ------------------------------------------------------------------------------- */

static int create_sgd(cebus_runtime *rt, cebus_optimizer **out)
{
    cebus_sgd_options options = CEBUS_SGD_OPTIONS_INIT;
    options.momentum = 0.9;
    options.nesterov = true;
    options.weight_decay = 1e-4;
    return cebus_optimizer_create_sgd(rt, &options, out);
}

/* Draws and uploads the pictures first, first + 1, ... and their kinds. */
static int upload_pictures(const struct resnet *net, uint64_t seed, uint64_t first,
                           cebus_tensor **out_pictures, cebus_tensor **out_kinds)
{
    int64_t batch = net->setup->batch, side = net->setup->side;
    size_t numbers = (size_t)(COLOURS * side * side);
    float *pictures = calloc((size_t)batch * numbers, sizeof *pictures);
    int32_t *kinds = calloc((size_t)batch, sizeof *kinds);
    int failed = pictures == NULL || kinds == NULL;
    for (int64_t i = 0; i < batch && !failed; i++)
        kinds[i] = shape_draw(seed, first + (uint64_t)i, side, pictures + (size_t)i * numbers);
    failed = failed ||
             cebus_tensor_from_host(net->rt, pictures, CEBUS_F32, 4,
                                    (int64_t[]){batch, COLOURS, side, side}, out_pictures) ||
             cebus_tensor_from_host(net->rt, kinds, CEBUS_I32, 1, &batch, out_kinds);
    free(pictures);
    free(kinds);
    return failed;
}

static int resnet_loss(void *model, uint64_t step, cebus_tensor **out)
{
    const struct resnet *net = model;
    const struct setup *setup = net->setup;
    uint64_t first = step * (uint64_t)setup->batch;
    cebus_tensor *pictures = NULL, *kinds = NULL, *logits = NULL;
    int failed = upload_pictures(net, setup->seed, first, &pictures, &kinds) ||
                 resnet_forward(net, pictures, &logits) ||
                 cebus_cross_entropy(net->rt, logits, kinds, NULL, out);
    RELEASE(pictures, kinds, logits);
    return failed;
}

/* --- evaluation ----------------------------------------------------------------------------- */

/* How many of one batch of pictures it has not seen it names rightly. */
static int count_right(const struct resnet *net, uint64_t first, double *out_count)
{
    cebus_tensor *pictures = NULL, *kinds = NULL, *logits = NULL, *best = NULL, *named = NULL;
    cebus_tensor *right = NULL, *count = NULL;
    cebus_runtime *rt = net->rt;
    int failed = upload_pictures(net, ~net->setup->seed, first, &pictures, &kinds) ||
                 resnet_forward(net, pictures, &logits) ||
                 cebus_argmax(rt, logits, 1, (int[]){1}, false, &best) ||
                 cebus_cast(rt, best, CEBUS_I32, &named) || cebus_eq(rt, named, kinds, &right) ||
                 cebus_sum(rt, right, 0, NULL, false, &count) ||
                 cebus_tensor_item(count, out_count);
    RELEASE(pictures, kinds, logits, best, named, right, count);
    return failed;
}

static int resnet_evaluate(void *model, char **out_text)
{
    struct resnet *net = model;
    int64_t seen = 0;
    double right = 0;
    int failed = 0;
    bool before = cebus_grad_enable(false);
    net->training = false;
    for (; seen < TEST_PICTURES && !failed; seen += net->setup->batch) {
        double count = 0;
        failed = count_right(net, (uint64_t)seen, &count);
        right += count;
    }
    net->training = true;
    cebus_grad_enable(before);
    return failed || asprintf(out_text, "names %.1f%% of %lld new pictures rightly",
                              100 * right / (double)seen, (long long)seen) < 0;
}

/* --- command line --------------------------------------------------------------------------- */

enum {
    KEY_WIDTH = 0x200,
    KEY_BLOCKS,
    KEY_SIDE,
    KEY_BATCH,
    KEY_DROPOUT
};

static const struct argp_option described[] = {
    {NULL, 0, NULL, 0, "Model and data:", 0},
    {"width", KEY_WIDTH, "N", 0, "channels of the first stage; they double twice (default 16)", 0},
    {"blocks", KEY_BLOCKS, "N", 0, "residual blocks in each of 3 stages (default 3)", 0},
    {"side", KEY_SIDE, "N", 0, "pixels (default 32)", 0},
    {"batch", KEY_BATCH, "N", 0, "pictures in a step (default 64)", 0},
    {"dropout", KEY_DROPOUT, "PERCENT", 0, "of the features before the last layer (default 20)", 0},
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
    case KEY_WIDTH:
        setup->width = option_number(state, "width", argument, 1, 4096);
        return 0;
    case KEY_BLOCKS:
        setup->blocks = option_number(state, "blocks", argument, 1, 1000);
        return 0;
    case KEY_SIDE:
        setup->side = option_number(state, "side", argument, 4, 1024);
        return 0;
    case KEY_BATCH:
        setup->batch = option_number(state, "batch", argument, 2, 65536);
        return 0;
    case KEY_DROPOUT:
        setup->dropout = 0.01 * (double)option_number(state, "dropout", argument, 0, 100);
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
        .doc = "Trains a small residual network on pictures of shapes: first with all the memory "
               "it wants, then within a budget. Both compute the same, to the last bit.",
        .children = shared,
    };
    struct arguments arguments = {
        .options = {.budget = "40%", .steps = 100},
        .setup = {.width = 16, .blocks = 3, .side = 32, .batch = 64, .dropout = 0.2},
    };
    const struct task task = {
        .name = "cnn",
        .learning_rate = 0.1,
        .create = resnet_create,
        .create_optimizer = create_sgd,
        .loss = resnet_loss,
        .conclude = resnet_evaluate,
        .destroy = resnet_destroy,
        .setup = &arguments.setup,
    };
    argp_err_exit_status = EXIT_USAGE;
    argp_parse(&argp, argc, argv, 0, NULL, &arguments);
    arguments.setup.seed = arguments.options.seed;
    return train_and_compare(&task, &arguments.options);
}
