/**
 * version.h: what an in-place write does to the records that still need the old version.
 *
 * A version with a producer just becomes absent when it is overwritten: it can be rebuilt
 * elsewhere (Coop's recomputable in-place). A leaf cannot, so before the write every record that
 * reads it, directly or through absent versions, must go:
 *  - its resident outputs lose the record (they become leaves);
 *  - absent outputs somebody holds have to be rebuilt first (cebus_version_dependant() finds them);
 *  - absent outputs nobody holds are forgotten, and so on through what reads them.
 * The same cut bounds lineage: chains of unheld versions, and leaves kept only for records.
 */
#ifndef CEBUS_LINEAGE_VERSION_H
#define CEBUS_LINEAGE_VERSION_H

#include "lineage/call.h"

/**
 * One absent, held or parked value whose replay needs the leaf, or NULL when the cut is free.
 * Rebuild it and ask again. CEBUS_OUT_OF_HOST_MEMORY when the walk had no room. O(absent region).
 */
cebus_status cebus_version_dependant(cebus_lineage *lineage, cebus_value *leaf,
                                     cebus_value **out_value);

/**
 * True if somebody holds it, or, by way of any number of absent versions, something absent that is
 * made of it: an heir. Who only parked a version (value.h) is not going to read it. A record counts
 * its absent outputs of which that is true, and a value its reads by records that have any. What
 * changed is counted when somebody asks: O(1), and O(absent region) at most after a change, which
 * is what it takes to make it again.
 */
bool cebus_version_is_missed(cebus_lineage *lineage, const cebus_value *value);

/** Its bytes went or came, or somebody holds it who did not, or nobody does any more. O(1). */
void cebus_version_changed(cebus_lineage *lineage, cebus_value *value);
/** Before its record is cut: nobody makes it then. */
void cebus_version_uncount(cebus_lineage *lineage, cebus_value *value);
/** A record that makes something missed reads it no more. O(1). */
void cebus_version_unread(cebus_lineage *lineage, cebus_value *value);

typedef struct cebus_heirs {
    cebus_value **values; /**< the lineage's scratch list: valid until the next walk */
    size_t count;
    uint64_t bytes; /**< of all of them */
} cebus_heirs;

/** The heirs of a value, until together they have `enough` bytes. CEBUS_OUT_OF_HOST_MEMORY when the
 * walk had no room. O(absent region). */
cebus_status cebus_version_heirs(cebus_lineage *lineage, cebus_value *value, uint64_t enough,
                                 cebus_heirs *out);
/** The same of several values, each heir once. */
cebus_status cebus_version_heirs_of(cebus_lineage *lineage, cebus_value *const *values, size_t n,
                                    uint64_t enough, cebus_heirs *out);

typedef struct cebus_versions {
    cebus_value **values; /**< the lineage's scratch list: valid until the next walk */
    size_t count;
} cebus_versions;

/** What a cut takes the record from: what is there, and was made of `leaf`, directly or by way of
 * absent versions. As long as all of it stays, the cut that cebus_version_dependant found free is
 * free. CEBUS_OUT_OF_HOST_MEMORY when the walk had no room. O(absent region). */
cebus_status cebus_version_survivors(cebus_lineage *lineage, cebus_value *leaf,
                                     cebus_versions *out);

/** Cuts everything that reads `leaf`. Only after cebus_version_dependant answered NULL. */
cebus_status cebus_version_cut(cebus_lineage *lineage, cebus_value *leaf);

/** What read `leaf` reads `copy` from now on, which has no readers yet and the same contents.
 * O(readers of the leaf). */
void cebus_version_hand_over(cebus_value *leaf, cebus_value *copy);

/** Chains of unheld versions longer than this are cut where they end. What is made of the end can
 * go no more then: where memory was short, and under plans, which count on records of whole
 * iterations, chains may be as long as those are. */
#define CEBUS_GHOST_DEPTH_MAX 256
#define CEBUS_GHOST_DEPTH_WHOLE 16384

/**
 * The last handle to `value` went, but records still read it. Measures the chain of such ghosts
 * that ends in it; true when it is longer than `most` and should be cut here (cebus_version_cut on
 * `value`), which keeps a loop like `s += f(x)` at constant memory. O(inputs).
 */
bool cebus_version_became_ghost(cebus_value *value, uint32_t most);

#endif
