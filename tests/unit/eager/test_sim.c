#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "eager/device/device.h"
#include "eager/host.h"
#include "eager/runtime.h"
#include "program.h"
#include "tests/support/host.h"
#include "tests/support/models.h"
#include "tests/support/test_device.h"

TestSuite(sim);

#define GIB (UINT64_C(1) << 30)

/** Options of a simulated machine. */
static cebus_runtime_options options_of(const char *device, const char *policy, uint64_t budget)
{
    cebus_runtime_options options = CEBUS_RUNTIME_OPTIONS_INIT;
    options.device = device;
    options.policy = policy;
    options.memory_budget = budget;
    return options;
}

static cebus_runtime *open_sim(const cebus_runtime_options *options)
{
    cebus_runtime *rt;
    OK(cebus_runtime_create(options, &rt));
    return rt;
}

static cebus_runtime *open_plain(const char *device)
{
    cebus_runtime_options options = options_of(device, "coop", 0);
    return open_sim(&options);
}

static cebus_tensor *big(cebus_runtime *rt, int64_t n)
{
    cebus_tensor *out;
    OK(cebus_full(rt, 3, CEBUS_F32, 1, &n, &out));
    return out;
}

/* --- addresses without bytes --------------------------------------------------------------- */

Test(sim, host_reads_give_zeros)
{
    cebus_runtime *rt = open_plain("sim:p100-16g");
    cebus_tensor *x = vector(rt, 100, 3), *column;
    float host[100];
    const void *map;
    double item = 5;
    memset(host, 0xff, sizeof host);
    OK(cebus_tensor_to_host(x, host, sizeof host));
    for (int i = 0; i < 100; i++)
        cr_assert_eq(host[i], 0);
    OK(cebus_tensor_map(x, &map));
    for (int i = 0; i < 100; i++)
        cr_assert_eq(((const float *)map)[i], 0);
    cebus_tensor_unmap(x);
    OK(cebus_slice(rt, x, 0, 4, 5, 1, &column));
    OK(cebus_tensor_item(column, &item));
    cr_expect_eq(item, 0);
    OK(cebus_tensor_set_from_host(x, host, sizeof host));
    cebus_tensor_release(x);
    cebus_tensor_release(column);
    cebus_runtime_destroy(rt);
}

Test(sim, nothing_can_be_written)
{
    cebus_runtime *rt = open_plain("sim:p100-16g");
    cebus_tensor *x = vector(rt, 100, 3);
    const void *map;
    int zeros = open("/dev/zero", O_RDONLY);
    OK(cebus_tensor_map(x, &map));
    cr_expect_eq(read(zeros, (void *)(uintptr_t)map, 1), -1);
    cr_expect_eq(errno, EFAULT, "a program's own write would be a fault, too");
    close(zeros);
    cebus_tensor_unmap(x);
    cebus_tensor_release(x);
    cebus_runtime_destroy(rt);
}

static uint64_t resident_bytes(void)
{
    unsigned long long total, resident;
    FILE *file = fopen("/proc/self/statm", "r");
    cr_assert_not_null(file);
    cr_assert_eq(fscanf(file, "%llu %llu", &total, &resident), 2);
    fclose(file);
    return resident * (uint64_t)sysconf(_SC_PAGESIZE);
}

Test(sim, a_hundred_gibibytes_take_no_memory)
{
    cebus_runtime_options options = options_of("sim:h200-141g", "lru", 110 * GIB);
    options.swap = CEBUS_SWAP_ON;
    options.host_budget = 500 * GIB;
    cebus_runtime *rt = open_sim(&options);
    uint64_t before = resident_bytes();
    cebus_tensor *x[12];
    for (int i = 0; i < 12; i++)
        x[i] = big(rt, 5 * (INT64_C(1) << 30));
    cebus_memory_stats stats = stats_of(rt);
    cr_expect_gt(stats.allocated_bytes_peak, 99 * GIB);
    cr_expect_gt(stats.evictions, 6);
    cr_expect_lt(resident_bytes(), before + (64 << 20));
    OK(cebus_runtime_check(rt));
    for (int i = 0; i < 12; i++)
        cebus_tensor_release(x[i]);
    cebus_runtime_destroy(rt);
}

