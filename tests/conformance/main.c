/*
 * The conformance suite: every op of a device against a naive reference, its gradients against
 * finite differences, its error paths and its determinism. Any device must pass it.
 *
 * usage: conformance [--device NAME] [FILTER]     runs the families and cases that contain FILTER
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/cuda_host.h"
#include "tests/support/harness.h"
#include "tests/support/test_device.h"

#define FAMILIES(X)                                                                                \
    X(bits)                                                                                        \
    X(fill)                                                                                        \
    X(random)                                                                                      \
    X(cast)                                                                                        \
    X(unary)                                                                                       \
    X(binary)                                                                                      \
    X(integer)                                                                                     \
    X(inplace)                                                                                     \
    X(reduce)                                                                                      \
    X(softmax)                                                                                     \
    X(loss)                                                                                        \
    X(matmul)                                                                                      \
    X(attention)                                                                                   \
    X(attention_rows)                                                                              \
    X(recurrent)                                                                                   \
    X(conv)                                                                                        \
    X(pool)                                                                                        \
    X(norm)                                                                                        \
    X(batch_norm)                                                                                  \
    X(resize)                                                                                      \
    X(index)                                                                                       \
    X(join)                                                                                        \
    X(half)                                                                                        \
    X(optim)                                                                                       \
    X(amp)

/* Weak: absent without a C++ compiler. */
#pragma weak cebus_cuda_host_register

/* Weak: a family that was left out of the build is left out of the run. */
#define DECLARE(family) extern const cebus_case cebus_cases_##family[] __attribute__((weak));
FAMILIES(DECLARE)

typedef struct family {
    const char *name;
    const cebus_case *cases;
} family;

#define ENTRY(family) {#family, cebus_cases_##family},
static const family families[] = {FAMILIES(ENTRY)};
#define N_FAMILIES (sizeof families / sizeof families[0])

static size_t count_cases(const cebus_case *cases)
{
    size_t n = 0;
    while (cases && cases[n].run)
        n++;
    return n;
}

static bool is_selected(const family *f, const cebus_case *c, const char *filter)
{
    return !filter || strstr(f->name, filter) || strstr(c->name, filter);
}

/* All selected cases as one list ended by {NULL, NULL}; NULL when memory is short. */
static cebus_case *select_cases(const char *filter)
{
    size_t total = 0, used = 0;
    for (size_t i = 0; i < N_FAMILIES; i++)
        total += count_cases(families[i].cases);
    cebus_case *list = calloc(total + 1, sizeof *list);
    for (size_t i = 0; list && i < N_FAMILIES; i++)
        for (const cebus_case *c = families[i].cases; c && c->run; c++)
            if (is_selected(&families[i], c, filter))
                list[used++] = *c;
    return list;
}

int main(int argc, char **argv)
{
    const char *device = "cpu", *filter = NULL;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--device") == 0 && i + 1 < argc)
            device = argv[++i];
        else if (argv[i][0] != '-')
            filter = argv[i];
        else
            return fprintf(stderr, "usage: conformance [--device NAME] [FILTER]\n"), 2;
    }
    if (cebus_cuda_host_register)
        cebus_cuda_host_register();
    cebus_test_device_register();
    cebus_case *cases = select_cases(filter);
    if (!cases)
        return fprintf(stderr, "out of memory\n"), 2;
    const cebus_case *lists[] = {cases};
    int failed = cebus_harness_run(device, lists, 1);
    free(cases);
    return failed != 0;
}
