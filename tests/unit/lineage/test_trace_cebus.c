#include <criterion/criterion.h>

#include "cebus_config.h"

#if CEBUS_HAVE_JSON

#include "trace_text.h"

TestSuite(trace_cebus);

Test(trace_cebus, gives_every_item_as_it_stands)
{
    cebus_trace_source *source = trace_open(
        HEADER "{\"const\": 7, \"bytes\": 4096, \"persistent\": true}\n"
               "\n"
               "{\"op\": 1, \"name\": \"matmul\", \"hash\": \"9f3cFFFFffffffff\", \"in\": [7, 7], "
               "\"out\": [{\"value\": 2, \"bytes\": 4096}, {\"value\": 900000000000, \"bytes\": "
               "0}], \"cost_ns\": 1200, \"workspace\": 64, \"flags\": [\"rng\", "
               "\"nonreplayable\"]}\r\n"
               "  {\"op\": 2, \"name\": \"add_\", \"in\": [2, 7], \"out\": [{\"value\": 3, "
               "\"bytes\": 4096, \"alias_of\": 0}], \"cost_ns\": 300, \"flags\": [\"mutates\"]}\n"
               "{\"free\": 2}\n"
               "{\"mark\": 1}",
        false);
    cr_expect_str_eq(cebus_trace_source_machine(source), "cpu");
    cebus_entry entry = trace_next(source);
    cr_expect_eq(entry.kind, CEBUS_ENTRY_CONST);
    cr_expect(entry.line == 2 && entry.value == 7 && entry.bytes == 4096 && entry.persistent);
    entry = trace_next(source);
    cr_expect_eq(entry.kind, CEBUS_ENTRY_OP);
    cr_expect(entry.line == 4 && entry.id == 1 && entry.cost_ns == 1200 && entry.workspace == 64);
    cr_expect_str_eq(entry.name, "matmul");
    cr_expect_eq(entry.hash, UINT64_C(0x9f3cffffffffffff));
    cr_expect_eq(entry.flags, CEBUS_ENTRY_RNG | CEBUS_ENTRY_NONREPLAYABLE);
    cr_assert(entry.n_in == 2 && entry.in[0] == 7 && entry.in[1] == 7);
    cr_assert(entry.n_out == 2 && entry.out[0].value == 2 && entry.out[0].alias_of == -1);
    cr_expect(entry.out[1].value == UINT64_C(900000000000) && entry.out[1].bytes == 0);
    entry = trace_next(source);
    cr_expect(entry.line == 5 && entry.flags == CEBUS_ENTRY_MUTATES && entry.hash == 0);
    cr_assert(entry.n_out == 1 && entry.out[0].value == 3 && entry.out[0].alias_of == 0);
    entry = trace_next(source);
    cr_expect(entry.kind == CEBUS_ENTRY_FREE && entry.value == 2 && entry.name == NULL);
    entry = trace_next(source);
    cr_expect(entry.kind == CEBUS_ENTRY_MARK && entry.id == 1 && entry.n_in == 0);
    trace_end(source);
}

Test(trace_cebus, a_written_leaf_keeps_its_id_and_an_overwritten_value_can_be_read)
{
    cebus_trace_source *source = trace_open(
        HEADER "{\"const\": 1, \"bytes\": 8, \"persistent\": true}\n"
               "{\"const\": 2, \"bytes\": 8}\n"
               "{\"op\": 1, \"name\": \"w_\", \"in\": [1, 2], \"out\": [{\"value\": 1, \"bytes\": "
               "8, \"alias_of\": 0}], \"cost_ns\": 1, \"flags\": [\"mutates\"]}\n"
               "{\"op\": 2, \"name\": \"w_\", \"in\": [2], \"out\": [{\"value\": 3, \"bytes\": 8, "
               "\"alias_of\": 0}], \"cost_ns\": 1, \"flags\": [\"mutates\"]}\n"
               "{\"op\": 3, \"name\": \"r\", \"in\": [2, 3], \"out\": [], \"cost_ns\": 1}\n"
               "{\"free\": 2}\n",
        false);
    cebus_entry entry = trace_next(source);
    entry = trace_next(source);
    cr_expect_not(entry.persistent);
    entry = trace_next(source);
    cr_expect_eq(entry.out[0].value, entry.in[0]);
    for (int i = 0; i < 3; i++)
        entry = trace_next(source);
    cr_expect_eq(entry.kind, CEBUS_ENTRY_FREE);
    trace_end(source);
}

