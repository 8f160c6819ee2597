#include "eager/device/cuda/scores.h"

#include "eager/device/cuda/lane.h"
#include "eager/device/scalar.h"

/* ---- arithmetic of the two types --------------------------------------------------------- */

/* cebus_exp_f32() in fused steps, two thirds of them: what rows of scores spend their time on. */
CEBUS_DEVICE float exp_of(float x)
{
    x = x < -104.0F ? -104.0F : x; /* a NaN passes both tests */
    x = x > 89.0F ? 89.0F : x;
    const float shifted = fmaf(x, 1.44269504F, CEBUS_ROUND_F32), n = shifted - CEBUS_ROUND_F32;
    const float r = fmaf(n, 2.12194440e-4F, fmaf(n, -0.693359375F, x));
    float p = fmaf(1.3926926614e-3F, r, 8.36377387441e-3F);
    p = fmaf(p, r, 4.16665501103e-2F);
    p = fmaf(p, r, 0.166665733819F);
    p = fmaf(p, r, 0.5F);
    const float result = fmaf(p, r * r, r) + 1.0F;
    /* n reaches from -151 to 129: the scale takes two factors, and only the second may round. */
    const int32_t power = (int32_t)(cebus_f32_bits(shifted) - cebus_f32_bits(CEBUS_ROUND_F32));
    const int32_t half = power >> 1;
    const float first = cebus_f32_from_bits((uint32_t)(half + 127) << 23);
    return result * first * cebus_f32_from_bits((uint32_t)(power - half + 127) << 23);
}

CEBUS_DEVICE double exp_of(double x)
{
    return cebus_exp_f64(x);
}

template <class T> CEBUS_DEVICE T shift_of(T largest)
{
    return largest > (T)-INFINITY ? largest : (T)0;
}

/* A NaN is not the largest: it shows in the sum. */
struct takes_larger {
    template <class T> CEBUS_DEVICE void merge(T *into, T later)
    {
        *into = later > *into ? later : *into;
    }
};

/* The largest score so far and the sum of e^(score - largest): in one reading of the row. */
template <class T> struct normalizer {
    T largest, sum;
};

template <class T> CEBUS_DEVICE void take(normalizer<T> *into, T score)
{
    if (score > into->largest) {
        into->sum = into->sum * exp_of(into->largest - score) + 1;
        into->largest = score;
    } else {
        into->sum += exp_of(score - shift_of(into->largest));
    }
}

struct normalizes {
    template <class T> CEBUS_DEVICE void merge(normalizer<T> *into, normalizer<T> later)
    {
        if (later.largest > into->largest) {
            const normalizer<T> other = *into;
            *into = later;
            later = other;
        }
        /* Where nothing was seen the sum is 0, or not a number as some score was. */
        into->sum += later.largest > (T)-INFINITY
                         ? later.sum * exp_of(later.largest - into->largest)
                         : later.sum;
    }
};

/* ---- rows -------------------------------------------------------------------------------- */

/* Packs of a row that a thread holds at most; of longer rows a block of threads takes each. */
#define PACKS_HELD 8
#define COLUMNS_HELD (PACKS_HELD * CEBUS_WARP * CEBUS_PACK)
/* Threads of a block of several teams. */
#define TEAM_THREADS 128

/* Room for the packs of a thread: on the host a team may be of fewer threads than was asked. */
#ifdef CEBUS_CUDA_HOST
#define HELD(packs) ((packs)*CEBUS_WARP)
#else
#define HELD(packs) (packs)
#endif

static_assert(CEBUS_PACK == CEBUS_CUDA_SCORES_PACK, "packs of scores are aligned");

/* A kernel's argument. */
typedef struct score_job {
    cebus_cuda_scores s;
    cebus_divisor rows, shape[CEBUS_MAX_DIMS];
    int64_t numbers; /* rows of all matrices */
    int shift;       /* a team is of 1 << shift threads */
} score_job;

