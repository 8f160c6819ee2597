#include "eager/autograd/sum.h"

#include <cebus/ops.h>

#include "eager/capture/hooks.h"
#include "eager/guidance/guidance.h"
#include "eager/residency.h"
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

/** A gradient that went before it was settled comes back, where there is room: a sum beside its two
 * terms takes half as much again as a sum in the place of one. */
static void settle_absent(cebus_runtime *rt, const cebus_tensor *sum)
{
    cebus_candidate *now = sum->storage->now;
    if (now->value.producer == NULL || !now->gradient || !cebus_sum_is_own(sum))
        return;
    if (cebus_residency_begin(rt, &now, 1, "gradient") != CEBUS_OK)
        return;
    settle_gradient(rt, now);
    cebus_residency_end(rt, &now, 1);
}

cebus_status cebus_sum_leaf(cebus_runtime *rt, cebus_tensor **sum, cebus_tensor *grad)
{
    cebus_status status;
    if (*sum != NULL)
        settle_absent(rt, *sum);
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

static bool shows_all(const cebus_tensor *tensor)
{
    const cebus_storage *storage = tensor->storage;
    uint64_t bytes =
        (uint64_t)cebus_view_numel(&tensor->view) * cebus_dtype_size(tensor->view.dtype);
    return bytes == storage->now->value.bytes && storage->now->exports == 0 &&
           !storage->persistent && cebus_view_is_dense(&tensor->view);
}

/** Whether the former gradient's storage may go on with the total as its version. */
static bool can_hand_over(const cebus_runtime *rt, const cebus_tensor *former,
                          const cebus_tensor *total)
{
    return rt->capture == NULL && cebus_sum_is_own(total) && shows_all(former) &&
           shows_all(total) && cebus_view_same_layout(&former->view, &total->view);
}

cebus_status cebus_sum_share(cebus_runtime *rt, cebus_tensor *leaf)
{
    cebus_tensor *former = leaf->grad, *total = leaf->incoming;
    if (former == NULL || cebus_sum_is_own(former) || can_hand_over(rt, former, total))
        return CEBUS_OK;
    cebus_status status = cebus_copy_(rt, former, total);
    if (status != CEBUS_OK)
        return status;
    former->storage->now->gradient = true;
    cebus_tensor_release(total);
    leaf->incoming = cebus_tensor_retain(former);
    return CEBUS_OK;
}

static void hand_over(cebus_tensor *former, cebus_tensor *total)
{
    cebus_candidate *old = former->storage->now;
    former->storage->now = total->storage->now;
    former->storage->version++;
    total->storage->now = old;
}

/** Writes the total where the former gradient lay, which nobody else knows. */
static bool write_over(cebus_runtime *rt, cebus_tensor *former, cebus_tensor *total)
{
    const cebus_candidate *now = former->storage->now;
    rt->trial++;
    bool written = now->exports == 0 && may_write(rt, now) &&
                   cebus_view_same_layout(&former->view, &total->view) &&
                   cebus_copy_(rt, former, total) == CEBUS_OK;
    rt->trial--;
    if (written)
        former->storage->now->gradient = true;
    return written;
}

void cebus_sum_commit(cebus_runtime *rt, cebus_tensor *leaf)
{
    cebus_tensor *former = leaf->grad, *total = leaf->incoming;
    if (former == total)
        return;
    if (former != NULL && !cebus_sum_is_own(former)) {
        hand_over(former, total);
    } else if (former == NULL || !write_over(rt, former, total)) {
        leaf->grad = total;
        leaf->incoming = former;
    }
}
