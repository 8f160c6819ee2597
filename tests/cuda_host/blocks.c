/* Blocks of threads on one thread: coroutines that switch at meeting points. A context starts a
 * coroutine; from then on it is jumped into and out of, which takes no system call. */
#include "tests/cuda_host/blocks.h"

#include <setjmp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include "eager/device/cuda/grid_host.h"

#define MOST_THREADS 512
#define STACK_BYTES 131072
#define WARP 32
#define SLOT_BYTES 64

__thread cebus_host_place cebus_host_at;

/* The block that is running. */
typedef struct team {
    ucontext_t threads[MOST_THREADS];
    jmp_buf scheduler, places[MOST_THREADS];
    bool started[MOST_THREADS], finished[MOST_THREADS];
    char *stacks;
    void (*call)(const void *what);
    const void *what;
    unsigned char slots[MOST_THREADS][SLOT_BYTES];
} team;

static __thread team *running;
static int threads_at_most = 1;

void cebus_cuda_host_threads(int threads)
{
    threads_at_most = threads;
}

void cebus_host_sync(void)
{
    if (cebus_host_at.threads == 1)
        return;
    int me = cebus_host_at.thread;
    if (_setjmp(running->places[me]) == 0)
        _longjmp(running->scheduler, 1);
}

/* Every thread of the block gives its own and takes that of the thread `from`. */
static void pass(const void *mine, void *other, size_t bytes, int from)
{
    if (bytes > SLOT_BYTES || cebus_host_at.threads == 1) {
        fputs("cuda-host: a shuffle of too much, or in a block of one thread\n", stderr);
        abort();
    }
    memcpy(running->slots[cebus_host_at.thread], mine, bytes);
    cebus_host_sync();
    memcpy(other, running->slots[from], bytes);
    cebus_host_sync();
}

void cebus_host_shuffle(const void *mine, void *other, size_t bytes, int delta)
{
    int me = cebus_host_at.thread, from = me + delta;
    int end = (me / WARP + 1) * WARP;
    pass(mine, other, bytes, from < end && from < cebus_host_at.threads ? from : me);
}

void cebus_host_exchange(const void *mine, void *other, size_t bytes, int mask)
{
    int from = cebus_host_at.thread ^ mask;
    if (mask >= WARP || from >= cebus_host_at.threads) {
        fputs("cuda-host: a shuffle with a thread that is not there\n", stderr);
        abort();
    }
    pass(mine, other, bytes, from);
}

static void thread_main(void)
{
    int me = cebus_host_at.thread;
    running->call(running->what);
    running->finished[me] = true;
    _longjmp(running->scheduler, 1);
}

static void start_thread(team *t, int i)
{
    getcontext(&t->threads[i]);
    t->threads[i].uc_stack.ss_sp = t->stacks + (size_t)i * STACK_BYTES;
    t->threads[i].uc_stack.ss_size = STACK_BYTES;
    t->threads[i].uc_link = NULL;
    t->started[i] = t->finished[i] = false;
    makecontext(&t->threads[i], thread_main, 0);
}

/* Until it gets to its next meeting point. */
static void run_thread(team *t, int i)
{
    cebus_host_at.thread = i;
    if (_setjmp(t->scheduler) != 0)
        return;
    if (t->started[i])
        _longjmp(t->places[i], 1);
    t->started[i] = true;
    setcontext(&t->threads[i]);
}

/* Runs every thread to its next meeting point until all have finished, at the same one. */
static void run_block(team *t, int threads)
{
    for (int i = 0; i < threads; i++)
        start_thread(t, i);
    for (int finished = 0; finished < threads;) {
        finished = 0;
        for (int i = 0; i < threads; i++) {
            run_thread(t, i);
            finished += t->finished[i];
        }
        if (finished > 0 && finished < threads) {
            fputs("cuda-host: some threads of a block wait for others that are done\n", stderr);
            abort();
        }
    }
}

static team *team_create(void)
{
    team *t = malloc(sizeof *t);
    if (t != NULL)
        t->stacks = malloc((size_t)MOST_THREADS * STACK_BYTES);
    if (t == NULL || t->stacks == NULL) {
        fputs("cuda-host: no memory for the stacks of a block\n", stderr);
        abort();
    }
    return t;
}

void cebus_host_run(void (*call)(const void *what), const void *what, int64_t blocks, int threads)
{
    threads = threads < threads_at_most ? threads : threads_at_most;
    cebus_host_at = (cebus_host_place){.blocks = blocks, .threads = threads};
    if (threads > 1 && running == NULL)
        running = team_create();
    for (int64_t block = 0; block < blocks; block++) {
        cebus_host_at.block = block;
        if (threads == 1) {
            call(what);
            continue;
        }
        running->call = call;
        running->what = what;
        run_block(running, threads);
    }
}
