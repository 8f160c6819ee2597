/**
 * write.h: buffered writing of text to a file. A write that fails (a full disk, a pipe nobody
 * reads, a file-size limit) is remembered and ends the writing; no signal reaches the program for
 * it. The file is there when all of it was written (`replacement.h`).
 */
#ifndef CEBUS_EAGER_TRACE_WRITE_H
#define CEBUS_EAGER_TRACE_WRITE_H

#include <cebus/base.h>

#include "eager/trace/replacement.h"

typedef struct cebus_trace_writer {
    cebus_replacement file;
    int error; /**< errno of the first failure; 0: none so far */
    size_t used;
    char buffer[1 << 16];
} cebus_trace_writer;

/** errno's value, 0 on success. */
int cebus_trace_writer_open(cebus_trace_writer *writer, const char *path);
/** Writes what is left and closes; errno's value of the first failure of all, 0 without. After a
 * failure what was there before is there still. */
int cebus_trace_writer_close(cebus_trace_writer *writer);

/** Text that needs no escapes. */
void cebus_trace_write_text(cebus_trace_writer *writer, const char *text);
void cebus_trace_write_number(cebus_trace_writer *writer, uint64_t number);
/** 16 hexadecimal digits. */
void cebus_trace_write_hex(cebus_trace_writer *writer, uint64_t number);
/** A JSON string, quotes and escapes included; bytes that are no UTF-8 become '?'. */
void cebus_trace_write_string(cebus_trace_writer *writer, const char *text);

#endif
