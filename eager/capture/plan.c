#include "eager/capture/plan.h"

#include <string.h>

#include "eager/ladder.h"
#include "eager/rebuild/replay_call.h"
#include "eager/swap/swap.h"
#include "lineage/burden.h"
#include "lineage/version.h"

#define NONE CEBUS_CAPTURE_NONE

/** The version that a buffer holds now; NULL: nothing is to be read there. */
static cebus_candidate *holds(const cebus_capture *capture, uint32_t buffer)
{
    uint32_t at = capture->plan->newest[buffer];
    if (at == NONE)
        return NULL;
    const cebus_captured_value *value = &capture->values[at];
    if (value->at != NULL)
        return value->at->now;
    while (value->held && value->over != NONE)
        value = &capture->values[value->over];
    return value->held && value->storage != NULL ? value->storage->now : NULL;
}

static cebus_candidate *holder_of(const cebus_capture *capture, uint32_t value)
{
    return holds(capture, capture->plan->home[value]);
}

/* --- places ---------------------------------------------------------------------------------- */

static void clear_spots(cebus_spots *spots)
{
    memset(spots->out, 0xff, sizeof spots->out);
    spots->workspace = CEBUS_ANYWHERE;
    spots->n_back = 0;
}

static void expect_back(cebus_spots *spots, const cebus_candidate *candidate, uint64_t offset)
{
    if (candidate == NULL || spots->n_back == CEBUS_MAX_OUTPUTS)
        return;
    spots->back[spots->n_back] = candidate;
    spots->back_at[spots->n_back++] = offset;
}

/** Which output of a call goes to a block; n_out: none. */
static uint32_t output_of(const cebus_capture *capture, uint32_t call, uint32_t buffer)
{
    const cebus_captured_call *taken = &capture->calls[call];
    const uint32_t *made = capture->refs + taken->refs + taken->call->n_in;
    uint32_t j = 0;
    while (j < taken->call->n_out && capture->plan->home[made[j]] != buffer)
        j++;
    return j;
}

static void choose_spots(cebus_capture *capture, size_t k)
{
    cebus_capture_plan *plan = capture->plan;
    clear_spots(&plan->spots);
    for (uint32_t i = plan->born[k]; i != NONE; i = plan->born_next[i]) {
        const cebus_advice_block *block = &plan->blocks[i];
        if (block->value == UINT32_MAX) {
            plan->spots.workspace = block->offset;
        } else if (plan->steps[k].again) {
            expect_back(&plan->spots, holder_of(capture, block->value), block->offset);
        } else {
            uint32_t j = output_of(capture, plan->steps[k].call, plan->home[block->value]);
            if (j < CEBUS_MAX_OUTPUTS)
                plan->spots.out[j] = block->offset;
        }
    }
}

/* --- bytes go -------------------------------------------------------------------------------- */

/** What nobody will read went by itself. */
static void leave(cebus_capture *capture, uint32_t value)
{
    cebus_candidate *candidate = holder_of(capture, value);
    if (candidate == NULL || !cebus_candidate_is_idle(candidate) ||
        (candidate->host == NULL && !cebus_value_is_replayable(&candidate->value)))
        return;
    candidate->method = candidate->host != NULL ? CEBUS_GO_SWAP : CEBUS_GO_DROP;
    cebus_ladder_give_up(capture->rt, candidate);
}

static void leave_all(cebus_capture *capture, size_t event)
{
    const cebus_capture_plan *plan = capture->plan;
    for (uint32_t i = plan->dies[event]; i != NONE; i = plan->dies_next[i]) {
        if (plan->blocks[i].value != UINT32_MAX)
            leave(capture, plan->blocks[i].value);
    }
}

static void copy_out(cebus_capture *capture, cebus_candidate *candidate)
{
    if (candidate != NULL && candidate->host == NULL && cebus_candidate_is_idle(candidate))
        (void)cebus_swap_copy_out(capture->rt, candidate, false);
}

