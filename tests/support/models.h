/**
 * models.h: networks that train, written on the public interface alone: what the property tests
 * and the benchmarks run.
 *
 *   mlp       linear layers with gelu and dropout
 *   cnn       convolutions, batch norm, dropout
 *   gpt       a pre-norm transformer over characters, causal attention
 *   lstm      layers of LSTM over a sequence
 *   unet      an encoder and a decoder with skips: pooling, transposed convolution, interpolation
 *   tree      a TreeLSTM: the graph follows a random tree, and one value read back on the way
 *   resnet18  as published, for 64 x 64 images (He et al., CVPR 2016, table 1)
 *
 * A model makes its own data: batch number n is a pure function of (seed, n). All that changes
 * from step to step is a function of the configuration, so two models of one configuration must
 * stay equal to the bit, whatever the budget of their runtimes.
 */
#ifndef CEBUS_TESTS_SUPPORT_MODELS_H
#define CEBUS_TESTS_SUPPORT_MODELS_H

#include <cebus/cebus.h>

typedef struct cebus_model cebus_model;

/** Zero means the model's default: small enough for tests (resnet18 is as published). */
typedef struct cebus_model_config {
    uint64_t seed;   /**< of parameters, data and dropout */
    int64_t batch;   /**< samples of a step; of tree: trees */
    int64_t width;   /**< channels of the first stage, or units of a layer */
    int64_t depth;   /**< layers; of unet: levels */
    int64_t length;  /**< side of an image, steps of a sequence, leaves of a tree */
    int64_t classes; /**< to tell apart; of gpt: the vocabulary */
    int64_t heads;   /**< of gpt */
    double dropout;  /**< probability, below 1; negative: none */
    bool untied;     /**< gpt: the head has a matrix of its own */
} cebus_model_config;

/** Name of model number `i`, NULL past the last. */
const char *cebus_model_name(size_t i);

/**
 * Makes parameters (persistent) and optimizer. `config` NULL: all defaults. NULL for an
 * unknown name, and on failure: then cebus_last_error() says why. The runtime must outlive the
 * model.
 */
cebus_model *cebus_model_create(cebus_runtime *rt, const char *name,
                                const cebus_model_config *config);
/** NULL is allowed. */
void cebus_model_destroy(cebus_model *model);

/**
 * Forward, backward, optimizer. `out_loss` may be NULL: then nothing is read back. A step that
 * fails, for want of memory say, changes nothing: it can be tried again, and ends in the same bits.
 */
CEBUS_MUST_CHECK cebus_status cebus_model_step(cebus_model *model, float *out_loss);

/** Hash of all parameters, buffers (running statistics) and optimizer state, every bit. */
CEBUS_MUST_CHECK cebus_status cebus_model_hash(cebus_model *model, uint64_t *out_hash);

/** The configuration with the defaults filled in. */
const cebus_model_config *cebus_model_config_of(const cebus_model *model);
/** Parameters, in the order the model reads them; borrowed. */
size_t cebus_model_parameter_count(const cebus_model *model);
cebus_tensor *cebus_model_parameter(const cebus_model *model, size_t i);

#endif
