/*
 * Functions of two integers, exactly: bits, shifts and rounded divisions. References go bit by bit
 * or by subtraction, not by the operators that kernels use.
 */
#include <stdlib.h>
#include <string.h>

#include "tests/support/arrays.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

typedef cebus_status (*entry)(cebus_runtime *, cebus_tensor *, cebus_tensor *, cebus_tensor **);

/* ---- reference ----------------------------------------------------------------------------- */

/* Bit b of x, whose sign goes on for ever. */
static int bit(int64_t x, int b)
{
    return (int)((uint64_t)x >> (b < 63 ? b : 63) & 1);
}

static int64_t from_bits(int64_t x, int64_t y, int (*of)(int, int))
{
    uint64_t result = 0;
    for (int b = 0; b < 64; b++)
        result |= (uint64_t)of(bit(x, b), bit(y, b)) << b;
    return (int64_t)result;
}
static int both(int x, int y)
{
    return x && y;
}
static int either(int x, int y)
{
    return x || y;
}
static int differ(int x, int y)
{
    return x != y;
}
static int64_t ref_and(int64_t x, int64_t y)
{
    return from_bits(x, y, both);
}
static int64_t ref_or(int64_t x, int64_t y)
{
    return from_bits(x, y, either);
}
static int64_t ref_xor(int64_t x, int64_t y)
{
    return from_bits(x, y, differ);
}
static int64_t ref_shift_left(int64_t x, int64_t y)
{
    uint64_t result = y < 0 ? 0 : (uint64_t)x;
    for (int64_t b = 0; b < y && b < 64; b++)
        result += result;
    return (int64_t)result;
}
static int64_t ref_shift_right(int64_t x, int64_t y)
{
    uint64_t result = 0;
    int64_t by = y < 0 || y > 63 ? 63 : y;
    for (int b = 0; b < 64; b++)
        result |= (uint64_t)bit(x, b + (int)by) << b;
    return (int64_t)result;
}

/* Long division of what the signs leave. */
static int64_t ref_div_trunc(int64_t x, int64_t y)
{
    uint64_t dividend = x < 0 ? -(uint64_t)x : (uint64_t)x;
    uint64_t divisor = y < 0 ? -(uint64_t)y : (uint64_t)y, rest = 0, quotient = 0;
    for (int b = 63; b >= 0 && divisor > 0; b--) {
        bool carry = rest >> 63;
        rest = rest << 1 | (dividend >> b & 1);
        if (carry || rest >= divisor) {
            rest -= divisor;
            quotient |= UINT64_C(1) << b;
        }
    }
    return (int64_t)((x < 0) == (y < 0) ? quotient : -quotient);
}
static int64_t ref_div_floor(int64_t x, int64_t y)
{
    int64_t quotient = ref_div_trunc(x, y);
    uint64_t rest = (uint64_t)x - (uint64_t)quotient * (uint64_t)y;
    return quotient - (rest != 0 && y != 0 && (x < 0) != (y < 0));
}

typedef struct function {
    const char *name;
    entry run;
    int64_t (*reference)(int64_t, int64_t);
    bool bits, divides;
} function;

static const function functions[] = {
    {"bitwise_and", cebus_bitwise_and, ref_and, true, false},
    {"bitwise_or", cebus_bitwise_or, ref_or, true, false},
    {"bitwise_xor", cebus_bitwise_xor, ref_xor, true, false},
    {"shift_left", cebus_shift_left, ref_shift_left, false, false},
    {"shift_right", cebus_shift_right, ref_shift_right, false, false},
    {"div_floor", cebus_div_floor, ref_div_floor, false, true},
    {"div_trunc", cebus_div_trunc, ref_div_trunc, false, true},
};

/* ---- i64: every pair of numbers where something may go wrong -------------------------------- */

