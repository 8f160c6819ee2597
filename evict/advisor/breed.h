/**
 * breed.h: the genetic search. A population of genomes, parents chosen by a softmax over how much
 * slower each is than the best, children crossed and changed, and so on until time or generations
 * are over. The best is never lost.
 *
 * Deterministic: every child has a random state of its own, made of seed, generation and number,
 * so the same seed finds the same genome with any number of threads.
 *
 * Source: SwapAdvisor, section 5: population 144, softmax over (best - t) / best. Liberties: orders
 * to start from that are not random; the search of all genes selects more sharply.
 */
#ifndef CEBUS_EVICT_ADVISOR_BREED_H
#define CEBUS_EVICT_ADVISOR_BREED_H

#include "evict/advisor/genome.h"
#include "evict/advisor/rehearsal.h"

#define CEBUS_BREED_POPULATION 144

/** What a thread needs to tell how good a genome is. */
typedef struct cebus_breed_bench {
    cebus_order order;
    cebus_unfold unfold;
    cebus_belady belady;
    cebus_rehearsal rehearsal;
    cebus_pools pools;
    uint32_t *old;
} cebus_breed_bench;

typedef struct cebus_breed_terms {
    cebus_link_terms link;
    uint64_t seed;
    uint64_t generations; /**< at most */
    unsigned threads;     /**< 0 means 1 */
    /** Asked after each generation, the first one included; false ends the search. The best genome
     * may be looked at, with the first bench. True in *out_changed: the species' memory did, so all
     * genomes are timed anew. NULL: go on. */
    bool (*judge)(void *context, const cebus_genome *best, uint64_t generation, bool *out_changed);
    void *context;
} cebus_breed_terms;

typedef struct cebus_breed {
    const cebus_species *species;
    cebus_genome *genomes; /**< twice the population: parents, then children */
    double *weights;
    cebus_breed_bench *benches;
    unsigned n_benches;
    uint64_t plans; /**< compared so far */
    uint64_t generation;
} cebus_breed;

/** Fills in a genome's time: what a plan by its genes takes. The bench holds that plan then. */
void cebus_breed_bench_try(cebus_breed_bench *bench, const cebus_species *species,
                           const cebus_link_terms *link, cebus_genome *genome,
                           const cebus_rehearsal_log *log);

/** False without host memory. */
bool cebus_breed_init(cebus_breed *breed, const cebus_species *species, unsigned threads,
                      cebus_shelf *shelf);
/** Searches; the answer is the best genome, borrowed. Its time is NEVER if nothing fitted. */
cebus_genome *cebus_breed_run(cebus_breed *breed, const cebus_breed_terms *terms);

#endif
