#include "program.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "file_start.h"
#include "message.h"

/** Inputs of all ops together: bounds what a file makes us keep. */
#define MAX_REFS ((size_t)1 << 27)

/** What loading must know of a storage. */
struct track {
    uint32_t last_read; /**< op; NO_INDEX: none */
    uint32_t listed;    /**< the op whose inputs have it already */
    bool freed;
};

/** An output that is written over an input. */
struct write {
    uint32_t op, old, fresh;
};

struct loader {
    struct program *program;
    struct id_map values; /**< to storages */
    struct id_map names;  /**< hashes to names */
    struct id_map forms;
    struct track *tracks;
    size_t tracks_room;
    struct write *writes;
    size_t n_writes, writes_room;
    cebus_trace_item item;
};

static bool refuse(const struct loader *loader, uint64_t line, const char *what)
{
    complain_file(loader->program->path, "line %" PRIu64 ": %s", line, what);
    return false;
}

static uint64_t hash_text(const char *text)
{
    uint64_t hash = UINT64_C(14695981039346656037); /* FNV-1a */
    for (; *text != '\0'; text++)
        hash = (hash ^ (unsigned char)*text) * UINT64_C(1099511628211);
    return hash;
}

static uint32_t name_of(struct loader *loader, const char *text)
{
    struct program *program = loader->program;
    uint64_t hash = hash_text(text);
    for (;; hash++) {
        uint32_t found = hash != 0 ? id_map_find(&loader->names, hash) : NO_INDEX;
        if (found != NO_INDEX && strcmp(program->names[found], text) == 0)
            return found;
        if (found == NO_INDEX && hash != 0)
            break;
    }
    uint32_t index = (uint32_t)program->n_names;
    program->names =
        take_more(program->names, &program->names_room, program->n_names, sizeof *program->names);
    program->names[program->n_names++] = take_text(text);
    id_map_set(&loader->names, hash, index);
    return index;
}

static uint32_t add_storage(struct loader *loader, uint64_t value, uint64_t bytes, uint32_t maker)
{
    struct program *program = loader->program;
    uint32_t index = (uint32_t)program->n_storages++;
    program->storages =
        take_more(program->storages, &program->storages_room, index, sizeof *program->storages);
    loader->tracks = take_more(loader->tracks, &loader->tracks_room, index, sizeof(struct track));
    program->storages[index] = (struct program_storage){
        .bytes = bytes, .value = value, .line = loader->item.line, .maker = maker};
    loader->tracks[index] = (struct track){.last_read = NO_INDEX, .listed = NO_INDEX};
    id_map_set(&loader->values, value, index);
    return index;
}

static void add_step(struct program *program, enum program_step_kind kind, size_t index)
{
    program->steps =
        take_more(program->steps, &program->steps_room, program->n_steps, sizeof *program->steps);
    program->steps[program->n_steps++] =
        (struct program_step){.kind = (unsigned)kind & 3, .index = (uint32_t)index & 0x3fffffff};
}

static void add_ref(struct program *program, uint32_t storage)
{
    program->refs =
        take_more(program->refs, &program->refs_room, program->n_refs, sizeof *program->refs);
    program->refs[program->n_refs++] = storage;
}

static bool load_const(struct loader *loader)
{
    const cebus_trace_item *item = &loader->item;
    uint32_t storage = add_storage(loader, item->value, item->bytes, NO_INDEX);
    loader->program->storages[storage].persistent = item->persistent;
    if (!item->persistent)
        add_step(loader->program, STEP_LEAF, storage);
    return true;
}

static bool load_free(struct loader *loader)
{
    uint32_t storage = id_map_find(&loader->values, loader->item.value);
    if (loader->program->storages[storage].persistent)
        return true;
    loader->tracks[storage].freed = true;
    add_step(loader->program, STEP_FREE, storage);
    return true;
}

/** Each storage once, in the order of the op's inputs. */
static void load_inputs(struct loader *loader, struct program_op *op)
{
    struct program *program = loader->program;
    uint32_t self = (uint32_t)program->n_ops;
    for (size_t i = 0; i < loader->item.n_in; i++) {
        uint32_t storage = id_map_find(&loader->values, loader->item.in[i]);
        struct track *track = &loader->tracks[storage];
        if (track->listed == self)
            continue;
        track->listed = self;
        if (!op->is_view)
            track->last_read = self;
        add_ref(program, storage);
        op->n_in++;
    }
}

