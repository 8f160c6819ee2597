/**
 * program_figures.c: what a pass needs at least, told from the trace alone.
 *
 * Steps are ops in program order, and then the end, at which all that is not freed is there at
 * once. A value is needed at the op that makes it, at each op that reads it, and at the end if it
 * is not freed by then. The floor is the most, over all steps, of constants, the step's own needs,
 * and what nothing can make again between two steps that need it: a value behind an op that cannot
 * be repeated, or behind one that reads a constant which was written since. A runtime may still do
 * with less where it writes over bytes that the floor counts twice: what is proven leaves them out.
 */
#include <stdlib.h>
#include <string.h>

#include "message.h"
#include "program.h"

/** Curves over the steps, as changes: a value held in [a, b) adds at a, takes away at b. */
struct curves {
    uint64_t *constant; /**< constants that live */
    uint64_t *live;     /**< all other values that live */
    uint64_t *held;     /**< cannot be made again, but will be needed */
    uint64_t *need;     /**< what the step itself needs; not as changes */
    uint64_t *written;  /**< of need: new versions that may be written over the old; neither */
};

/** Of each storage. */
struct life {
    uint32_t start, end;  /**< steps [start, end) in which it lives */
    uint32_t last_needed; /**< step; NO_INDEX: none yet */
};

struct measure {
    const struct program *program;
    struct curves curves;
    struct life *lives;
    uint32_t *last_gap; /**< of each op: it can be repeated before this step, not later */
    uint32_t end;       /**< the step of the end */
};

static void hold(uint64_t *curve, uint32_t from, uint32_t to, uint64_t bytes)
{
    if (from >= to)
        return;
    curve[from] += bytes;
    curve[to] -= bytes;
}

static bool is_constant(const struct measure *m, uint32_t storage)
{
    return m->program->storages[storage].maker == NO_INDEX;
}

/** When each storage begins and stops to live. */
static void find_lives(struct measure *m)
{
    const struct program *program = m->program;
    uint32_t step = 0;
    for (size_t s = 0; s < program->n_storages; s++) {
        uint32_t maker = program->storages[s].maker;
        m->lives[s] = (struct life){
            .start = maker != NO_INDEX ? maker : 0, .end = m->end + 1, .last_needed = NO_INDEX};
    }
    for (size_t i = 0; i < program->n_steps; i++) {
        uint32_t index = program->steps[i].index;
        if (program->steps[i].kind == STEP_OP)
            step = index + 1;
        else if (program->steps[i].kind == STEP_LEAF)
            m->lives[index].start = step;
        else if (program->steps[i].kind == STEP_FREE)
            m->lives[index].end = step;
    }
}

/** Backwards: the first write of a constant, at the op or later, ends what was read of it. */
static void find_last_gaps(struct measure *m)
{
    const struct program *program = m->program;
    uint32_t *next_write = take(NULL, program->n_storages, sizeof *next_write);
    for (size_t s = 0; s < program->n_storages; s++)
        next_write[s] = m->end;
    for (size_t o = program->n_ops; o-- > 0;) {
        const struct program_op *op = &program->ops[o];
        const uint32_t *in = program_inputs(program, op);
        for (uint32_t i = 0; i < op->n_written; i++) {
            if (is_constant(m, in[i]) && in[i] == program_outputs(program, op)[i])
                next_write[in[i]] = (uint32_t)o;
        }
        m->last_gap[o] = op->replayable ? m->end : 0;
        for (uint32_t i = 0; i < op->n_in && op->replayable; i++) {
            if (is_constant(m, in[i]) && next_write[in[i]] < m->last_gap[o])
                m->last_gap[o] = next_write[in[i]];
        }
    }
    free(next_write);
}

