/**
 * pool_typed.h: the loops of pooling for one element type. pool.c includes it with REAL and
 * NAME(x) defined. All arrays are dense channels-last; the inner loops run over channels.
 */

/** The largest pixels of one window and their places, for n <= CHUNK channels from `c`. */
static inline __attribute__((always_inline)) void NAME(max_window)(const pool_job *job, pool_at at,
                                                                   int64_t c, int64_t n)
{
    REAL best[CHUNK];
    int32_t place[CHUNK];
    bool first = true;
    /* A dilated window at the edge may have all its taps in the padding. */
    for (int64_t k = 0; k < n; k++) {
        best[k] = (REAL)-INFINITY;
        place[k] = 0;
    }
    for (int32_t tap = 0; tap < job->taps; tap++) {
        int64_t pixel = pixel_under(job, at, tap);
        if (pixel < 0)
            continue;
        const REAL *restrict x = (const REAL *)job->x + pixel * job->channels + c;
        for (int64_t k = 0; first && k < n; k++) {
            best[k] = x[k];
            place[k] = tap;
        }
        for (int64_t k = 0; !first && k < n; k++) {
            bool taken = (x[k] > best[k]) | (x[k] != x[k]);
            best[k] = taken ? x[k] : best[k];
            place[k] = taken ? tap : place[k];
        }
        first = false;
    }
    if (job->out)
        memcpy((REAL *)job->out + at.index * job->channels + c, best, (size_t)n * sizeof *best);
    places_store(job, at.index * job->channels + c, n, place);
}

CEBUS_CLONES static void NAME(max_rows)(const pool_job *job, int64_t begin, int64_t end)
{
    for (int64_t p = begin * job->to[1]; p < end * job->to[1]; p++)
        for (int64_t c = 0; c < job->channels; c += CHUNK)
            NAME(max_window)(job, place_of(job, p), c, cebus_span_least(CHUNK, job->channels - c));
}

/** Adds what one tap of the windows takes from the pixel dx. */
static inline __attribute__((always_inline)) void
NAME(max_gather)(const pool_job *job, int64_t window, int32_t tap, REAL *restrict dx)
{
    const REAL *restrict grad = (const REAL *)job->x + window * job->channels;
    const uint8_t *restrict small = (const uint8_t *)job->place + window * job->channels;
    const int32_t *restrict large = (const int32_t *)job->place + window * job->channels;
    if (job->small_places)
        for (int64_t c = 0; c < job->channels; c++)
            dx[c] += small[c] == tap ? grad[c] : 0;
    else
        for (int64_t c = 0; c < job->channels; c++)
            dx[c] += large[c] == tap ? grad[c] : 0;
}

/** Each pixel of the image gathers from the windows that took it. */
CEBUS_CLONES static void NAME(max_backward_rows)(const pool_job *job, int64_t begin, int64_t end)
{
    for (int64_t p = begin * job->to[1]; p < end * job->to[1]; p++) {
        pool_at at = place_of(job, p);
        cebus_span rows = windows_over(job, 0, at.h), columns = windows_over(job, 1, at.w);
        REAL *dx = (REAL *)job->out + p * job->channels;
        memset(dx, 0, (size_t)job->channels * sizeof *dx);
        for (int64_t h = rows.begin; h < rows.end; h++)
            for (int64_t w = columns.begin; w < columns.end; w++) {
                int32_t tap = tap_between(job, at, h, w);
                if (tap >= 0)
                    NAME(max_gather)(job, index_of(job, at.n, h, w), tap, dx);
            }
    }
}

/** sum += x / count, or x when count is 1. */
static inline __attribute__((always_inline)) void NAME(add_share)(int64_t n, const REAL *restrict x,
                                                                  REAL count, REAL *restrict sum)
{
    if (count == 1)
        for (int64_t c = 0; c < n; c++)
            sum[c] += x[c];
    else
        for (int64_t c = 0; c < n; c++)
            sum[c] += x[c] / count;
}

/** The mean of each window. */
CEBUS_CLONES static void NAME(avg_rows)(const pool_job *job, int64_t begin, int64_t end)
{
    int64_t channels = job->channels;
    for (int64_t p = begin * job->to[1]; p < end * job->to[1]; p++) {
        pool_at at = place_of(job, p);
        cebus_span rows = window_span(job, 0, at.h), columns = window_span(job, 1, at.w);
        REAL *y = (REAL *)job->out + p * channels, count = (REAL)(rows.count * columns.count);
        memset(y, 0, (size_t)channels * sizeof *y);
        for (int64_t h = rows.begin; h < rows.end; h++)
            for (int64_t w = columns.begin; w < columns.end; w++)
                NAME(add_share)
        (channels, (const REAL *)job->x + index_of(job, at.n, h, w) * channels, 1, y);
        for (int64_t c = 0; c < channels; c++)
            y[c] /= count;
    }
}

/** Each pixel of the image gathers its share from the windows over it. */
CEBUS_CLONES static void NAME(avg_backward_rows)(const pool_job *job, int64_t begin, int64_t end)
{
    int64_t channels = job->channels;
    for (int64_t p = begin * job->to[1]; p < end * job->to[1]; p++) {
        pool_at at = place_of(job, p);
        cebus_span rows = windows_over(job, 0, at.h), columns = windows_over(job, 1, at.w);
        REAL *dx = (REAL *)job->out + p * channels;
        memset(dx, 0, (size_t)channels * sizeof *dx);
        for (int64_t h = rows.begin; h < rows.end; h++)
            for (int64_t w = columns.begin; w < columns.end; w++)
                NAME(add_share)
        (channels, (const REAL *)job->x + index_of(job, at.n, h, w) * channels,
         (REAL)(window_span(job, 0, h).count * window_span(job, 1, w).count), dx);
    }
}

static const pool_kernels NAME(kernels) = {
    .max = NAME(max_rows),
    .max_backward = NAME(max_backward_rows),
    .avg = NAME(avg_rows),
    .avg_backward = NAME(avg_backward_rows),
};

#undef REAL
#undef NAME
