/**
 * recurrent.c: the gates of recurrent steps, row by row. Rows of inputs that do not lie in one
 * piece are collected in workspace, and rows of outputs that nobody wants go there.
 */
#include <math.h>
#include <string.h>

#include "eager/device/cpu/families.h"
#include "eager/device/cpu/parallel.h"
#include "eager/device/cpu/widen.h"
#include "eager/device/scalar.h"
#include "eager/ops/recurrent.h"
#include "eager/view.h"
#include "layout/clones.h"

#define MAX_IN 5
#define MAX_OUT 3
#define ROOMS (MAX_IN + MAX_OUT)

/* One row of every array. */
typedef struct gate_row {
    const void *in[MAX_IN];
    void *out[MAX_OUT];
    int64_t n; /* H */
} gate_row;

#define T float
#define ROW(name) f32_##name
#define SIGMOID(x) cebus_sigmoid_f32(x)
#define TANH(x) cebus_tanh_f32(x)
#include "eager/device/cpu/recurrent_typed.h"

#define T double
#define ROW(name) f64_##name
#define SIGMOID(x) (1 / (1 + exp(-(x))))
#define TANH(x) tanh(x)
#include "eager/device/cpu/recurrent_typed.h"

typedef void (*row_fn)(const gate_row *row);

typedef struct gate_job {
    const cebus_launch *launch;
    row_fn run;
    int64_t size, hidden, rows, parts;
    bool absent[MAX_IN]; /* inputs that are zero */
    uint64_t row_bytes;  /* of the longest row, in workspace */
} gate_job;

/* Elements of the gates that are worth a second thread. */
#define WORTH_A_PART 4096

/* Where row `r` begins, the last dimension being the row. */
static int64_t row_offset(const cebus_view *view, int64_t r)
{
    int64_t offset = 0;
    for (int d = view->ndim - 2; d >= 0; d--) {
        offset += r % view->shape[d] * view->strides[d];
        r /= view->shape[d];
    }
    return offset;
}

static void collect(void *to, const char *from, int64_t step, int64_t n, int64_t size)
{
    for (int64_t j = 0; j < n; j++)
        memcpy((char *)to + j * size, from + j * step * size, (size_t)size);
}

static const void *input_row(const gate_job *job, uint32_t i, int64_t r, char *room)
{
    const cebus_array *in = &job->launch->in[i];
    if (job->absent[i])
        return memset(room, 0, job->row_bytes);
    const char *row = (const char *)in->data + row_offset(in->view, r) * job->size;
    const int last = in->view->ndim - 1;
    if (in->view->strides[last] == 1)
        return row;
    collect(room, row, in->view->strides[last], in->view->shape[last], job->size);
    return room;
}

static void *output_row(const gate_job *job, uint32_t i, int64_t r, char *room)
{
    const cebus_array *out = &job->launch->out[i];
    return out->data ? (char *)out->data + row_offset(out->view, r) * job->size : room;
}

static void run_parts(void *context, int64_t begin, int64_t end)
{
    const gate_job *job = context;
    const cebus_launch *launch = job->launch;
    for (int64_t part = begin; part < end; part++) {
        char *room = (char *)launch->workspace + (uint64_t)part * ROOMS * job->row_bytes;
        gate_row row = {.n = job->hidden};
        int64_t last = (part + 1) * job->rows / job->parts;
        for (int64_t r = part * job->rows / job->parts; r < last; r++) {
            for (uint32_t i = 0; i < launch->n_in; i++)
                row.in[i] = input_row(job, i, r, room + i * job->row_bytes);
            for (uint32_t i = 0; i < launch->n_out; i++)
                row.out[i] = output_row(job, i, r, room + (MAX_IN + i) * job->row_bytes);
            job->run(&row);
        }
    }
}

/* `state` is the view of a state, [.., H]. */
static gate_job plan(const cebus_launch *launch, const cebus_view *state, row_fn f32, row_fn f64)
{
    gate_job job = {.launch = launch, .run = state->dtype == CEBUS_F64 ? f64 : f32};
    job.size = (int64_t)cebus_dtype_size(state->dtype);
    job.hidden = state->shape[state->ndim - 1];
    job.rows = job.hidden > 0 ? cebus_view_numel(state) / job.hidden : 0;
    int64_t worth = 1 + job.rows * job.hidden / WORTH_A_PART;
    job.parts = worth < launch->threads ? worth : launch->threads;
    job.row_bytes = ((uint64_t)(4 * job.hidden * job.size) + 63) / 64 * 64;
    return job;
}

static uint64_t workspace_of(const gate_job *job)
{
    return (uint64_t)job->parts * ROOMS * job->row_bytes;
}

static cebus_status run(gate_job *job)
{
    cebus_parallel_for(job->launch->threads, job->parts, 1, run_parts, job);
    return CEBUS_OK;
}

static gate_job lstm_plan(const cebus_launch *launch)
{
    return plan(launch, launch->in[2].view, f32_lstm, f64_lstm);
}

static gate_job lstm_backward_plan(const cebus_launch *launch)
{
    const cebus_lstm_backward_attrs *attrs = launch->attrs;
    gate_job job = plan(launch, launch->in[1].view, f32_lstm_backward, f64_lstm_backward);
    job.absent[3] = !attrs->has_dh;
    job.absent[4] = !attrs->has_dc;
    return job;
}

static gate_job gru_plan(const cebus_launch *launch)
{
    return plan(launch, launch->in[2].view, f32_gru, f64_gru);
}

static gate_job gru_backward_plan(const cebus_launch *launch)
{
    return plan(launch, launch->in[1].view, f32_gru_backward, f64_gru_backward);
}

#define DEFINE_KERNEL(name)                                                                        \
    static uint64_t name##_workspace(const cebus_launch *launch)                                   \
    {                                                                                              \
        gate_job job = name##_plan(launch);                                                        \
        return workspace_of(&job);                                                                 \
    }                                                                                              \
    static cebus_status name##_run(const cebus_launch *launch)                                     \
    {                                                                                              \
        gate_job job = name##_plan(launch);                                                        \
        return run(&job);                                                                          \
    }

DEFINE_KERNEL(lstm)
DEFINE_KERNEL(lstm_backward)
DEFINE_KERNEL(gru)
DEFINE_KERNEL(gru_backward)

#define KERNELS(X)                                                                                 \
    X(lstm_gates, lstm_run, lstm_workspace)                                                        \
    X(lstm_gates_backward, lstm_backward_run, lstm_backward_workspace)                             \
    X(gru_gates, gru_run, gru_workspace)                                                           \
    X(gru_gates_backward, gru_backward_run, gru_backward_workspace)
KERNELS(CEBUS_WIDEN)

const cebus_kernel cebus_cpu_recurrent[] = {
    KERNELS(CEBUS_WIDENED){NULL, NULL, NULL},
};
