/**
 * number.h: the attributes of the elementwise ops that take one number.
 */
#ifndef CEBUS_EAGER_OPS_NUMBER_H
#define CEBUS_EAGER_OPS_NUMBER_H

typedef struct cebus_number_attrs {
    double value;
} cebus_number_attrs;

#endif
