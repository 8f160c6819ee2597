#include "evict/places/stages.h"

#include <stdlib.h>
#include <string.h>

#include "layout/number.h"

enum {
    MOST_STAGES = 256,
    DUST_PART = 2048,  /* of the capacity: what the smallest have at most */
    CUT_PART = 3,      /* of a stage, at its end, where the cut may be */
    NEAR_PART = 16,    /* of a stage: so near its end need not be found */
    MOST_KEEPING = 64, /* packings by which it is found what can keep its place in a stage, and */
    KEEPING_BLOCKS = 1 << 15, /* blocks of all of them */
};

/** How a stage is packed. */
typedef struct manner {
    bool at_home; /**< dust has its places at the top, what else there is those below */
    bool stays;   /**< what is there stays where it lies */
    bool slid;    /**< or slides down, in the order in which it lies */
    bool keeps;   /**< or stays if it is among `kept` */
} manner;

typedef struct staging {
    cebus_stages *stages;
    cebus_pool *pool;
    bool *dust, *kept;                   /**< by block */
    uint64_t room;                       /**< bytes below their places: of `home` */
    uint64_t *home, *now, *fresh, *slid; /**< by block: in stages with dust at the top; in the
                                       last one that stands; in the next one; if all slides down */
    bool dust_is_home;                   /**< in the last one that stands */
    double *weights;                     /**< by run: what moves there at most, in ns */
    uint32_t *alive;                     /**< blocks from before the stage that go on in it */
    size_t n_alive, next;                /**< the first block that begins in it */
    uint32_t *asked;                     /**< blocks of the question at hand */
    cebus_pack_block *blocks;
    uint64_t *presets, *offsets; /**< of these */
    size_t n_asked;
    uint32_t end, length; /**< of all stages; of the last one, as it might have been */
} staging;

static size_t n_moving(const staging *s)
{
    return s->stages->n - s->stages->n_presets;
}

static void deinit(staging *s)
{
    size_t n = s->stages->n, runs = (size_t)s->stages->runs + 3;
    cebus_pool_free_object(s->pool, s->dust, n * sizeof *s->dust);
    cebus_pool_free_object(s->pool, s->kept, n * sizeof *s->kept);
    cebus_pool_free_object(s->pool, s->home, n * sizeof *s->home);
    cebus_pool_free_object(s->pool, s->now, n * sizeof *s->now);
    cebus_pool_free_object(s->pool, s->fresh, n * sizeof *s->fresh);
    cebus_pool_free_object(s->pool, s->slid, n * sizeof *s->slid);
    cebus_pool_free_object(s->pool, s->weights, runs * sizeof *s->weights);
    cebus_pool_free_object(s->pool, s->alive, n * sizeof *s->alive);
    cebus_pool_free_object(s->pool, s->asked, n * sizeof *s->asked);
    cebus_pool_free_object(s->pool, s->blocks, n * sizeof *s->blocks);
    cebus_pool_free_object(s->pool, s->presets, n * sizeof *s->presets);
    cebus_pool_free_object(s->pool, s->offsets, n * sizeof *s->offsets);
}

static bool init(staging *s, cebus_stages *stages)
{
    size_t n = stages->n, runs = (size_t)stages->runs + 3;
    cebus_pool *pool = stages->shifts->pool;
    *s = (staging){.stages = stages, .pool = pool, .end = stages->runs + 1};
    s->length = s->end / 2 + 1;
    s->dust = cebus_pool_alloc(pool, n * sizeof *s->dust);
    s->kept = cebus_pool_alloc(pool, n * sizeof *s->kept);
    s->home = cebus_pool_alloc(pool, n * sizeof *s->home);
    s->now = cebus_pool_alloc(pool, n * sizeof *s->now);
    s->fresh = cebus_pool_alloc(pool, n * sizeof *s->fresh);
    s->slid = cebus_pool_alloc(pool, n * sizeof *s->slid);
    s->weights = cebus_pool_alloc(pool, runs * sizeof *s->weights);
    s->alive = cebus_pool_alloc(pool, n * sizeof *s->alive);
    s->asked = cebus_pool_alloc(pool, n * sizeof *s->asked);
    s->blocks = cebus_pool_alloc(pool, n * sizeof *s->blocks);
    s->presets = cebus_pool_alloc(pool, n * sizeof *s->presets);
    s->offsets = cebus_pool_alloc(pool, n * sizeof *s->offsets);
    return s->dust != NULL && s->kept != NULL && s->home != NULL && s->now != NULL &&
           s->fresh != NULL && s->slid != NULL && s->weights != NULL && s->alive != NULL &&
           s->asked != NULL && s->blocks != NULL && s->presets != NULL && s->offsets != NULL;
}