Test(trace_cebus, ignores_keys_it_does_not_know)
{
    cebus_trace_source *source =
        trace_open("{\"cebus_trace\": 1, \"host\": {\"cores\": [1, 2.5]}}\n"
                   "{\"const\": 1, \"bytes\": 8, \"role\": \"weight\", \"shape\": [[2]]}\n"
                   "{\"op\": 0, \"name\": \"f\", \"in\": [1], \"out\": [{\"value\": 2, \"bytes\": "
                   "1, \"dtype\": null}], \"cost_ns\": 0, \"note\": -1.5}\n",
                   false);
    cr_expect_str_eq(cebus_trace_source_machine(source), "");
    cr_expect_eq(trace_next(source).value, 1);
    cr_expect_eq(trace_next(source).n_out, 1);
    trace_end(source);
}

/** What is left out of a line for want of memory is found by counting: nothing else may look so. */
Test(trace_cebus, long_tokens_are_taken_whole)
{
    cebus_trace_source *source = trace_open(
        HEADER
        "{\"const\": 1, \"bytes\": -0, \"a key of many characters\": true, \"x\": [false, "
        "null, -12, [-123456789012345678, \"another long string here\"]]}\n"
        "{\"const\": 1234567890123456789, \"bytes\": 0, \"a fraction and much text\": "
        "[-1.25e-3, 1E5]}\n"
        "{\"const\": 2, \"bytes\": 0, \"escapes \\\\ \\\" and much text\": \"\\u00e9\"}\n"
        "{\"const\": 3, \"bytes\": 0, \"caf\u00e9 \u20ac and much more text\": \"\u20ac\"}\n",
        false);
    cr_expect(trace_next(source).bytes == 0);
    cr_expect_eq(trace_next(source).value, UINT64_C(1234567890123456789));
    cr_expect_eq(trace_next(source).value, 2);
    cr_expect_eq(trace_next(source).value, 3);
    trace_end(source);
}

Test(trace_cebus, keeps_names_and_machines_as_they_are)
{
    cebus_trace_source *source = trace_open(
        "{\"machine\": \"sim:\\u00e9\", \"cebus_trace\": 1}\n"
        "{\"cost_ns\": 0, \"name\": \"a \\\"b\\\" \\u20ac\", \"op\": 4, \"in\": [], \"out\": []}",
        false);
    cr_expect_str_eq(cebus_trace_source_machine(source), "sim:\u00e9");
    cr_expect_str_eq(trace_next(source).name, "a \"b\" \u20ac");
    trace_end(source);
}

Test(trace_cebus, refuses_what_is_no_trace)
{
    static const trace_fault faults[] = {
        {"", 0, "the file is empty"},
        {"\n \t\r\n", 2, "the file is empty"},
        {"{\"const\": 1, \"bytes\": 4}\n", 1, "not a cebus trace"},
        {"{\"INSTRUCTION\": \"CONSTANT\", \"NAME\": \"x1\"}\n", 1, "read as format dtr"},
        {"{\"cebus_trace\": 2}\n", 1, "the trace is of version 2"},
        {"{\"cebus_trace\": \"1\"}\n", 1, "\"cebus_trace\" is a string"},
        {"{\"cebus_trace\": 1, \"unit\": \"us\"}\n", 1, "costs must be in \"ns\""},
        {"{\"cebus_trace\": 1, \"machine\": 7}\n", 1, "\"machine\" is an integer"},
        {"hello\n", 1, "not a JSON object"},
        {"[{\"cebus_trace\": 1}]\n", 1, "the line is a list"},
        {"7\n", 1, "not a JSON object"},
        {HEADER HEADER, 2, "a second header"},
    };
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        trace_check_fault(&faults[i], "", false);
}

