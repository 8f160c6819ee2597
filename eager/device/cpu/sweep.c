#include "eager/device/cpu/sweep.h"

#include "eager/device/cpu/parallel.h"
#include "eager/device/cpu/rows.h"
#include "eager/view.h"

/* Elements of a block; with all operands blocks take 16 KiB, half of the smallest L1. */
#define BLOCK 512
#define OPERANDS (1 + CEBUS_SWEEP_INPUTS)

/* Operand 0 is the output. */
typedef struct operand {
    char *data;
    cebus_dtype dtype;
    cebus_lane lane;
    bool native; /* its elements are elements of the lane as they stand */
} operand;

typedef struct pass {
    cebus_sweep_fn fn;
    const void *attrs;
    int n_operands;
    operand operands[OPERANDS];
    cebus_rows rows; /* of strided passes only */
} pass;

static const int64_t lane_size[CEBUS_LANE_COUNT] = {0, 4, 8, 8, 1};

static const cebus_lane lane_of_dtype[] = {
    [CEBUS_F32] = CEBUS_LANE_F32,  [CEBUS_F64] = CEBUS_LANE_F64,  [CEBUS_F16] = CEBUS_LANE_F32,
    [CEBUS_BF16] = CEBUS_LANE_F32, [CEBUS_I64] = CEBUS_LANE_I64,  [CEBUS_I32] = CEBUS_LANE_I64,
    [CEBUS_U8] = CEBUS_LANE_I64,   [CEBUS_BOOL] = CEBUS_LANE_I64,
};

cebus_lane cebus_lane_of(cebus_dtype dtype)
{
    return lane_of_dtype[dtype];
}

static bool is_native(cebus_dtype dtype, cebus_lane lane)
{
    switch (dtype) {
    case CEBUS_F32:
    case CEBUS_F64:
    case CEBUS_I64:
        return lane == lane_of_dtype[dtype];
    case CEBUS_U8:
    case CEBUS_BOOL:
        return lane == CEBUS_LANE_U8;
    default:
        return false;
    }
}

/* The lane of the first input that is not a mask. */
static cebus_lane input_lane(const cebus_launch *launch, const cebus_sweep *sweep)
{
    uint32_t i = 0;
    while (i + 1 < launch->n_in && sweep->byte_inputs >> i & 1)
        i++;
    return lane_of_dtype[launch->in[i].view->dtype];
}

static void set_operand(operand *o, const cebus_array *array, cebus_lane lane)
{
    *o = (operand){array->data, array->view->dtype, lane, is_native(array->view->dtype, lane)};
}

/* --- one index walks all arrays ------------------------------------------------------------ */

static bool is_flat(const cebus_launch *launch, const pass *p, int64_t n)
{
    for (int i = 0; i < p->n_operands; i++)
        if (!p->operands[i].native)
            return false;
    if (n == 1)
        return true;
    const cebus_view *out = launch->out[0].view;
    for (uint32_t i = 0; i < launch->n_in; i++)
        if (!cebus_view_same_layout(out, launch->in[i].view))
            return false;
    return cebus_view_is_contiguous(out) || cebus_view_is_dense(out);
}

static void run_flat(void *context, int64_t begin, int64_t end)
{
    const pass *p = context;
    const void *in[CEBUS_SWEEP_INPUTS];
    const operand *out = &p->operands[0];
    for (int i = 1; i < p->n_operands; i++)
        in[i - 1] = p->operands[i].data + begin * lane_size[p->operands[i].lane];
    p->fn(end - begin, out->data + begin * lane_size[out->lane], in, p->attrs);
}

/* --- any strides, any types ---------------------------------------------------------------- */

/* Where the n elements of operand `i` from element `at` on lie side by side: in place, or in
 * `block`, gathered and converted. */
static void *gather(const pass *p, int i, int64_t at, int64_t n, char *block)
{
    const operand *o = &p->operands[i];
    int64_t step = p->rows.step[i];
    char *from = o->data + at * (int64_t)cebus_dtype_size(o->dtype);
    if (o->native && (step == 1 || n == 1))
        return from;
    if (i > 0)
        cebus_lane_load(o->lane, block, o->dtype, from, step, n);
    return block;
}

static void run_block(const pass *p, const int64_t *starts, int64_t n)
{
    _Alignas(64) char blocks[OPERANDS][BLOCK * 8];
    const void *in[CEBUS_SWEEP_INPUTS];
    for (int i = 1; i < p->n_operands; i++)
        in[i - 1] = gather(p, i, starts[i], n, blocks[i]);
    void *out = gather(p, 0, starts[0], n, blocks[0]);
    p->fn(n, out, in, p->attrs);
    const operand *o = &p->operands[0];
    if (out == blocks[0])
        cebus_lane_store(o->lane, out, o->dtype,
                         o->data + starts[0] * (int64_t)cebus_dtype_size(o->dtype), p->rows.step[0],
                         n);
}

static void run_row(void *context, const int64_t *offsets, int64_t n)
{
    const pass *p = context;
    int64_t starts[OPERANDS];
    for (int i = 0; i < p->n_operands; i++)
        starts[i] = offsets[i];
    for (; n > 0; n -= BLOCK) {
        run_block(p, starts, n < BLOCK ? n : BLOCK);
        for (int i = 0; i < p->n_operands; i++)
            starts[i] += BLOCK * p->rows.step[i];
    }
}

static void run_strided(void *context, int64_t begin, int64_t end)
{
    const pass *p = context;
    cebus_rows_walk(&p->rows, begin, end, run_row, context);
}

static void init_rows(pass *p, const cebus_launch *launch)
{
    const cebus_view *out = launch->out[0].view;
    cebus_view expanded[CEBUS_SWEEP_INPUTS];
    const cebus_view *views[OPERANDS] = {out};
    for (uint32_t i = 0; i < launch->n_in; i++) {
        cebus_view_expand(launch->in[i].view, out->ndim, out->shape, &expanded[i]);
        views[1 + i] = &expanded[i];
    }
    cebus_rows_init(&p->rows, p->n_operands, views);
}

/* --- entry --------------------------------------------------------------------------------- */

cebus_status cebus_sweep_run(const cebus_launch *launch, const cebus_sweep *sweep)
{
    cebus_lane lane = input_lane(launch, sweep);
    int64_t n = cebus_view_numel(launch->out[0].view);
    pass p;
    p.fn = sweep->fn[lane];
    p.attrs = launch->attrs;
    p.n_operands = 1 + (int)launch->n_in;
    if (!p.fn)
        return CEBUS_DEVICE_ERROR;
    if (n == 0)
        return CEBUS_OK;
    set_operand(&p.operands[0], &launch->out[0], sweep->out_lane ? sweep->out_lane : lane);
    for (uint32_t i = 0; i < launch->n_in; i++) {
        bool is_mask = sweep->byte_inputs >> i & 1;
        set_operand(&p.operands[1 + i], &launch->in[i], is_mask ? CEBUS_LANE_U8 : lane);
    }
    if (is_flat(launch, &p, n)) {
        cebus_parallel_for(launch->threads, n, CEBUS_GRAIN, run_flat, &p);
        return CEBUS_OK;
    }
    init_rows(&p, launch);
    cebus_parallel_for(launch->threads, n, CEBUS_GRAIN, run_strided, &p);
    return CEBUS_OK;
}
