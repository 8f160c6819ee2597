#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "eager/spill/checksum.h"
#include "eager/spill/extents.h"
#include "eager/spill/pace.h"
#include "eager/spill/spill.h"
#include "eager/storage.h"
#include "eager/tensor.h"
#include "program.h"
#include "tests/support/faulty_io.h"
#include "tests/support/test_device.h"

TestSuite(spill);

#define PIECE CEBUS_SPILL_PIECE

Test(spill, checksums_are_castagnolis)
{
    static const char digits[] = "123456789"; /* the check value of every catalogue of CRCs */
    cr_expect_eq(cebus_checksum(digits, 9), 0xE3069283);
    cr_expect_eq(cebus_checksum_portable(digits, 9), 0xE3069283);
    unsigned char bytes[300];
    for (int i = 0; i < 300; i++)
        bytes[i] = (unsigned char)(i * 37 + 11);
    for (int from = 0; from < 9; from++) {
        for (uint64_t n = 0; n < 280; n++)
            cr_expect_eq(cebus_checksum(bytes + from, n), cebus_checksum_portable(bytes + from, n));
    }
}

Test(spill, the_pace_tells_latency_from_rate_where_sizes_differ)
{
    cebus_pace pace = {0};
    uint64_t rate, latency;
    cebus_pace_fit(&pace, &rate, &latency);
    cr_expect(rate == 0 && latency == 0, "nothing is known yet");
    for (uint64_t i = 1; i <= 3000; i++) /* before: something else */
        cebus_pace_add(&pace, 4096, 900000);
    cebus_pace_fit(&pace, &rate, &latency);
    cr_expect_eq(latency, 0, "of one size: all is in the rate");
    cr_expect_lt(rate, 5000000);
    for (uint64_t i = 0; i < 20000; i++) { /* 50 us, then a byte a ns */
        uint64_t bytes = 4096 << (i * 7 % 9);
        cebus_pace_add(&pace, bytes, 50000 + bytes + (i % 3) * 1000 - 1000);
    }
    cebus_pace_fit(&pace, &rate, &latency);
    cr_expect(rate > 950000000 && rate < 1050000000, "%lu", rate);
    cr_expect(latency > 40000 && latency < 60000, "%lu", latency);
}

Test(spill, extents_are_whole_blocks_and_come_back)
{
    cebus_pool pool;
    cebus_extents extents;
    cebus_pool_init(&pool, NULL);
    cr_assert(cebus_extents_init(&extents, 4 * 4096 + 17, &pool));
    cebus_block *a = cebus_extents_take(&extents, 1), *b = cebus_extents_take(&extents, 4097);
    cr_expect_eq(a->offset % 4096 + b->offset % 4096, 0);
    cr_expect_eq(cebus_extents_used(&extents), 3 * 4096);
    cr_expect_null(cebus_extents_take(&extents, 4097));
    cebus_extents_give_back(&extents, b);
    cr_expect_not_null(b = cebus_extents_take(&extents, 3 * 4096));
    cebus_extents_give_back(&extents, a);
    cebus_extents_give_back(&extents, b);
    cr_expect_eq(cebus_extents_used(&extents), 0);
    cebus_extents_deinit(&extents);
    cebus_pool_deinit(&pool);
}

/* A file alone, without a runtime. */
typedef struct bench {
    cebus_pool pool;
    cebus_host_allocator host;
    cebus_spill *spill;
    char *bytes, *back;
    uint64_t n;
    cebus_spilled *spilled;
} bench;

static void open_bench(bench *b, uint64_t n)
{
    cebus_pool_init(&b->pool, NULL);
    b->host = cebus_host_allocator_default();
    b->n = n;
    b->bytes = malloc(n);
    b->back = calloc(1, n);
    for (uint64_t i = 0; i < n; i++)
        b->bytes[i] = (char)(i * 31 + (i >> 9));
    OK(cebus_spill_open(
        &(cebus_spill_setup){.budget = 2 * n + 8192, .host = &b->host, .pool = &b->pool},
        &b->spill));
    b->spilled = cebus_spill_take(b->spill, n);
    cr_assert_not_null(b->spilled);
}