/** The next copy out. */
static void send(cebus_capture *capture)
{
    cebus_capture_plan *plan = capture->plan;
    uint32_t i = plan->outs[plan->out++];
    copy_out(capture, holder_of(capture, plan->copies[i].value));
    leave_all(capture, plan->n_steps + i);
}

/* --- bytes come ------------------------------------------------------------------------------ */

static bool is_free(const cebus_runtime *rt, uint64_t offset, uint64_t bytes)
{
    for (const cebus_block *b = rt->arena.first; b != NULL && b->offset < offset + bytes;
         b = b->next) {
        if (b->state != CEBUS_BLOCK_FREE && b->offset + b->bytes > offset)
            return false;
    }
    return true;
}

static void fetch(cebus_capture *capture, cebus_candidate *candidate, uint64_t offset)
{
    cebus_runtime *rt = capture->rt;
    if (candidate == NULL || !candidate->value.swapped)
        return;
    clear_spots(&capture->plan->spots);
    expect_back(&capture->plan->spots, candidate, offset);
    rt->trial++;
    if (cebus_swap_in(rt, candidate, "prefetch") == CEBUS_OK)
        rt->stats.prefetches++;
    rt->trial--;
}

static uint64_t place_of(const cebus_capture_plan *plan, uint32_t copy)
{
    uint32_t block = plan->born[plan->n_steps + copy];
    return block != NONE ? plan->blocks[block].offset : CEBUS_ANYWHERE;
}

/** The next copy in. */
static void receive(cebus_capture *capture)
{
    cebus_capture_plan *plan = capture->plan;
    uint32_t i = plan->ins[plan->in++];
    fetch(capture, holder_of(capture, plan->copies[i].value), place_of(plan, i));
}

static const cebus_advice_copy *next_out(const cebus_capture_plan *plan, size_t done)
{
    const cebus_advice_copy *copy =
        plan->out < plan->n_outs ? &plan->copies[plan->outs[plan->out]] : NULL;
    return copy != NULL && copy->after <= done ? copy : NULL;
}

/** One whose place is still taken waits, and with it all behind it, unless step `due` needs it. */
static const cebus_advice_copy *next_in(const cebus_capture *capture, size_t done, size_t due)
{
    const cebus_capture_plan *plan = capture->plan;
    if (plan->in >= plan->n_ins)
        return NULL;
    const uint32_t i = plan->ins[plan->in];
    const cebus_advice_copy *copy = &plan->copies[i];
    const cebus_candidate *candidate = holder_of(capture, copy->value);
    const uint64_t offset = place_of(plan, i);
    if (copy->after > done)
        return NULL;
    if (copy->before <= due || candidate == NULL || offset == CEBUS_ANYWHERE)
        return copy;
    return is_free(capture->rt, offset, candidate->value.bytes) ? copy : NULL;
}

/** Copies of both directions whose turn has come, as they are to start: on a link that they share,
 * who is asked for first goes first. */
static void ask_for_copies(cebus_capture *capture, size_t done, size_t due)
{
    for (;;) {
        const cebus_advice_copy *out = next_out(capture->plan, done);
        const cebus_advice_copy *in = next_in(capture, done, due);
        if (out == NULL && in == NULL)
            return;
        if (in == NULL || (out != NULL && out->start_ns <= in->start_ns))
            send(capture);
        else
            receive(capture);
    }
}

/* --- a launch -------------------------------------------------------------------------------- */

/** It leaves the place it must not have when the iteration starts. */
static void clear_place(cebus_capture *capture, uint32_t buffer)
{
    const cebus_capture_plan *plan = capture->plan;
    cebus_candidate *candidate = holds(capture, buffer);
    uint32_t edge = plan->edges[buffer];
    if (candidate == NULL || candidate->block == NULL || !cebus_candidate_is_idle(candidate) ||
        (edge != NONE && plan->blocks[edge].offset == candidate->block->offset))
        return;
    copy_out(capture, candidate);
    if (candidate->host == NULL)
        return;
    candidate->method = CEBUS_GO_SWAP;
    cebus_ladder_give_up(capture->rt, candidate);
}

