#include "blocks_file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "message.h"
#include "output.h"

enum column {
    COLUMN_ID,
    COLUMN_LOWER,
    COLUMN_UPPER,
    COLUMN_SIZE,
    COLUMN_ALIGNMENT,
    COLUMN_OFFSET,
    COLUMNS
};

static const char *const names[COLUMNS] = {"id", "lower", "upper", "size", "alignment", "offset"};

/** What some programs begin a file in UTF-8 with; it is no part of the text. */
#define BYTE_ORDER_MARK "\xEF\xBB\xBF"

enum {
    NEEDED = 4,        /**< the columns that no file may leave out */
    LINE_BYTES = 4096, /**< of the longest line */
    MOST_BLOCKS = 1 << 24,
};

struct reader {
    struct blocks *blocks;
    FILE *file;
    size_t line;
    char text[LINE_BYTES];
    char *fields[COLUMNS];
    size_t n_fields;
    enum column order[COLUMNS]; /**< which column each field is */
    size_t n_columns;
};

/* --- lines ----------------------------------------------------------------------------------- */

static bool wrong(const struct reader *reader, const char *what)
{
    const char *path =
        strcmp(reader->blocks->path, "-") == 0 ? "(standard input)" : reader->blocks->path;
    complain("%s:%zu: %s", path, reader->line, what);
    return false;
}

/** A line without its end into `text`. False at the end of the file, or if *out_good is false. */
static bool read_line(struct reader *reader, bool *out_good)
{
    size_t length = 0;
    int c;
    *out_good = true;
    reader->line++;
    while ((c = getc(reader->file)) != EOF && c != '\n') {
        if (c == '\0' || length + 1 == LINE_BYTES) {
            *out_good = wrong(reader, c == '\0' ? "a byte of zero: is this a text file?"
                                                : "the line is longer than 4095 bytes");
            return false;
        }
        reader->text[length++] = (char)c;
    }
    if (ferror(reader->file)) {
        complain_file(reader->blocks->path, "cannot be read: %s", strerror(errno));
        *out_good = false;
        return false;
    }
    if (length > 0 && reader->text[length - 1] == '\r')
        length--;
    reader->text[length] = '\0';
    if (reader->line == 1 &&
        strncmp(reader->text, BYTE_ORDER_MARK, sizeof BYTE_ORDER_MARK - 1) == 0)
        memmove(reader->text, reader->text + sizeof BYTE_ORDER_MARK - 1,
                length + 2 - sizeof BYTE_ORDER_MARK);
    return c != EOF || length > 0;
}

static char *trim(char *text)
{
    text += strspn(text, " \t");
    size_t length = strlen(text);
    while (length > 0 && strchr(" \t", text[length - 1]) != NULL)
        length--;
    text[length] = '\0';
    return text;
}

/** Cuts the line at its commas. Quotation marks around a field could hold one. */
static bool split(struct reader *reader)
{
    char *rest = reader->text;
    reader->n_fields = 0;
    do {
        char *field = strsep(&rest, ",");
        if (reader->n_fields == COLUMNS)
            return wrong(reader, "more than 6 fields");
        reader->fields[reader->n_fields++] = trim(field);
        if (reader->fields[reader->n_fields - 1][0] == '"')
            return wrong(reader, "a field in quotation marks: fields are written without");
    } while (rest != NULL);
    return true;
}

/* --- columns --------------------------------------------------------------------------------- */

static enum column column_named(const char *name)
{
    int column = 0;
    while (column < COLUMNS && strcmp(names[column], name) != 0)
        column++;
    return (enum column)column;
}

