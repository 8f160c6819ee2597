/*
 * Writes into existing tensors: values in every memory order of both operands, what views and
 * older references see, gradients through histories that a write rebases.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/arrays.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

/* ---- the functions, one calling convention ------------------------------------------------- */

typedef cebus_status (*entry)(cebus_runtime *rt, cebus_tensor *x, cebus_tensor *y);

static cebus_status add(cebus_runtime *rt, cebus_tensor *x, cebus_tensor *y)
{
    return cebus_add_(rt, x, y, 1);
}
static cebus_status add_twice(cebus_runtime *rt, cebus_tensor *x, cebus_tensor *y)
{
    return cebus_add_(rt, x, y, 2);
}
static cebus_status sub_thrice(cebus_runtime *rt, cebus_tensor *x, cebus_tensor *y)
{
    return cebus_sub_(rt, x, y, 3);
}
static cebus_status lerp(cebus_runtime *rt, cebus_tensor *x, cebus_tensor *y)
{
    return cebus_lerp_(rt, x, y, 0.25);
}
static cebus_status add_number(cebus_runtime *rt, cebus_tensor *x, cebus_tensor *y)
{
    (void)y;
    return cebus_add_scalar_(rt, x, 3);
}
static cebus_status mul_number(cebus_runtime *rt, cebus_tensor *x, cebus_tensor *y)
{
    (void)y;
    return cebus_mul_scalar_(rt, x, -2);
}
static cebus_status fill(cebus_runtime *rt, cebus_tensor *x, cebus_tensor *y)
{
    (void)y;
    return cebus_fill_(rt, x, 5);
}
static cebus_status zero(cebus_runtime *rt, cebus_tensor *x, cebus_tensor *y)
{
    (void)y;
    return cebus_zero_(rt, x);
}

static double ref_add(double x, double y)
{
    return x + y;
}
static double ref_add_twice(double x, double y)
{
    return x + 2 * y;
}
static double ref_sub_thrice(double x, double y)
{
    return x - 3 * y;
}
static double ref_mul(double x, double y)
{
    return x * y;
}
static double ref_div(double x, double y)
{
    return x / y;
}
static double ref_lerp(double x, double y)
{
    return x + 0.25 * (y - x);
}
static double ref_copy(double x, double y)
{
    (void)x;
    return y;
}
static double ref_add_number(double x, double y)
{
    (void)y;
    return x + 3;
}
static double ref_mul_number(double x, double y)
{
    (void)y;
    return x * -2;
}
static double ref_fill(double x, double y)
{
    (void)x;
    (void)y;
    return 5;
}
static double ref_zero(double x, double y)
{
    (void)x;
    (void)y;
    return 0;
}

typedef struct function {
    const char *name;
    entry run;
    double (*reference)(double, double);
    bool integers;
} function;

static const function functions[] = {
    {"add_", add, ref_add, true},
    {"add_ twice", add_twice, ref_add_twice, true},
    {"sub_ thrice", sub_thrice, ref_sub_thrice, true},
    {"mul_", cebus_mul_, ref_mul, true},
    {"div_", cebus_div_, ref_div, false},
    {"lerp_", lerp, ref_lerp, false},
    {"copy_", cebus_copy_, ref_copy, true},
    {"add_scalar_", add_number, ref_add_number, true},
    {"mul_scalar_", mul_number, ref_mul_number, true},
    {"fill_", fill, ref_fill, true},
    {"zero_", zero, ref_zero, true},
};

static double tolerance(cebus_dtype dtype)
{
    switch (dtype) {
    case CEBUS_F32:
        return 4e-7;
    case CEBUS_F64:
        return 1e-15;
    case CEBUS_F16:
        return 0x1.1p-10;
    case CEBUS_BF16:
        return 0x1.1p-7;
    default:
        return 0;
    }
}

/* ---- values -------------------------------------------------------------------------------- */

typedef struct extent {
    int ndim;
    int64_t shape[4];
} extent;
static const extent extents[][2] = {
    {{0, {0}}, {0, {0}}},
    {{1, {5}}, {0, {0}}},
    {{2, {0, 3}}, {1, {3}}},
    {{2, {3, 4}}, {2, {3, 1}}},
    {{4, {2, 5, 3, 4}}, {3, {5, 1, 1}}},
    {{4, {2, 5, 3, 4}}, {4, {2, 5, 3, 4}}},
    {{2, {3, 700}}, {1, {700}}},
};

