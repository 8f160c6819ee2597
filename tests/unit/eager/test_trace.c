#include <criterion/criterion.h>

#include "cebus_config.h"

#if CEBUS_HAVE_JSON

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "program.h"

TestSuite(trace);

/** A new empty file in memory, by a name to open. */
static void new_file(char *path)
{
    int fd = memfd_create("trace", 0);
    cr_assert_geq(fd, 0);
    snprintf(path, 64, "/proc/self/fd/%d", fd);
}

/** A whole file as text; free() it. */
static char *read_text(const char *path)
{
    size_t used = 0, room = 1 << 20;
    char *text = malloc(room);
    FILE *file = fopen(path, "r");
    cr_assert(text != NULL && file != NULL);
    for (size_t got; (got = fread(text + used, 1, room - used - 1, file)) > 0; used += got) {
        if (room - used - got < 2)
            cr_assert_not_null(text = realloc(text, room *= 2));
    }
    fclose(file);
    text[used] = '\0';
    return text;
}

static cebus_trace_reader *open_trace(const char *path)
{
    cebus_trace_reader *reader;
    OK(cebus_trace_reader_open(path, CEBUS_TRACE_CEBUS, NULL, &reader));
    return reader;
}

static cebus_trace_item next(cebus_trace_reader *reader)
{
    bool end;
    cebus_trace_item item;
    OK(cebus_trace_reader_next(reader, &item, &end));
    cr_assert_not(end, "the trace ends too early");
    return item;
}

static void expect_end(cebus_trace_reader *reader)
{
    bool end;
    cebus_trace_item item;
    OK(cebus_trace_reader_next(reader, &item, &end));
    cr_expect(end, "line %" PRIu64 " is too much", item.line);
    cebus_trace_reader_close(reader);
}

static cebus_trace_item expect_const(cebus_trace_reader *reader, uint64_t bytes, bool persistent)
{
    cebus_trace_item item = next(reader);
    cr_assert_eq(item.kind, CEBUS_TRACE_CONST);
    cr_expect(item.bytes == bytes && item.persistent == persistent);
    return item;
}

static cebus_trace_item expect_op(cebus_trace_reader *reader, const char *name, size_t n_in)
{
    cebus_trace_item item = next(reader);
    cr_assert_eq(item.kind, CEBUS_TRACE_OP);
    cr_expect_str_eq(item.name, name);
    cr_assert_eq(item.n_in, n_in);
    cr_assert_eq(item.n_out, 1);
    cr_expect(item.cost_ns > 0 && item.hash != 0);
    return item;
}

static void expect_free(cebus_trace_reader *reader, uint64_t value)
{
    cebus_trace_item item = next(reader);
    cr_assert_eq(item.kind, CEBUS_TRACE_FREE);
    cr_expect_eq(item.value, value);
}

Test(trace, tells_calls_leaves_frees_and_marks)
{
    char path[64];
    cebus_runtime *rt = open_runtime(1 << 20, "coop", 0);
    cebus_tensor *old = leaf(rt, 32, 1), *w = leaf(rt, 16, 2), *y, *z;
    OK(cebus_tensor_set_persistent(w));
    new_file(path);
    OK(cebus_trace_start(rt, path));
    OK(cebus_exp(rt, old, &y));
    cebus_tensor_release(old);
    OK(cebus_iteration_mark(rt));
    OK(cebus_mul(rt, w, w, &z));
    OK(cebus_iteration_mark(rt));
    cebus_tensor_release(z);
    cebus_tensor_release(w);
    OK(cebus_trace_stop(rt));
    cebus_tensor_release(y);
    cebus_runtime_destroy(rt);

    cebus_trace_reader *reader = open_trace(path);
    cr_expect_str_eq(cebus_trace_reader_machine(reader), "cpu");
    uint64_t leaf_id = expect_const(reader, 128, false).value;
    cebus_trace_item item = expect_op(reader, "exp", 1);
    cr_expect(item.id == 1 && item.in[0] == leaf_id && item.flags == 0);
    cr_expect(item.out[0].bytes == 128 && item.out[0].alias_of == -1);
    expect_free(reader, leaf_id);
    item = next(reader);
    cr_expect(item.kind == CEBUS_TRACE_MARK && item.id == 1);
    uint64_t w_id = expect_const(reader, 64, true).value;
    item = expect_op(reader, "mul", 2);
    cr_expect(item.id == 2 && item.in[0] == w_id && item.in[1] == w_id);
    uint64_t z_id = item.out[0].value;
    item = next(reader);
    cr_expect(item.kind == CEBUS_TRACE_MARK && item.id == 2);
    expect_free(reader, z_id);
    expect_end(reader);
}

