#include "tests/support/models_inception.h"

/**
 * inceptionv3: Szegedy et al., CVPR 2016, table 1 and figures 5 to 7, with the batch-normalized
 * auxiliary classifier of section 4; 23.8 million parameters without it, 27.2 with it. Images have
 * 75 pixels or more, 299 as published. Width is that of the first convolution and scales all
 * others; it is even. Depth is how often at most a kind of block is repeated.
 */
static cebus_net_image stem(cebus_model *model, cebus_net_image image)
{
    image = through(model, image, CHAIN(valid(32, 3, 2), valid(32, 3, 1), same(64, 3, 3)));
    image = cebus_net_max_pool(model, image, 3, 2, 0);
    image = through(model, image, CHAIN(same(80, 1, 1), valid(192, 3, 1)));
    return cebus_net_max_pool(model, image, 3, 2, 0);
}

/** Figure 5, with 5 x 5 in one branch. */
static cebus_net_image block_a(cebus_model *model, cebus_net_image image, int64_t pool)
{
    cebus_net_image parts[4];
    parts[0] = cebus_net_chain(model, image, CHAIN(same(64, 1, 1)));
    parts[1] = cebus_net_chain(model, image, CHAIN(same(48, 1, 1), same(64, 5, 5)));
    parts[2] = cebus_net_chain(model, image, CHAIN(same(64, 1, 1), same(96, 3, 3), same(96, 3, 3)));
    parts[3] = pooled(model, image, pool);
    cebus_net_drop(image);
    return cebus_net_cat(model, parts, 4);
}

/** Half as high and wide. */
static cebus_net_image reduce_a(cebus_model *model, cebus_net_image image)
{
    cebus_net_image parts[3];
    parts[0] = cebus_net_chain(model, image, CHAIN(valid(384, 3, 2)));
    parts[1] =
        cebus_net_chain(model, image, CHAIN(same(64, 1, 1), same(96, 3, 3), valid(96, 3, 2)));
    parts[2] = cebus_net_max_pool(model, image, 3, 2, 0);
    return cebus_net_cat(model, parts, 3);
}

/** Figure 6: 7 x 7 by its two factors. */
static cebus_net_image block_b(cebus_model *model, cebus_net_image image, int64_t c)
{
    cebus_net_image parts[4];
    parts[0] = cebus_net_chain(model, image, CHAIN(same(192, 1, 1)));
    parts[1] = cebus_net_chain(model, image, CHAIN(same(c, 1, 1), same(c, 1, 7), same(192, 7, 1)));
    parts[2] = cebus_net_chain(
        model, image,
        CHAIN(same(c, 1, 1), same(c, 7, 1), same(c, 1, 7), same(c, 7, 1), same(192, 1, 7)));
    parts[3] = pooled(model, image, 192);
    cebus_net_drop(image);
    return cebus_net_cat(model, parts, 4);
}

static cebus_net_image reduce_b(cebus_model *model, cebus_net_image image)
{
    cebus_net_image parts[3];
    parts[0] = cebus_net_chain(model, image, CHAIN(same(192, 1, 1), valid(320, 3, 2)));
    parts[1] = cebus_net_chain(
        model, image, CHAIN(same(192, 1, 1), same(192, 1, 7), same(192, 7, 1), valid(192, 3, 2)));
    parts[2] = cebus_net_max_pool(model, image, 3, 2, 0);
    return cebus_net_cat(model, parts, 3);
}

/** The two factors of 3 x 3 side by side. */
static cebus_net_image forked(cebus_model *model, cebus_net_image image)
{
    cebus_net_image parts[2];
    parts[0] = cebus_net_chain(model, image, CHAIN(same(384, 1, 3)));
    parts[1] = through(model, image, CHAIN(same(384, 3, 1)));
    return cebus_net_cat(model, parts, 2);
}

/** Figure 7. */
static cebus_net_image block_c(cebus_model *model, cebus_net_image image)
{
    cebus_net_image parts[4];
    parts[0] = cebus_net_chain(model, image, CHAIN(same(320, 1, 1)));
    parts[1] = forked(model, cebus_net_chain(model, image, CHAIN(same(384, 1, 1))));
    parts[2] =
        forked(model, cebus_net_chain(model, image, CHAIN(same(448, 1, 1), same(384, 3, 3))));
    parts[3] = pooled(model, image, 192);
    cebus_net_drop(image);
    return cebus_net_cat(model, parts, 4);
}

/** The loss of the auxiliary classifier, which reads the last image of 17 x 17. */
static cebus_tensor *auxiliary(cebus_model *model, cebus_net_image image, cebus_tensor *target)
{
    cebus_tensor *loss = NULL;
    image = cebus_net_avg_pool(model, cebus_net_keep(image), 5, 3, 0);
    image = through(model, image, CHAIN(same(128, 1, 1), valid(768, 5, 1)));
    cebus_tensor *x = cebus_layer_global_pool(model, image.x);
    x = cebus_net_linear(model, x, image.channels, model->config.classes);
    x = cebus_layer_cross_entropy(model, x, cebus_tensor_retain(target));
    if (x != NULL)
        cebus_layer_ok(model, cebus_mul_scalar(model->rt, x, 0.4, &loss));
    cebus_tensor_release(x);
    return loss;
}

static cebus_tensor *loss(cebus_model *model)
{
    static const int64_t pools[] = {32, 64, 64}, factors[] = {128, 160, 160, 192};
    const cebus_model_config *c = &model->config;
    cebus_net_image image = cebus_net_images(model);
    cebus_tensor *target = cebus_net_targets(model), *aside = NULL;
    image = stem(model, image);
    for (int i = 0; i < 3 && i < c->depth; i++)
        image = block_a(model, image, pools[i]);
    image = reduce_a(model, image);
    for (int i = 0; i < 4 && i < c->depth; i++)
        image = block_b(model, image, factors[i]);
    if (c->auxiliary)
        aside = auxiliary(model, image, target);
    image = reduce_b(model, image);
    for (int i = 0; i < 2 && i < c->depth; i++)
        image = block_c(model, image);
    cebus_tensor *out = cebus_net_classify(model, image, target);
    return c->auxiliary ? cebus_layer_join(model, cebus_add, out, aside) : out;
}

const cebus_model_kind cebus_model_inceptionv3 = {
    .name = "inceptionv3",
    .defaults = {.batch = 2,
                 .width = 2,
                 .depth = 1,
                 .length = 79,
                 .classes = 10,
                 .dropout = 0.2,
                 .drawn = true},
    .sgd = true,
    .published_width = 32,
    .loss = loss,
};