/* The threads that share a row: this one's place among them; their place in the block. */
typedef struct team {
    int lane, lanes;
    int index, count;
} team;

template <bool whole> CEBUS_DEVICE team team_of(const score_job *p)
{
    const int threads = cebus_threads();
    int shift = p->shift;
    if (whole)
        return {cebus_thread(), threads, 0, 1};
    while (1 << shift > threads) /* on the host */
        shift--;
    return {cebus_thread() & ((1 << shift) - 1), 1 << shift, cebus_thread() >> shift,
            threads >> shift};
}

/* Where a row is: its first element in each array, and what it sees. */
typedef struct score_row {
    bool is_real; /* teams of the last block may have none: they take part in folds alone */
    int64_t at;   /* of scores */
    int64_t columns, visible;
    int64_t mask, keep, lse, out, grad, mask_grad;
} score_row;

template <bool backward> CEBUS_DEVICE score_row row_find(const score_job *p, int64_t number)
{
    const cebus_cuda_scores *s = &p->s;
    score_row r = {};
    if (number >= p->numbers)
        return r;
    uint32_t matrix = cebus_divide((uint32_t)number, p->rows);
    const uint32_t row = (uint32_t)number - matrix * p->rows.value;
    r.is_real = true;
    r.at = number * s->ld;
    r.columns = r.visible = s->columns;
    if (s->is_causal && s->first_row + row + 1 < s->columns)
        r.visible = s->first_row + row + 1;
    r.mask = row * s->mask.row;
    r.keep = row * s->keep.row;
    r.lse = row * s->lse.row;
    if (backward) {
        r.out = row * s->out.row;
        r.grad = row * s->grad.row;
        r.mask_grad = row * s->mask_grad.row;
    }
    CEBUS_ROLL
    for (int i = s->ndim - 1; i >= 0; i--) {
        const uint32_t outer = cebus_divide(matrix, p->shape[i]);
        const uint32_t at = matrix - outer * p->shape[i].value;
        matrix = outer;
        r.mask += at * s->mask.batch[i];
        r.keep += at * s->keep.batch[i];
        r.lse += at * s->lse.batch[i];
        if (backward) {
            r.out += at * s->out.batch[i];
            r.grad += at * s->grad.batch[i];
            r.mask_grad += at * s->mask_grad.batch[i];
        }
    }
    return r;
}

/* What is of the type of q. Where that is the scores', the compiler knows it. */
template <class T, bool same> CEBUS_DEVICE cebus_cells cells(const score_job *p, void *data)
{
    return {(char *)data, same ? (sizeof(T) == 8 ? CEBUS_F64 : CEBUS_F32) : p->s.other};
}

/* ---- packs ------------------------------------------------------------------------------- */

CEBUS_DEVICE int pack_of(int64_t end, int64_t j)
{
    return end - j < CEBUS_PACK ? (int)(end - j) : CEBUS_PACK;
}

/* Elements [at, at + n) of a mask of bytes, one in each byte of a word. */
CEBUS_DEVICE uint64_t bytes_of(const cebus_cuda_matrices *m, int64_t at, int n)
{
    const uint8_t *data = (const uint8_t *)m->data + at;
    if (m->col == 1 && n == CEBUS_PACK && (uintptr_t)data % sizeof(uint64_t) == 0)
        return *(const uint64_t *)data;
    uint64_t word = 0;
    CEBUS_UNROLL
    for (int k = 0; k < CEBUS_PACK; k++)
        if (k < n)
            word |= (uint64_t)data[k * m->col] << (8 * k);
    return word;
}

CEBUS_DEVICE bool byte_is_set(uint64_t word, int k)
{
    return (word & (UINT64_C(0xFF) << (8 * k))) != 0;
}

CEBUS_DEVICE uint64_t kept_of(const score_job *p, const score_row *r, int64_t j, int n)
{
    const cebus_cuda_matrices *keep = &p->s.keep;
    return keep->data ? bytes_of(keep, r->keep + j * keep->col, n) : ~UINT64_C(0);
}

