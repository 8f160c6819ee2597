#include <criterion/criterion.h>

#include "program.h"

static cebus_runtime *rt;

static void setup(void)
{
    rt = open_runtime(1 << 20, "coop", CEBUS_DEBUG_WALK | CEBUS_DEBUG_HASH);
}

static void teardown(void)
{
    cr_expect_eq(cebus_memory_allocated(rt), 0);
    cebus_runtime_destroy(rt);
}

TestSuite(autograd, .init = setup, .fini = teardown);

Test(autograd, follows_writes_through_views_of_a_base)
{
    cebus_tensor *x = variable(rt, 4, 3), *w = variable(rt, 2, 5), *y, *part;
    OK(cebus_mul(rt, x, x, &y));
    OK(cebus_slice(rt, y, 0, 1, 3, 1, &part));
    OK(cebus_mul_(rt, part, w));
    backward_of_sum(rt, y);
    cr_expect_eq(grad_at(x, 0), 6);
    cr_expect_eq(grad_at(x, 1), 30, "2 x w where it was multiplied");
    cr_expect_eq(grad_at(x, 3), 6);
    cr_expect_eq(grad_at(w, 0), 9);
    cebus_tensor_release(part);
    cebus_tensor_release(y);
    cebus_tensor_release(x);
    cebus_tensor_release(w);
}

Test(autograd, views_see_what_was_written_to_their_base)
{
    cebus_tensor *x = variable(rt, 4, 3), *y, *row;
    OK(cebus_mul_scalar(rt, x, 2, &y));
    OK(cebus_slice(rt, y, 0, 2, 4, 1, &row));
    OK(cebus_mul_scalar_(rt, y, 10));
    backward_of_sum(rt, row);
    cr_expect_eq(grad_at(x, 0), 0);
    cr_expect_eq(grad_at(x, 2), 20);
    cebus_tensor_release(row);
    cebus_tensor_release(y);
    cebus_tensor_release(x);
}

Test(autograd, what_a_write_overwrites_is_kept_for_its_own_gradient)
{
    cebus_tensor *x = variable(rt, 4, 3), *batch = leaf(rt, 4, 5);
    OK(cebus_mul_(rt, batch, x));
    OK(cebus_runtime_trim(rt));
    backward_of_sum(rt, batch);
    cr_expect_eq(grad_at(x, 0), 5);
    cr_expect_eq(at(batch, 0), 15);
    cebus_tensor_release(batch);
    cebus_tensor_release(x);
}

Test(autograd, a_plain_buffer_joins_the_graph_by_a_write)
{
    cebus_tensor *x = variable(rt, 2, 3), *buffer = vector(rt, 4, 0), *part;
    OK(cebus_slice(rt, buffer, 0, 0, 2, 1, &part));
    OK(cebus_copy_(rt, part, x));
    cr_expect(cebus_tensor_requires_grad(buffer));
    cebus_tensor *square;
    OK(cebus_mul(rt, buffer, buffer, &square));
    backward_of_sum(rt, square);
    cr_expect_eq(grad_at(x, 1), 6);
    cebus_tensor_release(square);
    cebus_tensor_release(part);
    cebus_tensor_release(buffer);
    cebus_tensor_release(x);
}

Test(autograd, a_saved_value_overwritten_in_place_is_rebuilt_as_it_was)
{
    cebus_tensor *x = variable(rt, 4, 3), *y, *z;
    OK(cebus_mul_scalar(rt, x, 2, &y));
    OK(cebus_mul(rt, y, y, &z));
    OK(cebus_fill_(rt, y, 0));
    backward_of_sum(rt, z);
    cr_expect_eq(grad_at(x, 0), 24, "d(4 x^2) at 3");
    cebus_tensor_release(z);
    cebus_tensor_release(y);
    cebus_tensor_release(x);
}

