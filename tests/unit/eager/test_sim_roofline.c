#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "eager/device/cpu/families.h"
#include "eager/device/device.h"
#include "eager/device/sim/roofline.h"
#include "eager/device/sim/work.h"
#include "eager/host.h"
#include "eager/ops/attention.h"
#include "eager/ops/conv.h"
#include "eager/view.h"
#include "program.h"

TestSuite(sim_roofline);

/** An op on arrays of given shapes; a shape ends with 0. */
typedef struct case_of {
    const char *op;
    int64_t in[7][5], out[4][5];
    const void *attrs;
    double flops, bytes;     /**< by hand */
    double share, bandwidth; /**< of 9.3 TFLOP/s and 732 GB/s */
} case_of;

#define MI (1024.0 * 1024.0)
#define CONV(out, by, around)                                                                      \
    &(cebus_conv_attrs)                                                                            \
    {                                                                                              \
        .stride = {by, by}, .padding = {around, around}, .dilation = {1, 1}, .groups = 1,          \
        .size = {                                                                                  \
            out,                                                                                   \
            out                                                                                    \
        }                                                                                          \
    }
#define CAUSAL(on)                                                                                 \
    &(cebus_attention_attrs)                                                                       \
    {                                                                                              \
        .scale = 1, .is_causal = on                                                                \
    }

/** 3 x 3, 64 channels to 64 at 56 x 56, 64 images; Winograd's 4/9 of the products. */
#define CONV_FLOPS (2.0 * 64 * 64 * 9 * 64 * 56 * 56)
#define CONV_BYTES (4.0 * (2.0 * 64 * 64 * 56 * 56 + 64 * 64 * 9))