static void close_bench(bench *b)
{
    cebus_spill_give_back(b->spill, b->spilled);
    cebus_spill_close(b->spill);
    cr_expect_eq(b->pool.live_objects, 0);
    cebus_pool_deinit(&b->pool);
    free(b->bytes);
    free(b->back);
}

static int write_all(bench *b)
{
    cebus_spill_write(b->spill, b->spilled, 0, b->bytes, b->n);
    return b->spilled->write_error;
}

static int read_all(bench *b)
{
    b->spilled->read_error = 0;
    cebus_spill_read(b->spill, b->spilled, 0, b->back, b->n);
    return b->spilled->read_error;
}

static void round_trip(const cebus_io_engine *engine, uint64_t n)
{
    bench b;
    cebus_io_use(engine);
    open_bench(&b, n);
    cr_expect_eq(write_all(&b), 0);
    cr_expect_eq(read_all(&b), 0);
    cr_expect_arr_eq(b.back, b.bytes, n);
    close_bench(&b);
    cebus_io_use(NULL);
}

Test(spill, bytes_come_back_through_threads)
{
    static const uint64_t sizes[] = {1, 4095, 4096, 4097, PIECE, PIECE + 1, 21 * PIECE + 777};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        round_trip(&cebus_io_threads, sizes[i]);
}

Test(spill, bytes_come_back_through_io_uring)
{
    cebus_host_allocator host = cebus_host_allocator_default();
    cebus_io_queue *queue = cebus_io_uring() != NULL ? cebus_io_uring()->open(&host, 0, 8) : NULL;
    if (queue == NULL)
        cr_skip_test("io_uring is not to be had here");
    cebus_io_uring()->close(queue);
    round_trip(cebus_io_uring(), 1);
    round_trip(cebus_io_uring(), 21 * PIECE + 777);
}

Test(spill, parts_are_written_one_by_one)
{
    bench b;
    open_bench(&b, 5 * PIECE + 9);
    cebus_spill_write(b.spill, b.spilled, 0, b.bytes, 2 * PIECE);
    cebus_spill_write(b.spill, b.spilled, 2 * PIECE, b.bytes + 2 * PIECE, 3 * PIECE + 9);
    cr_expect_eq(b.spilled->write_error, 0);
    cebus_spill_read(b.spill, b.spilled, PIECE, b.back, PIECE);
    cr_expect_eq(b.spilled->read_error, 0);
    cr_expect_arr_eq(b.back, b.bytes + PIECE, PIECE);
    close_bench(&b);
}

static void arm(cebus_io_fault fault, uint64_t at, uint64_t every)
{
    atomic_store(&cebus_io_faults.every, every);
    atomic_store(&cebus_io_faults.at, at);
    atomic_store(&cebus_io_faults.fault, fault);
}

Test(spill, short_pieces_and_refused_direct_io_are_gone_about)
{
    bench b;
    cebus_faulty_io_start(NULL);
    open_bench(&b, 12 * PIECE + 5000);
    arm(CEBUS_IO_FAULT_SHORT, 1, 2);
    cr_expect_eq(write_all(&b), 0);
    cr_expect_eq(read_all(&b), 0);
    arm(CEBUS_IO_FAULT_EINVAL, 1, 0);
    cr_expect_eq(read_all(&b), 0);
    cr_expect_arr_eq(b.back, b.bytes, b.n);
    cr_expect_gt(cebus_io_faults.fired, 8);
    close_bench(&b);
    cebus_faulty_io_stop();
}

Test(spill, what_fails_is_told_and_may_be_tried_again)
{
    bench b;
    cebus_faulty_io_start(NULL);
    open_bench(&b, 20 * PIECE);
    arm(CEBUS_IO_FAULT_ENOSPC, 7, 0);
    cr_expect_eq(write_all(&b), ENOSPC);
    cebus_spill_give_back(b.spill, b.spilled);
    b.spilled = cebus_spill_take(b.spill, b.n);
    cr_expect_eq(write_all(&b), 0);
    arm(CEBUS_IO_FAULT_EIO, 7, 0);
    cr_expect_eq(read_all(&b), EIO);
    arm(CEBUS_IO_FAULT_SHORT, 1, 1); /* nothing ever gets anywhere */
    cr_expect_eq(read_all(&b), EIO, "half a block is no progress");
    arm(CEBUS_IO_FAULT_NONE, 0, 0);
    cr_expect_eq(read_all(&b), 0);
    cr_expect_arr_eq(b.back, b.bytes, b.n);
    cebus_spill_figures now;
    cebus_spill_query(b.spill, &now);
    cr_expect_eq(now.failures, 3);
    close_bench(&b);
    cebus_faulty_io_stop();
}

