/* Optimizer steps, each one pass over all its arrays (formulas: eager/device/step.h), and the two
 * halves of gradient clipping. */
#include "eager/device/cuda/copy.h"
#include "eager/device/cuda/families.h"
#include "eager/device/cuda/sweep.h"

CEBUS_BEGIN_DECLS
#include "eager/device/step.h"
CEBUS_END_DECLS

/* --- steps --------------------------------------------------------------------------------- */

/** What a step knows beside its attributes, once for all elements. */
typedef struct step_terms {
    double unscale;
    cebus_adam_bias bias; /* of Adam */
    bool first;           /* of SGD */
    bool skips;
} step_terms;

/* A step over elements v: the parameter, its gradient, the states. All but v[1] may change. */
#define STEP(S, T, name, KIND, COUNT, what, term)                                                  \
    struct name##_##S {                                                                            \
        typedef T lane;                                                                            \
        typedef KIND##_rates_##S rates;                                                            \
        typedef KIND##_attrs attrs;                                                                \
        enum {                                                                                     \
            arrays = COUNT                                                                         \
        };                                                                                         \
        CEBUS_DEVICE rates rates_of(const attrs *how, const step_terms *t)                         \
        {                                                                                          \
            return KIND##_rates_of_##S(how, t->unscale, t->term);                                  \
        }                                                                                          \
        CEBUS_DEVICE void run(T *v, rates r)                                                       \
        {                                                                                          \
            v[0] = what;                                                                           \
        }                                                                                          \
    };
