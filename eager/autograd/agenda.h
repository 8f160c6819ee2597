/**
 * agenda.h: what a walk over the graph has still to do: lists of pointers in the runtime's pool,
 * and a heap of nodes with the latest on top.
 */
#ifndef CEBUS_EAGER_AUTOGRAD_AGENDA_H
#define CEBUS_EAGER_AUTOGRAD_AGENDA_H

#include "eager/autograd/node.h"

/** A growable list; starts as zeros. */
typedef struct cebus_agenda {
    void **items;
    size_t count, capacity;
} cebus_agenda;

/** Appends; false without host memory. */
bool cebus_agenda_push(cebus_runtime *rt, cebus_agenda *agenda, void *item);
void cebus_agenda_deinit(cebus_runtime *rt, cebus_agenda *agenda);

/** Adds to a list that is a heap; false without host memory. */
bool cebus_agenda_push_node(cebus_runtime *rt, cebus_agenda *heap, cebus_node *node);
/** The node that was made last. The heap is not empty. */
cebus_node *cebus_agenda_pop_node(cebus_agenda *heap);

#endif
