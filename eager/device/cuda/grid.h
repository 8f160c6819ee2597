/**
 * grid.h: what the plug-in's own kernels are written in: a small part of CUDA that a C++ compiler
 * for the host understands too. With CEBUS_CUDA_HOST defined a launch is a loop over blocks, and
 * over the threads of each (grid_host.h), so that the arithmetic of the .cu files is
 * tested where there is no GPU.
 *
 * Rules that make it work, and make the bits a function of the launch alone:
 *  - A kernel takes one struct by value, and is right for any number of blocks and of threads in a
 *    block, a power of two below a warp or a multiple of one. Loops stride by the grid or the
 * block.
 *  - Threads of a block meet in cebus_sync() and the folds below alone, all of them together.
 *  - How many blocks, threads and slices there are follows from shapes and types, never from the
 *    processor or from time, wherever it decides the order of additions.
 */
#ifndef CEBUS_EAGER_DEVICE_CUDA_GRID_H
#define CEBUS_EAGER_DEVICE_CUDA_GRID_H

#include "eager/device/cuda/cuda.h"

#define CEBUS_WARP 32

#ifdef CEBUS_CUDA_HOST

#include "eager/device/cuda/grid_host.h"

#define CEBUS_DEVICE static inline
#define CEBUS_UNROLL
/** A loop of few rounds, of which the compiler would count and divide to unroll it. */
#define CEBUS_ROLL
#define CEBUS_KERNEL static void
/** T name[n], one for the block. */
#define CEBUS_SHARED(T, name, n) static __thread T name[n]

CEBUS_DEVICE int cebus_thread(void)
{
    return cebus_host_at.thread;
}
CEBUS_DEVICE int cebus_threads(void)
{
    return cebus_host_at.threads;
}
CEBUS_DEVICE int64_t cebus_block(void)
{
    return cebus_host_at.block;
}
CEBUS_DEVICE int64_t cebus_blocks(void)
{
    return cebus_host_at.blocks;
}
CEBUS_DEVICE void cebus_sync(void)
{
    cebus_host_sync();
}

template <bool across, class T> CEBUS_DEVICE T cebus_shuffle(T value, int by)
{
    T other;
    if (across)
        cebus_host_exchange(&value, &other, sizeof value, by);
    else
        cebus_host_shuffle(&value, &other, sizeof value, by);
    return other;
}

template <class P> static void cebus_host_call(const void *call)
{
    const cebus_host_kernel<P> *c = (const cebus_host_kernel<P> *)call;
    c->kernel(c->params);
}

/** Runs a kernel on the compute stream; with no blocks nothing. */
template <class P>
static inline void cebus_grid_run(const cebus_launch *launch, void (*kernel)(P), int64_t blocks,
                                  int threads, const P &params)
{
    (void)launch;
    const cebus_host_kernel<P> call = {kernel, params};
    cebus_host_run(cebus_host_call<P>, &call, blocks, threads);
}

/** Reports an index that is out of its range; the first report stands. */
CEBUS_DEVICE void cebus_grid_report(cebus_cuda_fault *fault, cebus_cuda_fault found)
{
    if (fault->op == 0)
        *fault = found;
}

#else

#define CEBUS_DEVICE static __device__ inline
#define CEBUS_UNROLL _Pragma("unroll")
#define CEBUS_ROLL _Pragma("unroll 1")
#define CEBUS_KERNEL static __global__ void
#define CEBUS_SHARED(T, name, n) __shared__ T name[n]

CEBUS_DEVICE int cebus_thread(void)
{
    return (int)threadIdx.x;
}
CEBUS_DEVICE int cebus_threads(void)
{
    return (int)blockDim.x;
}
CEBUS_DEVICE int64_t cebus_block(void)
{
    return blockIdx.x;
}
CEBUS_DEVICE int64_t cebus_blocks(void)
{
    return gridDim.x;
}
CEBUS_DEVICE void cebus_sync(void)
{
    __syncthreads();
}

/** Word by word, so that any struct of them can be moved. */
template <bool across, class T> CEBUS_DEVICE T cebus_shuffle(T value, int by)
{
    union {
        T all;
        uint32_t word[sizeof(T) / 4];
    } u;
    u.all = value;
    CEBUS_UNROLL
    for (size_t i = 0; i < sizeof(T) / 4; i++)
        u.word[i] = across ? __shfl_xor_sync(0xFFFFFFFF, u.word[i], by)
                           : __shfl_down_sync(0xFFFFFFFF, u.word[i], (unsigned)by);
    return u.all;
}

template <class P>
static inline void cebus_grid_run(const cebus_launch *launch, void (*kernel)(P), int64_t blocks,
                                  int threads, const P &params)
{
    if (blocks > 0)
        kernel<<<(unsigned)blocks, (unsigned)threads, 0, cebus_cuda_of(launch)->stream>>>(params);
}

