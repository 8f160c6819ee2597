#include "eager/trace/write.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/** Of a failed write: the broken pipe and the file-size limit end a program that did not ask. */
static const int write_signals[] = {SIGPIPE, SIGXFSZ};

/** Takes back what a failed write sent this thread, but nothing that waited before it. */
static void discard_signals(const sigset_t *pending_before)
{
    static const struct timespec at_once = {0};
    for (size_t i = 0; i < sizeof write_signals / sizeof *write_signals; i++) {
        sigset_t one;
        sigemptyset(&one);
        sigaddset(&one, write_signals[i]);
        if (sigismember(pending_before, write_signals[i]) == 0)
            while (sigtimedwait(&one, NULL, &at_once) == -1 && errno == EINTR)
                continue;
    }
}

/** errno's value, 0 on success. */
static int write_all(int fd, const char *bytes, size_t count)
{
    while (count > 0) {
        ssize_t written = write(fd, bytes, count);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return errno;
        bytes += written;
        count -= (size_t)written;
    }
    return 0;
}

static int write_quietly(int fd, const char *bytes, size_t count)
{
    sigset_t quiet, before, pending;
    sigemptyset(&quiet);
    for (size_t i = 0; i < sizeof write_signals / sizeof *write_signals; i++)
        sigaddset(&quiet, write_signals[i]);
    sigpending(&pending);
    pthread_sigmask(SIG_BLOCK, &quiet, &before);
    int error = write_all(fd, bytes, count);
    if (error != 0)
        discard_signals(&pending);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}

static void flush(cebus_trace_writer *writer)
{
    if (writer->error == 0)
        writer->error = write_quietly(writer->file.fd, writer->buffer, writer->used);
    writer->used = 0;
}

int cebus_trace_writer_open(cebus_trace_writer *writer, const char *path)
{
    writer->used = 0;
    writer->error = 0;
    return cebus_replacement_open(&writer->file, path);
}

int cebus_trace_writer_close(cebus_trace_writer *writer)
{
    flush(writer);
    int error = cebus_replacement_close(&writer->file, writer->error == 0);
    return writer->error != 0 ? writer->error : error;
}

static void put(cebus_trace_writer *writer, const char *bytes, size_t count)
{
    while (count > 0) {
        size_t room = sizeof writer->buffer - writer->used;
        size_t part = count < room ? count : room;
        memcpy(writer->buffer + writer->used, bytes, part);
        writer->used += part;
        bytes += part;
        count -= part;
        if (writer->used == sizeof writer->buffer)
            flush(writer);
    }
}

void cebus_trace_write_text(cebus_trace_writer *writer, const char *text)
{
    put(writer, text, strlen(text));
}

void cebus_trace_write_number(cebus_trace_writer *writer, uint64_t number)
{
    char digits[20];
    size_t at = sizeof digits;
    do {
        digits[--at] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    put(writer, digits + at, sizeof digits - at);
}

static char hex_digit(uint64_t number)
{
    return "0123456789abcdef"[number & 15];
}

void cebus_trace_write_hex(cebus_trace_writer *writer, uint64_t number)
{
    char digits[16];
    for (size_t i = 0; i < sizeof digits; i++)
        digits[i] = hex_digit(number >> (60 - 4 * i));
    put(writer, digits, sizeof digits);
}

static bool within(unsigned char byte, unsigned char low, unsigned char high)
{
    return byte >= low && byte <= high;
}

/** Bytes of the UTF-8 character at `text`; 0 when there is none (RFC 3629, section 4). */
static size_t utf8_length(const unsigned char *text)
{
    unsigned char first = text[0];
    if (first < 0x80)
        return 1;
    if (within(first, 0xC2, 0xDF))
        return within(text[1], 0x80, 0xBF) ? 2 : 0;
    if (within(first, 0xE0, 0xEF)) {
        bool second = within(text[1], first == 0xE0 ? 0xA0 : 0x80, first == 0xED ? 0x9F : 0xBF);
        return second && within(text[2], 0x80, 0xBF) ? 3 : 0;
    }
    if (within(first, 0xF0, 0xF4)) {
        bool second = within(text[1], first == 0xF0 ? 0x90 : 0x80, first == 0xF4 ? 0x8F : 0xBF);
        return second && within(text[2], 0x80, 0xBF) && within(text[3], 0x80, 0xBF) ? 4 : 0;
    }
    return 0;
}

void cebus_trace_write_string(cebus_trace_writer *writer, const char *text)
{
    put(writer, "\"", 1);
    while (*text != '\0') {
        unsigned char byte = (unsigned char)*text;
        size_t length = utf8_length((const unsigned char *)text);
        char escape[6] = {'\\', 'u', '0', '0', hex_digit(byte >> 4), hex_digit(byte)};
        if (length == 0)
            put(writer, "?", 1);
        else if (byte < 0x20 || byte == '"' || byte == '\\')
            put(writer, escape, sizeof escape);
        else
            put(writer, text, length);
        text += length > 0 ? length : 1;
    }
    put(writer, "\"", 1);
}
