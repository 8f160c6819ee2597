/**
 * spill.h: the tier below host memory: values in a file that has no name (file.h).
 *
 * The runtime's thread takes room and gives it back; bytes move on the device's copy streams
 * (device.h: stream_call), one thread a direction. Each direction has its own queue of the I/O
 * engine and its own aligned buffers: several pieces of CEBUS_SPILL_PIECE bytes are on their way at
 * a time. Each piece is checksummed on its way out and checked on its way back, before a byte of it
 * reaches the value: what comes back wrong is an error, never a value.
 *
 * Errors are errno values in the record: of a write, and then the value must not depend on it; of
 * the last read, which may be tried again.
 */
#ifndef CEBUS_EAGER_SPILL_SPILL_H
#define CEBUS_EAGER_SPILL_SPILL_H

#include <stdatomic.h>

#include "layout/arena.h"

#define CEBUS_SPILL_PIECE (UINT64_C(256) << 10)

/** What a read finds that is not what was written. */
#define CEBUS_SPILL_CORRUPT 10000 /* no errno */

typedef struct cebus_spill cebus_spill;

/** A value's bytes in the file. */
typedef struct cebus_spilled {
    cebus_block *extent;
    uint64_t bytes;
    _Atomic(int) write_error, read_error; /**< errno, or CEBUS_SPILL_CORRUPT; 0: none */
    uint32_t sums[];                      /**< a checksum a piece */
} cebus_spilled;

typedef struct cebus_spill_setup {
    const char *directory;            /**< NULL: the default of file.h */
    uint64_t budget;                  /**< most bytes of the file */
    const cebus_host_allocator *host; /**< borrowed for the call */
    cebus_pool *pool;                 /**< borrowed: for the books */
} cebus_spill_setup;

/** Counters since it was opened. */
typedef struct cebus_spill_figures {
    const char *engine; /**< "io_uring", "threads" */
    bool direct;        /**< past the page cache */
    uint64_t budget, used_bytes;
    uint64_t written_bytes, read_bytes; /**< with success, of values */
    uint64_t write_rate, read_rate; /**< bytes/s of late, beside the latency of each; 0: unknown */
    uint64_t write_latency_ns, read_latency_ns;
    uint64_t failures; /**< writes and reads of values that failed */
} cebus_spill_figures;

/** CEBUS_IO_ERROR, CEBUS_OUT_OF_HOST_MEMORY. */
CEBUS_MUST_CHECK cebus_status cebus_spill_open(const cebus_spill_setup *setup, cebus_spill **out);
/** Nothing is under way. What was taken becomes invalid. */
void cebus_spill_close(cebus_spill *spill);

/** Room for a value; NULL: there is none. */
cebus_spilled *cebus_spill_take(cebus_spill *spill, uint64_t bytes);
/** Nobody writes or reads it any more. */
void cebus_spill_give_back(cebus_spill *spill, cebus_spilled *spilled);

/**
 * Writes, or reads, bytes [at, at + bytes) of the value; `at` is a multiple of CEBUS_SPILL_PIECE.
 * Blocks until it is done. Writes on one thread, reads on another. After a failed part the others
 * of the same value are left out.
 */
void cebus_spill_write(cebus_spill *spill, cebus_spilled *spilled, uint64_t at, const char *from,
                       uint64_t bytes);
void cebus_spill_read(cebus_spill *spill, cebus_spilled *spilled, uint64_t at, char *to,
                      uint64_t bytes);

void cebus_spill_query(const cebus_spill *spill, cebus_spill_figures *out);

/** What an error in the record means, for messages: in `text`, or a text that stays. */
const char *cebus_spill_error_text(int error, char *text, size_t bytes);

#endif
