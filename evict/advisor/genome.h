/**
 * genome.h: one of the plans a search compares, as its genes: an order of the calls (SCH), a size
 * class for each tensor size (CLS) and the number of objects of each class (CNT), as published; or,
 * instead of classes and counts, what is made again rather than copied, what does not stay from one
 * iteration to the next, and how eagerly things leave and come.
 *
 * What CLS and CNT are here: the distinct sizes of buffers, ascending, are numbered; class of size
 * i is cls[i], not above that of the next; a class has objects of the largest size in it.
 *
 * Source: SwapAdvisor, sections 4.1 and 5.
 */
#ifndef CEBUS_EVICT_ADVISOR_GENOME_H
#define CEBUS_EVICT_ADVISOR_GENOME_H

#include "evict/advisor/belady.h"
#include "evict/advisor/order.h"
#include "evict/advisor/stream.h"

/** What all genomes of a search have in common. */
typedef struct cebus_species {
    const cebus_graph *graph;
    uint64_t memory;   /**< of the device */
    uint64_t reserve;  /**< of it: what is always there, too small to move */
    uint64_t least;    /**< bytes below which a buffer is too small to move */
    uint64_t *sizes;   /**< distinct sizes of the others, ascending */
    uint32_t *size_of; /**< by buffer: an index; NONE: too small */
    size_t n_sizes;
    uint32_t
        *cheap; /**< buffers that may be remade, those that give most room for their time first */
    size_t n_cheap;
    uint32_t *lasting; /**< buffers that are persistent and not too small */
    size_t n_lasting;
    uint64_t least_streamed; /**< bytes from which these may be streamed */
    bool fix_order;          /**< the order is the program's */
    bool pools;              /**< CLS and CNT, as published; nothing is remade */
} cebus_species;

typedef struct cebus_genome {
    uint32_t *order;
    uint8_t *remakes;  /**< by buffer */
    uint8_t *streams;  /**< by buffer: it does not stay over */
    bool is_streaming; /**< they count; else Belady finds who stays */
    uint32_t *classes; /**< by size */
    uint32_t *counts;  /**< by class */
    uint32_t *floors;  /**< by class, then as much scratch */
    bool fits;         /**< the counts are enough for every call, and fit the memory */
    cebus_belady_settings settings;
    uint64_t time; /**< of an iteration; CEBUS_REHEARSAL_NEVER: it does not fit */
} cebus_genome;

/** Sizes, what is small, what is cheap. link: bytes a ns. False without host memory. */
bool cebus_species_init(cebus_species *species, const cebus_graph *graph, uint64_t memory,
                        double link, cebus_shelf *shelf);

/** What is persistent and has fewer bytes is not streamed: its copy would be all latency. Unless
 * that took too much of the memory. */
void cebus_species_keep_small(cebus_species *species, uint64_t bytes);

/** Takes a genome's memory; false without. */
bool cebus_genome_init(cebus_genome *genome, const cebus_species *species, cebus_shelf *shelf);
void cebus_genome_copy(const cebus_species *species, const cebus_genome *from, cebus_genome *to);

/** Everything but the order: a class for each size and counts in proportion to how many buffers
 * live at once at most; of what is cheap, the first `remade` are made again. */
void cebus_genome_set(const cebus_species *species, size_t remade, cebus_genome *genome);
/** What stays over is chosen beforehand, by any terms (stream.h); `old` has room for each buffer.
 */
void cebus_genome_stream(const cebus_species *species, uint64_t *random, uint32_t *old,
                         cebus_genome *genome);
/** One genome of two. */
void cebus_genome_cross(const cebus_species *species, cebus_order *order, const cebus_genome *a,
                        const cebus_genome *b, uint64_t *random, cebus_genome *out);
/** Changes a genome, each of its genes with some probability; `old` has room for an order and each
 * buffer.
 */
void cebus_genome_mutate(const cebus_species *species, cebus_order *order, uint64_t *random,
                         uint32_t *old, cebus_genome *genome);
/** The pools a genome means. Arrays of `out` have room, and it was zeros at first: what it has of
 * another genome of the species stands. */
void cebus_genome_pools(const cebus_species *species, const cebus_genome *genome, cebus_pools *out);

#endif
