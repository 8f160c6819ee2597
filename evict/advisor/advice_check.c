/**
 * Runs a plan on paper. Shares nothing with the search but the graph: bytes have addresses here,
 * contents have versions, and whatever starts needs what it reads in place and its bytes free.
 */
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "evict/advisor/advice.h"

#define NONE CEBUS_GRAPH_NONE

/** Of a buffer. */
typedef struct holding {
    uint32_t block;   /**< on the device; NONE */
    uint32_t device;  /**< version there; NONE: not yet any */
    uint32_t host;    /**< version there; NONE */
    uint32_t version; /**< the newest */
    uint64_t home;    /**< offset at the start; UINT64_MAX: it was not there */
} holding;

/** Blocks by what they begin and end with: lists through `next`, heads by step, then by copy, then
 * that of the edge. */
typedef struct agenda {
    uint32_t *heads, *next;
} agenda;

typedef struct check {
    const cebus_graph *graph;
    const cebus_advise_link *link;
    const cebus_advice *plan;
    cebus_advice *timed; /**< the same: what happens when is written down; NULL: it is not */
    holding *holdings;
    agenda born, dies;
    uint32_t *live; /**< blocks on the device */
    size_t n_live;
    bool *done;           /**< by call */
    uint32_t *outs, *ins; /**< copies of each direction */
    uint32_t *turns;      /**< by copy in: steps that start before it does */
    bool in_turn;         /**< turns are kept */
    size_t n_outs, n_ins, step, out, in;
    bool is_running, is_out, is_in;
    double now, end, out_left, in_left;
    uint32_t sent; /**< version on its way out */
    char *why;
    size_t why_bytes;
} check;

static bool wrong(check *c, const char *format, ...)
{
    va_list arguments;
    if (c->why_bytes > 0 && c->why[0] == '\0') {
        va_start(arguments, format);
        vsnprintf(c->why, c->why_bytes, format, arguments);
        va_end(arguments);
    }
    return false;
}

/* --- what the plan says ---------------------------------------------------------------------- */

static uint32_t buffer_of(const check *c, uint32_t value)
{
    return c->graph->home[value];
}

/** Where an event stands in an agenda; SIZE_MAX: there is none such. */
static size_t slot(const check *c, uint8_t event, uint32_t at)
{
    const size_t n = c->plan->n_steps, m = c->plan->n_copies;
    if (event == CEBUS_ADVICE_EDGE)
        return n + m;
    if (event == CEBUS_ADVICE_STEP)
        return at < n ? at : SIZE_MAX;
    return at < m ? n + at : SIZE_MAX;
}

static bool read_block(check *c, size_t i, size_t n_values)
{
    const cebus_advice_block *b = &c->plan->blocks[i];
    const size_t from = slot(c, b->born, b->born_at), to = slot(c, b->dies, b->dies_at);
    if (from == SIZE_MAX || to == SIZE_MAX)
        return wrong(c, "block %zu begins or ends with something that there is not", i);
    if (b->bytes > c->plan->memory || b->offset > c->plan->memory - b->bytes)
        return wrong(c, "block %zu ends above the memory", i);
    if (b->value == NONE)
        return b->born == CEBUS_ADVICE_STEP || wrong(c, "block %zu: scratch of no step", i);
    if (b->value >= n_values || buffer_of(c, b->value) == NONE)
        return wrong(c, "block %zu is of a value that there is not", i);
    if (b->bytes < c->graph->buffers[buffer_of(c, b->value)].bytes)
        return wrong(c, "block %zu is too small for its value", i);
    return true;
}

static bool read_blocks(check *c, size_t n_values)
{
    const size_t n = c->plan->n_steps + c->plan->n_copies + 1;
    for (size_t i = 0; i < n; i++)
        c->born.heads[i] = c->dies.heads[i] = NONE;
    for (size_t i = c->plan->n_blocks; i-- > 0;) {
        const cebus_advice_block *b = &c->plan->blocks[i];
        if (!read_block(c, i, n_values))
            return false;
        const size_t from = slot(c, b->born, b->born_at), to = slot(c, b->dies, b->dies_at);
        c->born.next[i] = c->born.heads[from];
        c->born.heads[from] = (uint32_t)i;
        c->dies.next[i] = c->dies.heads[to];
        c->dies.heads[to] = (uint32_t)i;
    }
    return true;
}

