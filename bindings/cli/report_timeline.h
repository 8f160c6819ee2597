/**
 * report_timeline.h: from the events of a run to what they mean: blocks that live from one time to
 * another at one place, and pieces of work of three streams, none of which overlap.
 *
 *     compute   |-- call --|-- call --|- replay -|wait|-- call --|
 *     copy out             |--------- out -------|
 *     copy in                         |------- in -----|
 *
 * Time is the device's clock. What the host does between two launches happens when the launch
 * before ends: there blocks come and go. Workspace has no event of its own when it comes; it was
 * there from the end of the launch before to the end of its own. A block whose class changes while
 * it lives counts as what it is in the end, from the second reading of a run on.
 *
 * Each reading takes memory for the blocks that are in use at once and for the values evicted.
 */
#ifndef REPORT_TIMELINE_H
#define REPORT_TIMELINE_H

#include <cebus/log.h>

#include "report_blocks.h"
#include "report_values.h"

enum report_stream {
    REPORT_COMPUTE,
    REPORT_OUT,
    REPORT_IN,
    REPORT_STREAMS,
};

/** What a stream does. */
enum report_work {
    REPORT_CALL,
    REPORT_REPLAY,
    REPORT_MOVE, /**< within the arena; with its waits where the event does not tell its time */
    REPORT_WAIT, /**< compute stands still: for copies, or for the host to ask */
    REPORT_COPY_OUT,
    REPORT_COPY_IN,
    REPORT_WORKS,
};

/** A piece of work. */
struct report_piece {
    enum report_stream stream;
    enum report_work work;
    uint64_t begin_ns, end_ns;
    uint64_t value, bytes; /**< of moves and copies */
    uint64_t call;         /**< calls of the program so far */
    uint32_t op;           /**< of calls, replays and copied values: report_names.h */
};

/** Whoever wants to know; NULL: not of this. */
struct report_sink {
    /** A block came. Its end is not known yet. */
    void (*came)(void *context, const struct report_block *block);
    /** A block went; one that moved goes before it comes to its new place. */
    void (*went)(void *context, const struct report_block *block);
    void (*worked)(void *context, const struct report_piece *piece);
    /** Every event as it is, `now` by the compute stream. */
    void (*happened)(void *context, const cebus_event *event, uint64_t now);
    /** The run is over; all blocks went. */
    void (*ended)(void *context, uint64_t now);
    void *context;
};

enum {
    REPORT_MOST_SINKS = 8
};

/** What both readings of a run share. Zero is an empty one. */
struct report_book {
    struct report_names names;
    struct id_map classes; /**< in the end, of the blocks that came as another: by ordinal */
};

struct report_timeline {
    const char *path; /**< of the file, for messages */
    struct report_book *book;
    struct report_sink sinks[REPORT_MOST_SINKS];
    size_t n_sinks;
    struct report_blocks blocks;
    struct report_values values;
    uint64_t now, before;          /**< the compute stream at this event, at the one before */
    uint64_t ends[REPORT_STREAMS]; /**< of the last piece of each stream */
    uint64_t all_done;             /**< when the last iteration was over on all streams */
    bool started;                  /**< an event was there */
    uint64_t ordinal;              /**< of the last block */
    struct report_block scratch;   /**< a workspace that went; the next event says of what */
    bool has_scratch;
};

void report_timeline_init(struct report_timeline *timeline, const char *path,
                          struct report_book *book);
void report_timeline_add_sink(struct report_timeline *timeline, const struct report_sink *sink);
/** For run_file_read(), `timeline` its context. Says what makes no sense, and answers false. */
bool report_timeline_event(void *timeline, const cebus_event *event, uint64_t line);
/** After the last event. */
void report_timeline_end(struct report_timeline *timeline);
void report_timeline_free(struct report_timeline *timeline);
void report_book_free(struct report_book *book);

/** "call", "replay", "move", "wait", "copy out", "copy in". */
const char *report_work_name(enum report_work work);
/** "activation", "persistent", "gradient", "leaf", "workspace". */
const char *report_class_name(cebus_memory_class memory_class);

enum {
    REPORT_CLASSES = CEBUS_MEMORY_WORKSPACE + 1
};

#endif
