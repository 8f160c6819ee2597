/**
 * program.h: a trace in memory: what one pass asks for, step by step, and what it needs at least.
 *
 * A storage is what a value of the trace is kept in. A write in place makes a new value; where
 * nobody reads or keeps the old one it is done in place here, too, else out of place. Views are
 * gone: an op that only makes views costs time and touches no memory.
 */
#ifndef PROGRAM_H
#define PROGRAM_H

#include <cebus/trace.h>

#include "id_map.h"

/** Outputs of an op at most (cebus/custom.h). */
#define PROGRAM_MAX_OUTPUTS 64

struct program_storage {
    uint64_t bytes;
    uint64_t value; /**< its number in the trace */
    uint64_t line;  /**< that makes it */
    uint32_t maker; /**< op; NO_INDEX: a constant */
    bool persistent;
};

struct program_op {
    uint64_t cost_ns, workspace, hash, line;
    size_t first;       /**< in refs: n_in inputs, of them n_written first; then n_out outputs */
    uint32_t n_in;      /**< distinct storages */
    uint32_t n_out;     /**< 0: a view, or an op that only reads */
    uint32_t n_written; /**< inputs that outputs[0..n_written) are written over, all or none */
    uint32_t name;      /**< in names */
    uint32_t form;      /**< in forms */
    bool replayable;
    bool is_view; /**< needs none of its inputs */
};

/** What calls have in common that can be calls of one custom op. */
struct program_form {
    uint32_t name, n_out, n_written;
    bool replayable;
};

enum program_step_kind {
    STEP_LEAF, /**< a constant of this pass; index: of the storage */
    STEP_OP,   /**< index: of the op */
    STEP_FREE, /**< index: of the storage */
    STEP_MARK, /**< an iteration ended inside the pass; that of its end is left out */
};

struct program_step {
    uint32_t kind : 2;
    uint32_t index : 30;
};

/** What can be told of one pass without running it. Bytes as the trace has them, not rounded. */
struct program_figures {
    uint64_t compute_ns;       /**< all ops once */
    uint64_t peak_bytes;       /**< the most that lives at once; writes count as out of place */
    uint64_t persistent_bytes; /**< constants of all passes */
    uint64_t floor_bytes;      /**< no budget below can do without swapping */
    uint64_t swap_floor_bytes; /**< nor with it */
    uint64_t proven_bytes;     /**< of the floor, that no way of running the trace can save: writes
                                  count as in place wherever that may be */
    uint32_t proven_at;        /**< op that needs that; n_ops: the end */
    uint64_t total_bytes;      /**< of all storages and workspaces of a pass */
};

struct program {
    const char *path; /**< borrowed */
    cebus_trace_format format;
    char machine[64]; /**< it was recorded on; "" unknown */
    char **names;
    size_t n_names, names_room;
    struct program_storage *storages;
    size_t n_storages, storages_room;
    struct program_op *ops;
    size_t n_ops, ops_room;
    uint32_t *refs;
    size_t n_refs, refs_room;
    struct program_form *forms;
    size_t n_forms, forms_room;
    struct program_step *steps;
    size_t n_steps, steps_room;
    struct program_figures figures;
};

/** Reads a trace; `format` is "cebus", "dtr", or NULL: told by the first line. What is wrong with
 * the file is printed, and false returned. Free it in any case. */
bool program_load(struct program *program, const char *path, const char *format);
void program_free(struct program *program);

/** Fills in the figures; load does. To be done again when costs were changed. */
void program_measure(struct program *program);

static inline const uint32_t *program_inputs(const struct program *program,
                                             const struct program_op *op)
{
    return program->refs + op->first;
}

static inline const uint32_t *program_outputs(const struct program *program,
                                              const struct program_op *op)
{
    return program->refs + op->first + op->n_in;
}

static inline const char *program_op_name(const struct program *program,
                                          const struct program_op *op)
{
    return program->names[op->name];
}

#endif
