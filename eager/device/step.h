/**
 * step.h: the optimizers' formulas, once, for every device: what a step makes of one element.
 * Scalars are rounded to the element's type once, as PyTorch does. Gradients of a loss that was
 * scaled are multiplied by `unscale` first; others by 1, which changes no bit.
 */
#ifndef CEBUS_EAGER_DEVICE_STEP_H
#define CEBUS_EAGER_DEVICE_STEP_H

#include <stdbool.h>

#include "eager/device/scalar.h"
#include "eager/ops/optim.h"

/** Adam's corrections for the step's number; to be taken once a call. */
typedef struct cebus_adam_bias {
    double rate; /**< learning rate over the mean's correction */
    double root; /**< root of the mean square's correction */
} cebus_adam_bias;

CEBUS_INLINE cebus_adam_bias cebus_adam_bias_of(const cebus_adam_attrs *how, int64_t step)
{
    cebus_adam_bias bias;
    bias.rate = how->lr / (1 - pow(how->beta1, (double)step));
    bias.root = sqrt(1 - pow(how->beta2, (double)step));
    return bias;
}

/** What a step of scaled gradients multiplies them by; rounded as PyTorch's GradScaler does. */
CEBUS_INLINE double cebus_unscale_of(float scale)
{
    return (double)(float)(1 / (double)scale);
}

/** The scale and the count of steps since it last changed, after a step: what update_scale makes of
 * them (torch.amp's _amp_update_scale_). */
CEBUS_INLINE void cebus_scale_update(float *scale, int32_t *tracker, bool found,
                                     const cebus_update_scale_attrs *how)
{
    if (found) {
        *scale = (float)((double)*scale * how->backoff);
        *tracker = 0;
    } else if (*tracker + 1 >= how->interval) {
        float grown = (float)((double)*scale * how->growth);
        *scale = grown <= 0x1.fffffep127F ? grown : *scale;
        *tracker = 0;
    } else {
        *tracker += 1;
    }
}

/* clang-format off */

/** The scalars of a step for elements of type T, and the steps: p the parameter, g its gradient. */
#define CEBUS_DEFINE_STEPS(T, S)                                                                   \
    typedef struct cebus_sgd_rates_##S {                                                           \
        T unscale, decay, rate, momentum, fresh;                                                   \
        bool decays, first, nesterov;                                                              \
    } cebus_sgd_rates_##S;                                                                         \
    CEBUS_INLINE cebus_sgd_rates_##S cebus_sgd_rates_of_##S(const cebus_sgd_attrs *how,            \
                                                            double unscale, bool first)            \
    {                                                                                              \
        cebus_sgd_rates_##S r;                                                                     \
        r.unscale = (T)unscale;                                                                    \
        r.decay = (T)how->weight_decay;                                                            \
        r.rate = (T)-how->lr;                                                                      \
        r.momentum = (T)how->momentum;                                                             \
        r.fresh = (T)(1 - how->dampening);                                                         \
        r.decays = how->weight_decay != 0;                                                         \
        r.first = first;                                                                           \
        r.nesterov = how->nesterov != 0;                                                           \
        return r;                                                                                  \
    }                                                                                              \
    CEBUS_INLINE T cebus_sgd_step_##S(T p, T g, cebus_sgd_rates_##S r)                             \
    {                                                                                              \
        g = g * r.unscale;                                                                         \
        T direction = r.decays ? g + r.decay * p : g;                                              \
        return p + r.rate * direction;                                                             \
    }                                                                                              \
    /* b: the momentum buffer */                                                                   \
    CEBUS_INLINE T cebus_momentum_step_##S(T p, T g, T *b, cebus_sgd_rates_##S r)                  \
    {                                                                                              \
        g = g * r.unscale;                                                                         \
        T direction = r.decays ? g + r.decay * p : g;                                              \
        *b = r.first ? direction : *b * r.momentum + r.fresh * direction;                          \
        direction = r.nesterov ? direction + r.momentum * *b : *b;                                 \
        return p + r.rate * direction;                                                             \
    }                                                                                              \
    typedef struct cebus_adam_rates_##S {                                                          \
        T unscale, decay, shrink, beta1, fresh1, beta2, fresh2, eps, correction, rate;             \
        bool coupled;                                                                              \
    } cebus_adam_rates_##S;                                                                        \
    CEBUS_INLINE cebus_adam_rates_##S cebus_adam_rates_of_##S(const cebus_adam_attrs *how,         \
                                                              double unscale,                      \
                                                              cebus_adam_bias bias)                \
    {                                                                                              \
        cebus_adam_rates_##S r;                                                                    \
        r.unscale = (T)unscale;                                                                    \
        r.decay = (T)how->weight_decay;                                                            \
        r.shrink = (T)(how->decoupled ? 1 - how->lr * how->weight_decay : 1);                      \
        r.beta1 = (T)how->beta1;                                                                   \
        r.fresh1 = (T)(1 - how->beta1);                                                            \
        r.beta2 = (T)how->beta2;                                                                   \
        r.fresh2 = (T)(1 - how->beta2);                                                            \
        r.eps = (T)how->eps;                                                                       \
        r.correction = (T)bias.root;                                                               \
        r.rate = (T)-bias.rate;                                                                    \
        r.coupled = how->weight_decay != 0 && !how->decoupled;                                     \
        return r;                                                                                  \
    }                                                                                              \
    /* m and v: the running mean of the gradient and of its square */                              \
    CEBUS_INLINE T cebus_adam_step_##S(T p, T g, T *m, T *v, cebus_adam_rates_##S r)               \
    {                                                                                              \
        g = g * r.unscale;                                                                         \
        p = p * r.shrink;                                                                          \
        g = r.coupled ? g + r.decay * p : g;                                                       \
        *m = *m * r.beta1 + r.fresh1 * g;                                                          \
        *v = *v * r.beta2 + r.fresh2 * g * g;                                                      \
        return p + r.rate * *m / (cebus_sqrt_##S(*v) / r.correction + r.eps);                      \
    }

/* clang-format on */

CEBUS_DEFINE_STEPS(float, f32)
CEBUS_DEFINE_STEPS(double, f64)

#endif
