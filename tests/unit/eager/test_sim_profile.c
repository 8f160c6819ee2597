#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cebus_config.h"
#include "eager/device/device.h"
#include "eager/device/sim/profile.h"
#include "eager/device/sim/sim.h"
#include "eager/host.h"
#include "eager/runtime.h"
#include "eager/trace/signature.h"
#include "eager/view.h"
#include "program.h"

TestSuite(sim_profile);

static char path[32];

/** A file of this text. */
static const char *write_file(const char *text)
{
    snprintf(path, sizeof path, "/tmp/cebus_profile_XXXXXX");
    int file = mkstemp(path);
    cr_assert_geq(file, 0);
    cr_assert_eq(write(file, text, strlen(text)), (ssize_t)strlen(text));
    close(file);
    return path;
}

static cebus_status read_text(const char *text, cebus_profile *out)
{
    cebus_host_allocator host = cebus_host_default();
    cebus_status status = cebus_profile_read(write_file(text), &host, out);
    unlink(path);
    return status;
}

#if CEBUS_HAVE_JSON

#define HEAD "{\"cebus_profile\": 1, \"machine\": \"cpu\", \"ops\": ["

Test(sim_profile, is_read_and_found)
{
    cebus_host_allocator host = cebus_host_default();
    cebus_profile profile;
    OK(read_text(HEAD "{\"name\": \"add\", \"hash\": \"00000000000000ff\", \"cost_ns\": 7, "
                      "\"count\": 3, \"note\": null},"
                      "{\"name\": \"mul\", \"hash\": \"00000000000000ff\", \"cost_ns\": 0}]}",
                 &profile));
    cr_expect_eq(profile.count, 2);
    cr_expect_eq(cebus_profile_find(&profile, cebus_profile_name("add"), 255)->cost_ns, 7);
    cr_expect_eq(cebus_profile_find(&profile, cebus_profile_name("mul"), 255)->cost_ns, 0);
    cr_expect_null(cebus_profile_find(&profile, cebus_profile_name("mul"), 256));
    cr_expect_null(cebus_profile_find(&profile, cebus_profile_name("sub"), 255));
    cebus_profile_free(&profile, &host);
    OK(read_text(HEAD "]}", &profile));
    cr_expect_null(cebus_profile_find(&profile, cebus_profile_name("add"), 255));
    cebus_profile_free(&profile, &host);
}

Test(sim_profile, holds_many)
{
    enum {
        MANY = 3000
    };
    cebus_host_allocator host = cebus_host_default();
    cebus_profile profile;
    char *text = malloc(MANY * 80 + 100), *at = text;
    at += sprintf(at, HEAD);
    for (int i = 0; i < MANY; i++)
        at += sprintf(at, "%s{\"name\": \"op%d\", \"hash\": \"%016x\", \"cost_ns\": %d}",
                      i > 0 ? "," : "", i % 10, i / 10, i);
    sprintf(at, "]}");
    OK(read_text(text, &profile));
    for (int i = 0; i < MANY; i++) {
        char name[8];
        sprintf(name, "op%d", i % 10);
        cr_assert_eq(
            cebus_profile_find(&profile, cebus_profile_name(name), (uint64_t)(i / 10))->cost_ns,
            (uint64_t)i);
    }
    cebus_profile_free(&profile, &host);
    free(text);
}

