#include "eager/device/cuda/scores.h"

#include "eager/device/cuda/lane.h"
#include "eager/device/scalar.h"

/* ---- arithmetic of the two types --------------------------------------------------------- */

CEBUS_DEVICE float exp_of(float x)
{
    return cebus_exp_f32(x);
}

CEBUS_DEVICE double exp_of(double x)
{
    return cebus_exp_f64(x);
}

/* The largest score so far and the sum of e^(score - largest): in one reading of the row. */
template <class T> struct normalizer {
    T largest, sum;
};

template <class T> CEBUS_DEVICE T shift_of(T largest)
{
    return largest > (T)-INFINITY ? largest : (T)0;
}

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

/* Columns of rows that a block shares; of shorter ones each thread takes its own. */
#define SHARED_COLUMNS 32

template <bool shared> CEBUS_DEVICE int64_t first_column(void)
{
    return shared ? cebus_thread() : 0;
}

template <bool shared> CEBUS_DEVICE int64_t next_column(void)
{
    return shared ? cebus_threads() : 1;
}

template <bool shared, class F, class T> CEBUS_DEVICE T fold_of(T mine)
{
    return shared ? cebus_block_fold<F, T>(mine) : mine;
}

template <bool shared> CEBUS_DEVICE int64_t first_row(void)
{
    return shared ? cebus_block() : cebus_grid_first();
}

template <bool shared> CEBUS_DEVICE int64_t next_row(void)
{
    return shared ? cebus_blocks() : cebus_grid_step();
}

/* A row of the block, and where it is in the whole. */
typedef struct score_row {
    int64_t matrix, row; /* of the batch; of the matrix */
    int64_t at;          /* of its scores */
    int64_t visible;     /* columns it sees */
    int64_t mask, keep;  /* its first element there */
} score_row;

CEBUS_DEVICE int64_t row_of(const cebus_cuda_scores *p, const cebus_cuda_matrices *m,
                            int64_t matrix, int64_t row)
{
    int64_t offset = row * m->row;
    for (int i = p->ndim - 1; i >= 0; i--) {
        offset += matrix % p->shape[i] * m->batch[i];
        matrix /= p->shape[i];
    }
    return offset;
}

CEBUS_DEVICE score_row row_find(const cebus_cuda_scores *p, int64_t number)
{
    score_row r = {};
    r.matrix = p->first_matrix + number / p->rows;
    r.row = p->first_row + number % p->rows;
    r.at = number * p->ld;
    r.visible = p->columns;
    if (p->is_causal && r.row + 1 < p->columns)
        r.visible = r.row + 1;
    if (p->mask.data)
        r.mask = row_of(p, &p->mask, r.matrix, r.row);
    if (p->keep.data)
        r.keep = row_of(p, &p->keep, r.matrix, r.row);
    return r;
}

/* What is of the type of q. */
CEBUS_DEVICE cebus_cells cells(const cebus_cuda_scores *p, void *data)
{
    return {(char *)data, p->other};
}

/* A visible score under the mask. */
template <class T>
CEBUS_DEVICE T score_of(const cebus_cuda_scores *p, const score_row *r, const T *row, int64_t j)
{
    if (!p->mask.data)
        return row[j];
    const int64_t at = r->mask + j * p->mask.col;
    if (!p->mask_is_bool)
        return row[j] + cebus_lane<T>::get(cells(p, p->mask.data), at);
    return ((const uint8_t *)p->mask.data)[at] ? row[j] : (T)-INFINITY;
}

CEBUS_DEVICE bool is_kept(const cebus_cuda_scores *p, const score_row *r, int64_t j)
{
    return !p->keep.data || ((const uint8_t *)p->keep.data)[r->keep + j * p->keep.col];
}

/* ---- forward ----------------------------------------------------------------------------- */

template <class T, bool shared>
CEBUS_DEVICE void soften_row(const cebus_cuda_scores *p, int64_t number)
{
    const score_row r = row_find(p, number);
    const int64_t first = first_column<shared>(), step = next_column<shared>();
    const T *row = (const T *)p->weights + r.at;
    const cebus_cells soft = cells(p, p->soft_weights);
    normalizer<T> all = {(T)-INFINITY, 0};
    for (int64_t j = first; j < r.visible; j += step)
        take(&all, score_of(p, &r, row, j));
    all = fold_of<shared, normalizes, normalizer<T>>(all);
    const T shift = shift_of(all.largest);
    const T factor = all.sum == 0 ? (T)0 : (T)p->keep_scale / all.sum;
    for (int64_t j = first; j < r.visible; j += step)
        cebus_lane<T>::set(soft, r.at + j,
                           is_kept(p, &r, j) ? exp_of(score_of(p, &r, row, j) - shift) * factor
                                             : (T)0);
    for (int64_t j = r.visible + first; j < p->columns; j += step)
        cebus_lane<T>::set(soft, r.at + j, (T)0);
    if (p->lse && first == 0)
        ((T *)p->lse)[r.matrix * p->length + r.row] =
            all.sum == 0 ? (T)INFINITY : (T)((double)shift + log((double)all.sum));
}

