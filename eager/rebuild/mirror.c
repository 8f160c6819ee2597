#include "eager/rebuild/mirror.h"

#include <stdlib.h>
#include <string.h>

#include "eager/launch.h"
#include "eager/op.h"
#include "eager/rebuild/due.h"
#include "eager/rebuild/replay_call.h"
#include "layout/number.h"

#define NONE CEBUS_ITERATION_NONE

/** What an image makes takes this part of the bytes that its call reads and makes. */
#define MADE_PART 2
/** What nobody read for this part of the backward so far is not read before the end. */
#define FORGOTTEN 4

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
        qsort(m->calls, m->n_calls, sizeof(cebus_call *), cebus_call_by_serial);
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
        if (call->out[j] == NULL) {
            made.workspace += cebus_replay_call_waste(m->rt, call, j);
            continue;
        }
        ok = refer(m, call->out[j]);
        m->iteration.values[cebus_candidate_of(call->out[j])->foreseen - 1].born =
            (uint32_t)m->iteration.n_calls;
        made.n_out++;
    }
    made.workspace += ok ? cebus_launch_workspace(m->rt, call, entry->kernel) : 0;
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

/** A value that nothing in the backward is known to read now: something reads it once the images of
 * the calls after `due` have run. */
typedef struct wait {
    uint64_t due, serial;
    size_t number; /**< as they were found */
    cebus_value *value;
} wait;

typedef struct waits {
    wait *items; /**< the first to be read first */
    size_t count, capacity, at;
} waits;

/** What has been there for that long waits for as long again. */
static uint64_t due_by_age(const cebus_mirror *m, const cebus_value *value, uint64_t passed)
{
    uint64_t age = m->rt->lineage.made_calls - value->producer->serial;
    return passed > age ? passed - age : CEBUS_DUE_AT_END;
}

static bool is_forgotten(const cebus_mirror *m, const cebus_value *value, uint64_t due)
{
    uint64_t turn = m->rt->lineage.turn.serial, made = m->rt->lineage.made_calls;
    return m->guess == CEBUS_GUESS_FORGETFUL && due == CEBUS_DUE_AT_END &&
           value->consumers == NULL && made - value->producer->serial >= (made - turn) / FORGOTTEN;
}

static bool add_wait(cebus_mirror *m, waits *w, cebus_value *value, uint64_t passed)
{
    bool is_known = m->due != NULL && is_late(m, value);
    uint64_t due = is_known ? m->due[cebus_candidate_of(value)->foreseen - 1] : UINT64_MAX;
    if (due > passed)
        due = due_by_age(m, value, passed);
    if (is_forgotten(m, value, due))
        return true;
    void *items = w->items;
    if (!cebus_pool_grow(&m->rt->pool, &items, &w->capacity, w->count, sizeof *w->items))
        return false;
    w->items = items;
    w->items[w->count] = (wait){due, value->producer->serial, w->count, value};
    w->count++;
    return true;
}

/** Of those due at once the youngest. */
static int by_due(const void *left, const void *right)
{
    const wait *a = left, *b = right;
    if (a->due != b->due)
        return a->due < b->due ? 1 : -1;
    if (a->serial != b->serial)
        return a->serial < b->serial ? 1 : -1;
    return a->number < b->number ? -1 : 1;
}

/** All that calls since `passed` made, and somebody holds. */
static bool find_waits(cebus_mirror *m, waits *w, uint64_t passed)
{
    bool ok = true;
    for (size_t k = 0; k < m->n_calls && ok; k++) {
        const cebus_call *call = m->calls[k];
        for (uint32_t j = 0; j < call->n_out && ok && call->serial > passed; j++) {
            cebus_value *value = call->out[j];
            if (is_held(value) && (value->resident || is_late(m, value)))
                ok = add_wait(m, w, value, passed);
        }
    }
    if (ok && w->count > 0)
        qsort(w->items, w->count, sizeof *w->items, by_due);
    return ok;
}

/** Those that wait for the image of a call, or should have been read before. */
static bool read_waits(cebus_mirror *m, waits *w, uint64_t serial)
{
    bool ok = true;
    for (; w->at < w->count && w->items[w->at].due >= serial && ok; w->at++)
        ok = refer(m, w->items[w->at].value) && add_guess(m, &(guess){.op = "wait", .reads = 1});
    return ok;
}

/** Gradients that went are made together: each takes most of the backward to make. */
static bool add_gone(cebus_mirror *m, const cebus_call *call)
{
    bool ok = true;
    for (uint32_t j = 0; j < call->n_out && ok; j++) {
        cebus_value *value = call->out[j];
        if (is_late(m, value) && !value->resident && value->pins == 0)
            ok = refer(m, value) && add_guess(m, &(guess){.op = "wait", .reads = 1});
    }
    return ok;
}

static bool add_now(cebus_mirror *m)
{
    uint32_t pinned = 0;
    bool ok = add_guess(m, &(guess){.op = "known"});
    for (size_t k = 0; k < m->n_calls && ok && m->guess == CEBUS_GUESS_BY_AGE; k++)
        ok = add_gone(m, m->calls[k]);
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

/** The images, and in between what waits for them. */
static bool add_images(cebus_mirror *m, waits *w, uint64_t passed)
{
    bool ok = true;
    for (size_t k = m->n_calls; k-- > 0 && ok;) {
        const cebus_call *call = m->calls[k];
        if (call->serial <= passed)
            ok = read_waits(m, w, call->serial) && add_image(m, call);
    }
    return ok && read_waits(m, w, CEBUS_DUE_AT_END);
}

static bool find_dues(cebus_mirror *m)
{
    if (m->guess == CEBUS_GUESS_BY_AGE)
        return true;
    m->due = cebus_pool_alloc(&m->rt->pool, m->values_capacity * sizeof *m->due);
    if (m->due == NULL)
        return false;
    memset(m->due, 0, m->values_capacity * sizeof *m->due);
    cebus_dues_find(&(cebus_dues){m->calls, m->n_calls, m->rt->lineage.turn.serial, m->due});
    return true;
}

static bool add_future(cebus_mirror *m, uint64_t passed)
{
    waits w = {0};
    bool ok = find_dues(m) && find_waits(m, &w, passed) && add_images(m, &w, passed);
    cebus_pool_free_object(&m->rt->pool, w.items, w.capacity * sizeof *w.items);
    return ok;
}

void cebus_mirror_init(cebus_mirror *mirror, cebus_runtime *rt)
{
    *mirror = (cebus_mirror){.rt = rt};
    cebus_iteration_init(&mirror->iteration, &rt->pool);
}

bool cebus_mirror_draw(cebus_mirror *mirror, uint64_t passed, cebus_guess by)
{
    mirror->room = cebus_arena_free_bytes(&mirror->rt->arena);
    mirror->guess = by;
    return collect(mirror) && record_past(mirror) && add_now(mirror) &&
           add_future(mirror, passed) && cebus_iteration_seal(&mirror->iteration);
}

void cebus_mirror_relax(cebus_mirror *mirror)
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
    if (mirror->due != NULL)
        cebus_pool_free_object(pool, mirror->due, mirror->values_capacity * sizeof *mirror->due);
    cebus_pool_free_object(pool, mirror->calls, mirror->calls_capacity * sizeof(cebus_call *));
    cebus_mirror_init(mirror, mirror->rt);
}
