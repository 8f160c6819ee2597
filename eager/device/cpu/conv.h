/**
 * conv.h: the inside of the CPU's convolutions: one job in three ways, done by oneDNN
 * (conv_dnnl.c) or as matrix products (conv_product.c). Which one is a pure function of the job, so
 * a replay takes the same.
 */
#ifndef CEBUS_EAGER_DEVICE_CPU_CONV_H
#define CEBUS_EAGER_DEVICE_CPU_CONV_H

#include "eager/device/cpu/dnnl_cache.h"
#include "eager/ops/conv.h"

/** What is computed from the other two of {image, weight, output}. */
typedef enum cebus_conv_way {
    CEBUS_CONV_OUTPUT,
    CEBUS_CONV_IMAGE,
    CEBUS_CONV_WEIGHT,
} cebus_conv_way;

/** The operands as an engine gets them; image and output dense channels-last,
 * weight and bias row-major. */
typedef struct cebus_conv_job {
    const cebus_launch *launch;
    cebus_conv_way way;
    cebus_conv_shape shape;
    cebus_array image, weight, output, bias; /**< bias: view NULL when there is none */
    void *scratch;                           /**< of the engine, aligned to 64 */
} cebus_conv_job;

/** @name oneDNN: f32 */
/** @{ */
/** *out NULL: no plan, take another engine. */
cebus_status cebus_conv_dnnl_find(const cebus_conv_job *job, const cebus_dnnl_plan **out);
cebus_status cebus_conv_dnnl_run(const cebus_conv_job *job, const cebus_dnnl_plan *plan);
/** @} */

/** @name Matrix products: f32 and f64; layouts as for oneDNN. Takes any job. */
/** @{ */
/** Whether it beats oneDNN. */
bool cebus_conv_product_is_best(const cebus_conv_job *job);
uint64_t cebus_conv_product_scratch(const cebus_conv_job *job);
void cebus_conv_product_run(const cebus_conv_job *job);
/** @} */

#endif