/** Steps that start before a copy in, as the plan says, start before it whatever they cost: what
 * comes to a place must not be there before what has it first. */
static uint32_t turn_of(const cebus_advice *plan, const cebus_advice_copy *copy)
{
    return cebus_advice_steps_before(plan->steps, 0, plan->n_steps, copy->start_ns);
}

static bool read_rest(check *c, size_t n_values)
{
    const cebus_advice *plan = c->plan;
    for (size_t k = 0; k < plan->n_steps; k++) {
        if (plan->steps[k].call >= c->graph->n_calls)
            return wrong(c, "step %zu runs a call that there is not", k);
    }
    for (size_t i = 0; i < plan->n_copies; i++) {
        const cebus_advice_copy *copy = &plan->copies[i];
        if (copy->value >= n_values || buffer_of(c, copy->value) == NONE)
            return wrong(c, "copy %zu is of a value that there is not", i);
        c->turns[i] = copy->in && c->in_turn ? turn_of(plan, copy) : 0;
        if (copy->in)
            c->ins[c->n_ins++] = (uint32_t)i;
        else
            c->outs[c->n_outs++] = (uint32_t)i;
    }
    return true;
}

/* --- bytes ----------------------------------------------------------------------------------- */

/** Whether all blocks that begin with an event have their bytes free. */
static bool is_free(const check *c, size_t event)
{
    for (uint32_t i = c->born.heads[event]; i != NONE; i = c->born.next[i]) {
        const cebus_advice_block *mine = &c->plan->blocks[i];
        for (size_t k = 0; k < c->n_live; k++) {
            const cebus_advice_block *b = &c->plan->blocks[c->live[k]];
            if (mine->offset < b->offset + b->bytes && b->offset < mine->offset + mine->bytes)
                return false;
        }
    }
    return true;
}

/** The blocks that begin with an event come. */
static bool settle(check *c, size_t event)
{
    for (uint32_t i = c->born.heads[event]; i != NONE; i = c->born.next[i]) {
        const cebus_advice_block *block = &c->plan->blocks[i];
        c->live[c->n_live++] = i;
        if (block->value == NONE)
            continue;
        holding *h = &c->holdings[buffer_of(c, block->value)];
        if (h->block != NONE)
            return wrong(c, "block %" PRIu32 ": its value has one already", i);
        h->block = i;
        h->device = NONE;
    }
    return true;
}

/** Those that end with it go. */
static bool vacate(check *c, size_t event)
{
    for (uint32_t i = c->dies.heads[event]; i != NONE; i = c->dies.next[i]) {
        size_t k = 0;
        while (k < c->n_live && c->live[k] != i)
            k++;
        if (k == c->n_live)
            return wrong(c, "block %" PRIu32 " ends before it begins", i);
        c->live[k] = c->live[--c->n_live];
        if (c->plan->blocks[i].value != NONE)
            c->holdings[buffer_of(c, c->plan->blocks[i].value)].block = NONE;
    }
    return true;
}

/* --- steps ----------------------------------------------------------------------------------- */