CEBUS_DEVICE void cebus_grid_report(cebus_cuda_fault *fault, cebus_cuda_fault found)
{
    cebus_cuda_report(fault, found);
}

#endif

/** The value of the thread `delta` behind in this warp; one's own at its end. */
template <class T> CEBUS_DEVICE T cebus_shuffle_down(T value, int delta)
{
    return cebus_shuffle<false>(value, delta);
}

/** The value of the thread whose place in this warp differs in the bits of `mask`. */
template <class T> CEBUS_DEVICE T cebus_shuffle_across(T value, int mask)
{
    return cebus_shuffle<true>(value, mask);
}

/** This thread's first position in a loop of the whole grid, and the step to its next. */
CEBUS_DEVICE int64_t cebus_grid_first(void)
{
    return cebus_block() * cebus_threads() + cebus_thread();
}
CEBUS_DEVICE int64_t cebus_grid_step(void)
{
    return cebus_blocks() * cebus_threads();
}

/** Threads of a block where nothing depends on it. */
#define CEBUS_GRID_THREADS 256
/** Blocks at most: a few rounds of the largest processor. Loops stride over the rest. */
#define CEBUS_GRID_BLOCKS 4096

/** Blocks for `n` independent pieces of work, one thread each. */
static inline int64_t cebus_grid_blocks(int64_t n)
{
    int64_t blocks = (n + CEBUS_GRID_THREADS - 1) / CEBUS_GRID_THREADS;
    return blocks < CEBUS_GRID_BLOCKS ? blocks : CEBUS_GRID_BLOCKS;
}

/** Blocks for `n` pieces of work, one block each. */
static inline int64_t cebus_grid_teams(int64_t n)
{
    return n < 16 * CEBUS_GRID_BLOCKS ? n : 16 * CEBUS_GRID_BLOCKS;
}

/** Threads of a block that shares a row of `n` elements: a power of two, a warp at least. */
static inline int cebus_grid_team(int64_t n)
{
    int threads = CEBUS_WARP;
    while (threads < 512 && threads * (int64_t)8 < n)
        threads *= 2;
    return threads;
}

#define CEBUS_TEAM_WARPS 16

/**
 * Folds what each thread of the block holds by F::merge(into, later), always in the same tree, and
 * answers it to all. A is plain words; F names the purpose, so that no two share their memory.
 */
template <class F, class A> CEBUS_DEVICE A cebus_block_fold(A mine)
{
    CEBUS_SHARED(A, parts, CEBUS_TEAM_WARPS);
    int threads = cebus_threads(), width = threads < CEBUS_WARP ? threads : CEBUS_WARP;
    for (int delta = width / 2; delta > 0; delta /= 2)
        F::merge(&mine, cebus_shuffle_down(mine, delta));
    if (cebus_thread() % width == 0)
        parts[cebus_thread() / width] = mine;
    cebus_sync();
    A all = parts[0];
    for (int i = 1; i < threads / width; i++)
        F::merge(&all, parts[i]);
    cebus_sync();
    return all;
}

/**
 * Folds what the threads of each team hold, `lanes` of a warp side by side, a power of two, and
 * answers it to all of the team: for F::merge that gives the same bits either way around. All
 * threads of the block come here together.
 */
template <class F, class A> CEBUS_DEVICE A cebus_team_fold(A mine, int lanes)
{
    for (int mask = lanes / 2; mask > 0; mask /= 2)
        F::merge(&mine, cebus_shuffle_across(mine, mask));
    return mine;
}

/** A sum. */
struct cebus_adds {
    template <class T> CEBUS_DEVICE void merge(T *into, T later)
    {
        *into += later;
    }
};

/* Fine division of what is below 2^31 by a number that many threads share: q = n / d from the high
 * half of a product (T. Granlund, P. L. Montgomery, Division by Invariant Integers using
 * Multiplication, 1994). */
typedef struct cebus_divisor {
    uint32_t value, factor, shift;
} cebus_divisor;

static inline cebus_divisor cebus_divisor_of(uint32_t value)
{
    cebus_divisor d = {value, 0, 0};
    while (((uint64_t)1 << d.shift) < value)
        d.shift++;
    d.factor = (uint32_t)(((((uint64_t)1 << d.shift) - value) << 32) / value + 1);
    return d;
}

CEBUS_DEVICE uint32_t cebus_divide(uint32_t n, cebus_divisor d)
{
    uint32_t high = (uint32_t)(((uint64_t)n * d.factor) >> 32);
    return (uint32_t)(((uint64_t)high + n) >> d.shift);
}

#endif