Test(autograd, an_overwritten_leaf_is_an_error_and_nothing_changes)
{
    cebus_tensor *x = variable(rt, 4, 3), *c = leaf(rt, 4, 2), *y, *sum, *grad;
    OK(cebus_mul(rt, x, c, &y));
    OK(cebus_fill_(rt, c, 9));
    OK(cebus_sum(rt, y, 0, NULL, false, &sum));
    FAILS(CEBUS_AUTOGRAD_ERROR, "overwritten in place", cebus_backward(rt, sum, NULL, false));
    OK(cebus_tensor_grad(x, &grad));
    cr_expect_null(grad);
    cebus_tensor_release(sum);
    cebus_tensor_release(y);
    cebus_tensor_release(c);
    cebus_tensor_release(x);
}

Test(autograd, accumulates_over_calls_and_uses)
{
    cebus_tensor *x = variable(rt, 3, 2), *y, *z;
    for (int i = 0; i < 3; i++) {
        OK(cebus_mul(rt, x, x, &y));
        OK(cebus_add(rt, y, x, &z));
        backward_of_sum(rt, z);
        cebus_tensor_release(y);
        cebus_tensor_release(z);
        cr_expect_eq(grad_at(x, 0), (float)(5 * (i + 1)));
    }
    OK(cebus_tensor_set_grad(x, NULL));
    cebus_tensor_release(x);
}

Test(autograd, leaves_do_not_share_a_gradient)
{
    cebus_tensor *a = variable(rt, 2, 1), *b = variable(rt, 2, 1), *sum, *grad;
    OK(cebus_add(rt, a, b, &sum));
    backward_of_sum(rt, sum);
    OK(cebus_tensor_grad(a, &grad));
    OK(cebus_fill_(rt, grad, 5));
    cr_expect_eq(grad_at(a, 0), 5);
    cr_expect_eq(grad_at(b, 0), 1);
    cebus_tensor_release(grad);
    cebus_tensor_release(sum);
    cebus_tensor_release(a);
    cebus_tensor_release(b);
}

Test(autograd, refuses_what_makes_no_sense)
{
    cebus_tensor *x = variable(rt, 2, 1), *plain = leaf(rt, 2, 1), *y, *sum, *index;
    FAILS(CEBUS_AUTOGRAD_ERROR, "does not depend", cebus_backward(rt, plain, plain, false));
    OK(cebus_mul(rt, x, x, &y));
    FAILS(CEBUS_SHAPE_MISMATCH, "one-element", cebus_backward(rt, y, NULL, false));
    FAILS(CEBUS_AUTOGRAD_ERROR, "only leaves", cebus_tensor_set_requires_grad(y, true));
    FAILS(CEBUS_AUTOGRAD_ERROR, "cannot be written in place", cebus_fill_(rt, x, 0));
    OK(cebus_sum(rt, y, 0, NULL, false, &sum));
    FAILS(CEBUS_SHAPE_MISMATCH, "the gradient has shape [2]", cebus_backward(rt, sum, x, false));
    OK(cebus_backward(rt, sum, NULL, true));
    OK(cebus_backward(rt, sum, NULL, false));
    FAILS(CEBUS_AUTOGRAD_ERROR, "freed", cebus_backward(rt, sum, NULL, false));
    cr_expect_eq(grad_at(x, 0), 4);
    OK(cebus_arange(rt, 0, 2, 1, CEBUS_I64, &index));
    FAILS(CEBUS_DTYPE_MISMATCH, "i64", cebus_tensor_set_requires_grad(index, true));
    cebus_tensor_release(index);
    cebus_tensor_release(sum);
    cebus_tensor_release(y);
    cebus_tensor_release(plain);
    cebus_tensor_release(x);
}

