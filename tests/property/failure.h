/**
 * failure.h: the first thing that was wrong with a run, in words.
 */
#ifndef CEBUS_TESTS_PROPERTY_FAILURE_H
#define CEBUS_TESTS_PROPERTY_FAILURE_H

#include <cebus/base.h>

/** Empty: nothing was wrong. */
typedef char cebus_failure[640];

/** Only the first is kept: what comes after it mostly follows from it. */
void CEBUS_PRINTF(2, 3) cebus_failure_note(cebus_failure failure, const char *format, ...);
/** With the thread's last error. */
void cebus_failure_note_error(cebus_failure failure, const char *what);

#endif
