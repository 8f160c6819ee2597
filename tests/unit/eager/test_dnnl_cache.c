/* The cache of oneDNN's primitives: made once, bounded, and never a reference implementation. */
#include "eager/device/cpu/dnnl_cache.h"

#include <criterion/criterion.h>
#include <string.h>

#include "eager/device/cpu/conv.h"

#ifdef CEBUS_HAVE_ONEDNN

static int made;

/* y = max(x, 0) over key elements; key 0 is refused. */
static dnnl_status_t make_relu(dnnl_engine_t engine, const void *key, cebus_dnnl_recipe *out)
{
    int64_t n = *(const int64_t *)key;
    dnnl_memory_desc_t md;
    dnnl_eltwise_desc_t desc;
    made++;
    if (n == 0)
        return dnnl_unimplemented;
    dnnl_status_t status =
        dnnl_memory_desc_init_by_strides(&md, 1, (dnnl_dims_t){n}, dnnl_f32, (dnnl_dims_t){1});
    if (status == dnnl_success)
        status = dnnl_eltwise_forward_desc_init(&desc, dnnl_forward_inference, dnnl_eltwise_relu,
                                                &md, 0, 0);
    out->n = 2;
    out->operand[0] = (cebus_dnnl_operand){DNNL_ARG_SRC, false, md};
    out->operand[1] = (cebus_dnnl_operand){DNNL_ARG_DST, true, md};
    return status == dnnl_success ? cebus_dnnl_select(engine, &desc, NULL, NULL, &out->primitive)
                                  : status;
}

static const cebus_dnnl_plan *find(cebus_cpu *cpu, int threads, int64_t key)
{
    cebus_launch launch = {.device = cpu, .threads = threads};
    const cebus_dnnl_plan *plan = NULL;
    cr_assert_eq(cebus_dnnl_find(&launch, make_relu, &key, sizeof key, &plan), CEBUS_OK);
    return plan;
}

Test(dnnl_cache, makes_a_plan_once_for_each_key_and_thread_count)
{
    cebus_cpu cpu = {0};
    made = 0;
    const cebus_dnnl_plan *plan = find(&cpu, 1, 64);
    cr_assert_not_null(plan);
    cr_assert_eq(find(&cpu, 1, 64), plan);
    cr_assert_eq(made, 1);
    cr_assert_neq(find(&cpu, 2, 64), plan);
    cr_assert_neq(find(&cpu, 1, 65), plan);
    cr_assert_eq(made, 3);
    cr_assert_gt(cebus_dnnl_outside_bytes(cpu.dnnl), 0);
    cebus_dnnl_destroy(cpu.dnnl);
}

Test(dnnl_cache, runs_a_plan)
{
    cebus_cpu cpu = {0};
    float x[5] = {-1, 2, -3, 4, -5}, y[5];
    const float want[5] = {0, 2, 0, 4, 0};
    const cebus_dnnl_plan *plan = find(&cpu, 1, 5);
    cebus_launch launch = {.device = &cpu, .threads = 1};
    cr_assert_eq(cebus_dnnl_plan_workspace(plan) % 64, 0);
    cr_assert_leq(cebus_dnnl_plan_workspace(plan), 0);
    cr_assert_eq(cebus_dnnl_plan_run(&launch, plan, (void *[]){x, y}, NULL), CEBUS_OK);
    cr_assert_eq(memcmp(y, want, sizeof y), 0);
    cebus_dnnl_destroy(cpu.dnnl);
}

Test(dnnl_cache, remembers_what_cannot_be_made)
{
    cebus_cpu cpu = {0};
    made = 0;
    cr_assert_null(find(&cpu, 1, 0));
    cr_assert_null(find(&cpu, 1, 0));
    cr_assert_eq(made, 1);
    cebus_dnnl_destroy(cpu.dnnl);
}

