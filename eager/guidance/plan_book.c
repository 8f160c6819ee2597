#include "eager/guidance/plan_book.h"

#include <cebus/info.h>

#include "eager/guidance/plan_read.h"

const char *const cebus_plan_action_names[CEBUS_ACTION_KINDS] = {
    [CEBUS_ACTION_COPY_OUT] = "copy_out", [CEBUS_ACTION_SWAP_OUT] = "swap_out",
    [CEBUS_ACTION_DROP] = "drop",         [CEBUS_ACTION_SWAP_IN] = "swap_in",
    [CEBUS_ACTION_REPLAY] = "replay",
};

void cebus_plan_book_init(cebus_plan_book *book, cebus_pool *pool)
{
    *book = (cebus_plan_book){.pool = pool};
}

void cebus_plan_book_clear(cebus_plan_book *book)
{
    for (size_t i = 0; i < book->count; i++)
        cebus_plan_clear(&book->pages[i].plan);
    cebus_pool_free_object(book->pool, book->pages, book->capacity * sizeof *book->pages);
    cebus_plan_book_init(book, book->pool);
}

/** count: there is none. */
static size_t index_of(const cebus_plan_book *book, uint64_t signature, size_t n_calls,
                       const cebus_policy *policy)
{
    size_t i = 0;
    while (i < book->count &&
           (book->pages[i].signature != signature || book->pages[i].n_calls != n_calls ||
            book->pages[i].policy != policy))
        i++;
    return i;
}

const cebus_plan_page *cebus_plan_book_find(const cebus_plan_book *book, uint64_t signature,
                                            size_t n_calls, const cebus_policy *policy)
{
    size_t i = index_of(book, signature, n_calls, policy);
    return i < book->count ? &book->pages[i] : NULL;
}

bool cebus_plan_book_merge(cebus_plan_book *book, cebus_plan_book *from)
{
    for (size_t i = 0; i < from->count; i++) {
        void *pages = book->pages; /* doubles at most once a page: enough for all of them */
        if (!cebus_pool_grow(book->pool, &pages, &book->capacity, book->count + i,
                             sizeof *book->pages))
            return false;
        book->pages = pages;
    }
    for (size_t i = 0; i < from->count; i++) {
        const cebus_plan_page *page = &from->pages[i];
        size_t at = index_of(book, page->signature, page->n_calls, page->policy);
        if (at < book->count)
            cebus_plan_clear(&book->pages[at].plan);
        else
            book->count++;
        book->pages[at] = *page;
    }
    from->count = 0;
    cebus_plan_book_clear(from);
    return true;
}

static void write_key(cebus_trace_writer *to, const char *key, uint64_t number)
{
    cebus_trace_write_text(to, ", \"");
    cebus_trace_write_text(to, key);
    cebus_trace_write_text(to, "\": ");
    cebus_trace_write_number(to, number);
}

static void write_name(cebus_trace_writer *to, const char *key, const char *name)
{
    cebus_trace_write_text(to, ", \"");
    cebus_trace_write_text(to, key);
    cebus_trace_write_text(to, "\": ");
    cebus_trace_write_string(to, name);
}

void cebus_plan_book_write_head(cebus_trace_writer *to, const cebus_plan_origin *origin, size_t n)
{
    cebus_trace_write_text(to, "{\"cebus_plans\": 1");
    write_name(to, "version", cebus_version());
    write_name(to, "device", origin->device);
    write_name(to, "policy", origin->policy->name);
    write_name(to, "layout", origin->layout);
    write_name(to, "swap", origin->swap);
    write_key(to, "budget", origin->budget);
    write_key(to, "host_budget", origin->host_budget);
    write_key(to, "plans", n);
    cebus_trace_write_text(to, "}\n");
}

void cebus_plan_book_write(cebus_trace_writer *to, const cebus_plan_page *page)
{
    cebus_trace_write_text(to, "{\"plan\": \"");
    cebus_trace_write_hex(to, page->signature);
    cebus_trace_write_text(to, "\"");
    write_key(to, "calls", page->n_calls);
    write_key(to, "values", page->n_values);
    write_key(to, "budget", page->terms.budget);
    write_key(to, "holes", page->terms.holes);
    write_key(to, "host", page->terms.host);
    write_key(to, "out_rate", page->terms.out_rate);
    write_key(to, "in_rate", page->terms.in_rate);
    write_key(to, "placed", page->placed);
    write_key(to, "predicted_ns", page->predicted_ns);
    write_key(to, "actions", page->plan.count);
    cebus_trace_write_text(to, "}\n");
    for (size_t i = 0; i < page->plan.count; i++) {
        const cebus_action *action = &page->plan.actions[i];
        cebus_trace_write_text(to, "{\"");
        cebus_trace_write_text(to, cebus_plan_action_names[action->kind]);
        cebus_trace_write_text(to, "\": ");
        cebus_trace_write_number(to, action->value);
        write_key(to, "at", action->at);
        cebus_trace_write_text(to, "}\n");
    }
}
