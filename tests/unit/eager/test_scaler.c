#include <criterion/criterion.h>
#include <stdlib.h>

#include "program.h"

TestSuite(scaler);

/** Host memory that gives what was `kept` once more to the next who asks for as much. */
typedef struct piece {
    void *memory;
    size_t bytes;
} piece;

static piece latest, kept, spare;

static void *take(void *context, size_t bytes)
{
    (void)context;
    latest = (piece){spare.memory, bytes};
    if (spare.memory != NULL && spare.bytes == bytes)
        spare.memory = NULL;
    else
        latest.memory = malloc(bytes);
    return latest.memory;
}

static void *resize(void *context, void *memory, size_t bytes)
{
    (void)context;
    return realloc(memory, bytes);
}

static void give(void *context, void *memory)
{
    (void)context;
    if (memory == NULL || memory != kept.memory) {
        free(memory);
        return;
    }
    spare = kept;
    kept.memory = NULL;
}

Test(scaler, tells_optimizers_apart_that_had_one_address)
{
    const cebus_host_allocator host = {.alloc = take, .realloc = resize, .free = give};
    cebus_runtime_options options = CEBUS_RUNTIME_OPTIONS_INIT;
    cebus_runtime *rt;
    cebus_grad_scaler *scaler;
    cebus_optimizer *first, *second;
    options.memory_budget = 1 << 20;
    options.threads = 1;
    options.host = &host;
    OK(cebus_runtime_create(&options, &rt));
    OK(cebus_grad_scaler_create(rt, NULL, &scaler));
    OK(cebus_optimizer_create_sgd(rt, NULL, &first));
    kept = latest;
    cr_assert_eq(kept.memory, (void *)first);
    OK(cebus_grad_scaler_unscale(scaler, first));
    cebus_optimizer_destroy(first);
    OK(cebus_optimizer_create_sgd(rt, NULL, &second));
    cr_assert_eq(latest.memory, (void *)second);
    cr_assert_null(spare.memory, "it lies where the first one lay");
    OK(cebus_grad_scaler_unscale(scaler, second));
    OK(cebus_grad_scaler_step(scaler, second));
    OK(cebus_grad_scaler_update(scaler));
    cebus_optimizer_destroy(second);
    cebus_grad_scaler_destroy(scaler);
    cebus_runtime_destroy(rt);
}
