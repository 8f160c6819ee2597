/*
 * group_norm_typed.h: the loops of group norm for one float type. group_norm.c includes it once
 * for each, with REAL (the type) and TYPED(name) (the name with the type's suffix) defined; both
 * are undefined at the end.
 */

#define AFFINE(y, a, b, p, q, r, c) (((a) - (q)) * (p) + (r))
#define COMBINED(y, a, b, p, q, r, c) ((a) * (p) + (b) * (q) + (r))
CEBUS_LINE_MAP(TYPED(affine), REAL, AFFINE)
CEBUS_LINE_MAP(TYPED(combined), REAL, COMBINED)
#undef AFFINE
#undef COMBINED

/** Folds each line of one sample's tiles of `x` into out[line], `centers` likewise. */
static void TYPED(fold_sample)(const group_job *job, int64_t sample, const cebus_fold *fold,
                               const void *x, const REAL *centers, REAL *out)
{
    for (int64_t i = 0; i < job->tiles; i++) {
        cebus_tile tile = cebus_lines_tile(&job->lines, sample * job->tiles + i);
        cebus_lines_fold(&job->lines, &tile, fold, x, centers != NULL ? centers + tile.line : NULL,
                         out + tile.line);
    }
}

static void TYPED(map_sample)(const group_job *job, int64_t sample,
                              void (*map)(const cebus_line_map *), cebus_line_map m)
{
    const REAL *p = m.p, *q = m.q, *r = m.r;
    for (int64_t i = 0; i < job->tiles; i++) {
        cebus_tile tile = cebus_lines_tile(&job->lines, sample * job->tiles + i);
        m.lines = &job->lines;
        m.tile = &tile;
        m.p = p != NULL ? p + tile.line : NULL;
        m.q = q != NULL ? q + tile.line : NULL;
        m.r = r != NULL ? r + tile.line : NULL;
        map(&m);
    }
}

/** The mean over a group of the sums of its lines. */
static double TYPED(group_mean)(const group_job *job, const REAL *sums)
{
    double total = 0;
    for (int64_t c = 0; c < job->per_group; c++)
        total += sums[c];
    return total / (double)(job->per_group * job->lines.n);
}

static REAL TYPED(weight_of)(const group_job *job, int64_t channel)
{
    return job->weight != NULL ? ((const REAL *)job->weight)[channel] : 1;
}

/** Centers of a sample's lines from their sums. */
static void TYPED(set_centers)(const group_job *job, int64_t sample, const REAL *sums, REAL *center)
{
    for (int64_t g = 0; g < job->groups; g++) {
        int64_t first = sample * job->channels + g * job->per_group;
        REAL mean = (REAL)TYPED(group_mean)(job, sums + first);
        for (int64_t c = 0; c < job->per_group; c++)
            center[first + c] = mean;
        if (job->out_mean != NULL)
            ((REAL *)job->out_mean)[sample * job->groups + g] = mean;
    }
}

/** Scales of a sample's lines, in place of their sums of squares. */
static void TYPED(set_scales)(const group_job *job, int64_t sample, REAL *scale)
{
    for (int64_t g = 0; g < job->groups; g++) {
        int64_t channel = g * job->per_group, first = sample * job->channels + channel;
        double variance = TYPED(group_mean)(job, scale + first);
        REAL rstd = (REAL)(1 / sqrt(variance + job->eps));
        for (int64_t c = 0; c < job->per_group; c++)
            scale[first + c] = rstd * TYPED(weight_of)(job, channel + c);
        if (job->out_rstd != NULL)
            ((REAL *)job->out_rstd)[sample * job->groups + g] = rstd;
    }
}

static void TYPED(forward_samples)(void *context, int64_t begin, int64_t end)
{
    const group_job *job = context;
    REAL *scale = job->values[0], *center = job->values[1], *shift = job->values[2];
    const REAL *bias = job->bias;
    cebus_line_map affine = {.y = job->out, .a = job->x, .p = scale, .q = center, .r = shift};
    for (int64_t s = begin; s < end; s++) {
        TYPED(fold_sample)(job, s, job->sum, job->x, NULL, scale);
        TYPED(set_centers)(job, s, scale, center);
        TYPED(fold_sample)(job, s, job->squares, job->x, center, scale);
        TYPED(set_scales)(job, s, scale);
        for (int64_t c = 0; c < job->channels; c++)
            shift[s * job->channels + c] = bias != NULL ? bias[c] : 0;
        if (job->out != NULL)
            TYPED(map_sample)(job, s, TYPED(affine), affine);
    }
}

/** Products of a short run: row k of `out` is g (x - center) of the tile's position k. */
CEBUS_CLONES
static void TYPED(multiply)(REAL *restrict out, const cebus_tile *tile, int64_t rows, int64_t inner,
                            const REAL *const *gx, const REAL *restrict center)
{
    const REAL *restrict g = gx[0] + tile->offset, *restrict x = gx[1] + tile->offset;
    int64_t width = tile->width;
    if (inner == 1) {
        REAL mean = *center;
        for (int64_t k = 0; k < rows; k++)
            out[k] = g[k] * (x[k] - mean);
        return;
    }
    for (int64_t k = 0; k < rows; k++, out += width, g += inner, x += inner) {
        for (int64_t i = 0; i < width; i++)
            out[i] = g[i] * (x[i] - center[i]);
    }
}

