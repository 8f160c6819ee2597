#include "layout/window/pool.h"

#include <string.h>

bool cebus_window_is_better(const cebus_window *a, const cebus_window *b)
{
    cebus_window_key one = cebus_window_key_of(a), other = cebus_window_key_of(b);
    return cebus_window_key_is_less(&one, &other);
}

void cebus_window_pool_init(cebus_window_pool *pool, size_t limit)
{
    pool->limit = limit;
    pool->count = pool->n_picks = 0;
    pool->unsure = false;
}

const cebus_window *cebus_window_pool_last(const cebus_window_pool *pool)
{
    return pool->n_picks == pool->limit ? &pool->windows[pool->picks[pool->limit - 1]] : NULL;
}

static bool share_blocks(const cebus_window *a, const cebus_window *b)
{
    return a->first->offset <= b->last->offset && b->first->offset <= a->last->offset;
}

static bool is_free(const cebus_window_pool *pool, const cebus_window *window)
{
    for (size_t i = 0; i < pool->n_picks; i++) {
        if (share_blocks(window, &pool->windows[pool->picks[i]]))
            return false;
    }
    return true;
}

static void pick(cebus_window_pool *pool)
{
    pool->n_picks = 0;
    for (size_t i = 0; i < pool->count && pool->n_picks < pool->limit; i++) {
        if (is_free(pool, &pool->windows[i]))
            pool->picks[pool->n_picks++] = (uint8_t)i;
    }
}

/** Where there is no room, the last goes. */
static void insert(cebus_window_pool *pool, size_t at, const cebus_window *window)
{
    if (pool->count == CEBUS_WINDOW_POOL) {
        pool->unsure = true;
        pool->count--;
    }
    if (at > pool->count)
        return;
    memmove(&pool->windows[at + 1], &pool->windows[at], (pool->count - at) * sizeof *window);
    pool->windows[at] = *window;
    pool->count++;
}

void cebus_window_pool_offer(cebus_window_pool *pool, const cebus_window *window)
{
    const cebus_window *last = cebus_window_pool_last(pool);
    const cebus_window before = last != NULL ? *last : (cebus_window){0};
    size_t at = pool->count;
    if (last != NULL && !cebus_window_is_better(window, last))
        return;
    while (at > 0 && cebus_window_is_better(window, &pool->windows[at - 1]))
        at--;
    if (at > 0 && pool->windows[at - 1].first == window->first)
        return; /* what starts alike ends alike */
    insert(pool, at, window);
    pick(pool);
    last = cebus_window_pool_last(pool);
    pool->unsure |= before.first != NULL && (last == NULL || cebus_window_is_better(&before, last));
}
