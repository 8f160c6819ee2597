#include "evict/advisor/advice.h"

#include "layout/prefix.h"

/** When blocks could not be placed, the next plan does without this part of what was missing, and
 * this part of the memory. */
#define GIVE_PART 3
#define GIVE_LEAST 256
/** After a plan was placed the next may use so much more, up to all of it. */
#define TAKE_PART 64
/** Generations between attempts, unless the best one changed. */
#define PATIENCE 8
/** Attempts until one plan is placed. */
#define TRIES 64

static void mix(uint64_t *print, uint64_t number)
{
    *print = (*print ^ number) * UINT64_C(0x9e3779b97f4a7c15);
    *print ^= *print >> 29;
}

uint64_t cebus_advise_print(const cebus_advise_program *program)
{
    uint64_t print = UINT64_C(14695981039346656037);
    if (program == NULL)
        return 0;
    for (size_t i = 0; i < program->n_values; i++) {
        const cebus_advise_value *v = &program->values[i];
        mix(&print, v->bytes);
        mix(&print, (uint64_t)v->persistent + 2u * v->given + 4u * v->kept);
    }
    for (size_t i = 0; i < program->n_calls; i++) {
        const cebus_advise_call *c = &program->calls[i];
        mix(&print, c->workspace);
        mix(&print, c->refs);
        mix(&print, (uint64_t)c->n_in << 32 | c->n_out);
        mix(&print, (uint64_t)c->n_written << 1 | c->replayable);
        if (c->stateful)
            mix(&print, c->stateful);
    }
    for (size_t i = 0; i < program->n_refs; i++)
        mix(&print, program->refs[i]);
    return print != 0 ? print : 1;
}

static const char *const reasons[] = {
    [CEBUS_GRAPH_NO_PROGRAM] = "the program, or a list of it, is NULL",
    [CEBUS_GRAPH_TOO_LARGE] = "the program is too large",
    [CEBUS_GRAPH_WRONG_REF] = "it names a value that there is not",
    [CEBUS_GRAPH_WRONG_WRITE] = "it writes more in place than it reads and makes, or other sizes",
    [CEBUS_GRAPH_MADE_TWICE] = "it makes a value that is there already",
    [CEBUS_GRAPH_READ_EARLY] = "it reads a value that is not made yet, or was overwritten",
};

/** A search and what it needs. */
typedef struct asking {
    const cebus_advise_program *program;
    const cebus_advise_options *options;
    cebus_shelf shelf;
    cebus_graph graph;
    cebus_species species;
    cebus_breed breed;
    cebus_rehearsal_log log;
    uint32_t *value_of;
    cebus_link_terms link;
    cebus_genome tried;
    cebus_advice *plan; /**< the best one placed so far */
    uint64_t looked_at; /**< time of the best genome when it was last looked at */
    bool failed;        /**< no host memory for a plan */
} asking;

static bool take_log(asking *a)
{
    const cebus_breed_bench *bench = &a->breed.benches[0];
    const size_t n = bench->unfold.steps_room, m = bench->belady.trips_room;
    a->log.steps = cebus_shelf_take(&a->shelf, n, sizeof(uint64_t));
    a->log.ends = cebus_shelf_take(&a->shelf, n, sizeof(uint64_t));
    a->log.outs = cebus_shelf_take(&a->shelf, m, sizeof(uint64_t));
    a->log.out_ends = cebus_shelf_take(&a->shelf, m, sizeof(uint64_t));
    a->log.ins = cebus_shelf_take(&a->shelf, m, sizeof(uint64_t));
    a->log.in_ends = cebus_shelf_take(&a->shelf, m, sizeof(uint64_t));
    return !a->shelf.failed;
}

/** Whether the checker lets a plan pass: where bytes lie may order what numbers of bytes did not.
 * Its time is the plan's from then on. */
static bool holds(asking *a, cebus_advice *plan)
{
    uint64_t ns;
    cebus_status status = cebus_advice_check(a->program, &a->options->link, plan, NULL, 0, &ns);
    a->failed = a->failed || status == CEBUS_OUT_OF_HOST_MEMORY;
    plan->time_ns = ns;
    return status == CEBUS_OK;
}

