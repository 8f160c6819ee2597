/*
 * Convolutions planned by cuDNN for devices that are only described, so that this runs where the
 * library is but no GPU and no driver: every geometry and element type finds a deterministic
 * engine, the same one each time, in the precision asked for.
 */
#include "eager/device/cuda/conv_plan.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

/* What cuDNN wants to know of a device, in its own format (as it serializes one). Figures of
 * NVIDIA's data sheets and of the CUDA programming guide's table of compute capabilities. */
typedef struct described {
    const char *name;
    int version, processors, shared, l2, clock, memory_clock;
    long long memory;
} described;

static const described devices[] = {
    {"NVIDIA A100-SXM4-80GB", 800, 108, 166912, 41943040, 1410000, 1593000, 85000000000LL},
    {"NVIDIA H200", 900, 132, 232448, 52428800, 1980000, 3201000, 150000000000LL},
};

static cebus_cuda_dnn_target target_of(const described *d)
{
    char text[1024];
    const int n = snprintf(
        text, sizeof text,
        "{\"maxGridSize\": [2147483647, 65535, 65535], \"maxBlockSize\": [1024, 1024, 64], "
        "\"regsPerBlock\": 65536, \"multiProcessorCount\": %d, \"warpSize\": 32, "
        "\"maxSharedMemoryPerBlock\": 49152, \"maxSharedMemoryPerBlockOptin\": %d, "
        "\"reservedSharedMemoryPerBlock\": 1024, \"maxRegistersPerSM\": 65536, "
        "\"maxCtasPerSM\": 32, \"maxThreadsPerBlock\": 1024, \"maxThreadsPerSM\": 2048, "
        "\"pciDeviceId\": 0, \"isTccDriver\": 0, \"supportCoopLaunch\": 1, "
        "\"totalGlobalMem\": %lld, \"smClockRateKHz\": %d, \"memClockRateKHz\": %d, "
        "\"l2CacheSize\": %d, \"cudaDeviceId\": 0, \"deviceVer\": %d, \"driverVer\": 13000, "
        "\"deviceName\": \"%s\"}",
        d->processors, d->shared, d->memory, d->clock, d->memory_clock, d->l2, d->version, d->name);
    const cebus_cuda_dnn_attribute json = {CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION,
                                           CUDNN_TYPE_CHAR, n, text};
    cebus_cuda_dnn_target target = {0};
    cr_assert_eq(
        cebus_cuda_dnn_create(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR, 1, &json, &target.description),
        CUDNN_STATUS_SUCCESS);
    return target;
}

/* batch, groups, channels of image and output; image, output, kernel, stride, padding, dilation. */
static const cebus_conv_shape shapes[] = {
    {32, 1, 64, 64, {56, 56}, {56, 56}, {3, 3}, {1, 1}, {1, 1}, {1, 1}},
    {16, 1, 3, 64, {224, 224}, {112, 112}, {7, 7}, {2, 2}, {3, 3}, {1, 1}},
    {8, 1, 256, 512, {56, 56}, {28, 28}, {1, 1}, {2, 2}, {0, 0}, {1, 1}},
    {8, 64, 64, 64, {56, 56}, {56, 56}, {3, 3}, {1, 1}, {1, 1}, {1, 1}},
    {2, 2, 6, 4, {9, 7}, {5, 3}, {3, 2}, {2, 2}, {1, 0}, {1, 1}},
    {1, 1, 1, 1, {1, 1}, {1, 1}, {1, 1}, {1, 1}, {0, 0}, {1, 1}},
    {1, 1, 1, 1, {5, 5}, {9, 9}, {1, 1}, {1, 1}, {2, 2}, {1, 1}},
    {2, 1, 3, 5, {11, 12}, {5, 4}, {3, 3}, {1, 2}, {0, 0}, {3, 2}},
    {2, 1, 3, 5, {9, 9}, {3, 3}, {3, 3}, {2, 2}, {0, 0}, {2, 2}},
    {2, 1, 3, 5, {4, 4}, {1, 1}, {2, 2}, {5, 5}, {0, 0}, {1, 1}},
    {1, 1, 4, 4, {1, 1}, {1, 1}, {3, 3}, {10, 10}, {3, 3}, {1, 1}},
    {2, 1, 3, 5, {13, 13}, {5, 5}, {3, 3}, {1, 1}, {0, 0}, {4, 4}},
};

#define SHAPES (sizeof shapes / sizeof *shapes)

static cebus_cuda_conv_key key_of(size_t shape, int way, cebus_dtype dtype, bool tf32)
{
    cebus_cuda_conv_key key;
    memset(&key, 0, sizeof key);
    key.shape = shapes[shape];
    key.way = way;
    key.dtype = dtype;
    key.tf32 = tf32;
    return key;
}

