#include <criterion/criterion.h>

#include "suite.h"

TestSuite(call, .init = setup, .fini = teardown);

Test(call, keeps_what_a_held_value_was_made_from)
{
    cebus_value *leaf = program_leaf(&p, 64);
    cebus_value *middle = program_call(&p, 1, leaf, NULL);
    cebus_value *top = program_call(&p, 1, middle, NULL);
    program_release(&p, leaf);
    program_release(&p, middle);
    cr_expect_eq(p.live, 3, "the records still read both");
    cr_expect_eq(p.lineage.live_calls, 2);
    program_release(&p, top);
}

Test(call, frees_a_chain_of_a_million_without_recursion)
{
    cebus_value *value = program_leaf(&p, 64);
    for (int i = 0; i < 1000000; i++) {
        cebus_value *next = program_call(&p, 1, value, NULL);
        program_release(&p, value);
        value = next;
    }
    cr_expect_eq(p.lineage.live_calls, 1000000);
    program_release(&p, value);
}

Test(call, counts_a_value_read_twice_by_one_call)
{
    cebus_value *leaf = program_leaf(&p, 64);
    cebus_value *square = program_call(&p, 1, leaf, leaf);
    cr_expect_eq(leaf->refs, 3);
    program_release(&p, leaf);
    cr_expect_eq(p.live, 2);
    program_release(&p, square);
}

Test(call, cuts_its_edges_when_the_last_output_dies_though_a_node_keeps_it)
{
    cebus_value *leaf = program_leaf(&p, 64);
    cebus_value *out = program_call(&p, 1, leaf, NULL);
    cebus_call *call = out->producer;
    cebus_call_retain(call);
    program_release(&p, out);
    cr_expect_eq(leaf->refs, 1, "nothing can replay the call any more");
    cr_expect_null(leaf->consumers);
    cebus_call_release(&p.lineage, call);
    program_release(&p, leaf);
}

Test(call, has_its_inputs_while_their_bytes_are_somewhere)
{
    cebus_value *leaf = program_leaf(&p, 64);
    cebus_value *middle = program_call(&p, 1, leaf, NULL);
    cebus_value *top = program_call(&p, 1, leaf, middle);
    cr_expect(cebus_call_has_inputs(top->producer));
    program_evict(&p, middle);
    cr_expect_not(cebus_call_has_inputs(top->producer));
    cr_expect(cebus_call_has_inputs(middle->producer), "an absent second input is none");
    middle->swapped = true;
    cr_expect(cebus_call_has_inputs(top->producer), "a copy on the host will do");
    middle->swapped = false;
    program_return(&p, middle);
    program_release(&p, top);
    program_release(&p, middle);
    program_release(&p, leaf);
}

/** As small beside what it is made of as the other, but not beside what was read of that. */
Test(call, makes_no_digest_of_a_slice)
{
    cebus_value *leaf = program_leaf(&p, 64), *large = program_call(&p, 1, leaf, NULL);
    cebus_value *digest = program_leaf(&p, 64), *slice = program_leaf(&p, 64);
    large->bytes = UINT64_C(64) * CEBUS_DIGEST_PART;
    cebus_call *whole = cebus_call_create(&p.lineage, "op", 1, 1, 0);
    cebus_call *part = cebus_call_create(&p.lineage, "op", 1, 1, 0);
    cebus_call_read(whole, 0, large);
    cebus_call_read_part(part, 0, large, large->bytes - 1);
    cebus_call_make(&p.lineage, whole, 0, digest);
    cebus_call_make(&p.lineage, part, 0, slice);
    cr_expect(digest->digest);
    cr_expect_not(slice->digest);
    cebus_call_release(&p.lineage, whole);
    cebus_call_release(&p.lineage, part);
    program_release(&p, digest);
    program_release(&p, slice);
    program_release(&p, large);
    program_release(&p, leaf);
}

Test(call, forgetting_makes_outputs_leaves)
{
    cebus_value *leaf = program_leaf(&p, 64);
    cebus_value *out = program_call(&p, 1, leaf, NULL);
    cebus_call_forget(&p.lineage, out->producer);
    cr_expect_null(out->producer);
    cr_expect_null(leaf->consumers);
    program_release(&p, leaf);
    program_release(&p, out);
}

static void *no_memory(void *context, size_t bytes)
{
    (void)context;
    (void)bytes;
    return NULL;
}

Test(call, refuses_without_host_memory)
{
    cebus_host_allocator real = p.pool.host;
    p.pool.host.alloc = no_memory;
    cr_expect_null(cebus_call_create(&p.lineage, "op", 1, 1, 100));
    cr_expect_eq(p.lineage.live_calls, 0);
    p.pool.host = real;
}

Test(call, aligns_its_payload)
{
    cebus_call *call = cebus_call_create(&p.lineage, "op", 3, 1, 100);
    cr_expect_eq((uintptr_t)call->payload % 16, 0);
    cebus_call_release(&p.lineage, call);
}

Test(call, the_check_finds_an_absent_leaf)
{
    char why[128];
    cebus_value *leaf = program_leaf(&p, 64);
    cr_expect(cebus_value_check(leaf, why, sizeof why));
    leaf->resident = false;
    cr_expect_not(cebus_value_check(leaf, why, sizeof why));
    cr_expect_str_eq(why, "an absent value has no record (64, 0)");
    leaf->resident = true;
    leaf->refs = 0;
    cr_expect_not(cebus_value_check(leaf, why, sizeof why));
    leaf->refs = 1;
    program_release(&p, leaf);
}

Test(call, the_check_finds_what_is_made_too_late)
{
    char why[128];
    cebus_value *leaf = program_leaf(&p, 64), *a = program_call(&p, 1, leaf, NULL);
    cebus_value *b = program_call(&p, 1, a, NULL);
    program_evict(&p, b);
    cr_expect(cebus_value_check(b, why, sizeof why));
    a->producer->serial += 2;
    cr_expect_not(cebus_value_check(b, why, sizeof why));
    cr_expect_str_eq(why, "an input is made after the call that reads it (3, 2)");
    a->producer->serial -= 2;
    program_release(&p, b);
    program_release(&p, a);
    program_release(&p, leaf);
}
