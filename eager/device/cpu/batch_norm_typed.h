/**
 * batch_norm_typed.h: the loops of batch normalization for one element type. batch_norm.c includes
 * it with REAL, LANES (64 bytes of them) and NAME(x) defined.
 *
 * Two layouts: rows of channels (channels-last), where a vector holds neighbouring channels, and
 * planes of one channel (row-major), where it holds neighbouring pixels. A block's sums are kept in
 * the element type while the block is in the nearest cache; blocks are joined in double.
 */

typedef REAL NAME(vector) __attribute__((vector_size(64), aligned(sizeof(REAL)), may_alias));

#define LOAD(p) (*(const NAME(vector) *)(p))
#define STORE(p, v) (*(NAME(vector) *)(p) = (v))

static inline __attribute__((always_inline)) void NAME(splat)(REAL x, REAL *restrict out)
{
    for (int i = 0; i < LANES; i++)
        out[i] = x;
}

/** The sum of a vector, always by halves. */
static inline __attribute__((always_inline)) REAL NAME(fold)(REAL *lane)
{
    for (int half = LANES / 2; half > 0; half /= 2)
        for (int i = 0; i < half; i++)
            lane[i] += lane[i + half];
    return lane[0];
}

/* Mean and sum of squared distances of `width` vectors of channels. */
static inline __attribute__((always_inline)) void
NAME(moments_of)(const bn_block *b, int64_t channel, int width, REAL *mean, REAL *square)
{
    const REAL *x = (const REAL *)b->x + channel;
    NAME(vector) sum[4] = {{0}}, squares[4] = {{0}}, count;
    NAME(splat)((REAL)b->rows, (REAL *)&count);
    for (int64_t r = 0; r < b->rows; r++)
        for (int k = 0; k < width; k++)
            sum[k] += LOAD(x + r * b->channels + k * LANES);
    for (int k = 0; k < width; k++)
        sum[k] /= count;
    for (int64_t r = 0; r < b->rows; r++)
        for (int k = 0; k < width; k++) {
            NAME(vector) d = LOAD(x + r * b->channels + k * LANES) - sum[k];
            squares[k] += d * d;
        }
    for (int k = 0; k < width; k++) {
        STORE(mean + channel + k * LANES, sum[k]);
        STORE(square + channel + k * LANES, squares[k]);
    }
}

/** Mean and sum of squared distances of each channel over a block of rows. */
CEBUS_CLONES static void NAME(rows_moments)(const bn_block *b, void *first, void *second)
{
    REAL *mean = first, *square = second;
    int64_t c = 0;
    for (; c + 4 * LANES <= b->channels; c += 4 * LANES)
        NAME(moments_of)(b, c, 4, mean, square);
    for (; c + LANES <= b->channels; c += LANES)
        NAME(moments_of)(b, c, 1, mean, square);
    const REAL *x = b->x;
    for (; c < b->channels; c++) {
        REAL sum = 0, squares = 0;
        for (int64_t r = 0; r < b->rows; r++)
            sum += x[r * b->channels + c];
        mean[c] = sum / (REAL)b->rows;
        for (int64_t r = 0; r < b->rows; r++) {
            REAL d = x[r * b->channels + c] - mean[c];
            squares += d * d;
        }
        square[c] = squares;
    }
}

/* Sums of the gradient and of gradient x distance for `width` vectors of channels. */
static inline __attribute__((always_inline)) void
NAME(products_of)(const bn_block *b, int64_t channel, int width, REAL *sum, REAL *product)
{
    const REAL *x = (const REAL *)b->x + channel, *grad = (const REAL *)b->grad + channel;
    const REAL *mean = (const REAL *)b->mean + channel;
    NAME(vector) sums[4] = {{0}}, products[4] = {{0}};
    for (int64_t r = 0; r < b->rows; r++)
        for (int k = 0; k < width; k++) {
            NAME(vector) g = LOAD(grad + r * b->channels + k * LANES);
            sums[k] += g;
            products[k] += g * (LOAD(x + r * b->channels + k * LANES) - LOAD(mean + k * LANES));
        }
    for (int k = 0; k < width; k++) {
        STORE(sum + channel + k * LANES, sums[k]);
        STORE(product + channel + k * LANES, products[k]);
    }
}

/** Sums of the gradient and of gradient x distance of each channel over a block of rows. */
CEBUS_CLONES static void NAME(rows_products)(const bn_block *b, void *first, void *second)
{
    REAL *sum = first, *product = second;
    int64_t c = 0;
    for (; c + 4 * LANES <= b->channels; c += 4 * LANES)
        NAME(products_of)(b, c, 4, sum, product);
    for (; c + LANES <= b->channels; c += LANES)
        NAME(products_of)(b, c, 1, sum, product);
    const REAL *x = b->x, *grad = b->grad, *mean = b->mean;
    for (; c < b->channels; c++) {
        sum[c] = product[c] = 0;
        for (int64_t r = 0; r < b->rows; r++) {
            REAL g = grad[r * b->channels + c];
            sum[c] += g;
            product[c] += g * (x[r * b->channels + c] - mean[c]);
        }
    }
}

/** The same of one channel over a run of its pixels. */
CEBUS_CLONES static void NAME(plane_moments)(const bn_block *b, void *first, void *second)
{
    REAL *mean = first, *square = second;
    const REAL *x = b->x;
    int64_t n = b->rows, whole = n / LANES * LANES;
    NAME(vector) sums = {0}, squares = {0}, center;
    for (int64_t i = 0; i < whole; i += LANES)
        sums += LOAD(x + i);
    REAL sum = NAME(fold)((REAL *)&sums);
    for (int64_t i = whole; i < n; i++)
        sum += x[i];
    *mean = sum / (REAL)n;
    NAME(splat)(*mean, (REAL *)&center);
    for (int64_t i = 0; i < whole; i += LANES) {
        NAME(vector) d = LOAD(x + i) - center;
        squares += d * d;
    }
    *square = NAME(fold)((REAL *)&squares);
    for (int64_t i = whole; i < n; i++)
        *square += (x[i] - *mean) * (x[i] - *mean);
}

