#include "evict/advisor/shelf.h"

#include <string.h>

#include "layout/pool.h"

struct cebus_shelf_item {
    _Alignas(16) cebus_shelf_item *next;
};

void cebus_shelf_init(cebus_shelf *shelf, const cebus_host_allocator *host)
{
    *shelf = (cebus_shelf){.host = host != NULL ? *host : cebus_host_allocator_default()};
}

void cebus_shelf_clear(cebus_shelf *shelf)
{
    while (shelf->items != NULL) {
        cebus_shelf_item *item = shelf->items;
        shelf->items = item->next;
        shelf->host.free(shelf->host.context, item);
    }
    shelf->failed = false;
}

void *cebus_shelf_take(cebus_shelf *shelf, size_t count, size_t bytes)
{
    cebus_shelf_item *item = NULL;
    if (!shelf->failed && (bytes == 0 || count <= (SIZE_MAX / 2 - sizeof *item) / bytes))
        item = shelf->host.alloc(shelf->host.context, sizeof *item + count * bytes);
    if (item == NULL) {
        shelf->failed = true;
        return NULL;
    }
    item->next = shelf->items;
    shelf->items = item;
    memset(item + 1, 0, count * bytes);
    return item + 1;
}
