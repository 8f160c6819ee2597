#include "eager/device/cpu/fold.h"

#include <math.h>

#include "eager/device/half.h"
#include "eager/device/scalar.h"
#include "layout/clones.h"

/* A short run is at most RUN elements deep in each of LANES lanes (rows) or columns. */
#define LANES 32
#define RUN 64

#define JOIN(part, name) part##_##name

/* ---- sums -------------------------------------------------------------------------------- */

#define ELEMENT(x, c) (x)
#define SQUARE(x, c) (((x) - (c)) * ((x) - (c)))
#define EQUAL(x, c) ((x) == (c))
#define QUOTIENT(total, c, divisor) ((total) / (divisor))
#define TOTAL_ALONE(total, c, divisor) (total)

#define FOLD(part) JOIN(part, sum_f32)
#define T float
#define PART float
#define TOTAL double
#define OUT float
#define MAP ELEMENT
#define FINISH QUOTIENT
#include "eager/device/cpu/fold_sum_typed.h"

#define FOLD(part) JOIN(part, sum_f64)
#define T double
#define PART double
#define TOTAL double
#define OUT double
#define MAP ELEMENT
#define FINISH QUOTIENT
#include "eager/device/cpu/fold_sum_typed.h"

/* Narrow floats are summed in f32 and rounded once. */
#define F16_ELEMENT(x, c) cebus_f16_to_f32(x)
#define F16_QUOTIENT(total, c, divisor) cebus_f16_from_f32((float)((total) / (divisor)))
#define FOLD(part) JOIN(part, sum_f16)
#define T uint16_t
#define PART float
#define TOTAL double
#define OUT uint16_t
#define MAP F16_ELEMENT
#define FINISH F16_QUOTIENT
#include "eager/device/cpu/fold_sum_typed.h"

#define BF16_ELEMENT(x, c) cebus_bf16_to_f32(x)
#define BF16_QUOTIENT(total, c, divisor) cebus_bf16_from_f32((float)((total) / (divisor)))
#define FOLD(part) JOIN(part, sum_bf16)
#define T uint16_t
#define PART float
#define TOTAL double
#define OUT uint16_t
#define MAP BF16_ELEMENT
#define FINISH BF16_QUOTIENT
#include "eager/device/cpu/fold_sum_typed.h"

/* Without a sign, since sums wrap around. */
#define I64_ELEMENT(x, c) ((uint64_t)(x))
#define FOLD(part) JOIN(part, sum_i64)
#define T int64_t
#define PART uint64_t
#define TOTAL uint64_t
#define OUT int64_t
#define MAP I64_ELEMENT
#define FINISH TOTAL_ALONE
#include "eager/device/cpu/fold_sum_typed.h"

#define FOLD(part) JOIN(part, sum_i32)
#define T int32_t
#define PART int64_t
#define TOTAL int64_t
#define OUT int64_t
#define MAP ELEMENT
#define FINISH TOTAL_ALONE
#include "eager/device/cpu/fold_sum_typed.h"

#define FOLD(part) JOIN(part, sum_u8)
#define T uint8_t
#define PART int64_t
#define TOTAL int64_t
#define OUT int64_t
#define MAP ELEMENT
#define FINISH TOTAL_ALONE
#include "eager/device/cpu/fold_sum_typed.h"

#define FOLD(part) JOIN(part, squares_f32)
#define T float
#define PART float
#define TOTAL double
#define OUT float
#define MAP SQUARE
#define FINISH QUOTIENT
#include "eager/device/cpu/fold_sum_typed.h"

#define FOLD(part) JOIN(part, squares_f64)
#define T double
#define PART double
#define TOTAL double
#define OUT double
#define MAP SQUARE
#define FINISH QUOTIENT
#include "eager/device/cpu/fold_sum_typed.h"

#define EXPONENTIAL_F32(x, c) cebus_exp_f32((x) - (c))
#define FOLD(part) JOIN(part, exponentials_f32)
#define T float
#define PART float
#define TOTAL double
#define OUT float
#define MAP EXPONENTIAL_F32
#define FINISH QUOTIENT
#include "eager/device/cpu/fold_sum_typed.h"

#define EXPONENTIAL_F64(x, c) exp((x) - (c))
#define FOLD(part) JOIN(part, exponentials_f64)
#define T double
#define PART double
#define TOTAL double
#define OUT double
#define MAP EXPONENTIAL_F64
#define FINISH QUOTIENT
#include "eager/device/cpu/fold_sum_typed.h"

#define FOLD(part) JOIN(part, equals_f32)
#define T float
#define PART float
#define TOTAL double
#define OUT float
#define MAP EQUAL
#define FINISH TOTAL_ALONE
#include "eager/device/cpu/fold_sum_typed.h"

#define FOLD(part) JOIN(part, equals_f64)
#define T double
#define PART double
#define TOTAL double
#define OUT double
#define MAP EQUAL
#define FINISH TOTAL_ALONE
#include "eager/device/cpu/fold_sum_typed.h"

