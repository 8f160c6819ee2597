/**
 * reference.h: the iterations a program was seen to do, so that each is known when it is done
 * again: some hundred records (iteration.h), those not used for longest giving way to new ones.
 *
 * Programs do more than one thing: a discriminator and a generator in turns, training and
 * evaluation, sequences of many lengths. Each is a record of its own. Values are numbered in the
 * order of their naming, so two records that begin alike number what they share alike: where the
 * program leaves one, it can go on in the other, and all values keep their numbers
 * (cebus_iteration_call.prefix tells in O(1) whether two begin alike).
 *
 *     conv relu conv relu loss ...        prefixes equal up to here
 *     conv relu conv relu | tanh ...
 */
#ifndef CEBUS_LINEAGE_REFERENCE_H
#define CEBUS_LINEAGE_REFERENCE_H

#include "lineage/iteration.h"

/** Records that are remembered at most, and their bytes; one is remembered whatever its size. */
#define CEBUS_REFERENCES 256
#define CEBUS_REFERENCES_BYTES (UINT64_C(1) << 26)
/** One that was followed to its end stays for so many iterations longer than one that was not. */
#define CEBUS_REFERENCES_TRUST (4 * CEBUS_REFERENCES)

/** No place of the set. */
#define CEBUS_REFERENCE_NONE UINT32_MAX

typedef struct cebus_reference {
    cebus_iteration iteration; /**< sealed; no calls: the place is empty */
    uint64_t made;             /**< a number of its own: tells it from what was here before */
    uint64_t used;             /**< the higher, the later it was followed or made */
    uint32_t next;             /**< the place of what came after it last time; NONE: not known */
    bool confirmed;            /**< it was followed to its end */
    bool writes; /**< it ends by writing parameters; otherwise because it began again */
} cebus_reference;

typedef struct cebus_reference_set {
    cebus_pool *pool; /**< borrowed */
    cebus_reference at[CEBUS_REFERENCES];
    uint64_t clock;
    uint64_t bytes; /**< of all of them */
    uint32_t count;
    uint32_t end; /**< places from here on have never been taken */
} cebus_reference_set;

void cebus_reference_init(cebus_reference_set *set, cebus_pool *pool);
void cebus_reference_deinit(cebus_reference_set *set);

/** What tells an iteration from all others: the prefix of its last call. */
static inline uint64_t cebus_reference_signature(const cebus_iteration *iteration)
{
    return iteration->n_calls > 0 ? iteration->calls[iteration->n_calls - 1].prefix : 0;
}

/** Takes a sealed record over and leaves an empty one; answers its place. It takes the place of one
 * with its signature, else an empty one, else that of what was used longest ago: what never
 * repeated itself goes before what did, unless that did not come again for long. */
uint32_t cebus_reference_admit(cebus_reference_set *set, cebus_iteration *iteration, bool writes);

/** It was used just now. */
void cebus_reference_touch(cebus_reference_set *set, uint32_t place);

#endif
