#include "tests/support/models_net.h"

/**
 * nasnet: NASNet-A of Zoph et al., CVPR 2018, figure 4, stacked as in the program published with it
 * for ImageNet: a convolution, two reduction cells, then three groups of `depth` normal cells with
 * a reduction cell between them. Cells after a reduction skip it, as in the large models. NASNet-A
 * (6 @ 4032) has 88.75 million parameters. Width is the number of filters in the first group (the
 * penultimate filters over 24), 4 or more; the first convolution has 4/7 of it, 96 of 168.
 *
 *     ip  this cell's input, squeezed by 1 x 1 to `h`        p  the cell's before, brought to the
 *     sep two times relu, depthwise, 1 x 1, batch norm          same size
 */
static cebus_net_filter square(int64_t channels, int64_t side, int64_t stride)
{
    return (cebus_net_filter){.channels = channels, .kernel = {side, side}, .stride = stride};
}

/** Relu, 1 x 1, batch norm. */
static cebus_net_image squeeze(cebus_model *model, cebus_net_image image, int64_t filters)
{
    image = cebus_net_conv(model, cebus_net_relu(model, image), square(filters, 1, 1));
    return cebus_net_batch_norm(model, image);
}

static cebus_net_image separate(cebus_model *model, cebus_net_image image, int64_t filters,
                                int64_t side, int64_t stride)
{
    cebus_net_filter depthwise = square(image.channels, side, stride);
    depthwise.groups = image.channels;
    image = cebus_net_conv(model, cebus_net_relu(model, image), depthwise);
    image = cebus_net_conv(model, image, square(filters, 1, 1));
    return cebus_net_batch_norm(model, image);
}

/** The image stays the caller's. */
static cebus_net_image sep(cebus_model *model, cebus_net_image image, int64_t filters, int64_t side,
                           int64_t stride)
{
    image = separate(model, cebus_net_keep(image), filters, side, stride);
    return separate(model, image, filters, side, 1);
}

static cebus_net_image averaged(cebus_model *model, cebus_net_image image, int64_t stride)
{
    return cebus_net_avg_pool(model, cebus_net_keep(image), 3, stride, 1);
}

static cebus_net_image largest(cebus_model *model, cebus_net_image image)
{
    return cebus_net_max_pool(model, cebus_net_keep(image), 3, 2, 1);
}

/** All pixels one up and to the left; zeros come in from the other sides. */
static cebus_net_image shift(cebus_model *model, cebus_net_image image)
{
    cebus_tensor *out = NULL;
    if (image.x != NULL)
        cebus_layer_ok(model, cebus_pad(model->rt, image.x, 4, (int64_t[]){-1, 1, -1, 1}, 0, &out));
    cebus_net_drop(image);
    return (cebus_net_image){out, image.channels};
}

/** Half the pixels each way: two subsamples one pixel apart, half the filters of each. */
static cebus_net_image halve(cebus_model *model, cebus_net_image image, int64_t filters)
{
    cebus_net_image parts[2];
    image = cebus_net_relu(model, image);
    parts[0] = cebus_net_avg_pool(model, cebus_net_keep(image), 1, 2, 0);
    parts[0] = cebus_net_conv(model, parts[0], square(filters / 2, 1, 1));
    parts[1] = cebus_net_avg_pool(model, shift(model, image), 1, 2, 0);
    parts[1] = cebus_net_conv(model, parts[1], square(filters - filters / 2, 1, 1));
    return cebus_net_batch_norm(model, cebus_net_cat(model, parts, 2));
}

/** What a cell reads. */
typedef struct cell_input {
    cebus_net_image image;
    int scale;  /**< times it was halved */
    bool as_is; /**< not to be brought to the cell's filters */
} cell_input;

/** `p` as large as `ip`; both stay the caller's. */
static cebus_net_image adjust(cebus_model *model, cell_input p, cell_input ip, int64_t filters)
{
    cebus_net_image image = cebus_net_keep(p.image);
    if (p.as_is)
        return image;
    if (p.scale != ip.scale)
        return halve(model, image, filters);
    return image.channels != filters ? squeeze(model, image, filters) : image;
}

