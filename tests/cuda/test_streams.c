/**
 * Marks of the CUDA device's streams, on the fake driver (driver/driver.h): what waits for which
 * work of another stream.
 */
#include <criterion/criterion.h>

#include "driver/driver.h"
#include "eager/device/cuda/streams.h"

TestSuite(cuda_streams);

static void give(cebus_cuda_streams *streams, cebus_stream stream, int n)
{
    for (int i = 0; i < n; i++)
        cebus_stream_gave(streams, stream);
}

/** The copy may be the last of many that are on their way: the others may take milliseconds. */
Test(cuda_streams, compute_waits_for_no_other_copy)
{
    static cebus_cuda_streams streams;
    cr_assert_eq(cebus_streams_init(&streams), CEBUS_OK);
    const cebus_cuda_stream *compute = &streams.of[CEBUS_STREAM_COMPUTE];
    for (cebus_stream from = CEBUS_STREAM_OUT; from <= CEBUS_STREAM_IN; from++) {
        give(&streams, from, 2 * CEBUS_MARK_STRIDE);
        for (uint64_t mark = 1; mark <= 2 * CEBUS_MARK_STRIDE; mark++) {
            cebus_stream_follow(&streams, CEBUS_STREAM_COMPUTE, from, mark);
            if (mark > streams.of[from].reached) /* which chance decides */
                cr_expect_eq(compute->waited[from], mark);
        }
    }
    cr_assert_eq(cebus_streams_finish(&streams), CEBUS_OK);
    cebus_streams_deinit(&streams);
}

/** Kernels are many and short: an event for every few of them. */
Test(cuda_streams, copies_wait_for_a_few_kernels_more)
{
    static cebus_cuda_streams streams;
    cr_assert_eq(cebus_streams_init(&streams), CEBUS_OK);
    const cebus_cuda_stream *out = &streams.of[CEBUS_STREAM_OUT];
    give(&streams, CEBUS_STREAM_COMPUTE, 5 * CEBUS_MARK_STRIDE);
    cr_expect_eq(streams.of[CEBUS_STREAM_COMPUTE].count, 5);
    cebus_stream_follow(&streams, CEBUS_STREAM_OUT, CEBUS_STREAM_COMPUTE, 1);
    cr_expect_eq(out->waited[CEBUS_STREAM_COMPUTE], CEBUS_MARK_STRIDE);
    cebus_stream_gave(&streams, CEBUS_STREAM_COMPUTE);
    cebus_stream_follow(&streams, CEBUS_STREAM_OUT, CEBUS_STREAM_COMPUTE,
                        5 * CEBUS_MARK_STRIDE + 1);
    cr_expect_eq(out->waited[CEBUS_STREAM_COMPUTE], 5 * CEBUS_MARK_STRIDE + 1);
    cr_assert_eq(cebus_streams_finish(&streams), CEBUS_OK);
    cebus_streams_deinit(&streams);
}

/** More copies are on their way than there are events: of two of the older ones one is left. */
Test(cuda_streams, of_many_copies_every_other_event_is_given_up)
{
    static cebus_cuda_streams streams;
    const uint64_t given = CEBUS_MARK_RING + CEBUS_MARK_RING / 4;
    cr_assert_eq(cebus_streams_init(&streams), CEBUS_OK);
    give(&streams, CEBUS_STREAM_IN, (int)given);
    const cebus_cuda_stream *in = &streams.of[CEBUS_STREAM_IN];
    const uint64_t *waited = &streams.of[CEBUS_STREAM_OUT].waited[CEBUS_STREAM_IN];
    for (uint64_t mark = 1; mark <= given; mark++) {
        const bool waits = mark > in->reached && mark > *waited;
        cebus_stream_follow(&streams, CEBUS_STREAM_OUT, CEBUS_STREAM_IN, mark);
        if (waits) /* which chance decides */
            cr_expect_eq(*waited, mark + (mark < CEBUS_MARK_RING && mark % 2), "%d", (int)mark);
    }
    cr_assert_eq(cebus_streams_finish(&streams), CEBUS_OK);
    cr_expect_eq(in->reached, given);
    cebus_streams_deinit(&streams);
}

/** The host is far ahead of a device that does its work: nothing is given up then. */
Test(cuda_streams, events_of_what_is_done_make_room)
{
    static cebus_cuda_streams streams;
    cr_assert_eq(cebus_streams_init(&streams), CEBUS_OK);
    const cebus_cuda_stream *in = &streams.of[CEBUS_STREAM_IN];
    give(&streams, CEBUS_STREAM_IN, CEBUS_MARK_RING);
    cr_assert_eq(cudaEventSynchronize(in->marks[CEBUS_MARK_RING - 1].event), cudaSuccess);
    give(&streams, CEBUS_STREAM_IN, 3);
    cr_expect_eq(in->reached, CEBUS_MARK_RING);
    cr_expect_eq(in->count, 3);
    cr_assert_eq(cebus_streams_finish(&streams), CEBUS_OK);
    cebus_streams_deinit(&streams);
}
