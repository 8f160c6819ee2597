#include "report_html.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "text.h"

enum {
    MOST_ROWS = 500
};

void html_text(FILE *file, const char *text)
{
    for (; *text != '\0'; text++) {
        unsigned char c = (unsigned char)*text;
        if (strchr("<>&\"'", c) != NULL)
            fprintf(file, "&#%d;", c);
        else
            fputc(c >= ' ' && c != 0x7f ? c : ' ', file);
    }
}

uint64_t report_base_ns(const struct report_run *run)
{
    return run->head->pass_marks == 1 ? run->head->base_time_ns : 0;
}

const struct report_counts *report_steady(const struct report_run *run)
{
    const struct report_survey *survey = run->survey;
    if (survey->iterations == 0)
        return &survey->total;
    return report_survey_iteration(survey, survey->iterations - 1);
}

/* --- facts ----------------------------------------------------------------------------------- */

/** A name, what it is, and in smaller letters what else is to be said of it. */
static void put_fact(FILE *file, const char *name, const char *value, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

static void put_fact(FILE *file, const char *name, const char *value, const char *format, ...)
{
    char text[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    fprintf(file, "<div><dt>%s</dt><dd>", name);
    html_text(file, value);
    if (text[0] != '\0')
        fputs(" <small>", file);
    html_text(file, text);
    fprintf(file, "%s</dd></div>\n", text[0] != '\0' ? "</small>" : "");
}

static const char *count_text(uint64_t count, char out[TEXT_BYTES])
{
    snprintf(out, TEXT_BYTES, "%" PRIu64, count);
    return out;
}

/** What the reader must know first. */
static void put_alarms(FILE *file, const struct report_run *run)
{
    char bytes[TEXT_BYTES];
    const struct report_survey *survey = run->survey;
    if (survey->total.ooms > 0) {
        fputs("<p class=\"alarm\">Out of memory: ", file);
        html_text(file, report_names_text(&survey->book->names, survey->ooms[0].op, "a constant"));
        fprintf(file, " needed %s, and nothing more could be given up%s.</p>\n",
                text_bytes(survey->ooms[0].bytes, bytes),
                survey->total.ooms > 1 ? "; more requests failed after it" : "");
    }
    if (!run->head->complete)
        fputs("<p class=\"alarm\">The recording was cut off: its last line is missing.</p>\n",
              file);
    if (run->head->unknown > 0)
        fprintf(file,
                "<p class=\"alarm\">%" PRIu64
                " events are of kinds that this version does not know, and left out.</p>\n",
                run->head->unknown);
}

static void put_overhead(FILE *file, const struct report_run *run)
{
    char text[TEXT_BYTES];
    const struct report_counts *steady = report_steady(run);
    uint64_t calls = steady->work_ns[REPORT_CALL];
    double compute = (double)(calls + steady->work_ns[REPORT_REPLAY]);
    if (run->survey->iterations == 0) {
        put_fact(file, "Overhead", "unknown", "no iteration ended");
        return;
    }
    snprintf(text, sizeof text, "%.4f", report_counts_overhead(steady, report_base_ns(run)));
    put_fact(file, "Overhead", text, "of the time without a budget; %.4f without waits and moves",
             calls > 0 ? compute / (double)calls : 1);
}

/** Where the time went. */
static void put_times(FILE *file, const struct report_run *run)
{
    char total[TEXT_BYTES], calls[TEXT_BYTES], replays[TEXT_BYTES], moves[TEXT_BYTES],
        waits[TEXT_BYTES];
    const struct report_counts *steady = report_steady(run);
    put_fact(file, "Time", text_ns(report_counts_ns(steady), total),
             "calls %s, recomputing %s, moving %s, waiting %s",
             text_ns(steady->work_ns[REPORT_CALL], calls),
             text_ns(steady->work_ns[REPORT_REPLAY], replays),
             text_ns(steady->work_ns[REPORT_MOVE], moves),
             text_ns(steady->work_ns[REPORT_WAIT], waits));
}

static void put_counters(FILE *file, const struct report_run *run)
{
    char text[TEXT_BYTES], bytes[TEXT_BYTES], more[TEXT_BYTES];
    const struct report_counts *steady = report_steady(run);
    put_fact(file, "Evictions", count_text(steady->evictions, text), "%s",
             text_bytes(steady->evicted_bytes, bytes));
    put_fact(file, "Recomputes", count_text(steady->works[REPORT_REPLAY], text),
             "beside %" PRIu64 " calls", steady->works[REPORT_CALL]);
    put_fact(file, "Swapped", text_bytes(steady->out_bytes + steady->in_bytes, text),
             "%s out, %s in", text_bytes(steady->out_bytes, bytes),
             text_bytes(steady->in_bytes, more));
    put_fact(file, "Moved", text_bytes(steady->moved_bytes, text), "%" PRIu64 " compactions",
             steady->compactions);
}

void report_html_facts(FILE *file, const struct report_run *run)
{
    char text[TEXT_BYTES], peak[TEXT_BYTES];
    const struct report_survey *survey = run->survey;
    uint64_t budget = survey->budgets[survey->n_budgets - 1];
    fputs("<header>\n<h1>", file);
    html_text(file, run->head->trace);
    fputs("</h1>\n", file);
    put_alarms(file, run);
    fputs("<dl class=\"facts\">\n", file);
    put_fact(file, "Policy", run->head->policy, "%s", "");
    put_fact(file, "Machine", run->head->machine, "%s", "");
    put_fact(file, "Budget", text_bytes(budget, text), "%s",
             survey->n_budgets > 1 ? "after changes" : "");
    put_fact(file, "Peak", text_bytes(survey->total.peak_bytes, peak), "of the whole run");
    put_fact(file, "Iterations", count_text(survey->iterations, text), "%s%" PRIu64 " events",
             report_survey_is_unfinished(survey) ? "and one that did not end; " : "",
             survey->events);
    put_overhead(file, run);
    put_times(file, run);
    put_counters(file, run);
    fprintf(file, "</dl>\n<p class=\"note\">%s</p>\n</header>\n",
            survey->iterations > 0 ? "Overhead, time and counters are those of the last iteration."
                                   : "Time and counters are those of the whole run.");
}

/* --- tables ---------------------------------------------------------------------------------- */

struct column {
    const char *key, *title;
    bool is_text;
};

static void put_head(FILE *file, const struct column *columns, size_t count, const char *sorted)
{
    fputs("<thead><tr>", file);
    for (size_t i = 0; i < count; i++)
        fprintf(file,
                "<th scope=\"col\" data-key=\"%s\"%s%s><button type=\"button\">%s</button></th>",
                columns[i].key, columns[i].is_text ? " class=\"text\"" : "",
                strcmp(columns[i].key, sorted) == 0 ? " aria-sort=\"descending\"" : "",
                columns[i].title);
    fputs("</tr></thead>\n<tbody>\n", file);
}

static void put_cell(FILE *file, uint64_t value, const char *text)
{
    fprintf(file, "<td data-value=\"%" PRIu64 "\">%s</td>", value, text);
}

static void put_count(FILE *file, uint64_t value)
{
    fprintf(file, "<td data-value=\"%" PRIu64 "\">%" PRIu64 "</td>", value, value);
}

static void put_bytes(FILE *file, uint64_t bytes)
{
    char text[TEXT_BYTES];
    put_cell(file, bytes, text_bytes(bytes, text));
}

static void put_ns(FILE *file, uint64_t ns)
{
    char text[TEXT_BYTES];
    put_cell(file, ns, text_ns(ns, text));
}

/** "recomputed 2, along 1, copied back 1". */
static void put_ways(FILE *file, const struct report_value *value)
{
    const char *between = "";
    const struct {
        const char *way;
        uint32_t times;
    } ways[] = {{"recomputed", value->recomputes},
                {"along with another", value->along},
                {"copied back", value->swap_ins}};
    fputs("<td class=\"text\">", file);
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        if (ways[i].times == 0)
            continue;
        fprintf(file, "%s%s", between, ways[i].way);
        if (ways[i].times > 1)
            fprintf(file, " %" PRIu32 " times", ways[i].times);
        between = ", ";
    }
    fprintf(file, "%s</td>", *between == '\0' ? "never" : "");
}

static void put_value(FILE *file, const struct report_run *run, const struct report_value *value)
{
    fputs("<tr>", file);
    put_count(file, value->value);
    fputs("<td class=\"text\">", file);
    html_text(file, report_names_text(&run->survey->book->names, value->op, "(constant)"));
    fputs("</td>", file);
    put_bytes(file, value->bytes);
    put_count(file, value->evictions);
    put_ways(file, value);
    put_ns(file, report_value_cost(value));
    put_ns(file, value->recompute_ns);
    put_ns(file, value->out_ns + value->in_ns);
    fputs("</tr>\n", file);
}

void report_html_values(FILE *file, const struct report_run *run)
{
    static const struct column columns[] = {
        {"value", "Value", false},
        {"op", "Made by", true},
        {"bytes", "Bytes", false},
        {"evictions", "Evicted", false},
        {"back", "Came back", true},
        {"cost_ns", "Time", false},
        {"recompute_ns", "Computing", false},
        {"copy_ns", "Copying", false},
    };
    size_t shown = run->n_values < MOST_ROWS ? run->n_values : MOST_ROWS;
    fprintf(file,
            "<section id=\"regenerations\">\n<h2>Costliest regenerations</h2>\n"
            "<p class=\"note\">%s%zu value%s evicted%s. A value recomputed along with another "
            "takes no time of its own: the other's counts it. Copying runs beside computing.</p>\n",
            run->values->lost > 0 ? "At least " : "", run->n_values,
            run->n_values == 1 ? " was" : "s were",
            shown < run->n_values ? "; these took the most time" : "");
    fputs("<div class=\"scroll\"><table>\n", file);
    put_head(file, columns, sizeof columns / sizeof *columns, "cost_ns");
    for (size_t i = 0; i < shown; i++)
        put_value(file, run, &run->values->list[i]);
    fputs("</tbody></table></div>\n</section>\n", file);
}

/** number 0: the whole run. */
static void put_iteration(FILE *file, const char *name, uint64_t number,
                          const struct report_counts *counts, uint64_t base_ns)
{
    double overhead = report_counts_overhead(counts, base_ns);
    fprintf(file, "<tr data-row=\"%s\"><td class=\"text\" data-value=\"%" PRIu64 "\">%s", name,
            number, name);
    if (number > 0)
        fprintf(file, " %" PRIu64, number);
    fputs("</td>", file);
    put_ns(file, report_counts_ns(counts));
    fprintf(file, "<td data-value=\"%.9g\">%.4f</td>", overhead, overhead);
    put_count(file, counts->works[REPORT_CALL]);
    put_ns(file, counts->work_ns[REPORT_CALL]);
    put_count(file, counts->works[REPORT_REPLAY]);
    put_ns(file, counts->work_ns[REPORT_REPLAY]);
    put_count(file, counts->evictions);
    put_bytes(file, counts->out_bytes);
    put_bytes(file, counts->in_bytes);
    put_ns(file, counts->work_ns[REPORT_WAIT]);
    put_count(file, counts->compactions);
    put_bytes(file, counts->moved_bytes);
    put_ns(file, counts->work_ns[REPORT_MOVE]);
    put_bytes(file, counts->peak_bytes);
    fputs("</tr>\n", file);
}

void report_html_iterations(FILE *file, const struct report_run *run)
{
    static const struct column columns[] = {
        {"iteration", "Iteration", true},       {"time_ns", "Time", false},
        {"overhead", "Overhead", false},        {"calls", "Calls", false},
        {"call_ns", "Calling", false},          {"recomputes", "Recomputes", false},
        {"recompute_ns", "Recomputing", false}, {"evictions", "Evictions", false},
        {"out_bytes", "Copied out", false},     {"in_bytes", "Copied in", false},
        {"wait_ns", "Waiting", false},          {"compactions", "Compactions", false},
        {"moved_bytes", "Moved", false},        {"move_ns", "Moving", false},
        {"peak_bytes", "Peak", false},
    };
    uint64_t first;
    const struct report_survey *survey = run->survey;
    size_t kept = report_survey_kept(survey, &first);
    fputs("<section id=\"iterations\">\n<h2>Iterations</h2>\n<p class=\"note\">From mark to mark; "
          "the first one includes what came before it.",
          file);
    if (first > 0)
        fprintf(file, " Only the last %zu of %" PRIu64 " are listed.", kept, survey->iterations);
    fputs(" Overhead of the whole run is against the time of its calls.</p>\n"
          "<div class=\"scroll\"><table>\n",
          file);
    put_head(file, columns, sizeof columns / sizeof *columns, "");
    for (uint64_t i = first; i < survey->iterations; i++)
        put_iteration(file, "iteration", i + 1, report_survey_iteration(survey, i),
                      report_base_ns(run));
    if (report_survey_is_unfinished(survey))
        put_iteration(file, "unfinished", survey->iterations + 1, &survey->now, 0);
    put_iteration(file, "all", 0, &survey->total, 0);
    fputs("</tbody></table></div>\n</section>\n", file);
}
