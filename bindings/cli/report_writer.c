#include "report_writer.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/** Opcodes of protocol 2. */
enum {
    PICKLE_PROTOCOL = 0x80,
    PICKLE_STOP = '.',
    PICKLE_MARK = '(',
    PICKLE_EMPTY_LIST = ']',
    PICKLE_APPENDS = 'e',
    PICKLE_EMPTY_DICTIONARY = '}',
    PICKLE_SETITEMS = 'u',
    PICKLE_INT1 = 'K',
    PICKLE_INT2 = 'M',
    PICKLE_INT4 = 'J',
    PICKLE_LONG = 0x8a,
    PICKLE_TEXT = 'X',
    PICKLE_TRUE = 0x88,
    PICKLE_FALSE = 0x89,
    PICKLE_PUT = 'q',
    PICKLE_GET = 'h',
    PICKLE_TUPLE2 = 0x86,
};

/** Items of a pickled list that are appended at once, as Python's own pickler does. */
#define BATCH 1000

static void put(struct writer *w, int byte)
{
    fputc(byte, w->file);
}

/** The low `count` bytes, the lowest first. */
static void put_low(struct writer *w, uint64_t number, int count)
{
    for (int i = 0; i < count; i++, number >>= 8)
        put(w, (int)(number & 0xff));
}

void writer_begin(struct writer *w, FILE *file, enum writer_form form)
{
    *w = (struct writer){.file = file, .form = form};
    if (form == WRITER_PICKLE) {
        put(w, PICKLE_PROTOCOL);
        put(w, 2);
    }
}

void writer_finish(struct writer *w)
{
    put(w, w->form == WRITER_PICKLE ? PICKLE_STOP : '\n');
}

/** What stands between this value and the one before. */
static void separate(struct writer *w)
{
    if (w->depth == 0)
        return;
    struct writer_level *level = &w->levels[w->depth - 1];
    uint64_t before = level->count++;
    if (w->form == WRITER_JSON && level->is_list && before > 0)
        put(w, ',');
    if (w->form == WRITER_PICKLE && level->is_list && before > 0 && before % BATCH == 0) {
        put(w, PICKLE_APPENDS);
        put(w, PICKLE_MARK);
    }
}

static void open_level(struct writer *w, bool is_list)
{
    separate(w);
    w->levels[w->depth++] = (struct writer_level){.is_list = is_list};
    if (w->form == WRITER_PICKLE) {
        put(w, is_list ? PICKLE_EMPTY_LIST : PICKLE_EMPTY_DICTIONARY);
        put(w, PICKLE_MARK);
    } else {
        put(w, is_list ? '[' : '{');
    }
}

void writer_list(struct writer *w)
{
    open_level(w, true);
}

void writer_dictionary(struct writer *w)
{
    open_level(w, false);
}

void writer_close(struct writer *w)
{
    bool is_list = w->levels[--w->depth].is_list;
    if (w->form == WRITER_PICKLE)
        put(w, is_list ? PICKLE_APPENDS : PICKLE_SETITEMS);
    else
        put(w, is_list ? ']' : '}');
}

static void put_escaped(struct writer *w, const char *text)
{
    put(w, '"');
    for (; *text != '\0'; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\')
            fprintf(w->file, "\\%c", c);
        else if (c < 0x20 || c == 0x7f || c == '<' || c == '>' || c == '&')
            fprintf(w->file, "\\u%04x", c);
        else
            put(w, c);
    }
    put(w, '"');
}

static void put_pickled(struct writer *w, const char *text)
{
    size_t length = strlen(text);
    put(w, PICKLE_TEXT);
    put_low(w, length, 4);
    fwrite(text, 1, length, w->file);
}

/** A pickle writes each constant once, and then its number. */
static void put_key(struct writer *w, const char *key)
{
    for (unsigned i = 0; i < w->n_keys; i++) {
        if (strcmp(w->keys[i], key) == 0) {
            put(w, PICKLE_GET);
            put(w, (int)i);
            return;
        }
    }
    put_pickled(w, key);
    if (w->n_keys == WRITER_KEYS)
        return;
    put(w, PICKLE_PUT);
    put(w, (int)w->n_keys);
    w->keys[w->n_keys++] = key;
}

void writer_key(struct writer *w, const char *key)
{
    struct writer_level *level = &w->levels[w->depth - 1];
    if (w->form == WRITER_PICKLE) {
        put_key(w, key);
        return;
    }
    if (level->count > 0)
        put(w, ',');
    put_escaped(w, key);
    put(w, ':');
}

static void pickle_number(struct writer *w, uint64_t number)
{
    int bytes = 1;
    if (number <= UINT8_MAX) {
        put(w, PICKLE_INT1);
        put_low(w, number, 1);
    } else if (number <= UINT16_MAX) {
        put(w, PICKLE_INT2);
        put_low(w, number, 2);
    } else if (number <= INT32_MAX) {
        put(w, PICKLE_INT4);
        put_low(w, number, 4);
    } else {
        /* As many bytes as leave the highest bit clear: it is the sign. */
        while (bytes < 9 && (bytes == 8 ? number >> 63 : number >> (8 * bytes - 1)) != 0)
            bytes++;
        put(w, PICKLE_LONG);
        put(w, bytes);
        put_low(w, number, bytes < 9 ? bytes : 8);
        if (bytes == 9)
            put(w, 0);
    }
}

void writer_number(struct writer *w, uint64_t number)
{
    separate(w);
    if (w->form == WRITER_PICKLE)
        pickle_number(w, number);
    else
        fprintf(w->file, "%" PRIu64, number);
}

void writer_micros(struct writer *w, uint64_t ns)
{
    if (w->form == WRITER_PICKLE) {
        writer_number(w, ns / 1000);
        return;
    }
    separate(w);
    fprintf(w->file, "%" PRIu64, ns / 1000);
    if (ns % 1000 != 0)
        fprintf(w->file, ".%03" PRIu64, ns % 1000);
}

void writer_text(struct writer *w, const char *text)
{
    separate(w);
    if (w->form == WRITER_PICKLE)
        put_pickled(w, text);
    else
        put_escaped(w, text);
}

void writer_flag(struct writer *w, bool flag)
{
    separate(w);
    if (w->form == WRITER_PICKLE)
        put(w, flag ? PICKLE_TRUE : PICKLE_FALSE);
    else
        fputs(flag ? "true" : "false", w->file);
}

void writer_raw(struct writer *w, const char *text, size_t length)
{
    separate(w);
    fwrite(text, 1, length, w->file);
}

void writer_pair(struct writer *w, uint64_t a, uint64_t b)
{
    if (w->form == WRITER_JSON) {
        writer_list(w);
        writer_number(w, a);
        writer_number(w, b);
        writer_close(w);
        return;
    }
    separate(w);
    pickle_number(w, a);
    pickle_number(w, b);
    put(w, PICKLE_TUPLE2);
}

void writer_put_number(struct writer *w, const char *key, uint64_t number)
{
    writer_key(w, key);
    writer_number(w, number);
}

void writer_put_text(struct writer *w, const char *key, const char *text)
{
    writer_key(w, key);
    writer_text(w, text);
}

void writer_put_word(struct writer *w, const char *key, const char *word)
{
    writer_key(w, key);
    separate(w);
    if (w->form == WRITER_PICKLE)
        put_key(w, word);
    else
        put_escaped(w, word);
}
