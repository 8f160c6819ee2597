/**
 * Page-locked memory in segments (eager/device/cuda/pinned.h), on segments from malloc.
 */
#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>

#include "eager/device/cuda/pinned.h"
#include "tests/support/host.h"

TestSuite(cuda_pinned);

#define MIB (UINT64_C(1) << 20)

typedef struct source {
    int locked;
    bool refuse;
} source;

static void *lock_bytes(void *context, uint64_t bytes)
{
    source *from = context;
    if (from->refuse)
        return NULL;
    from->locked++;
    return aligned_alloc(4096, bytes);
}

static void unlock_bytes(void *context, void *base)
{
    source *from = context;
    from->locked--;
    free(base);
}

static cebus_cuda_pinned make(source *from, cebus_test_host *host)
{
    cebus_test_host_init(host);
    return (cebus_cuda_pinned){
        .host = &host->allocator, .lock = lock_bytes, .unlock = unlock_bytes, .context = from};
}

static void end(cebus_cuda_pinned *pinned, const source *from, const cebus_test_host *host)
{
    cebus_pinned_deinit(pinned);
    cr_expect_eq(from->locked, 0);
    cr_expect_eq(host->live, 0);
}

Test(cuda_pinned, pieces_share_a_segment_and_merge_again)
{
    source from = {0};
    cebus_test_host host;
    cebus_cuda_pinned pinned = make(&from, &host);
    char *a = cebus_pinned_alloc(&pinned, 1000), *b = cebus_pinned_alloc(&pinned, 5000);
    char *c = cebus_pinned_alloc(&pinned, 1);
    cr_assert(a != NULL && b != NULL && c != NULL);
    cr_expect_eq(from.locked, 1);
    cr_expect_eq((uintptr_t)b % CEBUS_PINNED_ALIGNMENT, 0);
    cr_expect_geq(b, a + 1000);
    cr_expect_geq(c, b + 5000);
    cebus_pinned_free(&pinned, a, 1000);
    cebus_pinned_free(&pinned, c, 1);
    cr_expect_eq(pinned.segments[0].n_holes, 2, "c's joined the rest");
    cebus_pinned_free(&pinned, b, 5000);
    cr_expect_eq(pinned.segments[0].n_holes, 1);
    cr_expect_eq(pinned.segments[0].holes[0].bytes, CEBUS_PINNED_SEGMENT);
    cr_expect_eq(cebus_pinned_alloc(&pinned, CEBUS_PINNED_SEGMENT), a, "all of it is one again");
    cr_expect_eq(from.locked, 1);
    cebus_pinned_free(&pinned, NULL, 7);
    end(&pinned, &from, &host);
}

Test(cuda_pinned, what_is_larger_than_a_segment_gets_its_own)
{
    source from = {0};
    cebus_test_host host;
    cebus_cuda_pinned pinned = make(&from, &host);
    char *small = cebus_pinned_alloc(&pinned, MIB);
    char *large = cebus_pinned_alloc(&pinned, 3 * CEBUS_PINNED_SEGMENT);
    cr_assert(small != NULL && large != NULL);
    cr_expect_eq(from.locked, 2);
    cr_expect_eq(pinned.locked_bytes, 4 * CEBUS_PINNED_SEGMENT);
    memset(large, 1, 3 * CEBUS_PINNED_SEGMENT);
    cebus_pinned_free(&pinned, large, 3 * CEBUS_PINNED_SEGMENT);
    cr_expect_eq(cebus_pinned_alloc(&pinned, CEBUS_PINNED_SEGMENT), large);
    cr_expect_null(cebus_pinned_alloc(&pinned, UINT64_MAX));
    end(&pinned, &from, &host);
}

Test(cuda_pinned, random_pieces_never_overlap)
{
    enum {
        PIECES = 200,
        ROUNDS = 20000
    };
    static unsigned char *at[PIECES];
    static uint64_t bytes[PIECES];
    source from = {0};
    cebus_test_host host;
    cebus_cuda_pinned pinned = make(&from, &host);
    uint64_t random = 12345;
    for (int round = 0; round < ROUNDS; round++) {
        random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        unsigned i = (unsigned)(random >> 33) % PIECES;
        if (at[i] != NULL) {
            cr_assert_eq(at[i][0], i % 251);
            cr_assert_eq(at[i][bytes[i] - 1], i % 251);
            cebus_pinned_free(&pinned, at[i], bytes[i]);
            at[i] = NULL;
            continue;
        }
        bytes[i] = 1 + (random >> 40) % (MIB / 2);
        at[i] = cebus_pinned_alloc(&pinned, bytes[i]);
        cr_assert_not_null(at[i]);
        at[i][0] = at[i][bytes[i] - 1] = (unsigned char)(i % 251);
    }
    cr_expect_leq(from.locked, 2);
    end(&pinned, &from, &host);
}

Test(cuda_pinned, every_refusal_is_answered_with_null_and_loses_nothing)
{
    for (uint64_t n = 1;; n++) {
        source from = {0};
        cebus_test_host host;
        cebus_cuda_pinned pinned = make(&from, &host);
        host.fail_at = n;
        void *taken[40];
        for (int i = 0; i < 40; i++) {
            taken[i] = cebus_pinned_alloc(&pinned, 512);
            if (taken[i] == NULL)
                taken[i] = cebus_pinned_alloc(&pinned, 512);
            cr_assert_not_null(taken[i], "a second try succeeds");
        }
        host.fail_at = 1; /* giving back needs no memory */
        for (int i = 0; i < 40; i += 2)
            cebus_pinned_free(&pinned, taken[i], 512);
        bool fired = host.fired;
        host.fail_at = 0;
        end(&pinned, &from, &host);
        if (!fired)
            break;
    }
    source from = {.refuse = true};
    cebus_test_host host;
    cebus_cuda_pinned pinned = make(&from, &host);
    cr_expect_null(cebus_pinned_alloc(&pinned, 1));
    end(&pinned, &from, &host);
}
