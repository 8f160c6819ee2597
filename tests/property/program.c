#include "tests/property/program.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/property/program_custom.h"

bool cebus_program_trace, cebus_program_far;

uint64_t cebus_program_draw(cebus_program *program, uint64_t bound)
{
    program->random =
        program->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (program->random >> 33) % bound;
}

bool cebus_program_once_in(cebus_program *program, uint64_t n)
{
    return cebus_program_draw(program, n) == 0;
}

cebus_tensor *cebus_program_any(cebus_program *program)
{
    return program->slots[cebus_program_draw(program, CEBUS_PROGRAM_SLOTS)];
}

cebus_tensor *cebus_program_float(cebus_program *program)
{
    cebus_tensor *tensor = cebus_program_any(program);
    for (int i = 0; i < 8 && cebus_tensor_dtype(tensor) != CEBUS_F32; i++)
        tensor = cebus_program_any(program);
    return tensor;
}

cebus_tensor *cebus_program_parameter(cebus_program *program)
{
    return program->parameters[cebus_program_draw(program, CEBUS_PROGRAM_PARAMETERS)];
}

cebus_tensor *cebus_program_differentiable(cebus_program *program)
{
    cebus_tensor *x = cebus_program_float(program);
    for (int i = 0; i < 12 && !cebus_tensor_requires_grad(x); i++)
        x = cebus_program_float(program);
    return x;
}

bool cebus_program_is_mapped(const cebus_program *program, const cebus_tensor *tensor)
{
    for (size_t i = 0; i < CEBUS_PROGRAM_MAPS; i++) {
        if (program->maps[i].tensor == tensor)
            return true;
    }
    return false;
}

cebus_tensor *cebus_program_find(cebus_program *program, cebus_program_fits fits,
                                 const cebus_view *like)
{
    for (int i = 0; i < 12; i++) {
        cebus_tensor *tensor = cebus_program_any(program);
        if (cebus_tensor_dtype(tensor) == CEBUS_F32 && fits(cebus_tensor_view(tensor), like))
            return tensor;
    }
    return NULL;
}

bool cebus_program_is_like(const cebus_view *view, const cebus_view *like)
{
    if (view->ndim != like->ndim)
        return false;
    for (int d = 0; d < view->ndim; d++) {
        if (view->shape[d] != like->shape[d])
            return false;
    }
    return true;
}

void cebus_program_keep(cebus_program *program, cebus_tensor *tensor)
{
    if (tensor == NULL)
        return;
    cebus_tensor **slot = &program->slots[cebus_program_draw(program, CEBUS_PROGRAM_SLOTS)];
    cebus_tensor_release(*slot);
    *slot = tensor;
}

cebus_status cebus_program_done(cebus_program *program, cebus_status status, cebus_tensor **out)
{
    if (status == CEBUS_OK)
        cebus_program_keep(program, *out);
    return status;
}

cebus_status cebus_program_upload(cebus_program *program, int ndim, const int64_t *shape,
                                  cebus_tensor **out)
{
    size_t n = 1;
    for (int d = 0; d < ndim; d++)
        n *= (size_t)shape[d];
    float *data = malloc((n + 1) * sizeof *data);
    *out = NULL;
    if (data == NULL)
        return CEBUS_OUT_OF_HOST_MEMORY;
    for (size_t i = 0; i < n; i++)
        data[i] = (float)((double)cebus_program_draw(program, 1 << 24) * 0x1p-23 - 1.0);
    cebus_status status = cebus_tensor_from_host(program->rt, data, CEBUS_F32, ndim, shape, out);
    free(data);
    return status;
}

static cebus_status make_persistent(cebus_program *program, int ndim, const int64_t *shape,
                                    cebus_tensor **out)
{
    cebus_status status = cebus_program_upload(program, ndim, shape, out);
    return status == CEBUS_OK ? cebus_tensor_set_persistent(*out) : status;
}

