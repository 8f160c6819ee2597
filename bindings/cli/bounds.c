#include "bounds.h"

#include <math.h>
#include <stdlib.h>

#include "json.h"
#include "message.h"

/** Bytes by which two programs may round the same percentage differently. */
#define ROUNDING 4096

static bool read_point(const char *path, size_t i, const json_t *point, struct bound *out)
{
    const json_t *bytes = json_object_get(point, "budget_bytes");
    const json_t *overhead = json_object_get(point, "overhead");
    if (!json_is_integer(bytes) || json_integer_value(bytes) < 0) {
        complain_file(path, "point %zu: \"budget_bytes\" is not a number of bytes", i);
        return false;
    }
    if (!json_is_number(overhead) && !json_is_null(overhead)) {
        complain_file(path, "point %zu: \"overhead\" is neither a number nor null", i);
        return false;
    }
    out->budget_bytes = (uint64_t)json_integer_value(bytes);
    out->overhead = json_is_number(overhead) ? json_number_value(overhead) : NAN;
    return true;
}

static int by_budget(const void *a, const void *b)
{
    const struct bound *x = a, *y = b;
    return x->budget_bytes < y->budget_bytes ? -1 : x->budget_bytes > y->budget_bytes;
}

static bool read_points(const char *path, const json_t *root, struct bounds *out)
{
    const json_t *points = json_object_get(root, "points");
    if (json_integer_value(json_object_get(root, "cebus_bounds")) != 1 || !json_is_array(points)) {
        complain_file(path, "no bounds, {\"cebus_bounds\": 1, \"points\": [...]}; "
                            "tests/bench/lower_bound.py --json writes them");
        return false;
    }
    out->count = json_array_size(points);
    out->points = take(NULL, out->count, sizeof *out->points);
    for (size_t i = 0; i < out->count; i++) {
        if (!read_point(path, i, json_array_get(points, i), &out->points[i]))
            return false;
    }
    qsort(out->points, out->count, sizeof *out->points, by_budget);
    return true;
}

bool bounds_read(const char *path, struct bounds *out)
{
    *out = (struct bounds){0};
    json_t *root = json_read(path, 0);
    if (root == NULL)
        return false;
    bool good = read_points(path, root, out);
    json_decref(root);
    return good;
}

const struct bound *bounds_find(const struct bounds *bounds, uint64_t budget_bytes)
{
    for (size_t i = 0; i < bounds->count; i++) {
        uint64_t bytes = bounds->points[i].budget_bytes;
        uint64_t apart = bytes > budget_bytes ? bytes - budget_bytes : budget_bytes - bytes;
        if (apart < ROUNDING)
            return &bounds->points[i];
    }
    return NULL;
}

void bounds_free(struct bounds *bounds)
{
    free(bounds->points);
    *bounds = (struct bounds){0};
}
