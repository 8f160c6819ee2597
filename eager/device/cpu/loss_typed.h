/*
 * loss_typed.h: the loops of the losses for one float type. loss.c includes it once for each, with
 * REAL (the type), TYPED(name) (the name with the type's suffix) and EXP(x) defined;
 * all are undefined at the end.
 */

#define WEIGHTED_SOFTMAX(y, a, b, p, q, r, c) ((q) * (EXP((a) - (p)) - (c)))
CEBUS_LINE_MAP(TYPED(weighted_softmax), REAL, WEIGHTED_SOFTMAX)
#undef WEIGHTED_SOFTMAX

/** Cross entropy of the lines of some tiles: the loss and the logsumexp of each. */
static void TYPED(cross_entropy_tiles)(void *context, int64_t begin, int64_t end)
{
    const class_job *job = context;
    const cebus_lines *lines = &job->lines;
    REAL maxima[CEBUS_FOLD_WIDTH], sums[CEBUS_FOLD_WIDTH], totals[CEBUS_FOLD_WIDTH];
    for (int64_t i = begin; i < end; i++) {
        cebus_tile tile = cebus_lines_tile(lines, i);
        cebus_lines_fold(lines, &tile, job->max, job->x, NULL, maxima);
        cebus_lines_fold(lines, &tile, job->exponentials, job->x, maxima, sums);
        if (job->smoothing > 0)
            cebus_lines_fold(lines, &tile, job->sum, job->x, NULL, totals);
        for (int64_t j = 0; j < tile.width; j++) {
            int64_t line = tile.line + j, t = target_at(job, line);
            const REAL *x = (const REAL *)job->x + tile.offset + j;
            double log_sum = log((double)sums[j]), max = maxima[j];
            double loss = 0;
            if (t != job->ignore_index)
                loss = log_sum + (max - (double)x[t * lines->inner]) * (1 - job->smoothing);
            if (t != job->ignore_index && job->smoothing > 0)
                loss += (max - (double)totals[j] / (double)lines->n) * job->smoothing;
            if (job->losses != NULL)
                ((REAL *)job->losses)[line] = (REAL)loss;
            if (job->logsumexp != NULL)
                ((REAL *)job->logsumexp)[line] = (REAL)(max + log_sum);
        }
    }
}

/** The gradient of one target's loss. */
static inline REAL TYPED(weight)(const class_job *job, int64_t line)
{
    const REAL *g = job->grad;
    if (target_at(job, line) == job->ignore_index)
        return 0;
    return job->reduction == CEBUS_LOSS_NONE ? g[line] : (REAL)((double)*g / job->divisor);
}

static void TYPED(cross_entropy_grad_tiles)(void *context, int64_t begin, int64_t end)
{
    const class_job *job = context;
    const cebus_lines *lines = &job->lines;
    REAL weights[CEBUS_FOLD_WIDTH];
    for (int64_t i = begin; i < end; i++) {
        cebus_tile tile = cebus_lines_tile(lines, i);
        for (int64_t j = 0; j < tile.width; j++)
            weights[j] = TYPED(weight)(job, tile.line + j);
        TYPED(weighted_softmax)
        (&(cebus_line_map){
            .lines = lines,
            .tile = &tile,
            .y = job->grad_x,
            .a = job->x,
            .p = (const REAL *)job->saved + tile.line,
            .q = weights,
            .c = job->smoothing / (double)lines->n,
        });
        REAL *grad = (REAL *)job->grad_x + tile.offset;
        for (int64_t j = 0; j < tile.width; j++) {
            int64_t t = target_at(job, tile.line + j);
            if (t != job->ignore_index)
                grad[t * lines->inner + j] -= weights[j] * (REAL)(1 - job->smoothing);
        }
    }
}

static void TYPED(nll_tiles)(void *context, int64_t begin, int64_t end)
{
    const class_job *job = context;
    for (int64_t i = begin; i < end; i++) {
        cebus_tile tile = cebus_lines_tile(&job->lines, i);
        const REAL *x = (const REAL *)job->x + tile.offset;
        REAL *losses = (REAL *)job->losses + tile.line;
        for (int64_t j = 0; j < tile.width; j++) {
            int64_t t = target_at(job, tile.line + j);
            losses[j] = t == job->ignore_index ? 0 : -x[t * job->lines.inner + j];
        }
    }
}

static void TYPED(nll_grad_tiles)(void *context, int64_t begin, int64_t end)
{
    const class_job *job = context;
    const cebus_lines *lines = &job->lines;
    for (int64_t i = begin; i < end; i++) {
        cebus_tile tile = cebus_lines_tile(lines, i);
        REAL *grad = (REAL *)job->grad_x + tile.offset;
        for (int64_t r = 0; r < lines->n; r++)
            memset(grad + r * lines->inner, 0, (size_t)tile.width * sizeof(REAL));
        for (int64_t j = 0; j < tile.width; j++) {
            int64_t t = target_at(job, tile.line + j);
            if (t != job->ignore_index)
                grad[t * lines->inner + j] = -TYPED(weight)(job, tile.line + j);
        }
    }
}

/* ---- mean squared error ------------------------------------------------------------------ */

CEBUS_CLONES
static void TYPED(squares)(REAL *restrict out, const REAL *restrict x, const REAL *restrict y,
                           int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = (x[i] - y[i]) * (x[i] - y[i]);
}

/** Sums the squared differences of some slices, each into a block of its own. */
static void TYPED(mse_slices)(void *context, int64_t begin, int64_t end)
{
    const mse_job *job = context;
    REAL buffer[MSE_RUN];
    for (int64_t s = begin; s < end; s++) {
        void *block = job->blocks + s * CEBUS_FOLD_BYTES;
        int64_t stop = (s + 1) * MSE_SLICE < job->n ? (s + 1) * MSE_SLICE : job->n;
        job->sum->begin(block, 1, NULL, 0);
        for (int64_t i = s * MSE_SLICE; i < stop; i += MSE_RUN) {
            int64_t n = stop - i < MSE_RUN ? stop - i : MSE_RUN;
            TYPED(squares)(buffer, (const REAL *)job->x + i, (const REAL *)job->y + i, n);
            job->sum->row(block, buffer, n, 0);
        }
    }
}

static void TYPED(mse_each)(void *context, int64_t begin, int64_t end)
{
    const mse_job *job = context;
    TYPED(squares)
    ((REAL *)job->out + begin, (const REAL *)job->x + begin, (const REAL *)job->y + begin,
     end - begin);
}

/** out = factor g (x - y), arrays in the order out, x, y, g. */
CEBUS_CLONES
static void TYPED(mse_grad_run)(void *context, const int64_t *offsets, int64_t n)
{
    const mse_job *job = context;
    REAL *restrict out = (REAL *)job->out + offsets[0];
    const REAL *restrict x = (const REAL *)job->x + offsets[1];
    const REAL *restrict y = (const REAL *)job->y + offsets[2];
    const REAL *restrict g = (const REAL *)job->g + offsets[3];
    const int64_t *step = job->rows.step;
    REAL factor = (REAL)job->factor;
    if (step[1] == 1 && step[2] == 1 && step[3] == 0) {
        factor *= *g;
        for (int64_t i = 0; i < n; i++)
            out[i] = factor * (x[i] - y[i]);
        return;
    }
    for (int64_t i = 0; i < n; i++)
        out[i * step[0]] = factor * g[i * step[3]] * (x[i * step[1]] - y[i * step[2]]);
}

#undef REAL
#undef TYPED
#undef EXP
