#include <cebus/plan.h>
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "eager/guidance/plan_line.h"
#include "program.h"
#include "tests/support/host.h"
#include "tests/support/test_device.h"

TestSuite(loaded);

enum {
    LAYERS = 12,
    SIDE = 1024,
    ROWS = 4
};
#define MAP (UINT64_C(4) * ROWS * SIDE * SIDE)
#define BUDGET (2 * LAYERS * MAP / ROWS + 7 * MAP)

static const char *const planners[] = {"sublinear", "odswap", "capuchin", "cebus"};
enum {
    PLANNERS = sizeof planners / sizeof *planners
};

typedef struct net {
    cebus_runtime *rt;
    int layers;
    cebus_tensor *w[LAYERS];
    const char *refused; /**< why the last plan was */
} net;

static cebus_tensor *noise(cebus_runtime *rt, int64_t rows, int64_t side)
{
    cebus_tensor *out;
    OK(cebus_uniform(rt, (cebus_uniform_range){-0.1, 0.1}, CEBUS_F32, 2, (int64_t[]){rows, side},
                     &out));
    return out;
}

static void on_event(void *context, const cebus_event *event)
{
    if (event->kind == CEBUS_EVENT_PLAN_REFUSED)
        ((net *)context)->refused = event->op;
}

static void open_net(net *n, const char *policy, uint64_t budget, int layers)
{
    cebus_runtime_options options = CEBUS_RUNTIME_OPTIONS_INIT;
    options.device = "sim:titanv-12g";
    options.policy = policy;
    options.memory_budget = budget;
    *n = (net){.layers = layers};
    OK(cebus_runtime_create(&options, &n->rt));
    cebus_runtime_set_event_hook(n->rt, on_event, n);
    for (int i = 0; i < layers; i++) {
        n->w[i] = noise(n->rt, SIDE, SIDE);
        OK(cebus_tensor_set_persistent(n->w[i]));
        OK(cebus_tensor_set_requires_grad(n->w[i], true));
    }
}

static void close_net(net *n)
{
    for (int i = 0; i < n->layers; i++)
        cebus_tensor_release(n->w[i]);
    cebus_runtime_destroy(n->rt);
}

static void update(net *n)
{
    bool recorded = cebus_grad_enable(false);
    for (int i = 0; i < n->layers; i++) {
        cebus_tensor *grad;
        OK(cebus_tensor_grad(n->w[i], &grad));
        OK(cebus_add_(n->rt, n->w[i], grad, -0.01));
        cebus_tensor_release(grad);
        OK(cebus_tensor_set_grad(n->w[i], NULL));
    }
    cebus_grad_enable(recorded);
}

/** One iteration; answers its device time. */
static uint64_t step(net *n)
{
    uint64_t before = stats_of(n->rt).device_ns;
    cebus_tensor *h = noise(n->rt, ROWS * SIDE, SIDE), *y, *loss;
    for (int i = 0; i < n->layers; i++) {
        OK(cebus_matmul(n->rt, h, n->w[i], &y));
        cebus_tensor_release(h);
        OK(cebus_tanh(n->rt, y, &h));
        cebus_tensor_release(y);
    }
    OK(cebus_sum(n->rt, h, 0, NULL, false, &loss));
    cebus_tensor_release(h);
    OK(cebus_backward(n->rt, loss, NULL, false));
    cebus_tensor_release(loss);
    update(n);
    OK(cebus_iteration_mark(n->rt));
    return stats_of(n->rt).device_ns - before;
}

static uint64_t steps(net *n, int count)
{
    uint64_t last = 0;
    for (int i = 0; i < count; i++)
        last = step(n);
    return last;
}

static const char *path(void)
{
    static char name[64];
    snprintf(name, sizeof name, "/tmp/cebus-plan-%ld", (long)getpid());
    return name;
}

static char *read_file(void)
{
    static char text[1 << 20];
    FILE *from = fopen(path(), "r");
    cr_assert_not_null(from);
    size_t bytes = fread(text, 1, sizeof text - 1, from);
    text[bytes] = '\0';
    fclose(from);
    return text;
}

static void write_file(const char *text)
{
    FILE *to = fopen(path(), "w");
    cr_assert_not_null(to);
    fputs(text, to);
    fclose(to);
}

/** Writes the plan of a net that has been trained under it; answers the time of an iteration. */
static uint64_t save(const char *policy, uint64_t budget, int layers)
{
    net n;
    open_net(&n, policy, budget, layers);
    uint64_t ns = steps(&n, 4);
    OK(cebus_plan_save(n.rt, path()));
    close_net(&n);
    return ns;
}