static const int64_t corners[] = {0,
                                  1,
                                  -1,
                                  2,
                                  3,
                                  -7,
                                  31,
                                  32,
                                  33,
                                  62,
                                  63,
                                  64,
                                  65,
                                  -64,
                                  255,
                                  256,
                                  INT32_MAX,
                                  INT32_MIN,
                                  INT64_MAX,
                                  INT64_MIN,
                                  1LL << 53,
                                  1LL << 62,
                                  -(1LL << 53) - 1,
                                  1000003,
                                  -999999937,
                                  123456789012345678LL};

/* Columns are divisors: without the first, which is 0. */
static void check_corners(cebus_test *t, const function *f)
{
    const int64_t n = LENGTH(corners), rest = n - f->divides;
    const int64_t *divisors = corners + f->divides, as_rows[] = {n, 1};
    cebus_tensor *a = NULL, *b = NULL, *out = NULL;
    OK(t, cebus_tensor_from_host(t->rt, corners, CEBUS_I64, 2, as_rows, &a));
    OK(t, cebus_tensor_from_host(t->rt, divisors, CEBUS_I64, 1, &rest, &b));
    OK(t, f->run(t->rt, a, b, &out));
    int64_t got[LENGTH(corners) * LENGTH(corners)];
    OK(t, cebus_tensor_to_host(out, got, (size_t)(n * rest) * sizeof *got));
    for (int64_t i = 0; i < n * rest; i++) {
        int64_t x = corners[i / rest], y = divisors[i % rest], want = f->reference(x, y);
        if (got[i] != want)
            cebus_test_fail(t, __FILE__, __LINE__, "%s(%lld, %lld) is %lld, not %lld", f->name,
                            (long long)x, (long long)y, (long long)got[i], (long long)want);
    }
    cebus_tensor_release(a);
    cebus_tensor_release(b);
    cebus_tensor_release(out);
}

static void corner_values(cebus_test *t)
{
    for (size_t f = 0; f < LENGTH(functions); f++)
        check_corners(t, &functions[f]);
}

/* ---- all types and memory orders ----------------------------------------------------------- */

/* What becomes of a result that the type cannot hold. */
static int64_t stored(cebus_dtype dtype, int64_t value)
{
    switch (dtype) {
    case CEBUS_U8:
        return (uint8_t)value;
    case CEBUS_I32:
        return (int32_t)value;
    default:
        return value;
    }
}

/* [5, 3] with [5, 3], or with [5, 1]. */
static void check(cebus_test *t, const function *f, cebus_dtype dtype, cebus_test_walk walk,
                  int64_t columns)
{
    const int64_t left[] = {5, 3}, right[] = {5, columns};
    cebus_test_array a = cebus_test_array_noise(t, walk, dtype, 5, 2, left);
    cebus_test_array b = cebus_test_array_noise(t, walk, dtype, 6, 2, right);
    cebus_tensor *out = NULL;
    if (f->divides) {
        cebus_tensor *one = NULL, *above = NULL;
        OK(t, cebus_full_like(t->rt, b.tensor, 1, &one));
        OK(t, cebus_maximum(t->rt, b.tensor, one, &above));
        cebus_tensor_release(one);
        cebus_tensor_release(b.tensor);
        b.tensor = above;
    }
    OK(t, f->run(t->rt, a.tensor, b.tensor, &out));
    for (int64_t i = 0; i < a.numel; i++) {
        double y = b.values[columns == 1 ? i / 3 : i];
        int64_t divisor = (int64_t)(f->divides && y < 1 ? 1 : y);
        a.values[i] = (double)stored(dtype, f->reference((int64_t)a.values[i], divisor));
    }
    cebus_test_array_expect(t, f->name, out, &a, dtype, 0);
    cebus_test_array_drop(&a);
    cebus_test_array_drop(&b);
}

