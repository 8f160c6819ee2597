/**
 * fuzz_plans.c: any bytes as a file of plans (<cebus/plan.h>). Whatever they are, reading them
 * ends: with a sentence that says what is wrong, and an empty book; or with plans whose actions are
 * in order and range, which written again are read as the same.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "eager/guidance/plan_book.h"
#include "lineage/iteration.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void stop(const char *what)
{
    fprintf(stderr, "%s\n", what);
    abort();
}

static void check_page(const cebus_plan_page *page)
{
    uint32_t at = 0;
    if (page->n_calls == 0 || page->n_calls > CEBUS_ITERATION_MAX_CALLS || page->policy == NULL ||
        page->policy->plan == NULL)
        stop("a plan of nothing, or by nobody");
    for (size_t i = 0; i < page->plan.count; i++) {
        const cebus_action *action = &page->plan.actions[i];
        if (action->at < at || action->at > page->n_calls || action->value >= page->n_values ||
            action->kind >= CEBUS_ACTION_KINDS)
            stop("an action out of order or range");
        at = action->at;
    }
}

/** Reads what lies in a file without a name. */
static cebus_status read_back(cebus_plan_book *book, int fd)
{
    char path[64], why[320] = "";
    cebus_host_allocator host = cebus_host_allocator_default();
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    cebus_status status = cebus_plan_book_read(book, path, &host, why, sizeof why);
    if ((status == CEBUS_OK) != (why[0] == '\0') || (status != CEBUS_OK && book->count > 0))
        stop("neither read nor refused");
    return status;
}

static bool is_same(const cebus_plan_page *a, const cebus_plan_page *b)
{
    if (a->signature != b->signature || a->n_calls != b->n_calls || a->n_values != b->n_values ||
        a->policy != b->policy || a->placed != b->placed || a->predicted_ns != b->predicted_ns ||
        a->terms.budget != b->terms.budget || a->plan.count != b->plan.count)
        return false;
    for (size_t i = 0; i < a->plan.count; i++) {
        const cebus_action *x = &a->plan.actions[i], *y = &b->plan.actions[i];
        if (x->at != y->at || x->value != y->value || x->kind != y->kind)
            return false;
    }
    return true;
}

static void write_again(const cebus_plan_book *book, cebus_pool *pool)
{
    static cebus_trace_writer writer;
    char path[64];
    cebus_plan_book again;
    int fd = memfd_create("plans", MFD_CLOEXEC);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (fd < 0 || cebus_trace_writer_open(&writer, path) != 0)
        stop("no file to write to");
    cebus_plan_origin origin = {"cpu", "zones", "on", book->pages[0].policy, 1, 2};
    cebus_plan_book_write_head(&writer, &origin, book->count);
    for (size_t i = 0; i < book->count; i++)
        cebus_plan_book_write(&writer, &book->pages[i]);
    cebus_plan_book_init(&again, pool);
    if (cebus_trace_writer_close(&writer) != 0 || read_back(&again, fd) != CEBUS_OK ||
        again.count != book->count)
        stop("what was written is not read");
    for (size_t i = 0; i < book->count; i++) {
        if (!is_same(&book->pages[i], &again.pages[i]))
            stop("what was written is read as something else");
    }
    cebus_plan_book_clear(&again);
    close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cebus_pool pool;
    cebus_plan_book book;
    int fd = memfd_create("plans", MFD_CLOEXEC);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        stop("no file to read from");
    cebus_pool_init(&pool, NULL);
    cebus_plan_book_init(&book, &pool);
    if (read_back(&book, fd) == CEBUS_OK && book.count > 0) {
        for (size_t i = 0; i < book.count; i++)
            check_page(&book.pages[i]);
        write_again(&book, &pool);
    }
    cebus_plan_book_clear(&book);
    if (pool.live_objects > 0)
        stop("memory is left");
    cebus_pool_deinit(&pool);
    close(fd);
    return 0;
}
