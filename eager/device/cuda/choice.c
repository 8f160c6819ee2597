#include "eager/device/cuda/choice.h"

int cebus_cuda_choose(const cebus_cuda_proposal *proposals, int n, uint64_t bound)
{
    int least = -1;
    for (int i = 0; i < n; i++) {
        const cebus_cuda_proposal *p = &proposals[i];
        if (!p->runs || !p->deterministic || !p->precise)
            continue;
        if (p->workspace <= bound)
            return i;
        if (least < 0 || p->workspace < proposals[least].workspace)
            least = i;
    }
    return least;
}
