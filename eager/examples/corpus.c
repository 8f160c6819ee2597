#include "corpus.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "random.h"

static const char licences[] = "/usr/share/common-licenses";

/* Appends what `file` holds. */
static int append(FILE *file, struct corpus *corpus)
{
    char part[65536];
    size_t got;
    while ((got = fread(part, 1, sizeof part, file)) > 0) {
        unsigned char *grown = realloc(corpus->bytes, corpus->length + got);
        if (grown == NULL)
            return 1;
        memcpy(grown + corpus->length, part, got);
        corpus->bytes = grown;
        corpus->length += got;
    }
    return ferror(file);
}

static int append_path(const char *path, struct corpus *corpus)
{
    FILE *file = fopen(path, "rb");
    int failed = file == NULL || append(file, corpus);
    if (failed)
        fprintf(stderr, "cannot read %s: %s\n", path, strerror(errno));
    if (file != NULL)
        fclose(file);
    return failed;
}

/* The links there are other names of the same texts. */
static int is_plain_file(const struct dirent *entry)
{
    return entry->d_type == DT_REG;
}

static int append_licences(struct corpus *corpus)
{
    struct dirent **entries;
    int n = scandir(licences, &entries, is_plain_file, alphasort);
    int failed = n <= 0;
    if (failed)
        fprintf(stderr, "no texts in %s: name one with --text\n", licences);
    for (int i = 0; i < n; i++) {
        char path[sizeof licences + sizeof entries[i]->d_name];
        snprintf(path, sizeof path, "%s/%s", licences, entries[i]->d_name);
        failed = failed || append_path(path, corpus);
        free(entries[i]);
    }
    if (n >= 0)
        free(entries);
    return failed;
}

int corpus_read(const char *path, size_t least, struct corpus *out)
{
    *out = (struct corpus){0};
    int failed = path != NULL ? append_path(path, out) : append_licences(out);
    if (!failed && out->length < least) {
        fprintf(stderr, "the text has %zu bytes, fewer than the %zu of one piece\n", out->length,
                least);
        failed = 1;
    }
    if (failed)
        corpus_free(out);
    return failed;
}

void corpus_free(struct corpus *corpus)
{
    free(corpus->bytes);
    *corpus = (struct corpus){0};
}

const unsigned char *corpus_piece(const struct corpus *corpus, uint64_t seed, uint64_t index,
                                  size_t length)
{
    struct random random = random_stream(seed, index);
    double places = (double)(corpus->length - length + 1);
    return corpus->bytes + (size_t)(places * random_next(&random));
}
