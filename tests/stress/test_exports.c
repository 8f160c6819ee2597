/**
 * Bytes that are handed out: threads make values and map them, others read the bytes, hold them
 * while blocks move and values go, and give them back late. What is mapped neither moves nor
 * changes. Prints TAP; meant for the thread sanitizer as much as for itself.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include <cebus/cebus.h>

enum {
    MAKERS = 2,
    READERS = 2,
    EXPORTS = 60, /* of each maker */
    HELD = 4,     /* by each reader */
    WIDTH = 16,
    BLOCK = WIDTH * WIDTH * sizeof(float)
};

typedef struct export
{
    cebus_tensor *tensor; /* the reader's */
    const void *bytes;
    float wanted[WIDTH * WIDTH];
}
export;

/* One export on its way from any maker to any reader. */
typedef struct counter {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    export at;
    bool full, closed;
} counter;

typedef struct maker {
    cebus_runtime *rt;
    int number;
    cebus_status status;
} maker;

static counter desk = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
static atomic_bool done;
static atomic_uint wrong, seen;

static void hand_over(const export *item)
{
    pthread_mutex_lock(&desk.lock);
    while (desk.full)
        pthread_cond_wait(&desk.changed, &desk.lock);
    desk.at = *item;
    desk.full = true;
    pthread_cond_broadcast(&desk.changed);
    pthread_mutex_unlock(&desk.lock);
}

/* False when no more will come. */
static bool take(export *out)
{
    pthread_mutex_lock(&desk.lock);
    while (!desk.full && !desk.closed)
        pthread_cond_wait(&desk.changed, &desk.lock);
    bool got = desk.full;
    if (got)
        *out = desk.at;
    desk.full = false;
    pthread_cond_broadcast(&desk.changed);
    pthread_mutex_unlock(&desk.lock);
    return got;
}

/* tanh(x x), of a number; what it is made of goes. */
static cebus_status compute(cebus_runtime *rt, int number, cebus_tensor **out)
{
    float host[WIDTH * WIDTH];
    cebus_tensor *x = NULL, *product = NULL;
    for (int i = 0; i < WIDTH * WIDTH; i++)
        host[i] = (float)((i * 31 + number * 7) % 19) / 19 - 0.5F;
    cebus_status status =
        cebus_tensor_from_host(rt, host, CEBUS_F32, 2, (int64_t[]){WIDTH, WIDTH}, &x);
    if (status == CEBUS_OK)
        status = cebus_matmul(rt, x, x, &product);
    if (status == CEBUS_OK)
        status = cebus_tanh(rt, product, out);
    cebus_tensor_release(x);
    cebus_tensor_release(product);
    return status;
}

static cebus_status export_one(cebus_runtime *rt, int number)
{
    export item;
    cebus_tensor *others[6] = {NULL};
    cebus_status status = compute(rt, number, &item.tensor);
    if (status != CEBUS_OK)
        return status;
    for (int i = 0; i < 6 && status == CEBUS_OK; i++) /* the export may go before it is mapped */
        status = compute(rt, number + i, &others[i]);
    if (status == CEBUS_OK)
        status = cebus_tensor_map(item.tensor, &item.bytes);
    if (status == CEBUS_OK) {
        status = cebus_tensor_to_host(item.tensor, item.wanted, BLOCK);
        hand_over(&item);
    } else {
        cebus_tensor_release(item.tensor);
    }
    for (int i = 0; i < 6; i++)
        cebus_tensor_release(others[i]);
    return status;
}

static void *make(void *argument)
{
    maker *self = argument;
    for (int i = 0; i < EXPORTS && self->status == CEBUS_OK; i++) {
        do {
            self->status = export_one(self->rt, i * MAKERS + self->number);
        } while (self->status == CEBUS_OUT_OF_MEMORY); /* readers give back */
    }
    return NULL;
}

static void look(const export *item)
{
    atomic_fetch_add(&wrong, memcmp(item->bytes, item->wanted, BLOCK) != 0);
}

static void give_back(export *item)
{
    look(item);
    cebus_tensor_unmap(item->tensor);
    cebus_tensor_release(item->tensor);
    atomic_fetch_add(&seen, 1);
}

static void *read_late(void *argument)
{
    (void)argument;
    export held[HELD];
    size_t count = 0;
    while (take(&held[count % HELD])) {
        for (size_t i = 0; i <= count && i < HELD; i++)
            look(&held[i]);
        if (++count >= HELD)
            give_back(&held[count % HELD]);
    }
    for (size_t i = count < HELD ? 0 : count - HELD + 1; i < count; i++)
        give_back(&held[i % HELD]);
    return NULL;
}

/* Gives up what can go, and moves what is not held. */
static void *squeeze(void *argument)
{
    cebus_runtime *rt = argument;
    for (size_t i = 0; !atomic_load(&done); i++) {
        cebus_status status = cebus_runtime_set_budget(rt, (26 + i % 3 * 12) * BLOCK);
        if (status == CEBUS_OK || status == CEBUS_OUT_OF_MEMORY)
            status = i % 4 == 0 ? cebus_runtime_trim(rt) : cebus_runtime_check(rt);
        if (status != CEBUS_OK)
            return rt;
    }
    return NULL;
}

static bool run(cebus_runtime *rt)
{
    maker makers[MAKERS];
    pthread_t threads[MAKERS + READERS], knobs;
    void *fault;
    bool ok = true;
    for (int i = 0; i < READERS; i++)
        pthread_create(&threads[MAKERS + i], NULL, read_late, NULL);
    for (int i = 0; i < MAKERS; i++) {
        makers[i] = (maker){.rt = rt, .number = i};
        pthread_create(&threads[i], NULL, make, &makers[i]);
    }
    pthread_create(&knobs, NULL, squeeze, rt);
    for (int i = 0; i < MAKERS; i++) {
        pthread_join(threads[i], NULL);
        ok = ok && makers[i].status == CEBUS_OK;
    }
    pthread_mutex_lock(&desk.lock);
    desk.closed = true;
    pthread_cond_broadcast(&desk.changed);
    pthread_mutex_unlock(&desk.lock);
    for (int i = 0; i < READERS; i++)
        pthread_join(threads[MAKERS + i], NULL);
    atomic_store(&done, true);
    pthread_join(knobs, &fault);
    return ok && fault == NULL;
}

int main(void)
{
    cebus_runtime *rt = NULL;
    cebus_runtime_options options = CEBUS_RUNTIME_OPTIONS_INIT;
    cebus_memory_stats stats = CEBUS_MEMORY_STATS_INIT;
    options.threads = 1;
    options.memory_budget = 26 * BLOCK;
    printf("TAP version 13\n1..1\n");
    if (cebus_runtime_create(&options, &rt) != CEBUS_OK)
        return printf("Bail out! %s\n", cebus_last_error()->message), 1;
    bool ok = run(rt);
    ok = cebus_runtime_memory_stats(rt, &stats) == CEBUS_OK && ok;
    printf("# %u exports, %u wrong, %llu moved bytes, %llu evictions\n", atomic_load(&seen),
           atomic_load(&wrong), (unsigned long long)stats.moved_bytes,
           (unsigned long long)stats.evictions);
    ok = ok && atomic_load(&wrong) == 0 && atomic_load(&seen) == MAKERS * EXPORTS &&
         stats.allocated_bytes_current == 0;
    printf("%sok 1 - what is handed out stays until others give it back\n", ok ? "" : "not ");
    cebus_runtime_destroy(rt);
    return !ok;
}
