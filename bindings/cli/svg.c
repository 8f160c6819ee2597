#include "svg.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "message.h"
#include "output.h"

/** The page, and the plot in it, in pixels. */
enum {
    WIDTH = 880,
    HEIGHT = 520,
    LEFT = 76,
    RIGHT = 660,
    TOP = 72,
    BOTTOM = 450,
    LEGEND = 680,
    MARK_STEP = 13, /**< between the rows of marks of what does not fit */
};

/** Overheads above this are marked at the top: they would flatten all the others. */
#define MOST_Y 3.0

/** Told apart by most colour-blind readers, too (Okabe and Ito, "Color Universal Design", 2008). */
static const char *const colours[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                      "#e69f00", "#56b4e9", "#8c6d00", "#000000"};
/** From the second round of colours on. */
static const char *const dashes[] = {"", "7 3", "2 3", "9 3 2 3"};

enum {
    COLOURS = sizeof colours / sizeof *colours,
    DASHES = sizeof dashes / sizeof *dashes,
};

struct page {
    FILE *file;
    const struct svg_plot *plot;
    double x_low, x_high, y_low, y_high;
};

static double x_of(const struct page *page, double x)
{
    return LEFT + (x - page->x_low) / (page->x_high - page->x_low) * (RIGHT - LEFT);
}

static double y_of(const struct page *page, double y)
{
    return BOTTOM - (y - page->y_low) / (page->y_high - page->y_low) * (BOTTOM - TOP);
}

/** UTF-8 without the two characters beyond ASCII that XML lacks. */
static bool is_wide_text(const char *text)
{
    json_t *checked = json_string(text); /* takes UTF-8 only */
    bool good = checked != NULL && strstr(text, "\xef\xbf\xbe") == NULL &&
                strstr(text, "\xef\xbf\xbf") == NULL;
    json_decref(checked);
    return good;
}

static bool is_shown(char c, bool wide)
{
    return (c >= ' ' && c < 0x7f) || (wide && (unsigned char)c >= 0x80);
}

/** Characters of XML are written as such; what is no character of it at all as a dot. */
static void put_text(FILE *file, const char *text)
{
    bool wide = is_wide_text(text);
    for (; *text != '\0'; text++) {
        switch (*text) {
        case '<':
            fputs("&lt;", file);
            break;
        case '>':
            fputs("&gt;", file);
            break;
        case '&':
            fputs("&amp;", file);
            break;
        default:
            fputc(is_shown(*text, wide) ? *text : '.', file);
        }
    }
}

/** 1, 2 or 5 times a power of ten, so that `span` has about `count` steps. */
static double nice_step(double span, int count)
{
    double raw = span / count, power = pow(10, floor(log10(raw)));
    double factor = raw / power;
    return power * (factor <= 1 ? 1 : factor <= 2 ? 2 : factor <= 5 ? 5 : 10);
}

static void find_ranges(struct page *page)
{
    double x_low = INFINITY, x_high = -INFINITY, y_high = 1;
    for (size_t l = 0; l < page->plot->count; l++) {
        const struct svg_line *line = &page->plot->lines[l];
        for (size_t i = 0; i < line->count; i++) {
            x_low = fmin(x_low, line->points[i].x);
            x_high = fmax(x_high, line->points[i].x);
            if (isfinite(line->points[i].y))
                y_high = fmax(y_high, fmin(line->points[i].y, MOST_Y));
        }
    }
    if (x_high - x_low < 1) {
        x_low = fmax(x_low - 5, 0);
        x_high += 5;
    }
    double step = nice_step(x_high - x_low, 8);
    page->x_low = floor(x_low / step) * step;
    page->x_high = fmax(ceil(x_high / step) * step, page->x_low + step);
    step = nice_step(y_high > 1 ? fmax(y_high - 1, 0.01) : 0.5, 6);
    page->y_low = 1;
    page->y_high = 1 + fmax(ceil((y_high - 1) / step - 1e-9), 1) * step;
}

static void put_head(const struct page *page)
{
    FILE *file = page->file;
    fprintf(file,
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
            "viewBox=\"0 0 %d %d\" font-family=\"Helvetica, Arial, sans-serif\" font-size=\"14\" "
            "fill=\"#222222\">\n"
            "<rect width=\"%d\" height=\"%d\" fill=\"#ffffff\"/>\n",
            WIDTH, HEIGHT, WIDTH, HEIGHT, WIDTH, HEIGHT);
    fprintf(file, "<title>");
    put_text(file, page->plot->title);
    fprintf(file, "</title>\n<text x=\"%d\" y=\"28\" font-size=\"18\">", LEFT);
    put_text(file, page->plot->title);
    fprintf(file, "</text>\n<text x=\"%d\" y=\"50\" fill=\"#555555\">", LEFT);
    put_text(file, page->plot->subtitle);
    fputs("</text>\n", file);
}

static void put_x_axis(const struct page *page)
{
    FILE *file = page->file;
    double step = nice_step(page->x_high - page->x_low, 8);
    int count = (int)((page->x_high - page->x_low) / step + 1e-6);
    for (int i = 0; i <= count; i++) {
        double x = page->x_low + i * step, at = x_of(page, x);
        fprintf(file,
                "<line x1=\"%.1f\" y1=\"%d\" x2=\"%.1f\" y2=\"%d\" stroke=\"#e4e4e4\"/>\n"
                "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%.6g%%</text>\n",
                at, TOP, at, BOTTOM, at, BOTTOM + 20, x);
    }
    fprintf(file,
            "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">budget, of the peak without one"
            "</text>\n",
            (LEFT + RIGHT) / 2, BOTTOM + 46);
}

