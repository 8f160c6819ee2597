#include "evict/places/shifts.h"

#include <stdlib.h>
#include <string.h>

#define NONE SIZE_MAX

/** Lodgers by where they lie now. */
typedef struct house {
    cebus_shifts *shifts;
    cebus_lodger *lodgers;
    uint32_t *order;  /**< by `now`: indices of them */
    uint32_t *barred; /**< of lodgers: who was met last in the new place; itself: nobody yet */
    uint32_t *away;   /**< those that are not where they shall be, in order */
    size_t n, n_away;
    uint64_t capacity;
    uint32_t run;
} house;

void cebus_shifts_init(cebus_shifts *shifts, cebus_pool *pool)
{
    *shifts = (cebus_shifts){.pool = pool};
}

void cebus_shifts_deinit(cebus_shifts *shifts)
{
    cebus_pool_free_object(shifts->pool, shifts->items, shifts->capacity * sizeof *shifts->items);
    cebus_shifts_init(shifts, shifts->pool);
}

uint64_t cebus_shifts_ns(const cebus_shifts *shifts, const cebus_move_terms *terms)
{
    double bytes = 0;
    for (size_t i = 0; i < shifts->count; i++)
        bytes += (double)shifts->items[i].bytes;
    return terms->rate > 0
               ? (uint64_t)(1e9 * bytes / (double)terms->rate) + shifts->count * terms->ns
               : 0;
}

static const cebus_lodger *at(const house *h, size_t place)
{
    return &h->lodgers[h->order[place]];
}

