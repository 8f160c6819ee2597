/* Elements between memory and lanes (sweep.h): gathered or scattered, and converted. */
#include "eager/device/cpu/sweep.h"
#include "eager/device/half.h"
#include "layout/clones.h"

/* X(dtype, stored type, lane, lane type, loaded, stored): the value converted is v. */
#define CONVERSIONS(X)                                                                             \
    X(F32, float, F32, float, v, v)                                                                \
    X(F16, uint16_t, F32, float, cebus_f16_to_f32(v), cebus_f16_from_f32(v))                       \
    X(BF16, uint16_t, F32, float, cebus_bf16_to_f32(v), cebus_bf16_from_f32(v))                    \
    X(F64, double, F64, double, v, v)                                                              \
    X(I64, int64_t, I64, int64_t, v, v)                                                            \
    X(I32, int32_t, I64, int64_t, v, (int32_t)v)                                                   \
    X(U8, uint8_t, I64, int64_t, v, (uint8_t)v)                                                    \
    X(BOOL, uint8_t, I64, int64_t, v, v != 0)                                                      \
    X(U8, uint8_t, U8, uint8_t, v, v)                                                              \
    X(BOOL, uint8_t, U8, uint8_t, v, v)

/* out[i * out_step] = f(in[i * in_step]), with the two usual patterns of steps as loops of their
 * own: there they vectorize. */
#define DEFINE_MOVE(name, from_type, to_type, f)                                                   \
    CEBUS_CLONES static void name(void *to, int64_t to_step, const void *from, int64_t from_step,  \
                                  int64_t n)                                                       \
    {                                                                                              \
        to_type *t = to;                                                                           \
        const from_type *s = from;                                                                 \
        if (to_step == 1 && from_step == 1) {                                                      \
            CEBUS_IVDEP                                                                            \
            for (int64_t i = 0; i < n; i++) {                                                      \
                from_type v = s[i];                                                                \
                t[i] = f;                                                                          \
            }                                                                                      \
        } else if (to_step == 1 && from_step == 0) {                                               \
            from_type v = *s;                                                                      \
            to_type value = f;                                                                     \
            for (int64_t i = 0; i < n; i++)                                                        \
                t[i] = value;                                                                      \
        } else {                                                                                   \
            for (int64_t i = 0; i < n; i++) {                                                      \
                from_type v = s[i * from_step];                                                    \
                t[i * to_step] = f;                                                                \
            }                                                                                      \
        }                                                                                          \
    }

#define DEFINE_PAIR(dtype, stored_type, lane, lane_type, loaded, stored)                           \
    DEFINE_MOVE(load_##dtype##_##lane, stored_type, lane_type, loaded)                             \
    DEFINE_MOVE(store_##dtype##_##lane, lane_type, stored_type, stored)
CONVERSIONS(DEFINE_PAIR)

typedef void (*move_fn)(void *to, int64_t to_step, const void *from, int64_t from_step, int64_t n);

#define LOAD_ENTRY(dtype, stored_type, lane, lane_type, loaded, stored)                            \
    [CEBUS_LANE_##lane][CEBUS_##dtype] = load_##dtype##_##lane,
#define STORE_ENTRY(dtype, stored_type, lane, lane_type, loaded, stored)                           \
    [CEBUS_LANE_##lane][CEBUS_##dtype] = store_##dtype##_##lane,
static const move_fn loads[CEBUS_LANE_COUNT][CEBUS_BOOL + 1] = {CONVERSIONS(LOAD_ENTRY)};
static const move_fn stores[CEBUS_LANE_COUNT][CEBUS_BOOL + 1] = {CONVERSIONS(STORE_ENTRY)};

void cebus_lane_load(cebus_lane lane, void *to, cebus_dtype dtype, const void *from, int64_t step,
                     int64_t n)
{
    loads[lane][dtype](to, 1, from, step, n);
}

void cebus_lane_store(cebus_lane lane, const void *from, cebus_dtype dtype, void *to, int64_t step,
                      int64_t n)
{
    stores[lane][dtype](to, step, from, 1, n);
}
