/**
 * @file advise.h
 * Plans for programs that repeat exactly: in which order the calls of an iteration run, what leaves
 * the device and comes back meanwhile, what is made again, and where everything lies, so that the
 * iteration fits a memory and takes little time. Found by a genetic search over plans that a
 * simulator times (SwapAdvisor, Huang, Jin and Li, ASPLOS 2020), as published or with more freedom.
 *
 * Thread-safety: any thread may call; calls share nothing. Nothing here sets cebus_last_error():
 * the result says what is wrong.
 */
#ifndef CEBUS_ADVISE_H
#define CEBUS_ADVISE_H

#include <cebus/base.h>

CEBUS_BEGIN_DECLS

/** A value of an iteration: one version of what some buffer holds. */
typedef struct cebus_advise_value {
    uint64_t bytes;  /**< of its buffer */
    bool persistent; /**< there before the iteration and after it: parameters, optimizer state */
    bool given;      /**< comes from outside: on the host when the iteration begins */
    bool kept;       /**< outlives the iteration, on the host or on the device */
} cebus_advise_value;

/** A call. From `refs` on, cebus_advise_program.refs has n_in distinct values read, the first
 * n_written of which are overwritten by the first n_written of the n_out values made, which follow
 * (the same number there: a new version under the same name). */
typedef struct cebus_advise_call {
    uint64_t cost_ns;   /**< of one run; 0 counts as 1 */
    uint64_t workspace; /**< scratch bytes */
    size_t refs;        /**< index of its first value in refs */
    uint32_t n_in;      /**< values read */
    uint32_t n_out;     /**< values made */
    uint32_t n_written; /**< of both: in place */
    bool replayable;    /**< it can run again */
    bool stateful;      /**< it may keep a state of its own: such calls stay in program order */
} cebus_advise_call;

/** An iteration in program order. All borrowed. */
typedef struct cebus_advise_program {
    const cebus_advise_value *values; /**< n_values */
    const cebus_advise_call *calls;   /**< n_calls */
    const uint32_t *refs;             /**< n_refs values, by index */
    size_t n_values;                  /**< at most 2^24 */
    size_t n_calls;                   /**< at most 2^20 */
    size_t n_refs;                    /**< at most 2^24 */
} cebus_advise_program;

/** The link between device and host. */
typedef struct cebus_advise_link {
    uint64_t out, in;    /**< bytes/s to the host and from it; 0: nothing can be copied */
    uint64_t both;       /**< bytes/s of both together */
    uint64_t latency_ns; /**< of each copy */
} cebus_advise_link;

/** How to search. Start from CEBUS_ADVISE_OPTIONS_INIT. */
typedef struct cebus_advise_options {
    size_t struct_size;     /**< sizeof this struct, as the caller was compiled */
    uint64_t memory;        /**< bytes of the device */
    cebus_advise_link link; /**< copies */
    uint64_t seed;          /**< other seeds, other plans */
    uint64_t generations;   /**< of the search, at most; 0: only what it starts from */
    unsigned threads;       /**< 0 means 1; any number finds the same plan */
    bool fix_order;         /**< calls run in program order */
    /** As published: memory in pools of equal objects, nothing is made again. */
    bool published;
    /** Asked after each generation; false ends the search. best_ns: an iteration under the best
     * plan so far, UINT64_MAX if none fits. NULL: go on. */
    bool (*go_on)(void *context, uint64_t generation, uint64_t best_ns);
    void *context; /**< handed to go_on */
    const cebus_host_allocator
        *host; /**< NULL: malloc and free. Used by the calling thread alone */
} cebus_advise_options;

/** All defaults. */
#define CEBUS_ADVISE_OPTIONS_INIT                                                                  \
    {                                                                                              \
        .struct_size = sizeof(cebus_advise_options)                                                \
    }

/** A call that runs. */
typedef struct cebus_advice_step {
    uint32_t call;             /**< index */
    bool again;                /**< for the sake of something that was dropped */
    uint64_t start_ns, end_ns; /**< as foreseen */
} cebus_advice_step;

/** A copy. Those of one direction run one after another, as listed. */
typedef struct cebus_advice_copy {
    uint32_t value;            /**< any value of the buffer */
    bool in;                   /**< to the device */
    uint32_t after;            /**< steps done before it may start */
    uint32_t before;           /**< of copies in: the step that waits for it; n_steps: the end */
    uint64_t start_ns, end_ns; /**< as foreseen */
} cebus_advice_copy;

/** What a block begins or ends with. */
typedef enum cebus_advice_event {
    CEBUS_ADVICE_EDGE, /**< the iteration's own start or end */
    CEBUS_ADVICE_STEP, /**< a step: its start, its end */
    CEBUS_ADVICE_COPY, /**< a copy: in, its start; out, its end */
} cebus_advice_event;