Test(autograd, calls_that_saved_nothing_are_walked_again)
{
    cebus_tensor *x = variable(rt, 4, 3), *half, *y, *sum, *square;
    OK(cebus_slice(rt, x, 0, 1, 3, 1, &half));
    OK(cebus_add_scalar(rt, half, 1, &y));
    OK(cebus_sum(rt, y, 0, NULL, false, &sum));
    OK(cebus_backward(rt, sum, NULL, false));
    OK(cebus_backward(rt, sum, NULL, false));
    cr_expect_eq(grad_at(x, 0), 0);
    cr_expect_eq(grad_at(x, 1), 2);
    OK(cebus_mul(rt, y, y, &square));
    backward_of_sum(rt, square);
    cr_expect_eq(grad_at(x, 1), 10, "below what is spent as well");
    FAILS(CEBUS_AUTOGRAD_ERROR, "what mul saved is gone",
          cebus_backward(rt, square, square, false));
    OK(cebus_backward(rt, sum, NULL, false));
    cr_expect_eq(grad_at(x, 1), 11);
    cebus_tensor_release(square);
    cebus_tensor_release(sum);
    cebus_tensor_release(y);
    cebus_tensor_release(half);
    cebus_tensor_release(x);
}

Test(autograd, what_makes_an_input_that_was_asked_for_stays)
{
    cebus_tensor *x = variable(rt, 4, 3), *y, *z, *found;
    OK(cebus_mul(rt, x, x, &y));
    OK(cebus_mul(rt, y, y, &z));
    cebus_gradients what = CEBUS_GRADIENTS_INIT;
    what.roots = &z;
    what.seeds = &y;
    what.n_roots = 1;
    what.inputs = &y;
    what.n_inputs = 1;
    OK(cebus_gradients_compute(rt, &what, &found));
    cr_expect_eq(at(found, 0), 162, "2 y y");
    cebus_tensor_release(found);
    backward_of_sum(rt, y);
    cr_expect_eq(grad_at(x, 0), 6, "nothing had run through y's call");
    cebus_tensor_release(z);
    OK(cebus_add(rt, y, y, &z));
    what.roots = &z;
    OK(cebus_gradients_compute(rt, &what, &found));
    cr_expect_eq(at(found, 0), 18, "nor does anything now");
    cebus_tensor_release(found);
    cebus_tensor_release(z);
    cebus_tensor_release(y);
    cebus_tensor_release(x);
}

Test(autograd, a_leaf_that_collects_no_more_gets_nothing)
{
    cebus_tensor *x = variable(rt, 4, 3), *w = variable(rt, 4, 2), *y, *grad;
    OK(cebus_mul(rt, x, w, &y));
    OK(cebus_tensor_set_requires_grad(x, false));
    backward_of_sum(rt, y);
    OK(cebus_tensor_grad(x, &grad));
    cr_expect_null(grad);
    cr_expect_eq(grad_at(w, 0), 3);
    cebus_tensor_release(y);
    cebus_tensor_release(x);
    cebus_tensor_release(w);
}

Test(autograd, a_leaf_with_other_data_is_the_same_leaf)
{
    cebus_tensor *x = variable(rt, 4, 3), *other = leaf(rt, 4, 7), *shorter = leaf(rt, 3, 1);
    cebus_tensor *y, *z, *index;
    OK(cebus_mul(rt, x, x, &y));
    OK(cebus_tensor_set_data(x, other));
    cr_expect_eq(at(x, 0), 7);
    OK(cebus_mul(rt, x, x, &z));
    backward_of_sum(rt, y);
    cr_expect_eq(grad_at(x, 0), 6, "2 x as it was");
    backward_of_sum(rt, z);
    cr_expect_eq(grad_at(x, 0), 20, "2 x as it is");
    FAILS(CEBUS_SHAPE_MISMATCH, "keeps its type and shape", cebus_tensor_set_data(x, shorter));
    FAILS(CEBUS_SHAPE_MISMATCH, "keeps its type and shape", cebus_tensor_set_data(z, shorter));
    OK(cebus_arange(rt, 0, 4, 1, CEBUS_I64, &index));
    FAILS(CEBUS_DTYPE_MISMATCH, "i64", cebus_tensor_set_data(x, index));
    cebus_tensor_release(z);
    OK(cebus_sum(rt, x, 0, NULL, false, &z));
    OK(cebus_tensor_set_grad(x, NULL));
    OK(cebus_tensor_set_data(x, shorter));
    FAILS(CEBUS_AUTOGRAD_ERROR, "has shape [3] of f32 now", cebus_backward(rt, z, NULL, false));
    FAILS(CEBUS_INVALID_ARGUMENT, "NULL", cebus_tensor_set_data(NULL, x));
    FAILS(CEBUS_INVALID_ARGUMENT, "NULL", cebus_tensor_set_data(x, NULL));
    cebus_tensor_release(index);
    cebus_tensor_release(z);
    cebus_tensor_release(y);
    cebus_tensor_release(shorter);
    cebus_tensor_release(other);
    cebus_tensor_release(x);
}

