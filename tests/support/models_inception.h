/**
 * models_inception.h: how the Inception networks are written: blocks of branches, each a chain of
 * units with the published channel counts.
 */
#ifndef CEBUS_TESTS_SUPPORT_MODELS_INCEPTION_H
#define CEBUS_TESTS_SUPPORT_MODELS_INCEPTION_H

#include "tests/support/models_net.h"

/** A unit that keeps the image's size. */
static inline cebus_net_filter same(int64_t channels, int64_t high, int64_t wide)
{
    return (cebus_net_filter){.channels = channels, .kernel = {high, wide}};
}

/** A unit without padding. */
static inline cebus_net_filter valid(int64_t channels, int64_t side, int64_t stride)
{
    return (cebus_net_filter){
        .channels = channels, .kernel = {side, side}, .stride = stride, .valid = true};
}

/** Ends a chain. */
static inline cebus_net_filter end(void)
{
    return (cebus_net_filter){.channels = 0};
}

#define CHAIN(...) ((const cebus_net_filter[]){__VA_ARGS__, end()})

/** A chain that takes the image over. */
static inline cebus_net_image through(cebus_model *model, cebus_net_image image,
                                      const cebus_net_filter *chain)
{
    cebus_net_image out = cebus_net_chain(model, image, chain);
    cebus_net_drop(image);
    return out;
}

/** Averages of 3 x 3 pixels, then 1 x 1. The image stays the caller's. */
static inline cebus_net_image pooled(cebus_model *model, cebus_net_image image, int64_t channels)
{
    image = cebus_net_avg_pool(model, cebus_net_keep(image), 3, 1, 1);
    return through(model, image, CHAIN(same(channels, 1, 1)));
}

#endif
