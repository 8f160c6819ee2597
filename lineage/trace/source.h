/**
 * source.h: the inside of a trace file being read, shared by the two formats.
 *
 * Every function that can refuse writes the sentence (cebus_trace_refuse) and returns a status, or
 * false where the caller only passes it on: then source->status has it.
 */
#ifndef CEBUS_LINEAGE_TRACE_SOURCE_H
#define CEBUS_LINEAGE_TRACE_SOURCE_H

#include <jansson.h>

#include "lineage/trace/lines.h"
#include "lineage/trace/names.h"
#include "lineage/trace/read.h"
#include "lineage/trace/values.h"

/** What a DTR log's names refer to: values numbered from 1. */
typedef struct cebus_dtr_value {
    uint64_t bytes;
    uint32_t refs; /**< names of it and of its views */
    bool persistent;
} cebus_dtr_value;

typedef struct cebus_dtr {
    cebus_trace_table names; /**< of cebus_trace_name */
    cebus_dtr_value *values; /**< values[id - 1] */
    size_t count, capacity;
    uint64_t *freed; /**< [told, n_freed): not told yet */
    size_t told, n_freed, freed_capacity;
    uint64_t ops;
} cebus_dtr;

struct cebus_trace_source {
    cebus_host_allocator host;
    cebus_trace_bounds bounds;
    cebus_trace_lines lines;
    bool is_dtr;
    uint64_t items;    /**< lines with content so far */
    uint64_t n_values; /**< made so far */
    uint64_t live;     /**< bytes of the values that live */
    uint64_t cost;     /**< sum over all ops */
    json_t *root;      /**< of the entry: its name points in here */
    uint64_t *in;
    size_t n_in, in_capacity;
    cebus_entry_output *out;
    size_t n_out, out_capacity;
    cebus_trace_table values; /**< of cebus_trace_slot, of a cebus trace */
    cebus_dtr dtr;            /**< of a DTR log */
    cebus_status status;      /**< not CEBUS_OK: failed for good */
    char machine[64];
    char path[96]; /**< for messages: its end, if it is longer */
    char why[464];
};

/** Sums of costs or bytes stay below this: adding two of them cannot wrap. */
#define CEBUS_TRACE_SUM_MAX (UINT64_C(1) << 62)

/** Fails for good with CEBUS_INVALID_ARGUMENT: "FILE:LINE: ...". Returns false, for brevity. */
bool cebus_trace_refuse(cebus_trace_source *source, const char *format, ...) CEBUS_PRINTF(2, 3);
/** Fails for good for want of host memory. */
bool cebus_trace_no_memory(cebus_trace_source *source);

/** The next line with content, counted; *out_end: there is none. */
bool cebus_trace_next_line(cebus_trace_source *source, const char **out, size_t *out_bytes,
                           bool *out_end);
/** A line as source->root, an object. */
bool cebus_trace_parse(cebus_trace_source *source, const char *line, size_t bytes);
/**
 * Reads the next line with content into source->root, an object; *out_end: there is none.
 */
bool cebus_trace_read_object(cebus_trace_source *source, bool *out_end);

/** out[k] is the member called names[k], or NULL; what is called otherwise is left aside. */
void cebus_trace_members(const json_t *object, const char *const *names, size_t n, json_t **out);

/** An integer in [0, most]; in a DTR log also as a string of digits. */
bool cebus_trace_number(cebus_trace_source *source, const json_t *json, const char *key,
                        uint64_t most, uint64_t *out);
/** A string that is not empty, inside `json`. */
bool cebus_trace_text(cebus_trace_source *source, const json_t *json, const char *key,
                      const char **out);
/** A list. */
bool cebus_trace_list(cebus_trace_source *source, const json_t *json, const char *key);

/** True or false; false when it is missing. */
bool cebus_trace_flag(cebus_trace_source *source, const json_t *json, const char *key, bool *out);

/** Appends to source->in, source->out. */
bool cebus_trace_push_in(cebus_trace_source *source, uint64_t value);
bool cebus_trace_push_out(cebus_trace_source *source, cebus_entry_output output);
/** Room for one item more, by doubling; false without host memory (refused). */
bool cebus_trace_grow(cebus_trace_source *source, void **items, size_t *capacity, size_t count,
                      size_t item_bytes);

/** One value more, with these bytes: within all bounds? */
bool cebus_trace_count_value(cebus_trace_source *source, uint64_t bytes);
/** One op more, with this cost. */
bool cebus_trace_count_cost(cebus_trace_source *source, uint64_t cost_ns);

/** The formats. start: what stands before the first entry; next: *out is zero on entry. */
bool cebus_trace_cebus_start(cebus_trace_source *source);
bool cebus_trace_cebus_next(cebus_trace_source *source, cebus_entry *out, bool *out_end);
bool cebus_trace_dtr_start(cebus_trace_source *source);
bool cebus_trace_dtr_next(cebus_trace_source *source, cebus_entry *out, bool *out_end);
void cebus_trace_dtr_close(cebus_trace_source *source);

#endif
