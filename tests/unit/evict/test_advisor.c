/*
 * The advisor: graphs, searches, plans. Every plan is run on paper by the checker
 * (cebus_advice_check), which is itself held to catch plans that were spoilt.
 */
#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>

#include <cebus/advise.h>

#include "evict/advisor/breed.h"
#include "evict/advisor/thrift.h"
#include "tests/support/host.h"
#include "tests/unit/evict/asking.h"

static void expect_bad(const network *n, const cebus_advice *plan, const char *wanted)
{
    char why[256];
    uint64_t ns;
    cr_expect_eq(cebus_advice_check(&n->program, &link_10, plan, why, sizeof why, &ns),
                 CEBUS_INVALID_ARGUMENT, "%s was not seen", wanted);
    cr_expect_neq(strstr(why, wanted), NULL, "\"%s\" instead of \"%s\"", why, wanted);
}

/** With all the memory an iteration takes what its calls do. */
Test(advisor, room_for_all)
{
    network n;
    make_network(&n, 8, 1000000, 1000000);
    cebus_advise_options options = options_for(100000000, 2);
    cebus_advice *plan = ask(&n, &options);
    expect_good(&n, plan);
    cr_expect_eq(plan->ideal_ns, 8 * 1000000 + 1000000 + 8 * (2000000 + 250000));
    cr_expect_leq(plan->time_ns, plan->ideal_ns + 8 * 500000 / 10 + 200000);
    cebus_advice_destroy(plan);
}

/** What a call reads and what it makes lie apart, also where it takes no time. */
Test(advisor, calls_that_take_no_time)
{
    static network n;
    state = 5;
    for (int round = 0; round < 10; round++) {
        make_random(&n, 20);
        for (uint32_t k = 0; k < n.program.n_calls; k += 1 + draw(4))
            n.calls[k].cost_ns = 0;
        cebus_advise_options options = options_for(1000000000, 2);
        cebus_advice *plan = ask(&n, &options);
        expect_good(&n, plan);
        cebus_advice_destroy(plan);
    }
}

/** In a third of what it needs things leave and come back; it still takes little longer. */
Test(advisor, short_of_room)
{
    network n;
    make_network(&n, 16, 1000000, 200000);
    cebus_advise_options options = options_for(8000000, 20);
    cebus_advice *plan = ask(&n, &options);
    expect_good(&n, plan);
    cr_expect_gt(plan->n_copies, 0);
    cr_expect_leq(plan->time_ns, 2 * plan->ideal_ns);
    cebus_advice_destroy(plan);
}

/** Layers that are run, not trained: weights are all there is, and they do not fit. */
static void make_inference(network *n, uint32_t depth, uint64_t bytes, uint64_t cost)
{
    begin(n);
    uint32_t x = add_value(n, bytes / 8, false);
    n->values[x].given = true;
    for (uint32_t i = 0; i < depth; i++) {
        const uint32_t w = add_value(n, bytes, true), y = add_value(n, bytes / 8, false);
        add_ref(n, x);
        add_ref(n, w);
        add_ref(n, y);
        add_call(n, cost, 2, 1, 0);
        x = y;
    }
    n->values[x].kept = true;
}

/** But for two weights on their way what fits stays; the rest comes while calls run: no longer than
 * either takes, and a copy or two. */
Test(advisor, weights_come_while_calls_run)
{
    network n;
    const uint64_t bytes = 1000000, copy = bytes / 10 + 10;
    for (uint64_t room = 6; room <= 30; room += 6) {
        for (uint64_t cost = copy / 8; cost <= copy; cost *= 3) {
            make_inference(&n, 32, bytes, cost);
            cebus_advise_options options = options_for(room * 1001024, 20);
            cebus_advice *plan = ask(&n, &options);
            expect_good(&n, plan);
            const uint64_t streamed = (34 - room) * copy, run = 32 * cost;
            const uint64_t least = streamed > run ? streamed : run;
            cr_expect_leq(plan->time_ns, least + 2 * copy + cost,
                          "room for %zu, calls of %zu ns: %zu, not %zu", (size_t)room, (size_t)cost,
                          (size_t)plan->time_ns, (size_t)least);
            cebus_advice_destroy(plan);
        }
    }
}