Test(trace, leaves_keep_their_ids_when_written_and_results_do_not)
{
    char path[64];
    cebus_runtime *rt = open_runtime(1 << 20, "coop", 0);
    cebus_tensor *w = leaf(rt, 16, 2), *y, *z;
    OK(cebus_exp(rt, w, &z));
    OK(cebus_tensor_set_persistent(z));
    new_file(path);
    OK(cebus_trace_start(rt, path));
    OK(cebus_add_scalar_(rt, w, 1));
    OK(cebus_exp(rt, w, &y));
    OK(cebus_mul_(rt, y, w));
    OK(cebus_add_scalar_(rt, z, 1));
    OK(cebus_trace_stop(rt));
    cr_expect_float_eq(at(z, 0), (float)exp(2) + 1, 1e-5);
    cebus_tensor_release(w);
    cebus_tensor_release(y);
    cebus_tensor_release(z);
    cebus_runtime_destroy(rt);

    cebus_trace_reader *reader = open_trace(path);
    uint64_t w_id = expect_const(reader, 64, false).value;
    cebus_trace_item item = expect_op(reader, "add_scalar_", 1);
    cr_expect_eq(item.flags, CEBUS_TRACE_MUTATES);
    cr_expect(item.out[0].value == w_id && item.out[0].alias_of == 0);
    uint64_t y_id = expect_op(reader, "exp", 1).out[0].value;
    item = expect_op(reader, "mul_", 2);
    cr_expect(item.in[0] == y_id && item.in[1] == w_id);
    cr_expect(item.out[0].value != y_id && item.out[0].alias_of == 0);
    expect_free(reader, y_id);
    uint64_t z_id = expect_const(reader, 64, true).value;
    item = expect_op(reader, "add_scalar_", 1);
    cr_expect_eq(item.out[0].value, z_id, "a result made persistent is one for good");
    expect_end(reader);
}

/** Whether the record of a written value was cut must not show. */
Test(trace, a_written_result_is_a_new_value_though_its_record_was_cut)
{
    char path[64];
    cebus_runtime *rt = open_runtime(1 << 20, "coop", 0);
    cebus_tensor *x = leaf(rt, 16, 2), *y;
    new_file(path);
    OK(cebus_trace_start(rt, path));
    OK(cebus_exp(rt, x, &y));
    OK(cebus_add_scalar_(rt, x, 1)); /* cuts the record of y */
    OK(cebus_add_scalar_(rt, y, 1));
    OK(cebus_trace_stop(rt));
    cebus_tensor_release(x);
    cebus_tensor_release(y);
    cebus_runtime_destroy(rt);

    cebus_trace_reader *reader = open_trace(path);
    (void)expect_const(reader, 64, false);
    uint64_t y_id = expect_op(reader, "exp", 1).out[0].value;
    (void)expect_op(reader, "add_scalar_", 1);
    cr_expect_neq(expect_op(reader, "add_scalar_", 1).out[0].value, y_id);
    expect_free(reader, y_id);
    expect_end(reader);
}

static cebus_status stumble(const cebus_custom_launch *launch)
{
    *(float *)launch->out[0].data = 7;
    return CEBUS_INVALID_ARGUMENT;
}

/** What a kernel wrote before it failed is what its tensor holds from then on, and no replay makes
 * it, or what the write was done to, again. */
