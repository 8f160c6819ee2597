/* Softmax and its logarithm: one pass for the largest element and the sum, one to write. */
#include "eager/device/cuda/families.h"
#include "eager/device/cuda/line.h"

CEBUS_BEGIN_DECLS
#include "eager/ops/softmax.h"
CEBUS_END_DECLS

/* Arrays: out, x. */
template <class T, bool logarithm, bool shared> CEBUS_KERNEL forward_kernel(const cebus_line_job p)
{
    int64_t at[2];
    for (int64_t l = cebus_line_first<shared>(); l < p.lines.numel;
         l += cebus_line_next<shared>()) {
        cebus_walk_locate<2>(&p.lines, l, at);
        cebus_line_total<T> total = cebus_line_normalizer<T, shared>(&p, 1, at[1]);
        T last = (T)(logarithm ? log(total.sum) : 1 / total.sum);
        for (int64_t k = cebus_line_begin<shared>(); k < p.n; k += cebus_line_step<shared>()) {
            T x[CEBUS_PACK] = {};
            int n = cebus_line_pack(p.n, k);
            cebus_lane<T>::load(x, p.cells[1], at[1] + k * p.step[1], p.step[1], n);
            CEBUS_UNROLL
            for (int j = 0; j < CEBUS_PACK; j++) {
                T d = x[j] - total.largest;
                x[j] = logarithm ? d - last : cebus_line_exp(d) * last;
            }
            cebus_lane<T>::store(x, p.cells[0], at[0] + k * p.step[0], p.step[0], n);
        }
    }
}

/* Arrays: out, g, y (the forward's output). dx = y (g - sum(g y)), or g - exp(y) sum(g). */
template <class T, bool logarithm, bool shared> CEBUS_KERNEL backward_kernel(const cebus_line_job p)
{
    int64_t at[3];
    for (int64_t l = cebus_line_first<shared>(); l < p.lines.numel;
         l += cebus_line_next<shared>()) {
        double total = 0;
        cebus_walk_locate<3>(&p.lines, l, at);
        for (int64_t k = cebus_line_begin<shared>(); k < p.n; k += cebus_line_step<shared>()) {
            T g[CEBUS_PACK] = {}, y[CEBUS_PACK] = {}, sum = 0;
            int n = cebus_line_pack(p.n, k);
            cebus_lane<T>::load(g, p.cells[1], at[1] + k * p.step[1], p.step[1], n);
            if (!logarithm)
                cebus_lane<T>::load(y, p.cells[2], at[2] + k * p.step[2], p.step[2], n);
            CEBUS_UNROLL
            for (int j = 0; j < CEBUS_PACK; j++)
                sum += logarithm ? g[j] : g[j] * y[j];
            total += (double)sum;
        }
        T sum = (T)cebus_line_fold<shared, cebus_adds>(total);
        for (int64_t k = cebus_line_begin<shared>(); k < p.n; k += cebus_line_step<shared>()) {
            T g[CEBUS_PACK] = {}, y[CEBUS_PACK] = {};
            int n = cebus_line_pack(p.n, k);
            cebus_lane<T>::load(g, p.cells[1], at[1] + k * p.step[1], p.step[1], n);
            cebus_lane<T>::load(y, p.cells[2], at[2] + k * p.step[2], p.step[2], n);
            CEBUS_UNROLL
            for (int j = 0; j < CEBUS_PACK; j++)
                g[j] = logarithm ? g[j] - cebus_line_exp(y[j]) * sum : y[j] * (g[j] - sum);
            cebus_lane<T>::store(g, p.cells[0], at[0] + k * p.step[0], p.step[0], n);
        }
    }
}

typedef void (*line_kernel)(cebus_line_job);

static cebus_status run(const cebus_launch *launch, const line_kernel *kernels, const char *op)
{
    const cebus_softmax_attrs *attrs = (const cebus_softmax_attrs *)launch->attrs;
    const cebus_array *arrays[] = {&launch->out[0], &launch->in[0],
                                   &launch->in[launch->n_in > 1 ? 1 : 0]};
    int n = 1 + (int)launch->n_in;
    cebus_line_job job = cebus_line_plan(n, arrays, n, attrs->dim);
    bool wide = launch->out[0].view->dtype == CEBUS_F64;
    cebus_line_run(launch, kernels + (wide ? 2 : 0), &job, job);
    return cebus_cuda_launched(op);
}

#define KERNELS(kernel, logarithm)                                                                 \
    {                                                                                              \
        kernel<float, logarithm, false>, kernel<float, logarithm, true>,                           \
            kernel<double, logarithm, false>, kernel<double, logarithm, true>                      \
    }
static cebus_status run_softmax(const cebus_launch *launch)
{
    static const line_kernel kernels[] = KERNELS(forward_kernel, false);
    return run(launch, kernels, "softmax");
}

static cebus_status run_log_softmax(const cebus_launch *launch)
{
    static const line_kernel kernels[] = KERNELS(forward_kernel, true);
    return run(launch, kernels, "log_softmax");
}

static cebus_status run_softmax_backward(const cebus_launch *launch)
{
    static const line_kernel kernels[] = KERNELS(backward_kernel, false);
    return run(launch, kernels, "softmax_backward");
}

static cebus_status run_log_softmax_backward(const cebus_launch *launch)
{
    static const line_kernel kernels[] = KERNELS(backward_kernel, true);
    return run(launch, kernels, "log_softmax_backward");
}

const cebus_kernel cebus_cuda_softmax_kernels[] = {
    {"softmax", run_softmax, NULL, NULL},
    {"log_softmax", run_log_softmax, NULL, NULL},
    {"softmax_backward", run_softmax_backward, NULL, NULL},
    {"log_softmax_backward", run_log_softmax_backward, NULL, NULL},
    {},
};