/** No more stays than may; what does not is spread over the calls. */
Test(advisor, streams_are_spread)
{
    network n;
    cebus_shelf shelf;
    cebus_graph graph;
    uint32_t call, order[MAX_CALLS];
    uint8_t seen[MAX_VALUES], streams[MAX_VALUES];
    make_inference(&n, 64, 1000000, 50000);
    cebus_shelf_init(&shelf, NULL);
    cr_assert_eq(cebus_graph_make(&n.program, &shelf, &graph, &call), CEBUS_GRAPH_MADE);
    cebus_order_program(&graph, order);
    for (uint64_t stay = 0; stay <= 64; stay += 4) {
        const cebus_stream_terms terms = {
            .stay = stay * 1000000, .large = 500000, .lag = UINT64_MAX};
        uint64_t n_streams = 0;
        cebus_stream_choose(&graph, order, &terms, seen, streams);
        for (size_t k = 0; k < 64; k++) { /* by layer: its weight is the call's second buffer */
            uint32_t weight = graph.refs[graph.calls[k].ref].buffer;
            if (!graph.buffers[weight].persistent)
                weight = graph.refs[graph.calls[k].ref + 1].buffer;
            cr_assert(graph.buffers[weight].persistent);
            n_streams += streams[weight];
            cr_expect_leq((64 - stay) * k / 64, n_streams + 1);
            cr_expect_leq(n_streams, (64 - stay) * (k + 1) / 64 + 1);
        }
        cr_expect_eq(n_streams, 64 - stay);
    }
    cebus_shelf_clear(&shelf);
}

/** What is too small to be worth a copy stays, unless there is too much of it. */
Test(advisor, small_weights_are_not_streamed)
{
    network n;
    cebus_shelf shelf;
    cebus_graph graph;
    cebus_species species;
    uint32_t call;
    size_t n_small = 0, n_weights = 0;
    make_inference(&n, 64, 1000000, 50000);
    for (size_t i = 0; i < n.program.n_values; i++) {
        if (n.values[i].persistent && n_weights++ % 4 == 0) {
            n.values[i].bytes = 20000;
            n_small++;
        }
    }
    cr_assert(n_small == 16 && n_weights == 64);
    cebus_shelf_init(&shelf, NULL);
    cr_assert_eq(cebus_graph_make(&n.program, &shelf, &graph, &call), CEBUS_GRAPH_MADE);
    cr_assert(cebus_species_init(&species, &graph, 40000000, 10, &shelf));
    cr_assert_eq(species.n_lasting, 64);
    cebus_species_keep_small(&species, 2000000);
    cr_expect_eq(species.n_lasting, 64, "all of them would not fit");
    cebus_species_keep_small(&species, 35000);
    cr_expect_eq(species.n_lasting, 64 - n_small);
    for (size_t i = 0; i < species.n_lasting; i++)
        cr_expect_eq(graph.buffers[species.lasting[i]].bytes, 1000000);
    cebus_shelf_clear(&shelf);
}

Test(advisor, program_order_is_kept)
{
    network n;
    make_network(&n, 12, 1000000, 200000);
    cebus_advise_options options = options_for(8000000, 10);
    options.fix_order = true;
    cebus_advice *plan = ask(&n, &options);
    uint32_t next = 0;
    expect_good(&n, plan);
    for (size_t k = 0; k < plan->n_steps; k++) {
        if (!plan->steps[k].again)
            cr_expect_eq(plan->steps[k].call, next++);
    }
    cr_expect_eq(next, n.program.n_calls);
    cebus_advice_destroy(plan);
}

Test(advisor, pools_as_published)
{
    network n;
    make_network(&n, 16, 1000000, 200000);
    cebus_advise_options options = options_for(9000000, 10);
    options.published = true;
    cebus_advice *plan = ask(&n, &options);
    expect_good(&n, plan);
    for (size_t k = 0; k < plan->n_steps; k++)
        cr_expect_not(plan->steps[k].again);
    cebus_advice_destroy(plan);
}

