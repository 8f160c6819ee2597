/**
 * lane.h: elements between memory and the types that kernels compute in, by the rules of the CPU's
 * sweep (eager/device/cpu/sweep.h): f32 f16 bf16 -> float, f64 -> double, i64 i32 u8 bool ->
 * int64_t, and bytes as they are. Narrow types are rounded once, when they are written.
 *
 * Threads take up to CEBUS_PACK elements at a time; side by side and aligned these move as 16
 * bytes.
 */
#ifndef CEBUS_EAGER_DEVICE_CUDA_LANE_H
#define CEBUS_EAGER_DEVICE_CUDA_LANE_H

#include "eager/device/cuda/grid.h"
#include "eager/device/half.h"

#ifndef CEBUS_CUDA_HOST
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#endif

#define CEBUS_PACK 8

/* The narrow floats: the hardware rounds as half.h does, but for the payload of a NaN. */
#ifdef CEBUS_CUDA_HOST
#define CEBUS_F16_LOAD(v) cebus_f16_to_f32(v)
#define CEBUS_F16_STORE(v) cebus_f16_from_f32(v)
#define CEBUS_BF16_STORE(v) cebus_bf16_from_f32(v)
#else
#define CEBUS_F16_LOAD(v) __half2float(__ushort_as_half(v))
#define CEBUS_F16_STORE(v) __half_as_ushort(__float2half_rn(v))
#define CEBUS_BF16_STORE(v) __bfloat16_as_ushort(__float2bfloat16_rn(v))
#endif

/** What a kernel reads or writes: address of the first element, and type. */
typedef struct cebus_cells {
    char *data;
    cebus_dtype dtype;
} cebus_cells;

static inline cebus_cells cebus_cells_of(const cebus_array *array)
{
    return (cebus_cells){(char *)array->data, array->view->dtype};
}

/** What moves at a time; where it is a byte array the compiler takes it apart byte by byte. */
struct alignas(16) cebus_word {
    uint32_t part[4];
};
struct alignas(8) cebus_half_word {
    uint32_t part[2];
};
template <size_t bytes> struct cebus_words {
    cebus_word word[bytes / sizeof(cebus_word)];
};
template <> struct cebus_words<8> {
    cebus_half_word word[1];
};

/** Elements [at, at + CEBUS_PACK) as they lie in memory. */
template <class S> CEBUS_DEVICE void cebus_pack_read(S *to, const char *data, int64_t at)
{
    typedef cebus_words<sizeof(S) * CEBUS_PACK> words;
    const words found = *(const words *)(data + at * (int64_t)sizeof(S));
    memcpy(to, &found, sizeof found);
}

template <class S> CEBUS_DEVICE void cebus_pack_write(const S *from, char *data, int64_t at)
{
    typedef cebus_words<sizeof(S) * CEBUS_PACK> words;
    words made;
    memcpy(&made, from, sizeof made);
    *(words *)(data + at * (int64_t)sizeof(S)) = made;
}

template <class S> CEBUS_DEVICE bool cebus_pack_fits(const char *data, int64_t at)
{
    typedef cebus_words<sizeof(S) * CEBUS_PACK> words;
    return (uintptr_t)((const S *)data + at) % alignof(words) == 0;
}

/* X(dtype, stored type, loaded, stored): the value converted is v. */
#define CEBUS_CELLS_F32(X)                                                                         \
    X(CEBUS_F32, float, v, v)                                                                      \
    X(CEBUS_F16, uint16_t, CEBUS_F16_LOAD(v), CEBUS_F16_STORE(v))                                  \
    X(CEBUS_BF16, uint16_t, cebus_bf16_to_f32(v), CEBUS_BF16_STORE(v))
#define CEBUS_CELLS_F64(X) X(CEBUS_F64, double, v, v)
#define CEBUS_CELLS_I64(X)                                                                         \
    X(CEBUS_I64, int64_t, v, v)                                                                    \
    X(CEBUS_I32, int32_t, v, (int32_t)v)                                                           \
    X(CEBUS_U8, uint8_t, v, (uint8_t)v)                                                            \
    X(CEBUS_BOOL, uint8_t, v, v != 0)
#define CEBUS_CELLS_U8(X)                                                                          \
    X(CEBUS_U8, uint8_t, v, v)                                                                     \
    X(CEBUS_BOOL, uint8_t, v, v)

/** `n` elements, `step` apart. */
template <class T> struct cebus_lane;