Test(dnnl_cache, forgets_the_one_used_longest_ago)
{
    cebus_cpu cpu = {0};
    made = 0;
    for (int64_t key = 1; key <= CEBUS_DNNL_CAPACITY; key++)
        find(&cpu, 1, key);
    find(&cpu, 1, 1); /* now 2 is the oldest */
    find(&cpu, 1, CEBUS_DNNL_CAPACITY + 1);
    cr_assert_eq(made, CEBUS_DNNL_CAPACITY + 1);
    find(&cpu, 1, 1);
    cr_assert_eq(made, CEBUS_DNNL_CAPACITY + 1);
    find(&cpu, 1, 2);
    cr_assert_eq(made, CEBUS_DNNL_CAPACITY + 2);
    cebus_dnnl_destroy(cpu.dnnl);
}

Test(dnnl_cache, has_nothing_without_a_device)
{
    const cebus_dnnl_plan *plan;
    cebus_launch launch = {.threads = 1};
    int64_t key = 1;
    cr_assert_eq(cebus_dnnl_find(&launch, make_relu, &key, sizeof key, &plan), CEBUS_OK);
    cr_assert_null(plan);
    cr_assert_eq(cebus_dnnl_outside_bytes(NULL), 0);
    cebus_dnnl_destroy(NULL);
}

/* {image channels, height, output channels, kernel, stride, padding} */
static void expect_fast(cebus_cpu *cpu, const int64_t *g)
{
    cebus_conv_job job = {.shape = {.batch = 4, .groups = 1}};
    cebus_launch launch = {.device = cpu, .threads = 2};
    job.launch = &launch;
    job.shape.image_channels = g[0];
    job.shape.output_channels = g[2];
    for (int d = 0; d < 2; d++) {
        job.shape.image[d] = g[1];
        job.shape.output[d] = (g[1] + 2 * g[5] - g[3]) / g[4] + 1;
        job.shape.kernel[d] = g[3];
        job.shape.stride[d] = g[4];
        job.shape.padding[d] = g[5];
        job.shape.dilation[d] = 1;
    }
    for (cebus_conv_way way = CEBUS_CONV_OUTPUT; way <= CEBUS_CONV_WEIGHT; way++) {
        const cebus_dnnl_plan *plan;
        job.way = way;
        cr_assert_eq(cebus_conv_dnnl_find(&job, &plan), CEBUS_OK);
        cr_assert_not_null(plan, "C %d, H %d, way %d has no plan", (int)g[0], (int)g[1], (int)way);
        cr_assert_null(strstr(cebus_dnnl_plan_name(plan), "ref"));
    }
}

Test(dnnl_cache, convolves_the_layers_of_resnet_and_unet_fast)
{
    static const int64_t layers[][6] = {
        /* ResNet-18 */
        {3, 64, 64, 7, 2, 3},
        {64, 16, 64, 3, 1, 1},
        {64, 16, 128, 3, 2, 1},
        {64, 16, 128, 1, 2, 0},
        {128, 8, 128, 3, 1, 1},
        {256, 4, 256, 3, 1, 1},
        {256, 4, 512, 1, 2, 0},
        {512, 2, 512, 3, 1, 1},
        /* a small U-Net; the last row is its 2 x 2 up-convolution */
        {1, 32, 16, 3, 1, 1},
        {16, 32, 16, 3, 1, 1},
        {48, 32, 16, 3, 1, 1},
        {16, 32, 2, 1, 1, 0},
        {16, 32, 32, 2, 2, 0},
    };
    cebus_cpu cpu = {0};
    for (size_t i = 0; i < sizeof layers / sizeof *layers; i++)
        expect_fast(&cpu, layers[i]);
    cebus_dnnl_destroy(cpu.dnnl);
}

#else

Test(dnnl_cache, finds_nothing_without_the_library)
{
    cebus_cpu cpu = {0};
    cebus_launch launch = {.device = &cpu, .threads = 1};
    cebus_conv_job job = {.launch = &launch, .shape = {.batch = 1, .groups = 1}};
    const cebus_dnnl_plan *plan;
    cr_assert_eq(cebus_conv_dnnl_find(&job, &plan), CEBUS_OK);
    cr_assert_null(plan);
    cr_assert_eq(cebus_dnnl_outside_bytes(cpu.dnnl), 0);
    cebus_dnnl_destroy(cpu.dnnl);
}

#endif
