#include "eager/guidance/guidance.h"

#include "eager/capture/capture.h"
#include "eager/guidance/appraisal.h"
#include "eager/guidance/carry_out.h"
#include "eager/guidance/planning.h"
#include "eager/guidance/shuttles.h"
#include "eager/guidance/state.h"
#include "eager/launch.h"

void cebus_guidance_start(cebus_runtime *rt)
{
    const bool marked = rt->guidance != NULL && cebus_detector_is_marked(&rt->guidance->detector);
    cebus_guidance_stop(rt);
    if (!cebus_guidance_learns(rt) && !rt->watch.on)
        return;
    cebus_guidance *guidance = cebus_pool_alloc(&rt->pool, sizeof *guidance);
    if (guidance == NULL)
        return;
    *guidance = (cebus_guidance){.workspace_spot = CEBUS_ANYWHERE};
    cebus_access_init(&guidance->log, &rt->pool, rt->names);
    guidance->log.unit = rt->arena.alignment;
    cebus_detector_init(&guidance->detector, &rt->pool);
    guidance->detector.marked = marked; /* another policy, the same program */
    cebus_guide_init(&guidance->guide, &rt->pool);
    cebus_planning_init(rt, guidance);
    rt->guidance = guidance;
    cebus_appraisal_begin(rt);
}

void cebus_guidance_learn(cebus_runtime *rt)
{
    if (rt->learning == CEBUS_LEARNS)
        return;
    rt->learning = CEBUS_LEARNS;
    if (rt->guidance == NULL)
        cebus_guidance_start(rt);
}

void cebus_guidance_stop(cebus_runtime *rt)
{
    cebus_guidance *guidance = rt->guidance;
    if (guidance == NULL)
        return;
    cebus_carry_out_left(rt);
    cebus_planning_clear(rt);
    cebus_guide_deinit(&guidance->guide);
    rt->names = guidance->log.named;
    cebus_detector_deinit(&guidance->detector);
    cebus_access_deinit(&guidance->log);
    cebus_pool_free_object(&rt->pool, guidance, sizeof *guidance);
    rt->guidance = NULL;
    rt->stats.iterations_known = rt->stats.iteration_signature = 0;
}

void cebus_guidance_release(cebus_runtime *rt, const cebus_candidate *candidate)
{
    cebus_access_release(&rt->guidance->log, &candidate->value);
}

void cebus_guidance_read(cebus_runtime *rt, const cebus_candidate *candidate)
{
    if (rt->guidance != NULL)
        cebus_access_read(&rt->guidance->log, &candidate->value);
}

void cebus_guidance_detach(cebus_runtime *rt, const cebus_candidate *candidate)
{
    if (rt->guidance != NULL)
        cebus_access_detach(&rt->guidance->log, &candidate->value);
}

void cebus_guidance_persist(cebus_runtime *rt, const cebus_candidate *candidate)
{
    if (rt->guidance != NULL)
        cebus_access_persist(&rt->guidance->log, &candidate->value);
}

void cebus_guidance_forget(cebus_runtime *rt, const cebus_candidate *candidate)
{
    cebus_access_forget(&rt->guidance->log, &candidate->value);
    cebus_shuttles_forget(rt, candidate);
}

/** What the log follows now, and with it the plan: another than before, or none. */
static void turn(cebus_runtime *rt, cebus_guidance *guidance)
{
    const cebus_access_log *log = &guidance->log;
    cebus_scheme *scheme = log->following ? &guidance->schemes[log->place] : &guidance->idle;
    if (scheme == guidance->scheme)
        return;
    guidance->left |= guidance->scheme != &guidance->idle;
    guidance->scheme = scheme;
    rt->stats.iteration_signature = log->following ? cebus_reference_signature(log->reference) : 0;
    cebus_planning_renew(rt);
    cebus_guide_join(&guidance->guide, &scheme->plan, log->at);
    guidance->relocated = 0;
    if (log->at == 0) /* it is by this plan from its first call on */
        cebus_appraisal_begin(rt);
}

