/**
 * loaded.c: the public face of plans as data, and what becomes of those that were loaded.
 */
#include "eager/guidance/loaded.h"

#include <cebus/plan.h>

#include <stdio.h>
#include <string.h>

#include "eager/budget.h"
#include "eager/guidance/planning.h"
#include "evict/planner/check.h"
#include "lineage/error_text.h"

/** A plan for less memory than this part of what there is wastes the rest. */
#define LEAST_PART(budget) ((budget) / 8 * 7)

static bool swaps(const cebus_plan *plan)
{
    for (size_t i = 0; i < plan->count; i++) {
        if (plan->actions[i].kind == CEBUS_ACTION_COPY_OUT ||
            plan->actions[i].kind == CEBUS_ACTION_SWAP_OUT)
            return true;
    }
    return false;
}

static bool is_far(uint64_t a, uint64_t b)
{
    return a / 2 > b || b / 2 > a;
}

/** Where a plan says all that goes and comes, it must be so. */
static const char *judge_whole(const cebus_plan_page *page, const cebus_iteration *iteration,
                               const cebus_plan_terms *terms, cebus_pool *pool)
{
    cebus_check check;
    if (!page->policy->searches || page->plan.count == 0)
        return NULL;
    if (!cebus_check_run(iteration, &page->plan, pool, &check))
        return "no host memory to check it";
    if (check.wrong == NULL && check.host > terms->host)
        return "it wants more on the host than may lie there";
    return check.wrong;
}

/** Why a plan cannot be used; NULL: it can. */
static const char *judge(const cebus_plan_page *page, const cebus_iteration *iteration,
                         const cebus_plan_terms *terms, cebus_pool *pool)
{
    if (page->n_values != iteration->n_values)
        return "it is for an iteration with more or fewer values";
    if (page->terms.budget > terms->budget)
        return "it was made for more memory than there is";
    if (page->terms.budget < LEAST_PART(terms->budget))
        return "it was made for much less memory than there is";
    if (swaps(&page->plan) && terms->host == 0)
        return "it swaps, and nothing may be swapped";
    if (swaps(&page->plan) && (is_far(page->terms.out_rate, terms->out_rate) ||
                               is_far(page->terms.in_rate, terms->in_rate)))
        return "it was made for a link of another speed";
    const char *wrong = cebus_plan_wrong(&page->plan, iteration);
    return wrong != NULL ? wrong : judge_whole(page, iteration, terms, pool);
}

void cebus_loaded_refuse(cebus_runtime *rt, const cebus_iteration *iteration, const char *why)
{
    rt->stats.plans_refused++;
    cebus_event_emit(rt, (cebus_event){.kind = CEBUS_EVENT_PLAN_REFUSED,
                                       .op = why,
                                       .value = cebus_reference_signature(iteration)});
}

static const cebus_plan_page *find_page(const cebus_runtime *rt, const cebus_iteration *iteration)
{
    if (rt->loaded == NULL)
        return NULL;
    return cebus_plan_book_find(rt->loaded, cebus_reference_signature(iteration),
                                iteration->n_calls, rt->policy);
}

bool cebus_loaded_has(const cebus_runtime *rt, const cebus_iteration *iteration)
{
    return find_page(rt, iteration) != NULL;
}

bool cebus_loaded_take(cebus_runtime *rt, const cebus_iteration *iteration,
                       const cebus_plan_terms *terms, cebus_plan *out, bool *out_placed)
{
    const cebus_plan_page *page = find_page(rt, iteration);
    if (page == NULL)
        return false;
    const char *wrong = judge(page, iteration, terms, &rt->pool);
    if (wrong == NULL && !cebus_plan_copy(&page->plan, out))
        wrong = "no host memory to copy it";
    *out_placed = page->placed;
    if (wrong == NULL)
        return true;
    cebus_loaded_refuse(rt, iteration, wrong);
    cebus_plan_clear(out);
    return false;
}

void cebus_loaded_clear(cebus_runtime *rt)
{
    if (rt->loaded == NULL)
        return;
    cebus_plan_book_clear(rt->loaded);
    cebus_pool_free_object(&rt->pool, rt->loaded, sizeof *rt->loaded);
    rt->loaded = NULL;
}

/* --- loading --------------------------------------------------------------------------------- */

/** What is known already and has a loaded plan now is planned for as if it were new. */
static void reconsider(cebus_runtime *rt)
{
    cebus_guidance *guidance = rt->guidance;
    for (uint32_t i = 0; guidance != NULL && i < guidance->log.known.end; i++) {
        const cebus_iteration *known = &guidance->log.known.at[i].iteration;
        if (known->n_calls > 0 && cebus_loaded_has(rt, known))
            cebus_planning_reconsider(rt, i);
    }
}

