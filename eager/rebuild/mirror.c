#include "eager/rebuild/mirror.h"

#include <stdlib.h>

#include "eager/launch.h"
#include "eager/op.h"

#define NONE CEBUS_ITERATION_NONE

/** What an image makes takes this part of the bytes that its call reads and makes. */
#define MADE_PART 2

/** Whether its bytes are the plan's: others stay where they are. */
static bool counts(const cebus_value *value)
{
    const cebus_candidate *candidate = (const cebus_candidate *)value;
    return value->producer != NULL && candidate->exports == 0 && !candidate->gradient &&
           value->bytes > 0;
}

static bool is_held(const cebus_value *value)
{
    return value != NULL && value->holders > 0 && counts(value);
}

/** A gradient, as far as can be told. */
static bool is_late(const cebus_mirror *m, const cebus_value *value)
{
    return is_held(value) && value->producer->serial > m->rt->lineage.turn.serial;
}

/* ---- what ran ----------------------------------------------------------------------------- */

static bool add_call(cebus_mirror *m, cebus_call *call)
{
    void *calls = m->calls;
    if (call == NULL || call->mark == m->rt->lineage.epoch)
        return true;
    call->mark = m->rt->lineage.epoch;
    if (!cebus_pool_grow(&m->rt->pool, &calls, &m->calls_capacity, m->n_calls, sizeof *m->calls))
        return false;
    m->calls = calls;
    m->calls[m->n_calls++] = call;
    return true;
}

static bool name(cebus_mirror *m, cebus_value *value)
{
    cebus_candidate *candidate = cebus_candidate_of(value);
    void *values = m->values;
    bool mine = counts(value);
    cebus_iteration_value added = {.bytes =
                                       mine ? cebus_arena_rounded(&m->rt->arena, value->bytes) : 0,
                                   .born = NONE,
                                   .freed = NONE,
                                   .moved = NONE,
                                   .persistent = !mine,
                                   .absent = mine && !value->resident,
                                   .replayable = mine && !(value->resident && is_late(m, value))};
    if (!cebus_pool_grow(&m->rt->pool, &values, &m->values_capacity, m->iteration.n_values,
                         sizeof(cebus_value *)))
        return false;
    m->values = values;
    m->values[m->iteration.n_values] = value;
    if (!cebus_iteration_add_value(&m->iteration, &added))
        return false;
    candidate->foreseen = (uint32_t)m->iteration.n_values;
    m->room += mine && value->resident ? candidate->block->bytes : 0;
    return true;
}

/** Names a value, and adds the calls that made and read it. */
static bool add_value(cebus_mirror *m, cebus_value *value)
{
    if (value == NULL || cebus_candidate_of(value)->foreseen > 0)
        return true;
    bool ok = name(m, value) && add_call(m, value->producer);
    for (cebus_edge *edge = value->consumers; edge != NULL && ok; edge = edge->next)
        ok = add_call(m, edge->call);
    return ok;
}

static int by_serial(const void *left, const void *right)
{
    const cebus_call *a = *(cebus_call *const *)left, *b = *(cebus_call *const *)right;
    return a->serial < b->serial ? -1 : a->serial > b->serial;
}

/** All records that have to do with what is there, and with each other. */
static bool collect(cebus_mirror *m)
{
    bool ok = true;
    m->rt->lineage.epoch++;
    for (cebus_block *block = m->rt->arena.first; block != NULL && ok; block = block->next) {
        if (block->state != CEBUS_BLOCK_FREE && block->owner != NULL)
            ok = add_value(m, &((cebus_candidate *)block->owner)->value);
    }
    for (size_t k = 0; k < m->n_calls && ok; k++) {
        const cebus_call *call = m->calls[k];
        for (uint32_t i = 0; i < call->n_in && ok; i++)
            ok = add_value(m, call->in[i].value);
        for (uint32_t j = 0; j < call->n_out && ok; j++)
            ok = add_value(m, call->out[j]);
    }
    if (ok && m->n_calls > 0)
        qsort(m->calls, m->n_calls, sizeof(cebus_call *), by_serial);
    return ok;
}

static bool refer(cebus_mirror *m, cebus_value *value)
{
    return cebus_iteration_add_ref(&m->iteration,
                                   value != NULL ? cebus_candidate_of(value)->foreseen - 1 : NONE);
}

static bool record_call(cebus_mirror *m, const cebus_call *call)
{
    const cebus_op *op = call->op;
    cebus_op_entry *entry;
    bool ok = cebus_op_entry_find(m->rt, op, &entry) == CEBUS_OK;
    cebus_iteration_call made = {
        .op = op->name, .cost_ns = cebus_max_u64(call->cost_ns, 1), .n_in = (uint16_t)call->n_in};
    for (uint32_t i = 0; i < call->n_in && ok; i++)
        ok = refer(m, call->in[i].value);
    for (uint32_t j = 0; j < call->n_out && ok; j++) {
        if (call->out[j] == NULL)
            continue;
        ok = refer(m, call->out[j]);
        m->iteration.values[cebus_candidate_of(call->out[j])->foreseen - 1].born =
            (uint32_t)m->iteration.n_calls;
        made.n_out++;
    }
    made.workspace = ok ? cebus_launch_workspace(m->rt, call, entry->kernel) : 0;
    return ok && cebus_iteration_add_call(&m->iteration, &made);
}

