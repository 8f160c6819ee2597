/**
 * report.c: a recorded run as a page, as a trace for Perfetto, as a snapshot for PyTorch's viewer.
 * The run is read twice: first to count, then to draw.
 */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "command.h"
#include "message.h"
#include "output.h"
#include "report_page.h"
#include "report_perfetto.h"
#include "report_snapshot.h"
#include "result.h"
#include "settings.h"

enum report_output {
    OUTPUT_PAGE,
    OUTPUT_PERFETTO,
    OUTPUT_SNAPSHOT,
    OUTPUTS,
};

enum {
    KEY_PERFETTO = 0x100,
    KEY_SNAPSHOT,
    KEY_JSON,
};

struct report {
    const char *run;
    const char *paths[OUTPUTS];   /**< NULL: not wanted */
    struct output files[OUTPUTS]; /**< open where a path is */
    bool json;
    struct run_head head;
    struct report_book book;
    struct report_survey survey;
    struct report_timeline timeline;
    struct report_page page;
    struct report_perfetto perfetto;
    struct report_snapshot snapshot;
};

static const struct argp_option options[] = {
    {"output", 'o', "FILE", 0, "the page, in HTML", 0},
    {"perfetto", KEY_PERFETTO, "FILE", 0, "trace events in JSON, for ui.perfetto.dev", 0},
    {"snapshot", KEY_SNAPSHOT, "FILE", 0,
     "a memory snapshot, for PyTorch's memory viewer (a pickle; FILE.json: the same in JSON)", 0},
    {"json", KEY_JSON, NULL, 0, "print the counters as JSON", 0},
    {0},
};

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct report *report = state->input;
    switch (key) {
    case 'o':
        report->paths[OUTPUT_PAGE] = settings_file("output", argument, state);
        return 0;
    case KEY_PERFETTO:
        report->paths[OUTPUT_PERFETTO] = settings_file("perfetto", argument, state);
        return 0;
    case KEY_SNAPSHOT:
        report->paths[OUTPUT_SNAPSHOT] = settings_file("snapshot", argument, state);
        return 0;
    case KEY_JSON:
        report->json = true;
        return 0;
    case ARGP_KEY_ARG:
        if (report->run != NULL)
            argp_error(state, "one run at a time: \"%s\" is too much", argument);
        report->run = argument;
        return 0;
    case ARGP_KEY_END:
        if (report->run == NULL)
            argp_error(state, "which recorded run? Name a file of `cebus replay --record'");
        if (report->paths[OUTPUT_PAGE] == NULL && report->paths[OUTPUT_PERFETTO] == NULL &&
            report->paths[OUTPUT_SNAPSHOT] == NULL)
            argp_error(state, "--output is needed: where the page goes");
        for (int i = 1; i < OUTPUTS; i++) {
            for (int j = 0; j < i; j++) {
                if (report->paths[i] != NULL && report->paths[j] != NULL &&
                    strcmp(report->paths[i], report->paths[j]) == 0)
                    argp_error(state, "%s would hold two results: name two files",
                               report->paths[i]);
            }
        }
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp argp = {
    .options = options,
    .parser = parse,
    .args_doc = "RUN",
    .doc =
        "Shows a run that `cebus replay --record RUN' recorded: a page that needs no network "
        "(memory over time, addresses over time, streams, the costliest regenerations), and files "
        "for two viewers." COMMAND_EXIT_STATUS_NO_RUN,
};

/* --- files ----------------------------------------------------------------------------------- */

/** It is read twice, and must not be written over. */
static bool check_files(const struct report *report)
{
    struct stat run = {0};
    bool piped = strcmp(report->run, "-") == 0;
    if (!piped && stat(report->run, &run) != 0) {
        complain_file(report->run, "cannot be opened: %s", strerror(errno));
        return false;
    }
    if (!S_ISREG(run.st_mode)) {
        complain_file(report->run, "is not a file: a run is read twice, so record it into one");
        return false;
    }
    for (int i = 0; i < OUTPUTS; i++) {
        if (!spares(report->paths[i], report->run, "the recorded run"))
            return false;
    }
    return true;
}

static bool open_files(struct report *report)
{
    for (int i = 0; i < OUTPUTS; i++) {
        if (report->paths[i] != NULL && !output_open(&report->files[i], report->paths[i]))
            return false;
    }
    return true;
}

/** They take their places in turn, until one cannot be written; none does unless `good`. */
static bool close_files(struct report *report, bool good)
{
    for (int i = 0; i < OUTPUTS; i++)
        good = output_close(&report->files[i], good);
    return good;
}

/* --- two readings ---------------------------------------------------------------------------- */

static bool read_run(struct report *report)
{
    run_head_free(&report->head);
    if (!run_file_read(report->run, &report->head, report_timeline_event, &report->timeline))
        return false;
    report_timeline_end(&report->timeline);
    return true;
}

/** Counts what there is. The survey's budget is known once the head is read. */
static bool count(struct report *report)
{
    struct report_sink survey = report_survey_begin(&report->survey, &report->book);
    report_timeline_init(&report->timeline, report->run, &report->book);
    report_timeline_add_sink(&report->timeline, &survey);
    bool good = read_run(report);
    report->survey.budgets[0] = report->head.budget_bytes;
    report_timeline_free(&report->timeline);
    return good;
}

static bool is_json(const char *path)
{
    const char *dot = strrchr(path, '.');
    return dot != NULL && strcmp(dot, ".json") == 0;
}

/** Writes what is written while reading; the page comes after it. */
static bool draw(struct report *report)
{
    struct report_sink sink;
    const struct output *files = report->files;
    report_timeline_init(&report->timeline, report->run, &report->book);
    report_page_begin(&report->page, &report->survey, &report->timeline);
    if (files[OUTPUT_PERFETTO].file != NULL) {
        sink = report_perfetto_begin(&report->perfetto, files[OUTPUT_PERFETTO].file,
                                     &report->survey, &report->head);
        report_timeline_add_sink(&report->timeline, &sink);
    }
    if (files[OUTPUT_SNAPSHOT].file != NULL) {
        enum writer_form form =
            is_json(report->paths[OUTPUT_SNAPSHOT]) ? WRITER_JSON : WRITER_PICKLE;
        sink = report_snapshot_begin(&report->snapshot, files[OUTPUT_SNAPSHOT].file, form,
                                     &report->survey, &report->timeline.blocks);
        report_timeline_add_sink(&report->timeline, &sink);
    }
    if (!read_run(report))
        return false;
    if (files[OUTPUT_PERFETTO].file != NULL)
        report_perfetto_end(&report->perfetto);
    if (files[OUTPUT_SNAPSHOT].file != NULL)
        report_snapshot_end(&report->snapshot);
    return true;
}

/* --- what is printed ------------------------------------------------------------------------- */

static bool print_json(const struct report_run *run)
{
    const struct report_counts *steady = report_steady(run);
    double overhead = report_counts_overhead(steady, report_base_ns(run));
    json_t *json = json_object();
    json_put(json, "trace", json_string(run->head->trace));
    json_put(json, "policy", json_string(run->head->policy));
    json_put(json, "machine", json_string(run->head->machine));
    json_put_number(json, "budget_bytes", run->head->budget_bytes);
    json_put_number(json, "events", run->survey->events);
    json_put_number(json, "unknown_events", run->head->unknown);
    json_put(json, "complete", json_boolean(run->head->complete));
    json_put_number(json, "iterations", run->survey->iterations);
    json_put(json, "overhead", run->survey->iterations > 0 ? json_real(overhead) : json_null());
    json_put_number(json, "time_ns", report_counts_ns(steady));
    json_put_number(json, "peak_bytes", run->survey->total.peak_bytes);
    json_put_number(json, "calls", steady->works[REPORT_CALL]);
    json_put_number(json, "evictions", steady->evictions);
    json_put_number(json, "recomputes", steady->works[REPORT_REPLAY]);
    json_put_number(json, "recompute_ns", steady->work_ns[REPORT_REPLAY]);
    json_put_number(json, "swapped_bytes", steady->out_bytes + steady->in_bytes);
    json_put_number(json, "wait_ns", steady->work_ns[REPORT_WAIT]);
    json_put_number(json, "move_ns", steady->work_ns[REPORT_MOVE]);
    json_put_number(json, "compactions", steady->compactions);
    json_put_number(json, "ooms", run->survey->total.ooms);
    json_put_number(json, "evicted_values", run->n_values);
    return json_print_line(json);
}

static bool print_text(const struct report *report, const struct report_run *run)
{
    static const char *const what[OUTPUTS] = {"page", "for Perfetto", "for PyTorch's viewer"};
    printf("%s: %" PRIu64 " events, %" PRIu64 " iterations\n", report->run, run->survey->events,
           run->survey->iterations);
    for (int i = 0; i < OUTPUTS; i++) {
        if (report->paths[i] != NULL)
            printf("%-22s %s\n", what[i], report->paths[i]);
    }
    return true;
}

static bool write_all(struct report *report)
{
    if (!open_files(report) || !draw(report))
        return false;
    struct report_run run = {.path = report->run,
                             .head = &report->head,
                             .survey = &report->survey,
                             .values = &report->timeline.values,
                             .n_values = report_values_sort(&report->timeline.values)};
    if (report->files[OUTPUT_PAGE].file != NULL)
        report_page_write(&report->page, &run, report->files[OUTPUT_PAGE].file);
    if (!close_files(report, true))
        return false;
    run_file_warn(report->run, &report->head);
    return report->json ? print_json(&run) : print_text(report, &run);
}

int command_report(int argc, char **argv)
{
    struct report report = {0};
    argp_parse(&argp, argc, argv, 0, NULL, &report);
    bool good = check_files(&report) && count(&report) && write_all(&report);
    (void)close_files(&report, false);
    report_page_free(&report.page);
    report_timeline_free(&report.timeline);
    report_book_free(&report.book);
    run_head_free(&report.head);
    return good ? 0 : EXIT_WRONG;
}
