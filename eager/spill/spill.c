#include "eager/spill/spill.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "eager/op.h"
#include "eager/spill/checksum.h"
#include "eager/spill/extents.h"
#include "eager/spill/file.h"
#include "eager/spill/pace.h"
#include "eager/spill/queue.h"
#include "layout/number.h"
#include "lineage/error_text.h"

/** Pieces on their way at a time: enough for a disk with many channels. */
#define DEPTH 8
/** Times one piece is submitted without a byte of progress. */
#define MOST_TRIES 16

/** One of a lane's buffers, and the part of a value that is in it. */
typedef struct piece {
    cebus_io io; /* first: the queue hands it back */
    char *buffer;
    uint64_t at, bytes; /* in the value */
    uint64_t moved;     /* whole blocks */
    unsigned tries;
    struct piece *next;
} piece;

/** One direction; used by one thread. */
typedef struct lane {
    const cebus_io_engine *engine;
    cebus_io_queue *queue;
    void *memory; /* of the buffers */
    piece pieces[DEPTH];
    piece *idle;
    cebus_pace pace;
    _Atomic(uint64_t) bytes, failures, rate, latency_ns;
} lane;

struct cebus_spill {
    cebus_host_allocator host;
    cebus_pool *pool;
    cebus_spill_file file;
    cebus_extents extents;
    lane out, in;
};

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

static uint64_t whole_blocks(uint64_t bytes)
{
    return cebus_align_up(bytes, CEBUS_SPILL_ALIGNMENT);
}

/* --- opening and closing --- */

static bool lane_open(cebus_spill *spill, lane *l)
{
    uint64_t bytes = DEPTH * CEBUS_SPILL_PIECE + CEBUS_SPILL_ALIGNMENT;
    l->memory = spill->host.alloc(spill->host.context, bytes);
    if (l->memory == NULL)
        return false;
    char *aligned = (char *)whole_blocks((uintptr_t)l->memory);
    for (int i = 0; i < DEPTH; i++) {
        l->pieces[i].buffer = aligned + (uint64_t)i * CEBUS_SPILL_PIECE;
        l->pieces[i].next = l->idle;
        l->idle = &l->pieces[i];
    }
    l->queue = cebus_io_open(&spill->host, spill->file.fd, DEPTH, &l->engine);
    return l->queue != NULL;
}

static void lane_close(cebus_spill *spill, lane *l)
{
    if (l->queue != NULL)
        l->engine->close(l->queue);
    if (l->memory != NULL)
        spill->host.free(spill->host.context, l->memory);
}

void cebus_spill_close(cebus_spill *spill)
{
    if (spill == NULL)
        return;
    cebus_host_allocator host = spill->host;
    lane_close(spill, &spill->out);
    lane_close(spill, &spill->in);
    cebus_extents_deinit(&spill->extents);
    cebus_spill_file_close(&spill->file);
    host.free(host.context, spill);
}

cebus_status cebus_spill_open(const cebus_spill_setup *setup, cebus_spill **out)
{
    const cebus_host_allocator *host = setup->host;
    *out = NULL;
    cebus_spill *spill = host->alloc(host->context, sizeof *spill);
    if (spill == NULL)
        return cebus_fail(CEBUS_OUT_OF_HOST_MEMORY, "spill", "no host memory to open it");
    memset(spill, 0, sizeof *spill);
    spill->host = *host;
    spill->pool = setup->pool;
    cebus_status status = cebus_spill_file_open(setup->directory, &spill->file);
    if (status == CEBUS_OK && (!cebus_extents_init(&spill->extents, setup->budget, setup->pool) ||
                               !lane_open(spill, &spill->out) || !lane_open(spill, &spill->in)))
        status = cebus_fail(CEBUS_OUT_OF_HOST_MEMORY, "spill", "no host memory or no threads");
    if (status != CEBUS_OK) {
        cebus_spill_close(spill);
        return status;
    }
    *out = spill;
    return CEBUS_OK;
}

/* --- room --- */

static size_t record_bytes(uint64_t bytes)
{
    uint64_t pieces = (bytes + CEBUS_SPILL_PIECE - 1) / CEBUS_SPILL_PIECE;
    return sizeof(cebus_spilled) + (size_t)pieces * sizeof(uint32_t);
}

cebus_spilled *cebus_spill_take(cebus_spill *spill, uint64_t bytes)
{
    cebus_spilled *spilled = cebus_pool_alloc(spill->pool, record_bytes(bytes));
    if (spilled == NULL)
        return NULL;
    memset(spilled, 0, sizeof *spilled);
    spilled->bytes = bytes;
    spilled->extent = cebus_extents_take(&spill->extents, bytes);
    if (spilled->extent != NULL)
        return spilled;
    cebus_pool_free_object(spill->pool, spilled, record_bytes(bytes));
    return NULL;
}

void cebus_spill_give_back(cebus_spill *spill, cebus_spilled *spilled)
{
    cebus_extents_give_back(&spill->extents, spilled->extent);
    cebus_pool_free_object(spill->pool, spilled, record_bytes(spilled->bytes));
}

/* --- moving bytes --- */

/** One write or read of a value. */
typedef struct transfer {
    cebus_spill *spill;
    lane *lane;
    cebus_spilled *spilled;
    bool write;
    char *memory;           /* of the first byte */
    uint64_t at, next, end; /* in the value */
    unsigned flying;
    int error;
} transfer;

static void submit(transfer *t, piece *p)
{
    p->io = (cebus_io){
        .buffer = p->buffer + p->moved,
        .offset = t->spilled->extent->offset + p->at + p->moved,
        .bytes = (uint32_t)(whole_blocks(p->bytes) - p->moved),
        .write = t->write,
    };
    p->tries++;
    t->lane->engine->submit(t->lane->queue, &p->io);
}

