#include "lineage/access.h"

#include <string.h>

/** Iterations in a row that must leave a confirmed reference before it is replaced. */
#define STRIKES 2

void cebus_access_init(cebus_access_log *log, cebus_pool *pool, uint64_t named)
{
    *log = (cebus_access_log){.pool = pool, .named = named, .before = named, .recording = true};
    cebus_iteration_init(&log->reference, pool);
    cebus_iteration_init(&log->learning, pool);
}

static void free_live(cebus_access_log *log)
{
    cebus_pool_free_object(log->pool, log->live, log->reference.n_values * sizeof *log->live);
    log->live = NULL;
}

void cebus_access_deinit(cebus_access_log *log)
{
    free_live(log);
    cebus_iteration_clear(&log->reference);
    cebus_iteration_clear(&log->learning);
}

uint32_t cebus_access_ordinal(const cebus_access_log *log, const cebus_value *value)
{
    return value->name > log->before ? (uint32_t)(value->name - log->before - 1)
                                     : CEBUS_ITERATION_NONE;
}

/** Names count from 1 in each iteration: the next one to be given. */
static uint32_t next_ordinal(const cebus_access_log *log)
{
    return (uint32_t)(log->named - log->before);
}

static void drop_bearer(cebus_access_log *log, const cebus_value *value)
{
    uint32_t ordinal = cebus_access_ordinal(log, value);
    if (log->live != NULL && ordinal < log->reference.n_values && log->live[ordinal] == value)
        log->live[ordinal] = NULL;
}

static void give_name(cebus_access_log *log, cebus_value *value)
{
    drop_bearer(log, value);
    value->name = ++log->named;
    uint32_t ordinal = cebus_access_ordinal(log, value);
    if (log->following && ordinal < log->reference.n_values)
        log->live[ordinal] = value;
}

static uint32_t name_input(cebus_access_log *log, cebus_value *value)
{
    if (value == NULL)
        return CEBUS_ITERATION_NONE;
    if (cebus_access_ordinal(log, value) == CEBUS_ITERATION_NONE)
        give_name(log, value);
    return cebus_access_ordinal(log, value);
}

static bool is_kept(const cebus_access *access, uint32_t j)
{
    return (access->kept >> j) & 1;
}

static bool same_op(const char *a, const char *b)
{
    return a == b || strcmp(a, b) == 0;
}

/** Whether the call is the reference's next. Inputs that are new get their names. */
static bool agrees(cebus_access_log *log, const cebus_access *access)
{
    const cebus_iteration *reference = &log->reference;
    if (log->at >= reference->n_calls)
        return false;
    const cebus_iteration_call *call = &reference->calls[log->at];
    const uint32_t *refs = &reference->refs[call->refs];
    if (call->n_in != access->n_in || call->n_out != access->n_out ||
        !same_op(call->op, access->op))
        return false;
    for (uint32_t i = 0; i < access->n_in; i++) {
        uint32_t ordinal = name_input(log, access->in[i]);
        if (ordinal != refs[i] || (ordinal != CEBUS_ITERATION_NONE &&
                                   access->in[i]->bytes != reference->values[ordinal].bytes))
            return false;
    }
    uint32_t fresh = next_ordinal(log);
    for (uint32_t j = 0; j < access->n_out; j++) {
        uint32_t ordinal = is_kept(access, j) ? cebus_access_ordinal(log, access->out[j]) : fresh++;
        if (ordinal != refs[call->n_in + j] ||
            access->out[j]->bytes != reference->values[ordinal].bytes)
            return false;
    }
    return true;
}

static void stop_recording(cebus_access_log *log)
{
    log->recording = false;
    cebus_iteration_clear(&log->learning);
}

/** The program left the reference before this call: from here on it is recorded. */
static void diverge(cebus_access_log *log)
{
    log->following = false;
    log->recording = cebus_iteration_copy(&log->reference, log->at, &log->learning);
    if (!log->recording)
        cebus_iteration_clear(&log->learning);
}

/** Adds what is not yet in the record, then the reference to it. */
static bool record_ref(cebus_access_log *log, uint32_t ordinal, const cebus_iteration_value *value)
{
    cebus_iteration *learning = &log->learning;
    if (ordinal == learning->n_values && !cebus_iteration_add_value(learning, value))
        return false;
    return cebus_iteration_add_ref(learning, ordinal);
}

