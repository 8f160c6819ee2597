/**
 * trace_json.c: one line of a trace as a JSON object, and what its members hold.
 */
#include <errno.h>
#include <string.h>

#include "lineage/trace_source.h"

static bool is_blank(const char *line, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        if (line[i] != ' ' && line[i] != '\t' && line[i] != '\r')
            return false;
    }
    return true;
}

bool cebus_trace_next_line(cebus_trace_source *source, const char **out, size_t *out_bytes,
                           bool *out_end)
{
    char text[128];
    *out_end = false;
    do {
        switch (cebus_trace_lines_next(&source->lines, out, out_bytes)) {
        case CEBUS_LINE_READ:
            break;
        case CEBUS_LINE_NONE:
            *out_end = true;
            return true;
        case CEBUS_LINE_TOO_LONG:
            return cebus_trace_refuse(source,
                                      "the line has more than %llu bytes, the limit; raise the "
                                      "limit of line_bytes if it is meant",
                                      (unsigned long long)source->bounds.line_bytes);
        case CEBUS_LINE_NO_MEMORY:
            return cebus_trace_no_memory(source);
        case CEBUS_LINE_FAILED:
            (void)cebus_trace_refuse(source, "reading failed: %s",
                                     strerror_r(source->lines.error, text, sizeof text));
            source->status = CEBUS_DEVICE_ERROR;
            return false;
        }
    } while (is_blank(*out, *out_bytes));
    if (source->items++ < source->bounds.items)
        return true;
    return cebus_trace_refuse(source,
                              "more than %llu lines with content, the limit for one file; raise "
                              "the limit of items if it is meant",
                              (unsigned long long)source->bounds.items);
}

/** A parser that fails without saying why had no memory. */
static bool refuse_json(cebus_trace_source *source, const json_error_t *error)
{
    if (error->text[0] == '\0' || json_error_code(error) == json_error_out_of_memory)
        return cebus_trace_no_memory(source);
    return cebus_trace_refuse(source, "not a JSON object: %s (column %d)", error->text,
                              error->column);
}

static bool parse(cebus_trace_source *source, const char *line, size_t bytes)
{
    json_error_t error;
    memset(&error, 0, sizeof error);
    source->root = json_loadb(line, bytes, JSON_REJECT_DUPLICATES, &error);
    if (source->root == NULL)
        return refuse_json(source, &error);
    if (!json_is_object(source->root))
        return cebus_trace_refuse(source,
                                  "the line is a list; each line must be one object, {...}");
    return true;
}

bool cebus_trace_read_object(cebus_trace_source *source, bool *out_end)
{
    const char *line;
    size_t bytes;
    json_decref(source->root);
    source->root = NULL;
    if (!cebus_trace_next_line(source, &line, &bytes, out_end))
        return false;
    return *out_end || parse(source, line, bytes);
}

void cebus_trace_members(const json_t *object, const char *const *names, size_t n, json_t **out)
{
    const char *key;
    json_t *value;
    memset(out, 0, n * sizeof *out);
    json_object_foreach((json_t *)object, key, value)
    {
        for (size_t k = 0; k < n; k++) {
            if (key[0] == names[k][0] && strcmp(key, names[k]) == 0)
                out[k] = value;
        }
    }
}

static const char *type_of(const json_t *json)
{
    switch (json_typeof(json)) {
    case JSON_OBJECT:
        return "an object";
    case JSON_ARRAY:
        return "a list";
    case JSON_STRING:
        return "a string";
    case JSON_INTEGER:
        return "an integer";
    case JSON_REAL:
        return "a number with a fraction or exponent";
    case JSON_TRUE:
    case JSON_FALSE:
        return "true or false";
    default:
        return "null";
    }
}

static bool refuse_type(cebus_trace_source *source, const json_t *json, const char *key,
                        const char *wanted)
{
    if (json == NULL)
        return cebus_trace_refuse(source, "the key \"%s\" is missing; it must be %s", key, wanted);
    return cebus_trace_refuse(source, "\"%s\" is %s; it must be %s", key, type_of(json), wanted);
}

/** Digits alone. False for anything else, and when the number does not fit. */
static bool parse_digits(const char *text, uint64_t *out)
{
    uint64_t number = 0;
    const char *at = text;
    for (; *at >= '0' && *at <= '9'; at++) {
        uint64_t digit = (uint64_t)(*at - '0');
        if (number > (UINT64_MAX - digit) / 10)
            return false;
        number = 10 * number + digit;
    }
    *out = number;
    return at != text && *at == '\0';
}

bool cebus_trace_number(cebus_trace_source *source, const json_t *json, const char *key,
                        uint64_t most, uint64_t *out)
{
    *out = 0;
    if (source->is_dtr && json_is_string(json)) {
        if (!parse_digits(json_string_value(json), out))
            return cebus_trace_refuse(source,
                                      "\"%s\" is \"%.40s\"; it must be a number of digits alone, "
                                      "below 2^64",
                                      key, json_string_value(json));
    } else if (!json_is_integer(json)) {
        return refuse_type(source, json, key, "an integer");
    } else if (json_integer_value(json) < 0) {
        return cebus_trace_refuse(source, "\"%s\" is %lld; it must not be negative", key,
                                  (long long)json_integer_value(json));
    } else {
        *out = (uint64_t)json_integer_value(json);
    }
    if (*out > most)
        return cebus_trace_refuse(source, "\"%s\" is %llu; at most %llu is allowed", key,
                                  (unsigned long long)*out, (unsigned long long)most);
    return true;
}

bool cebus_trace_text(cebus_trace_source *source, const json_t *json, const char *key,
                      const char **out)
{
    if (!json_is_string(json))
        return refuse_type(source, json, key, "a string");
    *out = json_string_value(json);
    if (**out == '\0')
        return cebus_trace_refuse(source, "\"%s\" is an empty string", key);
    return true;
}

bool cebus_trace_list(cebus_trace_source *source, const json_t *json, const char *key)
{
    return json_is_array(json) || refuse_type(source, json, key, "a list, [...]");
}

bool cebus_trace_flag(cebus_trace_source *source, const json_t *json, const char *key, bool *out)
{
    *out = json_is_true(json);
    return json == NULL || json_is_boolean(json) || refuse_type(source, json, key, "true or false");
}
