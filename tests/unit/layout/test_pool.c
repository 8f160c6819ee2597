#include "layout/pool.h"
#include "random.h"
#include "tests/support/host.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

TestSuite(pool);

typedef struct content {
    unsigned char *bytes;
    size_t size;
    unsigned char fill;
} content;

static bool is_intact(const content *object)
{
    for (size_t i = 0; i < object->size; i++) {
        if (object->bytes[i] != object->fill)
            return false;
    }
    return true;
}

static void exchange(cebus_pool *pool, content *object, uint64_t *seed)
{
    if (object->bytes != NULL) {
        cr_assert(is_intact(object));
        cebus_pool_free_object(pool, object->bytes, object->size);
        object->bytes = NULL;
        return;
    }
    object->size = random_below(seed, random_below(seed, 8) ? 300 : 6000);
    object->fill = (unsigned char)random_next(seed);
    object->bytes = cebus_pool_alloc(pool, object->size);
    cr_assert_not_null(object->bytes);
    cr_assert_eq((uintptr_t)object->bytes % 16, 0);
    memset(object->bytes, object->fill, object->size);
}

Test(pool, objects_keep_their_bytes)
{
    enum {
        OBJECTS = 500
    };
    static content objects[OBJECTS];
    cebus_test_host host;
    cebus_pool pool;
    cebus_test_host_init(&host);
    cebus_pool_init(&pool, &host.allocator);
    uint64_t seed = 3;
    for (int i = 0; i < 50000; i++)
        exchange(&pool, &objects[random_below(&seed, OBJECTS)], &seed);
    uint64_t live = 0;
    for (int i = 0; i < OBJECTS; i++)
        live += objects[i].bytes != NULL;
    cr_expect_eq(pool.live_objects, live);
    for (int i = 0; i < OBJECTS; i++)
        cebus_pool_free_object(&pool, objects[i].bytes, objects[i].size);
    cr_expect_eq(pool.live_objects, 0);
    cebus_pool_deinit(&pool);
    cr_expect_eq(pool.host_bytes, 0);
    cr_expect_eq(host.live, 0);
}

Test(pool, block_sized_objects_are_a_cache_line)
{
    cebus_pool pool;
    cebus_pool_init(&pool, NULL);
    for (int i = 0; i < 1000; i++)
        cr_assert_eq((uintptr_t)cebus_pool_alloc(&pool, CEBUS_POOL_UNIT) % CEBUS_POOL_UNIT, 0);
    cebus_pool_deinit(&pool);
}

Test(pool, a_steady_program_asks_the_host_no_more)
{
    cebus_test_host host;
    cebus_pool pool;
    cebus_test_host_init(&host);
    void *objects[100];
    uint64_t calls = 0;
    cebus_pool_init(&pool, &host.allocator);
    for (int round = 0; round < 50; round++) {
        for (size_t i = 0; i < 100; i++)
            cr_assert_not_null(objects[i] = cebus_pool_alloc(&pool, 20 * i));
        for (size_t i = 0; i < 100; i++)
            cebus_pool_free_object(&pool, objects[i], 20 * i);
        if (round == 0)
            calls = host.requests;
    }
    cr_expect_gt(calls, 0);
    cr_expect_eq(host.requests, calls);
    cebus_pool_deinit(&pool);
}

Test(pool, large_objects_return_to_the_host_at_once)
{
    cebus_test_host host;
    cebus_pool pool;
    cebus_test_host_init(&host);
    cebus_pool_init(&pool, &host.allocator);
    void *object = cebus_pool_alloc(&pool, CEBUS_POOL_MAX + 1);
    cr_expect_eq(pool.host_bytes, CEBUS_POOL_MAX + 1);
    cebus_pool_free_object(&pool, object, CEBUS_POOL_MAX + 1);
    cr_expect_eq(pool.host_bytes, 0);
    cr_expect_eq(host.live, 0);
    cebus_pool_deinit(&pool);
}

Test(pool, a_failing_host_changes_nothing)
{
    for (uint64_t granted = 0; granted < 10; granted++) {
        cebus_test_host host;
        cebus_pool pool;
        cebus_test_host_init(&host);
        host.fail_at = granted + 1;
        host.lasting = true;
        cebus_pool_init(&pool, &host.allocator);
        uint64_t got = 0;
        while (cebus_pool_alloc(&pool, 200) != NULL)
            got++;
        uint64_t held = pool.host_bytes;
        cr_expect_null(cebus_pool_alloc(&pool, 100000));
        cr_expect_eq(pool.live_objects, got);
        cr_expect_eq(pool.host_bytes, held);
        cr_expect_eq(got > 0, granted > 0);
        cebus_pool_deinit(&pool);
        cr_expect_eq(host.live, 0);
    }
}

Test(pool, a_copy_is_its_own)
{
    cebus_test_host host;
    cebus_pool pool;
    cebus_test_host_init(&host);
    cebus_pool_init(&pool, &host.allocator);
    char word[] = "word";
    char *copy = cebus_pool_copy(&pool, word, sizeof word);
    void *none = cebus_pool_copy(&pool, NULL, 0);
    word[0] = 'l';
    cr_expect_str_eq(copy, "word");
    cr_expect_not_null(none);
    cebus_pool_free_object(&pool, copy, sizeof word);
    cebus_pool_free_object(&pool, none, 0);
    cr_expect_eq(pool.live_objects, 0);
    cebus_test_host_starve(&host, true);
    static const char large[CEBUS_POOL_MAX + 1];
    cr_expect_null(cebus_pool_copy(&pool, large, sizeof large));
    cebus_pool_deinit(&pool);
}

Test(pool, nothing_is_freed_for_nothing)
{
    cebus_pool pool;
    cebus_pool_init(&pool, NULL);
    cebus_pool_free_object(&pool, NULL, 10);
    cr_expect_eq(pool.live_objects, 0);
    cebus_pool_deinit(&pool);
}
