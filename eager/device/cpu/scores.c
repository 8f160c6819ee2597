#include "eager/device/cpu/scores.h"

#include <math.h>

#include "eager/device/scalar.h"
#include "layout/clones.h"

/* Partial sums of a row: as many as the widest vector holds. */
#define LANES 16

#define T float
#define ROW(name) f32_##name
#define EXP(x) cebus_exp_f32(x)
#include "eager/device/cpu/scores_typed.h"

#define T double
#define ROW(name) f64_##name
#define EXP(x) exp(x)
#include "eager/device/cpu/scores_typed.h"

const cebus_scores *cebus_scores_find(cebus_dtype dtype)
{
    return dtype == CEBUS_F64 ? &f64_rows : &f32_rows;
}
