#include "lineage/access.h"

#include <string.h>

#include "layout/number.h"

/** Where nothing is known. */
static const cebus_iteration nothing;

/** What a value takes in memory. */
static uint64_t block_bytes(const cebus_access_log *log, const cebus_value *value)
{
    return cebus_align_up(value->bytes, log->unit);
}

static bool is_known(const cebus_access_log *log, uint32_t place)
{
    return place != CEBUS_REFERENCE_NONE && log->known.at[place].iteration.n_calls > 0;
}

/** What came after the last whole iteration before; else that again; else what was used last. */
static uint32_t predict(const cebus_access_log *log)
{
    const cebus_reference *all = log->known.at;
    uint32_t best = log->last;
    if (is_known(log, log->last) && is_known(log, all[log->last].next))
        return all[log->last].next;
    for (uint32_t i = 0; !is_known(log, log->last) && i < log->known.end; i++) {
        if (is_known(log, i) && (!is_known(log, best) || all[i].used > all[best].used))
            best = i;
    }
    return is_known(log, best) ? best : CEBUS_REFERENCE_NONE;
}

/** An iteration begins. */
static void begin(cebus_access_log *log)
{
    log->place = predict(log);
    log->following = log->place != CEBUS_REFERENCE_NONE;
    log->recording = !log->following;
    log->reference = log->following ? &log->known.at[log->place].iteration : &nothing;
    log->before = log->named;
    log->at = 0;
    log->prefix = 0;
    log->left = CEBUS_REFERENCE_NONE;
    if (log->live != NULL)
        memset(log->live, 0, log->n_live * sizeof *log->live);
}

void cebus_access_init(cebus_access_log *log, cebus_pool *pool, uint64_t named)
{
    *log =
        (cebus_access_log){.pool = pool, .unit = 1, .named = named, .last = CEBUS_REFERENCE_NONE};
    cebus_reference_init(&log->known, pool);
    cebus_iteration_init(&log->learning, pool);
    begin(log);
}

static void free_live(cebus_access_log *log)
{
    cebus_pool_free_object(log->pool, log->live, log->n_live * sizeof *log->live);
    log->live = NULL;
    log->n_live = 0;
}

void cebus_access_deinit(cebus_access_log *log)
{
    free_live(log);
    cebus_reference_deinit(&log->known);
    cebus_iteration_clear(&log->learning);
    log->reference = &nothing;
}

static void drop_bearer(cebus_access_log *log, const cebus_value *value)
{
    uint32_t ordinal = cebus_access_ordinal(log, value);
    if (ordinal < log->n_live && log->live[ordinal] == value)
        log->live[ordinal] = NULL;
}