/** Tries to place a genome's plan; keeps it if it is the best one placed. False: it could
 * not be, *out_missing bytes more would do. */
static bool place_as(asking *a, const cebus_genome *best, bool stays, uint64_t *out_missing)
{
    cebus_advice *plan = NULL;
    cebus_breed_bench *bench = &a->breed.benches[0];
    *out_missing = 0;
    cebus_genome_copy(&a->species, best, &a->tried);
    if (!stays)
        a->tried.settings.stay = a->tried.is_streaming = 0;
    cebus_breed_bench_try(bench, &a->species, &a->link, &a->tried, &a->log);
    if (a->tried.time == CEBUS_REHEARSAL_NEVER)
        return false;
    const cebus_advice_draft draft = {.graph = &a->graph,
                                      .value_of = a->value_of,
                                      .bench = bench,
                                      .log = &a->log,
                                      .memory = a->options->memory,
                                      .time_ns = a->tried.time};
    if (cebus_advice_make(&draft, a->options->host, out_missing, &plan) != CEBUS_OK)
        a->failed = true;
    if (plan != NULL && !holds(a, plan)) {
        cebus_advice_destroy(plan);
        plan = NULL;
    }
    if (plan == NULL)
        return false;
    if (a->plan != NULL && a->plan->time_ns <= plan->time_ns) {
        cebus_advice_destroy(plan);
        return true;
    }
    cebus_advice_destroy(a->plan);
    a->plan = plan;
    return true;
}

/** As it is; else, while there is no plan at all, with nothing that stays over, which is easier, as
 * nothing lies at a given offset: better than none, though not what was asked for. */
static bool place(asking *a, const cebus_genome *best, uint64_t *out_missing)
{
    uint64_t missing;
    if (place_as(a, best, true, out_missing))
        return true;
    if (a->plan == NULL && !a->failed && (best->settings.stay > 0 || best->is_streaming))
        place_as(a, best, false, &missing);
    return false;
}

/** The memory plans are made for: less when blocks found no place, more when they did. False when
 * there is none left to give. */
static bool adapt(asking *a, bool placed, uint64_t missing)
{
    const uint64_t all = a->options->memory;
    const uint64_t less = missing / GIVE_PART + all / GIVE_LEAST + 1;
    if (placed) {
        const uint64_t room = all - a->species.memory;
        a->species.memory += room < all / TAKE_PART ? room : all / TAKE_PART;
        return true;
    }
    if (less >= a->species.memory - a->species.reserve)
        return false;
    a->species.memory -= less;
    return true;
}

/** For less and less memory, until a plan is placed. */
static void insist(asking *a, const cebus_genome *best)
{
    for (int tries = 0; tries < TRIES && a->plan == NULL && !a->failed; tries++) {
        uint64_t missing;
        if (place(a, best, &missing) || a->species.pools || !adapt(a, false, missing))
            return;
    }
}

static bool judge(void *context, const cebus_genome *best, uint64_t generation, bool *out_changed)
{
    asking *a = context;
    const uint64_t memory = a->species.memory;
    const bool due = best->time < a->looked_at || generation % PATIENCE == 0;
    a->looked_at = best->time;
    if (due && best->time != CEBUS_REHEARSAL_NEVER) {
        uint64_t missing;
        const bool placed = place(a, best, &missing);
        if (!a->species.pools && adapt(a, placed, missing) && !placed)
            insist(a, best);
    }
    *out_changed = a->species.memory != memory;
    if (*out_changed)
        a->looked_at = UINT64_MAX;
    const uint64_t shown = a->plan != NULL ? a->plan->time_ns : UINT64_MAX;
    return !a->failed &&
           (a->options->go_on == NULL || a->options->go_on(a->options->context, generation, shown));
}

