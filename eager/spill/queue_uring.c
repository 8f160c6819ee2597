/**
 * io_uring through liburing: no thread, no system call a piece. Containers often forbid it, and
 * kernels before 5.6 lack the operations: then there is no queue, and threads do the work.
 */
#include "eager/spill/queue.h"

#include "cebus_config.h"

#if CEBUS_HAVE_URING

#include <errno.h>
#include <liburing.h>

struct cebus_io_queue {
    cebus_host_allocator host;
    struct io_uring ring;
    int fd;
    cebus_io *stuck; /* run at once, since the ring would not take them */
};

static bool can_read_and_write(struct io_uring *ring)
{
    struct io_uring_probe *probe = io_uring_get_probe_ring(ring);
    bool can = probe != NULL && io_uring_opcode_supported(probe, IORING_OP_READ) &&
               io_uring_opcode_supported(probe, IORING_OP_WRITE);
    io_uring_free_probe(probe);
    return can;
}

static cebus_io_queue *uring_open(const cebus_host_allocator *host, int fd, unsigned depth)
{
    cebus_io_queue *queue = host->alloc(host->context, sizeof *queue);
    if (queue == NULL)
        return NULL;
    *queue = (cebus_io_queue){.host = *host, .fd = fd};
    if (io_uring_queue_init(depth, &queue->ring, 0) == 0) {
        if (can_read_and_write(&queue->ring))
            return queue;
        io_uring_queue_exit(&queue->ring);
    }
    host->free(host->context, queue);
    return NULL;
}

static void uring_close(cebus_io_queue *queue)
{
    io_uring_queue_exit(&queue->ring);
    queue->host.free(queue->host.context, queue);
}

static void uring_submit(cebus_io_queue *queue, cebus_io *io)
{
    struct io_uring_sqe *entry = io_uring_get_sqe(&queue->ring);
    int taken = -EBUSY;
    if (entry != NULL) {
        if (io->write)
            io_uring_prep_write(entry, queue->fd, io->buffer, io->bytes, io->offset);
        else
            io_uring_prep_read(entry, queue->fd, io->buffer, io->bytes, io->offset);
        io_uring_sqe_set_data(entry, io);
        do {
            taken = io_uring_submit(&queue->ring);
        } while (taken == -EINTR || taken == -EAGAIN);
    }
    if (taken > 0)
        return;
    if (entry != NULL) { /* it stays in the ring: as nothing */
        io_uring_prep_nop(entry);
        io_uring_sqe_set_data(entry, NULL);
    }
    cebus_io_run(queue->fd, io);
    io->next = queue->stuck;
    queue->stuck = io;
}

static cebus_io *take_stuck(cebus_io_queue *queue)
{
    cebus_io *io = queue->stuck;
    queue->stuck = io->next;
    return io;
}

static cebus_io *uring_wait(cebus_io_queue *queue)
{
    struct io_uring_cqe *entry;
    for (;;) {
        if (queue->stuck != NULL)
            return take_stuck(queue);
        if (io_uring_wait_cqe(&queue->ring, &entry) != 0)
            continue; /* a signal */
        cebus_io *io = io_uring_cqe_get_data(entry);
        if (io != NULL)
            io->result = entry->res;
        io_uring_cqe_seen(&queue->ring, entry);
        if (io != NULL)
            return io;
    }
}

static const cebus_io_engine uring = {
    .name = "io_uring",
    .open = uring_open,
    .submit = uring_submit,
    .wait = uring_wait,
    .close = uring_close,
};

const cebus_io_engine *cebus_io_uring(void)
{
    return &uring;
}

#else

const cebus_io_engine *cebus_io_uring(void)
{
    return NULL;
}

#endif