/* The element of y that stands at element `i` of x. */
static double partner(const cebus_test_array *y, const cebus_test_array *x, int64_t i)
{
    int64_t at = 0, step = 1;
    for (int d = x->ndim - 1; d >= 0; d--) {
        int64_t coordinate = i % x->shape[d];
        int own = d - (x->ndim - y->ndim);
        i /= x->shape[d];
        if (own < 0)
            continue;
        at += y->shape[own] == 1 ? 0 : coordinate * step;
        step *= y->shape[own];
    }
    return y->values[at];
}

static void check(cebus_test *t, const function *f, cebus_test_array *x, const cebus_test_array *y)
{
    cebus_dtype dtype = cebus_tensor_dtype(x->tensor);
    uint64_t version = cebus_tensor_version(x->tensor);
    OK(t, f->run(t->rt, x->tensor, y->tensor));
    EXPECT(t, cebus_tensor_version(x->tensor) > version);
    for (int64_t i = 0; i < x->numel; i++)
        x->values[i] = f->reference(x->values[i], partner(y, x, i));
    cebus_test_array_expect(t, f->name, cebus_tensor_retain(x->tensor), x, dtype, tolerance(dtype));
}

static void check_dtype(cebus_test *t, cebus_dtype dtype)
{
    size_t walks = CEBUS_WALK_EXPANDED; /* what is written cannot be expanded */
    for (size_t k = 0; k < LENGTH(extents) * walks * CEBUS_WALKS; k++) {
        const extent *e = extents[k / walks / CEBUS_WALKS];
        for (size_t f = 0; f < LENGTH(functions); f++) {
            if (!cebus_dtype_is_float(dtype) && !functions[f].integers)
                continue;
            cebus_test_array x = cebus_test_array_noise(t, (cebus_test_walk)(k % walks), dtype, 1,
                                                        e[0].ndim, e[0].shape);
            cebus_test_array y = cebus_test_array_noise(
                t, (cebus_test_walk)(k / walks % CEBUS_WALKS), dtype, 2, e[1].ndim, e[1].shape);
            check(t, &functions[f], &x, &y);
            cebus_test_array_drop(&x);
            cebus_test_array_drop(&y);
        }
    }
}

static void wide_values(cebus_test *t)
{
    check_dtype(t, CEBUS_F32);
    check_dtype(t, CEBUS_F64);
}

static void other_values(cebus_test *t)
{
    check_dtype(t, CEBUS_F16);
    check_dtype(t, CEBUS_BF16);
    check_dtype(t, CEBUS_I64);
    check_dtype(t, CEBUS_I32);
}

/* Only the elements of the view are written; the whole sees them. */
static void through_views(cebus_test *t)
{
    const int64_t shape[] = {4, 6};
    for (size_t f = 0; f < LENGTH(functions); f++) {
        cebus_test_array whole =
            cebus_test_array_noise(t, CEBUS_WALK_PLAIN, CEBUS_F32, 1, 2, shape);
        cebus_test_array row = cebus_test_array_noise(t, CEBUS_WALK_PLAIN, CEBUS_F32, 2, 1, shape);
        cebus_tensor *column = NULL;
        OK(t, cebus_select(t->rt, whole.tensor, 1, 2, &column));
        OK(t, functions[f].run(t->rt, column, row.tensor));
        for (int i = 0; i < 4; i++)
            whole.values[i * 6 + 2] =
                functions[f].reference(whole.values[i * 6 + 2], row.values[i]);
        cebus_test_array_expect(t, functions[f].name, cebus_tensor_retain(whole.tensor), &whole,
                                CEBUS_F32, 4e-7);
        cebus_tensor_release(column);
        cebus_test_array_drop(&whole);
        cebus_test_array_drop(&row);
    }
}

/* x on both sides. */
static void with_itself(cebus_test *t)
{
    for (size_t f = 0; f < LENGTH(functions); f++) {
        cebus_test_array x =
            cebus_test_array_noise(t, CEBUS_WALK_PLAIN, CEBUS_F32, 1, 1, (const int64_t[]){1000});
        OK(t, functions[f].run(t->rt, x.tensor, x.tensor));
        for (int64_t i = 0; i < x.numel; i++)
            x.values[i] = functions[f].reference(x.values[i], x.values[i]);
        cebus_test_array_expect(t, functions[f].name, cebus_tensor_retain(x.tensor), &x, CEBUS_F32,
                                4e-7);
        cebus_test_array_drop(&x);
    }
}

