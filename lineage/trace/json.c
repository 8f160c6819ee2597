/**
 * json.c: one line of a trace as a JSON object, and what its members hold.
 */
#include <string.h>

#include "lineage/error_text.h"
#include "lineage/trace/source.h"

/** What the parser's buffer for a token holds without growing, its end included. */
#define PARSER_BUFFER 16

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
                                     cebus_error_text(source->lines.error, text, sizeof text));
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

static size_t count_digits(long long number)
{
    size_t count = 1;
    for (; number > 9 || number < -9; number /= 10)
        count++;
    return count;
}

/** Characters of all strings, keys included, and digits of all integers in `json`. */
static size_t count_parsed(const json_t *json)
{
    size_t count = 0, i;
    const char *key;
    json_t *value;
    switch (json_typeof(json)) {
    case JSON_OBJECT:
        json_object_foreach((json_t *)json, key, value) count += strlen(key) + count_parsed(value);
        return count;
    case JSON_ARRAY:
        json_array_foreach(json, i, value) count += count_parsed(value);
        return count;
    case JSON_STRING:
        return json_string_length(json);
    case JSON_INTEGER:
        return count_digits((long long)json_integer_value(json));
    default:
        return 0;
    }
}

/** The same in the text; false where escapes and fractions make counting vain, and where no token
 * is long. */
static bool count_written(const char *line, size_t bytes, size_t *out)
{
    size_t count = 0, token = 0, longest = 0;
    bool in_string = false;
    for (size_t i = 0; i < bytes; i++) {
        bool digit = !in_string && line[i] >= '0' && line[i] <= '9';
        if (line[i] == '\\' ||
            (!in_string && (line[i] == '.' || (token > 0 && (line[i] | 32) == 'e'))))
            return false;
        if (line[i] == '"')
            in_string = !in_string;
        token = digit || (in_string && line[i] != '"') ? token + 1 : 0;
        count += token > 0;
        longest = token > longest ? token : longest;
    }
    *out = count;
    return longest + 2 > PARSER_BUFFER;
}

/**
 * The parser keeps a token in a buffer that grows. Where it cannot grow, jansson (2.14) leaves a
 * character out and goes on: what it made of the line must be as long as the line.
 */
static bool lost_characters(const char *line, size_t bytes, const json_t *root)
{
    size_t written;
    return count_written(line, bytes, &written) && written != count_parsed(root);
}

bool cebus_trace_parse(cebus_trace_source *source, const char *line, size_t bytes)
{
    json_error_t error;
    json_decref(source->root);
    memset(&error, 0, sizeof error);
    source->root = json_loadb(line, bytes, JSON_REJECT_DUPLICATES, &error);
    if (source->root == NULL)
        return refuse_json(source, &error);
    if (!json_is_object(source->root))
        return cebus_trace_refuse(source,
                                  "the line is a list; each line must be one object, {...}");
    return !lost_characters(line, bytes, source->root) || cebus_trace_no_memory(source);
}

bool cebus_trace_read_object(cebus_trace_source *source, bool *out_end)
{
    const char *line;
    size_t bytes;
    if (!cebus_trace_next_line(source, &line, &bytes, out_end))
        return false;
    return *out_end || cebus_trace_parse(source, line, bytes);
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
