#include "eager/ops/random.h"

#include <math.h>

#include <cebus/ops/random.h>

#include "eager/composite.h"
#include "eager/ops/binary.h"
#include "eager/ops/entry.h"
#include "eager/ops/fill.h"
#include "eager/tensor.h"
#include "eager/view.h"

static cebus_status random_infer(cebus_infer *io)
{
    const cebus_random_attrs *attrs = io->attrs;
    io->out[0] = attrs->view;
    return CEBUS_OK;
}

static uint64_t real_blocks(const cebus_launch *launch)
{
    const cebus_view *out = launch->out[0].view;
    int64_t per_block = cebus_random_per_block(out->dtype);
    return (uint64_t)((cebus_view_numel(out) + per_block - 1) / per_block);
}

static const cebus_op op_randn = {.name = "randn",
                                  .flags = CEBUS_OP_RNG | CEBUS_OP_NUMBERS,
                                  .infer = random_infer,
                                  .rng_blocks = real_blocks};
static const cebus_op op_uniform = {.name = "uniform",
                                    .flags = CEBUS_OP_RNG | CEBUS_OP_NUMBERS,
                                    .infer = random_infer,
                                    .rng_blocks = real_blocks};
static const cebus_op op_bernoulli = {
    .name = "bernoulli", .flags = CEBUS_OP_RNG | CEBUS_OP_NUMBERS, .infer = random_infer};

static cebus_status run_random(cebus_runtime *rt, const cebus_op *op,
                               const cebus_random_attrs *attrs, cebus_tensor **out)
{
    cebus_call_spec spec = {.op = op, .attrs = attrs, .attr_bytes = sizeof *attrs, .n_out = 1};
    return cebus_entry_run(rt, &spec, out);
}

/* Shape and type of a real-valued result. */
static cebus_status check_real(const char *op, cebus_dtype dtype, int ndim, const int64_t *shape,
                               cebus_view *out)
{
    cebus_status status = cebus_fill_shape(op, dtype, ndim, shape, out);
    if (status == CEBUS_OK && !cebus_dtype_is_float(dtype))
        status = cebus_fail(CEBUS_INVALID_ARGUMENT, op,
                            "draws floating-point numbers, not %s: draw f32 and cebus_cast() it",
                            cebus_dtype_name(dtype));
    return status;
}

cebus_status cebus_randn(cebus_runtime *rt, cebus_dtype dtype, int ndim, const int64_t *shape,
                         cebus_tensor **out)
{
    cebus_random_attrs attrs = {.a = 0};
    if (out)
        *out = NULL;
    cebus_status status = check_real("randn", dtype, ndim, shape, &attrs.view);
    return status == CEBUS_OK ? run_random(rt, &op_randn, &attrs, out) : status;
}

cebus_status cebus_uniform(cebus_runtime *rt, cebus_uniform_range range, cebus_dtype dtype,
                           int ndim, const int64_t *shape, cebus_tensor **out)
{
    cebus_random_attrs attrs = {.a = range.low, .b = range.high};
    if (out)
        *out = NULL;
    cebus_status status = check_real("uniform", dtype, ndim, shape, &attrs.view);
    if (status != CEBUS_OK)
        return status;
    if (!isfinite(range.high - range.low) || range.low > range.high)
        return cebus_fail(CEBUS_INVALID_ARGUMENT, "uniform",
                          "the range is [%g, %g): the bounds must be finite and in order",
                          range.low, range.high);
    return run_random(rt, &op_uniform, &attrs, out);
}

static cebus_status check_probability(const char *op, double p)
{
    if (p >= 0 && p <= 1)
        return CEBUS_OK;
    return cebus_fail(CEBUS_INVALID_ARGUMENT, op, "p is %g: a probability lies in [0, 1]", p);
}

cebus_status cebus_bernoulli(cebus_runtime *rt, double p, cebus_dtype dtype, int ndim,
                             const int64_t *shape, cebus_tensor **out)
{
    cebus_random_attrs attrs = {.a = p};
    if (out)
        *out = NULL;
    cebus_status status = cebus_fill_shape("bernoulli", dtype, ndim, shape, &attrs.view);
    if (status == CEBUS_OK)
        status = check_probability("bernoulli", p);
    return status == CEBUS_OK ? run_random(rt, &op_bernoulli, &attrs, out) : status;
}

/* Drawn as an op of its own, so that rebuilding the mask takes no input. */
static cebus_status draw_mask(cebus_runtime *rt, const cebus_view *like, double keep,
                              cebus_tensor **out)
{
    cebus_random_attrs attrs = {.a = keep};
    cebus_fill_view(&attrs.view, like);
    attrs.view.dtype = CEBUS_BOOL;
    return run_random(rt, &op_bernoulli, &attrs, out);
}

cebus_status cebus_dropout(cebus_runtime *rt, cebus_tensor *x, double p, bool training,
                           cebus_tensor **out)
{
    if (out == NULL)
        return cebus_fail(CEBUS_INVALID_ARGUMENT, "dropout", "out is NULL");
    *out = NULL;
    cebus_status status = cebus_tensor_check(rt, x, "dropout", "x");
    if (status == CEBUS_OK)
        status = check_probability("dropout", p);
    if (status != CEBUS_OK)
        return status;
    if (!cebus_dtype_is_float(cebus_tensor_dtype(x)))
        return cebus_fail(CEBUS_DTYPE_MISMATCH, "dropout",
                          "takes floating-point elements, got %s %s: cebus_cast() it to f32",
                          cebus_dtype_name(cebus_tensor_dtype(x)),
                          CEBUS_SHAPE(cebus_tensor_view(x)));
    if (!training || p == 0) {
        *out = cebus_tensor_retain(x);
        return CEBUS_OK;
    }
    cebus_composite composite;
    cebus_tensor *mask = NULL;
    status = cebus_composite_begin(&composite, rt, "dropout");
    if (status != CEBUS_OK)
        return status;
    status = draw_mask(rt, cebus_tensor_view(x), 1 - p, &mask);
    if (status == CEBUS_OK)
        status = cebus_mask_scale(rt, x, mask, (cebus_mask_attrs){.scale = 1 / (1 - p)}, out);
    cebus_tensor_release(mask);
    return cebus_composite_end(&composite, status);
}
