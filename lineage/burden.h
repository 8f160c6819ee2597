/**
 * burden.h: a value's burden is the time that it would take to rebuild it: its own run and those
 * of the absent values behind it, each once (cebus_replay_behind). The question is whether that is
 * more than some time. A search for victims asks it of all values, over and over, while a rebuild
 * runs, and in short memory thousands of calls can be behind each. So each record keeps two bounds
 * of its burden, from the walks that met it:
 *
 *     least   the burden is no less. It stays true while values leave: that only adds. Whatever
 *             returns or gets cheaper takes at most its own time off any burden: the lineage sums
 *             these times up, and a bound counts less what was added to the sum since it was set.
 *     most    the burden is no more. It stays true while values return. What leaves adds at most
 *             its own burden to those of all that is made of it by way of absent values: there it
 *             is added, one by one.
 *
 *     present   w   w   w       the records of all three values w have the absent chain behind
 *               |   |   |       them: a walk from one of them leaves bounds along the chain, at
 *     absent  - g - g - g - -   which walks from the others end
 *
 * A question is answered by its bounds if they tell, else by a walk that ends where a bound does.
 * Answers are exact: those of a walk that knows nothing. Only records that a walk has met (watched)
 * are looked for when something leaves, so that a program that never asks pays next to nothing.
 *
 * What a look back over a bounded number of calls found is remembered beside that, until something
 * happens at one of the calls that it met. To find who has to forget, records that were met are
 * followed from the change on, to what is made of them, and are not followed again until the next
 * look: so that takes no longer in all than the looks did.
 *
 * A record is linked in full before anything that hangs on it is asked about.
 */
#ifndef CEBUS_LINEAGE_BURDEN_H
#define CEBUS_LINEAGE_BURDEN_H

#include "lineage/replay.h"

/** Whether it would take more than `ns` to rebuild `value` if it were absent now; false for a leaf.
 * O(1) where bounds tell, else O(calls x inputs) of at most 2 x `ns`. Without host memory for the
 * walk: by the calls that it met. */
bool cebus_burden_exceeds(cebus_lineage *lineage, const cebus_value *value, uint64_t ns);

/** So many absent calls at most are met in a look back. */
#define CEBUS_BURDEN_CALLS 1024

/** The same as cebus_replay_behind(lineage, value, CEBUS_BURDEN_CALLS, ns), remembered until
 * something changes at a call that was met; where that was more than `ns` it may be more still. */
cebus_effort cebus_burden_behind(cebus_lineage *lineage, const cebus_value *value, uint64_t ns);

/** The value's bytes went, or are about to. O(watched records made of it, by way of absent values).
 */
void cebus_burden_left(cebus_lineage *lineage, const cebus_value *value);
/** They are back. O(the same), and O(inputs) where those are there. */
void cebus_burden_returned(cebus_lineage *lineage, const cebus_value *value);
/** A run of `call`, with what it waits for, took `before` ns and takes another time now. */
void cebus_burden_changed(cebus_lineage *lineage, const cebus_call *call, uint64_t before);
/** `call` makes one value less that anybody knows. */
void cebus_burden_shrunk(cebus_lineage *lineage, const cebus_call *call);
/** Records changed in another way: all bounds are forgotten. O(1). */
void cebus_burden_forget(cebus_lineage *lineage);

#endif
