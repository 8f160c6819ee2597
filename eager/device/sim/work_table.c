#include "eager/device/sim/work.h"
#include "eager/ops/formulas.h"

/* clang-format off */
#define UNARY(T, S, kind, saved, name, forward, backward)                                          \
    {#name, CEBUS_WORK_ELEMENTWISE, NULL}, {#name "_backward", CEBUS_WORK_ELEMENTWISE, NULL},
#define ELEMENTWISE(name) {name, CEBUS_WORK_ELEMENTWISE, NULL},
#define COMPARISON(name, operator)                                                                 \
    {#name, CEBUS_WORK_ELEMENTWISE, NULL}, {#name "_scalar", CEBUS_WORK_ELEMENTWISE, NULL},
#define INTEGER(T, S, name, formula) {#name, CEBUS_WORK_ELEMENTWISE, NULL},

const cebus_work_entry cebus_work_table[] = {
    {"conv2d", CEBUS_WORK_CONV, cebus_work_conv},
    {"conv_transpose2d", CEBUS_WORK_CONV_DATA, cebus_work_conv_transpose},
    {"conv2d_weight", CEBUS_WORK_CONV_WEIGHTS, cebus_work_conv_weight},

    {"matmul", CEBUS_WORK_MATMUL, cebus_work_matmul},
    {"linear", CEBUS_WORK_MATMUL, cebus_work_linear},
    {"scaled_dot_product_attention", CEBUS_WORK_ATTENTION, cebus_work_attention},
    {"scaled_dot_product_attention_backward", CEBUS_WORK_ATTENTION, cebus_work_attention_backward},

    {"lstm_gates", CEBUS_WORK_RECURRENT, NULL},
    {"lstm_gates_backward", CEBUS_WORK_RECURRENT, NULL},
    {"gru_gates", CEBUS_WORK_RECURRENT, NULL},
    {"gru_gates_backward", CEBUS_WORK_RECURRENT, NULL},

    /* A batch or group is too large for a processor's registers, a row of a layer is not. */
    {"batch_norm", CEBUS_WORK_NORM, cebus_work_two_passes},
    {"batch_norm_eval", CEBUS_WORK_NORM, NULL},
    {"batch_norm_backward", CEBUS_WORK_NORM, cebus_work_two_passes_backward},
    {"batch_norm_running", CEBUS_WORK_NORM, NULL},
    {"group_norm", CEBUS_WORK_NORM, cebus_work_two_passes},
    {"group_norm_backward", CEBUS_WORK_NORM, cebus_work_two_passes_backward},
    {"layer_norm", CEBUS_WORK_NORM, NULL},
    {"rms_norm", CEBUS_WORK_NORM, NULL},
    /* One pass along rows for dx, one across them for the weight and the bias. */
    {"layer_norm_backward", CEBUS_WORK_NORM, cebus_work_two_passes_backward},
    {"rms_norm_backward", CEBUS_WORK_NORM, cebus_work_two_passes_backward},

    {"max_pool2d", CEBUS_WORK_POOL, NULL},
    {"max_pool2d_backward", CEBUS_WORK_POOL, NULL},
    {"avg_pool2d", CEBUS_WORK_POOL, NULL},
    {"adaptive_avg_pool2d", CEBUS_WORK_POOL, NULL},
    {"avg_pool2d_backward", CEBUS_WORK_POOL, NULL},
    {"interpolate", CEBUS_WORK_POOL, NULL},
    {"interpolate_backward", CEBUS_WORK_POOL, NULL},

    {"softmax", CEBUS_WORK_SOFTMAX, NULL},
    {"log_softmax", CEBUS_WORK_SOFTMAX, NULL},
    {"softmax_backward", CEBUS_WORK_SOFTMAX, NULL},
    {"log_softmax_backward", CEBUS_WORK_SOFTMAX, NULL},
    {"cross_entropy", CEBUS_WORK_SOFTMAX, NULL},
    {"cross_entropy_backward", CEBUS_WORK_SOFTMAX, NULL},

    CEBUS_UNARY_LIST(UNARY, , )
    ELEMENTWISE("neg") ELEMENTWISE("sign") ELEMENTWISE("clamp") ELEMENTWISE("clamp_backward")
    ELEMENTWISE("leaky_relu") ELEMENTWISE("leaky_relu_backward")
    ELEMENTWISE("add") ELEMENTWISE("sub") ELEMENTWISE("mul") ELEMENTWISE("div")
    ELEMENTWISE("pow") ELEMENTWISE("maximum") ELEMENTWISE("minimum")
    ELEMENTWISE("add_scalar") ELEMENTWISE("mul_scalar") ELEMENTWISE("div_scalar")
    ELEMENTWISE("rsub_scalar") ELEMENTWISE("pow_scalar")
    ELEMENTWISE("where") ELEMENTWISE("mask_scale")
    ELEMENTWISE("pow_base_backward") ELEMENTWISE("pow_exponent_backward")
    ELEMENTWISE("larger_share") ELEMENTWISE("pow_scalar_backward")
    CEBUS_COMPARISON_LIST(COMPARISON)
    ELEMENTWISE("fmod") ELEMENTWISE("remainder")
    CEBUS_INTEGER_LIST(INTEGER) CEBUS_DIVISION_LIST(INTEGER)
    ELEMENTWISE("add_") ELEMENTWISE("mul_") ELEMENTWISE("div_") ELEMENTWISE("lerp_")
    ELEMENTWISE("add_scalar_") ELEMENTWISE("mul_scalar_")
    ELEMENTWISE("extremum_backward") ELEMENTWISE("var_backward")
    ELEMENTWISE("logsumexp_backward") ELEMENTWISE("mse_loss_backward")

    {"sum", CEBUS_WORK_REDUCTION, NULL},
    {"mean", CEBUS_WORK_REDUCTION, NULL},
    {"max", CEBUS_WORK_REDUCTION, NULL},
    {"min", CEBUS_WORK_REDUCTION, NULL},
    {"argmax", CEBUS_WORK_REDUCTION, NULL},
    {"argmin", CEBUS_WORK_REDUCTION, NULL},
    {"var", CEBUS_WORK_REDUCTION, NULL},
    {"logsumexp", CEBUS_WORK_REDUCTION, NULL},
    {"mse_loss", CEBUS_WORK_REDUCTION, NULL},
    {"sum_squares", CEBUS_WORK_REDUCTION, NULL},
    {"non_finite", CEBUS_WORK_REDUCTION, NULL},

    {"embedding", CEBUS_WORK_INDEX, cebus_work_take},
    {"embedding_backward", CEBUS_WORK_INDEX, cebus_work_put},
    {"gather", CEBUS_WORK_INDEX, cebus_work_take},
    {"gather_backward", CEBUS_WORK_INDEX, cebus_work_put},
    {"index_select", CEBUS_WORK_INDEX, cebus_work_take},
    {"index_select_backward", CEBUS_WORK_INDEX, cebus_work_put},
    {"scatter_add", CEBUS_WORK_INDEX, cebus_work_scatter},
    {"nll_loss", CEBUS_WORK_INDEX, cebus_work_take},
    {"nll_loss_backward", CEBUS_WORK_INDEX, NULL},

    {"cast", CEBUS_WORK_COPY, NULL},
    {"cat", CEBUS_WORK_COPY, NULL},
    {"stack", CEBUS_WORK_COPY, NULL},
    {"pad", CEBUS_WORK_COPY, NULL},
    {"roll", CEBUS_WORK_COPY, NULL},
    {"full", CEBUS_WORK_COPY, NULL},
    {"arange", CEBUS_WORK_COPY, NULL},
    {"copy_", CEBUS_WORK_COPY, cebus_work_overwrite},
    {"fill_", CEBUS_WORK_COPY, cebus_work_overwrite},

    {"sgd_step", CEBUS_WORK_OPTIMIZER, NULL},
    {"sgd_momentum_step", CEBUS_WORK_OPTIMIZER, NULL},
    {"adam_step", CEBUS_WORK_OPTIMIZER, NULL},
    {"sgd_scaled_step", CEBUS_WORK_OPTIMIZER, NULL},
    {"sgd_momentum_scaled_step", CEBUS_WORK_OPTIMIZER, NULL},
    {"adam_scaled_step", CEBUS_WORK_OPTIMIZER, NULL},
    {"scale_grad", CEBUS_WORK_OPTIMIZER, NULL},
    {"unscale_grad", CEBUS_WORK_OPTIMIZER, NULL},
    {"update_scale", CEBUS_WORK_OPTIMIZER, NULL},

    {"randn", CEBUS_WORK_RANDOM, NULL},
    {"uniform", CEBUS_WORK_RANDOM, NULL},
    {"bernoulli", CEBUS_WORK_RANDOM, NULL},
    {0},
};
/* clang-format on */