CEBUS_CLONES static void NAME(plane_products)(const bn_block *b, void *first, void *second)
{
    REAL *sum = first, *product = second;
    const REAL *x = b->x, *grad = b->grad;
    REAL mean = *(const REAL *)b->mean;
    int64_t n = b->rows, whole = n / LANES * LANES;
    NAME(vector) sums = {0}, products = {0}, center;
    NAME(splat)(mean, (REAL *)&center);
    for (int64_t i = 0; i < whole; i += LANES) {
        sums += LOAD(grad + i);
        products += LOAD(grad + i) * (LOAD(x + i) - center);
    }
    *sum = NAME(fold)((REAL *)&sums);
    *product = NAME(fold)((REAL *)&products);
    for (int64_t i = whole; i < n; i++) {
        *sum += grad[i];
        *product += grad[i] * (x[i] - mean);
    }
}

/** y = (x - mean) * scale + shift, over rows. */
CEBUS_CLONES static void NAME(rows_apply)(const bn_block *b, void *out)
{
    REAL *restrict y = out;
    const REAL *restrict mean = b->mean, *restrict scale = b->scale, *restrict shift = b->shift;
    for (int64_t r = 0; r < b->rows; r++) {
        const REAL *restrict x = (const REAL *)b->x + r * b->channels;
        for (int64_t c = 0; c < b->channels; c++)
            y[r * b->channels + c] = (x[c] - mean[c]) * scale[c] + shift[c];
    }
}

CEBUS_CLONES static void NAME(plane_apply)(const bn_block *b, void *out)
{
    REAL *restrict y = out;
    const REAL *restrict x = b->x;
    REAL mean = *(const REAL *)b->mean, scale = *(const REAL *)b->scale;
    REAL shift = *(const REAL *)b->shift;
    for (int64_t i = 0; i < b->rows; i++)
        y[i] = (x[i] - mean) * scale + shift;
}

/** dx = (grad - shift - (x - mean) * slope) * scale, over rows. */
CEBUS_CLONES static void NAME(rows_grad)(const bn_block *b, void *out)
{
    REAL *restrict dx = out;
    const REAL *restrict mean = b->mean, *restrict scale = b->scale, *restrict shift = b->shift;
    const REAL *restrict slope = b->slope;
    for (int64_t r = 0; r < b->rows; r++) {
        const REAL *restrict x = (const REAL *)b->x + r * b->channels;
        const REAL *restrict grad = (const REAL *)b->grad + r * b->channels;
        for (int64_t c = 0; c < b->channels; c++)
            dx[r * b->channels + c] = (grad[c] - shift[c] - (x[c] - mean[c]) * slope[c]) * scale[c];
    }
}

CEBUS_CLONES static void NAME(plane_grad)(const bn_block *b, void *out)
{
    REAL *restrict dx = out;
    const REAL *restrict x = b->x, *restrict grad = b->grad;
    REAL mean = *(const REAL *)b->mean, scale = *(const REAL *)b->scale;
    REAL shift = *(const REAL *)b->shift, slope = *(const REAL *)b->slope;
    for (int64_t i = 0; i < b->rows; i++)
        dx[i] = (grad[i] - shift - (x[i] - mean) * slope) * scale;
}

/**
 * Joins a block's mean and squared distances (of `n` values each) to the total's: T. F. Chan,
 * G. H. Golub, R. J. LeVeque, Updating Formulae and a Pairwise Algorithm for Computing Sample
 * Variances, 1979.
 */
CEBUS_CLONES static void NAME(join_moments)(bn_total *total, const void *first, const void *second,
                                            double n)
{
    const REAL *restrict mean = first, *restrict square = second;
    double *restrict all_mean = total->first, *restrict all_square = total->second;
    double count = total->count + n, share = n / count, cross = total->count * share;
    for (int64_t c = 0; c < total->channels; c++) {
        double d = (double)mean[c] - all_mean[c];
        all_mean[c] += d * share;
        all_square[c] += (double)square[c] + d * d * cross;
    }
    total->count = count;
}

CEBUS_CLONES static void NAME(join_products)(bn_total *total, const void *first, const void *second,
                                             double n)
{
    const REAL *restrict sum = first, *restrict product = second;
    double *restrict all_sum = total->first, *restrict all_product = total->second;
    for (int64_t c = 0; c < total->channels; c++) {
        all_sum[c] += (double)sum[c];
        all_product[c] += (double)product[c];
    }
    total->count += n;
}

static double NAME(get)(const void *array, int64_t i)
{
    return (double)((const REAL *)array)[i];
}

static void NAME(set)(void *array, int64_t i, double value)
{
    ((REAL *)array)[i] = (REAL)value;
}

static const bn_kernels NAME(kernels) = {
    .size = sizeof(REAL),
    .get = NAME(get),
    .set = NAME(set),
    .reduce = {{NAME(rows_moments), NAME(rows_products)},
               {NAME(plane_moments), NAME(plane_products)}},
    .join = {NAME(join_moments), NAME(join_products)},
    .map = {{NAME(rows_apply), NAME(rows_grad)}, {NAME(plane_apply), NAME(plane_grad)}},
};

#undef LOAD
#undef STORE
#undef REAL
#undef LANES
#undef NAME
