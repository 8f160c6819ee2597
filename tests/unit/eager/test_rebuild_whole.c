/** Rebuilds of calls that write all their outputs, also those that nobody needs. */
#include <criterion/criterion.h>

#include "program.h"

TestSuite(rebuild_whole);

enum {
    N = 1 << 14,
    MAP = N * 4,
    WASTE = 5, /* maps that a layer makes beside the one that is read */
    LAYERS = 64
};

static cebus_status shapes(void *user, const void *attrs, const cebus_view *const *in,
                           uint32_t n_in, cebus_view *out)
{
    (void)user, (void)attrs, (void)n_in;
    out[0] = out[1] = *in[0];
    out[1].shape[0] *= WASTE;
    return CEBUS_OK;
}

/** x / 2 + 0.25, and many ones. */
static cebus_status run(const cebus_custom_launch *launch)
{
    const float *x = launch->in[0].data;
    float *y = launch->out[0].data, *ones = launch->out[1].data;
    for (int64_t i = 0; i < N; i++)
        y[i] = x[i] / 2 + 0.25F;
    for (int64_t i = 0; i < (int64_t)WASTE * N; i++)
        ones[i] = 1;
    return CEBUS_OK;
}

static const cebus_custom_op layer = {
    .struct_size = sizeof layer, .name = "layer", .n_out = 2, .infer = shapes, .run = run};

/** Forward through layers and back, where each map is read once more. */
static cebus_tensor *there_and_back(cebus_runtime *rt, cebus_tensor *first)
{
    cebus_tensor *x[LAYERS + 1], *g, *next, *out[2];
    x[0] = cebus_tensor_retain(first);
    for (int i = 0; i < LAYERS; i++) {
        OK(cebus_call_custom(rt, &layer, NULL, 0, &x[i], 1, out));
        x[i + 1] = out[0];
        cebus_tensor_release(out[1]);
    }
    OK(cebus_exp(rt, x[LAYERS], &g));
    for (int i = LAYERS; i >= 0; i--) {
        OK(cebus_mul(rt, g, x[i], &next));
        cebus_tensor_release(g);
        cebus_tensor_release(x[i]);
        g = next;
    }
    return g;
}

/** Made in plenty, dropped, read again in `maps` maps: how many calls run for that. */
static uint64_t calls_to_read_in(uint64_t maps)
{
    cebus_runtime *rt = open_runtime(UINT64_C(256) * MAP, "dtr", 0);
    cebus_tensor *first = leaf(rt, N, 0.75F), *g = there_and_back(rt, first);
    float wanted = at(g, 7);
    OK(cebus_runtime_trim(rt));
    cr_assert_not(cebus_tensor_is_resident(g));
    OK(cebus_runtime_set_budget(rt, maps * MAP));
    uint64_t before = stats_of(rt).recomputes;
    cr_expect_eq(at(g, 7), wanted);
    uint64_t calls = stats_of(rt).recomputes - before;
    OK(cebus_runtime_check(rt));
    cebus_tensor_release(first);
    cebus_tensor_release(g);
    cebus_runtime_destroy(rt);
    return calls;
}

/** Plans that leave out what is thrown away end half way, and calls that wait for their inputs are
 * 533 and 355. */
Test(rebuild_whole, plans_have_room_for_what_nobody_reads)
{
    uint64_t all = calls_to_read_in(128);
    cr_expect_geq(all, 2 * LAYERS);
    cr_expect_leq(calls_to_read_in(13), 5 * all / 2);
    cr_expect_leq(calls_to_read_in(22), 7 * all / 4);
}
