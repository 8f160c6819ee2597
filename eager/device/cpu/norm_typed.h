/*
 * norm_typed.h: the loops of layer and RMS norm for one float type. norm.c includes it once for
 * each, with REAL (the type) and TYPED(name) (the name with the type's suffix) defined; both are
 * undefined at the end.
 */

static void TYPED(fill)(REAL *out, REAL value, int64_t n)
{
    for (int64_t j = 0; j < n; j++)
        out[j] = value;
}

/* ---- forward ----------------------------------------------------------------------------- */

static REAL TYPED(mean_of)(const cebus_fold *fold, const REAL *x, int64_t n, REAL center)
{
    _Alignas(8) char block[CEBUS_FOLD_BYTES];
    REAL mean;
    fold->begin(block, 1, &center, 0);
    fold->row(block, x, n, 0);
    fold->finish(block, 1, &mean, 1, (double)n);
    return mean;
}

CEBUS_CLONES
static void TYPED(scale_row)(const row_job *job, const REAL *restrict x, REAL *restrict y,
                             REAL mean, REAL rstd)
{
    const REAL *restrict weight = job->weight, *restrict bias = job->bias;
    for (int64_t j = 0; j < job->n; j++)
        y[j] = (x[j] - mean) * rstd * weight[j] + bias[j];
}

static void TYPED(forward_rows)(void *context, int64_t begin, int64_t end)
{
    const row_job *job = context;
    for (int64_t i = begin; i < end; i++) {
        const REAL *x = (const REAL *)job->x + i * job->n;
        REAL mean = job->centered ? TYPED(mean_of)(job->sum, x, job->n, 0) : 0;
        REAL variance = TYPED(mean_of)(job->squares, x, job->n, mean);
        REAL rstd = (REAL)(1 / sqrt((double)variance + job->eps));
        if (job->out_mean != NULL)
            ((REAL *)job->out_mean)[i] = mean;
        if (job->out_rstd != NULL)
            ((REAL *)job->out_rstd)[i] = rstd;
        if (job->out != NULL)
            TYPED(scale_row)(job, x, (REAL *)job->out + i * job->n, mean, rstd);
    }
}

/* ---- backward ---------------------------------------------------------------------------- */

/** Sums of h and of h (x - mean) over up to RUN * LANES elements, h = g weight. */
static inline __attribute__((always_inline)) void TYPED(add_run)(const REAL *restrict g,
                                                                 const REAL *restrict x,
                                                                 const REAL *restrict weight,
                                                                 REAL mean, int64_t n, double *sums)
{
    REAL plain[LANES] = {0}, product[LANES] = {0};
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        for (int j = 0; j < LANES; j++) {
            REAL h = g[i + j] * weight[i + j];
            plain[j] += h;
            product[j] += h * (x[i + j] - mean);
        }
    }
    for (int j = 0; i + j < n; j++) {
        REAL h = g[i + j] * weight[i + j];
        plain[j] += h;
        product[j] += h * (x[i + j] - mean);
    }
    for (int half = LANES / 2; half > 0; half /= 2) {
        for (int j = 0; j < half; j++) {
            plain[j] += plain[j + half];
            product[j] += product[j + half];
        }
    }
    sums[0] += plain[0];
    sums[1] += product[0];
}

/** dx = rstd (h - mean(h) - xhat mean(h xhat)), xhat = (x - mean) rstd; RMS norm has no mean(h). */
CEBUS_CLONES
static void TYPED(dx_row)(const row_job *job, const REAL *restrict g, const REAL *restrict x,
                          REAL *restrict dx, REAL mean, REAL rstd)
{
    const REAL *restrict weight = job->weight;
    double sums[2] = {0, 0};
    for (int64_t i = 0; i < job->n; i += RUN * LANES) {
        int64_t n = job->n - i < RUN * LANES ? job->n - i : RUN * LANES;
        TYPED(add_run)(g + i, x + i, weight + i, mean, n, sums);
    }
    REAL shift = job->centered ? (REAL)(sums[0] / (double)job->n) : 0;
    REAL slope = (REAL)(sums[1] * (double)rstd * (double)rstd / (double)job->n);
    for (int64_t j = 0; j < job->n; j++)
        dx[j] = rstd * (g[j] * weight[j] - shift - (x[j] - mean) * slope);
}

/** Adds a row to the sums of g xhat and of g, for the gradients of weight and bias. */
CEBUS_CLONES
static void TYPED(add_row)(int64_t n, const REAL *restrict g, const REAL *restrict x,
                           REAL *restrict part, REAL mean, REAL rstd)
{
    REAL *restrict weight = part, *restrict bias = part + n;
    for (int64_t j = 0; j < n; j++) {
        weight[j] += g[j] * ((x[j] - mean) * rstd);
        bias[j] += g[j];
    }
}

/** Moves the sums of a short run of rows into the totals. */
CEBUS_CLONES
static void TYPED(flush)(double *restrict total, REAL *restrict part, int64_t n)
{
    for (int64_t j = 0; j < n; j++) {
        total[j] += part[j];
        part[j] = 0;
    }
}

static void TYPED(backward_row)(const row_job *job, int64_t i, REAL *part)
{
    const REAL *g = (const REAL *)job->g + i * job->n, *x = (const REAL *)job->x + i * job->n;
    REAL mean = job->centered ? ((const REAL *)job->mean)[i] : 0;
    REAL rstd = ((const REAL *)job->rstd)[i];
    if (job->out != NULL)
        TYPED(dx_row)(job, g, x, (REAL *)job->out + i * job->n, mean, rstd);
    if (part != NULL)
        TYPED(add_row)(job->n, g, x, part, mean, rstd);
}

static void TYPED(backward_slices)(void *context, int64_t begin, int64_t end)
{
    const row_job *job = context;
    for (int64_t s = begin; s < end; s++) {
        double *total = job->totals == NULL ? NULL : job->totals + s * 2 * job->n;
        REAL *part = job->parts == NULL ? NULL : (REAL *)job->parts + s * 2 * job->n;
        int64_t row = job->rows * s / job->slices, stop = job->rows * (s + 1) / job->slices;
        if (part != NULL) {
            memset(total, 0, 2 * (size_t)job->n * sizeof *total);
            memset(part, 0, 2 * (size_t)job->n * sizeof *part);
        }
        while (row < stop) {
            int64_t pause = stop - row < RUN ? stop : row + RUN;
            for (; row < pause; row++)
                TYPED(backward_row)(job, row, part);
            if (part != NULL)
                TYPED(flush)(total, part, 2 * job->n);
        }
    }
}

/** Adds up the slices, in order, of totals [slices, 2, n] at `total`. */
static void TYPED(add_slices)(const row_job *job, const double *total, REAL *out)
{
    for (int64_t j = 0; j < job->n; j++) {
        double sum = 0;
        for (int64_t s = 0; s < job->slices; s++)
            sum += total[s * 2 * job->n + j];
        out[j] = (REAL)sum;
    }
}

#undef REAL
#undef TYPED
