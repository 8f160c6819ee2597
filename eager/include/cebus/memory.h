/**
 * @file memory.h
 * What memory is used for: statistics under PyTorch's names, and the out-of-memory report.
 */
#ifndef CEBUS_MEMORY_H
#define CEBUS_MEMORY_H

#include <cebus/hint.h>
#include <cebus/tensor.h>

CEBUS_BEGIN_DECLS

/** Counters since creation (peaks since the last reset). Filled up to struct_size. */
typedef struct cebus_memory_stats {
    size_t struct_size;                 /**< sizeof this struct, as the caller was compiled */
    uint64_t allocated_bytes_current;   /**< allocated_bytes.all.current: used in the arena */
    uint64_t allocated_bytes_peak;      /**< allocated_bytes.all.peak */
    uint64_t allocated_bytes_allocated; /**< sum of all that was ever placed */
    uint64_t reserved_bytes_current;    /**< the arena: the budget, or its part in use so far */
    uint64_t active_bytes_persistent;   /**< parameters, optimizer state, buffers */
    uint64_t inactive_split_bytes;      /**< free bytes below the largest hole: fragmentation */
    uint64_t largest_hole;              /**< bytes of the largest free block */
    uint64_t num_alloc_retries;         /**< requests that needed an eviction */
    uint64_t num_ooms;                  /**< calls that failed for want of memory */
    uint64_t calls;                     /**< kernels run for the program, replays not counted */
    uint64_t evictions;                 /**< values dropped under pressure */
    uint64_t dropped_bytes;             /**< their bytes */
    uint64_t eager_drops;               /**< values dropped because nobody held them any more */
    uint64_t recomputes;                /**< kernels run again by replays */
    uint64_t recompute_ns;              /**< their time */
    uint64_t compute_ns;                /**< kernels of the program proper */
    uint64_t searches;                  /**< victim searches */
    uint64_t search_ns;                 /**< their time */
    uint64_t compactions;               /**< times the compaction rung was climbed */
    uint64_t moved_bytes;               /**< by compactions */
    uint64_t lineage_cuts;              /**< times records were given up to free what they kept */
    uint64_t fragmentation_ppm_sum;     /**< over retries: max(0, free - request) / budget, 1e-6 */
    uint64_t fragmentation_ppm_max;     /**< the largest of these */
    uint64_t live_records;              /**< call records in host memory */
    uint64_t host_bytes;                /**< host memory of the books */
    uint64_t iterations;                /**< cebus_iteration_mark() so far */
    uint64_t stranded_bytes_max; /**< at a forced eviction: free bytes in holes below the request */
    uint64_t swap_outs;          /**< values copied to the host */
    uint64_t swap_ins;           /**< and back */
    uint64_t swapped_out_bytes;  /**< their bytes, device to host */
    uint64_t swapped_in_bytes;   /**< host to device */
    uint64_t swapped_bytes_current; /**< host memory that holds values now */
    uint64_t prefetches;            /**< of swap_ins: started before they were asked for */
    uint64_t device_ns; /**< the device's clock when all enqueued so far is done; sim: virtual */
    uint64_t stall_ns;  /**< of it: compute waited for copies */
    uint64_t outside_bytes; /**< device memory outside the arena: library handles, hidden scratch */
    uint64_t forced_evictions;    /**< requests that something was given up for */
    uint64_t forced_free_ppm_sum; /**< over these, as they came: max(0, free - request) / budget */
    uint64_t forced_free_ppm_max; /**< the largest of these */
    uint64_t unused_ppm_sum;      /**< over these, once they had a place: free / budget */
    uint64_t unused_ppm_max;      /**< the largest of these */
    uint64_t unused_with_request_ppm_sum; /**< the same, the request still counted as free */
    uint64_t planned_replays;    /**< of recomputes: a plan had them run before they were needed */
    uint64_t planned_placements; /**< values that went where a plan had a place for them */
    uint64_t missed_placements;  /**< values whose place was taken: they went elsewhere */
    /** @name Under a policy that plans: what its plans are for. */
    /** @{ */
    uint64_t iterations_found; /**< told apart by what they do, or by marks */
    uint64_t
        iterations_repeated;   /**< of these: one that was known, from its first call to its last */
    uint64_t iterations_known; /**< remembered now: each of another kind, each has its plan */
    uint64_t iteration_signature; /**< of the one that is followed now; 0: none */
    /** @} */
    uint64_t spilled_bytes;          /**< of swapped_out_bytes: to the spill file */
    uint64_t unspilled_bytes;        /**< of swapped_in_bytes: from it */
    uint64_t spill_bytes_current;    /**< of the file that holds values now */
    uint64_t spill_failures;         /**< values that could not be written, or not read */
    uint64_t pageable_bytes_current; /**< of swapped_bytes_current: not page-locked, so slower */
    /** @name The last iteration that was guided from its first call to its last. */
    /** @{ */
    uint64_t guided_iterations;   /**< so many so far */
    uint64_t guided_peak_bytes;   /**< used in the arena at most */
    uint64_t guided_predicted_ns; /**< what its plan said it takes; 0: nothing */
    /** Kernels, replays, waiting for copies, blocks that move; on simulated machines all of it, by
     * the device's clock: waiting for the host to ask, too. */
    uint64_t guided_measured_ns;
    uint64_t guided_lost_ns; /**< of these: all that the program does not take with enough memory */
    uint64_t guided_swap_outs;     /**< values copied to the host or the spill file */
    uint64_t guided_swapped_bytes; /**< their bytes */
    uint64_t guided_recomputes;    /**< kernels run again */
    uint64_t guided_actions;       /**< of its plan */
    uint64_t guided_missed;        /**< of these: found nothing to do, or no room */
    uint64_t guided_unforeseen;    /**< evictions, replays, copies back that no plan asked for */
    uint64_t moved_triggers;       /**< copies back that start earlier, since they came late */
    uint64_t replans;              /**< plans made anew because prediction and measurement parted */
    /** @} */
    /** @name Plans from files (<cebus/plan.h>). */
    /** @{ */
    uint64_t plans_loaded;  /**< read */
    uint64_t plans_used;    /**< times one took the place of a search */
    uint64_t plans_refused; /**< times one did not fit the iteration, or what there is now */
    /** @} */
    /** @name Copies off the device. */
    /** @{ */
    uint64_t copies_ahead;       /**< of swap_outs: before anybody needed the room, with no plan */
    uint64_t copied_ahead_bytes; /**< their bytes */
    uint64_t clean_evictions;    /**< of evictions: a copy off the device was there already */
    uint64_t demotions;          /**< values that went from the host on to the spill file */
    uint64_t demoted_bytes;      /**< their bytes */
    /** @} */
} cebus_memory_stats;