static void converting_copies(cebus_test *t)
{
    const int64_t shape[] = {3, 5, 4}, row[] = {4};
    for (int to = CEBUS_F32; to <= CEBUS_BOOL; to++)
        for (int from = CEBUS_F32; from <= CEBUS_BOOL; from++) {
            cebus_test_array x =
                cebus_test_array_noise(t, CEBUS_WALK_REVERSED, (cebus_dtype)to, 1, 3, shape);
            cebus_test_array y = cebus_test_array_noise(t, CEBUS_WALK_PLAIN, CEBUS_U8, 2, 1, row);
            cebus_tensor *source = NULL, *same = NULL;
            OK(t, cebus_cast(t->rt, y.tensor, (cebus_dtype)from, &source));
            OK(t, cebus_copy_(t->rt, x.tensor, source));
            for (int64_t i = 0; i < x.numel; i++) {
                double value = partner(&y, &x, i);
                bool through_bool = from == CEBUS_BOOL || to == CEBUS_BOOL;
                x.values[i] = through_bool ? value != 0 : value;
            }
            same = cebus_tensor_retain(x.tensor);
            cebus_test_array_expect(t, "copy_", same, &x, (cebus_dtype)to, 0);
            cebus_tensor_release(source);
            cebus_test_array_drop(&x);
            cebus_test_array_drop(&y);
        }
}

/* ---- gradients ----------------------------------------------------------------------------- */

/* z = 2 a; z op= b; result z z: the square reads what was written, and what is read again in the
 * backward pass of the write is the old z or b. */
static cebus_status written_square(cebus_runtime *rt, cebus_tensor *const *in, void *context,
                                   cebus_tensor **out)
{
    const function *f = context;
    cebus_tensor *z = NULL;
    cebus_status status = cebus_mul_scalar(rt, in[0], 2, &z);
    if (status == CEBUS_OK)
        status = f->run(rt, z, in[1]);
    if (status == CEBUS_OK)
        status = cebus_mul(rt, z, z, out);
    cebus_tensor_release(z);
    return status;
}

static void gradients(cebus_test *t)
{
    for (size_t k = 0; k < LENGTH(functions) * 3 * 3; k++) {
        const function *f = &functions[k % LENGTH(functions)];
        size_t who = k / LENGTH(functions) % 3 + 1;
        const extent *e = extents[3 + k / LENGTH(functions) / 3];
        if (f->run == fill || f->run == zero)
            continue; /* no element depends on anything: see rebased_history */
        cebus_tensor *in[2] = {cebus_test_tensor(t, CEBUS_F64, 31, 1, 2, e[0].ndim, e[0].shape),
                               cebus_test_tensor(t, CEBUS_F64, 32, 1, 2, e[1].ndim, e[1].shape)};
        bool uses_y = strstr(f->name, "scalar") == NULL;
        bool uses_x = f->run != cebus_copy_;
        if ((!uses_y && who != 1) || (!uses_x && who != 2))
            who = 0;
        OK(t, cebus_tensor_set_requires_grad(in[0], who & 1));
        OK(t, cebus_tensor_set_requires_grad(in[1], who >> 1 & 1));
        if (who)
            cebus_test_gradient(t, f->name, written_square, (void *)f, in, 2);
        cebus_tensor_release(in[0]);
        cebus_tensor_release(in[1]);
    }
}

/* What was overwritten has no part in the result any more; the rest of it has. */
static void rebased_history(cebus_test *t)
{
    const int64_t n = 4;
    cebus_tensor *a = cebus_test_tensor(t, CEBUS_F64, 1, 1, 0, 1, &n);
    cebus_tensor *z = NULL, *part = NULL, *ones = NULL, *grad = NULL;
    OK(t, cebus_tensor_set_requires_grad(a, true));
    OK(t, cebus_mul_scalar(t->rt, a, 3, &z));
    OK(t, cebus_slice(t->rt, z, 0, 1, 3, 1, &part));
    OK(t, cebus_zero_(t->rt, part));
    OK(t, cebus_full_like(t->rt, z, 1, &ones));
    OK(t, cebus_backward(t->rt, z, ones, false));
    OK(t, cebus_tensor_grad(a, &grad));
    double *got = cebus_test_doubles(t, grad);
    if (got)
        cebus_test_near(t, "zeroed part", got, (const double[]){3, 0, 0, 3}, n, 0, 0);
    free(got);
    cebus_tensor_release(grad);
    cebus_tensor_release(ones);
    cebus_tensor_release(part);
    cebus_tensor_release(z);
    cebus_tensor_release(a);
}

/* ---- errors -------------------------------------------------------------------------------- */