/** What a step reads is there, in the version that it reads; what it writes has a place. */
static bool check_reads(check *c, size_t k)
{
    const cebus_advice_step *step = &c->plan->steps[k];
    const cebus_graph_call *call = &c->graph->calls[step->call];
    uint64_t scratch = call->workspace, given = 0;
    for (uint32_t i = call->ref; i < call->ref + call->n_refs; i++) {
        const cebus_graph_ref *ref = &c->graph->refs[i];
        const holding *h = &c->holdings[ref->buffer];
        const bool born = h->block != NONE && c->plan->blocks[h->block].born == CEBUS_ADVICE_STEP &&
                          c->plan->blocks[h->block].born_at == k;
        if (ref->reads && (h->block == NONE || h->device != ref->version))
            return wrong(c, "step %zu (call %" PRIu32 ") reads what is not there", k, step->call);
        if (ref->writes && step->again && (!c->graph->buffers[ref->buffer].rebuildable || !born))
            scratch += c->graph->buffers[ref->buffer].bytes;
        else if (ref->writes && h->block == NONE)
            return wrong(c, "step %zu (call %" PRIu32 ") writes where nothing is", k, step->call);
        if (ref->writes && !step->again && h->version != ref->version)
            return wrong(c, "step %zu (call %" PRIu32 ") writes out of turn", k, step->call);
        if (ref->writes && step->again && call->n_refs > 0 && ref->reads)
            return wrong(c, "step %zu runs call %" PRIu32 " again, which writes in place", k,
                         step->call);
    }
    for (uint32_t i = c->born.heads[k]; i != NONE; i = c->born.next[i])
        given += c->plan->blocks[i].value == NONE ? c->plan->blocks[i].bytes : 0;
    if (given < scratch)
        return wrong(c, "step %zu (call %" PRIu32 ") needs more scratch", k, step->call);
    return true;
}

/** All that a call must follow ran before it. */
static bool check_turn(check *c, size_t k)
{
    const cebus_advice_step *step = &c->plan->steps[k];
    const cebus_graph_call *call = &c->graph->calls[step->call];
    for (uint32_t i = 0; i < call->n_preds; i++) {
        uint32_t before = c->graph->preds[call->pred + i];
        if (!c->done[before])
            return wrong(c, "step %zu: call %" PRIu32 " runs before call %" PRIu32, k, step->call,
                         before);
    }
    return true;
}

static bool start_step(check *c)
{
    const size_t k = c->step;
    if (c->is_running || k >= c->plan->n_steps || !is_free(c, k))
        return true;
    if (c->in < c->n_ins && c->plan->copies[c->ins[c->in]].before <= k)
        return true;
    const cebus_advice_step *step = &c->plan->steps[k];
    if (!step->again && c->done[step->call])
        return wrong(c, "step %zu: call %" PRIu32 " runs twice", k, step->call);
    if (step->again && !c->done[step->call])
        return wrong(c, "step %zu: call %" PRIu32 " runs again before it ran", k, step->call);
    if (!settle(c, k) || !check_reads(c, k) || !check_turn(c, k))
        return false;
    c->is_running = true;
    c->end = c->now + (double)c->graph->calls[step->call].cost_ns;
    if (c->timed != NULL)
        c->timed->steps[k].start_ns = (uint64_t)c->now;
    return true;
}

static bool end_step(check *c)
{
    const size_t k = c->step++;
    const cebus_advice_step *step = &c->plan->steps[k];
    const cebus_graph_call *call = &c->graph->calls[step->call];
    c->is_running = false;
    c->done[step->call] = true;
    if (c->timed != NULL)
        c->timed->steps[k].end_ns = (uint64_t)c->now;
    for (uint32_t i = call->ref; i < call->ref + call->n_refs; i++) {
        const cebus_graph_ref *ref = &c->graph->refs[i];
        holding *h = &c->holdings[ref->buffer];
        if (!ref->writes)
            continue;
        if (!step->again)
            h->version = ref->version + 1;
        if (!step->again || (h->block != NONE && h->device == NONE))
            h->device = ref->version + 1;
    }
    return vacate(c, k);
}

/* --- copies ---------------------------------------------------------------------------------- */

/** Whether the step under way writes a buffer. */
static bool is_written(const check *c, uint32_t buffer)
{
    if (!c->is_running)
        return false;
    const cebus_graph_call *call = &c->graph->calls[c->plan->steps[c->step].call];
    for (uint32_t i = call->ref; i < call->ref + call->n_refs; i++) {
        if (c->graph->refs[i].buffer == buffer && c->graph->refs[i].writes)
            return true;
    }
    return false;
}

static double copy_bytes(const check *c, uint32_t buffer, uint64_t rate)
{
    return (double)c->graph->buffers[buffer].bytes +
           (double)c->link->latency_ns * 1e-9 * (double)rate;
}

