/**
 * report_writer.h: numbers, texts, lists and dictionaries, written one after another as JSON or as
 * a pickle of Python (protocol 2: Lib/pickletools.py describes every opcode). Nothing is kept but
 * how deep the writer is. A failed write shows in ferror() of the file.
 *
 * JSON is written so that it may stand within a script element of a page: no "<" is in it.
 */
#ifndef REPORT_WRITER_H
#define REPORT_WRITER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum writer_form {
    WRITER_JSON,
    WRITER_PICKLE,
};

enum {
    WRITER_DEPTH = 16,
    WRITER_KEYS = 64, /**< constant texts that a pickle remembers */
};

struct writer {
    FILE *file;
    enum writer_form form;
    unsigned depth;
    struct writer_level {
        bool is_list;
        uint64_t count; /**< values, or keys and values */
    } levels[WRITER_DEPTH];
    const char *keys[WRITER_KEYS];
    unsigned n_keys;
};

void writer_begin(struct writer *writer, FILE *file, enum writer_form form);
/** After the only value on the outside. */
void writer_finish(struct writer *writer);

void writer_list(struct writer *writer);
void writer_dictionary(struct writer *writer);
/** The end of the innermost list or dictionary. */
void writer_close(struct writer *writer);
/** Before each value of a dictionary. The text is a constant. */
void writer_key(struct writer *writer, const char *key);

void writer_number(struct writer *writer, uint64_t number);
/** Nanoseconds as microseconds: in JSON exactly, with a fraction; in a pickle whole ones. */
void writer_micros(struct writer *writer, uint64_t ns);
/** UTF-8. */
void writer_text(struct writer *writer, const char *text);
void writer_flag(struct writer *writer, bool flag);
/** A value that is JSON already, into JSON. */
void writer_raw(struct writer *writer, const char *text, size_t length);
/** A tuple of two numbers; in JSON a list. */
void writer_pair(struct writer *writer, uint64_t a, uint64_t b);

/** A key and its value. */
void writer_put_number(struct writer *writer, const char *key, uint64_t number);
void writer_put_text(struct writer *writer, const char *key, const char *text);
/** A text that is a constant, one of few: a pickle writes it once. */
void writer_put_word(struct writer *writer, const char *key, const char *word);

#endif
