/**
 * recorder.h: the CPU device under another name, "recorder", which keeps a copy of what it is told
 * to do: launches and copies, addresses and all. What was kept can be done again without the
 * runtime, in a row: that is what the runtime is measured against.
 */
#ifndef CEBUS_TESTS_BENCH_RECORDER_H
#define CEBUS_TESTS_BENCH_RECORDER_H

#include <stdbool.h>
#include <stddef.h>

/** Adds the device to the registry. Its state is process-wide: one runtime at a time. */
void bench_recorder_register(void);
/** From now on keep what is done; forgets what was kept. */
void bench_recorder_start(void);
void bench_recorder_stop(void);
/** Launches kept. */
size_t bench_recorder_launches(void);
/** Does all that was kept once more, in order, while the runtime is alive and idle. */
void bench_recorder_play(void);
/** Gives the copies back. */
void bench_recorder_clear(void);

#endif
