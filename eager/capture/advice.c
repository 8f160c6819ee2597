/**
 * advice.c: takes a plan over: held to the program, then made ready to be carried out.
 */
#include <inttypes.h>
#include <string.h>

#include "eager/budget.h"
#include "eager/capture/plan.h"
#include "evict/advisor/advice.h"
#include "evict/advisor/graph.h"
#include "evict/placement.h"

#define NONE CEBUS_CAPTURE_NONE

static const char name[] = "capture_set_plan";

void cebus_capture_plan_free(cebus_capture *capture)
{
    cebus_capture_plan *plan = capture->plan;
    if (plan == NULL)
        return;
    cebus_shelf_clear(&plan->shelf);
    cebus_pool_free_object(&capture->rt->pool, plan, sizeof *plan);
    capture->plan = NULL;
}

static void *copy(cebus_shelf *shelf, const void *items, size_t n, size_t bytes)
{
    void *copied = cebus_shelf_take(shelf, n, bytes);
    if (copied != NULL && n > 0)
        memcpy(copied, items, n * bytes);
    return copied;
}

static uint32_t *nones(cebus_shelf *shelf, size_t n)
{
    uint32_t *items = cebus_shelf_take(shelf, n, sizeof *items);
    for (size_t i = 0; items != NULL && i < n; i++)
        items[i] = NONE;
    return items;
}

static bool take_room(cebus_capture_plan *plan, const cebus_capture *capture,
                      const cebus_advice *advice)
{
    cebus_shelf *shelf = &plan->shelf;
    const size_t n_events = advice->n_steps + advice->n_copies;
    plan->n_steps = advice->n_steps;
    plan->n_copies = advice->n_copies;
    plan->n_blocks = advice->n_blocks;
    plan->steps = copy(shelf, advice->steps, advice->n_steps, sizeof *plan->steps);
    plan->copies = copy(shelf, advice->copies, advice->n_copies, sizeof *plan->copies);
    plan->blocks = copy(shelf, advice->blocks, advice->n_blocks, sizeof *plan->blocks);
    plan->born = nones(shelf, n_events);
    plan->dies = nones(shelf, n_events);
    plan->born_next = nones(shelf, advice->n_blocks);
    plan->dies_next = nones(shelf, advice->n_blocks);
    plan->outs = nones(shelf, advice->n_copies);
    plan->ins = nones(shelf, advice->n_copies);
    plan->newest = nones(shelf, capture->n_values);
    plan->edges = nones(shelf, capture->n_values);
    plan->reads = cebus_shelf_take(shelf, capture->n_values, sizeof *plan->reads);
    return !shelf->failed;
}

/** A list of blocks by the event they begin or end with; the plan has been checked. */
static void list_block(cebus_capture_plan *plan, uint32_t i)
{
    const cebus_advice_block *b = &plan->blocks[i];
    const size_t n = plan->n_steps;
    if (b->born == CEBUS_ADVICE_EDGE) {
        plan->edges[plan->home[b->value]] = i;
    } else {
        uint32_t *head = &plan->born[b->born == CEBUS_ADVICE_STEP ? b->born_at : n + b->born_at];
        plan->born_next[i] = *head;
        *head = i;
    }
    if (b->dies != CEBUS_ADVICE_EDGE) {
        uint32_t *head = &plan->dies[b->dies == CEBUS_ADVICE_STEP ? b->dies_at : n + b->dies_at];
        plan->dies_next[i] = *head;
        *head = i;
    }
}

/** After so many steps the host asks for a copy: those that start before it does. Bytes that it
 * goes to may be others' until then, also such as have not been made when it could start. */
static uint32_t turn_of(const cebus_capture_plan *plan, const cebus_advice_copy *copy)
{
    return cebus_advice_steps_before(plan->steps, copy->after, plan->n_steps, copy->start_ns);
}

static bool overlap(const cebus_advice_block *a, const cebus_advice_block *b)
{
    return a->offset < b->offset + b->bytes && b->offset < a->offset + a->bytes;
}

/** The same where the host runs the calls itself and is back between them only: copies are asked
 * for as soon as they may be, and their streams start them while it is busy. Before a copy in come
 * the steps that make what has its place first. O(blocks). */
static uint32_t early_turn_of(const cebus_capture_plan *plan, uint32_t copy)
{
    uint32_t turn = plan->copies[copy].after;
    const uint32_t own = plan->copies[copy].in ? plan->born[plan->n_steps + copy] : NONE;
    for (size_t i = 0; own != NONE && i < plan->n_blocks; i++) {
        const cebus_advice_block *b = &plan->blocks[i];
        if (b->born == CEBUS_ADVICE_STEP && b->born_at >= turn &&
            plan->steps[b->born_at].start_ns < plan->copies[copy].start_ns &&
            overlap(b, &plan->blocks[own]))
            turn = b->born_at + 1;
    }
    return turn;
}

