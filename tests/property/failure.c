#include "tests/property/failure.h"

#include <stdarg.h>
#include <stdio.h>

void cebus_failure_note(cebus_failure failure, const char *format, ...)
{
    va_list args;
    if (failure[0] != '\0')
        return;
    va_start(args, format);
    vsnprintf(failure, sizeof(cebus_failure), format, args);
    va_end(args);
}

void cebus_failure_note_error(cebus_failure failure, const char *what)
{
    const cebus_error *error = cebus_last_error();
    cebus_failure_note(failure, "%s: %s in %s: %s", what, cebus_status_name(error->status),
                       error->op, error->message);
}