Test(advisor, random_programs)
{
    static network n;
    size_t planned = 0;
    state = 7;
    for (int round = 0; round < 60; round++) {
        make_random(&n, 20 + draw(100));
        cebus_advise_options options = options_for(30000000 + (uint64_t)draw(8) * 12000000, 3);
        options.fix_order = draw(3) == 0;
        options.published = draw(3) == 0;
        options.seed = (uint64_t)round;
        cebus_advise_result result;
        cebus_advice *plan;
        cr_assert_eq(cebus_advise(&n.program, &options, &result, &plan), CEBUS_OK, "%s",
                     result.why);
        planned += plan != NULL;
        if (plan != NULL)
            expect_good(&n, plan);
        cebus_advice_destroy(plan);
    }
    cr_expect_gt(planned, 40, "%zu of 60 were planned", planned);
}

static bool same(const cebus_advice *a, const cebus_advice *b)
{
    if (a->time_ns != b->time_ns || a->n_steps != b->n_steps || a->n_copies != b->n_copies ||
        a->n_blocks != b->n_blocks)
        return false;
    for (size_t i = 0; i < a->n_blocks; i++) {
        if (a->blocks[i].offset != b->blocks[i].offset || a->blocks[i].value != b->blocks[i].value)
            return false;
    }
    for (size_t i = 0; i < a->n_steps; i++) {
        if (a->steps[i].call != b->steps[i].call)
            return false;
    }
    return true;
}

Test(advisor, same_with_any_number_of_threads)
{
    network n;
    make_network(&n, 16, 1000000, 100000);
    cebus_advise_options options = options_for(7000000, 12);
    options.seed = 3;
    options.threads = 1;
    cebus_advice *one = ask(&n, &options);
    for (unsigned threads = 2; threads <= 5; threads++) {
        options.threads = threads;
        cebus_advice *many = ask(&n, &options);
        cr_expect(same(one, many), "with %u threads", threads);
        cebus_advice_destroy(many);
    }
    cebus_advice_destroy(one);
}

Test(advisor, spoilt_plans_are_seen)
{
    network n;
    make_network(&n, 12, 1000000, 200000);
    cebus_advise_options options = options_for(8000000, 4);
    cebus_advice *plan = ask(&n, &options);
    expect_good(&n, plan);
    const cebus_advice good = *plan;
    const cebus_advice_step step = plan->steps[2];
    plan->steps[2] = plan->steps[3];
    plan->steps[3] = step;
    expect_bad(&n, plan, "step");
    plan->steps[3] = plan->steps[2];
    plan->steps[2] = step;
    plan->n_steps--;
    expect_bad(&n, plan, "");
    *plan = good;
    for (size_t i = 0; i < plan->n_blocks; i++) {
        const uint64_t offset = plan->blocks[i].offset;
        plan->blocks[i].offset = plan->memory;
        expect_bad(&n, plan, "ends above the memory");
        plan->blocks[i].offset = offset;
    }
    size_t in = 0;
    while (!plan->copies[in].in)
        in++;
    const cebus_advice_copy copy = plan->copies[in];
    plan->copies[in].value = 5000;
    expect_bad(&n, plan, "that there is not");
    plan->copies[in] = copy;
    plan->blocks[0].bytes = 1;
    expect_bad(&n, plan, "too small");
    *plan = good;
    cebus_advice_destroy(plan);
}

/** Two calls that know nothing of each other may change places, unless both keep a state. */
Test(advisor, stateful_calls_out_of_turn_are_seen)
{
    static network n;
    begin(&n);
    for (uint32_t k = 0; k < 2; k++) {
        add_ref(&n, add_value(&n, 1000000, false));
        n.values[k].kept = true;
        add_call(&n, 1000000, 0, 1, 0);
    }
    cebus_advise_options options = options_for(8000000, 1);
    options.fix_order = true;
    cebus_advice *plan = ask(&n, &options);
    cr_assert_eq(plan->n_steps, 2);
    for (size_t k = 0; k < 2; k++)
        plan->steps[k].call = !plan->steps[k].call;
    for (size_t i = 0; i < plan->n_blocks; i++)
        plan->blocks[i].value = !plan->blocks[i].value;
    for (size_t i = 0; i < plan->n_copies; i++)
        plan->copies[i].value = !plan->copies[i].value;
    expect_good(&n, plan);
    n.calls[0].stateful = true;
    expect_good(&n, plan);
    n.calls[1].stateful = true;
    expect_bad(&n, plan, "runs before call 0");
    cebus_advice_destroy(plan);
}

