/**
 * Blocking reads and writes, each by one of a few threads: a disk wants several at a time.
 */
#include "eager/spill/queue.h"

#include <pthread.h>

#include "layout/thread.h"

#define MOST_THREADS 4

/** First in, first out. */
typedef struct line {
    cebus_io *first, **last;
} line;

struct cebus_io_queue {
    cebus_host_allocator host;
    int fd;
    pthread_mutex_t mutex;
    pthread_cond_t asked, done;
    line waiting, finished;
    bool stop;
    unsigned threads;
    pthread_t thread[MOST_THREADS];
};

static void line_push(line *l, cebus_io *io)
{
    io->next = NULL;
    *l->last = io;
    l->last = &io->next;
}

static cebus_io *line_pop(line *l)
{
    cebus_io *io = l->first;
    if (io == NULL)
        return NULL;
    l->first = io->next;
    if (l->first == NULL)
        l->last = &l->first;
    return io;
}

static void *work(void *context)
{
    cebus_io_queue *queue = context;
    pthread_mutex_lock(&queue->mutex);
    for (;;) {
        cebus_io *io = line_pop(&queue->waiting);
        if (io == NULL && queue->stop)
            break;
        if (io == NULL) {
            pthread_cond_wait(&queue->asked, &queue->mutex);
            continue;
        }
        pthread_mutex_unlock(&queue->mutex);
        cebus_io_run(queue->fd, io);
        pthread_mutex_lock(&queue->mutex);
        line_push(&queue->finished, io);
        pthread_cond_signal(&queue->done);
    }
    pthread_mutex_unlock(&queue->mutex);
    return NULL;
}

static void threads_close(cebus_io_queue *queue)
{
    pthread_mutex_lock(&queue->mutex);
    queue->stop = true;
    pthread_cond_broadcast(&queue->asked);
    pthread_mutex_unlock(&queue->mutex);
    for (unsigned i = 0; i < queue->threads; i++)
        pthread_join(queue->thread[i], NULL);
    pthread_cond_destroy(&queue->asked);
    pthread_cond_destroy(&queue->done);
    pthread_mutex_destroy(&queue->mutex);
    queue->host.free(queue->host.context, queue);
}

static void start_threads(cebus_io_queue *queue, unsigned count)
{
    while (queue->threads < count &&
           cebus_thread_start(&queue->thread[queue->threads], work, queue))
        queue->threads++;
}

static cebus_io_queue *threads_open(const cebus_host_allocator *host, int fd, unsigned depth)
{
    cebus_io_queue *queue = host->alloc(host->context, sizeof *queue);
    if (queue == NULL)
        return NULL;
    *queue = (cebus_io_queue){.host = *host, .fd = fd};
    queue->waiting.last = &queue->waiting.first;
    queue->finished.last = &queue->finished.first;
    pthread_mutex_init(&queue->mutex, NULL);
    pthread_cond_init(&queue->asked, NULL);
    pthread_cond_init(&queue->done, NULL);
    start_threads(queue, depth < MOST_THREADS ? depth : MOST_THREADS);
    if (queue->threads > 0)
        return queue;
    threads_close(queue);
    return NULL;
}

static void threads_submit(cebus_io_queue *queue, cebus_io *io)
{
    pthread_mutex_lock(&queue->mutex);
    line_push(&queue->waiting, io);
    pthread_cond_signal(&queue->asked);
    pthread_mutex_unlock(&queue->mutex);
}

static cebus_io *threads_wait(cebus_io_queue *queue)
{
    pthread_mutex_lock(&queue->mutex);
    while (queue->finished.first == NULL)
        pthread_cond_wait(&queue->done, &queue->mutex);
    cebus_io *io = line_pop(&queue->finished);
    pthread_mutex_unlock(&queue->mutex);
    return io;
}

const cebus_io_engine cebus_io_threads = {
    .name = "threads",
    .open = threads_open,
    .submit = threads_submit,
    .wait = threads_wait,
    .close = threads_close,
};
