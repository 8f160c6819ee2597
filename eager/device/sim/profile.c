#include "eager/device/sim/profile.h"

#include <string.h>

#include "cebus_config.h"
#include "eager/device/sim/duration.h"
#include "eager/op.h"
#include "lineage/error_text.h"

uint64_t cebus_profile_name(const char *name)
{
    uint64_t hash = UINT64_C(14695981039346656037); /* FNV-1a */
    for (; *name != '\0'; name++)
        hash = (hash ^ (unsigned char)*name) * UINT64_C(1099511628211);
    return hash != 0 ? hash : 1;
}

/** Where a key is, or the free place where it would go. */
static cebus_profile_cost *place_of(const cebus_profile *profile, uint64_t name, uint64_t hash)
{
    uint64_t mixed = (name ^ hash) * UINT64_C(0x9e3779b97f4a7c15);
    size_t mask = profile->capacity - 1;
    size_t i = (size_t)(mixed >> 32) & mask;
    while (profile->costs[i].name != 0 &&
           (profile->costs[i].name != name || profile->costs[i].hash != hash))
        i = (i + 1) & mask;
    return &profile->costs[i];
}

const cebus_profile_cost *cebus_profile_find(const cebus_profile *profile, uint64_t name,
                                             uint64_t hash)
{
    if (profile->count == 0)
        return NULL;
    const cebus_profile_cost *cost = place_of(profile, name, hash);
    return cost->name != 0 ? cost : NULL;
}

void cebus_profile_free(cebus_profile *profile, const cebus_host_allocator *host)
{
    if (profile->costs != NULL)
        host->free(host->context, profile->costs);
    *profile = (cebus_profile){0};
}

#if CEBUS_HAVE_JSON

#include <errno.h>
#include <jansson.h>
#include <stdio.h>

/** A file of more is no profile: a million ops take a tenth. */
#define MOST_BYTES (INT64_C(1) << 30)

static const char op[] = "profile";

static cebus_status bad_entry(const char *path, size_t i, const char *what)
{
    return cebus_fail(CEBUS_INVALID_ARGUMENT, op, "\"%.120s\", entry %zu of \"ops\": %s", path, i,
                      what);
}

static cebus_status load(const char *path, json_t **out)
{
    json_error_t error;
    char text[128];
    *out = NULL;
    FILE *file = fopen(path, "re");
    if (file == NULL || fseek(file, 0, SEEK_END) != 0) {
        cebus_status status = cebus_fail(CEBUS_INVALID_ARGUMENT, op, "cannot read \"%.120s\": %s",
                                         path, cebus_error_text(errno, text, sizeof text));
        if (file != NULL)
            fclose(file);
        return status;
    }
    long bytes = ftell(file);
    rewind(file);
    if (bytes >= 0 && bytes <= MOST_BYTES)
        *out = json_loadf(file, JSON_REJECT_DUPLICATES, &error);
    fclose(file);
    if (*out != NULL)
        return CEBUS_OK;
    if (bytes < 0 || bytes > MOST_BYTES)
        return cebus_fail(CEBUS_INVALID_ARGUMENT, op, "\"%.120s\" has more than 1 GiB", path);
    return cebus_fail(CEBUS_INVALID_ARGUMENT, op, "\"%.120s\", line %d, column %d: %.160s", path,
                      error.line, error.column, error.text);
}

/** Sixteen hexadecimal digits. */
static bool parse_hash(const char *text, uint64_t *out)
{
    static const char digits[] = "0123456789abcdef";
    *out = 0;
    for (int i = 0; i < 16; i++) {
        const char *digit = text[i] != '\0' ? strchr(digits, text[i]) : NULL;
        if (digit == NULL)
            return false;
        *out = *out << 4 | (uint64_t)(digit - digits);
    }
    return text[16] == '\0';
}

