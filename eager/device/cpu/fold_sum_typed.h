/*
 * fold_sum_typed.h: one fold that sums a function of each element. Before it is included:
 *   FOLD(part)  the name of a part of this fold
 *   T           element; also of the centers
 *   PART, TOTAL types of a short run's sum and of the sum of those
 *   OUT         type of the result
 *   MAP(x, c)   what is summed, c being the center
 *   FINISH(total, c, divisor)
 * All are undefined at the end. A block is n totals, then n centers.
 */

static void FOLD(begin)(void *block, int64_t n, const void *centers, int64_t stride)
{
    TOTAL *total = block;
    T *center = (T *)(total + n);
    const T *from = centers;
    for (int64_t j = 0; j < n; j++) {
        total[j] = 0;
        center[j] = from != NULL ? from[j * stride] : (T)0;
    }
}

static inline __attribute__((always_inline)) PART FOLD(run)(const T *restrict x, int64_t n, T c)
{
    PART lane[LANES] = {0};
    int64_t i = 0;
    if (n < LANES) { /* not worth the lanes */
        for (; i < n; i++)
            lane[0] += MAP(x[i], c);
        return lane[0];
    }
    for (; i + LANES <= n; i += LANES) {
        for (int j = 0; j < LANES; j++)
            lane[j] += MAP(x[i + j], c);
    }
    for (int j = 0; i + j < n; j++)
        lane[j] += MAP(x[i + j], c);
    for (int half = LANES / 2; half > 0; half /= 2) {
        for (int j = 0; j < half; j++)
            lane[j] += lane[j + half];
    }
    (void)c;
    return lane[0];
}

CEBUS_CLONES
static void FOLD(row)(void *block, const void *from, int64_t n, int64_t first)
{
    TOTAL *total = block;
    T c = *(const T *)(total + 1);
    const T *x = from;
    for (int64_t i = 0; i < n; i += RUN * LANES)
        *total += FOLD(run)(x + i, n - i < RUN * LANES ? n - i : RUN * LANES, c);
    (void)first;
}

/** Four rows at a time: one load and store of a partial sum serves four elements. */
static inline __attribute__((always_inline)) void FOLD(add_rows)(PART *restrict part,
                                                                 const T *restrict x,
                                                                 const T *restrict c, int64_t n,
                                                                 int64_t rows, int64_t stride)
{
    int64_t r = 0;
    for (; r + 4 <= rows; r += 4) {
        const T *a = x + r * stride, *b = a + stride, *d = b + stride, *e = d + stride;
        for (int64_t j = 0; j < n; j++)
            part[j] += (MAP(a[j], c[j]) + MAP(b[j], c[j])) + (MAP(d[j], c[j]) + MAP(e[j], c[j]));
    }
    for (; r < rows; r++) {
        for (int64_t j = 0; j < n; j++)
            part[j] += MAP(x[r * stride + j], c[j]);
    }
    (void)c;
}

CEBUS_CLONES
static void FOLD(columns)(void *block, int64_t n, const void *from, int64_t rows, int64_t stride,
                          int64_t first)
{
    TOTAL *restrict total = block;
    const T *c = (const T *)(total + n);
    const T *x = from;
    PART part[CEBUS_FOLD_WIDTH];
    for (int64_t r = 0; r < rows; r += RUN) {
        for (int64_t j = 0; j < n; j++)
            part[j] = 0;
        FOLD(add_rows)(part, x + r * stride, c, n, rows - r < RUN ? rows - r : RUN, stride);
        for (int64_t j = 0; j < n; j++)
            total[j] += part[j];
    }
    (void)first;
}

static void FOLD(merge)(void *block, int64_t n, const void *later)
{
    TOTAL *total = block;
    const TOTAL *other = later;
    for (int64_t j = 0; j < n; j++)
        total[j] += other[j];
}

static void FOLD(finish)(const void *block, int64_t n, void *to, int64_t stride, double divisor)
{
    const TOTAL *total = block;
    const T *center = (const T *)(total + n);
    OUT *out = to;
    for (int64_t j = 0; j < n; j++)
        out[j * stride] = (OUT)FINISH(total[j], center[j], divisor);
    (void)center;
    (void)divisor;
}

static const cebus_fold FOLD(fold) = {
    .in_bytes = sizeof(T),
    .out_bytes = sizeof(OUT),
    .begin = FOLD(begin),
    .row = FOLD(row),
    .columns = FOLD(columns),
    .merge = FOLD(merge),
    .finish = FOLD(finish),
};

#undef FOLD
#undef T
#undef PART
#undef TOTAL
#undef OUT
#undef MAP
#undef FINISH
