/**
 * report_page.h: a run as one page of HTML that needs nothing else: no network, no library. Its
 * script and style are in report/, built in by report/embed.py. A run of any length makes a page of
 * a few MiB at most: what is too small to be seen is summed up (report_memory.h, report_map.h,
 * report_streams.h).
 */
#ifndef REPORT_PAGE_H
#define REPORT_PAGE_H

#include "report_html.h"
#include "report_map.h"
#include "report_memory.h"
#include "report_streams.h"

struct report_page {
    struct report_memory memory;
    struct report_map map;
    struct report_streams streams;
};

/** Has the parts of the page listen to the second reading. */
void report_page_begin(struct report_page *page, const struct report_survey *survey,
                       struct report_timeline *timeline);
/** After it. Failed writes show in ferror(). */
void report_page_write(struct report_page *page, const struct report_run *run, FILE *file);
void report_page_free(struct report_page *page);

#endif