/** Lines 2 to 4: values 1 (persistent), 2 and 3, of 8 bytes. */
#define VALUES                                                                                     \
    HEADER "{\"const\": 1, \"bytes\": 8, \"persistent\": true}\n"                                  \
           "{\"const\": 2, \"bytes\": 8}\n{\"const\": 3, \"bytes\": 8}\n"
#define OP(in, out, rest)                                                                          \
    "{\"op\": 1, \"name\": \"f\", \"in\": [" in "], \"out\": [" out "], \"cost_ns\": 5" rest "}\n"
#define WRITES ", \"flags\": [\"mutates\"]"
#define OUT(value, rest) "{\"value\": " value ", \"bytes\": 8" rest "}"

Test(trace_cebus, refuses_lines_that_are_no_json)
{
    static const trace_fault faults[] = {
        {"{\"free\": 2", 1, "not a JSON object"},
        {"{\"free\": 2} x\n", 1, "not a JSON object"},
        {"{\"free\": 2}{\"free\": 3}\n", 1, "not a JSON object"},
        {"{\"free\": 2, \"free\": 2}\n", 1, "duplicate object key"},
        {"{\"free\": 9223372036854775808}\n", 1, "too big"},
        {"{\"free\": 2e400}\n", 1, "real number overflow"},
        {"{\"free\": \"\\u0000\"}\n", 1, "not a JSON object"},
        {"{\"free\": \"\xff\"}\n", 1, "not a JSON object"},
        {"null\n", 1, "not a JSON object"},
    };
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        trace_check_fault(&faults[i], VALUES, false);
}

Test(trace_cebus, refuses_keys_that_are_missing_or_of_the_wrong_type)
{
    static const trace_fault faults[] = {
        {"{}\n", 1, "none of the keys"},
        {"{\"const\": 4, \"free\": 2, \"bytes\": 8}\n", 1, "several of the keys"},
        {"{\"const\": 4}\n", 1, "the key \"bytes\" is missing"},
        {"{\"const\": 0, \"bytes\": 8}\n", 1, "values count from 1"},
        {"{\"const\": -4, \"bytes\": 8}\n", 1, "\"const\" is -4"},
        {"{\"const\": 4.0, \"bytes\": 8}\n", 1, "fraction or exponent"},
        {"{\"const\": \"4\", \"bytes\": 8}\n", 1, "\"const\" is a string"},
        {"{\"const\": [4], \"bytes\": 8}\n", 1, "\"const\" is a list"},
        {"{\"const\": 4, \"bytes\": -1}\n", 1, "\"bytes\" is -1; it must not be negative"},
        {"{\"const\": 4, \"bytes\": 1e3}\n", 1, "fraction or exponent"},
        {"{\"const\": 4, \"bytes\": null}\n", 1, "\"bytes\" is null"},
        {"{\"const\": 4, \"bytes\": 1125899906842625}\n", 1, "at most 1125899906842624"},
        {"{\"const\": 4, \"bytes\": 8, \"persistent\": 1}\n", 1, "it must be true or false"},
        {"{\"free\": true}\n", 1, "\"free\" is true or false; it must be an integer"},
        {"{\"mark\": -1}\n", 1, "\"mark\" is -1"},
        {"{\"op\": 1}\n", 1, "the key \"name\" is missing"},
        {"{\"op\": 1, \"name\": \"\"}\n", 1, "\"name\" is an empty string"},
        {"{\"op\": 1, \"name\": 3}\n", 1, "\"name\" is an integer"},
        {"{\"op\": 1, \"name\": \"f\"}\n", 1, "the key \"cost_ns\" is missing"},
        {"{\"op\": 1, \"name\": \"f\", \"cost_ns\": 1}\n", 1, "the key \"in\" is missing"},
        {"{\"op\": 1, \"name\": \"f\", \"cost_ns\": 1, \"in\": []}\n", 1, "\"out\" is missing"},
        {"{\"op\": 1, \"name\": \"f\", \"cost_ns\": 1, \"in\": {}, \"out\": []}\n", 1,
         "\"in\" is an object; it must be a list"},
        {OP("\"1\"", "", ""), 1, "\"in\" is a string"},
        {OP("1.5", "", ""), 1, "\"in\" is a number with a fraction"},
        {OP("", "5", ""), 1, "\"out\" must list objects"},
        {OP("", "{\"value\": 5}", ""), 1, "the key \"bytes\" is missing"},
        {OP("", "{\"bytes\": 5}", ""), 1, "the key \"value\" is missing"},
        {OP("", "", ", \"flags\": \"rng\""), 1, "\"flags\" is a string"},
        {OP("", "", ", \"flags\": [\"fast\"]"), 1, "unknown flag \"fast\""},
        {OP("", "", ", \"workspace\": -1"), 1, "\"workspace\" is -1"},
        {OP("", "", ", \"hash\": 12"), 1, "\"hash\" is an integer"},
        {OP("", "", ", \"hash\": \"xyz\""), 1, "hexadecimal"},
        {OP("", "", ", \"hash\": \"12345678123456781\""), 1, "hexadecimal"},
        {"{\"op\": -1, \"name\": \"f\", \"cost_ns\": 1, \"in\": [], \"out\": []}\n", 1,
         "\"op\" is -1"},
        {"{\"op\": 1, \"name\": \"f\", \"cost_ns\": -1, \"in\": [], \"out\": []}\n", 1,
         "\"cost_ns\" is -1"},
    };
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        trace_check_fault(&faults[i], VALUES, false);
}