/** All blocks at 0: something must overlap, or wait for ever. */
Test(advisor, overlaps_are_seen)
{
    network n;
    char why[256];
    uint64_t ns;
    make_network(&n, 6, 1000000, 200000);
    cebus_advise_options options = options_for(8000000, 0);
    cebus_advice *plan = ask(&n, &options);
    for (size_t i = 0; i < plan->n_blocks; i++)
        plan->blocks[i].offset = 0;
    cr_expect_eq(cebus_advice_check(&n.program, &link_10, plan, why, sizeof why, &ns),
                 CEBUS_INVALID_ARGUMENT);
    cebus_advice_destroy(plan);
}

static void expect_verdict(const network *n, const cebus_advise_options *options,
                           cebus_advise_verdict wanted)
{
    cebus_advise_result result;
    cebus_advice *plan;
    const bool invalid = wanted != CEBUS_ADVISE_NO_ROOM && wanted != CEBUS_ADVISE_NO_PLAN;
    cr_expect_eq(cebus_advise(&n->program, options, &result, &plan),
                 invalid ? CEBUS_INVALID_ARGUMENT : CEBUS_OK);
    cr_expect_eq(result.verdict, wanted);
    cr_expect_null(plan);
}

Test(advisor, refusals)
{
    network n;
    make_network(&n, 4, 1000000, 200000);
    cebus_advise_options options = options_for(2000000, 0);
    expect_verdict(&n, &options, CEBUS_ADVISE_NO_ROOM);
    options.memory = 8000000;
    options.link.in = 0;
    expect_verdict(&n, &options, CEBUS_ADVISE_NO_LINK);
    options.link = link_10;
    n.refs[3] = 900000; /* no such value */
    expect_verdict(&n, &options, CEBUS_ADVISE_WRONG_CALL);
    make_network(&n, 4, 1000000, 200000);
    n.calls[2].n_written = 3; /* more than it makes */
    expect_verdict(&n, &options, CEBUS_ADVISE_WRONG_CALL);
    make_network(&n, 4, 1000000, 200000);
    n.refs[0] = n.refs[n.calls[1].refs + 2]; /* not made yet */
    expect_verdict(&n, &options, CEBUS_ADVISE_WRONG_CALL);
}

Test(advisor, nulls)
{
    network n;
    char why[256];
    uint64_t ns;
    cebus_advise_result result;
    cebus_advice *plan, none = {.n_steps = 1};
    make_network(&n, 4, 1000000, 200000);
    const cebus_advise_options options = options_for(8000000, 0);
    const cebus_advise_program hollow = {.n_calls = 1};
    const cebus_advise_program *const programs[] = {NULL, &hollow};
    for (size_t i = 0; i < 2; i++) {
        cr_expect_eq(cebus_advise(programs[i], &options, &result, &plan), CEBUS_INVALID_ARGUMENT);
        cr_expect_eq(result.verdict, CEBUS_ADVISE_WRONG_CALL);
        cr_expect_not_null(strstr(result.why, "NULL"), "%s", result.why);
        cr_expect_eq(
            cebus_advice_check(programs[i], &link_10, &(cebus_advice){0}, why, sizeof why, &ns),
            CEBUS_INVALID_ARGUMENT);
        cr_expect_not_null(strstr(why, "the program"), "%s", why);
    }
    cr_expect_eq(cebus_advise(&n.program, &options, NULL, &plan), CEBUS_INVALID_ARGUMENT);
    cr_expect_eq(cebus_advise(&n.program, &options, &result, NULL), CEBUS_INVALID_ARGUMENT);
    cr_expect_eq(cebus_advise_print(NULL), 0);
    cr_expect_eq(cebus_advice_time(&n.program, NULL, &none, why, sizeof why),
                 CEBUS_INVALID_ARGUMENT);
    cr_expect_str_eq(why, "the link is NULL");
    cr_expect_eq(cebus_advice_time(&n.program, &link_10, &none, why, sizeof why),
                 CEBUS_INVALID_ARGUMENT);
    cr_expect_not_null(strstr(why, "the plan"), "%s", why);
    cr_expect_eq(cebus_advice_time(&n.program, &link_10, NULL, NULL, 7), CEBUS_INVALID_ARGUMENT);
}

