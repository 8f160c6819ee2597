/**
 * @file ops.h
 * All operations, family by family. Names and semantics follow PyTorch; every op whose output
 * depends smoothly on an input has a gradient.
 */
#ifndef CEBUS_OPS_H
#define CEBUS_OPS_H

#include <cebus/ops/attention.h>
#include <cebus/ops/batch_norm.h>
#include <cebus/ops/binary.h>
#include <cebus/ops/cast.h>
#include <cebus/ops/conv.h>
#include <cebus/ops/fill.h>
#include <cebus/ops/index.h>
#include <cebus/ops/inplace.h>
#include <cebus/ops/join.h>
#include <cebus/ops/loss.h>
#include <cebus/ops/matmul.h>
#include <cebus/ops/norm.h>
#include <cebus/ops/pool.h>
#include <cebus/ops/random.h>
#include <cebus/ops/recurrent.h>
#include <cebus/ops/reduce.h>
#include <cebus/ops/resize.h>
#include <cebus/ops/softmax.h>
#include <cebus/ops/unary.h>

#endif
