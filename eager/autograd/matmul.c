#include "eager/ops/matmul.h"

#include <cebus/ops/matmul.h>

#include "eager/ops/reduce.h"

/* ---- saves ------------------------------------------------------------------------------- */

cebus_saves cebus_matmul_saves(const void *attrs, uint64_t needs)
{
    (void)attrs;
    return (cebus_saves){.in = (needs & 1) << 1 | (needs >> 1 & 1)};
}

cebus_saves cebus_linear_saves(const void *attrs, uint64_t needs)
{
    return cebus_matmul_saves(attrs, needs);
}

/* ---- shapes ------------------------------------------------------------------------------ */

/* The view of `x` that the product sees: a vector on the left is a row, on the right a column. */
static cebus_status as_matrix(cebus_runtime *rt, cebus_tensor *x, int unit_dim, cebus_tensor **out)
{
    if (cebus_tensor_ndim(x) > 1) {
        *out = cebus_tensor_retain(x);
        return CEBUS_OK;
    }
    return cebus_unsqueeze(rt, x, unit_dim, out);
}

/* The gradient of the result with the dimensions back that were dropped for vectors. */
static cebus_status gradient_matrix(const cebus_gradient *io, cebus_tensor **out)
{
    const cebus_view *a = &io->in_view[0], *b = &io->in_view[1], *result = &io->out_view[0];
    int64_t shape[CEBUS_MAX_DIMS];
    int ndim = result->ndim - (a->ndim > 1) - (b->ndim > 1);
    for (int i = 0; i < ndim; i++)
        shape[i] = result->shape[i];
    shape[ndim++] = a->ndim > 1 ? a->shape[a->ndim - 2] : 1;
    shape[ndim++] = b->ndim > 1 ? b->shape[b->ndim - 1] : 1;
    return cebus_reshape(io->rt, io->grad_out[0], ndim, shape, out);
}

/* [.., n] as [rows, n]. */
static cebus_status as_rows(cebus_runtime *rt, cebus_tensor *x, cebus_tensor **out)
{
    const cebus_view *view = cebus_tensor_view(x);
    int64_t shape[2] = {1, view->shape[view->ndim - 1]};
    for (int i = 0; i < view->ndim - 1; i++)
        shape[0] *= view->shape[i];
    return cebus_reshape(rt, x, 2, shape, out);
}

/* ---- products ---------------------------------------------------------------------------- */

/* a b^T */
static cebus_status times_transposed(cebus_runtime *rt, cebus_tensor *a, cebus_tensor *b,
                                     cebus_tensor **out)
{
    cebus_tensor *transposed = NULL;
    cebus_status status = cebus_transpose(rt, b, -2, -1, &transposed);
    if (status == CEBUS_OK)
        status = cebus_matmul(rt, a, transposed, out);
    cebus_tensor_release(transposed);
    return status;
}

/* a^T b */
static cebus_status transposed_times(cebus_runtime *rt, cebus_tensor *a, cebus_tensor *b,
                                     cebus_tensor **out)
{
    cebus_tensor *transposed = NULL;
    cebus_status status = cebus_transpose(rt, a, -2, -1, &transposed);
    if (status == CEBUS_OK)
        status = cebus_matmul(rt, transposed, b, out);
    cebus_tensor_release(transposed);
    return status;
}

/* a^T b summed over all leading dimensions, as one product of [rows, m] and [rows, n]. */
static cebus_status transposed_times_rows(cebus_runtime *rt, cebus_tensor *a, cebus_tensor *b,
                                          cebus_tensor **out)
{
    cebus_tensor *a_rows = NULL, *b_rows = NULL;
    cebus_status status = as_rows(rt, a, &a_rows);
    if (status == CEBUS_OK)
        status = as_rows(rt, b, &b_rows);
    if (status == CEBUS_OK)
        status = transposed_times(rt, a_rows, b_rows, out);
    cebus_tensor_release(a_rows);
    cebus_tensor_release(b_rows);
    return status;
}

