/**
 * guidance_state.h: what guidance remembers, shared by its files: guidance.c learns and plans,
 * carry_out.c does what is due.
 */
#ifndef CEBUS_EAGER_GUIDANCE_STATE_H
#define CEBUS_EAGER_GUIDANCE_STATE_H

#include "eager/guidance.h"
#include "evict/guide.h"

typedef struct cebus_guidance {
    cebus_access_log log;
    cebus_plan plan;        /**< for the log's reference */
    cebus_plan_terms terms; /**< it was made for */
    uint64_t iteration_ns;  /**< the reference's calls together */
    uint64_t silent;        /**< bytes in the arena that the reference does not name */
    cebus_guide guide;
    bool left; /**< the reference was left: what only the plan kept is still there */
} cebus_guidance;

#endif
