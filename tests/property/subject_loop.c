/**
 * Training loops whose iterations repeat, nearly repeat and do not: what policies that plan ahead
 * must tell apart. A small network of convolutions; a mark after each iteration, or, where
 * "+unmarked" follows the name, no mark at all. By name:
 *
 *   steady       the same in every iteration
 *   evaluate     each third iteration is a forward without gradients
 *   accumulate   two, later three micro-batches an iteration
 *   micro        a mark after each micro-batch, an update after every second one
 *   buckets      images of three sizes, in random order
 *   broken       each fourth iteration is given up in the middle of its forward
 *   grown        from the seventh iteration on there is a layer more
 *   written      maps are written in place, at once and long after, also through views, also those
 *                that are saved for the backward
 *   mapped       a map's address is handed out until the backward is through
 *   carried      a state goes on from iteration to iteration, and old losses are kept
 *   switched     the policy changes, also in the middle of an iteration
 *   turns        training and evaluation, five iterations of each in turns
 *   lengths      accumulate with 1 to 4 micro-batches, in random order, of two sizes
 */
#include <stdlib.h>
#include <string.h>

#include "tests/property/subject.h"

enum {
    LAYERS = 5,
    CHANNELS = 4,
    HELD = 64,
    KEPT = 3
};

typedef struct loop {
    cebus_runtime *rt;
    const char *name;
    const char *policy; /**< the runtime's own */
    uint64_t seed;
    cebus_tensor *w[LAYERS + 1]; /**< the last one joins where the network grows */
    cebus_optimizer *optimizer;
    cebus_tensor *state;        /**< carried; NULL: none yet */
    cebus_tensor *losses[KEPT]; /**< of the last iterations, not read yet */
    size_t at, done;            /**< the iteration under way, from 1, and its batches done */
    cebus_tensor *loss, *map;   /**< of the last of these; NULL: it was broken off */
    cebus_tensor *held[HELD];   /**< of the batch under way */
    size_t n_held;
    cebus_tensor *mapped;
    cebus_status status;
} loop;

static bool is(const loop *l, const char *name)
{
    size_t length = strlen(name);
    return strncmp(l->name, name, length) == 0 &&
           (l->name[length] == '\0' || l->name[length] == '+');
}

/** Remembers the first failure, and every tensor that was made. */
static cebus_tensor *hold(loop *l, cebus_status status, cebus_tensor **made)
{
    if (l->status == CEBUS_OK)
        l->status = status;
    if (status != CEBUS_OK || made == NULL || l->n_held == HELD)
        return NULL;
    return l->held[l->n_held++] = *made;
}

static bool check(loop *l, cebus_status status)
{
    hold(l, status, NULL);
    return l->status == CEBUS_OK;
}

static cebus_tensor *parameter(loop *l)
{
    cebus_tensor *w = NULL;
    const int64_t shape[4] = {CHANNELS, CHANNELS, 3, 3};
    if (cebus_uniform(l->rt, (cebus_uniform_range){-0.2, 0.2}, CEBUS_F32, 4, shape, &w) ==
            CEBUS_OK &&
        cebus_tensor_set_persistent(w) == CEBUS_OK &&
        cebus_tensor_set_requires_grad(w, true) == CEBUS_OK &&
        cebus_optimizer_add(l->optimizer, w) == CEBUS_OK)
        return w;
    cebus_tensor_release(w);
    return NULL;
}

static void destroy(void *self)
{
    loop *l = self;
    cebus_optimizer_destroy(l->optimizer);
    for (int i = 0; i <= LAYERS; i++)
        cebus_tensor_release(l->w[i]);
    for (int i = 0; i < KEPT; i++)
        cebus_tensor_release(l->losses[i]);
    cebus_tensor_release(l->state);
    cebus_tensor_release(l->loss);
    cebus_tensor_release(l->map);
    free(l);
}

static void *create(cebus_runtime *rt, const char *name, uint64_t seed)
{
    loop *l = calloc(1, sizeof *l);
    cebus_sgd_options sgd = CEBUS_SGD_OPTIONS_INIT;
    sgd.lr = 0.1;
    sgd.momentum = 0.5;
    *l = (loop){.rt = rt, .name = name, .policy = cebus_runtime_policy(rt), .seed = seed};
    cebus_manual_seed(rt, seed);
    bool ok = cebus_optimizer_create_sgd(rt, &sgd, &l->optimizer) == CEBUS_OK;
    for (int i = 0; i <= LAYERS && ok; i++)
        ok = (l->w[i] = parameter(l)) != NULL;
    if (ok)
        return l;
    destroy(l);
    return NULL;
}