Test(autograd, views_of_former_data_are_no_views_any_more)
{
    cebus_tensor *x = variable(rt, 1, 3), *y = vector(rt, 4, 1), *last, *part;
    OK(cebus_slice(rt, y, 0, 1, 4, 1, &last));
    OK(cebus_slice(rt, y, 0, 3, 4, 1, &part));
    OK(cebus_tensor_set_data(y, part));
    OK(cebus_copy_(rt, last, x));
    cr_expect(cebus_tensor_requires_grad(last));
    cr_expect_not(cebus_tensor_requires_grad(y), "it shows the same bytes as another tensor");
    cr_expect_eq(at(y, 0), 3);
    backward_of_sum(rt, last);
    cr_expect_eq(grad_at(x, 0), 3);
    cebus_tensor_release(part);
    cebus_tensor_release(last);
    cebus_tensor_release(y);
    cebus_tensor_release(x);
}

Test(autograd, straightens_what_nobody_else_shows)
{
    cebus_tensor *x = variable(rt, 6, 3), *matrix, *turned, *sum;
    const int64_t shape[] = {2, 3}, flat[] = {6};
    OK(cebus_reshape(rt, x, 2, shape, &matrix));
    OK(cebus_transpose(rt, matrix, 0, 1, &turned));
    OK(cebus_tensor_straighten(turned));
    cr_expect_not(cebus_tensor_is_contiguous(turned), "others show its bytes");
    cebus_tensor_release(matrix);
    OK(cebus_mul_scalar(rt, turned, 2, &matrix));
    cebus_tensor_release(turned);
    cr_expect_not(cebus_tensor_is_contiguous(matrix));
    OK(cebus_tensor_straighten(matrix));
    cr_expect(cebus_tensor_is_contiguous(matrix));
    OK(cebus_reshape(rt, matrix, 1, flat, &turned));
    OK(cebus_mul_scalar_(rt, turned, 10));
    OK(cebus_sum(rt, matrix, 0, NULL, false, &sum));
    cr_expect_eq(at(sum, 0), 360, "a write to the view is seen");
    OK(cebus_backward(rt, sum, NULL, false));
    cr_expect_eq(grad_at(x, 5), 20);
    FAILS(CEBUS_INVALID_ARGUMENT, "NULL", cebus_tensor_straighten(NULL));
    cebus_tensor_release(sum);
    cebus_tensor_release(turned);
    cebus_tensor_release(matrix);
    cebus_tensor_release(x);
}