Test(trace, tells_of_a_write_in_place_that_failed_half_way)
{
    static const cebus_custom_op op = {
        .struct_size = sizeof op, .name = "stumble", .mutates = 1, .n_out = 1, .run = stumble};
    char path[64];
    cebus_runtime *rt = open_runtime(1 << 20, "coop", 0);
    cebus_tensor *x = leaf(rt, 16, 2), *y, *z;
    new_file(path);
    OK(cebus_trace_start(rt, path));
    OK(cebus_exp(rt, x, &y));
    cr_expect_eq(cebus_call_custom(rt, &op, NULL, 0, &y, 1, &z), CEBUS_INVALID_ARGUMENT);
    cr_expect_eq(cebus_call_custom(rt, &op, NULL, 0, &x, 1, &z), CEBUS_INVALID_ARGUMENT);
    OK(cebus_add(rt, x, y, &z));
    OK(cebus_trace_stop(rt));
    cebus_tensor_release(x);
    cebus_tensor_release(y);
    cebus_tensor_release(z);
    cebus_runtime_destroy(rt);

    cebus_trace_reader *reader = open_trace(path);
    uint64_t x_id = expect_const(reader, 64, false).value;
    uint64_t y_id = expect_op(reader, "exp", 1).out[0].value;
    cebus_trace_item item = expect_op(reader, "stumble", 1);
    cr_expect_eq(item.flags, CEBUS_TRACE_MUTATES | CEBUS_TRACE_NONREPLAYABLE);
    uint64_t written_id = item.out[0].value;
    cr_expect(item.in[0] == y_id && written_id != y_id && item.out[0].alias_of == 0);
    expect_free(reader, y_id);
    item = expect_op(reader, "stumble", 1);
    cr_expect(item.in[0] == x_id && item.out[0].value == x_id);
    item = expect_op(reader, "add", 2);
    cr_expect(item.in[0] == x_id && item.in[1] == written_id);
    expect_end(reader);
}

Test(trace, what_a_backward_used_is_freed_as_it_goes)
{
    char path[64];
    cebus_runtime *rt = open_runtime(1 << 20, "coop", 0);
    cebus_tensor *w = leaf(rt, 1, 2), *a, *b;
    OK(cebus_tensor_set_requires_grad(w, true));
    new_file(path);
    OK(cebus_trace_start(rt, path));
    OK(cebus_exp(rt, w, &a)); /* saves its output */
    OK(cebus_exp(rt, a, &b));
    cebus_tensor_release(a);
    OK(cebus_backward(rt, b, NULL, false));
    OK(cebus_trace_stop(rt));
    cebus_tensor_release(w);
    cebus_tensor_release(b);
    cebus_runtime_destroy(rt);

    bool end = false;
    uint64_t a_id = 0, freed_at = 0, ops = 0;
    cebus_trace_reader *reader = open_trace(path);
    for (;;) {
        cebus_trace_item item;
        OK(cebus_trace_reader_next(reader, &item, &end));
        if (end)
            break;
        ops += item.kind == CEBUS_TRACE_OP;
        if (ops == 1 && item.kind == CEBUS_TRACE_OP)
            a_id = item.out[0].value;
        if (item.kind == CEBUS_TRACE_FREE && item.value == a_id)
            freed_at = ops;
    }
    cr_expect_gt(freed_at, 2, "the graph held it through the forward");
    cr_expect_leq(freed_at, ops);
    cebus_trace_reader_close(reader);
}

Test(trace, a_second_one_starts_anew)
{
    char path[2][64];
    cebus_runtime *rt = open_runtime(1 << 20, "coop", 0);
    cebus_tensor *x = leaf(rt, 16, 2), *y;
    for (int i = 0; i < 2; i++) {
        new_file(path[i]);
        OK(cebus_trace_start(rt, path[i]));
        OK(cebus_exp(rt, x, &y));
        cebus_tensor_release(y);
        FAILS(CEBUS_INVALID_ARGUMENT, "cebus_trace_stop() it first",
              cebus_trace_start(rt, path[i]));
        OK(cebus_trace_stop(rt));
        OK(cebus_exp(rt, x, &y));
        cebus_tensor_release(y);
    }
    char *first = read_text(path[0]), *second = read_text(path[1]);
    cr_expect_str_eq(first, second);
    cr_expect_not_null(strstr(first, "{\"const\": 1, "));
    free(first);
    free(second);
    FAILS(CEBUS_INVALID_ARGUMENT, "no trace is being recorded", cebus_trace_stop(rt));
    cebus_tensor_release(x);
    cebus_runtime_destroy(rt);
}

