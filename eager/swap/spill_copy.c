#include "eager/swap/spill_copy.h"

#include <errno.h>
#include <string.h>

static size_t copy_bytes(size_t parts)
{
    return sizeof(cebus_spill_copy) + 2 * parts * sizeof(cebus_spill_job);
}

/** Room for the bytes; false: there is none. */
static bool take_room(cebus_runtime *rt, cebus_spill_copy *copy, cebus_tier tier, uint64_t bytes)
{
    if (tier == CEBUS_TIER_SPILL)
        copy->spilled = cebus_spill_take(rt->swap.spill, bytes);
    else
        copy->pageable = rt->host.alloc(rt->host.context, bytes);
    return copy->spilled != NULL || copy->pageable != NULL;
}

cebus_spill_copy *cebus_spill_copy_create(cebus_runtime *rt, cebus_tier tier, uint64_t bytes)
{
    uint64_t step = rt->info.remote ? CEBUS_SPILL_STAGE : bytes;
    size_t parts = (size_t)((bytes + step - 1) / step);
    cebus_spill_copy *copy = cebus_pool_alloc(&rt->pool, copy_bytes(parts));
    if (copy == NULL)
        return NULL;
    *copy = (cebus_spill_copy){.parts = parts};
    if (!take_room(rt, copy, tier, bytes)) {
        cebus_pool_free_object(&rt->pool, copy, copy_bytes(parts));
        return NULL;
    }
    for (size_t i = 0; i < 2 * parts; i++) {
        uint64_t at = i % parts * step, left = bytes - at;
        copy->jobs[i] = (cebus_spill_job){.spill = rt->swap.spill,
                                          .spilled = copy->spilled,
                                          .pageable = copy->pageable,
                                          .at = at,
                                          .bytes = left < step ? left : step};
    }
    return copy;
}

void cebus_spill_copy_free(cebus_runtime *rt, cebus_spill_copy *copy)
{
    if (copy->spilled != NULL)
        cebus_spill_give_back(rt->swap.spill, copy->spilled);
    else
        rt->host.free(rt->host.context, copy->pageable);
    cebus_pool_free_object(&rt->pool, copy, copy_bytes(copy->parts));
}

static void run_write(void *context)
{
    const cebus_spill_job *job = context;
    if (job->pageable != NULL)
        memcpy(job->pageable + job->at, job->memory, job->bytes);
    else
        cebus_spill_write(job->spill, job->spilled, job->at, job->memory, job->bytes);
}

static void run_read(void *context)
{
    const cebus_spill_job *job = context;
    if (job->pageable != NULL)
        memcpy(job->memory, job->pageable + job->at, job->bytes);
    else
        cebus_spill_read(job->spill, job->spilled, job->at, job->memory, job->bytes);
}

/** The piece of host memory of a direction; NULL: there is none to be had. */
static char *stage(cebus_runtime *rt, cebus_stream stream)
{
    char **memory = &rt->swap.stage[stream == CEBUS_STREAM_IN];
    if (*memory == NULL)
        *memory = rt->device_ops->host_alloc(rt->device, CEBUS_SPILL_STAGE);
    return *memory;
}

void cebus_spill_copy_deinit(cebus_runtime *rt)
{
    for (int i = 0; i < 2; i++) {
        if (rt->swap.stage[i] != NULL)
            rt->device_ops->host_free(rt->device, rt->swap.stage[i], CEBUS_SPILL_STAGE);
        rt->swap.stage[i] = NULL;
    }
}

/** One part: from the device to the file. */
static cebus_status write_part(cebus_runtime *rt, cebus_spill_job *job, const char *from)
{
    const cebus_device_ops *ops = rt->device_ops;
    job->memory = (char *)from;
    if (rt->info.remote) {
        job->memory = stage(rt, CEBUS_STREAM_OUT);
        if (job->memory == NULL)
            return CEBUS_OUT_OF_HOST_MEMORY;
        cebus_status status = ops->copy_async(rt->device, CEBUS_STREAM_OUT, job->memory, from,
                                              job->bytes, CEBUS_COPY_TO_HOST);
        if (status != CEBUS_OK)
            return status;
    }
    return ops->stream_call(rt->device, CEBUS_STREAM_OUT, run_write, job);
}