/** A caller that was compiled against another version: what it does not have is not read, and what
 * this version does not have is refused where it asks for something. */
Test(advisor, options_of_other_versions)
{
    network n;
    make_network(&n, 4, 1000000, 200000);
    struct {
        cebus_advise_options known;
        uint64_t more;
    } newer = {.known = options_for(2000000, 0)};
    newer.known.struct_size = sizeof newer;
    expect_verdict(&n, &newer.known, CEBUS_ADVISE_NO_ROOM);
    newer.more = 1;
    expect_verdict(&n, &newer.known, CEBUS_ADVISE_WRONG_OPTIONS);
    newer.known.struct_size = 0;
    expect_verdict(&n, &newer.known, CEBUS_ADVISE_WRONG_OPTIONS);
    newer.known.struct_size = offsetof(cebus_advise_options, link);
    expect_verdict(&n, &newer.known, CEBUS_ADVISE_NO_LINK);
    expect_verdict(&n, NULL, CEBUS_ADVISE_NO_LINK);
}

/* ---- host memory ---- */

Test(advisor, no_host_memory)
{
    network n;
    cebus_test_host host;
    make_network(&n, 4, 1000000, 200000);
    cebus_advise_options options = options_for(8000000, 0);
    options.host = &host.allocator;
    for (size_t granted = 0;; granted = granted < 40 ? granted + 1 : granted + granted / 16) {
        cebus_advise_result result;
        cebus_advice *plan;
        cebus_test_host_init(&host);
        host.fail_at = granted + 1;
        host.lasting = true;
        cebus_status status = cebus_advise(&n.program, &options, &result, &plan);
        if (status == CEBUS_OK && !host.fired) {
            cr_expect_not_null(plan);
            cebus_advice_destroy(plan);
            cr_expect_eq(host.live, 0);
            break;
        }
        cr_assert_eq(status, CEBUS_OUT_OF_HOST_MEMORY);
        cr_assert_null(plan);
        cr_assert_eq(host.live, 0);
    }
}

/* ---- orders ---- */

Test(advisor, orders_stay_valid)
{
    static network n;
    cebus_shelf shelf;
    cebus_graph graph;
    cebus_order order;
    uint32_t call, a[MAX_CALLS], b[MAX_CALLS], out[MAX_CALLS], groups[MAX_CALLS + MAX_VALUES],
        work[3 * MAX_VALUES];
    state = 11;
    for (int round = 0; round < 40; round++) {
        make_random(&n, 20 + draw(200));
        for (uint32_t k = 0; k < n.program.n_calls; k += 1 + draw(9))
            n.calls[k].stateful = true;
        cebus_shelf_init(&shelf, NULL);
        cr_assert_eq(cebus_graph_make(&n.program, &shelf, &graph, &call), CEBUS_GRAPH_MADE);
        cr_assert(cebus_order_init(&order, &graph, &shelf));
        cebus_order_program(&graph, a);
        cr_expect(cebus_order_is_valid(&order, a));
        cebus_order_prompt(&order, b);
        cr_expect(cebus_order_is_valid(&order, b));
        cebus_order_layers(&order, 1, groups, out);
        cr_expect(cebus_order_is_valid(&order, out));
        cebus_thrift_order(&order, 1, 1 + draw(30) * 1000000, work, out);
        cr_expect(cebus_order_is_valid(&order, out));
        cebus_order_mutate(&order, a, UINT32_MAX / 2, &state, b);
        cr_expect(cebus_order_is_valid(&order, b));
        cebus_order_cross(&order, a, b, draw((uint32_t)graph.n_calls), out);
        cr_expect(cebus_order_is_valid(&order, out));
        out[0] = out[1];
        cr_expect_not(cebus_order_is_valid(&order, out));
        cebus_shelf_clear(&shelf);
    }
}

