/**
 * budgets.h: lists of budgets: "90%..5%:5%", "6GiB,4GiB", "90%,80%,50%..10%:10%".
 */
#ifndef BUDGETS_H
#define BUDGETS_H

#include <stddef.h>

/** Budgets of a list at most. */
#define MOST_BUDGETS 1000

struct budgets {
    char (*texts)[32]; /**< each a size for cebus_size_parse() */
    size_t count, room;
};

/** NULL, or what is wrong with the text, in a sentence valid until the next call. Free in any
 * case. */
const char *budgets_parse(const char *text, struct budgets *out);
void budgets_free(struct budgets *budgets);

#endif