static cebus_status make_parameter(cebus_program *program, size_t i)
{
    const int64_t side = CEBUS_PROGRAM_SIDE,
                  shapes[3][2] = {{side, side}, {side, side / 2}, {side}};
    cebus_tensor **parameter = &program->parameters[i];
    cebus_status status = make_persistent(program, i % 3 == 2 ? 1 : 2, shapes[i % 3], parameter);
    if (status == CEBUS_OK)
        status = cebus_tensor_set_requires_grad(*parameter, true);
    if (status == CEBUS_OK)
        status = cebus_optimizer_add(program->optimizer, *parameter);
    return status;
}

static cebus_status fill_slots(cebus_program *program)
{
    const int64_t side = CEBUS_PROGRAM_SIDE, shape[] = {side, side};
    cebus_status status = CEBUS_OK;
    for (size_t i = 0; i < CEBUS_PROGRAM_SLOTS && status == CEBUS_OK; i++)
        status = i % 4 == 0 ? cebus_program_upload(program, 2, shape, &program->slots[i])
                            : cebus_randn(program->rt, CEBUS_F32, 2, shape, &program->slots[i]);
    return status;
}

static cebus_status fill(cebus_program *program)
{
    const int64_t side = CEBUS_PROGRAM_SIDE;
    cebus_adam_options options = CEBUS_ADAM_OPTIONS_INIT;
    cebus_grad_scaler_options scaling = CEBUS_GRAD_SCALER_OPTIONS_INIT;
    options.lr = 0.01;
    scaling.init_scale = 1024;
    scaling.growth_interval = 3;
    cebus_status status = cebus_optimizer_create_adam(program->rt, &options, &program->optimizer);
    if (status == CEBUS_OK)
        status = cebus_grad_scaler_create(program->rt, &scaling, &program->scaler);
    for (size_t i = 0; i < CEBUS_PROGRAM_PARAMETERS && status == CEBUS_OK; i++)
        status = make_parameter(program, i);
    if (status == CEBUS_OK)
        status = make_persistent(program, 1, &side, &program->running_mean);
    if (status == CEBUS_OK)
        status = make_persistent(program, 1, &side, &program->running_var);
    return status == CEBUS_OK ? fill_slots(program) : status;
}

static void let_go(cebus_program *program)
{
    for (size_t i = 0; i < CEBUS_PROGRAM_MAPS; i++) {
        if (program->maps[i].tensor != NULL)
            cebus_tensor_unmap(program->maps[i].tensor);
        cebus_tensor_release(program->maps[i].tensor);
        program->maps[i].tensor = NULL;
    }
    for (size_t i = 0; i < CEBUS_PROGRAM_SLOTS; i++) {
        cebus_tensor_release(program->slots[i]);
        program->slots[i] = NULL;
    }
    cebus_grad_enable(true);
}

cebus_status cebus_program_begin(cebus_program *program, uint64_t random, uint64_t seed)
{
    cebus_status status = CEBUS_OK;
    let_go(program);
    while (program->n_hooks > 0 && status == CEBUS_OK) {
        const cebus_program_hook *last = &program->hooks[program->n_hooks - 1];
        status = cebus_tensor_remove_hook(last->parameter, last->id);
        program->n_hooks -= status == CEBUS_OK;
    }
    if (status == CEBUS_OK)
        status = cebus_optimizer_zero_grad(program->optimizer);
    program->random = random * UINT64_C(0x9E3779B97F4A7C15) + 1;
    cebus_manual_seed(program->rt, seed);
    return status == CEBUS_OK ? fill_slots(program) : status;
}

static void destroy(void *self)
{
    cebus_program *program = self;
    let_go(program);
    cebus_grad_scaler_destroy(program->scaler);
    cebus_optimizer_destroy(program->optimizer);
    for (size_t i = 0; i < CEBUS_PROGRAM_PARAMETERS; i++)
        cebus_tensor_release(program->parameters[i]);
    cebus_tensor_release(program->running_mean);
    cebus_tensor_release(program->running_var);
    free(program);
}

static void *create(cebus_runtime *rt, const char *name, uint64_t seed)
{
    (void)name;
    cebus_program *program = calloc(1, sizeof *program);
    if (program == NULL)
        return NULL;
    program->rt = rt;
    program->careful = cebus_program_far;
    program->random = seed * UINT64_C(0x9E3779B97F4A7C15) + 1;
    cebus_manual_seed(rt, seed);
    cebus_program_custom_reset();
    if (fill(program) == CEBUS_OK)
        return program;
    destroy(program);
    return NULL;
}