static void arrange(cebus_capture_plan *plan, const cebus_capture *capture)
{
    const cebus_advise_program *program = &capture->program;
    const bool ahead = capture->rt->info.simulated || capture->rt->info.deferred;
    for (size_t i = plan->n_blocks; i-- > 0;) {
        if (plan->blocks[i].offset % capture->rt->arena.alignment != 0)
            plan->blocks[i].offset = CEBUS_ANYWHERE;
        list_block(plan, (uint32_t)i);
    }
    for (size_t i = 0; i < plan->n_copies; i++) {
        plan->copies[i].after =
            ahead ? turn_of(plan, &plan->copies[i]) : early_turn_of(plan, (uint32_t)i);
        if (plan->copies[i].in)
            plan->ins[plan->n_ins++] = (uint32_t)i;
        else
            plan->outs[plan->n_outs++] = (uint32_t)i;
    }
    for (size_t k = 0; k < plan->n_steps; k++) {
        const cebus_advise_call *call = &program->calls[plan->steps[k].call];
        for (uint32_t i = 0; i < call->n_in; i++)
            plan->reads[program->refs[call->refs + i]]++;
    }
}

static cebus_status check(const cebus_capture *capture, const cebus_advice *advice)
{
    if (capture->under_way)
        return cebus_fail(CEBUS_CAPTURE_ERROR, name,
                          "a launch stands half done; launch again to complete it first");
    if (advice != NULL && advice->print != cebus_advise_print(&capture->program))
        return cebus_fail(CEBUS_INVALID_ARGUMENT, name,
                          "the plan is for another program: make it from "
                          "cebus_capture_program() of this capture");
    if (advice != NULL && advice->height > cebus_budget_now(capture->rt))
        return cebus_fail(CEBUS_INVALID_ARGUMENT, name,
                          "the plan needs %" PRIu64 " bytes, the budget is %" PRIu64,
                          advice->height, cebus_budget_now(capture->rt));
    return CEBUS_OK;
}

/** On paper: whether it holds, and when what starts. */
static cebus_status rehearse(const cebus_capture *capture, const cebus_advice *advice,
                             const cebus_advise_link *link, const cebus_capture_plan *plan)
{
    char why[256];
    cebus_advice own = *advice;
    own.steps = plan->steps;
    own.copies = plan->copies;
    own.blocks = plan->blocks;
    cebus_status status = cebus_advice_time(&capture->program, link, &own, why, sizeof why);
    if (status == CEBUS_OUT_OF_HOST_MEMORY)
        return cebus_fail(status, name, "no host memory to check a plan");
    return status == CEBUS_OK ? CEBUS_OK
                              : cebus_fail(status, name, "the plan does not hold: %s", why);
}

static void discard(cebus_runtime *rt, cebus_capture_plan *plan)
{
    cebus_shelf_clear(&plan->shelf);
    cebus_pool_free_object(&rt->pool, plan, sizeof *plan);
}

/** NULL without host memory. */
static cebus_capture_plan *create(cebus_capture *capture, const cebus_advice *advice)
{
    cebus_runtime *rt = capture->rt;
    cebus_graph graph;
    uint32_t wrong;
    cebus_capture_plan *plan = cebus_pool_alloc(&rt->pool, sizeof *plan);
    if (plan == NULL)
        return NULL;
    *plan = (cebus_capture_plan){0};
    cebus_shelf_init(&plan->shelf, &rt->host);
    if (take_room(plan, capture, advice) &&
        cebus_graph_make(&capture->program, &plan->shelf, &graph, &wrong) == CEBUS_GRAPH_MADE) {
        plan->home = graph.home;
        plan->n_buffers = graph.n_buffers;
        return plan;
    }
    discard(rt, plan);
    return NULL;
}

static cebus_status set_plan(cebus_capture *capture, const cebus_advice *advice,
                             const cebus_advise_link *link)
{
    cebus_status status = check(capture, advice);
    if (status != CEBUS_OK || advice == NULL)
        return status == CEBUS_OK ? cebus_capture_set_order(capture, NULL, 0) : status;
    cebus_capture_plan *plan = create(capture, advice);
    if (plan == NULL)
        return cebus_fail(CEBUS_OUT_OF_HOST_MEMORY, name, "no host memory to keep a plan");
    status = rehearse(capture, advice, link, plan);
    if (status == CEBUS_OK)
        status = cebus_capture_set_order(capture, NULL, 0);
    if (status != CEBUS_OK) {
        discard(capture->rt, plan);
        return status;
    }
    arrange(plan, capture);
    capture->plan = plan;
    return CEBUS_OK;
}

cebus_status cebus_capture_set_plan(cebus_capture *capture, const cebus_advice *advice,
                                    const cebus_advise_link *link)
{
    if (capture == NULL || (advice != NULL && link == NULL))
        return cebus_fail(CEBUS_INVALID_ARGUMENT, name, "the %s is NULL",
                          capture == NULL ? "capture" : "link");
    cebus_status status = cebus_runtime_lock(capture->rt, name);
    if (status != CEBUS_OK)
        return status;
    status = set_plan(capture, advice, link);
    cebus_runtime_unlock(capture->rt);
    return status;
}
