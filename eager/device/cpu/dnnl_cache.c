#include "eager/device/cpu/dnnl_cache.h"

#ifdef CEBUS_HAVE_ONEDNN

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef CEBUS_HAVE_OPENMP
#include <omp.h>
#endif

#include "layout/number.h"

#define ALIGNMENT 64
#define BUCKETS 1024

/** An operand as the primitive takes it, and the way there from the caller's bytes. */
typedef struct operand {
    int arg;
    bool written;
    dnnl_memory_t given;
    dnnl_memory_t wanted;     /**< == given when the layouts agree */
    dnnl_primitive_t reorder; /**< NULL when they do */
    uint64_t offset;          /**< of `wanted` in the workspace */
} operand;

struct cebus_dnnl_plan {
    cebus_dnnl_plan *next; /**< in its bucket */
    uint64_t hash, tick;
    cebus_dnnl_maker maker;
    int threads;
    const char *name; /**< NULL: oneDNN cannot; all below is empty */
    dnnl_primitive_desc_t desc;
    dnnl_primitive_t primitive;
    dnnl_memory_t scratch; /**< shared by the primitive and the reorders; NULL: none wanted */
    uint64_t scratch_offset, workspace;
    uint64_t outside; /**< bytes the process grew by when it was made */
    int n;
    operand operand[CEBUS_DNNL_MAX_OPERANDS];
    size_t key_bytes;
    unsigned char key[];
};

struct cebus_dnnl {
    dnnl_engine_t engine;
    dnnl_stream_t stream;
    cebus_dnnl_plan *bucket[BUCKETS];
    size_t count;
    uint64_t tick;
    uint64_t outside; /**< of the engine and all plans */
};

/** Resident bytes of the process; 0 where the system does not say. */
static uint64_t resident_bytes(void)
{
    unsigned long long pages = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    if (!file)
        return 0;
    if (fscanf(file, "%*u %llu", &pages) != 1)
        pages = 0;
    fclose(file);
    return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static uint64_t grown_since(uint64_t before)
{
    uint64_t now = resident_bytes();
    return now > before ? now - before : 0;
}

/* oneDNN cuts its work by the calling thread's OpenMP setting: borrow it for the call. */
static int threads_set(int threads)
{
#ifdef CEBUS_HAVE_OPENMP
    int former = omp_get_max_threads();
    if (former != threads)
        omp_set_num_threads(threads);
    return former;
#else
    return threads;
#endif
}

/* FNV-1a. */
static uint64_t hash_bytes(const void *bytes, size_t n)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < n; i++)
        hash = (hash ^ ((const unsigned char *)bytes)[i]) * UINT64_C(0x100000001b3);
    return hash;
}

static dnnl_status_t user_scratch(dnnl_primitive_attr_t *out)
{
    dnnl_status_t status = dnnl_primitive_attr_create(out);
    if (status == dnnl_success)
        status = dnnl_primitive_attr_set_scratchpad_mode(*out, dnnl_scratchpad_mode_user);
    return status;
}

static const char *implementation(const_dnnl_primitive_desc_t desc)
{
    const char *name = NULL;
    if (dnnl_primitive_desc_query(desc, dnnl_query_impl_info_str, 0, &name) != dnnl_success)
        return "";
    return name;
}

dnnl_status_t cebus_dnnl_select(dnnl_engine_t engine, const void *op_desc,
                                const_dnnl_primitive_desc_t hint, const char *avoid,
                                dnnl_primitive_desc_t *out)
{
    dnnl_primitive_attr_t attr = NULL;
    dnnl_primitive_desc_iterator_t at = NULL;
    *out = NULL;
    dnnl_status_t status = user_scratch(&attr);
    if (status == dnnl_success)
        status = dnnl_primitive_desc_iterator_create(&at, op_desc, attr, engine, hint);
    while (status == dnnl_success) {
        dnnl_primitive_desc_t desc = dnnl_primitive_desc_iterator_fetch(at);
        if (!desc) {
            status = dnnl_out_of_memory;
            break;
        }
        const char *name = implementation(desc);
        if (!strstr(name, "ref") && !(avoid && strstr(name, avoid))) {
            *out = desc;
            break;
        }
        dnnl_primitive_desc_destroy(desc);
        status = dnnl_primitive_desc_iterator_next(at);
    }
    dnnl_primitive_desc_iterator_destroy(at);
    dnnl_primitive_attr_destroy(attr);
    return status == dnnl_iterator_ends ? dnnl_unimplemented : status;
}

static uint64_t scratch_wanted(const_dnnl_primitive_desc_t desc)
{
    const dnnl_memory_desc_t *md = dnnl_primitive_desc_query_md(desc, dnnl_query_scratchpad_md, 0);
    return md ? dnnl_memory_desc_get_size(md) : 0;
}

