//===- ExchangeModel.cpp - Predicted times of exchanging gradients --------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ExchangeModel.h"

#include "cs336/Dialect/CS336/IR/CS336Interfaces.h"
#include "mlir/IR/TypeUtilities.h"

#include <algorithm>

using namespace mlir;
using namespace cs336;

/// Returns whether a command of its own computes the operation, whatever is fused later.
static bool isCommand(Operation &op) {
  auto fusible = dyn_cast<FusibleOpInterface>(op);
  return !isa<ViewOpInterface>(op) &&
         (!fusible || llvm::is_contained({FusionKind::Contraction, FusionKind::Opaque}, fusible.getFusionKind()));
}

static double predictSeconds(Operation &op, const DeviceModel &device) {
  auto costed = dyn_cast<CostOpInterface>(op);
  if (!costed || costed.getWireBytes() > 0 || op.getNumOperands() == 0 || !isCommand(op))
    return 0;
  auto precision = op.getAttrOfType<PrecisionAttr>("precision");
  double rate =
      device.getFlops(getElementTypeOrSelf(op.getOperand(0)), precision ? precision.getValue() : Precision::IEEE);
  double arithmetic = static_cast<double>(costed.getFlops()) / rate;
  double memory = static_cast<double>(costed.getBytes()) / device.memoryBytes;
  return device.commandSeconds + std::max(arithmetic, memory);
}

ExchangeModel::ExchangeModel(Block &block, const DeviceModel &device, int64_t worldSize)
    : device(device), worldSize(worldSize) {
  for (Operation &op : block) {
    computeSeconds += predictSeconds(op, device);
    ends[&op] = computeSeconds;
  }
}

ExchangeTime ExchangeModel::predict(ArrayRef<Exchange> exchanges) const {
  ExchangeTime time;
  double end = 0;
  for (const Exchange &exchange : exchanges) {
    double seconds = device.interconnect.predict(exchange.kind, {worldSize}, exchange.bytes).getTotal();
    time.communication += seconds;
    end = std::max(end, ends.lookup(exchange.ready)) + seconds;
  }
  time.exposed = std::max(0.0, end - computeSeconds);
  return time;
}

BucketChoice cs336::chooseBucketSize(const ExchangeModel &model, int64_t mostBytes,
                                     llvm::function_ref<SmallVector<Exchange>(double bytes)> makeExchanges) {
  constexpr double kLeastBytes = 64 << 10;
  // Part of the step by which a choice may end later than the earliest one.
  constexpr double kTolerance = 0.01;
  SmallVector<BucketForecast> forecasts;
  for (double bytes = kLeastBytes;; bytes *= 2) {
    SmallVector<Exchange> exchanges = makeExchanges(bytes);
    forecasts.push_back({bytes, exchanges.size(), model.predict(exchanges)});
    if (bytes >= static_cast<double>(mostBytes))
      break;
  }
  auto isEarlier = [](const BucketForecast &a, const BucketForecast &b) { return a.time.exposed < b.time.exposed; };
  const BucketForecast &earliest = *llvm::min_element(forecasts, isEarlier);
  double latest = earliest.time.exposed + kTolerance * (model.getComputeSeconds() + earliest.time.exposed);
  auto isAlmostAsEarly = [&](const BucketForecast &forecast) { return forecast.time.exposed <= latest; };
  return {*llvm::find_if(llvm::reverse(forecasts), isAlmostAsEarly), earliest};
}