/** Bytes handed out are shown to whoever holds their address. */
Test(autograd, straightens_nothing_that_is_mapped)
{
    cebus_tensor *x = vector(rt, 6, 3), *matrix, *turned, *mine;
    const void *bytes;
    OK(cebus_reshape(rt, x, 2, (int64_t[]){2, 3}, &matrix));
    OK(cebus_transpose(rt, matrix, 0, 1, &turned));
    OK(cebus_mul_scalar(rt, turned, 2, &mine));
    OK(cebus_tensor_map(mine, &bytes));
    OK(cebus_tensor_straighten(mine));
    cr_expect_not(cebus_tensor_is_contiguous(mine));
    OK(cebus_add_scalar_(rt, mine, 1));
    cr_expect_eq(((const float *)bytes)[5], 7, "writes are seen at the address");
    cebus_tensor_unmap(mine);
    OK(cebus_tensor_straighten(mine));
    cr_expect(cebus_tensor_is_contiguous(mine));
    cebus_tensor_release(mine);
    cebus_tensor_release(turned);
    cebus_tensor_release(matrix);
    cebus_tensor_release(x);
}

/** x + x summed, differentiated: 2 more everywhere in x's gradient. */
static void add_two(cebus_tensor *x)
{
    cebus_tensor *y;
    OK(cebus_add(rt, x, x, &y));
    backward_of_sum(rt, y);
    cebus_tensor_release(y);
}

Test(autograd, a_kept_gradient_is_added_to)
{
    cebus_tensor *x = variable(rt, 4, 3), *kept, *part, *double_of;
    add_two(x);
    OK(cebus_tensor_grad(x, &kept));
    OK(cebus_slice(rt, kept, 0, 1, 3, 1, &part));
    OK(cebus_mul_scalar(rt, kept, 2, &double_of));
    add_two(x);
    cr_expect_eq(at(kept, 0), 4);
    cr_expect_eq(at(part, 0), 4, "views of it, too");
    cr_expect_eq(at(double_of, 0), 4, "made of the former value");
    OK(cebus_runtime_trim(rt));
    cr_expect_eq(at(double_of, 0), 4, "and made of that again");
    cr_expect_eq(grad_at(x, 3), 4);
    cebus_tensor_release(double_of);
    cebus_tensor_release(part);
    cebus_tensor_release(kept);
    cebus_tensor_release(x);
}

Test(autograd, a_gradient_that_is_part_of_a_buffer_is_added_to)
{
    cebus_tensor *x = variable(rt, 4, 3), *buffer = vector(rt, 6, 10), *part;
    OK(cebus_slice(rt, buffer, 0, 1, 5, 1, &part));
    OK(cebus_tensor_set_grad(x, part));
    add_two(x);
    add_two(x);
    cr_expect_eq(at(buffer, 0), 10);
    cr_expect_eq(at(buffer, 1), 14);
    cr_expect_eq(grad_at(x, 0), 14);
    cebus_tensor_release(part);
    cebus_tensor_release(buffer);
    cebus_tensor_release(x);
}

Test(autograd, no_grad_and_detach_leave_the_graph)
{
    cebus_tensor *x = variable(rt, 2, 1), *y, *z;
    cr_expect(cebus_grad_enable(false));
    OK(cebus_mul(rt, x, x, &y));
    cr_expect_not(cebus_grad_enable(true));
    cr_expect_not(cebus_tensor_requires_grad(y));
    OK(cebus_detach(rt, x, &z));
    cr_expect_not(cebus_tensor_requires_grad(z));
    cr_expect(cebus_tensor_requires_grad(x));
    cebus_tensor_release(z);
    cebus_tensor_release(y);
    cebus_tensor_release(x);
}

Test(autograd, a_deep_graph_needs_no_deep_stack)
{
    cebus_tensor *x = variable(rt, 1, 1), *y = cebus_tensor_retain(x), *next;
    OK(cebus_runtime_set_budget(rt, 1 << 20));
    for (int i = 0; i < 20000; i++) {
        OK(cebus_add_scalar(rt, y, 1, &next));
        cebus_tensor_release(y);
        y = next;
    }
    OK(cebus_backward(rt, y, NULL, false));
    cr_expect_eq(grad_at(x, 0), 1);
    cebus_tensor_release(y);
    cebus_tensor_release(x);
}