Test(spill, one_other_bit_is_never_believed)
{
    bench b;
    cebus_faulty_io_start(NULL);
    open_bench(&b, 3 * PIECE);
    cr_expect_eq(write_all(&b), 0);
    arm(CEBUS_IO_FAULT_FLIP, 2, 0);
    cr_expect_eq(read_all(&b), CEBUS_SPILL_CORRUPT);
    char text[128];
    cr_expect_str_eq(cebus_spill_error_text(CEBUS_SPILL_CORRUPT, text, sizeof text),
                     "other bytes than were written (checksum)");
    cr_expect_eq(read_all(&b), 0);
    close_bench(&b);
    cebus_faulty_io_stop();
}

/* --- in a runtime --- */

#define N 4096
#define BLOCK (N * sizeof(float))

static cebus_runtime_options spilling(uint64_t budget)
{
    cebus_runtime_options options = CEBUS_RUNTIME_OPTIONS_INIT;
    options.memory_budget = budget;
    options.policy = "lru";
    options.swap = CEBUS_SWAP_ON;
    options.spill_budget = 16 * BLOCK;
    options.debug = CEBUS_DEBUG_WALK | CEBUS_DEBUG_HASH;
    return options;
}

static cebus_runtime *open_spilling(uint64_t budget)
{
    cebus_runtime *rt;
    cebus_runtime_options options = spilling(budget);
    OK(cebus_runtime_create(&options, &rt));
    return rt;
}

static void release_all(cebus_tensor **tensors, int n)
{
    for (int i = 0; i < n; i++)
        cebus_tensor_release(tensors[i]);
}

Test(spill, values_wait_in_the_file_and_are_written_once)
{
    cebus_runtime *rt = open_spilling(2 * BLOCK);
    cebus_tensor *x[5];
    char tiers[200];
    for (int i = 0; i < 5; i++)
        x[i] = leaf(rt, N, (float)i);
    for (int turn = 0; turn < 4; turn++) {
        for (int i = 0; i < 5; i++)
            cr_expect_eq(at(x[i], 9), i);
    }
    cebus_memory_stats stats = stats_of(rt);
    cr_expect_leq(stats.spilled_bytes, 5 * BLOCK, "each once");
    cr_expect_eq(stats.spilled_bytes, stats.swapped_out_bytes);
    cr_expect_geq(stats.unspilled_bytes, 8 * BLOCK);
    cr_expect_eq(stats.swapped_bytes_current, 0, "nothing on the host");
    cr_expect_eq(stats.spill_bytes_current, stats.spilled_bytes);
    cebus_runtime_tiers(rt, tiers, sizeof tiers);
    cr_expect(strstr(tiers, "spill file") != NULL && strstr(tiers, "no host memory") != NULL);
    release_all(x, 5);
    cr_expect_eq(cebus_memory_allocated(rt), 0);
    cebus_runtime_destroy(rt);
}

Test(spill, a_write_ends_the_copy)
{
    cebus_runtime *rt = open_spilling(2 * BLOCK);
    write_between_reads(rt, N);
    cr_expect_gt(stats_of(rt).swap_ins, 0);
    cebus_runtime_destroy(rt);
}

Test(spill, the_file_has_a_budget)
{
    cebus_runtime *rt = open_spilling(2 * BLOCK);
    cebus_tensor *x[19], *more;
    float data[N] = {0};
    int n = 0;
    while (n < 18)
        x[n] = leaf(rt, N, (float)n), n++;
    FAILS(CEBUS_OUT_OF_MEMORY, "needs",
          cebus_tensor_from_host(rt, data, CEBUS_F32, 1, (int64_t[]){N}, &more));
    cebus_tensor_release(x[0]);
    x[0] = leaf(rt, N, 0);
    cebus_tensor_release(x[17]);
    for (int i = 0; i < 17; i++)
        cr_expect_eq(at(x[i], 1), i);
    release_all(x, 17);
    cebus_runtime_destroy(rt);
}

