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
 * A value is one version of a storage's contents; ids are positive, never reused. An output with
 * `alias_of` is written over the input of that index and is what its storage holds from then on;
 * the op has the flag `mutates`, and both have the same number of bytes. The old value may still be
 * read, until its `free`, but not be written again. A write to a leaf or a persistent constant
 * keeps its id: value and input are equal. Other flags: `rng`, `nonreplayable`. Views are no ops
 * and have no values of their own. `hash` covers attributes, shapes and types.
 *
 * `free`: nothing but replays can read the value any more. What a backward has used is freed as it
 * goes; if it fails, what it gives back to the graph appears as constants when it is read again.
 * Persistent constants are never freed. `mark`: an iteration ended. A trace holds whole iterations:
 * persistent constants are made once, whatever else a repetition finds unfreed at the end belongs
 * to the repetition. `hash`, `workspace`, `flags`, `persistent`, `machine` and `unit` may be left
 * out; keys that are not named here are ignored.
 *
 * Of a log of the DTR simulator, names become values: CONSTANT a persistent constant, CALL and
 * MUTATE ops (MUTATE out of place: new values of the same size), RELEASE and what else takes a
 * value's last name a free. A CALL whose results are all views is an op without inputs and outputs.
 * What stands before ANNOTATE START is left out; a log without START counts whole.
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
    uint64_t value;   /**< its id */
    uint64_t bytes;   /**< of its storage */
    int32_t alias_of; /**< index of the input it is written over; -1: bytes of its own */
} cebus_trace_output;

/** One item of a trace. What does not belong to its kind is zero. Valid until the next read. */
typedef struct cebus_trace_item {
    cebus_trace_kind kind;         /**< which of the above */
    uint64_t line;                 /**< of the file, from 1 */
    uint64_t value;                /**< CONST, FREE: the value */
    uint64_t bytes;                /**< CONST: of its storage */
    bool persistent;               /**< CONST: lives across iterations */
    uint64_t id;                   /**< OP, MARK: its number */
    const char *name;              /**< OP: of the operation */
    uint64_t hash;                 /**< OP: of its attributes, shapes and types; 0: unknown */
    uint64_t cost_ns;              /**< OP: time of one run */
    uint64_t workspace;            /**< OP: scratch bytes */
    uint32_t flags;                /**< OP: CEBUS_TRACE_* */
    const uint64_t *in;            /**< OP: values read */
    size_t n_in;                   /**< OP: length of in */
    const cebus_trace_output *out; /**< OP: values made; none for a view in a DTR log */
    size_t n_out;                  /**< OP: length of out */
} cebus_trace_item;

/** A trace file being read. */
typedef struct cebus_trace_reader cebus_trace_reader;

/** Bounds on what a file may ask of the reader; zero means the default. */
typedef struct cebus_trace_limits {
    size_t struct_size;  /**< sizeof this struct, as the caller was compiled */
    uint64_t line_bytes; /**< of the longest line; default 1 MiB, below 2^31 */
    uint64_t items;      /**< lines with content, and values; default 2^22, below 2^31 */
    uint64_t bytes;      /**< of one value; default 2^50, at most 2^58 */
} cebus_trace_limits;

/** All defaults. */
#define CEBUS_TRACE_LIMITS_INIT                                                                    \
    {                                                                                              \
        .struct_size = sizeof(cebus_trace_limits)                                                  \
    }

/**
 * Opens a file and reads its header; "-" is standard input (a DTR log without START must be a file,
 * which is read twice). `limits` NULL: the defaults. CEBUS_INVALID_ARGUMENT when it cannot be
 * opened or is no trace; CEBUS_UNSUPPORTED in a build without a JSON library.
 */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_trace_reader_open(const char *path,
                                                                cebus_trace_format format,
                                                                const cebus_trace_limits *limits,
                                                                cebus_trace_reader **out);
/**
 * The next item; *out_end is true, and *out zero, past the last. A line that makes no sense is
 * CEBUS_INVALID_ARGUMENT with its number and what is wrong: not JSON, a key missing or of the wrong
 * type, a negative or overflowing number, a value that is unknown, made twice, or used after it
 * was freed, more than the limits allow, sums beyond 2^62 ns or bytes. CEBUS_DEVICE_ERROR: the file
 * cannot be read on. After a failure every further call fails likewise. Memory: one line, and some
 * tens of bytes a value. O(line), some microseconds.
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
 * What lives already appears as constants when it is first read. Costs are those that evictions are
 * decided by (cebus_cost_model). Replays and swaps are not recorded: a trace does not depend on the
 * budget. One trace at a time. The file is made beside its place, as `path.PID-0`, and takes the
 * place when it is complete: until then, and where that fails, what was there before stays. A
 * program that is killed leaves what it recorded under that name. CEBUS_INVALID_ARGUMENT when the
 * file cannot be created; when it cannot be written later, the program goes on and stop tells.
 * Cost: a formatted line a call.
 */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_trace_start(cebus_runtime *rt, const char *path);
/** Completes the file and puts it in its place; CEBUS_DEVICE_ERROR when it could not be written. */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_trace_stop(cebus_runtime *rt);

CEBUS_END_DECLS

#endif
