/**
 * bench_window_index.c: what a decision costs that looks only where a window can be cheap, beside
 * the sweep over all blocks, on traces, as a Markdown table.
 *
 * `random`: between two requests four blocks are touched, mostly young ones; some are released,
 * some weigh more or less from now on. `training`: a forward places an activation a call and often
 * a temporary; a backward reads them in reverse, brings back what was given up, places and releases
 * gradients; what lies beside a victim weighs more, beside what came back less. Both run until the
 * arena is full, then through so many decisions.
 *
 * Each trace runs twice from one seed, with the index and with the sweep. Both must decide alike.
 */
#include "layout/window/index.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define UNIT UINT64_C(512)
#define RUNS 5
#define SWEEP_RUNS 2
/** In arenas of more blocks than that searches take milliseconds, in which other programs always
 * get their turn: where the thread's own time is less, that counts. To ask for it slows down what
 * follows, so elsewhere nobody does. */
#define LARGE 50000

typedef struct setting {
    const char *name;
    size_t blocks;    /**< about so many in the arena */
    unsigned sizes;   /**< of requests; 0: they hardly repeat */
    unsigned request; /**< is so many times the size of a block */
    size_t decisions;
    bool training;
} setting;

typedef struct trace {
    const setting *how;
    cebus_pool pool;
    cebus_arena arena;
    cebus_block **used; /**< in no order; a block's owner says where */
    size_t count;
    uint64_t *sizes;
    uint64_t seed, now;
    double *search_ns;
    size_t decisions;
    uint64_t evicted, changes, checksum;
} trace;

static void *must(void *pointer)
{
    if (pointer == NULL) {
        fputs("out of memory\n", stderr);
        exit(1);
    }
    return pointer;
}

