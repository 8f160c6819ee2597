#include <criterion/criterion.h>
#include <stdlib.h>

#include "evict/timeline/releases.h"
#include "tests/unit/evict/random_iteration.h"
#include "tests/unit/evict/recorded.h"

Test(releases, values_come_by_when_nobody_holds_them_any_more)
{
    recorded r;
    recorded_init(&r);
    random_iteration_make(&r.iteration, 3, 80);
    const size_t n = r.iteration.n_values;
    uint32_t *order = calloc(n, sizeof *order);
    cr_assert(cebus_releases_sort(&r.iteration, &r.pool, order));
    for (size_t i = 1; i < n; i++) {
        const uint32_t before = r.iteration.values[order[i - 1]].freed,
                       now = r.iteration.values[order[i]].freed;
        cr_expect(before < now || (before == now && order[i - 1] < order[i]), "place %zu", i);
    }
    free(order);
    recorded_deinit(&r);
}