Test(trace_cebus, refuses_values_used_against_the_order_of_time)
{
    static const trace_fault faults[] = {
        {"{\"const\": 2, \"bytes\": 8}\n", 1, "value 2 is made a second time"},
        {"{\"free\": 2}\n{\"const\": 2, \"bytes\": 8}\n", 2, "made a second time"},
        {"{\"free\": 9}\n", 1, "value 9 is freed before anything makes it"},
        {"{\"free\": 2}\n{\"free\": 2}\n", 2, "value 2 is freed, but it was freed before"},
        {"{\"free\": 1}\n", 1, "value 1 is freed, but it is a persistent constant"},
        {"{\"free\": 2}\n" OP("2", "", ""), 2, "value 2 is read, but it was freed before"},
        {OP("9", "", ""), 1, "value 9 is read before anything makes it"},
        {OP("9", OUT("9", ""), ""), 1, "value 9 is read before anything makes it"},
        {OP("2", OUT("2", ""), ""), 1, "a cycle: value 2"},
        {OP("2", OUT("2", ""), WRITES), 1, "a cycle: value 2"},
        {OP("2", OUT("3", ""), ""), 1, "value 3 is made a second time"},
        {OP("", OUT("5", "") ", " OUT("5", ""), ""), 1, "value 5 is made a second time"},
    };
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        trace_check_fault(&faults[i], VALUES, false);
}

