/* Random numbers: the words are Philox's, the same as on any device (eager/rng.h). */
#include "eager/device/cuda/families.h"
#include "eager/device/cuda/lane.h"
#include "eager/device/draw.h"

CEBUS_BEGIN_DECLS
#include "eager/ops/random.h"
CEBUS_END_DECLS

typedef struct draw_job {
    cebus_cells out;
    int64_t n;
    uint64_t seed, first; /**< block of element 0 */
    double a, b;
} draw_job;

/** The words of BLOCKS Philox blocks. */
template <int BLOCKS>
CEBUS_DEVICE void draw_words(const draw_job *p, uint64_t block, uint32_t *words)
{
    CEBUS_UNROLL
    for (int i = 0; i < BLOCKS; i++) {
        cebus_philox four = cebus_philox_block(p->seed, p->first + block + (uint64_t)i);
        for (int w = 0; w < 4; w++)
            words[4 * i + w] = four.word[w];
    }
}

/* How CEBUS_PACK elements come from the words of `blocks` blocks. */
struct uniform_f32 {
    typedef float lane;
    enum {
        blocks = 2
    };
    CEBUS_DEVICE void shape(const draw_job *p, const uint32_t *words, float *x)
    {
        for (int i = 0; i < CEBUS_PACK; i++)
            x[i] = cebus_draw_uniform_f32(words[i], (float)p->a, (float)(p->b - p->a));
    }
};
struct uniform_f64 {
    typedef double lane;
    enum {
        blocks = 4
    };
    CEBUS_DEVICE void shape(const draw_job *p, const uint32_t *words, double *x)
    {
        for (int i = 0; i < CEBUS_PACK; i++)
            x[i] = cebus_draw_uniform_f64(words[2 * i], words[2 * i + 1], p->a, p->b - p->a);
    }
};
struct normal_f32 {
    typedef float lane;
    enum {
        blocks = 2
    };
    CEBUS_DEVICE void shape(const draw_job *p, const uint32_t *words, float *x)
    {
        (void)p;
        for (int i = 0; i < CEBUS_PACK; i += 2)
            cebus_draw_normal_f32(words + i, x + i);
    }
};
struct normal_f64 {
    typedef double lane;
    enum {
        blocks = 4
    };
    CEBUS_DEVICE void shape(const draw_job *p, const uint32_t *words, double *x)
    {
        (void)p;
        for (int i = 0; i < CEBUS_PACK; i += 2)
            cebus_draw_normal_f64(words + 2 * i, x + i);
    }
};
template <class T> struct bernoulli {
    typedef T lane;
    enum {
        blocks = 2
    };
    CEBUS_DEVICE void shape(const draw_job *p, const uint32_t *words, T *x)
    {
        uint32_t threshold = cebus_draw_threshold(p->a);
        for (int i = 0; i < CEBUS_PACK; i++)
            x[i] = (T)((words[i] >> 8) < threshold);
    }
};

template <class D> CEBUS_KERNEL draw_kernel(const draw_job p)
{
    int64_t packs = (p.n + CEBUS_PACK - 1) / CEBUS_PACK;
    for (int64_t i = cebus_grid_first(); i < packs; i += cebus_grid_step()) {
        uint32_t words[4 * D::blocks];
        typename D::lane x[CEBUS_PACK];
        int64_t left = p.n - i * CEBUS_PACK;
        draw_words<D::blocks>(&p, (uint64_t)i * D::blocks, words);
        D::shape(&p, words, x);
        cebus_lane<typename D::lane>::store(x, p.out, i * CEBUS_PACK, 1,
                                            left < CEBUS_PACK ? (int)left : CEBUS_PACK);
    }
}

static cebus_status run(const cebus_launch *launch, void (*kernel)(draw_job), const char *op)
{
    const cebus_random_attrs *attrs = (const cebus_random_attrs *)launch->attrs;
    draw_job p = {cebus_cells_of(&launch->out[0]),
                  cebus_view_numel(launch->out[0].view),
                  launch->seed,
                  launch->rng_offset,
                  attrs->a,
                  attrs->b};
    cebus_grid_run(launch, kernel, cebus_grid_blocks((p.n + CEBUS_PACK - 1) / CEBUS_PACK),
                   CEBUS_GRID_THREADS, p);
    return cebus_cuda_launched(op);
}

static cebus_status run_randn(const cebus_launch *launch)
{
    bool wide = launch->out[0].view->dtype == CEBUS_F64;
    return run(launch, wide ? draw_kernel<normal_f64> : draw_kernel<normal_f32>, "randn");
}

static cebus_status run_uniform(const cebus_launch *launch)
{
    bool wide = launch->out[0].view->dtype == CEBUS_F64;
    return run(launch, wide ? draw_kernel<uniform_f64> : draw_kernel<uniform_f32>, "uniform");
}

static cebus_status run_bernoulli(const cebus_launch *launch)
{
    cebus_dtype dtype = launch->out[0].view->dtype;
    bool is_byte = dtype == CEBUS_U8 || dtype == CEBUS_BOOL;
    if (is_byte)
        return run(launch, draw_kernel<bernoulli<uint8_t>>, "bernoulli");
    static void (*const kernels[])(draw_job) = {draw_kernel<bernoulli<float>>,
                                                draw_kernel<bernoulli<double>>,
                                                draw_kernel<bernoulli<int64_t>>};
    return run(launch, kernels[cebus_lane_number(dtype)], "bernoulli");
}

const cebus_kernel cebus_cuda_random_kernels[] = {
    {"randn", run_randn, NULL, NULL},
    {"uniform", run_uniform, NULL, NULL},
    {"bernoulli", run_bernoulli, NULL, NULL},
    {},
};
