/**
 * replay_main.c: drives a fuzz target without libFuzzer, so that its corpus is part of every run.
 *
 * usage: <target>_replay CORPUS_DIRECTORY RANDOM_INPUTS [SEED]
 *
 * Runs every file of the directory (which may be absent), then RANDOM_INPUTS pseudo-random inputs,
 * the same ones for the same seed. A target reports a defect as libFuzzer expects it: it crashes.
 */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RANDOM_MAX_BYTES 512

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Reads a whole file; NULL when that fails. The caller frees. */
static uint8_t *read_file(const char *path, size_t *out_size)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        return NULL;
    uint8_t *data = NULL;
    size_t size = 0;
    size_t room = 0;
    size_t got;
    do {
        room = room == 0 ? 4096 : 2 * room;
        uint8_t *grown = realloc(data, room);
        if (grown == NULL) {
            free(data);
            fclose(file);
            return NULL;
        }
        data = grown;
        got = fread(data + size, 1, room - size, file);
        size += got;
    } while (size == room);
    fclose(file);
    *out_size = size;
    return data;
}

static int replay_file(const char *directory, const char *name)
{
    char path[4096];
    size_t size = 0;
    int length = snprintf(path, sizeof path, "%s/%s", directory, name);
    uint8_t *data = length < (int)sizeof path ? read_file(path, &size) : NULL;
    if (data == NULL) {
        fprintf(stderr, "cannot read %s/%s\n", directory, name);
        return 1;
    }
    printf("file %s, %zu bytes\n", name, size);
    fflush(stdout);
    LLVMFuzzerTestOneInput(data, size);
    free(data);
    return 0;
}

static int is_visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static int replay_directory(const char *directory)
{
    struct dirent **entries;
    int count = scandir(directory, &entries, is_visible, alphasort);
    if (count < 0)
        return errno == ENOENT ? 0 : 1;
    int failures = 0;
    for (int i = 0; i < count; i++) {
        failures += replay_file(directory, entries[i]->d_name);
        free(entries[i]);
    }
    free(entries);
    return failures;
}

/* splitmix64: small, seedable, good enough to spread inputs. */
static uint64_t next_random(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static void replay_random(uint64_t seed, uint64_t index)
{
    uint8_t data[RANDOM_MAX_BYTES];
    uint64_t state = seed ^ (index << 32);
    size_t size = next_random(&state) % (RANDOM_MAX_BYTES + 1);
    for (size_t i = 0; i < size; i++)
        data[i] = (uint8_t)next_random(&state);
    printf("random input %" PRIu64 " of seed %" PRIu64 ", %zu bytes\n", index, seed, size);
    fflush(stdout);
    LLVMFuzzerTestOneInput(data, size);
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        fprintf(stderr, "usage: %s CORPUS_DIRECTORY RANDOM_INPUTS [SEED]\n", argv[0]);
        return 2;
    }
    uint64_t inputs = strtoull(argv[2], NULL, 10);
    uint64_t seed = argc > 3 ? strtoull(argv[3], NULL, 10) : 1;
    int failures = replay_directory(argv[1]);
    for (uint64_t i = 0; i < inputs; i++)
        replay_random(seed, i);
    return failures == 0 ? 0 : 1;
}
