#include "pack_model.h"
#include "random.h"

#include <stdlib.h>
#include <string.h>

static void *must(void *pointer)
{
    if (pointer == NULL)
        abort();
    return pointer;
}

pack_model *pack_model_create(size_t most)
{
    pack_model *model = must(calloc(1, sizeof *model));
    model->room = most;
    model->blocks = must(calloc(most, sizeof *model->blocks));
    model->presets = must(calloc(most, sizeof *model->presets));
    model->offsets = must(calloc(most, sizeof *model->offsets));
    return model;
}

void pack_model_destroy(pack_model *model)
{
    free(model->blocks);
    free(model->presets);
    free(model->offsets);
    free(model);
}

void pack_model_clear(pack_model *model)
{
    model->n = 0;
    model->capacity = 0;
    model->has_presets = false;
}

void pack_model_add_at(pack_model *model, uint64_t lower, uint64_t upper, uint64_t bytes,
                       uint64_t alignment, uint64_t offset)
{
    if (model->n == model->room)
        abort();
    model->presets[model->n] = offset;
    model->blocks[model->n++] = (cebus_pack_block){lower, upper, bytes, alignment};
    model->has_presets |= offset != CEBUS_PACK_ANYWHERE;
}

void pack_model_add(pack_model *model, uint64_t lower, uint64_t upper, uint64_t bytes,
                    uint64_t alignment)
{
    pack_model_add_at(model, lower, upper, bytes, alignment, CEBUS_PACK_ANYWHERE);
}

/* --- the check ------------------------------------------------------------------------------- */

/** A start or an end; ends come first at equal times. */
typedef struct moment {
    uint64_t time;
    bool is_start;
    size_t block;
} moment;

static int in_time(const void *a, const void *b)
{
    const moment *x = a, *y = b;
    if (x->time != y->time)
        return x->time < y->time ? -1 : 1;
    return (int)x->is_start - (int)y->is_start;
}

/** To be freed. */
static moment *moments_of(const pack_model *model)
{
    moment *moments = must(calloc(2 * model->n + 1, sizeof *moments));
    for (size_t i = 0; i < model->n; i++) {
        moments[2 * i] = (moment){model->blocks[i].lower, true, i};
        moments[2 * i + 1] = (moment){model->blocks[i].upper, false, i};
    }
    qsort(moments, 2 * model->n, sizeof *moments, in_time);
    return moments;
}

static const char *fault_alone(const pack_model *model, size_t i, uint64_t offset)
{
    const cebus_pack_block *block = &model->blocks[i];
    if (block->alignment > 1 && offset % block->alignment != 0)
        return "an offset is not aligned";
    if (offset + block->bytes < offset)
        return "an offset wraps";
    if (model->has_presets && model->presets[i] != CEBUS_PACK_ANYWHERE &&
        model->presets[i] != offset)
        return "a preset was moved";
    return NULL;
}