static bool is_due(const check *c, uint32_t copy)
{
    return c->plan->copies[copy].after <= c->step && c->turns[copy] <= c->step + c->is_running;
}

static bool start_out(check *c)
{
    if (c->is_out || c->out >= c->n_outs || !is_due(c, c->outs[c->out]))
        return true;
    const uint32_t buffer = buffer_of(c, c->plan->copies[c->outs[c->out]].value);
    const holding *h = &c->holdings[buffer];
    if (is_written(c, buffer))
        return true;
    if (h->block == NONE || h->device == NONE)
        return wrong(c, "copy %" PRIu32 " takes out what is not there", c->outs[c->out]);
    c->is_out = true;
    if (c->timed != NULL)
        c->timed->copies[c->outs[c->out]].start_ns = (uint64_t)c->now;
    c->sent = h->device;
    c->out_left = copy_bytes(c, buffer, c->link->out);
    return true;
}

static bool start_in(check *c)
{
    if (c->is_in || c->in >= c->n_ins || !is_due(c, c->ins[c->in]))
        return true;
    const uint32_t copy = c->ins[c->in], buffer = buffer_of(c, c->plan->copies[copy].value);
    const bool on_its_way = c->out < c->n_outs && c->holdings[buffer].block != NONE;
    if (on_its_way || !is_free(c, c->plan->n_steps + copy))
        return true;
    if (c->holdings[buffer].host == NONE)
        return wrong(c, "copy %" PRIu32 " fetches what the host has not", copy);
    if (!settle(c, c->plan->n_steps + copy))
        return false;
    if (c->holdings[buffer].block == NONE)
        return wrong(c, "copy %" PRIu32 " has no block to go to", copy);
    c->is_in = true;
    if (c->timed != NULL)
        c->timed->copies[copy].start_ns = (uint64_t)c->now;
    c->in_left = copy_bytes(c, buffer, c->link->in);
    return true;
}

static bool end_out(check *c)
{
    const uint32_t copy = c->outs[c->out++];
    c->is_out = false;
    if (c->timed != NULL)
        c->timed->copies[copy].end_ns = (uint64_t)c->now;
    c->holdings[buffer_of(c, c->plan->copies[copy].value)].host = c->sent;
    return vacate(c, c->plan->n_steps + copy);
}

static bool end_in(check *c)
{
    const uint32_t copy = c->ins[c->in++];
    holding *h = &c->holdings[buffer_of(c, c->plan->copies[copy].value)];
    c->is_in = false;
    if (c->timed != NULL)
        c->timed->copies[copy].end_ns = (uint64_t)c->now;
    h->device = h->host;
    return vacate(c, c->plan->n_steps + copy);
}

/* --- the iteration --------------------------------------------------------------------------- */

/** To the next end; true in *out_halt when nothing is under way. */
static bool advance(check *c, bool *out_halt)
{
    double out = (double)c->link->out * 1e-9, in = (double)c->link->in * 1e-9;
    const double both = (double)c->link->both * 1e-9;
    if (c->is_out && c->is_in && out + in > both) {
        const double share = both / (out + in);
        out *= share;
        in *= share;
    }
    double next = c->is_running ? c->end : -1;
    const double out_end = c->now + c->out_left / out, in_end = c->now + c->in_left / in;
    if (c->is_out && (next < 0 || out_end < next))
        next = out_end;
    if (c->is_in && (next < 0 || in_end < next))
        next = in_end;
    *out_halt = next < 0;
    if (next < 0)
        return true;
    next = ceil(next); /* plans are made in whole ns */
    const double passed = next - c->now;
    const bool outs = c->is_out && out_end <= next, ins = c->is_in && in_end <= next;
    c->out_left -= passed * out;
    c->in_left -= passed * in;
    c->now = next;
    return (!outs || end_out(c)) && (!ins || end_in(c)) &&
           (!c->is_running || c->end > next || end_step(c));
}

