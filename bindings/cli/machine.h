/**
 * machine.h: the device string of a simulated machine.
 */
#ifndef MACHINE_H
#define MACHINE_H

#include <stddef.h>

/** Bytes of the longest device string. */
#define DEVICE_BYTES 256

/**
 * "titanv-12g,link=25GB" to "sim:titanv-12g,link=25GB,issue=0ns"; "sim:" may stand in front. A
 * trace's costs are what its calls took, so the host takes no time of its own to issue them, unless
 * `issue` is given.
 */
void machine_device(const char *machine, char out[DEVICE_BYTES]);

/** What is wrong with a machine's name or changes; NULL: nothing. Valid until the next call. */
const char *machine_problem(const char *machine);

#endif