static bool record_inputs(cebus_access_log *log, const cebus_access *access)
{
    bool ok = true;
    for (uint32_t i = 0; i < access->n_in && ok; i++) {
        cebus_iteration_value value = {.bytes = access->in[i] != NULL ? access->in[i]->bytes : 0,
                                       .born = CEBUS_ITERATION_NONE,
                                       .freed = CEBUS_ITERATION_NONE,
                                       .moved = CEBUS_ITERATION_NONE,
                                       .persistent = access->persistent[i]};
        ok = record_ref(log, name_input(log, access->in[i]), &value);
    }
    return ok;
}

/** The in-place calls' inputs whose bytes the outputs take over, one after the other. */
static uint32_t next_mutated(uint64_t *mask)
{
    uint32_t i = (uint32_t)__builtin_ctzll(*mask);
    *mask &= *mask - 1;
    return i;
}

static bool record_outputs(cebus_access_log *log, const cebus_access *access)
{
    bool ok = true;
    uint64_t mutates = access->mutates;
    uint32_t first_in = (uint32_t)log->learning.n_refs - access->n_in;
    for (uint32_t j = 0; j < access->n_out && ok; j++) {
        uint32_t written = mutates != 0 ? next_mutated(&mutates) : CEBUS_ITERATION_NONE;
        cebus_iteration_value value = {.bytes = access->out[j]->bytes,
                                       .born = log->at,
                                       .freed = CEBUS_ITERATION_NONE,
                                       .moved = CEBUS_ITERATION_NONE,
                                       .replayable = access->replayable};
        if (!is_kept(access, j)) {
            if (written != CEBUS_ITERATION_NONE)
                log->learning.values[log->learning.refs[first_in + written]].moved = log->at;
            give_name(log, access->out[j]);
        }
        ok = record_ref(log, cebus_access_ordinal(log, access->out[j]), &value);
    }
    return ok;
}

static bool record(cebus_access_log *log, const cebus_access *access)
{
    cebus_iteration_call call = {.op = access->op,
                                 .cost_ns = access->cost_ns,
                                 .workspace = access->workspace,
                                 .n_in = (uint16_t)access->n_in,
                                 .n_out = (uint16_t)access->n_out};
    return record_inputs(log, access) && record_outputs(log, access) &&
           cebus_iteration_add_call(&log->learning, &call);
}

void cebus_access_call(cebus_access_log *log, const cebus_access *access)
{
    if (log->following && !agrees(log, access))
        diverge(log);
    if (log->following) {
        for (uint32_t j = 0; j < access->n_out; j++) {
            if (!is_kept(access, j))
                give_name(log, access->out[j]);
        }
    } else if (log->recording && !record(log, access)) {
        stop_recording(log);
    }
    if (log->at < UINT32_MAX)
        log->at++;
}

void cebus_access_release(cebus_access_log *log, const cebus_value *value)
{
    uint32_t ordinal = cebus_access_ordinal(log, value);
    if (log->recording && ordinal < log->learning.n_values)
        log->learning.values[ordinal].freed = log->at;
}

void cebus_access_read(cebus_access_log *log, const cebus_value *value)
{
    uint32_t ordinal = cebus_access_ordinal(log, value);
    if (log->recording && ordinal < log->learning.n_values)
        log->learning.values[ordinal].read = log->at;
}

void cebus_access_forget(cebus_access_log *log, const cebus_value *value)
{
    drop_bearer(log, value);
}

/** What was recorded becomes the reference. */
static bool adopt(cebus_access_log *log)
{
    cebus_iteration *learning = &log->learning;
    if (!cebus_iteration_seal(learning))
        return false;
    cebus_value **live = cebus_pool_alloc(log->pool, learning->n_values * sizeof *live);
    if (live == NULL)
        return false;
    free_live(log);
    cebus_iteration_clear(&log->reference);
    log->reference = *learning;
    log->live = live;
    cebus_iteration_init(learning, log->pool);
    log->confirmed = false;
    log->strikes = 0;
    return true;
}

bool cebus_access_mark(cebus_access_log *log)
{
    bool learned = false;
    if (log->following && log->at == log->reference.n_calls && log->at > 0) {
        log->confirmed = true;
        log->strikes = 0;
    }
    if (log->recording && log->at > 0)
        learned = (!log->confirmed || ++log->strikes >= STRIKES) && adopt(log);
    cebus_iteration_clear(&log->learning);
    log->before = log->named;
    log->at = 0;
    log->following = log->reference.n_calls > 0;
    log->recording = !log->following;
    if (log->live != NULL)
        memset(log->live, 0, log->reference.n_values * sizeof *log->live);
    return learned;
}
