/**
 * corpus.h: text to learn from, and random pieces of it.
 */
#ifndef CORPUS_H
#define CORPUS_H

#include <stddef.h>
#include <stdint.h>

struct corpus {
    unsigned char *bytes;
    size_t length;
};

/**
 * Reads the file at `path`, or, for NULL, the licence texts that Debian keeps, one after another.
 * Returns not 0, after a message, when nothing can be read or it is shorter than `least`.
 */
int corpus_read(const char *path, size_t least, struct corpus *out);
void corpus_free(struct corpus *corpus);

/** Piece number `index` of `length` bytes, somewhere in the text; the same for the same seed. */
const unsigned char *corpus_piece(const struct corpus *corpus, uint64_t seed, uint64_t index,
                                  size_t length);

#endif
