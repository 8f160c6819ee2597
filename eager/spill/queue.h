/**
 * queue.h: reads and writes of a file, several at a time. An engine is a table of functions:
 * io_uring where the kernel lets us, a pool of threads everywhere; tests put one of their own
 * between (tests/support/faulty_io.h).
 *
 * A queue belongs to one thread: it submits, then waits for whichever is done next. Order of
 * completion is nobody's promise. A piece of I/O may move fewer bytes than asked for: the caller
 * submits the rest.
 */
#ifndef CEBUS_EAGER_SPILL_QUEUE_H
#define CEBUS_EAGER_SPILL_QUEUE_H

#include <cebus/base.h>

/** One piece of I/O; the caller's until submitted, and again once wait() hands it back. */
typedef struct cebus_io {
    char *buffer;
    uint64_t offset; /**< in the file */
    uint32_t bytes;
    bool write;
    int64_t result;        /**< bytes moved (0: the file ended), or -errno */
    struct cebus_io *next; /**< the engine's */
} cebus_io;

typedef struct cebus_io_queue cebus_io_queue; /**< an engine's own */

typedef struct cebus_io_engine {
    const char *name;
    /** A queue for at most `depth` pieces at a time; NULL: this engine cannot be had here. */
    cebus_io_queue *(*open)(const cebus_host_allocator *host, int fd, unsigned depth);
    /** Never fails: what could not even start is handed back by wait() with its error. */
    void (*submit)(cebus_io_queue *queue, cebus_io *io);
    /** Blocks for the next finished piece. Only while something is under way. */
    cebus_io *(*wait)(cebus_io_queue *queue);
    /** Nothing is under way. */
    void (*close)(cebus_io_queue *queue);
} cebus_io_engine;

extern const cebus_io_engine cebus_io_threads;

/** NULL where the build has no liburing. */
const cebus_io_engine *cebus_io_uring(void);

/** Does the piece at once, in the calling thread. */
void cebus_io_run(int fd, cebus_io *io);

/**
 * Opens a queue of the best engine that can be had: io_uring, else threads; *out_engine says which.
 * NULL: no host memory, or no threads.
 */
cebus_io_queue *cebus_io_open(const cebus_host_allocator *host, int fd, unsigned depth,
                              const cebus_io_engine **out_engine);

/** For tests: cebus_io_open() takes this engine instead; NULL: the best one again. */
void cebus_io_use(const cebus_io_engine *engine);

#endif
