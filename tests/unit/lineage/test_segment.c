#include "lineage/segment.h"
#include "tests/support/host.h"

#include <criterion/criterion.h>
#include <string.h>

static cebus_pool pool;
static cebus_segmenter segmenter;
static cebus_segment_scene scene;
static cebus_test_host host;
static uint32_t since; /**< calls since the last cut */

static void setup(void)
{
    cebus_test_host_init(&host);
    cebus_pool_init(&pool, &host.allocator);
    pool.direct = true;
    cebus_segmenter_init(&segmenter, &pool);
    scene = (cebus_segment_scene){0};
    since = 0;
}

static void teardown(void)
{
    cebus_segmenter_deinit(&segmenter);
    cr_expect_eq(pool.live_objects, 0);
    cebus_pool_deinit(&pool);
}

TestSuite(segment, .init = setup, .fini = teardown);

/** Makes the call; true when an iteration begins with it. */
static bool make(cebus_segment_call call)
{
    if (call.reach > since)
        call.reach = 0; /* of an iteration before: a leaf to this one */
    bool updated = since > 0 && cebus_segmenter_updated(&segmenter, &call);
    bool repeats = !updated && cebus_segmenter_repeats(&segmenter, &call, &scene);
    if (updated || repeats) {
        cebus_segmenter_cut(&segmenter, repeats, &scene);
        since = 0;
    }
    cebus_segmenter_add(&segmenter, &call, &scene);
    since++;
    return updated || repeats;
}

/** A letter is a call that reads what the one before made; a capital one reads nothing. Answers in
 * `out` the places where iterations began, as '|'. */
static const char *run(const char *calls)
{
    static char out[4096];
    size_t n = 0;
    for (const char *at = calls; *at != '\0'; at++) {
        bool first = *at >= 'A' && *at <= 'Z';
        cebus_segment_call call = {.id = (uint64_t)*at * UINT64_C(0x9e3779b97f4a7c15),
                                   .reach = first ? 0 : 1};
        if (make(call))
            out[n++] = '|';
        out[n++] = *at;
    }
    out[n] = '\0';
    return out;
}

Test(segment, a_loop_without_writes_is_found_after_three_rounds)
{
    cr_expect_str_eq(run("AbcdAbcdAbcdAbcdAbcdAbcd"), "AbcdAbcdAbcd|Abcd|Abcd|Abcd");
}

Test(segment, a_line_in_a_loop_is_no_iteration)
{
    cr_expect_str_eq(run("AAAAAAAAAbAbAbAbAbAbAbcAbcAbcAbcAbc"),
                     "AAAAAAAAAbAbAbAbAbAbAbcAbcAbcAbcAbc");
}

Test(segment, equal_layers_are_no_period)
{
    cr_expect_str_eq(run("AbbbbbbbbbcAbbbbbbbbbcAbbbbbbbbbcAbbbbbbbbbc"),
                     "AbbbbbbbbbcAbbbbbbbbbcAbbbbbbbbbc|Abbbbbbbbbc");
}

Test(segment, equal_blocks_are_no_period)
{
    cr_expect_str_eq(run("AbcbcbcbcbcbcdAbcbcbcbcbcbcd"), "AbcbcbcbcbcbcdAbcbcbcbcbcbcd");
}

Test(segment, a_prologue_does_not_hide_the_loop)
{
    cr_expect_str_eq(run("XyzAbcdAbcdAbcdAbcdAbcd"), "XyzAbcdAbcdAbcd|Abcd|Abcd");
}

/** A call that reads nothing of the program may stand anywhere: a mask that is drawn. */
static const char *with_draws(const char *before)
{
    static char calls[256];
    strcpy(calls, before);
    for (int i = 0; i < 7; i++)
        strcat(calls, "AbDcDcE"); /* D: drawn in the middle */
    return calls;
}

Test(segment, an_iteration_does_not_begin_with_a_draw_in_its_middle)
{
    const char *calls = with_draws("");
    uint32_t n = 0, begun = 0;
    for (const char *at = calls; *at != '\0'; at++, n++) {
        uint32_t in_round = n % 7;
        /* c reads b, across the draw; the second c reads the first */
        static const uint32_t reach[7] = {0, 1, 0, 2, 0, 2, 0};
        cebus_segment_call call = {.id = (uint64_t)*at * 7919, .reach = reach[in_round]};
        if (*at == 'c')
            call.id += in_round;
        if (make(call)) {
            /* E reads nothing either: before it, or before A, nothing crosses. */
            cr_expect(in_round == 0 || in_round == 6, "at call %u", n);
            begun++;
        }
    }
    cr_expect_geq(begun, 2);
}