static int by_value(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

/** Bytes from one of `ends` up to the next: how many blocks are on them. A tree of two numbers a
 * node: on all of it, and on the fullest part of it beside those. */
typedef struct shelf {
    uint64_t *ends; /**< where blocks begin and end, in order */
    size_t n;
    int (*tree)[2];
} shelf;

static shelf shelf_of(const pack_model *model, const uint64_t *offsets)
{
    shelf made = {.ends = must(calloc(2 * model->n + 2, sizeof *made.ends))};
    for (size_t i = 0; i < model->n; i++) {
        made.ends[made.n++] = offsets[i];
        made.ends[made.n++] = offsets[i] + model->blocks[i].bytes;
    }
    qsort(made.ends, made.n, sizeof *made.ends, by_value);
    made.tree = must(calloc(4 * made.n + 4, sizeof *made.tree));
    return made;
}

/** Puts a block on bytes [from, to), or takes it away, below a node that is ends [lo, hi); answers
 * the most blocks that lie on one of these bytes, those on a larger range aside. */
static int shelve(shelf *s, size_t at, size_t lo, size_t hi, const uint64_t range[2], int count)
{
    uint64_t from = s->ends[lo], to = hi < s->n ? s->ends[hi] : UINT64_MAX;
    int *node = s->tree[at];
    if (to <= range[0] || from >= range[1])
        return 0;
    if (range[0] <= from && to <= range[1]) {
        node[0] += count;
        return node[0] + node[1];
    }
    size_t middle = lo + (hi - lo) / 2;
    int low = shelve(s, 2 * at, lo, middle, range, count);
    int high = shelve(s, 2 * at + 1, middle, hi, range, count);
    const int *a = s->tree[2 * at], *b = s->tree[2 * at + 1];
    node[1] = a[0] + a[1] > b[0] + b[1] ? a[0] + a[1] : b[0] + b[1];
    return node[0] + (low > high ? low : high);
}

const char *pack_model_check(const pack_model *model, const uint64_t *offsets, uint64_t *out_height)
{
    const char *fault = NULL;
    *out_height = 0;
    for (size_t i = 0; i < model->n && fault == NULL; i++)
        fault = fault_alone(model, i, offsets[i]);
    if (fault != NULL || model->n == 0)
        return fault;
    shelf live = shelf_of(model, offsets);
    moment *moments = moments_of(model);
    for (size_t m = 0; m < 2 * model->n && fault == NULL; m++) {
        size_t i = moments[m].block;
        const uint64_t range[2] = {offsets[i], offsets[i] + model->blocks[i].bytes};
        if (range[0] == range[1])
            continue;
        if (shelve(&live, 1, 0, live.n, range, moments[m].is_start ? 1 : -1) > 1)
            fault = "two blocks overlap";
        if (range[1] > *out_height)
            *out_height = range[1];
    }
    free(moments);
    free(live.ends);
    free(live.tree);
    return fault;
}

uint64_t pack_model_load(const pack_model *model)
{
    uint64_t live = 0, most = 0;
    moment *moments = moments_of(model);
    for (size_t m = 0; m < 2 * model->n; m++) {
        uint64_t bytes = model->blocks[moments[m].block].bytes;
        live = moments[m].is_start ? live + bytes : live - bytes;
        if (live > most)
            most = live;
    }
    free(moments);
    return most;
}

/* --- the optimum ----------------------------------------------------------------------------- */

static bool collides(const pack_model *model, const uint64_t *offsets, size_t i)
{
    const cebus_pack_block *a = &model->blocks[i];
    for (size_t j = 0; j < i; j++) {
        const cebus_pack_block *b = &model->blocks[j];
        if (a->lower < b->upper && b->lower < a->upper && offsets[i] < offsets[j] + b->bytes &&
            offsets[j] < offsets[i] + a->bytes)
            return true;
    }
    return false;
}

static bool try_all(const pack_model *model, uint64_t capacity, uint64_t *offsets, size_t i)
{
    if (i == model->n)
        return true;
    const cebus_pack_block *block = &model->blocks[i];
    for (uint64_t at = 0; at + block->bytes <= capacity; at++) {
        offsets[i] = at;
        if (fault_alone(model, i, at) == NULL && !collides(model, offsets, i) &&
            try_all(model, capacity, offsets, i + 1))
            return true;
    }
    return false;
}

/** In the order of their starts, so that what cannot be shows early. */
bool pack_model_fits(const pack_model *model, uint64_t capacity)
{
    cebus_pack_block blocks[16];
    uint64_t presets[16], offsets[16];
    pack_model sorted = {.blocks = blocks, .presets = presets, .has_presets = model->has_presets};
    if (model->n > 16)
        abort();
    for (size_t i = 0; i < model->n; i++) {
        size_t at = sorted.n++;
        for (; at > 0 && blocks[at - 1].lower > model->blocks[i].lower; at--) {
            blocks[at] = blocks[at - 1];
            presets[at] = presets[at - 1];
        }
        blocks[at] = model->blocks[i];
        presets[at] = model->presets[i];
    }
    return try_all(&sorted, capacity, offsets, 0);
}

/* --- instances ------------------------------------------------------------------------------- */

/** Where the block would collide with no preset before it, or anywhere. */
static uint64_t tiny_preset(const pack_model *model, const cebus_pack_block *block, uint64_t *seed)
{
    uint64_t align = block->alignment > 1 ? block->alignment : 1;
    uint64_t at = random_below(seed, 8) / align * align;
    for (size_t j = 0; j < model->n; j++) {
        const cebus_pack_block *other = &model->blocks[j];
        uint64_t offset = model->presets[j];
        if (offset != CEBUS_PACK_ANYWHERE && block->lower < other->upper &&
            other->lower < block->upper && at < offset + other->bytes && offset < at + block->bytes)
            return CEBUS_PACK_ANYWHERE;
    }
    return at;
}

void pack_model_fill_tiny(pack_model *model, size_t most, bool alignments, bool presets,
                          uint64_t *seed)
{
    size_t n = 1 + random_below(seed, most);
    uint64_t times = 2 + random_below(seed, 6), sizes = 1 + random_below(seed, 5);
    pack_model_clear(model);
    while (model->n < n) {
        cebus_pack_block block = {.lower = random_below(seed, times)};
        block.upper = block.lower + 1 + random_below(seed, times - block.lower);
        block.bytes = 1 + random_below(seed, sizes);
        if (alignments)
            block.alignment = UINT64_C(1) << random_below(seed, 3);
        uint64_t preset = CEBUS_PACK_ANYWHERE;
        if (presets && random_below(seed, 3) == 0)
            preset = tiny_preset(model, &block, seed);
        pack_model_add_at(model, block.lower, block.upper, block.bytes, block.alignment, preset);
    }
}

/** Cuts a piece in two at a multiple of the grain; false when it has none inside. */
static bool cut_piece(pack_model *model, size_t piece, uint64_t grain, uint64_t *seed)
{
    cebus_pack_block *block = &model->blocks[piece];
    uint64_t at = model->presets[piece];
    uint64_t times = (block->upper - block->lower) / grain, rows = block->bytes / grain;
    bool in_time = random_below(seed, 2) == 0 ? times > 1 : rows < 2;
    if (times < 2 && rows < 2)
        return false;
    if (in_time) {
        uint64_t middle = block->lower + (1 + random_below(seed, times - 1)) * grain;
        uint64_t upper = block->upper;
        block->upper = middle;
        pack_model_add_at(model, middle, upper, block->bytes, 0, at);
    } else {
        uint64_t low = (1 + random_below(seed, rows - 1)) * grain;
        uint64_t high = block->bytes - low;
        block->bytes = low;
        pack_model_add_at(model, block->lower, block->upper, high, 0, at + low);
    }
    return true;
}

/** Cuts a piece in five around one in its middle, either way round; false when it is too small. */
static bool cut_pinwheel(pack_model *model, size_t piece, uint64_t grain, uint64_t *seed)
{
    cebus_pack_block block = model->blocks[piece];
    uint64_t at = model->presets[piece];
    uint64_t times = (block.upper - block.lower) / grain, rows = block.bytes / grain;
    if (times < 3 || rows < 3)
        return false;
    uint64_t t = 1 + random_below(seed, times - 2), r = 1 + random_below(seed, rows - 2);
    uint64_t left = block.lower + t * grain, low = r * grain;
    uint64_t right = left + (1 + random_below(seed, times - t - 1)) * grain;
    uint64_t high = low + (1 + random_below(seed, rows - r - 1)) * grain;
    bool turned = random_below(seed, 2) == 0;
    uint64_t at_start = turned ? at : at + low, at_end = turned ? at + low : at;
    model->blocks[piece].lower = turned ? left : block.lower;
    model->blocks[piece].upper = turned ? block.upper : right;
    model->blocks[piece].bytes = low;
    pack_model_add_at(model, turned ? block.lower : left, turned ? right : block.upper,
                      block.bytes - high, 0, at + high);
    pack_model_add_at(model, block.lower, left, turned ? high : block.bytes - low, 0, at_start);
    pack_model_add_at(model, right, block.upper, turned ? block.bytes - low : high, 0, at_end);
    pack_model_add_at(model, left, right, high - low, 0, at + low);
    return true;
}

static void shuffle(pack_model *model, uint64_t *seed)
{
    for (size_t i = model->n; i > 1; i--) {
        size_t j = random_below(seed, i);
        cebus_pack_block block = model->blocks[j];
        model->blocks[j] = model->blocks[i - 1];
        model->blocks[i - 1] = block;
    }
}

/** Cuts a rectangle, and each piece, and so on. */
static void fill_pieces(pack_model *model, size_t n, const cebus_pack_block *whole, uint64_t grain,
                        bool (*cut)(pack_model *, size_t, uint64_t, uint64_t *), uint64_t *seed)
{
    pack_model_clear(model);
    model->capacity = whole->bytes;
    pack_model_add_at(model, whole->lower, whole->upper, whole->bytes, 0, 0);
    for (size_t tries = 0; model->n < n && tries < 100 * n; tries++) {
        /* the larger of two, so that pieces stay comparable */
        size_t a = random_below(seed, model->n), b = random_below(seed, model->n);
        const cebus_pack_block *x = &model->blocks[a], *y = &model->blocks[b];
        bool first = (double)x->bytes * (double)(x->upper - x->lower) >
                     (double)y->bytes * (double)(y->upper - y->lower);
        cut(model, first ? a : b, grain, seed);
    }
    shuffle(model, seed);
    for (size_t i = 0; i < model->n; i++)
        model->presets[i] = CEBUS_PACK_ANYWHERE;
    model->has_presets = false;
}

void pack_model_fill_cut(pack_model *model, size_t n, uint64_t width, uint64_t height,
                         uint64_t grain, uint64_t *seed)
{
    cebus_pack_block whole = {.upper = width, .bytes = height};
    fill_pieces(model, n, &whole, grain, cut_piece, seed);
}

void pack_model_fill_pinwheels(pack_model *model, size_t n, uint64_t width, uint64_t height,
                               uint64_t *seed)
{
    cebus_pack_block whole = {.upper = width, .bytes = height};
    fill_pieces(model, n, &whole, 1, cut_pinwheel, seed);
}

void pack_model_fill_training(pack_model *model, size_t n, uint64_t *seed)
{
    size_t layers = n / 3;
    pack_model_clear(model);
    for (size_t i = 0; i < layers; i++) {
        uint64_t bytes = (1 + random_below(seed, 4096)) * 512;
        uint64_t forward = 2 * i, backward = 4 * layers - 2 * i;
        pack_model_add(model, forward, backward, bytes, 512);
        pack_model_add(model, forward, forward + 2, (1 + random_below(seed, 2048)) * 512, 512);
        pack_model_add(model, backward - 2, backward + 1, bytes, 512);
    }
    while (model->n < n)
        pack_model_add(model, 0, 4 * layers + 2, 512, 512);
}

void pack_model_fill_random(pack_model *model, size_t n, uint64_t *seed)
{
    pack_model_clear(model);
    for (size_t i = 0; i < n; i++) {
        uint64_t lower = random_below(seed, 10 * n), life = 1;
        while (random_below(seed, 200) != 0)
            life += 3;
        pack_model_add(model, lower, lower + life, (1 + random_below(seed, 2000)) * 256, 256);
    }
}