/** To be filled. */
#define CEBUS_MEMORY_STATS_INIT                                                                    \
    {                                                                                              \
        .struct_size = sizeof(cebus_memory_stats)                                                  \
    }

/** All counters at once. */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_runtime_memory_stats(cebus_runtime *rt,
                                                                   cebus_memory_stats *out);
/** Bytes used in the arena now. */
CEBUS_API uint64_t cebus_memory_allocated(cebus_runtime *rt);
/** The most since creation or the last reset. */
CEBUS_API uint64_t cebus_max_memory_allocated(cebus_runtime *rt);
/** Bytes of the arena: the budget. */
CEBUS_API uint64_t cebus_memory_reserved(cebus_runtime *rt);
/** Peaks start again from what is used now. */
CEBUS_API void cebus_reset_peak_memory_stats(cebus_runtime *rt);

/**
 * The report of the runtime's last out-of-memory error: bytes wanted, budget, live bytes by
 * class, largest hole, stranded bytes, rungs tried, the ten largest values that could not go and
 * why not. Returns the length it wanted, as snprintf does; empty when there was none.
 */
CEBUS_API size_t cebus_runtime_oom_report(cebus_runtime *rt, char *text, size_t text_bytes);

/**
 * One line on where values wait off the device: each tier with what it holds, its budget, and how
 * it works, as in "spill file 12 of 64 MiB, io_uring, direct". Returns the length it wanted, as
 * snprintf does.
 */
CEBUS_API size_t cebus_runtime_tiers(cebus_runtime *rt, char *text, size_t text_bytes);

/** A text picture of the arena, one line a block, for debugging. As snprintf. */
CEBUS_API size_t cebus_runtime_dump(cebus_runtime *rt, char *text, size_t text_bytes);

/** Verifies every invariant of arena and lineage, and that no value is in use when no call is under
 * way. CEBUS_INTERNAL names the first violation. */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_runtime_check(cebus_runtime *rt);

/**
 * What the calling thread makes from now on until cebus_hint_pop(), on any runtime, has this hint
 * (NONE: none again). Scopes lie within each other, at most 64 deep (CEBUS_INVALID_ARGUMENT
 * beyond); the innermost counts.
 */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_hint_push(cebus_hint hint);
/** Ends the innermost scope. CEBUS_INVALID_ARGUMENT: there is none. */
CEBUS_API cebus_status cebus_hint_pop(void);
/** Of the calling thread's innermost scope. */
CEBUS_API cebus_hint cebus_hint_current(void);
/** Sets the hint of what the tensor and all views of its storage show now; what is written there
 * later, outside any scope, keeps it. */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_tensor_set_hint(cebus_tensor *tensor,
                                                              cebus_hint hint);
/** The hint that it has. */
CEBUS_API cebus_hint cebus_tensor_hint(const cebus_tensor *tensor);

CEBUS_END_DECLS

#endif