/** Cells over time, layers inside: weights of which one has room come once each. */
Test(advisor, thrift_goes_layer_by_layer)
{
    enum {
        LAYERS = 6,
        STEPS = 9
    };
    static network n;
    cebus_shelf shelf;
    cebus_graph graph;
    cebus_order order;
    uint32_t call, w[LAYERS], h[LAYERS], out[MAX_CALLS], work[3 * MAX_VALUES];
    begin(&n);
    for (size_t i = 0; i < LAYERS; i++) {
        w[i] = add_value(&n, 1000000, true);
        h[i] = add_value(&n, 100, false);
        n.values[h[i]].given = true;
    }
    for (size_t t = 0; t < STEPS; t++) {
        uint32_t x = add_value(&n, 100, false);
        n.values[x].given = true;
        for (size_t i = 0; i < LAYERS; i++) {
            const uint32_t y = add_value(&n, 100, false), refs[] = {x, h[i], w[i], y};
            for (size_t k = 0; k < 4; k++)
                add_ref(&n, refs[k]);
            add_call(&n, 1000, 3, 1, 0);
            x = h[i] = y;
        }
    }
    cebus_shelf_init(&shelf, NULL);
    cr_assert_eq(cebus_graph_make(&n.program, &shelf, &graph, &call), CEBUS_GRAPH_MADE);
    cr_assert(cebus_order_init(&order, &graph, &shelf));
    cebus_thrift_order(&order, 500000, 1500000, work, out);
    cr_expect(cebus_order_is_valid(&order, out));
    for (size_t k = 0; k < LAYERS * STEPS; k++)
        cr_expect_eq(out[k] % LAYERS, k / STEPS, "call %zu", k);
    cebus_shelf_clear(&shelf);
}

/* ---- all orders of tiny programs ---- */

typedef struct contest {
    cebus_breed_bench *bench;
    const cebus_species *species;
    const cebus_link_terms *link;
    cebus_genome genome;
    uint64_t best;
    size_t n_orders;
} contest;

/** Tries every order that begins with the first `depth` calls of the genome's. */
static void try_orders(contest *c, size_t depth)
{
    const size_t n = c->species->graph->n_calls;
    if (depth == n) {
        if (!cebus_order_is_valid(&c->bench->order, c->genome.order))
            return;
        cebus_breed_bench_try(c->bench, c->species, c->link, &c->genome, NULL);
        c->best = c->genome.time < c->best ? c->genome.time : c->best;
        c->n_orders++;
        return;
    }
    for (size_t k = depth; k < n; k++) {
        const uint32_t a = c->genome.order[depth], b = c->genome.order[k];
        c->genome.order[depth] = b;
        c->genome.order[k] = a;
        try_orders(c, depth + 1);
        c->genome.order[depth] = a;
        c->genome.order[k] = b;
    }
}

Test(advisor, finds_the_best_order_of_tiny_programs)
{
    static network n;
    const cebus_link_terms link = {.out = 10, .in = 10, .both = 16, .latency_ns = 10};
    const cebus_breed_terms terms = {.link = link, .seed = 1, .generations = 30};
    size_t compared = 0;
    state = 23;
    for (int round = 0; round < 12; round++) {
        cebus_shelf shelf;
        cebus_graph graph;
        cebus_species species;
        cebus_breed breed;
        uint32_t call;
        make_random(&n, 7);
        cebus_shelf_init(&shelf, NULL);
        cr_assert_eq(cebus_graph_make(&n.program, &shelf, &graph, &call), CEBUS_GRAPH_MADE);
        cr_assert(cebus_species_init(&species, &graph, graph.need + 3000000, 10, &shelf));
        cr_assert(cebus_breed_init(&breed, &species, 1, &shelf));
        contest all = {&breed.benches[0], &species, &link, {0}, UINT64_MAX, 0};
        cr_assert(cebus_genome_init(&all.genome, &species, &shelf));
        cebus_order_program(&graph, all.genome.order);
        cebus_genome_set(&species, 0, &all.genome);
        try_orders(&all, 0);
        cr_expect_gt(all.n_orders, 0);
        compared += all.best != UINT64_MAX;
        cr_expect_leq(cebus_breed_run(&breed, &terms)->time, all.best, "round %d", round);
        cebus_shelf_clear(&shelf);
    }
    cr_expect_gt(compared, 6);
}
