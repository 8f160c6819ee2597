/**
 * family.h: what kind of layer an op belongs to, by its name. vDNN, SuperNeurons and their like are
 * defined on layer types; an eager runtime sees names. Names of this library, of PyTorch's ATen
 * (as traces and imported logs carry them: "aten::cudnn_convolution_backward") and of users' ops
 * are read alike: prefix and namespace go, then the first pattern that occurs decides. An unknown
 * name is OTHER: planners leave it where it is, so a wrong guess costs time, never a result.
 */
#ifndef CEBUS_EVICT_POLICIES_FAMILY_H
#define CEBUS_EVICT_POLICIES_FAMILY_H

#include <cebus/base.h>

typedef enum cebus_family {
    CEBUS_FAMILY_OTHER,
    CEBUS_FAMILY_CONV,
    CEBUS_FAMILY_MATMUL,
    CEBUS_FAMILY_ATTENTION,
    CEBUS_FAMILY_RECURRENT,
    CEBUS_FAMILY_NORM,
    CEBUS_FAMILY_POOL, /**< and interpolation */
    CEBUS_FAMILY_SOFTMAX,
    CEBUS_FAMILY_ACTIVATION, /**< element by element: relu, add, dropout, casts */
    CEBUS_FAMILY_JOIN,       /**< two branches become one: add, cat */
    CEBUS_FAMILY_SHAPE,      /**< copies that only rearrange: pad, slices */
    CEBUS_FAMILY_INDEX,      /**< places that data decides: embedding, gather */
    CEBUS_FAMILY_REDUCTION,
    CEBUS_FAMILY_LOSS,
    CEBUS_FAMILY_OPTIMIZER,
    CEBUS_FAMILY_COUNT,
} cebus_family;

/** O(length of the name x patterns). */
cebus_family cebus_family_of(const char *op);

/** Much arithmetic for each byte made: what these made is worth a copy (SuperNeurons: checkpoints).
 */
bool cebus_family_is_heavy(cebus_family family);
/** Bound by memory: made again in about the time of reading and writing it. Joins are, too, but
 * making one again may ask for the join before it, and so on through the network. */
bool cebus_family_is_cheap(cebus_family family);

#endif
