/**
 * optim_typed.h: the optimizer loops for one type, included by optim.c once for each:
 * REAL is the type, NAME(x) makes its names. What a step makes of an element is in step.h.
 *
 * Every loop is written once, for any strides, and inlined twice: with all steps 1 for the widest
 * vectors there are, and as it is.
 */

static CEBUS_ALWAYS_INLINE void NAME(sgd_loop)(const step_job *job, const int64_t *at,
                                               const int64_t *step, int64_t n)
{
    const NAME(cebus_sgd_rates) rates =
        NAME(cebus_sgd_rates_of)(job->how, job->unscale, job->first);
    REAL *param = (REAL *)job->data[0] + at[0];
    const REAL *grad = (const REAL *)job->data[1] + at[1];
    CEBUS_IVDEP
    for (int64_t i = 0; i < n; i++)
        param[i * step[0]] = NAME(cebus_sgd_step)(param[i * step[0]], grad[i * step[1]], rates);
}

static CEBUS_ALWAYS_INLINE void NAME(momentum_loop)(const step_job *job, const int64_t *at,
                                                    const int64_t *step, int64_t n)
{
    const NAME(cebus_sgd_rates) rates =
        NAME(cebus_sgd_rates_of)(job->how, job->unscale, job->first);
    REAL *param = (REAL *)job->data[0] + at[0], *buffer = (REAL *)job->data[2] + at[2];
    const REAL *grad = (const REAL *)job->data[1] + at[1];
    CEBUS_IVDEP
    for (int64_t i = 0; i < n; i++) {
        REAL p = param[i * step[0]], g = grad[i * step[1]], b = buffer[i * step[2]];
        p = NAME(cebus_momentum_step)(p, g, &b, rates);
        buffer[i * step[2]] = b;
        param[i * step[0]] = p;
    }
}

static CEBUS_ALWAYS_INLINE void NAME(adam_loop)(const step_job *job, const int64_t *at,
                                                const int64_t *step, int64_t n)
{
    const NAME(cebus_adam_rates) rates =
        NAME(cebus_adam_rates_of)(job->how, job->unscale, job->bias);
    REAL *param = (REAL *)job->data[0] + at[0];
    const REAL *grad = (const REAL *)job->data[1] + at[1];
    REAL *mean = (REAL *)job->data[2] + at[2], *square = (REAL *)job->data[3] + at[3];
    CEBUS_IVDEP
    for (int64_t i = 0; i < n; i++) {
        REAL p = param[i * step[0]], g = grad[i * step[1]];
        REAL m = mean[i * step[2]], v = square[i * step[3]];
        p = NAME(cebus_adam_step)(p, g, &m, &v, rates);
        mean[i * step[2]] = m;
        square[i * step[3]] = v;
        param[i * step[0]] = p;
    }
}

static CEBUS_ALWAYS_INLINE void NAME(scale_loop)(const step_job *job, const int64_t *at,
                                                 const int64_t *step, int64_t n)
{
    const REAL factor = (REAL)job->unscale;
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
