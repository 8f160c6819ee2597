#include "layout/zones.h"
#include "random.h"

#include <criterion/criterion.h>
#include <string.h>

TestSuite(zones);

Test(zones, know_their_end_and_name)
{
    cr_expect(cebus_zone_grows_up(CEBUS_ZONE_PERSISTENT));
    cr_expect(cebus_zone_grows_up(CEBUS_ZONE_EXPENSIVE));
    cr_expect_not(cebus_zone_grows_up(CEBUS_ZONE_CHEAP));
    cr_expect_not(cebus_zone_grows_up(CEBUS_ZONE_TRANSIENT));
    for (int a = 0; a < CEBUS_ZONE_COUNT; a++) {
        for (int b = 0; b < a; b++)
            cr_expect_str_neq(cebus_zone_name((cebus_zone)a), cebus_zone_name((cebus_zone)b));
    }
    cr_expect_str_eq(cebus_zone_name(CEBUS_ZONE_CHEAP), "cheap");
    cr_expect_str_eq(cebus_zone_name(CEBUS_ZONE_COUNT), "unknown");
}

Test(zones, tell_dear_from_cheap_whatever_comes_first)
{
    const uint64_t firsts[] = {0, 1, 1000, UINT64_MAX};
    for (int i = 0; i < 4; i++) {
        cebus_density density = {0};
        cebus_density_classify(&density, firsts[i], 1, CEBUS_ZONE_COUNT);
        for (int n = 0; n < 600; n++) {
            cebus_density_classify(&density, 10, 1000, CEBUS_ZONE_COUNT);
            cebus_density_classify(&density, 5000, 1000, CEBUS_ZONE_COUNT);
        }
        cr_expect_eq(cebus_density_classify(&density, 5000, 1000, CEBUS_ZONE_COUNT),
                     CEBUS_ZONE_EXPENSIVE, "%d", i);
        cr_expect_eq(cebus_density_classify(&density, 10, 1000, CEBUS_ZONE_COUNT), CEBUS_ZONE_CHEAP,
                     "%d", i);
    }
}

Test(zones, settle_near_the_median)
{
    cebus_density density = {0};
    uint64_t seed = 6, dear = 0;
    for (int n = 0; n < 20000; n++) {
        uint64_t cost = random_below(&seed, 1000000);
        bool is_dear =
            cebus_density_classify(&density, cost, 1000, CEBUS_ZONE_COUNT) == CEBUS_ZONE_EXPENSIVE;
        dear += n >= 10000 && is_dear;
    }
    cr_expect(dear > 4000 && dear < 6000, "%d of 10000", (int)dear);
    cr_expect_eq(density.samples, 20000);
}

Test(zones, take_any_cost_and_size)
{
    cebus_density density = {0};
    cr_expect_eq(cebus_density_classify(&density, 0, 0, CEBUS_ZONE_COUNT), CEBUS_ZONE_CHEAP);
    cr_expect_eq(cebus_density_classify(&density, UINT64_MAX, 0, CEBUS_ZONE_COUNT),
                 CEBUS_ZONE_EXPENSIVE);
    cr_expect_eq(cebus_density_classify(&density, 1, UINT64_MAX, CEBUS_ZONE_COUNT),
                 CEBUS_ZONE_CHEAP);
    cr_expect_eq(cebus_density_classify(&density, UINT64_C(1) << 50, 1, CEBUS_ZONE_COUNT),
                 CEBUS_ZONE_EXPENSIVE);
    for (int n = 0; n < 10000; n++)
        cebus_density_classify(&density, UINT64_MAX, 1, CEBUS_ZONE_COUNT);
    cr_expect_eq(cebus_density_classify(&density, UINT64_MAX, 2, CEBUS_ZONE_COUNT),
                 CEBUS_ZONE_CHEAP);
}
