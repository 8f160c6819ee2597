#include "eager/autograd/hook.h"

#include <cebus/ops.h>

#include "eager/autograd/node.h"
#include "eager/autograd/walk.h"
#include "eager/view.h"

static const char name[] = "hook";

uint64_t cebus_hook_add(cebus_runtime *rt, cebus_hook **list, const cebus_grad_hook *user,
                        uint32_t output)
{
    cebus_hook *hook = cebus_pool_alloc(&rt->pool, sizeof *hook);
    if (hook == NULL)
        return 0;
    *hook = (cebus_hook){.id = ++rt->hook_ids, .refs = 1, .output = output, .user = *user};
    while (*list != NULL)
        list = &(*list)->next;
    *list = hook;
    return hook->id;
}

static void drop(cebus_runtime *rt, cebus_hook *hook)
{
    if (--hook->refs > 0)
        return;
    hook->next = rt->released;
    rt->released = hook;
}

/** False when there is none of that id. */
static bool remove_hook(cebus_runtime *rt, cebus_hook **list, uint64_t id)
{
    while (*list != NULL && (*list)->id != id)
        list = &(*list)->next;
    cebus_hook *hook = *list;
    if (hook == NULL)
        return false;
    *list = hook->next;
    drop(rt, hook);
    return true;
}

bool cebus_hooks_replace(const cebus_hook *list)
{
    while (list != NULL && (list->user.call == NULL || list->user.after))
        list = list->next;
    return list != NULL;
}

void cebus_hooks_drop(cebus_runtime *rt, cebus_hook **list)
{
    cebus_hook *hook = *list;
    *list = NULL;
    while (hook != NULL) {
        cebus_hook *next = hook->next;
        drop(rt, hook);
        hook = next;
    }
}

/** The first of the list after the one called `id`: that one may be gone. */
static cebus_hook *next_after(cebus_hook *hook, uint64_t id, uint32_t output, bool after)
{
    while (hook != NULL && (hook->id <= id || hook->output != output || hook->user.call == NULL ||
                            hook->user.after != after))
        hook = hook->next;
    return hook;
}

static cebus_status check_answer(cebus_runtime *rt, const cebus_tensor *grad,
                                 const cebus_tensor *answer)
{
    cebus_status status = cebus_tensor_check(rt, answer, name, "its answer");
    if (status != CEBUS_OK || (cebus_view_same_shape(&grad->view, &answer->view) &&
                               grad->view.dtype == answer->view.dtype))
        return status;
    return cebus_fail(CEBUS_AUTOGRAD_ERROR, name,
                      "a hook answered %s of %s for a gradient of shape %s of %s",
                      CEBUS_SHAPE(&answer->view), cebus_dtype_name(answer->view.dtype),
                      CEBUS_SHAPE(&grad->view), cebus_dtype_name(grad->view.dtype));
}

/** What a hook answers may have a graph of its own, which ends here. */
static cebus_status replace(cebus_runtime *rt, cebus_tensor **grad, cebus_tensor *answer)
{
    cebus_tensor *plain = NULL;
    cebus_status status = check_answer(rt, *grad, answer);
    if (status == CEBUS_OK)
        status = cebus_detach(rt, answer, &plain);
    cebus_tensor_release(answer);
    if (status != CEBUS_OK)
        return status;
    cebus_tensor_release(*grad);
    *grad = plain;
    return CEBUS_OK;
}

static cebus_status call_one(cebus_runtime *rt, const cebus_grad_hook *user, cebus_tensor **grad)
{
    cebus_tensor *answer = NULL;
    cebus_pause pause = cebus_walk_pause(rt);
    cebus_status before = cebus_error_set_aside();
    cebus_status status = user->call(user->context, *grad, &answer);
    bool told = cebus_error_was_told(before, status);
    cebus_walk_resume(rt, pause);
    if (status == CEBUS_OK)
        return answer != NULL ? replace(rt, grad, answer) : CEBUS_OK;
    cebus_tensor_release(answer);
    if (told)
        return status;
    return cebus_fail(status, name, "a hook failed, of a gradient of shape %s: %s",
                      CEBUS_SHAPE(&(*grad)->view), cebus_status_name(status));
}

cebus_status cebus_hooks_run(cebus_runtime *rt, cebus_hook *const *list, uint32_t output,
                             bool after, cebus_tensor **grad)
{
    cebus_status status = CEBUS_OK;
    uint64_t last = 0;
    for (;;) {
        cebus_hook *hook = next_after(*list, last, output, after);
        if (hook == NULL || status != CEBUS_OK)
            return status;
        last = hook->id;
        hook->refs++;
        status = call_one(rt, &hook->user, grad);
        drop(rt, hook);
    }
}

/** Where a tensor's hooks hang: on the call that made it, or on the leaf. */
static cebus_status place_of(cebus_tensor *tensor, const char *op, cebus_hook ***out_list,
                             uint32_t *out_output)
{
    cebus_status status;
    cebus_node *node = cebus_node_of(tensor->rt, tensor, &status);
    if (status != CEBUS_OK)
        return cebus_fail(status, op, "no host memory for a node of the graph");
    if (node == NULL && !tensor->requires_grad)
        return cebus_fail(CEBUS_AUTOGRAD_ERROR, op,
                          "the tensor requires no gradient: there will be none to see");
    *out_list = node != NULL ? &node->hooks : &tensor->hooks;
    *out_output = node != NULL ? tensor->node_output : 0;
    return CEBUS_OK;
}

static cebus_status add_to(cebus_tensor *tensor, const cebus_grad_hook *hook, uint64_t *out_id)
{
    static const char op[] = "register_hook";
    cebus_hook **list = NULL;
    uint32_t output = 0;
    cebus_status status = place_of(tensor, op, &list, &output);
    if (status != CEBUS_OK)
        return status;
    *out_id = cebus_hook_add(tensor->rt, list, hook, output);
    if (*out_id == 0)
        return cebus_fail(CEBUS_OUT_OF_HOST_MEMORY, op, "no host memory for a hook");
    return CEBUS_OK;
}

cebus_status cebus_tensor_register_hook(cebus_tensor *tensor, const cebus_grad_hook *hook,
                                        uint64_t *out_id)
{
    static const char op[] = "register_hook";
    if (hook == NULL || out_id == NULL)
        return cebus_fail(CEBUS_INVALID_ARGUMENT, op, "%s is NULL",
                          hook == NULL ? "the hook" : "out_id");
    if (hook->struct_size < sizeof *hook || hook->call == NULL)
        return cebus_fail(CEBUS_INVALID_ARGUMENT, op,
                          "the hook lacks its function, or its struct_size is not set");
    cebus_status status = cebus_tensor_lock(tensor, op);
    if (status != CEBUS_OK)
        return status;
    status = add_to(tensor, hook, out_id);
    cebus_runtime_unlock(tensor->rt);
    return status;
}

cebus_status cebus_tensor_remove_hook(cebus_tensor *tensor, uint64_t id)
{
    static const char op[] = "remove_hook";
    cebus_hook **list = NULL;
    uint32_t output;
    cebus_status status = cebus_tensor_lock(tensor, op);
    if (status != CEBUS_OK)
        return status;
    status = place_of(tensor, op, &list, &output);
    if (status == CEBUS_OK && !remove_hook(tensor->rt, list, id))
        status = cebus_fail(CEBUS_INVALID_ARGUMENT, op, "the tensor has no such hook");
    cebus_runtime_unlock(tensor->rt);
    return status;
}
