/**
 * cebus.c: the project's own traces; <cebus/trace.h> describes them.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lineage/trace/source.h"

enum key {
    KEY_TRACE,
    KEY_CONST,
    KEY_OP,
    KEY_FREE,
    KEY_MARK,
    KEY_BYTES,
    KEY_PERSISTENT,
    KEY_NAME,
    KEY_HASH,
    KEY_IN,
    KEY_OUT,
    KEY_COST,
    KEY_WORKSPACE,
    KEY_FLAGS,
    KEY_MACHINE,
    KEY_UNIT,
    KEY_COUNT
};

static const char *const keys[KEY_COUNT] = {
    "cebus_trace", "const", "op",  "free",    "mark",      "bytes", "persistent", "name",
    "hash",        "in",    "out", "cost_ns", "workspace", "flags", "machine",    "unit"};

/** The kind of a line is the one of the first five keys it has. */
static bool find_kind(cebus_trace_source *source, json_t *const *field, enum key *out)
{
    int found = 0;
    for (int k = KEY_TRACE; k <= KEY_MARK; k++) {
        if (field[k] != NULL) {
            found++;
            *out = (enum key)k;
        }
    }
    if (found == 1)
        return true;
    return cebus_trace_refuse(source, "%s of the keys const, op, free and mark; a line has one",
                              found == 0 ? "none" : "several");
}

bool cebus_trace_cebus_start(cebus_trace_source *source)
{
    bool end;
    uint64_t version;
    const char *text;
    json_t *field[KEY_COUNT];
    if (!cebus_trace_read_object(source, &end))
        return false;
    if (end)
        return cebus_trace_refuse(source, "the file is empty; a trace begins with the line "
                                          "{\"cebus_trace\": 1}");
    cebus_trace_members(source->root, keys, KEY_COUNT, field);
    if (field[KEY_TRACE] == NULL)
        return cebus_trace_refuse(source,
                                  "not a cebus trace, which begins with {\"cebus_trace\": 1}; "
                                  "a log of the DTR simulator is read as format dtr");
    if (!cebus_trace_number(source, field[KEY_TRACE], keys[KEY_TRACE], INT64_MAX, &version))
        return false;
    if (version != 1)
        return cebus_trace_refuse(source, "the trace is of version %" PRIu64 "; this is version 1",
                                  version);
    if (field[KEY_UNIT] != NULL) {
        if (!cebus_trace_text(source, field[KEY_UNIT], keys[KEY_UNIT], &text))
            return false;
        if (strcmp(text, "ns") != 0)
            return cebus_trace_refuse(source, "the unit is \"%s\"; costs must be in \"ns\"", text);
    }
    if (field[KEY_MACHINE] == NULL)
        return true;
    if (!cebus_trace_text(source, field[KEY_MACHINE], keys[KEY_MACHINE], &text))
        return false;
    snprintf(source->machine, sizeof source->machine, "%s", text);
    return true;
}

/** A value's number, not 0. */
static bool read_id(cebus_trace_source *source, const json_t *json, const char *key, uint64_t *out)
{
    if (!cebus_trace_number(source, json, key, INT64_MAX, out))
        return false;
    return *out > 0 || cebus_trace_refuse(source, "\"%s\" is 0; values count from 1", key);
}

static bool refuse_unusable(cebus_trace_source *source, uint64_t id, cebus_trace_state state,
                            const char *use)
{
    if (state == CEBUS_VALUE_FREED)
        return cebus_trace_refuse(source, "value %" PRIu64 " is %s, but it was freed before", id,
                                  use);
    return cebus_trace_refuse(source, "value %" PRIu64 " is %s before anything makes it", id, use);
}

static bool is_live(cebus_trace_state state)
{
    return state != CEBUS_VALUE_UNKNOWN && state != CEBUS_VALUE_FREED;
}

static bool refuse_second(cebus_trace_source *source, uint64_t id)
{
    for (size_t i = 0; i < source->n_in; i++) {
        if (source->in[i] == id)
            return cebus_trace_refuse(source,
                                      "a cycle: value %" PRIu64 " is an output of the op that "
                                      "reads it; a write in place has the flag mutates and "
                                      "alias_of",
                                      id);
    }
    return cebus_trace_refuse(source,
                              "value %" PRIu64 " is made a second time; ids are never "
                              "reused",
                              id);
}

/** A value that nothing made yet. */
static bool make_value(cebus_trace_source *source, uint64_t id, uint64_t bytes,
                       cebus_trace_state state)
{
    if (cebus_trace_values_find(&source->values, id) != NULL)
        return refuse_second(source, id);
    if (!cebus_trace_count_value(source, bytes))
        return false;
    return cebus_trace_values_add(&source->values, id, bytes, state) != NULL ||
           cebus_trace_no_memory(source);
}

