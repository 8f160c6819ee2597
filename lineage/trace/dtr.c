/**
 * dtr.c: logs of the simulator published with DTR (Kirisame et al., ICLR'21), as entries.
 *
 * A log names tensors and counts names; a trace has values. A name refers to a value: what a
 * CONSTANT, or a result of a CALL that is no view, brought into being. A view (ALIAS >= 0), COPY
 * and COPY_FROM are one more name of a value; RELEASE is one less, and at none the value is freed.
 * MUTATE makes new values of the same size and gives them the names (out of place, as the
 * simulator takes it). Constants are persistent whatever becomes of their names.
 *
 * Everything up to ANNOTATE START is left out; a log without it counts whole. RELEASE of names
 * that are unknown, which were made before START, says nothing. Numbers may be strings of digits.
 */
#include <inttypes.h>
#include <string.h>

#include "lineage/trace/source.h"

enum key {
    KEY_INSTRUCTION,
    KEY_NAME,
    KEY_MEMORY,
    KEY_ALIAS,
    KEY_RESULT,
    KEY_ARGS,
    KEY_TIME,
    KEY_MUTATE,
    KEY_DST,
    KEY_SRC,
    KEY_ANNOTATION,
    KEY_COUNT
};

static const char *const keys[KEY_COUNT] = {"INSTRUCTION", "NAME", "MEMORY",    "ALIAS",
                                            "RESULT",      "ARGS", "TIME",      "MUTATE",
                                            "DST",         "SRC",  "ANNOTATION"};

/** One line: its members by key, and which instruction it is. */
typedef struct instruction {
    json_t *field[KEY_COUNT];
    const char *name;
} instruction;

static bool read_instruction(cebus_trace_source *source, instruction *out, bool *out_end)
{
    if (!cebus_trace_read_object(source, out_end))
        return false;
    if (*out_end)
        return true;
    cebus_trace_members(source->root, keys, KEY_COUNT, out->field);
    return cebus_trace_text(source, out->field[KEY_INSTRUCTION], keys[KEY_INSTRUCTION], &out->name);
}

static bool is(const instruction *line, const char *name)
{
    return strcmp(line->name, name) == 0;
}

/** The value `id`. */
static cebus_dtr_value *value_of(cebus_trace_source *source, uint64_t id)
{
    return &source->dtr.values[id - 1];
}

static bool make_value(cebus_trace_source *source, uint64_t bytes, bool persistent, uint64_t *out)
{
    cebus_dtr *dtr = &source->dtr;
    void *values = dtr->values;
    if (!cebus_trace_count_value(source, bytes) ||
        !cebus_trace_grow(source, &values, &dtr->capacity, dtr->count, sizeof *dtr->values))
        return false;
    dtr->values = values;
    dtr->values[dtr->count++] = (cebus_dtr_value){.bytes = bytes, .persistent = persistent};
    *out = dtr->count;
    return true;
}

/** One name less; at none the value is freed, which is told later. */
static bool drop_value(cebus_trace_source *source, uint64_t id)
{
    cebus_dtr *dtr = &source->dtr;
    cebus_dtr_value *value = value_of(source, id);
    if (--value->refs > 0 || value->persistent)
        return true;
    void *freed = dtr->freed;
    source->live -= value->bytes;
    if (!cebus_trace_grow(source, &freed, &dtr->freed_capacity, dtr->n_freed, sizeof *dtr->freed))
        return false;
    dtr->freed = freed;
    dtr->freed[dtr->n_freed++] = id;
    return true;
}

/** Gives a value a name that is new. */
static bool bind(cebus_trace_source *source, const char *name, uint64_t id)
{
    cebus_trace_table *names = &source->dtr.names;
    size_t length = strlen(name);
    if (cebus_trace_names_find(names, name, length) != NULL)
        return cebus_trace_refuse(source, "\"%.40s\" is made a second time; names are never reused",
                                  name);
    if (names->count >= source->bounds.items)
        return cebus_trace_refuse(source,
                                  "more than %" PRIu64 " names, the limit for one file; raise "
                                  "the limit of items if it is meant",
                                  source->bounds.items);
    if (cebus_trace_names_add(names, name, length, id) == NULL)
        return cebus_trace_no_memory(source);
    value_of(source, id)->refs++;
    return true;
}