static cebus_tier tier_of(const cebus_tensor *x)
{
    return (cebus_tier)x->storage->now->tier;
}

static bool is_away(const cebus_tensor *x)
{
    return x->storage->now->value.swapped;
}

Test(spill, those_off_the_device_for_longest_go_on_to_the_file)
{
    cebus_runtime *rt;
    cebus_runtime_options options = spilling(2 * BLOCK);
    options.host_budget = 2 * BLOCK;
    options.device = "cpu:link=100MB";
    OK(cebus_runtime_create(&options, &rt));
    cebus_tensor *x[6];
    for (int i = 0; i < 6; i++)
        x[i] = leaf(rt, N, (float)i);
    cr_expect_eq(stats_of(rt).swapped_bytes_current, 2 * BLOCK);
    cr_expect_geq(stats_of(rt).spill_bytes_current, 2 * BLOCK);
    cr_expect_geq(stats_of(rt).demotions, 2);
    cr_expect_eq(stats_of(rt).demoted_bytes, stats_of(rt).demotions * BLOCK);
    for (int i = 0, left = 0; i < 6; i++) { /* they left in this order */
        if (is_away(x[i]))
            cr_expect_eq(tier_of(x[i]), left++ < 2 ? CEBUS_TIER_SPILL : CEBUS_TIER_HOST, "%d", i);
    }
    for (int turn = 0; turn < 4; turn++) { /* those under way come back, are dropped, go again */
        for (int i = 0; i < 6; i++)
            cr_expect_eq(at(x[i], turn), i);
        cr_expect_leq(stats_of(rt).swapped_bytes_current, 2 * BLOCK);
    }
    cebus_tensor_release(x[2]);
    x[2] = NULL;
    for (int i = 0; i < 6; i++)
        cr_expect(i == 2 || at(x[i], 1) == (float)i);
    release_all(x, 6);
    cebus_runtime_destroy(rt);
}

Test(spill, page_locked_memory_has_a_budget_of_its_own)
{
    cebus_runtime *rt;
    cebus_runtime_options options = spilling(2 * BLOCK);
    cebus_test_device_register();
    options.device = "test"; /* its host_alloc counts as page-locked */
    options.host_budget = 3 * BLOCK;
    options.pinned_budget = BLOCK;
    OK(cebus_runtime_create(&options, &rt));
    cebus_tensor *x[6];
    for (int i = 0; i < 6; i++)
        x[i] = leaf(rt, N, (float)i);
    cr_expect_eq(stats_of(rt).swapped_bytes_current, 3 * BLOCK);
    cr_expect_eq(stats_of(rt).pageable_bytes_current, 2 * BLOCK);
    cr_expect_geq(stats_of(rt).spill_bytes_current, BLOCK);
    for (int turn = 0; turn < 3; turn++) {
        for (int i = 0; i < 6; i++)
            cr_expect_eq(at(x[i], 3), i);
    }
    release_all(x, 6);
    cebus_runtime_destroy(rt);
}

Test(spill, a_failed_write_keeps_the_value)
{
    cebus_faulty_io_start(NULL);
    cebus_runtime *rt = open_spilling(2 * BLOCK);
    cebus_tensor *x[3] = {leaf(rt, N, 0), leaf(rt, N, 1)}, *more;
    float data[N] = {0};
    arm(CEBUS_IO_FAULT_ENOSPC, 1, 1);
    FAILS(CEBUS_OUT_OF_MEMORY, "needs",
          cebus_tensor_from_host(rt, data, CEBUS_F32, 1, (int64_t[]){N}, &more));
    cr_expect_gt(stats_of(rt).spill_failures, 0);
    for (int i = 0; i < 2; i++)
        cr_expect(cebus_tensor_is_resident(x[i]));
    arm(CEBUS_IO_FAULT_NONE, 0, 0);
    x[2] = leaf(rt, N, 2);
    for (int i = 0; i < 3; i++)
        cr_expect_eq(at(x[i], 77), i);
    release_all(x, 3);
    cebus_runtime_destroy(rt);
    cebus_faulty_io_stop();
}