Test(loaded, the_second_iteration_is_guided_as_by_the_run_that_saved)
{
    for (int p = 0; p < PLANNERS; p++) {
        net n;
        uint64_t guided = save(planners[p], BUDGET, LAYERS);
        open_net(&n, planners[p], BUDGET, LAYERS);
        OK(cebus_plan_load(n.rt, path()));
        cr_expect_eq(stats_of(n.rt).plans_loaded, 1);
        step(&n);
        step(&n);
        cr_expect_eq(step(&n), guided, "%s", planners[p]);
        cr_expect_eq(stats_of(n.rt).plans_used, 1, "%s: %s", planners[p], n.refused);
        cr_expect_eq(stats_of(n.rt).plans_refused, 0, "%s: %s", planners[p], n.refused);
        close_net(&n);
    }
    unlink(path());
}

Test(loaded, what_was_loaded_is_saved_again_to_the_byte)
{
    for (int p = 0; p < PLANNERS; p++) {
        net n;
        save(planners[p], BUDGET, LAYERS);
        char *first = strdup(read_file());
        open_net(&n, planners[p], BUDGET, LAYERS);
        OK(cebus_plan_load(n.rt, path()));
        steps(&n, 3);
        OK(cebus_plan_save(n.rt, path()));
        cr_expect_str_eq(read_file(), first, "%s", planners[p]);
        free(first);
        close_net(&n);
    }
    unlink(path());
}

Test(loaded, a_plan_that_cannot_be_written_leaves_the_one_before)
{
    net n;
    struct rlimit limit, before;
    save("capuchin", BUDGET, LAYERS);
    char *first = strdup(read_file());
    open_net(&n, "capuchin", BUDGET, LAYERS);
    steps(&n, 4);
    cr_assert_eq(getrlimit(RLIMIT_FSIZE, &before), 0);
    limit = before;
    limit.rlim_cur = 64;
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    cebus_status status = cebus_plan_save(n.rt, path());
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &before), 0);
    FAILS(CEBUS_DEVICE_ERROR, "File too large", status);
    cr_expect_str_eq(read_file(), first);
    free(first);
    close_net(&n);
    unlink(path());
}

/** An empty plan for everything: nothing is swapped or dropped ahead, so it was not searched for.
 */
Test(loaded, a_plan_in_a_file_takes_the_place_of_a_search)
{
    net n;
    save("odswap", BUDGET, LAYERS);
    char *text = strdup(read_file()), *actions = strstr(text, "\"actions\": ");
    strcpy(actions, "\"actions\": 0}\n");
    write_file(text);
    open_net(&n, "odswap", BUDGET, LAYERS);
    OK(cebus_plan_load(n.rt, path()));
    steps(&n, 3);
    cr_expect_eq(stats_of(n.rt).plans_used, 1);
    cr_expect_eq(stats_of(n.rt).prefetches, 0);
    free(text);
    close_net(&n);
    unlink(path());
}

Test(loaded, a_plan_can_be_loaded_in_the_middle)
{
    net n;
    save("cebus", BUDGET, LAYERS);
    open_net(&n, "cebus", BUDGET, LAYERS);
    steps(&n, 3);
    OK(cebus_plan_load(n.rt, path()));
    cr_expect_eq(stats_of(n.rt).plans_used, 0);
    step(&n);
    step(&n);
    cr_expect_eq(stats_of(n.rt).plans_used, 1);
    close_net(&n);
    unlink(path());
}

/** By default learning waits until memory is short; who has a plan wants to follow it at once. */
Test(loaded, a_plan_is_followed_from_the_start_by_default_too)
{
    net n;
    save("cebus", BUDGET, LAYERS);
    open_net(&n, NULL, BUDGET, LAYERS);
    OK(cebus_plan_load(n.rt, path()));
    step(&n);
    step(&n);
    cr_expect_eq(stats_of(n.rt).plans_used, 1);
    close_net(&n);
    unlink(path());
}

Test(loaded, a_plan_for_another_program_waits_for_ever)
{
    net n;
    save("cebus", BUDGET, LAYERS);
    open_net(&n, "cebus", BUDGET, LAYERS - 1);
    OK(cebus_plan_load(n.rt, path()));
    steps(&n, 4);
    cr_expect_eq(stats_of(n.rt).plans_used + stats_of(n.rt).plans_refused, 0);
    close_net(&n);
    unlink(path());
}

