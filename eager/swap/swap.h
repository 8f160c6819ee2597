/**
 * swap.h: bytes that wait off the device, in host memory or in the spill file. A value that is
 * swapped out keeps its version; only its bytes are elsewhere. Copies run on their own streams:
 * nothing waits for a copy out but whoever reuses the block, nothing for a copy in but whoever
 * reads the value.
 *
 * A copy is made once a version: when the bytes are back on the device it is kept while there is
 * room, so that to give them up again costs nothing. An in-place write makes a new version or, of a
 * leaf, ends the copy.
 *
 * Files fail. The bytes on the device go only once the write is known to have succeeded
 * (cebus_swap_secure); what is read is believed only once its checksums were right
 * (cebus_swap_arrive). A value whose write failed stays, and no more are offered for swapping until
 * the request at hand is through; one whose read failed stays swapped: the next use tries again.
 */
#ifndef CEBUS_EAGER_SWAP_SWAP_H
#define CEBUS_EAGER_SWAP_SWAP_H

#include "eager/runtime.h"

/** Asks the device anew what a copy takes beside its bytes, where something may be swapped: before
 * plans are made. A device's answer may take as long as a small plan. */
void cebus_swap_learn_link(cebus_runtime *rt);

/** Whether persistent values may leave at all. On simulated machines they stay, as the lower bounds
 * count them, but for policies that are published with moving them and for programs under strain.
 */
bool cebus_swap_moves_persistent(const cebus_runtime *rt);
/** Finds out whether the program is under strain: rebuilding and waiting for copies took longer
 * than its own calls. Where little is lost, a rotation through all parameters costs more than it
 * saves; where memory is full of parameters and optimizer state, what else goes comes back at once.
 */
void cebus_swap_note_strain(cebus_runtime *rt);
/** Whether values may go to the host, as the policy and the options have it. */
bool cebus_swap_wanted(const cebus_runtime *rt);
/** What the chooser is told: may values go to the host, at what rates, with how much room. */
cebus_swap_terms cebus_swap_terms_now(const cebus_runtime *rt);

/** Whether a copy of so many bytes fits off the device with no other copy going for it. */
bool cebus_swap_has_room(cebus_runtime *rt, uint64_t bytes);

/**
 * Starts the copy to the host of an idle value, after the last use of its bytes: from then on they
 * can be dropped (cebus_candidate_drop). False when there was no room, or the copy could not be
 * started: then nothing changed, and no more values are offered for swapping until the request at
 * hand is through. `now`: its room is wanted at once, so others may be waited for that go from the
 * host on to the file (demotion.h); else it goes where there is room.
 */
bool cebus_swap_copy_out(cebus_runtime *rt, cebus_candidate *candidate, bool now);

/** Starts the copies of those among the blocks first..last that go by swap: one by one, each would
 * wait for its own. */
void cebus_swap_copy_all(cebus_runtime *rt, cebus_block *first, const cebus_block *last);

/** True if the bytes on the device may go: the copy, if there is one, is whole or will be. Waits
 * for writes to the file. False: there was one, it failed and is gone. */
bool cebus_swap_secure(cebus_runtime *rt, cebus_candidate *candidate);

/** Brings the bytes of a swapped value back, climbing the ladder for their place. Returns once the
 * copy is under way. */
cebus_status cebus_swap_in(cebus_runtime *rt, cebus_candidate *candidate, const char *op);

/** The compute stream waits for the bytes if they are still on their way: before each use. */
void cebus_swap_settle(cebus_runtime *rt, cebus_candidate *candidate);

/** Whether bytes that came from the spill file are what was written to it: before whoever asked for
 * a resident value gets it. Waits for them. CEBUS_IO_ERROR: they are not, and the value is absent
 * again, as it was. */
cebus_status cebus_swap_arrive(cebus_runtime *rt, cebus_candidate *candidate, const char *op);

/** Counts a copy as spare while its bytes are on the device, too: `on` says since when. */
void cebus_swap_spare(cebus_runtime *rt, const cebus_candidate *candidate, bool on);

/** Ends the copy of a version that died or was written over. The value must not depend on it:
 * its bytes are on the device, or nobody wants them. */
void cebus_swap_forget(cebus_runtime *rt, cebus_candidate *candidate);

/** A copy's memory goes once nobody reads or writes it any more. */
void cebus_swap_leave(cebus_runtime *rt, cebus_host_bytes bytes);
/** Frees host memory whose copies are done; at the end, all of it. */
void cebus_swap_reclaim(cebus_runtime *rt);
void cebus_swap_deinit(cebus_runtime *rt);

#endif
