#include "eager/device/cpu/transpose.h"

#include <string.h>

#include "eager/device/cpu/parallel.h"
#include "eager/device/cpu/rows.h"
#include "layout/clones.h"
#include "layout/number.h"

/* Elements of a tile's side: at least a cache line of bytes, and all of a tile in half of L1. */
#define TILE 32
#define SHORTEST 8

/* Array 0 of the rows is the target, contiguous along the run; array 1 the source, contiguous
 * along the outer dimension `across`. A strip is up to TILE of the latter, along the whole run. */
typedef struct transposition {
    cebus_rows rows;
    int across;
    int64_t strips; /* along `across` */
    char *to;
    const char *from;
    int64_t size; /* of an element */
    void (*strip)(const struct transposition *t, void *to, const void *from, int64_t width);
} transposition;

#define DEFINE_STRIP(type, bits)                                                                   \
    CEBUS_CLONES static void strip_##bits(const transposition *t, void *to_, const void *from_,    \
                                          int64_t width)                                           \
    {                                                                                              \
        int64_t to_step = t->rows.strides[0][t->across], from_step = t->rows.step[1];              \
        for (int64_t at = 0; at < t->rows.run; at += TILE) {                                       \
            type tile[TILE][TILE];                                                                 \
            int64_t length = t->rows.run - at < TILE ? t->rows.run - at : TILE;                    \
            type *to = (type *)to_ + at;                                                           \
            const type *from = (const type *)from_ + at * from_step;                               \
            for (int64_t i = 0; i < length; i++)                                                   \
                for (int64_t j = 0; j < width; j++)                                                \
                    tile[j][i] = from[i * from_step + j];                                          \
            for (int64_t j = 0; j < width; j++)                                                    \
                memcpy(to + j * to_step, tile[j], (size_t)length * sizeof(type));                  \
        }                                                                                          \
    }
DEFINE_STRIP(uint8_t, 8)
DEFINE_STRIP(uint16_t, 16)
DEFINE_STRIP(uint32_t, 32)
DEFINE_STRIP(uint64_t, 64)

/* Strips are numbered with the other outer dimensions slowest. */
static void run_strips(void *context, int64_t begin, int64_t end)
{
    const transposition *t = context;
    const cebus_rows *rows = &t->rows;
    for (int64_t number = begin; number < end; number++) {
        int64_t offset[2], rest = number / t->strips, first = number % t->strips * TILE;
        for (int k = 0; k < 2; k++)
            offset[k] = first * rows->strides[k][t->across];
        for (int d = rows->ndim - 1; d >= 0; d--) {
            if (d == t->across)
                continue;
            for (int k = 0; k < 2; k++)
                offset[k] += rest % rows->shape[d] * rows->strides[k][d];
            rest /= rows->shape[d];
        }
        int64_t width = rows->shape[t->across] - first;
        t->strip(t, t->to + offset[0] * t->size, t->from + offset[1] * t->size,
                 width < TILE ? width : TILE);
    }
}

static int find_across(const cebus_rows *rows)
{
    for (int d = 0; d < rows->ndim; d++)
        if (rows->strides[1][d] == 1 && rows->shape[d] >= SHORTEST)
            return d;
    return -1;
}

bool cebus_transpose_copy(int threads, const cebus_array *to, const cebus_array *from)
{
    transposition t = {.to = to->data, .from = from->data};
    t.size = (int64_t)cebus_dtype_size(to->view->dtype);
    t.strip = t.size == 1 ? strip_8 : t.size == 2 ? strip_16 : t.size == 4 ? strip_32 : strip_64;
    cebus_rows_init(&t.rows, 2, (const cebus_view *const[]){to->view, from->view});
    t.across = find_across(&t.rows);
    if (t.across < 0 || t.rows.step[0] != 1 || t.rows.step[1] == 1 || t.rows.run < SHORTEST)
        return false;
    t.strips = cebus_ceil_div(t.rows.shape[t.across], TILE);
    int64_t all = t.rows.numel / t.rows.shape[t.across] / t.rows.run * t.strips;
    int64_t strip_elements = t.rows.run * TILE;
    cebus_parallel_for(threads, all, CEBUS_GRAIN / strip_elements + 1, run_strips, &t);
    return true;
}
