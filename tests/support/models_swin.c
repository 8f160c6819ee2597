#include "tests/support/models_net.h"

#include <math.h>

/**
 * swin: Liu et al., ICCV 2021. Swin-T is width 96, 3 heads, images of 224 pixels (table 7): patches
 * of 4 x 4 pixels, then stages of 2, 2, 6 and 2 blocks, each but the first after a merge of 2 x 2
 * pixels to one of twice the channels; 28.29 million parameters. Attention stays within windows of
 * 7 x 7 pixels, which every other block shifts by half a window where there are several. Scores are
 * values of their own, as in the program published with it: it adds biases of relative positions
 * and, in shifted windows, a mask. `depth` bounds the blocks of a stage; there are as many stages,
 * up to four, as the image can be halved into whole windows. `dropout` is the rate at which the
 * last block is left out for a sample (stochastic depth), less before. AdamW as in A.2.1.
 */
enum {
    SIDE = 7, /* of a window */
    HALF = SIDE / 2,
    PIXELS = SIDE * SIDE,
    SPAN = 2 * SIDE - 1, /* distances within a window */
    PATCH = 4,
    STAGES = 4
};

/** What the blocks of a stage have in common. */
typedef struct swin_stage {
    int64_t width, heads, grid, blocks;
    cebus_tensor *places; /**< [PIXELS^2]: a row of the table of biases for each pair; borrowed */
    cebus_tensor *mask;   /**< [windows, 1, PIXELS, PIXELS]; NULL: one window */
} swin_stage;

static cebus_tensor *permute(cebus_model *model, cebus_tensor *x, const int *dims)
{
    cebus_tensor *out = NULL;
    return x != NULL ? cebus_layer_end(model, x, cebus_permute(model->rt, x, dims, &out), &out)
                     : NULL;
}

static cebus_tensor *scale(cebus_model *model, cebus_tensor *x, double by)
{
    cebus_tensor *out = NULL;
    return x != NULL ? cebus_layer_end(model, x, cebus_mul_scalar(model->rt, x, by, &out), &out)
                     : NULL;
}

static cebus_tensor *count(cebus_model *model, int64_t to, cebus_dtype dtype)
{
    cebus_tensor *out = NULL;
    if (!model->building && model->status == CEBUS_OK)
        cebus_layer_ok(model, cebus_arange(model->rt, 0, (double)to, 1, dtype, &out));
    return out;
}

/** f(x as a column, x as a row): [.., n, n] of [.., n], which is taken over. */
static cebus_tensor *pairs(cebus_model *model, cebus_layer_binary f, cebus_tensor *x, int64_t rows,
                           int64_t n)
{
    cebus_tensor *row =
        cebus_layer_reshape(model, cebus_tensor_retain(x), 3, (int64_t[]){rows, 1, n});
    x = cebus_layer_reshape(model, x, 3, (int64_t[]){rows, n, 1});
    return cebus_layer_join(model, f, x, row);
}

/** by * x as a column + x as a row, flat: numbers of the pixels of a square. */
static cebus_tensor *number_pixels(cebus_model *model, cebus_tensor *x, int64_t side, double by)
{
    cebus_tensor *column = scale(model, cebus_tensor_retain(x), by);
    column = cebus_layer_reshape(model, column, 2, (int64_t[]){side, 1});
    x = cebus_layer_join(model, cebus_add, column, x);
    return cebus_layer_reshape(model, x, 1, (int64_t[]){side * side});
}

/** Which bias a pair of pixels has: of its distances along both sides. */
static cebus_tensor *find_places(cebus_model *model)
{
    cebus_tensor *x = number_pixels(model, count(model, SIDE, CEBUS_I64), SIDE, SPAN), *out = NULL;
    x = cebus_layer_reshape(model, pairs(model, cebus_sub, x, 1, PIXELS), 1,
                            (int64_t[]){PIXELS * PIXELS});
    if (x == NULL)
        return NULL;
    const double least = (SIDE - 1) * SPAN + SIDE - 1;
    return cebus_layer_end(model, x, cebus_add_scalar(model->rt, x, least, &out), &out);
}

