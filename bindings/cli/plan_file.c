#include "plan_file.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "file_start.h"
#include "message.h"
#include "output.h"
#include "result.h"

/** Rows of a table in the file, at most: the arrays of a plan for the largest program. */
#define MAX_ROWS ((size_t)1 << 26)

/* --- writing --------------------------------------------------------------------------------- */

static void write_rows(FILE *to, const cebus_advice *plan)
{
    fprintf(to, "\"steps\": [");
    for (size_t i = 0; i < plan->n_steps; i++)
        fprintf(to, "%s[%" PRIu32 ", %d]", i > 0 ? ", " : "", plan->steps[i].call,
                plan->steps[i].again);
    fprintf(to, "],\n \"copies\": [");
    for (size_t i = 0; i < plan->n_copies; i++) {
        const cebus_advice_copy *c = &plan->copies[i];
        fprintf(to, "%s[%" PRIu32 ", %d, %" PRIu32 ", %" PRIu32 "]", i > 0 ? ", " : "", c->value,
                c->in, c->after, c->before);
    }
    fprintf(to, "],\n \"blocks\": [");
    for (size_t i = 0; i < plan->n_blocks; i++) {
        const cebus_advice_block *b = &plan->blocks[i];
        fprintf(to, "%s[%" PRId64 ", %" PRIu64 ", %" PRIu64 ", %d, %" PRIu32 ", %d, %" PRIu32 "]",
                i > 0 ? ", " : "", b->value == UINT32_MAX ? -1 : (int64_t)b->value, b->offset,
                b->bytes, b->born, b->born_at, b->dies, b->dies_at);
    }
    fprintf(to, "]}\n");
}

bool plan_file_write(const char *path, const char *machine, const struct plan_program *program,
                     const cebus_advice *plan)
{
    const bool to_stdout = strcmp(path, "-") == 0;
    struct output output = {0};
    if (!to_stdout && !output_open(&output, path))
        return false;
    FILE *to = to_stdout ? stdout : output.file;
    json_t *name = json_string(machine);
    char *text = name != NULL ? json_dumps(name, JSON_ENCODE_ANY) : NULL;
    fprintf(to,
            "{\"cebus_plan\": 1, \"machine\": %s, \"program\": \"%016" PRIx64
            "\",\n \"memory\": %" PRIu64 ", \"time_ns\": %" PRIu64 ", \"ideal_ns\": %" PRIu64
            ", \"height\": %" PRIu64 ",\n ",
            text != NULL ? text : "\"\"", cebus_advise_print(&program->program), plan->memory,
            plan->time_ns, plan->ideal_ns, plan->height);
    write_rows(to, plan);
    free(text);
    json_decref(name);
    return output_close(&output, true); /* main() looks whether standard output got there */
}

/* --- reading --------------------------------------------------------------------------------- */

/** A number of a table, from `least` to `most`; false: it is none. */
static bool read_cell(const json_t *row, size_t i, int64_t least, uint64_t most, uint64_t *out)
{
    const json_t *cell = json_array_get(row, i);
    const json_int_t number = json_integer_value(cell);
    *out = (uint64_t)number;
    return json_is_integer(cell) && number >= least && (number < 0 || (uint64_t)number <= most);
}

static bool read_numbers(const json_t *row, size_t n, uint64_t *out)
{
    if (!json_is_array(row) || json_array_size(row) != n)
        return false;
    for (size_t i = 0; i < n; i++) {
        if (!read_cell(row, i, i == 0 ? -1 : 0, INT64_MAX, &out[i]))
            return false;
    }
    return true;
}

static bool wrong_row(const char *path, const char *table, size_t row)
{
    complain_file(path, "\"%s\", row %zu: this is no row of a plan", table, row);
    return false;
}

/** The table of that name, and its length. */
static const json_t *find_table(const char *path, const json_t *root, const char *name, size_t *out)
{
    const json_t *table = json_object_get(root, name);
    *out = json_array_size(table);
    if (json_is_array(table) && *out <= MAX_ROWS)
        return table;
    complain_file(path, "\"%s\" is missing, no list, or too long", name);
    return NULL;
}

static bool read_steps(const char *path, const json_t *root, cebus_advice *plan)
{
    const json_t *table = find_table(path, root, "steps", &plan->n_steps);
    if (table == NULL)
        return false;
    plan->steps = take(NULL, plan->n_steps + 1, sizeof *plan->steps);
    for (size_t i = 0; i < plan->n_steps; i++) {
        uint64_t cells[2];
        if (!read_numbers(json_array_get(table, i), 2, cells) || cells[0] >= UINT32_MAX ||
            cells[1] > 1)
            return wrong_row(path, "steps", i);
        plan->steps[i] = (cebus_advice_step){.call = (uint32_t)cells[0], .again = cells[1] != 0};
    }
    return true;
}

