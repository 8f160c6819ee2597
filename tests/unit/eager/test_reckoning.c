#include <criterion/criterion.h>

#include "eager/runtime.h"
#include "eager/storage.h"
#include "eager/swap/reckoning.h"
#include "eager/swap/swap.h"
#include "eager/tensor.h"
#include "program.h"

TestSuite(reckoning);

enum {
    N = 1 << 22, /* numbers: 12 GB/s take them out in 1.4 ms, a call on them runs for 0.05 */
    SOON = 10,
    LONG = 60
};

static cebus_runtime *open_simulated(void)
{
    cebus_runtime *rt;
    cebus_runtime_options options = CEBUS_RUNTIME_OPTIONS_INIT;
    options.device = "sim:titanv-12g";
    options.swap = CEBUS_SWAP_ON;
    OK(cebus_runtime_create(&options, &rt));
    return rt;
}

static void work(cebus_runtime *rt, cebus_tensor *x, int calls)
{
    for (int i = 0; i < calls; i++)
        OK(cebus_add_scalar_(rt, x, 1));
}

static uint64_t copy_out(cebus_runtime *rt, const cebus_tensor *x)
{
    cr_assert(cebus_swap_copy_out(rt, x->storage->now, false));
    return x->storage->now->host_mark;
}

/** The device has not begun yet, so the stream can tell nothing. */
Test(reckoning, copies_are_done_when_calls_that_take_as_long_are)
{
    cebus_runtime *rt = open_simulated();
    cebus_tensor *x = vector(rt, N, 1), *y = vector(rt, N, 2);
    const uint64_t first = copy_out(rt, y);
    cr_expect_not(cebus_reckoning_past(rt, CEBUS_STREAM_OUT, first));
    work(rt, x, LONG);
    const cebus_device_ops *ops = rt->device_ops;
    cr_expect_not(ops->stream_reached(rt->device, CEBUS_STREAM_OUT, first));
    cr_expect(cebus_reckoning_past(rt, CEBUS_STREAM_OUT, first));
    cebus_tensor_release(x);
    cebus_tensor_release(y);
    cebus_runtime_destroy(rt);
}

/** One link: the second copy begins as the first ends. */
Test(reckoning, copies_follow_one_another)
{
    cebus_runtime *rt = open_simulated();
    cebus_tensor *x = vector(rt, N, 1), *y[SOON];
    uint64_t marks[SOON];
    int done = 0;
    for (int i = 0; i < SOON; i++)
        y[i] = vector(rt, N, i);
    for (int i = 0; i < SOON; i++)
        marks[i] = copy_out(rt, y[i]);
    work(rt, x, LONG);
    while (done < SOON && cebus_reckoning_past(rt, CEBUS_STREAM_OUT, marks[done]))
        done++;
    cr_expect_gt(done, 0);
    cr_expect_lt(done, SOON);
    for (int i = done; i < SOON; i++)
        cr_expect_not(cebus_reckoning_past(rt, CEBUS_STREAM_OUT, marks[i]), "%d", i);
    work(rt, x, LONG * SOON);
    cr_expect(cebus_reckoning_past(rt, CEBUS_STREAM_OUT, marks[SOON - 1]));
    cebus_tensor_release(x);
    for (int i = 0; i < SOON; i++)
        cebus_tensor_release(y[i]);
    cebus_runtime_destroy(rt);
}

/** However many were asked for, those that are past are forgotten. */
Test(reckoning, what_is_past_takes_no_memory)
{
    cebus_runtime *rt = open_simulated();
    cebus_tensor *x = vector(rt, N, 1), *y = vector(rt, N, 2);
    for (int i = 0; i < SOON * SOON; i++) {
        const uint64_t mark = copy_out(rt, y);
        cebus_swap_forget(rt, y->storage->now);
        work(rt, x, LONG);
        cr_expect(cebus_reckoning_past(rt, CEBUS_STREAM_OUT, mark));
    }
    cr_expect_lt(rt->swap.reckonings[CEBUS_STREAM_OUT].capacity, SOON * SOON, "%zu",
                 rt->swap.reckonings[CEBUS_STREAM_OUT].capacity);
    cebus_tensor_release(x);
    cebus_tensor_release(y);
    cebus_runtime_destroy(rt);
}

/** Out and back are two streams. */
Test(reckoning, of_each_stream_by_itself)
{
    cebus_runtime *rt = open_simulated();
    cebus_tensor *x = vector(rt, N, 1);
    const uint64_t bytes = N * sizeof(float);
    cebus_reckoning_add(rt, CEBUS_STREAM_OUT, 1, SOON * bytes);
    cebus_reckoning_add(rt, CEBUS_STREAM_IN, 1, bytes);
    const cebus_reckoning *out = &rt->swap.reckonings[CEBUS_STREAM_OUT],
                          *in = &rt->swap.reckonings[CEBUS_STREAM_IN];
    cr_expect_eq(out->count, 1);
    cr_expect_eq(in->count, 1);
    work(rt, x, LONG);
    (void)cebus_reckoning_past(rt, CEBUS_STREAM_OUT, 1);
    cr_expect(cebus_reckoning_past(rt, CEBUS_STREAM_IN, 1));
    cr_expect_eq(out->count, 1, "ten times as long");
    cr_expect_eq(in->count, 0);
    cebus_tensor_release(x);
    cebus_runtime_destroy(rt);
}
