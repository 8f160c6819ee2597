/*
 * Steps that do not just compute: views, writes in place, handles, host reads, the graph,
 * parameters, a user's own ops, hooks and gradients.
 */
#include <string.h>

#include "tests/property/program.h"
#include "tests/property/program_custom.h"

/** In another order, or of elements that lie apart, or several times in it. */
static cebus_status view_strangely(cebus_program *p, cebus_tensor *x, cebus_tensor **out)
{
    int dims[CEBUS_MAX_DIMS], ndim = cebus_tensor_ndim(x);
    uint64_t turn = cebus_program_draw(p, 8);
    switch (cebus_program_draw(p, 4)) {
    case 0:
        for (int d = 0; d < ndim; d++)
            dims[d] = (d + 1 + (int)(turn % 2)) % ndim;
        return cebus_permute(p->rt, x, dims, out);
    case 1:
        return cebus_diagonal(p->rt, x, (int64_t)turn - 3, 0, -1, out);
    case 2:
        return ndim < 3 ? cebus_windows(p->rt, x, 0, 1 + (int64_t)turn, 8, out)
                        : cebus_squeeze(p->rt, x, 0, out);
    default:
        return cebus_slice(p->rt, x, 0, (int64_t)turn, 1 << 20, 3, out);
    }
}

static cebus_status view(cebus_program *p, cebus_tensor *x, cebus_tensor **out)
{
    int ndim = cebus_tensor_ndim(x);
    int64_t rows = ndim > 0 ? cebus_tensor_size(x, 0) : 1, shape[2] = {-1, rows};
    switch (cebus_program_draw(p, 9)) {
    case 0:
        return cebus_reshape(p->rt, x, 2, shape, out);
    case 1:
        return cebus_transpose(p->rt, x, 0, -1, out);
    case 2:
        return cebus_slice(p->rt, x, 0, rows / 4, rows, 1, out);
    case 3:
        return cebus_slice(p->rt, x, -1, 0, 1 << 20, 2, out);
    case 4:
        return cebus_select(p->rt, x, 0, rows / 2, out);
    case 5:
        shape[0] = 4;
        shape[1] = ndim > 0 ? cebus_tensor_size(x, -1) : 1;
        return ndim == 1 ? cebus_expand(p->rt, x, 2, shape, out)
                         : cebus_unsqueeze(p->rt, x, 0, out);
    case 6:
    case 7:
        return view_strangely(p, x, out);
    default:
        return cebus_detach(p->rt, x, out);
    }
}

static cebus_status run_view(cebus_program *p)
{
    cebus_tensor *out = NULL;
    return cebus_program_done(p, view(p, cebus_program_any(p), &out), &out);
}

static cebus_status run_split(cebus_program *p)
{
    cebus_tensor *x = cebus_program_any(p), *pieces[64] = {NULL};
    size_t count = 64, kept = cebus_program_draw(p, 2);
    cebus_status status = cebus_split(p->rt, x, 16, -1, pieces, &count);
    for (size_t i = 0; status == CEBUS_OK && i < count; i++) {
        if (i == kept)
            cebus_program_keep(p, pieces[i]);
        else
            cebus_tensor_release(pieces[i]);
    }
    return status;
}

static bool goes_into(const cebus_view *view, const cebus_view *like)
{
    if (view->ndim > like->ndim)
        return false;
    for (int d = 1; d <= view->ndim; d++) {
        int64_t length = view->shape[view->ndim - d];
        if (length != 1 && length != like->shape[like->ndim - d])
            return false;
    }
    return true;
}

/** Values must stay small however often they are added to: what grows is halved. */
static cebus_status write(cebus_program *p, cebus_tensor *x, cebus_tensor *y)
{
    switch (cebus_program_draw(p, 8)) {
    case 0:
        return cebus_add_(p->rt, x, y, 0.5);
    case 1:
        return cebus_sub_(p->rt, x, y, 0.25);
    case 2:
        return cebus_copy_(p->rt, x, y);
    case 3:
        return cebus_lerp_(p->rt, x, y, 0.3);
    case 4:
        return cebus_mul_scalar_(p->rt, x, 0.5);
    case 5:
        return cebus_add_scalar_(p->rt, x, 0.125);
    case 6:
        return cebus_program_once_in(p, 2) ? cebus_zero_(p->rt, x) : cebus_fill_(p->rt, x, 0.75);
    default:
        return cebus_lerp_(p->rt, x, y, 0.9);
    }
}

static cebus_status run_inplace(cebus_program *p)
{
    cebus_tensor *x = cebus_program_float(p);
    cebus_tensor *y = cebus_program_find(p, goes_into, cebus_tensor_view(x));
    return write(p, x, y != NULL ? y : cebus_program_any(p));
}

