#include <criterion/criterion.h>

#include "cebus_config.h"

#if CEBUS_HAVE_JSON

#include "trace_text.h"

#define LINE(what, rest) "{\"INSTRUCTION\": \"" what "\", " rest "}\n"
#define START LINE("ANNOTATE", "\"ANNOTATION\": \"START\"")
#define MEMORY(name, bytes) LINE("MEMORY", "\"NAME\": \"" name "\", \"MEMORY\": \"" bytes "\"")
#define ALIAS(name, index) LINE("ALIAS", "\"NAME\": \"" name "\", \"ALIAS\": \"" index "\"")
#define CONSTANT(name, bytes) LINE("CONSTANT", "\"NAME\": \"" name "\"") MEMORY(name, bytes)
#define CALL(op, args, results)                                                                    \
    LINE("CALL", "\"NAME\": \"" op "\", \"ARGS\": [" args "], \"RESULT\": [" results "], "         \
                 "\"TIME\": \"700\"")
#define MUTATE(op, args, which)                                                                    \
    LINE("MUTATE",                                                                                 \
         "\"NAME\": \"" op "\", \"ARGS\": [" args "], \"MUTATE\": [" which "], \"TIME\": \"30\"")
#define COPY(dst, src) LINE("COPY", "\"DST\": \"" dst "\", \"SRC\": \"" src "\"")
#define COPY_FROM(dst, src) LINE("COPY_FROM", "\"DST\": \"" dst "\", \"SRC\": \"" src "\"")
#define RELEASE(name) LINE("RELEASE", "\"NAME\": \"" name "\"")

TestSuite(trace_dtr);

static void expect_op(const cebus_entry *entry, const char *name, uint64_t line, size_t n_in,
                      size_t n_out)
{
    cr_assert_eq(entry->kind, CEBUS_ENTRY_OP);
    cr_expect_str_eq(entry->name, name);
    cr_expect_eq(entry->line, line);
    cr_assert_eq(entry->n_in, n_in);
    cr_assert_eq(entry->n_out, n_out);
    cr_expect(entry->flags == 0 && entry->hash == 0 && entry->workspace == 0);
}

static void expect_free(cebus_trace_source *source, uint64_t value)
{
    cebus_entry entry = trace_next(source);
    cr_expect_eq(entry.kind, CEBUS_ENTRY_FREE);
    cr_expect_eq(entry.value, value);
}

Test(trace_dtr, constants_and_calls_make_values)
{
    cebus_trace_source *source = trace_open(
        START CONSTANT("x1", "64")
            LINE("CALL", "\"ARGS\": [\"x1\", \"x1\"], \"NAME\": \"norm\", \"RESULT\": [\"x2\", "
                         "\"x3\"], \"TIME\": 900")
                LINE("MEMORY", "\"NAME\": \"x2\", \"MEMORY\": 32") ALIAS("x2", "-1")
                    MEMORY("x3", "0") LINE("ALIAS", "\"NAME\": \"x3\", \"ALIAS\": -1"),
        true);
    cr_expect_str_eq(cebus_trace_source_machine(source), "");
    cebus_entry entry = trace_next(source);
    cr_expect(entry.kind == CEBUS_ENTRY_CONST && entry.persistent && entry.bytes == 64);
    cr_expect(entry.line == 2 && entry.value == 1);
    entry = trace_next(source);
    expect_op(&entry, "norm", 4, 2, 2);
    cr_expect(entry.cost_ns == 900 && entry.id == 1);
    cr_expect(entry.in[0] == 1 && entry.in[1] == 1);
    cr_expect(entry.out[0].bytes == 32 && entry.out[0].alias_of == -1);
    cr_expect(entry.out[1].bytes == 0 && entry.out[1].value != entry.out[0].value);
    trace_end(source);
}