static void all_types(cebus_test *t)
{
    static const cebus_dtype types[] = {CEBUS_I64, CEBUS_I32, CEBUS_U8, CEBUS_BOOL};
    for (size_t f = 0; f < LENGTH(functions); f++) {
        for (size_t k = 0; k < LENGTH(types) * CEBUS_WALKS; k++) {
            cebus_dtype dtype = types[k / CEBUS_WALKS];
            if (dtype == CEBUS_BOOL && !functions[f].bits)
                continue;
            check(t, &functions[f], dtype, (cebus_test_walk)(k % CEBUS_WALKS), 3);
            check(t, &functions[f], dtype, (cebus_test_walk)(k % CEBUS_WALKS), 1);
        }
    }
}

/* ---- given up and made again --------------------------------------------------------------- */

/* Each of five values is made of the one before it; the budget is for three. */
static void make_again(cebus_test *t)
{
    const int64_t n = 1 << 16, start = -(1LL << 40) - 77;
    cebus_tensor *step[5] = {NULL}, *last = NULL;
    int64_t want = start, got = 0;
    OK(t, cebus_full(t->rt, (double)start, CEBUS_I64, 1, &n, &step[0]));
    for (int i = 1; i < 5; i++) {
        cebus_tensor *other = NULL;
        OK(t, cebus_full(t->rt, 2 + i, CEBUS_I64, 0, NULL, &other));
        OK(t, functions[2 + i].run(t->rt, step[i - 1], other, &step[i]));
        cebus_tensor_release(other);
    }
    for (int i = 0; i < 5; i++) {
        if (i > 0)
            want = functions[2 + i].reference(want, 2 + i);
        OK(t, cebus_slice(t->rt, step[i], 0, n - 1, n, 1, &last));
        OK(t, cebus_tensor_to_host(last, &got, sizeof got));
        EXPECT(t, got == want);
        cebus_tensor_release(last);
    }
    cebus_memory_stats stats = {.struct_size = sizeof stats};
    OK(t, cebus_runtime_memory_stats(t->rt, &stats));
    EXPECT(t, stats.recomputes >= 3);
    for (int i = 0; i < 5; i++)
        cebus_tensor_release(step[i]);
}

static void made_again(cebus_test *t)
{
    cebus_runtime_options options = CEBUS_RUNTIME_OPTIONS_INIT;
    cebus_runtime *ample = t->rt;
    options.device = t->device;
    options.memory_budget = (3 << 19) + (1 << 16);
    OK(t, cebus_runtime_create(&options, &t->rt));
    make_again(t);
    cebus_runtime_destroy(t->rt);
    t->rt = ample;
}

/* ---- sums ---------------------------------------------------------------------------------- */

enum {
    LINES = 37,
    LENGTH_OF_LINE = 70
};

/* Each line adds up to far more than an i64 holds, and all lines once more. */
static void sums_wrap_around(cebus_test *t)
{
    static int64_t data[LINES][LENGTH_OF_LINE];
    const int64_t shape[] = {LINES, LENGTH_OF_LINE};
    uint64_t want[LINES + LENGTH_OF_LINE + 1] = {0};
    int64_t got[LINES + LENGTH_OF_LINE + 1] = {0};
    cebus_tensor *x = NULL, *lines = NULL, *columns = NULL, *all = NULL;
    for (int i = 0; i < LINES * LENGTH_OF_LINE; i++) {
        int row = i / LENGTH_OF_LINE, column = i % LENGTH_OF_LINE;
        data[row][column] = INT64_MAX / 3 - i;
        want[row] += (uint64_t)data[row][column];
        want[LINES + column] += (uint64_t)data[row][column];
        want[LINES + LENGTH_OF_LINE] += (uint64_t)data[row][column];
    }
    OK(t, cebus_tensor_from_host(t->rt, data, CEBUS_I64, 2, shape, &x));
    OK(t, cebus_sum(t->rt, x, 1, (const int[]){1}, false, &lines));
    OK(t, cebus_sum(t->rt, x, 1, (const int[]){0}, false, &columns));
    OK(t, cebus_sum(t->rt, x, 0, NULL, false, &all));
    OK(t, cebus_tensor_to_host(lines, got, LINES * sizeof *got));
    OK(t, cebus_tensor_to_host(columns, got + LINES, LENGTH_OF_LINE * sizeof *got));
    OK(t, cebus_tensor_to_host(all, got + LINES + LENGTH_OF_LINE, sizeof *got));
    EXPECT(t, memcmp(got, want, sizeof got) == 0);
    cebus_tensor_release(x);
    cebus_tensor_release(lines);
    cebus_tensor_release(columns);
    cebus_tensor_release(all);
}