Test(trace_cebus, refuses_impossible_writes)
{
    static const trace_fault faults[] = {
        {OP("2", OUT("5", ", \"alias_of\": 0"), ""), 1, "lacks the flag mutates"},
        {OP("2", OUT("2", ", \"alias_of\": 0"), ""), 1, "lacks the flag mutates"},
        {OP("2", OUT("5", ", \"alias_of\": 1"), WRITES), 1, "alias_of is 1, but the op has 1"},
        {OP("", OUT("5", ", \"alias_of\": 0"), WRITES), 1, "alias_of is 0, but the op has 0"},
        {OP("2", OUT("5", ", \"alias_of\": -2"), WRITES), 1, "\"alias_of\" is -2"},
        {OP("2", "{\"value\": 5, \"bytes\": 9, \"alias_of\": 0}", WRITES), 1,
         "9 bytes is written over value 2 of 8"},
        {OP("1", OUT("5", ", \"alias_of\": 0"), WRITES), 1, "it keeps its number"},
        {OP("2", OUT("3", ", \"alias_of\": 0"), WRITES), 1, "made a second time"},
        {OP("2, 3", OUT("3", ", \"alias_of\": 0"), WRITES), 1, "a cycle: value 3"},
        {OP("2", OUT("5", ", \"alias_of\": 0") ", " OUT("6", ", \"alias_of\": 0"), WRITES), 1,
         "value 2 is written, but it was overwritten before"},
        {OP("1, 1", OUT("1", ", \"alias_of\": 0") ", " OUT("1", ", \"alias_of\": 1"), WRITES), 1,
         "value 1 is written, but it was overwritten before"},
        {OP("2", OUT("5", ", \"alias_of\": 0"), WRITES)
             OP("2", OUT("6", ", \"alias_of\": 0"), WRITES),
         2, "value 2 is written, but it was overwritten before"},
    };
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        trace_check_fault(&faults[i], VALUES, false);
}

Test(trace_cebus, a_leaf_may_be_written_by_one_op_after_another)
{
    cebus_trace_source *source = trace_open(VALUES OP("1", OUT("1", ", \"alias_of\": 0"), WRITES)
                                                OP("1", OUT("1", ", \"alias_of\": 0"), WRITES),
                                            false);
    for (int i = 0; i < 5; i++)
        (void)trace_next(source);
    trace_end(source);
}

Test(trace_cebus, refuses_sums_that_would_wrap)
{
    char why[464];
    static const char costs[] =
        HEADER "{\"op\": 1, \"name\": \"f\", \"in\": [], \"out\": [], \"cost_ns\": "
               "4611686018427387904}\n"
               "{\"op\": 2, \"name\": \"f\", \"in\": [], \"out\": [], \"cost_ns\": 1}\n";
    cr_expect_eq(trace_refusal(costs, strlen(costs), false, NULL, why, sizeof why),
                 CEBUS_INVALID_ARGUMENT);
    cr_expect_not_null(strstr(why, ":3: the costs so far add up"), "%s", why);
    char text[4096] = HEADER;
    cebus_trace_bounds bounds = trace_bounds;
    bounds.bytes = UINT64_C(1) << 58;
    for (int i = 1; i <= 17; i++)
        snprintf(text + strlen(text), 64, "{\"const\": %d, \"bytes\": %lld}\n", i, 1LL << 58);
    cr_expect_eq(trace_refusal(text, strlen(text), false, &bounds, why, sizeof why),
                 CEBUS_INVALID_ARGUMENT);
    cr_expect_not_null(strstr(why, ":18: the values that live now have more than 2^62"), "%s", why);
}

Test(trace_cebus, freed_bytes_do_not_count)
{
    char text[1 << 13] = HEADER, why[464];
    cebus_trace_bounds bounds = trace_bounds;
    bounds.bytes = UINT64_C(1) << 58;
    for (int i = 1; i <= 60; i++)
        snprintf(text + strlen(text), 96, "{\"const\": %d, \"bytes\": %lld}\n{\"free\": %d}\n", i,
                 1LL << 58, i);
    cr_expect_eq(trace_refusal(text, strlen(text), false, &bounds, why, sizeof why), CEBUS_OK, "%s",
                 why);
}