Test(sim, an_unknown_machine_is_refused)
{
    cebus_runtime *rt;
    cebus_runtime_options options = options_of("sim:k40", NULL, 0);
    FAILS(CEBUS_INVALID_ARGUMENT, "sim:titanv-12g", cebus_runtime_create(&options, &rt));
    cr_expect_null(rt);
}

Test(sim, budgets_default_to_the_machine)
{
    cebus_runtime *rt = open_plain("sim:titanv-12g");
    cr_expect_geq(cebus_runtime_budget(rt), 9 * GIB);
    cr_expect_leq(cebus_runtime_budget(rt), 10 * GIB);
    OK(cebus_runtime_set_budget(rt, 12 * GIB));
    cebus_runtime_destroy(rt);
    rt = open_plain("sim:titanv-12g,memory=24GiB");
    OK(cebus_runtime_set_budget(rt, 24 * GIB));
    cebus_runtime_destroy(rt);
}

/* --- the device by itself ------------------------------------------------------------------- */

static cebus_device *open_device(const char *name, bool unlimited)
{
    cebus_device *device;
    cebus_host_allocator host = cebus_host_default();
    cebus_device_options options = {.name = name, .unlimited = unlimited, .host = &host};
    OK(cebus_device_sim.open(&options, &device));
    return device;
}

Test(sim, says_what_it_is)
{
    cebus_device_info info;
    cebus_device *device = open_device("sim:v100-16g", false);
    cebus_device_sim.query(device, &info);
    cr_expect(info.simulated && info.deferred);
    cr_expect(info.memory_bytes == 16 * GIB && info.alignment == 512 && info.host_bytes > 0);
    cr_expect(info.out_rate == UINT64_C(12000000000) && info.in_rate == info.out_rate);
    cr_expect(info.stall_ns == 0 && info.threads > 0 && info.outside_bytes == 0);
    cebus_device_sim.close(device);
    device = open_device("sim:v100-16g,link=0", true);
    cebus_device_sim.query(device, &info);
    cr_expect(info.alignment == 1 && info.host_bytes == 0 && info.out_rate == 0);
    cebus_device_sim.close(device);
}

Test(sim, copies_take_their_time)
{
    const cebus_device_ops *ops = &cebus_device_sim;
    cebus_device *device = open_device("sim:v100-16g,issue=0ns", false);
    char *base, host[4] = "xyz";
    OK(ops->slab_reserve(device, GIB, &base));
    OK(ops->copy(device, base, host, 12000, CEBUS_COPY_TO_DEVICE));
    cr_expect_eq(ops->clock(device, CEBUS_STREAM_COMPUTE), 7000 + 1000);
    cr_expect(ops->stream_reached(device, CEBUS_STREAM_COMPUTE, 1), "the host waited");
    OK(ops->copy(device, base, base + 4096, 900 * 880, CEBUS_COPY_ON_DEVICE));
    cr_expect_eq(ops->clock(device, CEBUS_STREAM_COMPUTE), 8000 + 2000 + 2000,
                 "read and written at 88%% of 900 GB/s, after a launch");
    cr_expect_not(ops->stream_reached(device, CEBUS_STREAM_COMPUTE, 2));
    cr_expect_eq(ops->clock(device, CEBUS_STREAM_IN), 8000, "nothing is asked of it: now");
    OK(ops->copy(device, host, base, 4, CEBUS_COPY_TO_HOST));
    cr_expect_eq(host[0] | host[1] | host[2] | host[3], 0);
    cr_expect_eq(ops->clock(device, CEBUS_STREAM_COMPUTE), 12000 + 7000 + 1);
    ops->slab_release(device, base, GIB);
    ops->close(device);
}

