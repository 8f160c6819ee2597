/**
 * gemm_kernel.h: the inner parts of the blocked product for one element type and one width of
 * vectors. gemm_kernels.c includes it once for each, with these defined: NAME(x), REAL, VECTOR,
 * TARGET (the function attribute), TILE_ROWS, BROADCAST(x) and FMA(a, b, c) = a * b + c.
 */

#define LANES ((int64_t)(sizeof(VECTOR) / sizeof(REAL)))
#define TILE_COLS (2 * LANES)

/* All loops over registers unroll fully; the sums never leave them. */
TARGET static void NAME(multiply)(int64_t depth, const cebus_gemm_strip *strip, const void *b_panel,
                                  const cebus_gemm_target *target)
{
    const REAL *a = strip->first, *b = b_panel;
    const int64_t row = strip->row, col = strip->col;
    VECTOR sum[TILE_ROWS][2] = {{{0}}};
    for (int64_t p = 0; p < depth; p++, a += col, b += TILE_COLS) {
        VECTOR left, right;
        memcpy(&left, b, sizeof left);
        memcpy(&right, b + LANES, sizeof right);
#pragma GCC unroll 16
        for (int r = 0; r < TILE_ROWS; r++) {
            VECTOR x = BROADCAST(a[r * row]);
            sum[r][0] = FMA(x, left, sum[r][0]);
            sum[r][1] = FMA(x, right, sum[r][1]);
        }
    }
    const VECTOR alpha = BROADCAST((REAL)target->alpha);
    REAL *c = target->c;
#pragma GCC unroll 16
    for (int r = 0; r < TILE_ROWS; r++, c += target->ldc) {
        VECTOR left = {0}, right = {0};
        if (target->accumulate) {
            memcpy(&left, c, sizeof left);
            memcpy(&right, c + LANES, sizeof right);
        }
        left += alpha * sum[r][0];
        right += alpha * sum[r][1];
        memcpy(c, &left, sizeof left);
        memcpy(c + LANES, &right, sizeof right);
    }
}

/* Lines that lie side by side already. The lengths are constants where they are a whole tile, so
 * that each copy is a few moves. */
TARGET static void NAME(gather)(const cebus_gemm_lines *lines, int64_t width, REAL *panel)
{
    const REAL *source = lines->first;
    for (int64_t p = 0; p < lines->depth; p++, source += lines->step, panel += width) {
        if (lines->count == TILE_COLS)
            memcpy(panel, source, TILE_COLS * sizeof *panel);
        else if (lines->count == TILE_ROWS)
            memcpy(panel, source, TILE_ROWS * sizeof *panel);
        else
            memcpy(panel, source, (size_t)lines->count * sizeof *panel);
    }
}

/* A square of four elements of four lines, so that the panel gets them line beside line. */
TARGET static inline void NAME(turn_square)(const REAL *from, int64_t stride, int64_t width,
                                            REAL *to)
{
    typedef REAL quad __attribute__((vector_size(4 * sizeof(REAL))));
    quad a, b, c, d;
    memcpy(&a, from, sizeof a);
    memcpy(&b, from + stride, sizeof b);
    memcpy(&c, from + 2 * stride, sizeof c);
    memcpy(&d, from + 3 * stride, sizeof d);
    quad ab = __builtin_shufflevector(a, b, 0, 4, 1, 5),
         cd = __builtin_shufflevector(c, d, 0, 4, 1, 5);
    quad first = __builtin_shufflevector(ab, cd, 0, 1, 4, 5);
    quad second = __builtin_shufflevector(ab, cd, 2, 3, 6, 7);
    ab = __builtin_shufflevector(a, b, 2, 6, 3, 7);
    cd = __builtin_shufflevector(c, d, 2, 6, 3, 7);
    quad third = __builtin_shufflevector(ab, cd, 0, 1, 4, 5);
    quad fourth = __builtin_shufflevector(ab, cd, 2, 3, 6, 7);
    memcpy(to, &first, sizeof first);
    memcpy(to + width, &second, sizeof second);
    memcpy(to + 2 * width, &third, sizeof third);
    memcpy(to + 3 * width, &fourth, sizeof fourth);
}

/* Lines that lie along the depth. */
TARGET static void NAME(turn)(const cebus_gemm_lines *lines, int64_t width, REAL *panel)
{
    const REAL *source = lines->first;
    const int64_t squares = lines->depth / 4 * 4;
    int64_t i = 0;
    for (; i + 4 <= lines->count; i += 4) {
        const REAL *line = source + i * lines->stride;
        for (int64_t p = 0; p < squares; p += 4)
            NAME(turn_square)(line + p, lines->stride, width, panel + p * width + i);
        for (int64_t p = squares; p < lines->depth; p++)
            for (int64_t l = 0; l < 4; l++)
                panel[p * width + i + l] = line[l * lines->stride + p];
    }
    for (; i < lines->count; i++)
        for (int64_t p = 0; p < lines->depth; p++)
            panel[p * width + i] = source[i * lines->stride + p];
}

TARGET static void NAME(pack)(const cebus_gemm_lines *lines, int64_t width, void *panel)
{
    if (lines->count < width)
        memset(panel, 0, (size_t)(width * lines->depth) * sizeof(REAL));
    if (lines->stride == 1)
        NAME(gather)(lines, width, panel);
    else
        NAME(turn)(lines, width, panel);
}

TARGET static void NAME(merge)(const cebus_gemm_target *target, const void *in_tile)
{
    const REAL *restrict tile = in_tile;
    for (int64_t r = 0; r < target->rows; r++, tile += TILE_COLS) {
        REAL *restrict c = (REAL *)target->c + r * target->ldc;
        for (int64_t s = 0; s < target->cols; s++)
            c[s] = (target->accumulate ? c[s] : 0) + tile[s];
    }
}

static const cebus_gemm_kernel NAME(kernel) = {
    .rows = TILE_ROWS,
    .cols = TILE_COLS,
    .multiply = NAME(multiply),
    .pack = NAME(pack),
    .merge = NAME(merge),
};

#undef LANES
#undef TILE_COLS
#undef NAME
#undef REAL
#undef VECTOR
#undef TARGET
#undef TILE_ROWS
#undef BROADCAST
#undef FMA
