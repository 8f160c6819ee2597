/**
 * report_html.h: the parts of a page that are there without its script: text, facts, tables.
 */
#ifndef REPORT_HTML_H
#define REPORT_HTML_H

#include "report_survey.h"
#include "report_values.h"
#include "run_file.h"

/** What a page, or a line of JSON, says of a run. */
struct report_run {
    const char *path;            /**< of the recorded run */
    const struct run_head *head; /**< of it, read to its end */
    const struct report_survey *survey;
    struct report_values *values; /**< sorted; n_values of them were evicted */
    size_t n_values;
};

/** Text of UTF-8, nothing in it markup. */
void html_text(FILE *file, const char *text);
/** Base of the overhead of an iteration: 0 where only its own calls can tell. */
uint64_t report_base_ns(const struct report_run *run);
/** The last iteration that ended; the whole run when none did. */
const struct report_counts *report_steady(const struct report_run *run);

/** The title, what is wrong, and the facts. */
void report_html_facts(FILE *file, const struct report_run *run);
/** The sections with the tables of regenerations and of iterations. */
void report_html_values(FILE *file, const struct report_run *run);
void report_html_iterations(FILE *file, const struct report_run *run);

#endif
