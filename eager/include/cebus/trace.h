/**
 * @file trace.h
 * Traces: what a program asked of the runtime, op by op, with sizes and costs and without data.
 *
 * A trace is recorded from a runtime on any device, and read back to be repeated on a simulated
 * machine (`cebus replay`). Logs of the DTR simulator (Kirisame et al., ICLR'21) are read, too.
 *
 * The cebus format is JSON lines, one object a line, each with the key of its kind first:
 *
 *     {"cebus_trace": 1, "machine": "cpu", "unit": "ns"}
 *     {"const": 1, "bytes": 4096, "persistent": true}
 *     {"op": 1, "name": "matmul", "hash": "9f3c...", "in": [1, 1], "out": [{"value": 2,
 *      "bytes": 4096}], "cost_ns": 1200, "workspace": 0, "flags": []}
 *     {"op": 2, "name": "add_", "in": [2, 1], "out": [{"value": 3, "bytes": 4096, "alias_of": 0}],
 *      "cost_ns": 300, "flags": ["mutates"]}
 *     {"free": 2}
 *     {"mark": 1}
 *
 * A value is one version of a storage's contents; ids are positive, never reused. `alias_of` is
 * the index of the input whose storage the output shares: with the flag `mutates` the output is
 * what that input holds after the write. A write to a leaf keeps its id: value and input are equal.
 * Other flags: `rng`, `nonreplayable`. `free`: nothing but replays can read the value any more.
 * `mark`: an iteration ended. A trace holds whole iterations: persistent constants are made once,
 * whatever else a repetition finds unfreed at the end belongs to the repetition.
 *
 * Thread-safety: one thread a reader.
 */
#ifndef CEBUS_TRACE_H
#define CEBUS_TRACE_H

#include <cebus/tensor.h>

CEBUS_BEGIN_DECLS

/** How a trace file is written. */
typedef enum cebus_trace_format {
    CEBUS_TRACE_CEBUS, /**< the format above */
    CEBUS_TRACE_DTR,   /**< a log of the DTR simulator */
} cebus_trace_format;

/** What a line of a trace says. */
typedef enum cebus_trace_kind {
    CEBUS_TRACE_CONST, /**< a value from outside: a parameter, a batch */
    CEBUS_TRACE_OP,    /**< a call */
    CEBUS_TRACE_FREE,  /**< the last reference to a value went */
    CEBUS_TRACE_MARK,  /**< an iteration ended */
} cebus_trace_kind;

/** Flags of an op. */
enum {
    CEBUS_TRACE_RNG = 1 << 0,           /**< draws random numbers: repeatable all the same */
    CEBUS_TRACE_MUTATES = 1 << 1,       /**< its aliasing outputs are written in place */
    CEBUS_TRACE_NONREPLAYABLE = 1 << 2, /**< its outputs cannot be made again */
};

/** A value an op makes. */
typedef struct cebus_trace_output {
    uint64_t value;    /**< its id */
    uint64_t bytes;    /**< of its storage */
    int32_t alias_of;  /**< index of the input it is written over; -1: bytes of its own */
} cebus_trace_output;

/** One item of a trace. What does not belong to its kind is zero. Valid until the next read. */
typedef struct cebus_trace_item {
    cebus_trace_kind kind;             /**< which of the above */
    uint64_t line;                     /**< of the file, from 1 */
    uint64_t value;                    /**< CONST, FREE: the value */
    uint64_t bytes;                    /**< CONST: of its storage */
    bool persistent;                   /**< CONST: lives across iterations */
    uint64_t id;                       /**< OP, MARK: its number */
    const char *name;                  /**< OP: of the operation */
    uint64_t hash;                     /**< OP: of its attributes, shapes and types; 0: unknown */
    uint64_t cost_ns;                  /**< OP: time of one run */
    uint64_t workspace;                /**< OP: scratch bytes */
    uint32_t flags;                    /**< OP: CEBUS_TRACE_* */
    const uint64_t *in;                /**< OP: values read */
    size_t n_in;                       /**< OP: length of in */
    const cebus_trace_output *out;     /**< OP: values made; none for a view in a DTR log */
    size_t n_out;                      /**< OP: length of out */
} cebus_trace_item;

/** A trace file being read. */
typedef struct cebus_trace_reader cebus_trace_reader;

/** Bounds on what a file may ask of the reader; zero means the default. */
typedef struct cebus_trace_limits {
    size_t struct_size;  /**< sizeof this struct, as the caller was compiled */
    uint64_t line_bytes; /**< of the longest line; default 4 MiB */
    uint64_t items;      /**< lines with content; default 2^22 */
    uint64_t bytes;      /**< of one value; default 2^50 */
} cebus_trace_limits;

/** All defaults. */
#define CEBUS_TRACE_LIMITS_INIT                                                                    \
    {                                                                                              \
        .struct_size = sizeof(cebus_trace_limits)                                                  \
    }

/** Opens a file; "-" is standard input. `limits` NULL: the defaults. CEBUS_UNSUPPORTED in a build
 * without a JSON library. */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_trace_reader_open(const char *path,
                                                                cebus_trace_format format,
                                                                const cebus_trace_limits *limits,
                                                                cebus_trace_reader **out);
/**
 * The next item; *out_end is true, and *out zero, past the last. A line that makes no sense is
 * CEBUS_INVALID_ARGUMENT with its number and what is wrong: not JSON, a key missing or of the wrong
 * type, a negative or overflowing number, a value that is unknown, made twice, or read after it
 * was freed, more than the limits allow. Memory: one line, and 16 bytes or so a value.
 */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_trace_reader_next(cebus_trace_reader *reader,
                                                                cebus_trace_item *out,
                                                                bool *out_end);
/** Of the header: the device it was recorded on; "" when unknown. */
CEBUS_API const char *cebus_trace_reader_machine(const cebus_trace_reader *reader);
/** NULL is allowed. */
CEBUS_API void cebus_trace_reader_close(cebus_trace_reader *reader);

/**
 * From now on every call of the runtime is written to `path`, until stop or the runtime's end.
 * What lives already appears as constants when it is first read. Costs are those of the device.
 * One trace at a time. Cost: a formatted line a call.
 */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_trace_start(cebus_runtime *rt, const char *path);
/** Completes the file; reports what could not be written (CEBUS_DEVICE_ERROR). */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_trace_stop(cebus_runtime *rt);

CEBUS_END_DECLS

#endif
