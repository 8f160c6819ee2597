/**
 * random.h: random numbers for data on the host, the same in every run. What the model draws
 * (parameters, dropout) comes from the runtime.
 */
#ifndef RANDOM_H
#define RANDOM_H

#include <stdint.h>

/** Some sequence of numbers. */
struct random {
    uint64_t state;
};

/** SplitMix64 (Steele, Lea and Flood, OOPSLA 2014): the mixed next point of a Weyl sequence. */
static inline uint64_t random_bits(struct random *random)
{
    uint64_t z = random->state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/** Sequence number `index` of those that belong to `seed`. */
static inline struct random random_stream(uint64_t seed, uint64_t index)
{
    struct random start = {seed};
    struct random stream = {random_bits(&start) ^ index};
    stream.state = random_bits(&stream);
    return stream;
}

/** The next number, in [0, 1). */
static inline double random_next(struct random *random)
{
    return (double)(random_bits(random) >> 11) * 0x1p-53;
}

#endif