Test(trace_cebus, holds_the_limits_of_lines_items_and_values)
{
    char why[464];
    cebus_trace_bounds bounds = {.line_bytes = 100, .items = 4, .bytes = 64};
    static const char four[] = HEADER "\n{\"mark\": 1}\n\n{\"mark\": 2}\n{\"mark\": 3}\n\n";
    cr_expect_eq(trace_refusal(four, strlen(four), false, &bounds, why, sizeof why), CEBUS_OK,
                 "blank lines do not count: %s", why);
    static const char five[] = HEADER "{\"mark\": 1}\n{\"mark\": 2}\n{\"mark\": 3}\n{\"mark\": 4}";
    cr_expect_eq(trace_refusal(five, strlen(five), false, &bounds, why, sizeof why),
                 CEBUS_INVALID_ARGUMENT);
    cr_expect_not_null(strstr(why, ":5: more than 4 lines with content"), "%s", why);
    char text[512];
    snprintf(text, sizeof text, HEADER "{\"mark\": 1%*s}\n{\"mark\": 2%*s}\n", 89, "", 90, "");
    cr_expect_eq(trace_refusal(text, strlen(text), false, &bounds, why, sizeof why),
                 CEBUS_INVALID_ARGUMENT);
    cr_expect_not_null(strstr(why, ":3: the line has more than 100 bytes"), "%s", why);
    bounds = (cebus_trace_bounds){.line_bytes = 400, .items = 4, .bytes = 64};
    static const char values[] =
        HEADER "{\"op\": 1, \"name\": \"f\", \"cost_ns\": 0, \"in\": [], \"out\": [{\"value\": 1, "
               "\"bytes\": 1}, {\"value\": 2, \"bytes\": 1}, {\"value\": 3, \"bytes\": 1}, "
               "{\"value\": 4, \"bytes\": 1}, {\"value\": 5, \"bytes\": 1}]}\n";
    cr_expect_eq(trace_refusal(values, strlen(values), false, &bounds, why, sizeof why),
                 CEBUS_INVALID_ARGUMENT);
    cr_expect_not_null(strstr(why, ":2: more than 4 values"), "%s", why);
}

Test(trace_cebus, survives_deep_nesting_nul_bytes_and_terminal_codes)
{
    static char text[1 << 16];
    char why[464];
    size_t used = (size_t)snprintf(text, sizeof text, HEADER "{\"mark\": ");
    memset(text + used, '[', 30000);
    cr_expect_eq(trace_refusal(text, used + 30000, false, NULL, why, sizeof why),
                 CEBUS_INVALID_ARGUMENT);
    cr_expect_not_null(strstr(why, ":2: not a JSON object"), "%s", why);
    static const char nul[] = HEADER "{\"mark\": 1}\0\n";
    cr_expect_eq(trace_refusal(nul, sizeof nul - 1, false, NULL, why, sizeof why),
                 CEBUS_INVALID_ARGUMENT);
    static const char codes[] =
        HEADER "{\"op\": 1, \"name\": \"f\", \"cost_ns\": 0, \"in\": [], \"out\": [], "
               "\"flags\": [\"\\u001b[2J\\u009b\"]}\n";
    cr_expect_eq(trace_refusal(codes, strlen(codes), false, NULL, why, sizeof why),
                 CEBUS_INVALID_ARGUMENT);
    cr_expect_not_null(strstr(why, "unknown flag \"?[2J??\""), "%s", why);
}

Test(trace_cebus, says_why_a_file_cannot_be_read)
{
    char why[464];
    cebus_trace_source *source;
    cebus_host_allocator host = cebus_host_allocator_default();
    cr_expect_eq(cebus_trace_source_open(&host, "/nonexistent/trace", false, &trace_bounds, why,
                                         sizeof why, &source),
                 CEBUS_INVALID_ARGUMENT);
    cr_expect_not_null(strstr(why, "cannot open \"/nonexistent/trace\": No such file"), "%s", why);
    cr_expect_null(source);
    cr_expect_eq(
        cebus_trace_source_open(&host, "/", false, &trace_bounds, why, sizeof why, &source),
        CEBUS_DEVICE_ERROR);
    cr_expect_not_null(strstr(why, "reading failed: Is a directory"), "%s", why);
    char path[600];
    memset(path, 'p', sizeof path);
    memcpy(path + sizeof path - 9, "/the-end", 9);
    cr_expect_eq(
        cebus_trace_source_open(&host, path, false, &trace_bounds, why, sizeof why, &source),
        CEBUS_INVALID_ARGUMENT);
    cr_expect_not_null(strstr(why, "/the-end\": "), "%s", why);
}

#endif
