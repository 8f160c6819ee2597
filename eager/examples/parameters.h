/**
 * parameters.h: the tensors a model keeps from step to step.
 *
 * A struct parameters owns them; a model borrows the pointers. All are persistent: the runtime
 * never gives them up, writes them in place, and recomputes everything else from them.
 *
 * Functions return 0, or not 0 with the reason in cebus_last_error(); so calls chain with ||.
 */
#ifndef PARAMETERS_H
#define PARAMETERS_H

#include <cebus/cebus.h>

/** Calls cebus_tensor_release() on each of the named tensors; NULLs are allowed. */
#define RELEASE(...)                                                                               \
    release_tensors((cebus_tensor *[]){__VA_ARGS__},                                               \
                    sizeof((cebus_tensor *[]){__VA_ARGS__}) / sizeof(cebus_tensor *))
void release_tensors(cebus_tensor **tensors, size_t n);

/** In the order in which they were made. {.rt = rt} is an empty list. */
struct parameters {
    cebus_runtime *rt;
    cebus_tensor **list;
    size_t count;
};

/** Releases the tensors. */
void parameters_free(struct parameters *params);

/** A weight: normally distributed with standard deviation `std`, or ones for a `std` of 0. */
int parameters_weight(struct parameters *params, double std, int ndim, const int64_t *shape,
                      cebus_tensor **out);
/** `n` zeros that learn. */
int parameters_bias(struct parameters *params, int64_t n, cebus_tensor **out);
/** `n` numbers that the model updates by itself; no gradient. */
int parameters_buffer(struct parameters *params, double value, int64_t n, cebus_tensor **out);

/** What a linear or normalizing layer has. */
struct affine {
    cebus_tensor *weight; /**< [out, in] or [out] */
    cebus_tensor *bias;   /**< [out] */
};
/** For cebus_linear(). Results are `gain` times as large as inputs, as a rule. */
int parameters_linear(struct parameters *params, double gain, int64_t in, int64_t out,
                      struct affine *layer);
/** For a normalization over `n` channels. */
int parameters_norm(struct parameters *params, int64_t n, struct affine *layer);

/** Numbers in all of them. */
int64_t parameters_numel(const struct parameters *params);
/** SHA-256 of their bytes, one after another, in `out_text` of 65 bytes. */
int parameters_sha256(const struct parameters *params, char *out_text);

#endif
