/**
 * families.h: the CPU's kernel tables, one per family file of this folder, each ended by an entry
 * whose op is NULL. device_cpu.c searches them by op name.
 */
#ifndef CEBUS_EAGER_DEVICE_CPU_FAMILIES_H
#define CEBUS_EAGER_DEVICE_CPU_FAMILIES_H

#include "eager/op.h"

extern const cebus_kernel cebus_cpu_fill[];
extern const cebus_kernel cebus_cpu_random[];
extern const cebus_kernel cebus_cpu_cast[];
extern const cebus_kernel cebus_cpu_unary[];
extern const cebus_kernel cebus_cpu_binary[];
extern const cebus_kernel cebus_cpu_inplace[];
extern const cebus_kernel cebus_cpu_reduce[];
extern const cebus_kernel cebus_cpu_softmax[];
extern const cebus_kernel cebus_cpu_loss[];
extern const cebus_kernel cebus_cpu_matmul[];
extern const cebus_kernel cebus_cpu_attention[];
extern const cebus_kernel cebus_cpu_recurrent[];
extern const cebus_kernel cebus_cpu_conv[];
extern const cebus_kernel cebus_cpu_pool[];
extern const cebus_kernel cebus_cpu_norm[];
extern const cebus_kernel cebus_cpu_batch_norm[];
extern const cebus_kernel cebus_cpu_resize[];
extern const cebus_kernel cebus_cpu_index[];
extern const cebus_kernel cebus_cpu_join[];
extern const cebus_kernel cebus_cpu_optim[];
extern const cebus_kernel cebus_cpu_amp[];

#endif