static int first_absent(cebus_tensor **tensors, int n)
{
    int i = 0;
    while (i < n && cebus_tensor_is_resident(tensors[i]))
        i++;
    return i;
}

Test(spill, a_failed_read_is_an_error_and_may_be_tried_again)
{
    static const cebus_io_fault faults[] = {CEBUS_IO_FAULT_READ, CEBUS_IO_FAULT_FLIP};
    const char *const texts[] = {strerror(EIO), "checksum"};
    cebus_faulty_io_start(NULL);
    cebus_runtime *rt = open_spilling(2 * BLOCK);
    cebus_tensor *x[4], *sum;
    float data[N];
    for (int i = 0; i < 4; i++)
        x[i] = leaf(rt, N, (float)i);
    for (int k = 0; k < 2; k++) {
        int i = first_absent(x, 4);
        cr_assert_lt(i, 4);
        arm(faults[k], 1, 0);
        FAILS(CEBUS_IO_ERROR, texts[k], cebus_tensor_to_host(x[i], data, BLOCK));
        arm(faults[k], 1, 0);
        FAILS(CEBUS_IO_ERROR, "nothing is lost", cebus_neg(rt, x[i], &sum));
        OK(cebus_runtime_check(rt));
        cr_expect_eq(at(x[i], 5), i);
    }
    release_all(x, 4);
    cebus_runtime_destroy(rt);
    cebus_faulty_io_stop();
}

Test(spill, refuses_what_cannot_be)
{
    cebus_runtime *rt;
    cebus_runtime_options options = spilling(2 * BLOCK);
    options.spill_directory = "/nowhere/at/all";
    FAILS(CEBUS_IO_ERROR, "/nowhere/at/all", cebus_runtime_create(&options, &rt));
    options = spilling(2 * BLOCK);
    options.spill_budget = 100;
    FAILS(CEBUS_INVALID_ARGUMENT, "spill_budget", cebus_runtime_create(&options, &rt));
    options = spilling(2 * BLOCK);
    options.device = "sim:titanv-12g";
    FAILS(CEBUS_UNSUPPORTED, "spill", cebus_runtime_create(&options, &rt));
    options = spilling(2 * BLOCK);
    options.device = "cpu:speed=3";
    FAILS(CEBUS_INVALID_ARGUMENT, "link", cebus_runtime_create(&options, &rt));
}

static int files_in(const char *directory)
{
    int n = 0;
    DIR *dir = opendir(directory);
    cr_assert_not_null(dir);
    for (struct dirent *entry = readdir(dir); entry != NULL; entry = readdir(dir))
        n += entry->d_name[0] != '.';
    closedir(dir);
    return n;
}

/* Spills, says so, and waits to be killed. */
static void spill_and_wait(const char *directory, int says)
{
    cebus_runtime *rt;
    cebus_tensor *x[4];
    cebus_runtime_options options = spilling(2 * BLOCK);
    options.spill_directory = directory;
    if (cebus_runtime_create(&options, &rt) != CEBUS_OK)
        _exit(1);
    for (int i = 0; i < 4; i++)
        x[i] = leaf(rt, N, (float)i);
    char done = stats_of(rt).spilled_bytes >= 2 * BLOCK && x[3] != NULL;
    if (write(says, &done, 1) != 1)
        _exit(1);
    pause();
}

Test(spill, a_killed_process_leaves_no_file)
{
    char directory[] = "/tmp/cebus-spill-XXXXXX", done = 0;
    int ends[2];
    cr_assert_not_null(mkdtemp(directory));
    cr_assert_eq(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0)
        spill_and_wait(directory, ends[1]);
    cr_assert_eq(read(ends[0], &done, 1), 1);
    cr_expect_eq(done, 1, "it spilled");
    cr_expect_eq(files_in(directory), 0, "no name while it runs");
    kill(child, SIGKILL);
    cr_expect_eq(waitpid(child, NULL, 0), child);
    cr_expect_eq(files_in(directory), 0);
    cr_expect_eq(rmdir(directory), 0, "and nothing in the folder");
}
