#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "eager/trace/write.h"
#include "program.h"

TestSuite(trace_write);

/** Calls, many enough for several buffers; all must be right whatever becomes of the trace. */
static void work(cebus_runtime *rt)
{
    cebus_tensor *x = leaf(rt, 16, 1);
    for (int i = 0; i < 2000; i++) {
        cebus_tensor *y;
        OK(cebus_add(rt, x, x, &y));
        cr_assert_float_eq(at(y, 3), 2, 0);
        cebus_tensor_release(y);
    }
    cebus_tensor_release(x);
}

Test(trace_write, a_full_disk_is_told_at_the_end)
{
    cebus_runtime *rt = open_runtime(1 << 20, "coop", 0);
    OK(cebus_trace_start(rt, "/dev/full"));
    work(rt);
    FAILS(CEBUS_DEVICE_ERROR, "No space left on device", cebus_trace_stop(rt));
    OK(cebus_trace_start(rt, "/dev/full"));
    FAILS(CEBUS_DEVICE_ERROR, "No space left on device", cebus_trace_stop(rt));
    OK(cebus_trace_start(rt, "/dev/null"));
    work(rt);
    OK(cebus_trace_stop(rt));
    OK(cebus_trace_start(rt, "/dev/full"));
    work(rt);
    cebus_runtime_destroy(rt);
}

Test(trace_write, a_file_that_cannot_be_made_starts_nothing)
{
    cebus_runtime *rt = open_runtime(1 << 20, "coop", 0);
    FAILS(CEBUS_INVALID_ARGUMENT, "cannot create \"/nonexistent/t\": No such file",
          cebus_trace_start(rt, "/nonexistent/t"));
    FAILS(CEBUS_INVALID_ARGUMENT, "cannot create \"/\"", cebus_trace_start(rt, "/"));
    FAILS(CEBUS_INVALID_ARGUMENT, "the path is NULL", cebus_trace_start(rt, NULL));
    FAILS(CEBUS_INVALID_ARGUMENT, "the runtime is NULL", cebus_trace_start(NULL, "x"));
    FAILS(CEBUS_INVALID_ARGUMENT, "no trace is being recorded", cebus_trace_stop(rt));
    FAILS(CEBUS_INVALID_ARGUMENT, "the runtime is NULL", cebus_trace_stop(NULL));
    work(rt);
    cebus_runtime_destroy(rt);
}

/** Signals have their default here: to end the program. */
Test(trace_write, a_pipe_nobody_reads_does_not_end_the_program)
{
    char path[] = "/tmp/cebus-trace-XXXXXX", pipe_path[64];
    signal(SIGPIPE, SIG_DFL);
    cr_assert_not_null(mkdtemp(path));
    snprintf(pipe_path, sizeof pipe_path, "%s/pipe", path);
    cr_assert_eq(mkfifo(pipe_path, 0600), 0);
    int reader = open(pipe_path, O_RDONLY | O_NONBLOCK);
    cebus_runtime *rt = open_runtime(1 << 20, "coop", 0);
    OK(cebus_trace_start(rt, pipe_path));
    close(reader);
    work(rt);
    FAILS(CEBUS_DEVICE_ERROR, "Broken pipe", cebus_trace_stop(rt));
    sigset_t pending;
    sigpending(&pending);
    cr_expect_not(sigismember(&pending, SIGPIPE), "the signal was taken back");
    cebus_runtime_destroy(rt);
    unlink(pipe_path);
    rmdir(path);
}

static volatile sig_atomic_t heard;

static void hear(int number)
{
    heard = number;
}

Test(trace_write, a_signal_that_waited_before_is_kept)
{
    sigset_t quiet, before;
    signal(SIGPIPE, hear);
    sigemptyset(&quiet);
    sigaddset(&quiet, SIGPIPE);
    sigprocmask(SIG_BLOCK, &quiet, &before);
    raise(SIGPIPE);
    cebus_runtime *rt = open_runtime(1 << 20, "coop", 0);
    OK(cebus_trace_start(rt, "/dev/full"));
    FAILS(CEBUS_DEVICE_ERROR, "No space left", cebus_trace_stop(rt));
    cebus_runtime_destroy(rt);
    cr_expect_eq(heard, 0);
    sigprocmask(SIG_SETMASK, &before, NULL);
    cr_expect_eq(heard, SIGPIPE);
}

static void limit_files(rlim_t bytes)
{
    struct rlimit limit;
    cr_assert_eq(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = bytes;
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

/** The disk is full after so many bytes, for all that matter; the last is enough. */
Test(trace_write, what_was_there_stays_until_all_is_written)
{
    char folder[] = "/tmp/cebus-trace-XXXXXX", path[64];
    cr_assert_not_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/trace", folder);
    for (rlim_t bytes = 0, whole = 0; !whole; bytes += 50000) {
        struct stat now;
        int old = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
        cr_assert_eq(write(old, "old", 3), 3);
        close(old);
        cebus_runtime *rt = open_runtime(1 << 20, "coop", 0);
        limit_files(bytes);
        OK(cebus_trace_start(rt, path));
        work(rt);
        cebus_status status = cebus_trace_stop(rt);
        limit_files(RLIM_INFINITY);
        whole = status == CEBUS_OK;
        if (!whole)
            FAILS(CEBUS_DEVICE_ERROR, "File too large", status);
        cr_assert_eq(stat(path, &now), 0);
        cr_expect(whole ? now.st_size > 100000 : now.st_size == 3);
        cebus_runtime_destroy(rt);
    }
    unlink(path);
    cr_expect_eq(rmdir(folder), 0, "nothing lies beside");
}

Test(trace_write, numbers_and_texts_cross_the_buffers_edge)
{
    static char text[3 << 16];
    static cebus_trace_writer writer;
    static char wanted[3 << 16];
    char path[] = "/tmp/cebus-trace-XXXXXX";
    size_t used = 0;
    close(mkstemp(path));
    cr_assert_eq(cebus_trace_writer_open(&writer, path), 0);
    for (int i = 0; i < 4000; i++) {
        uint64_t number = i % 3 == 0 ? UINT64_MAX : (uint64_t)i;
        cebus_trace_write_number(&writer, number);
        cebus_trace_write_text(&writer, ",");
        cebus_trace_write_hex(&writer, number);
        cebus_trace_write_string(&writer, "q\"");
        used += (size_t)snprintf(wanted + used, sizeof wanted - used, "%llu,%016llx\"q\\u0022\"",
                                 (unsigned long long)number, (unsigned long long)number);
    }
    cr_assert_eq(cebus_trace_writer_close(&writer), 0);
    int fd = open(path, O_RDONLY);
    cr_assert_eq(read(fd, text, sizeof text), (ssize_t)used);
    cr_expect_eq(memcmp(text, wanted, used), 0);
    cr_expect_gt(used, sizeof writer.buffer);
    close(fd);
    unlink(path);
}
