#include "tests/support/host.h"

#include <stdlib.h>

static bool fails(cebus_test_host *host)
{
    host->requests++;
    if (host->fail_at == 0)
        return false;
    if (host->fail_at > 1) {
        host->fail_at--;
        return false;
    }
    host->fail_at = host->lasting;
    host->fired = true;
    return true;
}

static void *take(void *context, size_t bytes)
{
    cebus_test_host *host = context;
    void *memory = fails(host) ? NULL : malloc(bytes);
    host->live += memory != NULL;
    return memory;
}

static void *change(void *context, void *pointer, size_t bytes)
{
    cebus_test_host *host = context;
    void *memory = fails(host) ? NULL : realloc(pointer, bytes);
    host->live += pointer == NULL && memory != NULL;
    return memory;
}

static void give_back(void *context, void *pointer)
{
    cebus_test_host *host = context;
    host->live -= pointer != NULL;
    free(pointer);
}

void cebus_test_host_init(cebus_test_host *host)
{
    *host = (cebus_test_host){.allocator = {take, change, give_back, host}};
}

void cebus_test_host_starve(cebus_test_host *host, bool starved)
{
    host->fail_at = starved;
    host->lasting = starved;
}
