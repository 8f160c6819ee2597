#include "tests/support/models_inception.h"

/**
 * inceptionv4: Szegedy et al., AAAI 2017, figures 3 to 9; 42.7 million parameters. Images have 75
 * pixels or more, 299 as published. Width is that of the first convolution and scales all others;
 * it is even. Depth is how often at most a kind of block is repeated.
 */

/** Figure 3. */
static cebus_net_image stem(cebus_model *model, cebus_net_image image)
{
    cebus_net_image parts[2];
    image = through(model, image, CHAIN(valid(32, 3, 2), valid(32, 3, 1), same(64, 3, 3)));
    parts[0] = cebus_net_chain(model, image, CHAIN(valid(96, 3, 2)));
    parts[1] = cebus_net_max_pool(model, image, 3, 2, 0);
    image = cebus_net_cat(model, parts, 2);
    parts[0] = cebus_net_chain(model, image, CHAIN(same(64, 1, 1), valid(96, 3, 1)));
    parts[1] = through(model, image,
                       CHAIN(same(64, 1, 1), same(64, 1, 7), same(64, 7, 1), valid(96, 3, 1)));
    image = cebus_net_cat(model, parts, 2);
    parts[0] = cebus_net_chain(model, image, CHAIN(valid(192, 3, 2)));
    parts[1] = cebus_net_max_pool(model, image, 3, 2, 0);
    return cebus_net_cat(model, parts, 2);
}

/** Figure 4. */
static cebus_net_image block_a(cebus_model *model, cebus_net_image image)
{
    cebus_net_image parts[4];
    parts[0] = cebus_net_chain(model, image, CHAIN(same(96, 1, 1)));
    parts[1] = cebus_net_chain(model, image, CHAIN(same(64, 1, 1), same(96, 3, 3)));
    parts[2] = cebus_net_chain(model, image, CHAIN(same(64, 1, 1), same(96, 3, 3), same(96, 3, 3)));
    parts[3] = pooled(model, image, 96);
    cebus_net_drop(image);
    return cebus_net_cat(model, parts, 4);
}

/** Figure 7, with the numbers of table 1. */
static cebus_net_image reduce_a(cebus_model *model, cebus_net_image image)
{
    cebus_net_image parts[3];
    parts[0] = cebus_net_chain(model, image, CHAIN(valid(384, 3, 2)));
    parts[1] =
        cebus_net_chain(model, image, CHAIN(same(192, 1, 1), same(224, 3, 3), valid(256, 3, 2)));
    parts[2] = cebus_net_max_pool(model, image, 3, 2, 0);
    return cebus_net_cat(model, parts, 3);
}

/** Figure 5. */
static cebus_net_image block_b(cebus_model *model, cebus_net_image image)
{
    cebus_net_image parts[4];
    parts[0] = cebus_net_chain(model, image, CHAIN(same(384, 1, 1)));
    parts[1] =
        cebus_net_chain(model, image, CHAIN(same(192, 1, 1), same(224, 1, 7), same(256, 7, 1)));
    parts[2] = cebus_net_chain(
        model, image,
        CHAIN(same(192, 1, 1), same(192, 1, 7), same(224, 7, 1), same(224, 1, 7), same(256, 7, 1)));
    parts[3] = pooled(model, image, 128);
    cebus_net_drop(image);
    return cebus_net_cat(model, parts, 4);
}

/** Figure 8. */
static cebus_net_image reduce_b(cebus_model *model, cebus_net_image image)
{
    cebus_net_image parts[3];
    parts[0] = cebus_net_chain(model, image, CHAIN(same(192, 1, 1), valid(192, 3, 2)));
    parts[1] = cebus_net_chain(
        model, image, CHAIN(same(256, 1, 1), same(256, 1, 7), same(320, 7, 1), valid(320, 3, 2)));
    parts[2] = cebus_net_max_pool(model, image, 3, 2, 0);
    return cebus_net_cat(model, parts, 3);
}

/** Two factors of 3 x 3 side by side. */
static cebus_net_image forked(cebus_model *model, cebus_net_image image)
{
    cebus_net_image parts[2];
    parts[0] = cebus_net_chain(model, image, CHAIN(same(256, 1, 3)));
    parts[1] = through(model, image, CHAIN(same(256, 3, 1)));
    return cebus_net_cat(model, parts, 2);
}

/** Figure 6. */
static cebus_net_image block_c(cebus_model *model, cebus_net_image image)
{
    cebus_net_image parts[4];
    parts[0] = cebus_net_chain(model, image, CHAIN(same(256, 1, 1)));
    parts[1] = forked(model, cebus_net_chain(model, image, CHAIN(same(384, 1, 1))));
    parts[2] =
        forked(model, cebus_net_chain(model, image,
                                      CHAIN(same(384, 1, 1), same(448, 1, 3), same(512, 3, 1))));
    parts[3] = pooled(model, image, 256);
    cebus_net_drop(image);
    return cebus_net_cat(model, parts, 4);
}

static cebus_tensor *loss(cebus_model *model)
{
    const cebus_model_config *c = &model->config;
    cebus_net_image image = cebus_net_images(model);
    cebus_tensor *target = cebus_net_targets(model);
    image = stem(model, image);
    for (int i = 0; i < 4 && i < c->depth; i++)
        image = block_a(model, image);
    image = reduce_a(model, image);
    for (int i = 0; i < 7 && i < c->depth; i++)
        image = block_b(model, image);
    image = reduce_b(model, image);
    for (int i = 0; i < 3 && i < c->depth; i++)
        image = block_c(model, image);
    return cebus_net_classify(model, image, target);
}

const cebus_model_kind cebus_model_inceptionv4 = {
    .name = "inceptionv4",
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
