#include "eager/device/sim/roofline.h"

#include "eager/device/sim/duration.h"

/* clang-format off */
/** flops, flops of tensor cores, bandwidth: thousandths. Sources: README.md, "Shares". */
const cebus_share cebus_roofline_shares[CEBUS_WORK_FAMILIES] = {
    [CEBUS_WORK_CONV]           = {680, 350, 800},
    [CEBUS_WORK_CONV_DATA]      = {650, 330, 800},
    [CEBUS_WORK_CONV_WEIGHTS]   = {600, 300, 800},
    [CEBUS_WORK_MATMUL]         = {800, 700, 800},
    [CEBUS_WORK_BATCHED_MATMUL] = {570, 500, 800},
    [CEBUS_WORK_ATTENTION]      = {500, 500, 800},
    [CEBUS_WORK_RECURRENT]      = {500, 500, 750},
    [CEBUS_WORK_NORM]           = {500, 500, 750},
    [CEBUS_WORK_POOL]           = {500, 500, 700},
    [CEBUS_WORK_SOFTMAX]        = {500, 500, 750},
    [CEBUS_WORK_ELEMENTWISE]    = {500, 500, 800},
    [CEBUS_WORK_REDUCTION]      = {500, 500, 800},
    [CEBUS_WORK_INDEX]          = {500, 500, 500},
    [CEBUS_WORK_COPY]           = {500, 500, 880},
    [CEBUS_WORK_OPTIMIZER]      = {500, 500, 800},
    [CEBUS_WORK_RANDOM]         = {100, 100, 800},
};
/* clang-format on */

static uint64_t share_of(uint64_t rate, uint16_t thousandths)
{
    return rate / 1000 * thousandths;
}

/** Only products run on tensor cores. */
static bool is_product(int family)
{
    return family <= CEBUS_WORK_ATTENTION;
}

void cebus_roofline_init(cebus_roofline *roofline, const cebus_machine *machine)
{
    *roofline = (cebus_roofline){.launch_ns = machine->launch_ns, .tf32 = machine->use_tf32};
    for (int i = 0; i < CEBUS_WORK_FAMILIES; i++) {
        const cebus_share *share = &cebus_roofline_shares[i];
        uint64_t *flops = roofline->flops[i];
        flops[CEBUS_UNIT_F32] = share_of(machine->f32, share->flops);
        flops[CEBUS_UNIT_F64] = share_of(machine->f64, share->flops);
        flops[CEBUS_UNIT_TF32] = share_of(machine->tf32, share->tensor_flops);
        flops[CEBUS_UNIT_HALF] =
            is_product(i) ? share_of(machine->half,
                                     machine->half_is_tensor ? share->tensor_flops : share->flops)
                          : flops[CEBUS_UNIT_F32];
        roofline->bandwidth[i] = cebus_amount_mul(machine->bandwidth, share->bandwidth) / 1000;
        if (roofline->bandwidth[i] == 0)
            roofline->bandwidth[i] = 1;
    }
}

static cebus_unit_kind unit_of(const cebus_roofline *roofline, const cebus_work *work,
                               cebus_dtype dtype)
{
    if (dtype == CEBUS_F64)
        return CEBUS_UNIT_F64;
    if (dtype == CEBUS_F16 || dtype == CEBUS_BF16)
        return CEBUS_UNIT_HALF;
    return roofline->tf32 && dtype == CEBUS_F32 && is_product((int)work->family) ? CEBUS_UNIT_TF32
                                                                                 : CEBUS_UNIT_F32;
}

uint64_t cebus_roofline_time(const cebus_roofline *roofline, const cebus_work *work,
                             cebus_dtype dtype)
{
    cebus_unit_kind unit = unit_of(roofline, work, dtype);
    uint64_t flops = work->flops;
    if (work->winograd && unit == CEBUS_UNIT_F32)
        flops = flops / 9 * 4;
    uint64_t compute = cebus_ns_of(flops, roofline->flops[work->family][unit]);
    uint64_t memory = cebus_ns_of(work->bytes, roofline->bandwidth[work->family]);
    return cebus_ns_add(roofline->launch_ns, compute > memory ? compute : memory);
}

uint64_t cebus_roofline_copy_time(const cebus_roofline *roofline, uint64_t bytes)
{
    uint64_t ns = cebus_ns_of(cebus_amount_mul(2, bytes), roofline->bandwidth[CEBUS_WORK_COPY]);
    return cebus_ns_add(roofline->launch_ns, ns);
}