void cebus_capture_plan_begin(cebus_capture *capture)
{
    cebus_capture_plan *plan = capture->plan;
    plan->out = plan->in = 0;
    for (size_t b = 0; b < plan->n_buffers; b++)
        plan->newest[b] = NONE;
    for (size_t v = 0; v < capture->n_values; v++) {
        capture->values[v].left = plan->reads[v];
        if (capture->values[v].maker == NONE && plan->home[v] != NONE)
            plan->newest[plan->home[v]] = (uint32_t)v;
    }
    for (uint32_t b = 0; b < plan->n_buffers; b++)
        clear_place(capture, b);
    for (uint32_t b = 0; b < plan->n_buffers; b++) {
        if (plan->edges[b] != NONE)
            fetch(capture, holds(capture, b), plan->blocks[plan->edges[b]].offset);
    }
    ask_for_copies(capture, 0, 0);
}

void cebus_capture_plan_before(cebus_capture *capture, size_t k)
{
    ask_for_copies(capture, k, k);
    choose_spots(capture, k);
}

/** A copy on the host counts as there, and nothing would be made again: so while the call runs it
 * counts as one beside bytes on the device, as it will afterwards. */
static void look_past_copies(cebus_runtime *rt, const cebus_spots *spots)
{
    for (uint32_t i = 0; i < spots->n_back; i++) {
        cebus_candidate *candidate = (cebus_candidate *)spots->back[i];
        if (!candidate->value.swapped || candidate->value.producer == NULL)
            continue;
        candidate->value.swapped = false;
        cebus_swap_spare(rt, candidate, true);
        cebus_version_changed(&rt->lineage, &candidate->value);
        cebus_burden_left(&rt->lineage, &candidate->value);
    }
}

/** What was not made is on the host, as before. */
static void look_at_copies(cebus_runtime *rt, const cebus_spots *spots)
{
    for (uint32_t i = 0; i < spots->n_back; i++) {
        cebus_candidate *candidate = (cebus_candidate *)spots->back[i];
        if (candidate->host == NULL || cebus_value_is_present(&candidate->value))
            continue;
        candidate->value.swapped = true;
        cebus_version_changed(&rt->lineage, &candidate->value);
        cebus_burden_forget(&rt->lineage);
        cebus_swap_spare(rt, candidate, false);
    }
}

/** All that it brings back has one record: that of the call. */
void cebus_capture_plan_again(cebus_capture *capture, size_t k)
{
    cebus_runtime *rt = capture->rt;
    const cebus_spots *spots = &capture->plan->spots;
    cebus_call *call = NULL;
    (void)k;
    for (uint32_t i = 0; i < spots->n_back; i++) {
        cebus_value *value = &((cebus_candidate *)spots->back[i])->value;
        value->pins++;
        if (!value->resident && value->producer != NULL)
            call = value->producer;
    }
    if (call != NULL && cebus_call_has_inputs(call)) {
        look_past_copies(rt, spots);
        bool busy = rt->replay.busy;
        rt->replay.busy = true;
        rt->trial++;
        if (cebus_replay_call(rt, call, CEBUS_REPLAY_WANTED) == CEBUS_OK)
            rt->stats.planned_replays++;
        rt->trial--;
        rt->replay.busy = busy;
        look_at_copies(rt, spots);
    }
    for (uint32_t i = 0; i < spots->n_back; i++)
        ((cebus_candidate *)spots->back[i])->value.pins--;
}

void cebus_capture_plan_after(cebus_capture *capture, size_t k)
{
    const cebus_capture_plan *plan = capture->plan;
    leave_all(capture, k);
    ask_for_copies(capture, k + 1, k + 1 < plan->n_steps ? k : SIZE_MAX);
}
