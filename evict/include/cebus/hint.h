/**
 * @file hint.h
 * What the program wishes for the bytes of a tensor: the six values of PyTorch's checkpoint policy
 * (torch.utils.checkpoint.CheckpointPolicy), under its names.
 *
 * Hints are wishes. They change what goes first and which way it comes back, never a bit of any
 * result, and no call fails for want of memory because of one.
 */
#ifndef CEBUS_HINT_H
#define CEBUS_HINT_H

#include <cebus/base.h>

/** Strongest first, of each pair. */
typedef enum cebus_hint {
    CEBUS_HINT_NONE,               /**< the policy decides */
    CEBUS_HINT_MUST_SAVE,          /**< goes only when nothing else can */
    CEBUS_HINT_PREFER_SAVE,        /**< counts as dearer than it is */
    CEBUS_HINT_MUST_RECOMPUTE,     /**< given up as soon as only the graph holds it; never copied
                                        off the device where it can be made again */
    CEBUS_HINT_PREFER_RECOMPUTE,   /**< counts as cheaper, and is made again, not copied */
    CEBUS_HINT_MUST_CPU_OFFLOAD,   /**< among the first to go, to the host where it can */
    CEBUS_HINT_PREFER_CPU_OFFLOAD, /**< counts as cheaper, and goes to the host where it can */
    CEBUS_HINT_COUNT,              /**< not a hint */
} cebus_hint;

#endif