static dnnl_status_t memory_create(dnnl_engine_t engine, const dnnl_memory_desc_t *md,
                                   dnnl_memory_t *out)
{
    return dnnl_memory_create(out, md, engine, DNNL_MEMORY_NONE);
}

/** Makes the reorder between `given` and `wanted`; answers its scratch. */
static dnnl_status_t reorder_create(dnnl_engine_t engine, const cebus_dnnl_operand *in,
                                    const dnnl_memory_desc_t *wanted, operand *out,
                                    uint64_t *out_scratch)
{
    const dnnl_memory_desc_t *from = in->written ? wanted : &in->given;
    const dnnl_memory_desc_t *to = in->written ? &in->given : wanted;
    dnnl_primitive_attr_t attr = NULL;
    dnnl_primitive_desc_t desc = NULL;
    dnnl_status_t status = user_scratch(&attr);
    if (status == dnnl_success)
        status = dnnl_reorder_primitive_desc_create(&desc, from, engine, to, engine, attr);
    if (status == dnnl_success) {
        *out_scratch = scratch_wanted(desc);
        status = dnnl_primitive_create(&out->reorder, desc);
    }
    dnnl_primitive_desc_destroy(desc);
    dnnl_primitive_attr_destroy(attr);
    return status;
}

static dnnl_status_t operand_init(dnnl_engine_t engine, cebus_dnnl_plan *plan,
                                  const cebus_dnnl_operand *in, uint64_t *scratch)
{
    operand *out = &plan->operand[plan->n++];
    const dnnl_memory_desc_t *wanted =
        dnnl_primitive_desc_query_md(plan->desc, dnnl_query_exec_arg_md, in->arg);
    if (!wanted)
        return dnnl_invalid_arguments;
    out->arg = in->arg;
    out->written = in->written;
    dnnl_status_t status = memory_create(engine, &in->given, &out->given);
    if (status != dnnl_success)
        return status;
    if (dnnl_memory_desc_equal(wanted, &in->given)) {
        out->wanted = out->given;
        return dnnl_success;
    }
    out->offset = plan->workspace;
    plan->workspace += cebus_align_up(dnnl_memory_desc_get_size(wanted), ALIGNMENT);
    status = memory_create(engine, wanted, &out->wanted);
    if (status != dnnl_success)
        return status;
    uint64_t bytes = 0;
    status = reorder_create(engine, in, wanted, out, &bytes);
    if (bytes > *scratch)
        *scratch = bytes;
    return status;
}

static dnnl_status_t scratch_init(dnnl_engine_t engine, cebus_dnnl_plan *plan, uint64_t bytes)
{
    if (bytes == 0)
        return dnnl_success;
    dnnl_memory_desc_t md;
    dnnl_dims_t dims = {(int64_t)bytes};
    dnnl_status_t status = dnnl_memory_desc_init_by_tag(&md, 1, dims, dnnl_u8, dnnl_a);
    if (status == dnnl_success)
        status = memory_create(engine, &md, &plan->scratch);
    plan->scratch_offset = plan->workspace;
    plan->workspace += cebus_align_up(bytes, ALIGNMENT);
    return status;
}

/** Everything but the key; on failure the plan is half built and plan_clear() frees it. */
static dnnl_status_t plan_build(dnnl_engine_t engine, cebus_dnnl_plan *plan)
{
    cebus_dnnl_recipe recipe = {0};
    dnnl_status_t status = plan->maker(engine, plan->key, &recipe);
    if (status != dnnl_success)
        return status;
    plan->desc = recipe.primitive;
    uint64_t scratch = scratch_wanted(plan->desc);
    status = dnnl_primitive_create(&plan->primitive, plan->desc);
    for (int i = 0; i < recipe.n && status == dnnl_success; i++)
        status = operand_init(engine, plan, &recipe.operand[i], &scratch);
    if (status == dnnl_success)
        status = scratch_init(engine, plan, scratch);
    if (status == dnnl_success)
        plan->name = implementation(plan->desc);
    return status;
}

static void plan_clear(cebus_dnnl_plan *plan)
{
    for (int i = 0; i < plan->n; i++) {
        operand *o = &plan->operand[i];
        if (o->wanted != o->given)
            dnnl_memory_destroy(o->wanted);
        dnnl_memory_destroy(o->given);
        dnnl_primitive_destroy(o->reorder);
        *o = (operand){0};
    }
    dnnl_memory_destroy(plan->scratch);
    dnnl_primitive_destroy(plan->primitive);
    dnnl_primitive_desc_destroy(plan->desc);
    plan->scratch = NULL;
    plan->primitive = NULL;
    plan->desc = NULL;
    plan->name = NULL;
    plan->n = 0;
    plan->workspace = 0;
}