template <class T, bool shared> CEBUS_KERNEL soften_kernel(const cebus_cuda_scores p)
{
    for (int64_t i = first_row<shared>(); i < p.matrices * p.rows; i += next_row<shared>())
        soften_row<T, shared>(&p, i);
}

/* ---- backward ---------------------------------------------------------------------------- */

/* The sum of a row's weights times their gradients, which is also that of the result and its
 * gradient (FlashAttention, appendix B.2). */
template <class T, bool shared>
CEBUS_DEVICE T delta_of(const cebus_cuda_scores *p, const score_row *r)
{
    const cebus_cells out = cells(p, p->out.data), grad = cells(p, p->grad.data);
    const int64_t out_at = row_of(p, &p->out, r->matrix, r->row);
    const int64_t grad_at = row_of(p, &p->grad, r->matrix, r->row);
    T sum = 0;
    for (int64_t j = first_column<shared>(); j < p->values; j += next_column<shared>())
        sum += cebus_lane<T>::get(out, out_at + j * p->out.col) *
               cebus_lane<T>::get(grad, grad_at + j * p->grad.col);
    return fold_of<shared, cebus_adds, T>(sum);
}

template <class T, bool shared>
CEBUS_DEVICE void backward_row(const cebus_cuda_scores *p, int64_t number)
{
    const score_row r = row_find(p, number);
    const int64_t place = r.matrix * p->length + r.row;
    const T delta = delta_of<T, shared>(p, &r), lse = ((const T *)p->lse)[place];
    const T *weights = (const T *)p->weights + r.at, *grads = (const T *)p->grads + r.at;
    for (int64_t j = first_column<shared>(); j < p->columns; j += next_column<shared>()) {
        T weight = 0, grad = 0, kept = 0;
        if (j < r.visible) {
            weight = exp_of(score_of(p, &r, weights, j) - lse);
            kept = is_kept(p, &r, j) ? grads[j] : (T)0;
            grad = weight * ((T)p->keep_scale * kept - delta);
            weight = is_kept(p, &r, j) ? weight : (T)0;
        }
        cebus_lane<T>::set(cells(p, p->soft_weights), r.at + j, weight);
        cebus_lane<T>::set(cells(p, p->soft_grads), r.at + j, grad);
        if (p->mask_grad)
            cebus_lane<T>::set(cells(p, p->mask_grad), place * p->columns + j, grad);
    }
}

template <class T, bool shared> CEBUS_KERNEL backward_kernel(const cebus_cuda_scores p)
{
    for (int64_t i = first_row<shared>(); i < p.matrices * p.rows; i += next_row<shared>())
        backward_row<T, shared>(&p, i);
}

/* ---- entries ----------------------------------------------------------------------------- */

typedef void (*scores_kernel)(cebus_cuda_scores);

/* The kernels by element type (f32, f64) and by whether blocks share rows. */
static cebus_status run(const cebus_launch *launch, const char *op, const cebus_cuda_scores *p,
                        const scores_kernel (*kernels)[2])
{
    const bool shared = p->columns >= SHARED_COLUMNS;
    const int64_t rows = p->matrices * p->rows;
    cebus_grid_run(launch, kernels[p->dtype == CEBUS_F64][shared],
                   shared ? cebus_grid_teams(rows) : cebus_grid_blocks(rows),
                   shared ? cebus_grid_team(p->columns) : CEBUS_GRID_THREADS, *p);
    return cebus_cuda_launched(op);
}

cebus_status cebus_cuda_scores_soften(const cebus_launch *launch, const char *op,
                                      const cebus_cuda_scores *p)
{
    static const scores_kernel kernels[2][2] = {
        {soften_kernel<float, false>, soften_kernel<float, true>},
        {soften_kernel<double, false>, soften_kernel<double, true>},
    };
    return run(launch, op, p, kernels);
}

cebus_status cebus_cuda_scores_backward(const cebus_launch *launch, const char *op,
                                        const cebus_cuda_scores *p)
{
    static const scores_kernel kernels[2][2] = {
        {backward_kernel<float, false>, backward_kernel<float, true>},
        {backward_kernel<double, false>, backward_kernel<double, true>},
    };
    return run(launch, op, p, kernels);
}