/** The name in `json`, known. */
static bool find_name(cebus_trace_source *source, const json_t *json, const char *key,
                      cebus_trace_name **out)
{
    const char *name;
    if (!cebus_trace_text(source, json, key, &name))
        return false;
    *out = cebus_trace_names_find(&source->dtr.names, name, strlen(name));
    return *out != NULL ||
           cebus_trace_refuse(source, "\"%.40s\" is used before anything makes it", name);
}

/** The value a name refers to, alive. A name that was released will do while another holds it. */
static bool find_value(cebus_trace_source *source, const json_t *json, const char *key,
                       uint64_t *out)
{
    cebus_trace_name *name;
    if (!find_name(source, json, key, &name))
        return false;
    *out = name->value;
    const cebus_dtr_value *value = value_of(source, *out);
    return value->refs > 0 || value->persistent ||
           cebus_trace_refuse(source, "\"%.40s\" is used after it was released",
                              json_string_value(json));
}

/** The name in `json` refers to `id` from now on, and no longer to what it did. */
static bool rebind(cebus_trace_source *source, const json_t *json, const char *key, uint64_t id)
{
    cebus_trace_name *name;
    if (!find_name(source, json, key, &name))
        return false;
    if (name->released)
        return cebus_trace_refuse(source, "\"%.40s\" is written after it was released",
                                  json_string_value(json));
    uint64_t old = name->value;
    name->value = id;
    value_of(source, id)->refs++;
    return drop_value(source, old);
}

/** The next line must be `what`, of the tensor called `name`. */
static bool read_companion(cebus_trace_source *source, instruction *out, const char *what,
                           const char *name)
{
    bool end;
    const char *given;
    if (!read_instruction(source, out, &end))
        return false;
    if (end)
        return cebus_trace_refuse(source, "the file ends where a line %s of \"%.40s\" must follow",
                                  what, name);
    if (!is(out, what))
        return cebus_trace_refuse(source, "%.40s where a line %s of \"%.40s\" must follow",
                                  out->name, what, name);
    if (!cebus_trace_text(source, out->field[KEY_NAME], keys[KEY_NAME], &given))
        return false;
    return strcmp(given, name) == 0 ||
           cebus_trace_refuse(source, "%s of \"%.40s\" where that of \"%.40s\" must follow", what,
                              given, name);
}

static bool read_memory(cebus_trace_source *source, const char *name, uint64_t *out_bytes)
{
    instruction line;
    return read_companion(source, &line, "MEMORY", name) &&
           cebus_trace_number(source, line.field[KEY_MEMORY], keys[KEY_MEMORY],
                              source->bounds.bytes, out_bytes);
}

/** *out: an index into source->in, or -1. */
static bool read_alias(cebus_trace_source *source, const char *name, int64_t *out)
{
    instruction line;
    uint64_t index;
    *out = -1;
    if (!read_companion(source, &line, "ALIAS", name))
        return false;
    const json_t *json = line.field[KEY_ALIAS];
    if ((json_is_string(json) && strcmp(json_string_value(json), "-1") == 0) ||
        (json_is_integer(json) && json_integer_value(json) == -1))
        return true;
    if (!cebus_trace_number(source, json, keys[KEY_ALIAS], INT32_MAX, &index))
        return false;
    if (index >= source->n_in)
        return cebus_trace_refuse(source,
                                  "ALIAS is %" PRIu64 ", but the call has %zu arguments; the "
                                  "first has index 0, and -1 is none",
                                  index, source->n_in);
    *out = (int64_t)index;
    return true;
}

static bool read_constant(cebus_trace_source *source, const instruction *line, cebus_entry *out)
{
    const char *name;
    if (!cebus_trace_text(source, line->field[KEY_NAME], keys[KEY_NAME], &name))
        return false;
    json_t *kept = json_incref(source->root);
    bool sound = read_memory(source, name, &out->bytes) &&
                 make_value(source, out->bytes, true, &out->value) &&
                 bind(source, name, out->value);
    json_decref(kept);
    out->kind = CEBUS_ENTRY_CONST;
    out->persistent = true;
    return sound;
}

static bool read_arguments(cebus_trace_source *source, const json_t *list)
{
    if (!cebus_trace_list(source, list, keys[KEY_ARGS]))
        return false;
    for (size_t i = 0; i < json_array_size(list); i++) {
        uint64_t id;
        if (!find_value(source, json_array_get(list, i), keys[KEY_ARGS], &id) ||
            !cebus_trace_push_in(source, id))
            return false;
    }
    return true;
}

