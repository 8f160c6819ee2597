/**
 * @file base.h
 * The vocabulary every part of cebus shares: status codes, the thread's last error, host
 * allocation, export macros. Header-only but for cebus_last_error() and the two name functions.
 *
 * Conventions of the whole library:
 *  - Every function that can fail returns a #cebus_status; outputs come last, are named `out_*`
 *    or `out`, are set to NULL (or zero) first and written only on success.
 *  - No function aborts on bad input or lack of memory; a failed call leaves everything as it was.
 *  - Sizes are bytes unless the name says elements; times are nanoseconds.
 */
#ifndef CEBUS_BASE_H
#define CEBUS_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** @name Marks of declarations */
/** @{ */
#ifdef __cplusplus
/** Opens the C declarations of a header. */
#define CEBUS_BEGIN_DECLS extern "C" {
/** Closes them. */
#define CEBUS_END_DECLS }
#else
#define CEBUS_BEGIN_DECLS
#define CEBUS_END_DECLS
#endif

#if defined(__GNUC__) || defined(__clang__)
/** Part of the public interface: exported. */
#define CEBUS_API __attribute__((visibility("default")))
/** The result must be looked at. */
#define CEBUS_MUST_CHECK __attribute__((warn_unused_result))
/** Parameter number `fmt` is a printf format for the arguments from `args` on. */
#define CEBUS_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#else
#define CEBUS_API
#define CEBUS_MUST_CHECK
#define CEBUS_PRINTF(fmt, args)
#endif
/** @} */

CEBUS_BEGIN_DECLS

/** What a call came to. Each code names the caller's remedy. */
typedef enum cebus_status {
    CEBUS_OK = 0,
    CEBUS_INVALID_ARGUMENT,   /**< NULL, out of range, unknown option: fix the argument */
    CEBUS_SHAPE_MISMATCH,     /**< the shapes do not go together: see the message for both */
    CEBUS_DTYPE_MISMATCH,     /**< wrong element type: cebus_cast() first */
    CEBUS_RUNTIME_MISMATCH,   /**< tensors of different runtimes or devices: copy one over */
    CEBUS_OUT_OF_MEMORY,      /**< the device budget is too small: see cebus_runtime_oom_report() */
    CEBUS_OUT_OF_HOST_MEMORY, /**< malloc failed: free host memory, then try again */
    CEBUS_NOT_REPLAYABLE,     /**< a value that was given up cannot be rebuilt */
    CEBUS_AUTOGRAD_ERROR, /**< no graph, graph already freed, or a saved value was overwritten */
    CEBUS_UNSUPPORTED,    /**< this build or device lacks it */
    CEBUS_DEVICE_ERROR,   /**< a kernel or the device failed: the call did not happen */
    CEBUS_REENTRANT,      /**< a kernel called back into its own runtime */
    CEBUS_INTERNAL,       /**< a defect of cebus: please report it */
    CEBUS_IO_ERROR, /**< the spill file failed: nothing is lost, try again or see to the disk */
    CEBUS_CAPTURE_ERROR, /**< what a capture cannot repeat, or not now: see the message */
} cebus_status;

/** The name of a code, as in "CEBUS_OUT_OF_MEMORY". Never NULL. */
CEBUS_API const char *cebus_status_name(cebus_status status);

/** Detail of the calling thread's last failed call. Fixed size: works when memory is gone. */
typedef struct cebus_error {
    cebus_status status;   /**< CEBUS_OK: no call failed yet */
    char op[48];           /**< the operation or function, as in "matmul" */
    char message[464];     /**< what, where, what to do */
    uint64_t bytes_wanted; /**< of an out-of-memory error, else 0 */
} cebus_error;

/**
 * The calling thread's last error. The pointer stays valid for the thread's life and is
 * overwritten by the thread's next failing call. status is CEBUS_OK when none failed yet.
 */
CEBUS_API const cebus_error *cebus_last_error(void);

/**
 * Where cebus gets host memory for its books (never tensor bytes). All three or none must be
 * set. Thread-safety: called under the lock of one runtime at a time; a hook that is shared by
 * several runtimes must be thread-safe itself.
 */
typedef struct cebus_host_allocator {
    void *(*alloc)(void *context, size_t bytes);                  /**< as malloc */
    void *(*realloc)(void *context, void *pointer, size_t bytes); /**< as realloc */
    void (*free)(void *context, void *pointer);                   /**< as free */
    void *context;                                                /**< handed to all three */
} cebus_host_allocator;

CEBUS_END_DECLS

#endif
