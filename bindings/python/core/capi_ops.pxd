# The operations: <cebus/ops.h>. Functions of one signature share a type, so that a wrapper is
# written once for all of them.
from libc.stdint cimport int64_t, uint64_t
from libcpp cimport bool as cbool
from capi cimport cebus_dtype, cebus_runtime, cebus_status, cebus_tensor

ctypedef cebus_status (*unary_fn)(cebus_runtime *, cebus_tensor *, cebus_tensor **) nogil
ctypedef cebus_status (*binary_fn)(cebus_runtime *, cebus_tensor *, cebus_tensor *,
                                   cebus_tensor **) nogil
ctypedef cebus_status (*scalar_fn)(cebus_runtime *, cebus_tensor *, double,
                                   cebus_tensor **) nogil
ctypedef cebus_status (*dim_fn)(cebus_runtime *, cebus_tensor *, int, cebus_tensor **) nogil
ctypedef cebus_status (*reduce_fn)(cebus_runtime *, cebus_tensor *, int, const int *, cbool,
                                   cebus_tensor **) nogil
ctypedef cebus_status (*fill_fn)(cebus_runtime *, cebus_dtype, int, const int64_t *,
                                 cebus_tensor **) nogil
ctypedef cebus_status (*join_fn)(cebus_runtime *, cebus_tensor **, size_t, int,
                                 cebus_tensor **) nogil
ctypedef cebus_status (*write_fn)(cebus_runtime *, cebus_tensor *, cebus_tensor *) nogil
ctypedef cebus_status (*write_scaled_fn)(cebus_runtime *, cebus_tensor *, cebus_tensor *,
                                         double) nogil
ctypedef cebus_status (*write_scalar_fn)(cebus_runtime *, cebus_tensor *, double) nogil