static cebus_status search(asking *a, cebus_advise_result *result, cebus_advice **out)
{
    const cebus_advise_options *options = a->options;
    const cebus_breed_terms terms = {.link = a->link,
                                     .seed = options->seed,
                                     .generations = options->generations,
                                     .threads = options->threads,
                                     .judge = judge,
                                     .context = a};
    result->call = a->graph.neediest;
    result->need = a->graph.need;
    result->verdict = CEBUS_ADVISE_NO_ROOM;
    if (a->graph.need > options->memory)
        return CEBUS_OK;
    result->verdict = CEBUS_ADVISE_NO_PLAN;
    if (!cebus_species_init(&a->species, &a->graph, options->memory,
                            a->link.out < a->link.in ? a->link.out : a->link.in, &a->shelf))
        return CEBUS_OUT_OF_HOST_MEMORY;
    cebus_species_keep_small(&a->species, (uint64_t)((double)a->link.latency_ns * a->link.in / 2));
    a->species.fix_order = options->fix_order;
    a->species.pools = options->published;
    if (options->published)
        a->species.reserve += a->graph.scratch + 511;
    if (a->species.reserve >= options->memory)
        return CEBUS_OK;
    if (!cebus_breed_init(&a->breed, &a->species, options->threads, &a->shelf) ||
        !cebus_genome_init(&a->tried, &a->species, &a->shelf) || !take_log(a))
        return CEBUS_OUT_OF_HOST_MEMORY;
    insist(a, cebus_breed_run(&a->breed, &terms));
    if (a->failed) {
        cebus_advice_destroy(a->plan);
        return CEBUS_OUT_OF_HOST_MEMORY;
    }
    *out = a->plan;
    if (a->plan == NULL)
        return CEBUS_OK;
    result->verdict = CEBUS_ADVISE_PLANNED;
    a->plan->plans = a->breed.plans;
    a->plan->generations = a->breed.generation;
    return CEBUS_OK;
}

static cebus_status ask(asking *a, const cebus_advise_program *program, cebus_advise_result *result,
                        cebus_advice **out)
{
    cebus_graph_verdict verdict = cebus_graph_make(program, &a->shelf, &a->graph, &result->call);
    if (verdict == CEBUS_GRAPH_NO_HOST_MEMORY)
        return CEBUS_OUT_OF_HOST_MEMORY;
    if (verdict != CEBUS_GRAPH_MADE) {
        result->verdict = CEBUS_ADVISE_WRONG_CALL;
        result->why = reasons[verdict];
        return CEBUS_INVALID_ARGUMENT;
    }
    a->value_of = cebus_shelf_take(&a->shelf, program->n_values, sizeof *a->value_of);
    if (a->value_of == NULL)
        return CEBUS_OUT_OF_HOST_MEMORY;
    for (size_t i = program->n_values; i-- > 0;) {
        if (a->graph.home[i] != CEBUS_GRAPH_NONE)
            a->value_of[a->graph.home[i]] = (uint32_t)i;
    }
    cebus_status status = search(a, result, out);
    if (*out != NULL)
        (*out)->print = cebus_advise_print(program);
    return status;
}

cebus_status cebus_advise(const cebus_advise_program *program, const cebus_advise_options *options,
                          cebus_advise_result *out_result, cebus_advice **out)
{
    cebus_advise_options known = CEBUS_ADVISE_OPTIONS_INIT;
    const cebus_advise_link *link = &known.link;
    asking a = {.program = program, .options = &known, .looked_at = UINT64_MAX};
    if (out != NULL)
        *out = NULL;
    if (out == NULL || out_result == NULL)
        return CEBUS_INVALID_ARGUMENT;
    *out_result = (cebus_advise_result){.verdict = CEBUS_ADVISE_WRONG_OPTIONS, .why = ""};
    if (!cebus_prefix_read(options, &known, sizeof known))
        return CEBUS_INVALID_ARGUMENT;
    out_result->verdict = CEBUS_ADVISE_NO_LINK;
    if (link->out == 0 || link->in == 0 || link->both == 0)
        return CEBUS_INVALID_ARGUMENT;
    a.link = (cebus_link_terms){.out = (double)link->out * 1e-9,
                                .in = (double)link->in * 1e-9,
                                .both = (double)link->both * 1e-9,
                                .latency_ns = link->latency_ns};
    cebus_shelf_init(&a.shelf, known.host);
    cebus_status status = ask(&a, program, out_result, out);
    cebus_shelf_clear(&a.shelf);
    return status;
}