/* The scores [j, j + n) under the mask; minus infinity beyond them. */
template <class T, bool same>
CEBUS_DEVICE void mask_pack(const score_job *p, const score_row *r, int64_t j, int n, T *x)
{
    const cebus_cuda_matrices *mask = &p->s.mask;
    const int64_t at = r->mask + j * mask->col;
    if (mask->data && p->s.mask_is_bool) {
        const uint64_t seen = bytes_of(mask, at, n);
        CEBUS_UNROLL
        for (int k = 0; k < CEBUS_PACK; k++)
            x[k] = byte_is_set(seen, k) ? x[k] : (T)-INFINITY;
    } else if (mask->data) {
        T added[CEBUS_PACK] = {};
        cebus_lane<T>::load(added, cells<T, same>(p, mask->data), at, mask->col, n);
        CEBUS_UNROLL
        for (int k = 0; k < CEBUS_PACK; k++)
            x[k] += added[k];
    }
    if (n < CEBUS_PACK) {
        CEBUS_UNROLL
        for (int k = 0; k < CEBUS_PACK; k++)
            x[k] = k < n ? x[k] : (T)-INFINITY;
    }
}

template <class T> CEBUS_DEVICE void read_pack(T *to, const void *scores, int64_t at)
{
    cebus_pack_read(to, (const char *)scores, at);
}

/* A pack of what is made of scores; what is beyond the row's columns is its own to write. */
template <class T, bool same>
CEBUS_DEVICE void write_pack(const score_job *p, const T *from, void *soft, int64_t at)
{
    if (same)
        cebus_pack_write(from, (char *)soft, at);
    else
        cebus_lane<T>::store(from, cells<T, same>(p, soft), at, 1, CEBUS_PACK);
}

/* ---- forward ----------------------------------------------------------------------------- */

template <class T>
CEBUS_DEVICE void write_lse(const score_job *p, const score_row *r, T shift, T sum)
{
    if (r->is_real && p->s.lse.data)
        ((T *)p->s.lse.data)[r->lse] =
            sum == 0 ? (T)INFINITY : (T)((double)shift + log((double)sum));
}

/* The packs of a row that this thread holds: pack number i is the team's i-th round. */
template <class T, int packs> struct held {
    T x[HELD(packs)][CEBUS_PACK];
    uint64_t kept[HELD(packs)];
};

CEBUS_DEVICE int held_column(const team *t, int i)
{
    return (i * t->lanes + t->lane) * CEBUS_PACK;
}

template <class T, int packs>
CEBUS_DEVICE void hold(const score_job *p, const score_row *r, const team *t, held<T, packs> *row)
{
    CEBUS_UNROLL
    for (int i = 0; i < HELD(packs); i++) {
        const int j = held_column(t, i);
        if (j < r->visible) {
            read_pack(row->x[i], p->s.weights, r->at + j);
            row->kept[i] = kept_of(p, r, j, pack_of(r->visible, j));
        }
    }
}

template <class T, int packs, bool same>
CEBUS_DEVICE T largest_held(const score_job *p, const score_row *r, const team *t,
                            held<T, packs> *row)
{
    T largest = (T)-INFINITY;
    CEBUS_UNROLL
    for (int i = 0; i < HELD(packs); i++) {
        const int j = held_column(t, i);
        if (j < r->visible) {
            mask_pack<T, same>(p, r, j, pack_of(r->visible, j), row->x[i]);
            CEBUS_UNROLL
            for (int k = 0; k < CEBUS_PACK; k++)
                takes_larger::merge(&largest, row->x[i][k]);
        }
    }
    return largest;
}

