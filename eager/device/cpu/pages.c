#include "eager/device/cpu/pages.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "layout/number.h"

void cebus_cpu_pages_open(cebus_cpu_pages *pages, const char *base, uint64_t bytes,
                          const cebus_host_allocator *host)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), chunk = page * CEBUS_CPU_CHUNK;
    size_t chunks = (size_t)((bytes + chunk - 1) / chunk);
    *pages = (cebus_cpu_pages){.base = base, .used = bytes, .page = page, .chunk = chunk};
    pages->whole = host->alloc(host->context, chunks * sizeof *pages->whole);
    if (pages->whole == NULL)
        return;
    memset(pages->whole, 0, chunks * sizeof *pages->whole);
    pages->chunks = chunks;
}

void cebus_cpu_pages_close(cebus_cpu_pages *pages, const cebus_host_allocator *host)
{
    if (pages->whole != NULL)
        host->free(host->context, pages->whole);
    *pages = (cebus_cpu_pages){0};
}

void cebus_cpu_pages_forget(cebus_cpu_pages *pages, uint64_t from, uint64_t to)
{
    for (uint64_t i = from / pages->chunk; i < pages->chunks && i * pages->chunk < to; i++)
        pages->whole[i] = false;
}

/** Of [from, to), at most a chunk; `from` starts a page. */
static uint64_t resident_pages(const cebus_cpu_pages *pages, uint64_t from, uint64_t to)
{
    unsigned char there[CEBUS_CPU_CHUNK];
    uint64_t count = 0;
    if (mincore((char *)pages->base + from, to - from, there) != 0)
        return 0;
    for (uint64_t i = 0; i < (to - from + pages->page - 1) / pages->page; i++)
        count += there[i] & 1;
    return count;
}

static uint64_t count_chunk(cebus_cpu_pages *pages, uint64_t from)
{
    uint64_t i = from / pages->chunk, to = cebus_min_u64(from + pages->chunk, pages->used);
    if (i < pages->chunks && pages->whole[i])
        return CEBUS_CPU_CHUNK;
    if (from >= pages->idle_from && to <= pages->idle_to)
        return 0;
    uint64_t count = resident_pages(pages, from, to);
    if (i < pages->chunks)
        pages->whole[i] = count == CEBUS_CPU_CHUNK;
    return count;
}

uint64_t cebus_cpu_pages_count(cebus_cpu_pages *pages)
{
    uint64_t count = 0;
    for (uint64_t at = 0; at < pages->used; at += pages->chunk)
        count += count_chunk(pages, at);
    return count * pages->page;
}
