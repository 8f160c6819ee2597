/**
 * The CUDA device on the fake driver (driver/driver.h): why it cannot be opened, its memory, what
 * the host waits for, costs, errors that come late.
 */
#include <criterion/criterion.h>

#include <inttypes.h>
#include <stdlib.h>

#include "driver/driver.h"
#include "eager/guidance/state.h"
#include "eager/runtime.h"
#include "tests/unit/eager/program.h"

TestSuite(cuda_device);

#define MIB (UINT64_C(1) << 20)

static cebus_status open_cuda(const char *device, uint64_t budget, cebus_swap swap,
                              cebus_runtime **out)
{
    cebus_runtime_options options = CEBUS_RUNTIME_OPTIONS_INIT;
    options.device = device;
    options.memory_budget = budget;
    options.policy = "lru";
    options.swap = swap;
    options.debug = CEBUS_DEBUG_WALK;
    return cebus_runtime_create(&options, out);
}

static void refused(const char *driver, const char *device, cebus_status status, const char *text)
{
    cebus_runtime *rt;
    setenv("CEBUS_FAKE_DRIVER", driver, 1);
    cr_assert_eq(open_cuda(device, MIB, CEBUS_SWAP_OFF, &rt), status);
    const char *message = cebus_last_error()->message;
    cr_expect_not_null(strstr(message, text), "\"%s\" lacks \"%s\"", message, text);
}

Test(cuda_device, says_why_it_cannot_be_opened)
{
    refused("none", "cuda", CEBUS_UNSUPPORTED, "no NVIDIA driver");
    refused("old", "cuda:0", CEBUS_UNSUPPORTED, "knows CUDA 12.4, this plug-in runs on 13.");
    refused("empty", "cuda:0", CEBUS_UNSUPPORTED, "sees no device");
    refused("small", "cuda:0", CEBUS_UNSUPPORTED, "compute capability 7.0; at least 8.0");
    refused("", "cuda:1", CEBUS_UNSUPPORTED, "there is no cuda:1: the driver sees 1 device");
    refused("", "cuda:x", CEBUS_INVALID_ARGUMENT, "\"cuda:x\": expected cuda:N");
    refused("", "cuda:-1", CEBUS_INVALID_ARGUMENT, "expected cuda:N");
    refused("", "cuda:0,fast", CEBUS_INVALID_ARGUMENT, "tf32=on");
    setenv("CUDA_VISIBLE_DEVICES", "", 1);
    refused("empty", "cuda:0", CEBUS_UNSUPPORTED, "CUDA_VISIBLE_DEVICES");
}

static void expect_feature(const char *driver, bool present, const char *text)
{
    cebus_feature feature;
    setenv("CEBUS_FAKE_DRIVER", driver, 1);
    for (size_t i = 0; cebus_feature_at(i, &feature); i++) {
        if (strcmp(feature.name, "CUDA") != 0)
            continue;
        cr_expect_eq(feature.present, present);
        cr_expect_not_null(strstr(present ? feature.version : feature.what, text), "\"%s\" \"%s\"",
                           feature.version, feature.what);
        return;
    }
    cr_assert_fail("CUDA is not listed");
}

Test(cuda_device, information_says_why)
{
    expect_feature("old", false, "the NVIDIA driver is too old");
}

Test(cuda_device, information_says_what_it_runs_on)
{
    expect_feature("", true, "CUDA 13.");
}

static cebus_device_info info_of(cebus_runtime *rt)
{
    cebus_device_info info;
    rt->device_ops->query(rt->device, &info);
    return info;
}

Test(cuda_device, memory_follows_the_budget)
{
    cebus_runtime *rt;
    OK(open_cuda("cuda:0", 100 * MIB, CEBUS_SWAP_OFF, &rt));
    uint64_t outside = info_of(rt).outside_bytes;
    cr_expect_geq(outside, 16 * MIB, "buffers of the device layer");
    cr_expect_lt(outside, 64 * MIB);
    OK(cebus_runtime_set_budget(rt, 200 * MIB));
    cr_expect_eq(info_of(rt).outside_bytes, outside, "the budget is not outside of itself");
    OK(cebus_runtime_set_budget(rt, 10 * MIB));
    cr_expect_leq(info_of(rt).outside_bytes, outside + 32 * MIB, "up to a chunk stays");
    OK(cebus_runtime_set_budget(rt, 150 * MIB));
    enum {
        N = 10 << 20
    };
    float *data = malloc(N * sizeof *data);
    cebus_tensor *x = vector(rt, N, 3.0), *y;
    OK(cebus_add(rt, x, x, &y));
    OK(cebus_tensor_to_host(y, data, N * sizeof *data));
    cr_expect_eq(data[N - 1], 6.0F, "what was mapped again can be used");
    free(data);
    cebus_tensor_release(x);
    cebus_tensor_release(y);
    cebus_runtime_destroy(rt);
}