/* Their exponentials, and the sum of these. */
template <class T, int packs>
CEBUS_DEVICE T raise_held(const score_row *r, const team *t, T shift, held<T, packs> *row)
{
    T sum = 0;
    CEBUS_UNROLL
    for (int i = 0; i < HELD(packs); i++) {
        if (held_column(t, i) < r->visible) {
            CEBUS_UNROLL
            for (int k = 0; k < CEBUS_PACK; k++)
                sum += row->x[i][k] = exp_of(row->x[i][k] - shift);
        }
    }
    return sum;
}

template <class T, int packs, bool same>
CEBUS_DEVICE void write_held(const score_job *p, const score_row *r, const team *t, T factor,
                             const held<T, packs> *row)
{
    CEBUS_UNROLL
    for (int i = 0; i < HELD(packs); i++) {
        const int j = held_column(t, i);
        const int n = pack_of(r->visible, j);
        T soft[CEBUS_PACK];
        if (j >= r->columns)
            continue;
        CEBUS_UNROLL
        for (int k = 0; k < CEBUS_PACK; k++)
            soft[k] = k < n && byte_is_set(row->kept[i], k) ? row->x[i][k] * factor : (T)0;
        write_pack<T, same>(p, soft, p->s.soft_weights, r->at + j);
    }
}

/* A team for each row. */
template <class T, int packs, bool same> CEBUS_KERNEL soften_held(const score_job p)
{
    const team t = team_of<false>(&p);
    for (int64_t first = cebus_block() * t.count; first < p.numbers;
         first += cebus_blocks() * t.count) {
        const score_row r = row_find<false>(&p, first + t.index);
        held<T, packs> row;
        hold(&p, &r, &t, &row);
        const T shift = shift_of(
            cebus_team_fold<takes_larger>(largest_held<T, packs, same>(&p, &r, &t, &row), t.lanes));
        const T sum = cebus_team_fold<cebus_adds>(raise_held(&r, &t, shift, &row), t.lanes);
        const T factor = sum == 0 ? (T)0 : (T)p.s.keep_scale / sum;
        write_held<T, packs, same>(&p, &r, &t, factor, &row);
        if (t.lane == 0)
            write_lse(&p, &r, shift, sum);
    }
}

/* A visible score under the mask. */
template <class T>
CEBUS_DEVICE T score_of(const score_job *p, const score_row *r, const T *row, int64_t j)
{
    const cebus_cuda_matrices *mask = &p->s.mask;
    if (!mask->data)
        return row[j];
    const int64_t at = r->mask + j * mask->col;
    if (!p->s.mask_is_bool)
        return row[j] + cebus_lane<T>::get(cells<T, false>(p, mask->data), at);
    return ((const uint8_t *)mask->data)[at] ? row[j] : (T)-INFINITY;
}

CEBUS_DEVICE bool is_kept(const score_job *p, const score_row *r, int64_t j)
{
    const cebus_cuda_matrices *keep = &p->s.keep;
    return !keep->data || ((const uint8_t *)keep->data)[r->keep + j * keep->col];
}

template <class T> CEBUS_DEVICE void soften_row(const score_job *p, const score_row *r)
{
    const int64_t first = cebus_thread(), step = cebus_threads();
    const T *row = (const T *)p->s.weights + r->at;
    const cebus_cells soft = cells<T, false>(p, p->s.soft_weights);
    normalizer<T> all = {(T)-INFINITY, 0};
    for (int64_t j = first; j < r->visible; j += step)
        take(&all, score_of(p, r, row, j));
    all = cebus_block_fold<normalizes>(all);
    const T shift = shift_of(all.largest);
    const T factor = all.sum == 0 ? (T)0 : (T)p->s.keep_scale / all.sum;
    for (int64_t j = first; j < r->visible; j += step)
        cebus_lane<T>::set(soft, r->at + j,
                           is_kept(p, r, j) ? exp_of(score_of(p, r, row, j) - shift) * factor
                                            : (T)0);
    for (int64_t j = r->visible + first; j < r->columns; j += step)
        cebus_lane<T>::set(soft, r->at + j, (T)0);
    if (first == 0)
        write_lse(p, r, shift, all.sum);
}

