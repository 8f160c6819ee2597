#include "faulty_io.h"

#include <errno.h>
#include <stdlib.h>

cebus_faulty_io cebus_io_faults;
static const cebus_io_engine *inner = &cebus_io_threads;

static cebus_io_queue *faulty_open(const cebus_host_allocator *host, int fd, unsigned depth)
{
    return inner->open(host, fd, depth);
}

static void faulty_submit(cebus_io_queue *queue, cebus_io *io)
{
    inner->submit(queue, io);
}

static void faulty_close(cebus_io_queue *queue)
{
    inner->close(queue);
}

/** Whether this piece is one that is to fail. */
static bool strikes(const cebus_io *io)
{
    cebus_faulty_io *f = &cebus_io_faults;
    int fault = atomic_load(&f->fault);
    if (fault == CEBUS_IO_FAULT_NONE || (fault == CEBUS_IO_FAULT_ENOSPC && !io->write) ||
        ((fault == CEBUS_IO_FAULT_FLIP || fault == CEBUS_IO_FAULT_READ) && io->write))
        return false;
    uint64_t left = atomic_load(&f->at);
    do {
        if (left == 0)
            return false;
    } while (
        !atomic_compare_exchange_weak(&f->at, &left, left > 1 ? left - 1 : atomic_load(&f->every)));
    return left == 1;
}

static void spoil(cebus_io *io)
{
    switch ((cebus_io_fault)atomic_load(&cebus_io_faults.fault)) {
    case CEBUS_IO_FAULT_EIO:
    case CEBUS_IO_FAULT_READ:
        io->result = -EIO;
        break;
    case CEBUS_IO_FAULT_ENOSPC:
        io->result = -ENOSPC;
        break;
    case CEBUS_IO_FAULT_EINVAL:
        io->result = -EINVAL;
        break;
    case CEBUS_IO_FAULT_SHORT:
        io->result = io->result > 0 ? io->result / 2 : io->result;
        break;
    case CEBUS_IO_FAULT_FLIP:
        io->buffer[0] ^= 1;
        break;
    case CEBUS_IO_FAULT_NONE:
        break;
    }
}

static cebus_io *faulty_wait(cebus_io_queue *queue)
{
    cebus_io *io = inner->wait(queue);
    atomic_fetch_add(io->write ? &cebus_io_faults.writes : &cebus_io_faults.reads, 1);
    if (strikes(io)) {
        atomic_fetch_add(&cebus_io_faults.fired, 1);
        spoil(io);
    }
    return io;
}

static const cebus_io_engine faulty = {
    .name = "faulty",
    .open = faulty_open,
    .submit = faulty_submit,
    .wait = faulty_wait,
    .close = faulty_close,
};

void cebus_faulty_io_start(const cebus_io_engine *engine)
{
    inner = engine != NULL ? engine : &cebus_io_threads;
    atomic_store(&cebus_io_faults.fault, CEBUS_IO_FAULT_NONE);
    atomic_store(&cebus_io_faults.at, 0);
    atomic_store(&cebus_io_faults.every, 0);
    atomic_store(&cebus_io_faults.fired, 0);
    atomic_store(&cebus_io_faults.writes, 0);
    atomic_store(&cebus_io_faults.reads, 0);
    cebus_io_use(&faulty);
}

void cebus_faulty_io_stop(void)
{
    cebus_io_use(NULL);
}
