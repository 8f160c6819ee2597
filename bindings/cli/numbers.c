#include "numbers.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

uint64_t number_count(const char *option, const char *text, uint64_t least, uint64_t most,
                      struct argp_state *state)
{
    char *end;
    const uint64_t count = strtoull(text, &end, 10);
    /* Nineteen digits cannot overflow. */
    if (text[0] < '0' || text[0] > '9' || *end != '\0' || count < least || count > most ||
        strlen(text) > 19)
        argp_error(state, "--%s: \"%s\" is not a whole number from %" PRIu64 " to %" PRIu64, option,
                   text, least, most);
    return count;
}

double number_seconds(const char *option, const char *text, struct argp_state *state)
{
    char *end;
    const double seconds = strtod(text, &end);
    if (end == text || *end != '\0' || !(seconds > 0 && seconds <= 1e9))
        argp_error(state, "--%s: \"%s\" is not a number of seconds above 0", option, text);
    return seconds;
}
