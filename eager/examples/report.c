#include "report.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "options.h"
#include "training.h"

enum {
    BAR_WIDTH = 32,
    LINES = 6,
    LEAST_LINES = 60, /* steps; shorter runs need no word */
};

static const char *name_of(const struct run *run)
{
    return run->budget == 0 ? "unlimited" : "in budget";
}

void progress_show(const struct run *run, int done)
{
    static const char full[BAR_WIDTH + 1] = "################################";
    double loss = (double)run->losses[done - 1];
    if (isatty(STDERR_FILENO))
        fprintf(stderr, "\r%s [%-*.*s] step %d of %d, loss %.4f ", name_of(run), BAR_WIDTH,
                BAR_WIDTH * done / run->steps, full, done, run->steps, loss);
    else if (run->steps >= LEAST_LINES && done % (run->steps / LINES) == 0)
        fprintf(stderr, "%s: step %d of %d, loss %.4f\n", name_of(run), done, run->steps, loss);
}

void progress_clear(void)
{
    if (isatty(STDERR_FILENO))
        fputs("\r\033[K", stderr);
}

void report_failure(cebus_runtime *rt)
{
    const cebus_error *error = cebus_last_error();
    if (error->status == CEBUS_OK) {
        perror("failed");
        return;
    }
    fprintf(stderr, "\n%s: %s (%s)\n", error->op, error->message, cebus_status_name(error->status));
    if (error->status != CEBUS_OUT_OF_MEMORY || rt == NULL)
        return;
    size_t length = cebus_runtime_oom_report(rt, NULL, 0);
    char *text = malloc(length + 1);
    if (text == NULL)
        return;
    cebus_runtime_oom_report(rt, text, length + 1);
    fprintf(stderr, "\n%s\n", text);
    free(text);
}

/* --- JSON ----------------------------------------------------------------------------------- */

/* Bytes that are not printable ASCII are written as the characters of that number. */
static void json_string(const char *text)
{
    putchar('"');
    for (; *text != '\0'; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\')
            printf("\\%c", c);
        else if (c < ' ' || c > '~')
            printf("\\u%04x", c);
        else
            putchar(c);
    }
    putchar('"');
}

static void json_run(const struct run *run)
{
    const cebus_memory_stats *stats = &run->stats;
    printf("\"peak_bytes\": %" PRIu64 ", \"budget_bytes\": %" PRIu64 ", ",
           stats->allocated_bytes_peak, stats->reserved_bytes_current);
    printf("\"ms_per_step\": %.3f, \"compute_ms\": %.3f, \"recompute_ms\": %.3f, "
           "\"search_ms\": %.3f, ",
           run->ms_per_step, (double)stats->compute_ns / 1e6, (double)stats->recompute_ns / 1e6,
           (double)stats->search_ns / 1e6);
    printf("\"evictions\": %" PRIu64 ", \"recomputes\": %" PRIu64 ", \"dropped_bytes\": %" PRIu64
           ", \"compactions\": %" PRIu64 ", \"outside_bytes\": %" PRIu64 ", ",
           stats->evictions, stats->recomputes, stats->dropped_bytes, stats->compactions,
           stats->outside_bytes);
    printf("\"losses\": [");
    for (int i = 0; i < run->steps; i++)
        printf("%s\"%a\"", i > 0 ? ", " : "", (double)run->losses[i]);
    printf("], \"parameters_sha256\": \"%s\", \"conclusion\": ", run->sha256);
    json_string(run->conclusion);
    printf(", \"plan\": ");
    json_string(run->plan);
}

static void print_json(const struct report *report, bool identical)
{
    const struct run *run = report->limited != NULL ? report->limited : report->unlimited;
    printf("{\"example\": \"%s\", \"policy\": \"%s\", \"threads\": %d, \"seed\": %" PRIu64 ", ",
           report->task->name, run->policy, run->threads, report->options->seed);
    json_run(run);
    if (report->limited != NULL && report->unlimited != NULL) {
        printf(", \"identical\": %s, \"unlimited\": {", identical ? "true" : "false");
        json_run(report->unlimited);
        putchar('}');
    }
    puts("}");
}

/* --- table ---------------------------------------------------------------------------------- */

/* The cell of each run in one row of the table. */
typedef void (*cell_writer)(const struct run *run, char *text, size_t room);

static void write_bytes(uint64_t bytes, char *text, size_t room)
{
    double mib = (double)bytes / (1 << 20);
    if (mib < 1024)
        snprintf(text, room, "%.1f MiB", mib);
    else
        snprintf(text, room, "%.1f GiB", mib / 1024);
}

static void write_peak(const struct run *run, char *text, size_t room)
{
    write_bytes(run->stats.allocated_bytes_peak, text, room);
}

static void write_budget(const struct run *run, char *text, size_t room)
{
    if (run->budget == 0)
        snprintf(text, room, "unlimited");
    else
        write_bytes(run->budget, text, room);
}

static void write_time(const struct run *run, char *text, size_t room)
{
    snprintf(text, room, "%.1f", run->ms_per_step);
}

static void write_evictions(const struct run *run, char *text, size_t room)
{
    snprintf(text, room, "%" PRIu64, run->stats.evictions);
}

static void write_recomputes(const struct run *run, char *text, size_t room)
{
    snprintf(text, room, "%" PRIu64, run->stats.recomputes);
}

static void write_dropped(const struct run *run, char *text, size_t room)
{
    write_bytes(run->stats.dropped_bytes, text, room);
}

static void write_loss(const struct run *run, char *text, size_t room)
{
    snprintf(text, room, "%.6f", (double)run->losses[run->steps - 1]);
}

static void print_row(const struct report *report, const char *title, cell_writer write)
{
    const struct run *runs[] = {report->unlimited, report->limited};
    printf("%-14s", title);
    for (int i = 0; i < 2; i++) {
        char cell[32];
        if (runs[i] == NULL)
            continue;
        write(runs[i], cell, sizeof cell);
        printf("  %14s", cell);
    }
    putchar('\n');
}

/* Text without what could confuse a terminal. */
static void print_text(const char *text)
{
    putchar('\n');
    for (; *text != '\0'; text++)
        putchar(iscntrl((unsigned char)*text) && *text != '\n' ? ' ' : *text);
    putchar('\n');
}

static void print_table(const struct report *report, bool identical)
{
    static const struct {
        const char *title;
        cell_writer write;
    } rows[] = {
        {"budget", write_budget},         {"peak", write_peak},
        {"ms/step", write_time},          {"evictions", write_evictions},
        {"recomputes", write_recomputes}, {"bytes dropped", write_dropped},
        {"final loss", write_loss},
    };
    const struct run *run = report->limited != NULL ? report->limited : report->unlimited;
    printf("%s: %.2f million parameters, %d steps, policy %s, %d threads\n\n", report->task->name,
           (double)run->parameters / 1e6, run->steps, run->policy, run->threads);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        print_row(report, rows[i].title, rows[i].write);
    if (report->unlimited != NULL && report->limited != NULL)
        printf("\nidentical bits: %s (%d losses, %" PRId64 " parameters)\n",
               identical ? "yes" : "NO", run->steps, run->parameters);
    if (run->plan[0] != '\0')
        print_text(run->plan);
    if (run->conclusion[0] != '\0')
        print_text(run->conclusion);
}

int report_print(const struct report *report)
{
    bool identical = report->unlimited == NULL || report->limited == NULL ||
                     runs_identical(report->unlimited, report->limited);
    if (report->options->json)
        print_json(report, identical);
    else
        print_table(report, identical);
    return fflush(stdout) != 0 || !identical;
}