static cebus_tensor *mebibytes(cebus_runtime *rt, int64_t n)
{
    cebus_tensor *x;
    const int64_t elements = n * (int64_t)(MIB / sizeof(float));
    OK(cebus_full(rt, 1, CEBUS_F32, 1, &elements, &x));
    return x;
}

/** Others may want it. */
Test(cuda_device, memory_is_taken_as_it_is_needed)
{
    cebus_runtime *rt;
    OK(open_cuda("cuda:0", 0, CEBUS_SWAP_DEFAULT, &rt));
    const uint64_t budget = cebus_runtime_budget(rt);
    cr_expect_gt(budget, CEBUS_FAKE_MEMORY / 4 * 3);
    cr_expect_lt(stats_of(rt).reserved_bytes_current, budget / 4);
    cebus_tensor *x[8];
    for (int i = 0; i < 8; i++)
        x[i] = mebibytes(rt, 100);
    cr_expect_eq(stats_of(rt).evictions + stats_of(rt).num_alloc_retries, 0);
    cr_expect_geq(stats_of(rt).reserved_bytes_current, 800 * MIB);
    cr_expect_lt(stats_of(rt).reserved_bytes_current, budget);
    cr_expect_eq(cebus_runtime_budget(rt), budget);
    for (int i = 0; i < 8; i++)
        cebus_tensor_release(x[i]);
    OK(cebus_runtime_set_budget(rt, 300 * MIB));
    x[0] = mebibytes(rt, 200);
    x[1] = mebibytes(rt, 200);
    cr_expect_eq(stats_of(rt).reserved_bytes_current, 300 * MIB, "a budget that was set stands");
    cr_expect_gt(stats_of(rt).evictions, 0);
    cebus_tensor_release(x[0]);
    cebus_tensor_release(x[1]);
    cebus_runtime_destroy(rt);
}

/** Two programs on one device: what the other one took is not there any more. */
Test(cuda_device, what_others_leave_is_made_do_with)
{
    enum {
        BYTES = 50 << 20
    };
    cebus_runtime *rt, *other;
    cebus_tensor *x[16];
    char *data = malloc(BYTES);
    OK(open_cuda("cuda:0", 0, CEBUS_SWAP_DEFAULT, &rt));
    OK(open_cuda("cuda:0", CEBUS_FAKE_MEMORY / 4 * 3, CEBUS_SWAP_OFF, &other));
    for (int i = 0; i < 16; i++)
        x[i] = mebibytes(rt, BYTES / (int64_t)MIB);
    cr_expect_gt(stats_of(rt).evictions, 0);
    cr_expect_lt(cebus_runtime_budget(rt), CEBUS_FAKE_MEMORY / 4);
    for (int i = 0; i < 16; i++) {
        OK(cebus_tensor_to_host(x[i], data, BYTES));
        cr_expect_eq(((float *)data)[12345], 1.0F);
        cebus_tensor_release(x[i]);
    }
    free(data);
    cebus_runtime_destroy(other);
    cebus_runtime_destroy(rt);
}

/** They left less than a step. */
Test(cuda_device, what_others_leave_is_taken_by_smaller_steps)
{
    cebus_runtime *rt, *other;
    cebus_tensor *x[7];
    uint64_t budget = 1024 * MIB;
    OK(open_cuda("cuda:0", 0, CEBUS_SWAP_DEFAULT, &rt));
    OK(open_cuda("cuda:0", budget, CEBUS_SWAP_OFF, &other));
    while (cebus_runtime_set_budget(other, budget + 32 * MIB) == CEBUS_OK)
        budget += 32 * MIB;
    OK(cebus_runtime_set_budget(other, budget - 128 * MIB));
    for (int i = 0; i < 7; i++)
        x[i] = mebibytes(rt, 50);
    cr_expect_eq(stats_of(rt).evictions, 0);
    cr_expect_geq(stats_of(rt).reserved_bytes_current, (256 + 128) * MIB);
    for (int i = 0; i < 7; i++)
        cebus_tensor_release(x[i]);
    cebus_runtime_destroy(other);
    cebus_runtime_destroy(rt);
}

Test(cuda_device, more_than_there_is_is_refused_and_loses_nothing)
{
    cebus_runtime *rt, *second;
    OK(open_cuda("cuda:0", CEBUS_FAKE_MEMORY / 4 * 3, CEBUS_SWAP_OFF, &rt));
    cr_assert_eq(open_cuda("cuda:0", CEBUS_FAKE_MEMORY / 2, CEBUS_SWAP_OFF, &second),
                 CEBUS_DEVICE_ERROR);
    cr_expect_not_null(strstr(cebus_last_error()->message, "could be had (out of memory)"), "%s",
                       cebus_last_error()->message);
    OK(open_cuda("cuda:0", CEBUS_FAKE_MEMORY / 8, CEBUS_SWAP_OFF, &second));
    cebus_runtime_destroy(second);
    cebus_tensor *x = leaf(rt, 1000, 1.0F);
    cr_expect_eq(at(x, 7), 1.0F);
    cebus_tensor_release(x);
    cebus_runtime_destroy(rt);
}

