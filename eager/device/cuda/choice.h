/**
 * choice.h: which of the algorithms that a library proposes for a call is taken. A pure function
 * of the proposals, which libraries order by expected speed: never of time measured or of memory
 * free. Needs no CUDA.
 */
#ifndef CEBUS_EAGER_DEVICE_CUDA_CHOICE_H
#define CEBUS_EAGER_DEVICE_CUDA_CHOICE_H

#include <stdbool.h>
#include <stdint.h>

typedef struct cebus_cuda_proposal {
    bool runs;          /**< the library can run it on this device */
    bool deterministic; /**< the same bits each time */
    bool precise;       /**< computes in the precision that was asked for */
    uint64_t workspace;
} cebus_cuda_proposal;

/** The first that runs, is deterministic, precise and takes at most `bound` of workspace; where
 * all take more, the one of these that takes least. -1: none. */
int cebus_cuda_choose(const cebus_cuda_proposal *proposals, int n, uint64_t bound);

#endif