Test(sim, swaps_overlap_with_compute_and_share_the_link)
{
    const cebus_device_ops *ops = &cebus_device_sim;
    cebus_device *device = open_device("sim:v100-16g,issue=0ns,latency=0ns", false);
    cebus_device_info info;
    char *base;
    void *token = ops->host_alloc(device, 12000000);
    OK(ops->slab_reserve(device, GIB, &base));
    OK(ops->copy_async(device, CEBUS_STREAM_OUT, token, base, 12000000, CEBUS_COPY_TO_HOST));
    OK(ops->copy_async(device, CEBUS_STREAM_IN, base, token, 12000000, CEBUS_COPY_TO_DEVICE));
    cr_expect_eq(ops->clock(device, CEBUS_STREAM_OUT), 1000000);
    cr_expect_eq(ops->clock(device, CEBUS_STREAM_IN), 1333334, "8 GB/s, then 12");
    cr_expect_eq(ops->clock(device, CEBUS_STREAM_COMPUTE), 0);
    ops->stream_wait(device, CEBUS_STREAM_COMPUTE, CEBUS_STREAM_IN,
                     ops->stream_mark(device, CEBUS_STREAM_IN));
    OK(ops->copy(device, base, base + 4096, 900 * 880, CEBUS_COPY_ON_DEVICE));
    cr_expect_eq(ops->clock(device, CEBUS_STREAM_COMPUTE), 1333334 + 4000);
    ops->query(device, &info);
    cr_expect_eq(info.stall_ns, 1333334);
    cr_expect_not(ops->stream_reached(device, CEBUS_STREAM_OUT, 1), "the host went on");
    OK(ops->stream_await(device, CEBUS_STREAM_OUT, 1));
    cr_expect(ops->stream_reached(device, CEBUS_STREAM_OUT, 1));
    cr_expect_not(ops->stream_reached(device, CEBUS_STREAM_IN, 1));
    OK(ops->synchronize(device));
    cr_expect_eq(ops->clock(device, CEBUS_STREAM_IN), 1333334 + 4000);
    ops->host_free(device, token, 12000000);
    ops->slab_release(device, base, GIB);
    ops->close(device);
}

Test(sim, host_memory_is_counted_not_taken)
{
    const cebus_device_ops *ops = &cebus_device_sim;
    cebus_device *device = open_device("sim:p100-16g,host=10GiB", false);
    void *a = ops->host_alloc(device, 6 * GIB), *b = ops->host_alloc(device, 4 * GIB);
    cr_expect(a != NULL && b != NULL && a != b);
    cr_expect_null(ops->host_alloc(device, 1), "all of it is out");
    ops->host_free(device, a, 6 * GIB);
    void *c = ops->host_alloc(device, 6 * GIB);
    cr_expect(c != NULL && c != b);
    cr_expect_null(ops->host_alloc(device, UINT64_MAX));
    ops->host_free(device, b, 4 * GIB);
    ops->host_free(device, c, 6 * GIB);
    ops->host_free(device, NULL, 0);
    ops->close(device);
    device = open_device("sim:p100-16g,link=0", false);
    cr_expect_null(ops->host_alloc(device, 1));
    FAILS(CEBUS_UNSUPPORTED, "link=0",
          ops->copy_async(device, CEBUS_STREAM_OUT, NULL, NULL, 1, CEBUS_COPY_TO_HOST));
    ops->close(device);
}

Test(sim, opens_or_says_that_memory_ran_out)
{
    for (uint64_t at = 1;; at++) {
        cebus_test_host host;
        cebus_runtime *rt = NULL;
        cebus_test_host_init(&host);
        host.fail_at = at;
        cebus_runtime_options options = options_of("sim:p100-16g", NULL, 0);
        options.host = &host.allocator;
        cebus_status status = cebus_runtime_create(&options, &rt);
        cr_assert_eq(status == CEBUS_OK, rt != NULL);
        cr_assert(status == CEBUS_OK || status == CEBUS_OUT_OF_HOST_MEMORY);
        cebus_runtime_destroy(rt);
        cr_assert_eq(host.live, 0);
        if (!host.fired)
            break;
    }
}

/* --- costs ---------------------------------------------------------------------------------- */

static cebus_status same(void *user, const void *attrs, const cebus_view *const *in, uint32_t n_in,
                         cebus_view *out)
{
    (void)user;
    (void)attrs;
    (void)n_in;
    out[0] = *in[0];
    return CEBUS_OK;
}

static cebus_status not_here(const cebus_custom_launch *launch)
{
    (void)launch;
    return CEBUS_DEVICE_ERROR;
}

