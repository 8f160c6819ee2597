/**
 * fuzz_pack.c: any bytes as a file of blocks for `cebus pack`. Reading them ends, with blocks or
 * with a message; packing those ends too, and offsets that are called a solution are one.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bindings/cli/blocks_file.h"
#include "tests/unit/layout/pack_model.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void stop_at(const char *fault)
{
    if (fault == NULL)
        return;
    fprintf(stderr, "%s\n", fault);
    abort();
}

static void pack_as(struct blocks *blocks, uint64_t capacity)
{
    cebus_pack_options options = CEBUS_PACK_OPTIONS_INIT;
    cebus_pack_result result = CEBUS_PACK_RESULT_INIT;
    uint64_t height, *offsets = calloc(blocks->n + 1, sizeof *offsets);
    pack_model model = {
        .blocks = blocks->list, .presets = blocks->presets, .n = blocks->n, .has_presets = true};
    if (offsets == NULL)
        abort();
    options.capacity = capacity;
    options.max_steps = 500;
    options.presets = blocks->presets;
    cebus_status status = cebus_pack(blocks->list, blocks->n, &options, offsets, &result);
    if (status == CEBUS_OK && result.verdict == CEBUS_PACK_SOLVED) {
        stop_at(pack_model_check(&model, offsets, &height));
        if (height != result.height || height < result.bound || (capacity && height > capacity))
            stop_at("the height is wrong");
    } else if (status == CEBUS_INVALID_ARGUMENT && result.reason == CEBUS_PACK_NO_REASON) {
        stop_at("a refusal without a reason");
    } else if (status != CEBUS_OK && status != CEBUS_INVALID_ARGUMENT) {
        stop_at(cebus_status_name(status));
    }
    free(offsets);
}

/** Every four bytes: start, lifetime, size, and alignment or a preset. */
static void spell(int fd, const uint8_t *data, size_t size)
{
    for (size_t at = 0; at + 4 <= size && at < 4 * 64; at += 4) {
        unsigned lower = data[at] % 32, bytes = data[at + 2] % 32, how = data[at + 3];
        dprintf(fd, "%zu,%u,%u,%u,", at, lower, lower + 1 + data[at + 1] % 16, bytes);
        if (how >= 240)
            dprintf(fd, ",%u\n", (how - 240) * 6);
        else
            dprintf(fd, "%u\n", 1U << how % 3);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct blocks blocks;
    char path[64];
    int fd = memfd_create("blocks", MFD_CLOEXEC);
    if (fd < 0)
        abort();
    if (size > 0 && data[0] >= 128)
        spell(fd, data + 1, size - 1);
    else if (write(fd, data, size) != (ssize_t)size)
        abort();
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (blocks_read(&blocks, path)) {
        pack_as(&blocks, 0);
        pack_as(&blocks, 100);
        if (!blocks_write(&blocks, blocks.presets, "/dev/null"))
            stop_at("cannot write");
    }
    blocks_free(&blocks);
    close(fd);
    return 0;
}