/** A write through a fresh view, whose handle goes at once. */
static cebus_status run_inplace_view(cebus_program *p)
{
    cebus_tensor *x = cebus_program_float(p), *out = NULL;
    cebus_status status = view(p, x, &out);
    if (status != CEBUS_OK)
        return status;
    cebus_tensor *y = cebus_program_find(p, goes_into, cebus_tensor_view(out));
    status = write(p, out, y != NULL ? y : out);
    cebus_tensor_release(out);
    return status;
}

static cebus_status run_mul_inplace(cebus_program *p)
{
    cebus_tensor *x = cebus_program_float(p), *small = NULL;
    cebus_tensor *y = cebus_program_find(p, goes_into, cebus_tensor_view(x));
    if (y == NULL)
        return CEBUS_OK;
    cebus_status status = cebus_tanh(p->rt, y, &small);
    if (status == CEBUS_OK)
        status = cebus_mul_(p->rt, x, small);
    cebus_tensor_release(small);
    return status;
}

/** The same tensor under another name: its handle lives on when this one goes. */
static cebus_status run_alias(cebus_program *p)
{
    cebus_program_keep(p, cebus_tensor_retain(cebus_program_any(p)));
    return CEBUS_OK;
}

static cebus_status run_read(cebus_program *p)
{
    return cebus_record_tensor(p->record, cebus_program_any(p));
}

static cebus_status run_mistake(cebus_program *p)
{
    cebus_tensor *x = cebus_program_any(p), *y = cebus_program_any(p), *out = NULL;
    cebus_status status = CEBUS_OK;
    switch (cebus_program_draw(p, 4)) {
    case 0:
        status = cebus_matmul(p->rt, x, y, &out);
        break;
    case 1:
        status = cebus_reshape(p->rt, x, 1, (int64_t[]){7}, &out);
        break;
    case 2:
        status = cebus_embedding(p->rt, p->parameters[0], x, CEBUS_NO_PADDING, &out);
        break;
    default:
        status = cebus_select(p->rt, x, 0, 999, &out);
    }
    cebus_tensor_release(out);
    return status;
}

/** The end of an iteration like no other: policies that plan learn it, and find it does not come
 * again. */
static cebus_status run_mark(cebus_program *program)
{
    return cebus_iteration_mark(program->rt);
}

static cebus_status run_grad_mode(cebus_program *p)
{
    cebus_record_number(p->record, cebus_grad_enable(!cebus_program_once_in(p, 3)));
    return CEBUS_OK;
}

/** Leaves that are not parameters collect gradients, too. */
static cebus_status run_require(cebus_program *p)
{
    return cebus_tensor_set_requires_grad(cebus_program_float(p), !cebus_program_once_in(p, 4));
}

static cebus_status halve(void *context, cebus_tensor *grad, cebus_tensor **out)
{
    return cebus_mul_scalar(context, grad, 0.5, out);
}

/** Those of parameters stay; of many, the last ones. */
static cebus_status keep_hook(cebus_program *p, cebus_tensor *parameter, uint64_t id)
{
    cebus_status status = CEBUS_OK;
    if (p->n_hooks == CEBUS_PROGRAM_HOOKS) {
        status = cebus_tensor_remove_hook(p->hooks[0].parameter, p->hooks[0].id);
        memmove(p->hooks, p->hooks + 1, --p->n_hooks * sizeof *p->hooks);
    }
    p->hooks[p->n_hooks++] = (cebus_program_hook){parameter, id};
    return status;
}

/** Gradients that pass a tensor, often a parameter, are halved once more. */
static cebus_status run_hook(cebus_program *p)
{
    uint64_t id;
    cebus_grad_hook hook = {.struct_size = sizeof hook, .call = halve, .context = p->rt};
    bool of_parameter = cebus_program_once_in(p, 3);
    cebus_tensor *x = of_parameter ? cebus_program_parameter(p) : cebus_program_differentiable(p);
    hook.after = cebus_program_once_in(p, 4);
    bool removed = cebus_program_once_in(p, 4);
    cebus_status status = cebus_tensor_register_hook(x, &hook, &id);
    if (status == CEBUS_OK && removed)
        return cebus_tensor_remove_hook(x, id);
    return status == CEBUS_OK && of_parameter ? keep_hook(p, x, id) : status;
}

static cebus_status square_gradient(void *context, const cebus_function_step *step)
{
    (void)context;
    return step->grad_out[0] != NULL
               ? cebus_mul(step->rt, step->grad_out[0], step->saved[0], &step->grad_in[0])
               : CEBUS_OK;
}