static uint64_t says(const cebus_custom_launch *launch)
{
    return *(const uint64_t *)launch->user;
}

Test(sim, custom_ops_cost_what_they_say_and_never_run)
{
    static uint64_t said;
    cebus_custom_op op = {.struct_size = sizeof op,
                          .name = "matmul", /* a name means nothing */
                          .n_out = 1,
                          .user = &said,
                          .infer = same,
                          .cost = says,
                          .run = not_here};
    cebus_custom_op silent = op;
    silent.cost = NULL;
    cebus_runtime *rt = open_plain("sim:p100-16g");
    cebus_tensor *x = vector(rt, 1 << 20, 3);
    static const uint64_t costs[] = {1, 123456789, 0};
    for (int i = 0; i < 4; i++) {
        cebus_tensor *y;
        uint64_t before = stats_of(rt).compute_ns;
        said = i < 3 ? costs[i] : 9;
        OK(cebus_call_custom(rt, i < 3 ? &op : &silent, NULL, 0, &x, 1, &y));
        /* 8 MiB at 80% of 732 GB/s, after a launch, where nothing is said. */
        cr_expect_eq(stats_of(rt).compute_ns - before, i < 2 ? costs[i] : 2000 + 14325);
        cebus_tensor_release(y);
    }
    cebus_tensor_release(x);
    cebus_runtime_destroy(rt);
}

/* --- whole programs ------------------------------------------------------------------------- */

/** Each at a size that leaves something to evict, and the share of its peak that it must do with.
 */
static const struct {
    const char *name;
    cebus_model_config config;
    uint64_t percent;
} programs[] = {
    {"mlp", {.batch = 512, .width = 256}, 60},
    {"cnn", {.batch = 64, .length = 32}, 90},
    {"gpt", {0}, 60},
    {"lstm", {.batch = 64}, 60},
    {"unet", {0}, 60},
    {"tree", {0}, 80},
    {"resnet18", {.batch = 256}, 80},
};

/** Two steps; what they counted. */
static cebus_memory_stats train(const cebus_runtime_options *options, size_t program)
{
    cebus_runtime *rt = open_sim(options);
    cebus_model *model = cebus_model_create(rt, programs[program].name, &programs[program].config);
    float loss = 1;
    cr_assert_not_null(model, "%s", cebus_last_error()->message);
    for (int step = 0; step < 2; step++)
        OK(cebus_model_step(model, &loss));
    cr_expect_eq(loss, 0);
    OK(cebus_runtime_check(rt));
    OK(cebus_runtime_synchronize(rt));
    cebus_memory_stats stats = stats_of(rt);
    cebus_model_destroy(model);
    cr_expect_eq(cebus_memory_allocated(rt), 0);
    cebus_runtime_destroy(rt);
    return stats;
}

/** Every model, unlimited, then under a budget by every way to evict. */
static void train_all(const char *policy, cebus_swap swap, const char *layout)
{
    uint64_t swapped = 0;
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        cebus_runtime_options options = options_of("sim:titanv-12g", "none", 0);
        options.layout = layout;
        cebus_memory_stats whole = train(&options, i);
        cr_expect_eq(whole.evictions, 0);
        cr_expect_eq(whole.stall_ns, 0, "without swaps nothing waits for copies");
        options.memory_budget = whole.allocated_bytes_peak * programs[i].percent / 100;
        options.policy = policy;
        options.swap = swap;
        cebus_memory_stats stats = train(&options, i);
        cr_expect_leq(stats.allocated_bytes_peak, options.memory_budget);
        cr_expect_eq(stats.calls, whole.calls);
        cr_expect_eq(stats.compute_ns, whole.compute_ns, "the program's own work stays the same");
        cr_expect_gt(stats.evictions, 0);
        cr_expect_gt(stats.device_ns, whole.device_ns, "%s: nothing is for free", programs[i].name);
        cr_expect_geq(stats.device_ns, stats.compute_ns + stats.recompute_ns + stats.stall_ns);
        if (swap == CEBUS_SWAP_OFF)
            cr_expect(stats.swap_outs == 0 && stats.stall_ns == 0);
        swapped += stats.swap_outs;
    }
    cr_expect_eq(swapped > 0, swap == CEBUS_SWAP_ON);
}

