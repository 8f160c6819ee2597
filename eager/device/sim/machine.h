/**
 * machine.h: the machines that can be simulated, and what-if changes to them.
 *
 * A machine is named in the device string after "sim:", changes follow after commas:
 *
 *     sim:titanv-12g
 *     sim:titanv-12g,link=25GB,memory=24GiB
 *     sim:v100-16g,link=0            no link: nothing can be swapped, uploads take no time
 *     sim:a100-80g,tf32=on,issue=0ns
 *
 * Keys: memory, host (bytes); bandwidth, link, both (bytes/s; link: of each direction, which also
 * makes `both` twice that); launch, issue, latency (ns, us, ms); queue (launches); tf32 (on, off).
 * Sizes are read by cebus_size_parse(): "150%" is of the machine's own figure.
 *
 * Every figure's source is in README.md.
 */
#ifndef CEBUS_EAGER_DEVICE_SIM_MACHINE_H
#define CEBUS_EAGER_DEVICE_SIM_MACHINE_H

#include <cebus/base.h>

/** Longest launch queue: what a clock keeps of each stream. */
#define CEBUS_MACHINE_MAX_QUEUE 4096

typedef struct cebus_machine {
    const char *name;
    uint64_t memory, host;      /**< bytes: of the device, and what a process has beside it */
    uint64_t bandwidth;         /**< bytes/s of the device's memory, as advertised */
    uint64_t f32, f64;          /**< floating-point operations a second, without tensor cores */
    uint64_t tf32, half;        /**< products in tf32 (0: none), in f16 and bf16 */
    bool half_is_tensor;        /**< `half` is the rate of tensor cores */
    bool use_tf32;              /**< products of f32 tensors run in tf32 */
    uint64_t link_out, link_in; /**< bytes/s to and from the host; 0: no link */
    uint64_t link_both;         /**< bytes/s of both directions together */
    uint64_t latency_ns;        /**< of a copy to or from the host, before its first byte */
    uint64_t launch_ns;         /**< of any kernel, beside its work */
    uint64_t issue_ns;          /**< of the host, for any launch or copy it asks for */
    uint64_t queue;             /**< launches the host may be ahead of a stream, a power of two */
} cebus_machine;

/** The machine of a device string, changes applied. CEBUS_INVALID_ARGUMENT lists what there is. */
CEBUS_MUST_CHECK cebus_status cebus_machine_parse(const char *device, cebus_machine *out);

#endif
