# The C interface without the operations: <cebus/base.h>, tensor.h, runtime.h, memory.h, log.h,
# autograd.h, optim.h, custom.h, trace.h, info.h. What they mean is said there.
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t
from libcpp cimport bool as cbool

cdef extern from "<cebus/cebus.h>" nogil:
    int CEBUS_MAX_DIMS

    ctypedef enum cebus_status:
        CEBUS_OK, CEBUS_INVALID_ARGUMENT, CEBUS_SHAPE_MISMATCH, CEBUS_DTYPE_MISMATCH
        CEBUS_RUNTIME_MISMATCH, CEBUS_OUT_OF_MEMORY, CEBUS_OUT_OF_HOST_MEMORY
        CEBUS_NOT_REPLAYABLE, CEBUS_AUTOGRAD_ERROR, CEBUS_UNSUPPORTED, CEBUS_DEVICE_ERROR
        CEBUS_REENTRANT, CEBUS_IO_ERROR, CEBUS_CAPTURE_ERROR, CEBUS_INTERNAL

    ctypedef struct cebus_error:
        cebus_status status
        char op[48]
        char message[464]
        uint64_t bytes_wanted

    const char *cebus_status_name(cebus_status status)
    const cebus_error *cebus_last_error()

    ctypedef enum cebus_dtype:
        CEBUS_F32, CEBUS_F64, CEBUS_F16, CEBUS_BF16, CEBUS_I64, CEBUS_I32, CEBUS_U8, CEBUS_BOOL

    size_t cebus_dtype_size(cebus_dtype dtype)

    ctypedef struct cebus_runtime:
        pass
    ctypedef struct cebus_tensor:
        pass
    ctypedef struct cebus_view:
        cebus_dtype dtype
        int32_t ndim
        int64_t offset
        int64_t shape[8]
        int64_t strides[8]

    cebus_tensor *cebus_tensor_retain(cebus_tensor *tensor)
    void cebus_tensor_release(cebus_tensor *tensor)
    const cebus_view *cebus_tensor_view(const cebus_tensor *tensor)
    cebus_runtime *cebus_tensor_runtime(const cebus_tensor *tensor)
    cebus_dtype cebus_tensor_dtype(const cebus_tensor *tensor)
    int cebus_tensor_ndim(const cebus_tensor *tensor)
    int64_t cebus_tensor_size(const cebus_tensor *tensor, int dim)
    int64_t cebus_tensor_numel(const cebus_tensor *tensor)
    cbool cebus_tensor_is_contiguous(const cebus_tensor *tensor)
    cbool cebus_tensor_is_resident(const cebus_tensor *tensor)
    uint64_t cebus_tensor_version(const cebus_tensor *tensor)
    cebus_status cebus_tensor_from_host(cebus_runtime *rt, const void *data, cebus_dtype dtype,
                                        int ndim, const int64_t *shape, cebus_tensor **out)
    cebus_status cebus_tensor_to_host(cebus_tensor *tensor, void *data, size_t bytes)
    cebus_status cebus_tensor_set_from_host(cebus_tensor *tensor, const void *data, size_t bytes)
    cebus_status cebus_tensor_item(cebus_tensor *tensor, double *out)
    cebus_status cebus_tensor_map(cebus_tensor *tensor, const void **out)
    void cebus_tensor_unmap(cebus_tensor *tensor)
    cebus_status cebus_tensors_restore(cebus_tensor **tensors, size_t n)
    cebus_status cebus_tensor_set_persistent(cebus_tensor *tensor)
    cbool cebus_tensor_is_persistent(const cebus_tensor *tensor)

    cebus_status cebus_reshape(cebus_runtime *rt, cebus_tensor *x, int ndim, const int64_t *shape,
                               cebus_tensor **out)
    cebus_status cebus_permute(cebus_runtime *rt, cebus_tensor *x, const int *dims,
                               cebus_tensor **out)
    cebus_status cebus_transpose(cebus_runtime *rt, cebus_tensor *x, int dim0, int dim1,
                                 cebus_tensor **out)
    cebus_status cebus_slice(cebus_runtime *rt, cebus_tensor *x, int dim, int64_t start,
                             int64_t stop, int64_t step, cebus_tensor **out)
    cebus_status cebus_select(cebus_runtime *rt, cebus_tensor *x, int dim, int64_t index,
                              cebus_tensor **out)
    cebus_status cebus_windows(cebus_runtime *rt, cebus_tensor *x, int dim, int64_t size,
                               int64_t step, cebus_tensor **out)
    cebus_status cebus_as_strided(cebus_runtime *rt, cebus_tensor *x, int ndim,
                                  const int64_t *shape, const int64_t *strides, int64_t offset,
                                  cebus_tensor **out)
    cebus_status cebus_diagonal(cebus_runtime *rt, cebus_tensor *x, int64_t offset, int dim1,
                                int dim2, cebus_tensor **out)
    cebus_status cebus_expand(cebus_runtime *rt, cebus_tensor *x, int ndim, const int64_t *shape,
                              cebus_tensor **out)
    cebus_status cebus_squeeze(cebus_runtime *rt, cebus_tensor *x, int dim, cebus_tensor **out)
    cebus_status cebus_unsqueeze(cebus_runtime *rt, cebus_tensor *x, int dim, cebus_tensor **out)
    cebus_status cebus_split(cebus_runtime *rt, cebus_tensor *x, int64_t size, int dim,
                             cebus_tensor **out, size_t *count)

    ctypedef enum cebus_cost_model:
        CEBUS_COST_MEASURED, CEBUS_COST_ESTIMATED
    ctypedef enum cebus_swap:
        CEBUS_SWAP_DEFAULT, CEBUS_SWAP_OFF, CEBUS_SWAP_ON
    ctypedef struct cebus_host_allocator:
        pass
    ctypedef struct cebus_runtime_options:
        size_t struct_size
        const char *device
        uint64_t memory_budget
        const char *policy
        int threads
        uint64_t seed
        cebus_cost_model cost_model
        uint32_t debug
        const cebus_host_allocator *host
        const char *layout
        cebus_swap swap
        uint64_t host_budget
        const char *profile
        uint64_t spill_budget
        const char *spill_directory
        uint64_t pinned_budget

    cebus_status cebus_runtime_create(const cebus_runtime_options *options, cebus_runtime **out)
    void cebus_runtime_destroy(cebus_runtime *rt)
    cebus_status cebus_runtime_set_budget(cebus_runtime *rt, uint64_t bytes)
    uint64_t cebus_runtime_budget(const cebus_runtime *rt)
    cebus_status cebus_runtime_set_policy(cebus_runtime *rt, const char *policy)
    const char *cebus_runtime_policy(const cebus_runtime *rt)
    cbool cebus_runtime_swaps(const cebus_runtime *rt)
    const char *cebus_policy_name(size_t i)
    const char *cebus_layout_name(size_t i)
    const char *cebus_machine_name(size_t i)
    cebus_status cebus_iteration_mark(cebus_runtime *rt)
    int cebus_runtime_threads(const cebus_runtime *rt)
    void cebus_manual_seed(cebus_runtime *rt, uint64_t seed)
    cebus_status cebus_runtime_synchronize(cebus_runtime *rt)
    cebus_status cebus_runtime_trim(cebus_runtime *rt)
    cebus_status cebus_size_parse(const char *text, uint64_t whole, uint64_t *out_bytes)

    ctypedef struct cebus_memory_stats:
        size_t struct_size
        uint64_t allocated_bytes_current # the first of many, all alike: memory.pxi names them

    cebus_status cebus_runtime_memory_stats(cebus_runtime *rt, cebus_memory_stats *out)
    ctypedef enum cebus_hint:
        CEBUS_HINT_NONE
    cebus_status cebus_hint_push(cebus_hint hint)
    cebus_status cebus_hint_pop()
    cebus_status cebus_tensor_set_hint(cebus_tensor *tensor, cebus_hint hint)
    cebus_hint cebus_tensor_hint(const cebus_tensor *tensor)

    uint64_t cebus_memory_allocated(cebus_runtime *rt)
    uint64_t cebus_max_memory_allocated(cebus_runtime *rt)
    uint64_t cebus_memory_reserved(cebus_runtime *rt)
    void cebus_reset_peak_memory_stats(cebus_runtime *rt)
    size_t cebus_runtime_tiers(cebus_runtime *rt, char *text, size_t text_bytes)
    size_t cebus_runtime_oom_report(cebus_runtime *rt, char *text, size_t text_bytes)
    size_t cebus_runtime_dump(cebus_runtime *rt, char *text, size_t text_bytes)
    cebus_status cebus_runtime_check(cebus_runtime *rt)

    ctypedef struct cebus_event:
        int kind, rung, method, memory_class
        const char *op
        uint64_t value, bytes, offset
        uint64_t moved_from "from"
        uint64_t ns, age_ns, price, next_price, call, time_ns, device_ns
    ctypedef void (*cebus_event_hook)(void *context, const cebus_event *event)
    void cebus_runtime_set_event_hook(cebus_runtime *rt, cebus_event_hook hook, void *context)

    cebus_status cebus_tensor_set_requires_grad(cebus_tensor *tensor, cbool requires_grad)
    cbool cebus_tensor_requires_grad(const cebus_tensor *tensor)
    cebus_status cebus_tensor_grad(cebus_tensor *tensor, cebus_tensor **out)
    cebus_status cebus_tensor_set_data(cebus_tensor *tensor, cebus_tensor *source)
    cebus_status cebus_tensor_straighten(cebus_tensor *tensor) nogil
    cebus_status cebus_tensor_set_grad(cebus_tensor *tensor, cebus_tensor *grad)
    cebus_status cebus_backward(cebus_runtime *rt, cebus_tensor *root, cebus_tensor *gradient,
                                cbool retain_graph)
    ctypedef struct cebus_gradients:
        size_t struct_size
        cebus_tensor **roots
        cebus_tensor **seeds
        size_t n_roots
        cebus_tensor **inputs
        size_t n_inputs
        cbool retain_graph
    cebus_status cebus_gradients_compute(cebus_runtime *rt, const cebus_gradients *what,
                                         cebus_tensor **out)
    ctypedef struct cebus_grad_hook:
        size_t struct_size
        cebus_status (*call)(void *context, cebus_tensor *grad, cebus_tensor **out)
        void (*release)(void *context)
        void *context
        cbool after
    cebus_status cebus_tensor_register_hook(cebus_tensor *tensor, const cebus_grad_hook *hook,
                                            uint64_t *out_id)
    cebus_status cebus_tensor_remove_hook(cebus_tensor *tensor, uint64_t id)
    ctypedef struct cebus_function_step:
        cebus_runtime *rt
        cebus_tensor **saved
        uint32_t n_saved
        cebus_tensor **grad_out
        uint32_t n_out
        uint64_t needs
        uint32_t n_in
        cebus_tensor **grad_in
    ctypedef struct cebus_function:
        size_t struct_size
        const char *name
        cebus_tensor **inputs "in"
        uint32_t n_in
        cebus_tensor **saved
        uint32_t n_saved
        cebus_tensor **results
        uint32_t n_out
        cebus_status (*gradient)(void *context, const cebus_function_step *step)
        void (*release)(void *context)
        void *context
    cebus_status cebus_function_record(cebus_runtime *rt, const cebus_function *function,
                                       cebus_tensor **out)
    cbool cebus_grad_enable(cbool enabled)
    cbool cebus_grad_is_enabled()
    cebus_status cebus_detach(cebus_runtime *rt, cebus_tensor *x, cebus_tensor **out)

    ctypedef struct cebus_custom_array:
        void *data
        const cebus_view *view
    ctypedef struct cebus_custom_launch:
        const void *attrs
        size_t attr_bytes
        const cebus_custom_array *inputs "in"
        const cebus_custom_array *out
        uint32_t n_in, n_out
        int threads
        void *user
    ctypedef struct cebus_custom_op:
        size_t struct_size
        const char *name
        uint32_t flags, n_out
        uint64_t mutates
        void *user
        cebus_status (*infer)(void *user, const void *attrs, const cebus_view **inputs,
                              uint32_t n_in, cebus_view *out)
        uint64_t (*cost)(const cebus_custom_launch *launch)
        cebus_status (*run)(const cebus_custom_launch *launch)
        cebus_status (*gradient)(void *user, cebus_runtime *rt, const void *attrs,
                                 cebus_tensor **inputs, uint32_t n_in, cebus_tensor **out,
                                 cebus_tensor **grad_out, uint32_t n_out, cebus_tensor **grad_in)
    cebus_status cebus_call_custom(cebus_runtime *rt, const cebus_custom_op *op,
                                   const void *attrs, size_t attr_bytes, cebus_tensor **inputs,
                                   uint32_t n_in, cebus_tensor **out)

    ctypedef struct cebus_sgd_options:
        size_t struct_size
        double lr, momentum, dampening, weight_decay
        cbool nesterov
    ctypedef struct cebus_sgd_tensors:
        cebus_tensor *param
        cebus_tensor *grad
        cebus_tensor *momentum
    ctypedef struct cebus_adam_options:
        size_t struct_size
        double lr, beta1, beta2, eps, weight_decay
        cbool decoupled
    ctypedef struct cebus_adam_tensors:
        cebus_tensor *param
        cebus_tensor *grad
        cebus_tensor *exp_avg
        cebus_tensor *exp_avg_sq
    cebus_status cebus_sgd_step(cebus_runtime *rt, const cebus_sgd_tensors *tensors, int64_t step,
                                const cebus_sgd_options *options)
    cebus_status cebus_adam_step(cebus_runtime *rt, const cebus_adam_tensors *tensors,
                                 int64_t step, const cebus_adam_options *options)
    cebus_status cebus_clip_grad_norm(cebus_runtime *rt, cebus_tensor **params, size_t n,
                                      double max_norm, double *out_norm)

    cebus_status cebus_trace_start(cebus_runtime *rt, const char *path)
    cebus_status cebus_trace_stop(cebus_runtime *rt)

    ctypedef struct cebus_feature:
        const char *name
        cbool present
        const char *version
        const char *what
    const char *cebus_version()
    cbool cebus_feature_at(size_t i, cebus_feature *out)
    const char *cebus_device_name(size_t i)

    ctypedef struct cebus_advise_program:
        size_t n_calls
    ctypedef struct cebus_capture:
        pass

    cebus_status cebus_capture_begin(cebus_runtime *rt)
    cebus_status cebus_capture_end(cebus_runtime *rt, cebus_capture **out)
    cebus_status cebus_capture_watch(cebus_runtime *rt, bint on)
    cebus_status cebus_capture_last(cebus_runtime *rt, cebus_capture **out)
    size_t cebus_capture_input_count(const cebus_capture *capture)
    cebus_status cebus_capture_input(cebus_capture *capture, size_t i, cebus_tensor **out)
    cebus_status cebus_capture_launch(cebus_capture *capture)
    cebus_status cebus_capture_count_on(cebus_capture *capture, uint64_t iterations)
    void cebus_capture_destroy(cebus_capture *capture)
    const cebus_advise_program *cebus_capture_program(const cebus_capture *capture)
    const char *cebus_capture_call_name(const cebus_capture *capture, size_t i)
    cebus_status cebus_capture_set_order(cebus_capture *capture, const uint32_t *order, size_t n)
