/** The CPU's copy streams: order, waiting for each other, and the clock of a link that is played.
 */
#include <criterion/criterion.h>
#include <pthread.h>
#include <string.h>

#include "eager/device/cpu/streams.h"

TestSuite(cpu_streams, .timeout = 60);

enum {
    MANY = 5 * CEBUS_CPU_RING,
    BYTES = 4096
};

static cebus_cpu_streams streams;

/** A piece that ends when it may. */
typedef struct gate {
    pthread_mutex_t mutex;
    pthread_cond_t opened;
    bool open;
} gate;

static gate shut = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false};

static void wait_for(void *context)
{
    gate *g = context;
    pthread_mutex_lock(&g->mutex);
    while (!g->open)
        pthread_cond_wait(&g->opened, &g->mutex);
    pthread_mutex_unlock(&g->mutex);
}

static void let_through(gate *g)
{
    pthread_mutex_lock(&g->mutex);
    g->open = true;
    pthread_cond_signal(&g->opened);
    pthread_mutex_unlock(&g->mutex);
}

static void give(cebus_stream stream, void *to, const void *from, uint64_t bytes)
{
    cebus_cpu_stream_give(&streams, stream,
                          (cebus_cpu_work){.to = to, .from = from, .bytes = bytes});
}

static void block(cebus_stream stream)
{
    cebus_cpu_stream_give(&streams, stream, (cebus_cpu_work){.run = wait_for, .context = &shut});
}

/** Each byte is copied from one before it: more pieces than the ring has room for, in order. */
static void copy_in_order(uint64_t rate)
{
    static char bytes[MANY + 1];
    cebus_cpu_streams_init(&streams);
    streams.rate = rate;
    bytes[0] = 7;
    for (int i = 0; i < MANY; i++)
        give(CEBUS_STREAM_OUT, &bytes[i + 1], &bytes[i], 1);
    const uint64_t mark = cebus_cpu_stream_mark(&streams, CEBUS_STREAM_OUT);
    cr_expect_eq(mark, MANY);
    cebus_cpu_stream_wait(&streams, CEBUS_STREAM_COMPUTE, CEBUS_STREAM_OUT, mark);
    cr_expect(cebus_cpu_stream_reached(&streams, CEBUS_STREAM_OUT, mark));
    for (int i = 0; i <= MANY; i++)
        cr_expect_eq(bytes[i], 7, "byte %d", i);
    cebus_cpu_streams_deinit(&streams);
}

Test(cpu_streams, pieces_run_in_order)
{
    copy_in_order(0);
    copy_in_order(1000000000);
}

/** Bytes go back and forth between the streams, each copy after the one before it on the other. */
Test(cpu_streams, streams_wait_for_each_other)
{
    static char bytes[MANY + 1];
    cebus_cpu_streams_init(&streams);
    bytes[0] = 7;
    for (int i = 0; i < MANY; i++) {
        const cebus_stream on = i % 2 == 0 ? CEBUS_STREAM_OUT : CEBUS_STREAM_IN;
        const cebus_stream other = i % 2 == 0 ? CEBUS_STREAM_IN : CEBUS_STREAM_OUT;
        cebus_cpu_stream_wait(&streams, on, other, cebus_cpu_stream_mark(&streams, other));
        give(on, &bytes[i + 1], &bytes[i], 1);
    }
    cebus_cpu_streams_finish(&streams);
    for (int i = 0; i <= MANY; i++)
        cr_expect_eq(bytes[i], 7, "byte %d", i);
    cebus_cpu_streams_deinit(&streams);
}

/** What waits for the other stream starts once that is done, and not before. */
Test(cpu_streams, a_copy_waits_for_the_other_stream)
{
    char to = 0, from = 7;
    cebus_cpu_streams_init(&streams);
    block(CEBUS_STREAM_OUT);
    cebus_cpu_stream_wait(&streams, CEBUS_STREAM_IN, CEBUS_STREAM_OUT, 1);
    give(CEBUS_STREAM_IN, &to, &from, 1);
    cr_expect_not(cebus_cpu_stream_reached(&streams, CEBUS_STREAM_IN, 1));
    let_through(&shut);
    cebus_cpu_streams_finish(&streams);
    cr_expect_eq(to, 7);
    cebus_cpu_streams_deinit(&streams);
}

/** Copies in line follow each other on a played link: it is busy as long as their bytes take, to
 * the ns, whenever its thread gets a processor; and none counts as done before. */
Test(cpu_streams, a_played_link_has_no_gaps)
{
    static char from[8 * BYTES], to[8 * BYTES];
    cebus_cpu_streams_init(&streams);
    streams.rate = 1000000000; /* a byte a ns */
    block(CEBUS_STREAM_OUT);
    cebus_cpu_stream_wait(&streams, CEBUS_STREAM_IN, CEBUS_STREAM_OUT, 1);
    for (int i = 0; i < 8; i++)
        give(CEBUS_STREAM_IN, to + i * BYTES, from + i * BYTES, BYTES);
    let_through(&shut);
    cebus_cpu_streams_finish(&streams);
    const cebus_cpu_stream *in = &streams.of[CEBUS_STREAM_IN];
    cr_expect_eq(in->link_ns, streams.of[CEBUS_STREAM_OUT].done_ns + 8 * BYTES);
    for (int i = 0; i < 8; i++)
        cr_expect_geq(in->over[i], in->link_ns - (uint64_t)(7 - i) * BYTES);
    cebus_cpu_streams_deinit(&streams);
}

/** A copy that the link takes an hour for is done soon, and does not count as done. */
Test(cpu_streams, what_is_done_is_not_over)
{
    static char from[BYTES], to[BYTES];
    cebus_cpu_streams_init(&streams);
    streams.rate = 1;
    memset(from, 7, sizeof from);
    give(CEBUS_STREAM_OUT, to, from, BYTES);
    cr_expect_not(cebus_cpu_stream_reached(&streams, CEBUS_STREAM_OUT, 1));
    cr_expect(cebus_cpu_stream_reached(&streams, CEBUS_STREAM_OUT, 0));
    cebus_cpu_streams_deinit(&streams);
    cr_expect_arr_eq(to, from, BYTES);
    cr_expect_eq(streams.latency_ns, 0, "it was in time");
    cr_expect_eq(streams.of[CEBUS_STREAM_OUT].over[0], streams.of[CEBUS_STREAM_OUT].link_ns);
}