Test(sim_profile, says_what_is_wrong_with_a_file)
{
    static const struct {
        const char *text, *message;
    } bad[] = {
        {"", "line 1"},
        {"{\"cebus_profile\": 1,\n \"ops\": [}", "line 2"},
        {"[]", "is no profile"},
        {"{\"ops\": []}", "is no profile"},
        {"{\"cebus_profile\": \"1\", \"ops\": []}", "is no profile"},
        {"{\"cebus_profile\": 2, \"ops\": []}", "of version 2"},
        {"{\"cebus_profile\": 1}", "must be a list"},
        {"{\"cebus_profile\": 1, \"ops\": {}}", "must be a list"},
        {HEAD "7]}", "entry 0"},
        {HEAD "{\"hash\": \"00000000000000ff\", \"cost_ns\": 7}]}", "\"name\""},
        {HEAD "{\"name\": \"\", \"hash\": \"00000000000000ff\", \"cost_ns\": 7}]}", "\"name\""},
        {HEAD "{\"name\": \"a\", \"cost_ns\": 7}]}", "\"hash\""},
        {HEAD "{\"name\": \"a\", \"hash\": 255, \"cost_ns\": 7}]}", "\"hash\""},
        {HEAD "{\"name\": \"a\", \"hash\": \"ff\", \"cost_ns\": 7}]}", "\"hash\""},
        {HEAD "{\"name\": \"a\", \"hash\": \"00000000000000FF\", \"cost_ns\": 7}]}", "\"hash\""},
        {HEAD "{\"name\": \"a\", \"hash\": \"00000000000000ff0\", \"cost_ns\": 7}]}", "\"hash\""},
        {HEAD "{\"name\": \"a\", \"hash\": \"00000000000000ff\"}]}", "\"cost_ns\""},
        {HEAD "{\"name\": \"a\", \"hash\": \"00000000000000ff\", \"cost_ns\": -7}]}",
         "\"cost_ns\""},
        {HEAD "{\"name\": \"a\", \"hash\": \"00000000000000ff\", \"cost_ns\": 7.5}]}",
         "\"cost_ns\""},
        {HEAD "{\"name\": \"a\", \"hash\": \"00000000000000ff\", \"cost_ns\": 9e30}]}",
         "\"cost_ns\""},
        {HEAD "{\"name\": \"a\", \"hash\": \"00000000000000ff\", \"cost_ns\": 7, \"count\": 0}]}",
         "\"count\""},
        {HEAD "{\"name\": \"a\", \"hash\": \"00000000000000ff\", \"cost_ns\": 7},"
              "{\"name\": \"a\", \"hash\": \"00000000000000ff\", \"cost_ns\": 8}]}",
         "entry 1 of \"ops\": its name and hash were listed before"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        cebus_profile profile;
        FAILS(CEBUS_INVALID_ARGUMENT, bad[i].message, read_text(bad[i].text, &profile));
        cr_expect(profile.costs == NULL && profile.count == 0);
    }
    cebus_runtime *rt;
    cebus_runtime_options options = CEBUS_RUNTIME_OPTIONS_INIT;
    options.device = "sim:p100-16g";
    options.profile = "/nonexistent/profile.json";
    FAILS(CEBUS_INVALID_ARGUMENT, "cannot read", cebus_runtime_create(&options, &rt));
    cr_expect_null(rt);
}

/** The profile of one addition of two vectors of n elements. */
static void write_add(int64_t n, uint64_t cost_ns)
{
    char text[200];
    cebus_view view;
    cebus_view_contiguous(&view, CEBUS_F32, 1, &n);
    cebus_array in[2] = {{.view = &view}, {.view = &view}}, out = {.view = &view};
    cebus_launch launch = {.in = in, .out = &out, .n_in = 2, .n_out = 1};
    snprintf(text, sizeof text,
             HEAD "{\"name\": \"add\", \"hash\": \"%016" PRIx64 "\", \"cost_ns\": %" PRIu64 "}]}",
             cebus_launch_signature(&launch), cost_ns);
    write_file(text);
}

Test(sim_profile, replaces_the_roofline_where_it_knows_better)
{
    cebus_runtime *rt;
    cebus_tensor *x, *y, *z;
    cebus_runtime_options options = CEBUS_RUNTIME_OPTIONS_INIT;
    options.device = "sim:p100-16g";
    options.profile = path;
    write_add(1000, 123456);
    OK(cebus_runtime_create(&options, &rt));
    unlink(path);
    x = vector(rt, 1000, 1);
    uint64_t before = stats_of(rt).compute_ns;
    OK(cebus_add(rt, x, x, &y));
    cr_expect_eq(stats_of(rt).compute_ns - before, 123456);
    before = stats_of(rt).compute_ns;
    OK(cebus_mul(rt, x, x, &z));
    cr_expect_eq(stats_of(rt).compute_ns - before, 2000 + 21, "12000 bytes: the roofline");
    cebus_sim_counts counts = cebus_sim_counts_of(rt->device);
    cr_expect(counts.profiled == 1 && counts.modelled == 2 && counts.said == 0);
    cebus_tensor_release(x);
    cebus_tensor_release(y);
    cebus_tensor_release(z);
    cebus_runtime_destroy(rt);
}

/** The profile of one step of Adam, whichever, on vectors of n elements. */
static void write_adam(int64_t n, uint64_t cost_ns)
{
    char text[200];
    cebus_view view;
    cebus_view_contiguous(&view, CEBUS_F32, 1, &n);
    cebus_array in[4] = {{.view = &view}, {.view = &view}, {.view = &view}, {.view = &view}};
    cebus_launch launch = {.numbers = true, .in = in, .out = in, .n_in = 4, .n_out = 3};
    snprintf(text, sizeof text,
             HEAD "{\"name\": \"adam_step\", \"hash\": \"%016" PRIx64 "\", \"cost_ns\": %" PRIu64
                  "}]}",
             cebus_launch_signature(&launch), cost_ns);
    write_file(text);
}

Test(sim_profile, prices_all_steps_of_an_optimizer_alike)
{
    cebus_runtime *rt;
    cebus_runtime_options options = CEBUS_RUNTIME_OPTIONS_INIT;
    cebus_adam_options how = CEBUS_ADAM_OPTIONS_INIT;
    options.device = "sim:p100-16g";
    options.profile = path;
    write_adam(1000, 77777);
    OK(cebus_runtime_create(&options, &rt));
    unlink(path);
    cebus_adam_tensors tensors = {vector(rt, 1000, 1), vector(rt, 1000, 1), vector(rt, 1000, 1),
                                  vector(rt, 1000, 1)};
    for (int step = 1; step <= 3; step++) {
        uint64_t before = stats_of(rt).compute_ns;
        how.lr = 0.1 / step;
        OK(cebus_adam_step(rt, &tensors, step, &how));
        cr_expect_eq(stats_of(rt).compute_ns - before, 77777);
    }
    cebus_tensor_release(tensors.param);
    cebus_tensor_release(tensors.grad);
    cebus_tensor_release(tensors.exp_avg);
    cebus_tensor_release(tensors.exp_avg_sq);
    cebus_runtime_destroy(rt);
}

#else

Test(sim_profile, needs_a_json_library)
{
    cebus_profile profile;
    FAILS(CEBUS_UNSUPPORTED, "JSON", read_text("{}", &profile));
}

#endif
