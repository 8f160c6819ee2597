# Operations of networks, with all their options; cebus/nn/functional.py gives them PyTorch's
# signatures.

cdef double meant(double number) noexcept:
    """An option of which the library takes zero for its default: zero is said by the smallest
    number, which no result can tell from it."""
    return number if number != 0 else 5e-324


def relu(Tensor x):
    return unary(x, cebus_relu)


def silu(Tensor x):
    return unary(x, cebus_silu)


def gelu(Tensor x, str approximate="none"):
    if approximate not in ("none", "tanh"):
        raise InvalidArgumentError("approximate argument must be either none or tanh.")
    return unary(x, cebus_gelu_tanh if approximate == "tanh" else cebus_gelu)


def leaky_relu(Tensor x, double negative_slope=0.01):
    cdef cebus_tensor *out = NULL
    cdef cebus_status status
    if forked:
        refuse_fork()
    with nogil:
        status = cebus_leaky_relu(x.rt, x.handle, negative_slope, &out)
    if status:
        fail(status)
    return wrap(out, x.rt)


def linear(Tensor x, Tensor weight not None, Tensor bias=None):
    cdef cebus_tensor *out = NULL
    cdef cebus_tensor *b
    cdef cebus_status status
    if forked:
        refuse_fork()
    x, weight, bias = lowered(x), lowered(weight), lowered(bias)
    if cebus_tensor_ndim(weight.handle) == 1 and cebus_tensor_ndim(x.handle) > 0:
        return product(x, weight) if bias is None else product(x, weight) + bias
    if bias is not None and cebus_tensor_ndim(weight.handle) == 2 \
            and bias.shape != weight.shape[:1]:
        x = linear(x, weight)
        return x + bias.expand(x.shape)
    b = handle_of(bias)
    with nogil:
        status = cebus_linear(x.rt, x.handle, weight.handle, b, &out)
    if status:
        fail(status)
    return wrap(out, x.rt)


def dropout(Tensor x, double p, bint training):
    cdef cebus_tensor *out = NULL
    cdef cebus_status status
    with nogil:
        status = cebus_dropout(x.rt, x.handle, p, training, &out)
    if status:
        fail(status)
    return wrap(out, x.rt)


cdef int pair_into(object value, int64_t *target, str name) except -1:
    if isinstance(value, (tuple, list)):
        if len(value) == 1:
            value = (value[0], value[0])
        if len(value) != 2:
            raise InvalidArgumentError(f"{name} must be a number or a pair, not {value}")
        target[0], target[1] = value[0], value[1]
    else:
        target[0] = target[1] = value
    return 0


cdef int conv_options(cebus_conv_options *options, object stride, object padding,
                      object dilation, int64_t groups) except -1:
    memset(options, 0, sizeof(cebus_conv_options))
    pair_into(stride, options.stride, "stride")
    pair_into(padding, options.padding, "padding")
    pair_into(dilation, options.dilation, "dilation")
    if 0 in (options.stride[0], options.stride[1]):
        raise InvalidArgumentError("non-positive stride is not supported")
    if 0 in (options.dilation[0], options.dilation[1]):
        raise InvalidArgumentError("dilation should be greater than zero")
    if groups <= 0:
        raise InvalidArgumentError(f"non-positive groups ({groups}) is not supported")
    options.groups = groups
    return 0


def conv2d(Tensor x, Tensor weight not None, Tensor bias, stride, padding, dilation, groups):
    cdef cebus_conv_options options
    cdef cebus_tensor *out = NULL
    cdef cebus_tensor *b
    cdef cebus_status status
    x, weight, bias = lowered(x), lowered(weight), lowered(bias)
    b = handle_of(bias)
    conv_options(&options, stride, padding, dilation, groups)
    with nogil:
        status = cebus_conv2d(x.rt, x.handle, weight.handle, b, &options, &out)
    if status:
        fail(status)
    return wrap(out, x.rt)


def conv_transpose2d(Tensor x, Tensor weight not None, Tensor bias, stride, padding,
                     output_padding, groups, dilation):
    cdef cebus_conv_options options
    cdef cebus_tensor *out = NULL
    cdef cebus_tensor *b
    cdef cebus_status status
    x, weight, bias = lowered(x), lowered(weight), lowered(bias)
    b = handle_of(bias)
    conv_options(&options, stride, padding, dilation, groups)
    pair_into(output_padding, options.output_padding, "output_padding")
    with nogil:
        status = cebus_conv_transpose2d(x.rt, x.handle, weight.handle, b, &options, &out)
    if status:
        fail(status)
    return wrap(out, x.rt)


