/**
 * amp.c: what loss scaling needs beside the steps (optim.c): whether gradients are finite, and the
 * next scale.
 */
#include "eager/device/cpu/families.h"
#include "eager/device/cpu/parallel.h"
#include "eager/device/cpu/rows.h"
#include "eager/device/step.h"
#include "layout/clones.h"

typedef struct search {
    cebus_rows rows;
    const char *data;
    cebus_run_fn body;
    _Atomic int found; /* set by any thread, never cleared */
} search;

/* Infinities and NaNs are what has all bits of the exponent. */
#define DEFINE_SEARCH(type, name, exponent)                                                        \
    CEBUS_CLONES static void search_##name(void *context, const int64_t *at, int64_t n)            \
    {                                                                                              \
        search *s = context;                                                                       \
        const type *x = (const type *)s->data + at[0];                                             \
        const int64_t step = s->rows.step[0];                                                      \
        type any = 0;                                                                              \
        if (step == 1) {                                                                           \
            for (int64_t i = 0; i < n; i++)                                                        \
                any |= (type)((x[i] & (exponent)) == (exponent));                                  \
        } else {                                                                                   \
            for (int64_t i = 0; i < n; i++)                                                        \
                any |= (type)((x[i * step] & (exponent)) == (exponent));                           \
        }                                                                                          \
        if (any)                                                                                   \
            s->found = 1;                                                                          \
    }

DEFINE_SEARCH(uint32_t, f32, UINT32_C(0x7F800000))
DEFINE_SEARCH(uint64_t, f64, UINT64_C(0x7FF0000000000000))
DEFINE_SEARCH(uint16_t, f16, 0x7C00)
DEFINE_SEARCH(uint16_t, bf16, 0x7F80)

static cebus_run_fn search_body(cebus_dtype dtype)
{
    switch (dtype) {
    case CEBUS_F64:
        return search_f64;
    case CEBUS_F16:
        return search_f16;
    case CEBUS_BF16:
        return search_bf16;
    default:
        return search_f32;
    }
}

static void search_part(void *context, int64_t begin, int64_t end)
{
    search *s = context;
    if (!s->found)
        cebus_rows_walk(&s->rows, begin, end, s->body, s);
}

/* Input 0 is what was found before. */
static cebus_status run_non_finite(const cebus_launch *launch)
{
    bool found = launch->in[0].data != NULL && *(const float *)launch->in[0].data != 0;
    for (uint32_t i = 1; i < launch->n_in && !found; i++) {
        const cebus_view *view = launch->in[i].view;
        search s = {.data = launch->in[i].data, .body = search_body(view->dtype)};
        cebus_rows_init(&s.rows, 1, &view);
        cebus_parallel_for(launch->threads, s.rows.numel, CEBUS_GRAIN, search_part, &s);
        found = s.found;
    }
    *(float *)launch->out[0].data = found;
    return CEBUS_OK;
}

static cebus_status run_update_scale(const cebus_launch *launch)
{
    const bool found = *(const float *)launch->in[2].data != 0;
    cebus_scale_update(launch->in[0].data, launch->in[1].data, found, launch->attrs);
    return CEBUS_OK;
}

const cebus_kernel cebus_cpu_amp[] = {
    {"non_finite", run_non_finite, NULL},
    {"update_scale", run_update_scale, NULL},
    {NULL, NULL, NULL},
};
