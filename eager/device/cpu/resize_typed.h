/**
 * resize_typed.h: the loops of interpolation for one element type. resize.c includes it with REAL
 * and NAME(x) defined. All arrays are dense channels-last; the inner loops run over channels.
 */

/** y = the mean of four pixels, weighted first along the columns, then along the rows. */
static inline __attribute__((always_inline)) void
NAME(blend)(const resize_job *job, const REAL *const *x, const REAL *weight, REAL *restrict y)
{
    const REAL *restrict a = x[0], *restrict b = x[1], *restrict c = x[2], *restrict d = x[3];
    for (int64_t k = 0; k < job->channels; k++)
        y[k] = weight[0] * (weight[2] * a[k] + weight[3] * b[k]) +
               weight[1] * (weight[2] * c[k] + weight[3] * d[k]);
}

CEBUS_CLONES static void NAME(rows)(const resize_job *job, int64_t begin, int64_t end)
{
    for (int64_t row = begin; row < end; row++) {
        int64_t n = row / job->result[0];
        const cebus_tap *h = &job->taps[0][row % job->result[0]];
        for (int64_t i = 0; i < job->result[1]; i++) {
            const cebus_tap *w = &job->taps[1][i];
            const REAL *x[4];
            for (int k = 0; k < 4; k++)
                x[k] = (const REAL *)job->from +
                       ((n * job->image[0] + h->source[k / 2]) * job->image[1] + w->source[k % 2]) *
                           job->channels;
            REAL *y = (REAL *)job->to + (row * job->result[1] + i) * job->channels;
            const REAL weight[4] = {(REAL)h->weight[0], (REAL)h->weight[1], (REAL)w->weight[0],
                                    (REAL)w->weight[1]};
            if (job->nearest)
                memcpy(y, x[0], (size_t)job->channels * sizeof *y);
            else
                NAME(blend)(job, x, weight, y);
        }
    }
}

static inline __attribute__((always_inline)) void
NAME(add_scaled)(int64_t n, REAL scale, const REAL *restrict x, REAL *restrict sum)
{
    for (int64_t k = 0; k < n; k++)
        sum[k] += scale * x[k];
}

/** Each pixel of the image gathers from the pixels of the result it went into. */
CEBUS_CLONES static void NAME(backward_rows)(const resize_job *job, int64_t begin, int64_t end)
{
    int64_t channels = job->channels;
    for (int64_t p = begin * job->image[1]; p < end * job->image[1]; p++) {
        int64_t y = p / job->image[1] % job->image[0], x = p % job->image[1];
        int64_t n = p / job->image[1] / job->image[0];
        REAL *dx = (REAL *)job->to + p * channels;
        memset(dx, 0, (size_t)channels * sizeof *dx);
        for (int64_t h = job->users[0][y].begin; h < job->users[0][y].end; h++)
            for (int64_t w = job->users[1][x].begin; w < job->users[1][x].end; w++) {
                const REAL *grad = (const REAL *)job->from +
                                   ((n * job->result[0] + h) * job->result[1] + w) * channels;
                double share =
                    cebus_tap_share(&job->taps[0][h], y) * cebus_tap_share(&job->taps[1][w], x);
                NAME(add_scaled)(channels, (REAL)share, grad, dx);
            }
    }
}

#undef REAL
#undef NAME
