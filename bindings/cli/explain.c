/**
 * explain.c: of each eviction of the last pass: what went, why, how it came back, what that cost.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "evictions.h"
#include "message.h"
#include "numbers.h"
#include "plan_head.h"
#include "plan_held.h"
#include "result.h"
#include "run_file.h"
#include "text.h"

struct explain {
    struct settings settings;
    const char *trace;
    size_t top;       /**< 0: unset */
    const char *plan; /**< a file of plans to be guided by; NULL: none */
    struct evictions evictions;
};

/** Lines of a table when --top says nothing. */
enum {
    DEFAULT_TOP = 20,
    KEY_TOP = 0x100,
    KEY_PLAN,
};

static const struct argp_option options[] = {
    {"top", KEY_TOP, "N", 0,
     "only the N costliest evictions (default: 20 in the table, all in JSON)", 3},
    {"plan", KEY_PLAN, "FILE", 0,
     "be guided by a plan of `cebus plan', and hold it against what happened", 3},
    {0},
};

/** A run that was recorded had a machine, a budget and a policy. */
static void refuse_settings(const struct explain *explain, struct argp_state *state)
{
    const char *option = explain->plan != NULL ? "plan" : NULL;
    for (int key = 0; key < SETTING_COUNT; key++) {
        if (explain->settings.of[key].origin == FROM_OPTION)
            option = setting_name(key);
    }
    if (option != NULL)
        argp_error(state, "--%s: \"%s\" is a recorded run, which had its own", option,
                   explain->trace);
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct explain *explain = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        run_children_begin(state, &explain->settings, &explain->trace);
        return 0;
    case KEY_TOP:
        explain->top = number_count("top", argument, 1, 1000000, state);
        return 0;
    case KEY_PLAN:
        explain->plan = argument;
        return 0;
    case ARGP_KEY_END:
        if (strcmp(explain->settings.of[SETTING_POLICY].text, "all") == 0)
            argp_error(state, "--policy: one at a time; name it");
        if (explain->trace != NULL && run_file_is(explain->trace))
            refuse_settings(explain, state);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp argp = {
    .options = options,
    .parser = parse,
    .args_doc = "TRACE|RUN",
    .children = run_children,
    .doc = "Says of each eviction what went, why (its price against that of the cheapest choice "
           "that lost), how it came back, and what that cost: of the last pass over a trace, or of "
           "a whole run recorded by `cebus replay --record'." COMMAND_EXIT_STATUS,
};

/* --- order ----------------------------------------------------------------------------------- */

static int by_cost(const void *a, const void *b)
{
    const struct eviction *x = a, *y = b;
    if (eviction_cost(x) != eviction_cost(y))
        return eviction_cost(x) < eviction_cost(y) ? 1 : -1;
    return x->number < y->number ? -1 : 1;
}

/** Evictions of the values of one op. */
struct by_op {
    const char *op;
    uint64_t count, bytes, cost_ns;
    uint64_t ways[BACK_WAYS];
};

static int by_op_cost(const void *a, const void *b)
{
    const struct by_op *x = a, *y = b;
    if (x->cost_ns != y->cost_ns)
        return x->cost_ns < y->cost_ns ? 1 : -1;
    return strcmp(x->op, y->op);
}

/** Free it. */
static struct by_op *sum_by_op(const struct evictions *evictions, size_t *out_count)
{
    size_t n = evictions->n_names + 1, count = 0;
    struct by_op *sums = take(NULL, n, sizeof *sums);
    memset(sums, 0, n * sizeof *sums);
    for (size_t i = 0; i < evictions->count; i++) {
        const struct eviction *eviction = &evictions->list[i];
        struct by_op *sum = &sums[eviction->name != NO_INDEX ? eviction->name : n - 1];
        sum->op = eviction_op(evictions, eviction);
        sum->count++;
        sum->bytes += eviction->bytes;
        sum->cost_ns += eviction_cost(eviction);
        sum->ways[eviction->way]++;
    }
    for (size_t i = 0; i < n; i++) {
        if (sums[i].count > 0)
            sums[count++] = sums[i];
    }
    qsort(sums, count, sizeof *sums, by_op_cost);
    *out_count = count;
    return sums;
}

/* --- JSON ------------------------------------------------------------------------------------ */

/** Where in the trace: {"line", "op"}; null at the end of a pass, or when there is no trace. */
static json_t *place_json(const struct program *program, size_t op)
{
    if (program == NULL || op >= program->n_ops)
        return json_null();
    json_t *json = json_object();
    json_put_number(json, "line", program->ops[op].line);
    json_put(json, "op", json_string(program_op_name(program, &program->ops[op])));
    return json;
}

static json_t *eviction_json(const struct evictions *evictions, const struct eviction *eviction)
{
    const struct program *program = evictions->program;
    json_t *json = json_object();
    json_put_number(json, "number", eviction->number);
    json_put(json, "op", json_string(eviction_op(evictions, eviction)));
    if (program != NULL && eviction->storage != NO_INDEX) {
        json_put_number(json, "value", program->storages[eviction->storage].value);
        json_put_number(json, "line", program->storages[eviction->storage].line);
    }
    json_put_number(json, "bytes", eviction->bytes);
    json_put_number(json, "age_ns", eviction->age_ns);
    json_put(json, "method",
             json_string(eviction->method == CEBUS_METHOD_SWAP ? "swap" : "recompute"));
    json_put_number(json, "price", eviction->price);
    json_put_number(json, "next_price", eviction->next_price);
    json_put_number(json, "expected_ns", eviction->expected_ns);
    json_put(json, "for", place_json(program, eviction->at));
    json_put(json, "back", json_string(way_back_name(eviction->way)));
    if (eviction->way != BACK_NEVER)
        json_put(json, "back_for", place_json(program, eviction->back_at));
    json_put_number(json, "cost_ns", eviction_cost(eviction));
    return json;
}

static json_t *by_op_json(const struct by_op *sum)
{
    json_t *json = json_object();
    json_put(json, "op", json_string(sum->op));
    json_put_number(json, "evictions", sum->count);
    json_put_number(json, "bytes", sum->bytes);
    for (int way = 0; way < BACK_WAYS; way++)
        json_put_number(json, way_back_name((enum way_back)way), sum->ways[way]);
    json_put_number(json, "cost_ns", sum->cost_ns);
    return json;
}

static void put_evictions(json_t *json, const struct explain *explain)
{
    const struct evictions *evictions = &explain->evictions;
    size_t top = explain->top > 0 ? explain->top : SIZE_MAX, n;
    json_t *list = json_array(), *ops = json_array();
    for (size_t i = 0; i < evictions->count && i < top; i++)
        json_array_append_new(list, eviction_json(evictions, &evictions->list[i]));
    struct by_op *sums = sum_by_op(evictions, &n);
    for (size_t i = 0; i < n; i++)
        json_array_append_new(ops, by_op_json(&sums[i]));
    free(sums);
    json_put_number(json, "evictions", evictions->totals.evictions);
    json_put_number(json, "recomputes", evictions->totals.recomputes);
    json_put_number(json, "recompute_ns", evictions->totals.recompute_ns);
    json_put_number(json, "swapped_bytes", evictions->totals.swapped_bytes);
    json_put(json, "by_op", ops);
    json_put(json, "evicted", list);
}

/* --- tables ---------------------------------------------------------------------------------- */

static void print_by_op(const struct evictions *evictions)
{
    size_t n;
    struct by_op *sums = sum_by_op(evictions, &n);
    printf("\n%-24s %9s %12s %10s %7s %6s %6s %12s\n", "made by", "evictions", "bytes",
           "recomputed", "along", "swap", "never", "cost");
    for (size_t i = 0; i < n; i++) {
        char bytes[TEXT_BYTES], ns[TEXT_BYTES];
        const struct by_op *sum = &sums[i];
        printf("%-24.24s %9" PRIu64 " %12s %10" PRIu64 " %7" PRIu64 " %6" PRIu64 " %6" PRIu64
               " %12s\n",
               sum->op, sum->count, text_bytes(sum->bytes, bytes), sum->ways[BACK_RECOMPUTE],
               sum->ways[BACK_ALONG], sum->ways[BACK_SWAP], sum->ways[BACK_NEVER],
               text_ns(sum->cost_ns, ns));
    }
    free(sums);
}

/** "line 12" of the op, where that is known. */
static void line_text(const struct program *program, size_t op, char out[TEXT_BYTES])
{
    if (program == NULL || op >= program->n_ops)
        snprintf(out, TEXT_BYTES, "%s", program != NULL ? "the end" : "");
    else
        snprintf(out, TEXT_BYTES, "%" PRIu64, program->ops[op].line);
}

/** How much dearer the next choice was. */
static void why_text(const struct eviction *eviction, char out[TEXT_BYTES])
{
    if (eviction->next_price == 0)
        snprintf(out, TEXT_BYTES, "no other");
    else if (eviction->price == 0)
        snprintf(out, TEXT_BYTES, "free");
    else
        snprintf(out, TEXT_BYTES, "%.3gx", (double)eviction->next_price / (double)eviction->price);
}

static void print_eviction(const struct evictions *evictions, const struct eviction *eviction)
{
    char bytes[TEXT_BYTES], age[TEXT_BYTES], cost[TEXT_BYTES], at[TEXT_BYTES], back[TEXT_BYTES],
        why[TEXT_BYTES];
    line_text(evictions->program, eviction->at, at);
    line_text(evictions->program, eviction->back_at, back);
    why_text(eviction, why);
    bool returned = eviction->way != BACK_NEVER;
    printf("%6" PRIu64 "  %-24.24s %12s %12s %9s %9s  %-10s %9s %12s\n", eviction->number,
           eviction_op(evictions, eviction), text_bytes(eviction->bytes, bytes),
           text_ns(eviction->age_ns, age), at, why, way_back_name(eviction->way),
           returned ? back : "",
           eviction_cost(eviction) > 0 ? text_ns(eviction_cost(eviction), cost) : "");
}

static void print_tables(const struct explain *explain)
{
    const struct evictions *evictions = &explain->evictions;
    const struct eviction_totals *totals = &evictions->totals;
    char ns[TEXT_BYTES], bytes[TEXT_BYTES];
    size_t top = explain->top > 0 ? explain->top : DEFAULT_TOP;
    printf("%" PRIu64 " evictions, %" PRIu64 " recomputes in %s, %s swapped\n", totals->evictions,
           totals->recomputes, text_ns(totals->recompute_ns, ns),
           text_bytes(totals->swapped_bytes, bytes));
    if (evictions->count == 0)
        return;
    print_by_op(evictions);
    printf("\n%6s  %-24s %12s %12s %9s %9s  %-10s %9s %12s\n", "number", "made by", "bytes", "age",
           "for line", "next", "came back", "for line", "cost");
    for (size_t i = 0; i < evictions->count && i < top; i++)
        print_eviction(evictions, &evictions->list[i]);
    if (evictions->count > top)
        printf("and %zu more: see --top\n", evictions->count - top);
    puts("next: how much dearer the cheapest choice that lost was, in time an idle ns; below 1 "
         "where\n"
         "a policy that counts bytes, too, preferred the larger. along: recomputed on the way to\n"
         "another value, which the cost is counted at.");
}

/* --- both sources ---------------------------------------------------------------------------- */

static void sort(struct explain *explain)
{
    if (explain->evictions.count > 0)
        qsort(explain->evictions.list, explain->evictions.count, sizeof *explain->evictions.list,
              by_cost);
}

/** Of the run, in JSON or tables. */
static bool print_run(struct explain *explain, const struct program *program,
                      const struct run_result *result)
{
    struct plan_counts planned;
    if (explain->plan != NULL && !plan_held_count(explain->plan, result, &planned))
        return false;
    if (explain->settings.json) {
        json_t *json = result_json(program, result);
        if (explain->plan != NULL)
            plan_held_put(json, &planned, result);
        put_evictions(json, explain);
        return json_print_line(json);
    }
    result_print_head(program, result);
    result_print_line(result);
    if (result->summary[0] != '\0')
        printf("\n%s\n", result->summary);
    putchar('\n');
    if (explain->plan != NULL) {
        plan_held_print(&planned, result);
        putchar('\n');
    }
    print_tables(explain);
    return true;
}

static bool explain_trace(struct explain *explain, const struct program *program)
{
    struct run_result result;
    struct run_options run_options;
    explain->evictions.program = program;
    struct observer observer = {evictions_event, evictions_pass, &explain->evictions};
    if (!run_options_begin(&run_options, program, &explain->settings))
        return false;
    run_options.observer = &observer;
    run_options.load_plan = explain->plan;
    bool good = run_program(program, &run_options, &result);
    sort(explain);
    good = good && print_run(explain, program, &result);
    run_result_free(&result);
    return good;
}

static bool on_recorded(void *context, const cebus_event *event, uint64_t line)
{
    (void)line;
    evictions_event(context, event, 0);
    return true;
}

static bool explain_run(struct explain *explain)
{
    struct run_head head;
    bool good = run_file_read(explain->trace, &head, on_recorded, &explain->evictions);
    if (good)
        run_file_warn(explain->trace, &head);
    sort(explain);
    if (good && explain->settings.json) {
        json_t *json = json_object();
        json_put(json, "trace", json_string(head.trace));
        json_put(json, "policy", json_string(head.policy));
        json_put(json, "machine", json_string(head.machine));
        json_put_number(json, "budget_bytes", head.budget_bytes);
        put_evictions(json, explain);
        good = json_print_line(json);
    } else if (good) {
        char budget[TEXT_BYTES];
        printf("%s: policy %s, budget %s, machine %s; all passes\n\n", head.trace, head.policy,
               text_bytes(head.budget_bytes, budget), head.machine);
        print_tables(explain);
    }
    run_head_free(&head);
    return good;
}

int command_explain(int argc, char **argv)
{
    struct explain explain = {0};
    struct program program = {0};
    struct plan_head head = {0};
    if (!settings_begin(&explain.settings))
        return EXIT_USAGE;
    argp_parse(&argp, argc, argv, 0, NULL, &explain);
    bool good;
    if (explain.plan != NULL && !plan_head_apply(&head, explain.plan, &explain.settings))
        return EXIT_WRONG;
    if (run_file_is(explain.trace))
        good = explain_run(&explain);
    else
        good = run_load(&program, explain.trace, &explain.settings) &&
               explain_trace(&explain, &program);
    evictions_free(&explain.evictions);
    program_free(&program);
    plan_head_free(&head);
    return good ? 0 : EXIT_WRONG;
}
