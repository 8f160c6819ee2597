/**
 * text.h: numbers for people.
 */
#ifndef TEXT_H
#define TEXT_H

#include <stdint.h>

/** Bytes any of these texts fits in. */
#define TEXT_BYTES 32

/** "1.50 GiB", "512 B". */
const char *text_bytes(uint64_t bytes, char out[TEXT_BYTES]);
/** "1.50 ms", "12 ns". */
const char *text_ns(uint64_t ns, char out[TEXT_BYTES]);

#endif