/** Whether the line that was split names columns: then all of its fields must. */
static bool read_names(struct reader *reader, bool *out_named)
{
    bool seen[COLUMNS] = {false};
    *out_named = false;
    for (size_t i = 0; i < reader->n_fields; i++)
        *out_named |= column_named(reader->fields[i]) != COLUMNS;
    for (size_t i = 0; *out_named && i < reader->n_fields; i++) {
        enum column column = column_named(reader->fields[i]);
        if (column == COLUMNS || seen[column])
            return wrong(reader, "columns are id, lower, upper, size, alignment and offset, each "
                                 "named once");
        seen[column] = true;
        reader->order[i] = column;
    }
    for (int column = 0; *out_named && column < NEEDED; column++) {
        if (!seen[column])
            return wrong(reader, "the columns id, lower, upper and size are needed");
    }
    reader->n_columns = *out_named ? reader->n_fields : COLUMNS;
    reader->blocks->has_alignments = seen[COLUMN_ALIGNMENT];
    return true;
}

static bool wrong_number(const struct reader *reader, enum column column, const char *what)
{
    char text[64];
    snprintf(text, sizeof text, "%s %s", names[column], what);
    return wrong(reader, text);
}

/** A number of the line; `empty` where the field is left out or empty, if that may be. */
static bool read_number(const struct reader *reader, const char *const *values, enum column column,
                        uint64_t empty, uint64_t *out)
{
    const char *text = values[column];
    *out = empty;
    if (text == NULL || *text == '\0')
        return (int)column >= NEEDED || wrong_number(reader, column, "is missing");
    if (*text == '-')
        return wrong_number(reader, column, "is negative");
    if (text[strspn(text, "0123456789")] != '\0')
        return wrong_number(reader, column, "is not a whole number");
    errno = 0;
    *out = strtoull(text, NULL, 10);
    return errno == 0 || wrong_number(reader, column, "is more than 64 bits hold");
}

/* --- blocks ---------------------------------------------------------------------------------- */

static void make_room(struct blocks *blocks)
{
    if (blocks->n < blocks->room)
        return;
    blocks->room = blocks->room > 0 ? 2 * blocks->room : 256;
    blocks->list = take(blocks->list, blocks->room, sizeof *blocks->list);
    blocks->presets = take(blocks->presets, blocks->room, sizeof *blocks->presets);
    blocks->ids = take(blocks->ids, blocks->room, sizeof *blocks->ids);
    blocks->lines = take(blocks->lines, blocks->room, sizeof *blocks->lines);
}

static bool read_block(struct reader *reader)
{
    const char *values[COLUMNS] = {NULL};
    struct blocks *blocks = reader->blocks;
    cebus_pack_block block;
    uint64_t preset;
    if (reader->n_fields > reader->n_columns)
        return wrong(reader, "more fields than columns");
    for (size_t i = 0; i < reader->n_fields; i++)
        values[reader->order[i]] = reader->fields[i];
    if (values[COLUMN_ID] == NULL || *values[COLUMN_ID] == '\0')
        return wrong(reader, "id is missing");
    if (!read_number(reader, values, COLUMN_LOWER, 0, &block.lower) ||
        !read_number(reader, values, COLUMN_UPPER, 0, &block.upper) ||
        !read_number(reader, values, COLUMN_SIZE, 0, &block.bytes) ||
        !read_number(reader, values, COLUMN_ALIGNMENT, 1, &block.alignment) ||
        !read_number(reader, values, COLUMN_OFFSET, CEBUS_PACK_ANYWHERE, &preset))
        return false;
    if (preset == CEBUS_PACK_ANYWHERE && values[COLUMN_OFFSET] != NULL &&
        *values[COLUMN_OFFSET] != '\0')
        return wrong_number(reader, COLUMN_OFFSET, "is more than 2^60 bytes");
    if (block.alignment == 0)
        return wrong(reader, "alignment is not a power of two");
    if (blocks->n == MOST_BLOCKS)
        return wrong(reader, "more than 16777216 blocks");
    make_room(blocks);
    blocks->has_alignments |= values[COLUMN_ALIGNMENT] != NULL && *values[COLUMN_ALIGNMENT] != '\0';
    blocks->list[blocks->n] = block;
    blocks->presets[blocks->n] = preset;
    blocks->ids[blocks->n] = take_text(values[COLUMN_ID]);
    blocks->lines[blocks->n++] = reader->line;
    return true;
}

