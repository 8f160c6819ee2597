#include <criterion/criterion.h>

#include "program.h"

#include <pthread.h>

TestSuite(runtime);

Test(runtime, refuses_options_it_does_not_understand)
{
    struct {
        cebus_runtime_options known;
        uint64_t future;
    } newer = {{.struct_size = sizeof newer}, 0};
    cebus_runtime *rt;
    OK(cebus_runtime_create(&newer.known, &rt));
    cebus_runtime_destroy(rt);
    newer.future = 1;
    FAILS(CEBUS_INVALID_ARGUMENT, "does not know", cebus_runtime_create(&newer.known, &rt));
    cr_expect_null(rt);
    cebus_runtime_options options = CEBUS_RUNTIME_OPTIONS_INIT;
    options.policy = "best";
    FAILS(CEBUS_INVALID_ARGUMENT, "none, lru, dtr", cebus_runtime_create(&options, &rt));
    options = (cebus_runtime_options){.struct_size = sizeof options, .device = "abacus"};
    FAILS(CEBUS_UNSUPPORTED, "abacus", cebus_runtime_create(&options, &rt));
    options = (cebus_runtime_options){.struct_size = sizeof options, .threads = -1};
    FAILS(CEBUS_INVALID_ARGUMENT, "threads", cebus_runtime_create(&options, &rt));
    options = (cebus_runtime_options){.struct_size = sizeof options, .memory_budget = 1};
    FAILS(CEBUS_INVALID_ARGUMENT, "budget", cebus_runtime_create(&options, &rt));
    options = (cebus_runtime_options){.struct_size = sizeof options, .debug = 1U << 30};
    FAILS(CEBUS_INVALID_ARGUMENT, "debug", cebus_runtime_create(&options, &rt));
    options = (cebus_runtime_options){.struct_size = 0};
    FAILS(CEBUS_INVALID_ARGUMENT, "struct_size", cebus_runtime_create(&options, &rt));
    FAILS(CEBUS_INVALID_ARGUMENT, "out", cebus_runtime_create(NULL, NULL));
}

Test(runtime, reads_sizes)
{
    uint64_t bytes;
    static const struct {
        const char *text;
        uint64_t bytes;
    } good[] = {{"0", 0},
                {"1048576", 1048576},
                {"300MiB", 300ULL << 20},
                {"6GB", 6000000000},
                {"1.5KiB", 1536},
                {"40%", 400},
                {"12.5%", 125},
                {"2 GiB", 2ULL << 30},
                {"7B", 7},
                {"1.001KB", 1001},
                {"0.29%", 2},
                {"4.35 KiB", 4454}};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        OK(cebus_size_parse(good[i].text, 1000, &bytes));
        cr_expect_eq(bytes, good[i].bytes, "%s", good[i].text);
    }
    for (uint64_t whole = 33147860; whole < 33148860; whole++) {
        OK(cebus_size_parse("100%", whole, &bytes));
        cr_expect_eq(bytes, whole);
        OK(cebus_size_parse("7%", whole, &bytes));
        cr_expect_eq(bytes, whole * 7 / 100);
    }
    static const char *const bad[] = {"",     "GiB", "-1",   "6gb",   "nan",  "inf",
                                      "1e30", "1 2", "40%%", "0x10z", "6GiBs"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        cr_expect_eq(cebus_size_parse(bad[i], 1000, &bytes), CEBUS_INVALID_ARGUMENT, "%s", bad[i]);
    cr_expect_eq(cebus_size_parse(NULL, 1000, &bytes), CEBUS_INVALID_ARGUMENT);
}

Test(runtime, defaults_to_most_of_what_the_process_may_use)
{
    cebus_runtime *rt;
    OK(cebus_runtime_create(NULL, &rt));
    cr_expect_gt(cebus_runtime_budget(rt), 64 << 20);
    cr_expect_str_eq(cebus_runtime_policy(rt), "cebus");
    cr_expect_geq(cebus_runtime_threads(rt), 1);
    cr_expect_eq(cebus_memory_allocated(rt), 0);
    cebus_runtime_destroy(rt);
    cebus_runtime_destroy(NULL);
}

