/**
 * runtime.h: the runtime's inside, shared by the files of eager. Everything here is protected by
 * the runtime's lock, which the outermost public call takes (cebus_runtime_lock) and which nested
 * calls of the same thread enter again.
 */
#ifndef CEBUS_EAGER_RUNTIME_H
#define CEBUS_EAGER_RUNTIME_H

#include <pthread.h>
#include <stdatomic.h>

#include <cebus/log.h>
#include <cebus/memory.h>
#include <cebus/runtime.h>

#include "eager/device/device.h"
#include "eager/measure.h"
#include "eager/swap/reckoning.h"
#include "eager/trail.h"
#include "evict/choice/lowest.h"
#include "layout/zones.h"
#include "lineage/replay.h"

/** What the runtime remembers of an op on its device: the kernel, and what its outputs cost. */
typedef struct cebus_op_entry {
    const cebus_op *op;
    const cebus_kernel *kernel;
    uint8_t zone; /**< cebus_zone of its outputs, from the cost density of its runs or its name */
    bool ran;     /**< the zone is more than a guess */
} cebus_op_entry;

/** Open-addressing map from op to entry; grows by doubling. */
typedef struct cebus_op_map {
    cebus_op_entry *entries;
    size_t count, capacity;
} cebus_op_map;

typedef struct cebus_event_queue {
    cebus_event_hook hook;
    void *context;
    cebus_event *events;
    size_t count, capacity;
    size_t delivered; /**< of count; below it unless both are zero */
} cebus_event_queue;

/** A running replay's list, copied out of lineage's scratch. */
typedef struct cebus_replay_buffer {
    cebus_call **calls;
    size_t capacity;
    bool busy;
} cebus_replay_buffer;

/** How far the backward has come, and what plans for the rest of it took (foresight.h). */
typedef struct cebus_foresight {
    uint64_t turn;               /**< the turn (lineage/turn.h) that it went back from */
    uint64_t oldest;             /**< serial of the earliest call that ran again since */
    uint64_t rebuilt_ns, ran_ns; /**< stats.recompute_ns, compute_ns, when the way back began */
    uint64_t allowed_ns;         /**< of rebuilding on top, until another guess is tried */
    unsigned guess;              /**< a cebus_guess (mirror.h): the one in use */
    uint32_t failed;             /**< times in a row that it led to no plan */
    uint64_t steps;              /**< of planning, so far */
    bool begun;                  /**< rebuilding took so long once that rebuilds are planned */
    bool running;                /**< a plan is carried out: its bytes fit, in whatever holes */
} cebus_foresight;

/** Since when rebuilding and the program's own calls are compared (strain.h): readings of
 * stats.recompute_ns and stats.compute_ns. */
typedef struct cebus_strain {
    uint64_t rises;                          /**< turns risen to (lineage/turn.h), when last read */
    uint64_t rebuilt_ns, ran_ns;             /**< when the last calm iteration began */
    uint64_t rebuilt_until_ns, ran_until_ns; /**< when this iteration began */
    bool holds;                              /**< rebuilding took longer than the program since */
} cebus_strain;

/** Bytes that rebuilds take together with what must not go meanwhile (headroom.h). */
typedef struct cebus_headroom {
    uint64_t turn;   /**< the turn that it was measured for; 0: none yet */
    uint64_t next;   /**< it is measured again once the program made so many calls */
    uint64_t step;   /**< of the widest step of the forward, when last measured */
    uint64_t most;   /**< of that step and what waits, the most since the turn */
    uint64_t before; /**< most of the way back before this one; of the first one a guess */
    bool has_room;   /**< cebus_headroom_suffices(), when last measured */
} cebus_headroom;

/** What a rebuild may evict: all that goes for it has to be rebuilt in turn. */
typedef struct cebus_rebuild_limit {
    uint64_t ns; /**< what takes longer to rebuild stays; 0: no limit */
    bool binds;  /**< something stayed for it, without which the rebuild might get on */
} cebus_rebuild_limit;

/** The request that ran out of memory last (oom.c). */
typedef struct cebus_shortage {
    const char *op;
    uint64_t bytes;
    uint64_t hole; /**< bytes of the largest hole there was */
} cebus_shortage;

/** A call that waits for its inputs (cebus_edge.pinned: those it has). */
typedef struct cebus_replay_frame {
    cebus_call *call;
    uint64_t begun_ns; /**< what replays had taken when it began to wait */
} cebus_replay_frame;

typedef struct cebus_replay_stack {
    cebus_replay_frame *frames;
    size_t count, capacity;
} cebus_replay_stack;

