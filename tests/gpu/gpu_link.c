/**
 * gpu_link: how fast values go to the host and come back on a device, when nothing else is to do.
 * One JSON object.
 *
 * usage: gpu_link DEVICE
 *
 * Twice as many persistent tensors as fit are added to in turn, so each pass takes out and brings
 * back what does not fit. The rates are those of each direction, over the whole of the time; what
 * the link does beside that is for others to measure (torch_step.py link).
 */
#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include <cebus/cebus.h>

enum {
    TENSORS = 48,
    FIT = 24,
    MIB = 1 << 20,
    EACH = 64 * MIB,
    WARM = 24, /**< passes until policy cebus follows a plan, and has tried it against none */
    PASSES = 8
};

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static cebus_status make(cebus_runtime *rt, cebus_tensor **tensors)
{
    const int64_t elements = EACH / (int64_t)sizeof(float);
    cebus_status status = CEBUS_OK;
    for (int i = 0; i < TENSORS && status == CEBUS_OK; i++) {
        status = cebus_full(rt, i, CEBUS_F32, 1, &elements, &tensors[i]);
        if (status == CEBUS_OK)
            status = cebus_tensor_set_persistent(tensors[i]);
    }
    return status;
}

static cebus_status pass(cebus_runtime *rt, cebus_tensor *const *tensors)
{
    cebus_status status = CEBUS_OK;
    for (int i = 0; i < TENSORS && status == CEBUS_OK; i++)
        status = cebus_add_scalar_(rt, tensors[i], 1);
    if (status == CEBUS_OK)
        status = cebus_iteration_mark(rt);
    return status;
}

static cebus_status passes(cebus_runtime *rt, cebus_tensor *const *tensors, int n,
                           cebus_memory_stats *out)
{
    cebus_status status = CEBUS_OK;
    for (int i = 0; i < n && status == CEBUS_OK; i++)
        status = pass(rt, tensors);
    if (status == CEBUS_OK)
        status = cebus_runtime_synchronize(rt);
    *out = (cebus_memory_stats)CEBUS_MEMORY_STATS_INIT;
    return status == CEBUS_OK ? cebus_runtime_memory_stats(rt, out) : status;
}

static cebus_status measure(cebus_runtime *rt, const char *policy)
{
    cebus_tensor *tensors[TENSORS] = {NULL};
    cebus_memory_stats before, after;
    double start = 0;
    cebus_status status = make(rt, tensors);
    if (status == CEBUS_OK)
        status = passes(rt, tensors, WARM, &before);
    start = now_s();
    if (status == CEBUS_OK)
        status = passes(rt, tensors, PASSES, &after);
    double seconds = now_s() - start;
    for (int i = 0; i < TENSORS; i++)
        cebus_tensor_release(tensors[i]);
    if (status != CEBUS_OK)
        return status;
    uint64_t out = after.swapped_out_bytes - before.swapped_out_bytes;
    uint64_t in = after.swapped_in_bytes - before.swapped_in_bytes;
    printf("{\"link\": \"cebus\", \"policy\": \"%s\", \"out_gb_s\": %.2f, \"in_gb_s\": %.2f, "
           "\"seconds\": %.3f, \"pageable_bytes\": %" PRIu64 "}\n",
           policy, (double)out / seconds * 1e-9, (double)in / seconds * 1e-9, seconds,
           after.pageable_bytes_current);
    fflush(stdout);
    return CEBUS_OK;
}

int main(int argc, char **argv)
{
    static const char *const policies[] = {"lru", "cebus"};
    if (argc != 2)
        return fprintf(stderr, "usage: gpu_link DEVICE\n"), 2;
    for (size_t i = 0; i < sizeof policies / sizeof *policies; i++) {
        cebus_runtime *rt;
        cebus_runtime_options options = CEBUS_RUNTIME_OPTIONS_INIT;
        options.device = argv[1];
        options.policy = policies[i];
        options.swap = CEBUS_SWAP_ON;
        options.memory_budget = (uint64_t)FIT * EACH;
        cebus_status status = cebus_runtime_create(&options, &rt);
        if (status == CEBUS_OK) {
            status = measure(rt, policies[i]);
            cebus_runtime_destroy(rt);
        }
        if (status != CEBUS_OK)
            return fprintf(stderr, "%s: %s\n", cebus_last_error()->op, cebus_last_error()->message),
                   1;
    }
    return 0;
}