ctypedef cebus_status (*pool_fn)(cebus_runtime *, cebus_tensor *, const cebus_pool_options *,
                                 cebus_tensor **) nogil


def pool2d(Tensor x, str kind, kernel, stride, padding, dilation=1, bint ceil_mode=False,
           bint count_include_pad=True):
    """`kind` "max" or "avg"; `stride` None is the kernel's size."""
    cdef cebus_pool_options options
    cdef cebus_tensor *out = NULL
    cdef cebus_status status
    cdef pool_fn function = cebus_max_pool2d if kind == "max" else cebus_avg_pool2d
    memset(&options, 0, sizeof(options))
    pair_into(kernel, options.kernel, "kernel_size")
    pair_into(kernel if stride is None or stride == () else stride, options.stride, "stride")
    pair_into(padding, options.padding, "padding")
    if kind == "max":
        pair_into(dilation, options.dilation, "dilation")
    if 0 in (options.stride[0], options.stride[1]):
        raise InvalidArgumentError(f"{kind}_pool2d: stride should not be zero")
    if kind == "max" and 0 in (options.dilation[0], options.dilation[1]):
        raise InvalidArgumentError("max_pool2d: dilation should be greater than zero")
    options.ceil_mode = ceil_mode
    options.exclude_padding = not count_include_pad
    with nogil:
        status = function(x.rt, x.handle, &options, &out)
    if status:
        fail(status)
    return wrap(out, x.rt)


def adaptive_avg_pool2d(Tensor x, int64_t height, int64_t width):
    cdef cebus_tensor *out = NULL
    cdef cebus_status status
    with nogil:
        status = cebus_adaptive_avg_pool2d(x.rt, x.handle, height, width, &out)
    if status:
        fail(status)
    return wrap(out, x.rt)


def interpolate2d(Tensor x, size, scale, str mode, bint align_corners):
    cdef cebus_interpolate_options options
    cdef cebus_tensor *out = NULL
    cdef cebus_status status
    memset(&options, 0, sizeof(options))
    if size is not None:
        pair_into(size, options.size, "size")
    if scale is not None:
        options.scale[0], options.scale[1] = scale if isinstance(scale, (tuple, list)) \
            else (scale, scale)
    if mode not in ("nearest", "bilinear"):
        raise UnsupportedError(f"interpolate has the modes nearest and bilinear, not {mode}")
    options.mode = CEBUS_INTERPOLATE_NEAREST if mode == "nearest" else CEBUS_INTERPOLATE_BILINEAR
    options.align_corners = align_corners
    with nogil:
        status = cebus_interpolate(x.rt, x.handle, &options, &out)
    if status:
        fail(status)
    return wrap(out, x.rt)


# --- normalization ----------------------------------------------------------------------------

def batch_norm(Tensor x, Tensor running_mean, Tensor running_var, Tensor weight, Tensor bias,
               bint training, double momentum, double eps):
    cdef cebus_batch_norm_options options
    cdef cebus_tensor *out = NULL
    cdef cebus_tensor *w = handle_of(weight)
    cdef cebus_tensor *b = handle_of(bias)
    cdef cebus_status status
    cdef int code = x.code()
    if autocast_blocks and weight is not None and code != weight.code():
        # Narrow in, narrow out; the statistics are of the type of the weights.
        return cast(batch_norm(cast(x, weight.code()), running_mean, running_var, weight, bias,
                               training, momentum, eps), code)
    options.running_mean, options.running_var = handle_of(running_mean), handle_of(running_var)
    options.training = training
    options.momentum, options.eps = meant(momentum), meant(eps)
    with nogil:
        status = cebus_batch_norm(x.rt, x.handle, w, b, &options, &out)
    if status:
        fail(status)
    return wrap(out, x.rt)


def layer_norm(Tensor x, int n_dims, Tensor weight, Tensor bias, double eps):
    cdef cebus_layer_norm_options options
    cdef cebus_tensor *out = NULL
    cdef cebus_tensor *w
    cdef cebus_tensor *b
    cdef cebus_status status
    x, weight, bias = raised(x), raised(weight), raised(bias)
    w, b = handle_of(weight), handle_of(bias)
    options.n_dims, options.eps = n_dims, meant(eps)
    with nogil:
        status = cebus_layer_norm(x.rt, x.handle, w, b, &options, &out)
    if status:
        fail(status)
    return wrap(out, x.rt)


