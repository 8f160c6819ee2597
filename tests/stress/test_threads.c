/**
 * Several threads on one runtime under a budget that makes them evict each other's values, a thread
 * that changes budget and policy meanwhile, a hook that listens, and runtimes side by side. What
 * each thread computes must be what it would compute alone. Prints TAP; meant for the thread
 * sanitizer as much as for itself.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include <cebus/cebus.h>

#define THREADS 4
#define STEPS 20
#define WIDTH 24
#define BLOCK (WIDTH * WIDTH * sizeof(float))

typedef struct worker {
    cebus_runtime *rt;
    int number;
    cebus_status status;
    char why[640];
    float result[WIDTH * WIDTH];
} worker;

static atomic_bool done;
static atomic_uint events;

/** One step: w -= 0.1 d/dw sum(tanh(tanh(x w) w)^2). */
static cebus_status step(cebus_runtime *rt, cebus_tensor *x, cebus_tensor *w)
{
    cebus_tensor *a = NULL, *b = NULL, *c = NULL, *d = NULL, *loss = NULL, *grad = NULL;
    cebus_status status = cebus_matmul(rt, x, w, &a);
    if (status == CEBUS_OK)
        status = cebus_tanh(rt, a, &b);
    if (status == CEBUS_OK)
        status = cebus_matmul(rt, b, w, &c);
    if (status == CEBUS_OK)
        status = cebus_mul(rt, c, c, &d);
    if (status == CEBUS_OK)
        status = cebus_sum(rt, d, 0, NULL, false, &loss);
    if (status == CEBUS_OK)
        status = cebus_backward(rt, loss, NULL, false);
    if (status == CEBUS_OK)
        status = cebus_tensor_grad(w, &grad);
    cebus_grad_enable(false);
    if (status == CEBUS_OK)
        status = cebus_sub_(rt, w, grad, 1e-3);
    cebus_grad_enable(true);
    if (status == CEBUS_OK)
        status = cebus_tensor_set_grad(w, NULL);
    cebus_tensor *const all[] = {a, b, c, d, loss, grad};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        cebus_tensor_release(all[i]);
    return status;
}

static cebus_status train(worker *self)
{
    static const int64_t shape[2] = {WIDTH, WIDTH};
    float host[WIDTH * WIDTH];
    cebus_tensor *x = NULL, *w = NULL;
    for (int i = 0; i < WIDTH * WIDTH; i++)
        host[i] = (float)((i * 37 + self->number * 11) % 23) / 23 - 0.5F;
    cebus_status status = cebus_tensor_from_host(self->rt, host, CEBUS_F32, 2, shape, &x);
    if (status == CEBUS_OK)
        status = cebus_tensor_from_host(self->rt, host, CEBUS_F32, 2, shape, &w);
    if (status == CEBUS_OK)
        status = cebus_tensor_set_persistent(w);
    if (status == CEBUS_OK)
        status = cebus_tensor_set_requires_grad(w, true);
    for (int i = 0; i < STEPS && status == CEBUS_OK; i++)
        status = step(self->rt, x, w);
    if (status == CEBUS_OK)
        status = cebus_tensor_to_host(w, self->result, sizeof self->result);
    cebus_tensor_release(x);
    cebus_tensor_release(w);
    return status;
}

static void *work(void *argument)
{
    worker *self = argument;
    self->status = train(self);
    if (self->status != CEBUS_OK)
        snprintf(self->why, sizeof self->why, "%s: %s", cebus_last_error()->op,
                 cebus_last_error()->message);
    return NULL;
}

/** Turns the knobs while others compute; a refusal for want of memory is an answer. */
static void *disturb(void *argument)
{
    cebus_runtime *rt = argument;
    for (size_t i = 0; !atomic_load(&done); i++) {
        const char *policy = cebus_policy_name(1 + i % 5);
        cebus_memory_stats stats = CEBUS_MEMORY_STATS_INIT;
        if (cebus_runtime_set_policy(rt, policy) != CEBUS_OK ||
            cebus_runtime_memory_stats(rt, &stats) != CEBUS_OK ||
            cebus_runtime_check(rt) != CEBUS_OK)
            return rt;
        cebus_status status = cebus_runtime_set_budget(rt, (34 + i % 3 * 10) * BLOCK);
        if (status != CEBUS_OK && status != CEBUS_OUT_OF_MEMORY)
            return rt;
    }
    return NULL;
}

static void listen(void *context, const cebus_event *event)
{
    (void)event;
    atomic_fetch_add(&events, 1);
    (void)cebus_memory_allocated(context);
}

static cebus_runtime *open_runtime(void)
{
    cebus_runtime *rt = NULL;
    cebus_runtime_options options = CEBUS_RUNTIME_OPTIONS_INIT;
    options.threads = 1;
    options.memory_budget = 34 * BLOCK;
    if (cebus_runtime_create(&options, &rt) != CEBUS_OK)
        printf("Bail out! %s\n", cebus_last_error()->message);
    return rt;
}

static void join_all(pthread_t *threads, worker *workers, const worker *wanted, const char *what,
                     int number)
{
    bool ok = true;
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        bool same = memcmp(workers[i].result, wanted[i].result, sizeof wanted[i].result) == 0;
        if (workers[i].status != CEBUS_OK)
            printf("# thread %d: %s\n", i, workers[i].why);
        ok = ok && workers[i].status == CEBUS_OK && same;
    }
    printf("%sok %d - %s\n", ok ? "" : "not ", number, what);
}

int main(void)
{
    static worker alone[THREADS], together[THREADS], apart[THREADS];
    pthread_t threads[THREADS], knobs;
    void *fault;
    printf("TAP version 13\n1..3\n");
    cebus_runtime *rt = open_runtime();
    for (int i = 0; i < THREADS; i++) {
        alone[i] = (worker){.rt = rt, .number = i};
        work(&alone[i]);
    }
    cebus_runtime_set_event_hook(rt, listen, rt);
    pthread_create(&knobs, NULL, disturb, rt);
    for (int i = 0; i < THREADS; i++) {
        together[i] = (worker){.rt = rt, .number = i};
        pthread_create(&threads[i], NULL, work, &together[i]);
    }
    join_all(threads, together, alone, "threads on one runtime compute what each would alone", 1);
    atomic_store(&done, true);
    pthread_join(knobs, &fault);
    if (fault != NULL)
        printf("# %s: %s\n", cebus_last_error()->op, cebus_last_error()->message);
    bool quiet = fault == NULL && atomic_load(&events) > 0 && cebus_memory_allocated(rt) == 0;
    printf("%sok 2 - budget, policy, checks and events meanwhile\n", quiet ? "" : "not ");
    cebus_runtime_destroy(rt);
    for (int i = 0; i < THREADS; i++) {
        apart[i] = (worker){.rt = open_runtime(), .number = i};
        pthread_create(&threads[i], NULL, work, &apart[i]);
    }
    join_all(threads, apart, alone, "runtimes share nothing", 3);
    for (int i = 0; i < THREADS; i++)
        cebus_runtime_destroy(apart[i].rt);
    return 0;
}