static bool read_const(cebus_trace_source *source, json_t *const *field, cebus_entry *out)
{
    out->kind = CEBUS_ENTRY_CONST;
    return read_id(source, field[KEY_CONST], keys[KEY_CONST], &out->value) &&
           cebus_trace_number(source, field[KEY_BYTES], keys[KEY_BYTES], source->bounds.bytes,
                              &out->bytes) &&
           cebus_trace_flag(source, field[KEY_PERSISTENT], keys[KEY_PERSISTENT],
                            &out->persistent) &&
           make_value(source, out->value, out->bytes,
                      out->persistent ? CEBUS_VALUE_PERSISTENT : CEBUS_VALUE_LIVE);
}

static bool read_free(cebus_trace_source *source, json_t *const *field, cebus_entry *out)
{
    out->kind = CEBUS_ENTRY_FREE;
    if (!read_id(source, field[KEY_FREE], keys[KEY_FREE], &out->value))
        return false;
    cebus_trace_slot *slot = cebus_trace_values_find(&source->values, out->value);
    cebus_trace_state state = cebus_trace_slot_state(slot);
    if (!is_live(state))
        return refuse_unusable(source, out->value, state, "freed");
    if (state == CEBUS_VALUE_PERSISTENT)
        return cebus_trace_refuse(source,
                                  "value %" PRIu64 " is freed, but it is a persistent constant, "
                                  "which lives across iterations",
                                  out->value);
    source->live -= cebus_trace_slot_bytes(slot);
    cebus_trace_slot_set(slot, CEBUS_VALUE_FREED);
    return true;
}

static bool read_inputs(cebus_trace_source *source, const json_t *list)
{
    if (!cebus_trace_list(source, list, keys[KEY_IN]))
        return false;
    for (size_t i = 0; i < json_array_size(list); i++) {
        uint64_t id;
        if (!read_id(source, json_array_get(list, i), keys[KEY_IN], &id))
            return false;
        cebus_trace_state state =
            cebus_trace_slot_state(cebus_trace_values_find(&source->values, id));
        if (!is_live(state))
            return refuse_unusable(source, id, state, "read");
        if (!cebus_trace_push_in(source, id))
            return false;
    }
    return true;
}

static bool read_flags(cebus_trace_source *source, const json_t *list, uint32_t *out)
{
    static const char *const names[] = {"rng", "mutates", "nonreplayable"};
    static const uint32_t bits[] = {CEBUS_ENTRY_RNG, CEBUS_ENTRY_MUTATES,
                                    CEBUS_ENTRY_NONREPLAYABLE};
    if (list == NULL)
        return true;
    if (!cebus_trace_list(source, list, keys[KEY_FLAGS]))
        return false;
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *name;
        uint32_t bit = 0;
        if (!cebus_trace_text(source, json_array_get(list, i), keys[KEY_FLAGS], &name))
            return false;
        for (size_t k = 0; k < sizeof bits / sizeof *bits; k++)
            bit |= strcmp(name, names[k]) == 0 ? bits[k] : 0;
        if (bit == 0)
            return cebus_trace_refuse(source,
                                      "unknown flag \"%.40s\"; there are rng, mutates and "
                                      "nonreplayable",
                                      name);
        *out |= bit;
    }
    return true;
}

/** An output written over an input: a new value, or the same one where the input is a leaf. */
static bool write_output(cebus_trace_source *source, uint32_t flags,
                         const cebus_entry_output *output)
{
    uint64_t written = source->in[output->alias_of];
    cebus_trace_slot *slot = cebus_trace_values_find(&source->values, written);
    cebus_trace_state state = cebus_trace_slot_state(slot);
    if (!(flags & CEBUS_ENTRY_MUTATES))
        return cebus_trace_refuse(source, "an output has alias_of, but the op lacks the flag "
                                          "mutates; views are no outputs of their own");
    if (cebus_trace_slot_marked(slot) || state == CEBUS_VALUE_OVERWRITTEN)
        return cebus_trace_refuse(
            source, "value %" PRIu64 " is written, but it was overwritten before", written);
    if (output->bytes != cebus_trace_slot_bytes(slot))
        return cebus_trace_refuse(
            source, "an output of %" PRIu64 " bytes is written over value %" PRIu64 " of %" PRIu64,
            output->bytes, written, cebus_trace_slot_bytes(slot));
    cebus_trace_slot_mark(slot, true);
    if (output->value == written)
        return true;
    if (state == CEBUS_VALUE_PERSISTENT)
        return cebus_trace_refuse(source,
                                  "value %" PRIu64 " is a persistent constant; it keeps its "
                                  "number when it is written",
                                  written);
    cebus_trace_slot_set(slot, CEBUS_VALUE_OVERWRITTEN);
    return make_value(source, output->value, output->bytes, CEBUS_VALUE_LIVE);
}

