/**
 * models_layer.h: what models are written in. cebus_layer_add_*() makes the parameters of a layer
 * when the model is built; the function of the same name without add runs the layer and takes the
 * next parameters in the same order.
 *
 * Functions take over the tensors they are given and hand out new ones, so that a value lives
 * exactly until its last reader. They fail softly: the first failure is kept in model->status, a
 * NULL tensor makes NULL.
 */
#ifndef CEBUS_TESTS_SUPPORT_MODELS_LAYER_H
#define CEBUS_TESTS_SUPPORT_MODELS_LAYER_H

#include "tests/support/models.h"

enum {
    CEBUS_MODEL_OPTIMIZERS = 2 /**< that a model may have */
};

/** A network: how it is built, and the loss of one batch (NULL on failure). */
typedef struct cebus_model_kind {
    const char *name;
    cebus_model_config defaults;
    bool sgd;                /**< SGD with momentum, else Adam */
    double init_scale;       /**< of losses, where they are scaled; 0: 65536 */
    double lr;               /**< 0: 0.05 of SGD, 2e-3 of Adam */
    double weight_decay;     /**< 0: 1e-4 of SGD, none of Adam; Adam's is decoupled (AdamW) */
    double beta1;            /**< of Adam; 0: 0.9 */
    int64_t published_width; /**< what cebus_net_chain() scales by */
    /** NULL: `loss` is called once with model->building set and makes them (models_net.h). */
    void (*build)(cebus_model *model);
    cebus_tensor *(*loss)(cebus_model *model);
    /** NULL, or part model->part of a step of several parts, each of which may be tried again.
     * False in *out_more when it was the last. */
    cebus_status (*train)(cebus_model *model, float *out_loss, bool *out_more);
} cebus_model_kind;

extern const cebus_model_kind cebus_model_mlp, cebus_model_cnn, cebus_model_gpt, cebus_model_lstm,
    cebus_model_unet, cebus_model_tree, cebus_model_resnet18, cebus_model_vgg16,
    cebus_model_resnet50, cebus_model_resnet152, cebus_model_wresnet152, cebus_model_resnet_cifar,
    cebus_model_densenet121, cebus_model_inceptionv3, cebus_model_inceptionv4, cebus_model_unet_bn,
    cebus_model_bert, cebus_model_bilstm, cebus_model_lstm_cells, cebus_model_treelstm,
    cebus_model_gan, cebus_model_nasnet, cebus_model_rnn, cebus_model_brnn, cebus_model_gpt_bf16,
    cebus_model_cnn_f16, cebus_model_swin;

/** Tensors, as many as come. */
typedef struct cebus_model_tensors {
    cebus_tensor **items;
    size_t n, room;
} cebus_model_tensors;

struct cebus_model {
    cebus_runtime *rt; /**< NULL: parameters are only counted */
    const cebus_model_kind *kind;
    cebus_model_config config;
    cebus_optimizer *optimizers[CEBUS_MODEL_OPTIMIZERS];
    size_t n_optimizers;
    size_t first_of_second;    /**< the second optimizer's first parameter */
    cebus_optimizer *unrolled; /**< of gan: without state */
    cebus_grad_scaler *scaler; /**< of losses, where there is a precision */
    bool awaits_update;        /**< the optimizer has stepped, the scale has not moved yet */
    float loss;                /**< of that step */
    cebus_status status;       /**< the first failure of what is under way */
    uint64_t steps;            /**< taken so far */
    uint64_t part;             /**< of a step of several parts: those done */
    uint64_t random;           /**< state of the host's generator: parameters, then each batch */
    bool building;             /**< `loss` makes parameters */
    int64_t elements;          /**< of all parameters */
    cebus_model_tensors parameters, buffers;
    cebus_model_tensors batch; /**< of a drawn model: what it reads, persistent */
    size_t next_parameter, next_buffer, next_batch; /**< of the pass under way */
    size_t moved_buffers; /**< running statistics that the step under way has moved */
};

/** A pseudo-random number in [0, bound). */
int64_t cebus_layer_draw(cebus_model *model, int64_t bound);
/** Keeps the first failure; true as long as there was none. */
bool cebus_layer_ok(cebus_model *model, cebus_status status);