static void refused(const char *policy, uint64_t budget, const char *why)
{
    net n, twin;
    open_net(&n, policy, budget, LAYERS);
    open_net(&twin, policy, budget, LAYERS);
    OK(cebus_plan_load(n.rt, path()));
    cr_expect_eq(steps(&n, 4), steps(&twin, 4), "as if there were no file");
    cr_expect_eq(stats_of(n.rt).plans_used, 0);
    cr_expect_eq(stats_of(n.rt).plans_refused, 1);
    cr_assert_not_null(n.refused);
    cr_expect_not_null(strstr(n.refused, why), "%s", n.refused);
    close_net(&n);
    close_net(&twin);
}

Test(loaded, a_plan_for_another_budget_is_refused)
{
    save("cebus", BUDGET, LAYERS);
    refused("cebus", BUDGET - MAP, "more memory than there is");
    refused("cebus", BUDGET + 4 * MAP, "much less memory");
    unlink(path());
}

/** Replaces the first `old` in the file. */
static void edit(const char *old, const char *with)
{
    char *text = strdup(read_file()), *at = strstr(text, old);
    cr_assert_not_null(at, "%s", old);
    size_t room = strlen(text) + strlen(with) + 1;
    char *out = malloc(room);
    snprintf(out, room, "%.*s%s%s", (int)(at - text), text, with, at + strlen(old));
    write_file(out);
    free(out);
    free(text);
}

Test(loaded, a_plan_that_forgets_a_replay_is_refused)
{
    save("cebus", BUDGET, LAYERS);
    edit("{\"replay\": ", "{\"drop\": ");
    refused("cebus", BUDGET, "");
    save("odswap", BUDGET, LAYERS);
    edit("{\"swap_out\": ", "{\"drop\": 1, \"was\": "); /* the first weight */
    refused("odswap", BUDGET, "persistent");
    save("odswap", BUDGET, LAYERS);
    edit("\"out_rate\": ", "\"out_rate\": 9");
    refused("odswap", BUDGET, "another speed");
    save("odswap", BUDGET, LAYERS);
    edit("\"values\": ", "\"values\": 1");
    refused("odswap", BUDGET, "more or fewer values");
    unlink(path());
}

#define HEAD "{\"cebus_plans\": 1, \"policy\": \"cebus\", \"plans\": 1}\n"
#define PLAN                                                                                       \
    "{\"plan\": \"0123456789abcdef\", \"calls\": 9, \"values\": 7, \"budget\": 1, \"holes\": 0, "  \
    "\"host\": 0, \"out_rate\": 1, \"in_rate\": 1, \"placed\": 0, \"predicted_ns\": 0, "

Test(loaded, files_that_are_no_plans_are_refused_with_their_line)
{
    static const struct {
        const char *text, *why;
    } wrong[] = {
        {"", ":0: the file ends"},
        {"{}\n", ":1: no plans"},
        {"[]", ":1: it is no JSON object"},
        {"{\"cebus_plans\": 2, \"policy\": \"cebus\", \"plans\": 0}", "from 1 to 1"},
        {"{\"cebus_plans\": 1, \"policy\": \"lru\", \"plans\": 0}", "none that plans"},
        {"{\"cebus_plans\": 1, \"policy\": 1, \"plans\": 0}", "must be a text"},
        {"{\"cebus_plans\": 1, \"policy\": \"cebus\"}", "\"plans\" is missing"},
        {"{\"cebus_plans\": 1, \"policy\": \"cebus\", \"plans\": 9999}", "from 0 to 4096"},
        {"{\"cebus_plans\": 1, \"cebus_plans\": 1}", "stands there twice"},
        {"{\"cebus_plans\": 1.5}", "the object does not end"},
        {"{\"cebus_plans\": -1}", "neither a text in quotes nor a number"},
        {"{\"cebus_plans\": 99999999999999999999}", "64 bits"},
        {"{\"cebus_plans\": 01}", "begins with 0"},
        {"{\"cebus_plans\": \"\\u0031\"}", "an escape"},
        {"{\"cebus_plans\": \"1}", "a text does not end"},
        {"{\"cebus_plans\" 1}", "no colon"},
        {"{cebus_plans: 1}", "a name in quotes is missing"},
        {"{\"cebus_plans\": 1} x", "something follows the object"},
        {HEAD, ":1: the file ends behind this line, where a plan"},
        {HEAD "{\"plan\": \"xyz\"}", ":2: \"plan\" must have 16"},
        {HEAD "{\"plan\": \"0123456789abcdef\", \"calls\": 0}", "\"calls\" is 0"},
        {HEAD PLAN "\"actions\": 1}\n", ":2: the file ends behind this line, where an action"},
        {HEAD PLAN "\"actions\": 99999999}\n", "\"actions\" is 99999999"},
        {HEAD PLAN "\"actions\": 1}\n{\"at\": 1}\n", ":3: no action"},
        {HEAD PLAN "\"actions\": 1}\n{\"drop\": 7, \"at\": 1}\n", "\"drop\" is 7"},
        {HEAD PLAN "\"actions\": 1}\n{\"drop\": 6, \"at\": 10}\n", "\"at\" is 10"},
        {HEAD PLAN "\"actions\": 2}\n{\"drop\": 6, \"at\": 9}\n{\"drop\": 6, \"at\": 8}\n",
         ":4: \"at\" is 8; it must be from 9"},
        {HEAD PLAN "\"actions\": 0}\n" PLAN "\"actions\": 0}\n", "something follows the last"},
        {"{\"cebus_plans\": 1, \"policy\": \"cebus\", \"plans\": 2}\n" PLAN "\"actions\": 0}\n" PLAN
         "\"actions\": 0}\n",
         ":3: a second plan"},
    };
    cebus_runtime *rt = open_runtime(1 << 20, "cebus", 0);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        write_file(wrong[i].text);
        FAILS(CEBUS_INVALID_ARGUMENT, wrong[i].why, cebus_plan_load(rt, path()));
    }
    write_file(HEAD PLAN "\"actions\": 0}\n");
    OK(cebus_plan_load(rt, path()));
    OK(cebus_plan_load(rt, path()));
    char *line = malloc(1 << 14);
    memset(line, ' ', 1 << 14);
    memcpy(line, "{\0", 2);
    line[1] = ' ';
    line[(1 << 14) - 1] = '\0';
    write_file(line);
    FAILS(CEBUS_INVALID_ARGUMENT, "more than 4096 bytes", cebus_plan_load(rt, path()));
    free(line);
    cr_expect_eq(stats_of(rt).plans_loaded, 2);
    cebus_runtime_destroy(rt);
    unlink(path());
}

