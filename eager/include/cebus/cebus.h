/**
 * @file cebus.h
 * Everything cebus offers, in one include.
 */
#ifndef CEBUS_CEBUS_H
#define CEBUS_CEBUS_H

#include <cebus/amp.h>
#include <cebus/autograd.h>
#include <cebus/base.h>
#include <cebus/capture.h>
#include <cebus/custom.h>
#include <cebus/hint.h>
#include <cebus/info.h>
#include <cebus/log.h>
#include <cebus/memory.h>
#include <cebus/ops.h>
#include <cebus/optim.h>
#include <cebus/pack.h>
#include <cebus/plan.h>
#include <cebus/runtime.h>
#include <cebus/tensor.h>
#include <cebus/trace.h>

#endif