static bool read_output(cebus_trace_source *source, const json_t *json, uint32_t flags)
{
    static const char *const names[] = {"value", "bytes", "alias_of"};
    json_t *field[3];
    uint64_t alias;
    cebus_entry_output output = {.alias_of = -1};
    if (!json_is_object(json))
        return cebus_trace_refuse(source, "\"out\" must list objects, {\"value\": ..., "
                                          "\"bytes\": ...}");
    cebus_trace_members(json, names, 3, field);
    if (!read_id(source, field[0], names[0], &output.value) ||
        !cebus_trace_number(source, field[1], names[1], source->bounds.bytes, &output.bytes))
        return false;
    if (field[2] != NULL && !(json_is_integer(field[2]) && json_integer_value(field[2]) == -1)) {
        if (!cebus_trace_number(source, field[2], names[2], INT32_MAX, &alias))
            return false;
        if (alias >= source->n_in)
            return cebus_trace_refuse(source,
                                      "alias_of is %" PRIu64 ", but the op has %zu inputs; the "
                                      "first has index 0",
                                      alias, source->n_in);
        output.alias_of = (int32_t)alias;
    }
    bool sound = output.alias_of >= 0
                     ? write_output(source, flags, &output)
                     : make_value(source, output.value, output.bytes, CEBUS_VALUE_LIVE);
    return sound && cebus_trace_push_out(source, output);
}

static bool read_outputs(cebus_trace_source *source, const json_t *list, uint32_t flags)
{
    if (!cebus_trace_list(source, list, keys[KEY_OUT]))
        return false;
    for (size_t j = 0; j < json_array_size(list); j++) {
        if (!read_output(source, json_array_get(list, j), flags))
            return false;
    }
    for (size_t j = 0; j < source->n_out; j++) {
        if (source->out[j].alias_of >= 0)
            cebus_trace_slot_mark(
                cebus_trace_values_find(&source->values, source->in[source->out[j].alias_of]),
                false);
    }
    return true;
}

static bool read_hash(cebus_trace_source *source, const json_t *json, uint64_t *out)
{
    const char *text;
    if (json == NULL)
        return true;
    if (!cebus_trace_text(source, json, keys[KEY_HASH], &text))
        return false;
    size_t digits = strspn(text, "0123456789abcdefABCDEF");
    if (text[digits] != '\0' || digits > 16)
        return cebus_trace_refuse(source, "\"hash\" must have 1 to 16 hexadecimal digits");
    for (; *text != '\0'; text++)
        *out = *out << 4 | (uint64_t)(*text <= '9' ? *text - '0' : (*text | 0x20) - 'a' + 10);
    return true;
}

static bool read_op(cebus_trace_source *source, json_t *const *field, cebus_entry *out)
{
    out->kind = CEBUS_ENTRY_OP;
    if (!cebus_trace_number(source, field[KEY_OP], keys[KEY_OP], INT64_MAX, &out->id) ||
        !cebus_trace_text(source, field[KEY_NAME], keys[KEY_NAME], &out->name) ||
        !read_hash(source, field[KEY_HASH], &out->hash) ||
        !cebus_trace_number(source, field[KEY_COST], keys[KEY_COST], INT64_MAX, &out->cost_ns) ||
        (field[KEY_WORKSPACE] != NULL &&
         !cebus_trace_number(source, field[KEY_WORKSPACE], keys[KEY_WORKSPACE],
                             source->bounds.bytes, &out->workspace)) ||
        !cebus_trace_count_cost(source, out->cost_ns) || !read_inputs(source, field[KEY_IN]) ||
        !read_flags(source, field[KEY_FLAGS], &out->flags) ||
        !read_outputs(source, field[KEY_OUT], out->flags))
        return false;
    out->in = source->in;
    out->n_in = source->n_in;
    out->out = source->out;
    out->n_out = source->n_out;
    return true;
}

bool cebus_trace_cebus_next(cebus_trace_source *source, cebus_entry *out, bool *out_end)
{
    json_t *field[KEY_COUNT];
    enum key kind = KEY_COUNT;
    if (!cebus_trace_read_object(source, out_end))
        return false;
    if (*out_end)
        return true;
    cebus_trace_members(source->root, keys, KEY_COUNT, field);
    if (!find_kind(source, field, &kind))
        return false;
    out->line = source->lines.number;
    switch (kind) {
    case KEY_CONST:
        return read_const(source, field, out);
    case KEY_OP:
        return read_op(source, field, out);
    case KEY_FREE:
        return read_free(source, field, out);
    case KEY_MARK:
        out->kind = CEBUS_ENTRY_MARK;
        return cebus_trace_number(source, field[KEY_MARK], keys[KEY_MARK], INT64_MAX, &out->id);
    default:
        return cebus_trace_refuse(source, "a second header; a trace has one, as its first line");
    }
}