static const case_of cases[] = {
    {"conv2d",
     {{64, 64, 56, 56}, {64, 64, 3, 3}},
     {{64, 64, 56, 56}},
     CONV(56, 1, 1),
     CONV_FLOPS * 4 / 9,
     CONV_BYTES,
     0.68,
     0.8},
    {"conv_transpose2d",
     {{64, 64, 56, 56}, {64, 64, 3, 3}},
     {{64, 64, 56, 56}},
     CONV(56, 1, 1),
     CONV_FLOPS * 4 / 9,
     CONV_BYTES,
     0.65,
     0.8},
    {"conv2d_weight",
     {{64, 64, 56, 56}, {64, 64, 56, 56}},
     {{64, 64, 3, 3}},
     CONV(3, 1, 1),
     CONV_FLOPS * 4 / 9,
     CONV_BYTES,
     0.6,
     0.8},
    /* Three channels, and a stride: every product. */
    {"conv2d",
     {{8, 3, 224, 224}, {64, 3, 7, 7}},
     {{8, 64, 112, 112}},
     CONV(112, 2, 3),
     2.0 * 8 * 64 * 112 * 112 * 3 * 49,
     4.0 * (8 * 3 * 224 * 224 + 64 * 147 + 8 * 64 * 112 * 112),
     0.68,
     0.8},
    /* 1 x 1 to few channels: bound by the bytes. */
    {"conv2d",
     {{64, 64, 56, 56}, {16, 64, 1, 1}},
     {{64, 16, 56, 56}},
     CONV(56, 1, 0),
     2.0 * 64 * 16 * 56 * 56 * 64,
     4.0 * (64 * 64 * 56 * 56 + 16 * 64 + 64 * 16 * 56 * 56),
     0.68,
     0.8},
    {"linear",
     {{128, 1024}, {4096, 1024}, {4096}},
     {{128, 4096}},
     NULL,
     2.0 * 128 * 4096 * 1024,
     4.0 * (128 * 1024 + 4096 * 1024 + 4096 + 128 * 4096),
     0.8,
     0.8},
    {"matmul",
     {{512, 1024}, {1024, 768}},
     {{512, 768}},
     NULL,
     2.0 * 512 * 768 * 1024,
     4.0 * (512 * 1024 + 1024 * 768 + 512 * 768),
     0.8,
     0.8},
    {"matmul",
     {{16, 128, 64}, {16, 64, 128}},
     {{16, 128, 128}},
     NULL,
     2.0 * 16 * 128 * 128 * 64,
     4.0 * (2 * 16 * 128 * 64 + 16 * 128 * 128),
     0.57,
     0.8},
    {"scaled_dot_product_attention",
     {{8, 512, 64}, {8, 512, 64}, {8, 512, 32}},
     {{8, 512, 32}, {8, 512}},
     CAUSAL(false),
     2.0 * 8 * 512 * 512 * (64 + 32),
     4.0 * 8 * 512 * (64 + 64 + 32 + 32 + 1),
     0.5,
     0.8},
    /* The diagonal and half of the rest. */
    {"scaled_dot_product_attention",
     {{8, 512, 64}, {8, 512, 64}, {8, 512, 32}},
     {{8, 512, 32}, {8, 512}},
     CAUSAL(true),
     2.0 * 8 * (256 * 513) * (64 + 32),
     4.0 * 8 * 512 * (64 + 64 + 32 + 32 + 1),
     0.5,
     0.8},
    {"lstm_gates",
     {{64, 4096}, {64, 4096}, {64, 1024}},
     {{64, 1024}, {64, 1024}, {64, 4096}},
     NULL,
     64 * 4096,
     4.0 * 64 * (3 * 4096 + 3 * 1024),
     0.5,
     0.75},
    {"batch_norm",
     {{64, 64, 56, 56}, {64}, {64}},
     {{64, 64, 56, 56}, {64}, {64}},
     NULL,
     64 * 64 * 56 * 56,
     4.0 * (3.0 * 64 * 64 * 56 * 56 + 4 * 64),
     0.5,
     0.75},
    {"batch_norm_backward",
     {{64, 64, 56, 56}, {64, 64, 56, 56}, {64}, {64}, {64}},
     {{64, 64, 56, 56}, {64}, {64}},
     NULL,
     64 * 64 * 56 * 56,
     4.0 * (5.0 * 64 * 64 * 56 * 56 + 5 * 64),
     0.5,
     0.75},
    {"layer_norm",
     {{4096, 1024}, {1024}, {1024}},
     {{4096, 1024}, {4096}, {4096}},
     NULL,
     4096 * 1024,
     4.0 * (2 * 4096 * 1024 + 2 * 1024 + 2 * 4096),
     0.5,
     0.75},
    {"max_pool2d",
     {{64, 64, 56, 56}},
     {{64, 64, 28, 28}},
     NULL,
     64 * 64 * 56 * 56,
     4.0 * 64 * 64 * (56 * 56 + 28 * 28),
     0.5,
     0.7},
    {"softmax", {{1024, 1024}}, {{1024, 1024}}, NULL, MI, 8 * MI, 0.5, 0.75},
    {"add", {{1024, 1024}, {1024, 1024}}, {{1024, 1024}}, NULL, MI, 12 * MI, 0.5, 0.8},
    {"relu_backward", {{1024, 1024}, {1024, 1024}}, {{1024, 1024}}, NULL, MI, 12 * MI, 0.5, 0.8},
    {"sum", {{1024, 1024}}, {{1}}, NULL, MI, 4 * MI + 4, 0.5, 0.8},
    /* 512 rows of 1024 of a table of any length; 512 indices of 4 bytes here. */
    {"embedding",
     {{30000, 1024}, {512}},
     {{512, 1024}},
     NULL,
     30000.0 * 1024,
     4.0 * (512 + 2 * 512 * 1024),
     0.5,
     0.5},
    {"embedding_backward",
     {{512, 1024}, {512}},
     {{3000, 1024}},
     NULL,
     3000.0 * 1024,
     4.0 * (3000 * 1024 + 512 + 3 * 512 * 1024),
     0.5,
     0.5},
    {"scatter_add",
     {{3000, 1024}, {512}, {512, 1024}},
     {{3000, 1024}},
     NULL,
     3000.0 * 1024,
     4.0 * (2 * 3000 * 1024 + 512 + 3 * 512 * 1024),
     0.5,
     0.5},
    {"cat", {{1024, 1024}, {1024, 1024}}, {{2048, 1024}}, NULL, 2 * MI, 16 * MI, 0.5, 0.88},
    {"copy_", {{1024, 1024}, {1024, 1024}}, {{1024, 1024}}, NULL, MI, 8 * MI, 0.5, 0.88},
    {"fill_", {{1024, 1024}}, {{1024, 1024}}, NULL, MI, 4 * MI, 0.5, 0.88},
    {"adam_step",
     {{1024, 1024}, {1024, 1024}, {1024, 1024}, {1024, 1024}},
     {{1024, 1024}, {1024, 1024}, {1024, 1024}},
     NULL,
     MI,
     28 * MI,
     0.5,
     0.8},
    {"randn", {{0}}, {{1024, 1024}}, NULL, MI, 4 * MI, 0.1, 0.8},
    {"somebody's op", {{1024, 1024}}, {{1024, 1024}}, NULL, MI, 8 * MI, 0.5, 0.8},
};