/* ---- packing ------------------------------------------------------------------------------- */

static void add(staging *s, uint32_t block, uint64_t from, uint64_t to, uint64_t preset)
{
    const cebus_pack_block *b = &s->stages->blocks[block];
    s->presets[s->n_asked] = preset;
    s->blocks[s->n_asked] = *b;
    if (b->lower < from)
        s->blocks[s->n_asked].lower = from;
    if (b->upper > to)
        s->blocks[s->n_asked].upper = to;
    s->asked[s->n_asked++] = block;
}

/** The question of the blocks that live in [from, to). */
static void ask(staging *s, uint32_t from, uint32_t to, manner how)
{
    size_t n = n_moving(s);
    s->n_asked = 0;
    for (size_t i = 0; i < s->n_alive; i++) {
        uint32_t block = s->alive[i];
        if (!how.at_home || !s->dust[block])
            add(s, block, from, to,
                how.slid                                     ? s->slid[block]
                : how.stays || (how.keeps && s->kept[block]) ? s->now[block]
                                                             : CEBUS_PACK_ANYWHERE);
    }
    for (size_t i = s->next; i < n && s->stages->blocks[i].lower < to; i++) {
        if (!how.at_home || !s->dust[i])
            add(s, (uint32_t)i, from, to, CEBUS_PACK_ANYWHERE);
    }
    for (size_t i = n; i < s->stages->n; i++)
        add(s, (uint32_t)i, from, to, s->stages->presets[i]);
}

/** The lowest packing of what was asked; capacity 0: however high. */
static bool pack(staging *s, uint64_t capacity, bool presets, cebus_pack_result *result,
                 bool *out_found)
{
    cebus_pack_options options = CEBUS_PACK_OPTIONS_INIT;
    options.capacity = capacity;
    options.fits_only = true;
    options.presets = presets || s->stages->n_presets > 0 ? s->presets : NULL;
    options.host = &s->pool->host;
    options.go_on = s->stages->go_on;
    options.context = s->stages->context;
    cebus_status status = cebus_pack(s->blocks, s->n_asked, &options, s->offsets, result);
    *out_found = status == CEBUS_OK && result->verdict == CEBUS_PACK_SOLVED;
    return status != CEBUS_OUT_OF_HOST_MEMORY;
}

/** Whether [from, to) can be packed in a manner: then `fresh` says how. */
static bool try_stage(staging *s, uint32_t from, uint32_t to, manner how, bool *out_found)
{
    cebus_pack_result result = CEBUS_PACK_RESULT_INIT;
    const uint64_t room = how.at_home ? s->room : s->stages->capacity;
    *out_found = room > 0;
    if (!*out_found)
        return true;
    ask(s, from, to, how);
    if (!pack(s, room, how.slid || how.stays || how.keeps, &result, out_found))
        return false;
    for (size_t i = 0; i < s->n_asked && *out_found; i++)
        s->fresh[s->asked[i]] = s->offsets[i];
    return true;
}

/* ---- dust ---------------------------------------------------------------------------------- */

/** The most bytes that blocks of at most so many have at once. */
static double peak_below(staging *s, uint64_t most)
{
    double level = 0, peak = 0;
    memset(s->weights, 0, ((size_t)s->stages->runs + 3) * sizeof *s->weights);
    for (size_t i = 0; i < n_moving(s); i++) {
        const cebus_pack_block *b = &s->stages->blocks[i];
        if (b->bytes <= most) {
            s->weights[b->lower] += (double)b->bytes;
            s->weights[b->upper] -= (double)b->bytes;
        }
    }
    for (uint32_t run = 0; run <= s->end; run++) {
        level += s->weights[run];
        peak = level > peak ? level : peak;
    }
    return peak;
}

/** Where the places of what was asked begin, if they end with the capacity; 0: it has too little.
 */
static uint64_t top_of(const staging *s, uint64_t height)
{
    uint64_t alignment = 1;
    for (size_t i = 0; i < s->n_asked; i++) {
        if (s->blocks[i].alignment > alignment)
            alignment = s->blocks[i].alignment;
    }
    return height < s->stages->capacity ? (s->stages->capacity - height) & ~(alignment - 1) : 0;
}

/** What all dust may be is packed for all stages alike: at the top, where it is in the way of
 * nothing, and full stages without such places leave the rest where it lies. */