/** The runtime's own book, made when the first file is read. */
static bool have_book(cebus_runtime *rt)
{
    if (rt->loaded == NULL) {
        rt->loaded = cebus_pool_alloc(&rt->pool, sizeof *rt->loaded);
        if (rt->loaded != NULL)
            cebus_plan_book_init(rt->loaded, &rt->pool);
    }
    return rt->loaded != NULL;
}

static cebus_status load(cebus_runtime *rt, const char *path)
{
    static const char op[] = "plan_load";
    char why[320];
    cebus_plan_book book;
    cebus_plan_book_init(&book, &rt->pool);
    cebus_status status = cebus_plan_book_read(&book, path, &rt->host, why, sizeof why);
    if (status != CEBUS_OK)
        return cebus_fail(status, op, "%s", why);
    size_t plans = book.count;
    if (!have_book(rt) || !cebus_plan_book_merge(rt->loaded, &book)) {
        cebus_plan_book_clear(&book);
        return cebus_fail(CEBUS_OUT_OF_HOST_MEMORY, op, "no host memory to keep the plans");
    }
    rt->stats.plans_loaded += plans;
    cebus_guidance_learn(rt);
    reconsider(rt);
    return CEBUS_OK;
}

cebus_status cebus_plan_load(cebus_runtime *rt, const char *path)
{
    return cebus_runtime_use_file(rt, "plan_load", path, load);
}

/* --- saving ---------------------------------------------------------------------------------- */

/** What came once may never come again, and its plan is not worth a line. */
static bool is_planned(const cebus_guidance *guidance, uint32_t i)
{
    const cebus_reference *known = &guidance->log.known.at[i];
    return known->iteration.n_calls > 0 && known->confirmed &&
           guidance->schemes[i].terms.out_rate > 0;
}

static void write_scheme(const cebus_runtime *rt, uint32_t i, cebus_trace_writer *to)
{
    const cebus_iteration *iteration = &rt->guidance->log.known.at[i].iteration;
    const cebus_scheme *scheme = &rt->guidance->schemes[i];
    cebus_plan_page page = {.signature = cebus_reference_signature(iteration),
                            .n_calls = (uint32_t)iteration->n_calls,
                            .n_values = (uint32_t)iteration->n_values,
                            .policy = rt->policy,
                            .terms = scheme->terms,
                            .predicted_ns = scheme->predicted_ns,
                            .placed = scheme->spots != NULL,
                            .plan = scheme->plan};
    cebus_plan_book_write(to, &page);
}

static int write_all(const cebus_runtime *rt, size_t n, cebus_trace_writer *to)
{
    static const char *const swaps[] = {"default", "off", "on"};
    cebus_plan_origin origin = {.device = rt->device_name,
                                .layout = rt->arena.layout->name,
                                .swap = swaps[rt->swap.option],
                                .policy = rt->policy,
                                .budget = cebus_budget_now(rt),
                                .host_budget = rt->swap.host_budget};
    cebus_plan_book_write_head(to, &origin, n);
    for (uint32_t i = 0; i < rt->guidance->log.known.end; i++) {
        if (is_planned(rt->guidance, i))
            write_scheme(rt, i, to);
    }
    return cebus_trace_writer_close(to);
}

static size_t count_plans(const cebus_runtime *rt)
{
    size_t n = 0;
    for (uint32_t i = 0; rt->guidance != NULL && i < rt->guidance->log.known.end; i++)
        n += is_planned(rt->guidance, i);
    return n;
}

static cebus_status save(cebus_runtime *rt, const char *path)
{
    static const char op[] = "plan_save";
    char text[128];
    size_t n = count_plans(rt);
    if (rt->policy->plan == NULL)
        return cebus_fail(CEBUS_INVALID_ARGUMENT, op,
                          "policy %s makes no plans; cebus and capuchin do", rt->policy->name);
    if (n == 0)
        return cebus_fail(CEBUS_INVALID_ARGUMENT, op,
                          "nothing is planned yet: the program must have done the same iteration "
                          "twice");
    cebus_trace_writer *writer = cebus_pool_alloc(&rt->pool, sizeof *writer);
    if (writer == NULL)
        return cebus_fail(CEBUS_OUT_OF_HOST_MEMORY, op, "no host memory for a buffer");
    cebus_status status = CEBUS_OK;
    int error = cebus_trace_writer_open(writer, path);
    if (error != 0)
        status = cebus_fail(CEBUS_INVALID_ARGUMENT, op, "cannot create \"%s\": %s", path,
                            cebus_error_text(error, text, sizeof text));
    else if ((error = write_all(rt, n, writer)) != 0)
        status = cebus_fail(CEBUS_DEVICE_ERROR, op, "\"%s\" could not be written: %s", path,
                            cebus_error_text(error, text, sizeof text));
    cebus_pool_free_object(&rt->pool, writer, sizeof *writer);
    return status;
}

cebus_status cebus_plan_save(cebus_runtime *rt, const char *path)
{
    return cebus_runtime_use_file(rt, "plan_save", path, save);
}