Test(trace_dtr, a_view_is_one_more_name)
{
    cebus_trace_source *source = trace_open(
        CALL("make", "", "\"x1\"") MEMORY("x1", "8") ALIAS("x1", "-1")
            CALL("view", "\"x1\"", "\"x2\"") MEMORY("x2", "8") ALIAS("x2", "0") RELEASE("x1")
                CALL("use", "\"x2\"", "\"x3\"") MEMORY("x3", "4") ALIAS("x3", "-1") RELEASE("x2"),
        true);
    cebus_entry entry = trace_next(source);
    expect_op(&entry, "make", 1, 0, 1);
    uint64_t value = entry.out[0].value;
    entry = trace_next(source);
    expect_op(&entry, "view", 4, 0, 0);
    cr_expect_eq(entry.cost_ns, 700);
    entry = trace_next(source);
    expect_op(&entry, "use", 8, 1, 1);
    cr_expect_eq(entry.in[0], value);
    expect_free(source, value);
    trace_end(source);
}

Test(trace_dtr, a_call_may_make_views_and_values)
{
    cebus_trace_source *source = trace_open(
        CONSTANT("x1", "8") CALL("both", "\"x1\"", "\"x2\", \"x3\"") MEMORY("x2", "8")
            ALIAS("x2", "0") MEMORY("x3", "16") ALIAS("x3", "-1") RELEASE("x1") RELEASE("x2")
                CALL("use", "\"x3\"", "\"x4\"") MEMORY("x4", "1") ALIAS("x4", "-1"),
        true);
    cr_expect_eq(trace_next(source).value, 1);
    cebus_entry entry = trace_next(source);
    expect_op(&entry, "both", 3, 1, 1);
    cr_expect_eq(entry.out[0].bytes, 16);
    entry = trace_next(source);
    expect_op(&entry, "use", 10, 1, 1);
    trace_end(source);
}

Test(trace_dtr, copies_move_references)
{
    cebus_trace_source *source =
        trace_open(CALL("a", "", "\"x1\"") MEMORY("x1", "8") ALIAS("x1", "-1")
                       CALL("b", "", "\"x2\"") MEMORY("x2", "8") ALIAS("x2", "-1") COPY("x3", "x1")
                           COPY_FROM("x3", "x2") COPY_FROM("x3", "x3") RELEASE("x1")
                               COPY_FROM("x2", "x3") RELEASE("x2") RELEASE("x3"),
                   true);
    uint64_t a = trace_next(source).out[0].value, b = trace_next(source).out[0].value;
    expect_free(source, a);
    cebus_entry entry = trace_next(source);
    cr_expect(entry.kind == CEBUS_ENTRY_FREE && entry.value == b && entry.line == 13);
    trace_end(source);
}

Test(trace_dtr, a_mutation_makes_values_and_takes_their_names)
{
    cebus_trace_source *source = trace_open(
        CONSTANT("x1", "8") CALL("a", "", "\"x2\"") MEMORY("x2", "16") ALIAS("x2", "-1")
            COPY("x3", "x2") MUTATE("f_", "\"x1\", \"x2\", \"x3\"", "0, 2, \"1\"")
                CALL("use", "\"x1\", \"x2\", \"x3\"", "\"x4\"") MEMORY("x4", "1") ALIAS("x4", "-1"),
        true);
    uint64_t constant = trace_next(source).value, a = trace_next(source).out[0].value;
    cebus_entry entry = trace_next(source);
    expect_op(&entry, "f_", 7, 3, 3);
    cr_expect_eq(entry.cost_ns, 30);
    cr_expect(entry.in[0] == constant && entry.in[1] == a && entry.in[2] == a);
    uint64_t made[3] = {entry.out[0].value, entry.out[1].value, entry.out[2].value};
    cr_expect(entry.out[0].bytes == 8 && entry.out[1].bytes == 16 && entry.out[2].bytes == 16);
    expect_free(source, a);
    entry = trace_next(source);
    expect_op(&entry, "use", 8, 3, 1);
    cr_expect(entry.in[0] == made[0] && entry.in[1] == made[2] && entry.in[2] == made[1],
              "the third name was written second");
    trace_end(source);
}