/** [B, L, L, C] as [windows, PIXELS, C], L being the stage's grid. */
static cebus_tensor *part(cebus_model *model, cebus_tensor *x, int64_t grid, int64_t channels)
{
    const int64_t n = grid / SIDE;
    x = cebus_layer_reshape(model, x, 6, (int64_t[]){-1, n, SIDE, n, SIDE, channels});
    x = permute(model, x, (int[]){0, 1, 3, 2, 4, 5});
    return cebus_layer_reshape(model, x, 3, (int64_t[]){-1, PIXELS, channels});
}

/** The inverse. */
static cebus_tensor *unite(cebus_model *model, cebus_tensor *x, int64_t grid, int64_t channels)
{
    const int64_t n = grid / SIDE;
    x = cebus_layer_reshape(model, x, 6, (int64_t[]){-1, n, n, SIDE, SIDE, channels});
    x = permute(model, x, (int[]){0, 1, 3, 2, 4, 5});
    return cebus_layer_reshape(model, x, 4, (int64_t[]){-1, grid, grid, channels});
}

/** 1 where x >= from, else 0; x stays the caller's. */
static cebus_tensor *beyond(cebus_model *model, cebus_tensor *x, int64_t from)
{
    cebus_tensor *out = NULL, *numbers = NULL;
    if (x == NULL)
        return NULL;
    cebus_layer_ok(model, cebus_ge_scalar(model->rt, x, (double)from, &out));
    if (out != NULL)
        cebus_layer_ok(model, cebus_cast(model->rt, out, CEBUS_F32, &numbers));
    cebus_tensor_release(out);
    return numbers;
}

/** Far below zero between pixels that only the shift has made neighbours. */
static cebus_tensor *make_mask(cebus_model *model, int64_t grid)
{
    const int64_t windows = grid / SIDE * (grid / SIDE);
    cebus_tensor *x = count(model, grid, CEBUS_F32), *out = NULL;
    cebus_tensor *zones = cebus_layer_join(model, cebus_add, beyond(model, x, grid - SIDE),
                                           beyond(model, x, grid - HALF));
    cebus_tensor_release(x);
    zones = part(model, number_pixels(model, zones, grid, 3), grid, 1);
    zones = pairs(model, cebus_ne, zones, windows, PIXELS);
    if (zones == NULL)
        return NULL;
    zones = cebus_layer_end(model, zones, cebus_cast(model->rt, zones, CEBUS_F32, &out), &out);
    return cebus_layer_reshape(model, scale(model, zones, -100), 4,
                               (int64_t[]){windows, 1, PIXELS, PIXELS});
}

/** One row of biases a head: [heads, PIXELS, PIXELS]. */
static cebus_tensor *bias(cebus_model *model, const swin_stage *stage)
{
    const int64_t shape[] = {SPAN * SPAN, stage->heads};
    cebus_tensor *table = cebus_net_parameter(model, 0.02, 0, 2, shape), *out = NULL;
    if (stage->places != NULL)
        cebus_layer_ok(model, cebus_index_select(model->rt, table, 0, stage->places, &out));
    out = cebus_layer_reshape(model, out, 3, (int64_t[]){PIXELS, PIXELS, stage->heads});
    return permute(model, out, (int[]){2, 0, 1});
}

/** Queries, keys and values: [windows, heads, PIXELS, width / heads] each, views of one value. */
static void project(cebus_model *model, cebus_tensor *x, const swin_stage *stage,
                    cebus_tensor *out[3])
{
    const int64_t deep = stage->width / stage->heads;
    x = cebus_net_linear(model, x, stage->width, 3 * stage->width);
    x = cebus_layer_reshape(model, x, 5, (int64_t[]){-1, PIXELS, 3, stage->heads, deep});
    x = permute(model, x, (int[]){2, 0, 3, 1, 4});
    for (int i = 0; i < 3; i++) {
        out[i] = NULL;
        if (x != NULL)
            cebus_layer_ok(model, cebus_select(model->rt, x, 0, i, &out[i]));
    }
    cebus_tensor_release(x);
}

