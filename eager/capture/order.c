/**
 * order.c: the order in which launches run the calls. The edges it must keep are those that
 * plans keep (evict/advisor/graph.h).
 */
#include <inttypes.h>

#include "eager/capture/plan.h"
#include "evict/advisor/graph.h"

static const char name[] = "capture_set_order";

/** By call: its step. False after an error: the order is no order at all. */
static bool find_steps(const cebus_capture *capture, const uint32_t *order, uint32_t *steps)
{
    for (size_t k = 0; k < capture->n_calls; k++)
        steps[k] = CEBUS_CAPTURE_NONE;
    for (size_t k = 0; k < capture->n_calls; k++) {
        if (order[k] >= capture->n_calls) {
            (void)cebus_fail(CEBUS_INVALID_ARGUMENT, name,
                             "step %zu is call %" PRIu32 ", but there are only %zu", k, order[k],
                             capture->n_calls);
            return false;
        }
        if (steps[order[k]] != CEBUS_CAPTURE_NONE) {
            (void)cebus_fail(CEBUS_INVALID_ARGUMENT, name,
                             "call %" PRIu32 " (%s) comes twice: at steps %" PRIu32 " and %zu",
                             order[k], cebus_capture_call_name(capture, order[k]), steps[order[k]],
                             k);
            return false;
        }
        steps[order[k]] = (uint32_t)k;
    }
    return true;
}

static cebus_status check_edges(const cebus_capture *capture, const cebus_graph *graph,
                                const uint32_t *steps)
{
    for (size_t k = 0; k < graph->n_calls; k++) {
        const cebus_graph_call *call = &graph->calls[k];
        for (uint32_t i = 0; i < call->n_preds; i++) {
            uint32_t before = graph->preds[call->pred + i];
            if (steps[before] > steps[k])
                return cebus_fail(CEBUS_INVALID_ARGUMENT, name,
                                  "call %zu (%s) comes at step %" PRIu32 ", before call %" PRIu32
                                  " (%s) at step %" PRIu32 ", which it must follow",
                                  k, cebus_capture_call_name(capture, k), steps[k], before,
                                  cebus_capture_call_name(capture, before), steps[before]);
        }
    }
    return CEBUS_OK;
}

static cebus_status check(const cebus_capture *capture, const uint32_t *order)
{
    cebus_shelf shelf;
    cebus_graph graph;
    uint32_t wrong;
    cebus_shelf_init(&shelf, &capture->rt->host);
    uint32_t *steps = cebus_shelf_take(&shelf, capture->n_calls, sizeof *steps);
    cebus_graph_verdict verdict = shelf.failed
                                      ? CEBUS_GRAPH_NO_HOST_MEMORY
                                      : cebus_graph_make(&capture->program, &shelf, &graph, &wrong);
    cebus_status status = CEBUS_INVALID_ARGUMENT;
    if (verdict == CEBUS_GRAPH_NO_HOST_MEMORY)
        status = cebus_fail(CEBUS_OUT_OF_HOST_MEMORY, name, "no host memory to check an order");
    else if (verdict != CEBUS_GRAPH_MADE)
        status = cebus_fail(CEBUS_UNSUPPORTED, name,
                            "the capture is too large, or call %" PRIu32 " (%s) too unusual, for "
                            "any order but that of the program",
                            wrong, cebus_capture_call_name(capture, wrong));
    else if (find_steps(capture, order, steps))
        status = check_edges(capture, &graph, steps);
    cebus_shelf_clear(&shelf);
    return status;
}

static cebus_status set_order(cebus_capture *capture, const uint32_t *order, size_t n)
{
    if (capture->under_way)
        return cebus_fail(CEBUS_CAPTURE_ERROR, name,
                          "a launch stands half done; launch again to complete it first");
    if (order != NULL && n != capture->n_calls)
        return cebus_fail(CEBUS_INVALID_ARGUMENT, name,
                          "%zu calls are ordered, but %zu were captured", n, capture->n_calls);
    cebus_status status = order != NULL ? check(capture, order) : CEBUS_OK;
    if (status != CEBUS_OK)
        return status;
    cebus_capture_plan_free(capture);
    for (size_t k = 0; k < capture->n_calls; k++)
        capture->order[k] = order != NULL ? order[k] : (uint32_t)k;
    return CEBUS_OK;
}

cebus_status cebus_capture_set_order(cebus_capture *capture, const uint32_t *order, size_t n)
{
    if (capture == NULL)
        return cebus_fail(CEBUS_INVALID_ARGUMENT, name, "the capture is NULL");
    cebus_status status = cebus_runtime_lock(capture->rt, name);
    if (status != CEBUS_OK)
        return status;
    status = set_order(capture, order, n);
    cebus_runtime_unlock(capture->rt);
    return status;
}
