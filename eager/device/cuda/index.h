/**
 * index.h: adding rows to a table at indices, in a fixed order.
 *
 *     table[own, index[own, depth]] += rows[own, depth]
 *
 * `own` are the dimensions that lead to different elements of the table, `depth` those along which
 * indices may meet. Two ways: a thread for each own element goes through the depth in order; or,
 * where the indices are the same for all own elements, they are sorted, and each row of the table
 * is made by whoever finds its first index. The shapes say which.
 */
#ifndef CEBUS_EAGER_DEVICE_CUDA_INDEX_H
#define CEBUS_EAGER_DEVICE_CUDA_INDEX_H

#include "eager/device/cuda/walk.h"

typedef struct cebus_index_job {
    cebus_walk own;   /**< of the table (without the indexed dimension), rows, indices */
    cebus_walk depth; /**< of rows, indices; row-major */
    cebus_cells table, rows;
    const void *index;
    bool narrow;    /**< indices are i32 */
    int64_t pick;   /**< stride of the indexed dimension in the table */
    int64_t length; /**< of it */
    int64_t skip;   /**< an index whose rows are left out; -1: none */
    cebus_cuda_fault *fault;
    uint64_t op;
} cebus_index_job;

/** The index at offset `at`; -1 where it is to be left out, reported when it is wrong. */
CEBUS_DEVICE int64_t cebus_index_at(const cebus_index_job *p, int64_t at)
{
    int64_t index = cebus_index_get(p->index, p->narrow, at);
    if (index >= 0 && index < p->length)
        return index == p->skip ? -1 : index;
    cebus_grid_report(p->fault, {p->op, index, at, p->length});
    return -1;
}

/** Whether the job is one to sort; then the bytes it takes of the workspace. */
bool cebus_index_sorts(const cebus_index_job *job, uint64_t *out_bytes);
/** Adds by sorting, in that workspace. */
void cebus_index_add_sorted(const cebus_launch *launch, const cebus_index_job *job,
                            char *workspace);

#endif
