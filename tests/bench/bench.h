/**
 * bench.h: what the benchmarks share: clocks, medians, the networks they train, runtimes.
 *
 * Machines are shared and noisy, so figures are ratios of two things measured in turn within one
 * run. Work on one thread is timed in CPU time of the process, which other programs disturb least;
 * work on several in wall time.
 */
#ifndef CEBUS_TESTS_BENCH_BENCH_H
#define CEBUS_TESTS_BENCH_BENCH_H

#include <cebus/cebus.h>

#include "tests/property/meter.h"
#include "tests/support/models.h"

/** A network at the size it is measured at. */
typedef struct bench_setup {
    const char *title;
    const char *model; /**< for cebus_model_create() */
    cebus_model_config config;
} bench_setup;

/**
 * The demo's transformer over characters, ResNet-18 as published on 64 x 64 images, then the other
 * models of the tests at sizes where kernels outweigh the books. A NULL title ends the list.
 */
enum {
    BENCH_GPT,
    BENCH_RESNET18,
};
extern const bench_setup bench_setups[];

/** Instead of a number of threads. */
enum {
    BENCH_WALL = 0
};
/** Milliseconds, from an arbitrary start: of CPU time when `threads` is 1, else of wall time. */
double bench_now(int threads);

/** Times of one thing, and what they say together. */
typedef struct bench_times {
    double values[256];
    size_t n;
} bench_times;

/** Keeps a time; those past the room are dropped. */
void bench_times_add(bench_times *times, double value);
/** The value that a share `q` of the times lies below: 0 the least, 0.5 the median, 1 the most. */
double bench_times_quantile(const bench_times *times, double q);
static inline double bench_times_median(const bench_times *times)
{
    return bench_times_quantile(times, 0.5);
}
/** Half the distance of the quartiles, in percent of the median. */
double bench_times_spread(const bench_times *times);

/** Says what failed and ends the program. */
void bench_must(cebus_status status);
/** Argument i as a number from 1 to 10^9; `otherwise` where there is none. One that makes no sense
 * ends the program. */
int bench_number(int argc, char **argv, int i, int otherwise);
/** A runtime with 8 GiB, "unlimited" here, under `policy` (NULL: the default). */
cebus_runtime *bench_open(const char *device, const char *policy, int threads);
cebus_model *bench_model(cebus_runtime *rt, const bench_setup *setup);
/** Trains `steps` steps; returns the last loss. */
float bench_train(cebus_model *model, int steps);
/** Meters the first steps of an unlimited run: its floor (meter.h) and its peak. */
cebus_meter bench_meter(const bench_setup *setup, int steps, uint64_t *out_peak);
cebus_memory_stats bench_stats(cebus_runtime *rt);
/** A float tensor of ones on a runtime. */
cebus_tensor *bench_ones(cebus_runtime *rt, int ndim, const int64_t *shape);

/** Machine, cores and the versions of the libraries, as lines of Markdown. */
void bench_print_machine(void);

#endif