/** Sums g (x - center) over each line of a tile into out[0..width). */
static void TYPED(sum_products)(const group_job *job, const cebus_tile *tile, const REAL *center,
                                REAL *out)
{
    _Alignas(64) unsigned char block[CEBUS_FOLD_WIDTH * CEBUS_FOLD_BYTES];
    REAL buffer[4 * CEBUS_FOLD_WIDTH];
    int64_t n = job->lines.n, inner = job->lines.inner;
    int64_t most = 4 * CEBUS_FOLD_WIDTH / tile->width;
    job->sum->begin(block, tile->width, NULL, 0);
    for (int64_t k = 0; k < n; k += most) {
        const REAL *gx[] = {(const REAL *)job->g + k * inner, (const REAL *)job->x + k * inner};
        int64_t rows = n - k < most ? n - k : most;
        TYPED(multiply)(buffer, tile, rows, inner, gx, center);
        if (inner == 1)
            job->sum->row(block, buffer, rows, 0);
        else
            job->sum->columns(block, tile->width, buffer, rows, tile->width, 0);
    }
    job->sum->finish(block, tile->width, out, 1, 1);
}

/**
 * From the sums over each line of g and of g (x - mean): the factors of dx = g p + x q + r with
 * dx = rstd (h - mean(h) - xhat mean(h xhat)), h = g weight, xhat = (x - mean) rstd.
 */
static void TYPED(dx_factors)(const group_job *job, int64_t sample, int64_t g, REAL *const *factors)
{
    const REAL *plain = job->values[0], *product = job->values[1];
    double mean = ((const REAL *)job->mean)[sample * job->groups + g];
    double rstd = ((const REAL *)job->rstd)[sample * job->groups + g];
    int64_t channel = g * job->per_group, first = sample * job->channels;
    double sum = 0, sum_product = 0, n = (double)(job->per_group * job->lines.n);
    for (int64_t c = channel; c < channel + job->per_group; c++) {
        sum += (double)TYPED(weight_of)(job, c) * (double)plain[first + c];
        sum_product += (double)TYPED(weight_of)(job, c) * (double)product[first + c];
    }
    double slope = rstd * rstd * rstd * sum_product / n;
    for (int64_t c = channel; c < channel + job->per_group; c++) {
        factors[0][first + c] = (REAL)(rstd * (double)TYPED(weight_of)(job, c));
        factors[1][first + c] = (REAL)-slope;
        factors[2][first + c] = (REAL)(slope * mean - rstd * sum / n);
    }
}

static void TYPED(backward_samples)(void *context, int64_t begin, int64_t end)
{
    const group_job *job = context;
    REAL *plain = job->values[0], *product = job->values[1];
    REAL *factors[] = {job->values[2], job->values[3], job->values[4]};
    cebus_line_map combined = {
        .y = job->out, .a = job->g, .b = job->x, .p = factors[0], .q = factors[1], .r = factors[2]};
    for (int64_t s = begin; s < end; s++) {
        REAL *center = factors[0]; /* until dx_factors() */
        for (int64_t c = 0; c < job->channels; c++)
            center[s * job->channels + c] =
                ((const REAL *)job->mean)[s * job->groups + c / job->per_group];
        for (int64_t i = 0; i < job->tiles; i++) {
            cebus_tile tile = cebus_lines_tile(&job->lines, s * job->tiles + i);
            TYPED(sum_products)(job, &tile, center + tile.line, product + tile.line);
        }
        TYPED(fold_sample)(job, s, job->sum, job->g, NULL, plain);
        if (job->out == NULL)
            continue;
        for (int64_t g = 0; g < job->groups; g++)
            TYPED(dx_factors)(job, s, g, factors);
        TYPED(map_sample)(job, s, TYPED(combined), combined);
    }
}

/** The gradients of weight and bias: sums over the samples, in order. */
static void TYPED(sum_samples)(const group_job *job, REAL *out_weight, REAL *out_bias)
{
    const REAL *plain = job->values[0], *product = job->values[1], *rstd = job->rstd;
    for (int64_t c = 0; c < job->channels; c++) {
        double weight = 0, bias = 0;
        for (int64_t s = 0; s < job->samples; s++) {
            double scale = rstd[s * job->groups + c / job->per_group];
            weight += (double)product[s * job->channels + c] * scale;
            bias += plain[s * job->channels + c];
        }
        if (out_weight != NULL)
            out_weight[c] = (REAL)weight;
        if (out_bias != NULL)
            out_bias[c] = (REAL)bias;
    }
}

#undef REAL
#undef TYPED