def rms_norm(Tensor x, int n_dims, Tensor weight, double eps):
    cdef cebus_layer_norm_options options
    cdef cebus_tensor *out = NULL
    cdef cebus_tensor *w
    cdef cebus_status status
    x, weight = raised(x), raised(weight)
    w = handle_of(weight)
    options.n_dims, options.eps = n_dims, meant(eps)
    with nogil:
        status = cebus_rms_norm(x.rt, x.handle, w, &options, &out)
    if status:
        fail(status)
    return wrap(out, x.rt)


def group_norm(Tensor x, int64_t groups, Tensor weight, Tensor bias, double eps):
    cdef cebus_group_norm_options options
    cdef cebus_tensor *out = NULL
    cdef cebus_tensor *w
    cdef cebus_tensor *b
    cdef cebus_status status
    x, weight, bias = raised(x), raised(weight), raised(bias)
    w, b = handle_of(weight), handle_of(bias)
    options.groups, options.eps = groups, meant(eps)
    with nogil:
        status = cebus_group_norm(x.rt, x.handle, w, b, &options, &out)
    if status:
        fail(status)
    return wrap(out, x.rt)


# --- losses, positions, borders ---------------------------------------------------------------

cdef cebus_loss_reduction reduction_of(str name) except *:
    if name == "mean":
        return CEBUS_LOSS_MEAN
    if name == "sum":
        return CEBUS_LOSS_SUM
    if name == "none":
        return CEBUS_LOSS_NONE
    raise InvalidArgumentError(f"{name} is not a valid value for reduction")


ctypedef cebus_status (*class_loss_fn)(cebus_runtime *, cebus_tensor *, cebus_tensor *,
                                       const cebus_class_loss_options *, cebus_tensor **) nogil


def class_loss(Tensor x, Tensor target not None, bint logits, str reduction,
               int64_t ignore_index, double label_smoothing):
    """Cross entropy of logits, or the negative log-likelihood of log-probabilities."""
    cdef cebus_class_loss_options options
    cdef cebus_tensor *out = NULL
    cdef cebus_status status
    cdef class_loss_fn function = cebus_cross_entropy if logits else cebus_nll_loss
    x = raised(x)
    if target.code() == CEBUS_U8:
        target = cast(target, CEBUS_I64)
    options.reduction = reduction_of(reduction)
    options.has_ignore_index, options.ignore_index = True, ignore_index
    options.label_smoothing = label_smoothing
    with nogil:
        status = function(x.rt, x.handle, target.handle, &options, &out)
    if status:
        fail(status)
    return wrap(out, x.rt)


def mse_loss(Tensor x, Tensor target not None, str reduction):
    cdef cebus_tensor *out = NULL
    cdef cebus_loss_reduction how = reduction_of(reduction)
    cdef cebus_status status
    x, target = raised(x), raised(target)
    with nogil:
        status = cebus_mse_loss(x.rt, x.handle, target.handle, how, &out)
    if status:
        fail(status)
    return wrap(out, x.rt)


def embedding(Tensor indices not None, Tensor weight not None, padding_idx=None):
    cdef int64_t padding = CEBUS_NO_PADDING if padding_idx is None else padding_idx
    cdef cebus_tensor *out = NULL
    cdef cebus_status status
    with nogil:
        status = cebus_embedding(weight.rt, weight.handle, indices.handle, padding, &out)
    if status:
        fail(status)
    return wrap(out, weight.rt)


def pad_constant(Tensor x, pads, double value):
    cdef int64_t widths[16]
    cdef cebus_tensor *out = NULL
    cdef cebus_status status
    cdef int n = len(pads)
    if n > 16:
        raise InvalidArgumentError(f"pad: {n} widths, at most 16")
    for i in range(n):
        widths[i] = pads[i]
    with nogil:
        status = cebus_pad(x.rt, x.handle, n, widths, value, &out)
    if status:
        fail(status)
    return wrap(out, x.rt)


cdef Tensor attention_mask(Tensor mask, Tensor q):
    """What is added to the scores is of their type."""
    return mask if mask is None or mask.code() == CEBUS_BOOL else cast(mask, q.code())


def attention(Tensor q, Tensor k not None, Tensor v not None, Tensor mask, double dropout_p,
              bint is_causal, scale):
    cdef cebus_attention_options options
    cdef cebus_tensor *out = NULL
    cdef cebus_status status
    if autocast_blocks:
        q, k, v, mask = lowered(q), lowered(k), lowered(v), attention_mask(mask, lowered(q))
    options.mask = handle_of(mask)
    options.dropout_p, options.is_causal = dropout_p, is_causal
    options.scale = 0 if scale is None else meant(scale)
    with nogil:
        status = cebus_scaled_dot_product_attention(q.rt, q.handle, k.handle, v.handle, &options,
                                                    &out)
    if status:
        fail(status)
    return wrap(out, q.rt)
