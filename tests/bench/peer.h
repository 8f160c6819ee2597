/**
 * peer.h: the same measurements by PyTorch's C++ library, in the same process and so with the same
 * libraries, threads and environment. Where PyTorch is not installed peer_none.c stands in, and
 * bench_peer_version() is NULL.
 */
#ifndef CEBUS_TESTS_BENCH_PEER_H
#define CEBUS_TESTS_BENCH_PEER_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#include "tests/support/models.h"

/** PyTorch's version; NULL: this program was built without it. */
const char *bench_peer_version(void);

/** A network in training. */
typedef struct bench_peer bench_peer;

/**
 * A twin of `model` ("gpt" without dropout, or "resnet18"): its architecture, its optimizer, copies
 * of its parameters, the same batches. Its image layout is PyTorch's default or channels-last.
 */
bench_peer *bench_peer_create(cebus_model *model, int threads, bool channels_last);
void bench_peer_destroy(bench_peer *peer);
/** Forward, backward, optimizer; returns the loss. */
float bench_peer_step(bench_peer *peer);
/** Elements of all parameters, as the network itself counts them. */
int64_t bench_peer_parameters(const bench_peer *peer);

/** Operations timed one by one. */
typedef enum bench_op_kind {
    BENCH_OP_ADD,     /**< out = x + y, one element, x requires a gradient */
    BENCH_OP_ADD_OFF, /**< the same with gradients off */
    BENCH_OP_MATMUL,  /**< 8 x 8 by 8 x 8, x requires a gradient */
    BENCH_OP_VIEW,    /**< a reshape of 8 x 8 to 64, x requires a gradient */
    BENCH_OP_INPLACE, /**< y += y0, one element, gradients off */
    BENCH_OP_COUNT
} bench_op_kind;

/** Runs an operation `n` times on operands made once, each result freed at once. */
void bench_peer_op(bench_op_kind kind, int64_t n);

#ifdef __cplusplus
}
#endif

#endif
