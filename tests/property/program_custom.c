#include "tests/property/program_custom.h"

#include <string.h>

static int64_t count(const cebus_view *view)
{
    int64_t n = 1;
    for (int d = 0; d < view->ndim; d++)
        n *= view->shape[d];
    return n;
}

/** Address of element `i` of the row-major sequence. */
static float *at(const cebus_custom_array *array, int64_t i)
{
    const cebus_view *view = array->view;
    int64_t offset = 0;
    for (int d = view->ndim - 1; d >= 0; d--) {
        offset += i % view->shape[d] * view->strides[d];
        i /= view->shape[d];
    }
    return (float *)array->data + offset;
}

static cebus_status like_input(void *user, const void *attrs, const cebus_view *const *in,
                               uint32_t n_in, cebus_view *out)
{
    (void)attrs;
    if (n_in != 1 || in[0]->dtype != CEBUS_F32)
        return CEBUS_DTYPE_MISMATCH;
    uint32_t n_out = *(const uint32_t *)user;
    for (uint32_t j = 0; j < n_out; j++) {
        out[j].dtype = CEBUS_F32;
        out[j].ndim = in[0]->ndim;
        memcpy(out[j].shape, in[0]->shape, sizeof out[j].shape);
    }
    return CEBUS_OK;
}

/** x / 2 and x^2 / (1 + x^2), through scratch that must not be trusted to be clean. */
static cebus_status run_pair(const cebus_custom_launch *launch)
{
    float *scratch = launch->workspace;
    int64_t n = count(launch->in[0].view);
    for (int64_t i = 0; i < n; i++)
        scratch[i] = *at(&launch->in[0], i);
    for (int64_t i = 0; i < n; i++) {
        *at(&launch->out[0], i) = scratch[i] / 2;
        *at(&launch->out[1], i) = scratch[i] * scratch[i] / (1 + scratch[i] * scratch[i]);
    }
    return CEBUS_OK;
}

static uint64_t pair_workspace(const cebus_custom_launch *launch)
{
    return (uint64_t)count(launch->in[0].view) * sizeof(float);
}

/** Only the first output has a gradient. */
static cebus_status pair_gradient(void *user, cebus_runtime *rt, const void *attrs,
                                  cebus_tensor *const *in, uint32_t n_in, cebus_tensor *const *out,
                                  cebus_tensor *const *grad_out, uint32_t n_out,
                                  cebus_tensor **grad_in)
{
    (void)user, (void)attrs, (void)in, (void)n_in, (void)out, (void)n_out;
    return grad_out[0] != NULL ? cebus_mul_scalar(rt, grad_out[0], 0.5, &grad_in[0]) : CEBUS_OK;
}

/** Noise from (seed, offset, place) added to x. */
static cebus_status run_noise(const cebus_custom_launch *launch)
{
    int64_t n = count(launch->in[0].view);
    for (int64_t i = 0; i < n; i++) {
        uint64_t z = launch->seed + (launch->rng_offset + (uint64_t)i / 4) * 4 + (uint64_t)i % 4;
        z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
        z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
        *at(&launch->out[0], i) = *at(&launch->in[0], i) * 0.5f + (float)(z >> 40) * 0x1p-25f;
    }
    return CEBUS_OK;
}

static cebus_status run_halve(const cebus_custom_launch *launch)
{
    int64_t n = count(launch->in[0].view);
    for (int64_t i = 0; i < n; i++)
        *at(&launch->out[0], i) *= 0.5f;
    return CEBUS_OK;
}

static _Thread_local int runs; /* of a program, and each has a thread */

void cebus_program_custom_reset(void)
{
    runs = 0;
}

/** Counts its runs: a value that was computed twice would be another one. */
static cebus_status run_once(const cebus_custom_launch *launch)
{
    int64_t n = count(launch->in[0].view);
    runs++;
    for (int64_t i = 0; i < n; i++)
        *at(&launch->out[0], i) = *at(&launch->in[0], i) * 0.5f + (float)runs * 0x1p-10f;
    return CEBUS_OK;
}

/** Fails when half of it is written. */
static cebus_status run_half(const cebus_custom_launch *launch)
{
    int64_t n = count(launch->in[0].view);
    for (int64_t i = 0; i < n / 2; i++)
        *at(&launch->out[0], i) = *at(&launch->in[0], i) * 0.5f + 0.25f;
    return CEBUS_INVALID_ARGUMENT;
}

static uint32_t one = 1, two = 2;

const cebus_custom_op cebus_program_custom[CEBUS_PROGRAM_CUSTOM_OPS] = {
    {.struct_size = sizeof(cebus_custom_op),
     .name = "pair",
     .n_out = 2,
     .user = &two,
     .infer = like_input,
     .workspace = pair_workspace,
     .run = run_pair,
     .gradient = pair_gradient},
    {.struct_size = sizeof(cebus_custom_op),
     .name = "noise",
     .flags = CEBUS_CUSTOM_RNG,
     .n_out = 1,
     .user = &one,
     .infer = like_input,
     .run = run_noise},
    {.struct_size = sizeof(cebus_custom_op),
     .name = "halve",
     .mutates = 1,
     .n_out = 1,
     .user = &one,
     .infer = like_input,
     .run = run_halve},
    {.struct_size = sizeof(cebus_custom_op),
     .name = "once",
     .flags = CEBUS_CUSTOM_NONREPLAYABLE,
     .n_out = 1,
     .user = &one,
     .infer = like_input,
     .run = run_once},
    {.struct_size = sizeof(cebus_custom_op),
     .name = "refuse",
     .n_out = 1,
     .user = &one,
     .infer = like_input,
     .run = run_half},
    {.struct_size = sizeof(cebus_custom_op),
     .name = "stumble",
     .mutates = 1,
     .n_out = 1,
     .user = &one,
     .infer = like_input,
     .run = run_half},
};
