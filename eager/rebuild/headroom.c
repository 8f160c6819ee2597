#include "eager/rebuild/headroom.h"

#include <stdlib.h>
#include <string.h>

#include "eager/strain.h"
#include "layout/checked.h"
#include "layout/number.h"

/** The widest step is measured anew after 1 / PART of the calls of the forward. */
#define PART 16

/** 1 / SLACK may be missing: the most that waits and the widest step seldom meet, and some of what
 * is held is not read any more. */
#define SLACK 32
/** The same once gradients stayed on this way back: what goes in midst of it takes long to remake.
 */
#define SLACK_LATER 8

/** The records that a rebuild may have to run, of calls up to the turn. */
typedef struct forward {
    cebus_runtime *rt;
    cebus_call **calls;
    size_t count, capacity;
} forward;

static bool add_call(forward *f, cebus_call *call)
{
    void *calls = f->calls;
    if (call == NULL || call->mark == f->rt->lineage.epoch)
        return true;
    call->mark = f->rt->lineage.epoch;
    if (!cebus_pool_grow(&f->rt->pool, &calls, &f->capacity, f->count, sizeof *f->calls))
        return false;
    f->calls = calls;
    f->calls[f->count++] = call;
    return true;
}

static bool add_readers(forward *f, const cebus_value *value)
{
    bool ok = true;
    for (cebus_edge *edge = value->consumers; edge != NULL && ok; edge = edge->next)
        ok = add_call(f, edge->call);
    return ok;
}

/** All records that have to do with what is there, and with each other; then those up to the turn.
 */
static bool collect(forward *f)
{
    bool ok = true;
    f->rt->lineage.epoch++;
    for (cebus_block *block = f->rt->arena.first; block != NULL && ok; block = block->next) {
        if (block->state == CEBUS_BLOCK_FREE || block->owner == NULL)
            continue;
        const cebus_value *value = &((cebus_candidate *)block->owner)->value;
        ok = add_call(f, value->producer) && add_readers(f, value);
    }
    for (size_t k = 0; k < f->count && ok; k++) {
        const cebus_call *call = f->calls[k];
        for (uint32_t i = 0; i < call->n_in && ok; i++)
            ok = call->in[i].value == NULL || add_call(f, call->in[i].value->producer);
        for (uint32_t j = 0; j < call->n_out && ok; j++)
            ok = call->out[j] == NULL || add_readers(f, call->out[j]);
    }
    if (ok && f->count > 0)
        qsort(f->calls, f->count, sizeof(cebus_call *), cebus_call_by_serial);
    while (f->count > 0 && f->calls[f->count - 1]->serial > f->rt->lineage.turn.serial)
        f->count--;
    return ok;
}

static bool makes_held(const cebus_call *call)
{
    for (uint32_t j = 0; j < call->n_out; j++) {
        if (call->out[j] != NULL && call->out[j]->holders > 0)
            return true;
    }
    return false;
}

/** Only those behind what the forward made and somebody holds; they are marked. Of others at most
 * gradients are made, which stay. */
static void keep_needed(forward *f)
{
    size_t left = f->count;
    uint64_t needed = ++f->rt->lineage.epoch;
    for (size_t k = f->count; k-- > 0;) {
        cebus_call *call = f->calls[k];
        if (call->mark != needed && !makes_held(call))
            continue;
        call->mark = needed;
        for (uint32_t i = 0; i < call->n_in; i++) {
            if (call->in[i].value != NULL && call->in[i].value->producer != NULL)
                call->in[i].value->producer->mark = needed;
        }
        f->calls[--left] = call;
    }
    f->count -= left;
    if (left > 0 && f->count > 0)
        memmove(f->calls, f->calls + left, f->count * sizeof *f->calls);
}

