/* Optimizer steps, each one pass over all its arrays (formulas: eager/device/step.h), and the two
 * halves of gradient clipping. */
#include "eager/device/cuda/copy.h"
#include "eager/device/cuda/families.h"
#include "eager/device/cuda/sweep.h"

CEBUS_BEGIN_DECLS
#include "eager/device/step.h"
CEBUS_END_DECLS

/* --- steps --------------------------------------------------------------------------------- */

/* A step over elements v: the parameter, its gradient, the states. All but v[1] may change. */
#define STEP(S, T, name, RATES, COUNT, what)                                                       \
    struct name##_##S {                                                                            \
        typedef T lane;                                                                            \
        typedef RATES##_##S rates;                                                                 \
        enum {                                                                                     \
            arrays = COUNT                                                                         \
        };                                                                                         \
        CEBUS_DEVICE void run(T *v, rates r)                                                       \
        {                                                                                          \
            v[0] = what;                                                                           \
        }                                                                                          \
    };
#define STEPS(S, T)                                                                                \
    STEP(S, T, sgd, cebus_sgd_rates, 2, cebus_sgd_step_##S(v[0], v[1], r))                         \
    STEP(S, T, momentum, cebus_sgd_rates, 3, cebus_momentum_step_##S(v[0], v[1], &v[2], r))        \
    STEP(S, T, adam, cebus_adam_rates, 4, cebus_adam_step_##S(v[0], v[1], &v[2], &v[3], r))
STEPS(f32, float)
STEPS(f64, double)

template <class F> struct step_job {
    cebus_walk walk;
    cebus_cells cells[F::arrays];
    typename F::rates rates;
    int pack;
};

template <class F> CEBUS_DEVICE void step_some(const step_job<F> *p, const int64_t *at, int n)
{
    typedef typename F::lane T;
    T x[F::arrays][CEBUS_PACK] = {};
    CEBUS_UNROLL
    for (int i = 0; i < F::arrays; i++)
        cebus_lane<T>::load(x[i], p->cells[i], at[i], p->walk.step[i], n);
    CEBUS_UNROLL
    for (int k = 0; k < CEBUS_PACK; k++) {
        T v[F::arrays];
        CEBUS_UNROLL
        for (int i = 0; i < F::arrays; i++)
            v[i] = x[i][k];
        F::run(v, p->rates);
        CEBUS_UNROLL
        for (int i = 0; i < F::arrays; i++)
            x[i][k] = v[i];
    }
    CEBUS_UNROLL
    for (int i = 0; i < F::arrays; i++)
        if (i != 1)
            cebus_lane<T>::store(x[i], p->cells[i], at[i], p->walk.step[i], n);
}

template <class F> CEBUS_KERNEL step_kernel(const step_job<F> p)
{
    int64_t at[F::arrays], end = p.walk.numel;
    for (int64_t i = cebus_grid_first() * p.pack; i < end; i += cebus_grid_step() * p.pack) {
        int left = (int)(end - i < p.pack ? end - i : p.pack);
        for (int64_t k = i; left > 0;) {
            int64_t run = cebus_walk_locate<F::arrays>(&p.walk, k, at);
            int n = run < left ? (int)run : left;
            step_some<F>(&p, at, n);
            left -= n;
            k += n;
        }
    }
}

template <class F>
static cebus_status run_step(const cebus_launch *launch, typename F::rates rates, const char *op)
{
    const cebus_view *views[F::arrays];
    step_job<F> p = {};
    for (int i = 0; i < F::arrays; i++) {
        views[i] = launch->in[i].view;
        p.cells[i] = cebus_cells_of(&launch->in[i]);
    }
    p.walk = cebus_walk_of(F::arrays, views);
    p.rates = rates;
    p.pack = cebus_walk_pack(p.walk.numel);
    cebus_grid_run(launch, step_kernel<F>, cebus_grid_blocks((p.walk.numel + p.pack - 1) / p.pack),
                   CEBUS_GRID_THREADS, p);
    return cebus_cuda_launched(op);
}

static bool is_double(const cebus_launch *launch)
{
    return launch->in[0].view->dtype == CEBUS_F64;
}

static cebus_status run_sgd(const cebus_launch *launch)
{
    const cebus_sgd_attrs *how = (const cebus_sgd_attrs *)launch->attrs;
    if (is_double(launch))
        return run_step<sgd_f64>(launch, cebus_sgd_rates_of_f64(how), "sgd_step");
    return run_step<sgd_f32>(launch, cebus_sgd_rates_of_f32(how), "sgd_step");
}

static cebus_status run_momentum(const cebus_launch *launch)
{
    const cebus_sgd_attrs *how = (const cebus_sgd_attrs *)launch->attrs;
    if (is_double(launch))
        return run_step<momentum_f64>(launch, cebus_sgd_rates_of_f64(how), "sgd_momentum_step");
    return run_step<momentum_f32>(launch, cebus_sgd_rates_of_f32(how), "sgd_momentum_step");
}

static cebus_status run_adam(const cebus_launch *launch)
{
    const cebus_adam_attrs *how = (const cebus_adam_attrs *)launch->attrs;
    cebus_adam_bias bias = cebus_adam_bias_of(how);
    if (is_double(launch))
        return run_step<adam_f64>(launch, cebus_adam_rates_of_f64(how, bias), "adam_step");
    return run_step<adam_f32>(launch, cebus_adam_rates_of_f32(how, bias), "adam_step");
}

/* --- clipping ------------------------------------------------------------------------------ */

#define SCALED(S, T)                                                                               \
    struct scaled_##S {                                                                            \
        typedef T lane;                                                                            \
        typedef T result;                                                                          \
        enum {                                                                                     \
            inputs = 1,                                                                            \
            bytes = 0                                                                              \
        };                                                                                         \
        CEBUS_DEVICE T of(const T *v, cebus_sweep_numbers numbers)                                 \
        {                                                                                          \
            return v[0] * (T)numbers.a;                                                            \
        }                                                                                          \
    };
SCALED(f32, float)
SCALED(f64, double)

static cebus_status run_scale(const cebus_launch *launch)
{
    static const cebus_sweep_kernels kernels = {
        {cebus_sweep_run<scaled_f32>, cebus_sweep_run<scaled_f64>, NULL}, 0};
    const cebus_scale_attrs *how = (const cebus_scale_attrs *)launch->attrs;
    return cebus_sweep_launch(launch, "scale_grad", &kernels, {how->factor, 0});
}

/** The squares of one tensor, summed in `slices` parts; or the sum of `slices` sums. */
typedef struct square_job {
    cebus_walk walk;
    cebus_cells x;
    double *sums, *out;
    int64_t slices;
} square_job;

#define SLICE 32768

static int64_t slices_of(const cebus_view *view)
{
    int64_t slices = (cebus_view_numel(view) + SLICE - 1) / SLICE;
    return slices < 512 ? slices : 512;
}

template <class T> CEBUS_KERNEL square_kernel(const square_job p)
{
    int64_t packs = (p.walk.numel + CEBUS_PACK - 1) / CEBUS_PACK, at[1];
    for (int64_t s = cebus_block(); s < p.slices; s += cebus_blocks()) {
        double sum = 0;
        int64_t end = packs * (s + 1) / p.slices * CEBUS_PACK;
        end = end < p.walk.numel ? end : p.walk.numel;
        for (int64_t i = (packs * s / p.slices + cebus_thread()) * CEBUS_PACK; i < end;
             i += cebus_threads() * CEBUS_PACK) {
            int left = (int)(end - i < CEBUS_PACK ? end - i : CEBUS_PACK);
            for (int64_t k = i; left > 0;) {
                T x[CEBUS_PACK] = {};
                int64_t run = cebus_walk_locate<1>(&p.walk, k, at);
                int n = run < left ? (int)run : left;
                cebus_lane<T>::load(x, p.x, at[0], p.walk.step[0], n);
                CEBUS_UNROLL
                for (int j = 0; j < CEBUS_PACK; j++)
                    sum += (double)x[j] * (double)x[j];
                left -= n;
                k += n;
            }
        }
        sum = cebus_block_fold<cebus_adds>(sum);
        if (cebus_thread() == 0)
            p.sums[s] = sum;
    }
}

CEBUS_KERNEL total_kernel(const square_job p)
{
    double sum = 0;
    for (int64_t i = cebus_thread(); i < p.slices; i += cebus_threads())
        sum += p.sums[i];
    sum = cebus_block_fold<cebus_adds>(sum);
    if (cebus_thread() == 0)
        *p.out = sum;
}

static uint64_t sum_squares_workspace(const cebus_launch *launch)
{
    int64_t slices = 0;
    for (uint32_t i = 0; i < launch->n_in; i++)
        slices += slices_of(launch->in[i].view);
    return cebus_cuda_round((uint64_t)slices * sizeof(double));
}

static cebus_status run_sum_squares(const cebus_launch *launch)
{
    square_job p = {};
    double *sums = (double *)launch->workspace;
    int64_t total = 0;
    for (uint32_t i = 0; i < launch->n_in; i++) {
        const cebus_view *view = launch->in[i].view;
        p.walk = cebus_walk_of(1, &view);
        p.x = cebus_cells_of(&launch->in[i]);
        p.slices = slices_of(view);
        p.sums = sums + total;
        cebus_grid_run(launch,
                       view->dtype == CEBUS_F64 ? square_kernel<double> : square_kernel<float>,
                       p.slices, 256, p);
        total += p.slices;
    }
    p.sums = sums;
    p.slices = total;
    p.out = (double *)launch->out[0].data;
    cebus_grid_run(launch, total_kernel, 1, 256, p);
    return cebus_cuda_launched("sum_squares");
}

const cebus_kernel cebus_cuda_optim_kernels[] = {
    {"sgd_step", run_sgd, NULL, NULL},
    {"sgd_momentum_step", run_momentum, NULL, NULL},
    {"adam_step", run_adam, NULL, NULL},
    {"scale_grad", run_scale, NULL, NULL},
    {"sum_squares", run_sum_squares, sum_squares_workspace, NULL},
    {},
};