static cebus_dnnl *cache_create(void)
{
    uint64_t before = resident_bytes();
    cebus_dnnl *dnnl = calloc(1, sizeof *dnnl);
    if (!dnnl)
        return NULL;
    if (dnnl_engine_create(&dnnl->engine, dnnl_cpu, 0) != dnnl_success ||
        dnnl_stream_create(&dnnl->stream, dnnl->engine, dnnl_stream_in_order) != dnnl_success) {
        cebus_dnnl_destroy(dnnl);
        return NULL;
    }
    dnnl->outside = grown_since(before);
    return dnnl;
}

uint64_t cebus_dnnl_outside_bytes(const cebus_dnnl *dnnl)
{
    return dnnl ? dnnl->outside : 0;
}

void cebus_dnnl_destroy(cebus_dnnl *dnnl)
{
    if (!dnnl)
        return;
    for (size_t i = 0; i < BUCKETS; i++) {
        while (dnnl->bucket[i]) {
            cebus_dnnl_plan *plan = dnnl->bucket[i];
            dnnl->bucket[i] = plan->next;
            plan_clear(plan);
            free(plan);
        }
    }
    dnnl_stream_destroy(dnnl->stream);
    dnnl_engine_destroy(dnnl->engine);
    free(dnnl);
}

/** Frees the plan used longest ago: a walk over all, but only when a full cache meets a new key. */
static void cache_evict(cebus_dnnl *dnnl)
{
    cebus_dnnl_plan **oldest = NULL;
    for (size_t i = 0; i < BUCKETS; i++)
        for (cebus_dnnl_plan **at = &dnnl->bucket[i]; *at; at = &(*at)->next)
            if (!oldest || (*at)->tick < (*oldest)->tick)
                oldest = at;
    if (!oldest)
        return;
    cebus_dnnl_plan *plan = *oldest;
    *oldest = plan->next;
    dnnl->outside -= plan->outside;
    plan_clear(plan);
    free(plan);
    dnnl->count--;
}

static cebus_dnnl_plan *cache_lookup(cebus_dnnl *dnnl, const cebus_dnnl_plan *like, const void *key)
{
    cebus_dnnl_plan *plan = dnnl->bucket[like->hash % BUCKETS];
    while (plan && !(plan->hash == like->hash && plan->maker == like->maker &&
                     plan->threads == like->threads && plan->key_bytes == like->key_bytes &&
                     memcmp(plan->key, key, like->key_bytes) == 0))
        plan = plan->next;
    return plan;
}

/** NULL: no host memory. A plan oneDNN cannot make is kept too, so as not to ask again. */
static cebus_dnnl_plan *cache_insert(cebus_dnnl *dnnl, const cebus_dnnl_plan *like, const void *key)
{
    uint64_t before = resident_bytes();
    cebus_dnnl_plan *plan = calloc(1, sizeof *plan + like->key_bytes);
    if (!plan)
        return NULL;
    *plan = *like;
    memcpy(plan->key, key, like->key_bytes);
    int former = threads_set(plan->threads);
    dnnl_status_t status = plan_build(dnnl->engine, plan);
    threads_set(former);
    if (status != dnnl_success)
        plan_clear(plan);
    if (status == dnnl_out_of_memory) {
        free(plan);
        return NULL;
    }
    if (dnnl->count == CEBUS_DNNL_CAPACITY)
        cache_evict(dnnl);
    plan->outside = grown_since(before);
    dnnl->outside += plan->outside;
    plan->next = dnnl->bucket[plan->hash % BUCKETS];
    dnnl->bucket[plan->hash % BUCKETS] = plan;
    dnnl->count++;
    return plan;
}

static cebus_status no_host_memory(void)
{
    return cebus_fail(CEBUS_DEVICE_ERROR, "oneDNN",
                      "no host memory to make a primitive: free some, then try again");
}

cebus_status cebus_dnnl_find(const cebus_launch *launch, cebus_dnnl_maker maker, const void *key,
                             size_t key_bytes, const cebus_dnnl_plan **out)
{
    cebus_cpu *cpu = launch->device;
    *out = NULL;
    if (!cpu)
        return CEBUS_OK;
    if (!cpu->dnnl)
        cpu->dnnl = cache_create();
    if (!cpu->dnnl)
        return no_host_memory();
    cebus_dnnl_plan like = {
        .hash = hash_bytes(key, key_bytes),
        .maker = maker,
        .threads = launch->threads,
        .key_bytes = key_bytes,
    };
    cebus_dnnl_plan *plan = cache_lookup(cpu->dnnl, &like, key);
    if (!plan)
        plan = cache_insert(cpu->dnnl, &like, key);
    if (!plan)
        return no_host_memory();
    plan->tick = ++cpu->dnnl->tick;
    *out = plan->name ? plan : NULL;
    return CEBUS_OK;
}

