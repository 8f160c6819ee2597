#include <criterion/criterion.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "eager/device/cpu/pages.h"
#include "layout/pool.h"

TestSuite(pages);

enum {
    CHUNKS = 3
};

static uint64_t page, chunk;
static char *slab;

static void open_slab(void)
{
    page = (uint64_t)sysconf(_SC_PAGESIZE);
    chunk = CEBUS_CPU_CHUNK * page;
    slab = mmap(NULL, CHUNKS * chunk, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    cr_assert_neq(slab, MAP_FAILED);
    madvise(slab, CHUNKS * chunk, MADV_NOHUGEPAGE);
}

/** With a list of whole chunks and without. */
static void count_what_is_there(const cebus_host_allocator *host, bool lists)
{
    cebus_cpu_pages pages;
    open_slab();
    cebus_cpu_pages_open(&pages, slab, CHUNKS * chunk, host);
    cr_assert_eq(pages.whole != NULL, lists);
    cr_expect_eq(cebus_cpu_pages_count(&pages), 0);
    slab[7] = slab[2 * chunk + 3 * page] = 1;
    cr_expect_eq(cebus_cpu_pages_count(&pages), 2 * page);
    memset(slab + chunk, 1, chunk);
    cr_expect_eq(cebus_cpu_pages_count(&pages), chunk + 2 * page);
    cr_expect_eq(cebus_cpu_pages_count(&pages), chunk + 2 * page);
    madvise(slab + chunk + page, page, MADV_DONTNEED);
    cebus_cpu_pages_forget(&pages, chunk + page, chunk + 2 * page);
    cr_expect_eq(cebus_cpu_pages_count(&pages), chunk + page);
    pages.used = 2 * chunk + 2 * page;
    cr_expect_eq(cebus_cpu_pages_count(&pages), chunk, "what lies beyond is not looked at");
    pages.idle_from = page;
    pages.idle_to = 2 * chunk;
    cr_expect_eq(cebus_cpu_pages_count(&pages), page, "nor what nobody ever used");
    cebus_cpu_pages_close(&pages, host);
    munmap(slab, CHUNKS * chunk);
}

static void *refuse(void *context, size_t bytes)
{
    (void)context;
    (void)bytes;
    return NULL;
}

Test(pages, counts_what_is_there)
{
    cebus_host_allocator none = {.alloc = refuse}, some = cebus_host_allocator_default();
    count_what_is_there(&none, false);
    count_what_is_there(&some, true);
}
