#include "plan_head.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "file_start.h"
#include "message.h"

/** The library refuses longer lines. */
#define LINE_BYTES 4096

/** NULL: it is no such file. */
static json_t *read_head(const char *path)
{
    char line[LINE_BYTES];
    if (!file_start(path, line, sizeof line))
        return NULL;
    line[strcspn(line, "\n")] = '\0';
    json_t *root = json_loads(line, 0, NULL);
    if (json_is_object(root) && json_object_get(root, "cebus_plans") != NULL)
        return root;
    json_decref(root);
    return NULL;
}

static const char *why_no_head(const char *path)
{
    if (strcmp(path, "-") != 0 && access(path, R_OK) != 0)
        return strerror(errno);
    return file_is_regular(path)
               ? "this is no file of plans: its first line lacks \"cebus_plans\""
               : "is not a file: plans are read several times, so write them into one";
}

bool plan_head_is(const char *path)
{
    json_t *root = read_head(path);
    json_decref(root);
    return root != NULL;
}

/** A setting that nobody gave, from the file. NULL: the file does not say. */
static bool fill_in(const char *path, struct settings *settings, enum setting_key key,
                    const char *text)
{
    struct setting *setting = &settings->of[key];
    if (setting->origin != FROM_DEFAULT || text == NULL)
        return true;
    const char *wrong = setting_problem(key, text);
    if (wrong != NULL) {
        complain_file(path, "%s: %s", setting_name(key), wrong);
        return false;
    }
    setting->text = text;
    return true;
}

/** A number of the file, as the text of a setting; NULL: it is not there, or 0. */
static const char *number_text(const json_t *root, const char *key, char out[32])
{
    json_int_t number = json_integer_value(json_object_get(root, key));
    snprintf(out, 32, "%" JSON_INTEGER_FORMAT, number);
    return number > 0 ? out : NULL;
}

bool plan_head_apply(struct plan_head *head, const char *path, struct settings *settings)
{
    head->root = read_head(path);
    if (head->root == NULL) {
        complain_file(path, "%s", why_no_head(path));
        return false;
    }
    const char *device = json_string_value(json_object_get(head->root, "device"));
    const char *swap = json_string_value(json_object_get(head->root, "swap"));
    const char *policy = json_string_value(json_object_get(head->root, "policy"));
    const char *layout = json_string_value(json_object_get(head->root, "layout"));
    if (device != NULL && strncmp(device, "sim:", 4) != 0)
        device = NULL; /* made for a real one: there is no machine of that name */
    if (swap != NULL && strcmp(swap, "default") == 0)
        swap = NULL;
    bool good =
        fill_in(path, settings, SETTING_MACHINE, device) &&
        fill_in(path, settings, SETTING_POLICY, policy) &&
        fill_in(path, settings, SETTING_LAYOUT, layout) &&
        fill_in(path, settings, SETTING_SWAP, swap) &&
        fill_in(path, settings, SETTING_BUDGET, number_text(head->root, "budget", head->budget)) &&
        fill_in(path, settings, SETTING_HOST_BUDGET,
                number_text(head->root, "host_budget", head->host_budget));
    if (!good)
        plan_head_free(head);
    return good;
}

void plan_head_free(struct plan_head *head)
{
    json_decref(head->root);
    head->root = NULL;
}
