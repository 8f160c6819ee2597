#include "eager/draft.h"

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
    draft->good = draft->policy->plan(&draft->iteration, &draft->terms, &draft->plan);
    atomic_store_explicit(&draft->done, true, memory_order_release);
    return NULL;
}

static void close_books(cebus_draft *draft)
{
    cebus_plan_clear(&draft->plan);
    cebus_iteration_clear(&draft->iteration);
    cebus_pool_deinit(&draft->pool);
}

void cebus_draft_start(cebus_draft *draft, const cebus_policy *policy,
                       const cebus_iteration *iteration, const cebus_plan_terms *terms)
{
    cebus_draft_cancel(draft);
    cebus_pool_init(&draft->pool, NULL);
    cebus_iteration_init(&draft->iteration, &draft->pool);
    cebus_plan_init(&draft->plan, &draft->pool);
    draft->policy = policy;
    draft->terms = *terms;
    draft->terms.go_on = go_on;
    draft->terms.context = draft;
    atomic_store(&draft->stop, false);
    atomic_store(&draft->done, false);
    draft->started = cebus_iteration_copy(iteration, iteration->n_calls, &draft->iteration) &&
                     cebus_iteration_seal(&draft->iteration) &&
                     pthread_create(&draft->thread, NULL, work, draft) == 0;
    if (!draft->started)
        close_books(draft);
}

static bool copy(const cebus_plan *from, cebus_plan *to)
{
    for (size_t i = 0; i < from->count; i++) {
        const cebus_action *action = &from->actions[i];
        if (!cebus_plan_add(to, (cebus_action_kind)action->kind, action->at, action->value))
            return false;
    }
    return true;
}

static void finish(cebus_draft *draft)
{
    pthread_join(draft->thread, NULL);
    draft->started = false;
    close_books(draft);
}

bool cebus_draft_take(cebus_draft *draft, cebus_plan *out)
{
    if (!draft->started || !atomic_load_explicit(&draft->done, memory_order_acquire))
        return false;
    bool taken = draft->good && copy(&draft->plan, out);
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