/* ---- errors -------------------------------------------------------------------------------- */

/* A GPU does not look. */
static void division_by_zero(cebus_test *t)
{
    const int64_t n = 3, a[] = {7, -7, 0}, b[] = {2, 0, 0}, want[][3] = {{3, 0, 0}, {3, 0, 0}};
    const entry runs[] = {cebus_div_floor, cebus_div_trunc};
    cebus_tensor *x = NULL, *y = NULL, *out = NULL;
    OK(t, cebus_tensor_from_host(t->rt, a, CEBUS_I64, 1, &n, &x));
    OK(t, cebus_tensor_from_host(t->rt, b, CEBUS_I64, 1, &n, &y));
    for (int i = 0; i < 2; i++) {
        int64_t got[3] = {0};
        if (strncmp(t->device, "cuda", 4) != 0) {
            FAILS_BY_DATA(t, "division by zero", &out, runs[i](t->rt, x, y, &out));
            continue;
        }
        OK(t, runs[i](t->rt, x, y, &out));
        OK(t, cebus_tensor_to_host(out, got, sizeof got));
        EXPECT(t, memcmp(got, want[i], sizeof got) == 0);
        cebus_tensor_release(out);
    }
    cebus_tensor_release(x);
    cebus_tensor_release(y);
}

static void errors(cebus_test *t)
{
    const int64_t n = 3;
    cebus_tensor *out = NULL;
    cebus_tensor *x[] = {cebus_test_tensor(t, CEBUS_F32, 1, 1, 0, 1, &n),
                         cebus_test_tensor(t, CEBUS_I32, 1, 1, 0, 1, &n),
                         cebus_test_tensor(t, CEBUS_I64, 1, 1, 0, 1, (const int64_t[]){4}),
                         cebus_test_tensor(t, CEBUS_BOOL, 1, 1, 0, 1, &n),
                         cebus_test_tensor(t, CEBUS_I64, 1, 1, 0, 1, &n)};
    for (size_t f = 0; f < LENGTH(functions); f++) {
        const function *g = &functions[f];
        FAILS(t, CEBUS_DTYPE_MISMATCH, "takes integers", g->run(t->rt, x[0], x[0], &out));
        EXPECT(t, out == NULL);
        FAILS(t, CEBUS_DTYPE_MISMATCH, "i32 [3] and i64 [4]", g->run(t->rt, x[1], x[2], &out));
        FAILS(t, CEBUS_SHAPE_MISMATCH, "[4] and [3]", g->run(t->rt, x[2], x[4], &out));
        FAILS(t, CEBUS_INVALID_ARGUMENT, g->name, g->run(t->rt, NULL, x[1], &out));
        if (!g->bits)
            FAILS(t, CEBUS_DTYPE_MISMATCH, "bool [3]", g->run(t->rt, x[3], x[3], &out));
    }
    FAILS(t, CEBUS_INVALID_ARGUMENT, "power -1", cebus_pow_scalar(t->rt, x[1], -1, &out));
    EXPECT(t, out == NULL);
    for (size_t i = 0; i < LENGTH(x); i++)
        cebus_tensor_release(x[i]);
}

const cebus_case cebus_cases_integer[] = {
    {"integer: corners", corner_values, CEBUS_READS_VALUES},
    {"integer: types and walks", all_types},
    {"integer: made again", made_again, CEBUS_READS_VALUES},
    {"integer: sums wrap around", sums_wrap_around, CEBUS_READS_VALUES},
    {"integer: division by zero", division_by_zero, CEBUS_READS_VALUES},
    {"integer: errors", errors},
    {NULL, NULL},
};