static bool read_copies(const char *path, const json_t *root, cebus_advice *plan)
{
    const json_t *table = find_table(path, root, "copies", &plan->n_copies);
    if (table == NULL)
        return false;
    plan->copies = take(NULL, plan->n_copies + 1, sizeof *plan->copies);
    for (size_t i = 0; i < plan->n_copies; i++) {
        uint64_t cells[4];
        if (!read_numbers(json_array_get(table, i), 4, cells) || cells[0] >= UINT32_MAX ||
            cells[1] > 1 || cells[2] > UINT32_MAX || cells[3] > UINT32_MAX)
            return wrong_row(path, "copies", i);
        plan->copies[i] = (cebus_advice_copy){.value = (uint32_t)cells[0],
                                              .in = cells[1] != 0,
                                              .after = (uint32_t)cells[2],
                                              .before = (uint32_t)cells[3]};
    }
    return true;
}

static bool read_blocks(const char *path, const json_t *root, cebus_advice *plan)
{
    const json_t *table = find_table(path, root, "blocks", &plan->n_blocks);
    if (table == NULL)
        return false;
    plan->blocks = take(NULL, plan->n_blocks + 1, sizeof *plan->blocks);
    for (size_t i = 0; i < plan->n_blocks; i++) {
        uint64_t cells[7];
        if (!read_numbers(json_array_get(table, i), 7, cells) ||
            (cells[0] >= UINT32_MAX && cells[0] != UINT64_MAX) || cells[3] > CEBUS_ADVICE_COPY ||
            cells[4] > UINT32_MAX || cells[5] > CEBUS_ADVICE_COPY || cells[6] > UINT32_MAX)
            return wrong_row(path, "blocks", i);
        plan->blocks[i] = (cebus_advice_block){.value = (uint32_t)cells[0],
                                               .offset = cells[1],
                                               .bytes = cells[2],
                                               .born = (uint8_t)cells[3],
                                               .born_at = (uint32_t)cells[4],
                                               .dies = (uint8_t)cells[5],
                                               .dies_at = (uint32_t)cells[6]};
    }
    return true;
}

/** A number of the head, 0 or more. */
static bool read_head(const char *path, const json_t *root, const char *name, uint64_t *out)
{
    const json_t *number = json_object_get(root, name);
    *out = (uint64_t)json_integer_value(number);
    if (json_is_integer(number) && json_integer_value(number) >= 0)
        return true;
    complain_file(path, "\"%s\" is missing, or no number from 0", name);
    return false;
}

/** Whose plan it is. */
static bool read_origin(const char *path, const json_t *root, const struct plan_program *program,
                        struct plan_file *out)
{
    char wanted[32];
    const char *machine = json_string_value(json_object_get(root, "machine"));
    const char *print = json_string_value(json_object_get(root, "program"));
    if (json_integer_value(json_object_get(root, "cebus_plan")) != 1) {
        complain_file(path, "this is no plan: \"cebus_plan\" is not 1");
        return false;
    }
    if (machine == NULL || strlen(machine) >= sizeof out->machine) {
        complain_file(path, "\"machine\" is missing, no text, or too long");
        return false;
    }
    memcpy(out->machine, machine, strlen(machine) + 1);
    snprintf(wanted, sizeof wanted, "%016" PRIx64, cebus_advise_print(&program->program));
    if (print == NULL || strcmp(print, wanted) != 0) {
        complain_file(path, "this is a plan for another trace: \"program\" is not %s", wanted);
        return false;
    }
    return true;
}

static bool read_plan(const char *path, const json_t *root, const struct plan_program *program,
                      struct plan_file *out)
{
    cebus_advice *plan = &out->plan;
    return read_origin(path, root, program, out) &&
           read_head(path, root, "memory", &plan->memory) &&
           read_head(path, root, "time_ns", &plan->time_ns) &&
           read_head(path, root, "ideal_ns", &plan->ideal_ns) &&
           read_head(path, root, "height", &plan->height) && read_steps(path, root, plan) &&
           read_copies(path, root, plan) && read_blocks(path, root, plan);
}

/** Of a pipe it shows only here whose plan comes out of it. */
static void complain_unread(const char *path, const json_error_t *error)
{
    if (error->line <= 0)
        complain_file(path, "%s", error->text);
    else if (!file_is_regular(path))
        complain_file(path,
                      "no plan of `cebus advise' (line %d: %s); one of `cebus plan' is read "
                      "several times, so give it as a file",
                      error->line, error->text);
    else
        complain_file(path, "no plan, which is one object of JSON: line %d: %s", error->line,
                      error->text);
}

bool plan_file_read(const char *path, const struct plan_program *program, struct plan_file *out)
{
    json_error_t error;
    *out = (struct plan_file){0};
    json_t *root = strcmp(path, "-") == 0 ? json_loadf(stdin, JSON_REJECT_DUPLICATES, &error)
                                          : json_load_file(path, JSON_REJECT_DUPLICATES, &error);
    if (root == NULL) {
        complain_unread(path, &error);
        return false;
    }
    const bool ok = read_plan(path, root, program, out);
    json_decref(root);
    return ok;
}

void plan_file_free(struct plan_file *file)
{
    free(file->plan.steps);
    free(file->plan.copies);
    free(file->plan.blocks);
}