/** tanh(x)^2 / 2, whose gradient is the program's own. */
static cebus_status run_function(cebus_program *p)
{
    cebus_tensor *x = cebus_program_differentiable(p), *y = NULL, *result = NULL, *out = NULL;
    cebus_status status = cebus_tanh(p->rt, x, &y);
    bool enabled = cebus_grad_enable(false);
    if (status == CEBUS_OK)
        status = cebus_mul(p->rt, y, y, &result);
    if (status == CEBUS_OK)
        status = cebus_mul_scalar_(p->rt, result, 0.5);
    cebus_grad_enable(enabled);
    cebus_function function = {.struct_size = sizeof function,
                               .name = "half_square",
                               .in = &y,
                               .n_in = 1,
                               .saved = &y,
                               .n_saved = 1,
                               .results = &result,
                               .n_out = 1,
                               .gradient = square_gradient};
    if (status == CEBUS_OK)
        status = cebus_function_record(p->rt, &function, &out);
    cebus_tensor_release(y);
    cebus_tensor_release(result);
    return cebus_program_done(p, status, &out);
}

static cebus_status run_backward(cebus_program *p)
{
    cebus_tensor *loss = NULL;
    bool retain_graph = cebus_program_once_in(p, 3);
    cebus_tensor *x = cebus_program_differentiable(p);
    cebus_status status = cebus_mean(p->rt, x, 0, NULL, false, &loss);
    if (status == CEBUS_OK)
        status = cebus_backward(p->rt, loss, NULL, retain_graph);
    cebus_tensor_release(loss);
    return status;
}

static cebus_status run_read_grad(cebus_program *p)
{
    cebus_tensor *grad = NULL;
    cebus_tensor *parameter = cebus_program_parameter(p);
    cebus_status status = cebus_tensor_grad(parameter, &grad);
    cebus_program_keep(p, grad);
    return status;
}

static cebus_status run_optimizer(cebus_program *p)
{
    bool keeps = cebus_program_once_in(p, 4);
    cebus_status status = p->stage > 0 ? CEBUS_OK : cebus_optimizer_step(p->optimizer);
    if (status != CEBUS_OK || keeps)
        return status;
    p->stage = 1;
    return cebus_optimizer_zero_grad(p->optimizer);
}

static cebus_status run_clip(cebus_program *p)
{
    double norm = 0;
    cebus_status status =
        cebus_clip_grad_norm(p->rt, p->parameters, CEBUS_PROGRAM_PARAMETERS, 0.5, &norm);
    if (status == CEBUS_OK)
        cebus_record_bytes(p->record, &norm, sizeof norm);
    return status;
}

/** A parameter changes outside any optimizer, and with it what its readers must remember. */
static cebus_status run_update(cebus_program *p)
{
    cebus_tensor *parameter = cebus_program_parameter(p);
    cebus_tensor *x = cebus_program_find(p, goes_into, cebus_tensor_view(parameter));
    if (x == NULL)
        return CEBUS_OK;
    bool enabled = cebus_grad_enable(false);
    cebus_status status = cebus_lerp_(p->rt, parameter, x, 0.01);
    cebus_grad_enable(enabled);
    return status;
}

static cebus_status run_load(cebus_program *p)
{
    float data[CEBUS_PROGRAM_SIDE];
    for (size_t i = 0; i < CEBUS_PROGRAM_SIDE; i++)
        data[i] = (float)cebus_program_draw(p, 1000) / 1000;
    return cebus_tensor_set_from_host(p->running_mean, data, sizeof data);
}

static cebus_status run_custom(cebus_program *p)
{
    cebus_tensor *x = cebus_program_float(p), *out[2] = {NULL, NULL};
    uint64_t which =
        cebus_program_draw(p, p->careful ? CEBUS_PROGRAM_CAREFUL_OPS : CEBUS_PROGRAM_CUSTOM_OPS);
    uint64_t dead = cebus_program_draw(p, 3);
    if (cebus_program_far)
        return CEBUS_OK;
    cebus_status status =
        cebus_call_custom(p->rt, &cebus_program_custom[which], NULL, 0, &x, 1, out);
    if (status != CEBUS_OK)
        return status;
    for (uint64_t j = 0; j < 2; j++) {
        if (j == dead)
            cebus_tensor_release(out[j]);
        else
            cebus_program_keep(p, out[j]);
    }
    return CEBUS_OK;
}

const cebus_program_op cebus_program_change[] = {
    {"view", 14, run_view},
    {"split", 2, run_split},
    {"inplace", 8, run_inplace},
    {"inplace_view", 6, run_inplace_view},
    {"mul_inplace", 3, run_mul_inplace},
    {"alias", 3, run_alias},
    {"read", 3, run_read},
    {"mistake", 2, run_mistake},
    {"grad_mode", 2, run_grad_mode},
    {"mark", 2, run_mark},
    {"require", 1, run_require},
    {"backward", 4, run_backward},
    {"hook", 2, run_hook},
    {"function", 2, run_function},
    {"read_grad", 1, run_read_grad},
    {"optimizer", 3, run_optimizer},
    {"clip", 1, run_clip},
    {"update", 2, run_update},
    {"load", 1, run_load},
    {"custom", 6, run_custom},
    {NULL, 0, NULL},
};
