#include "eager/guidance/scheme.h"

#include "eager/guidance/feedback.h"
#include "eager/guidance/fixtures.h"
#include "eager/guidance/shuttles.h"

void cebus_scheme_init(cebus_scheme *scheme, cebus_pool *pool)
{
    cebus_plan_init(&scheme->plan, pool);
    cebus_placement_init(&scheme->placement, pool);
    cebus_plan_init(&scheme->aside, pool);
    cebus_placement_init(&scheme->aside_placement, pool);
}

void cebus_scheme_clear(cebus_runtime *rt, cebus_scheme *scheme)
{
    cebus_scheme_clear_plan(rt, scheme);
    cebus_scheme_clear_aside(rt, scheme);
    cebus_feedback_reset(rt, scheme);
    cebus_shuttles_clear(rt, &scheme->shuttles);
    cebus_fixtures_clear(rt, &scheme->fixtures);
    *scheme = (cebus_scheme){.plan = scheme->plan,
                             .placement = scheme->placement,
                             .aside = scheme->aside,
                             .aside_placement = scheme->aside_placement};
}

void cebus_scheme_clear_places(cebus_runtime *rt, cebus_scheme *scheme)
{
    cebus_pool_free_object(&rt->pool, scheme->spots,
                           scheme->placement.n_values * sizeof *scheme->spots);
    scheme->spots = NULL;
    cebus_placement_clear(&scheme->placement);
    cebus_fixtures_clear(rt, &scheme->around);
}

void cebus_scheme_clear_plan(cebus_runtime *rt, cebus_scheme *scheme)
{
    cebus_scheme_clear_places(rt, scheme);
    cebus_plan_clear(&scheme->plan);
}

bool cebus_scheme_make_spots(cebus_runtime *rt, cebus_scheme *scheme)
{
    scheme->spots = cebus_pool_alloc(&rt->pool, scheme->placement.n_values * sizeof *scheme->spots);
    if (scheme->spots == NULL)
        cebus_scheme_clear_places(rt, scheme);
    return scheme->spots != NULL;
}

void cebus_scheme_take(cebus_runtime *rt, cebus_scheme *scheme, cebus_plan plan,
                       cebus_placement placement)
{
    cebus_scheme_clear_plan(rt, scheme);
    scheme->plan = plan;
    scheme->placement = placement;
    scheme->dear = 0;
    if (placement.height > 0)
        (void)cebus_scheme_make_spots(rt, scheme);
}

void cebus_scheme_take_out(cebus_runtime *rt, cebus_scheme *scheme, cebus_plan *out_plan,
                           cebus_placement *out_placement)
{
    *out_plan = scheme->plan;
    *out_placement = scheme->placement;
    cebus_plan_init(&scheme->plan, &rt->pool);
    cebus_pool_free_object(&rt->pool, scheme->spots,
                           scheme->placement.n_values * sizeof *scheme->spots);
    scheme->spots = NULL;
    cebus_placement_init(&scheme->placement, &rt->pool);
}

void cebus_scheme_set_aside(cebus_runtime *rt, cebus_scheme *scheme)
{
    cebus_scheme_clear_aside(rt, scheme);
    cebus_scheme_take_out(rt, scheme, &scheme->aside, &scheme->aside_placement);
    scheme->aside_around = scheme->around;
    scheme->around = (cebus_fixtures){0};
}

bool cebus_scheme_restore(cebus_runtime *rt, cebus_scheme *scheme)
{
    cebus_plan plan = scheme->aside;
    cebus_placement placement = scheme->aside_placement;
    if (plan.count == 0)
        return false;
    cebus_plan_init(&scheme->aside, &rt->pool);
    cebus_placement_init(&scheme->aside_placement, &rt->pool);
    cebus_scheme_take(rt, scheme, plan, placement);
    scheme->around = scheme->aside_around;
    scheme->aside_around = (cebus_fixtures){0};
    return true;
}

void cebus_scheme_clear_aside(cebus_runtime *rt, cebus_scheme *scheme)
{
    cebus_plan_clear(&scheme->aside);
    cebus_placement_clear(&scheme->aside_placement);
    cebus_fixtures_clear(rt, &scheme->aside_around);
}

void cebus_scheme_cancel_draft(cebus_guidance *guidance)
{
    cebus_draft_cancel(&guidance->draft);
    guidance->drafted = NULL;
}
