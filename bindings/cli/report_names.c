#include "report_names.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "message.h"

/** FNV-1a (Fowler, Noll, Vo); never 0, which the map does not take. */
static uint64_t hash_of(const char *text)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (; *text != '\0'; text++)
        hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    return hash != 0 ? hash : 1;
}

/** A copy that is short enough, not cut within a character. */
static void shorten(const char *text, char out[REPORT_NAME_BYTES + 4])
{
    size_t length = strlen(text);
    if (length <= REPORT_NAME_BYTES) {
        memcpy(out, text, length + 1);
        return;
    }
    length = REPORT_NAME_BYTES - 3;
    while (length > 0 && ((unsigned char)text[length] & 0xc0) == 0x80)
        length--;
    snprintf(out, REPORT_NAME_BYTES + 4, "%.*s...", (int)length, text);
}

uint32_t report_names_find(struct report_names *names, const char *text)
{
    char name[REPORT_NAME_BYTES + 4];
    if (text == NULL)
        return NO_INDEX;
    shorten(text, name);
    uint64_t hash = hash_of(name);
    uint32_t index;
    while ((index = id_map_find(&names->by_hash, hash)) != NO_INDEX) {
        if (strcmp(names->list[index], name) == 0)
            return index;
        hash = hash + 1 != 0 ? hash + 1 : 1;
    }
    if (names->count == REPORT_MOST_NAMES)
        return REPORT_MOST_NAMES - 1;
    bool last = names->count == REPORT_MOST_NAMES - 1;
    index = (uint32_t)names->count;
    names->list = take_more(names->list, &names->room, names->count, sizeof *names->list);
    names->list[names->count++] = take_text(last ? "(other ops)" : name);
    if (!last)
        id_map_set(&names->by_hash, hash, index);
    return index;
}

const char *report_names_text(const struct report_names *names, uint32_t index, const char *none)
{
    return index < names->count ? names->list[index] : none;
}

void report_names_free(struct report_names *names)
{
    for (size_t i = 0; i < names->count; i++)
        free(names->list[i]);
    free(names->list);
    id_map_free(&names->by_hash);
    *names = (struct report_names){0};
}