uint64_t cebus_dnnl_plan_workspace(const cebus_dnnl_plan *plan)
{
    return plan->workspace;
}

const char *cebus_dnnl_plan_name(const cebus_dnnl_plan *plan)
{
    return plan->name;
}

static dnnl_status_t operand_reorder(dnnl_stream_t stream, const cebus_dnnl_plan *plan,
                                     const operand *o)
{
    dnnl_exec_arg_t args[] = {
        {DNNL_ARG_FROM, o->written ? o->wanted : o->given},
        {DNNL_ARG_TO, o->written ? o->given : o->wanted},
        {DNNL_ARG_SCRATCHPAD, plan->scratch},
    };
    return dnnl_primitive_execute(o->reorder, stream, plan->scratch ? 3 : 2, args);
}

static dnnl_status_t reorder_all(dnnl_stream_t stream, const cebus_dnnl_plan *plan, bool written)
{
    dnnl_status_t status = dnnl_success;
    for (int i = 0; i < plan->n && status == dnnl_success; i++)
        if (plan->operand[i].reorder && plan->operand[i].written == written)
            status = operand_reorder(stream, plan, &plan->operand[i]);
    return status;
}

static dnnl_status_t place(const cebus_dnnl_plan *plan, void *const *data, char *workspace)
{
    dnnl_status_t status = dnnl_success;
    for (int i = 0; i < plan->n && status == dnnl_success; i++) {
        const operand *o = &plan->operand[i];
        status = dnnl_memory_set_data_handle(o->given, data[i]);
        if (status == dnnl_success && o->reorder)
            status = dnnl_memory_set_data_handle(o->wanted, workspace + o->offset);
    }
    if (status == dnnl_success && plan->scratch)
        status = dnnl_memory_set_data_handle(plan->scratch, workspace + plan->scratch_offset);
    return status;
}

static dnnl_status_t execute(dnnl_stream_t stream, const cebus_dnnl_plan *plan)
{
    dnnl_exec_arg_t args[CEBUS_DNNL_MAX_OPERANDS + 1];
    int n = 0;
    for (; n < plan->n; n++)
        args[n] = (dnnl_exec_arg_t){plan->operand[n].arg, plan->operand[n].wanted};
    if (plan->scratch)
        args[n++] = (dnnl_exec_arg_t){DNNL_ARG_SCRATCHPAD, plan->scratch};
    return dnnl_primitive_execute(plan->primitive, stream, n, args);
}

cebus_status cebus_dnnl_plan_run(const cebus_launch *launch, const cebus_dnnl_plan *plan,
                                 void *const *data, void *workspace)
{
    dnnl_stream_t stream = ((cebus_cpu *)launch->device)->dnnl->stream;
    int former = threads_set(plan->threads);
    dnnl_status_t status = place(plan, data, workspace);
    if (status == dnnl_success)
        status = reorder_all(stream, plan, false);
    if (status == dnnl_success)
        status = execute(stream, plan);
    if (status == dnnl_success)
        status = reorder_all(stream, plan, true);
    if (status == dnnl_success)
        status = dnnl_stream_wait(stream);
    threads_set(former);
    if (status != dnnl_success)
        return cebus_fail(CEBUS_DEVICE_ERROR, "oneDNN", "%s failed (status %d)", plan->name,
                          (int)status);
    return CEBUS_OK;
}

#else

uint64_t cebus_dnnl_outside_bytes(const cebus_dnnl *dnnl)
{
    (void)dnnl;
    return 0;
}

void cebus_dnnl_destroy(cebus_dnnl *dnnl)
{
    (void)dnnl;
}

cebus_status cebus_dnnl_find(const cebus_launch *launch, cebus_dnnl_maker maker, const void *key,
                             size_t key_bytes, const cebus_dnnl_plan **out)
{
    (void)launch;
    (void)maker;
    (void)key;
    (void)key_bytes;
    *out = NULL;
    return CEBUS_OK;
}

uint64_t cebus_dnnl_plan_workspace(const cebus_dnnl_plan *plan)
{
    (void)plan;
    return 0;
}

const char *cebus_dnnl_plan_name(const cebus_dnnl_plan *plan)
{
    (void)plan;
    return "";
}

cebus_status cebus_dnnl_plan_run(const cebus_launch *launch, const cebus_dnnl_plan *plan,
                                 void *const *data, void *workspace)
{
    (void)launch;
    (void)plan;
    (void)data;
    (void)workspace;
    return CEBUS_UNSUPPORTED;
}

#endif
