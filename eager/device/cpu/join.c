/* Kernels of the ops that only move elements (eager/device/join.h). */
#include "eager/device/join.h"

#include "eager/device/cpu/copy.h"
#include "eager/device/cpu/families.h"

static void copy(const cebus_launch *launch, const cebus_array *to, const cebus_array *from)
{
    cebus_copy_array(launch->threads, to, from);
}

/* The low bytes come first on every machine there is a build for. */
static void fill(const cebus_launch *launch, const cebus_array *to, uint64_t bits)
{
    cebus_copy_value(launch->threads, to, &bits);
}

static const cebus_mover mover = {copy, fill};

#define RUN(name)                                                                                  \
    static cebus_status run_##name(const cebus_launch *launch)                                     \
    {                                                                                              \
        cebus_join_##name(launch, &mover);                                                         \
        return CEBUS_OK;                                                                           \
    }
RUN(cat)
RUN(stack)
RUN(pad)
RUN(roll)

const cebus_kernel cebus_cpu_join[] = {
    {"cat", run_cat, NULL},   {"stack", run_stack, NULL}, {"pad", run_pad, NULL},
    {"roll", run_roll, NULL}, {NULL, NULL, NULL},
};