/** One part: from the file to the device. */
static cebus_status read_part(cebus_runtime *rt, cebus_spill_job *job, char *to)
{
    const cebus_device_ops *ops = rt->device_ops;
    job->memory = to;
    if (rt->info.remote)
        job->memory = stage(rt, CEBUS_STREAM_IN);
    if (job->memory == NULL)
        return CEBUS_OUT_OF_HOST_MEMORY;
    cebus_status status = ops->stream_call(rt->device, CEBUS_STREAM_IN, run_read, job);
    if (status != CEBUS_OK || !rt->info.remote)
        return status;
    return ops->copy_async(rt->device, CEBUS_STREAM_IN, to, job->memory, job->bytes,
                           CEBUS_COPY_TO_DEVICE);
}

/** What was started before a failure must end before its record may go. */
static cebus_status started(cebus_runtime *rt, cebus_stream stream, cebus_status status,
                            uint64_t *mark)
{
    *mark = rt->device_ops->stream_mark(rt->device, stream);
    if (status != CEBUS_OK)
        (void)rt->device_ops->stream_await(rt->device, stream, *mark);
    return status;
}

cebus_status cebus_spill_copy_write(cebus_runtime *rt, cebus_spill_copy *copy, const char *from)
{
    cebus_status status = CEBUS_OK;
    for (size_t i = 0; i < copy->parts && status == CEBUS_OK; i++)
        status = write_part(rt, &copy->jobs[i], from + copy->jobs[i].at);
    return started(rt, CEBUS_STREAM_OUT, status, &copy->out_mark);
}

cebus_status cebus_spill_copy_demote(cebus_runtime *rt, cebus_spill_copy *copy, const char *from)
{
    cebus_status status = CEBUS_OK;
    for (size_t i = 0; i < copy->parts && status == CEBUS_OK; i++) {
        cebus_spill_job *job = &copy->jobs[i];
        job->memory = (char *)from + job->at;
        status = rt->device_ops->stream_call(rt->device, CEBUS_STREAM_OUT, run_write, job);
    }
    return started(rt, CEBUS_STREAM_OUT, status, &copy->out_mark);
}

cebus_status cebus_spill_copy_read(cebus_runtime *rt, cebus_spill_copy *copy, char *to)
{
    cebus_status status = CEBUS_OK;
    cebus_spill_job *jobs = copy->jobs + copy->parts;
    if (copy->in_mark > 0) /* its jobs may still run: the bytes were given up on their way */
        (void)rt->device_ops->stream_await(rt->device, CEBUS_STREAM_IN, copy->in_mark);
    if (copy->spilled != NULL)
        atomic_store(&copy->spilled->read_error, 0);
    for (size_t i = 0; i < copy->parts && status == CEBUS_OK; i++)
        status = read_part(rt, &jobs[i], to + jobs[i].at);
    return started(rt, CEBUS_STREAM_IN, status, &copy->in_mark);
}

int cebus_spill_copy_written(cebus_runtime *rt, const cebus_spill_copy *copy)
{
    if (rt->device_ops->stream_await(rt->device, CEBUS_STREAM_OUT, copy->out_mark) != CEBUS_OK)
        return EIO;
    return atomic_load(&copy->spilled->write_error);
}

int cebus_spill_copy_arrived(cebus_runtime *rt, const cebus_spill_copy *copy)
{
    if (rt->device_ops->stream_await(rt->device, CEBUS_STREAM_IN, copy->in_mark) != CEBUS_OK)
        return EIO;
    return atomic_load(&copy->spilled->read_error);
}
