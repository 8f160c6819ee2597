#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "eager/op.h"

static _Thread_local cebus_error last_error;

const cebus_error *cebus_last_error(void)
{
    return &last_error;
}

cebus_status cebus_fail(cebus_status status, const char *op, const char *format, ...)
{
    va_list args;
    cebus_error error = {.status = status};
    snprintf(error.op, sizeof error.op, "%s", op);
    va_start(args, format);
    vsnprintf(error.message, sizeof error.message, format, args);
    va_end(args);
    last_error = error;
    return status;
}

void cebus_error_restore(const cebus_error *error)
{
    last_error = *error;
}

cebus_status cebus_error_set_aside(void)
{
    cebus_status before = last_error.status;
    last_error.status = CEBUS_OK;
    return before;
}

bool cebus_error_was_told(cebus_status before, cebus_status status)
{
    bool told = last_error.status == status;
    if (last_error.status == CEBUS_OK)
        last_error.status = before;
    return told || status == CEBUS_OK;
}

cebus_status cebus_fail_bytes(uint64_t bytes)
{
    last_error.bytes_wanted = bytes;
    return last_error.status;
}

const char *cebus_status_name(cebus_status status)
{
    static const char *const names[] = {
        [CEBUS_OK] = "CEBUS_OK",
        [CEBUS_INVALID_ARGUMENT] = "CEBUS_INVALID_ARGUMENT",
        [CEBUS_SHAPE_MISMATCH] = "CEBUS_SHAPE_MISMATCH",
        [CEBUS_DTYPE_MISMATCH] = "CEBUS_DTYPE_MISMATCH",
        [CEBUS_RUNTIME_MISMATCH] = "CEBUS_RUNTIME_MISMATCH",
        [CEBUS_OUT_OF_MEMORY] = "CEBUS_OUT_OF_MEMORY",
        [CEBUS_OUT_OF_HOST_MEMORY] = "CEBUS_OUT_OF_HOST_MEMORY",
        [CEBUS_NOT_REPLAYABLE] = "CEBUS_NOT_REPLAYABLE",
        [CEBUS_AUTOGRAD_ERROR] = "CEBUS_AUTOGRAD_ERROR",
        [CEBUS_UNSUPPORTED] = "CEBUS_UNSUPPORTED",
        [CEBUS_DEVICE_ERROR] = "CEBUS_DEVICE_ERROR",
        [CEBUS_REENTRANT] = "CEBUS_REENTRANT",
        [CEBUS_INTERNAL] = "CEBUS_INTERNAL",
        [CEBUS_IO_ERROR] = "CEBUS_IO_ERROR",
        [CEBUS_CAPTURE_ERROR] = "CEBUS_CAPTURE_ERROR",
    };
    if ((size_t)status >= sizeof names / sizeof *names)
        return "CEBUS_UNKNOWN";
    return names[status];
}
