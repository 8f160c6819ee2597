/*
 * scores_typed.h: the rows of one element type. Before it is included: T, ROW(name), EXP(x). All
 * are undefined at the end.
 */

CEBUS_CLONES
static void ROW(add)(void *row, int64_t n, const void *mask, int64_t stride)
{
    T *restrict x = row;
    const T *restrict m = mask;
    if (stride == 1) {
        for (int64_t j = 0; j < n; j++)
            x[j] += m[j];
        return;
    }
    for (int64_t j = 0; j < n; j++)
        x[j] += m[j * stride];
}

CEBUS_CLONES
static void ROW(hide)(void *row, int64_t n, const uint8_t *restrict mask, int64_t stride)
{
    T *restrict x = row;
    for (int64_t j = 0; j < n; j++)
        x[j] = mask[j * stride] ? x[j] : (T)-INFINITY;
}

CEBUS_CLONES
static void ROW(drop)(void *row, int64_t n, const uint8_t *restrict keep, int64_t stride)
{
    T *restrict x = row;
    for (int64_t j = 0; j < n; j++)
        x[j] = keep[j * stride] ? x[j] : (T)0;
}

CEBUS_CLONES
static void ROW(scale)(void *row, int64_t n, double factor)
{
    T *x = row;
    const T by = (T)factor;
    for (int64_t j = 0; j < n; j++)
        x[j] *= by;
}

static inline T ROW(largest)(const T *x, int64_t n)
{
    T lane[LANES], largest = (T)-INFINITY;
    int64_t j = 0;
    for (int l = 0; l < LANES; l++)
        lane[l] = largest;
    for (; j + LANES <= n; j += LANES)
        for (int l = 0; l < LANES; l++)
            lane[l] = x[j + l] > lane[l] ? x[j + l] : lane[l];
    for (; j < n; j++)
        largest = x[j] > largest ? x[j] : largest;
    for (int l = 0; l < LANES; l++)
        largest = lane[l] > largest ? lane[l] : largest;
    return largest;
}

static inline double ROW(total)(const T *x, int64_t n)
{
    T lane[LANES] = {0};
    double total = 0;
    int64_t j = 0;
    for (; j + LANES <= n; j += LANES)
        for (int l = 0; l < LANES; l++)
            lane[l] += x[j + l];
    for (; j < n; j++)
        total += (double)x[j];
    for (int l = 0; l < LANES; l++)
        total += (double)lane[l];
    return total;
}

CEBUS_CLONES
static double ROW(softmax)(void *row, int64_t n, double *out_lse)
{
    T *x = row;
    T largest = ROW(largest)(x, n);
    const T shift = largest > (T)-INFINITY ? largest : (T)0;
    for (int64_t j = 0; j < n; j++)
        x[j] = EXP(x[j] - shift);
    double sum = ROW(total)(x, n);
    *out_lse = sum == 0 ? INFINITY : (double)shift + log(sum);
    return sum;
}

CEBUS_CLONES
static void ROW(weights)(void *row, int64_t n, double lse)
{
    T *x = row;
    const T shift = (T)lse;
    for (int64_t j = 0; j < n; j++)
        x[j] = EXP(x[j] - shift);
}

CEBUS_CLONES
static void ROW(gradient)(void *grad, const void *weights, int64_t n, const double factor_delta[2])
{
    T *restrict g = grad;
    const T *restrict w = weights;
    const T factor = (T)factor_delta[0], delta = (T)factor_delta[1];
    for (int64_t j = 0; j < n; j++)
        g[j] = w[j] * (factor * g[j] - delta);
}

CEBUS_CLONES
static double ROW(dot)(const void *x_row, int64_t x_stride, const void *y_row, int64_t y_stride,
                       int64_t n)
{
    const T *x = x_row, *y = y_row;
    T lane[LANES] = {0};
    double total = 0;
    int64_t j = 0;
    if (x_stride == 1 && y_stride == 1)
        for (; j + LANES <= n; j += LANES)
            for (int l = 0; l < LANES; l++)
                lane[l] += x[j + l] * y[j + l];
    for (; j < n; j++)
        total += (double)x[j * x_stride] * (double)y[j * y_stride];
    for (int l = 0; l < LANES; l++)
        total += (double)lane[l];
    return total;
}

static double ROW(load)(const void *element)
{
    return (double)*(const T *)element;
}

static void ROW(store)(void *element, double value)
{
    *(T *)element = (T)value;
}

static const cebus_scores ROW(rows) = {
    .add = ROW(add),
    .hide = ROW(hide),
    .drop = ROW(drop),
    .scale = ROW(scale),
    .softmax = ROW(softmax),
    .weights = ROW(weights),
    .gradient = ROW(gradient),
    .dot = ROW(dot),
    .load = ROW(load),
    .store = ROW(store),
};

#undef T
#undef ROW
#undef EXP