/** A copy off the device that nobody needs once both streams got there. */
typedef struct cebus_host_bytes {
    void *pointer; /**< as candidate->host */
    uint64_t bytes;
    uint64_t out_mark, in_mark;
    cebus_tier tier;
} cebus_host_bytes;

struct cebus_spill;
struct cebus_spill_copy;

/** Kinds of iterations that a watch knows (capture/watch.c). */
#define CEBUS_WATCH_PRINTS 32

/** So many values at most are on their way from the host to the spill file. */
#define CEBUS_DEMOTIONS 8

/** A value on its way (demotion.h). */
typedef struct cebus_demotion {
    cebus_candidate *candidate;
    struct cebus_spill_copy *copy; /**< that is being written */
} cebus_demotion;

/** Values that are off the device alone (away.h). */
typedef struct cebus_away {
    cebus_candidate *coldest, *warmest;
} cebus_away;

/** When a policy that plans begins to learn what the program does (guidance/guidance.h). */
typedef enum cebus_learning {
    CEBUS_LEARNS,
    CEBUS_LEARNS_ONCE_SHORT, /**< once memory was short */
    CEBUS_LEARNS_NEXT,       /**< it was: from the next call on */
} cebus_learning;

/** Values on the host and in the spill file (swap.h). */
typedef struct cebus_swapper {
    cebus_swap option;
    uint64_t budget;           /**< most bytes off the device, whichever tier */
    uint64_t host_budget;      /**< of these, on the host */
    uint64_t pinned_budget;    /**< of the host's, page-locked */
    uint64_t used_bytes;       /**< taken on the host now */
    uint64_t pageable_bytes;   /**< of these: in memory that is not page-locked, and could be */
    uint64_t spare_bytes;      /**< of these: of what is on the device, too, or was abandoned */
    uint64_t leaving_bytes;    /**< of these: of nobody any more, but a stream may be at them */
    struct cebus_spill *spill; /**< the file (spill/spill.h); NULL: none */
    uint64_t spill_spare;      /**< bytes in it of what is on the device, too, or was abandoned */
    char *stage[2];            /**< host memory on the way to and from it (spill_copy.h) */
    uint64_t looked;           /**< bytes ever placed when write-behind last looked */
    bool blocked;              /**< a swap-out failed during the request at hand */
    bool refused;              /**< one did since the device refused the copy */
    bool strained;             /**< once and for all: persistent values may leave, too (swap.h) */
    cebus_away away[2][2];     /**< on the host, in the file; held, abandoned (away.h) */
    cebus_demotion demotions[CEBUS_DEMOTIONS];
    size_t n_demotions;
    uint64_t demoting_bytes;                        /**< on the host, of these */
    cebus_reckoning reckonings[CEBUS_STREAM_COUNT]; /**< by stream, of copies */
    cebus_host_bytes *leaving;                      /**< to be freed when their copies are done */
    size_t count, capacity;
} cebus_swapper;

struct cebus_runtime {
    /* The lock, and the runtime's life. */
    pthread_mutex_t mutex;
    _Atomic(uintptr_t) owner; /**< identity of the thread that holds the lock, 0: none */
    int depth;                /**< nested entries of that thread */
    bool in_kernel;           /**< a kernel or callback runs: calling back is an error */
    bool closing;             /**< destroyed by its user; goes with the last tensor */
    uint64_t handles;         /**< tensors alive */

    /* What the lower folders keep: bytes, records, choices. */
    cebus_host_allocator host;
    cebus_pool pool;
    cebus_arena arena;
    cebus_lineage lineage;
    cebus_density density;
    const cebus_policy *policy;
    cebus_standing standing;        /**< what its last sweep over many blocks found out */
    uint64_t ways[CEBUS_WAY_COUNT]; /**< requests met by each, of those that made something go */

    /* The device, and its memory. */
    const cebus_device_ops *device_ops;
    cebus_device *device;
    void *device_context;
    cebus_device_info info;
    char device_name[64]; /**< as the user wrote it */
    char *base;           /**< address of offset 0 */
    uint64_t slab_bytes;  /**< reserved address space */
    uint64_t most_bytes;  /**< what the budget can grow to */
    uint64_t growth;      /**< what the arena grows to by need (budget.h); 0: it does not */
    cebus_op_map ops;
    struct cebus_custom_entry *customs; /**< users' ops seen so far */
    cebus_cost_model cost_model;
    cebus_measure measure;
    cebus_swapper swap;
    cebus_trail trail; /**< last uses of free bytes */

    /* Rebuilds. */
    cebus_replay_buffer replay;        /**< of the running rebuild: its list, */
    cebus_rebuild_limit rebuild_limit; /**< what may go for it, */
    bool depth_first;                  /**< whether it runs depth first: then */
    cebus_replay_stack stack;          /**< the calls that wait, */
    cebus_replay_cursor cursor;        /**< and how far it has come */
    cebus_foresight foresight;
    cebus_headroom headroom;
    cebus_strain strain;

