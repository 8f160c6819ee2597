#include "profile_file.h"

#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "message.h"

/** A cost of the file. */
struct cost {
    const char *name;
    uint64_t hash, ns;
};

struct costs {
    const char *path;
    struct cost *list; /**< by name, then hash */
    size_t count;
};

static int compare(const void *a, const void *b)
{
    const struct cost *x = a, *y = b;
    int names = strcmp(x->name, y->name);
    if (names != 0)
        return names;
    return x->hash < y->hash ? -1 : x->hash > y->hash;
}

static bool refuse(const struct costs *costs, size_t entry, const char *what)
{
    complain_file(costs->path, "entry %zu of \"ops\": %s", entry, what);
    return false;
}

/** 1 to 16 hexadecimal digits. */
static bool read_hash(const char *text, uint64_t *out)
{
    size_t digits = strspn(text, "0123456789abcdefABCDEF");
    *out = strtoull(text, NULL, 16);
    return digits > 0 && digits <= 16 && text[digits] == '\0';
}

static bool read_entry(const struct costs *costs, size_t i, const json_t *entry, struct cost *out)
{
    const char *hash = json_string_value(json_object_get(entry, "hash"));
    const json_t *ns = json_object_get(entry, "cost_ns");
    out->name = json_string_value(json_object_get(entry, "name"));
    if (out->name == NULL)
        return refuse(costs, i, "\"name\" is not a string");
    if (hash == NULL || !read_hash(hash, &out->hash))
        return refuse(costs, i, "\"hash\" is not a string of 1 to 16 hexadecimal digits");
    if (!json_is_integer(ns) || json_integer_value(ns) < 0)
        return refuse(costs, i, "\"cost_ns\" is not a number of nanoseconds");
    out->ns = (uint64_t)json_integer_value(ns);
    return out->ns < UINT64_C(1) << 56 || refuse(costs, i, "\"cost_ns\" is more than two years");
}

static bool read_costs(struct costs *costs, const json_t *root)
{
    const json_t *ops = json_object_get(root, "ops");
    if (json_integer_value(json_object_get(root, "cebus_profile")) != 1 || !json_is_array(ops)) {
        complain_file(costs->path, "not a profile, {\"cebus_profile\": 1, \"ops\": [...]}; "
                                   "`cebus profile' writes one");
        return false;
    }
    costs->count = json_array_size(ops);
    costs->list = take(NULL, costs->count, sizeof *costs->list);
    for (size_t i = 0; i < costs->count; i++) {
        if (!read_entry(costs, i, json_array_get(ops, i), &costs->list[i]))
            return false;
    }
    qsort(costs->list, costs->count, sizeof *costs->list, compare);
    for (size_t i = 1; i < costs->count; i++) {
        if (compare(&costs->list[i - 1], &costs->list[i]) == 0) {
            complain_file(costs->path, "\"%.100s\" is listed twice with the same hash",
                          costs->list[i].name);
            return false;
        }
    }
    return true;
}

/** The costs of all ops must still have a sum. */
static bool apply(struct program *program, const struct costs *costs)
{
    uint64_t sum = 0;
    size_t found = 0;
    for (size_t o = 0; o < program->n_ops; o++) {
        struct program_op *op = &program->ops[o];
        struct cost key = {.name = program_op_name(program, op), .hash = op->hash};
        const struct cost *cost = NULL;
        if (op->hash != 0)
            cost = bsearch(&key, costs->list, costs->count, sizeof key, compare);
        if (cost != NULL) {
            op->cost_ns = cost->ns;
            found++;
        }
        sum += op->cost_ns;
        if (sum > UINT64_C(1) << 62) {
            complain_file(costs->path, "with these costs a pass takes longer than 146 years");
            return false;
        }
    }
    if (found == 0) {
        complain_file(costs->path,
                      "none of its ops is in %s: was it made from a trace of another program, or "
                      "from one without hashes?",
                      program->path);
        return false;
    }
    program_measure(program);
    return true;
}

bool profile_apply(struct program *program, const char *path)
{
    struct costs costs = {.path = path};
    if (path == NULL)
        return true;
    json_t *root = json_read(path, JSON_REJECT_DUPLICATES);
    if (root == NULL)
        return false;
    bool good = read_costs(&costs, root) && apply(program, &costs);
    free(costs.list);
    json_decref(root);
    return good;
}
