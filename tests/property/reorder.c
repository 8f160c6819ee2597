#include "tests/property/reorder.h"

#include "evict/advisor/order.h"

cebus_status cebus_reorder_shuffle(cebus_capture *capture, uint64_t *random)
{
    const cebus_advise_program *program = cebus_capture_program(capture);
    cebus_shelf shelf;
    cebus_graph graph;
    cebus_order order;
    uint32_t wrong;
    cebus_status status = CEBUS_INTERNAL;
    cebus_shelf_init(&shelf, NULL);
    uint32_t *from = cebus_shelf_take(&shelf, program->n_calls, sizeof *from);
    uint32_t *to = cebus_shelf_take(&shelf, program->n_calls, sizeof *to);
    if (cebus_graph_make(program, &shelf, &graph, &wrong) == CEBUS_GRAPH_MADE &&
        cebus_order_init(&order, &graph, &shelf)) {
        const uint32_t chance = (uint32_t)cebus_order_draw(random, UINT32_MAX);
        cebus_order_program(&graph, from);
        cebus_order_mutate(&order, from, chance, random, to);
        status = cebus_capture_set_order(capture, to, program->n_calls);
    }
    cebus_shelf_clear(&shelf);
    return status;
}

cebus_status cebus_reorder_advise(cebus_capture *capture, uint64_t memory, uint64_t seed,
                                  cebus_advise_result *out_result, bool *out_found)
{
    cebus_advise_options options = CEBUS_ADVISE_OPTIONS_INIT;
    cebus_advice *plan;
    options.memory = memory;
    options.link = (cebus_advise_link){.out = 1 << 30, .in = 1 << 30, .both = UINT64_C(1) << 31};
    options.generations = 2;
    options.seed = seed;
    cebus_status status = cebus_advise(cebus_capture_program(capture), &options, out_result, &plan);
    *out_found = status == CEBUS_OK && plan != NULL;
    if (*out_found)
        status = cebus_capture_set_plan(capture, plan, &options.link);
    cebus_advice_destroy(plan);
    return status;
}