/* A block for each row. */
template <class T> CEBUS_KERNEL soften_long(const score_job p)
{
    for (int64_t i = cebus_block(); i < p.numbers; i += cebus_blocks()) {
        const score_row r = row_find<false>(&p, i);
        soften_row<T>(&p, &r);
    }
}

/* ---- backward ---------------------------------------------------------------------------- */

/* Elements that a thread reads before it multiplies any. */
#define ROUNDS 4

/* This thread's part of the sum of a row's weights times their gradients, which is also that of the
 * result and its gradient (FlashAttention, appendix B.2). */
template <class T, bool same>
CEBUS_DEVICE T delta_part(const score_job *p, const score_row *r, const team *t)
{
    const cebus_cuda_matrices *out = &p->s.out, *grad = &p->s.grad;
    T sum = 0;
    if (!r->is_real)
        return sum;
    CEBUS_ROLL
    for (int64_t j = t->lane; j < p->s.values; j += (int64_t)t->lanes * ROUNDS) {
        T x[ROUNDS] = {}, y[ROUNDS] = {};
        CEBUS_UNROLL
        for (int k = 0; k < ROUNDS; k++) {
            const int64_t at = j + (int64_t)k * t->lanes;
            if (at < p->s.values) {
                x[k] = cebus_lane<T>::get(cells<T, same>(p, out->data), r->out + at * out->col);
                y[k] = cebus_lane<T>::get(cells<T, same>(p, grad->data), r->grad + at * grad->col);
            }
        }
        CEBUS_UNROLL
        for (int k = 0; k < ROUNDS; k++)
            sum += x[k] * y[k];
    }
    return sum;
}

/* A pack of scores and one of gradients of weights := kept weights, gradients of scores. */
template <class T, bool same>
CEBUS_DEVICE void differentiate_pack(const score_job *p, const score_row *r, int64_t j, T lse,
                                     T delta, T *weights, T *grads)
{
    const int n = pack_of(r->visible, j);
    read_pack(weights, p->s.weights, r->at + j);
    read_pack(grads, p->s.grads, r->at + j);
    const uint64_t kept = kept_of(p, r, j, n);
    mask_pack<T, same>(p, r, j, n, weights);
    CEBUS_UNROLL
    for (int k = 0; k < CEBUS_PACK; k++) {
        const bool is_kept = byte_is_set(kept, k), is_visible = k < n;
        const T weight = exp_of(weights[k] - lse);
        const T grad = weight * ((T)p->s.keep_scale * (is_kept ? grads[k] : (T)0) - delta);
        weights[k] = is_visible && is_kept ? weight : (T)0;
        grads[k] = is_visible ? grad : (T)0;
    }
}

template <class T, bool same>
CEBUS_DEVICE void backward_row(const score_job *p, const score_row *r, const team *t, T delta)
{
    const T lse = r->is_real ? ((const T *)p->s.lse.data)[r->lse] : (T)0;
    CEBUS_ROLL
    for (int64_t j = (int64_t)t->lane * CEBUS_PACK; j < r->columns;
         j += (int64_t)t->lanes * CEBUS_PACK) {
        T weights[CEBUS_PACK] = {}, grads[CEBUS_PACK] = {};
        if (j < r->visible)
            differentiate_pack<T, same>(p, r, j, lse, delta, weights, grads);
        write_pack<T, same>(p, weights, p->s.soft_weights, r->at + j);
        write_pack<T, same>(p, grads, p->s.soft_grads, r->at + j);
        if (p->s.mask_grad.data)
            cebus_lane<T>::store(grads, cells<T, same>(p, p->s.mask_grad.data),
                                 r->mask_grad + j * p->s.mask_grad.col, p->s.mask_grad.col,
                                 pack_of(r->columns, j));
    }
}