/** The first place whose lodger ends above an offset. */
static size_t find(const house *h, uint64_t offset)
{
    size_t low = 0, high = h->n;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (at(h, middle)->now + at(h, middle)->bytes > offset)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static bool bars(const cebus_lodger *other, const cebus_lodger *lodger)
{
    return other != lodger && other->now < lodger->then + lodger->bytes &&
           lodger->then < other->now + other->bytes;
}

/** Whether all bytes of the new place of one are free, or its own. Mostly who was in it is there
 * still. */
static bool is_free(house *h, uint32_t who)
{
    const cebus_lodger *lodger = &h->lodgers[who];
    if (bars(&h->lodgers[h->barred[who]], lodger))
        return false;
    size_t place = find(h, lodger->then);
    if (place < h->n && h->order[place] == who)
        place++;
    if (place == h->n || at(h, place)->now >= lodger->then + lodger->bytes)
        return true;
    h->barred[who] = h->order[place];
    return false;
}

static bool move(house *h, uint32_t who, uint64_t offset)
{
    cebus_shifts *shifts = h->shifts;
    cebus_lodger *lodger = &h->lodgers[who];
    void *items = shifts->items;
    if (!cebus_pool_grow(shifts->pool, &items, &shifts->capacity, shifts->count,
                         sizeof *shifts->items))
        return false;
    shifts->items = items;
    shifts->items[shifts->count++] = (cebus_shift){
        .run = h->run, .name = lodger->name, .bytes = lodger->bytes, .offset = offset};
    size_t from = find(h, lodger->now), to = find(h, offset);
    if (to > from) {
        to--;
        memmove(&h->order[from], &h->order[from + 1], (to - from) * sizeof *h->order);
    } else {
        memmove(&h->order[to + 1], &h->order[to], (from - to) * sizeof *h->order);
    }
    h->order[to] = who;
    lodger->now = offset;
    return true;
}

static void list_away(house *h)
{
    h->n_away = 0;
    for (uint32_t i = 0; i < h->n; i++) {
        if (h->lodgers[i].now != h->lodgers[i].then)
            h->away[h->n_away++] = i;
    }
}

/** Once over all: who finds the new place free goes there. False without host memory. */
static bool move_free(house *h, bool *out_any)
{
    size_t left = 0;
    bool ok = true;
    for (size_t k = 0; k < h->n_away && ok; k++) {
        uint32_t who = h->away[k];
        if (is_free(h, who))
            ok = move(h, who, h->lodgers[who].then);
        else
            h->away[left++] = who;
    }
    *out_any = left < h->n_away;
    h->n_away = left;
    return ok;
}

/** The smallest hole of so many bytes outside of [from, to). NONE: there is none. */
static uint64_t find_hole(const house *h, uint64_t bytes, uint64_t from, uint64_t to)
{
    uint64_t best = NONE, best_bytes = UINT64_MAX, begin = 0;
    for (size_t place = 0; place <= h->n; place++) {
        uint64_t end = place < h->n ? at(h, place)->now : h->capacity;
        uint64_t below = end < from ? end : from, above = begin > to ? begin : to;
        if (below > begin && below - begin >= bytes && below - begin < best_bytes) {
            best_bytes = below - begin;
            best = begin;
        }
        if (end > above && end - above >= bytes && end - above < best_bytes) {
            best_bytes = end - above;
            best = above;
        }
        if (place < h->n)
            begin = end + at(h, place)->bytes;
    }
    return best;
}

/** All others leave the place that one is to have. *out_free false: some find no hole elsewhere. */
static bool clear(house *h, uint32_t who, bool *out_free)
{
    const cebus_lodger *lodger = &h->lodgers[who];
    const uint64_t from = lodger->then, to = from + lodger->bytes;
    bool ok = true;
    *out_free = true;
    while (ok && *out_free && !is_free(h, who)) {
        size_t place = find(h, from);
        place += h->order[place] == who;
        uint32_t other = h->order[place];
        uint64_t hole = find_hole(h, h->lodgers[other].bytes, from, to);
        *out_free = hole != NONE;
        ok = !*out_free || move(h, other, hole);
    }
    return ok;
}

static int by_bytes(const void *a, const void *b)
{
    const cebus_lodger *left = a, *right = b;
    if (left->bytes != right->bytes)
        return left->bytes > right->bytes ? -1 : 1;
    return left->name < right->name ? -1 : left->name > right->name;
}

/** The largest that others can make way for goes where it shall. */
static bool make_way(house *h, bool *out_any)
{
    bool ok = true;
    *out_any = false;
    for (uint32_t i = 0; i < h->n && ok && !*out_any; i++) {
        const cebus_lodger *lodger = &h->lodgers[i];
        if (lodger->now == lodger->then)
            continue;
        ok = clear(h, i, out_any) && (!*out_any || move(h, i, lodger->then));
    }
    list_away(h);
    return ok;
}

static bool move_all(house *h, bool *out_found)
{
    bool ok = true, any = true, done = false;
    size_t most = h->shifts->count + 3 * h->n + 1;
    list_away(h);
    while (ok && any && !done && h->shifts->count < most) {
        ok = move_free(h, &any);
        done = h->n_away == 0;
        if (ok && !any && !done)
            ok = make_way(h, &any);
    }
    *out_found = done;
    return ok;
}

/** By where they lie: the largest first, and each new one to its place. */
static void enter(house *h)
{
    size_t n = h->n;
    for (h->n = 0; h->n < n; h->n++) {
        size_t place = find(h, h->lodgers[h->n].now);
        memmove(&h->order[place + 1], &h->order[place], (h->n - place) * sizeof *h->order);
        h->order[place] = (uint32_t)h->n;
    }
}

bool cebus_shifts_add(cebus_shifts *shifts, cebus_lodger *lodgers, size_t n, uint32_t run,
                      uint64_t capacity, bool *out_found)
{
    house h = {.shifts = shifts, .lodgers = lodgers, .n = n, .capacity = capacity, .run = run};
    *out_found = true;
    if (n == 0)
        return true;
    size_t bytes = 3 * n * sizeof *h.order;
    h.order = cebus_pool_alloc(shifts->pool, bytes);
    if (h.order == NULL)
        return false;
    h.barred = h.order + n;
    h.away = h.barred + n;
    for (uint32_t i = 0; i < n; i++)
        h.barred[i] = i;
    qsort(lodgers, n, sizeof *lodgers, by_bytes);
    enter(&h);
    bool ok = move_all(&h, out_found);
    cebus_pool_free_object(shifts->pool, h.order, bytes);
    return ok;
}
