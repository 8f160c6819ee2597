#include "eager/options.h"

#include <stdio.h>
#include <string.h>

#include "eager/op.h"
#include "layout/layout.h"
#include "layout/prefix.h"

static const char create[] = "runtime_create";

cebus_status cebus_options_prefix(const char *function, const void *from, void *to, size_t size)
{
    size_t theirs;
    if (cebus_prefix_read(from, to, size))
        return CEBUS_OK;
    memcpy(&theirs, from, sizeof theirs);
    if (theirs < sizeof theirs)
        return cebus_fail(CEBUS_INVALID_ARGUMENT, function,
                          "options.struct_size is %zu: initialize with CEBUS_..._OPTIONS_INIT",
                          theirs);
    return cebus_fail(CEBUS_INVALID_ARGUMENT, function,
                      "the options ask for something this version does not know");
}

/** "zones, planned, coop": all names there are. */
static void list_names(const char *(*name_at)(size_t i), char *out, size_t bytes)
{
    out[0] = '\0';
    for (size_t i = 0; name_at(i) != NULL; i++) {
        size_t used = strlen(out);
        snprintf(out + used, bytes - used, "%s%s", i > 0 ? ", " : "", name_at(i));
    }
}

cebus_status cebus_options_policy(const char *name, const cebus_policy **out)
{
    char names[256];
    *out = name != NULL ? cebus_policy_find(name) : NULL;
    if (*out != NULL)
        return CEBUS_OK;
    list_names(cebus_policy_name, names, sizeof names);
    return cebus_fail(CEBUS_INVALID_ARGUMENT, "policy", "no policy \"%s\"; there are %s",
                      name != NULL ? name : "(null)", names);
}

static cebus_status no_layout(const char *name)
{
    char names[256];
    list_names(cebus_layout_name, names, sizeof names);
    return cebus_fail(CEBUS_INVALID_ARGUMENT, create, "no layout \"%s\"; there are %s", name,
                      names);
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
    if (options->debug & ~(uint32_t)(CEBUS_DEBUG_HASH | CEBUS_DEBUG_CHAOS | CEBUS_DEBUG_WALK |
                                     CEBUS_DEBUG_HOST | CEBUS_DEBUG_HINTS))
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
    if (options->spill_budget > 0 && options->spill_budget < 4096)
        return cebus_fail(CEBUS_INVALID_ARGUMENT, create,
                          "a spill_budget below 4 KiB holds no value");
    if (cebus_layout_find(options->layout) == NULL)
        return no_layout(options->layout);
    if (host != NULL && (host->alloc == NULL || host->realloc == NULL || host->free == NULL))
        return cebus_fail(CEBUS_INVALID_ARGUMENT, create, "the host allocator lacks a function");
    return options->policy != NULL ? cebus_options_policy(options->policy, &policy) : CEBUS_OK;
}

const cebus_policy *cebus_options_chosen_policy(const cebus_runtime_options *options)
{
    return options->policy != NULL ? cebus_policy_find(options->policy) : &cebus_policy_cebus;
}

const cebus_layout *cebus_options_layout(const cebus_runtime_options *options)
{
    return cebus_layout_find(
        options->layout != NULL ? options->layout : cebus_options_chosen_policy(options)->layout);
}

cebus_status cebus_options_read(const cebus_runtime_options *options, cebus_runtime_options *out)
{
    memset(out, 0, sizeof *out);
    cebus_status status = cebus_options_prefix(create, options, out, sizeof *out);
    return status == CEBUS_OK ? check(out) : status;
}
