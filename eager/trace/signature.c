#include "eager/trace/signature.h"

#include <string.h>

/** splitmix64's finalizer (Steele, Lea, Flood, OOPSLA'14): every bit in moves every bit out. */
static uint64_t mix(uint64_t hash, uint64_t word)
{
    uint64_t z = hash + word + UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static uint64_t mix_bytes(uint64_t hash, const void *bytes, size_t count)
{
    const char *at = bytes;
    hash = mix(hash, count);
    while (count > 0) {
        uint64_t word = 0;
        size_t part = count < sizeof word ? count : sizeof word;
        memcpy(&word, at, part);
        hash = mix(hash, word);
        at += part;
        count -= part;
    }
    return hash;
}

static uint64_t mix_view(uint64_t hash, const cebus_view *view)
{
    hash = mix(hash, (uint64_t)view->dtype << 32 | (uint32_t)view->ndim);
    for (int d = 0; d < view->ndim; d++) {
        hash = mix(hash, (uint64_t)view->shape[d]);
        hash = mix(hash, (uint64_t)view->strides[d]);
    }
    return hash;
}

uint64_t cebus_launch_signature(const cebus_launch *launch)
{
    uint64_t hash = mix((uint64_t)launch->n_in << 32 | launch->n_out, 0);
    for (uint32_t i = 0; i < launch->n_in; i++)
        hash = mix_view(hash, launch->in[i].view);
    for (uint32_t j = 0; j < launch->n_out; j++)
        hash = mix_view(hash, launch->out[j].view);
    if (!launch->numbers)
        hash = mix_bytes(hash, launch->attrs, launch->attr_bytes);
    return hash != 0 ? hash : 1;
}

/** Two chains that do not wait for each other: half the time of one. */
typedef struct lanes {
    uint64_t a, b;
} lanes;

static inline void feed(lanes *hash, uint64_t a, uint64_t b)
{
    hash->a = (hash->a ^ a) * UINT64_C(0x9e3779b97f4a7c15);
    hash->b = (hash->b ^ b) * UINT64_C(0xd6e8feb86659fd93);
    hash->a ^= hash->a >> 32;
    hash->b ^= hash->b >> 32;
}

static inline void feed_view(lanes *hash, const cebus_view *view)
{
    feed(hash, (uint64_t)view->dtype << 32 | (uint32_t)view->ndim, (uint64_t)view->offset);
    for (int d = 0; d < view->ndim; d++)
        feed(hash, (uint64_t)view->shape[d], (uint64_t)view->strides[d]);
}

static inline uint64_t read_word(const char *at)
{
    uint64_t word;
    memcpy(&word, at, sizeof word);
    return word;
}

/** Words, the last of which overlap; what is shorter than one, byte for byte. */
static void feed_bytes(lanes *hash, const char *bytes, size_t count)
{
    uint64_t rest = count;
    size_t at = 0;
    for (; at + 16 <= count; at += 16)
        feed(hash, read_word(bytes + at), read_word(bytes + at + 8));
    if (at == count)
        return;
    if (count < 8) {
        for (; at < count; at++)
            rest = rest << 8 | (unsigned char)bytes[at];
        feed(hash, rest, count);
        return;
    }
    feed(hash, read_word(bytes + (at + 8 <= count ? at : count - 8)), read_word(bytes + count - 8));
}

uint64_t cebus_call_signature(const cebus_call *call, bool in_graph)
{
    const cebus_op *op = call->op;
    const cebus_view *views = cebus_call_views(call);
    uint32_t n_views = call->n_in;
    lanes hash = {(uint64_t)call->n_in << 32 | call->n_out, in_graph};
    if (op->flags & CEBUS_OP_NUMBERS)
        n_views += call->n_out;
    else
        feed_bytes(&hash, cebus_call_attrs(call), cebus_call_attr_bytes(call));
    for (uint32_t i = 0; i < n_views; i++)
        feed_view(&hash, &views[i]);
    uint64_t signature = mix(hash.a, hash.b);
    return signature != 0 ? signature : 1;
}
