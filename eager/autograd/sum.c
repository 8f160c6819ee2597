#include "eager/autograd/sum.h"

#include <cebus/ops.h>

#include "eager/capture.h"
#include "eager/guidance.h"
#include "eager/view.h"

/** sum += grad (takes the reference). */
static cebus_status accumulate(cebus_runtime *rt, cebus_tensor **sum, cebus_tensor *grad)
{
    if (*sum == NULL) {
        *sum = grad;
        return CEBUS_OK;
    }
    cebus_tensor *total;
    cebus_status status = cebus_add(rt, *sum, grad, &total);
    cebus_tensor_release(grad);
    if (status != CEBUS_OK)
        return status;
    cebus_tensor_release(*sum);
    *sum = total;
    return CEBUS_OK;
}

bool cebus_sum_is_own(const cebus_tensor *grad)
{
    const cebus_storage *storage = grad->storage;
    return atomic_load(&grad->refs) == 1 && storage->refs - storage->captured == 1;
}

/**
 * A leaf's gradient loses its record and becomes a leaf itself: rebuilding it would run most of the
 * backward again, and its record would keep all that alive. Further terms are then added in place.
 * Once memory is short it moves out of the way.
 */
static void settle_gradient(cebus_runtime *rt, cebus_candidate *gradient)
{
    gradient->gradient = true;
    if (rt->capture != NULL)
        cebus_capture_gradient(rt, gradient, CEBUS_CAPTURED_LEAF);
    if (!gradient->value.resident)
        return;
    cebus_value_detach(&rt->lineage, &gradient->value);
    cebus_guidance_detach(rt, gradient);
    cebus_storage_reap(rt);
    if (rt->stats.num_alloc_retries > 0)
        cebus_candidate_move_low(rt, gradient);
}

cebus_status cebus_sum_leaf(cebus_runtime *rt, cebus_tensor **sum, cebus_tensor *grad)
{
    cebus_status status;
    if (*sum != NULL && cebus_sum_is_own(*sum) && (*sum)->storage->now->value.producer == NULL) {
        status = cebus_add_(rt, *sum, grad, 1.0);
        cebus_tensor_release(grad);
    } else {
        status = accumulate(rt, sum, grad);
    }
    if (status == CEBUS_OK)
        settle_gradient(rt, (*sum)->storage->now);
    return status;
}

/**
 * A gradient on its way is read once, soon, and then gone; to rebuild it would run the backward
 * from the loss to here. So it goes, like a leaf's, only when nothing else can.
 */
cebus_status cebus_sum_inner(cebus_runtime *rt, cebus_tensor **sum, cebus_tensor *grad)
{
    cebus_status status = accumulate(rt, sum, grad);
    if (status != CEBUS_OK)
        return status;
    (*sum)->storage->now->gradient = true;
    if (rt->capture != NULL)
        cebus_capture_gradient(rt, (*sum)->storage->now, CEBUS_CAPTURED_INNER);
    return CEBUS_OK;
}

cebus_status cebus_sum_make_own(cebus_runtime *rt, cebus_tensor **grad)
{
    cebus_tensor *copy;
    if (cebus_sum_is_own(*grad))
        return CEBUS_OK;
    cebus_status status = cebus_clone(rt, *grad, &copy);
    if (status != CEBUS_OK)
        return status;
    settle_gradient(rt, copy->storage->now);
    cebus_tensor_release(*grad);
    *grad = copy;
    return CEBUS_OK;
}

/** Whether bytes happen to be there must not decide what a capture records. */
static bool may_write(const cebus_runtime *rt, const cebus_candidate *now)
{
    return rt->capture != NULL || (now->value.resident && now->value.producer == NULL);
}

void cebus_sum_commit(cebus_runtime *rt, cebus_tensor *leaf)
{
    cebus_tensor *former = leaf->grad;
    const cebus_candidate *now = former != NULL ? former->storage->now : NULL;
    rt->trial++;
    bool stays = now != NULL && cebus_sum_is_own(former) && now->exports == 0 &&
                 may_write(rt, now) &&
                 cebus_view_same_layout(&former->view, &leaf->incoming->view) &&
                 former->view.dtype == leaf->incoming->view.dtype &&
                 cebus_copy_(rt, former, leaf->incoming) == CEBUS_OK;
    rt->trial--;
    if (stays) {
        former->storage->now->gradient = true;
        return;
    }
    leaf->grad = leaf->incoming;
    leaf->incoming = former;
}
