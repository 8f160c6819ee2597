#include "eager/guidance/draft.h"

#include <string.h>

#include "eager/guidance/worth.h"
#include "layout/thread.h"

void cebus_draft_init(cebus_draft *draft)
{
    draft->started = false;
    atomic_init(&draft->stop, false);
    atomic_init(&draft->done, false);
}

static bool go_on(void *context)
{
    cebus_draft *draft = context;
    return !atomic_load_explicit(&draft->stop, memory_order_relaxed);
}

static void *work(void *context)
{
    cebus_draft *draft = context;
    cebus_fit *fit = &draft->fit;
    const uint64_t begun = cebus_pace_clock();
    draft->good = draft->places ? cebus_fit_make(fit) || fit->plan->count > 0
                                : fit->policy->plan(fit->iteration, &fit->terms, fit->plan) &&
                                      cebus_plan_make_ready(fit->plan, fit->iteration);
    draft->took_ns = cebus_pace_clock() - begun;
    atomic_store_explicit(&draft->done, true, memory_order_release);
    return NULL;
}

static void close_books(cebus_draft *draft)
{
    cebus_placement_clear(&draft->placement);
    cebus_plan_clear(&draft->plan);
    cebus_outside_deinit(&draft->outside);
    cebus_pool_free_object(&draft->pool, draft->fixtures,
                           draft->fit.site.n_fixtures * sizeof *draft->fixtures);
    cebus_iteration_clear(&draft->iteration);
    cebus_pool_deinit(&draft->pool);
}

/** Copies of what may change while the thread looks at it. */
static bool open_books(cebus_draft *draft, const cebus_iteration *iteration, const cebus_site *site)
{
    if (!cebus_iteration_copy(iteration, iteration->n_calls, &draft->iteration) ||
        !cebus_iteration_seal(&draft->iteration))
        return false;
    if (site == NULL)
        return true;
    size_t bytes = site->n_fixtures * sizeof *draft->fixtures;
    draft->fit.site = *site;
    draft->fit.site.fixtures = draft->fixtures = cebus_pool_alloc(&draft->pool, bytes);
    draft->fit.site.outside = &draft->outside;
    if (draft->fixtures == NULL)
        return false;
    if (bytes > 0)
        memcpy(draft->fixtures, site->fixtures, bytes);
    return cebus_outside_init(&draft->outside, &draft->iteration, &draft->pool);
}

void cebus_draft_start(cebus_draft *draft, const cebus_policy *policy,
                       const cebus_iteration *iteration, const cebus_plan_terms *terms,
                       const cebus_site *site, uint64_t holes)
{
    cebus_draft_cancel(draft);
    cebus_pool_init(&draft->pool, NULL);
    cebus_iteration_init(&draft->iteration, &draft->pool);
    cebus_plan_init(&draft->plan, &draft->pool);
    cebus_placement_init(&draft->placement, &draft->pool);
    draft->fixtures = NULL;
    draft->outside = (cebus_outside){.pool = &draft->pool};
    draft->fit = (cebus_fit){.policy = policy,
                             .iteration = &draft->iteration,
                             .terms = *terms,
                             .holes = holes,
                             .plan = &draft->plan,
                             .placement = &draft->placement};
    draft->fit.terms.go_on = go_on;
    draft->fit.terms.context = draft;
    draft->places = site != NULL;
    atomic_store(&draft->stop, false);
    atomic_store(&draft->done, false);
    draft->started =
        open_books(draft, iteration, site) && cebus_thread_start(&draft->thread, work, draft);
    if (!draft->started)
        close_books(draft);
}

static void finish(cebus_draft *draft)
{
    pthread_join(draft->thread, NULL);
    draft->started = false;
    close_books(draft);
}

static bool is_placed(const cebus_draft *draft)
{
    return draft->places && draft->placement.height > 0;
}

bool cebus_draft_take(cebus_draft *draft, cebus_plan *out, cebus_placement *placement)
{
    if (!draft->started || !atomic_load_explicit(&draft->done, memory_order_acquire))
        return false;
    bool taken = draft->good && cebus_plan_copy(&draft->plan, out) &&
                 (!is_placed(draft) || cebus_placement_copy(&draft->placement, placement));
    if (!taken)
        cebus_plan_clear(out);
    finish(draft);
    return taken;
}

void cebus_draft_cancel(cebus_draft *draft)
{
    if (!draft->started)
        return;
    atomic_store_explicit(&draft->stop, true, memory_order_relaxed);
    finish(draft);
}
