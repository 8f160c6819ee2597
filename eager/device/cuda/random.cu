/* Random numbers: the words are Philox's, the same as on any device (eager/rng.h). */
#include "eager/device/cuda/families.h"
#include "eager/device/cuda/lane.h"
#include "eager/device/draw.h"

CEBUS_BEGIN_DECLS
#include "eager/ops/random.h"
CEBUS_END_DECLS

/** The whole product, in one instruction: the compiler adds a nought to what it makes of C. */
CEBUS_DEVICE uint64_t draw_product(uint32_t a, uint32_t b)
{
#ifdef CEBUS_CUDA_HOST
    return (uint64_t)a * b;
#else
    uint64_t product;
    asm("mul.wide.u32 %0, %1, %2;" : "=l"(product) : "r"(a), "r"(b));
    return product;
#endif
}

typedef struct draw_job {
    cebus_cells out;
    int64_t n;
    uint64_t seed, first; /**< block of element 0 */
    double a, b;
    uint32_t key[10][2]; /**< of each round, where kernels read it without an instruction */
    uint32_t last;       /**< of bernoulli: the largest word that is a success */
    bool never;          /**< none is */
} draw_job;

/** The keys of cebus_philox_block(). */
static void draw_keys(draw_job *p)
{
    uint32_t k0 = (uint32_t)p->seed, k1 = (uint32_t)(p->seed >> 32);
    for (int round = 0; round < 10; round++) {
        p->key[round][0] = k0 + UINT32_C(0x9E3779B9) * (uint32_t)round;
        p->key[round][1] = k1 + UINT32_C(0xBB67AE85) * (uint32_t)round;
    }
}

/** cebus_philox_block() with its keys made. */
CEBUS_DEVICE cebus_philox draw_block(const draw_job *p, uint64_t counter)
{
    uint32_t c0 = (uint32_t)counter, c1 = (uint32_t)(counter >> 32), c2 = 0, c3 = 0;
    CEBUS_UNROLL
    for (int round = 0; round < 10; round++) {
        uint64_t p0 = draw_product(UINT32_C(0xD2511F53), c0);
        uint64_t p1 = draw_product(UINT32_C(0xCD9E8D57), c2);
        c0 = (uint32_t)(p1 >> 32) ^ c1 ^ p->key[round][0];
        c2 = (uint32_t)(p0 >> 32) ^ c3 ^ p->key[round][1];
        c1 = (uint32_t)p1;
        c3 = (uint32_t)p0;
    }
    return {{c0, c1, c2, c3}};
}

/** The words of BLOCKS Philox blocks. */
template <int BLOCKS>
CEBUS_DEVICE void draw_words(const draw_job *p, uint64_t block, uint32_t *words)
{
    CEBUS_UNROLL
    for (int i = 0; i < BLOCKS; i++) {
        cebus_philox four = draw_block(p, p->first + block + (uint64_t)i);
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
        for (int i = 0; i < CEBUS_PACK; i++)
            x[i] = (T)((words[i] <= p->last) & !p->never);
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
        if (sizeof(x[0]) == 1 && left >= CEBUS_PACK && cebus_pack_fits<uint8_t>(p.out.data, 0))
            cebus_pack_write(x, p.out.data, i * CEBUS_PACK);
        else
            cebus_lane<typename D::lane>::store(x, p.out, i * CEBUS_PACK, 1,
                                                left < CEBUS_PACK ? (int)left : CEBUS_PACK);
    }
}

static draw_job job_of(const cebus_launch *launch)
{
    const cebus_random_attrs *attrs = (const cebus_random_attrs *)launch->attrs;
    draw_job p = {};
    p.out = cebus_cells_of(&launch->out[0]);
    p.n = cebus_view_numel(launch->out[0].view);
    p.seed = launch->seed;
    p.first = launch->rng_offset;
    p.a = attrs->a;
    p.b = attrs->b;
    draw_keys(&p);
    return p;
}

static cebus_status run(const cebus_launch *launch, const draw_job *p, void (*kernel)(draw_job),
                        const char *op)
{
    cebus_grid_run(launch, kernel, cebus_grid_blocks((p->n + CEBUS_PACK - 1) / CEBUS_PACK),
                   CEBUS_GRID_THREADS, *p);
    return cebus_cuda_launched(op);
}

static cebus_status run_randn(const cebus_launch *launch)
{
    draw_job p = job_of(launch);
    bool wide = p.out.dtype == CEBUS_F64;
    return run(launch, &p, wide ? draw_kernel<normal_f64> : draw_kernel<normal_f32>, "randn");
}

static cebus_status run_uniform(const cebus_launch *launch)
{
    draw_job p = job_of(launch);
    bool wide = p.out.dtype == CEBUS_F64;
    return run(launch, &p, wide ? draw_kernel<uniform_f64> : draw_kernel<uniform_f32>, "uniform");
}

static cebus_status run_bernoulli(const cebus_launch *launch)
{
    static void (*const kernels[])(draw_job) = {draw_kernel<bernoulli<float>>,
                                                draw_kernel<bernoulli<double>>,
                                                draw_kernel<bernoulli<int64_t>>};
    draw_job p = job_of(launch);
    uint32_t threshold = cebus_draw_threshold(p.a); /* of the upper 24 bits of a word */
    bool is_byte = p.out.dtype == CEBUS_U8 || p.out.dtype == CEBUS_BOOL;
    p.never = threshold == 0;
    p.last = (threshold << 8) - 1;
    return run(launch, &p,
               is_byte ? draw_kernel<bernoulli<uint8_t>> : kernels[cebus_lane_number(p.out.dtype)],
               "bernoulli");
}

const cebus_kernel cebus_cuda_random_kernels[] = {
    {"randn", run_randn, NULL, NULL},
    {"uniform", run_uniform, NULL, NULL},
    {"bernoulli", run_bernoulli, NULL, NULL},
    {},
};