static bool load_outputs(struct loader *loader, struct program_op *op)
{
    const cebus_trace_item *item = &loader->item;
    uint32_t self = (uint32_t)loader->program->n_ops;
    for (size_t j = 0; j < item->n_out; j++) {
        const cebus_trace_output *out = &item->out[j];
        uint32_t old =
            out->alias_of >= 0 ? id_map_find(&loader->values, item->in[out->alias_of]) : NO_INDEX;
        uint32_t fresh = old;
        if (old == NO_INDEX || out->value != item->in[out->alias_of])
            fresh = add_storage(loader, out->value, out->bytes, self);
        add_ref(loader->program, fresh);
        op->n_out++;
        if (old == NO_INDEX)
            continue;
        loader->writes = take_more(loader->writes, &loader->writes_room, loader->n_writes,
                                   sizeof *loader->writes);
        loader->writes[loader->n_writes++] = (struct write){self, old, fresh};
    }
    return true;
}

static bool load_op(struct loader *loader)
{
    struct program *program = loader->program;
    const cebus_trace_item *item = &loader->item;
    if (item->n_out > PROGRAM_MAX_OUTPUTS)
        return refuse(loader, item->line, "an op of more than 64 outputs cannot be replayed");
    if (program->n_refs + item->n_in > MAX_REFS)
        return refuse(loader, item->line, "the trace has more than 2^27 inputs in all");
    struct program_op op = {
        .cost_ns = item->cost_ns,
        .workspace = item->workspace,
        .hash = item->hash,
        .line = item->line,
        .first = program->n_refs,
        .name = name_of(loader, item->name),
        .replayable = !(item->flags & CEBUS_TRACE_NONREPLAYABLE),
        .is_view = item->n_out == 0 && program->format == CEBUS_TRACE_DTR,
    };
    load_inputs(loader, &op);
    load_outputs(loader, &op);
    program->ops = take_more(program->ops, &program->ops_room, program->n_ops, sizeof op);
    program->ops[program->n_ops] = op;
    add_step(program, STEP_OP, program->n_ops++);
    return true;
}

static bool load_item(struct loader *loader)
{
    switch (loader->item.kind) {
    case CEBUS_TRACE_CONST:
        return load_const(loader);
    case CEBUS_TRACE_OP:
        return load_op(loader);
    case CEBUS_TRACE_FREE:
        return load_free(loader);
    case CEBUS_TRACE_MARK:
        add_step(loader->program, STEP_MARK, 0);
        return true;
    }
    return true;
}

/** The mark of the pass's end comes after what lives until then was let go: replaying makes it. */
static void drop_last_marks(struct program *program)
{
    size_t kept = program->n_steps, end = kept;
    while (end > 0 && program->steps[end - 1].kind != STEP_OP &&
           program->steps[end - 1].kind != STEP_LEAF)
        end--;
    kept = end;
    for (size_t i = end; i < program->n_steps; i++) {
        if (program->steps[i].kind != STEP_MARK)
            program->steps[kept++] = program->steps[i];
    }
    program->n_steps = kept;
}

/** The old value of a write is gone once it is overwritten: nobody reads or keeps it. */
static bool is_last_read(const struct loader *loader, const struct write *write)
{
    const struct track *old = &loader->tracks[write->old];
    return write->old == write->fresh || (old->freed && old->last_read == write->op);
}

/** Moves the inputs that are written to the front, in the order of their outputs. */
static void front_written(struct program *program, struct program_op *op,
                          const struct write *writes, uint32_t n)
{
    uint32_t *in = program->refs + op->first;
    for (uint32_t k = 0; k < n; k++) {
        uint32_t i = k;
        while (in[i] != writes[k].old)
            i++;
        in[i] = in[k];
        in[k] = writes[k].old;
    }
    op->n_written = n;
}

/**
 * In place is all or nothing for an op: either every output is written over an input that nobody
 * needs any more, or all are made anew, as if the op had not been in place. A leaf keeps its
 * number when it is written: that cannot be done anew.
 */
