#include "eager/spill/queue.h"

#include <errno.h>
#include <unistd.h>

static const cebus_io_engine *forced;

void cebus_io_use(const cebus_io_engine *engine)
{
    forced = engine;
}

void cebus_io_run(int fd, cebus_io *io)
{
    ssize_t moved;
    do {
        moved = io->write ? pwrite(fd, io->buffer, io->bytes, (off_t)io->offset)
                          : pread(fd, io->buffer, io->bytes, (off_t)io->offset);
    } while (moved < 0 && errno == EINTR);
    io->result = moved < 0 ? -errno : moved;
}

cebus_io_queue *cebus_io_open(const cebus_host_allocator *host, int fd, unsigned depth,
                              const cebus_io_engine **out_engine)
{
    const cebus_io_engine *engines[] = {cebus_io_uring(), &cebus_io_threads};
    cebus_io_queue *queue = NULL;
    if (forced != NULL)
        engines[0] = engines[1] = forced;
    for (int i = 0; i < 2 && queue == NULL; i++) {
        *out_engine = engines[i];
        queue = engines[i] != NULL ? engines[i]->open(host, fd, depth) : NULL;
    }
    return queue;
}
