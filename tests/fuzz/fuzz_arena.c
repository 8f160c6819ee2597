/**
 * fuzz_arena.c: four bytes an operation on an arena, each compared with a map of its units
 * (tests/unit/layout/arena_model.h). The last byte chooses the layout.
 */
#include "tests/unit/layout/arena_model.h"

#include <stdio.h>
#include <stdlib.h>

static void stop_at(const char *fault)
{
    if (fault == NULL)
        return;
    fprintf(stderr, "%s\n", fault);
    abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static arena_model model;
    static const char *const layouts[] = {"zones", "coop", "best-fit"};
    model_init_layout(&model, size != 0 ? data[0] : 0, layouts[size != 0 ? data[size - 1] % 3 : 0]);
    for (size_t at = 1; at + 4 <= size; at += 4) {
        stop_at(model_step(&model, data + at));
        stop_at(model_compare(&model));
    }
    stop_at(model_deinit(&model) == 0 ? NULL : "block records were lost");
    return 0;
}
