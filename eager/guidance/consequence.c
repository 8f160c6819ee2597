#include "eager/guidance/consequence.h"

#include "eager/guidance/scheme.h"
#include "eager/guidance/terms.h"

/** Plans are drafted, and the program goes on by the one at hand until a better one is there. */
static bool drafts(const cebus_scheme *scheme)
{
    return scheme->better.out_rate > 0;
}

/** Another plan is made from what the record says now: while the program goes on by this one, where
 * plans are drafted; else when it is followed next. What was loaded is of no more use. */
static void renew_later(cebus_runtime *rt, cebus_scheme *scheme)
{
    scheme->renewed = true;
    if (drafts(scheme)) {
        scheme->waits = true;
        return;
    }
    if (rt->guidance->drafted == scheme)
        cebus_scheme_cancel_draft(rt->guidance);
    scheme->terms = (cebus_plan_terms){0};
}

bool cebus_consequence_bring_back(cebus_runtime *rt, cebus_scheme *scheme)
{
    if (!cebus_scheme_restore(rt, scheme))
        return false;
    cebus_appraisal_predict(rt, scheme, cebus_scheme_iteration(rt->guidance, scheme));
    return true;
}

/** Has a plan made with places, or without. Those that are given up for a trial come back at once
 * if it fails. */
static void change_places(cebus_runtime *rt, cebus_scheme *scheme, bool placeless)
{
    scheme->placeless = placeless;
    if (!placeless && cebus_consequence_bring_back(rt, scheme))
        return;
    scheme->better_placed = !placeless;
    if (drafts(scheme))
        scheme->better = cebus_terms_now(rt, scheme, !placeless);
    else if (placeless)
        cebus_scheme_set_aside(rt, scheme);
    else
        cebus_scheme_clear_places(rt, scheme);
    renew_later(rt, scheme);
}

/** No plan, until it would be made for something else, or a better one is there that is on its way;
 * but one whose places may be what was wrong with it is made again without, unless that was tried.
 * Where runs repeat it is kept, for where none turns out to be worse. */
static void give_up_plan(cebus_runtime *rt, cebus_scheme *scheme)
{
    if (!cebus_appraisal_awaits_better(rt, scheme) && scheme->spots != NULL && scheme->shuttling &&
        !scheme->placeless && scheme->placed_lost == 0) {
        scheme->placed_lost = scheme->lost;
        change_places(rt, scheme, true);
    } else {
        cebus_scheme_set_aside(rt, scheme);
    }
    if (!cebus_appraisal_repeats(rt))
        cebus_scheme_clear_aside(rt, scheme);
    cebus_scheme_clear_plan(rt, scheme);
}

/** None is tried; what the plan at hand lost is known. */
static void try_none(cebus_runtime *rt, cebus_scheme *scheme)
{
    scheme->doubted = true;
    scheme->unplanned = 0;
    cebus_scheme_set_aside(rt, scheme);
}

/** Places turned out to be better than none. The plan with them is held against none at once: what
 * it loses is known. */
static void need_places(cebus_runtime *rt, cebus_scheme *scheme)
{
    const uint64_t lost = scheme->placed_lost;
    change_places(rt, scheme, false);
    if (scheme->spots == NULL || lost == 0 || !cebus_appraisal_doubts(rt, scheme, lost))
        return;
    scheme->dear_lost = lost;
    try_none(rt, scheme);
}

void cebus_consequence_draw(cebus_runtime *rt, cebus_scheme *scheme, cebus_verdict verdict)
{
    switch (verdict) {
    case CEBUS_PLAN_STANDS:
        break;
    case CEBUS_PLAN_IS_DEAR:
        give_up_plan(rt, scheme);
        break;
    case CEBUS_PLAN_IS_STALE:
        renew_later(rt, scheme);
        break;
    case CEBUS_PLAN_TRY_PLACELESS:
        change_places(rt, scheme, true);
        break;
    case CEBUS_PLAN_NEEDS_PLACES:
        need_places(rt, scheme);
        break;
    case CEBUS_PLAN_TRY_NONE:
        try_none(rt, scheme);
        break;
    case CEBUS_PLAN_COMES_BACK:
        if (!cebus_consequence_bring_back(rt, scheme))
            renew_later(rt, scheme);
        break;
    }
}

void cebus_consequence_spare_trial(cebus_runtime *rt, cebus_scheme *scheme)
{
    const bool may_win = scheme->plan.count > 0 && (scheme->predicted_ns == 0 ||
                                                    scheme->predicted_lost < scheme->placed_lost);
    if (!scheme->placeless || scheme->placed_lost == 0 || may_win ||
        !cebus_consequence_bring_back(rt, scheme))
        return;
    scheme->placeless = false;
}