static bool settle_writes(const struct loader *loader, const struct write *writes, uint32_t n)
{
    struct program *program = loader->program;
    struct program_op *op = &program->ops[writes->op];
    bool in_place = op->n_out == n, leaf = false;
    for (uint32_t k = 0; k < n; k++) {
        in_place = in_place && is_last_read(loader, &writes[k]);
        leaf = leaf || writes[k].old == writes[k].fresh;
    }
    if (in_place)
        front_written(program, op, writes, n);
    else if (leaf)
        return refuse(loader, op->line,
                      "the op writes a constant in place, and makes values as well or overwrites "
                      "one that is read later: that cannot be replayed as one call");
    return true;
}

static bool settle_all_writes(const struct loader *loader)
{
    for (size_t first = 0; first < loader->n_writes;) {
        size_t end = first;
        while (end < loader->n_writes && loader->writes[end].op == loader->writes[first].op)
            end++;
        if (!settle_writes(loader, &loader->writes[first], (uint32_t)(end - first)))
            return false;
        first = end;
    }
    return true;
}

static void find_form(struct loader *loader, struct program_op *op)
{
    struct program *program = loader->program;
    uint64_t key = ((uint64_t)op->name << 16 | op->n_out << 8 | op->n_written) + 1;
    uint64_t id = 2 * key + op->replayable;
    op->form = id_map_find(&loader->forms, id);
    if (op->form != NO_INDEX)
        return;
    op->form = (uint32_t)program->n_forms;
    program->forms =
        take_more(program->forms, &program->forms_room, program->n_forms, sizeof *program->forms);
    program->forms[program->n_forms++] = (struct program_form){.name = op->name,
                                                               .n_out = op->n_out,
                                                               .n_written = op->n_written,
                                                               .replayable = op->replayable};
    id_map_set(&loader->forms, id, op->form);
}

static bool read_items(struct loader *loader, cebus_trace_reader *reader)
{
    bool end = false;
    for (;;) {
        if (cebus_trace_reader_next(reader, &loader->item, &end) != CEBUS_OK) {
            complain("%s", cebus_last_error()->message);
            return false;
        }
        if (end)
            return true;
        if (!load_item(loader))
            return false;
    }
}

static bool load(struct loader *loader)
{
    struct program *program = loader->program;
    cebus_trace_reader *reader;
    if (cebus_trace_reader_open(program->path, program->format, NULL, &reader) != CEBUS_OK) {
        complain("%s", cebus_last_error()->message);
        return false;
    }
    const char *machine = cebus_trace_reader_machine(reader);
    size_t length = strnlen(machine, sizeof program->machine - 1);
    memcpy(program->machine, machine, length);
    bool good = read_items(loader, reader);
    cebus_trace_reader_close(reader);
    if (good && program->n_ops == 0) {
        complain_file(program->path, "there is no op in it: nothing to replay");
        good = false;
    }
    drop_last_marks(program);
    return good && settle_all_writes(loader);
}

static cebus_trace_format guess_format(const char *path)
{
    char start[4096];
    bool is_dtr = file_start(path, start, sizeof start) && strstr(start, "\"INSTRUCTION\"") != NULL;
    return is_dtr ? CEBUS_TRACE_DTR : CEBUS_TRACE_CEBUS;
}

bool program_load(struct program *program, const char *path, const char *format)
{
    *program = (struct program){.path = path};
    program->format = format == NULL               ? guess_format(path)
                      : strcmp(format, "dtr") == 0 ? CEBUS_TRACE_DTR
                                                   : CEBUS_TRACE_CEBUS;
    struct loader loader = {.program = program};
    bool good = load(&loader);
    for (size_t i = 0; good && i < program->n_ops; i++)
        find_form(&loader, &program->ops[i]);
    id_map_free(&loader.values);
    id_map_free(&loader.names);
    id_map_free(&loader.forms);
    free(loader.tracks);
    free(loader.writes);
    if (good)
        program_measure(program);
    return good;
}

void program_free(struct program *program)
{
    for (size_t i = 0; i < program->n_names; i++)
        free(program->names[i]);
    free(program->names);
    free(program->storages);
    free(program->ops);
    free(program->refs);
    free(program->forms);
    free(program->steps);
    *program = (struct program){0};
}
