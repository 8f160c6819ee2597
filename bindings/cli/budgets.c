#include "budgets.h"

#include <cebus/runtime.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "message.h"
#include "settings.h"

enum {
    PIECE_BYTES = 64
};

static char problem[700];

/** A number and its unit, "%", "GiB" or "". */
struct amount {
    double number;
    char unit[8];
};

/** A budget, or, as a step, a size of any length but none. */
static const char *read_amount(const char *text, bool is_step, struct amount *out)
{
    char *end;
    uint64_t bytes;
    if (is_step) {
        if (cebus_size_parse(text, UINT64_C(1) << 40, &bytes) != CEBUS_OK)
            return cebus_last_error()->message;
        if (bytes == 0)
            return "a step of nothing gets nowhere";
    }
    const char *wrong = is_step ? NULL : setting_problem(SETTING_BUDGET, text);
    if (wrong != NULL)
        return wrong;
    out->number = strtod(text, &end);
    while (*end == ' ')
        end++;
    snprintf(out->unit, sizeof out->unit, "%s", end);
    return NULL;
}

static const char *add(struct budgets *budgets, const struct amount *amount)
{
    if (budgets->count == MOST_BUDGETS)
        return "more than 1000 budgets; take a larger step";
    budgets->texts =
        take_more(budgets->texts, &budgets->room, budgets->count, sizeof *budgets->texts);
    snprintf(budgets->texts[budgets->count++], sizeof *budgets->texts, "%.15g%s", amount->number,
             amount->unit);
    return NULL;
}

/** "FROM..TO:STEP", both ends included. */
static const char *add_range(struct budgets *budgets, char *piece, char *dots)
{
    char *colon = strchr(dots, ':');
    struct amount from, to, step;
    if (colon == NULL)
        return "a range is FROM..TO:STEP, as in 90%..10%:5%";
    *dots = *colon = '\0';
    const char *wrong = read_amount(piece, false, &from);
    if (wrong == NULL)
        wrong = read_amount(dots + 2, false, &to);
    if (wrong == NULL)
        wrong = read_amount(colon + 1, true, &step);
    if (wrong != NULL)
        return wrong;
    if (strcmp(from.unit, to.unit) != 0 || strcmp(from.unit, step.unit) != 0)
        return "a range has one unit: FROM, TO and STEP end alike";
    double steps = floor(fabs(to.number - from.number) / step.number * (1 + 1e-9) + 1e-9);
    double way = to.number < from.number ? -step.number : step.number;
    int count = (int)fmin(steps, MOST_BUDGETS);
    for (int i = 0; i <= count && wrong == NULL; i++) {
        /* Rounded, so that 0.3 is not 0.30000000000000004. */
        double number = from.number + i * way;
        struct amount amount = {.number = round(number * 1e6) / 1e6};
        memcpy(amount.unit, from.unit, sizeof amount.unit);
        wrong = amount.number > 0 ? add(budgets, &amount) : NULL;
    }
    return wrong;
}

static const char *add_piece(struct budgets *budgets, char *piece)
{
    struct amount amount;
    char *dots = strstr(piece, "..");
    if (dots != NULL)
        return add_range(budgets, piece, dots);
    const char *wrong = read_amount(piece, false, &amount);
    return wrong == NULL ? add(budgets, &amount) : wrong;
}

const char *budgets_parse(const char *text, struct budgets *out)
{
    *out = (struct budgets){0};
    for (const char *at = text;; at++) {
        char piece[PIECE_BYTES];
        size_t length = strcspn(at, ",");
        const char *wrong = "too long for a budget";
        if (length < sizeof piece) {
            memcpy(piece, at, length);
            piece[length] = '\0';
            wrong = add_piece(out, piece);
        }
        if (wrong != NULL) {
            snprintf(problem, sizeof problem, "\"%.*s\": %s", (int)(length < 60 ? length : 60), at,
                     wrong);
            return problem;
        }
        at += length;
        if (*at == '\0')
            return NULL;
    }
}

void budgets_free(struct budgets *budgets)
{
    free(budgets->texts);
    *budgets = (struct budgets){0};
}