static cebus_cuda_dnn_plan planned(const cebus_cuda_dnn_target *target,
                                   const cebus_cuda_conv_key *key)
{
    cebus_cuda_dnn_plan plan = {0};
    cudnnStatus_t status = cebus_cuda_conv_plan_create(target, key, &plan);
    cr_assert_eq(status, CUDNN_STATUS_SUCCESS, "way %d of %lld x %lld, %s: %s", (int)key->way,
                 (long long)key->shape.image[0], (long long)key->shape.image[1],
                 cebus_dtype_name((cebus_dtype)key->dtype), cudnnGetErrorString(status));
    cr_assert_not_null(plan.execution);
    return plan;
}

static void check_all(const described *device, cebus_dtype dtype)
{
    cebus_cuda_dnn_target target = target_of(device);
    for (size_t shape = 0; shape < SHAPES; shape++) {
        for (int way = 0; way < 3; way++) {
            const cebus_cuda_conv_key key = key_of(shape, way, dtype, false);
            cebus_cuda_dnn_plan first = planned(&target, &key), again = planned(&target, &key);
            cr_expect_eq(first.engine, again.engine);
            cr_expect_eq(first.workspace, again.workspace);
            cebus_cuda_dnn_plan_clear(&first);
            cebus_cuda_dnn_plan_clear(&again);
        }
    }
    cebus_cuda_dnn_destroy(target.description);
}

Test(cuda_conv_plan, finds_engines_for_f32)
{
    check_all(&devices[0], CEBUS_F32);
    check_all(&devices[1], CEBUS_F32);
}

Test(cuda_conv_plan, finds_engines_for_f64)
{
    check_all(&devices[0], CEBUS_F64);
    check_all(&devices[1], CEBUS_F64);
}

Test(cuda_conv_plan, finds_engines_for_f16)
{
    check_all(&devices[0], CEBUS_F16);
    check_all(&devices[1], CEBUS_F16);
}

Test(cuda_conv_plan, finds_engines_for_bf16)
{
    check_all(&devices[0], CEBUS_BF16);
    check_all(&devices[1], CEBUS_BF16);
}

Test(cuda_conv_plan, uses_tensor_cores_for_f32_where_allowed)
{
    cebus_cuda_dnn_target target = target_of(&devices[1]);
    const cebus_cuda_conv_key strict = key_of(0, CEBUS_CUDA_CONV_OUTPUT, CEBUS_F32, false);
    const cebus_cuda_conv_key fast = key_of(0, CEBUS_CUDA_CONV_OUTPUT, CEBUS_F32, true);
    cebus_cuda_dnn_plan a = planned(&target, &strict), b = planned(&target, &fast);
    cr_expect_neq(a.engine, b.engine);
    cebus_cuda_dnn_plan_clear(&a);
    cebus_cuda_dnn_plan_clear(&b);
    cebus_cuda_dnn_destroy(target.description);
}

Test(cuda_conv_plan, refuses_types_that_cudnn_lacks)
{
    cebus_cuda_dnn_target target = target_of(&devices[1]);
    const cebus_cuda_conv_key key = key_of(0, CEBUS_CUDA_CONV_OUTPUT, CEBUS_I64, false);
    cebus_cuda_dnn_plan plan = {0};
    cr_assert_eq(cebus_cuda_conv_plan_create(&target, &key, &plan), CUDNN_STATUS_NOT_SUPPORTED);
    cr_assert_null(plan.execution);
    cebus_cuda_dnn_destroy(target.description);
}

/* ---- frames ------------------------------------------------------------------------------ */

Test(cuda_conv_plan, frames_the_whole_image_where_the_formula_holds)
{
    for (size_t i = 0; i < SHAPES; i++) {
        const cebus_cuda_conv_frame frame = cebus_cuda_conv_frame_of(&shapes[i]);
        for (int d = 0; d < 2; d++) {
            cr_expect_eq(frame.size[d], shapes[i].image[d]);
            cr_expect_eq(frame.after[d], shapes[i].padding[d]);
        }
    }
}

Test(cuda_conv_plan, frames_what_windows_reach_otherwise)
{
    cebus_conv_shape padded = shapes[SHAPES - 1];
    padded.image[0] = padded.image[1] = 15; /* an output_padding of 2: two more than is reached */
    const cebus_cuda_conv_frame cut = cebus_cuda_conv_frame_of(&padded);
    cr_expect_eq(cut.size[0], 13);
    cr_expect_eq(cut.after[0], 0);
    const cebus_conv_shape blind = {1, 1, 1, 1, {4, 4}, {1, 1}, {3, 3}, {1, 1}, {3, 3}, {1, 1}};
    cr_expect_leq(cebus_cuda_conv_frame_of(&blind).size[0], 0);
}

/* A transposed convolution with an output_padding of two strides. */
Test(cuda_conv_plan, plans_for_a_part_of_the_image)
{
    cebus_cuda_dnn_target target = target_of(&devices[1]);
    for (int way = 0; way < 3; way++) {
        cebus_cuda_conv_key key = key_of(SHAPES - 1, way, CEBUS_F32, false);
        key.shape.image[0] = key.shape.image[1] = 15;
        cebus_cuda_dnn_plan plan = planned(&target, &key);
        cebus_cuda_dnn_plan_clear(&plan);
    }
    cebus_cuda_dnn_destroy(target.description);
}