/** Name, time and arguments of a CALL or MUTATE. */
static bool read_op(cebus_trace_source *source, const instruction *line, cebus_entry *out)
{
    out->kind = CEBUS_ENTRY_OP;
    out->id = ++source->dtr.ops;
    return cebus_trace_text(source, line->field[KEY_NAME], keys[KEY_NAME], &out->name) &&
           cebus_trace_number(source, line->field[KEY_TIME], keys[KEY_TIME], CEBUS_TRACE_SUM_MAX,
                              &out->cost_ns) &&
           cebus_trace_count_cost(source, out->cost_ns) &&
           read_arguments(source, line->field[KEY_ARGS]);
}

/** What only makes views needs nothing: its inputs are left out. */
static void finish_op(cebus_trace_source *source, cebus_entry *out)
{
    out->in = source->in;
    out->n_in = source->n_out > 0 ? source->n_in : 0;
    out->out = source->out;
    out->n_out = source->n_out;
}

static bool read_result(cebus_trace_source *source, const json_t *json)
{
    const char *name;
    int64_t alias;
    uint64_t id;
    cebus_entry_output output = {.alias_of = -1};
    if (!cebus_trace_text(source, json, keys[KEY_RESULT], &name) ||
        !read_memory(source, name, &output.bytes) || !read_alias(source, name, &alias))
        return false;
    if (alias >= 0)
        return bind(source, name, source->in[alias]);
    if (!make_value(source, output.bytes, false, &id) || !bind(source, name, id))
        return false;
    output.value = id;
    return cebus_trace_push_out(source, output);
}

/** The call's own line stays source->root: its name is the entry's. */
static bool read_call(cebus_trace_source *source, const instruction *line, cebus_entry *out)
{
    json_t *results = line->field[KEY_RESULT];
    if (!cebus_trace_list(source, results, keys[KEY_RESULT]) || !read_op(source, line, out))
        return false;
    if (json_array_size(results) == 0)
        return cebus_trace_refuse(source, "the call has no RESULT; it must have one at least");
    json_t *call = json_incref(source->root);
    bool sound = true;
    for (size_t j = 0; j < json_array_size(results) && sound; j++)
        sound = read_result(source, json_array_get(results, j));
    json_decref(source->root);
    source->root = call;
    finish_op(source, out);
    return sound;
}

static bool read_mutate(cebus_trace_source *source, const instruction *line, cebus_entry *out)
{
    json_t *mutated = line->field[KEY_MUTATE], *arguments = line->field[KEY_ARGS];
    if (!read_op(source, line, out) || !cebus_trace_list(source, mutated, keys[KEY_MUTATE]))
        return false;
    for (size_t j = 0; j < json_array_size(mutated); j++) {
        uint64_t index;
        cebus_entry_output output = {.alias_of = -1};
        if (!cebus_trace_number(source, json_array_get(mutated, j), keys[KEY_MUTATE], INT32_MAX,
                                &index))
            return false;
        if (index >= source->n_in)
            return cebus_trace_refuse(source,
                                      "MUTATE lists %" PRIu64 ", but there are %zu arguments; the "
                                      "first has index 0",
                                      index, source->n_in);
        output.bytes = value_of(source, source->in[index])->bytes;
        if (!make_value(source, output.bytes, false, &output.value) ||
            !rebind(source, json_array_get(arguments, index), keys[KEY_ARGS], output.value) ||
            !cebus_trace_push_out(source, output))
            return false;
    }
    finish_op(source, out);
    return true;
}

static bool read_copy(cebus_trace_source *source, const instruction *line)
{
    const char *name;
    uint64_t id;
    return find_value(source, line->field[KEY_SRC], keys[KEY_SRC], &id) &&
           cebus_trace_text(source, line->field[KEY_DST], keys[KEY_DST], &name) &&
           bind(source, name, id);
}

static bool read_copy_from(cebus_trace_source *source, const instruction *line)
{
    uint64_t id;
    return find_value(source, line->field[KEY_SRC], keys[KEY_SRC], &id) &&
           rebind(source, line->field[KEY_DST], keys[KEY_DST], id);
}