/** Views of shapes, and their arrays; answers how many there are. */
static uint32_t make_arrays(const int64_t (*shapes)[5], uint32_t most, cebus_view *views,
                            cebus_array *arrays)
{
    uint32_t n = 0;
    for (; n < most && shapes[n][0] > 0; n++) {
        int ndim = 0;
        while (ndim < 5 && shapes[n][ndim] > 0)
            ndim++;
        cebus_view_contiguous(&views[n], CEBUS_F32, ndim, shapes[n]);
        arrays[n] = (cebus_array){.view = &views[n]};
    }
    return n;
}

static cebus_device *open_device(const char *name)
{
    cebus_device *device;
    cebus_host_allocator host = cebus_host_default();
    cebus_device_options options = {.name = name, .host = &host};
    OK(cebus_device_sim.open(&options, &device));
    return device;
}

Test(sim_roofline, by_hand_one_op_a_family)
{
    cebus_device *device = open_device("sim:p100-16g");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const case_of *c = &cases[i];
        cebus_view views[11];
        cebus_array in[7], out[4];
        cebus_launch launch = {.attrs = c->attrs, .in = in, .out = out};
        uint64_t ns;
        launch.n_in = make_arrays(c->in, 7, views, in);
        launch.n_out = make_arrays(c->out, 4, views + 7, out);
        const cebus_kernel *kernel = cebus_device_sim.kernel_find(device, c->op);
        cr_assert_str_eq(kernel->op, c->op);
        cr_assert_eq(kernel, cebus_device_sim.kernel_find(device, c->op), "it stays");
        OK(cebus_device_sim.launch(device, kernel, &launch, &ns));
        double compute = c->flops / (9300 * c->share), memory = c->bytes / (732 * c->bandwidth);
        double want = 2000 + (compute > memory ? compute : memory);
        cr_expect(fabs((double)ns - want) <= 1.01, "%s (%zu): %llu ns, by hand %.1f", c->op, i,
                  (unsigned long long)ns, want);
    }
    cebus_device_sim.close(device);
}

Test(sim_roofline, attention_backward_makes_the_scores_again)
{
    cebus_view views[9];
    cebus_array in[CEBUS_ATTENTION_INPUTS], out[1];
    const int64_t shapes[][5] = {{8, 512, 64}, {8, 512, 64}, {8, 512, 32}, {1},
                                 {1},          {8, 512, 32}, {8, 512},     {8, 512, 32}};
    cebus_launch launch = {.attrs = CAUSAL(false), .in = in, .out = out};
    launch.n_in = make_arrays(shapes, CEBUS_ATTENTION_INPUTS, views, in);
    cr_assert_eq(launch.n_in, CEBUS_ATTENTION_INPUTS);
    cebus_work work =
        cebus_work_of(cebus_work_find("scaled_dot_product_attention_backward"), &launch);
    cr_expect_eq(work.flops, UINT64_C(2) * 8 * 512 * 512 * (3 * 64 + 2 * 32));
    cr_expect_eq(work.family, CEBUS_WORK_ATTENTION);
}

Test(sim_roofline, repeated_elements_are_read_once)
{
    cebus_view x, bias, wide;
    cebus_view_contiguous(&x, CEBUS_F32, 2, (int64_t[]){512, 256});
    cebus_view_contiguous(&bias, CEBUS_F32, 1, (int64_t[]){256});
    cebus_view_expand(&bias, 2, x.shape, &wide);
    cr_expect_eq(cebus_work_bytes(&x), 512 * 256 * 4);
    cr_expect_eq(cebus_work_bytes(&wide), 256 * 4);
    wide.shape[0] = 0;
    cr_expect_eq(cebus_work_bytes(&wide), 0);
    cebus_view_contiguous(&x, CEBUS_U8, 0, NULL);
    cr_expect_eq(cebus_work_bytes(&x), 1);
}