    /* The request and the call at hand. */
    int trial;    /**< > 0: the caller has another way if memory runs out, so nothing is reported */
    bool retries; /**< the caller may try again in more memory: reported, not told yet */
    cebus_shortage shortage; /**< reported last (oom.c) */
    cebus_rung rung;         /**< highest rung the running request climbed */
    bool overwriting;  /**< the running call writes in place to what a record made: records stay */
    bool half_written; /**< a kernel of the user failed, and had written in place (custom.c) */
    bool left_behind;  /**< persistent values were let go that records may still read */

    /* Clocks, counters and names. */
    uint64_t clock_ns; /**< summed cost of all calls, replays included: what ages count */
    uint64_t seed, rng_offset;
    uint64_t serial; /**< versions made so far */
    uint64_t names;  /**< given to values by guidance so far */
    uint32_t debug;
    uint64_t chaos; /**< state of the chaos mode's generator */

    /* The graph for backward. */
    uint64_t node_sequence, node_epoch; /**< graph nodes made; backward visits */
    uint64_t nodes;                     /**< graph nodes alive */
    uint64_t open_nodes;                /**< of these: no backward has freed them */
    struct cebus_walk *walk;            /**< the backward that runs (autograd/walk.h) */
    struct cebus_hook *released; /**< contexts to let go outside the lock (autograd/hook.h) */
    uint64_t hook_ids;           /**< given out so far */
    uint64_t backwards;          /**< backwards that gave leaves their gradients */

    /* What follows the program: traces, captures, plans. */
    struct cebus_recorder *recorder; /**< of a trace (trace/record.h); NULL: none is recorded */
    uint64_t trace_ids;              /**< given out so far, to all traces */
    struct cebus_capture *capture;  /**< that calls are recorded by (capture/hooks.h); NULL: none */
    uint64_t captures, capture_ids; /**< begun so far; values they had, together */
    struct {
        bool on;                             /**< each iteration is recorded (capture/watch.c) */
        bool due;                            /**< the next call begins one */
        bool whole;                          /**< what was recorded ended there */
        bool aside;                          /**< calls are made for the host alone */
        uint64_t prints[CEBUS_WATCH_PRINTS]; /**< of iterations that ended: the last ones */
        size_t n_prints;
    } watch;
    const struct cebus_spots *spots; /**< of a launch by a plan (capture/plan.h); NULL: none */
    struct cebus_guidance *guidance; /**< of a policy that plans (guidance.h); NULL: it does not */
    cebus_learning learning;         /**< when guidance starts */
    struct cebus_plan_book *loaded;  /**< plans from files (loaded.h); NULL: none */

    /* What users are told. */
    uint64_t iteration_peak; /**< bytes used at most since the iteration began (appraisal.h) */
    cebus_memory_stats stats;
    cebus_event_queue events;
    char oom_report[4096];
};

/** Takes the lock (again); CEBUS_REENTRANT when the calling thread is inside a kernel. */
cebus_status cebus_runtime_lock(cebus_runtime *rt, const char *function);
/** The same for functions that cannot fail, as a release. */
void cebus_runtime_lock_always(cebus_runtime *rt);
/** The last exit unlocks, then delivers events. */
void cebus_runtime_unlock(cebus_runtime *rt);
/** What public functions that take a file do: `act` on it under the lock; NULL is no path. */
cebus_status cebus_runtime_use_file(cebus_runtime *rt, const char *function, const char *path,
                                    cebus_status (*act)(cebus_runtime *rt, const char *path));
/** Gives the lock away however often this thread took it, and delivers events; answers how often.
 * The runtime does not go meanwhile. */
int cebus_runtime_leave(cebus_runtime *rt);
void cebus_runtime_enter(cebus_runtime *rt, int depth);

/** The op's entry, found or made. CEBUS_UNSUPPORTED when the device lacks the kernel. */
cebus_status cebus_op_entry_find(cebus_runtime *rt, const cebus_op *op, cebus_op_entry **out);

/** An op's outputs keep their zone unless what they cost a byte has moved far. */
void cebus_op_entry_learn(cebus_runtime *rt, cebus_op_entry *entry, uint64_t cost_ns,
                          uint64_t bytes);

/** The kernel of a custom op (custom.c). */
const cebus_kernel *cebus_custom_kernel(const cebus_op *op);

/** Queues an event (free of cost without a hook). The caller leaves time_ns to it. */
void cebus_event_emit(cebus_runtime *rt, cebus_event event);

#endif