Test(trace_dtr, writing_one_name_twice_frees_what_lay_between)
{
    cebus_trace_source *source =
        trace_open(CALL("a", "", "\"x1\"") MEMORY("x1", "8") ALIAS("x1", "-1")
                       MUTATE("f_", "\"x1\", \"x1\"", "0, 1") RELEASE("x1"),
                   true);
    uint64_t a = trace_next(source).out[0].value;
    cebus_entry entry = trace_next(source);
    expect_op(&entry, "f_", 4, 2, 2);
    uint64_t between = entry.out[0].value, last = entry.out[1].value;
    expect_free(source, a);
    expect_free(source, between);
    expect_free(source, last);
    trace_end(source);
}

Test(trace_dtr, leaves_out_what_stands_before_start)
{
    cebus_trace_source *source =
        trace_open("not even JSON\n" CONSTANT("x1", "8") LINE("NONSENSE", "\"NAME\": \"START\"")
                       START START LINE("ANNOTATE", "\"ANNOTATION\": \"BACKWARD\"") RELEASE("x1")
                           CONSTANT("x9", "8"),
                   true);
    cebus_entry entry = trace_next(source);
    cr_expect(entry.kind == CEBUS_ENTRY_CONST && entry.line == 9);
    trace_end(source);
    static const trace_fault fault = {CALL("f", "\"x1\"", "\"x2\""), 1,
                                      "\"x1\" is used before anything makes it"};
    trace_check_fault(&fault, CONSTANT("x1", "8") START, true);
}

Test(trace_dtr, a_start_that_is_no_json_is_refused)
{
    static const trace_fault fault = {"{\"INSTRUCTION\": \"ANNOTATE\", \"ANNOTATION\": \"START\"\n",
                                      1, "not a JSON object"};
    trace_check_fault(&fault, CONSTANT("x1", "8"), true);
}

Test(trace_dtr, needs_start_only_where_it_cannot_read_twice)
{
    char why[464], path[64];
    int ends[2];
    cebus_trace_source *source;
    cebus_host_allocator host = cebus_host_allocator_default();
    cr_assert_eq(pipe(ends), 0);
    cr_assert_geq(write(ends[1], CONSTANT("x1", "8"), strlen(CONSTANT("x1", "8"))), 0);
    close(ends[1]);
    snprintf(path, sizeof path, "/proc/self/fd/%d", ends[0]);
    cr_expect_eq(
        cebus_trace_source_open(&host, path, true, &trace_bounds, why, sizeof why, &source),
        CEBUS_INVALID_ARGUMENT);
    cr_expect_not_null(strstr(why, "must be given as a file"), "%s", why);
    source = trace_open(CONSTANT("x1", "8"), true);
    cr_expect_eq(trace_next(source).bytes, 8);
    trace_end(source);
}

Test(trace_dtr, takes_names_of_any_length)
{
    cebus_trace_source *source = trace_open(
        CONSTANT("a", "1") CONSTANT("123456789012345", "2") CONSTANT("1234567890123456", "3")
            CONSTANT("a name that is much longer than sixteen bytes", "4")
                CONSTANT("a name that is much longer than sixteen byteS", "5")
                    CALL("f",
                         "\"1234567890123456\", \"123456789012345\", \"a\", \"a name that is much "
                         "longer than sixteen byteS\"",
                         "\"out\"") MEMORY("out", "1") ALIAS("out", "-1"),
        true);
    for (uint64_t i = 1; i <= 5; i++)
        cr_expect_eq(trace_next(source).bytes, i);
    cebus_entry entry = trace_next(source);
    cr_assert_eq(entry.n_in, 4);
    cr_expect(entry.in[0] == 3 && entry.in[1] == 2 && entry.in[2] == 1 && entry.in[3] == 5);
    trace_end(source);
}