static bool settle_dust(staging *s)
{
    cebus_pack_result result = CEBUS_PACK_RESULT_INIT;
    const double room = (double)s->stages->capacity / DUST_PART;
    uint64_t most = s->stages->n_presets > 0 ? 0 : 1;
    while (most > 0 && most < s->stages->capacity && peak_below(s, 2 * most) <= room)
        most *= 2;
    s->n_asked = 0;
    for (size_t i = 0; i < s->stages->n; i++) {
        s->dust[i] = i < n_moving(s) && s->stages->blocks[i].bytes <= most;
        if (s->dust[i])
            add(s, (uint32_t)i, 0, s->end, CEBUS_PACK_ANYWHERE);
    }
    bool found = true;
    if (s->n_asked > 0 && !pack(s, 0, false, &result, &found))
        return false;
    s->room = s->stages->capacity;
    if (found && s->n_asked > 0)
        s->room = top_of(s, result.height);
    for (size_t i = 0; i < s->n_asked; i++) {
        s->dust[s->asked[i]] = found;
        s->home[s->asked[i]] = s->room + s->offsets[i];
    }
    return true;
}

/* ---- cuts ---------------------------------------------------------------------------------- */

/** What may have to move before each run, as if all of it did. */
static void weigh_cuts(staging *s)
{
    const cebus_move_terms *moves = &s->stages->moves;
    memset(s->weights, 0, ((size_t)s->stages->runs + 3) * sizeof *s->weights);
    for (size_t i = 0; i < n_moving(s); i++) {
        const cebus_pack_block *b = &s->stages->blocks[i];
        double ns = 1e9 * (double)b->bytes / (double)moves->rate + (double)moves->ns;
        if (s->dust[i])
            continue;
        s->weights[b->lower + 1] += ns;
        s->weights[b->upper] -= ns;
    }
    for (uint32_t run = 1; run <= s->end; run++)
        s->weights[run] += s->weights[run - 1];
}

/** The cheapest cut near the end of a stage that may be that long; `from`: there is none. */
static uint32_t choose_cut(const staging *s, uint32_t from, uint32_t to)
{
    uint32_t best = from;
    for (uint32_t run = to; run > from; run--) {
        if (best > from && run - from < (to - from) - (to - from) / CUT_PART)
            break;
        if (!s->stages->firm[run] && (best == from || s->weights[run] < s->weights[best]))
            best = run;
    }
    return best;
}

/** Whether there can be no cut behind a run. */
static bool is_whole(const staging *s, uint32_t from)
{
    bool any = false;
    for (uint32_t run = from + 1; run < s->end && !any; run++)
        any = !s->stages->firm[run];
    return !any;
}

/** About the longest stage from there; *out_to = from: there is none. Where nothing can be cut only
 * one that goes to the end is of use. */
static bool extend(staging *s, uint32_t from, manner how, uint32_t *out_to)
{
    bool found, ok = true;
    if (is_whole(s, from)) {
        ok = try_stage(s, from, s->end, how, &found);
        *out_to = ok && found ? s->end : from;
        return ok;
    }
    uint32_t low = from, high = s->end + 1, to = from + (s->length > 0 ? s->length : 1);
    while (ok && low < s->end && high - low > 1 &&
           (high > s->end || low == from || high - low > (low - from) / NEAR_PART)) {
        to = to < s->end ? to : s->end;
        ok = try_stage(s, from, to, how, &found);
        *(found ? &low : &high) = to;
        to = high > s->end ? from + 2 * (to - from) : low + (high - low) / 2;
    }
    *out_to = low;
    return ok;
}

/* ---- stages -------------------------------------------------------------------------------- */

/** What was there in the stage before goes to where it lies in the next. */
static bool shift(staging *s, uint32_t run, bool *out_found)
{
    size_t bytes = s->stages->n * sizeof(cebus_lodger), n = 0;
    cebus_lodger *lodgers = cebus_pool_alloc(s->pool, bytes);
    if (lodgers == NULL)
        return false;
    for (size_t i = 0; i < s->n_alive; i++) {
        uint32_t block = s->alive[i];
        lodgers[n++] = (cebus_lodger){.bytes = s->stages->blocks[block].bytes,
                                      .now = s->now[block],
                                      .then = s->fresh[block],
                                      .name = block};
    }
    for (size_t i = n_moving(s); i < s->stages->n; i++)
        lodgers[n++] = (cebus_lodger){.bytes = s->stages->blocks[i].bytes,
                                      .now = s->stages->presets[i],
                                      .then = s->stages->presets[i],
                                      .name = (uint32_t)i};
    bool ok = cebus_shifts_add(s->stages->shifts, lodgers, n, run, s->stages->capacity, out_found);
    cebus_pool_free_object(s->pool, lodgers, bytes);
    return ok;
}