static void errors(cebus_test *t)
{
    cebus_test_array x =
        cebus_test_array_noise(t, CEBUS_WALK_PLAIN, CEBUS_F32, 1, 2, (const int64_t[]){2, 3});
    cebus_tensor *larger = cebus_test_tensor(t, CEBUS_F32, 1, 1, 0, 3, (const int64_t[]){4, 2, 3});
    cebus_tensor *other = cebus_test_tensor(t, CEBUS_F32, 1, 1, 0, 1, (const int64_t[]){4});
    cebus_tensor *whole = cebus_test_tensor(t, CEBUS_I64, 1, 1, 0, 1, (const int64_t[]){3});
    cebus_tensor *one = cebus_test_tensor(t, CEBUS_F32, 1, 1, 0, 2, (const int64_t[]){1, 3});
    for (size_t f = 0; f < 7; f++) {
        entry run = functions[f].run;
        FAILS(t, CEBUS_SHAPE_MISMATCH, "[4, 2, 3]", run(t->rt, x.tensor, larger));
        FAILS(t, CEBUS_SHAPE_MISMATCH, "[4] does", run(t->rt, x.tensor, other));
        FAILS(t, CEBUS_SHAPE_MISMATCH, "to [1, 3]", run(t->rt, one, x.tensor));
        FAILS(t, CEBUS_INVALID_ARGUMENT, "input 1", run(t->rt, x.tensor, NULL));
        FAILS(t, CEBUS_INVALID_ARGUMENT, "input 0", run(t->rt, NULL, x.tensor));
        FAILS(t, CEBUS_INVALID_ARGUMENT, "runtime", run(NULL, x.tensor, x.tensor));
        if (run != cebus_copy_)
            FAILS(t, CEBUS_DTYPE_MISMATCH, "i64 [3]", run(t->rt, x.tensor, whole));
        if (!functions[f].integers)
            FAILS(t, CEBUS_DTYPE_MISMATCH, "cebus_cast()", run(t->rt, whole, whole));
    }
    FAILS(t, CEBUS_INVALID_ARGUMENT, "input 0", cebus_zero_(t->rt, NULL));
    FAILS(t, CEBUS_DTYPE_MISMATCH, "0.5", cebus_add_scalar_(t->rt, whole, 0.5));
    FAILS(t, CEBUS_DTYPE_MISMATCH, "0.5", cebus_add_(t->rt, whole, whole, 0.5));
    FAILS(t, CEBUS_INVALID_ARGUMENT, "i64", cebus_fill_(t->rt, whole, NAN));
    cebus_tensor *repeated = NULL;
    OK(t, cebus_expand(t->rt, one, 2, (const int64_t[]){5, 3}, &repeated));
    EXPECT(t, cebus_zero_(t->rt, repeated) != CEBUS_OK);
    cebus_test_array_expect(t, "unchanged", cebus_tensor_retain(x.tensor), &x, CEBUS_F32, 0);
    cebus_tensor_release(repeated);
    cebus_tensor_release(one);
    cebus_tensor_release(whole);
    cebus_tensor_release(other);
    cebus_tensor_release(larger);
    cebus_test_array_drop(&x);
}

/* Operands that share some of their memory, or all of it in another order, are refused. */
static void overlaps(cebus_test *t)
{
    cebus_test_array x =
        cebus_test_array_noise(t, CEBUS_WALK_PLAIN, CEBUS_F32, 1, 2, (const int64_t[]){4, 4});
    cebus_tensor *upper = NULL, *lower = NULL, *flipped = NULL;
    OK(t, cebus_slice(t->rt, x.tensor, 0, 0, 3, 1, &upper));
    OK(t, cebus_slice(t->rt, x.tensor, 0, 1, 4, 1, &lower));
    OK(t, cebus_transpose(t->rt, x.tensor, 0, 1, &flipped));
    for (size_t f = 0; f < 7; f++) {
        FAILS(t, CEBUS_INVALID_ARGUMENT, "clone", functions[f].run(t->rt, upper, lower));
        FAILS(t, CEBUS_INVALID_ARGUMENT, "clone", functions[f].run(t->rt, x.tensor, flipped));
    }
    cebus_test_array_expect(t, "unchanged", cebus_tensor_retain(x.tensor), &x, CEBUS_F32, 0);
    cebus_tensor_release(upper);
    cebus_tensor_release(lower);
    cebus_tensor_release(flipped);
    cebus_test_array_drop(&x);
}

const cebus_case cebus_cases_inplace[] = {
    {"inplace: f32 and f64", wide_values},
    {"inplace: other types", other_values},
    {"inplace: through views", through_views},
    {"inplace: with itself", with_itself},
    {"inplace: converting copies", converting_copies},
    {"inplace: gradients", gradients},
    {"inplace: rebased history", rebased_history},
    {"inplace: errors", errors},
    {"inplace: overlaps", overlaps},
    {NULL, NULL},
};