static cell_input normal(cebus_model *model, cell_input p_in, cell_input ip, int64_t filters)
{
    cebus_net_image p = adjust(model, p_in, ip, filters), parts[6];
    cebus_net_image h = squeeze(model, cebus_net_keep(ip.image), filters);
    parts[1] = cebus_net_add(model, sep(model, h, filters, 5, 1), sep(model, p, filters, 3, 1));
    parts[2] = cebus_net_add(model, sep(model, p, filters, 5, 1), sep(model, p, filters, 3, 1));
    parts[3] = cebus_net_add(model, averaged(model, h, 1), cebus_net_keep(p));
    parts[4] = cebus_net_add(model, averaged(model, p, 1), averaged(model, p, 1));
    parts[5] = cebus_net_add(model, sep(model, h, filters, 3, 1), h);
    parts[0] = p;
    return (cell_input){.image = cebus_net_cat(model, parts, 6), .scale = ip.scale};
}

static cell_input reduction(cebus_model *model, cell_input p_in, cell_input ip, int64_t filters)
{
    cebus_net_image p = adjust(model, p_in, ip, filters), parts[4];
    cebus_net_image h = squeeze(model, cebus_net_keep(ip.image), filters);
    cebus_net_image first =
        cebus_net_add(model, sep(model, h, filters, 5, 2), sep(model, p, filters, 7, 2));
    parts[0] = cebus_net_add(model, largest(model, h), sep(model, p, filters, 7, 2));
    parts[1] = cebus_net_add(model, averaged(model, h, 2), sep(model, p, filters, 5, 2));
    parts[2] = cebus_net_add(model, averaged(model, first, 1), cebus_net_keep(parts[0]));
    parts[3] = cebus_net_add(model, sep(model, first, filters, 3, 1), largest(model, h));
    cebus_net_drop(first);
    cebus_net_drop(p);
    cebus_net_drop(h);
    return (cell_input){.image = cebus_net_cat(model, parts, 4), .scale = ip.scale + 1};
}

/** The first convolution and two reductions, the first of which has no cell before it. */
static void stem(cebus_model *model, cell_input *p, cell_input *x)
{
    const int64_t width = model->config.width;
    const cebus_net_filter filter = {
        .channels = (4 * width + 6) / 7, .kernel = {3, 3}, .stride = 2, .valid = true};
    cell_input first = {.image = cebus_net_conv(model, cebus_net_images(model), filter)};
    first.image = cebus_net_batch_norm(model, first.image);
    first.as_is = true;
    *p = reduction(model, first, first, width / 4);
    first.as_is = false;
    *x = reduction(model, first, *p, width / 2);
    cebus_net_drop(first.image);
}

static cebus_tensor *loss(cebus_model *model)
{
    const cebus_model_config *c = &model->config;
    cell_input p, x, next;
    cebus_tensor *target;
    stem(model, &p, &x);
    target = cebus_net_targets(model);
    for (int group = 0; group < 3; group++) {
        for (int64_t i = group > 0 ? -1 : 0; i < c->depth; i++) {
            const bool reduces = i < 0;
            next = reduces ? reduction(model, p, x, c->width << group)
                           : normal(model, p, x, c->width << group);
            if (reduces) { /* the next cell's neighbour is still the one before */
                cebus_net_drop(x.image);
            } else {
                cebus_net_drop(p.image);
                p = x;
            }
            x = next;
        }
    }
    cebus_net_drop(p.image);
    return cebus_net_classify(model, cebus_net_relu(model, x.image), target);
}

const cebus_model_kind cebus_model_nasnet = {
    .name = "nasnet",
    .defaults = {.batch = 2, .width = 8, .depth = 1, .length = 32, .classes = 10, .drawn = true},
    .sgd = true,
    .loss = loss,
};
