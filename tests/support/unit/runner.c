/*
 * Runs the tests of a program without Criterion, prints TAP.
 * usage: PROGRAM [--filter PATTERN]    as in 'suite/name*'; other arguments are Criterion's own
 */
#include <fnmatch.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/unit/criterion/criterion.h"

#define SKIPPED 77

static cebus_unit_test *first, **last = &first;
static bool failed; /* the test of this process */

void cebus_unit_register(cebus_unit_test *unit)
{
    *last = unit;
    last = &unit->next;
}

void cebus_unit_check(bool good, bool fatal, const char *file, int line, const char *what,
                      const char *format, ...)
{
    if (good)
        return;
    va_list arguments;
    va_start(arguments, format);
    printf("# %s:%d: %s: ", file, line, what);
    vprintf(format, arguments);
    printf("\n");
    fflush(stdout);
    va_end(arguments);
    failed = true;
    if (fatal)
        _exit(1); /* what it leaves behind goes with the process */
}

void cebus_unit_skip(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    printf("# ");
    vprintf(format, arguments);
    printf("\n");
    fflush(stdout);
    va_end(arguments);
    _exit(SKIPPED);
}

static const cebus_unit_test *suite_of(const cebus_unit_test *test)
{
    static const cebus_unit_test none;
    for (const cebus_unit_test *unit = first; unit != NULL; unit = unit->next) {
        if (unit->name == NULL && strcmp(unit->suite, test->suite) == 0)
            return unit;
    }
    return &none;
}

static int run(const cebus_unit_test *test)
{
    const cebus_unit_test *suite = suite_of(test);
    alarm(test->timeout > 0 ? test->timeout : suite->timeout);
    if (suite->init != NULL)
        suite->init();
    if (test->init != NULL)
        test->init();
    test->run();
    if (test->fini != NULL)
        test->fini();
    if (suite->fini != NULL)
        suite->fini();
    return failed;
}

/** The answer of waitpid(). */
static int run_apart(const cebus_unit_test *test)
{
    int status = -1;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0)
        exit(run(test));
    return child > 0 && waitpid(child, &status, 0) == child ? status : -1;
}

static bool matches(const cebus_unit_test *test, const char *filter)
{
    char full[256];
    snprintf(full, sizeof full, "%s/%s", test->suite, test->name);
    return filter == NULL || fnmatch(filter, full, 0) == 0;
}

static bool report(const cebus_unit_test *test, int number, int status)
{
    bool exits = WIFEXITED(status), skipped = exits && WEXITSTATUS(status) == SKIPPED;
    bool good = skipped || (exits && WEXITSTATUS(status) == 0);
    if (!exits)
        printf("# killed by signal %d\n", WTERMSIG(status));
    else if (!good)
        printf("# exit status %d\n", WEXITSTATUS(status));
    printf("%sok %d - %s::%s%s\n", good ? "" : "not ", number, test->suite, test->name,
           skipped ? " # SKIP" : "");
    return good;
}

int main(int argc, char **argv)
{
    const char *filter = NULL;
    int number = 0, wrong = 0;
    for (int i = 1; i + 1 < argc; i++) {
        if (strcmp(argv[i], "--filter") == 0)
            filter = argv[i + 1];
    }
    printf("TAP version 13\n");
    if (first == NULL) { /* those of a library that this build lacks are left out */
        printf("1..0 # SKIP no tests in this build\n");
        return 0;
    }
    for (const cebus_unit_test *test = first; test != NULL; test = test->next) {
        if (test->name != NULL && matches(test, filter)) {
            int status = run_apart(test);
            wrong += !report(test, ++number, status);
        }
    }
    printf("1..%d\n", number);
    return wrong > 0;
}