/** Adds the mask of the windows of each image. */
static cebus_tensor *hide(cebus_model *model, cebus_tensor *scores, const swin_stage *stage)
{
    const int64_t windows = stage->grid / SIDE * (stage->grid / SIDE);
    scores = cebus_layer_reshape(model, scores, 5,
                                 (int64_t[]){-1, windows, stage->heads, PIXELS, PIXELS});
    scores = cebus_layer_join(model, cebus_add, scores, cebus_tensor_retain(stage->mask));
    return cebus_layer_reshape(model, scores, 4, (int64_t[]){-1, stage->heads, PIXELS, PIXELS});
}

static cebus_tensor *attend(cebus_model *model, cebus_tensor *x, const swin_stage *stage,
                            bool shifted)
{
    cebus_tensor *qkv[3], *weights = NULL, *scores;
    project(model, x, stage, qkv);
    qkv[0] = scale(model, qkv[0], 1 / sqrt((double)stage->width / (double)stage->heads));
    qkv[1] = permute(model, qkv[1], (int[]){0, 1, 3, 2});
    scores = cebus_layer_join(model, cebus_matmul, qkv[0], qkv[1]);
    scores = cebus_layer_join(model, cebus_add, scores, bias(model, stage));
    if (shifted)
        scores = hide(model, scores, stage);
    if (scores != NULL)
        cebus_layer_ok(model, cebus_softmax(model->rt, scores, -1, &weights));
    cebus_tensor_release(scores);
    x = cebus_layer_join(model, cebus_matmul, weights, qkv[2]);
    x = permute(model, x, (int[]){0, 2, 1, 3});
    x = cebus_layer_reshape(model, x, 3, (int64_t[]){-1, PIXELS, stage->width});
    return cebus_net_linear(model, x, stage->width, stage->width);
}

static cebus_tensor *roll(cebus_model *model, cebus_tensor *x, int64_t by)
{
    cebus_tensor *out = NULL;
    return x != NULL
               ? cebus_layer_end(
                     model, x,
                     cebus_roll(model->rt, x, 2, (int64_t[]){by, by}, (int[]){1, 2}, &out), &out)
               : NULL;
}

/** Attention within the windows of [B, L, L, C]. */
static cebus_tensor *attend_windows(cebus_model *model, cebus_tensor *x, const swin_stage *stage,
                                    bool shifted)
{
    if (shifted)
        x = roll(model, x, -HALF);
    x = attend(model, part(model, x, stage->grid, stage->width), stage, shifted);
    x = unite(model, x, stage->grid, stage->width);
    return shifted ? roll(model, x, HALF) : x;
}

/** Zero for some samples, the others larger by as much. */
static cebus_tensor *leave_out(cebus_model *model, cebus_tensor *x, double rate)
{
    const int64_t shape[] = {model->config.batch, 1, 1, 1};
    cebus_tensor *kept = NULL;
    if (x == NULL || rate == 0)
        return x;
    cebus_layer_ok(model, cebus_bernoulli(model->rt, 1 - rate, CEBUS_F32, 4, shape, &kept));
    return cebus_layer_join(model, cebus_mul, x, scale(model, kept, 1 / (1 - rate)));
}

static cebus_tensor *block(cebus_model *model, cebus_tensor *x, const swin_stage *stage,
                           bool shifted, double rate)
{
    const int64_t width = stage->width;
    cebus_tensor *y = cebus_net_layer_norm(model, cebus_tensor_retain(x), width);
    y = leave_out(model, attend_windows(model, y, stage, shifted), rate);
    x = cebus_layer_join(model, cebus_add, x, y);
    y = cebus_net_layer_norm(model, cebus_tensor_retain(x), width);
    y = cebus_layer_map(model, cebus_gelu, cebus_net_linear(model, y, width, 4 * width));
    y = leave_out(model, cebus_net_linear(model, y, 4 * width, width), rate);
    return cebus_layer_join(model, cebus_add, x, y);
}

/** Every other pixel each way, from pixel (i % 2, i / 2); x stays the caller's. */
static cebus_tensor *corner(cebus_model *model, cebus_tensor *x, int64_t grid, int i)
{
    cebus_tensor *rows = NULL, *out = NULL;
    if (x != NULL)
        cebus_layer_ok(model, cebus_slice(model->rt, x, 1, i % 2, grid, 2, &rows));
    if (rows != NULL)
        cebus_layer_ok(model, cebus_slice(model->rt, rows, 2, i / 2, grid, 2, &out));
    cebus_tensor_release(rows);
    return out;
}