Test(runtime, lives_until_its_last_tensor)
{
    cebus_runtime *rt = open_runtime(1 << 20, NULL, 0);
    cebus_tensor *x = vector(rt, 4, 2), *y;
    cebus_runtime_destroy(rt);
    OK(cebus_mul(rt, x, x, &y));
    cr_expect_eq(at(y, 0), 4);
    cebus_tensor_release(x);
    cebus_tensor_release(y);
}

Test(runtime, keeps_runtimes_apart)
{
    cebus_runtime *a = open_runtime(1 << 20, NULL, 0), *b = open_runtime(1 << 20, NULL, 0);
    cebus_tensor *x = vector(a, 4, 2), *y = vector(b, 4, 2), *z;
    FAILS(CEBUS_RUNTIME_MISMATCH, "another runtime", cebus_add(a, x, y, &z));
    cr_expect_null(z);
    cebus_tensor_release(x);
    cebus_tensor_release(y);
    cebus_runtime_destroy(a);
    cebus_runtime_destroy(b);
}

static cebus_status pass(void *context, cebus_tensor *grad, cebus_tensor **out)
{
    (void)context;
    (void)grad;
    (void)out;
    return CEBUS_OK;
}

/** Each function of one tensor, given `x`: an error with `text` in it. */
static void expect_refused(cebus_tensor *x, const char *text)
{
    cebus_tensor *out;
    const void *address;
    float value;
    double number;
    uint64_t id;
    const cebus_grad_hook hook = {.struct_size = sizeof hook, .call = pass};
    FAILS(CEBUS_INVALID_ARGUMENT, text, cebus_tensor_to_host(x, &value, sizeof value));
    FAILS(CEBUS_INVALID_ARGUMENT, text, cebus_tensor_set_from_host(x, &value, sizeof value));
    FAILS(CEBUS_INVALID_ARGUMENT, text, cebus_tensor_item(x, &number));
    FAILS(CEBUS_INVALID_ARGUMENT, text, cebus_tensor_map(x, &address));
    FAILS(CEBUS_INVALID_ARGUMENT, text, cebus_tensor_set_persistent(x));
    FAILS(CEBUS_INVALID_ARGUMENT, text, cebus_tensor_set_requires_grad(x, true));
    FAILS(CEBUS_INVALID_ARGUMENT, text, cebus_tensor_grad(x, &out));
    FAILS(CEBUS_INVALID_ARGUMENT, text, cebus_tensor_set_grad(x, NULL));
    FAILS(CEBUS_INVALID_ARGUMENT, text, cebus_tensor_set_data(x, NULL));
    FAILS(CEBUS_INVALID_ARGUMENT, text, cebus_tensor_straighten(x));
    FAILS(CEBUS_INVALID_ARGUMENT, text, cebus_tensor_set_hint(x, CEBUS_HINT_MUST_SAVE));
    FAILS(CEBUS_INVALID_ARGUMENT, text, cebus_tensor_register_hook(x, &hook, &id));
    FAILS(CEBUS_INVALID_ARGUMENT, text, cebus_tensor_remove_hook(x, 1));
}

Test(runtime, tells_a_tensor_that_is_null)
{
    expect_refused(NULL, "the tensor is NULL");
}

#ifndef __SANITIZE_ADDRESS__
Test(runtime, tells_a_released_handle)
{
    cebus_runtime *rt = open_runtime(1 << 20, NULL, 0);
    cebus_tensor *x = vector(rt, 4, 2), *y = vector(rt, 4, 2), *z;
    cebus_tensor_release(x);
    FAILS(CEBUS_INVALID_ARGUMENT, "input 0 was released before", cebus_add(rt, x, y, &z));
    cr_expect_null(z);
    FAILS(CEBUS_INVALID_ARGUMENT, "released before", cebus_transpose(rt, x, 0, 0, &z));
    FAILS(CEBUS_INVALID_ARGUMENT, "gradient was released before", cebus_tensor_set_grad(y, x));
    expect_refused(x, "the tensor was released before");
    cebus_tensor_release(y);
    cebus_runtime_destroy(rt);
}
#endif

typedef struct log {
    int kinds[16];
    uint64_t top;
    cebus_runtime *rt;
} log;