/** The place of the first call past a serial. */
static size_t place_after(const forward *f, uint64_t serial)
{
    size_t low = 0, high = f->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (f->calls[middle]->serial > serial)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/** The place after the last of the calls that reads or makes it. */
static size_t end_of(const forward *f, const cebus_value *value)
{
    uint64_t last = value->producer->serial;
    for (const cebus_edge *edge = value->consumers; edge != NULL; edge = edge->next) {
        if (edge->call->mark == f->rt->lineage.epoch)
            last = cebus_max_u64(last, edge->call->serial);
    }
    return place_after(f, last);
}

/** `less`: count + 1 zeros, for bytes that are read no more from there on. */
static uint64_t widest_step(const forward *f, uint64_t *less)
{
    uint64_t held = 0, most = 0;
    for (size_t k = 0; k < f->count; k++) {
        const cebus_call *call = f->calls[k];
        held -= less[k];
        for (uint32_t j = 0; j < call->n_out; j++) {
            if (call->out[j] == NULL)
                continue;
            held += call->out[j]->bytes;
            less[end_of(f, call->out[j])] += call->out[j]->bytes;
        }
        most = cebus_max_u64(most, held);
    }
    return most;
}

/** UINT64_MAX, which never fits, without host memory. */
static uint64_t measure_step(cebus_runtime *rt)
{
    forward f = {.rt = rt};
    uint64_t most = UINT64_MAX;
    if (collect(&f)) {
        keep_needed(&f);
        size_t bytes = (f.count + 1) * sizeof(uint64_t);
        uint64_t *less = cebus_pool_alloc(&rt->pool, bytes);
        if (less != NULL) {
            memset(less, 0, bytes);
            most = widest_step(&f, less);
            cebus_pool_free_object(&rt->pool, less, bytes);
        }
    }
    cebus_pool_free_object(&rt->pool, f.calls, f.capacity * sizeof(cebus_call *));
    return most;
}

/** UINT64_MAX: more than that. */
static uint64_t add(uint64_t a, uint64_t b)
{
    uint64_t sum;
    return cebus_checked_add(a, b, &sum) ? sum : UINT64_MAX;
}

/** Starts measuring for the turn at hand. If another forward led to it than to the last one, what
 * that took is the estimate for this way back. */
static void begin_turn(cebus_headroom *headroom, const cebus_turn *turn)
{
    uint64_t before = headroom->turn < turn->begun ? headroom->most : headroom->before;
    bool has_room = headroom->has_room && headroom->turn >= turn->begun;
    *headroom = (cebus_headroom){.turn = turn->serial, .before = before, .has_room = has_room};
}

void cebus_headroom_measure(cebus_runtime *rt)
{
    cebus_turn *turn = &rt->lineage.turn;
    cebus_headroom *headroom = &rt->headroom;
    uint64_t made = rt->lineage.made_calls;
    if (!cebus_strain_exceeds(rt, 1, CEBUS_STRAIN_CALM) || made < turn->serial ||
        turn->serial < turn->begun || made < headroom->next)
        return;
    if (headroom->turn != turn->serial)
        begin_turn(headroom, turn);
    uint64_t step = measure_step(rt);
    headroom->most =
        cebus_max_u64(headroom->most, add(turn->waited, cebus_max_u64(step, headroom->step)));
    if (headroom->before == 0) /* leaves are taken for parameters, each of which gets a gradient */
        headroom->before = add(2 * (turn->held - turn->made), step);
    headroom->step = step;
    headroom->next = made + (turn->serial - turn->begun) / PART + 1;
    turn->waited = cebus_turn_waits(turn);
    headroom->has_room = cebus_headroom_suffices(rt);
}

bool cebus_headroom_suffices(const cebus_runtime *rt)
{
    const cebus_turn *turn = &rt->lineage.turn;
    const cebus_headroom *headroom = &rt->headroom;
    uint64_t most = cebus_max_u64(headroom->most, add(turn->waited, headroom->step));
    most = cebus_max_u64(most, headroom->before);
    uint64_t slack = most / (headroom->has_room ? SLACK_LATER : SLACK);
    return headroom->turn > 0 && headroom->turn == turn->serial && most - slack <= rt->arena.limit;
}