Test(loaded, wrong_calls_are_told)
{
    cebus_runtime *rt = open_runtime(1 << 20, "cebus", 0);
    FAILS(CEBUS_INVALID_ARGUMENT, "the path is NULL", cebus_plan_load(rt, NULL));
    FAILS(CEBUS_INVALID_ARGUMENT, "the path is NULL", cebus_plan_save(rt, NULL));
    FAILS(CEBUS_INVALID_ARGUMENT, "the runtime is NULL", cebus_plan_load(NULL, "x"));
    FAILS(CEBUS_INVALID_ARGUMENT, "the runtime is NULL", cebus_plan_save(NULL, "x"));
    FAILS(CEBUS_INVALID_ARGUMENT, "cannot open \"/nonexistent/p\": No such file",
          cebus_plan_load(rt, "/nonexistent/p"));
    FAILS(CEBUS_DEVICE_ERROR, "reading failed", cebus_plan_load(rt, "/"));
    FAILS(CEBUS_INVALID_ARGUMENT, "nothing is planned yet", cebus_plan_save(rt, "/dev/null"));
    OK(cebus_runtime_set_policy(rt, "lru"));
    FAILS(CEBUS_INVALID_ARGUMENT, "makes no plans", cebus_plan_save(rt, "/dev/null"));
    cebus_runtime_destroy(rt);
    net n;
    open_net(&n, "cebus", BUDGET, LAYERS);
    steps(&n, 3);
    FAILS(CEBUS_INVALID_ARGUMENT, "cannot create", cebus_plan_save(n.rt, "/nonexistent/p"));
    FAILS(CEBUS_DEVICE_ERROR, "No space left", cebus_plan_save(n.rt, "/dev/full"));
    close_net(&n);
}

Test(loaded, reading_needs_host_memory_and_says_so)
{
    cebus_test_host host;
    save("cebus", BUDGET, LAYERS);
    for (uint64_t n = 1;; n++) {
        cebus_runtime *rt;
        cebus_runtime_options options = CEBUS_RUNTIME_OPTIONS_INIT;
        cebus_test_host_init(&host);
        options.host = &host.allocator;
        options.memory_budget = 1 << 20;
        options.policy = "cebus";
        options.debug = CEBUS_DEBUG_HOST;
        OK(cebus_runtime_create(&options, &rt));
        host.fail_at = n;
        cebus_status status = cebus_plan_load(rt, path());
        bool fired = host.fired;
        host.fail_at = 0;
        cr_expect_eq(status, fired ? CEBUS_OUT_OF_HOST_MEMORY : CEBUS_OK, "%lu", n);
        cr_expect_eq(stats_of(rt).plans_loaded, !fired);
        OK(cebus_plan_load(rt, path()));
        cebus_runtime_destroy(rt);
        cr_expect_eq(host.live, 0);
        if (!fired)
            break;
        cr_assert_lt(n, 1000);
    }
    unlink(path());
}