/** What is where before anything ran. */
static bool begin(check *c)
{
    const size_t edge = c->plan->n_steps + c->plan->n_copies;
    for (size_t i = 0; i < c->graph->n_buffers; i++) {
        const cebus_buffer *buffer = &c->graph->buffers[i];
        const bool outside = buffer->persistent || buffer->given;
        c->holdings[i] = (holding){
            .block = NONE, .device = NONE, .host = outside ? 0 : NONE, .home = UINT64_MAX};
    }
    for (uint32_t i = c->born.heads[edge]; i != NONE; i = c->born.next[i]) {
        const cebus_advice_block *block = &c->plan->blocks[i];
        const uint32_t at = buffer_of(c, block->value);
        const cebus_buffer *buffer = &c->graph->buffers[at];
        if (!buffer->persistent && !buffer->given)
            return wrong(c, "block %" PRIu32 " is there before its value is made", i);
        c->holdings[at].home = block->offset;
        if (buffer->n_writes > 0 && buffer->persistent)
            c->holdings[at].host = NONE;
    }
    for (uint32_t i = c->born.heads[edge]; i != NONE; i = c->born.next[i]) {
        for (uint32_t k = c->born.next[i]; k != NONE; k = c->born.next[k]) {
            const cebus_advice_block *a = &c->plan->blocks[i], *b = &c->plan->blocks[k];
            if (a->offset < b->offset + b->bytes && b->offset < a->offset + a->bytes)
                return wrong(c, "blocks %" PRIu32 " and %" PRIu32 " overlap at the start", i, k);
        }
    }
    if (!settle(c, edge))
        return false;
    for (size_t i = 0; i < c->n_live; i++)
        c->holdings[buffer_of(c, c->plan->blocks[c->live[i]].value)].device = 0;
    return true;
}

/** The next iteration can begin as this one did, and what outlives it is somewhere. */
static bool finish(check *c)
{
    if (c->step < c->plan->n_steps)
        return wrong(c, "it comes to a halt at step %zu (call %" PRIu32 ")", c->step,
                     c->plan->steps[c->step].call);
    if (c->out < c->n_outs || c->in < c->n_ins)
        return wrong(c, "it comes to a halt at copy %" PRIu32,
                     c->out < c->n_outs ? c->outs[c->out] : c->ins[c->in]);
    for (size_t k = 0; k < c->graph->n_calls; k++) {
        if (!c->done[k])
            return wrong(c, "call %zu never runs", k);
    }
    for (size_t i = 0; i < c->graph->n_buffers; i++) {
        const cebus_buffer *buffer = &c->graph->buffers[i];
        const holding *h = &c->holdings[i];
        const bool here = h->block != NONE && h->device == buffer->n_writes;
        const bool there = h->host == buffer->n_writes;
        if (buffer->persistent && h->home != UINT64_MAX &&
            (!here || c->plan->blocks[h->block].offset != h->home))
            return wrong(c, "buffer %zu does not end where it began", i);
        if ((buffer->persistent || buffer->kept) && !here && !there)
            return wrong(c, "buffer %zu is lost", i);
        if (buffer->persistent && h->home == UINT64_MAX && !there)
            return wrong(c, "buffer %zu does not end on the host, where it began", i);
    }
    return true;
}

static bool run(check *c, size_t n_values)
{
    bool halt = false;
    if (!read_blocks(c, n_values) || !read_rest(c, n_values) || !begin(c))
        return false;
    while (!halt) {
        if (!start_step(c) || !start_out(c) || !start_in(c) || !advance(c, &halt))
            return false;
    }
    return finish(c);
}

/** In the plan's turns, which plans in files do not have: a plan that is to last holds without.
 * Those of a plan whose times are not its own may come to a halt, which it does not need to. */
static bool run_in_turn(check *c, size_t n_values)
{
    const check fresh = *c;
    c->in_turn = true;
    if (run(c, n_values))
        return true;
    *c = fresh;
    for (size_t k = 0; k < c->graph->n_calls; k++)
        c->done[k] = false;
    if (c->why_bytes > 0)
        c->why[0] = '\0';
    return run(c, n_values);
}