static const cebus_program_op *pick(uint64_t *at, const cebus_program_op *table)
{
    for (; table->name != NULL; table++) {
        if (*at < (uint64_t)table->weight)
            return table;
        *at -= (uint64_t)table->weight;
    }
    return NULL;
}

static uint64_t total_weight(const cebus_program_op *table)
{
    uint64_t total = 0;
    for (; table->name != NULL; table++)
        total += (uint64_t)table->weight;
    return total;
}

static const cebus_program_op *draw_op(cebus_program *program)
{
    static const cebus_program_op *const tables[] = {cebus_program_compute, cebus_program_change,
                                                     cebus_program_train, cebus_program_share};
    const cebus_program_op *op = NULL;
    uint64_t total = 0;
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        total += total_weight(tables[i]);
    uint64_t at = cebus_program_draw(program, total);
    for (size_t i = 0; op == NULL; i++)
        op = pick(&at, tables[i]);
    return op;
}

const char *cebus_program_next(void *self)
{
    cebus_program *program = self;
    const uint64_t random = program->random;
    const char *name = draw_op(program)->name;
    program->random = random;
    return name;
}

/** Failures a program may cause by its arguments; they must be the same ones in every run. */
static bool is_expected(cebus_status status)
{
    return status == CEBUS_INVALID_ARGUMENT || status == CEBUS_SHAPE_MISMATCH ||
           status == CEBUS_DTYPE_MISMATCH || status == CEBUS_AUTOGRAD_ERROR;
}

static cebus_status step(void *self, size_t i, cebus_record *record)
{
    cebus_program *program = self;
    uint64_t random = program->random;
    program->record = record;
    const cebus_program_op *op = draw_op(program);
    cebus_status status = op->run(program);
    if (cebus_program_trace)
        printf("# step %zu: %s: %s; random %016" PRIx64 "\n", i, op->name,
               cebus_status_name(status), program->random);
    if (status != CEBUS_OK && !is_expected(status)) {
        program->random = random;
        return status;
    }
    program->stage = 0;
    cebus_record_number(record, (uint64_t)status);
    return CEBUS_OK;
}

static cebus_status finish_leaf(cebus_tensor *leaf, cebus_record *record)
{
    cebus_tensor *grad = NULL;
    cebus_status status = cebus_record_tensor(record, leaf);
    if (status == CEBUS_OK)
        status = cebus_tensor_grad(leaf, &grad);
    if (status == CEBUS_OK && grad != NULL)
        status = cebus_record_tensor(record, grad);
    cebus_tensor_release(grad);
    return status;
}

static cebus_status finish(void *self, cebus_record *record)
{
    cebus_program *program = self;
    cebus_status status = CEBUS_OK;
    for (size_t i = 0; i < CEBUS_PROGRAM_SLOTS && status == CEBUS_OK; i++)
        status = cebus_record_tensor(record, program->slots[i]);
    for (size_t i = 0; i < CEBUS_PROGRAM_PARAMETERS && status == CEBUS_OK; i++)
        status = finish_leaf(program->parameters[i], record);
    if (status == CEBUS_OK)
        status = cebus_record_tensor(record, program->running_mean);
    if (status == CEBUS_OK)
        status = cebus_record_tensor(record, program->running_var);
    return status;
}

/** Gradients are scaled one after the other: what fails in the middle says how many were. */
static bool is_atomic(void *self, size_t i)
{
    (void)i;
    return strcmp(cebus_program_next(self), "clip") != 0;
}

static cebus_tensor *leaf(void *self, size_t i)
{
    cebus_program *program = self;
    return i < CEBUS_PROGRAM_PARAMETERS ? program->parameters[i] : NULL;
}

const cebus_subject cebus_subject_program = {
    .create = create,
    .step = step,
    .finish = finish,
    .leaf = leaf,
    .is_atomic = is_atomic,
    .destroy = destroy,
};
