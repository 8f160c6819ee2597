/**
 * read.h: a trace file, entry by entry, checked as it comes. The public face of this is
 * <cebus/trace.h> (eager/trace/trace.c), where both formats and all bounds are described.
 *
 * A file is not trusted: lines, values, nesting and memory are bounded, sums cannot wrap, and each
 * refusal is a sentence that names file, line and key. Built only with a JSON library.
 */
#ifndef CEBUS_LINEAGE_TRACE_READ_H
#define CEBUS_LINEAGE_TRACE_READ_H

#include <cebus/base.h>

typedef enum cebus_entry_kind {
    CEBUS_ENTRY_CONST, /**< a value from outside */
    CEBUS_ENTRY_OP,    /**< a call */
    CEBUS_ENTRY_FREE,  /**< the last reference to a value went */
    CEBUS_ENTRY_MARK,  /**< an iteration ended */
} cebus_entry_kind;

enum {
    CEBUS_ENTRY_RNG = 1 << 0,
    CEBUS_ENTRY_MUTATES = 1 << 1,
    CEBUS_ENTRY_NONREPLAYABLE = 1 << 2,
};

typedef struct cebus_entry_output {
    uint64_t value, bytes;
    int32_t alias_of; /**< index into `in` of what it is written over; -1: bytes of its own */
} cebus_entry_output;

/** One entry. What does not belong to its kind is zero. Valid until the next is read. */
typedef struct cebus_entry {
    cebus_entry_kind kind;
    uint64_t line;
    uint64_t value, bytes; /**< CONST, FREE */
    bool persistent;       /**< CONST */
    uint64_t id;           /**< OP, MARK */
    const char *name;      /**< OP, like all that follows */
    uint64_t hash, cost_ns, workspace;
    uint32_t flags;
    const uint64_t *in;
    size_t n_in;
    const cebus_entry_output *out;
    size_t n_out;
} cebus_entry;

typedef struct cebus_trace_bounds {
    uint64_t line_bytes; /**< of a line, below 2^31 */
    uint64_t items;      /**< lines with content, and values; below 2^31 */
    uint64_t bytes;      /**< of a value, at most CEBUS_TRACE_BYTES_MAX */
} cebus_trace_bounds;

typedef struct cebus_trace_source cebus_trace_source;

/**
 * Opens a file ("-": standard input), reads what stands before the first entry. `host` is copied.
 * On failure *out is NULL and `why` says what is wrong, in a sentence for the user.
 */
CEBUS_MUST_CHECK cebus_status cebus_trace_source_open(const cebus_host_allocator *host,
                                                      const char *path, bool dtr,
                                                      const cebus_trace_bounds *bounds, char *why,
                                                      size_t why_bytes, cebus_trace_source **out);
/** *out_end: there is none. After a failure every further call fails likewise. O(line). */
CEBUS_MUST_CHECK cebus_status cebus_trace_source_next(cebus_trace_source *source, cebus_entry *out,
                                                      bool *out_end);
/** Why the last call failed. */
const char *cebus_trace_source_error(const cebus_trace_source *source);
/** Name of the device it was recorded on; "" when unknown. */
const char *cebus_trace_source_machine(const cebus_trace_source *source);
void cebus_trace_source_close(cebus_trace_source *source);

#endif