/** A step needs a value: what was held since the step that needed it before can be told. */
static void require(struct measure *m, uint32_t storage, uint32_t step)
{
    struct life *life = &m->lives[storage];
    const struct program_storage *it = &m->program->storages[storage];
    if (it->maker == NO_INDEX)
        return;
    m->curves.need[step] += it->bytes;
    if (life->last_needed != NO_INDEX && life->last_needed != step) {
        uint32_t gap = m->last_gap[it->maker];
        uint32_t from = gap > it->maker ? gap : it->maker;
        if (from < life->last_needed + 1)
            from = life->last_needed + 1;
        hold(m->curves.held, from, step, it->bytes);
    }
    life->last_needed = step;
}

static void find_needs(struct measure *m)
{
    const struct program *program = m->program;
    for (uint32_t o = 0; o < m->end; o++) {
        const struct program_op *op = &program->ops[o];
        const uint32_t *in = program_inputs(program, op), *out = program_outputs(program, op);
        if (op->is_view)
            continue;
        m->curves.need[o] += op->workspace;
        for (uint32_t i = 0; i < op->n_in; i++)
            require(m, in[i], o);
        for (uint32_t j = 0; j < op->n_out; j++) {
            if (j < op->n_written && out[j] == in[j])
                continue;
            require(m, out[j], o);
            if (j < op->n_written)
                m->curves.written[o] += program->storages[out[j]].bytes;
        }
    }
    for (uint32_t s = 0; s < program->n_storages; s++) {
        if (m->lives[s].end == m->end + 1)
            require(m, s, m->end);
    }
}

static void add_lives(struct measure *m)
{
    const struct program *program = m->program;
    for (uint32_t s = 0; s < program->n_storages; s++)
        hold(is_constant(m, s) ? m->curves.constant : m->curves.live, m->lives[s].start,
             m->lives[s].end, program->storages[s].bytes);
}

static uint64_t most(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static void read_curves(const struct measure *m, struct program_figures *out)
{
    const struct program *program = m->program;
    uint64_t constant = 0, live = 0, held = 0;
    for (uint32_t step = 0; step <= m->end; step++) {
        constant += m->curves.constant[step];
        live += m->curves.live[step];
        held += m->curves.held[step];
        const struct program_op *op = step < m->end ? &program->ops[step] : NULL;
        uint64_t scratch = op != NULL && !op->is_view ? op->workspace : 0;
        uint64_t need = constant + m->curves.need[step];
        out->peak_bytes = most(out->peak_bytes, constant + live + scratch);
        out->swap_floor_bytes = most(out->swap_floor_bytes, need);
        out->floor_bytes = most(out->floor_bytes, need + held);
        if (need + held - m->curves.written[step] > out->proven_bytes) {
            out->proven_bytes = need + held - m->curves.written[step];
            out->proven_at = step;
        }
    }
}

static void add_sums(const struct program *program, struct program_figures *out)
{
    for (size_t o = 0; o < program->n_ops; o++) {
        out->compute_ns += program->ops[o].cost_ns;
        out->total_bytes += program->ops[o].workspace;
    }
    for (size_t s = 0; s < program->n_storages; s++) {
        out->total_bytes += program->storages[s].bytes;
        if (program->storages[s].persistent)
            out->persistent_bytes += program->storages[s].bytes;
    }
}

void program_measure(struct program *program)
{
    size_t n = program->n_ops + 2;
    uint64_t *curves = take(NULL, 5 * n, sizeof *curves);
    memset(curves, 0, 5 * n * sizeof *curves);
    struct measure m = {
        .program = program,
        .curves = {curves, curves + n, curves + 2 * n, curves + 3 * n, curves + 4 * n},
        .lives = take(NULL, program->n_storages, sizeof(struct life)),
        .last_gap = take(NULL, program->n_ops, sizeof(uint32_t)),
        .end = (uint32_t)program->n_ops,
    };
    program->figures = (struct program_figures){0};
    find_lives(&m);
    find_last_gaps(&m);
    find_needs(&m);
    add_lives(&m);
    add_sums(program, &program->figures);
    read_curves(&m, &program->figures);
    free(m.lives);
    free(m.last_gap);
    free(curves);
}
