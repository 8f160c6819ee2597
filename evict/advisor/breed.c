#include "evict/advisor/breed.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "evict/advisor/thrift.h"
#include "layout/thread.h"

enum {
    N = CEBUS_BREED_POPULATION,
    ELITE = 16,    /**< always among the next parents; as published: the best alone */
    ORDERS = 4,    /**< to start from */
    FRACTIONS = 9, /**< of what is cheap, remade to start with */
    MAX_THREADS = 64
};

static bool init_bench(cebus_breed_bench *bench, const cebus_species *species, cebus_shelf *shelf)
{
    const cebus_graph *graph = species->graph;
    const size_t n = graph->n_buffers, n_pools = species->pools ? species->n_sizes + 1 : 1;
    bench->pools.pool = cebus_shelf_take(shelf, n, sizeof *bench->pools.pool);
    bench->pools.units = cebus_shelf_take(shelf, n, sizeof *bench->pools.units);
    bench->pools.room = cebus_shelf_take(shelf, n_pools, sizeof *bench->pools.room);
    bench->old = cebus_shelf_take(shelf, graph->n_calls + 3 * n, sizeof *bench->old);
    return cebus_order_init(&bench->order, graph, shelf) &&
           cebus_unfold_init(&bench->unfold, graph, shelf) &&
           cebus_belady_init(&bench->belady, &bench->unfold, n_pools, shelf) &&
           cebus_rehearsal_init(&bench->rehearsal, &bench->belady, n_pools, shelf);
}

void cebus_breed_bench_try(cebus_breed_bench *bench, const cebus_species *species,
                           const cebus_link_terms *link, cebus_genome *genome,
                           const cebus_rehearsal_log *log)
{
    genome->time = CEBUS_REHEARSAL_NEVER;
    if (species->pools && !genome->fits)
        return;
    cebus_unfold_make(&bench->unfold, genome->order, species->pools ? NULL : genome->remakes);
    cebus_genome_pools(species, genome, &bench->pools);
    if (cebus_belady_plan(&bench->belady, &bench->pools, &genome->settings,
                          genome->is_streaming ? genome->streams : NULL))
        genome->time = cebus_rehearsal_run(&bench->rehearsal, &bench->pools, link, log);
}

bool cebus_breed_init(cebus_breed *breed, const cebus_species *species, unsigned threads,
                      cebus_shelf *shelf)
{
    const unsigned n = threads == 0 ? 1 : threads > MAX_THREADS ? MAX_THREADS : threads;
    *breed = (cebus_breed){.species = species, .n_benches = n};
    breed->genomes = cebus_shelf_take(shelf, 2 * N, sizeof *breed->genomes);
    breed->weights = cebus_shelf_take(shelf, 2 * N, sizeof *breed->weights);
    breed->benches = cebus_shelf_take(shelf, n, sizeof *breed->benches);
    if (shelf->failed)
        return false;
    for (size_t i = 0; i < 2 * N; i++)
        cebus_genome_init(&breed->genomes[i], species, shelf);
    for (unsigned i = 0; i < n; i++)
        init_bench(&breed->benches[i], species, shelf);
    return !shelf->failed;
}

/* --- a generation, by several threads ------------------------------------------------------- */

typedef struct shift {
    cebus_breed *breed;
    const cebus_breed_terms *terms;
    const uint32_t *parents; /**< two for each child; NULL: the first generation */
    pthread_t thread;
    unsigned number;
    bool again; /**< only time the parents anew */
    bool is_started;
} shift;

static uint64_t state_of(const cebus_breed *breed, const cebus_breed_terms *terms, size_t i)
{
    uint64_t random = terms->seed * UINT64_C(0xd1342543de82ef95) + breed->generation;
    random = cebus_order_draw(&random, UINT64_MAX);
    random += i * UINT64_C(0x9e3779b97f4a7c15);
    return cebus_order_draw(&random, UINT64_MAX);
}

/** Which of the orders to start from, by number: the program's alone, if that is fixed. */
static void start_order(cebus_breed *breed, cebus_breed_bench *bench, size_t i, uint32_t *out)
{
    const cebus_species *species = breed->species;
    if (species->fix_order || i % ORDERS == 0)
        cebus_order_program(species->graph, out);
    else if (i % ORDERS == 1)
        cebus_order_prompt(&bench->order, out);
    else if (i % ORDERS == 3)
        cebus_thrift_order(&bench->order, species->memory / 512,
                           species->memory / (2 + i / ORDERS % 3), bench->old, out);
    else
        cebus_order_layers(&bench->order, species->memory / 512, bench->old, out);
}

/** Genome number i of the first generation: an order, a fraction, and beyond those changes. */
static void make_first(cebus_breed *breed, cebus_breed_bench *bench, size_t i, uint64_t *random)
{
    const cebus_species *species = breed->species;
    cebus_genome *genome = &breed->genomes[N + i];
    const size_t fraction = i / ORDERS % FRACTIONS;
    start_order(breed, bench, i, genome->order);
    cebus_genome_set(species, species->n_cheap * fraction / (FRACTIONS - 1), genome);
    if (i >= ORDERS * FRACTIONS && !species->pools)
        cebus_genome_stream(species, random, bench->old, genome);
    for (size_t k = 1; k < i / (size_t)(ORDERS * FRACTIONS); k++)
        cebus_genome_mutate(species, &bench->order, random, bench->old, genome);
}

