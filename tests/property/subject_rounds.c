/*
 * Random programs that come again: a pass is the beginning of a program of program.h, with its
 * parameters as the pass before left them. What a pass does is drawn, and is the same in each; what
 * it computes is not.
 */
#include <stdlib.h>
#include <string.h>

#include "tests/property/program.h"

typedef struct rounds {
    cebus_runtime *rt;
    const char *name;
    uint64_t seed;
    cebus_program *program;
} rounds;

static void destroy(void *self)
{
    rounds *r = self;
    if (r->program != NULL)
        cebus_subject_program.destroy(r->program);
    free(r);
}

static void *create(cebus_runtime *rt, const char *name, uint64_t seed)
{
    rounds *r = calloc(1, sizeof *r);
    if (r == NULL)
        return NULL;
    *r = (rounds){.rt = rt, .name = name, .seed = seed};
    r->program = cebus_subject_program.create(rt, name, seed);
    if (r->program == NULL) {
        destroy(r);
        return NULL;
    }
    r->program->careful = true;
    return r;
}

/** Of two passes that do the same. */
static uint64_t random_of(const rounds *r, size_t pass)
{
    uint64_t turn = 0;
    if (strstr(r->name, "+turns") != NULL)
        turn = pass / 3 % 2;
    else if (strstr(r->name, "+drift") != NULL)
        turn = pass;
    return r->seed + turn * 1000;
}

static cebus_status begin(rounds *r, size_t pass)
{
    cebus_status status = cebus_program_begin(r->program, random_of(r, pass), r->seed + pass);
    bool marks = strstr(r->name, "+unmarked") == NULL;
    return status == CEBUS_OK && marks ? cebus_iteration_mark(r->rt) : status;
}

static cebus_status step(void *self, size_t i, cebus_record *record)
{
    rounds *r = self;
    if (i % CEBUS_ROUND_STEPS == 0)
        return begin(r, i / CEBUS_ROUND_STEPS);
    return cebus_subject_program.step(r->program, i, record);
}

static cebus_status finish(void *self, cebus_record *record)
{
    rounds *r = self;
    return cebus_subject_program.finish(r->program, record);
}

static bool is_atomic(void *self, size_t i)
{
    rounds *r = self;
    return i % CEBUS_ROUND_STEPS == 0 || cebus_subject_program.is_atomic(r->program, i);
}

static cebus_tensor *leaf(void *self, size_t i)
{
    rounds *r = self;
    return cebus_subject_program.leaf(r->program, i);
}

const cebus_subject cebus_subject_rounds = {
    .create = create,
    .step = step,
    .finish = finish,
    .is_atomic = is_atomic,
    .leaf = leaf,
    .destroy = destroy,
};