static bool record_past(cebus_mirror *m)
{
    bool ok = true;
    for (size_t k = 0; k < m->n_calls && ok; k++)
        ok = record_call(m, m->calls[k]);
    m->iteration.past = (uint32_t)m->n_calls;
    return ok;
}

/* ---- what may follow ---------------------------------------------------------------------- */

typedef struct guess {
    const char *op;
    uint64_t cost_ns, workspace;
    uint32_t reads;
} guess;

static bool add_guess(cebus_mirror *m, const guess *made_up)
{
    cebus_iteration_call made = {.op = made_up->op,
                                 .cost_ns = cebus_max_u64(made_up->cost_ns, 1),
                                 .workspace = made_up->workspace,
                                 .n_in = (uint16_t)made_up->reads};
    return cebus_iteration_add_call(&m->iteration, &made);
}

/** Something reads what a call made and somebody holds: of what is gone gradients alone, of which
 * `now` takes those that it has to make. */
static bool add_waits(cebus_mirror *m, const cebus_call *call, bool now)
{
    bool ok = true;
    for (uint32_t j = 0; j < call->n_out && ok; j++) {
        cebus_value *value = call->out[j];
        if (!is_held(value) || !(now ? !value->resident && value->pins == 0 && is_late(m, value)
                                     : value->resident || is_late(m, value)))
            continue;
        ok = refer(m, value) && add_guess(m, &(guess){.op = "wait", .reads = 1});
    }
    return ok;
}

static bool add_now(cebus_mirror *m)
{
    uint32_t pinned = 0;
    bool ok = add_guess(m, &(guess){.op = "known"});
    for (size_t k = 0; k < m->n_calls && ok; k++)
        ok = add_waits(m, m->calls[k], true);
    for (size_t v = 0; v < m->iteration.n_values && ok; v++) {
        if (counts(m->values[v]) && m->values[v]->pins > 0) {
            ok = refer(m, m->values[v]);
            pinned++;
        }
    }
    m->now = (uint32_t)m->iteration.n_calls;
    return ok && add_guess(m, &(guess){.op = "now", .reads = pinned});
}

/** A call's image reads what it read and made and somebody still holds, and makes gradients. */
static bool add_image(cebus_mirror *m, const cebus_call *call)
{
    guess image = {.op = "image", .cost_ns = call->cost_ns};
    bool ok = true;
    for (uint32_t i = 0; i < call->n_in + call->n_out && ok; i++) {
        cebus_value *value = i < call->n_in ? call->in[i].value : call->out[i - call->n_in];
        image.workspace +=
            value != NULL ? cebus_arena_rounded(&m->rt->arena, value->bytes) / MADE_PART : 0;
        if (!is_held(value))
            continue;
        ok = refer(m, value);
        image.reads++;
    }
    return ok && (image.reads == 0 || add_guess(m, &image));
}

/** What calls since a serial made that waited for so many calls at most: the last ones of the first
 * *waiting. */
static bool add_waiting(cebus_mirror *m, uint64_t since, uint64_t most, size_t *waiting)
{
    const uint64_t made = m->rt->lineage.made_calls;
    bool ok = true;
    for (; *waiting > 0 && ok; --*waiting) {
        const cebus_call *call = m->calls[*waiting - 1];
        if (call->serial <= since || made - call->serial > most)
            break;
        ok = add_waits(m, call, false);
    }
    return ok;
}

/** The images, and in between what waits, each once it waited for as long again. */
static bool add_images(cebus_mirror *m, uint64_t passed)
{
    size_t waiting = m->n_calls;
    bool ok = true;
    for (size_t k = m->n_calls; k-- > 0 && ok;) {
        const cebus_call *call = m->calls[k];
        if (call->serial <= passed)
            ok = add_waiting(m, passed, passed - call->serial, &waiting) && add_image(m, call);
    }
    return ok && add_waiting(m, passed, UINT64_MAX, &waiting);
}

bool cebus_mirror_draw(cebus_mirror *mirror, cebus_runtime *rt, uint64_t passed)
{
    *mirror = (cebus_mirror){.rt = rt, .room = cebus_arena_free_bytes(&rt->arena)};
    cebus_iteration_init(&mirror->iteration, &rt->pool);
    return collect(mirror) && record_past(mirror) && add_now(mirror) &&
           add_images(mirror, passed) && cebus_iteration_seal(&mirror->iteration);
}

void cebus_mirror_ease(cebus_mirror *mirror)
{
    cebus_iteration *iteration = &mirror->iteration;
    for (size_t v = 0; v < iteration->n_values; v++)
        iteration->values[v].replayable = !iteration->values[v].persistent;
    for (size_t k = iteration->past; k < iteration->n_calls; k++)
        iteration->calls[k].workspace = 0;
}

void cebus_mirror_clear(cebus_mirror *mirror)
{
    cebus_pool *pool = &mirror->rt->pool;
    for (size_t v = 0; v < mirror->iteration.n_values; v++)
        cebus_candidate_of(mirror->values[v])->foreseen = 0;
    cebus_iteration_clear(&mirror->iteration);
    cebus_pool_free_object(pool, mirror->values, mirror->values_capacity * sizeof(cebus_value *));
    cebus_pool_free_object(pool, mirror->calls, mirror->calls_capacity * sizeof(cebus_call *));
}