/** Four pixels to one of twice the channels: `width` of each of the four. */
static cebus_tensor *merge(cebus_model *model, cebus_tensor *x, int64_t grid, int64_t width)
{
    const int64_t shape[] = {2 * width, 4 * width};
    cebus_tensor *corners[4], *out = NULL;
    for (int i = 0; i < 4; i++)
        corners[i] = corner(model, x, grid, i);
    if (x != NULL && model->status == CEBUS_OK)
        cebus_layer_ok(model, cebus_cat(model->rt, corners, 4, -1, &out));
    for (int i = 0; i < 4; i++)
        cebus_tensor_release(corners[i]);
    cebus_tensor_release(x);
    x = cebus_net_layer_norm(model, out, 4 * width);
    cebus_tensor *weight = cebus_net_parameter(model, 1 / sqrt(4.0 * (double)width), 0, 2, shape);
    out = cebus_layer_product(model, x, weight, NULL);
    cebus_tensor_release(x);
    return out;
}

/** The blocks of each stage, one after another; how many there are in *out_blocks. */
static int plan_stages(const cebus_model_config *c, swin_stage stages[STAGES], int *out_blocks)
{
    static const int64_t published[STAGES] = {2, 2, 6, 2};
    int64_t grid = c->length / PATCH;
    int n = 0;
    *out_blocks = 0;
    for (; n < STAGES && grid % SIDE == 0; n++, grid = grid % 2 == 0 ? grid / 2 : 1) {
        int64_t blocks = published[n] < c->depth ? published[n] : c->depth;
        stages[n] = (swin_stage){c->width << n, c->heads << n, grid, blocks, NULL, NULL};
        *out_blocks += (int)blocks;
    }
    return n;
}

/** Patches as pixels: [B, L, L, width]. */
static cebus_tensor *embed(cebus_model *model)
{
    const cebus_net_filter filter = {
        .channels = model->config.width, .kernel = {PATCH, PATCH}, .stride = PATCH, .valid = true};
    cebus_tensor *x = cebus_net_conv_bias(model, cebus_net_images(model), filter).x;
    return cebus_net_layer_norm(model, permute(model, x, (int[]){0, 2, 3, 1}), model->config.width);
}

static cebus_tensor *classify(cebus_model *model, cebus_tensor *x, int64_t width,
                              cebus_tensor *target)
{
    cebus_tensor *out = NULL;
    x = cebus_net_layer_norm(model, x, width);
    if (x != NULL)
        x = cebus_layer_end(model, x, cebus_mean(model->rt, x, 2, (int[]){1, 2}, false, &out),
                            &out);
    x = cebus_net_linear(model, x, width, model->config.classes);
    return cebus_layer_cross_entropy(model, x, target);
}

static cebus_tensor *loss(cebus_model *model)
{
    swin_stage stages[STAGES];
    int blocks, before = 0, n = plan_stages(&model->config, stages, &blocks);
    cebus_tensor *x = embed(model), *target = cebus_net_targets(model);
    cebus_tensor *places = find_places(model);
    int64_t width = model->config.width;
    for (int k = 0; k < n; k++) {
        swin_stage *stage = &stages[k];
        if (k > 0)
            x = merge(model, x, stages[k - 1].grid, width);
        width = stage->width;
        stage->places = places;
        stage->mask = stage->grid > SIDE ? make_mask(model, stage->grid) : NULL;
        for (int i = 0; i < stage->blocks; i++, before++) {
            double rate = model->config.dropout * before / (blocks > 1 ? blocks - 1 : 1);
            x = block(model, x, stage, i % 2 == 1 && stage->grid > SIDE, rate);
        }
        cebus_tensor_release(stage->mask);
    }
    cebus_tensor_release(places);
    return classify(model, x, width, target);
}

const cebus_model_kind cebus_model_swin = {
    .name = "swin",
    .defaults = {.batch = 2,
                 .width = 12,
                 .depth = 2,
                 .length = 56,
                 .classes = 10,
                 .heads = 2,
                 .dropout = 0.2,
                 .drawn = true},
    .lr = 1e-3,
    .weight_decay = 0.05,
    .loss = loss,
};