/** The stage that ends there stands. */
static void take(staging *s, uint32_t to)
{
    size_t kept = 0, i = s->next;
    for (size_t k = 0; k < s->n_alive; k++) {
        uint32_t block = s->alive[k];
        s->now[block] = s->fresh[block];
        if (s->stages->blocks[block].upper > to)
            s->alive[kept++] = block;
    }
    for (; i < n_moving(s) && s->stages->blocks[i].lower < to; i++) {
        s->now[i] = s->stages->offsets[i] = s->fresh[i];
        if (s->stages->blocks[i].upper > to)
            s->alive[kept++] = (uint32_t)i;
    }
    s->n_alive = kept;
    s->next = i;
}

static int by_now(const void *a, const void *b)
{
    const cebus_lodger *left = a, *right = b;
    return left->now < right->now ? -1 : left->now > right->now;
}

/** The lowest offset from there on at which a block is clear of what has presets. */
static uint64_t past_fixtures(const staging *s, uint64_t offset, const cebus_pack_block *b)
{
    for (size_t i = n_moving(s); i < s->stages->n; i++) {
        uint64_t from = s->stages->presets[i], to = from + s->stages->blocks[i].bytes;
        if (offset < to && offset + b->bytes > from)
            offset = cebus_align_up(to, b->alignment);
    }
    return offset;
}

/** Where what is there lies if all of it slides down; dust that is at home may stay. */
static bool slide_down(staging *s, bool stays)
{
    size_t bytes = s->n_alive * sizeof(cebus_lodger), n = 0;
    uint64_t end = 0;
    cebus_lodger *lodgers = cebus_pool_alloc(s->pool, bytes);
    if (lodgers == NULL)
        return false;
    for (size_t i = 0; i < s->n_alive; i++) {
        uint32_t block = s->alive[i];
        s->slid[block] = s->now[block];
        if (!stays || !s->dust[block])
            lodgers[n++] = (cebus_lodger){.now = s->now[block], .name = block};
    }
    qsort(lodgers, n, sizeof *lodgers, by_now);
    for (size_t i = 0; i < n; i++) {
        const cebus_pack_block *b = &s->stages->blocks[lodgers[i].name];
        end = past_fixtures(s, cebus_align_up(end, b->alignment), b);
        s->slid[lodgers[i].name] = end;
        end += b->bytes;
    }
    cebus_pool_free_object(s->pool, lodgers, bytes);
    return true;
}

/** ns of the shifts from one on. */
static uint64_t time_of(const staging *s, size_t first)
{
    const cebus_shifts *all = s->stages->shifts;
    if (first == all->count)
        return 0; /* there may be no list yet */
    cebus_shifts some = {.items = all->items + first, .count = all->count - first};
    return cebus_shifts_ns(&some, &s->stages->moves);
}

/** A stage that might come next. */
typedef struct option {
    manner how;
    uint32_t longest, to;
    double rate; /**< ns for a run of it: of its shifts, and of all that could move after it */
} option;

/** The next stage in a manner; o->to = from: there is none. What it takes is in `fresh` and, from
 * `before` on, the shifts. */
static bool try_manner(staging *s, uint32_t from, option *o)
{
    cebus_shifts *shifts = s->stages->shifts;
    const size_t before = shifts->count;
    bool found = true;
    o->to = from;
    memcpy(s->fresh, s->home, s->stages->n * sizeof *s->fresh);
    if (!extend(s, from, o->how, &o->longest))
        return false;
    uint32_t to = o->longest < s->end ? choose_cut(s, from, o->longest) : o->longest;
    if (to > from && from > 0 && !shift(s, from, &found))
        return false;
    if (to > from && found) {
        o->to = to;
        o->rate = (double)time_of(s, before);
        o->rate += to < s->end ? s->weights[to] : 0;
        o->rate /= (double)(to - from);
    }
    return true;
}

/* ---- what keeps its place ------------------------------------------------------------------ */

/** All of these, if the stage can be packed with them where they are; else half of them, and half.
 */
static bool keep(staging *s, const option *o, uint32_t from, const cebus_lodger *those, size_t n,
                 size_t *packings)
{
    bool found;
    if (n == 0 || *packings == 0)
        return true;
    --*packings;
    for (size_t i = 0; i < n; i++)
        s->kept[those[i].name] = true;
    if (!try_stage(s, from, o->to, o->how, &found))
        return false;
    if (found)
        return true;
    for (size_t i = 0; i < n; i++)
        s->kept[those[i].name] = false;
    const size_t half = n / 2;
    return n == 1 || (keep(s, o, from, those, half, packings) &&
                      keep(s, o, from, those + half, n - half, packings));
}

