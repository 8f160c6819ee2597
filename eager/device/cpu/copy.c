#include "eager/device/cpu/copy.h"

#include <string.h>

#include "eager/device/cpu/parallel.h"
#include "eager/device/cpu/rows.h"

/* One copy. Array 0 of the rows is the target, array 1 the source. */
typedef struct copy_job {
    cebus_rows rows;
    char *to;
    const char *from; /* of a fill: its one element */
    size_t size;
    cebus_run_fn body;
} copy_job;

/* Bytes are moved as integers of the element's size: every bit pattern survives. */
#define DEFINE_RUNS(type, bits)                                                                    \
    static void copy_run_##bits(void *context, const int64_t *offsets, int64_t n)                  \
    {                                                                                              \
        const copy_job *job = context;                                                             \
        int64_t to_step = job->rows.step[0], from_step = job->rows.step[1];                        \
        type *restrict to = (type *)job->to + offsets[0];                                          \
        const type *restrict from = (const type *)job->from + offsets[1];                          \
        for (int64_t i = 0; i < n; i++)                                                            \
            to[i * to_step] = from[i * from_step];                                                 \
    }                                                                                              \
    static void fill_run_##bits(void *context, const int64_t *offsets, int64_t n)                  \
    {                                                                                              \
        const copy_job *job = context;                                                             \
        int64_t step = job->rows.step[0];                                                          \
        type value = *(const type *)job->from;                                                     \
        type *to = (type *)job->to + offsets[0];                                                   \
        for (int64_t i = 0; i < n; i++)                                                            \
            to[i * step] = value;                                                                  \
    }

DEFINE_RUNS(uint8_t, 8)
DEFINE_RUNS(uint16_t, 16)
DEFINE_RUNS(uint32_t, 32)
DEFINE_RUNS(uint64_t, 64)

static void copy_run_bytes(void *context, const int64_t *offsets, int64_t n)
{
    const copy_job *job = context;
    int64_t size = (int64_t)job->size;
    memcpy(job->to + offsets[0] * size, job->from + offsets[1] * size, (size_t)(n * size));
}

static cebus_run_fn copy_body(const copy_job *job)
{
    if (job->rows.step[0] == 1 && job->rows.step[1] == 1)
        return copy_run_bytes;
    switch (job->size) {
    case 1:
        return copy_run_8;
    case 2:
        return copy_run_16;
    case 4:
        return copy_run_32;
    default:
        return copy_run_64;
    }
}

static cebus_run_fn fill_body(size_t size)
{
    switch (size) {
    case 1:
        return fill_run_8;
    case 2:
        return fill_run_16;
    case 4:
        return fill_run_32;
    default:
        return fill_run_64;
    }
}

static void walk_part(void *context, int64_t begin, int64_t end)
{
    const copy_job *job = context;
    cebus_rows_walk(&job->rows, begin, end, job->body, context);
}

void cebus_copy_array(int threads, const cebus_array *to, const cebus_array *from)
{
    copy_job job = {.to = to->data, .from = from->data, .size = cebus_dtype_size(to->view->dtype)};
    cebus_rows_init(&job.rows, 2, (const cebus_view *const[]){to->view, from->view});
    job.body = copy_body(&job);
    cebus_parallel_for(threads, job.rows.numel, CEBUS_GRAIN, walk_part, &job);
}

void cebus_copy_value(int threads, const cebus_array *to, const void *value)
{
    copy_job job = {.to = to->data, .from = value, .size = cebus_dtype_size(to->view->dtype)};
    cebus_rows_init(&job.rows, 1, &to->view);
    job.body = fill_body(job.size);
    cebus_parallel_for(threads, job.rows.numel, CEBUS_GRAIN, walk_part, &job);
}