Test(sim_roofline, number_types_have_their_rates)
{
    cebus_machine machine;
    cebus_roofline roofline;
    cebus_work work = {.family = CEBUS_WORK_MATMUL, .flops = UINT64_C(1) << 40};
    OK(cebus_machine_parse("sim:a100-80g,launch=0ns", &machine));
    cebus_roofline_init(&roofline, &machine);
    double flops = (double)work.flops;
    double f32 = (double)cebus_roofline_time(&roofline, &work, CEBUS_F32);
    cr_expect_float_eq(f32, flops / 19500 / 0.8, 1);
    cr_expect_float_eq((double)cebus_roofline_time(&roofline, &work, CEBUS_F64), flops / 9700 / 0.8,
                       1);
    cr_expect_float_eq((double)cebus_roofline_time(&roofline, &work, CEBUS_BF16),
                       flops / 312000 / 0.7, 1);
    OK(cebus_machine_parse("sim:a100-80g,launch=0ns,tf32=on", &machine));
    cebus_roofline_init(&roofline, &machine);
    cr_expect_float_eq((double)cebus_roofline_time(&roofline, &work, CEBUS_F32),
                       flops / 156000 / 0.7, 1);
    work.family = CEBUS_WORK_ELEMENTWISE;
    cr_expect_float_eq((double)cebus_roofline_time(&roofline, &work, CEBUS_F32),
                       flops / 19500 / 0.5, 1, "only products run on tensor cores");
    work = (cebus_work){.family = CEBUS_WORK_CONV, .flops = 9000000, .winograd = true};
    cr_expect_float_eq((double)cebus_roofline_time(&roofline, &work, CEBUS_F32),
                       9e6 / 156000 / 0.35, 1.1, "tensor cores multiply tiles as they are");
}

Test(sim_roofline, sizes_beyond_all_bounds_stay_times)
{
    cebus_machine machine;
    cebus_roofline roofline;
    OK(cebus_machine_parse("sim:p100-16g,bandwidth=1", &machine));
    cebus_roofline_init(&roofline, &machine);
    for (int family = 0; family < CEBUS_WORK_FAMILIES; family++) {
        cebus_work work = {
            .family = (cebus_work_family)family, .flops = UINT64_MAX, .bytes = UINT64_MAX};
        cr_expect_leq(cebus_roofline_time(&roofline, &work, CEBUS_F64), UINT64_MAX >> 2);
    }
    cr_expect_leq(cebus_roofline_copy_time(&roofline, UINT64_MAX), UINT64_MAX >> 2);
}

Test(sim_roofline, every_kernel_of_the_cpu_has_an_entry)
{
    static const cebus_kernel *const families[] = {
        cebus_cpu_fill,   cebus_cpu_random,  cebus_cpu_cast,      cebus_cpu_unary,
        cebus_cpu_binary, cebus_cpu_inplace, cebus_cpu_reduce,    cebus_cpu_softmax,
        cebus_cpu_loss,   cebus_cpu_matmul,  cebus_cpu_attention, cebus_cpu_recurrent,
        cebus_cpu_conv,   cebus_cpu_pool,    cebus_cpu_norm,      cebus_cpu_batch_norm,
        cebus_cpu_resize, cebus_cpu_index,   cebus_cpu_join,      cebus_cpu_optim,
        cebus_cpu_amp,
    };
    size_t kernels = 0, entries = 0;
    for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
        for (const cebus_kernel *kernel = families[i]; kernel->op != NULL; kernel++, kernels++)
            cr_expect_not_null(cebus_work_find(kernel->op)->op, "%s has no entry", kernel->op);
    }
    for (const cebus_work_entry *entry = cebus_work_table; entry->op != NULL; entry++, entries++)
        cr_expect_eq(cebus_work_find(entry->op), entry, "%s is listed twice", entry->op);
    cr_expect_eq(entries, kernels, "the table lists what no device has");
    cr_expect_null(cebus_work_find("no such op")->op);
}

Test(sim_roofline, every_family_has_shares)
{
    for (int family = 0; family < CEBUS_WORK_FAMILIES; family++) {
        cebus_share share = cebus_roofline_shares[family];
        cr_expect(share.flops > 0 && share.flops <= 1000);
        cr_expect(share.tensor_flops > 0 && share.tensor_flops <= 1000);
        cr_expect(share.bandwidth > 0 && share.bandwidth <= 1000);
    }
}
