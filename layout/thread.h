/**
 * thread.h: threads of the library's own. Signals are for the program's threads: none is delivered
 * to these.
 */
#ifndef CEBUS_LAYOUT_THREAD_H
#define CEBUS_LAYOUT_THREAD_H

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>

/** False when there are no more threads to be had. */
static inline bool cebus_thread_start(pthread_t *out, void *(*work)(void *context), void *context)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool started = pthread_create(out, NULL, work, context) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return started;
}

#endif
