/**
 * summary.c: one line on what planning brought, for people (<cebus/plan.h>).
 */
#include <cebus/plan.h>

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "eager/budget.h"
#include "eager/guidance/state.h"
#include "eager/spill/spill.h"

/** Text as long as it fits; its whole length is counted all the same. */
typedef struct sentence {
    char *text;
    size_t room, length;
} sentence;

static void CEBUS_PRINTF(2, 3) say(sentence *s, const char *format, ...)
{
    va_list args;
    bool fits = s->length < s->room;
    va_start(args, format);
    int n =
        vsnprintf(fits ? s->text + s->length : NULL, fits ? s->room - s->length : 0, format, args);
    va_end(args);
    s->length += n > 0 ? (size_t)n : 0;
}

static void say_bytes(sentence *s, uint64_t bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    double size = (double)bytes;
    size_t unit = 0;
    while (size >= 1024 && unit + 1 < sizeof units / sizeof *units) {
        size /= 1024;
        unit++;
    }
    say(s, "%.*f %s", unit == 0 ? 0 : 2, size, units[unit]);
}

static double ms(uint64_t ns)
{
    return (double)ns / 1e6;
}

static double percent(uint64_t part, uint64_t whole)
{
    return whole > 0 ? 100 * (double)part / (double)whole : 0;
}

static void say_what_was_done(const cebus_memory_stats *stats, sentence *s)
{
    if (stats->guided_swap_outs + stats->guided_recomputes == 0)
        say(s, "; nothing was given up");
    if (stats->guided_swap_outs > 0) {
        say(s, "; swapped %" PRIu64 " values, ", stats->guided_swap_outs);
        say_bytes(s, stats->guided_swapped_bytes);
    }
    if (stats->guided_recomputes > 0)
        say(s, "; recomputed %" PRIu64 " calls", stats->guided_recomputes);
    say(s, "; lost %.3g ms a step (%.2f%%)", ms(stats->guided_lost_ns),
        percent(stats->guided_lost_ns, stats->guided_measured_ns - stats->guided_lost_ns));
    if (stats->guided_predicted_ns > 0)
        say(s, ", predicted %.4g of %.4g ms", ms(stats->guided_predicted_ns),
            ms(stats->guided_measured_ns));
}

/** What was asked for and did nothing. */
static void say_what_was_idle(const cebus_runtime *rt, sentence *s)
{
    const cebus_memory_stats *stats = &rt->stats;
    cebus_spill_figures file = {0};
    if (rt->swap.spill != NULL)
        cebus_spill_query(rt->swap.spill, &file);
    bool swapped = stats->swap_outs > 0, spilled = file.written_bytes > 0;
    if (rt->swap.option == CEBUS_SWAP_ON && rt->swap.budget == 0)
        say(s, "; warning: swap is on, but neither host memory nor a spill file has room");
    else if (rt->swap.option == CEBUS_SWAP_ON && !swapped)
        say(s, "; warning: swap is on, but nothing was swapped: to run again costs less, or all "
               "fits");
    if (rt->swap.spill != NULL && rt->swap.host_budget > 0 && !spilled)
        say(s, "; warning: the spill file was never written: host memory has room");
    else if (rt->swap.spill != NULL && !spilled && rt->swap.option != CEBUS_SWAP_ON)
        say(s, "; warning: the spill file was never written");
    if (stats->plans_refused > 0 && stats->plans_used == 0)
        say(s, "; warning: the plan that was loaded does not fit, and was not used");
}

static void say_all(const cebus_runtime *rt, sentence *s)
{
    const cebus_memory_stats *stats = &rt->stats;
    if (rt->policy->plan == NULL) {
        say(s, "policy %s makes no plans", rt->policy->name);
    } else if (stats->guided_iterations == 0) {
        say(s, "policy %s: no iteration was guided from its first call to its last yet",
            rt->policy->name);
    } else {
        say(s, "policy %s: budget ", rt->policy->name);
        say_bytes(s, cebus_budget_now(rt));
        say(s, ", peak ");
        say_bytes(s, stats->guided_peak_bytes);
        say_what_was_done(stats, s);
    }
    say_what_was_idle(rt, s);
}

size_t cebus_plan_summary(cebus_runtime *rt, char *text, size_t text_bytes)
{
    sentence s = {.text = text, .room = text_bytes};
    if (text_bytes > 0)
        text[0] = '\0';
    cebus_runtime_lock_always(rt);
    say_all(rt, &s);
    cebus_runtime_unlock(rt);
    return s.length;
}
