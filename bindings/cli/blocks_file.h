/**
 * blocks_file.h: blocks with their lifetimes, as comma-separated values:
 *
 *     id,lower,upper,size,alignment,offset
 *     conv1,0,17,65536,512,
 *
 * The first line may name the columns, in any order; alignment and offset may be left out, as a
 * column or in a line. Without names the order is as above. `upper` is exclusive.
 */
#ifndef BLOCKS_FILE_H
#define BLOCKS_FILE_H

#include <cebus/pack.h>

/** What a file holds. */
struct blocks {
    const char *path;
    cebus_pack_block *list;
    uint64_t *presets; /**< CEBUS_PACK_ANYWHERE where the file has no offset */
    char **ids;
    size_t *lines; /**< where each stands */
    size_t n, room;
    bool has_alignments; /**< a column of them */
};

/** Reads a file, "-" being standard input. What is wrong is printed with its line, and false
 * returned; free it either way. */
bool blocks_read(struct blocks *blocks, const char *path);
void blocks_free(struct blocks *blocks);

/** Prints what is wrong with one block: "cebus: FILE:LINE: block "ID": ...". */
void blocks_complain(const struct blocks *blocks, size_t i, const char *what);

/** Writes the blocks with these offsets, "-" being standard output. False when that fails
 * (printed). */
bool blocks_write(const struct blocks *blocks, const uint64_t *offsets, const char *path);

#endif
