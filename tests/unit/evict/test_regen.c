#include "evict/regen.h"
#include "lineage/call.h"

#include <criterion/criterion.h>

TestSuite(regen);

static cebus_call producer;

static cebus_candidate made(uint64_t bytes)
{
    cebus_candidate candidate = {.zone = CEBUS_ZONE_CHEAP};
    cebus_value_init(&candidate.value, bytes);
    candidate.value.producer = &producer;
    candidate.value.resident = true;
    return candidate;
}

/** 1 byte a ns each way. */
static cebus_swap_terms terms_of(cebus_swap_use use, uint64_t room)
{
    return (cebus_swap_terms){
        .use = use, .out_rate = 1000000000, .in_rate = 1000000000, .room = room, .memory = 1 << 20};
}

Test(regen, takes_the_cheaper_way)
{
    cebus_candidate x = made(1000);
    cebus_swap_terms terms = terms_of(CEBUS_SWAP_CHEAPER, 1000);
    cr_expect_eq(cebus_regen_weight(&terms, &x, 500), 500);
    cr_expect_eq(x.method, CEBUS_GO_DROP);
    cr_expect_eq(cebus_regen_weight(&terms, &x, 9000), 2002, "out and in");
    cr_expect_eq(x.method, CEBUS_GO_SWAP);
    x.host = &x;
    cr_expect_eq(cebus_regen_weight(&terms, &x, 9000), 1001, "in only: the copy is there");
}

/** The file's is measured, and full of waits for other copies. */
Test(regen, latency_counts_against_other_victims_alone)
{
    cebus_candidate x = made(1000);
    cebus_swap_terms terms = terms_of(CEBUS_SWAP_CHEAPER, 1000);
    terms.latency_ns = 4000;
    cr_expect_eq(cebus_regen_back_ns(&terms, &x), 1001);
    cr_expect_eq(cebus_regen_swap_ns(&terms, &x), 2002);
    cr_expect_eq(cebus_regen_weight(&terms, &x, 2003), 3002, "a part of it");
    cr_expect_eq(x.method, CEBUS_GO_SWAP, "although it takes longer");
    terms.use = CEBUS_SWAP_ALWAYS;
    cr_expect_eq(cebus_regen_weight(&terms, &x, 2003), 2002, "as published");
    terms.use = CEBUS_SWAP_CHEAPER;
    terms.room = 0;
    terms.spill = (cebus_swap_tier){
        .out_rate = 1000000000, .in_rate = 500000000, .room = 1000, .latency_ns = 4000};
    cr_expect_eq(cebus_regen_back_ns(&terms, &x), 2001);
    cr_expect_eq(cebus_regen_weight(&terms, &x, 9000), 3002);
}

Test(regen, chooses_only_where_both_ways_are_open)
{
    cebus_candidate x = made(1000);
    cebus_swap_terms terms = terms_of(CEBUS_SWAP_CHEAPER, 1000);
    cr_expect(cebus_regen_may_choose(&terms, &x));
    terms.use = CEBUS_SWAP_ALWAYS;
    cr_expect_not(cebus_regen_may_choose(&terms, &x), "as published");
    terms.use = CEBUS_SWAP_CHEAPER;
    x.gradient = true;
    cr_expect_not(cebus_regen_may_choose(&terms, &x));
    x.gradient = false;
    terms.room = 999;
    cr_expect_not(cebus_regen_may_choose(&terms, &x));
}

Test(regen, swaps_only_where_there_is_room)
{
    cebus_candidate x = made(1000);
    cebus_swap_terms terms = terms_of(CEBUS_SWAP_ALWAYS, 999);
    cr_expect_not(cebus_regen_may_swap(&terms, &x));
    cr_expect_eq(cebus_regen_weight(&terms, &x, 7), 7);
    cr_expect_eq(x.method, CEBUS_GO_DROP);
    terms.room = 1000;
    cr_expect_eq(cebus_regen_weight(&terms, &x, 7), 2002, "as published, whatever it costs");
    cr_expect_eq(x.method, CEBUS_GO_SWAP);
}

Test(regen, leaves_swap_and_persistent_values_stay)
{
    cebus_candidate x = made(10);
    cebus_swap_terms never = terms_of(CEBUS_SWAP_NEVER, 100);
    cebus_swap_terms cheaper = terms_of(CEBUS_SWAP_CHEAPER, 100);
    x.value.producer = NULL;
    cr_expect_not(cebus_regen_may_swap(&never, &x));
    cr_expect(cebus_regen_may_swap(&cheaper, &x));
    cr_expect_eq(cebus_regen_weight(&cheaper, &x, 0), 22);
    cr_expect_eq(x.method, CEBUS_GO_SWAP);
    x.zone = CEBUS_ZONE_PERSISTENT;
    cr_expect_not(cebus_regen_may_swap(&cheaper, &x));
}

/** A call that reads 400 bytes, 100 once more in another place, and makes 600. */
Test(regen, drops_nothing_whose_call_takes_half_of_memory)
{
    cebus_candidate x = made(600), read[2] = {made(400), made(100)};
    cebus_value *out[] = {&x.value, NULL};
    cebus_edge in[] = {{.value = &read[0].value}, {.value = NULL}, {.value = &read[1].value}};
    cebus_call call = {.n_in = 3, .in = in, .n_out = 2, .out = out};
    cebus_swap_terms terms = terms_of(CEBUS_SWAP_CHEAPER, 1000);
    x.value.producer = &call;
    terms.memory = 2200;
    cr_expect(cebus_regen_may_drop(&terms, &x));
    cr_expect_eq(cebus_regen_weight(&terms, &x, 1), 1);
    cr_expect_eq(x.method, CEBUS_GO_DROP);
    terms.memory = 2199;
    cr_expect_not(cebus_regen_may_drop(&terms, &x));
    cr_expect_eq(cebus_regen_weight(&terms, &x, 1), 1202, "out and in");
    cr_expect_eq(x.method, CEBUS_GO_SWAP);
    terms.room = 599;
    cr_expect(cebus_regen_may_drop(&terms, &x), "there is no other way");
    x.value.producer = NULL;
    cr_expect_not(cebus_regen_may_drop(&terms, &x));
}

Test(regen, gradients_are_not_trusted_to_be_cheap)
{
    cebus_candidate x = made(10);
    cebus_swap_terms terms = terms_of(CEBUS_SWAP_CHEAPER, 100);
    x.gradient = true;
    cr_expect_eq(cebus_regen_weight(&terms, &x, 1), 22);
    cr_expect_eq(x.method, CEBUS_GO_SWAP);
}
