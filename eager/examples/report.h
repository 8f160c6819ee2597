/**
 * report.h: what the examples print: progress while they train, then a table or one JSON object.
 */
#ifndef REPORT_H
#define REPORT_H

#include <cebus/cebus.h>

struct options;
struct run;
struct task;

/** One or two runs of a task. */
struct report {
    const struct task *task;
    const struct options *options;
    const struct run *unlimited; /**< NULL: not done */
    const struct run *limited;   /**< NULL: not done */
};

/** For a run whose first `done` steps are done, on stderr: a bar where that is a terminal, else a
 * line now and then. */
void progress_show(const struct run *run, int done);
/** Takes the bar away. */
void progress_clear(void);

/** Prints to stdout. Returns not 0 when two runs were done and their bits differ. */
int report_print(const struct report *report);

/** Says on stderr why the thread's last call failed. `rt` may be NULL. */
void report_failure(cebus_runtime *rt);

#endif
