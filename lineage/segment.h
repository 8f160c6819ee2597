/**
 * segment.h: where one iteration of the program ends and the next begins, found in the stream of
 * its calls alone.
 *
 * Programs that train end an iteration by writing their parameters. Such writes come in a run:
 * writes to parameters and optimizer state, and calls that read nothing but gradients and what the
 * run itself made. The first call after it begins the next iteration. Writes to buffers (running
 * statistics) and to gradients alone begin no run: they happen in the middle.
 *
 *     conv loss conv' | sgd sgd sgd | conv loss ...
 *                       the run     ^ begins
 *
 * Programs that write no parameters (inference, evaluation) repeat themselves all the same. Every
 * call has an id that says what it is and how its inputs came about: the parameter itself, a leaf,
 * or made so many calls ago. When the ids of 2p calls are those of the p calls before each, p is
 * a period, and iterations begin where nothing made before is read after. That is what tells the
 * loop from the layers in it: the second of two equal layers reads what the first made, the second
 * iteration does not. Layers that run side by side are told by what they leave behind: while the
 * graph for a backward grows, or a backward has brought gradients that no write has used yet, no
 * period counts.
 *
 *     ids    a b b b c | a b b b c | a b b b c | a           p = 5, not 1
 *            first       again       again      begins: found
 *
 * A wrong guess costs speed, never bits. O(1) a call; memory: 192 KiB, taken when the first period
 * is looked for. Periods above CEBUS_SEGMENT_PERIOD calls are not found; below CEBUS_SEGMENT_LEAST
 * they are none: a line of code in a loop, for which to plan would cost more than it could bring.
 */
#ifndef CEBUS_LINEAGE_SEGMENT_H
#define CEBUS_LINEAGE_SEGMENT_H

#include <cebus/base.h>

#include "layout/pool.h"

#define CEBUS_SEGMENT_PERIOD (UINT32_C(1) << 14)
#define CEBUS_SEGMENT_LEAST 4

/** What is known of a call before it is made. */
typedef struct cebus_segment_call {
    uint64_t id;
    uint32_t reach;         /**< calls since the first of those that made its inputs; 0: none did */
    bool writes_parameter;  /**< in place; or optimizer state that goes with one */
    bool writes_persistent; /**< in place, whatever it is */
    bool reads_update;      /**< gradients of leaves, or what came up in the run */
    bool in_graph;          /**< a backward will want it */
} cebus_segment_call;

/** What the program holds when the call is about to be made. */
typedef struct cebus_segment_scene {
    uint64_t backwards; /**< that gave leaves their gradients, so far */
    uint64_t graph;     /**< nodes of the graph, now */
} cebus_segment_scene;

typedef struct cebus_segmenter {
    cebus_pool *pool;   /**< borrowed */
    uint64_t *ids;      /**< of the last calls: a ring */
    uint32_t *last;     /**< by id, lossy: the call that had it last */
    uint32_t n;         /**< calls so far */
    uint32_t floor;     /**< calls before it belong to an iteration that ended otherwise */
    uint32_t period;    /**< supposed; 0: none */
    uint32_t matched;   /**< calls in a row that came a period before, too */
    uint32_t start;     /**< iterations begin here and whole periods later, as far as is seen */
    uint64_t graph;     /**< nodes of the graph when the last such iteration began */
    uint64_t backwards; /**< when this segment began */
    bool updating;      /**< a run of writes is on */
} cebus_segmenter;

void cebus_segmenter_init(cebus_segmenter *segmenter, cebus_pool *pool);
void cebus_segmenter_deinit(cebus_segmenter *segmenter);

/** Whether the run of writes that is on ends before this call. */
bool cebus_segmenter_updated(const cebus_segmenter *segmenter, const cebus_segment_call *call);
/** Whether an iteration of a loop that writes nothing begins with this call. */
bool cebus_segmenter_repeats(const cebus_segmenter *segmenter, const cebus_segment_call *call,
                             const cebus_segment_scene *scene);
/** Whether it looks for a period: until a backward, or a write to a parameter, tells that the
 * iteration will end otherwise. If not, ids and reaches of calls need not be worked out. */
bool cebus_segmenter_is_looking(const cebus_segmenter *segmenter, const cebus_segment_scene *scene);
/** Whether nothing hints at a backward that is still to come, or whose gradients wait. */
bool cebus_segmenter_is_quiet(const cebus_segmenter *segmenter, const cebus_segment_scene *scene);

/** The call was made. */
void cebus_segmenter_add(cebus_segmenter *segmenter, const cebus_segment_call *call,
                         const cebus_segment_scene *scene);
/** An iteration begins with the next call. `repeats`: because of the period found. */
void cebus_segmenter_cut(cebus_segmenter *segmenter, bool repeats,
                         const cebus_segment_scene *scene);

#endif