Test(cuda_device, the_host_waits_for_its_own_reads_alone)
{
    enum {
        N = 65536,
        TENSORS = 12
    };
    cebus_runtime *rt;
    OK(open_cuda("cuda:0", 6 * N * sizeof(float), CEBUS_SWAP_ON, &rt));
    cebus_tensor *x[TENSORS], *y[TENSORS];
    for (int i = 0; i < TENSORS; i++)
        x[i] = leaf(rt, N, (float)i);
    uint64_t waits = info_of(rt).host_waits;
    for (int i = 0; i < TENSORS; i++)
        OK(cebus_add(rt, x[i], x[(i + 5) % TENSORS], &y[i]));
    for (int i = 0; i < TENSORS; i++)
        OK(cebus_add_(rt, y[i], x[i], 1.0));
    cr_expect_geq(stats_of(rt).swap_outs, TENSORS);
    cr_expect_eq(info_of(rt).host_waits, waits);
    for (int i = 0; i < TENSORS; i++)
        cr_expect_eq(at(y[i], N - 1), (float)(2 * i + (i + 5) % TENSORS));
    cr_expect_gt(info_of(rt).host_waits, waits);
    cr_expect_gt(info_of(rt).stall_ns, 0, "compute waited for copies");
    for (int i = 0; i < TENSORS; i++) {
        cebus_tensor_release(x[i]);
        cebus_tensor_release(y[i]);
    }
    cebus_runtime_destroy(rt);
}

/** Values of a chain, read again from the last to the first. */
static void there_and_back(cebus_runtime *rt, cebus_tensor *first)
{
    enum {
        LENGTH = 12
    };
    cebus_tensor *chain[LENGTH] = {cebus_tensor_retain(first)}, *y, *next;
    for (int i = 1; i < LENGTH; i++)
        OK(cebus_tanh(rt, chain[i - 1], &chain[i]));
    y = cebus_tensor_retain(chain[LENGTH - 1]);
    for (int i = LENGTH - 1; i >= 0; i--) {
        OK(cebus_mul(rt, y, chain[i], &next));
        cebus_tensor_release(y);
        cebus_tensor_release(chain[i]);
        y = next;
    }
    cebus_tensor_release(y);
    OK(cebus_iteration_mark(rt));
}

/** The host is ahead of every copy: that says nothing of when compute needs it. */
Test(cuda_device, copies_under_way_are_not_late)
{
    cebus_runtime *rt;
    cebus_runtime_options options = CEBUS_RUNTIME_OPTIONS_INIT;
    options.device = "cuda:0";
    options.memory_budget = 7 * 65536 * sizeof(float);
    options.policy = "capuchin";
    options.layout = "zones";
    options.swap = CEBUS_SWAP_ON;
    OK(cebus_runtime_create(&options, &rt));
    cebus_tensor *x = leaf(rt, 65536, 0.5F);
    for (int i = 0; i < 12; i++)
        there_and_back(rt, x);
    cr_expect_gt(stats_of(rt).prefetches, 0);
    cr_expect_gt(stats_of(rt).guided_iterations, 0);
    cr_expect_eq(rt->guidance->scheme->n_triggers, 0, "none is watched, so none is moved");
    cebus_tensor_release(x);
    cebus_runtime_destroy(rt);
}

Test(cuda_device, what_was_measured_is_known_from_then_on)
{
    cebus_runtime *rt;
    OK(open_cuda("cuda:0", 64 * MIB, CEBUS_SWAP_OFF, &rt));
    cebus_tensor *x = leaf(rt, 65536, 1.0F), *y;
    uint64_t first = 0, later = 0;
    for (int i = 0; i < 20; i++) {
        uint64_t before = stats_of(rt).compute_ns;
        OK(cebus_mul_scalar(rt, x, 2.0, &y));
        cebus_tensor_release(y);
        OK(cebus_runtime_synchronize(rt));
        *(i == 0 ? &first : &later) = stats_of(rt).compute_ns - before;
    }
    cr_expect_gt(first, 1000, "an estimate from its bytes");
    /* On this driver a piece of work takes 1 us, and there is one between the events. */
    cr_expect_eq(later, 2000);
    cr_expect_eq(info_of(rt).stall_ns, 0);
    cebus_tensor_release(x);
    cebus_runtime_destroy(rt);
}

