/**
 * sha256.h: the hash of FIPS 180-4, to compare two runs by one line of text.
 */
#ifndef SHA256_H
#define SHA256_H

#include <stddef.h>
#include <stdint.h>

/** A hash under way. Filled by sha256_init(). */
struct sha256 {
    uint32_t state[8];
    uint64_t length; /**< bytes so far; those past the last multiple of 64 wait in block */
    uint8_t block[64];
};

/** 64 hexadecimal digits and a zero. */
enum {
    SHA256_TEXT = 65
};

void sha256_init(struct sha256 *hash);
void sha256_update(struct sha256 *hash, const void *data, size_t bytes);
/** Ends the hash. */
void sha256_final(struct sha256 *hash, char out_text[SHA256_TEXT]);

#endif