Test(segment, what_goes_on_from_round_to_round_is_never_cut)
{
    for (int i = 0; i < 100; i++) {
        cr_expect_not(make((cebus_segment_call){.id = 11, .reach = i > 0 ? 4 : 0}));
        cr_expect_not(make((cebus_segment_call){.id = 12, .reach = 1}));
        cr_expect_not(make((cebus_segment_call){.id = 13, .reach = 1}));
        cr_expect_not(make((cebus_segment_call){.id = 14, .reach = 1}));
    }
}

Test(segment, a_growing_graph_is_no_loop)
{
    for (int i = 0; i < 20; i++) {
        for (int k = 0; k < 4; k++) {
            cebus_segment_call call = {.id = 5 + (uint64_t)k, .reach = k > 0, .in_graph = true};
            cr_expect_not(make(call), "round %d", i);
            scene.graph++;
        }
    }
}

Test(segment, a_graph_that_goes_each_time_does_not_hide_the_loop)
{
    int begun = 0;
    for (int i = 0; i < 6; i++) {
        for (int k = 0; k < 4; k++) {
            cebus_segment_call call = {.id = 5 + (uint64_t)k, .reach = k > 0, .in_graph = true};
            begun += make(call);
            scene.graph = i > 0 ? 4 : scene.graph + 1; /* the last round's, until this one ends */
        }
    }
    cr_expect_eq(begun, 3);
}

Test(segment, gradients_that_wait_are_no_loop)
{
    run("Abcd");
    scene.backwards++;
    cr_expect_str_eq(run("AbcdAbcdAbcdAbcdAbcd"), "AbcdAbcdAbcdAbcdAbcd");
}

static const cebus_segment_call forward = {.id = 1};
static const cebus_segment_call writes = {.id = 2, .writes_parameter = true};

Test(segment, an_iteration_begins_after_a_run_of_writes)
{
    cr_expect_not(make(forward));
    cr_expect_not(make(writes));
    cr_expect_not(make((cebus_segment_call){.id = 3, .reads_update = true}), "sqrt(v)");
    cr_expect_not(make((cebus_segment_call){.id = 4, .writes_persistent = true}), "m = b m");
    cr_expect_not(make(writes));
    cr_expect(make(forward));
    cr_expect_not(make(forward));
}

Test(segment, a_write_to_a_buffer_begins_no_run)
{
    const cebus_segment_call buffer = {.id = 5, .writes_persistent = true};
    for (uint64_t i = 0; i < 4; i++) {
        cr_expect_not(make((cebus_segment_call){.id = 100 + i}));
        cr_expect_not(make(buffer));
    }
    cebus_segment_call moment = {.id = 6, .writes_persistent = true, .reads_update = true};
    cr_expect_not(make(moment), "a gradient goes into it: optimizer state");
    cr_expect(make(forward));
}

Test(segment, what_the_graph_records_ends_the_run)
{
    make(writes);
    cr_expect(make((cebus_segment_call){.id = 7, .reads_update = true, .in_graph = true}));
}

Test(segment, a_loop_before_writes_is_forgotten_with_them)
{
    cr_expect_str_eq(run("AbcdAbcdAbcd"), "AbcdAbcdAbcd");
    make(writes);
    cr_expect_str_eq(run("AbcdAbcdAbcdAbcd"), "|AbcdAbcdAbcd|Abcd");
}

Test(segment, without_host_memory_runs_of_writes_still_count)
{
    cebus_test_host_starve(&host, true);
    cr_expect_str_eq(run("AbcdAbcdAbcdAbcdAbcd"), "AbcdAbcdAbcdAbcdAbcd");
    make(writes);
    cr_expect(make(forward));
    cebus_test_host_starve(&host, false);
}

Test(segment, longer_periods_than_it_remembers_are_not_found)
{
    for (uint32_t round = 0; round < 4; round++) {
        for (uint32_t k = 0; k <= CEBUS_SEGMENT_PERIOD; k++)
            cr_expect_not(make((cebus_segment_call){.id = 1000 + k, .reach = k > 0}));
    }
}
