/**
 * optim_typed.h: the optimizer loops for one type, included by optim.c once for each:
 * REAL is the type, NAME(x) makes its names, ROOT is its square root.
 *
 * Every loop is written once, for any strides, and inlined twice: with all steps 1 for the widest
 * vectors there are, and as it is. Scalars are rounded to the type once, as PyTorch does.
 */

static CEBUS_ALWAYS_INLINE void NAME(sgd_loop)(const step_job *job, const int64_t *at,
                                               const int64_t *step, int64_t n)
{
    const cebus_sgd_attrs *how = job->how;
    const REAL decay = (REAL)how->weight_decay, rate = (REAL)-how->lr;
    const bool decays = how->weight_decay != 0;
    REAL *param = (REAL *)job->data[0] + at[0];
    const REAL *grad = (const REAL *)job->data[1] + at[1];
    CEBUS_IVDEP
    for (int64_t i = 0; i < n; i++) {
        REAL p = param[i * step[0]], g = grad[i * step[1]];
        REAL direction = decays ? g + decay * p : g;
        param[i * step[0]] = p + rate * direction;
    }
}

static CEBUS_ALWAYS_INLINE void NAME(momentum_loop)(const step_job *job, const int64_t *at,
                                                    const int64_t *step, int64_t n)
{
    const cebus_sgd_attrs *how = job->how;
    const REAL decay = (REAL)how->weight_decay, rate = (REAL)-how->lr;
    const REAL momentum = (REAL)how->momentum, fresh = (REAL)(1 - how->dampening);
    const bool decays = how->weight_decay != 0, first = how->first, nesterov = how->nesterov;
    REAL *param = (REAL *)job->data[0] + at[0], *buffer = (REAL *)job->data[2] + at[2];
    const REAL *grad = (const REAL *)job->data[1] + at[1];
    CEBUS_IVDEP
    for (int64_t i = 0; i < n; i++) {
        REAL p = param[i * step[0]], g = grad[i * step[1]], b = buffer[i * step[2]];
        REAL direction = decays ? g + decay * p : g;
        b = first ? direction : b * momentum + fresh * direction;
        buffer[i * step[2]] = b;
        direction = nesterov ? direction + momentum * b : b;
        param[i * step[0]] = p + rate * direction;
    }
}

static CEBUS_ALWAYS_INLINE void NAME(adam_loop)(const step_job *job, const int64_t *at,
                                                const int64_t *step, int64_t n)
{
    const cebus_adam_attrs *how = job->how;
    const bool coupled = how->weight_decay != 0 && !how->decoupled;
    const REAL decay = (REAL)how->weight_decay;
    const REAL shrink = (REAL)(how->decoupled ? 1 - how->lr * how->weight_decay : 1);
    const REAL beta1 = (REAL)how->beta1, fresh1 = (REAL)(1 - how->beta1);
    const REAL beta2 = (REAL)how->beta2, fresh2 = (REAL)(1 - how->beta2);
    const REAL eps = (REAL)how->eps, correction = (REAL)job->root_correction;
    const REAL rate = (REAL)-job->rate;
    REAL *param = (REAL *)job->data[0] + at[0];
    const REAL *grad = (const REAL *)job->data[1] + at[1];
    REAL *mean = (REAL *)job->data[2] + at[2], *square = (REAL *)job->data[3] + at[3];
    CEBUS_IVDEP
    for (int64_t i = 0; i < n; i++) {
        REAL p = param[i * step[0]] * shrink, g = grad[i * step[1]];
        g = coupled ? g + decay * p : g;
        REAL m = mean[i * step[2]] * beta1 + fresh1 * g;
        REAL v = square[i * step[3]] * beta2 + fresh2 * g * g;
        mean[i * step[2]] = m;
        square[i * step[3]] = v;
        param[i * step[0]] = p + rate * m / (ROOT(v) / correction + eps);
    }
}

static CEBUS_ALWAYS_INLINE void NAME(scale_loop)(const step_job *job, const int64_t *at,
                                                 const int64_t *step, int64_t n)
{
    const cebus_scale_attrs *how = job->how;
    const REAL factor = (REAL)how->factor;
    REAL *grad = (REAL *)job->data[0] + at[0];
    for (int64_t i = 0; i < n; i++)
        grad[i * step[0]] = grad[i * step[0]] * factor;
}

#define RUN_BODY(loop)                                                                             \
    CEBUS_CLONES static void NAME(loop##_dense)(void *context, const int64_t *at, int64_t n)       \
    {                                                                                              \
        static const int64_t one[CEBUS_ROWS_ARRAYS] = {1, 1, 1, 1};                                \
        NAME(loop##_loop)(context, at, one, n);                                                    \
    }                                                                                              \
    static void NAME(loop##_strided)(void *context, const int64_t *at, int64_t n)                  \
    {                                                                                              \
        NAME(loop##_loop)(context, at, ((const step_job *)context)->rows.step, n);                 \
    }                                                                                              \
    static const step_body NAME(loop) = {NAME(loop##_dense), NAME(loop##_strided)};

RUN_BODY(sgd)
RUN_BODY(momentum)
RUN_BODY(adam)
RUN_BODY(scale)

#undef RUN_BODY