/* A team for each row, or a block. */
template <class T, bool same, bool whole> CEBUS_KERNEL backward_kernel(const score_job p)
{
    const team t = team_of<whole>(&p);
    for (int64_t first = cebus_block() * t.count; first < p.numbers;
         first += cebus_blocks() * t.count) {
        const score_row r = row_find<true>(&p, first + t.index);
        const T mine = delta_part<T, same>(&p, &r, &t);
        const T delta =
            whole ? cebus_block_fold<cebus_adds>(mine) : cebus_team_fold<cebus_adds>(mine, t.lanes);
        backward_row<T, same>(&p, &r, &t, delta);
    }
}

/* ---- entries ----------------------------------------------------------------------------- */

typedef void (*scores_kernel)(score_job);

/* What the scores are, and what is made of them: f32, f64, or f32 and narrower. */
enum {
    ALL_F32,
    ALL_F64,
    NARROWED,
    KINDS
};

static int kind_of(const cebus_cuda_scores *s)
{
    if (s->dtype != s->other)
        return NARROWED;
    return s->dtype == CEBUS_F64 ? ALL_F64 : ALL_F32;
}

static score_job job_of(const cebus_cuda_scores *s)
{
    score_job job = {};
    job.s = *s;
    job.rows = cebus_divisor_of((uint32_t)s->rows);
    for (int i = 0; i < s->ndim; i++)
        job.shape[i] = cebus_divisor_of((uint32_t)s->shape[i]);
    job.numbers = s->matrices * s->rows;
    while (1 << job.shift < CEBUS_WARP && (int64_t)CEBUS_PACK << job.shift < s->columns)
        job.shift++;
    return job;
}

static void run_teams(const cebus_launch *launch, scores_kernel kernel, const score_job *job)
{
    const int64_t count = TEAM_THREADS >> job->shift;
    cebus_grid_run(launch, kernel, cebus_grid_teams((job->numbers + count - 1) / count),
                   TEAM_THREADS, *job);
}

static void run_blocks(const cebus_launch *launch, scores_kernel kernel, const score_job *job)
{
    cebus_grid_run(launch, kernel, cebus_grid_teams(job->numbers), cebus_grid_team(job->s.columns),
                   *job);
}

#define SOFTEN_HELD(packs)                                                                         \
    {                                                                                              \
        soften_held<float, packs, true>, soften_held<double, packs, true>,                         \
            soften_held<float, packs, false>                                                       \
    }

cebus_status cebus_cuda_scores_soften(const cebus_launch *launch, const char *op,
                                      const cebus_cuda_scores *s)
{
    static const scores_kernel held[][KINDS] = {SOFTEN_HELD(1), SOFTEN_HELD(2), SOFTEN_HELD(4),
                                                SOFTEN_HELD(PACKS_HELD)};
    static const scores_kernel blocks[KINDS] = {soften_long<float>, soften_long<double>,
                                                soften_long<float>};
    const score_job job = job_of(s);
    int packs = 0; /* their logarithm */
    while ((int64_t)CEBUS_PACK << job.shift << packs < s->columns)
        packs++;
    if (s->columns <= COLUMNS_HELD)
        run_teams(launch, held[packs][kind_of(s)], &job);
    else
        run_blocks(launch, blocks[kind_of(s)], &job);
    return cebus_cuda_launched(op);
}

cebus_status cebus_cuda_scores_backward(const cebus_launch *launch, const char *op,
                                        const cebus_cuda_scores *s)
{
    static const scores_kernel teams[KINDS] = {backward_kernel<float, true, false>,
                                               backward_kernel<double, true, false>,
                                               backward_kernel<float, false, false>};
    static const scores_kernel blocks[KINDS] = {backward_kernel<float, true, true>,
                                                backward_kernel<double, true, true>,
                                                backward_kernel<float, false, true>};
    const score_job job = job_of(s);
    if (s->columns <= COLUMNS_HELD)
        run_teams(launch, teams[kind_of(s)], &job);
    else
        run_blocks(launch, blocks[kind_of(s)], &job);
    return cebus_cuda_launched(op);
}