Test(sim, trains_every_model_under_coop)
{
    train_all("coop", CEBUS_SWAP_OFF, NULL);
}

Test(sim, trains_every_model_under_dtr)
{
    train_all("dtr", CEBUS_SWAP_OFF, NULL);
}

Test(sim, trains_every_model_under_lru)
{
    train_all("lru", CEBUS_SWAP_OFF, NULL);
}

Test(sim, trains_every_model_with_swaps)
{
    train_all("coop", CEBUS_SWAP_ON, NULL);
}

Test(sim, trains_every_model_with_memory_as_one_number)
{
#ifdef __SANITIZE_THREAD__
    cr_skip_test("the thread sanitizer leaves fewer addresses than this reserves");
#endif
    train_all("dtr", CEBUS_SWAP_OFF, "commodity");
}

Test(sim, runs_repeat_to_the_nanosecond)
{
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        cebus_runtime_options options = options_of("sim:v100-16g", "none", 0);
        options.memory_budget = train(&options, i).allocated_bytes_peak * programs[i].percent / 100;
        options.policy = "coop";
        options.swap = CEBUS_SWAP_ON;
        cebus_memory_stats first = train(&options, i), second = train(&options, i);
        first.search_ns = second.search_ns = 0; /* of the real clock */
        cr_expect_gt(first.device_ns, 0);
        cr_expect_arr_eq(&first, &second, sizeof first, "%s: device_ns %" PRIu64 " and %" PRIu64,
                         programs[i].name, first.device_ns, second.device_ns);
    }
}

/** Samples a second of a model's steps, the first left out. */
static double speed_of(const char *device, const char *name, cebus_model_config config)
{
    enum {
        STEPS = 3
    };
    cebus_runtime_options options = options_of(device, "none", 64 * GIB);
    cebus_runtime *rt = open_sim(&options);
    cebus_model *model = cebus_model_create(rt, name, &config);
    cr_assert_not_null(model, "%s", cebus_last_error()->message);
    uint64_t first = 0;
    for (int step = 0; step < STEPS; step++) {
        OK(cebus_model_step(model, NULL));
        OK(cebus_runtime_synchronize(rt));
        first = step == 0 ? stats_of(rt).device_ns : first;
    }
    double seconds = (double)(stats_of(rt).device_ns - first) * 1e-9;
    cebus_model_destroy(model);
    cebus_runtime_destroy(rt);
    return (double)config.batch * (STEPS - 1) / seconds;
}

/** tensorflow.org's benchmarks, May 2017: one P100 of a DGX-1, batch 64, images a second. */
Test(sim, trains_as_fast_as_published)
{
    static const struct {
        const char *name;
        int64_t length, width;
        double published;
    } nets[] = {
        {"resnet50", 224, 64, 219},
        {"resnet152", 224, 64, 91.8},
        {"vgg16", 224, 64, 154},
        {"inceptionv3", 299, 32, 142},
    };
    for (size_t i = 0; i < sizeof nets / sizeof *nets; i++) {
        double speed = speed_of("sim:p100-16g", nets[i].name,
                                (cebus_model_config){.batch = 64,
                                                     .width = nets[i].width,
                                                     .depth = 1000,
                                                     .length = nets[i].length,
                                                     .classes = 1000});
        cr_expect(speed > 0.75 * nets[i].published && speed < 1.25 * nets[i].published,
                  "%s: %.1f images/s, published %.1f", nets[i].name, speed, nets[i].published);
    }
}

/** NVIDIA's DeepLearningExamples, ResNet-50 v1.5 for TensorFlow with XLA (20.06): an A100, batch
 * 256, mixed precision, images a second. */
Test(sim, trains_in_f16_as_fast_as_published)
{
    double published = 2375, speed = speed_of("sim:a100-80g", "resnet50",
                                              (cebus_model_config){.batch = 256,
                                                                   .width = 64,
                                                                   .depth = 1000,
                                                                   .length = 224,
                                                                   .classes = 1000,
                                                                   .precision = CEBUS_F16});
    cr_expect(speed > 0.75 * published && speed < 1.25 * published, "%.1f images/s, published %.1f",
              speed, published);
}