/* Releases `product`, which has the shape of an operand seen as a matrix but for broadcast
 * dimensions, and answers it in the operand's own shape. */
static cebus_status to_operand(cebus_runtime *rt, cebus_tensor *product, const cebus_view *matrix,
                               const cebus_view *operand, cebus_tensor **out)
{
    cebus_tensor *sum = NULL;
    cebus_status status = cebus_sum_to(rt, product, matrix, &sum);
    if (status == CEBUS_OK)
        status = cebus_reshape(rt, sum, operand->ndim, operand->shape, out);
    cebus_tensor_release(sum);
    cebus_tensor_release(product);
    return status;
}

/* The operand's view with the dimension that as_matrix() adds. */
static cebus_view matrix_view(const cebus_view *operand, bool on_the_left)
{
    cebus_view matrix = *operand;
    if (operand->ndim == 1) {
        matrix.ndim = 2;
        matrix.shape[0] = on_the_left ? 1 : operand->shape[0];
        matrix.shape[1] = on_the_left ? operand->shape[0] : 1;
    }
    return matrix;
}

static cebus_status matmul_gradient_a(const cebus_gradient *io, cebus_tensor *grad)
{
    cebus_tensor *b = NULL, *product = NULL;
    cebus_view matrix = matrix_view(&io->in_view[0], true);
    cebus_status status = as_matrix(io->rt, io->in[1], 1, &b);
    if (status == CEBUS_OK)
        status = times_transposed(io->rt, grad, b, &product);
    if (status == CEBUS_OK)
        status = to_operand(io->rt, product, &matrix, &io->in_view[0], &io->grad_in[0]);
    cebus_tensor_release(b);
    return status;
}

static cebus_status matmul_gradient_b(const cebus_gradient *io, cebus_tensor *grad)
{
    cebus_tensor *a = NULL, *product = NULL;
    cebus_view matrix = matrix_view(&io->in_view[1], false);
    cebus_status status = as_matrix(io->rt, io->in[0], 0, &a);
    if (status == CEBUS_OK && matrix.ndim == 2)
        status = transposed_times_rows(io->rt, a, grad, &product);
    else if (status == CEBUS_OK)
        status = transposed_times(io->rt, a, grad, &product);
    if (status == CEBUS_OK)
        status = to_operand(io->rt, product, &matrix, &io->in_view[1], &io->grad_in[1]);
    cebus_tensor_release(a);
    return status;
}

/* ---- gradients --------------------------------------------------------------------------- */

cebus_status cebus_matmul_gradient(const cebus_gradient *io)
{
    if (io->grad_out[0] == NULL)
        return CEBUS_OK;
    cebus_tensor *grad = NULL;
    cebus_status status = gradient_matrix(io, &grad);
    /* b's first: it reads a, which is the likelier one to be absent, and rebuilding a would drive
     * a's fresh gradient out. */
    if (status == CEBUS_OK && io->needs & 2)
        status = matmul_gradient_b(io, grad);
    if (status == CEBUS_OK && io->needs & 1)
        status = matmul_gradient_a(io, grad);
    cebus_tensor_release(grad);
    return status;
}

cebus_status cebus_linear_gradient(const cebus_gradient *io)
{
    cebus_tensor *grad = io->grad_out[0];
    cebus_status status = CEBUS_OK;
    if (grad == NULL)
        return CEBUS_OK;
    if (io->needs & 2)
        status = transposed_times_rows(io->rt, grad, io->in[0], &io->grad_in[1]);
    if (status == CEBUS_OK && io->needs & 4)
        status = cebus_sum_to(io->rt, grad, &io->in_view[2], &io->grad_in[2]);
    if (status == CEBUS_OK && io->needs & 1)
        status = cebus_matmul(io->rt, grad, io->in[1], &io->grad_in[0]);
    return status;
}
