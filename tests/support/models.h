/**
 * models.h: networks that train, written on the public interface alone: what the property tests
 * and the benchmarks run.
 *
 *   mlp           linear layers with gelu and dropout
 *   cnn           convolutions, batch norm, dropout
 *   gpt           a pre-norm transformer over characters, causal attention; GPT-2 by preset
 *   lstm          layers of LSTM over a sequence
 *   unet          an encoder and a decoder with skips: pooling, transposed convolution,
 *                 interpolation
 *   tree          a TreeLSTM: the graph follows a random tree, and one value read back on the way
 *   gpt-bf16, cnn-f16   two of these with f32 parameters, all else narrow, and scaled losses
 *   resnet18      as published, for 64 x 64 images (He et al., CVPR 2016, table 1)
 *
 * and those that papers on memory measure, each at a test's size by default and at the papers'
 * sizes by preset (models_preset.c); architectures and sources are in the heads of their files:
 *
 *   vgg16, resnet50, resnet152, wresnet152, resnet-cifar, densenet121, inceptionv3, inceptionv4,
 *   unet-bn       networks over images, SGD with momentum
 *   bert          an encoder that learns masked symbols and the next sentence; AdamW
 *   bilstm        lstm in both directions over features
 *   lstm-cells    lstm step by step, its inputs not multiplied at once
 *   treelstm      a TreeLSTM over complete trees, in batches
 *   nasnet        NASNet-A, images
 *   swin          a transformer over images in shifted windows; AdamW
 *   rnn, brnn     LSTM cells in single ops, one direction and two; SGD with momentum
 *   gan           two networks against each other, the second one unrolled; two optimizers
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
    uint64_t seed;     /**< of parameters, data and dropout */
    int64_t batch;     /**< samples of a step; of tree: trees */
    int64_t width;     /**< channels of the first stage (all others in proportion), or units of a
                          layer */
    int64_t depth;     /**< layers; of unet: levels; of networks that repeat blocks: how often at
                          most; of treelstm: levels; of gan: steps it unrolls */
    int64_t length;    /**< side of an image, steps of a sequence, leaves of a tree */
    int64_t classes;   /**< to tell apart; of gpt and bert: the vocabulary */
    int64_t heads;     /**< of gpt and bert; of swin: in the first stage */
    double dropout;    /**< probability, below 1; negative: none; of swin: of leaving a block out */
    bool untied;       /**< gpt: the head has a matrix of its own */
    int64_t breadth;   /**< the other side of an image, `length` being its height; 0: the same */
    int64_t input;     /**< features of an input: lstm (0: embedded symbols), treelstm, gan */
    int64_t positions; /**< gpt, bert: rows of the table of positions; 0: length */
    bool two_way;      /**< lstm: in both directions */
    bool auxiliary;    /**< inceptionv3: with the auxiliary classifier, from 299 x 299 pixels */
    /** mlp, gpt, networks over images: f16 or bf16, of activations and of the copies of parameters
     * that products read; losses are scaled. 0: all f32. */
    cebus_dtype precision;
    /** Parameters and batches are drawn on the device, never held by the host: what lets a model
     * have a paper's size on a simulated machine. Other numbers than without it. Always so for the
     * models of the second list. */
    bool drawn;
} cebus_model_config;

/** Name of model number `i`, NULL past the last. */
const char *cebus_model_name(size_t i);

/** A model as somebody measured it. */
typedef struct cebus_model_preset {
    const char *name;  /**< "coop-bert-large" */
    const char *model; /**< for cebus_model_create() */
    const char *label; /**< for people: "BERT-large, batch 4, length 512" */
    cebus_model_config config;
} cebus_model_preset;

/** Preset number `i`, NULL past the last. */
const cebus_model_preset *cebus_model_preset_at(size_t i);
/** The preset of a name, NULL if there is none. */
const cebus_model_preset *cebus_model_preset_find(const char *name);

/**
 * Makes parameters (persistent) and optimizer. `config` NULL: all defaults. NULL for an
 * unknown name, and on failure: then cebus_last_error() says why. The runtime must outlive the
 * model; a drawn model restarts its random numbers.
 */
cebus_model *cebus_model_create(cebus_runtime *rt, const char *name,
                                const cebus_model_config *config);
/** NULL is allowed. */
void cebus_model_destroy(cebus_model *model);

/**
 * Forward, backward, optimizer. `out_loss` may be NULL: then nothing is read back. A step that
 * fails, for want of memory say, can be tried again, and ends in the same bits: no parameter and
 * no running statistic moves twice.
 */
CEBUS_MUST_CHECK cebus_status cebus_model_step(cebus_model *model, float *out_loss);

/** @name A step in pieces, for whoever captures one. A step is a begin, a part and an end, as often
 * as there are parts: only gan has several. */
/** @{ */
/** Seeds the part's data and random numbers. */
void cebus_model_begin_part(cebus_model *model);
/** Calls, from the batch to where the gradients are let go. *out_more: it is not the last part. */
CEBUS_MUST_CHECK cebus_status cebus_model_run_part(cebus_model *model, float *out_loss,
                                                   bool *out_more);
/** It was done, by a run or by a launch. */
void cebus_model_end_part(cebus_model *model, bool more);
/** @} */

/** Hash of all parameters, buffers (running statistics) and optimizer state, every bit. */
CEBUS_MUST_CHECK cebus_status cebus_model_hash(cebus_model *model, uint64_t *out_hash);

/** The configuration with the defaults filled in. */
const cebus_model_config *cebus_model_config_of(const cebus_model *model);
/** Parameters, in the order the model reads them; borrowed. */
size_t cebus_model_parameter_count(const cebus_model *model);
cebus_tensor *cebus_model_parameter(const cebus_model *model, size_t i);

/** Numbers in all parameters of a model: from shapes alone, nothing is made. -1 for an unknown
 * name. */
int64_t cebus_model_size(const char *name, const cebus_model_config *config);

#endif