static double nanoseconds(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static uint64_t draw(trace *t, uint64_t limit)
{
    uint64_t z = t->seed += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (z ^ (z >> 31)) % limit;
}

/** Every magnitude up to 2^bits alike. */
static uint64_t draw_wide(trace *t, unsigned bits)
{
    return (draw(t, UINT64_C(1) << bits) >> draw(t, bits)) + 1;
}

static uint64_t draw_size(trace *t)
{
    return t->how->sizes > 0 ? t->sizes[draw(t, t->how->sizes)] : UNIT * draw_wide(t, 12);
}

static void note(trace *t, cebus_block *block)
{
    t->changes++;
    cebus_window_index_cheaper(t->arena.index, block);
}

static void keep(trace *t, cebus_block *block)
{
    if (draw(t, 64) > 0) { /* the others stay: parameters */
        block->state = CEBUS_BLOCK_EVICTABLE;
        block->weight = 1000 * draw_wide(t, 14);
    }
    block->tick = t->now;
    block->owner = &t->used[t->count];
    note(t, block);
    t->used[t->count++] = block;
}

static void release(trace *t, cebus_block *block)
{
    cebus_block **place = block->owner;
    *place = t->used[--t->count];
    (*place)->owner = place;
    cebus_arena_release(&t->arena, block);
    t->changes++;
}

/** From its upper end: merging keeps the lower record. */
static void evict(trace *t, const cebus_window *window)
{
    cebus_block *block = window->last;
    for (bool more = true; more;) {
        cebus_block *before = block->prev;
        more = block != window->first;
        if (block->state != CEBUS_BLOCK_FREE) {
            release(t, block);
            t->evicted++;
        }
        block = before;
    }
}

static void search(const trace *t, uint64_t bytes, cebus_window *out)
{
    if (t->arena.index != NULL)
        cebus_window_index_find(t->arena.index, bytes, t->now, NULL, out, 1);
    else
        cebus_window_find(&t->arena, bytes, t->now, out);
}

static double time_search(const trace *t, uint64_t bytes, cebus_window *out)
{
    bool large = t->how->blocks > LARGE;
    double busy = large ? nanoseconds(CLOCK_THREAD_CPUTIME_ID) : 0;
    double start = nanoseconds(CLOCK_MONOTONIC);
    search(t, bytes, out);
    double taken = nanoseconds(CLOCK_MONOTONIC) - start;
    return large ? fmin(taken, nanoseconds(CLOCK_THREAD_CPUTIME_ID) - busy) : taken;
}

static bool decide(trace *t, uint64_t bytes)
{
    cebus_window window = {0};
    t->search_ns[t->decisions++] = time_search(t, bytes, &window);
    if (window.first == NULL)
        return false;
    t->checksum = (t->checksum ^ window.first->offset) * UINT64_C(0x100000001b3) + window.price;
    evict(t, &window);
    return true;
}

static cebus_block *place(trace *t, uint64_t bytes)
{
    cebus_block *block;
    if (cebus_arena_place(&t->arena, bytes, CEBUS_ZONE_CHEAP, &block) == CEBUS_PLACED)
        return block;
    if (t->decisions == t->how->decisions || !decide(t, bytes) ||
        cebus_arena_place(&t->arena, bytes, CEBUS_ZONE_CHEAP, &block) != CEBUS_PLACED)
        return NULL;
    return block;
}

/** Young blocks more often. */
static cebus_block *skewed(trace *t)
{
    uint64_t back = draw(t, t->count) * draw(t, t->count) / t->count;
    return t->used[t->count - 1 - back];
}

static void step_random(trace *t)
{
    t->now += 1000 + draw(t, 4000);
    for (int i = 0; i < 4 && t->count > 0; i++)
        skewed(t)->tick = t->now;
    if (t->count > 0 && draw(t, 100) < 15)
        release(t, t->used[draw(t, t->count)]);
    if (t->count > 0 && draw(t, 100) < 30) {
        cebus_block *block = t->used[draw(t, t->count)];
        if (block->state == CEBUS_BLOCK_EVICTABLE)
            block->weight = 1000 * draw_wide(t, 14);
        note(t, block);
    }
    /* Requests larger than blocks make windows of several: what is placed there is small again. */
    uint64_t bytes = draw_size(t);
    cebus_block *block = place(t, bytes * t->how->request);
    if (block != NULL && t->how->request > 1) {
        cebus_arena_release(&t->arena, block);
        for (unsigned i = 0; i < t->how->request; i++) {
            if (cebus_arena_place(&t->arena, bytes, CEBUS_ZONE_CHEAP, &block) == CEBUS_PLACED)
                keep(t, block);
        }
    } else if (block != NULL) {
        keep(t, block);
    }
}

/* Training. */

static void weigh_beside(trace *t, const cebus_block *block, bool more)
{
    cebus_block *beside[] = {block->prev, block->next};
    for (int i = 0; i < 2; i++) {
        if (beside[i] == NULL || beside[i]->state != CEBUS_BLOCK_EVICTABLE)
            continue;
        uint64_t weight = beside[i]->weight;
        beside[i]->weight = more ? weight + weight / 4 : weight - weight / 5;
        if (!more)
            note(t, beside[i]);
    }
}

/** A call of the forward: an activation stays; half of the temporaries last for one call. */
static void step_forward(trace *t)
{
    uint64_t bytes = draw_size(t) * t->how->request;
    cebus_block *temporary = NULL, *block;
    t->now += 1000 + draw(t, 4000);
    if (draw(t, 2))
        temporary = place(t, draw_size(t));
    block = place(t, bytes);
    if (block != NULL)
        keep(t, block);
    if (temporary != NULL)
        cebus_arena_release(&t->arena, temporary);
}

/** A call of the backward: reads the activation last made, or one brought back; its gradient takes
 * the place of the one before. */
static void step_backward(trace *t, cebus_block **gradient)
{
    t->now += 1000 + draw(t, 4000);
    cebus_block *block = draw(t, 2) ? place(t, draw_size(t) * t->how->request) : NULL;
    if (block != NULL) {
        keep(t, block);
        weigh_beside(t, block, false);
    }
    cebus_block *fresh = place(t, draw_size(t));
    if (*gradient != NULL)
        cebus_arena_release(&t->arena, *gradient);
    *gradient = fresh;
    if (t->count > 0) {
        block = t->used[t->count - 1];
        weigh_beside(t, block, true);
        release(t, block);
    }
}

static void step_training(trace *t)
{
    cebus_block *gradient = NULL;
    size_t calls = t->how->blocks * 3 / 2;
    for (size_t i = 0; i < calls && t->decisions < t->how->decisions; i++)
        step_forward(t);
    for (size_t i = 0; i < calls && t->decisions < t->how->decisions; i++)
        step_backward(t, &gradient);
    if (gradient != NULL)
        cebus_arena_release(&t->arena, gradient);
}

/* Measuring. */

static uint64_t mean_size(trace *t)
{
    uint64_t sum = 0;
    for (int i = 0; i < 4096; i++)
        sum += draw_size(t) / 4096;
    return t->how->training ? sum * t->how->request : sum;
}

static void run(trace *t, const setting *how, bool indexed)
{
    *t = (trace){.how = how, .seed = 1, .now = 1000000};
    t->sizes = must(calloc(how->sizes + 1, sizeof *t->sizes));
    for (unsigned i = 0; i < how->sizes; i++)
        t->sizes[i] = how->sizes <= 12 ? UNIT << i : draw_wide(t, 12) * UNIT;
    t->used = must(calloc(64 * how->blocks, sizeof *t->used));
    t->search_ns = must(calloc(how->decisions, sizeof *t->search_ns));
    cebus_pool_init(&t->pool, NULL);
    cebus_arena_init(&t->arena, how->blocks * mean_size(t), UNIT, &t->pool);
    if (indexed && !cebus_window_index_create(&t->arena))
        must(NULL);
    while (t->decisions < how->decisions) {
        if (how->training)
            step_training(t);
        else
            step_random(t);
    }
}

static void end(trace *t)
{
    cebus_arena_deinit(&t->arena);
    cebus_pool_deinit(&t->pool);
    free(t->sizes);
    free(t->used);
    free(t->search_ns);
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double sum_of(const trace *t)
{
    double sum = 0;
    for (size_t i = 0; i < t->decisions; i++)
        sum += t->search_ns[i];
    return sum;
}

static double part_of(const trace *t, double part)
{
    return t->search_ns[(size_t)(part * (double)(t->decisions - 1))] / 1000;
}

/** Again, so many times in all; of each decision the least time is kept: programs on the same cores
 * only add to it. */
static void run_often(trace *t, const setting *how, bool indexed, int runs)
{
    trace again;
    run(t, how, indexed);
    for (int i = 1; i < runs; i++) {
        run(&again, how, indexed);
        for (size_t k = 0; k < t->decisions; k++)
            t->search_ns[k] = fmin(t->search_ns[k], again.search_ns[k]);
        end(&again);
    }
}

static void measure(const setting *how)
{
    trace fast, slow;
    run_often(&fast, how, true, RUNS);
    run_often(&slow, how, false, SWEEP_RUNS);
    if (fast.checksum != slow.checksum) {
        fputs("the index decided otherwise than the sweep\n", stderr);
        exit(1);
    }
    const cebus_window_index *index = fast.arena.index;
    double n = (double)how->decisions, fast_ns = sum_of(&fast), slow_ns = sum_of(&slow);
    qsort(fast.search_ns, fast.decisions, sizeof(double), ascending);
    qsort(slow.search_ns, slow.decisions, sizeof(double), ascending);
    printf("| %s | %zu | %u x %u | %.2f | %.1f | %.1f | %.2f | %.2f | %.2f | %.1f | %.1f |\n",
           how->name, (size_t)(slow.arena.used_blocks + slow.arena.free_blocks), how->sizes,
           how->request, (double)slow.evicted / n, (double)index->count.events / n,
           (double)index->count.looks / n, part_of(&fast, 0.5), fast_ns / n / 1000,
           part_of(&fast, 0.99), part_of(&slow, 0.5), slow_ns / n / 1000);
    end(&fast);
    end(&slow);
}

int main(int argc, char **argv)
{
    const setting settings[] = {
        {"random", 100, 11, 1, 20000, false},    {"random", 300, 11, 1, 20000, false},
        {"random", 1000, 11, 1, 10000, false},   {"random", 6000, 11, 1, 5000, false},
        {"random", 1000, 11, 4, 10000, false},   {"random", 3000, 24, 1, 5000, false},
        {"random", 4000, 0, 1, 2000, false},     {"random", 60000, 11, 1, 5000, false},
        {"training", 1000, 12, 1, 10000, true},  {"training", 4000, 12, 1, 5000, true},
        {"training", 10000, 12, 1, 5000, true},  {"training", 10000, 24, 1, 5000, true},
        {"training", 100000, 12, 1, 5000, true}, {"random", 1000, 11, 1, 50000, false},
        {"training", 1500, 12, 1, 50000, true},
    };
    puts("| trace | blocks | sizes x factor | evicted | events | chunks looked at | median us | "
         "mean "
         "| p99 | sweep: median us | mean |");
    puts("|---|---|---|---|---|---|---|---|---|---|---|");
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        if (argc < 2 || strtoul(argv[1], NULL, 10) == i)
            measure(&settings[i]);
    }
    return 0;
}
