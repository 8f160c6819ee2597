#include "eager/ops/random.h"

#include "eager/device/cpu/families.h"
#include "eager/device/cpu/parallel.h"
#include "eager/device/cpu/sweep.h"
#include "eager/device/draw.h"
#include "eager/view.h"
#include "layout/clones.h"
#include "layout/number.h"

/* Philox blocks drawn at a time. */
#define CHUNK 64
#define WORDS (4 * CHUNK)

/* The words of CHUNK blocks in order. */
CEBUS_CLONES static void draw_words(uint64_t seed, uint64_t first, uint32_t *words)
{
    for (uint64_t i = 0; i < CHUNK; i++) {
        cebus_philox block = cebus_philox_block(seed, first + i);
        for (int w = 0; w < 4; w++)
            words[4 * i + w] = block.word[w];
    }
}

/* Turns the words of a chunk into elements of a lane; `to` has room for all of them. */
typedef void (*shape_fn)(const uint32_t *words, const cebus_random_attrs *attrs, void *to);

CEBUS_CLONES static void uniform_f32(const uint32_t *words, const cebus_random_attrs *attrs,
                                     void *to)
{
    float *x = to;
    float low = (float)attrs->a, width = (float)(attrs->b - attrs->a);
    for (int i = 0; i < WORDS; i++)
        x[i] = cebus_draw_uniform_f32(words[i], low, width);
}

static void uniform_f64(const uint32_t *words, const cebus_random_attrs *attrs, void *to)
{
    double *x = to;
    for (int i = 0; i < WORDS / 2; i++)
        x[i] =
            cebus_draw_uniform_f64(words[2 * i], words[2 * i + 1], attrs->a, attrs->b - attrs->a);
}

CEBUS_CLONES static void normal_f32(const uint32_t *words, const cebus_random_attrs *attrs,
                                    void *to)
{
    float *x = to;
    (void)attrs;
    for (int i = 0; i < WORDS; i += 2)
        cebus_draw_normal_f32(words + i, x + i);
}

static void normal_f64(const uint32_t *words, const cebus_random_attrs *attrs, void *to)
{
    double *x = to;
    (void)attrs;
    for (ptrdiff_t i = 0; i < CHUNK; i++)
        cebus_draw_normal_f64(words + 4 * i, x + 2 * i);
}

#define BERNOULLI(lane, T)                                                                         \
    CEBUS_CLONES static void bernoulli_##lane(const uint32_t *words,                               \
                                              const cebus_random_attrs *attrs, void *to)           \
    {                                                                                              \
        T *x = to;                                                                                 \
        uint32_t threshold = cebus_draw_threshold(attrs->a);                                       \
        for (int i = 0; i < WORDS; i++)                                                            \
            x[i] = (T)((words[i] >> 8) < threshold);                                               \
    }
BERNOULLI(f32, float)
BERNOULLI(f64, double)
BERNOULLI(i64, int64_t)
BERNOULLI(u8, uint8_t)

typedef struct drawing {
    const cebus_launch *launch;
    shape_fn shape;
    cebus_lane lane;
    int64_t per_chunk; /* elements */
} drawing;

static void run_chunks(void *context, int64_t begin, int64_t end)
{
    const drawing *d = context;
    const cebus_launch *launch = d->launch;
    const cebus_view *view = launch->out[0].view;
    int64_t total = cebus_view_numel(view), size = (int64_t)cebus_dtype_size(view->dtype);
    for (int64_t c = begin; c < end; c++) {
        uint32_t words[WORDS];
        _Alignas(64) char elements[WORDS * 8];
        draw_words(launch->seed, launch->rng_offset + (uint64_t)c * CHUNK, words);
        d->shape(words, launch->attrs, elements);
        int64_t at = c * d->per_chunk;
        int64_t n = total - at < d->per_chunk ? total - at : d->per_chunk;
        cebus_lane_store(d->lane, elements, view->dtype, (char *)launch->out[0].data + at * size, 1,
                         n);
    }
}

static cebus_status run_drawing(drawing *d)
{
    int64_t n = cebus_view_numel(d->launch->out[0].view);
    int64_t chunks = cebus_ceil_div(n, d->per_chunk);
    cebus_parallel_for(d->launch->threads, chunks, CEBUS_GRAIN / WORDS, run_chunks, d);
    return CEBUS_OK;
}

static cebus_status run_real(const cebus_launch *launch, shape_fn narrow, shape_fn wide)
{
    cebus_dtype dtype = launch->out[0].view->dtype;
    drawing d = {
        .launch = launch,
        .shape = dtype == CEBUS_F64 ? wide : narrow,
        .lane = cebus_lane_of(dtype),
        .per_chunk = CHUNK * cebus_random_per_block(dtype),
    };
    return run_drawing(&d);
}

static cebus_status run_randn(const cebus_launch *launch)
{
    return run_real(launch, normal_f32, normal_f64);
}

static cebus_status run_uniform(const cebus_launch *launch)
{
    return run_real(launch, uniform_f32, uniform_f64);
}

static cebus_status run_bernoulli(const cebus_launch *launch)
{
    static const shape_fn shapes[CEBUS_LANE_COUNT] = {
        [CEBUS_LANE_F32] = bernoulli_f32,
        [CEBUS_LANE_F64] = bernoulli_f64,
        [CEBUS_LANE_I64] = bernoulli_i64,
        [CEBUS_LANE_U8] = bernoulli_u8,
    };
    cebus_dtype dtype = launch->out[0].view->dtype;
    bool is_byte = dtype == CEBUS_U8 || dtype == CEBUS_BOOL;
    drawing d = {.launch = launch, .per_chunk = WORDS};
    d.lane = is_byte ? CEBUS_LANE_U8 : cebus_lane_of(dtype);
    d.shape = shapes[d.lane];
    return run_drawing(&d);
}

const cebus_kernel cebus_cpu_random[] = {
    {.op = "randn", .run = run_randn},
    {.op = "uniform", .run = run_uniform},
    {.op = "bernoulli", .run = run_bernoulli},
    {0},
};