static void give_name(cebus_access_log *log, cebus_value *value)
{
    drop_bearer(log, value);
    value->name = ++log->named;
    uint32_t ordinal = cebus_access_ordinal(log, value);
    if (log->following && ordinal < log->n_live)
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

uint32_t cebus_access_born(const cebus_access_log *log, const cebus_value *value)
{
    const cebus_iteration *now = log->following ? log->reference : &log->learning;
    uint32_t ordinal = cebus_access_ordinal(log, value);
    return ordinal < now->n_values ? now->values[ordinal].born : CEBUS_ITERATION_NONE;
}

static bool is_kept(const cebus_access *access, uint32_t j)
{
    return (access->kept >> j) & 1;
}

static bool is_alike(const cebus_iteration_call *call, const cebus_access *access)
{
    return call->signature == access->signature && call->n_in == access->n_in &&
           call->n_out == access->n_out &&
           (call->op == access->op || strcmp(call->op, access->op) == 0);
}

/** Whether the call may be the record's next, by what is known before it is made. */
static bool may_agree(const cebus_access_log *log, const cebus_iteration *record,
                      const cebus_access *access)
{
    if (log->at >= record->n_calls || !is_alike(&record->calls[log->at], access))
        return false;
    const uint32_t *refs = &record->refs[record->calls[log->at].refs];
    uint32_t fresh = cebus_access_next_ordinal(log);
    for (uint32_t i = 0; i < access->n_in; i++) {
        const cebus_value *value = access->in[i];
        uint32_t ordinal = value != NULL ? cebus_access_ordinal(log, value) : CEBUS_ITERATION_NONE;
        bool is_new = value != NULL && ordinal == CEBUS_ITERATION_NONE;
        if (is_new ? refs[i] < fresh || refs[i] == CEBUS_ITERATION_NONE : refs[i] != ordinal)
            return false;
        if (value != NULL && block_bytes(log, value) != record->values[refs[i]].bytes)
            return false;
    }
    return true;
}

/** Whether the call is the record's next. Inputs that are new get their names. */
static bool agrees(cebus_access_log *log, const cebus_iteration *record, const cebus_access *access)
{
    if (log->at >= record->n_calls || !is_alike(&record->calls[log->at], access))
        return false;
    const uint32_t *refs = &record->refs[record->calls[log->at].refs];
    for (uint32_t i = 0; i < access->n_in; i++) {
        uint32_t ordinal = name_input(log, access->in[i]);
        if (ordinal != refs[i] ||
            (ordinal != CEBUS_ITERATION_NONE &&
             block_bytes(log, access->in[i]) != record->values[ordinal].bytes))
            return false;
    }
    uint32_t fresh = cebus_access_next_ordinal(log);
    for (uint32_t j = 0; j < access->n_out; j++) {
        uint32_t ordinal = is_kept(access, j) ? cebus_access_ordinal(log, access->out[j]) : fresh++;
        if (ordinal != refs[access->n_in + j] ||
            block_bytes(log, access->out[j]) != record->values[ordinal].bytes)
            return false;
    }
    return true;
}

/** Whether the record begins with the first n calls of the reference. */
static bool begins_alike(const cebus_access_log *log, const cebus_iteration *record, uint32_t n)
{
    return record->n_calls >= n &&
           (n == 0 || record->calls[n - 1].prefix == log->reference->calls[n - 1].prefix);
}

/** The record, of those that began as the reference did, that goes on with the call: of several the
 * one that was used last. NONE: none does. Inputs that are new get their names if it was made. */
static uint32_t find_branch(cebus_access_log *log, const cebus_access *access, bool made)
{
    uint32_t best = CEBUS_REFERENCE_NONE;
    const cebus_reference *all = log->known.at;
    for (uint32_t i = 0; i < log->known.end; i++) {
        const cebus_iteration *record = &all[i].iteration;
        if (i == log->place || record->n_calls <= log->at ||
            (best != CEBUS_REFERENCE_NONE && all[i].used < all[best].used))
            continue;
        if (begins_alike(log, record, log->at) && may_agree(log, record, access) &&
            (!made || agrees(log, record, access)))
            best = i;
    }
    return best;
}

static void follow(cebus_access_log *log, uint32_t place)
{
    log->place = place;
    log->reference = &log->known.at[place].iteration;
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
    log->prefix = log->at > 0 ? log->reference->calls[log->at - 1].prefix : 0;
    log->recording = cebus_iteration_copy(log->reference, log->at, &log->learning);
    if (!log->recording)
        cebus_iteration_clear(&log->learning);
}

/** The reference does not go on with this call: another one does, or none. */
static void leave(cebus_access_log *log, const cebus_access *access, bool made)
{
    uint32_t branch = find_branch(log, access, made);
    if (branch == CEBUS_REFERENCE_NONE) {
        diverge(log);
        return;
    }
    follow(log, branch);
}

void cebus_access_expect(cebus_access_log *log, const cebus_access *access)
{
    log->left = log->following ? log->place : CEBUS_REFERENCE_NONE;
    if (log->following && !may_agree(log, log->reference, access))
        leave(log, access, false);
}

void cebus_access_retract(cebus_access_log *log)
{
    if (log->left == CEBUS_REFERENCE_NONE)
        return;
    follow(log, log->left);
    log->left = CEBUS_REFERENCE_NONE;
    log->following = true;
    stop_recording(log);
}

static bool reads_nothing_made(const cebus_access_log *log, const cebus_access *access)
{
    for (uint32_t i = 0; i < access->n_in; i++) {
        if (access->in[i] != NULL && cebus_access_born(log, access->in[i]) != CEBUS_ITERATION_NONE)
            return false;
    }
    return log->following || log->recording;
}

/** Whether the record begins with a call like this. */
static bool may_begin(const cebus_access_log *log, const cebus_iteration *record,
                      const cebus_access *access)
{
    if (record->n_calls == 0 || !is_alike(&record->calls[0], access))
        return false;
    const uint32_t *refs = &record->refs[record->calls[0].refs];
    for (uint32_t i = 0; i < access->n_in; i++) {
        const cebus_value *value = access->in[i];
        if ((value == NULL) != (refs[i] == CEBUS_ITERATION_NONE) ||
            (value != NULL && block_bytes(log, value) != record->values[refs[i]].bytes))
            return false;
    }
    return true;
}

bool cebus_access_begins(cebus_access_log *log, const cebus_access *access)
{
    if (log->at == 0 || !reads_nothing_made(log, access))
        return false;
    if (log->following && (may_agree(log, log->reference, access) ||
                           find_branch(log, access, false) != CEBUS_REFERENCE_NONE))
        return false;
    if (log->following && may_begin(log, log->reference, access))
        return true;
    for (uint32_t i = 0; i < log->known.end; i++) {
        const cebus_reference *reference = &log->known.at[i];
        const cebus_iteration *record = &reference->iteration;
        if (record->n_calls == 0 || reference->writes)
            continue;
        if (!log->following && reference->confirmed && may_begin(log, record, access))
            return true;
        if (log->following && record->n_calls == log->at && begins_alike(log, record, log->at)) {
            follow(log, i);
            return true;
        }
    }
    return false;
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
        cebus_iteration_value value = {
            .bytes = access->in[i] != NULL ? block_bytes(log, access->in[i]) : 0,
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
        cebus_iteration_value value = {.bytes = block_bytes(log, access->out[j]),
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

/** A multiply and a shift a word: good enough to tell iterations apart. */
static uint64_t fold(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ (hash >> 32);
}

static uint64_t fold_name(uint64_t hash, const char *name)
{
    while (*name != '\0')
        hash = fold(hash, (unsigned char)*name++);
    return fold(hash, 0);
}

/** The prefix with the call just recorded. */
static uint64_t extend_prefix(const cebus_access_log *log, const cebus_access *access)
{
    const cebus_iteration *learning = &log->learning;
    uint64_t hash = fold_name(fold(log->prefix, access->signature), access->op);
    hash = fold(hash, (uint64_t)access->n_in << 32 | access->n_out);
    for (size_t i = learning->n_refs - access->n_in - access->n_out; i < learning->n_refs; i++) {
        const uint32_t ref = learning->refs[i];
        hash = fold(hash, ref);
        if (ref != CEBUS_ITERATION_NONE)
            hash = fold(hash, learning->values[ref].bytes);
    }
    return hash;
}

static bool record(cebus_access_log *log, const cebus_access *access)
{
    if (!record_inputs(log, access) || !record_outputs(log, access))
        return false;
    log->prefix = extend_prefix(log, access);
    cebus_iteration_call call = {.op = access->op,
                                 .cost_ns = access->cost_ns,
                                 .last_ns = access->cost_ns,
                                 .workspace = access->workspace,
                                 .signature = access->signature,
                                 .prefix = log->prefix,
                                 .n_in = (uint16_t)access->n_in,
                                 .n_out = (uint16_t)access->n_out};
    return cebus_iteration_add_call(&log->learning, &call);
}

void cebus_access_call(cebus_access_log *log, const cebus_access *access)
{
    log->left = CEBUS_REFERENCE_NONE;
    if (log->following && !agrees(log, log->reference, access))
        leave(log, access, true);
    if (log->following) {
        log->known.at[log->place].iteration.calls[log->at].last_ns = access->cost_ns;
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

void cebus_access_detach(cebus_access_log *log, const cebus_value *value)
{
    uint32_t ordinal = cebus_access_ordinal(log, value);
    if (log->recording && ordinal < log->learning.n_values)
        log->learning.values[ordinal].replayable = false;
}

void cebus_access_forget(cebus_access_log *log, const cebus_value *value)
{
    drop_bearer(log, value);
}

void cebus_access_persist(cebus_access_log *log, const cebus_value *value)
{
    if (log->known.count > 0 || cebus_access_born(log, value) == CEBUS_ITERATION_NONE)
        return;
    cebus_iteration_clear(&log->learning);
    begin(log);
}

/** Every ordinal of every record has its bearer. */
static bool make_live(cebus_access_log *log, size_t n_values)
{
    if (n_values <= log->n_live)
        return true;
    cebus_value **live = cebus_pool_alloc(log->pool, n_values * sizeof *live);
    if (live == NULL)
        return false;
    free_live(log);
    log->live = live;
    log->n_live = n_values;
    return true;
}

/** What was recorded becomes a reference; its place, or NONE. */
static uint32_t adopt(cebus_access_log *log, cebus_ending ending)
{
    cebus_iteration *learning = &log->learning;
    if (!cebus_iteration_seal(learning) || !make_live(log, learning->n_values))
        return CEBUS_REFERENCE_NONE;
    log->unproven++;
    return cebus_reference_admit(&log->known, learning, ending == CEBUS_ENDING_WRITES);
}

/** What was followed was the whole iteration: its place, or NONE. */
static uint32_t confirm(cebus_access_log *log)
{
    if (!cebus_access_is_whole(log))
        return CEBUS_REFERENCE_NONE;
    log->unproven = 0;
    log->known.at[log->place].confirmed = true;
    cebus_reference_touch(&log->known, log->place);
    return log->place;
}

bool cebus_access_end(cebus_access_log *log, cebus_ending ending)
{
    uint32_t ended = confirm(log);
    bool learns = log->recording && log->at > 0 && ending != CEBUS_ENDING_BROKEN;
    if (learns)
        ended = adopt(log, ending);
    cebus_iteration_clear(&log->learning);
    if (ended != CEBUS_REFERENCE_NONE) {
        if (log->last != CEBUS_REFERENCE_NONE)
            log->known.at[log->last].next = ended;
        log->last = ended;
    }
    begin(log);
    return learns && ended != CEBUS_REFERENCE_NONE;
}
