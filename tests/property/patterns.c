/*
 * Property: what is hard on a layout (tests/support/patterns.h) is met by zones, at the size of a
 * test: no request fails while it and what lives have room, and what lies idle in pieces does not
 * grow with time. That the patterns are hard is shown by a layout that fails. Prints TAP.
 */
#include "tests/support/patterns.h"

#include <inttypes.h>
#include <stdio.h>

static int tests, failed;

static void report(bool passed, const char *what, const cebus_pattern *p)
{
    tests++;
    failed += !passed;
    printf("%s %d - %s\n", passed ? "ok" : "not ok", tests, what);
    printf("# %" PRIu64 " of %" PRIu64 " requests failed; stranded %" PRIu64 ", then %" PRIu64
           " bytes of %" PRIu64 "; %" PRIu64 " moved, %" PRIu64 " evictions\n",
           p->failures, p->requests, p->stranded_early, p->stranded_late, p->budget, p->moved_bytes,
           p->evictions);
    fflush(stdout);
}

static bool holds(const cebus_pattern *p)
{
    uint64_t most = p->stranded_early + p->stranded_early / 4 + p->budget / 100;
    return p->failures == 0 && p->requests > 0 && p->stranded_late <= most;
}

static void check_combs(void)
{
    cebus_pattern p = cebus_pattern_comb("zones", "coop", false);
    report(p.failures == 0 && p.moved_bytes > 0 && p.evictions == 0, "a comb of leaves is moved",
           &p);
    p = cebus_pattern_comb("zones", "coop", true);
    report(p.failures == 0, "a comb of what can be made again gives way", &p);
    p = cebus_pattern_comb("zones", "none", false);
    report(p.failures == 0, "a comb is moved where nothing may be given up", &p);
    p = cebus_pattern_comb("caching", "coop", false);
    report(p.failures == 1 && p.moved_bytes == 0, "a caching allocator fails it", &p);
    p = cebus_pattern_comb("best-fit", "coop", false);
    report(p.failures == 1 && p.moved_bytes == 0, "and so does best fit alone", &p);
}

static void check_variable(void)
{
    cebus_pattern p = cebus_pattern_variable("zones", false, 400, 1);
    report(holds(&p), "sequence lengths that vary", &p);
    p = cebus_pattern_variable("zones", true, 400, 2);
    report(holds(&p), "image sizes that vary", &p);
    p = cebus_pattern_variable("caching", false, 400, 1);
    report(p.failures > 0, "a caching allocator fails some of these steps", &p);
}

static void check_server(void)
{
    cebus_pattern p = cebus_pattern_server("zones", UINT64_C(256) << 20, 20000, 3);
    report(holds(&p), "a server's lognormal sizes", &p);
    p = cebus_pattern_server("best-fit", UINT64_C(256) << 20, 20000, 3);
    report(p.failures > 0 && p.moved_bytes == 0, "best fit alone fails some of these", &p);
}

int main(void)
{
    check_combs();
    check_variable();
    check_server();
    printf("1..%d\n", tests);
    return failed > 0;
}
