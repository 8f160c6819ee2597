/* Loss scaling beside the steps (optim.cu): whether gradients are finite, gradients divided by the
 * scale, the next scale. */
#include "eager/device/cuda/copy.h"
#include "eager/device/cuda/families.h"
#include "eager/device/cuda/sweep.h"

CEBUS_BEGIN_DECLS
#include "eager/device/step.h"
CEBUS_END_DECLS

/* --- gradients that are not finite --------------------------------------------------------- */

/* Threads that find something all write the same. */
typedef struct search_job {
    cebus_walk walk;
    cebus_cells x;
    const float *before; /* NULL: 0 */
    float *out;
    int pack;
} search_job;

CEBUS_KERNEL begin_kernel(const search_job p)
{
    if (cebus_grid_first() == 0)
        *p.out = p.before != NULL && *p.before != 0 ? 1.0F : 0.0F;
}

template <class T> CEBUS_KERNEL search_kernel(const search_job p)
{
    int64_t at[1], end = p.walk.numel;
    bool any = false;
    for (int64_t i = cebus_grid_first() * p.pack; i < end; i += cebus_grid_step() * p.pack) {
        int left = (int)(end - i < p.pack ? end - i : p.pack);
        for (int64_t k = i; left > 0;) {
            T x[CEBUS_PACK] = {};
            int64_t run = cebus_walk_locate<1>(&p.walk, k, at);
            int n = run < left ? (int)run : left;
            cebus_lane<T>::load(x, p.x, at[0], p.walk.step[0], n);
            CEBUS_UNROLL
            for (int j = 0; j < CEBUS_PACK; j++)
                any = any || x[j] - x[j] != 0; /* of an infinity and of a NaN it is a NaN */
            left -= n;
            k += n;
        }
    }
    if (any)
        *p.out = 1;
}

static cebus_status run_non_finite(const cebus_launch *launch)
{
    search_job p = {};
    p.before = (const float *)launch->in[0].data;
    p.out = (float *)launch->out[0].data;
    cebus_grid_run(launch, begin_kernel, 1, 1, p);
    for (uint32_t i = 1; i < launch->n_in; i++) {
        const cebus_view *view = launch->in[i].view;
        p.walk = cebus_walk_of(1, &view);
        p.x = cebus_cells_of(&launch->in[i]);
        p.pack = cebus_walk_pack(p.walk.numel);
        cebus_grid_run(
            launch, view->dtype == CEBUS_F64 ? search_kernel<double> : search_kernel<float>,
            cebus_grid_blocks((p.walk.numel + p.pack - 1) / p.pack), CEBUS_GRID_THREADS, p);
    }
    return cebus_cuda_launched("non_finite");
}

/* --- gradients divided --------------------------------------------------------------------- */

/* The factor in the type that products are computed in. */
typedef struct factor_job {
    const float *scale;
    cebus_cells out;
} factor_job;

template <class T> CEBUS_KERNEL factor_kernel(const factor_job p)
{
    if (cebus_grid_first() == 0)
        cebus_lane<T>::set(p.out, 0, (T)cebus_unscale_of(*p.scale));
}

CEBUS_SWEEP_FORMULA(product_f32, float, float, 2, 0, (void)0, v[0] * v[1])
CEBUS_SWEEP_FORMULA(product_f64, double, double, 2, 0, (void)0, v[0] * v[1])

static uint64_t unscale_workspace(const cebus_launch *launch)
{
    (void)launch;
    return cebus_cuda_round(sizeof(double));
}

static cebus_status run_unscale(const cebus_launch *launch)
{
    static const cebus_sweep_kernels kernels = {
        {cebus_sweep_run<product_f32>, cebus_sweep_run<product_f64>, NULL}, 0};
    const bool wide = launch->in[0].view->dtype == CEBUS_F64;
    cebus_view one;
    cebus_view_contiguous(&one, wide ? CEBUS_F64 : CEBUS_F32, 0, NULL);
    const cebus_array in[] = {launch->in[0], {launch->workspace, &one}};
    factor_job p = {};
    p.scale = (const float *)launch->in[1].data;
    p.out = cebus_cells_of(&in[1]);
    cebus_grid_run(launch, wide ? factor_kernel<double> : factor_kernel<float>, 1, 1, p);
    cebus_launch product = *launch;
    product.in = in;
    return cebus_sweep_launch(&product, "unscale_grad", &kernels, {0, 0});
}

/* --- the next scale ------------------------------------------------------------------------ */

typedef struct update_job {
    float *scale;
    int32_t *tracker;
    const float *found;
    cebus_update_scale_attrs how;
} update_job;

CEBUS_KERNEL update_kernel(const update_job p)
{
    if (cebus_grid_first() == 0)
        cebus_scale_update(p.scale, p.tracker, *p.found != 0, &p.how);
}

static cebus_status run_update_scale(const cebus_launch *launch)
{
    const update_job p = {(float *)launch->in[0].data, (int32_t *)launch->in[1].data,
                          (const float *)launch->in[2].data,
                          *(const cebus_update_scale_attrs *)launch->attrs};
    cebus_grid_run(launch, update_kernel, 1, 1, p);
    return cebus_cuda_launched("update_scale");
}

const cebus_kernel cebus_cuda_amp_kernels[] = {
    {"non_finite", run_non_finite, NULL, NULL},
    {"unscale_grad", run_unscale, unscale_workspace, NULL},
    {"update_scale", run_update_scale, NULL, NULL},
    {},
};
