/**
 * run_file.h: a recorded run: JSON lines. The first line says what ran,
 *
 *     {"cebus_run": 1, "trace": "a.trace", "policy": "coop", "budget_bytes": 1048576,
 *      "machine": "titanv-12g", "base_time_ns": 63000000, "pass_marks": 1}
 *
 * (`base_time_ns`: device time of a pass without a budget; `pass_marks`: the marks in a pass, one
 * of them its end), each other line is an event (cebus/log.h): the fields of cebus_event that are
 * not zero, under their names, `kind` as a word and always there. The last line says that nothing
 * is missing: {"kind": "end", "events": 17}.
 */
#ifndef RUN_FILE_H
#define RUN_FILE_H

#include "output.h"
#include "run.h"

struct run_file {
    struct output output;
    uint64_t events; /**< written so far */
    bool failed;     /**< a line could not be written */
};

/** Creates the file, writes its head. What is wrong is printed, and false returned. */
bool run_file_begin(struct run_file *file, const char *path, const struct program *program,
                    const struct settings *settings, uint64_t base_ns);
/** Writes every event of a run to the file. */
struct observer run_file_observer(struct run_file *file);
/** Completes it, or throws it away where !good; false then, or when it could not be written
 * (printed). */
bool run_file_end(struct run_file *file, bool good);

/** What the head of a file says; texts are to be freed. */
struct run_head {
    char *trace, *policy, *machine;
    uint64_t budget_bytes;
    uint64_t base_time_ns; /**< 0: it does not say */
    uint64_t pass_marks;   /**< 0: it does not say */
    uint64_t unknown;      /**< lines of kinds that this version does not know, left out */
    bool complete;         /**< the last line was there */
};

/** Whether the file's first line is that of a recorded run. */
bool run_file_is(const char *path);
/**
 * Reads a file: its head, then every event is handed to `event` with the number of its line; `op`
 * names are valid until it returns. It may return false to stop, having said why. What is wrong is
 * printed with its line, and false returned. Memory: a line.
 */
bool run_file_read(const char *path, struct run_head *out_head,
                   bool (*event)(void *context, const cebus_event *event, uint64_t line),
                   void *context);
/** Prints what a good file still lacks: kinds this version knows, or its end. */
void run_file_warn(const char *path, const struct run_head *head);
void run_head_free(struct run_head *head);

#endif