/* ---- extrema ----------------------------------------------------------------------------- */

/* The first NaN wins and stays; x != x is what vectorizes. */
#define LARGER(x, than) ((x) > (than) || ((x) != (x) && (than) == (than)))
#define SMALLER(x, than) ((x) < (than) || ((x) != (x) && (than) == (than)))
#define LARGER_INTEGER(x, than) ((x) > (than))
#define SMALLER_INTEGER(x, than) ((x) < (than))

#define VALUE(part) JOIN(part, max_f32)
#define INDEX(part) JOIN(part, argmax_f32)
#define T float
#define WORST (-INFINITY)
#define BETTER LARGER
#include "eager/device/cpu/fold_extremum_typed.h"

#define VALUE(part) JOIN(part, min_f32)
#define INDEX(part) JOIN(part, argmin_f32)
#define T float
#define WORST INFINITY
#define BETTER SMALLER
#include "eager/device/cpu/fold_extremum_typed.h"

#define VALUE(part) JOIN(part, max_f64)
#define INDEX(part) JOIN(part, argmax_f64)
#define T double
#define WORST (-(double)INFINITY)
#define BETTER LARGER
#include "eager/device/cpu/fold_extremum_typed.h"

#define VALUE(part) JOIN(part, min_f64)
#define INDEX(part) JOIN(part, argmin_f64)
#define T double
#define WORST ((double)INFINITY)
#define BETTER SMALLER
#include "eager/device/cpu/fold_extremum_typed.h"

#define VALUE(part) JOIN(part, max_i64)
#define INDEX(part) JOIN(part, argmax_i64)
#define T int64_t
#define WORST INT64_MIN
#define BETTER LARGER_INTEGER
#include "eager/device/cpu/fold_extremum_typed.h"

#define VALUE(part) JOIN(part, min_i64)
#define INDEX(part) JOIN(part, argmin_i64)
#define T int64_t
#define WORST INT64_MAX
#define BETTER SMALLER_INTEGER
#include "eager/device/cpu/fold_extremum_typed.h"

#define VALUE(part) JOIN(part, max_i32)
#define INDEX(part) JOIN(part, argmax_i32)
#define T int32_t
#define WORST INT32_MIN
#define BETTER LARGER_INTEGER
#include "eager/device/cpu/fold_extremum_typed.h"

#define VALUE(part) JOIN(part, min_i32)
#define INDEX(part) JOIN(part, argmin_i32)
#define T int32_t
#define WORST INT32_MAX
#define BETTER SMALLER_INTEGER
#include "eager/device/cpu/fold_extremum_typed.h"

#define VALUE(part) JOIN(part, max_u8)
#define INDEX(part) JOIN(part, argmax_u8)
#define T uint8_t
#define WORST 0
#define BETTER LARGER_INTEGER
#include "eager/device/cpu/fold_extremum_typed.h"

#define VALUE(part) JOIN(part, min_u8)
#define INDEX(part) JOIN(part, argmin_u8)
#define T uint8_t
#define WORST UINT8_MAX
#define BETTER SMALLER_INTEGER
#include "eager/device/cpu/fold_extremum_typed.h"

/* ---- all of them ------------------------------------------------------------------------- */

/* Of one kind, by type. bool is stored as 0 or 1, so it folds as u8. */
#define REALS(kind) [CEBUS_F32] = &fold_##kind##_f32, [CEBUS_F64] = &fold_##kind##_f64
#define INTEGERS(kind)                                                                             \
    [CEBUS_I64] = &fold_##kind##_i64, [CEBUS_I32] = &fold_##kind##_i32,                            \
    [CEBUS_U8] = &fold_##kind##_u8, [CEBUS_BOOL] = &fold_##kind##_u8
#define HALVES(kind) [CEBUS_F16] = &fold_##kind##_f16, [CEBUS_BF16] = &fold_##kind##_bf16

const cebus_fold *cebus_fold_find(cebus_fold_kind kind, cebus_dtype dtype)
{
    static const cebus_fold *const folds[CEBUS_FOLD_KINDS][CEBUS_BOOL + 1] = {
        [CEBUS_FOLD_SUM] = {REALS(sum), HALVES(sum), INTEGERS(sum)},
        [CEBUS_FOLD_SQUARES] = {REALS(squares)},
        [CEBUS_FOLD_EXPONENTIALS] = {REALS(exponentials)},
        [CEBUS_FOLD_EQUALS] = {REALS(equals)},
        [CEBUS_FOLD_MAX] = {REALS(max), INTEGERS(max)},
        [CEBUS_FOLD_MIN] = {REALS(min), INTEGERS(min)},
        [CEBUS_FOLD_ARGMAX] = {REALS(argmax), INTEGERS(argmax)},
        [CEBUS_FOLD_ARGMIN] = {REALS(argmin), INTEGERS(argmin)},
    };
    return folds[kind][dtype];
}