Test(trace_dtr, a_released_name_will_do_while_its_value_lives)
{
    cebus_trace_source *source = trace_open(
        CALL("a", "", "\"x1\"") MEMORY("x1", "8") ALIAS("x1", "-1") COPY("x2", "x1") RELEASE("x1")
            CALL("use", "\"x1\"", "\"x3\"") MEMORY("x3", "1") ALIAS("x3", "-1"),
        true);
    uint64_t a = trace_next(source).out[0].value;
    cebus_entry entry = trace_next(source);
    expect_op(&entry, "use", 6, 1, 1);
    cr_expect_eq(entry.in[0], a);
    trace_end(source);
}

/** After lines that make x1 (a constant) and x2. */
static void check_faults(const trace_fault *faults, size_t count)
{
    for (size_t i = 0; i < count; i++)
        trace_check_fault(&faults[i],
                          START CONSTANT("x1", "8") CALL("a", "", "\"x2\"") MEMORY("x2", "8")
                              ALIAS("x2", "-1"),
                          true);
}

Test(trace_dtr, refuses_lines_that_make_no_sense)
{
    static const trace_fault faults[] = {
        {"{\"NAME\": \"x1\"}\n", 1, "the key \"INSTRUCTION\" is missing"},
        {LINE("JUMP", "\"NAME\": \"x1\""), 1, "unknown INSTRUCTION \"JUMP\""},
        {"[]\n", 1, "the line is a list"},
        {"{\"INSTRUCTION\": \"RELEASE\", \"NAME\": \"x1\"", 1, "not a JSON object"},
        {"{\"INSTRUCTION\": \"COPY\", \"SRC\": \"x1\", \"DST\": \"x9\", \"DST\": \"x8\"}\n", 1,
         "duplicate"},
        {LINE("CONSTANT", "\"NAME\": \"x9\""), 1, "the file ends where a line MEMORY of \"x9\""},
        {LINE("CONSTANT", "\"NAME\": \"x9\"") RELEASE("x1"), 2, "RELEASE where a line MEMORY"},
        {LINE("CONSTANT", "\"NAME\": \"x9\"") MEMORY("x8", "8"), 2,
         "MEMORY of \"x8\" where that of \"x9\""},
        {CONSTANT("x1", "8"), 2, "\"x1\" is made a second time"},
        {CONSTANT("x9", "-8"), 2, "a number of digits alone"},
        {CONSTANT("x9", ""), 2, "a number of digits alone"},
        {CONSTANT("x9", "1.5"), 2, "a number of digits alone"},
        {CONSTANT("x9", "99999999999999999999"), 2, "below 2^64"},
        {CONSTANT("x9", "9223372036854775808"), 2, "at most 1125899906842624 is allowed"},
        {LINE("CONSTANT", "\"NAME\": \"x9\"") LINE("MEMORY", "\"NAME\": \"x9\", \"MEMORY\": -1"), 2,
         "must not be negative"},
        {LINE("CONSTANT", "\"NAME\": \"x9\"") LINE("MEMORY", "\"NAME\": \"x9\", \"MEMORY\": 1.0"),
         2, "fraction"},
        {LINE("CONSTANT", "\"NAME\": \"x9\"") LINE("MEMORY", "\"NAME\": \"x9\""), 2,
         "the key \"MEMORY\" is missing"},
        {LINE("CONSTANT", "\"NAME\": 9"), 1, "\"NAME\" is an integer"},
        {MEMORY("x1", "8"), 1, "MEMORY without a CONSTANT or CALL"},
        {ALIAS("x1", "0"), 1, "ALIAS without a CONSTANT or CALL"},
    };
    check_faults(faults, sizeof faults / sizeof *faults);
}

