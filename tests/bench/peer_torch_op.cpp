// Single operations by PyTorch, in a loop.
#include "tests/bench/peer.h"

#include <ATen/ATen.h>

void bench_peer_op(bench_op_kind kind, int64_t n)
{
    bool square = kind == BENCH_OP_MATMUL || kind == BENCH_OP_VIEW;
    bool grad = kind != BENCH_OP_ADD_OFF && kind != BENCH_OP_INPLACE;
    std::vector<int64_t> shape = square ? std::vector<int64_t>{8, 8} : std::vector<int64_t>{1};
    at::Tensor x = at::ones(shape).requires_grad_(grad), y = at::ones(shape);
    c10::AutoGradMode mode(grad);
    for (int64_t i = 0; i < n; i++) {
        switch (kind) {
        case BENCH_OP_ADD:
        case BENCH_OP_ADD_OFF:
            at::add(x, y);
            break;
        case BENCH_OP_MATMUL:
            at::matmul(x, y);
            break;
        case BENCH_OP_VIEW:
            x.reshape({64});
            break;
        default:
            y.add_(x);
            break;
        }
    }
}
