/**
 * @file ops.h
 * All operations, family by family. Names and semantics follow PyTorch; every op whose output
 * depends smoothly on an input has a gradient.
 */
#ifndef CEBUS_OPS_H
#define CEBUS_OPS_H

#if __has_include(<cebus/ops/fill.h>)
#include <cebus/ops/fill.h>
#endif
#if __has_include(<cebus/ops/random.h>)
#include <cebus/ops/random.h>
#endif
#if __has_include(<cebus/ops/cast.h>)
#include <cebus/ops/cast.h>
#endif
#if __has_include(<cebus/ops/unary.h>)
#include <cebus/ops/unary.h>
#endif
#if __has_include(<cebus/ops/binary.h>)
#include <cebus/ops/binary.h>
#endif
#if __has_include(<cebus/ops/inplace.h>)
#include <cebus/ops/inplace.h>
#endif
#if __has_include(<cebus/ops/reduce.h>)
#include <cebus/ops/reduce.h>
#endif
#if __has_include(<cebus/ops/softmax.h>)
#include <cebus/ops/softmax.h>
#endif
#if __has_include(<cebus/ops/loss.h>)
#include <cebus/ops/loss.h>
#endif
#if __has_include(<cebus/ops/matmul.h>)
#include <cebus/ops/matmul.h>
#endif
#if __has_include(<cebus/ops/attention.h>)
#include <cebus/ops/attention.h>
#endif
#if __has_include(<cebus/ops/recurrent.h>)
#include <cebus/ops/recurrent.h>
#endif
#if __has_include(<cebus/ops/conv.h>)
#include <cebus/ops/conv.h>
#endif
#if __has_include(<cebus/ops/pool.h>)
#include <cebus/ops/pool.h>
#endif
#if __has_include(<cebus/ops/norm.h>)
#include <cebus/ops/norm.h>
#endif
#if __has_include(<cebus/ops/batch_norm.h>)
#include <cebus/ops/batch_norm.h>
#endif
#if __has_include(<cebus/ops/resize.h>)
#include <cebus/ops/resize.h>
#endif
#if __has_include(<cebus/ops/index.h>)
#include <cebus/ops/index.h>
#endif
#if __has_include(<cebus/ops/join.h>)
#include <cebus/ops/join.h>
#endif
#if __has_include(<cebus/optim.h>)
#include <cebus/optim.h>
#endif

#endif
