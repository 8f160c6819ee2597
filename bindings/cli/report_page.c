#include "report_page.h"

#include <string.h>

/** Made of the files in report/ by report/embed.py. */
extern const char report_style[];
extern const char report_script[];

void report_page_begin(struct report_page *page, const struct report_survey *survey,
                       struct report_timeline *timeline)
{
    struct report_sink memory = report_memory_begin(&page->memory, survey);
    struct report_sink map = report_map_begin(&page->map, survey);
    struct report_sink streams = report_streams_begin(&page->streams, survey);
    report_timeline_add_sink(timeline, &memory);
    report_timeline_add_sink(timeline, &map);
    report_timeline_add_sink(timeline, &streams);
}

void report_page_free(struct report_page *page)
{
    report_memory_free(&page->memory);
    report_map_free(&page->map);
    report_streams_free(&page->streams);
}

/* --- data ------------------------------------------------------------------------------------ */

static uint64_t since_start(const struct report_survey *survey, uint64_t at_ns)
{
    return at_ns > survey->total.begin_ns ? at_ns - survey->total.begin_ns : 0;
}

static void put_words(struct writer *w, const struct report_survey *survey)
{
    const struct report_names *names = &survey->book->names;
    writer_key(w, "classes");
    writer_list(w);
    for (int c = 0; c < REPORT_CLASSES; c++)
        writer_text(w, report_class_name((cebus_memory_class)c));
    writer_close(w);
    writer_key(w, "works");
    writer_list(w);
    for (int i = 0; i < REPORT_WORKS; i++)
        writer_text(w, report_work_name((enum report_work)i));
    writer_close(w);
    writer_key(w, "names");
    writer_list(w);
    for (size_t i = 0; i < names->count; i++)
        writer_text(w, names->list[i]);
    writer_close(w);
}

static void put_budgets(struct writer *w, const struct report_survey *survey)
{
    writer_key(w, "budgets");
    writer_list(w);
    for (size_t i = 0; i < survey->n_budgets; i++)
        writer_pair(w, since_start(survey, survey->budgets_ns[i]), survey->budgets[i]);
    writer_close(w);
    writer_key(w, "ooms");
    writer_list(w);
    for (size_t i = 0; i < survey->total.ooms && i < REPORT_OOMS; i++)
        writer_pair(w, since_start(survey, survey->ooms[i].at_ns), survey->ooms[i].bytes);
    writer_close(w);
}

/** Of each that is kept: its number, where it begins, where it ends. */
static void put_iterations(struct writer *w, const struct report_survey *survey)
{
    uint64_t first;
    report_survey_kept(survey, &first);
    writer_key(w, "iterations");
    writer_list(w);
    for (uint64_t i = first; i < survey->iterations; i++) {
        const struct report_counts *counts = report_survey_iteration(survey, i);
        writer_list(w);
        writer_number(w, i + 1);
        writer_number(w, since_start(survey, counts->begin_ns));
        writer_number(w, since_start(survey, counts->end_ns));
        writer_close(w);
    }
    writer_close(w);
}

static void put_data(struct report_page *page, const struct report_run *run, FILE *file)
{
    struct writer writer;
    fputs("<script type=\"application/json\" id=\"data\">", file);
    writer_begin(&writer, file, WRITER_JSON);
    writer_dictionary(&writer);
    writer_put_number(&writer, "ns", report_counts_ns(&run->survey->total));
    writer_put_number(&writer, "unit", page->memory.unit);
    put_words(&writer, run->survey);
    put_budgets(&writer, run->survey);
    put_iterations(&writer, run->survey);
    report_memory_put(&page->memory, &writer);
    report_map_put(&page->map, &writer);
    report_streams_put(&page->streams, &writer);
    writer_close(&writer);
    writer_finish(&writer);
    fputs("</script>\n", file);
}

/* --- sections -------------------------------------------------------------------------------- */

static void put_legend(FILE *file, const char *const *names, size_t count)
{
    fputs("<ul class=\"legend\">", file);
    for (size_t i = 0; i < count; i++) {
        const char *gap = strchr(names[i], ' ');
        if (strcmp(names[i], "wait") == 0)
            fputs("<li><i class=\"hatched\"></i>wait</li>", file);
        else if (strcmp(names[i], "budget") == 0)
            fputs("<li><i class=\"line\"></i>budget</li>", file);
        else
            fprintf(file, "<li><i style=\"background: var(--%.*s%s%s)\"></i>%s</li>",
                    gap != NULL ? (int)(gap - names[i]) : (int)strlen(names[i]), names[i],
                    gap != NULL ? "-" : "", gap != NULL ? gap + 1 : "", names[i]);
    }
    fputs("</ul>\n", file);
}

