/*
 * fold_extremum_typed.h: the fold that keeps the best element and the one that keeps its position.
 * Before it is included:
 *   VALUE(part), INDEX(part)  the names of a part of either fold
 *   T                         element
 *   WORST                     an element that none is worse than
 *   BETTER(x, than)           whether x replaces `than`; false when they are equal
 * All are undefined at the end.
 */

static void VALUE(begin)(void *block, int64_t n, const void *centers, int64_t stride)
{
    T *best = block;
    for (int64_t j = 0; j < n; j++)
        best[j] = WORST;
    (void)centers;
    (void)stride;
}

CEBUS_CLONES
static void VALUE(row)(void *block, const void *from, int64_t n, int64_t first)
{
    T *best = block;
    const T *x = from;
    T lane[LANES];
    int64_t i = 0;
    for (int j = 0; j < LANES; j++)
        lane[j] = *best;
    for (; i + LANES <= n; i += LANES) {
        for (int j = 0; j < LANES; j++)
            lane[j] = BETTER(x[i + j], lane[j]) ? x[i + j] : lane[j];
    }
    for (; i < n; i++)
        lane[0] = BETTER(x[i], lane[0]) ? x[i] : lane[0];
    for (int half = LANES / 2; half > 0; half /= 2) {
        for (int j = 0; j < half; j++)
            lane[j] = BETTER(lane[j + half], lane[j]) ? lane[j + half] : lane[j];
    }
    *best = lane[0];
    (void)first;
}

CEBUS_CLONES
static void VALUE(columns)(void *block, int64_t n, const void *from, int64_t rows, int64_t stride,
                           int64_t first)
{
    T *restrict best = block;
    for (int64_t r = 0; r < rows; r++) {
        const T *restrict x = (const T *)from + r * stride;
        for (int64_t j = 0; j < n; j++)
            best[j] = BETTER(x[j], best[j]) ? x[j] : best[j];
    }
    (void)first;
}

static void VALUE(merge)(void *block, int64_t n, const void *later)
{
    VALUE(columns)(block, n, later, 1, n, 0);
}

static void VALUE(finish)(const void *block, int64_t n, void *to, int64_t stride, double divisor)
{
    const T *best = block;
    T *out = to;
    for (int64_t j = 0; j < n; j++)
        out[j * stride] = best[j];
    (void)divisor;
}

static const cebus_fold VALUE(fold) = {
    .in_bytes = sizeof(T),
    .out_bytes = sizeof(T),
    .begin = VALUE(begin),
    .row = VALUE(row),
    .columns = VALUE(columns),
    .merge = VALUE(merge),
    .finish = VALUE(finish),
};

typedef struct INDEX(best) {
    T value;
    int64_t index;
} INDEX(best);

static void INDEX(begin)(void *block, int64_t n, const void *centers, int64_t stride)
{
    INDEX(best) *best = block;
    for (int64_t j = 0; j < n; j++)
        best[j] = (INDEX(best)){WORST, 0};
    (void)centers;
    (void)stride;
}

static void INDEX(row)(void *block, const void *from, int64_t n, int64_t first)
{
    INDEX(best) best = *(INDEX(best) *)block;
    const T *x = from;
    for (int64_t i = 0; i < n; i++) {
        if (BETTER(x[i], best.value))
            best = (INDEX(best)){x[i], first + i};
    }
    *(INDEX(best) *)block = best;
}

static void INDEX(columns)(void *block, int64_t n, const void *from, int64_t rows, int64_t stride,
                           int64_t first)
{
    INDEX(best) *restrict best = block;
    for (int64_t r = 0; r < rows; r++) {
        const T *restrict x = (const T *)from + r * stride;
        for (int64_t j = 0; j < n; j++) {
            if (BETTER(x[j], best[j].value))
                best[j] = (INDEX(best)){x[j], first + r};
        }
    }
}

static void INDEX(merge)(void *block, int64_t n, const void *later)
{
    INDEX(best) *best = block;
    const INDEX(best) *other = later;
    for (int64_t j = 0; j < n; j++) {
        if (BETTER(other[j].value, best[j].value))
            best[j] = other[j];
    }
}

static void INDEX(finish)(const void *block, int64_t n, void *to, int64_t stride, double divisor)
{
    const INDEX(best) *best = block;
    int64_t *out = to;
    for (int64_t j = 0; j < n; j++)
        out[j * stride] = best[j].index;
    (void)divisor;
}

static const cebus_fold INDEX(fold) = {
    .in_bytes = sizeof(T),
    .out_bytes = sizeof(int64_t),
    .begin = INDEX(begin),
    .row = INDEX(row),
    .columns = INDEX(columns),
    .merge = INDEX(merge),
    .finish = INDEX(finish),
};

#undef VALUE
#undef INDEX
#undef T
#undef WORST
#undef BETTER
