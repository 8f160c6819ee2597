/**
 * checksum.h: CRC-32C (Castagnoli's polynomial, as in iSCSI, RFC 3720, section 12.1): finds every
 * error burst of up to 32 bits, others with probability 1 - 2^-32. By the processor's instruction
 * where it has one, else eight bytes at a time by tables.
 *
 * Thread-safety: safe.
 */
#ifndef CEBUS_EAGER_SPILL_CHECKSUM_H
#define CEBUS_EAGER_SPILL_CHECKSUM_H

#include <cebus/base.h>

/** Of `bytes`. */
uint32_t cebus_checksum(const void *data, uint64_t bytes);

/** The same by tables alone, for machines without the instruction, and for tests. */
uint32_t cebus_checksum_portable(const void *data, uint64_t bytes);

#endif