static void put_chart(FILE *file, const char *id, const char *kind, const char *label)
{
    fprintf(file,
            "<div class=\"chart %s\"><canvas id=\"%s\" tabindex=\"0\" role=\"img\" "
            "aria-label=\"%s\"></canvas></div>\n</section>\n",
            kind, id, label);
}

static void put_memory(FILE *file)
{
    static const char *const names[] = {"persistent", "gradient", "leaf",  "activation",
                                        "workspace",  "free",     "budget"};
    fputs("<section id=\"memory\">\n<h2>Memory in use</h2>\n", file);
    put_legend(file, names, sizeof names / sizeof *names);
    put_chart(file, "memory-chart", "", "Bytes in use over time, by class, below the budget");
}

static void put_map(FILE *file, const struct report_page *page)
{
    static const char *const names[] = {"persistent", "gradient", "leaf",  "activation",
                                        "workspace",  "free",     "budget"};
    const struct report_map *map = &page->map;
    fputs("<section id=\"map\">\n<h2>Addresses</h2>\n<p class=\"note\">Each block where it lies "
          "and as long as it lies there. What is free between blocks is fragmentation; an arrow is "
          "a block that was moved.",
          file);
    if (map->cells != NULL)
        fprintf(file,
                " The %llu largest of %llu blocks are drawn one by one, the others as a raster.",
                (unsigned long long)map->listed, (unsigned long long)map->survey->blocks);
    fputs("</p>\n", file);
    put_legend(file, names, sizeof names / sizeof *names);
    put_chart(file, "map-chart", "tall", "Blocks of the arena: addresses over time, by class");
}

static void put_streams(FILE *file, const struct report_page *page)
{
    static const char *const names[] = {"call",     "replay",  "move",   "wait",
                                        "copy out", "copy in", "evicted"};
    fputs(
        "<section id=\"streams\">\n<h2>Streams</h2>\n<p class=\"note\">Copies run beside compute. "
        "A wait is time in which compute stands still, for copies or for the host.",
        file);
    if (page->streams.step_ns > 0)
        fputs(" Pieces too short to be seen are drawn together.", file);
    fputs("</p>\n", file);
    put_legend(file, names, sizeof names / sizeof *names);
    put_chart(file, "streams-chart", "lanes",
              "Work of the streams compute, copy out and copy in over time, and evictions");
}

static void put_controls(FILE *file)
{
    fputs("<noscript><p class=\"alarm\">The charts of this page are drawn by its script.</p>"
          "</noscript>\n<nav class=\"view\" aria-label=\"time shown\">\n"
          "<button type=\"button\" id=\"whole\">whole run</button>\n"
          "<select id=\"iteration\" aria-label=\"iteration\">"
          "<option value=\"\" disabled selected>an iteration</option></select>\n"
          "<button type=\"button\" id=\"nearer\" aria-label=\"zoom in\">+</button>\n"
          "<button type=\"button\" id=\"farther\" aria-label=\"zoom out\">&#8722;</button>\n"
          "<output id=\"shown\"></output>\n"
          "<span class=\"note\">Drag to zoom in, double-click to zoom out; keys: arrows, +, "
          "&#8722;, 0.</span>\n</nav>\n",
          file);
}

static void put_head(FILE *file, const struct report_run *run)
{
    fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
          "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
          "img-src data:; style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\n"
          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
          "<link rel=\"icon\" href=\"data:,\">\n<title>",
          file);
    html_text(file, run->head->trace);
    fputs(": ", file);
    html_text(file, run->head->policy);
    fprintf(file, "</title>\n<style>\n%s</style>\n</head>\n<body>\n", report_style);
}

void report_page_write(struct report_page *page, const struct report_run *run, FILE *file)
{
    put_head(file, run);
    report_html_facts(file, run);
    put_controls(file);
    fputs("<main>\n", file);
    put_memory(file);
    put_map(file, page);
    put_streams(file, page);
    report_html_values(file, run);
    report_html_iterations(file, run);
    fputs("</main>\n<div id=\"tip\" class=\"tip\" role=\"status\" hidden></div>\n", file);
    put_data(page, run, file);
    fprintf(file, "<script>\n%s</script>\n</body>\n</html>\n", report_script);
}
