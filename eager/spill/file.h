/**
 * file.h: a file without a name, for as long as it is open: whatever ends the process frees its
 * bytes. Only its owner could read it while it had a name (mode 0600).
 *
 * O_TMPFILE, where the file system has it, never gives a name; else the name goes at once
 * (mkostemp, unlink). Past the page cache (O_DIRECT) where the file system lets us: bytes that
 * leave memory for want of room must not be kept in memory by the system.
 */
#ifndef CEBUS_EAGER_SPILL_FILE_H
#define CEBUS_EAGER_SPILL_FILE_H

#include <stdatomic.h>

#include <cebus/base.h>

/** Offsets, lengths and addresses of direct I/O are multiples of it: no disk in use wants more. */
#define CEBUS_SPILL_ALIGNMENT 4096

typedef struct cebus_spill_file {
    int fd;
    _Atomic(bool) direct; /**< past the page cache */
} cebus_spill_file;

/** In `directory`; NULL: that of the environment's TMPDIR, else /var/tmp, since /tmp is often
 * memory. CEBUS_IO_ERROR says what the system said. */
cebus_status cebus_spill_file_open(const char *directory, cebus_spill_file *out);
void cebus_spill_file_close(cebus_spill_file *file);

/** Through the page cache from now on: the file system took O_DIRECT, but no direct I/O. False when
 * that was so already. Thread-safe. */
bool cebus_spill_file_buffer(cebus_spill_file *file);

#endif