Test(trace_dtr, refuses_calls_and_references_that_make_no_sense)
{
    static const trace_fault faults[] = {
        {CALL("f", "\"x7\"", "\"x9\""), 1, "\"x7\" is used before anything makes it"},
        {CALL("f", "7", "\"x9\""), 1, "\"ARGS\" is an integer"},
        {CALL("f", "", ""), 1, "the call has no RESULT"},
        {CALL("f", "", "9"), 1, "\"RESULT\" is an integer"},
        {LINE("CALL", "\"NAME\": \"f\", \"ARGS\": [], \"RESULT\": \"x9\", \"TIME\": 1"), 1,
         "\"RESULT\" is a string; it must be a list"},
        {LINE("CALL", "\"NAME\": \"f\", \"ARGS\": [], \"RESULT\": [\"x9\"]"), 1,
         "the key \"TIME\" is missing"},
        {LINE("CALL", "\"NAME\": \"f\", \"ARGS\": [], \"RESULT\": [\"x9\"], \"TIME\": \"-5\""), 1,
         "\"TIME\" is \"-5\""},
        {LINE("CALL", "\"NAME\": \"f\", \"RESULT\": [\"x9\"], \"TIME\": \"5\""), 1,
         "the key \"ARGS\" is missing"},
        {CALL("f", "", "\"x9\""), 1, "the file ends where a line MEMORY"},
        {CALL("f", "", "\"x9\"") MEMORY("x9", "8"), 2, "the file ends where a line ALIAS"},
        {CALL("f", "", "\"x9\"") ALIAS("x9", "-1"), 2, "ALIAS where a line MEMORY"},
        {CALL("f", "\"x1\"", "\"x9\"") MEMORY("x9", "8") ALIAS("x9", "1"), 3,
         "ALIAS is 1, but the call has 1 arguments"},
        {CALL("f", "\"x1\"", "\"x9\"") MEMORY("x9", "8") ALIAS("x9", "-2"), 3, "\"ALIAS\" is"},
        {CALL("f", "", "\"x9\", \"x9\"") MEMORY("x9", "8") ALIAS("x9", "-1") MEMORY("x9", "8")
             ALIAS("x9", "-1"),
         5, "\"x9\" is made a second time"},
        {CALL("f", "\"x9\"", "\"x9\""), 1, "\"x9\" is used before anything makes it"},
        {MUTATE("f_", "\"x1\"", "1"), 1, "MUTATE lists 1, but there are 1 arguments"},
        {MUTATE("f_", "\"x1\"", "-1"), 1, "\"MUTATE\" is -1"},
        {MUTATE("f_", "\"x7\"", "0"), 1, "\"x7\" is used before anything makes it"},
        {COPY("x9", "x7"), 1, "\"x7\" is used before anything makes it"},
        {COPY("x1", "x2"), 1, "\"x1\" is made a second time"},
        {COPY_FROM("x9", "x1"), 1, "\"x9\" is used before anything makes it"},
        {COPY_FROM("x1", "x9"), 1, "\"x9\" is used before anything makes it"},
        {RELEASE("x2") RELEASE("x2"), 2, "\"x2\" is released a second time"},
        {RELEASE("x2") CALL("f", "\"x2\"", "\"x9\""), 2, "\"x2\" is used after it was released"},
        {RELEASE("x2") COPY("x9", "x2"), 2, "\"x2\" is used after it was released"},
        {RELEASE("x2") COPY_FROM("x2", "x1"), 2, "\"x2\" is written after it was released"},
        {COPY("x9", "x2") RELEASE("x2") MUTATE("f_", "\"x2\"", "0"), 3,
         "\"x2\" is written after it was released"},
        {LINE("ANNOTATE", "\"NOTE\": 1"), 1, "the key \"ANNOTATION\" is missing"},
        {LINE("RELEASE", "\"NAME\": null"), 1, "\"NAME\" is null"},
    };
    check_faults(faults, sizeof faults / sizeof *faults);
}

Test(trace_dtr, a_byte_order_mark_is_no_part_of_the_first_line)
{
    trace_end(trace_open("\xEF\xBB\xBF" START, true));
    static const trace_fault later = {"\xEF\xBB\xBF", 1, "not a JSON object"};
    trace_check_fault(&later, START, true);
}

Test(trace_dtr, an_empty_log_is_no_log)
{
    static const trace_fault faults[] = {{"", 0, "the file is empty"},
                                         {"\n\n", 2, "the file is empty"}};
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        trace_check_fault(&faults[i], "", true);
    trace_end(trace_open(START, true));
}

#endif
