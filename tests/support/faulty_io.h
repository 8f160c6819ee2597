/**
 * faulty_io.h: an I/O engine between the spill file and the threads that do its work, which makes
 * pieces of I/O fail on demand. In force between cebus_faulty_io_start() and _stop(), for spill
 * files opened meanwhile.
 */
#ifndef CEBUS_TESTS_SUPPORT_FAULTY_IO_H
#define CEBUS_TESTS_SUPPORT_FAULTY_IO_H

#include <stdatomic.h>

#include "eager/spill/queue.h"

typedef enum cebus_io_fault {
    CEBUS_IO_FAULT_NONE,
    CEBUS_IO_FAULT_EIO,
    CEBUS_IO_FAULT_READ,   /**< EIO, reads only */
    CEBUS_IO_FAULT_ENOSPC, /**< writes only */
    CEBUS_IO_FAULT_EINVAL, /**< as from a file system that takes O_DIRECT and then refuses */
    CEBUS_IO_FAULT_SHORT,  /**< half of the bytes */
    CEBUS_IO_FAULT_FLIP,   /**< reads only: one other bit */
} cebus_io_fault;

/** Counts pieces of both directions. Every field may change while they run. */
typedef struct cebus_faulty_io {
    _Atomic(int) fault;
    _Atomic(uint64_t) at;    /**< 1: the next piece; 0: none */
    _Atomic(uint64_t) every; /**< and every so many after that; 0: once */
    _Atomic(uint64_t) fired; /**< faults so far */
    _Atomic(uint64_t) writes, reads;
} cebus_faulty_io;

extern cebus_faulty_io cebus_io_faults;

/** Resets the counters; `engine` NULL: threads. */
void cebus_faulty_io_start(const cebus_io_engine *engine);
void cebus_faulty_io_stop(void);

#endif