static void make_child(const shift *s, cebus_breed_bench *bench, size_t i, uint64_t *random)
{
    cebus_breed *breed = s->breed;
    const cebus_genome *a = &breed->genomes[s->parents[2 * i]];
    const cebus_genome *b = &breed->genomes[s->parents[2 * i + 1]];
    cebus_genome *child = &breed->genomes[N + i];
    if (cebus_order_draw(random, 100) < 70)
        cebus_genome_cross(breed->species, &bench->order, a, b, random, child);
    else
        cebus_genome_copy(breed->species, a, child);
    cebus_genome_mutate(breed->species, &bench->order, random, bench->old, child);
}

static void *work(void *context)
{
    const shift *s = context;
    cebus_breed *breed = s->breed;
    cebus_breed_bench *bench = &breed->benches[s->number];
    for (size_t i = s->number; i < N; i += breed->n_benches) {
        if (s->again) {
            cebus_breed_bench_try(bench, breed->species, &s->terms->link, &breed->genomes[i], NULL);
            continue;
        }
        uint64_t random = state_of(breed, s->terms, i);
        if (s->parents == NULL)
            make_first(breed, bench, i, &random);
        else
            make_child(s, bench, i, &random);
        cebus_breed_bench_try(bench, breed->species, &s->terms->link, &breed->genomes[N + i], NULL);
    }
    return NULL;
}

/** A thread that cannot be started: its part is done here. */
static void run_shifts(cebus_breed *breed, const cebus_breed_terms *terms, const uint32_t *parents,
                       bool again)
{
    shift shifts[MAX_THREADS];
    for (unsigned i = 0; i < breed->n_benches; i++) {
        shifts[i] = (shift){
            .breed = breed, .terms = terms, .number = i, .parents = parents, .again = again};
        shifts[i].is_started = i > 0 && cebus_thread_start(&shifts[i].thread, work, &shifts[i]);
    }
    for (unsigned i = 0; i < breed->n_benches; i++) {
        if (!shifts[i].is_started)
            work(&shifts[i]);
    }
    for (unsigned i = 0; i < breed->n_benches; i++) {
        if (shifts[i].is_started)
            pthread_join(shifts[i].thread, NULL);
    }
    breed->plans += N;
}

/* --- who goes on ---------------------------------------------------------------------------- */

static int compare_times(const void *a, const void *b)
{
    const uint64_t x = ((const cebus_genome *)a)->time, y = ((const cebus_genome *)b)->time;
    return (x > y) - (x < y);
}

/** Best first. Insertion: equal times keep their order on every machine. */
static void sort_genomes(cebus_genome *genomes, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        const cebus_genome genome = genomes[i];
        size_t k = i;
        for (; k > 0 && compare_times(&genomes[k - 1], &genome) > 0; k--)
            genomes[k] = genomes[k - 1];
        genomes[k] = genome;
    }
}

/** Softmax over how much slower than the best each is. */
static void set_weights(cebus_breed *breed, size_t n)
{
    const double best = (double)breed->genomes[0].time;
    const double sharpness = breed->species->pools ? 1 : 50;
    for (size_t i = 0; i < n; i++) {
        const uint64_t time = breed->genomes[i].time;
        breed->weights[i] =
            time == CEBUS_REHEARSAL_NEVER ? 1e-9 : exp(sharpness * (best - (double)time) / best);
    }
}

static uint32_t pick(const cebus_breed *breed, size_t n, uint64_t *random)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += breed->weights[i];
    double at = (double)cebus_order_draw(random, UINT64_C(1) << 53) * 0x1p-53 * sum;
    for (size_t i = 0; i < n; i++) {
        at -= breed->weights[i];
        if (at < 0)
            return (uint32_t)i;
    }
    return 0;
}

/** Of parents and children, the best come first; the other places are drawn. */
static void survive(cebus_breed *breed, uint64_t *random)
{
    const size_t elite = breed->species->pools ? 1 : ELITE;
    sort_genomes(breed->genomes, 2 * N);
    set_weights(breed, 2 * N);
    memset(breed->weights, 0, elite * sizeof *breed->weights);
    for (size_t i = elite; i < N; i++) {
        const size_t drawn = pick(breed, 2 * N, random);
        const size_t at = drawn >= i ? drawn : i;
        const cebus_genome genome = breed->genomes[at];
        breed->genomes[at] = breed->genomes[i];
        breed->genomes[i] = genome;
        breed->weights[at] = breed->weights[i];
        breed->weights[i] = 0;
    }
    sort_genomes(breed->genomes, N);
}

cebus_genome *cebus_breed_run(cebus_breed *breed, const cebus_breed_terms *terms)
{
    uint32_t parents[2 * N];
    breed->generation = 0;
    breed->plans = 0;
    for (size_t i = 0; i < N; i++) { /* there are no parents yet, but all genomes are orders */
        cebus_order_program(breed->species->graph, breed->genomes[i].order);
        cebus_genome_set(breed->species, 0, &breed->genomes[i]);
        breed->genomes[i].time = CEBUS_REHEARSAL_NEVER;
    }
    run_shifts(breed, terms, NULL, false);
    for (;;) {
        uint64_t random = state_of(breed, terms, 2 * N);
        bool changed = false;
        survive(breed, &random);
        if (terms->judge != NULL &&
            !terms->judge(terms->context, &breed->genomes[0], breed->generation, &changed))
            break;
        if (changed) {
            run_shifts(breed, terms, NULL, true);
            sort_genomes(breed->genomes, N);
        }
        if (breed->generation >= terms->generations)
            break;
        breed->generation++;
        set_weights(breed, N);
        for (size_t i = 0; i < 2 * N; i++)
            parents[i] = pick(breed, N, &random);
        run_shifts(breed, terms, parents, false);
    }
    return &breed->genomes[0];
}
