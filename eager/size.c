/**
 * size.c: sizes as people write them.
 */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <cebus/runtime.h>

#include "eager/op.h"

/** The multiplier of a size suffix; 0 when unknown. */
static double suffix_factor(const char *suffix)
{
    static const struct {
        const char *name;
        double factor;
    } suffixes[] = {
        {"", 1},      {"B", 1},        {"KB", 1e3},     {"MB", 1e6},     {"GB", 1e9},
        {"TB", 1e12}, {"KiB", 0x1p10}, {"MiB", 0x1p20}, {"GiB", 0x1p30}, {"TiB", 0x1p40},
    };
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
        if (strcmp(suffix, suffixes[i].name) == 0)
            return suffixes[i].factor;
    }
    return 0;
}

/** Whole bytes, rounded down, but for what the product of two rounded numbers is off by. */
static uint64_t whole_bytes(double bytes)
{
    double nearest = round(bytes);
    return (uint64_t)(fabs(bytes - nearest) <= bytes * 0x1p-50 ? nearest : bytes);
}

cebus_status cebus_size_parse(const char *text, uint64_t whole, uint64_t *out_bytes)
{
    static const char op[] = "size";
    if (text == NULL || out_bytes == NULL)
        return cebus_fail(CEBUS_INVALID_ARGUMENT, op, "%s is NULL",
                          text == NULL ? "the text" : "out");
    *out_bytes = 0;
    char *end;
    double number = isdigit((unsigned char)text[0]) || text[0] == '.' ? strtod(text, &end) : -1;
    if (number < 0 || !isfinite(number))
        return cebus_fail(CEBUS_INVALID_ARGUMENT, op,
                          "\"%s\" is not a size: write 6GiB, 300MB, "
                          "1048576 or 40%%",
                          text);
    while (*end == ' ')
        end++;
    bool is_share = strcmp(end, "%") == 0;
    double factor = is_share ? (double)whole : suffix_factor(end);
    if (factor == 0 && !is_share)
        return cebus_fail(CEBUS_INVALID_ARGUMENT, op,
                          "unknown suffix \"%s\" in \"%s\": B, KB, MB, GB, TB (1000), KiB, MiB, "
                          "GiB, TiB (1024) or %%",
                          end, text);
    double bytes = is_share ? number * factor / 100 : number * factor;
    if (!(bytes < 0x1p63))
        return cebus_fail(CEBUS_INVALID_ARGUMENT, op, "\"%s\" is too large", text);
    *out_bytes = whole_bytes(bytes);
    return CEBUS_OK;
}
