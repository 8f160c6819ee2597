/**
 * training.h: the loop that trains a model, and what it measures.
 *
 * Functions return 0, or not 0 with the reason in cebus_last_error().
 */
#ifndef TRAINING_H
#define TRAINING_H

#include <cebus/cebus.h>

struct options;
struct parameters;

/** A model and its data, as the loop sees them. */
struct task {
    const char *name;
    double learning_rate; /**< the highest: it rises at the beginning and falls towards the end */

    /** Makes the model; its tensors go to `params`. */
    int (*create)(const struct task *task, struct parameters *params, void **out_model);
    int (*create_optimizer)(cebus_runtime *rt, cebus_optimizer **out);
    /** The loss of training step `step` (from 0), the graph behind it. */
    int (*loss)(void *model, uint64_t step, cebus_tensor **out);
    /** What was learned, in words; the caller frees the text. */
    int (*conclude)(void *model, char **out_text);
    void (*destroy)(void *model);
    const void *setup; /**< for create: sizes and data */
};

/** What one training run came to. */
struct run {
    uint64_t budget; /**< 0: unlimited */
    int steps;
    float *losses;            /**< of each step */
    double ms_per_step;       /**< the median */
    const char *policy;       /**< of evictions */
    int threads;              /**< of the kernels */
    cebus_memory_stats stats; /**< of training alone */
    int64_t parameters;       /**< numbers in the model */
    char sha256[65];          /**< of the trained parameters */
    char *conclusion;         /**< see task.conclude */
    char plan[512];           /**< what planning ahead brought; "" where nothing was planned */
};

/** Trains from scratch on an arena of `budget` bytes (0: as large as the runtime likes). */
int train(const struct task *task, const struct options *options, uint64_t budget,
          struct run *out_run);
void run_free(struct run *run);
/** Whether two runs computed the same: every loss and every parameter, to the last bit. */
bool runs_identical(const struct run *a, const struct run *b);

/** Trains without a budget, then within one as the options say; reports; returns exit status. */
int train_and_compare(const struct task *task, const struct options *options);

#endif
