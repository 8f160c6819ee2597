/**
 * clock.h: real time that passes on the host; only differences mean something.
 */
#ifndef CLOCK_H
#define CLOCK_H

#include <stdint.h>

uint64_t clock_ns(void);
double clock_seconds(void);

#endif