#define STEPS(S, T)                                                                                \
    STEP(S, T, sgd, cebus_sgd, 2, cebus_sgd_step_##S(v[0], v[1], r), first)                        \
    STEP(S, T, momentum, cebus_sgd, 3, cebus_momentum_step_##S(v[0], v[1], &v[2], r), first)       \
    STEP(S, T, adam, cebus_adam, 4, cebus_adam_step_##S(v[0], v[1], &v[2], &v[3], r), bias)
STEPS(f32, float)
STEPS(f64, double)

template <class F> struct step_job {
    cebus_walk walk;
    cebus_cells cells[F::arrays];
    typename F::attrs how;
    step_terms terms;
    const step_terms *found; /* on the device, instead of `terms`; NULL: none */
    int pack;
};

template <class F>
CEBUS_DEVICE void step_some(const step_job<F> *p, typename F::rates rates, const int64_t *at, int n)
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
        F::run(v, rates);
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
    const step_terms terms = p.found != NULL ? *p.found : p.terms;
    const typename F::rates rates = F::rates_of(&p.how, &terms);
    if (terms.skips)
        return;
    for (int64_t i = cebus_grid_first() * p.pack; i < end; i += cebus_grid_step() * p.pack) {
        int left = (int)(end - i < p.pack ? end - i : p.pack);
        for (int64_t k = i; left > 0;) {
            int64_t run = cebus_walk_locate<F::arrays>(&p.walk, k, at);
            int n = run < left ? (int)run : left;
            step_some<F>(&p, rates, at, n);
            left -= n;
            k += n;
        }
    }
}

template <class F>
static cebus_status run_step(const cebus_launch *launch, step_terms terms, const step_terms *found,
                             const char *op)
{
    const cebus_view *views[F::arrays];
    step_job<F> p = {};
    for (int i = 0; i < F::arrays; i++) {
        views[i] = launch->in[i].view;
        p.cells[i] = cebus_cells_of(&launch->in[i]);
    }
    p.walk = cebus_walk_of(F::arrays, views);
    p.how = *(const typename F::attrs *)launch->attrs;
    p.terms = terms;
    p.found = found;
    p.pack = cebus_walk_pack(p.walk.numel);
    cebus_grid_run(launch, step_kernel<F>, cebus_grid_blocks((p.walk.numel + p.pack - 1) / p.pack),
                   CEBUS_GRID_THREADS, p);
    return cebus_cuda_launched(op);
}

static bool is_double(const cebus_launch *launch)
{
    return launch->in[0].view->dtype == CEBUS_F64;
}

/* A step with double precision where the parameter has it. */
#define RUN_STEP(name, launch, terms, found, op)                                                   \
    (is_double(launch) ? run_step<name##_f64>(launch, terms, found, op)                            \
                       : run_step<name##_f32>(launch, terms, found, op))

static cebus_status run_sgd(const cebus_launch *launch)
{
    const step_terms terms = {1, {0, 1}, false, false};
    return RUN_STEP(sgd, launch, terms, NULL, "sgd_step");
}

static cebus_status run_momentum(const cebus_launch *launch)
{
    const cebus_sgd_attrs *how = (const cebus_sgd_attrs *)launch->attrs;
    const step_terms terms = {1, {0, 1}, how->first != 0, false};
    return RUN_STEP(momentum, launch, terms, NULL, "sgd_momentum_step");
}

static cebus_status run_adam(const cebus_launch *launch)
{
    const cebus_adam_attrs *how = (const cebus_adam_attrs *)launch->attrs;
    const step_terms terms = {1, cebus_adam_bias_of(how, how->step), false, false};
    return RUN_STEP(adam, launch, terms, NULL, "adam_step");
}

/* --- steps of scaled gradients ------------------------------------------------------------- */

/* Counts a step, and finds out what it goes by: one thread does. */
typedef struct count_job {
    int64_t *count;
    const float *scale, *found; /* NULL: 1, and 0 */
    cebus_adam_attrs how;       /* of Adam, else zero */
    step_terms *out;
} count_job;

CEBUS_KERNEL count_kernel(const count_job p)
{
    if (cebus_grid_first() != 0)
        return;
    step_terms terms = {1, {0, 1}, *p.count == 0, false};
    terms.skips = p.found != NULL && *p.found != 0;
    terms.unscale = p.scale != NULL ? cebus_unscale_of(*p.scale) : 1;
    terms.bias = cebus_adam_bias_of(&p.how, *p.count + 1);
    if (!terms.skips)
        *p.count += 1;
    *p.out = terms;
}

static uint64_t scaled_workspace(const cebus_launch *launch)
{
    (void)launch;
    return cebus_cuda_round(sizeof(step_terms));
}

/* The scalars follow `n` arrays. The answer is on the device. */
static const step_terms *count_step(const cebus_launch *launch, uint32_t n, bool adam)
{
    count_job p = {};
    p.count = (int64_t *)launch->in[n + CEBUS_STEP_COUNT].data;
    p.scale = (const float *)launch->in[n + CEBUS_STEP_SCALE].data;
    p.found = (const float *)launch->in[n + CEBUS_STEP_FOUND].data;
    if (adam)
        p.how = *(const cebus_adam_attrs *)launch->attrs;
    p.out = (step_terms *)launch->workspace;
    cebus_grid_run(launch, count_kernel, 1, 1, p);
    return p.out;
}

static cebus_status run_scaled_sgd(const cebus_launch *launch)
{
    const step_terms none = {};
    const step_terms *found = count_step(launch, 2, false);
    return RUN_STEP(sgd, launch, none, found, "sgd_scaled_step");
}

static cebus_status run_scaled_momentum(const cebus_launch *launch)
{
    const step_terms none = {};
    const step_terms *found = count_step(launch, 3, false);
    return RUN_STEP(momentum, launch, none, found, "sgd_momentum_scaled_step");
}

static cebus_status run_scaled_adam(const cebus_launch *launch)
{
    const step_terms none = {};
    const step_terms *found = count_step(launch, 4, true);
    return RUN_STEP(adam, launch, none, found, "adam_scaled_step");
}

/* --- clipping ------------------------------------------------------------------------------ */

CEBUS_SWEEP_FORMULA(scaled_f32, float, float, 1, 0, (void)0, v[0] * (float)numbers.a)
CEBUS_SWEEP_FORMULA(scaled_f64, double, double, 1, 0, (void)0, v[0] * numbers.a)

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
    {"sgd_scaled_step", run_scaled_sgd, scaled_workspace, NULL},
    {"sgd_momentum_scaled_step", run_scaled_momentum, scaled_workspace, NULL},
    {"adam_scaled_step", run_scaled_adam, scaled_workspace, NULL},
    {"scale_grad", run_scale, NULL, NULL},
    {"sum_squares", run_sum_squares, sum_squares_workspace, NULL},
    {},
};