static void put_y_axis(const struct page *page)
{
    FILE *file = page->file;
    double step = nice_step(page->y_high - page->y_low, 6);
    int count = (int)((page->y_high - page->y_low) / step + 1e-6);
    for (int i = 0; i <= count; i++) {
        double y = page->y_low + i * step, at = y_of(page, y);
        fprintf(file,
                "<line x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\" stroke=\"#e4e4e4\"/>\n"
                "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%.6g</text>\n",
                LEFT, at, RIGHT, at, LEFT - 8, at + 5, y);
    }
    fprintf(file,
            "<text x=\"22\" y=\"%d\" text-anchor=\"middle\" transform=\"rotate(-90 22 %d)\">"
            "overhead (time / time without a budget)</text>\n",
            (TOP + BOTTOM) / 2, (TOP + BOTTOM) / 2);
    fprintf(file,
            "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"none\" "
            "stroke=\"#888888\"/>\n"
            "<clipPath id=\"plot\"><rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\"/>"
            "</clipPath>\n",
            LEFT, TOP, RIGHT - LEFT, BOTTOM - TOP, LEFT, TOP, RIGHT - LEFT, BOTTOM - TOP);
}

/** Attributes of a line's stroke. */
static void put_stroke(FILE *file, const struct svg_line *line, size_t index)
{
    const char *colour = line->is_bound ? "#777777" : colours[index % COLOURS];
    const char *dash = line->is_bound ? "5 4" : dashes[index / COLOURS % DASHES];
    fprintf(file, "stroke=\"%s\" stroke-width=\"2\"", colour);
    if (dash[0] != '\0')
        fprintf(file, " stroke-dasharray=\"%s\"", dash);
}

/** A dot, or above the top an arrow with the number. */
static void put_mark(const struct page *page, const struct svg_point *point, const char *colour)
{
    double x = x_of(page, point->x), y = y_of(page, point->y);
    if (point->y <= page->y_high)
        fprintf(page->file, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3.5\" fill=\"%s\"/>\n", x, y,
                colour);
    else
        fprintf(page->file,
                "<path d=\"M%.1f %dl5 9h-10z\" fill=\"%s\"/>\n"
                "<text x=\"%.1f\" y=\"%d\" font-size=\"11\" text-anchor=\"middle\">%.3g</text>\n",
                x, TOP, colour, x, TOP - 4, point->y);
}

/** The line, broken where nothing fits, and a mark at each point. */
static void put_line(const struct page *page, const struct svg_line *line, size_t index)
{
    FILE *file = page->file;
    for (size_t i = 0; i < line->count;) {
        size_t end = i;
        while (end < line->count && isfinite(line->points[end].y))
            end++;
        if (end > i + 1) {
            fputs("<polyline clip-path=\"url(#plot)\" fill=\"none\" ", file);
            put_stroke(file, line, index);
            fputs(" points=\"", file);
            for (size_t k = i; k < end; k++)
                fprintf(file, "%s%.1f,%.1f", k > i ? " " : "", x_of(page, line->points[k].x),
                        y_of(page, line->points[k].y));
            fputs("\"/>\n", file);
        }
        for (size_t k = i; k < end && !line->is_bound; k++)
            put_mark(page, &line->points[k], colours[index % COLOURS]);
        i = end + 1;
    }
}

/** A cross for each budget that a policy cannot keep, in a row of its own at the top. */
static void put_failures(const struct page *page, const struct svg_line *line, size_t index)
{
    double y = TOP + 10 + (double)MARK_STEP * (double)index;
    for (size_t i = 0; i < line->count; i++) {
        double x = x_of(page, line->points[i].x);
        if (isfinite(line->points[i].y))
            continue;
        fprintf(page->file,
                "<path d=\"M%.1f %.1fl8 8m0 -8l-8 8\" fill=\"none\" stroke-width=\"2\" "
                "stroke=\"%s\"/>\n",
                x - 4, y - 4, line->is_bound ? "#777777" : colours[index % COLOURS]);
    }
}

static void put_legend(const struct page *page)
{
    FILE *file = page->file;
    for (size_t l = 0; l < page->plot->count; l++) {
        double y = TOP + 10 + 20.0 * (double)l;
        fprintf(file, "<line x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\" ", LEGEND, y, LEGEND + 28,
                y);
        put_stroke(file, &page->plot->lines[l], l);
        fprintf(file, "/>\n<text x=\"%d\" y=\"%.1f\">", LEGEND + 36, y + 5);
        put_text(file, page->plot->lines[l].name);
        fputs("</text>\n", file);
    }
    double y = TOP + 10 + 20.0 * (double)page->plot->count;
    fprintf(file,
            "<path d=\"M%d %.1fl8 8m0 -8l-8 8\" fill=\"none\" stroke=\"#222222\" "
            "stroke-width=\"2\"/>\n<text x=\"%d\" y=\"%.1f\">does not fit</text>\n",
            LEGEND + 10, y - 4, LEGEND + 36, y + 5);
}

bool svg_write(const char *path, const struct svg_plot *plot)
{
    struct output output;
    if (!output_open(&output, path))
        return false;
    struct page page = {.file = output.file, .plot = plot};
    find_ranges(&page);
    put_head(&page);
    put_x_axis(&page);
    put_y_axis(&page);
    for (size_t l = 0; l < plot->count; l++) {
        put_line(&page, &plot->lines[l], l);
        put_failures(&page, &plot->lines[l], l);
    }
    put_legend(&page);
    fputs("</svg>\n", page.file);
    return output_close(&output, true);
}
