#include "tests/support/slice.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static uint64_t part, parts; /* from 1 on; parts 0: not read yet */

static void read_environment(void)
{
    const char *text = getenv("CEBUS_TEST_SLICE");
    char rest;
    part = parts = 1;
    if (text == NULL || *text == '\0')
        return;
    if (sscanf(text, "%" SCNu64 "/%" SCNu64 "%c", &part, &parts, &rest) == 2 && part >= 1 &&
        part <= parts)
        return;
    fprintf(stderr, "CEBUS_TEST_SLICE=%s: it must be K/N, as in 3/16, with K from 1 to N\n", text);
    exit(2);
}

bool cebus_test_slice_has(uint64_t number)
{
    if (parts == 0)
        read_environment();
    return number % parts == part - 1;
}

bool cebus_test_slice_is_part(void)
{
    if (parts == 0)
        read_environment();
    return parts > 1;
}
