/**
 * revision.h: what becomes of a plan once iterations by it were judged (appraisal.h): it stays, is
 * set aside for a trial or comes back, or another one is asked for (planning.h).
 */
#ifndef CEBUS_EAGER_GUIDANCE_REVISION_H
#define CEBUS_EAGER_GUIDANCE_REVISION_H

#include "eager/guidance/appraisal.h"
#include "eager/guidance/state.h"

/** A plan on its way is of no more use. */
void cebus_revision_cancel(cebus_guidance *guidance);
/** The plan that was set aside for a trial comes back. False: none was. */
bool cebus_revision_restore(cebus_runtime *rt, cebus_scheme *scheme);
/** Does what a verdict says. */
void cebus_revision_obey(cebus_runtime *rt, cebus_scheme *scheme, cebus_verdict verdict);

#endif