Test(trace, the_end_of_the_runtime_completes_it)
{
    char path[64];
    cebus_runtime *rt = open_runtime(1 << 20, "coop", 0);
    cebus_tensor *x = leaf(rt, 16, 2), *y;
    new_file(path);
    OK(cebus_trace_start(rt, path));
    OK(cebus_exp(rt, x, &y));
    cebus_runtime_destroy(rt);
    cebus_tensor_release(x);
    cebus_tensor_release(y);
    cebus_trace_reader *reader = open_trace(path);
    uint64_t x_id = expect_const(reader, 64, false).value;
    uint64_t y_id = expect_op(reader, "exp", 1).out[0].value;
    expect_free(reader, x_id);
    expect_free(reader, y_id);
    expect_end(reader);
}

static cebus_status infer_same(void *user, const void *attrs, const cebus_view *const *in,
                               uint32_t n_in, cebus_view *out)
{
    (void)user, (void)attrs, (void)n_in;
    *out = *in[0];
    return CEBUS_OK;
}

static cebus_status run_nothing(const cebus_custom_launch *launch)
{
    (void)launch;
    return CEBUS_OK;
}

static uint64_t ask_scratch(const cebus_custom_launch *launch)
{
    (void)launch;
    return 320;
}

Test(trace, the_machine_is_the_device_as_it_was_named)
{
    char path[64];
    cebus_runtime *rt;
    cebus_runtime_options options = CEBUS_RUNTIME_OPTIONS_INIT;
    options.device = "sim:titanv-12g";
    OK(cebus_runtime_create(&options, &rt));
    new_file(path);
    OK(cebus_trace_start(rt, path));
    cebus_tensor *x = leaf(rt, 1 << 16, 1), *y;
    OK(cebus_exp(rt, x, &y));
    OK(cebus_trace_stop(rt));
    cebus_tensor_release(x);
    cebus_tensor_release(y);
    cebus_runtime_destroy(rt);
    cebus_trace_reader *reader = open_trace(path);
    cr_expect_str_eq(cebus_trace_reader_machine(reader), "sim:titanv-12g");
    (void)expect_const(reader, 1 << 18, false);
    (void)expect_op(reader, "exp", 1);
    expect_end(reader);
}

Test(trace, names_are_written_so_that_they_can_be_read)
{
    char path[64];
    cebus_runtime *rt = open_runtime(1 << 20, "coop", 0);
    cebus_tensor *x = leaf(rt, 16, 2), *y;
    static const char *const names[] = {"a\"b\\c\n\x01", "caf\u00e9 \u20ac \U0001F412",
                                        "\xff\xc3(\xe2\x82 \xed\xa0\x80"};
    static const char *const wanted[] = {"a\"b\\c\n\x01", "caf\u00e9 \u20ac \U0001F412",
                                         "?\?(?\? ??\?"};
    static cebus_custom_op ops[3];
    new_file(path);
    OK(cebus_trace_start(rt, path));
    for (int i = 0; i < 3; i++) {
        ops[i] = (cebus_custom_op){.struct_size = sizeof *ops,
                                   .name = names[i],
                                   .flags = i == 1 ? CEBUS_CUSTOM_NONREPLAYABLE : CEBUS_CUSTOM_RNG,
                                   .n_out = 1,
                                   .infer = infer_same,
                                   .workspace = ask_scratch,
                                   .run = run_nothing};
        OK(cebus_call_custom(rt, &ops[i], NULL, 0, &x, 1, &y));
        cebus_tensor_release(y);
    }
    OK(cebus_trace_stop(rt));
    cebus_tensor_release(x);
    cebus_runtime_destroy(rt);
    cebus_trace_reader *reader = open_trace(path);
    (void)expect_const(reader, 64, false);
    for (int i = 0; i < 3; i++) {
        cebus_trace_item item = expect_op(reader, wanted[i], 1);
        cr_expect_eq(item.flags, i == 1 ? CEBUS_TRACE_NONREPLAYABLE : CEBUS_TRACE_RNG);
        cr_expect_eq(item.workspace, 320);
        expect_free(reader, item.out[0].value);
    }
    expect_end(reader);
}