/** What can stay, by where it lies: with dust at home nothing that lies where dust has places. */
static size_t list_stayers(const staging *s, bool at_home, cebus_lodger *out)
{
    size_t n = 0;
    for (size_t i = 0; i < s->n_alive; i++) {
        uint32_t block = s->alive[i];
        const uint64_t end = s->now[block] + s->stages->blocks[block].bytes;
        if (!at_home || (end <= s->room && !s->dust[block]))
            out[n++] = (cebus_lodger){.now = s->now[block], .name = block};
    }
    qsort(out, n, sizeof *out, by_now);
    return n;
}

/** Packs a stage, of which `fresh` has one packing, so that most of what is there stays. */
static bool keep_most(staging *s, uint32_t from, option o)
{
    size_t bytes = s->n_alive * sizeof(cebus_lodger), packings = KEEPING_BLOCKS / (s->n_asked + 1);
    cebus_lodger *lodgers = cebus_pool_alloc(s->pool, bytes);
    if (lodgers == NULL)
        return false;
    packings = packings < MOST_KEEPING ? packings : MOST_KEEPING;
    o.how = (manner){.at_home = o.how.at_home, .keeps = true};
    memset(s->kept, 0, s->stages->n * sizeof *s->kept);
    size_t n = list_stayers(s, o.how.at_home, lodgers);
    bool ok = keep(s, &o, from, lodgers, n, &packings);
    cebus_pool_free_object(s->pool, lodgers, bytes);
    return ok;
}

/** The shifts to the stage in `fresh`, or to the same stage with most of what is there where it is,
 * whichever take less. */
static bool move_least(staging *s, uint32_t from, const option *o)
{
    cebus_shifts *shifts = s->stages->shifts;
    const size_t before = shifts->count, bytes = s->stages->n * sizeof *s->fresh;
    bool found;
    if (!shift(s, from, &found))
        return false;
    const uint64_t ns = time_of(s, before);
    if (ns == 0)
        return true;
    memcpy(s->slid, s->fresh, bytes);
    shifts->count = before;
    if (!keep_most(s, from, *o) || !shift(s, from, &found))
        return false;
    if (found && time_of(s, before) < ns)
        return true;
    memcpy(s->fresh, s->slid, bytes);
    shifts->count = before;
    return shift(s, from, &found);
}

/** The next stage: of all manners that with the least to move for its length. *out_to = from: there
 * is none. */
static bool stage(staging *s, uint32_t from, uint32_t *out_to)
{
    static const manner manners[] = {{.at_home = true},
                                     {.at_home = false},
                                     {.at_home = true, .stays = true},
                                     {.at_home = true, .slid = true},
                                     {.slid = true}};
    const size_t before = s->stages->shifts->count;
    const uint32_t length = s->length;
    option best = {.to = from};
    bool ok = true;
    for (size_t i = 0; i < sizeof manners / sizeof *manners && ok; i++) {
        option o = {.how = manners[i]};
        bool fixed = o.how.slid || o.how.stays;
        if (fixed && (from == 0 || (o.how.at_home && !s->dust_is_home)))
            continue;
        if (!o.how.at_home && best.to > from)
            continue;
        s->length = i == 0 ? length : 1;
        ok = (!o.how.slid || slide_down(s, o.how.at_home)) && try_manner(s, from, &o);
        s->stages->shifts->count = before;
        if (o.to > from && (best.to == from || o.rate < best.rate))
            best = o;
    }
    *out_to = best.to;
    if (!ok || best.to == from)
        return ok;
    bool found;
    s->length = best.longest - from;
    memcpy(s->fresh, s->home, s->stages->n * sizeof *s->fresh);
    ok = (!best.how.slid || slide_down(s, best.how.at_home)) &&
         try_stage(s, from, best.longest, best.how, &found) && move_least(s, from, &best);
    s->dust_is_home = best.how.at_home;
    take(s, best.to);
    return ok;
}

static bool make(staging *s, bool *out_found)
{
    uint32_t from = 0;
    if (!settle_dust(s))
        return false;
    weigh_cuts(s);
    for (int i = 0; i < MOST_STAGES && from < s->end; i++) {
        uint32_t to;
        if (!stage(s, from, &to))
            return false;
        if (to == from)
            break;
        from = to;
    }
    *out_found = from == s->end;
    return true;
}

bool cebus_stages_make(cebus_stages *stages, bool *out_found)
{
    staging s;
    *out_found = false;
    bool ok = init(&s, stages);
    if (ok) {
        memset(s.home, 0, stages->n * sizeof *s.home);
        ok = make(&s, out_found);
    }
    deinit(&s);
    return ok;
}
