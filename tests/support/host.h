/**
 * host.h: host memory that counts what is asked for and what is out, and can fail: for the pools
 * and runtimes under test. One thread at a time.
 */
#ifndef CEBUS_TESTS_SUPPORT_HOST_H
#define CEBUS_TESTS_SUPPORT_HOST_H

#include <cebus/base.h>

typedef struct cebus_test_host {
    cebus_host_allocator allocator; /**< hand this to what is tested; the struct must stay */
    uint64_t fail_at;               /**< 1: the next request fails; 0: none does */
    bool lasting;                   /**< so do all after it, until fail_at is 0 again */
    bool fired;                     /**< a request failed */
    uint64_t requests;              /**< so far, new blocks and other sizes alike */
    int64_t live;                   /**< allocations not yet freed */
} cebus_test_host;

/** Fails nothing. */
void cebus_test_host_init(cebus_test_host *host);

/** Every request fails from here on, or none does. */
void cebus_test_host_starve(cebus_test_host *host, bool starved);

#endif
