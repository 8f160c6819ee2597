/*
 * recurrent.cu: the gates of recurrent steps, a thread for each element of the state; formulas as
 * on the CPU (eager/device/cpu/recurrent_typed.h). The products of a step are linear's, so that one
 * step's values can be given up without another's; cuDNN's whole layers would keep them together.
 */
#include "eager/device/cuda/families.h"
#include "eager/device/cuda/lane.h"
#include "eager/device/scalar.h"

CEBUS_BEGIN_DECLS
#include "eager/ops/recurrent.h"
CEBUS_END_DECLS

#define MAX_IN 5
#define MAX_OUT 3

/* Rows of an array, the last dimension being the row. */
typedef struct gate_rows {
    cebus_cells cells;
    int64_t strides[CEBUS_MAX_DIMS], step;
    bool absent; /* an input that is zero, or an output that nobody wants */
} gate_rows;

typedef struct gate_job {
    gate_rows in[MAX_IN], out[MAX_OUT];
    int ndim; /* of the rows */
    int64_t shape[CEBUS_MAX_DIMS];
    int64_t hidden, numel; /* of the state */
} gate_job;

/* An element of the state: where its row begins in each array. */
typedef struct gate_place {
    const gate_job *job;
    int64_t in[MAX_IN], out[MAX_OUT];
    int64_t j; /* in the row */
} gate_place;

CEBUS_DEVICE gate_place place_of(const gate_job *job, int64_t i)
{
    gate_place p = {};
    int64_t row = i / job->hidden;
    p.job = job;
    p.j = i % job->hidden;
    for (int d = job->ndim - 1; d >= 0; d--) {
        const int64_t index = row % job->shape[d];
        row /= job->shape[d];
        for (int k = 0; k < MAX_IN; k++)
            p.in[k] += index * job->in[k].strides[d];
        for (int k = 0; k < MAX_OUT; k++)
            p.out[k] += index * job->out[k].strides[d];
    }
    return p;
}

/* Of input k, what belongs to the element in part `part` of its row. */
template <class T> CEBUS_DEVICE T read(const gate_place *p, int k, int part)
{
    const gate_rows *rows = &p->job->in[k];
    if (rows->absent)
        return 0;
    return cebus_lane<T>::get(rows->cells, p->in[k] + (part * p->job->hidden + p->j) * rows->step);
}

template <class T> CEBUS_DEVICE void write(const gate_place *p, int k, int part, T value)
{
    const gate_rows *rows = &p->job->out[k];
    if (!rows->absent)
        cebus_lane<T>::set(rows->cells, p->out[k] + (part * p->job->hidden + p->j) * rows->step,
                           value);
}

/* ---- formulas ---------------------------------------------------------------------------- */

CEBUS_DEVICE float sigmoid_of(float x)
{
    return cebus_sigmoid_f32(x);
}

CEBUS_DEVICE double sigmoid_of(double x)
{
    return 1 / (1 + exp(-x));
}

CEBUS_DEVICE float tanh_of(float x)
{
    return cebus_tanh_f32(x);
}

CEBUS_DEVICE double tanh_of(double x)
{
    return tanh(x);
}

struct lstm {
    template <class T> CEBUS_DEVICE void run(const gate_place *p)
    {
        const T i = sigmoid_of(read<T>(p, 0, 0) + read<T>(p, 1, 0));
        const T f = sigmoid_of(read<T>(p, 0, 1) + read<T>(p, 1, 1));
        const T g = tanh_of(read<T>(p, 0, 2) + read<T>(p, 1, 2));
        const T o = sigmoid_of(read<T>(p, 0, 3) + read<T>(p, 1, 3));
        const T next = f * read<T>(p, 2, 0) + i * g;
        write<T>(p, 0, 0, o * tanh_of(next));
        write<T>(p, 1, 0, next);
        write<T>(p, 2, 0, i);
        write<T>(p, 2, 1, f);
        write<T>(p, 2, 2, g);
        write<T>(p, 2, 3, o);
    }
};

/* in: gates, c, c', dh', dc' */
struct lstm_backward {
    template <class T> CEBUS_DEVICE void run(const gate_place *p)
    {
        const T i = read<T>(p, 0, 0), f = read<T>(p, 0, 1), g = read<T>(p, 0, 2),
                o = read<T>(p, 0, 3);
        const T t = tanh_of(read<T>(p, 2, 0)), d_h = read<T>(p, 3, 0);
        const T d_next = read<T>(p, 4, 0) + d_h * o * (1 - t * t);
        write<T>(p, 0, 0, d_next * g * i * (1 - i));
        write<T>(p, 0, 1, d_next * read<T>(p, 1, 0) * f * (1 - f));
        write<T>(p, 0, 2, d_next * i * (1 - g * g));
        write<T>(p, 0, 3, d_h * t * o * (1 - o));
        write<T>(p, 1, 0, d_next * f);
    }
};