/** Half of what a large copy takes here, any takes. */
Test(cuda_device, the_rate_of_the_link_is_that_of_large_copies)
{
    cebus_runtime *rt;
    OK(open_cuda("cuda:0", 64 * MIB, CEBUS_SWAP_ON, &rt));
    const uint64_t rate = CEBUS_FAKE_BYTES_PER_NS * UINT64_C(1000000000);
    for (int i = 0; i < 2; i++) {
        const uint64_t measured = i == 0 ? rt->info.out_rate : rt->info.in_rate;
        cr_expect_geq(measured, rate / 8 * 7, "%" PRIu64, measured);
        cr_expect_leq(measured, rate / 8 * 9, "%" PRIu64, measured);
    }
    cebus_runtime_destroy(rt);
}

/** Estimated costs promise the same evictions in every run. */
Test(cuda_device, measured_rates_decide_nothing_where_costs_are_estimated)
{
    cebus_runtime *rt;
    cebus_runtime_options options = CEBUS_RUNTIME_OPTIONS_INIT;
    options.device = "cuda:0";
    options.memory_budget = MIB;
    OK(cebus_runtime_create(&options, &rt));
    cr_expect_gt(rt->info.out_rate, 0);
    cr_expect_gt(rt->info.copy_rate, 0);
    cebus_runtime_destroy(rt);
    options.cost_model = CEBUS_COST_ESTIMATED;
    OK(cebus_runtime_create(&options, &rt));
    cr_expect_eq(rt->info.out_rate + rt->info.in_rate + rt->info.copy_rate + rt->info.latency_ns,
                 0);
    cebus_runtime_destroy(rt);
}

Test(cuda_device, a_bad_index_is_said_once_at_the_next_read)
{
    cebus_runtime *rt;
    OK(open_cuda("cuda:0", 64 * MIB, CEBUS_SWAP_OFF, &rt));
    int64_t shape[] = {2}, indices[] = {1, 9};
    cebus_tensor *x = leaf(rt, 4, 1.0F), *index, *y;
    OK(cebus_tensor_from_host(rt, indices, CEBUS_I64, 1, shape, &index));
    OK(cebus_index_select(rt, x, 0, index, &y));
    float data[4];
    FAILS(CEBUS_INVALID_ARGUMENT, "index 9 at position 1", cebus_tensor_to_host(x, data, 16));
    OK(cebus_tensor_to_host(x, data, sizeof data));
    OK(cebus_runtime_synchronize(rt));
    cebus_tensor_release(index);
    cebus_tensor_release(x);
    cebus_tensor_release(y);
    cebus_runtime_destroy(rt);
}

Test(cuda_device, large_uploads_and_reads_go_in_pieces)
{
    enum {
        N = 9 * 1000 * 1000 + 3
    };
    cebus_runtime *rt;
    OK(open_cuda("cuda:0", 256 * MIB, CEBUS_SWAP_OFF, &rt));
    int64_t shape[] = {N};
    float *data = malloc(N * sizeof *data), *back = calloc(N, sizeof *back);
    for (int i = 0; i < N; i++)
        data[i] = (float)(i % 1000003);
    cebus_tensor *x;
    OK(cebus_tensor_from_host(rt, data, CEBUS_F32, 1, shape, &x));
    OK(cebus_tensor_to_host(x, back, N * sizeof *back));
    cr_expect_eq(memcmp(data, back, N * sizeof *data), 0);
    /* Moves whose ranges overlap, up and down, by less and by more than the buffer for them. */
    static const uint64_t shifts[] = {512, 5 * MIB, 17 * MIB};
    for (int i = 0; i < 6; i++) {
        uint64_t bytes = 24 * MIB, shift = shifts[i / 2];
        uint64_t from = i % 2 ? shift : 0, to = i % 2 ? 0 : shift;
        char *wanted = malloc(bytes), *got = malloc(bytes);
        const cebus_device_ops *ops = rt->device_ops;
        char *base = rt->base + rt->arena.limit / 2;
        for (uint64_t k = 0; k < bytes; k++)
            wanted[k] = (char)(k * 31 + k / 4096 + (uint64_t)i);
        OK(ops->copy(rt->device, base + from, wanted, bytes, CEBUS_COPY_TO_DEVICE));
        OK(ops->copy(rt->device, base + to, base + from, bytes, CEBUS_COPY_ON_DEVICE));
        OK(ops->copy(rt->device, got, base + to, bytes, CEBUS_COPY_TO_HOST));
        cr_expect_eq(memcmp(wanted, got, bytes), 0, "move %d", i);
        free(wanted);
        free(got);
    }
    free(data);
    free(back);
    cebus_tensor_release(x);
    cebus_runtime_destroy(rt);
}