/** Bytes on the device, for a while. */
typedef struct cebus_advice_block {
    uint32_t value;          /**< any value of the buffer; UINT32_MAX: scratch of a step */
    uint64_t offset, bytes;  /**< from the start of the memory */
    uint8_t born, dies;      /**< cebus_advice_event */
    uint32_t born_at;        /**< index of the step or copy */
    uint32_t dies_at;        /**< likewise */
    uint64_t from_ns, to_ns; /**< as foreseen */
} cebus_advice_block;

/** A plan. */
typedef struct cebus_advice {
    uint64_t time_ns;           /**< an iteration, as foreseen */
    uint64_t ideal_ns;          /**< all calls once, one after another: with all the memory */
    uint64_t memory;            /**< that it was made for */
    uint64_t height;            /**< all blocks end at or below it */
    uint64_t plans;             /**< compared by the search */
    uint64_t generations;       /**< of the search */
    uint64_t print;             /**< of the program (cebus_advise_print()) */
    cebus_advice_step *steps;   /**< n_steps, in order */
    cebus_advice_copy *copies;  /**< n_copies */
    cebus_advice_block *blocks; /**< n_blocks */
    size_t n_steps, n_copies, n_blocks; /**< lengths */
} cebus_advice;

/** What became of a request for a plan. */
typedef enum cebus_advise_verdict {
    CEBUS_ADVISE_PLANNED,    /**< here it is */
    CEBUS_ADVISE_NO_ROOM,    /**< one call alone needs more than the memory: more is needed */
    CEBUS_ADVISE_NO_PLAN,    /**< no plan that was tried fits: search longer or give more memory */
    CEBUS_ADVISE_NO_LINK,    /**< a rate of the link is 0 */
    CEBUS_ADVISE_WRONG_CALL, /**< the program makes no sense: see `why` and `call` */
    CEBUS_ADVISE_WRONG_OPTIONS, /**< no struct_size, or more is asked for than this version knows */
} cebus_advise_verdict;

/** What a call came to. */
typedef struct cebus_advise_result {
    cebus_advise_verdict verdict; /**< meaningful with CEBUS_OK and CEBUS_INVALID_ARGUMENT */
    const char *why;              /**< of a wrong call or program: a clause, as in "it makes a value
                                   that is there already" */
    uint32_t call;                /**< that is wrong, or needs most */
    uint64_t need;                /**< bytes it needs */
} cebus_advise_result;

/**
 * Searches a plan. CEBUS_OK: *out is one, to be given to cebus_advice_destroy(), if the verdict is
 * PLANNED, else NULL. CEBUS_INVALID_ARGUMENT: program, link or options, NULL for the program, or
 * for an output, which then says nothing. CEBUS_OUT_OF_HOST_MEMORY. `options` NULL: no link.
 * The plan depends on the arguments alone, as long as go_on never ends the search. Cost: some
 * microseconds a call, for each plan compared: 144 a generation.
 */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_advise(const cebus_advise_program *program,
                                                     const cebus_advise_options *options,
                                                     cebus_advise_result *out_result,
                                                     cebus_advice **out);

/** A number that tells programs apart, 0 only for NULL. What calls cost makes no difference. */
CEBUS_API uint64_t cebus_advise_print(const cebus_advise_program *program);

/**
 * Runs a plan on paper, by rules of its own: streams in their order, every byte at its address.
 * CEBUS_OK: nothing is wrong, and *out_ns is what an iteration takes. CEBUS_INVALID_ARGUMENT:
 * `why` says which step reads what is not there, which blocks overlap, what comes to a halt, or
 * which argument is NULL. CEBUS_OUT_OF_HOST_MEMORY. The plan may come from anywhere: it is not
 * trusted. `why` and `out_ns` may be NULL.
 */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_advice_check(const cebus_advise_program *program,
                                                           const cebus_advise_link *link,
                                                           const cebus_advice *advice, char *why,
                                                           size_t why_bytes, uint64_t *out_ns);

/**
 * The same, and writes down when each step and copy starts and ends, and how long all of it takes
 * (not those of blocks): for plans from files, for another link, or for what calls cost by now.
 * Copies in start after the steps that started before them as the plan had it, so that what holds
 * goes on to hold. When it fails, times are undefined.
 */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_advice_time(const cebus_advise_program *program,
                                                          const cebus_advise_link *link,
                                                          cebus_advice *advice, char *why,
                                                          size_t why_bytes);

/** NULL is allowed. */
CEBUS_API void cebus_advice_destroy(cebus_advice *advice);

CEBUS_END_DECLS

#endif