struct gru {
    template <class T> CEBUS_DEVICE void run(const gate_place *p)
    {
        const T r = sigmoid_of(read<T>(p, 0, 0) + read<T>(p, 1, 0));
        const T z = sigmoid_of(read<T>(p, 0, 1) + read<T>(p, 1, 1));
        const T part = read<T>(p, 1, 2);
        const T candidate = tanh_of(read<T>(p, 0, 2) + r * part);
        write<T>(p, 0, 0, (1 - z) * candidate + z * read<T>(p, 2, 0));
        write<T>(p, 1, 0, r);
        write<T>(p, 1, 1, z);
        write<T>(p, 1, 2, candidate);
        write<T>(p, 1, 3, part);
    }
};

/* in: gates, h, dh' */
struct gru_backward {
    template <class T> CEBUS_DEVICE void run(const gate_place *p)
    {
        const T r = read<T>(p, 0, 0), z = read<T>(p, 0, 1), candidate = read<T>(p, 0, 2),
                part = read<T>(p, 0, 3);
        const T d = read<T>(p, 2, 0);
        const T d_candidate = d * (1 - z) * (1 - candidate * candidate);
        const T d_r = d_candidate * part * r * (1 - r);
        const T d_z = d * (read<T>(p, 1, 0) - candidate) * z * (1 - z);
        write<T>(p, 0, 0, d_r);
        write<T>(p, 0, 1, d_z);
        write<T>(p, 0, 2, d_candidate);
        write<T>(p, 1, 0, d_r);
        write<T>(p, 1, 1, d_z);
        write<T>(p, 1, 2, d_candidate * r);
        write<T>(p, 2, 0, d * z);
    }
};

template <class F, class T> CEBUS_KERNEL gate_kernel(const gate_job job)
{
    for (int64_t i = cebus_grid_first(); i < job.numel; i += cebus_grid_step()) {
        const gate_place p = place_of(&job, i);
        F::template run<T>(&p);
    }
}

/* ---- kernels ----------------------------------------------------------------------------- */

static gate_rows rows_of(const cebus_array *array, bool absent)
{
    const cebus_view *view = array->view;
    gate_rows rows = {};
    rows.absent = absent;
    if (absent)
        return rows;
    rows.cells = cebus_cells_of(array);
    rows.step = view->strides[view->ndim - 1];
    for (int d = 0; d < view->ndim - 1; d++)
        rows.strides[d] = view->strides[d];
    return rows;
}

/* Over the state, input `state`; bits of `absent` name inputs that are zero. */
template <class F>
static cebus_status run(const cebus_launch *launch, const char *op, int state, uint32_t absent)
{
    const cebus_view *view = launch->in[state].view;
    gate_job job = {};
    job.ndim = view->ndim - 1;
    for (int d = 0; d < job.ndim; d++)
        job.shape[d] = view->shape[d];
    job.hidden = view->shape[job.ndim];
    job.numel = cebus_view_numel(view);
    for (uint32_t i = 0; i < launch->n_in; i++)
        job.in[i] = rows_of(&launch->in[i], absent >> i & 1);
    for (uint32_t i = 0; i < launch->n_out; i++)
        job.out[i] = rows_of(&launch->out[i], launch->out[i].data == NULL);
    cebus_grid_run(launch,
                   view->dtype == CEBUS_F64 ? gate_kernel<F, double> : gate_kernel<F, float>,
                   cebus_grid_blocks(job.numel), CEBUS_GRID_THREADS, job);
    return cebus_cuda_launched(op);
}

static cebus_status run_lstm(const cebus_launch *launch)
{
    return run<lstm>(launch, "lstm_gates", 2, 0);
}

static cebus_status run_lstm_backward(const cebus_launch *launch)
{
    const cebus_lstm_backward_attrs *attrs = (const cebus_lstm_backward_attrs *)launch->attrs;
    const uint32_t absent = (attrs->has_dh ? 0 : 1U << 3) | (attrs->has_dc ? 0 : 1U << 4);
    return run<lstm_backward>(launch, "lstm_gates_backward", 1, absent);
}

static cebus_status run_gru(const cebus_launch *launch)
{
    return run<gru>(launch, "gru_gates", 2, 0);
}

static cebus_status run_gru_backward(const cebus_launch *launch)
{
    return run<gru_backward>(launch, "gru_gates_backward", 1, 0);
}

const cebus_kernel cebus_cuda_recurrent_kernels[] = {
    {"lstm_gates", run_lstm, NULL, NULL},
    {"lstm_gates_backward", run_lstm_backward, NULL, NULL},
    {"gru_gates", run_gru, NULL, NULL},
    {"gru_gates_backward", run_gru_backward, NULL, NULL},
    {},
};
