/*
 * Thousands of small tensors and a few as large as hundreds of them, made from one another, written
 * to, let go: what has many blocks is searched in other ways than what has few
 * (evict/choice/lowest.h, layout/window/index.h).
 */
#include <stdlib.h>

#include "tests/property/subject.h"

enum {
    SLOTS = 5000,
    BATCH = 50, /* operations in a step */
    SMALL = 16, /* elements of the smallest */
    LARGE = 8192
};

typedef struct crowd {
    cebus_runtime *rt;
    cebus_tensor *slots[SLOTS];
    uint64_t random;
    size_t filled, done; /**< slots; operations of the step, should it be taken again */
} crowd;

static uint64_t draw(crowd *c, uint64_t bound)
{
    c->random = c->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (c->random >> 33) % bound;
}

static cebus_tensor *any(crowd *c)
{
    return c->slots[draw(c, c->filled)];
}

static cebus_status make_leaf(crowd *c, cebus_tensor **out)
{
    int64_t length = draw(c, 200) == 0 ? LARGE : SMALL << draw(c, 4);
    float data[SMALL];
    if (draw(c, 8) > 0)
        return cebus_randn(c->rt, CEBUS_F32, 1, &length, out);
    length = SMALL;
    for (size_t i = 0; i < SMALL; i++)
        data[i] = (float)draw(c, 1 << 20) * 0x1p-20F;
    return cebus_tensor_from_host(c->rt, data, CEBUS_F32, 1, &length, out);
}

static cebus_status make(crowd *c, cebus_tensor **out)
{
    if (c->filled == 0 || draw(c, 3) == 0)
        return make_leaf(c, out);
    cebus_tensor *x = any(c), *y = any(c);
    switch (draw(c, 5)) {
    case 0:
        return cebus_tanh(c->rt, x, out);
    case 1:
        return cebus_add_scalar(c->rt, x, 0.25, out);
    case 2:
        return cebus_dropout(c->rt, x, 0.5, true, out);
    default:
        return cebus_tensor_size(x, 0) == cebus_tensor_size(y, 0) ? cebus_mul(c->rt, x, y, out)
                                                                  : cebus_sin(c->rt, x, out);
    }
}

/** Into the next slot; once all are full, one operation in six writes in place. */
static cebus_status operate(crowd *c)
{
    cebus_tensor *out = NULL;
    if (c->filled == SLOTS && draw(c, 6) == 0)
        return cebus_mul_scalar_(c->rt, any(c), 0.5);
    cebus_status status = make(c, &out);
    if (status != CEBUS_OK)
        return status;
    cebus_tensor **slot = &c->slots[c->filled < SLOTS ? c->filled++ : draw(c, SLOTS)];
    cebus_tensor_release(*slot);
    *slot = out;
    return CEBUS_OK;
}

static cebus_status step(void *self, size_t i, cebus_record *record)
{
    crowd *c = self;
    cebus_status status = CEBUS_OK;
    uint64_t random = c->random;
    (void)i;
    for (; c->done < BATCH && status == CEBUS_OK; c->done += status == CEBUS_OK) {
        random = c->random;
        status = operate(c);
    }
    if (status == CEBUS_OK) {
        random = c->random;
        status = cebus_record_tensor(record, any(c));
    }
    if (status == CEBUS_OK)
        c->done = 0;
    else
        c->random = random;
    return status;
}

static cebus_status finish(void *self, cebus_record *record)
{
    crowd *c = self;
    cebus_status status = CEBUS_OK;
    for (size_t i = 0; i < c->filled && status == CEBUS_OK; i++)
        status = cebus_record_tensor(record, c->slots[i]);
    return status;
}

static cebus_tensor *leaf(void *self, size_t i)
{
    (void)self;
    (void)i;
    return NULL;
}

static void destroy(void *self)
{
    crowd *c = self;
    for (size_t i = 0; i < c->filled; i++)
        cebus_tensor_release(c->slots[i]);
    free(c);
}

static void *create(cebus_runtime *rt, const char *name, uint64_t seed)
{
    crowd *c = calloc(1, sizeof *c);
    (void)name;
    if (c == NULL)
        return NULL;
    c->rt = rt;
    c->random = seed * UINT64_C(0x9E3779B97F4A7C15) + 1;
    cebus_manual_seed(rt, seed);
    return c;
}

const cebus_subject cebus_subject_crowd = {
    .create = create,
    .step = step,
    .finish = finish,
    .leaf = leaf,
    .destroy = destroy,
};
