#include "eager/options.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "eager/op.h"
#include "layout/layout.h"

static const char create[] = "runtime_create";

cebus_status cebus_options_policy(const char *name, const cebus_policy **out)
{
    char names[256] = "";
    *out = name != NULL ? cebus_policy_find(name) : NULL;
    if (*out != NULL)
        return CEBUS_OK;
    for (size_t i = 0; cebus_policy_at(i) != NULL; i++) {
        size_t used = strlen(names);
        snprintf(names + used, sizeof names - used, "%s%s", i > 0 ? ", " : "",
                 cebus_policy_at(i)->name);
    }
    return cebus_fail(CEBUS_INVALID_ARGUMENT, "policy", "no policy \"%s\"; there are %s",
                      name != NULL ? name : "(null)", names);
}

static cebus_status no_layout(const char *name)
{
    char names[256] = "";
    for (size_t i = 0; cebus_layout_at(i) != NULL; i++) {
        size_t used = strlen(names);
        snprintf(names + used, sizeof names - used, "%s%s", i > 0 ? ", " : "",
                 cebus_layout_at(i)->name);
    }
    return cebus_fail(CEBUS_INVALID_ARGUMENT, create, "no layout \"%s\"; there are %s", name,
                      names);
}

/** Bytes past what this version knows must be zero: a newer caller asked for nothing new. */
static bool tail_is_zero(const cebus_runtime_options *options)
{
    const unsigned char *bytes = (const unsigned char *)options;
    for (size_t i = sizeof *options; i < options->struct_size; i++) {
        if (bytes[i] != 0)
            return false;
    }
    return true;
}

static cebus_status check(const cebus_runtime_options *options)
{
    const cebus_policy *policy;
    const cebus_host_allocator *host = options->host;
    if (options->threads < 0 || options->threads > 4096)
        return cebus_fail(CEBUS_INVALID_ARGUMENT, create, "threads is %d; 0 (all) to 4096",
                          options->threads);
    if (options->cost_model != CEBUS_COST_MEASURED && options->cost_model != CEBUS_COST_ESTIMATED)
        return cebus_fail(CEBUS_INVALID_ARGUMENT, create, "unknown cost_model %d",
                          (int)options->cost_model);
    if (options->debug &
        ~(uint32_t)(CEBUS_DEBUG_HASH | CEBUS_DEBUG_CHAOS | CEBUS_DEBUG_WALK | CEBUS_DEBUG_HOST))
        return cebus_fail(CEBUS_INVALID_ARGUMENT, create, "unknown bits in debug: 0x%x",
                          (unsigned)options->debug);
    if (options->memory_budget > UINT64_C(1) << 56)
        return cebus_fail(CEBUS_INVALID_ARGUMENT, create,
                          "a memory_budget of more than 2^56 bytes "
                          "cannot be addressed");
    if (options->memory_budget > 0 && options->memory_budget < 4096)
        return cebus_fail(CEBUS_INVALID_ARGUMENT, create,
                          "a memory_budget below 4 KiB holds no "
                          "program");
    if (options->swap != CEBUS_SWAP_DEFAULT && options->swap != CEBUS_SWAP_OFF &&
        options->swap != CEBUS_SWAP_ON)
        return cebus_fail(CEBUS_INVALID_ARGUMENT, create, "unknown swap %d", (int)options->swap);
    if (cebus_layout_find(options->layout) == NULL)
        return no_layout(options->layout);
    if (host != NULL && (host->alloc == NULL || host->realloc == NULL || host->free == NULL))
        return cebus_fail(CEBUS_INVALID_ARGUMENT, create, "the host allocator lacks a function");
    return options->policy != NULL ? cebus_options_policy(options->policy, &policy) : CEBUS_OK;
}

cebus_status cebus_options_read(const cebus_runtime_options *options, cebus_runtime_options *out)
{
    memset(out, 0, sizeof *out);
    if (options == NULL)
        return CEBUS_OK;
    if (options->struct_size < sizeof(size_t))
        return cebus_fail(CEBUS_INVALID_ARGUMENT, create,
                          "struct_size is %zu; initialize with CEBUS_RUNTIME_OPTIONS_INIT",
                          options->struct_size);
    size_t known = options->struct_size < sizeof *out ? options->struct_size : sizeof *out;
    memcpy(out, options, known);
    if (!tail_is_zero(options))
        return cebus_fail(CEBUS_INVALID_ARGUMENT, create,
                          "the options ask for something this version does not know");
    return check(out);
}

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
    double factor = strcmp(end, "%") == 0 ? (double)whole / 100 : suffix_factor(end);
    if (factor == 0 && strcmp(end, "%") != 0)
        return cebus_fail(CEBUS_INVALID_ARGUMENT, op,
                          "unknown suffix \"%s\" in \"%s\": B, KB, MB, GB, TB (1000), KiB, MiB, "
                          "GiB, TiB (1024) or %%",
                          end, text);
    if (number * factor >= 0x1p63)
        return cebus_fail(CEBUS_INVALID_ARGUMENT, op, "\"%s\" is too large", text);
    *out_bytes = (uint64_t)(number * factor);
    return CEBUS_OK;
}
