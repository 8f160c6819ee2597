/**
 * profile.h: measured costs that replace the roofline.
 *
 * A profile is a JSON file as `cebus profile` writes it:
 *
 *     {"cebus_profile": 1, "machine": "cpu", "ops": [
 *         {"name": "matmul", "hash": "00c5f6d2a39b1e07", "cost_ns": 1234, "count": 3}, ...]}
 *
 * `hash` is that of attributes and views (signature.h). Other keys are left alone. What is listed
 * twice, lacks a key or has one of another kind is refused: which entry, and what is wrong.
 */
#ifndef CEBUS_EAGER_DEVICE_SIM_PROFILE_H
#define CEBUS_EAGER_DEVICE_SIM_PROFILE_H

#include <cebus/base.h>

/** A name's number, for keys. */
uint64_t cebus_profile_name(const char *name);

typedef struct cebus_profile_cost {
    uint64_t name, hash; /**< the key; name 0: a free place */
    uint64_t cost_ns;
} cebus_profile_cost;

/** Costs by key: open addressing, at most half full. */
typedef struct cebus_profile {
    cebus_profile_cost *costs;
    size_t count, capacity; /**< capacity: 0, or a power of two */
} cebus_profile;

/** CEBUS_UNSUPPORTED in a build without a JSON library. On failure there is nothing to free. */
CEBUS_MUST_CHECK cebus_status cebus_profile_read(const char *path, const cebus_host_allocator *host,
                                                 cebus_profile *out);
void cebus_profile_free(cebus_profile *profile, const cebus_host_allocator *host);

/** NULL when it is not listed. Time: a probe or two. */
const cebus_profile_cost *cebus_profile_find(const cebus_profile *profile, uint64_t name,
                                             uint64_t hash);

#endif
