#include "eager/guidance/plan_line.h"

#include <string.h>

typedef struct cursor {
    const char *at, *end;
} cursor;

static void skip_blanks(cursor *c)
{
    while (c->at < c->end && (*c->at == ' ' || *c->at == '\t' || *c->at == '\r'))
        c->at++;
}

/** Takes the character if it comes next. */
static bool take(cursor *c, char wanted)
{
    skip_blanks(c);
    if (c->at >= c->end || *c->at != wanted)
        return false;
    c->at++;
    return true;
}

static const char *parse_text(cursor *c, const char **out, size_t *out_bytes)
{
    if (!take(c, '"'))
        return "a name in quotes is missing";
    *out = c->at;
    while (c->at < c->end && *c->at != '"') {
        if (*c->at == '\\' || (unsigned char)*c->at < 0x20)
            return "a text holds an escape or a control character; plans need none";
        c->at++;
    }
    *out_bytes = (size_t)(c->at - *out);
    return take(c, '"') ? NULL : "a text does not end";
}

static const char *parse_number(cursor *c, uint64_t *out)
{
    const char *first = c->at;
    uint64_t number = 0;
    for (; c->at < c->end && *c->at >= '0' && *c->at <= '9'; c->at++) {
        uint64_t digit = (uint64_t)(*c->at - '0');
        if (number > (UINT64_MAX - digit) / 10)
            return "a number does not fit in 64 bits";
        number = 10 * number + digit;
    }
    *out = number;
    if (c->at == first)
        return "a value is neither a text in quotes nor a number of digits alone";
    return *first == '0' && c->at > first + 1 ? "a number begins with 0" : NULL;
}

static const char *parse_value(cursor *c, cebus_plan_member *out)
{
    skip_blanks(c);
    if (c->at < c->end && *c->at == '"')
        return parse_text(c, &out->text, &out->text_bytes);
    out->text = NULL;
    return parse_number(c, &out->number);
}

static bool has_key(const cebus_plan_line *line, const char *key, size_t bytes)
{
    for (size_t i = 0; i < line->count; i++) {
        if (line->members[i].key_bytes == bytes && memcmp(line->members[i].key, key, bytes) == 0)
            return true;
    }
    return false;
}

static const char *parse_member(cursor *c, cebus_plan_line *line)
{
    cebus_plan_member member = {0};
    const char *wrong = parse_text(c, &member.key, &member.key_bytes);
    if (wrong == NULL && !take(c, ':'))
        wrong = "a key has no colon behind it";
    if (wrong == NULL)
        wrong = parse_value(c, &member);
    if (wrong == NULL && has_key(line, member.key, member.key_bytes))
        wrong = "a key stands there twice";
    if (wrong == NULL && line->count == CEBUS_PLAN_MEMBERS)
        wrong = "it has more than 16 keys";
    if (wrong == NULL)
        line->members[line->count++] = member;
    return wrong;
}

const char *cebus_plan_line_parse(const char *line, size_t bytes, cebus_plan_line *out)
{
    cursor c = {line, line + bytes};
    out->count = 0;
    if (!take(&c, '{'))
        return "it is no JSON object";
    if (!take(&c, '}')) {
        do {
            const char *wrong = parse_member(&c, out);
            if (wrong != NULL)
                return wrong;
        } while (take(&c, ','));
        if (!take(&c, '}'))
            return "the object does not end";
    }
    skip_blanks(&c);
    return c.at == c.end ? NULL : "something follows the object";
}

const cebus_plan_member *cebus_plan_line_find(const cebus_plan_line *line, const char *key)
{
    size_t bytes = strlen(key);
    for (size_t i = 0; i < line->count; i++) {
        if (line->members[i].key_bytes == bytes && memcmp(line->members[i].key, key, bytes) == 0)
            return &line->members[i];
    }
    return NULL;
}