static bool make_room(check *c, cebus_shelf *shelf)
{
    const cebus_advice *plan = c->plan;
    const size_t n_events = plan->n_steps + plan->n_copies + 1;
    c->holdings = cebus_shelf_take(shelf, c->graph->n_buffers, sizeof *c->holdings);
    c->born.heads = cebus_shelf_take(shelf, n_events, sizeof *c->born.heads);
    c->born.next = cebus_shelf_take(shelf, plan->n_blocks, sizeof *c->born.next);
    c->dies.heads = cebus_shelf_take(shelf, n_events, sizeof *c->dies.heads);
    c->dies.next = cebus_shelf_take(shelf, plan->n_blocks, sizeof *c->dies.next);
    c->live = cebus_shelf_take(shelf, plan->n_blocks, sizeof *c->live);
    c->done = cebus_shelf_take(shelf, c->graph->n_calls, sizeof *c->done);
    c->outs = cebus_shelf_take(shelf, plan->n_copies, sizeof *c->outs);
    c->ins = cebus_shelf_take(shelf, plan->n_copies, sizeof *c->ins);
    c->turns = cebus_shelf_take(shelf, plan->n_copies, sizeof *c->turns);
    return !shelf->failed;
}

static bool is_there(const cebus_advice *plan)
{
    return plan != NULL && (plan->steps != NULL || plan->n_steps == 0) &&
           (plan->copies != NULL || plan->n_copies == 0) &&
           (plan->blocks != NULL || plan->n_blocks == 0);
}

static cebus_status check_plan(const cebus_advise_program *program, const cebus_advise_link *link,
                               const cebus_advice *advice, cebus_advice *timed, char *why,
                               size_t why_bytes, uint64_t *out_ns)
{
    cebus_shelf shelf;
    cebus_graph graph;
    uint32_t call;
    check c = {.graph = &graph,
               .link = link,
               .plan = advice,
               .timed = timed,
               .why = why,
               .why_bytes = why != NULL ? why_bytes : 0};
    *out_ns = 0;
    if (c.why_bytes > 0)
        why[0] = '\0';
    if (link == NULL || !is_there(advice)) {
        wrong(&c, link == NULL ? "the link is NULL" : "the plan, or a list of it, is NULL");
        return CEBUS_INVALID_ARGUMENT;
    }
    cebus_shelf_init(&shelf, NULL);
    cebus_status status = CEBUS_OUT_OF_HOST_MEMORY;
    cebus_graph_verdict verdict = cebus_graph_make(program, &shelf, &graph, &call);
    if (verdict != CEBUS_GRAPH_NO_HOST_MEMORY && verdict != CEBUS_GRAPH_MADE) {
        wrong(&c,
              verdict == CEBUS_GRAPH_NO_PROGRAM ? "the program, or a list of it, is NULL"
                                                : "the program makes no sense at call %" PRIu32,
              call);
        status = CEBUS_INVALID_ARGUMENT;
    } else if (verdict == CEBUS_GRAPH_MADE &&
               (link->out == 0 || link->in == 0 || link->both == 0)) {
        wrong(&c, "the link has no rate");
        status = CEBUS_INVALID_ARGUMENT;
    } else if (verdict == CEBUS_GRAPH_MADE && make_room(&c, &shelf)) {
        const size_t n = program->n_values;
        const bool holds = timed != NULL ? run_in_turn(&c, n) : run(&c, n);
        status = holds ? CEBUS_OK : CEBUS_INVALID_ARGUMENT;
        *out_ns = (uint64_t)c.now;
    }
    cebus_shelf_clear(&shelf);
    return status;
}

cebus_status cebus_advice_check(const cebus_advise_program *program, const cebus_advise_link *link,
                                const cebus_advice *advice, char *why, size_t why_bytes,
                                uint64_t *out_ns)
{
    uint64_t unwanted;
    return check_plan(program, link, advice, NULL, why, why_bytes,
                      out_ns != NULL ? out_ns : &unwanted);
}

cebus_status cebus_advice_time(const cebus_advise_program *program, const cebus_advise_link *link,
                               cebus_advice *advice, char *why, size_t why_bytes)
{
    uint64_t unwanted;
    return check_plan(program, link, advice, advice, why, why_bytes,
                      advice != NULL ? &advice->time_ns : &unwanted);
}