#define CEBUS_LANE_LOAD(type, S, loaded, stored)                                                   \
    case type: {                                                                                   \
        if (step == 1 && n == CEBUS_PACK && cebus_pack_fits<S>(c.data, at)) {                      \
            S raw[CEBUS_PACK];                                                                     \
            cebus_pack_read(raw, c.data, at);                                                      \
            for (int i = 0; i < CEBUS_PACK; i++) {                                                 \
                S v = raw[i];                                                                      \
                to[i] = loaded;                                                                    \
            }                                                                                      \
        } else {                                                                                   \
            const S *from = (const S *)c.data + at;                                                \
            for (int i = 0; i < CEBUS_PACK; i++)                                                   \
                if (i < n) {                                                                       \
                    S v = from[i * step];                                                          \
                    to[i] = loaded;                                                                \
                }                                                                                  \
        }                                                                                          \
        break;                                                                                     \
    }
#define CEBUS_LANE_STORE(type, S, loaded, stored)                                                  \
    case type: {                                                                                   \
        if (step == 1 && n == CEBUS_PACK && cebus_pack_fits<S>(c.data, at)) {                      \
            S raw[CEBUS_PACK];                                                                     \
            for (int i = 0; i < CEBUS_PACK; i++) {                                                 \
                auto v = from[i];                                                                  \
                raw[i] = stored;                                                                   \
            }                                                                                      \
            cebus_pack_write(raw, c.data, at);                                                     \
        } else {                                                                                   \
            S *to = (S *)c.data + at;                                                              \
            for (int i = 0; i < CEBUS_PACK; i++)                                                   \
                if (i < n) {                                                                       \
                    auto v = from[i];                                                              \
                    to[i * step] = stored;                                                         \
                }                                                                                  \
        }                                                                                          \
        break;                                                                                     \
    }
#define CEBUS_LANE_GET(type, S, loaded, stored)                                                    \
    case type: {                                                                                   \
        S v = ((const S *)c.data)[at];                                                             \
        return loaded;                                                                             \
    }
#define CEBUS_LANE_SET(type, S, loaded, stored)                                                    \
    case type:                                                                                     \
        ((S *)c.data)[at] = stored;                                                                \
        break;

#define CEBUS_DEFINE_LANE(T, CELLS)                                                                \
    template <> struct cebus_lane<T> {                                                             \
        CEBUS_DEVICE void load(T *to, cebus_cells c, int64_t at, int64_t step, int n)              \
        {                                                                                          \
            switch (c.dtype) {                                                                     \
                CELLS(CEBUS_LANE_LOAD)                                                             \
            default:                                                                               \
                break;                                                                             \
            }                                                                                      \
        }                                                                                          \
        CEBUS_DEVICE void store(const T *from, cebus_cells c, int64_t at, int64_t step, int n)     \
        {                                                                                          \
            switch (c.dtype) {                                                                     \
                CELLS(CEBUS_LANE_STORE)                                                            \
            default:                                                                               \
                break;                                                                             \
            }                                                                                      \
        }                                                                                          \
        CEBUS_DEVICE T get(cebus_cells c, int64_t at)                                              \
        {                                                                                          \
            switch (c.dtype) {                                                                     \
                CELLS(CEBUS_LANE_GET)                                                              \
            default:                                                                               \
                return 0;                                                                          \
            }                                                                                      \
        }                                                                                          \
        CEBUS_DEVICE void set(cebus_cells c, int64_t at, T v)                                      \
        {                                                                                          \
            switch (c.dtype) {                                                                     \
                CELLS(CEBUS_LANE_SET)                                                              \
            default:                                                                               \
                break;                                                                             \
            }                                                                                      \
        }                                                                                          \
    };
CEBUS_DEFINE_LANE(float, CEBUS_CELLS_F32)
CEBUS_DEFINE_LANE(double, CEBUS_CELLS_F64)
CEBUS_DEFINE_LANE(int64_t, CEBUS_CELLS_I64)
CEBUS_DEFINE_LANE(uint8_t, CEBUS_CELLS_U8)

/** An index of i64 or i32. */
CEBUS_DEVICE int64_t cebus_index_get(const void *data, bool narrow, int64_t at)
{
    return narrow ? ((const int32_t *)data)[at] : ((const int64_t *)data)[at];
}

/** The lane an element type is computed in, as a position in a table of kernels. */
enum {
    CEBUS_IN_F32,
    CEBUS_IN_F64,
    CEBUS_IN_I64,
    CEBUS_IN_COUNT
};

static inline int cebus_lane_number(cebus_dtype dtype)
{
    return dtype == CEBUS_F64 ? CEBUS_IN_F64
                              : (cebus_dtype_is_float(dtype) ? CEBUS_IN_F32 : CEBUS_IN_I64);
}

#endif
