/**
 * detect.h: the running program as the access log and the segmenter see it (lineage/access.h,
 * lineage/segment.h): what each call is, and where iterations begin, without a mark by the program.
 *
 * A program that marks its iterations (cebus_iteration_mark()) knows better: from its first mark on
 * only marks count, until an iteration becomes too long to be learned. A launch of a capture is an
 * iteration, too; but it says nothing of those that the program runs itself: where it has marked
 * none, they are found again once it writes a parameter between launches.
 */
#ifndef CEBUS_EAGER_GUIDANCE_DETECT_H
#define CEBUS_EAGER_GUIDANCE_DETECT_H

#include "eager/call.h"
#include "eager/tensor.h"
#include "lineage/access.h"
#include "lineage/segment.h"

/** The call at hand. */
typedef struct cebus_detector {
    cebus_segmenter segmenter;
    cebus_access access; /**< its arrays are those below */
    cebus_segment_call call;
    cebus_segment_scene scene;
    uint64_t named; /**< names given before the run of writes that is on began (value.h: name) */
    bool marked;    /**< by the program, or by a launch */
    bool launched;  /**< by launches alone, and none is under way */
    bool persistent[CEBUS_MAX_INPUTS];
    cebus_value *in[CEBUS_MAX_INPUTS], *out[CEBUS_MAX_OUTPUTS];
} cebus_detector;

void cebus_detector_init(cebus_detector *detector, cebus_pool *pool);
void cebus_detector_deinit(cebus_detector *detector);

/** A call is about to be made: fills in what is known of it. O(inputs). */
void cebus_detector_look(cebus_detector *detector, const cebus_runtime *rt,
                         const cebus_access_log *log, const cebus_call *call,
                         cebus_tensor *const *in, bool in_graph);

/** A launch begins, whose calls are one iteration. */
void cebus_detector_launch(cebus_detector *detector);
/** It ended, or failed. `marked`: whether only marks of the program counted before. */
void cebus_detector_launched(cebus_detector *detector, bool marked);
/** Whether only marks of the program count. */
static inline bool cebus_detector_is_marked(const cebus_detector *detector)
{
    return detector->marked && !detector->launched;
}

/** Whether an iteration ended before it, and how. */
bool cebus_detector_finds(cebus_detector *detector, cebus_access_log *log,
                          cebus_ending *out_ending);
/** An iteration ended before the call at hand, or by a mark, after the one before. */
void cebus_detector_cut(cebus_detector *detector, const cebus_runtime *rt, cebus_ending ending);

/** The call ran: fills in the rest, and takes it in. As cebus_guidance_observe(). */
void cebus_detector_take(cebus_detector *detector, const cebus_access_log *log,
                         const cebus_call *call, cebus_tensor *const *in,
                         cebus_candidate *const *out);

#endif
