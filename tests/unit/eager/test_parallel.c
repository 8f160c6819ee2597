#include "eager/device/cpu/parallel.h"

#include <criterion/criterion.h>
#include <stdatomic.h>
#include <string.h>

TestSuite(parallel);

enum {
    MOST = 1000,
    THREADS = 7
};

/* Whose part each index was in, by the begin of the part; how often it was visited. */
typedef struct visits {
    int64_t begin[MOST];
    int count[MOST];
    atomic_int parts;
} visits;

static void visit(void *context, int64_t begin, int64_t end)
{
    visits *v = context;
    atomic_fetch_add(&v->parts, 1);
    for (int64_t i = begin; i < end; i++) {
        v->begin[i] = begin;
        v->count[i]++;
    }
}

Test(parallel, every_index_once_in_a_fixed_part)
{
    static visits first, second;
    for (int threads = 0; threads <= THREADS; threads++)
        for (int64_t n = 0; n <= MOST; n += n < 20 ? 1 : 97)
            for (int64_t grain = 0; grain <= 300; grain += 100) {
                memset(&first, 0, sizeof first);
                memset(&second, 0, sizeof second);
                cebus_parallel_for(threads, n, grain, visit, &first);
                cebus_parallel_for(threads, n, grain, visit, &second);
                for (int64_t i = 0; i < MOST; i++)
                    cr_assert_eq(first.count[i], i < n ? 1 : 0);
                cr_assert_eq(memcmp(first.begin, second.begin, sizeof first.begin), 0);
                cr_assert_leq(first.parts, threads > 1 ? threads : 1);
                if (n > 0 && n <= grain)
                    cr_assert_eq(first.parts, 1);
                if (n > grain && threads > 1 && n >= threads && grain == 0)
                    cr_assert_eq(first.parts, threads);
            }
}
