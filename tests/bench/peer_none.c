#include "tests/bench/peer.h"

const char *bench_peer_version(void)
{
    return NULL;
}

bench_peer *bench_peer_create(cebus_model *model, int threads, bool channels_last)
{
    (void)model, (void)threads, (void)channels_last;
    return NULL;
}

void bench_peer_destroy(bench_peer *peer)
{
    (void)peer;
}

float bench_peer_step(bench_peer *peer)
{
    (void)peer;
    return 0;
}

int64_t bench_peer_parameters(const bench_peer *peer)
{
    (void)peer;
    return 0;
}

void bench_peer_op(bench_op_kind kind, int64_t n)
{
    (void)kind, (void)n;
}
