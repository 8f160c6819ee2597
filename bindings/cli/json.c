#include "json.h"

#include <stdio.h>
#include <stdlib.h>

#include "message.h"

json_t *json_checked(json_t *value)
{
    if (value == NULL) {
        complain("no host memory for JSON");
        exit(EXIT_WRONG);
    }
    return value;
}

void json_put(json_t *object, const char *key, json_t *value)
{
    if (json_object_set_new(object, key, json_checked(value)) != 0)
        json_checked(NULL);
}

void json_put_number(json_t *object, const char *key, uint64_t number)
{
    json_put(object, key,
             json_integer(number < INT64_MAX ? (json_int_t)number : (json_int_t)INT64_MAX));
}

json_t *json_text(const char *text)
{
    json_t *value = text != NULL ? json_string(text) : json_null();
    return value != NULL ? value : json_string("(not UTF-8)");
}

void json_put_text(json_t *object, const char *key, const char *text)
{
    json_put(object, key, json_text(text));
}

json_t *json_read(const char *path, size_t flags)
{
    json_error_t error;
    json_t *root = json_load_file(path, flags, &error);
    if (root == NULL && error.line > 0)
        complain_file(path, "not a file of JSON: line %d: %s", error.line, error.text);
    else if (root == NULL)
        complain("%s", error.text);
    return root;
}

bool json_print_line(json_t *json)
{
    int failed = json_dumpf(json_checked(json), stdout, JSON_REAL_PRECISION(9));
    json_decref(json);
    if (failed == 0 && putchar('\n') != EOF)
        return true;
    if (!ferror(stdout)) /* else that is said at the end */
        json_checked(NULL);
    return false;
}
