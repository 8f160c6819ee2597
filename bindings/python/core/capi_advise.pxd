# Plans: <cebus/advise.h>, <cebus/capture.h>, <cebus/plan.h>.
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libcpp cimport bool as cbool
from capi cimport cebus_advise_program, cebus_capture, cebus_runtime, cebus_status

cdef extern from "<cebus/advise.h>" nogil:
    ctypedef struct cebus_advise_link:
        uint64_t out
        uint64_t into "in"
        uint64_t both
        uint64_t latency_ns
    ctypedef struct cebus_advise_options:
        size_t struct_size
        uint64_t memory
        cebus_advise_link link
        uint64_t seed
        uint64_t generations
        unsigned threads
        cbool fix_order
        cbool published
        cbool (*go_on)(void *context, uint64_t generation, uint64_t best_ns) nogil
        void *context
    ctypedef struct cebus_advice_step:
        uint32_t call
        cbool again
        uint64_t start_ns
        uint64_t end_ns
    ctypedef struct cebus_advice_copy:
        uint32_t value
        cbool into "in"
        uint32_t after
        uint32_t before
    ctypedef struct cebus_advice_block:
        uint32_t value
        uint64_t offset
        uint64_t bytes
        uint8_t born
        uint8_t dies
        uint32_t born_at
        uint32_t dies_at
    ctypedef struct cebus_advice:
        uint64_t time_ns
        uint64_t ideal_ns
        uint64_t memory
        uint64_t height
        uint64_t prints "print"
        cebus_advice_step *steps
        cebus_advice_copy *copies
        cebus_advice_block *blocks
        size_t n_steps
        size_t n_copies
        size_t n_blocks
    ctypedef enum cebus_advise_verdict:
        CEBUS_ADVISE_PLANNED, CEBUS_ADVISE_NO_ROOM, CEBUS_ADVISE_NO_PLAN, CEBUS_ADVISE_NO_LINK
        CEBUS_ADVISE_WRONG_CALL
    ctypedef struct cebus_advise_result:
        cebus_advise_verdict verdict
        const char *why
        uint32_t call
        uint64_t need
    cebus_status cebus_advise(const cebus_advise_program *program,
                              const cebus_advise_options *options,
                              cebus_advise_result *out_result, cebus_advice **out)
    uint64_t cebus_advise_print(const cebus_advise_program *program)
    void cebus_advice_destroy(cebus_advice *advice)

cdef extern from "<cebus/capture.h>" nogil:
    cebus_status cebus_capture_set_plan(cebus_capture *capture, const cebus_advice *plan,
                                        const cebus_advise_link *link)

cdef extern from "<cebus/plan.h>" nogil:
    cebus_status cebus_plan_save(cebus_runtime *rt, const char *path)
    cebus_status cebus_plan_load(cebus_runtime *rt, const char *path)
    size_t cebus_plan_summary(cebus_runtime *rt, char *text, size_t text_bytes)

cdef extern from "<cebus/runtime.h>" nogil:
    cebus_status cebus_machine_link(const char *device, uint64_t *out_out, uint64_t *out_in,
                                    uint64_t *out_both, uint64_t *out_latency_ns)
