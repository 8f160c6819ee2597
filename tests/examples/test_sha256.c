/*
 * test_sha256: the examples' SHA-256 against the vectors of FIPS 180-4 (NIST's examples), in one
 * piece and byte by byte, and against the padding's corner cases.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sha256.h"

static const struct {
    const char *text;
    size_t times; /* how often the text is repeated */
    const char *hash;
} vectors[] = {
    {"", 0, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
    {"abc", 1, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
    {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 1,
     "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
    {"a", 55, "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318"},
    {"a", 56, "b35439a4ac6f0948b6d6f9e3c6af0f5f590ce20f1bde7090ef7970686ec6738a"},
    {"a", 64, "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb"},
    {"a", 1000000, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"},
};

/* Hashes `bytes` in pieces of at most `piece`. */
static int check(const char *bytes, size_t length, size_t piece, const char *want)
{
    struct sha256 hash;
    char got[SHA256_TEXT];
    sha256_init(&hash);
    for (size_t at = 0; at < length; at += piece)
        sha256_update(&hash, bytes + at, length - at < piece ? length - at : piece);
    sha256_final(&hash, got);
    if (strcmp(got, want) == 0)
        return 0;
    printf("%zu bytes in pieces of %zu: %s, want %s\n", length, piece, got, want);
    return 1;
}

int main(void)
{
    int failures = 0;
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        size_t unit = strlen(vectors[i].text);
        size_t length = unit * vectors[i].times;
        char *bytes = malloc(length + 1);
        if (bytes == NULL)
            return EXIT_FAILURE;
        for (size_t at = 0; at < length; at += unit)
            memcpy(bytes + at, vectors[i].text, unit);
        failures += check(bytes, length, length + 1, vectors[i].hash);
        failures += check(bytes, length, 1, vectors[i].hash);
        failures += check(bytes, length, 63, vectors[i].hash);
        free(bytes);
    }
    return failures > 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
