#include <criterion/criterion.h>

#include "cebus_config.h"

#if CEBUS_HAVE_JSON

#include <stdio.h>
#include <string.h>

#include "layout/pool.h"
#include "lineage/trace/names.h"
#include "lineage/trace/values.h"

TestSuite(trace_values);

static void *no_memory(void *context, size_t bytes)
{
    (void)context;
    (void)bytes;
    return NULL;
}

Test(trace_values, are_found_whatever_their_ids)
{
    cebus_trace_table values;
    cebus_host_allocator host = cebus_host_allocator_default();
    cebus_trace_values_init(&values, &host);
    cr_expect_null(cebus_trace_values_find(&values, 1));
    for (uint64_t i = 1; i <= 100000; i++)
        cr_assert_not_null(
            cebus_trace_values_add(&values, i * UINT64_C(0x100000001), i, CEBUS_VALUE_LIVE));
    for (uint64_t i = 1; i <= 100000; i++) {
        const cebus_trace_slot *slot = cebus_trace_values_find(&values, i * UINT64_C(0x100000001));
        cr_assert(slot != NULL && cebus_trace_slot_bytes(slot) == i);
        cr_assert_eq(cebus_trace_slot_state(slot), CEBUS_VALUE_LIVE);
        cr_assert_null(cebus_trace_values_find(&values, i));
    }
    cr_expect_null(cebus_trace_values_find(&values, 0));
    cr_expect_eq(values.count, 100000);
    cr_expect_leq(values.capacity, 1 << 18);
    cebus_trace_table_deinit(&values);
}

Test(trace_values, keep_bytes_state_and_mark_apart)
{
    cebus_trace_table values;
    cebus_host_allocator host = cebus_host_allocator_default();
    cebus_trace_values_init(&values, &host);
    cebus_trace_slot *slot =
        cebus_trace_values_add(&values, UINT64_MAX, CEBUS_TRACE_BYTES_MAX, CEBUS_VALUE_PERSISTENT);
    static const cebus_trace_state states[] = {CEBUS_VALUE_LIVE, CEBUS_VALUE_OVERWRITTEN,
                                               CEBUS_VALUE_FREED, CEBUS_VALUE_PERSISTENT};
    for (int mark = 0; mark < 2; mark++) {
        cebus_trace_slot_mark(slot, mark != 0);
        for (size_t i = 0; i < sizeof states / sizeof *states; i++) {
            cebus_trace_slot_set(slot, states[i]);
            cr_expect_eq(cebus_trace_slot_state(slot), states[i]);
            cr_expect_eq(cebus_trace_slot_marked(slot), mark != 0);
            cr_expect_eq(cebus_trace_slot_bytes(slot), CEBUS_TRACE_BYTES_MAX);
        }
    }
    cr_expect_eq(cebus_trace_slot_state(NULL), CEBUS_VALUE_UNKNOWN);
    cebus_trace_table_deinit(&values);
}

Test(trace_values, stay_whole_without_host_memory)
{
    cebus_trace_table values;
    cebus_host_allocator host = cebus_host_allocator_default();
    cebus_trace_values_init(&values, &host);
    uint64_t id = 1;
    while (values.capacity == 0 || values.count < values.capacity / 4 * 3)
        cr_assert_not_null(cebus_trace_values_add(&values, id++, 1, CEBUS_VALUE_LIVE));
    values.host.alloc = no_memory;
    cr_expect_null(cebus_trace_values_add(&values, id, 1, CEBUS_VALUE_LIVE));
    cr_expect_null(cebus_trace_values_find(&values, id));
    cr_expect_not_null(cebus_trace_values_find(&values, id - 1));
    values.host = host;
    cr_expect_not_null(cebus_trace_values_add(&values, id, 1, CEBUS_VALUE_LIVE));
    cebus_trace_table_deinit(&values);
}

static size_t name_of(unsigned i, char *text, size_t bytes)
{
    static const char *const forms[] = {"x%u", "%u", "layer.%u.weight", "a longer name, %u of them",
                                        "%u is what this name begins with"};
    return (size_t)snprintf(text, bytes, forms[i % 5], i / 5);
}

Test(trace_values, names_are_told_apart)
{
    char text[64];
    cebus_trace_table names;
    cebus_host_allocator host = cebus_host_allocator_default();
    cebus_trace_names_init(&names, &host);
    for (unsigned i = 0; i < 100000; i++) {
        size_t length = name_of(i, text, sizeof text);
        cr_assert_null(cebus_trace_names_find(&names, text, length), "%s", text);
        cr_assert_not_null(cebus_trace_names_add(&names, text, length, i + 1));
    }
    for (unsigned i = 0; i < 100000; i++) {
        size_t length = name_of(i, text, sizeof text);
        const cebus_trace_name *name = cebus_trace_names_find(&names, text, length);
        cr_assert(name != NULL && name->value == i + 1 && !name->released, "%s", text);
    }
    cr_expect_null(cebus_trace_names_find(&names, "", 0));
    cr_expect_leq(sizeof(cebus_trace_name), 24);
    cebus_trace_table_deinit(&names);
}

/** Same letters, other lengths or places: each its own key, inline and hashed. */
Test(trace_values, names_that_are_almost_equal_differ)
{
    static const char *const almost[] = {"a",
                                         "aa",
                                         "a\1",
                                         "\1a",
                                         "aaaaaaa",
                                         "aaaaaaaa",
                                         "aaaaaaaaa",
                                         "baaaaaaa",
                                         "aaaaaaab",
                                         "aaaaaaaab",
                                         "aaaaaaaaaaaaaaa",
                                         "aaaaaaaaaaaaaaab",
                                         "baaaaaaaaaaaaaaa",
                                         "aaaaaaaaaaaaaaaa",
                                         "aaaaaaaaaaaaaaaaa",
                                         "aaaaaaaaaaaaaa"};
    cebus_trace_table names;
    cebus_host_allocator host = cebus_host_allocator_default();
    cebus_trace_names_init(&names, &host);
    for (size_t i = 0; i < sizeof almost / sizeof *almost; i++) {
        cr_expect_null(cebus_trace_names_find(&names, almost[i], strlen(almost[i])), "%zu", i);
        cr_assert_not_null(cebus_trace_names_add(&names, almost[i], strlen(almost[i]), i));
    }
    for (size_t i = 0; i < sizeof almost / sizeof *almost; i++)
        cr_expect_eq(cebus_trace_names_find(&names, almost[i], strlen(almost[i]))->value, i);
    cebus_trace_table_deinit(&names);
}

#endif