static uint64_t draw(const loop *l, size_t i, uint64_t bound)
{
    uint64_t x = (l->seed + 1) * UINT64_C(0x9E3779B97F4A7C15) + i * UINT64_C(0xD1B54A32D192ED03);
    return ((x ^ (x >> 29)) * UINT64_C(0xBF58476D1CE4E5B9) >> 33) % bound;
}

static cebus_tensor *conv(loop *l, cebus_tensor *x, cebus_tensor *w)
{
    cebus_tensor *y = NULL;
    const cebus_conv_options same = {.padding = {1, 1}};
    return x != NULL ? hold(l, cebus_conv2d(l->rt, x, w, NULL, &same, &y), &y) : NULL;
}

/** Writes to a map, and through a view of it. */
static void write_map(loop *l, cebus_tensor *x)
{
    cebus_tensor *part = NULL;
    if (x == NULL)
        return;
    hold(l, cebus_add_scalar_(l->rt, x, 0.01), NULL);
    if (l->status == CEBUS_OK)
        hold(l, cebus_slice(l->rt, x, 1, 0, CHANNELS / 2, 1, &part), &part);
    if (l->status == CEBUS_OK)
        hold(l, cebus_mul_scalar_(l->rt, part, 0.5), NULL);
}

static cebus_tensor *layer(loop *l, cebus_tensor *x, int i)
{
    cebus_tensor *y = conv(l, x, l->w[i]), *z = NULL, *sum = NULL;
    if (y == NULL)
        return NULL;
    if (is(l, "written") && i % 2 == 1)
        write_map(l, y);
    if (l->status == CEBUS_OK)
        hold(l, cebus_tanh(l->rt, y, &z), &z);
    if (l->status == CEBUS_OK && i == 2)
        hold(l, cebus_dropout(l->rt, z, 0.25, true, &z), &z);
    if (l->status == CEBUS_OK && i == 3)
        return hold(l, cebus_add(l->rt, z, x, &sum), &sum);
    return l->status == CEBUS_OK ? z : NULL;
}

static void switch_policy(loop *l, size_t i)
{
    size_t count = 0;
    while (cebus_policy_name(count) != NULL)
        count++;
    const char *other = cebus_policy_name(1 + (i * 5 + l->seed) % (count - 1));
    if (strcmp(l->policy, "none") != 0)
        check(l, cebus_runtime_set_policy(l->rt, i % 3 == 0 ? l->policy : other));
}

static cebus_tensor *start(loop *l, size_t i)
{
    const int64_t sides[3] = {8, 6, 10};
    int64_t side = is(l, "buckets") ? sides[draw(l, i, 3)] : 8;
    if (is(l, "lengths"))
        side = sides[draw(l, i + 100, 2)];
    cebus_tensor *x = NULL, *sum = NULL;
    hold(l,
         cebus_uniform(l->rt, (cebus_uniform_range){-1, 1}, CEBUS_F32, 4,
                       (int64_t[]){4, CHANNELS, side, side}, &x),
         &x);
    if (l->status == CEBUS_OK && is(l, "carried") && l->state != NULL)
        return hold(l, cebus_add(l->rt, x, l->state, &sum), &sum);
    return l->status == CEBUS_OK ? x : NULL;
}

/** The last map; NULL on failure, or where the iteration is to be broken off. */
static cebus_tensor *forward(loop *l, size_t i)
{
    int layers = LAYERS + (is(l, "grown") && i >= 6);
    cebus_tensor *x = start(l, i), *second = NULL;
    for (int k = 0; k < layers && x != NULL; k++) {
        const void *map;
        if (is(l, "broken") && i % 4 == 3 && k == 3)
            return NULL;
        if (is(l, "switched") && k == 2 && i % 2 == 1)
            switch_policy(l, i);
        x = layer(l, x, k);
        second = k == 1 ? x : second;
        if (x != NULL && is(l, "written") && k == 3)
            write_map(l, second);
        if (x != NULL && is(l, "mapped") && k == 1 && l->mapped == NULL &&
            check(l, cebus_tensor_map(x, &map)))
            l->mapped = x;
    }
    return x;
}