static void note(void *context, const cebus_event *event)
{
    log *l = context;
    l->kinds[event->kind]++;
    if (event->kind == CEBUS_EVENT_PLACED && event->offset + event->bytes > l->top)
        l->top = event->offset + event->bytes;
    if (event->kind == CEBUS_EVENT_EVICTED && l->kinds[CEBUS_EVENT_EVICTED] == 1)
        cr_expect_gt(cebus_memory_allocated(l->rt), 0, "a hook may call cebus");
}

Test(runtime, tells_what_it_did)
{
    cebus_runtime *rt = open_runtime(1 << 14, "coop", 0);
    log l = {.rt = rt};
    cebus_runtime_set_event_hook(rt, note, &l);
    cebus_tensor *x = leaf(rt, 1024, 1), *y[6];
    for (int i = 0; i < 6; i++)
        OK(cebus_add_scalar(rt, x, i, &y[i]));
    cr_expect_eq(at(y[0], 0), 1);
    cr_expect_gt(l.kinds[CEBUS_EVENT_PLACED], 6);
    cr_expect_gt(l.kinds[CEBUS_EVENT_EVICTED], 2);
    cr_expect_gt(l.kinds[CEBUS_EVENT_REPLAYED], 0);
    cr_expect_leq(l.top, 1 << 14);
    OK(cebus_runtime_set_budget(rt, 1 << 15));
    cr_expect_eq(l.kinds[CEBUS_EVENT_BUDGET], 1);
    for (int i = 0; i < 6; i++)
        cebus_tensor_release(y[i]);
    cebus_tensor_release(x);
    cebus_runtime_destroy(rt);
}

Test(runtime, statistics_fill_what_the_caller_knows)
{
    cebus_runtime *rt = open_runtime(1 << 20, NULL, 0);
    cebus_tensor *x = vector(rt, 1024, 1);
    struct {
        size_t struct_size;
        uint64_t current, peak, untouched;
    } old = {.struct_size = 3 * sizeof(uint64_t), .untouched = 77};
    OK(cebus_runtime_memory_stats(rt, (cebus_memory_stats *)&old));
    cr_expect_eq(old.current, 4096);
    cr_expect_eq(old.peak, 4096);
    cr_expect_eq(old.untouched, 77);
    cebus_tensor_release(x);
    cr_expect_eq(cebus_max_memory_allocated(rt), 4096);
    cebus_reset_peak_memory_stats(rt);
    cr_expect_eq(cebus_max_memory_allocated(rt), 0);
    FAILS(CEBUS_INVALID_ARGUMENT, "NULL", cebus_runtime_memory_stats(rt, NULL));
    char text[512];
    cr_expect_gt(cebus_runtime_dump(rt, text, sizeof text), 0);
    OK(cebus_runtime_check(rt));
    OK(cebus_runtime_synchronize(rt));
    cebus_runtime_destroy(rt);
}

/** Works on tensors of its own and one that all threads share. */
static void *work(void *shared)
{
    cebus_tensor *x = shared;
    cebus_runtime *rt = cebus_tensor_runtime(x);
    for (int i = 0; i < 200; i++) {
        cebus_tensor *y = NULL, *z = NULL;
        double value;
        if (cebus_mul_scalar(rt, x, i, &y) != CEBUS_OK || cebus_sum(rt, y, 0, NULL, false, &z) ||
            cebus_tensor_item(z, &value) != CEBUS_OK || value != 512.0 * i)
            return shared;
        cebus_tensor_release(cebus_tensor_retain(x));
        cebus_tensor_release(y);
        cebus_tensor_release(z);
    }
    return NULL;
}

Test(runtime, serves_several_threads)
{
    pthread_t threads[4];
    cebus_runtime *rt = open_runtime(3 << 12, "coop", CEBUS_DEBUG_HASH);
    cebus_tensor *x = leaf(rt, 512, 1);
    for (int i = 0; i < 4; i++)
        cr_assert_eq(pthread_create(&threads[i], NULL, work, x), 0);
    for (int i = 0; i < 4; i++) {
        void *answer;
        pthread_join(threads[i], &answer);
        cr_expect_null(answer);
    }
    cebus_tensor_release(x);
    cr_expect_eq(cebus_memory_allocated(rt), 0);
    cebus_runtime_destroy(rt);
}
