/**
 * clones.h: how inner loops reach wide vectors in a library that is compiled for any x86-64.
 *
 * CEBUS_CLONES before a function compiles it for AVX-512, AVX2 and the baseline; the loader
 * picks one. The clones give the same bits: nothing is contracted or reassociated
 * (-ffp-contract=off, no fast-math), vectors only do several elements at once. Left out where it
 * would not link: ThreadSanitizer (its runtime is not up when the loader asks), clang (its
 * resolvers are global symbols, so that equal static names of two files collide).
 *
 * CEBUS_IVDEP before a loop promises that no iteration reads what another one writes (arrays are
 * either the very same or apart), so that in-place loops vectorize too. clang has no pragma that
 * says so without demanding that the loop be vectorized.
 */
#ifndef CEBUS_LAYOUT_CLONES_H
#define CEBUS_LAYOUT_CLONES_H

#include <stdint.h> /* says whether this is glibc: only its loader picks clones */

#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__) &&       \
    __GNUC__ >= 12 && !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
#define CEBUS_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define CEBUS_CLONES
#endif

/* A part of such a function: it must be in each clone to become its vectors, and a call would hand
 * wide ones over in memory. */
#define CEBUS_CLONE_PART static inline __attribute__((always_inline))

#if defined(__GNUC__) && !defined(__clang__)
#define CEBUS_IVDEP _Pragma("GCC ivdep")
#else
#define CEBUS_IVDEP
#endif

#endif
