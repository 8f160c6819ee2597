#include "eager/device/join.h"

#include <string.h>

#include "eager/device/half.h"
#include "eager/ops/join.h"

/* An array with a view of its own. */
typedef struct part {
    char *data;
    cebus_view view;
} part;

static part whole(const cebus_array *array)
{
    return (part){array->data, *array->view};
}

/* `from` cut to [begin, begin + length) of dimension `dim`. */
static part narrow(part from, int dim, int64_t begin, int64_t length)
{
    from.data += begin * from.view.strides[dim] * (int64_t)cebus_dtype_size(from.view.dtype);
    from.view.shape[dim] = length;
    return from;
}

/** One call on a device. */
typedef struct job {
    const cebus_launch *launch;
    const cebus_mover *mover;
} job;

static void copy_part(const job *j, const part *to, const part *from)
{
    j->mover->copy(j->launch, &(cebus_array){to->data, &to->view},
                   &(cebus_array){from->data, &from->view});
}

void cebus_join_cat(const cebus_launch *launch, const cebus_mover *mover)
{
    const job j = {launch, mover};
    int dim = (int)((const cebus_join_attrs *)launch->attrs)->dim;
    part out = whole(&launch->out[0]);
    int64_t begin = 0;
    for (uint32_t i = 0; i < launch->n_in; i++) {
        part in = whole(&launch->in[i]);
        part to = narrow(out, dim, begin, in.view.shape[dim]);
        copy_part(&j, &to, &in);
        begin += in.view.shape[dim];
    }
}

void cebus_join_stack(const cebus_launch *launch, const cebus_mover *mover)
{
    const job j = {launch, mover};
    int dim = (int)((const cebus_join_attrs *)launch->attrs)->dim;
    part out = whole(&launch->out[0]);
    for (uint32_t i = 0; i < launch->n_in; i++) {
        part in = whole(&launch->in[i]);
        part to = narrow(out, dim, i, 1);
        for (int d = dim; d + 1 < to.view.ndim; d++) {
            to.view.shape[d] = to.view.shape[d + 1];
            to.view.strides[d] = to.view.strides[d + 1];
        }
        to.view.ndim--;
        copy_part(&j, &to, &in);
    }
}

/* `value` as one element of `dtype`, truncated towards zero for integers. */
static void encode(cebus_dtype dtype, double value, void *out)
{
    switch (dtype) {
    case CEBUS_F32:
        memcpy(out, &(float){(float)value}, sizeof(float));
        break;
    case CEBUS_F64:
        memcpy(out, &value, sizeof value);
        break;
    case CEBUS_F16:
        memcpy(out, &(uint16_t){cebus_f16_from_f32((float)value)}, sizeof(uint16_t));
        break;
    case CEBUS_BF16:
        memcpy(out, &(uint16_t){cebus_bf16_from_f32((float)value)}, sizeof(uint16_t));
        break;
    case CEBUS_I64:
        memcpy(out, &(int64_t){(int64_t)value}, sizeof(int64_t));
        break;
    case CEBUS_I32:
        memcpy(out, &(int32_t){(int32_t)value}, sizeof(int32_t));
        break;
    case CEBUS_U8:
        memcpy(out, &(uint8_t){(uint8_t)value}, sizeof(uint8_t));
        break;
    case CEBUS_BOOL:
        memcpy(out, &(uint8_t){value != 0}, sizeof(uint8_t));
        break;
    }
}

static void fill_part(const job *j, const part *to)
{
    const cebus_pad_attrs *attrs = j->launch->attrs;
    uint64_t element = 0;
    encode(to->view.dtype, attrs->value, &element);
    j->mover->fill(j->launch, &(cebus_array){to->data, &to->view}, element);
}

/* Peels the output dimension by dimension: the border before, the border after, and what lies
 * between goes on to the next dimension; what is left in the end is the input. */
void cebus_join_pad(const cebus_launch *launch, const cebus_mover *mover)
{
    const job j = {launch, mover};
    const cebus_pad_attrs *attrs = launch->attrs;
    part from = whole(&launch->in[0]), inside = whole(&launch->out[0]);
    for (int d = 0; d < inside.view.ndim; d++) {
        cebus_pad_widths widths = cebus_pad_widths_of(attrs, d);
        int64_t kept = from.view.shape[d] - widths.cut_before - widths.cut_after;
        part head = narrow(inside, d, 0, widths.before);
        part tail = narrow(inside, d, widths.before + kept, widths.after);
        fill_part(&j, &head);
        fill_part(&j, &tail);
        inside = narrow(inside, d, widths.before, kept);
        from = narrow(from, d, widths.cut_before, kept);
    }
    copy_part(&j, &inside, &from);
}

/* From dimension `d` on: what falls over the end comes first, then the rest. */
static void roll_from(const job *j, int d, const part *to, const part *from)
{
    const cebus_roll_attrs *attrs = j->launch->attrs;
    if (d == to->view.ndim) {
        copy_part(j, to, from);
        return;
    }
    int64_t shift = attrs->shift[d], rest = to->view.shape[d] - shift;
    part head = narrow(*to, d, 0, shift), over = narrow(*from, d, rest, shift);
    part tail = narrow(*to, d, shift, rest), stays = narrow(*from, d, 0, rest);
    if (shift > 0)
        roll_from(j, d + 1, &head, &over);
    roll_from(j, d + 1, &tail, &stays);
}

void cebus_join_roll(const cebus_launch *launch, const cebus_mover *mover)
{
    const job j = {launch, mover};
    part to = whole(&launch->out[0]), from = whole(&launch->in[0]);
    roll_from(&j, 0, &to, &from);
}