static bool read_release(cebus_trace_source *source, const instruction *line)
{
    const char *text;
    if (!cebus_trace_text(source, line->field[KEY_NAME], keys[KEY_NAME], &text))
        return false;
    cebus_trace_name *name = cebus_trace_names_find(&source->dtr.names, text, strlen(text));
    if (name == NULL)
        return true;
    if (name->released)
        return cebus_trace_refuse(source, "\"%.40s\" is released a second time", text);
    name->released = true;
    return drop_value(source, name->value);
}

/** An instruction that only moves names. */
static bool read_reference(cebus_trace_source *source, const instruction *line)
{
    const char *text;
    if (is(line, "COPY"))
        return read_copy(source, line);
    if (is(line, "COPY_FROM"))
        return read_copy_from(source, line);
    if (is(line, "RELEASE"))
        return read_release(source, line);
    if (is(line, "ANNOTATE"))
        return cebus_trace_text(source, line->field[KEY_ANNOTATION], keys[KEY_ANNOTATION], &text);
    if (is(line, "MEMORY") || is(line, "ALIAS"))
        return cebus_trace_refuse(source, "%s without a CONSTANT or CALL right before it",
                                  line->name);
    return cebus_trace_refuse(source,
                              "unknown INSTRUCTION \"%.40s\"; there are ANNOTATE, CONSTANT, "
                              "MEMORY, CALL, ALIAS, MUTATE, COPY, COPY_FROM and RELEASE",
                              line->name);
}

/** Tells the next freed value; false when all were told. */
static bool tell_freed(cebus_trace_source *source, cebus_entry *out)
{
    cebus_dtr *dtr = &source->dtr;
    if (dtr->told == dtr->n_freed) {
        dtr->told = dtr->n_freed = 0;
        return false;
    }
    out->kind = CEBUS_ENTRY_FREE;
    out->line = source->lines.number;
    out->value = dtr->freed[dtr->told++];
    return true;
}

bool cebus_trace_dtr_next(cebus_trace_source *source, cebus_entry *out, bool *out_end)
{
    instruction line;
    while (!tell_freed(source, out)) {
        if (!read_instruction(source, &line, out_end))
            return false;
        if (*out_end)
            return true;
        out->line = source->lines.number;
        if (is(&line, "CONSTANT"))
            return read_constant(source, &line, out);
        if (is(&line, "CALL"))
            return read_call(source, &line, out);
        if (is(&line, "MUTATE"))
            return read_mutate(source, &line, out);
        if (!read_reference(source, &line))
            return false;
    }
    return true;
}

/** Lines before START are looked at only where the word is in them. */
static bool find_start(cebus_trace_source *source, const char *line, size_t bytes, bool *out_found)
{
    json_t *field[KEY_COUNT];
    *out_found = false;
    if (memmem(line, bytes, "START", 5) == NULL)
        return true;
    if (!cebus_trace_parse(source, line, bytes))
        return false;
    cebus_trace_members(source->root, keys, KEY_COUNT, field);
    const char *name = json_string_value(field[KEY_INSTRUCTION]);
    const char *annotation = json_string_value(field[KEY_ANNOTATION]);
    *out_found = name != NULL && strcmp(name, "ANNOTATE") == 0 && annotation != NULL &&
                 strcmp(annotation, "START") == 0;
    return true;
}

bool cebus_trace_dtr_start(cebus_trace_source *source)
{
    const char *line;
    size_t bytes;
    bool end = false, found = false;
    while (!end) {
        if (!cebus_trace_next_line(source, &line, &bytes, &end) ||
            (!end && !find_start(source, line, bytes, &found)))
            return false;
        if (found)
            return true;
    }
    if (source->items == 0)
        return cebus_trace_refuse(source, "the file is empty; a log has one instruction a line");
    source->items = 0;
    return cebus_trace_lines_rewind(&source->lines) ||
           cebus_trace_refuse(source, "no ANNOTATE START; a log without it must be given as a "
                                      "file, not through a pipe");
}

void cebus_trace_dtr_close(cebus_trace_source *source)
{
    cebus_host_allocator *host = &source->host;
    cebus_trace_table_deinit(&source->dtr.names);
    if (source->dtr.values != NULL)
        host->free(host->context, source->dtr.values);
    if (source->dtr.freed != NULL)
        host->free(host->context, source->dtr.freed);
}
