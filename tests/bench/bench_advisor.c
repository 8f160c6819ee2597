/**
 * bench_advisor.c: how many plans a second one core compares, by what a comparison is made of, as a
 * Markdown table. CPU time of this process, so that other work on the machine does not count.
 *
 *     bench_advisor [CALLS]
 *
 * The program is one that trains: a chain of layers, each with a weight that is updated, in a third
 * of the memory that it needs (1000 calls unless told otherwise).
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "evict/advisor/breed.h"

enum {
    MIB = 1 << 20,
    SECONDS = 2, /**< for each figure */
};

static void fail(const char *what)
{
    fprintf(stderr, "bench_advisor: %s\n", what);
    exit(1);
}

static double seconds(void)
{
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static void *take(cebus_shelf *shelf, size_t count, size_t bytes)
{
    void *taken = cebus_shelf_take(shelf, count, bytes);
    if (taken == NULL)
        fail("no host memory");
    return taken;
}

/* ---- the program --------------------------------------------------------------------------- */

typedef struct building {
    cebus_advise_value *values;
    cebus_advise_call *calls;
    uint32_t *refs;
    cebus_advise_program program;
} building;

static uint32_t add_value(building *b, uint64_t bytes, bool persistent)
{
    b->values[b->program.n_values] = (cebus_advise_value){.bytes = bytes, .persistent = persistent};
    return (uint32_t)b->program.n_values++;
}

static void add_call(building *b, uint64_t cost, const uint32_t *refs, uint32_t n_in,
                     uint32_t n_out, uint32_t n_written)
{
    b->calls[b->program.n_calls++] = (cebus_advise_call){.cost_ns = cost,
                                                         .refs = b->program.n_refs,
                                                         .n_in = n_in,
                                                         .n_out = n_out,
                                                         .n_written = n_written,
                                                         .replayable = true};
    for (uint32_t i = 0; i < n_in + n_out; i++)
        b->refs[b->program.n_refs++] = refs[i];
}

static void build(building *b, uint32_t depth, cebus_shelf *shelf)
{
    uint32_t *x = take(shelf, depth + 1, sizeof *x), *w = take(shelf, depth, sizeof *w);
    b->values = take(shelf, 5 * depth + 2, sizeof *b->values);
    b->calls = take(shelf, 3 * depth + 1, sizeof *b->calls);
    b->refs = take(shelf, 11 * depth + 2, sizeof *b->refs);
    b->program = (cebus_advise_program){.values = b->values, .calls = b->calls, .refs = b->refs};
    for (uint32_t i = 0; i < depth; i++)
        w[i] = add_value(b, 2 * MIB, true);
    x[0] = add_value(b, 4 * MIB, false);
    b->values[x[0]].given = true;
    for (uint32_t i = 0; i < depth; i++) {
        x[i + 1] = add_value(b, 4 * MIB, false);
        add_call(b, 300000, (uint32_t[]){x[i], w[i], x[i + 1]}, 2, 1, 0);
    }
    uint32_t g = add_value(b, 4 * MIB, false);
    add_call(b, 50000, (uint32_t[]){x[depth], g}, 1, 1, 0);
    for (uint32_t i = depth; i-- > 0;) {
        const uint32_t dw = add_value(b, 2 * MIB, false), next = add_value(b, 4 * MIB, false);
        add_call(b, 600000, (uint32_t[]){g, x[i], w[i], next, dw}, 3, 2, 0);
        add_call(b, 50000, (uint32_t[]){w[i], dw, w[i]}, 2, 1, 1);
        g = next;
    }
}

/* ---- what is measured ---------------------------------------------------------------------- */

typedef struct ground {
    cebus_species species;
    cebus_breed breed;
    cebus_genome genomes[3]; /**< two that differ, and a child */
    cebus_link_terms link;
    uint64_t random;
} ground;

static void rehearse(ground *g)
{
    cebus_breed_bench *bench = &g->breed.benches[0];
    if (cebus_rehearsal_run(&bench->rehearsal, &bench->pools, &g->link, NULL) ==
        CEBUS_REHEARSAL_NEVER)
        fail("the plan came to a halt");
}

static void plan_and_rehearse(ground *g)
{
    cebus_breed_bench *bench = &g->breed.benches[0];
    if (!cebus_belady_plan(&bench->belady, &bench->pools, &g->genomes[0].settings, NULL))
        fail("nothing fits");
    rehearse(g);
}

static void try_again(ground *g)
{
    cebus_breed_bench_try(&g->breed.benches[0], &g->species, &g->link, &g->genomes[0], NULL);
}

static void breed(ground *g)
{
    cebus_breed_bench *bench = &g->breed.benches[0];
    cebus_genome_cross(&g->species, &bench->order, &g->genomes[0], &g->genomes[1], &g->random,
                       &g->genomes[2]);
    cebus_genome_mutate(&g->species, &bench->order, &g->random, bench->old, &g->genomes[2]);
    cebus_breed_bench_try(bench, &g->species, &g->link, &g->genomes[2], NULL);
}

static void measure(const char *what, size_t n_calls, void (*run)(ground *), ground *g)
{
    const double start = seconds();
    size_t n = 0;
    double passed;
    do {
        for (int i = 0; i < 16; i++)
            run(g);
        n += 16;
        passed = seconds() - start;
    } while (passed < SECONDS);
    printf("| %s | %.0f | %.1f |\n", what, (double)n / passed,
           passed * 1e9 / (double)n / (double)n_calls);
}

int main(int argc, char **argv)
{
    const unsigned long wanted = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000;
    cebus_shelf shelf;
    cebus_graph graph;
    building b = {0};
    uint32_t call;
    static ground g = {.link = {.out = 12, .in = 12, .both = 20, .latency_ns = 7000}, .random = 1};
    if (wanted < 16 || wanted > 100000)
        fail("calls: from 16 to 100000");
    cebus_shelf_init(&shelf, NULL);
    build(&b, (uint32_t)(wanted / 3), &shelf);
    const uint64_t need = (uint64_t)(wanted / 3) * 8 * MIB;
    if (cebus_graph_make(&b.program, &shelf, &graph, &call) != CEBUS_GRAPH_MADE ||
        !cebus_species_init(&g.species, &graph, need / 3, 12, &shelf) ||
        !cebus_breed_init(&g.breed, &g.species, 1, &shelf))
        fail("no search");
    for (size_t i = 0; i < 3; i++) {
        if (!cebus_genome_init(&g.genomes[i], &g.species, &shelf))
            fail("no host memory");
        cebus_order_prompt(&g.breed.benches[0].order, g.genomes[i].order);
        cebus_genome_set(&g.species, i == 1 ? g.species.n_cheap / 4 : 0, &g.genomes[i]);
    }
    printf("| a plan of %zu calls: what of it | plans a second | ns a call |\n|---|---:|---:|\n",
           graph.n_calls);
    try_again(&g);
    measure("times: three streams", graph.n_calls, rehearse, &g);
    measure("and what leaves when (Belady)", graph.n_calls, plan_and_rehearse, &g);
    measure("and the order's steps", graph.n_calls, try_again, &g);
    measure("and a child of two plans", graph.n_calls, breed, &g);
    cebus_shelf_clear(&shelf);
    return 0;
}
