#include "evict/policies/family.h"

#include <criterion/criterion.h>
#include <string.h>

static const struct {
    const char *op;
    cebus_family family;
} cases[] = {
    {"conv2d", CEBUS_FAMILY_CONV},
    {"conv2d_weight", CEBUS_FAMILY_CONV},
    {"conv_transpose2d", CEBUS_FAMILY_CONV},
    {"aten::cudnn_convolution", CEBUS_FAMILY_CONV},
    {"aten::cudnn_convolution_backward", CEBUS_FAMILY_CONV},
    {"aten::thnn_conv2d", CEBUS_FAMILY_CONV},
    {"linear", CEBUS_FAMILY_MATMUL},
    {"matmul", CEBUS_FAMILY_MATMUL},
    {"aten::addmm", CEBUS_FAMILY_MATMUL},
    {"aten::mm", CEBUS_FAMILY_MATMUL},
    {"aten::bmm", CEBUS_FAMILY_MATMUL},
    {"scaled_dot_product_attention_backward", CEBUS_FAMILY_ATTENTION},
    {"aten::_thnn_fused_lstm_cell", CEBUS_FAMILY_RECURRENT},
    {"lstm_gates", CEBUS_FAMILY_ACTIVATION},
    {"batch_norm", CEBUS_FAMILY_NORM},
    {"aten::native_batch_norm_backward", CEBUS_FAMILY_NORM},
    {"layer_norm", CEBUS_FAMILY_NORM},
    {"max_pool2d", CEBUS_FAMILY_POOL},
    {"aten::adaptive_avg_pool2d", CEBUS_FAMILY_POOL},
    {"interpolate", CEBUS_FAMILY_POOL},
    {"softmax", CEBUS_FAMILY_SOFTMAX},
    {"aten::_log_softmax_backward_data", CEBUS_FAMILY_SOFTMAX},
    {"relu", CEBUS_FAMILY_ACTIVATION},
    {"aten::relu_", CEBUS_FAMILY_ACTIVATION},
    {"MyFusedGELU", CEBUS_FAMILY_ACTIVATION},
    {"mask_scale", CEBUS_FAMILY_ACTIVATION},
    {"mul_scalar_", CEBUS_FAMILY_ACTIVATION},
    {"aten::mul", CEBUS_FAMILY_ACTIVATION},
    {"add", CEBUS_FAMILY_JOIN},
    {"aten::add_", CEBUS_FAMILY_JOIN},
    {"add_scalar_", CEBUS_FAMILY_JOIN},
    {"cat", CEBUS_FAMILY_JOIN},
    {"pad", CEBUS_FAMILY_SHAPE},
    {"embedding", CEBUS_FAMILY_INDEX},
    {"sum", CEBUS_FAMILY_REDUCTION},
    {"cross_entropy", CEBUS_FAMILY_LOSS},
    {"aten::nll_loss", CEBUS_FAMILY_LOSS},
    {"adam_step", CEBUS_FAMILY_OPTIMIZER},
    {"sgd_momentum_step", CEBUS_FAMILY_OPTIMIZER},
    {"aten::addcdiv_", CEBUS_FAMILY_OPTIMIZER},
    {"my_secret_op", CEBUS_FAMILY_OTHER},
    {"", CEBUS_FAMILY_OTHER},
    {"::", CEBUS_FAMILY_OTHER},
    {"_", CEBUS_FAMILY_OTHER},
};

Test(family, reads_names_of_cebus_of_pytorch_and_of_users)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        cr_expect_eq(cebus_family_of(cases[i].op), cases[i].family, "%s is %d", cases[i].op,
                     (int)cebus_family_of(cases[i].op));
}

Test(family, a_name_of_any_length_is_read)
{
    char name[512];
    memset(name, 'x', sizeof name);
    memcpy(name, "conv", 4);
    name[sizeof name - 1] = '\0';
    cr_expect_eq(cebus_family_of(name), CEBUS_FAMILY_CONV);
}

Test(family, what_is_heavy_is_not_cheap)
{
    for (int f = 0; f < CEBUS_FAMILY_COUNT; f++)
        cr_expect_not(cebus_family_is_heavy((cebus_family)f) &&
                      cebus_family_is_cheap((cebus_family)f));
    cr_expect(cebus_family_is_heavy(CEBUS_FAMILY_CONV));
    cr_expect(cebus_family_is_cheap(CEBUS_FAMILY_NORM));
    cr_expect_not(cebus_family_is_cheap(CEBUS_FAMILY_OTHER));
}
