#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "eager/device/sim/machine.h"
#include "program.h"

TestSuite(sim_machine);

#define GIB (UINT64_C(1) << 30)
#define GIGA UINT64_C(1000000000)

static cebus_machine machine_of(const char *device)
{
    cebus_machine machine;
    OK(cebus_machine_parse(device, &machine));
    return machine;
}

Test(sim_machine, has_the_machines_that_papers_used)
{
    static const struct {
        const char *name;
        uint64_t gib, gflops, bandwidth, link, both;
    } want[] = {
        {"p100-16g", 16, 9300, 732, 12, 24},      {"v100-16g", 16, 15700, 900, 12, 20},
        {"titanv-12g", 12, 13800, 653, 12, 24},   {"a100-80g", 80, 19500, 2039, 25, 50},
        {"h200-141g", 141, 67000, 4800, 55, 110},
    };
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        char device[64];
        cr_assert_str_eq(cebus_machine_name(i), want[i].name);
        snprintf(device, sizeof device, "sim:%s", want[i].name);
        cebus_machine m = machine_of(device);
        cr_expect_eq(m.memory, want[i].gib * GIB);
        cr_expect_eq(m.f32, want[i].gflops * GIGA);
        cr_expect_eq(m.bandwidth, want[i].bandwidth * GIGA);
        cr_expect(m.link_out == want[i].link * GIGA && m.link_in == m.link_out);
        cr_expect_eq(m.link_both, want[i].both * GIGA);
        cr_expect(m.f64 > 0 && m.half > 0 && m.host > 0 && m.queue > 0 && m.issue_ns > 0);
        cr_expect_not(m.use_tf32);
    }
    cr_expect_null(cebus_machine_name(sizeof want / sizeof *want));
    cr_expect_null(cebus_machine_name(SIZE_MAX));
}

Test(sim_machine, what_if)
{
    cebus_machine m = machine_of("sim:titanv-12g,link=25GB,memory=24GiB");
    cr_expect_eq(m.memory, 24 * GIB);
    cr_expect(m.link_out == 25 * GIGA && m.link_in == 25 * GIGA && m.link_both == 50 * GIGA);
    cr_expect_eq(m.f32, 13800 * GIGA, "the rest stays");
    m = machine_of("sim:v100-16g,link=16GB,both=20GB,bandwidth=150%,host=1TiB,queue=1,launch=0ns,"
                   "issue=1.5us,latency=2ms");
    cr_expect_eq(m.link_both, 20 * GIGA);
    cr_expect_eq(m.bandwidth, 1350 * GIGA);
    cr_expect_eq(m.host, 1024 * GIB);
    cr_expect(m.queue == 1 && m.launch_ns == 0 && m.issue_ns == 1500 && m.latency_ns == 2000000);
    m = machine_of("sim:a100-80g,link=0,tf32=on");
    cr_expect(m.link_out == 0 && m.link_in == 0 && m.use_tf32);
}

Test(sim_machine, refuses_what_it_does_not_know)
{
    static const struct {
        const char *device, *text;
    } bad[] = {
        {"sim", "there are sim:p100-16g, sim:v100-16g, sim:titanv-12g, sim:a100-80g, "
                "sim:h200-141g"},
        {"sim:", "no machine \"sim:\""},
        {"sim:p100", "there are sim:p100-16g"},
        {"sim:p100-16g-", "no machine"},
        {"sim:p100-16g,", "the changes are memory=, host="},
        {"sim:p100-16g,memory", "the changes are"},
        {"sim:p100-16g,speed=2", "queue=, tf32="},
        {"sim:p100-16g,memory=", "not a size"},
        {"sim:p100-16g,memory=-1GB", "not a size"},
        {"sim:p100-16g,memory=3XB", "unknown suffix"},
        {"sim:p100-16g,memory=1", "below 4 KiB"},
        {"sim:p100-16g,memory=2000000TiB", "more memory than can be addressed"},
        {"sim:p100-16g,bandwidth=0", "no bandwidth"},
        {"sim:p100-16g,both=1GB", "cannot be slower than one"},
        {"sim:p100-16g,launch=3", "not a time"},
        {"sim:p100-16g,launch=us", "not a time"},
        {"sim:p100-16g,launch=1e300ms", "not a time"},
        {"sim:p100-16g,queue=0", "1 to 4096"},
        {"sim:p100-16g,queue=4097", "1 to 4096"},
        {"sim:p100-16g,queue=2x", "1 to 4096"},
        {"sim:p100-16g,tf32=on", "has no tf32"},
        {"sim:a100-80g,tf32=yes", "on or off"},
        {"sim:a100-80g,memory=0000000000000000000000000000000000000000000000000000000000000080GiB",
         "too long"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        cebus_machine machine;
        FAILS(CEBUS_INVALID_ARGUMENT, bad[i].text, cebus_machine_parse(bad[i].device, &machine));
    }
}
