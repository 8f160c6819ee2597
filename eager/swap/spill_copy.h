/**
 * spill_copy.h: a value's bytes to the spill file and back, on the device's copy streams; also to
 * host memory that copies cannot use at full speed, since it is not page-locked.
 *
 * Where the host reaches the device's memory the file is written from it and read into it. Else the
 * bytes go by way of a piece of host memory for each direction, part by part: a stream does things
 * in order, so the next part may overwrite the last one once it was written.
 */
#ifndef CEBUS_EAGER_SWAP_SPILL_COPY_H
#define CEBUS_EAGER_SWAP_SPILL_COPY_H

#include "eager/runtime.h"
#include "eager/spill/spill.h"

/** Host memory of one direction where the host does not reach the device's. */
#define CEBUS_SPILL_STAGE (16 * CEBUS_SPILL_PIECE)

/** A part of a value on its way; the streams' until their marks are reached. */
typedef struct cebus_spill_job {
    cebus_spill *spill;
    cebus_spilled *spilled;
    char *pageable; /**< instead of the file */
    char *memory;   /**< the device's, or on the way to it */
    uint64_t at, bytes;
} cebus_spill_job;

/** What candidate->host points to where candidate->tier is not CEBUS_TIER_HOST. */
typedef struct cebus_spill_copy {
    cebus_spilled *spilled; /**< in the file; NULL: in `pageable` */
    char *pageable;
    uint64_t out_mark, in_mark; /**< of the write and the last read; 0: none was started */
    size_t parts;
    cebus_spill_job jobs[]; /**< of the write, then of the read: `parts` each */
} cebus_spill_copy;

/** Room in the file, or in memory that is not page-locked, and the copy's record. NULL: there is
 * none. */
cebus_spill_copy *cebus_spill_copy_create(cebus_runtime *rt, cebus_tier tier, uint64_t bytes);
/** Its marks are reached. */
void cebus_spill_copy_free(cebus_runtime *rt, cebus_spill_copy *copy);

/** Starts the write on stream OUT, or the read on IN, after what those were told to wait for. On
 * failure nothing of it is under way. */
cebus_status cebus_spill_copy_write(cebus_runtime *rt, cebus_spill_copy *copy, const char *from);
/** The same from host memory, which must stay until out_mark is reached. */
cebus_status cebus_spill_copy_demote(cebus_runtime *rt, cebus_spill_copy *copy, const char *from);
cebus_status cebus_spill_copy_read(cebus_runtime *rt, cebus_spill_copy *copy, char *to);

/** The host waits; then the error of the write, or of the last read (0: none). */
int cebus_spill_copy_written(cebus_runtime *rt, const cebus_spill_copy *copy);
int cebus_spill_copy_arrived(cebus_runtime *rt, const cebus_spill_copy *copy);

/** Frees the staging memory; nothing is under way. */
void cebus_spill_copy_deinit(cebus_runtime *rt);

#endif
