/**
 * consequence.h: what follows from how an iteration by a plan came out (appraisal.h): the plan
 * stands, is given up or made anew, or is set aside while another, or none, is tried.
 *
 *     places and all  ->  the same without places  ->  none  ->  the best of them
 *
 * What is known to lose is not tried.
 */
#ifndef CEBUS_EAGER_GUIDANCE_CONSEQUENCE_H
#define CEBUS_EAGER_GUIDANCE_CONSEQUENCE_H

#include "eager/guidance/appraisal.h"

/** Does what the verdict says. */
void cebus_consequence_draw(cebus_runtime *rt, cebus_scheme *scheme, cebus_verdict verdict);

/** The plan that was set aside for a trial comes back. False: none was. */
bool cebus_consequence_bring_back(cebus_runtime *rt, cebus_scheme *scheme);

/** A plan was made to be tried without places, and predicted. Where there is none, or one that by
 * its own account loses no less than with places, those come back before it is tried. */
void cebus_consequence_spare_trial(cebus_runtime *rt, cebus_scheme *scheme);

#endif