/** @name Data of a batch; NULL while building */
/** @{ */
/** Uniform in [-1, 1]. */
cebus_tensor *cebus_layer_noise(cebus_model *model, int ndim, const int64_t *shape);
/** i64, uniform in [0, classes). */
cebus_tensor *cebus_layer_labels(cebus_model *model, int64_t classes, int ndim,
                                 const int64_t *shape);
/** @} */

/** @name Building */
/** @{ */
/** Uniform in [-scale, scale] around `shift`. */
void cebus_layer_add(cebus_model *model, double scale, double shift, int ndim,
                     const int64_t *shape);
/** Not learned: `n` times `value`. */
void cebus_layer_add_buffer(cebus_model *model, double value, int64_t n);
void cebus_layer_add_linear(cebus_model *model, int64_t in, int64_t out);
void cebus_layer_add_conv(cebus_model *model, int64_t in, int64_t out, int64_t kernel);
/** Weight and bias of a normalization. */
void cebus_layer_add_norm(cebus_model *model, int64_t channels);
/** The same with running statistics. */
void cebus_layer_add_batch_norm(cebus_model *model, int64_t channels);
/** An optimizer for the parameters from here on. */
void cebus_layer_add_optimizer(cebus_model *model);
/** @} */

/** @name Running */
/** @{ */
/** The next parameter, borrowed; NULL past the last. */
cebus_tensor *cebus_layer_parameter(cebus_model *model);
/** `x` in the model's precision: itself, or a copy; and taking over `x`. */
cebus_tensor *cebus_layer_narrow(cebus_model *model, cebus_tensor *x);
cebus_tensor *cebus_layer_enter(cebus_model *model, cebus_tensor *x);
cebus_tensor *cebus_layer_linear(cebus_model *model, cebus_tensor *x);
/** By given parameters; all stay the caller's. */
cebus_tensor *cebus_layer_product(cebus_model *model, cebus_tensor *x, cebus_tensor *weight,
                                  cebus_tensor *bias);
/** Columns [i width, (i + 1) width), a view; x stays the caller's. */
cebus_tensor *cebus_layer_columns(cebus_model *model, cebus_tensor *x, int64_t i);
cebus_tensor *cebus_layer_layer_norm(cebus_model *model, cebus_tensor *x);
cebus_tensor *cebus_layer_group_norm(cebus_model *model, cebus_tensor *x, int64_t groups);
cebus_tensor *cebus_layer_batch_norm(cebus_model *model, cebus_tensor *x);
/** Without a bias: a normalization follows. The padding is that of the kernel's half. */
cebus_tensor *cebus_layer_conv(cebus_model *model, cebus_tensor *x, int64_t stride);
/** Twice as high and wide, by a kernel of 2. */
cebus_tensor *cebus_layer_conv_transpose(cebus_model *model, cebus_tensor *x);

typedef cebus_status (*cebus_layer_unary)(cebus_runtime *rt, cebus_tensor *x, cebus_tensor **out);
typedef cebus_status (*cebus_layer_binary)(cebus_runtime *rt, cebus_tensor *a, cebus_tensor *b,
                                           cebus_tensor **out);
/** Any function of one tensor, and of two. */
cebus_tensor *cebus_layer_map(cebus_model *model, cebus_layer_unary function, cebus_tensor *x);
cebus_tensor *cebus_layer_join(cebus_model *model, cebus_layer_binary function, cebus_tensor *a,
                               cebus_tensor *b);
/** Ends a call that read `x`: keeps its status, gives up `x`, hands out *out. */
cebus_tensor *cebus_layer_end(cebus_model *model, cebus_tensor *x, cebus_status status,
                              cebus_tensor **out);
/** With the probability of the configuration. */
cebus_tensor *cebus_layer_dropout(cebus_model *model, cebus_tensor *x);
cebus_tensor *cebus_layer_reshape(cebus_model *model, cebus_tensor *x, int ndim,
                                  const int64_t *shape);
/** Padded by half the kernel when it is odd. */
cebus_tensor *cebus_layer_max_pool(cebus_model *model, cebus_tensor *x, int64_t kernel,
                                   int64_t stride);
/** Mean over each channel's image: [N, C]. */
cebus_tensor *cebus_layer_global_pool(cebus_model *model, cebus_tensor *x);
cebus_tensor *cebus_layer_cat(cebus_model *model, cebus_tensor *a, cebus_tensor *b, int dim);
cebus_tensor *cebus_layer_cross_entropy(cebus_model *model, cebus_tensor *x, cebus_tensor *target);
/** @} */

#endif