static void start_piece(transfer *t)
{
    piece *p = t->lane->idle;
    t->lane->idle = p->next;
    p->at = t->next;
    p->bytes = cebus_min_u64(CEBUS_SPILL_PIECE, t->end - t->next);
    p->moved = p->tries = 0;
    t->next += p->bytes;
    if (t->write) {
        memcpy(p->buffer, t->memory + (p->at - t->at), p->bytes);
        memset(p->buffer + p->bytes, 0, whole_blocks(p->bytes) - p->bytes);
        t->spilled->sums[p->at / CEBUS_SPILL_PIECE] = cebus_checksum(p->buffer, p->bytes);
    }
    t->flying++;
    submit(t, p);
}

/** Checks a piece that was read before anything of it is believed. */
static int deliver(const transfer *t, const piece *p)
{
    if (cebus_checksum(p->buffer, p->bytes) != t->spilled->sums[p->at / CEBUS_SPILL_PIECE])
        return CEBUS_SPILL_CORRUPT;
    memcpy(t->memory + (p->at - t->at), p->buffer, p->bytes);
    return 0;
}

/** The error of a piece that got no further, or 0: try (the rest of) it again. */
static int stuck(transfer *t, piece *p)
{
    int64_t result = p->io.result;
    if (p->tries >= MOST_TRIES)
        return result < 0 ? (int)-result : EIO;
    if (result == 0)
        return t->write ? ENOSPC : EIO;
    if (result == -EINVAL && (cebus_spill_file_buffer(&t->spill->file) || p->tries == 1))
        return 0;
    if (result < 0 && result != -EAGAIN && result != -EINTR)
        return (int)-result;
    return 0;
}

/** Takes back a piece that is done, or submits what is left of it. */
static void finish_piece(transfer *t, piece *p)
{
    int error = 0;
    uint64_t wanted = whole_blocks(p->bytes);
    if (p->io.result > 0) {
        uint64_t moved = (uint64_t)p->io.result / CEBUS_SPILL_ALIGNMENT * CEBUS_SPILL_ALIGNMENT;
        p->moved = cebus_min_u64(p->moved + moved, wanted);
        p->tries = moved > 0 ? 0 : p->tries;
    }
    bool whole = p->moved == wanted;
    if (!whole)
        error = stuck(t, p);
    else if (!t->write)
        error = deliver(t, p);
    if (!whole && error == 0 && t->error == 0) {
        submit(t, p);
        return;
    }
    t->error = t->error != 0 ? t->error : error;
    t->flying--;
    p->next = t->lane->idle;
    t->lane->idle = p;
}

static int run(transfer *t)
{
    for (;;) {
        while (t->error == 0 && t->next < t->end && t->lane->idle != NULL)
            start_piece(t);
        if (t->flying == 0)
            return t->error;
        finish_piece(t, (piece *)t->lane->engine->wait(t->lane->queue));
    }
}

static void learn(lane *l, uint64_t bytes, uint64_t ns)
{
    uint64_t rate, latency_ns;
    cebus_pace_add(&l->pace, bytes, ns);
    cebus_pace_fit(&l->pace, &rate, &latency_ns);
    atomic_store(&l->rate, rate);
    atomic_store(&l->latency_ns, latency_ns);
    atomic_fetch_add(&l->bytes, bytes);
}

static int move(cebus_spill *spill, transfer *t)
{
    uint64_t start = now_ns(), bytes = t->end - t->at;
    t->spill = spill;
    int error = run(t);
    if (error != 0) {
        atomic_fetch_add(&t->lane->failures, 1);
        return error;
    }
    learn(t->lane, bytes, now_ns() - start);
    return 0;
}

void cebus_spill_write(cebus_spill *spill, cebus_spilled *spilled, uint64_t at, const char *from,
                       uint64_t bytes)
{
    transfer t = {.lane = &spill->out,
                  .spilled = spilled,
                  .write = true,
                  .memory = (char *)from,
                  .at = at,
                  .next = at,
                  .end = at + bytes};
    if (atomic_load(&spilled->write_error) == 0)
        atomic_store(&spilled->write_error, move(spill, &t));
}

void cebus_spill_read(cebus_spill *spill, cebus_spilled *spilled, uint64_t at, char *to,
                      uint64_t bytes)
{
    transfer t = {.lane = &spill->in,
                  .spilled = spilled,
                  .memory = to,
                  .at = at,
                  .next = at,
                  .end = at + bytes};
    if (atomic_load(&spilled->read_error) == 0)
        atomic_store(&spilled->read_error, move(spill, &t));
}

void cebus_spill_query(const cebus_spill *spill, cebus_spill_figures *out)
{
    *out = (cebus_spill_figures){
        .engine = spill->out.engine->name,
        .direct = atomic_load(&spill->file.direct),
        .budget = spill->extents.arena.limit,
        .used_bytes = cebus_extents_used(&spill->extents),
        .written_bytes = atomic_load(&spill->out.bytes),
        .read_bytes = atomic_load(&spill->in.bytes),
        .write_rate = atomic_load(&spill->out.rate),
        .read_rate = atomic_load(&spill->in.rate),
        .write_latency_ns = atomic_load(&spill->out.latency_ns),
        .read_latency_ns = atomic_load(&spill->in.latency_ns),
        .failures = atomic_load(&spill->out.failures) + atomic_load(&spill->in.failures),
    };
}

const char *cebus_spill_error_text(int error, char *text, size_t bytes)
{
    return error == CEBUS_SPILL_CORRUPT ? "other bytes than were written (checksum)"
                                        : cebus_error_text(error, text, bytes);
}
