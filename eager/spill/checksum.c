#include "eager/spill/checksum.h"

#include <pthread.h>
#include <string.h>

#define POLYNOMIAL UINT32_C(0x82f63b78) /* reflected */
#define LANES 8

static uint32_t tables[LANES][256];
static pthread_once_t tables_made = PTHREAD_ONCE_INIT;

/** tables[k][b]: what byte b, with k zero bytes behind it, does to the remainder. */
static void make_tables(void)
{
    for (uint32_t b = 0; b < 256; b++) {
        uint32_t crc = b;
        for (int bit = 0; bit < 8; bit++)
            crc = (crc >> 1) ^ (crc & 1 ? POLYNOMIAL : 0);
        tables[0][b] = crc;
    }
    for (int k = 1; k < LANES; k++) {
        for (uint32_t b = 0; b < 256; b++)
            tables[k][b] = (tables[k - 1][b] >> 8) ^ tables[0][tables[k - 1][b] & 255];
    }
}

static uint32_t add_byte(uint32_t crc, unsigned char byte)
{
    return (crc >> 8) ^ tables[0][(crc ^ byte) & 255];
}

static uint32_t add_word(uint32_t crc, const unsigned char *at)
{
    uint32_t sum = 0;
    for (int k = 0; k < LANES; k++) {
        unsigned char byte = k < 4 ? (unsigned char)(at[k] ^ (crc >> (8 * k))) : at[k];
        sum ^= tables[LANES - 1 - k][byte];
    }
    return sum;
}

uint32_t cebus_checksum_portable(const void *data, uint64_t bytes)
{
    const unsigned char *at = data;
    uint32_t crc = UINT32_MAX;
    pthread_once(&tables_made, make_tables);
    for (; bytes >= LANES; bytes -= LANES, at += LANES)
        crc = add_word(crc, at);
    for (; bytes > 0; bytes--)
        crc = add_byte(crc, *at++);
    return ~crc;
}

#if defined(__x86_64__) && defined(__GNUC__)

#include <nmmintrin.h>

__attribute__((target("sse4.2"))) static uint32_t checksum_sse42(const void *data, uint64_t bytes)
{
    const unsigned char *at = data;
    uint64_t crc = UINT32_MAX, word;
    for (; bytes >= sizeof word; bytes -= sizeof word, at += sizeof word) {
        memcpy(&word, at, sizeof word);
        crc = _mm_crc32_u64(crc, word);
    }
    for (; bytes > 0; bytes--)
        crc = _mm_crc32_u8((uint32_t)crc, *at++);
    return ~(uint32_t)crc;
}

uint32_t cebus_checksum(const void *data, uint64_t bytes)
{
    return __builtin_cpu_supports("sse4.2") ? checksum_sse42(data, bytes)
                                            : cebus_checksum_portable(data, bytes);
}

#else

uint32_t cebus_checksum(const void *data, uint64_t bytes)
{
    return cebus_checksum_portable(data, bytes);
}

#endif