Test(trace, a_reader_is_opened_with_sense)
{
    cebus_trace_item item;
    bool end;
    cebus_trace_reader *reader;
    cebus_trace_limits limits = CEBUS_TRACE_LIMITS_INIT;
    FAILS(CEBUS_INVALID_ARGUMENT, "out is NULL",
          cebus_trace_reader_open("x", CEBUS_TRACE_CEBUS, NULL, NULL));
    FAILS(CEBUS_INVALID_ARGUMENT, "the path is NULL",
          cebus_trace_reader_open(NULL, CEBUS_TRACE_CEBUS, NULL, &reader));
    FAILS(CEBUS_INVALID_ARGUMENT, "unknown format 7",
          cebus_trace_reader_open("x", (cebus_trace_format)7, NULL, &reader));
    FAILS(CEBUS_INVALID_ARGUMENT, "cannot open \"x/y\"",
          cebus_trace_reader_open("x/y", CEBUS_TRACE_DTR, NULL, &reader));
    limits.bytes = (UINT64_C(1) << 58) + 1;
    FAILS(CEBUS_INVALID_ARGUMENT, "limits.bytes is",
          cebus_trace_reader_open("x", CEBUS_TRACE_CEBUS, &limits, &reader));
    limits = (cebus_trace_limits){.struct_size = sizeof limits, .items = UINT64_C(1) << 31};
    FAILS(CEBUS_INVALID_ARGUMENT, "limits.items is",
          cebus_trace_reader_open("x", CEBUS_TRACE_CEBUS, &limits, &reader));
    limits = (cebus_trace_limits){.struct_size = 0};
    FAILS(CEBUS_INVALID_ARGUMENT, "CEBUS_TRACE_LIMITS_INIT",
          cebus_trace_reader_open("x", CEBUS_TRACE_CEBUS, &limits, &reader));
    struct {
        cebus_trace_limits known;
        uint64_t later;
    } newer = {.known = {.struct_size = sizeof newer}, .later = 1};
    FAILS(CEBUS_INVALID_ARGUMENT, "this version does not know",
          cebus_trace_reader_open("x", CEBUS_TRACE_CEBUS, &newer.known, &reader));
    cr_expect_null(reader);
    FAILS(CEBUS_INVALID_ARGUMENT, "the reader is NULL", cebus_trace_reader_next(NULL, &item, &end));
    cr_expect_str_eq(cebus_trace_reader_machine(NULL), "");
    cebus_trace_reader_close(NULL);
}

Test(trace, limits_are_the_callers)
{
    char path[64];
    bool end;
    cebus_trace_item item;
    cebus_trace_reader *reader;
    cebus_trace_limits limits = {.struct_size = offsetof(cebus_trace_limits, bytes), .items = 2};
    new_file(path);
    FILE *file = fopen(path, "w");
    fputs("{\"cebus_trace\": 1}\n{\"const\": 1, \"bytes\": 8}\n{\"free\": 1}\n", file);
    fclose(file);
    OK(cebus_trace_reader_open(path, CEBUS_TRACE_CEBUS, &limits, &reader));
    OK(cebus_trace_reader_next(reader, &item, &end));
    FAILS(CEBUS_INVALID_ARGUMENT, ":3: more than 2 lines with content",
          cebus_trace_reader_next(reader, &item, &end));
    cr_expect(!end && item.bytes == 0 && item.value == 0);
    cebus_trace_reader_close(reader);
}

#endif
