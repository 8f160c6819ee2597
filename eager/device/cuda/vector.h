/**
 * vector.h: elements of one type that is known when a kernel is compiled, 16 bytes of them at a
 * time. Where lane.h asks each pack for its type and whether it lies so, a kernel made of these
 * asks nothing between its loads, and has many of them on their way.
 */
#ifndef CEBUS_EAGER_DEVICE_CUDA_VECTOR_H
#define CEBUS_EAGER_DEVICE_CUDA_VECTOR_H

#include "eager/device/cuda/lane.h"

/** Elements of type D: what they are computed in, how many are 16 bytes. */
template <cebus_dtype D> struct cebus_vector;

#define CEBUS_DEFINE_VECTOR(T, type, S, loaded, stored)                                            \
    template <> struct cebus_vector<type> {                                                        \
        typedef T lane;                                                                            \
        enum {                                                                                     \
            length = sizeof(cebus_word) / sizeof(S)                                                \
        };                                                                                         \
        CEBUS_DEVICE T get(const char *data, int64_t at)                                           \
        {                                                                                          \
            S v = ((const S *)(const void *)data)[at];                                             \
            return loaded;                                                                         \
        }                                                                                          \
        CEBUS_DEVICE void set(char *data, int64_t at, T v)                                         \
        {                                                                                          \
            ((S *)(void *)data)[at] = stored;                                                      \
        }                                                                                          \
        CEBUS_DEVICE void read(T *to, const char *data, int64_t at)                                \
        {                                                                                          \
            S raw[length];                                                                         \
            const cebus_word found = *(const cebus_word *)(data + at * (int64_t)sizeof(S));        \
            memcpy(raw, &found, sizeof found);                                                     \
            CEBUS_UNROLL                                                                           \
            for (int i = 0; i < length; i++) {                                                     \
                S v = raw[i];                                                                      \
                to[i] = loaded;                                                                    \
            }                                                                                      \
        }                                                                                          \
        CEBUS_DEVICE void write(const T *from, char *data, int64_t at)                             \
        {                                                                                          \
            S raw[length];                                                                         \
            cebus_word made;                                                                       \
            CEBUS_UNROLL                                                                           \
            for (int i = 0; i < length; i++) {                                                     \
                auto v = from[i];                                                                  \
                raw[i] = stored;                                                                   \
            }                                                                                      \
            memcpy(&made, raw, sizeof made);                                                       \
            *(cebus_word *)(data + at * (int64_t)sizeof(S)) = made;                                \
        }                                                                                          \
    };
#define CEBUS_VECTOR_F32(type, S, loaded, stored)                                                  \
    CEBUS_DEFINE_VECTOR(float, type, S, loaded, stored)
#define CEBUS_VECTOR_F64(type, S, loaded, stored)                                                  \
    CEBUS_DEFINE_VECTOR(double, type, S, loaded, stored)
CEBUS_CELLS_F32(CEBUS_VECTOR_F32)
CEBUS_CELLS_F64(CEBUS_VECTOR_F64)

/** Whether an array begins at a multiple of 16 bytes. */
static inline bool cebus_vector_fits(cebus_cells cells)
{
    return (uintptr_t)cells.data % sizeof(cebus_word) == 0;
}

/** The floats that are computed in f32, as a position in a table of kernels; -1: another type. */
static inline int cebus_vector_number(cebus_dtype dtype)
{
    return dtype == CEBUS_F32 ? 0 : dtype == CEBUS_F16 ? 1 : dtype == CEBUS_BF16 ? 2 : -1;
}

#endif
