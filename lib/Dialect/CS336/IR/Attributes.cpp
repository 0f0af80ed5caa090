//===- Attributes.cpp - Attributes of the cs336 dialect -===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Dialect/CS336/IR/CS336Dialect.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace cs336;

#define GET_ATTRDEF_CLASSES
#include "cs336/Dialect/CS336/IR/CS336Attributes.cpp.inc"

void CS336Dialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "cs336/Dialect/CS336/IR/CS336Attributes.cpp.inc"
      >();
}

LogicalResult ViewAttr::verify(function_ref<InFlightDiagnostic()> emitError, StringRef name, int64_t rows) {
  if (name.empty())
    return emitError() << "a view must have a name";
  if (rows <= 0)
    return emitError() << "view '" << name << "' has " << rows << " rows, must have at least one";
  return success();
}

LogicalResult InitAttr::verify(function_ref<InFlightDiagnostic()> emitError, InitKind kind, Real std, Real cut,
                               Real value) {
  bool isRandom = kind == InitKind::TruncatedNormal;
  if (isRandom && !(std > 0 && cut > 0))
    return emitError() << "truncated_normal requires a positive std and cut, has " << std << " and " << cut;
  if (!isRandom && (std != 0 || cut != 0))
    return emitError() << stringifyInitKind(kind) << " does not accept std or cut";
  if (kind != InitKind::Constant && value != 0)
    return emitError() << stringifyInitKind(kind) << " does not accept a value";
  if (!std::isfinite(value))
    return emitError() << "the value of a constant must be finite, is " << value;
  return success();
}

LogicalResult OptimizerAttr::verify(function_ref<InFlightDiagnostic()> emitError, AdamWForm form, Real lr, Real beta1,
                                    Real beta2, Real eps, Real weightDecay, Real maxNorm, int64_t warmupSteps,
                                    int64_t cosineSteps, Real minLr) {
  for (auto [name, value] : {std::pair("lr", lr), {"min_lr", minLr}, {"weight_decay", weightDecay}})
    if (!(value >= 0) || !std::isfinite(value))
      return emitError() << name << " must be finite and not negative, is " << value;
  if (!(beta1 >= 0 && beta1 < 1) || !(beta2 >= 0 && beta2 < 1))
    return emitError() << "beta1 and beta2 must lie in [0, 1), are " << beta1 << " and " << beta2;
  if (!(eps > 0) || !std::isfinite(eps))
    return emitError() << "eps must be positive and finite, is " << eps;
  if (!(maxNorm >= 0))
    return emitError() << "max_norm must not be negative, is " << maxNorm;
  for (auto [name, value] : {std::pair("warmup_steps", warmupSteps), {"cosine_steps", cosineSteps}})
    if (value < 0)
      return emitError() << name << " must not be negative, is " << value;
  if (cosineSteps > 0 && cosineSteps <= warmupSteps)
    return emitError() << "cosine_steps (" << cosineSteps << ") must come after warmup_steps (" << warmupSteps
                       << "), or be 0";
  return success();
}

LogicalResult LossScalingAttr::verify(function_ref<InFlightDiagnostic()> emitError, Real init, Real growth,
                                      Real backoff, int64_t interval) {
  if (!(init > 0) || !std::isfinite(init))
    return emitError() << "init must be positive and finite, is " << init;
  if (!(growth >= 1) || !std::isfinite(growth))
    return emitError() << "growth must be at least 1 and finite, is " << growth;
  if (!(backoff > 0 && backoff < 1))
    return emitError() << "backoff must lie in (0, 1), is " << backoff;
  if (interval < 1 || interval > std::numeric_limits<int32_t>::max())
    return emitError() << "interval must be at least 1 and fit into 32 bits, is " << interval;
  return success();
}