static bool read_lines(struct reader *reader)
{
    bool first = true, good, named = false;
    for (size_t i = 0; i < COLUMNS; i++)
        reader->order[i] = (enum column)i;
    while (read_line(reader, &good)) {
        if (*trim(reader->text) == '\0')
            continue;
        if (!split(reader) || (first && !read_names(reader, &named)))
            return false;
        if (!(first && named) && !read_block(reader))
            return false;
        first = false;
    }
    if (good && first)
        complain_file(reader->blocks->path, "is empty; a line is id,lower,upper,size");
    return good && !first;
}

static int by_id(const void *a, const void *b, void *context)
{
    const struct blocks *blocks = context;
    size_t x = *(const size_t *)a, y = *(const size_t *)b;
    int ids = strcmp(blocks->ids[x], blocks->ids[y]);
    return ids != 0 ? ids : (x > y) - (x < y);
}

/** Each id once. */
static bool check_ids(const struct blocks *blocks)
{
    bool good = true;
    size_t *order = take(NULL, blocks->n, sizeof *order);
    for (size_t i = 0; i < blocks->n; i++)
        order[i] = i;
    qsort_r(order, blocks->n, sizeof *order, by_id, (void *)blocks);
    for (size_t i = 1; i < blocks->n && good; i++) {
        char text[64];
        if (strcmp(blocks->ids[order[i - 1]], blocks->ids[order[i]]) != 0)
            continue;
        snprintf(text, sizeof text, "its id is that of line %zu already",
                 blocks->lines[order[i - 1]]);
        blocks_complain(blocks, order[i], text);
        good = false;
    }
    free(order);
    return good;
}

bool blocks_read(struct blocks *blocks, const char *path)
{
    bool from_stdin = strcmp(path, "-") == 0;
    *blocks = (struct blocks){.path = path};
    struct reader reader = {.blocks = blocks, .file = from_stdin ? stdin : fopen(path, "re")};
    if (reader.file == NULL) {
        complain_file(path, "%s", strerror(errno));
        return false;
    }
    bool good = read_lines(&reader) && check_ids(blocks);
    if (!from_stdin)
        fclose(reader.file);
    return good;
}

void blocks_free(struct blocks *blocks)
{
    for (size_t i = 0; i < blocks->n; i++)
        free(blocks->ids[i]);
    free(blocks->ids);
    free(blocks->list);
    free(blocks->presets);
    free(blocks->lines);
}

void blocks_complain(const struct blocks *blocks, size_t i, const char *what)
{
    const char *path = strcmp(blocks->path, "-") == 0 ? "(standard input)" : blocks->path;
    complain("%s:%zu: block \"%.100s\": %s", path, blocks->lines[i], blocks->ids[i], what);
}

/* --- writing --------------------------------------------------------------------------------- */

static void write_lines(const struct blocks *blocks, const uint64_t *offsets, FILE *file)
{
    fputs(blocks->has_alignments ? "id,lower,upper,size,alignment,offset\n"
                                 : "id,lower,upper,size,offset\n",
          file);
    for (size_t i = 0; i < blocks->n; i++) {
        const cebus_pack_block *block = &blocks->list[i];
        fprintf(file, "%s,%" PRIu64 ",%" PRIu64 ",%" PRIu64, blocks->ids[i], block->lower,
                block->upper, block->bytes);
        if (blocks->has_alignments)
            fprintf(file, ",%" PRIu64, block->alignment);
        fprintf(file, ",%" PRIu64 "\n", offsets[i]);
    }
}

bool blocks_write(const struct blocks *blocks, const uint64_t *offsets, const char *path)
{
    if (strcmp(path, "-") == 0) {
        write_lines(blocks, offsets, stdout);
        return true; /* main() looks whether it got there */
    }
    struct output output;
    if (!output_open(&output, path))
        return false;
    write_lines(blocks, offsets, output.file);
    return output_close(&output, true);
}