static bool evaluates(const loop *l, size_t i)
{
    return (is(l, "evaluate") && i % 3 == 2) || (is(l, "turns") && (i / 5) % 2 == 1);
}

static void let_go(loop *l)
{
    if (l->mapped != NULL)
        cebus_tensor_unmap(l->mapped);
    l->mapped = NULL;
    for (size_t i = 0; i < l->n_held; i++)
        cebus_tensor_release(l->held[i]);
    l->n_held = 0;
}

static void replace(cebus_tensor **slot, cebus_tensor *tensor)
{
    cebus_tensor_release(*slot);
    *slot = tensor != NULL ? cebus_tensor_retain(tensor) : NULL;
}

/** Forward and backward of a batch. What fails has added nothing to the gradients. */
static void run_batch(loop *l, size_t i)
{
    cebus_tensor *map = NULL, *square = NULL, *loss = NULL, *state = NULL;
    cebus_manual_seed(l->rt, l->seed * 1000 + i * 10 + l->done);
    bool recorded = cebus_grad_enable(!evaluates(l, i));
    map = forward(l, i);
    if (map != NULL)
        hold(l, cebus_mul(l->rt, map, map, &square), &square);
    if (map != NULL && l->status == CEBUS_OK)
        hold(l, cebus_mean(l->rt, square, 0, NULL, false, &loss), &loss);
    if (map != NULL && l->status == CEBUS_OK)
        hold(l, cebus_detach(l->rt, map, &state), &state);
    if (map != NULL && l->status == CEBUS_OK && !evaluates(l, i))
        check(l, cebus_backward(l->rt, loss, NULL, false));
    cebus_grad_enable(recorded);
    if (l->status == CEBUS_OK) {
        replace(&l->loss, loss);
        replace(&l->map, state);
        l->done++;
    }
    let_go(l);
}

static size_t batches(const loop *l, size_t i)
{
    if (is(l, "lengths"))
        return 1 + draw(l, i, 4);
    return is(l, "accumulate") ? (i < 5 ? 2 : 3) : 1;
}

static cebus_status step(void *self, size_t i, cebus_record *record)
{
    loop *l = self;
    bool updates = !(is(l, "micro") && i % 2 == 0) && !evaluates(l, i);
    l->status = CEBUS_OK;
    l->done = l->at == i + 1 ? l->done : 0;
    l->at = i + 1;
    while (l->done < batches(l, i) && l->status == CEBUS_OK)
        run_batch(l, i);
    if (l->status == CEBUS_OK && l->loss != NULL && i % 2 == 0)
        check(l, cebus_record_tensor(record, l->loss));
    if (l->status == CEBUS_OK && l->loss != NULL && updates)
        check(l, cebus_optimizer_step(l->optimizer));
    if (l->status != CEBUS_OK)
        return l->status;
    if (is(l, "carried"))
        replace(&l->state, l->map);
    replace(&l->losses[i % KEPT], l->loss);
    replace(&l->loss, NULL);
    replace(&l->map, NULL);
    cebus_status status = updates ? cebus_optimizer_zero_grad(l->optimizer) : CEBUS_OK;
    bool marks = strstr(l->name, "+unmarked") == NULL;
    return status == CEBUS_OK && marks ? cebus_iteration_mark(l->rt) : status;
}

static cebus_status finish(void *self, cebus_record *record)
{
    loop *l = self;
    cebus_status status = CEBUS_OK;
    for (int i = 0; i < KEPT && status == CEBUS_OK; i++)
        status = l->losses[i] != NULL ? cebus_record_tensor(record, l->losses[i]) : CEBUS_OK;
    for (int i = 0; i <= LAYERS && status == CEBUS_OK; i++)
        status = cebus_record_tensor(record, l->w[i]);
    if (status == CEBUS_OK && l->state != NULL)
        status = cebus_record_tensor(record, l->state);
    return status;
}

static cebus_tensor *leaf(void *self, size_t i)
{
    loop *l = self;
    return i <= LAYERS ? l->w[i] : NULL;
}

const cebus_subject cebus_subject_loop = {
    .create = create,
    .step = step,
    .finish = finish,
    .leaf = leaf,
    .destroy = destroy,
};
