#include "eager/rebuild/due.h"

#include "evict/candidate.h"

static bool is_late(const cebus_dues *d, const cebus_value *value)
{
    return value->producer != NULL && value->producer->serial > d->turn;
}

static uint64_t *due_of(const cebus_dues *d, const cebus_value *value)
{
    return &d->due[((const cebus_candidate *)value)->foreseen - 1];
}

static uint64_t serial_of(const cebus_value *value)
{
    return value->producer != NULL ? value->producer->serial : CEBUS_DUE_AT_END;
}

/** How many outputs of a call before this one have as many bytes. */
static uint32_t rank_of(const cebus_call *call, uint32_t output)
{
    uint32_t rank = 0;
    for (uint32_t j = 0; j < output; j++)
        rank += call->out[j] != NULL && call->out[j]->bytes == call->out[output]->bytes;
    return rank;
}

/** The input with so many bytes and so many such before it, of the backward or not; NULL: none. */
static const cebus_value *find_input(const cebus_dues *d, const cebus_call *call, uint64_t bytes,
                                     uint32_t rank, bool late)
{
    for (uint32_t i = 0; i < call->n_in; i++) {
        const cebus_value *value = call->in[i].value;
        if (value != NULL && value->bytes == bytes && is_late(d, value) == late && rank-- == 0)
            return value;
    }
    return NULL;
}

/** The call whose image the gradient waited for that a call reads; the turn: it reads none. */
static uint64_t image_of(const cebus_dues *d, const cebus_call *call)
{
    for (uint32_t i = 0; i < call->n_in; i++) {
        const cebus_value *value = call->in[i].value;
        if (value != NULL && is_late(d, value))
            return *due_of(d, value);
    }
    return d->turn;
}

static const cebus_call *find_call(const cebus_dues *d, uint64_t serial)
{
    size_t low = 0, high = d->n_calls;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (d->calls[middle]->serial < serial)
            low = middle + 1;
        else
            high = middle;
    }
    return low < d->n_calls && d->calls[low]->serial == serial ? d->calls[low] : NULL;
}

/** What a call reads that is as large; a sum is for what its parts are for; else what the call read
 * whose image this one is. */
static uint64_t find_due(const cebus_dues *d, const cebus_call *call, uint32_t output)
{
    uint64_t bytes = call->out[output]->bytes;
    uint32_t rank = rank_of(call, output);
    const cebus_value *like = find_input(d, call, bytes, rank, false);
    if (like != NULL)
        return serial_of(like);
    if (find_input(d, call, bytes, 1, true) != NULL)
        return *due_of(d, find_input(d, call, bytes, 0, true));
    const cebus_call *forward = find_call(d, image_of(d, call));
    if (forward != NULL)
        like = find_input(d, forward, bytes, rank, false);
    return like != NULL ? serial_of(like) : CEBUS_DUE_AT_END;
}

void cebus_dues_find(const cebus_dues *dues)
{
    for (size_t k = 0; k < dues->n_calls; k++) {
        const cebus_call *call = dues->calls[k];
        for (uint32_t j = 0; j < call->n_out && call->serial > dues->turn; j++) {
            if (call->out[j] != NULL)
                *due_of(dues, call->out[j]) = find_due(dues, call, j);
        }
    }
}