static cebus_status add_entry(cebus_profile *profile, const char *path, size_t i,
                              const json_t *entry)
{
    const char *name = json_string_value(json_object_get(entry, "name"));
    const char *hash = json_string_value(json_object_get(entry, "hash"));
    const json_t *cost = json_object_get(entry, "cost_ns");
    const json_t *count = json_object_get(entry, "count");
    uint64_t number;
    if (name == NULL || name[0] == '\0')
        return bad_entry(path, i, "\"name\" must be the name of an op");
    if (hash == NULL || !parse_hash(hash, &number))
        return bad_entry(path, i, "\"hash\" must be 16 digits, 0 to 9 and a to f");
    if (!json_is_integer(cost) || json_integer_value(cost) < 0 ||
        (uint64_t)json_integer_value(cost) > CEBUS_NS_MAX)
        return bad_entry(path, i, "\"cost_ns\" must be a whole number of at least 0");
    if (count != NULL && (!json_is_integer(count) || json_integer_value(count) < 1))
        return bad_entry(path, i, "\"count\" must be a whole number of at least 1");
    uint64_t key = cebus_profile_name(name);
    cebus_profile_cost *place = place_of(profile, key, number);
    if (place->name != 0)
        return bad_entry(path, i, "its name and hash were listed before");
    *place = (cebus_profile_cost){key, number, (uint64_t)json_integer_value(cost)};
    profile->count++;
    return CEBUS_OK;
}

static cebus_status check_head(const char *path, const json_t *root)
{
    const json_t *version = json_object_get(root, "cebus_profile");
    if (!json_is_integer(version))
        return cebus_fail(CEBUS_INVALID_ARGUMENT, op,
                          "\"%.120s\" is no profile: it lacks \"cebus_profile\": 1", path);
    if (json_integer_value(version) != 1)
        return cebus_fail(CEBUS_INVALID_ARGUMENT, op,
                          "\"%.120s\" is a profile of version %lld; this library reads version 1",
                          path, (long long)json_integer_value(version));
    if (!json_is_array(json_object_get(root, "ops")))
        return cebus_fail(CEBUS_INVALID_ARGUMENT, op, "\"%.120s\": \"ops\" must be a list", path);
    return CEBUS_OK;
}

static cebus_status read_entries(const char *path, const json_t *root,
                                 const cebus_host_allocator *host, cebus_profile *out)
{
    const json_t *ops = json_object_get(root, "ops");
    size_t n = json_array_size(ops);
    out->capacity = 16;
    while (out->capacity < 2 * n)
        out->capacity *= 2;
    out->costs = host->alloc(host->context, out->capacity * sizeof *out->costs);
    if (out->costs == NULL)
        return cebus_fail(CEBUS_OUT_OF_HOST_MEMORY, op, "no host memory for %zu costs", n);
    memset(out->costs, 0, out->capacity * sizeof *out->costs);
    cebus_status status = CEBUS_OK;
    for (size_t i = 0; i < n && status == CEBUS_OK; i++)
        status = add_entry(out, path, i, json_array_get(ops, i));
    if (status != CEBUS_OK)
        cebus_profile_free(out, host);
    return status;
}

cebus_status cebus_profile_read(const char *path, const cebus_host_allocator *host,
                                cebus_profile *out)
{
    json_t *root;
    *out = (cebus_profile){0};
    cebus_status status = load(path, &root);
    if (status != CEBUS_OK)
        return status;
    status = check_head(path, root);
    if (status == CEBUS_OK)
        status = read_entries(path, root, host, out);
    json_decref(root);
    if (status != CEBUS_OK)
        *out = (cebus_profile){0};
    return status;
}

#else

cebus_status cebus_profile_read(const char *path, const cebus_host_allocator *host,
                                cebus_profile *out)
{
    (void)host;
    *out = (cebus_profile){0};
    return cebus_fail(CEBUS_UNSUPPORTED, "profile",
                      "cannot read \"%.120s\": this build has no JSON library; install jansson and "
                      "configure with -Djson=enabled",
                      path);
}

#endif
