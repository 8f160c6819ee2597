/**
 * json.h: JSON in files and on standard output. Without host memory to write it the program ends.
 */
#ifndef JSON_H
#define JSON_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/** A file's; `flags` are json_load_file()'s. A new reference; NULL after what is wrong was printed.
 */
json_t *json_read(const char *path, size_t flags);

/** The value, or the end of the program where there was no memory for it. */
json_t *json_checked(json_t *value);
/** One line on standard output. Takes the reference. False when it cannot be written: that is said
 * once, as the program ends. */
bool json_print_line(json_t *json);
/** As json_object_set_new(), but without memory the program ends. */
void json_put(json_t *object, const char *key, json_t *value);
/** A number; beyond what JSON can tell, the largest that it can. */
void json_put_number(json_t *object, const char *key, uint64_t number);
/** A string as its user gave it, a file's name say: "(not UTF-8)" where it is not. NULL is null. */
json_t *json_text(const char *text);
void json_put_text(json_t *object, const char *key, const char *text);

#endif
