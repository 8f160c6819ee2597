#include "report_array.h"

#include <inttypes.h>
#include <stdlib.h>

#include "message.h"

static void check(bool good)
{
    if (good)
        return;
    complain("no host memory for what a page shows");
    exit(EXIT_WRONG);
}

void report_array_begin(struct report_array *array)
{
    *array = (struct report_array){0};
    FILE *file = open_memstream(&array->text, &array->length);
    check(file != NULL);
    writer_begin(&array->writer, file, WRITER_JSON);
    writer_list(&array->writer);
}

void report_array_add(struct report_array *array, uint64_t number)
{
    writer_number(&array->writer, number);
}

void report_array_add_change(struct report_array *array, uint64_t from, uint64_t to)
{
    char text[24];
    int length = snprintf(text, sizeof text, "%s%" PRIu64, to < from ? "-" : "",
                          to < from ? from - to : to - from);
    writer_raw(&array->writer, text, (size_t)length);
}

void report_array_put(struct report_array *array, struct writer *writer, const char *key)
{
    writer_close(&array->writer);
    bool good = !ferror(array->writer.file);
    good = fclose(array->writer.file) == 0 && good;
    array->writer.file = NULL;
    check(good);
    writer_key(writer, key);
    writer_raw(writer, array->text, array->length);
    report_array_free(array);
}

void report_array_free(struct report_array *array)
{
    if (array->writer.file != NULL)
        fclose(array->writer.file);
    free(array->text);
    *array = (struct report_array){0};
}