cdef extern from "<cebus/ops.h>" nogil:
    cebus_status cebus_neg(cebus_runtime *, cebus_tensor *, cebus_tensor **)
    cebus_status cebus_abs(cebus_runtime *, cebus_tensor *, cebus_tensor **)
    cebus_status cebus_sign(cebus_runtime *, cebus_tensor *, cebus_tensor **)
    cebus_status cebus_square(cebus_runtime *, cebus_tensor *, cebus_tensor **)
    cebus_status cebus_exp(cebus_runtime *, cebus_tensor *, cebus_tensor **)
    cebus_status cebus_log(cebus_runtime *, cebus_tensor *, cebus_tensor **)
    cebus_status cebus_sqrt(cebus_runtime *, cebus_tensor *, cebus_tensor **)
    cebus_status cebus_rsqrt(cebus_runtime *, cebus_tensor *, cebus_tensor **)
    cebus_status cebus_reciprocal(cebus_runtime *, cebus_tensor *, cebus_tensor **)
    cebus_status cebus_sin(cebus_runtime *, cebus_tensor *, cebus_tensor **)
    cebus_status cebus_cos(cebus_runtime *, cebus_tensor *, cebus_tensor **)
    cebus_status cebus_erf(cebus_runtime *, cebus_tensor *, cebus_tensor **)
    cebus_status cebus_tanh(cebus_runtime *, cebus_tensor *, cebus_tensor **)
    cebus_status cebus_sigmoid(cebus_runtime *, cebus_tensor *, cebus_tensor **)
    cebus_status cebus_relu(cebus_runtime *, cebus_tensor *, cebus_tensor **)
    cebus_status cebus_gelu(cebus_runtime *, cebus_tensor *, cebus_tensor **)
    cebus_status cebus_gelu_tanh(cebus_runtime *, cebus_tensor *, cebus_tensor **)
    cebus_status cebus_silu(cebus_runtime *, cebus_tensor *, cebus_tensor **)
    cebus_status cebus_leaky_relu(cebus_runtime *, cebus_tensor *, double, cebus_tensor **)
    cebus_status cebus_clamp(cebus_runtime *, cebus_tensor *, double, double, cebus_tensor **)
    cebus_status cebus_clone(cebus_runtime *, cebus_tensor *, cebus_tensor **)
    cebus_status cebus_contiguous(cebus_runtime *, cebus_tensor *, cebus_tensor **)
    cebus_status cebus_cast(cebus_runtime *, cebus_tensor *, cebus_dtype, cebus_tensor **)

    cebus_status cebus_add(cebus_runtime *, cebus_tensor *, cebus_tensor *, cebus_tensor **)
    cebus_status cebus_sub(cebus_runtime *, cebus_tensor *, cebus_tensor *, cebus_tensor **)
    cebus_status cebus_mul(cebus_runtime *, cebus_tensor *, cebus_tensor *, cebus_tensor **)
    cebus_status cebus_div(cebus_runtime *, cebus_tensor *, cebus_tensor *, cebus_tensor **)
    cebus_status cebus_pow(cebus_runtime *, cebus_tensor *, cebus_tensor *, cebus_tensor **)
    cebus_status cebus_fmod(cebus_runtime *, cebus_tensor *, cebus_tensor *, cebus_tensor **)
    cebus_status cebus_remainder(cebus_runtime *, cebus_tensor *, cebus_tensor *, cebus_tensor **)
    cebus_status cebus_bitwise_and(cebus_runtime *, cebus_tensor *, cebus_tensor *, cebus_tensor **)
    cebus_status cebus_bitwise_or(cebus_runtime *, cebus_tensor *, cebus_tensor *, cebus_tensor **)
    cebus_status cebus_bitwise_xor(cebus_runtime *, cebus_tensor *, cebus_tensor *, cebus_tensor **)
    cebus_status cebus_shift_left(cebus_runtime *, cebus_tensor *, cebus_tensor *, cebus_tensor **)
    cebus_status cebus_shift_right(cebus_runtime *, cebus_tensor *, cebus_tensor *, cebus_tensor **)
    cebus_status cebus_div_floor(cebus_runtime *, cebus_tensor *, cebus_tensor *, cebus_tensor **)
    cebus_status cebus_div_trunc(cebus_runtime *, cebus_tensor *, cebus_tensor *, cebus_tensor **)
    cebus_status cebus_maximum(cebus_runtime *, cebus_tensor *, cebus_tensor *, cebus_tensor **)
    cebus_status cebus_minimum(cebus_runtime *, cebus_tensor *, cebus_tensor *, cebus_tensor **)
    cebus_status cebus_eq(cebus_runtime *, cebus_tensor *, cebus_tensor *, cebus_tensor **)
    cebus_status cebus_ne(cebus_runtime *, cebus_tensor *, cebus_tensor *, cebus_tensor **)
    cebus_status cebus_lt(cebus_runtime *, cebus_tensor *, cebus_tensor *, cebus_tensor **)
    cebus_status cebus_le(cebus_runtime *, cebus_tensor *, cebus_tensor *, cebus_tensor **)
    cebus_status cebus_gt(cebus_runtime *, cebus_tensor *, cebus_tensor *, cebus_tensor **)
    cebus_status cebus_ge(cebus_runtime *, cebus_tensor *, cebus_tensor *, cebus_tensor **)
    cebus_status cebus_matmul(cebus_runtime *, cebus_tensor *, cebus_tensor *, cebus_tensor **)
    cebus_status cebus_where(cebus_runtime *, cebus_tensor *, cebus_tensor *, cebus_tensor *,
                             cebus_tensor **)
    cebus_status cebus_linear(cebus_runtime *, cebus_tensor *, cebus_tensor *, cebus_tensor *,
                              cebus_tensor **)

    cebus_status cebus_add_scalar(cebus_runtime *, cebus_tensor *, double, cebus_tensor **)
    cebus_status cebus_mul_scalar(cebus_runtime *, cebus_tensor *, double, cebus_tensor **)
    cebus_status cebus_div_scalar(cebus_runtime *, cebus_tensor *, double, cebus_tensor **)
    cebus_status cebus_rsub_scalar(cebus_runtime *, cebus_tensor *, double, cebus_tensor **)
    cebus_status cebus_pow_scalar(cebus_runtime *, cebus_tensor *, double, cebus_tensor **)
    cebus_status cebus_eq_scalar(cebus_runtime *, cebus_tensor *, double, cebus_tensor **)
    cebus_status cebus_ne_scalar(cebus_runtime *, cebus_tensor *, double, cebus_tensor **)
    cebus_status cebus_lt_scalar(cebus_runtime *, cebus_tensor *, double, cebus_tensor **)
    cebus_status cebus_le_scalar(cebus_runtime *, cebus_tensor *, double, cebus_tensor **)
    cebus_status cebus_gt_scalar(cebus_runtime *, cebus_tensor *, double, cebus_tensor **)
    cebus_status cebus_ge_scalar(cebus_runtime *, cebus_tensor *, double, cebus_tensor **)
    cebus_status cebus_full_like(cebus_runtime *, cebus_tensor *, double, cebus_tensor **)

    cebus_status cebus_add_(cebus_runtime *, cebus_tensor *, cebus_tensor *, double)
    cebus_status cebus_sub_(cebus_runtime *, cebus_tensor *, cebus_tensor *, double)
    cebus_status cebus_mul_(cebus_runtime *, cebus_tensor *, cebus_tensor *)
    cebus_status cebus_div_(cebus_runtime *, cebus_tensor *, cebus_tensor *)
    cebus_status cebus_lerp_(cebus_runtime *, cebus_tensor *, cebus_tensor *, double)
    cebus_status cebus_copy_(cebus_runtime *, cebus_tensor *, cebus_tensor *)
    cebus_status cebus_add_scalar_(cebus_runtime *, cebus_tensor *, double)
    cebus_status cebus_mul_scalar_(cebus_runtime *, cebus_tensor *, double)
    cebus_status cebus_fill_(cebus_runtime *, cebus_tensor *, double)

    cebus_status cebus_full(cebus_runtime *, double, cebus_dtype, int, const int64_t *,
                            cebus_tensor **)
    cebus_status cebus_empty(cebus_runtime *, cebus_dtype, int, const int64_t *, cebus_tensor **)
    cebus_status cebus_zeros(cebus_runtime *, cebus_dtype, int, const int64_t *, cebus_tensor **)
    cebus_status cebus_ones(cebus_runtime *, cebus_dtype, int, const int64_t *, cebus_tensor **)
    cebus_status cebus_arange(cebus_runtime *, double, double, double, cebus_dtype,
                              cebus_tensor **)
    cebus_status cebus_randn(cebus_runtime *, cebus_dtype, int, const int64_t *, cebus_tensor **)
    ctypedef struct cebus_uniform_range:
        double low
        double high
    cebus_status cebus_uniform(cebus_runtime *, cebus_uniform_range, cebus_dtype, int,
                               const int64_t *, cebus_tensor **)
    cebus_status cebus_bernoulli(cebus_runtime *, double, cebus_dtype, int, const int64_t *,
                                 cebus_tensor **)
    cebus_status cebus_dropout(cebus_runtime *, cebus_tensor *, double, cbool, cebus_tensor **)

    cebus_status cebus_sum(cebus_runtime *, cebus_tensor *, int, const int *, cbool,
                           cebus_tensor **)
    cebus_status cebus_mean(cebus_runtime *, cebus_tensor *, int, const int *, cbool,
                            cebus_tensor **)
    cebus_status cebus_max(cebus_runtime *, cebus_tensor *, int, const int *, cbool,
                           cebus_tensor **)
    cebus_status cebus_min(cebus_runtime *, cebus_tensor *, int, const int *, cbool,
                           cebus_tensor **)
    cebus_status cebus_argmax(cebus_runtime *, cebus_tensor *, int, const int *, cbool,
                              cebus_tensor **)
    cebus_status cebus_argmin(cebus_runtime *, cebus_tensor *, int, const int *, cbool,
                              cebus_tensor **)
    cebus_status cebus_logsumexp(cebus_runtime *, cebus_tensor *, int, const int *, cbool,
                                 cebus_tensor **)
    ctypedef struct cebus_var_options:
        const int *dims
        int n_dims
        int correction
        cbool keepdim
    cebus_status cebus_var(cebus_runtime *, cebus_tensor *, const cebus_var_options *,
                           cebus_tensor **)
    cebus_status cebus_softmax(cebus_runtime *, cebus_tensor *, int, cebus_tensor **)
    cebus_status cebus_log_softmax(cebus_runtime *, cebus_tensor *, int, cebus_tensor **)

    int64_t CEBUS_NO_PADDING
    size_t CEBUS_MAX_JOIN
    cebus_status cebus_embedding(cebus_runtime *, cebus_tensor *, cebus_tensor *, int64_t,
                                 cebus_tensor **)
    cebus_status cebus_gather(cebus_runtime *, cebus_tensor *, int, cebus_tensor *,
                              cebus_tensor **)
    cebus_status cebus_index_select(cebus_runtime *, cebus_tensor *, int, cebus_tensor *,
                                    cebus_tensor **)
    cebus_status cebus_scatter_add(cebus_runtime *, cebus_tensor *, int, cebus_tensor *,
                                   cebus_tensor *, cebus_tensor **)
    cebus_status cebus_cat(cebus_runtime *, cebus_tensor **, size_t, int, cebus_tensor **)
    cebus_status cebus_stack(cebus_runtime *, cebus_tensor **, size_t, int, cebus_tensor **)
    cebus_status cebus_pad(cebus_runtime *, cebus_tensor *, int, const int64_t *, double,
                           cebus_tensor **)
    cebus_status cebus_roll(cebus_runtime *, cebus_tensor *, int, const int64_t *, const int *,
                            cebus_tensor **)

    ctypedef struct cebus_conv_options:
        int64_t stride[2]
        int64_t padding[2]
        int64_t dilation[2]
        int64_t groups
        int64_t output_padding[2]
    cebus_status cebus_conv2d(cebus_runtime *, cebus_tensor *, cebus_tensor *, cebus_tensor *,
                              const cebus_conv_options *, cebus_tensor **)
    cebus_status cebus_conv_transpose2d(cebus_runtime *, cebus_tensor *, cebus_tensor *,
                                        cebus_tensor *, const cebus_conv_options *,
                                        cebus_tensor **)
    ctypedef struct cebus_pool_options:
        int64_t kernel[2]
        int64_t stride[2]
        int64_t padding[2]
        int64_t dilation[2]
        cbool ceil_mode
        cbool exclude_padding
    cebus_status cebus_max_pool2d(cebus_runtime *, cebus_tensor *, const cebus_pool_options *,
                                  cebus_tensor **)
    cebus_status cebus_avg_pool2d(cebus_runtime *, cebus_tensor *, const cebus_pool_options *,
                                  cebus_tensor **)
    cebus_status cebus_adaptive_avg_pool2d(cebus_runtime *, cebus_tensor *, int64_t, int64_t,
                                           cebus_tensor **)
    ctypedef enum cebus_interpolate_mode:
        CEBUS_INTERPOLATE_NEAREST, CEBUS_INTERPOLATE_BILINEAR
    ctypedef struct cebus_interpolate_options:
        int64_t size[2]
        double scale[2]
        cebus_interpolate_mode mode
        cbool align_corners
    cebus_status cebus_interpolate(cebus_runtime *, cebus_tensor *,
                                   const cebus_interpolate_options *, cebus_tensor **)

    ctypedef struct cebus_batch_norm_options:
        cebus_tensor *running_mean
        cebus_tensor *running_var
        cbool training
        double momentum
        double eps
    cebus_status cebus_batch_norm(cebus_runtime *, cebus_tensor *, cebus_tensor *,
                                  cebus_tensor *, const cebus_batch_norm_options *,
                                  cebus_tensor **)
    ctypedef struct cebus_layer_norm_options:
        int n_dims
        double eps
    cebus_status cebus_layer_norm(cebus_runtime *, cebus_tensor *, cebus_tensor *,
                                  cebus_tensor *, const cebus_layer_norm_options *,
                                  cebus_tensor **)
    cebus_status cebus_rms_norm(cebus_runtime *, cebus_tensor *, cebus_tensor *,
                                const cebus_layer_norm_options *, cebus_tensor **)
    ctypedef struct cebus_group_norm_options:
        int64_t groups
        double eps
    cebus_status cebus_group_norm(cebus_runtime *, cebus_tensor *, cebus_tensor *,
                                  cebus_tensor *, const cebus_group_norm_options *,
                                  cebus_tensor **)

    ctypedef enum cebus_loss_reduction:
        CEBUS_LOSS_MEAN, CEBUS_LOSS_SUM, CEBUS_LOSS_NONE
    ctypedef struct cebus_class_loss_options:
        cebus_loss_reduction reduction
        cbool has_ignore_index
        int64_t ignore_index
        double label_smoothing
    cebus_status cebus_cross_entropy(cebus_runtime *, cebus_tensor *, cebus_tensor *,
                                     const cebus_class_loss_options *, cebus_tensor **)
    cebus_status cebus_nll_loss(cebus_runtime *, cebus_tensor *, cebus_tensor *,
                                const cebus_class_loss_options *, cebus_tensor **)
    cebus_status cebus_mse_loss(cebus_runtime *, cebus_tensor *, cebus_tensor *,
                                cebus_loss_reduction, cebus_tensor **)

    ctypedef struct cebus_attention_options:
        cebus_tensor *mask
        double dropout_p
        cbool is_causal
        double scale
    cebus_status cebus_scaled_dot_product_attention(cebus_runtime *, cebus_tensor *,
                                                    cebus_tensor *, cebus_tensor *,
                                                    const cebus_attention_options *,
                                                    cebus_tensor **)

    ctypedef struct cebus_recurrent_weights:
        cebus_tensor *w_ih
        cebus_tensor *w_hh
        cebus_tensor *b_ih
        cebus_tensor *b_hh
    ctypedef struct cebus_lstm_state:
        cebus_tensor *h
        cebus_tensor *c
    ctypedef struct cebus_recurrent_options:
        int num_layers
        cbool bidirectional
        cbool batch_first
        double dropout
        cbool training
    ctypedef struct cebus_recurrent_result:
        cebus_tensor *out
        cebus_tensor *h
        cebus_tensor *c
    cebus_status cebus_lstm_cell(cebus_runtime *, cebus_tensor *, const cebus_lstm_state *,
                                 const cebus_recurrent_weights *, cebus_lstm_state *)
    cebus_status cebus_gru_cell(cebus_runtime *, cebus_tensor *, cebus_tensor *,
                                const cebus_recurrent_weights *, cebus_tensor **)
    cebus_status cebus_lstm(cebus_runtime *, cebus_tensor *, const cebus_lstm_state *,
                            const cebus_recurrent_weights *, const cebus_recurrent_options *,
                            cebus_recurrent_result *)
    cebus_status cebus_gru(cebus_runtime *, cebus_tensor *, cebus_tensor *,
                           const cebus_recurrent_weights *, const cebus_recurrent_options *,
                           cebus_recurrent_result *)