/** An iteration ended: what comes now is a new one. */
static void end_iteration(cebus_runtime *rt, cebus_ending ending)
{
    cebus_guidance *guidance = rt->guidance;
    cebus_access_log *log = &guidance->log;
    if (log->following)
        cebus_carry_out_due(rt);
    cebus_guide_start(&guidance->guide, &guidance->idle.plan);
    cebus_carry_out_left(rt);
    rt->stats.iterations_found += log->at > 0;
    rt->stats.iterations_repeated += cebus_access_is_whole(log);
    cebus_planning_look(rt);
    bool whole = cebus_access_is_whole(log), learned = cebus_access_end(log, ending);
    if (whole || learned)
        cebus_planning_keep(rt, log->last, learned);
    if (learned)
        cebus_shuttles_adopt(rt, &guidance->schemes[log->last]);
    cebus_shuttles_begin(guidance);
    rt->stats.iterations_known = log->known.count;
    guidance->scheme = &guidance->idle;
    cebus_appraisal_begin(rt);
    turn(rt, guidance);
    guidance->left = false;
    cebus_detector_cut(&guidance->detector, rt, ending);
    cebus_capture_turn(rt, ending != CEBUS_ENDING_BROKEN);
}

void cebus_guidance_mark(cebus_runtime *rt)
{
    rt->guidance->detector.marked = true;
    rt->guidance->detector.launched = false;
    end_iteration(rt, CEBUS_ENDING_WRITES);
}

bool cebus_guidance_launch(cebus_runtime *rt)
{
    if (rt->guidance == NULL)
        return false;
    const bool marked = cebus_detector_is_marked(&rt->guidance->detector);
    cebus_detector_launch(&rt->guidance->detector);
    return marked;
}

void cebus_guidance_launched(cebus_runtime *rt, bool marked)
{
    if (rt->guidance != NULL)
        cebus_detector_launched(&rt->guidance->detector, marked);
}

void cebus_guidance_rebudget(cebus_runtime *rt, bool moved)
{
    cebus_guidance *guidance = rt->guidance;
    if (guidance == NULL || guidance->log.at > 0 || guidance->scheme == &guidance->idle)
        return;
    cebus_fixtures *fixtures = &guidance->scheme->fixtures;
    bool places = fixtures->complete;
    fixtures->complete = places && !moved;
    cebus_planning_renew(rt);
    cebus_guide_join(&guidance->guide, &guidance->scheme->plan, 0);
    guidance->relocated = 0;
    if (places && moved)
        cebus_planning_reconsider(rt, guidance->log.place);
}

void cebus_guidance_act(cebus_runtime *rt, const cebus_call *call, cebus_tensor *const *in,
                        bool in_graph)
{
    cebus_guidance *guidance = rt->guidance;
    cebus_access_log *log = &guidance->log;
    cebus_ending ending;
    cebus_detector_look(&guidance->detector, rt, log, call, in, in_graph);
    if (cebus_detector_finds(&guidance->detector, log, &ending)) {
        end_iteration(rt, ending);
        cebus_detector_look(&guidance->detector, rt, log, call, in, in_graph);
    }
    cebus_access_expect(log, &guidance->detector.access);
    turn(rt, guidance);
    if (guidance->left)
        cebus_carry_out_left(rt);
    if (log->following)
        cebus_carry_out_due(rt);
}

void cebus_guidance_retract(cebus_runtime *rt)
{
    cebus_access_retract(&rt->guidance->log);
    turn(rt, rt->guidance);
}

void cebus_guidance_observe(cebus_runtime *rt, const cebus_call *call, const cebus_kernel *kernel,
                            cebus_tensor *const *in, cebus_candidate *const *out, bool recordable)
{
    cebus_guidance *guidance = rt->guidance;
    cebus_access *access = &guidance->detector.access;
    cebus_detector_take(&guidance->detector, &guidance->log, call, in, out);
    access->replayable = recordable;
    if (!guidance->log.following)
        access->workspace = cebus_launch_workspace(rt, call, kernel);
    cebus_access_call(&guidance->log, access);
    if (guidance->log.recording)
        cebus_shuttles_note(rt, access);
    turn(rt, guidance);
}
